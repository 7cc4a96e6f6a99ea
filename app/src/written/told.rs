//! What happened, in words: one plain sentence for each event.

use unstuck_diagnosis::history::{Event, Happened, Subject};
use unstuck_diagnosis::report::BrokerState;
use unstuck_diagnosis::{PartitionId, visible};

use super::times::pair;
use crate::text::{amount, count, ids, status_word};

/// The sentence of an event.
pub(crate) fn sentence(event: &Event) -> String {
    match (&event.subject, &event.what) {
        (Subject::Partition(partition), what @ (Happened::Leadership { .. } | Happened::Verdict { .. })) => {
            format!("Partition {partition}: {}{}.", gist(what).unwrap_or_default(), detail(what))
        }
        (Subject::Broker(broker), Happened::Broker { address, sentence, state }) => {
            let colon = if *state == BrokerState::Answering { "" } else { ":" };
            let place = address.as_ref().map_or_else(String::new, |address| format!(" ({})", visible(address)));
            format!("Broker {broker}{place}{colon} {}.", sentence.trim_end_matches('.'))
        }
        (Subject::Partition(partition), Happened::GroupsVanished { count: number }) => format!(
            "{} of partition {partition} are not listed any more. They were not deleted: their coordinator does not work.",
            count(*number, "group")
        ),
        (Subject::Group(group), Happened::GroupDeleted) => format!(
            "Group {} is gone: its coordinator answers and does not know it any more. It was deleted, or has expired.",
            group.visible()
        ),
        (_, Happened::LookingBegan) => match event.since.after {
            Some(after) => {
                format!("Unstuck looks again. Nobody looked between {}.", pair(after, event.since.at, event.since.at))
            }
            None => "Unstuck began to look.".to_owned(),
        },
        (_, Happened::PartitionCount { count: number }) => {
            format!("__consumer_offsets has {}.", count(usize::try_from(*number).unwrap_or_default(), "partition"))
        }
        (_, Happened::Verdict { status, sentence }) => {
            format!("The cluster is {}: {}.", status_word(*status), sentence.trim_end_matches('.'))
        }
        // Later versions may tell of other subjects; what is so can be said of any.
        (subject, what) => format!("{}: {}{}.", named(subject), gist(what).unwrap_or_default(), detail(what)),
    }
}

/// What several partitions may have in common; `None` for what is told of each alone.
pub(super) fn gist(what: &Happened) -> Option<String> {
    match what {
        Happened::Leadership { leader: Some(leader), .. } => Some(format!("broker {leader} leads it")),
        Happened::Leadership { leader: None, .. } => Some("it has no leader".to_owned()),
        Happened::Verdict { status, sentence } => {
            Some(format!("{}, {}", status_word(*status), sentence.trim_end_matches('.')))
        }
        Happened::GroupsVanished { .. } => Some("groups that were listed are not any more".to_owned()),
        Happened::Broker { sentence, .. } => Some(sentence.trim_end_matches('.').to_owned()),
        Happened::GroupDeleted => Some("its coordinator does not know it any more".to_owned()),
        Happened::LookingBegan | Happened::PartitionCount { .. } => None,
    }
}

/// What differs from partition to partition.
fn detail(what: &Happened) -> String {
    let Happened::Leadership { leader_epoch, isr, .. } = what else { return String::new() };
    let epoch = leader_epoch.map_or_else(String::new, |epoch| format!("leader epoch {epoch}, "));
    format!(" ({epoch}in sync: {})", ids(isr))
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
        text.push_str(&partitions(&[3]));
        let _ = write!(text, "\n{}", partitions(&(0..17).collect::<Vec<_>>()));
        insta::assert_snapshot!(text);
    }
}
