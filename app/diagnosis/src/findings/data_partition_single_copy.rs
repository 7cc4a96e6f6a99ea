//! `data-partition-single-copy`: partitions of data topics that stop with one broker.
//!
//! Founding incident 1 before the fact. Comes free with all-topics metadata. The topics of other coordinators are left to
//! `state-topic-replication-factor`.

use super::{Context, Rule, finding, not_seen, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::snapshot::{OnlyInSync, STATE_TOPICS};
use crate::words;

const SLUG: &str = "data-partition-single-copy";
/// Of how many brokers, and with how many names each, the evidence speaks.
const BROKERS: usize = 6;
const NAMED: usize = 3;

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Partitions of data topics have one copy: they stop with their broker",
        severity: "info",
        means: "A partition with one replica has no leader while its broker is down: producers and consumers of it fail at \
            once, the coordinator of the group notwithstanding. Often chosen on purpose, to save network and disks; often \
            forgotten when a broker is taken out.",
        opens: "A topic other than `__consumer_offsets`, `__transaction_state` and `__share_group_state` has a partition with \
            a single replica, and more than one broker is registered.",
        closes: "No such partition is left.",
        not_told: "Metadata shows replicas and ISR, not how much is written. Without the client's view nothing is said.",
        clients_see: "Nothing until the broker stops; then LEADER_NOT_AVAILABLE for these partitions.",
        way_out: "Before a broker is stopped: move or copy its single replicas to others with \
            `kafka-reassign-partitions.sh`, throttled, and look at the broker's page for what else stops. For good: raise \
            the replication factor of the topics that matter.",
        never: "Do not stop several brokers at once because the topics \"have replicas\": look at the ISR of each \
            partition, not at the factor in a runbook.",
        twins: &[
            ("data-partition-without-leader", "it has happened: such a partition has no leader now"),
            ("state-topic-replication-factor", "the same of the topics of other coordinators"),
        ],
        sources: &["founding incident 1"],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let Some(view) = facts.snapshot.client.known() else { return Vec::new() };
    let single: usize = view.only_in_sync_on.values().map(singles).sum();
    if single == 0 || facts.registered.len() < 2 {
        return Vec::new();
    }
    let mut finding = finding(
        SLUG,
        Severity::Info,
        format!(
            "{} of other topics {} one copy only: when its broker stops, nobody can write to or read from {}.",
            words::count(single, "partition"),
            if single == 1 { "has" } else { "have" },
            if single == 1 { "it" } else { "them" },
        ),
    );
    let mut brokers: Vec<_> = view.only_in_sync_on.iter().filter(|(_, only)| all(only) > 0).collect();
    brokers.sort_by_key(|(broker, only)| (std::cmp::Reverse(all(only)), **broker));
    for (broker, only) in brokers.iter().take(BROKERS) {
        let named: Vec<_> = only
            .named
            .iter()
            .filter(|partition| !STATE_TOPICS.contains(&partition.topic.as_str()))
            .take(NAMED)
            .map(|partition| format!("{}-{}", crate::visible(&partition.topic), partition.partition))
            .collect();
        let more = all(only).saturating_sub(named.len());
        let more = if more == 0 { String::new() } else { format!(" and {} more", words::thousands(more)) };
        let behind = match all(only).saturating_sub(singles(only)) {
            0 => String::new(),
            n => format!("; of {n} of them other replicas exist and are not in sync"),
        };
        finding.evidence.push(seen_(format!("Only on broker {broker} in sync: {}{more}{behind}.", named.join(", "))));
    }
    if let Some(more @ 1..) = brokers.len().checked_sub(BROKERS) {
        finding.evidence.push(seen_(format!("So it is on {}.", words::count(more, "more broker"))));
    }
    finding.evidence.push(not_seen("Whether that was chosen on purpose.".to_owned()));
    finding.remedies.push(step(
        "Before you stop a broker, look at its page: it says what stops with it",
        "What has no other in-sync replica is moved or copied first, with kafka-reassign-partitions.sh and a throttle.",
    ));
    finding.remedies.push(step(
        "Raise the replication factor of the topics that matter",
        "Two more copies survive two failures; acks=all protects only while at least two replicas are in sync.",
    ));
    finding.brokers = brokers.into_iter().map(|(&broker, _)| broker).collect();
    vec![finding]
}

/// Partitions of data topics for which a broker alone is in sync.
fn all(only: &OnlyInSync) -> usize {
    only.count.saturating_sub(only.state)
}

/// Those of them that have no other replica.
fn singles(only: &OnlyInSync) -> usize {
    only.single_replica.saturating_sub(only.state_single_replica)
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};
    use crate::snapshot::{SHARE_GROUP_STATE, TRANSACTION_STATE};

    #[test]
    fn they_are_counted_and_named_by_broker() {
        let sample = (0..5).fold(Sample::kraft(3, 3, 3), |sample, partition| sample.only_copy("logs", partition, 2));
        insta::assert_snapshot!(text(&sample.only_copy("audit", 0, 1).report(), super::SLUG), @"
        [info] 6 partitions of other topics have one copy only: when its broker stops, nobody can write to or read from them.
          seen: Only on broker 2 in sync: logs-0, logs-1, logs-2 and 2 more.
          seen: Only on broker 1 in sync: audit-0.
          not seen: Whether that was chosen on purpose.
          -> Before you stop a broker, look at its page: it says what stops with it: What has no other in-sync replica is moved or copied first, with kafka-reassign-partitions.sh and a throttle.
          -> Raise the replication factor of the topics that matter: Two more copies survive two failures; acks=all protects only while at least two replicas are in sync.
        ");
    }

    #[test]
    fn copies_and_single_brokers_are_no_finding() {
        assert!(!slugs(&Sample::kraft(3, 3, 3).report()).contains(&super::SLUG.to_owned()));
        assert!(!slugs(&Sample::kraft(1, 3, 1).only_copy("logs", 0, 1).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn topics_of_coordinators_are_spoken_of_elsewhere() {
        let states = |sample: Sample| sample.only_copy(TRANSACTION_STATE, 0, 1).only_copy(SHARE_GROUP_STATE, 7, 3);
        let sample = states(Sample::kraft(3, 3, 3).state_topic(TRANSACTION_STATE, 1, 1));
        let open = slugs(&sample.report());
        assert!(!open.contains(&super::SLUG.to_owned()), "{open:?}");
        assert!(open.contains(&"state-topic-replication-factor".to_owned()), "{open:?}");
        insta::assert_snapshot!(text(&sample.only_copy("logs", 4, 1).report(), super::SLUG), @"
        [info] 1 partition of other topics has one copy only: when its broker stops, nobody can write to or read from it.
          seen: Only on broker 1 in sync: logs-4.
          not seen: Whether that was chosen on purpose.
          -> Before you stop a broker, look at its page: it says what stops with it: What has no other in-sync replica is moved or copied first, with kafka-reassign-partitions.sh and a throttle.
          -> Raise the replication factor of the topics that matter: Two more copies survive two failures; acks=all protects only while at least two replicas are in sync.
        ");
    }

    #[test]
    fn not_looked_is_no_finding_and_said() {
        let report = Sample::kraft(3, 3, 3).only_copy("logs", 0, 1).no_client().report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
        assert!(report.could_not_observe.iter().any(|could_not| could_not.what.contains("other topics")));
    }
}
