//! `under-replicated`: a live broker lags behind, so some replicas are not in sync.
//!
//! Catalogue row 15. Waits for as long as a follower may take that has just come back, or a rolling restart would open it
//! at each step. A broker that is down is no laggard: other findings speak of it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Context, Rule, capital, finding, not_seen, seen_, step};
use crate::commands::Reassign;
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Risk, Severity};
use crate::verdict::Cause;
use crate::{BrokerId, OFFSETS_TOPIC, PartitionId, words};

const SLUG: &str = "under-replicated";
/// How many partitions the evidence shows.
const SHOWN: usize = 3;

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A live broker does not keep up: some replicas of the offsets topic are not in sync",
        severity: "warning",
        means: "A follower that does not fetch up to the leader's end within `replica.lag.time.max.ms` leaves the ISR. \
            Commits go on, as enough others are in sync; but the copy is old, and may not take over. The next failure then \
            stops commits, or leaves the partition without a leader.",
        opens: "A partition has a leader, and a replica on a live broker is not in its ISR for longer than \
            `replica.lag.time.max.ms` (and 4 s), counted anew when that broker comes back; at least \
            `min.insync.replicas` are in sync.",
        closes: "It is in the ISR again, or its broker is down (other findings speak then).",
        not_told: "Why a follower lags is not seen from outside: disk, network, a dead fetcher thread or a forgotten \
            throttle. How far it is behind is told by its log directories (DescribeLogDirs), if permitted.",
        clients_see: "Nothing.",
        way_out: "Look at the lagging broker: its disks, its network, ReplicaFetcherThread in its log. A throttle that a \
            reassignment left behind is taken away by the tool's `--verify`. A fetcher thread that died comes back with a \
            restart of that broker, which holds nothing alone.",
        never: "Do not restart the leader instead: it is the one that has the data.",
        twins: &[
            ("isr-below-min", "too few are in sync: commits are refused"),
            ("replication-factor-low", "there are too few replicas, but all of them are in sync"),
            ("broker-down", "the broker of the missing replica does not answer"),
        ],
        sources: &["replica.lag.time.max.ms", "KIP-16"],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    if facts.stale {
        return Vec::new();
    }
    let mut behind: BTreeMap<BrokerId, Vec<PartitionId>> = BTreeMap::new();
    for (&partition, seen) in &facts.partitions {
        let view = seen.newest;
        let told_otherwise = matches!(
            context.verdicts.get(&partition).map(|verdict| &verdict.cause),
            Some(Cause::BelowMinIsr { .. } | Cause::Disagreement)
        );
        if view.leader.is_none() || told_otherwise || moving(context, partition) {
            continue;
        }
        for &broker in view.replicas.iter().filter(|id| !view.isr.contains(id)) {
            if facts.electable(broker) && since(context, partition, broker).is_some() {
                behind.entry(broker).or_default().push(partition);
            }
        }
    }
    behind.into_iter().map(|(broker, partitions)| explain(context, broker, partitions)).collect()
}

/// Whether replicas of a partition are being added or taken away: those to come are not in sync yet.
fn moving(context: &Context<'_, '_>, partition: PartitionId) -> bool {
    let sights = context.facts.snapshot.brokers.values();
    sights.filter_map(|sight| sight.reassignments.known()).any(|running| running.contains_key(&partition))
}

/// Since when a replica has been behind for longer than a follower may take; `None` if it still may.
fn since(context: &Context<'_, '_>, partition: PartitionId, broker: BrokerId) -> Option<Timestamp> {
    let memory = context.facts.memory;
    let short = memory.partitions.get(&partition)?.short_isr_since?;
    let begun = memory.relisted.get(&broker).map_or(short, |&back| back.max(short));
    context.facts.past(&context.facts.replica_bound(begun)).then_some(begun)
}

fn explain(context: &Context<'_, '_>, broker: BrokerId, partitions: Vec<PartitionId>) -> Finding {
    let facts = context.facts;
    let mut finding = finding(
        SLUG,
        Severity::Warning,
        format!(
            "{} does not keep up: its copy of {} is not in sync, so it may not take over.",
            capital(&context.broker(broker)),
            context.reach(&partitions)
        ),
    );
    for (partition, seen) in partitions.iter().filter_map(|id| Some((id, facts.partitions.get(id)?))).take(SHOWN) {
        let since = since(context, *partition, broker)
            .map_or_else(String::new, |at| format!(", since {} at the latest", crate::time::clock(at)));
        finding.evidence.push(seen_(format!(
            "Partition {partition}: replicas {}, ISR {}{since}.",
            words::ids(&seen.newest.replicas),
            words::ids(&seen.newest.isr)
        )));
    }
    let dirs = facts.snapshot.brokers.get(&broker).and_then(|sight| sight.log_dirs.known());
    match dirs.map(|dirs| partitions.iter().filter_map(|id| dirs.offsets.get(id)).map(|size| size.offset_lag).max()) {
        Some(Some(lag)) if lag > 0 => {
            finding.evidence.push(seen_(format!(
                "It is up to {} records behind (DescribeLogDirs).",
                words::thousands(usize::try_from(lag).unwrap_or(usize::MAX))
            )));
        }
        Some(_) => {}
        None => finding
            .evidence
            .push(not_seen("How far it is behind: its log directories could not be looked at.".to_owned())),
    }
    let commands = context.commands();
    finding.remedies = vec![
        Remedy::new(
            format!("Look at broker {broker}: its log, disks and network"),
            "ReplicaFetcherThread in its log says what keeps it from fetching; the command shows how far it is behind.",
        )
        .looks(commands.log_dirs(&[broker], OFFSETS_TOPIC)),
        step(
            "Take away a throttle that a reassignment left behind",
            format!(
                "`{}` does that, with the file of that reassignment; follower.replication.throttled.rate on the broker \
                 shows one.",
                commands.reassign("FILE.json", Reassign::Verify)
            ),
        ),
        Remedy::new(
            format!("Restart broker {broker} if its fetcher has died"),
            "It fetches anew, and joins the ISR when it has caught up.",
        )
        .given("no partition of __consumer_offsets depends on it alone", spared(context, broker))
        .danger(Risk::Pause, "Groups that it coordinates pause until others have taken over.")
        .verify("the finding closes: the broker is in every ISR again"),
    ];
    finding.brokers = vec![broker];
    finding.partitions = partitions;
    finding
}

/// Whether every partition that it leads or is in sync with has another live in-sync replica.
fn spared(context: &Context<'_, '_>, broker: BrokerId) -> bool {
    let facts = context.facts;
    let mut held = facts.partitions.values().filter(|seen| seen.newest.isr.contains(&broker));
    held.all(|seen| seen.newest.isr.iter().any(|&id| id != broker && facts.electable(id)))
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn a_live_broker_lags() {
        let sample = Sample::kraft(3, 3, 3).isr(0, &[1, 2]).offset_lag(3, 0, 12_345).group_on(0, "orders").later(60);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [warning] Broker 3 (127.0.0.1:9003) does not keep up: its copy of partition 0 of __consumer_offsets (1 known group) is not in sync, so it may not take over.
          seen: Partition 0: replicas [1, 2, 3], ISR [1, 2], since 12:00:00 UTC at the latest.
          seen: It is up to 12,345 records behind (DescribeLogDirs).
          -> Look at broker 3: its log, disks and network: ReplicaFetcherThread in its log says what keeps it from fetching; the command shows how far it is behind.
             $ kafka-log-dirs.sh --bootstrap-server 127.0.0.1:9001 --describe --broker-list 3 --topic-list __consumer_offsets
          -> Take away a throttle that a reassignment left behind: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file FILE.json --verify` does that, with the file of that reassignment; follower.replication.throttled.rate on the broker shows one.
          -> Restart broker 3 if its fetcher has died: It fetches anew, and joins the ISR when it has caught up.
             if (met): no partition of __consumer_offsets depends on it alone
             ! (groups may pause for a moment) Groups that it coordinates pause until others have taken over.
             verify: the finding closes: the broker is in every ISR again
        ");
    }

    #[test]
    fn one_that_may_still_catch_up_is_waited_for() {
        let sample = Sample::kraft(3, 3, 3).isr(0, &[1, 2]).later(20);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
        assert!(slugs(&sample.later(20).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn in_sync_down_below_min_or_moving_is_no_such_finding() {
        let down = Sample::kraft(3, 3, 3).isr(0, &[1, 2]).gone(3).leaderless_after(3).later(60);
        let below = Sample::kraft(3, 3, 3).min_isr(3).isr(0, &[1, 2]).later(60);
        let moving = Sample::kraft(3, 3, 3).isr(0, &[1, 2]).reassigning(0, &[3], &[]).later(60);
        for sample in [Sample::kraft(3, 3, 3).later(60), down, below, moving] {
            assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()), "{:?}", slugs(&sample.report()));
        }
    }

    #[test]
    fn how_far_behind_may_not_be_known() {
        let sample = Sample::kraft(3, 3, 3).isr(0, &[1, 2]).log_dirs_denied().later(60);
        assert!(text(&sample.report(), super::SLUG).contains("not seen: How far it is behind"));
        assert!(!slugs(&Sample::empty().report()).contains(&super::SLUG.to_owned()));
    }
}
