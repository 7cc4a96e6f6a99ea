//! `data-partition-without-leader`: partitions of other topics have no leader; producers and consumers of them fail.
//!
//! Founding incident 1, catalogue row 46. Comes free with all-topics metadata.

use super::{Context, Rule, finding, seen_};
use crate::commands::Election;
use crate::handbook::Entry;
use crate::report::{Avoid, Finding, Remedy, Risk, Severity};
use crate::snapshot::{ClientView, LeaderlessPartition};
use crate::words;

/// Its slug, by which incidents know it.
pub(crate) const SLUG: &str = "data-partition-without-leader";
/// How many partitions the evidence names.
const NAMED: usize = 5;

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Partitions of other topics have no leader",
        severity: "error",
        means: "Coordinators may all be well, and still a group stands still on one partition: nobody can write to or read \
                from a partition without a leader, whoever commits. It is the same failure as on `__consumer_offsets`, with \
                the same rules: the leader has to be a live member of the ISR. A topic with one replica goes dark with its \
                broker, and a controlled shutdown does not help, since there is nowhere to move the leader to.",
        opens: "The all-topics metadata shows a partition of another topic without a leader.",
        closes: "All have one.",
        not_told: "Topics that this account may not describe are left out of the answer without an error. If the client's \
                   eye could not look, the report says so instead of \"none\". Only the first partitions are named.",
        clients_see: "Producers: LEADER_NOT_AVAILABLE, then a TimeoutException (\"Topic ... not present in metadata\", \
                      \"Expiring ... record(s)\"). Consumers: lag that grows on these partitions and nowhere else.",
        way_out: "Start the missing brokers: their replicas lead again by themselves. Only if their disks are lost: an \
                  unclean election where another replica lives, which loses the records that it never got. A partition \
                  with one replica and a lost disk is lost.",
        never: "Do not reassign a partition without a leader to another broker: there is nobody to copy from, it hangs, and \
                an unclean election after it makes an empty log the leader. Before the next planned stop, move or add \
                replicas first.",
        twins: &[("no-leader-no-live-replica", "the same on `__consumer_offsets`, where whole groups stand still")],
        shadows: &[],
        versions: "all",
        sources: &["KIP-460 (kinds of elections, 2.4)", "PartitionStateMachine.scala, PartitionChangeBuilder.java"],
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let Some(view) = context.facts.snapshot.client.known() else { return Vec::new() };
    if view.leaderless_count == 0 {
        return Vec::new();
    }
    let mut finding = finding(
        SLUG,
        Severity::Error,
        format!(
            "{} of other topics {} no leader: nobody can write to or read from {}.",
            words::count(view.leaderless_count, "partition"),
            if view.leaderless_count == 1 { "has" } else { "have" },
            if view.leaderless_count == 1 { "it" } else { "them" },
        ),
    );
    for partition in view.leaderless.iter().take(NAMED) {
        finding.evidence.push(seen_(format!(
            "{}-{}: replicas {}, ISR {}.",
            crate::visible(&partition.topic),
            partition.partition,
            words::ids(&partition.replicas),
            words::ids(&partition.isr)
        )));
    }
    let mut missing: Vec<_> = view
        .leaderless
        .iter()
        .flat_map(|partition| &partition.replicas)
        .copied()
        .filter(|id| !view.brokers.contains(id))
        .collect();
    missing.sort_unstable();
    missing.dedup();
    if view.brokers.is_empty() {
        // Where no broker counts as live, not even the one that answers, nothing follows about who is missing.
        missing.clear();
        let why = "While no broker counts as live, none can lead, whatever runs.";
        finding.remedies.push(Remedy::new("See first why no broker is listed as live", why));
    } else if missing.is_empty() {
        let why = "They are live and yet none leads: a log directory may have failed.";
        finding.remedies.push(Remedy::new("Look at the logs and disks of the brokers of these replicas", why));
    } else {
        finding.outlook = Some(format!("It will not heal by itself before {} is back.", one_of(&missing)));
        finding.remedies.push(context.start(
            &missing,
            true,
            "Their replicas lead again by themselves. Nothing is lost.",
        ));
    }
    finding.remedies.push(
        Remedy::new(
            "List them all",
            "Every partition that has no leader now, of every topic that the account may see.",
        )
        .looks(context.commands().describe_unavailable()),
    );
    finding.remedies.extend(view.leaderless.iter().find_map(|partition| force(context, view, partition)));
    finding.avoid.push(Avoid {
        what: "Do not reassign them to live brokers".to_owned(),
        why: "A reassignment copies from the leader, and there is none. It hangs, and an unclean election after it makes an \
              empty log the leader."
            .to_owned(),
    });
    finding.brokers = missing;
    vec![finding]
}

/// The last resort, for the first partition that has another live replica.
fn force(context: &Context<'_, '_>, view: &ClientView, of: &LeaderlessPartition) -> Option<Remedy> {
    let live: Vec<_> = of.replicas.iter().copied().filter(|id| view.brokers.contains(id)).collect();
    if live.is_empty() {
        return None;
    }
    let commands = context.commands();
    let name = format!("{}-{}", crate::visible(&of.topic), of.partition);
    let command = commands.elect(Election::Unclean, &of.topic, of.partition)?;
    Some(
        Remedy::new(
            "Only if the disk of the last leader is lost: elect a replica that was not in sync",
            format!("Makes {} leader of {name}. The same for each of the others.", words::brokers(&live)),
        )
        .command(command, format!("The leader of {name}."))
        .given("the disks of the missing in-sync replicas are lost for good", None)
        .danger(Risk::Loses, "Loses the records that this replica had not copied.")
        .verify(format!("`{}` no longer has it.", commands.describe_unavailable()))
        .undo("Impossible: when the old leader returns, it cuts its log to the new leader's."),
    )
}

fn one_of(brokers: &[i32]) -> String {
    match brokers {
        [one] => format!("broker {one}"),
        many => format!("one of {}", words::brokers(many)),
    }
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn they_are_named_with_the_missing_brokers() {
        let sample = Sample::kraft(3, 3, 3).leaderless_data("logs", 101, &[1]).gone(1);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] 1 partition of other topics has no leader: nobody can write to or read from it.
          outlook: It will not heal by itself before broker 1 is back.
          seen: logs-101: replicas [1], ISR [1].
          -> Start broker 1: Their replicas lead again by themselves. Nothing is lost.
             if (not known): its log directories are still there
             verify: Unstuck shows broker 1 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9001` answers.
          -> List them all: Every partition that has no leader now, of every topic that the account may see.
             $ kafka-topics.sh --bootstrap-server 127.0.0.1:9002 --describe --unavailable-partitions
          avoid: Do not reassign them to live brokers: A reassignment copies from the leader, and there is none. It hangs, and an unclean election after it makes an empty log the leader.
          follows from leader-lost
        ");
    }

    #[test]
    fn none_is_no_finding() {
        assert!(!slugs(&Sample::kraft(3, 3, 3).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn not_looked_is_said_not_guessed() {
        let report = Sample::kraft(3, 3, 3).no_client().report();
        assert_eq!(report.data_partitions.without_leader, None);
        assert!(report.could_not_observe.iter().any(|could_not| could_not.what.contains("other topics")));
    }
}
