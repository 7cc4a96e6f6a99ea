//! `isr-below-min`: too few in-sync replicas, so the coordinator refuses commits.
//!
//! Catalogue rows 12 and 13. To clients it looks just like a missing coordinator (error 15). Up to 3.6 the raw
//! `min.insync.replicas` counts, from 3.7 on it is capped by the replication factor (KAFKA-15583).

use std::collections::BTreeSet;

use super::ways_out::never_delete_the_topic;
use super::{Context, Rule, by, capital, finding, not_seen, seen_};
use crate::handbook::Entry;
use crate::report::{Avoid, Finding, Remedy, Risk, Severity, Status};
use crate::verdict::Cause;
use crate::{BrokerId, OFFSETS_TOPIC, PartitionId, words};

const SLUG: &str = "isr-below-min";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Too few in-sync replicas: commits are refused",
        severity: "outage, or error while a replica may catch up",
        means: "The coordinator lives and answers, but may not write: fewer live replicas are in sync than \
                `min.insync.replicas` asks for. Every committed offset and every change of membership is a record in \
                `__consumer_offsets`, so nothing that has to be remembered succeeds, while everything that only reads \
                looks well. There is no setting of its own for the offsets topic: it inherits `min.insync.replicas` from \
                the brokers, which people raise for their data and forget here.",
        opens: "Fewer live in-sync replicas than the effective `min.insync.replicas`: up to 3.6 the setting as it is, from \
                3.7 on no more than there are replicas (KAFKA-15583).",
        closes: "Enough replicas are in sync.",
        not_told: "If no broker tells `min.insync.replicas`, there is no finding, and the verdict says that commits are \
                   \"not verified\". Why a live follower does not catch up cannot be seen from outside: its own log, and \
                   the leader's, say so.",
        clients_see: "Up to 3.9 (classic coordinator): a stable group goes on reading, its commits fail with 15 \
                      (COORDINATOR_NOT_AVAILABLE) and its committed offsets freeze; a rebalancing group flaps between \
                      PreparingRebalance and CompletingRebalance. New coordinator (3.7 and newer): each write times out \
                      after 5 s, and heartbeats wait behind it, so all groups of the partition stand still. It looks just \
                      like a missing coordinator.",
        way_out: "Bring the followers back: nothing is lost, and commits go on as soon as enough have caught up. If the \
                  followers run and do not catch up, look at their logs and at the leader's disk first. Meanwhile, as a \
                  stop-gap, `min.insync.replicas` of this topic can be lowered; take it away again as soon as the ISR is \
                  full. Keep the committed offsets of the groups before.",
        never: "Do not restart the only in-sync leader, and do not delete the log directories of followers that stopped at \
                the same offset: then it may be the leader's log that is damaged, and those directories are the last good \
                copies. Do not leave the lowered setting in place.",
        twins: &[
            ("commits-wait", "there enough would remain; the leader only has to drop the lost follower, in seconds"),
            ("no-leader-live-replica", "there the partition has no leader at all"),
        ],
        shadows: &["broker-down", "groups-not-listed"],
        versions: "all; more than the replication factor is never reached up to 3.6, and capped from 3.7 on",
        sources: &[
            "KAFKA-15583 (capped by the replication factor, and the high watermark stands still below it, 3.7)",
            "KAFKA-3590 (how errors of the log are answered to clients)",
            "Partition.scala (NOT_ENOUGH_REPLICAS), GroupMetadataManager.scala, CoordinatorPartitionWriter.scala",
            "KIP-966 (changing min.insync.replicas clears the eligible leader replicas)",
        ],
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let groups = context.group_by(|verdict| match &verdict.cause {
        Cause::BelowMinIsr { live, min, joining } => Some((*live, *min, joining.clone(), verdict.status)),
        _ => None,
    });
    groups
        .into_iter()
        .map(|((live, min, joining, status), partitions)| explain(context, live, min, &joining, status, partitions))
        .collect()
}

fn explain(
    context: &Context<'_, '_>,
    live: usize,
    min: usize,
    joining: &[BrokerId],
    status: Status,
    partitions: Vec<PartitionId>,
) -> Finding {
    let reach = context.reach(&partitions);
    let stuck = status == Status::Stuck;
    let in_sync = words::count(live, "live replica");
    let mut finding = finding(
        SLUG,
        if stuck { Severity::Outage } else { Severity::Error },
        if status == Status::Unknown {
            format!("Commits may be refused on {reach}: {in_sync} in sync, and min.insync.replicas may be {min}.")
        } else {
            format!("Commits are not accepted on {reach}: {in_sync} in sync, and min.insync.replicas asks for {min}.")
        },
    );
    if status == Status::Unknown {
        finding.evidence.push(not_seen(
            "The topic's own min.insync.replicas, or the brokers' release, which decides how it counts.".to_owned(),
        ));
    }
    let lost: Vec<_> = missing(context, &partitions);
    if let Some(seen) = partitions.first().and_then(|partition| context.facts.partitions.get(partition)) {
        finding.evidence.push(seen_(format!(
            "Partition {}: replicas {}, ISR {}.",
            partitions.first().copied().unwrap_or_default(),
            words::ids(&seen.newest.replicas),
            words::ids(&seen.newest.isr)
        )));
    }
    for &broker in &lost {
        finding.evidence.push(seen_(format!("{}: {}.", capital(&context.broker(broker)), context.trouble(broker))));
    }
    let bound = partitions
        .iter()
        .filter_map(|partition| context.verdicts.get(partition)?.expected_by.as_ref())
        .max_by_key(|bound| bound.at);
    finding.outlook = Some(match (bound, joining) {
        (Some(bound), []) => {
            format!("Not known yet whether the silent replica is lost: Unstuck says more {}.", by(bound))
        }
        (Some(bound), joining) => {
            format!("{} should catch up and join the ISR {}.", capital(&words::brokers(joining)), by(bound))
        }
        (None, _) if !stuck => "If the setting is so, a follower has to come back and catch up.".to_owned(),
        (None, _) => "It will not heal by itself: a follower has to come back and catch up.".to_owned(),
    });
    finding.remedies = remedies(context, live, min, &lost, stuck, &partitions);
    finding.avoid = avoid(context, live, &partitions);
    finding.brokers = lost;
    finding.partitions = partitions;
    finding
}

fn remedies(
    context: &Context<'_, '_>,
    live: usize,
    min: usize,
    lost: &[BrokerId],
    stuck: bool,
    partitions: &[PartitionId],
) -> Vec<Remedy> {
    let views = || partitions.iter().filter_map(|id| context.facts.partitions.get(id)).map(|seen| seen.newest);
    let replicas = views().map(|view| view.replicas.len()).min().unwrap_or(0);
    let mut remedies = Vec::new();
    let why = "Commits are accepted again as soon as enough replicas are in sync. Nothing is lost.";
    if !lost.is_empty() {
        remedies.push(context.start(lost, true, why));
    } else if replicas >= min {
        let mut behind: Vec<_> =
            views().flat_map(|view| view.replicas.iter().copied().filter(|id| !view.isr.contains(id))).collect();
        behind.sort_unstable();
        behind.dedup();
        remedies.push(
            Remedy::new(format!("Find out why {} not catch up", who_do(&behind)), why)
                .looks(context.commands().log_dirs(&[], OFFSETS_TOPIC))
                .verify("The sizes of a partition's replicas draw level, and the ISR grows."),
        );
    }
    if !stuck {
        return remedies;
    }
    remedies.extend(context.save_offsets(partitions));
    remedies.push(ask_for_fewer(context, live, replicas < min));
    remedies
}

/// The stop-gap; or, where the topic asks for more replicas than it has, the repair.
fn ask_for_fewer(context: &Context<'_, '_>, live: usize, out_of_reach: bool) -> Remedy {
    let commands = context.commands();
    let setting = "min.insync.replicas";
    let command = commands.set_topic(OFFSETS_TOPIC, &format!("{setting}={}", live.max(1)));
    let changes = format!("{setting} of all partitions of {OFFSETS_TOPIC}, at once and without a restart.");
    let undo = match own_setting(context) {
        Some(before) => format!("`{}`", commands.set_topic(OFFSETS_TOPIC, &format!("{setting}={before}"))),
        None => format!("`{}`", commands.unset_topic(OFFSETS_TOPIC, setting)),
    };
    let undo = format!("As soon as the ISR is full again: {undo}.");
    let verify = "Unstuck says that commits are accepted, and committed offsets move again.";
    if out_of_reach {
        let why = "The topic asks for more in-sync replicas than it has replicas, so no follower can help.";
        let remedy = Remedy::new("Ask for no more in-sync replicas than there are", why).command(command, changes);
        let danger = "Until it has more replicas, one crash may lose commits. It could not commit at all before.";
        return remedy.danger(Risk::Exposes, danger).verify(verify).undo(undo);
    }
    let clears = match context.facts.kraft {
        Some(true) => " On Kafka 4.0 and newer it also makes the cluster forget its eligible leader replicas.",
        _ => "",
    };
    Remedy::new(
        "Meanwhile: ask for fewer in-sync replicas",
        "A stop-gap. Commits are accepted at once, with fewer copies than you wanted.",
    )
    .command(command, changes)
    .given(format!("{} in sync", words::count(live, "live replica")), live > 0)
    .danger(Risk::Exposes, format!("Until you take it away, the crash of one more broker loses commits.{clears}"))
    .verify(verify)
    .undo(undo)
}

/// The topic's own `min.insync.replicas`, if it has one rather than the brokers' default.
fn own_setting(context: &Context<'_, '_>) -> Option<i32> {
    let brokers = context.facts.answering.iter().filter_map(|id| context.facts.snapshot.brokers.get(id));
    let mut configs = brokers.filter_map(|sight| sight.topic_configs.known()?.as_ref());
    configs.find_map(|configs| configs.min_insync_replicas.filter(|_| configs.min_insync_is_override == Some(true)))
}

fn avoid(context: &Context<'_, '_>, live: usize, partitions: &[PartitionId]) -> Vec<Avoid> {
    let views = partitions.iter().filter_map(|id| context.facts.partitions.get(id)).map(|seen| seen.newest);
    let last: BTreeSet<_> = views.filter(|view| view.replicas.len() > 1).filter_map(|view| view.leader).collect();
    let mut avoid = Vec::new();
    if live == 1 && !last.is_empty() {
        let who = words::brokers(&last);
        avoid.push(Avoid {
            what: format!("Do not restart {who}, the only in-sync replica left"),
            why: "Without it the partition has no leader at all, and all that the others have not copied is at stake."
                .to_owned(),
        });
        avoid.push(Avoid {
            what: "Do not delete the log directories of followers that do not catch up".to_owned(),
            why: "If they all stopped at the same offset, the damage is in the leader's log, and theirs are the last good \
                  copies up to there."
                .to_owned(),
        });
    }
    avoid.push(never_delete_the_topic());
    avoid
}

fn who_do(brokers: &[BrokerId]) -> String {
    format!("{} {}", words::brokers(brokers), if brokers.len() == 1 { "does" } else { "do" })
}

/// Replicas of these partitions whose brokers do not answer.
fn missing(context: &Context<'_, '_>, partitions: &[PartitionId]) -> Vec<BrokerId> {
    let seen = partitions.iter().filter_map(|partition| context.facts.partitions.get(partition));
    let mut missing: Vec<_> = seen
        .flat_map(|seen| seen.newest.replicas.iter().copied())
        .filter(|id| !context.facts.answering.contains(id))
        .collect();
    missing.sort_unstable();
    missing.dedup();
    missing
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn commits_are_refused() {
        let sample = Sample::kraft(3, 1, 3).min_isr(3).isr(0, &[1, 2]).gone(3);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] Commits are not accepted on partition 0 of __consumer_offsets: 2 live replicas in sync, and min.insync.replicas asks for 3.
          outlook: It will not heal by itself: a follower has to come back and catch up.
          seen: Partition 0: replicas [1, 2, 3], ISR [1, 2].
          seen: Broker 3 (127.0.0.1:9003): connection refused.
          -> Start broker 3: Commits are accepted again as soon as enough replicas are in sync. Nothing is lost.
             if (not known): its log directories are still there
             verify: Unstuck shows broker 3 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9003` answers.
          -> Meanwhile: ask for fewer in-sync replicas: A stop-gap. Commits are accepted at once, with fewer copies than you wanted.
             if (met): 2 live replicas in sync
             $ kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --alter --add-config min.insync.replicas=2
             changes: min.insync.replicas of all partitions of __consumer_offsets, at once and without a restart.
             ! (less safe while it lasts) Until you take it away, the crash of one more broker loses commits. On Kafka 4.0 and newer it also makes the cluster forget its eligible leader replicas.
             verify: Unstuck says that commits are accepted, and committed offsets move again.
             undo: As soon as the ISR is full again: `kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --alter --delete-config min.insync.replicas`.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
        ");
    }

    #[test]
    fn a_follower_that_lives_may_catch_up() {
        let sample = Sample::kraft(3, 1, 3).min_isr(3).isr(0, &[1, 2]);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] Commits are not accepted on partition 0 of __consumer_offsets: 2 live replicas in sync, and min.insync.replicas asks for 3.
          outlook: Broker 3 should catch up and join the ISR by 12:00:34 UTC.
          seen: Partition 0: replicas [1, 2, 3], ISR [1, 2].
          -> Find out why broker 3 does not catch up: Commits are accepted again as soon as enough replicas are in sync. Nothing is lost.
             $ kafka-log-dirs.sh --bootstrap-server 127.0.0.1:9001 --describe --topic-list __consumer_offsets
             verify: The sizes of a partition's replicas draw level, and the ISR grows.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
        ");
    }

    #[test]
    fn a_silent_follower_is_not_lost_yet() {
        let sample = Sample::kraft(3, 1, 3).min_isr(3).hung(3, 4);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] Commits are not accepted on partition 0 of __consumer_offsets: 2 live replicas in sync, and min.insync.replicas asks for 3.
          outlook: Not known yet whether the silent replica is lost: Unstuck says more by 12:00:13 UTC.
          seen: Partition 0: replicas [1, 2, 3], ISR [1, 2, 3].
          seen: Broker 3 (127.0.0.1:9003): accepts connections, but does not answer.
          -> Bring back broker 3: Commits are accepted again as soon as enough replicas are in sync. Nothing is lost.
             if (not known): its log directories are still there
             verify: Unstuck shows broker 3 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9003` answers.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
        ");
    }

    #[test]
    fn more_than_the_replication_factor_counts_up_to_3_6_only() {
        let old = Sample::zookeeper(3, 1, 1).release("3.6").min_isr(2);
        assert!(slugs(&old.report()).contains(&super::SLUG.to_owned()));
        let new = Sample::kraft(3, 1, 1).release("3.7").min_isr(2);
        assert!(!slugs(&new.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn an_unknown_min_isr_is_no_finding_and_not_verified() {
        let report = Sample::kraft(3, 1, 3).no_configs().report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
        assert!(!report.partitions[0].writes_verified);
    }
}
