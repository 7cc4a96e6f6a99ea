//! `partition-large`: a partition of the offsets topic is far larger than its live data can be.
//!
//! Catalogue row 22: compaction is dead on a broker, or blocked. Sizes are those of DescribeLogDirs; nothing else tells
//! (offsets of a compacted log do not). Opens at 1 GiB, or at ten times the median and 256 MiB; closes below that.

use std::collections::BTreeMap;

use super::{Context, Rule, finding, likely, not_seen, seen_, step};
use crate::handbook::Entry;
use crate::report::{Avoid, Evidence, Finding, Severity};
use crate::{BrokerId, OFFSETS_TOPIC, PartitionId, words};

const SLUG: &str = "partition-large";
const GIB: i64 = 1 << 30;
const LARGE: i64 = 256 << 20;
const TIMES: i64 = 10;

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A partition of `__consumer_offsets` is far larger than its live data: compaction is dead or blocked",
        severity: "warning",
        means: "The topic is compacted: of each group and partition only the last commit is kept, which is some megabytes. \
                Where compaction stands still, every commit is kept, and whoever comes to lead the partition has to read \
                all of it before its groups are served: minutes instead of moments, at each restart.",
        opens: "A replica has 1 GiB or more; or 256 MiB and ten times as much as the median of the partitions.",
        closes: "It is smaller.",
        not_told: "Whether the cleaner's thread lives: only JMX and log-cleaner.log tell. Without DESCRIBE on CLUSTER sizes \
                   are not known.",
        clients_see: "COORDINATOR_LOAD_IN_PROGRESS (14) for long after every change of leader.",
        way_out: "See whether one replica is large or all are. One: the cleaner of that broker died; restart the broker at a \
                  quiet time. All: something blocks compaction; look for a transaction that never ends, and for \
                  cleanup.policy.",
        never: "Do not delete segments by hand: on one replica it makes copies differ, on all it loses offsets.",
        twins: &[
            ("hanging-transaction", "A cause: compaction does not go beyond an open transaction."),
            ("coordinator-loading", "The effect, while a leader reads it."),
        ],
        versions: "all; known: KAFKA-5413 (0.10.2, 0.11), KAFKA-8335 (2.2.1, 2.3)",
        sources: &["core/.../log/LogCleanerManager.scala", "KIP-113 (DescribeLogDirs)"],
        ..Entry::BLANK
    }],
    check,
};

/// Bytes of each replica, by partition and broker.
pub(super) fn sizes(context: &Context<'_, '_>) -> BTreeMap<PartitionId, BTreeMap<BrokerId, i64>> {
    let mut sizes: BTreeMap<PartitionId, BTreeMap<BrokerId, i64>> = BTreeMap::new();
    for (&broker, sight) in &context.facts.snapshot.brokers {
        let held = sight.log_dirs.known().into_iter().flat_map(|dirs| &dirs.offsets);
        for (&partition, size) in held.filter(|(_, size)| !size.is_future) {
            sizes.entry(partition).or_default().insert(broker, size.bytes);
        }
    }
    sizes
}

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let sizes = sizes(context);
    let largest: BTreeMap<PartitionId, i64> =
        sizes.iter().filter_map(|(&id, held)| Some((id, held.values().copied().max()?))).collect();
    let mut sorted: Vec<_> = largest.values().copied().collect();
    sorted.sort_unstable();
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0);
    let large = |bytes: i64| bytes >= GIB || bytes >= LARGE && bytes > median.saturating_mul(TIMES);
    let hit: Vec<_> = largest.iter().filter(|(_, bytes)| large(**bytes)).map(|(&id, &bytes)| (id, bytes)).collect();
    if hit.is_empty() { Vec::new() } else { vec![explain(context, &hit, &sizes, median)] }
}

fn explain(
    context: &Context<'_, '_>,
    hit: &[(PartitionId, i64)],
    sizes: &BTreeMap<PartitionId, BTreeMap<BrokerId, i64>>,
    median: i64,
) -> Finding {
    let partitions: Vec<_> = hit.iter().map(|(id, _)| *id).collect();
    let (worst, bytes) = hit.iter().max_by_key(|(_, bytes)| *bytes).copied().unwrap_or_default();
    let mut finding = finding(
        SLUG,
        Severity::Warning,
        match partitions.as_slice() {
            [one] => format!(
                "Partition {one} of {OFFSETS_TOPIC} has {}: its next leader will load for long, and compaction may be dead.",
                words::size(bytes)
            ),
            _ => format!(
                "{} are very large, partition {worst} has {}: their next leaders will load for long, and compaction may be \
                 dead.",
                super::capital(&context.reach(&partitions)),
                words::size(bytes)
            ),
        },
    );
    finding.outlook = Some("It grows with every commit, and each change of leader costs longer.".to_owned());
    let held = sizes.get(&worst).cloned().unwrap_or_default();
    finding.evidence = evidence(context, worst, &held, median, sizes.len());
    finding.avoid.push(Avoid {
        what: "Do not delete segments by hand".to_owned(),
        why: "On one replica it makes copies differ, on all of them it loses committed offsets.".to_owned(),
    });
    let dead: Vec<_> = held.iter().filter(|(_, size)| **size > bytes / TIMES).map(|(&id, _)| id).collect();
    let alone = dead.len() < held.len() || held.len() == 1;
    finding.remedies.push(step(
        format!("See whether the log cleaner of {} lives", words::brokers(&dead)),
        "JMX: kafka.log:type=LogCleaner,name=DeadThreadCount must be 0, and \
         kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count too, for each log directory. log-cleaner.log \
         has the error that stopped it.",
    ));
    let mut describe = step(
        "See whether something blocks compaction",
        "cleanup.policy must be compact. A transaction that never ends blocks it as well.",
    );
    describe.command = Some(context.commands().describe_settings(OFFSETS_TOPIC));
    finding.remedies.push(describe);
    for &broker in dead.iter().filter(|_| alone) {
        finding.remedies.push(super::restart::restart(
            context,
            broker,
            format!("If its cleaner is dead: restart broker {broker} at a quiet time"),
            "The cleaner starts anew. What it leads is loaded by others meanwhile: from their smaller copies, if theirs are.",
        ));
    }
    finding.brokers = dead;
    finding.partitions = partitions;
    finding
}

fn evidence(
    context: &Context<'_, '_>,
    partition: PartitionId,
    held: &BTreeMap<BrokerId, i64>,
    median: i64,
    counted: usize,
) -> Vec<Evidence> {
    let mut evidence: Vec<_> = held
        .iter()
        .map(|(broker, bytes)| {
            seen_(format!("Broker {broker} holds {} of partition {partition}.", words::size(*bytes)))
        })
        .collect();
    if counted > 2 {
        evidence.push(seen_(format!("The median of its partitions is {}.", words::size(median))));
    }
    let (least, most) = (held.values().min().copied().unwrap_or(0), held.values().max().copied().unwrap_or(0));
    if held.len() > 1 && least < most / TIMES {
        evidence
            .push(likely("Other replicas are small, so the log cleaner of the large one's broker is dead.".to_owned()));
    } else if held.len() > 1 {
        evidence.push(likely("All replicas are large, so something blocks compaction everywhere.".to_owned()));
    }
    let open = context.facts.snapshot.brokers.values().filter_map(|sight| sight.producers.known()?.get(&partition));
    if open.flatten().next().is_some() {
        evidence.push(seen_("A transaction is open on it: compaction does not go beyond that.".to_owned()));
    }
    evidence.push(not_seen("Whether the cleaner's thread lives: brokers tell by JMX only.".to_owned()));
    evidence
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn one_replica_is_large() {
        let sample = Sample::kraft(3, 6, 3).offsets_size(1, 0, 3_200_000_000);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [warning] Partition 0 of __consumer_offsets has 3.2 GB: its next leader will load for long, and compaction may be dead.
          outlook: It grows with every commit, and each change of leader costs longer.
          seen: Broker 1 holds 3.2 GB of partition 0.
          seen: Broker 2 holds 1 MB of partition 0.
          seen: Broker 3 holds 1 MB of partition 0.
          seen: The median of its partitions is 1 MB.
          likely: Other replicas are small, so the log cleaner of the large one's broker is dead.
          not seen: Whether the cleaner's thread lives: brokers tell by JMX only.
          -> See whether the log cleaner of broker 1 lives: JMX: kafka.log:type=LogCleaner,name=DeadThreadCount must be 0, and kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count too, for each log directory. log-cleaner.log has the error that stopped it.
          -> See whether something blocks compaction: cleanup.policy must be compact. A transaction that never ends blocks it as well.
             $ kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --describe
          -> If its cleaner is dead: restart broker 1 at a quiet time: The cleaner starts anew. What it leads is loaded by others meanwhile: from their smaller copies, if theirs are.
             if (met): broker 1 is not the last in-sync replica of any partition of __consumer_offsets
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 1 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
          avoid: Do not delete segments by hand: On one replica it makes copies differ, on all of them it loses committed offsets.
        ");
    }

    #[test]
    fn all_replicas_are_large_and_a_transaction_is_open() {
        let sample = Sample::kraft(2, 6, 2).offsets_size(1, 0, 400 << 20).offsets_size(2, 0, 410 << 20);
        insta::assert_snapshot!(text(&sample.producer_open(0, 7, 30).report(), super::SLUG), @"
        [warning] Partition 0 of __consumer_offsets has 429 MB: its next leader will load for long, and compaction may be dead.
          outlook: It grows with every commit, and each change of leader costs longer.
          seen: Broker 1 holds 419 MB of partition 0.
          seen: Broker 2 holds 429 MB of partition 0.
          seen: The median of its partitions is 1 MB.
          likely: All replicas are large, so something blocks compaction everywhere.
          seen: A transaction is open on it: compaction does not go beyond that.
          not seen: Whether the cleaner's thread lives: brokers tell by JMX only.
          -> See whether the log cleaner of brokers 1 and 2 lives: JMX: kafka.log:type=LogCleaner,name=DeadThreadCount must be 0, and kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count too, for each log directory. log-cleaner.log has the error that stopped it.
          -> See whether something blocks compaction: cleanup.policy must be compact. A transaction that never ends blocks it as well.
             $ kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --describe
          avoid: Do not delete segments by hand: On one replica it makes copies differ, on all of them it loses committed offsets.
        ");
    }

    #[test]
    fn equally_large_partitions_below_a_gibibyte_are_a_busy_cluster() {
        let mut sample = Sample::kraft(1, 3, 1);
        for partition in 0..3 {
            sample = sample.offsets_size(1, partition, 300 << 20);
        }
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn sizes_that_nobody_tells_are_not_known() {
        let sample = Sample::kraft(3, 6, 3).offsets_size(1, 0, 3_200_000_000).log_dirs_denied();
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
