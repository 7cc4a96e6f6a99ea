//! `broker-ids-unknown` and `broker-renumbered`: replica lists name brokers that nobody knows.
//!
//! A broker that came back under another id, was retired before its replicas were moved, or has been down since before
//! Unstuck began looking: from outside these look alike with ZooKeeper. Ids above `reserved.broker.max.id` (1000) are made
//! up by ZooKeeper where `broker.id` is not set. In KRaft from 4.0 on, brokers that are down stay registered and are told
//! as fenced, so that an id which is not is proven unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::{Context, Rule, capital, finding, likely, not_seen, seen_};
use crate::facts::{Facts, release};
use crate::handbook::Entry;
use crate::report::{Avoid, Evidence, Finding, Remedy, Risk, Severity};
use crate::{BrokerId, OFFSETS_TOPIC, PartitionId, words};

const UNKNOWN: &str = "broker-ids-unknown";
const RENUMBERED: &str = "broker-renumbered";
/// The first id that ZooKeeper makes up: `reserved.broker.max.id` is 1000 by default.
const FIRST_GENERATED: BrokerId = 1_001;

pub(super) const RULE: Rule = Rule {
    entries: &[
        Entry {
            slug: RENUMBERED,
            title: "Replicas are assigned to a broker id that no longer exists: it looks like a renumbered broker",
            severity: "outage where partitions have no leader by it, otherwise warning",
            means: "Partitions belong to broker ids, not to machines. A broker that comes back under another id is a new, \
                    empty broker to the cluster; its old replicas wait for the old id for ever. Typical: a container \
                    without `broker.id`, which gets a new id (1001, 1002, …) with every new volume.",
            opens: "A replica list names an id that no broker lists as live, that is not registered as fenced and was never \
                    seen by this run; and either the id is a generated one (above 1000) while a live broker holds no \
                    replica at all, or the controllers (KRaft 4.0 and newer) do not know it.",
            closes: "A broker of that id is there, or no replica list names it any more.",
            not_told: "Which live broker it was before. The file meta.properties in its log directory has the old id.",
            clients_see: "Producing to new topics works. Consumer groups are silent: COORDINATOR_NOT_AVAILABLE at DEBUG.",
            way_out: "Give the running broker its old id and its old log directories. If that data is gone for good, move \
                      the replicas where other ones are in sync, and accept the loss where none is.",
            never: "Do not delete the topic or its nodes in ZooKeeper while the old data exists: all committed offsets of all \
                    groups go with it.",
            twins: &[
                (
                    "no-leader-no-live-replica",
                    "The same partitions, where the broker is merely down: then starting it is all.",
                ),
                (UNKNOWN, "The same without a sign that the broker was renumbered."),
            ],
            shadows: &["no-leader-no-live-replica", "broker-down"],
            versions: "all; generated ids with ZooKeeper only",
            sources: &[
                "broker.id.generation.enable, reserved.broker.max.id (broker settings)",
                "KIP-631 (registration)",
            ],
        },
        Entry {
            slug: UNKNOWN,
            title: "Replica lists name broker ids that nobody knows",
            severity: "outage where partitions have no leader by it, otherwise warning",
            means: "The brokers of these ids are down since before Unstuck began looking, or were retired or renumbered \
                    without moving their replicas first. With ZooKeeper a broker that is down leaves no trace but the \
                    replica lists, so these cannot be told apart from outside.",
            opens: "A replica list names an id that no broker lists as live, that is not registered as fenced and was never \
                    seen by this run.",
            closes: "A broker of that id is seen, or no replica list names it any more.",
            not_told: "Whether such a broker still exists.",
            clients_see: "Where partitions have no leader by it: COORDINATOR_NOT_AVAILABLE, or silence.",
            way_out: "Start the broker if it exists. If it was renumbered, give it its old id back. If it is retired, move \
                      its replicas to live brokers; where it held the only one, it has to come back for that.",
            never: "Do not delete the topic or its nodes in ZooKeeper: all committed offsets of all groups go with it.",
            twins: &[
                (RENUMBERED, "The same with a sign that the broker came back under another id."),
                ("broker-down", "A broker that was seen to live, and is down now."),
            ],
            versions: "all",
            sources: &["core/.../cluster/Broker.scala", "KIP-631 (registration)"],
            ..Entry::BLANK
        },
    ],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    if facts.answering.is_empty() {
        return Vec::new();
    }
    let mut by_id: BTreeMap<BrokerId, Vec<PartitionId>> = BTreeMap::new();
    for (&partition, seen) in &facts.partitions {
        for &id in seen.newest.replicas.iter().filter(|id| unknown(facts, **id)) {
            by_id.entry(id).or_default().push(partition);
        }
    }
    let mut kinds: BTreeMap<bool, (Vec<BrokerId>, BTreeSet<PartitionId>)> = BTreeMap::new();
    for (id, partitions) in by_id {
        let (ids, all) = kinds.entry(renumbered(facts, id)).or_default();
        ids.push(id);
        all.extend(partitions);
    }
    kinds
        .into_iter()
        .map(|(strong, (ids, partitions))| explain(context, strong, ids, partitions.into_iter().collect()))
        .collect()
}

fn unknown(facts: &Facts<'_>, id: BrokerId) -> bool {
    let sight = facts.snapshot.brokers.get(&id);
    !facts.memory.brokers_seen.contains_key(&id)
        && !facts.listed_live.contains(&id)
        && !facts.off_listener.contains(&id)
        && sight.is_none_or(|sight| !sight.fenced && sight.contact.first_answer.is_none())
}

fn renumbered(facts: &Facts<'_>, id: BrokerId) -> bool {
    let generated = facts.kraft == Some(false) && id >= FIRST_GENERATED;
    generated && !idle(facts).is_empty() || registrations_told(facts)
}

/// Brokers that live and hold no replica of the offsets topic.
fn idle(facts: &Facts<'_>) -> Vec<BrokerId> {
    let live = facts.answering.union(&facts.listed_live);
    live.copied().filter(|id| !facts.partitions.values().any(|seen| seen.newest.replicas.contains(id))).collect()
}

/// Whether every broker that is registered would be known: KRaft brokers of 4.0 tell the fenced ones too (KIP-1073).
fn registrations_told(facts: &Facts<'_>) -> bool {
    facts.kraft == Some(true)
        && facts.answering.iter().filter_map(|id| facts.snapshot.brokers.get(id)).any(|sight| {
            sight.describe_cluster_permitted.known().is_some()
                && release(sight).is_some_and(|release| release >= (4, 0))
        })
}

fn explain(context: &Context<'_, '_>, strong: bool, ids: Vec<BrokerId>, partitions: Vec<PartitionId>) -> Finding {
    let facts = context.facts;
    let leaderless: Vec<_> = partitions
        .iter()
        .copied()
        .filter(|id| facts.partitions.get(id).is_some_and(|seen| seen.newest.leader.is_none()))
        .collect();
    let who = words::brokers(&ids);
    let reach = context.reach(if leaderless.is_empty() { &partitions } else { &leaderless });
    let have = if leaderless.len() == 1 { "has" } else { "have" };
    let it = if ids.len() == 1 { "it" } else { "them" };
    let sentence = match (strong, leaderless.is_empty()) {
        (true, true) => format!("Replicas of {reach} are assigned to {who}: no broker has that id any more."),
        (true, false) => {
            format!("{} {have} no leader: assigned to {who}, and no broker has that id any more.", capital(&reach))
        }
        (false, true) => format!("Replicas of {reach} are assigned to {who}, and nobody knows {it}."),
        (false, false) => format!("{} {have} no leader: assigned to {who}, and nobody knows {it}.", capital(&reach)),
    };
    let severity = if leaderless.is_empty() { Severity::Warning } else { Severity::Outage };
    let mut finding = finding(if strong { RENUMBERED } else { UNKNOWN }, severity, sentence);
    finding.outlook = Some(if leaderless.is_empty() {
        "These replicas count, and will never be in sync.".to_owned()
    } else {
        format!("It will not heal by itself: only {who} can lead, with the data of that id.")
    });
    finding.evidence = evidence(context, strong, &ids, &partitions);
    finding.avoid.push(Avoid {
        what: format!("Do not delete {OFFSETS_TOPIC} or its nodes in ZooKeeper"),
        why: "All committed offsets of all groups go with it, of the working ones too.".to_owned(),
    });
    finding.remedies = remedies(context, strong, &ids, &leaderless);
    finding.brokers = ids;
    finding.partitions = partitions;
    finding
}

fn evidence(context: &Context<'_, '_>, strong: bool, ids: &[BrokerId], partitions: &[PartitionId]) -> Vec<Evidence> {
    let facts = context.facts;
    let mut evidence = Vec::new();
    if let Some((first, seen)) = partitions.first().and_then(|first| Some((first, facts.partitions.get(first)?))) {
        evidence.push(seen_(format!("Replicas of partition {first}: {}.", words::ids(&seen.newest.replicas))));
    }
    let live: Vec<_> = facts.answering.union(&facts.listed_live).copied().collect();
    evidence.push(seen_(format!(
        "Live: {}. {} {} not seen since Unstuck began looking.",
        words::brokers(&live),
        capital(&words::brokers(ids)),
        if ids.len() == 1 { "was" } else { "were" }
    )));
    let idle = idle(facts);
    if ids.iter().any(|&id| id >= FIRST_GENERATED) && facts.kraft == Some(false) {
        evidence.push(likely(
            "Ids from 1001 on are made up by ZooKeeper where broker.id is not set: a new volume means a new id."
                .to_owned(),
        ));
    }
    if !idle.is_empty() {
        let one = idle.len() == 1;
        evidence.push(likely(format!(
            "{} {} no replica of {OFFSETS_TOPIC}: {} may be {} under a new id.",
            capital(&words::brokers(&idle)),
            if one { "holds" } else { "hold" },
            if one { "it" } else { "one of them" },
            words::brokers(ids)
        )));
    }
    if facts.kraft == Some(true) && strong {
        evidence.push(seen_("The controllers do not know it as fenced either: it is not registered.".to_owned()));
    } else if !strong {
        evidence.push(not_seen(
            "Whether it is down, retired or renumbered: a broker that is down leaves no other trace.".to_owned(),
        ));
    }
    evidence
}

fn remedies(context: &Context<'_, '_>, strong: bool, ids: &[BrokerId], leaderless: &[PartitionId]) -> Vec<Remedy> {
    let facts = context.facts;
    let who = words::brokers(ids);
    let kraft = facts.kraft == Some(true);
    let key = if kraft { "node.id" } else { "broker.id" };
    let start = || {
        Remedy::new(format!("Start {who}, if it still exists"), "With its data, everything is as before.")
            .verify("It is listed as live, and its partitions have a leader.")
    };
    let rename = Remedy::new(
        format!("If a broker came back under another id: give it {key}={} again", words::list(ids)),
        format!(
            "Stop it, set {key} in server.properties and in meta.properties of its old log directories to the old id, and \
             start it with these directories. Pin {key} for the future."
        ),
    )
    .danger(Risk::Pause, "What it leads under its new id stops until others lead it.")
    .given("its old log directories still exist", None)
    .given(
        "under its new id it holds no replica that would be missed",
        (!idle(facts).is_empty()).then_some(true),
    )
    .verify("It is listed as live under the old id, and its partitions have a leader.")
    .undo("Stop it, and start it under the new id with the directories it had then.");
    let mut remedies = if strong { vec![rename] } else { vec![start(), rename] };
    if leaderless.is_empty() {
        remedies.push(
            Remedy::new(
                format!("If {who} will not come back: move its replicas to live brokers"),
                "A reassignment of these partitions, with the replicas that live and new ones in its place.",
            )
            .danger(Risk::Pause, "Copies data over the network; leaders may move.")
            .given("these partitions have a leader", true)
            .verify(format!("No replica list names {who} any more."))
            .undo("A reassignment back, as long as the broker exists."),
        );
    } else {
        remedies.push(
            Remedy::new(
                "Only if its data is gone for good: start an empty broker with the old id",
                "It leads its partitions, empty. Then move them to other brokers, and set the groups' positions by time.",
            )
            .danger(Risk::Loses, format!("Loses the committed offsets of {} for good.", context.reach(leaderless)))
            .given("the old log directories are lost", None)
            .verify("The partitions have a leader.")
            .undo("Cannot be undone."),
        );
    }
    remedies
}

#[cfg(test)]
mod tests {
    use crate::memory::Memory;
    use crate::sample::{Sample, slugs, text};

    fn ids(brokers: i32, old: i32) -> Sample {
        let mut sample = Sample::zookeeper(brokers, 3, 1).replicas(0, &[old]).no_leader(0, &[old]);
        sample.memory = Memory::new(sample.now());
        sample
    }

    #[test]
    fn a_generated_id_while_a_live_broker_holds_nothing() {
        let mut sample = Sample::zookeeper(1, 2, 1).replicas(0, &[1001]).replicas(1, &[1001]);
        sample = sample.no_leader(0, &[1001]).no_leader(1, &[1001]);
        sample.memory = Memory::new(sample.now());
        let report = sample.later(5).report();
        insta::assert_snapshot!(text(&report, super::RENUMBERED), @"
        [outage] All 2 partitions of __consumer_offsets have no leader: assigned to broker 1001, and no broker has that id any more.
          outlook: It will not heal by itself: only broker 1001 can lead, with the data of that id.
          seen: Replicas of partition 0: [1001].
          seen: Live: broker 1. Broker 1001 was not seen since Unstuck began looking.
          likely: Ids from 1001 on are made up by ZooKeeper where broker.id is not set: a new volume means a new id.
          likely: Broker 1 holds no replica of __consumer_offsets: it may be broker 1001 under a new id.
          -> If a broker came back under another id: give it broker.id=1001 again: Stop it, set broker.id in server.properties and in meta.properties of its old log directories to the old id, and start it with these directories. Pin broker.id for the future.
             if (not known): its old log directories still exist
             if (met): under its new id it holds no replica that would be missed
             ! (groups may pause for a moment) What it leads under its new id stops until others lead it.
             verify: It is listed as live under the old id, and its partitions have a leader.
             undo: Stop it, and start it under the new id with the directories it had then.
          -> Only if its data is gone for good: start an empty broker with the old id: It leads its partitions, empty. Then move them to other brokers, and set the groups' positions by time.
             if (not known): the old log directories are lost
             ! (loses data) Loses the committed offsets of all 2 partitions of __consumer_offsets for good.
             verify: The partitions have a leader.
             undo: Cannot be undone.
          avoid: Do not delete __consumer_offsets or its nodes in ZooKeeper: All committed offsets of all groups go with it, of the working ones too.
        ");
        let shadowed = report.findings.iter().find(|finding| finding.slug == "no-leader-no-live-replica");
        assert_eq!(shadowed.and_then(|finding| finding.follows_from.as_deref()), Some(super::RENUMBERED));
    }

    #[test]
    fn a_phantom_that_may_as_well_be_down() {
        insta::assert_snapshot!(text(&ids(3, 391).later(5).report(), super::UNKNOWN), @"
        [outage] Partition 0 of __consumer_offsets has no leader: assigned to broker 391, and nobody knows it.
          outlook: It will not heal by itself: only broker 391 can lead, with the data of that id.
          seen: Replicas of partition 0: [391].
          seen: Live: brokers 1, 2 and 3. Broker 391 was not seen since Unstuck began looking.
          likely: Broker 1 holds no replica of __consumer_offsets: it may be broker 391 under a new id.
          not seen: Whether it is down, retired or renumbered: a broker that is down leaves no other trace.
          -> Start broker 391, if it still exists: With its data, everything is as before.
             verify: It is listed as live, and its partitions have a leader.
          -> If a broker came back under another id: give it broker.id=391 again: Stop it, set broker.id in server.properties and in meta.properties of its old log directories to the old id, and start it with these directories. Pin broker.id for the future.
             if (not known): its old log directories still exist
             if (met): under its new id it holds no replica that would be missed
             ! (groups may pause for a moment) What it leads under its new id stops until others lead it.
             verify: It is listed as live under the old id, and its partitions have a leader.
             undo: Stop it, and start it under the new id with the directories it had then.
          -> Only if its data is gone for good: start an empty broker with the old id: It leads its partitions, empty. Then move them to other brokers, and set the groups' positions by time.
             if (not known): the old log directories are lost
             ! (loses data) Loses the committed offsets of partition 0 of __consumer_offsets for good.
             verify: The partitions have a leader.
             undo: Cannot be undone.
          avoid: Do not delete __consumer_offsets or its nodes in ZooKeeper: All committed offsets of all groups go with it, of the working ones too.
          follows from no-leader-no-live-replica
        ");
    }

    #[test]
    fn a_retired_id_among_others() {
        let sample = Sample::kraft(3, 3, 2).replicas(0, &[1, 7]).isr(0, &[1]).later(5);
        insta::assert_snapshot!(text(&sample.report(), super::RENUMBERED), @"
        [warning] Replicas of partition 0 of __consumer_offsets are assigned to broker 7: no broker has that id any more.
          outlook: These replicas count, and will never be in sync.
          seen: Replicas of partition 0: [1, 7].
          seen: Live: brokers 1, 2 and 3. Broker 7 was not seen since Unstuck began looking.
          seen: The controllers do not know it as fenced either: it is not registered.
          -> If a broker came back under another id: give it node.id=7 again: Stop it, set node.id in server.properties and in meta.properties of its old log directories to the old id, and start it with these directories. Pin node.id for the future.
             if (not known): its old log directories still exist
             if (not known): under its new id it holds no replica that would be missed
             ! (groups may pause for a moment) What it leads under its new id stops until others lead it.
             verify: It is listed as live under the old id, and its partitions have a leader.
             undo: Stop it, and start it under the new id with the directories it had then.
          -> If broker 7 will not come back: move its replicas to live brokers: A reassignment of these partitions, with the replicas that live and new ones in its place.
             if (met): these partitions have a leader
             ! (groups may pause for a moment) Copies data over the network; leaders may move.
             verify: No replica list names broker 7 any more.
             undo: A reassignment back, as long as the broker exists.
          avoid: Do not delete __consumer_offsets or its nodes in ZooKeeper: All committed offsets of all groups go with it, of the working ones too.
        ");
    }

    #[test]
    fn a_broker_that_was_seen_is_merely_down() {
        let sample = Sample::zookeeper(3, 6, 1).later(5).gone(1).leaderless_after(1).later(60);
        let slugs = slugs(&sample.report());
        assert!(!slugs.iter().any(|slug| slug == super::UNKNOWN || slug == super::RENUMBERED), "{slugs:?}");
    }

    #[test]
    fn a_fenced_broker_is_registered() {
        let mut sample = Sample::kraft(3, 3, 2).fenced(2);
        sample.memory = Memory::new(sample.now());
        let slugs = slugs(&sample.later(5).report());
        assert!(!slugs.iter().any(|slug| slug == super::UNKNOWN || slug == super::RENUMBERED), "{slugs:?}");
    }

    #[test]
    fn while_no_broker_answers_nothing_can_be_told() {
        let report = ids(1, 1001).gone(1).later(5).report();
        assert!(!slugs(&report).iter().any(|slug| slug == super::UNKNOWN || slug == super::RENUMBERED));
    }
}
