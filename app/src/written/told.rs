//! What happened, in words: one plain sentence for each event.

use unstuck_diagnosis::history::{Event, Happened, Subject};
use unstuck_diagnosis::report::BrokerState;
use unstuck_diagnosis::{PartitionId, visible};

use super::times::pair;
use crate::text::{amount, count, ids, status_word};

/// The sentence of an event.
pub(crate) fn sentence(event: &Event) -> String {
    match (&event.subject, &event.what) {
        (Subject::Broker(broker), Happened::Broker { address, sentence, state }) => {
            let colon = if *state == BrokerState::Answering { "" } else { ":" };
            let place = address.as_ref().map_or_else(String::new, |address| format!(" ({})", visible(address)));
            format!("Broker {broker}{place}{colon} {}.", unstopped(sentence))
        }
        (Subject::Partition(partition), Happened::GroupsVanished { count: number }) => {
            let groups = count(*number, "group");
            let tail =
                if *number == 1 { "is not listed any more. It was" } else { "are not listed any more. They were" };
            format!("{groups} of partition {partition} {tail} not deleted: the coordinator does not work.")
        }
        (Subject::Group(group), Happened::GroupDeleted) => format!(
            "Group {} is gone: its coordinator answers and does not know it any more. It was deleted, or has expired.",
            group.visible()
        ),
        (_, Happened::LookingBegan) => match event.since.after {
            Some(after) => {
                let pause = pair(after, event.since.at, event.since.at);
                format!("Unstuck looks again. Nobody looked between {pause}.")
            }
            None => "Unstuck began to look.".to_owned(),
        },
        (_, Happened::PartitionCount { count: number }) => {
            format!("__consumer_offsets has {}.", count(usize::try_from(*number).unwrap_or_default(), "partition"))
        }
        (Subject::Cluster, Happened::Verdict { status, sentence }) => {
            format!("Verdict on the cluster: {}. {}.", status_word(*status), unstopped(sentence))
        }
        // Later versions may tell more of other subjects.
        (subject, what) => format!("{} {}{}.", named(subject), one(what), detail(what)),
    }
}

/// What is said of one subject, behind its name.
fn one(what: &Happened) -> String {
    match what {
        Happened::Leadership { leader: Some(leader), .. } => format!("is led by broker {leader}"),
        Happened::Leadership { leader: None, .. } => "has no leader".to_owned(),
        Happened::Verdict { status, sentence } => format!("is {}: {}", status_word(*status), unstopped(sentence)),
        Happened::Broker { sentence, .. } => unstopped(sentence).to_owned(),
        Happened::GroupsVanished { .. } => "has groups that are not listed any more".to_owned(),
        Happened::GroupDeleted => "is not known to its coordinator any more".to_owned(),
        Happened::LookingBegan => "is looked at".to_owned(),
        Happened::PartitionCount { count: number } => format!("has {number} partitions"),
    }
}

/// What is said of several partitions at once, behind their names; `None` for what is told of each alone.
pub(super) fn of_many(what: &Happened) -> Option<String> {
    match what {
        Happened::Leadership { leader: Some(leader), .. } => Some(format!("are led by broker {leader}")),
        Happened::Leadership { leader: None, .. } => Some("have no leader".to_owned()),
        Happened::Verdict { status, sentence } => {
            Some(format!("are {}, each because {}", status_word(*status), unstopped(sentence)))
        }
        Happened::GroupsVanished { .. } => Some("have groups that are not listed any more".to_owned()),
        Happened::Broker { .. } | Happened::GroupDeleted | Happened::LookingBegan | Happened::PartitionCount { .. } => {
            None
        }
    }
}

/// What differs from partition to partition.
fn detail(what: &Happened) -> String {
    let Happened::Leadership { leader_epoch, isr, .. } = what else { return String::new() };
    let epoch = leader_epoch.map_or_else(String::new, |epoch| format!("leader epoch {epoch}, "));
    format!(" ({epoch}in sync: {})", ids(isr))
}

/// A sentence without its full stop.
fn unstopped(sentence: &str) -> &str {
    sentence.trim_end_matches('.')
}

/// A subject's name, as a sentence begins with it.
fn named(subject: &Subject) -> String {
    match subject {
        Subject::Cluster => "The cluster".to_owned(),
        Subject::Partition(partition) => format!("Partition {partition}"),
        Subject::Broker(broker) => format!("Broker {broker}"),
        Subject::Group(group) => format!("Group {}", group.visible()),
    }
}

/// `Partitions 0, 3, 6 and 14 more`.
pub(super) fn partitions(all: &[PartitionId]) -> String {
    const NAMED: usize = 6;
    let named = all.iter().take(NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match all {
        [one] => format!("Partition {one}"),
        _ if all.len() > NAMED => format!("Partitions {named} and {} more", amount(all.len() - NAMED)),
        _ => format!("Partitions {named}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use jiff::Timestamp;
    use unstuck_diagnosis::GroupId;
    use unstuck_diagnosis::history::Since;
    use unstuck_diagnosis::report::Status;

    use super::*;

    #[test]
    fn everything_that_happens_has_its_sentence() {
        let at: Timestamp = "2026-11-29T15:48:02Z".parse().expect("a literal timestamp");
        let after: Timestamp = "2026-11-29T15:40:10Z".parse().expect("a literal timestamp");
        let partition = Subject::Partition(12);
        let group = Subject::Group(GroupId::from("bill\u{202e}ing"));
        let broker = |state, sentence: &str| Happened::Broker {
            state,
            address: Some("b1:9092".to_owned()),
            sentence: sentence.to_owned(),
        };
        let leads = |leader| Happened::Leadership { leader, leader_epoch: Some(8), isr: vec![2, 3] };
        let verdict = |sentence: &str| Happened::Verdict { status: Status::Stuck, sentence: sentence.to_owned() };
        let all = [
            (Subject::Cluster, Happened::LookingBegan, None),
            (Subject::Cluster, Happened::LookingBegan, Some(after)),
            (Subject::Cluster, Happened::PartitionCount { count: 50 }, None),
            (Subject::Cluster, verdict("Broker 1 is gone: 5 groups are stuck"), None),
            (partition.clone(), verdict("it has no leader"), None),
            (partition.clone(), leads(Some(2)), None),
            (partition.clone(), leads(None), None),
            (partition.clone(), Happened::Leadership { leader: None, leader_epoch: None, isr: vec![] }, None),
            (partition.clone(), Happened::GroupsVanished { count: 1 }, None),
            (partition, Happened::GroupsVanished { count: 1_204 }, None),
            (Subject::Broker(1), broker(BrokerState::Answering, "answers in 3 ms"), None),
            (Subject::Broker(1), broker(BrokerState::Gone, "refuses connections"), None),
            (group.clone(), Happened::GroupDeleted, None),
            (group, verdict("it is empty"), None),
        ];
        let mut text = String::new();
        for (subject, what, after) in all {
            let event = Event { since: Since { at, after }, subject, what };
            let _ = writeln!(text, "{}", sentence(&event));
        }
        for what in [leads(None), leads(Some(2)), verdict("it has no leader"), Happened::GroupsVanished { count: 2 }] {
            let _ = writeln!(text, "Partitions 0, 3 {}.", of_many(&what).unwrap_or_default());
        }
        text.push_str(&partitions(&[3]));
        let _ = write!(text, "\n{}", partitions(&(0..17).collect::<Vec<_>>()));
        insta::assert_snapshot!(text);
    }
}
