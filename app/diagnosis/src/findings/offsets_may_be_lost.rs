//! `offsets-may-be-lost`: an unclean election was seen, or several groups vanished together with a leadership.
//!
//! Catalogue row 34. A group that its coordinator no longer lists was deleted or has expired; several groups of one
//! partition that vanish when its leader changes were lost with it. Opens when the new leader serves, lists all groups, and
//! two or more of those it should have are missing; closes when they are back, or after an hour.

use std::collections::BTreeMap;

use super::{Context, Rule, finding, likely, not_seen, seen_, step};
use crate::commands::Reset;
use crate::facts::PartitionFacts;
use crate::handbook::Entry;
use crate::memory::PartitionMemory;
use crate::report::{Avoid, Evidence, Finding, Remedy, Risk, Severity};
use crate::time::{clock, millis_between};
use crate::{GroupId, OFFSETS_TOPIC, PartitionId, words};

const SLUG: &str = "offsets-may-be-lost";
/// For how long that is worth saying.
const WINDOW_MS: i64 = 3_600_000;
/// How long a new leader may list incompletely although it serves.
const SETTLED_MS: i64 = 5_000;
/// From how many vanished groups on that is no coincidence.
const SEVERAL: usize = 2;
const NAMED: usize = 3;

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Committed offsets may be lost: an unclean election, or groups that vanished with their leader",
        severity: "error",
        means: "A replica that was not in sync became leader (or one whose log was damaged). What it had not copied is gone: \
                commits of the last seconds, or all groups of the partition. Kafka says nothing of it; groups start where \
                auto.offset.reset says.",
        opens: "A replica became leader that was not in the ISR (nor an eligible leader replica) while all in-sync replicas \
                were down; or two or more groups are missing from the complete listing of a leader that serves, and were \
                last listed under an earlier leadership.",
        closes: "The missing groups are listed again, or an hour later.",
        not_told: "Which commits: an older position looks like any other. A listing that may be filtered (no DESCRIBE on \
                   CLUSTER) proves nothing, and a single group that vanishes may have been deleted.",
        clients_see: "Records are read again, or skipped with auto.offset.reset=latest. Nothing in the logs.",
        way_out: "Stop the groups concerned before they commit new positions. If the old leader's disk still exists, read \
                  the positions there. Otherwise set them by time. Then forbid unclean elections for the topic.",
        never: "Do not let a group with auto.offset.reset=latest run on: what it skips is not read later.",
        twins: &[
            ("topic-flaps", "All partitions at once: the topic was deleted."),
            ("log-dir-failed", "Offsets that cannot be read now, and are not lost."),
        ],
        versions: "all; unclean elections are allowed by default below 0.11 (KIP-106)",
        sources: &["KIP-106", "KIP-966", "metadata/.../controller/PartitionChangeBuilder.java"],
        ..Entry::BLANK
    }],
    check,
};

/// What is missing of one partition.
struct Missing<'a> {
    groups: Vec<&'a GroupId>,
    unclean: bool,
}

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let hit: BTreeMap<PartitionId, Missing<'_>> = facts
        .partitions
        .iter()
        .filter_map(|(&partition, seen)| {
            let memory = facts.memory.partitions.get(&partition)?;
            let unclean = memory.unclean_election.as_ref();
            let unclean = unclean.is_some_and(|seen| millis_between(seen.at, facts.now) <= WINDOW_MS);
            let groups = vanished(context, partition, seen, memory);
            (unclean || !groups.is_empty()).then_some((partition, Missing { groups, unclean }))
        })
        .collect();
    if hit.is_empty() { Vec::new() } else { vec![explain(context, &hit)] }
}

/// Groups that the leader would list if it had them.
fn vanished<'a>(
    context: &'a Context<'_, '_>,
    partition: PartitionId,
    seen: &PartitionFacts<'_>,
    memory: &PartitionMemory,
) -> Vec<&'a GroupId> {
    let facts = context.facts;
    let found = || {
        let since = memory.leadership_since.filter(|&since| millis_between(since, facts.now) <= WINDOW_MS)?;
        let leader = seen.newest.leader.filter(|_| seen.agree)?;
        let sight = facts.snapshot.brokers.get(&leader).filter(|_| facts.answering.contains(&leader))?;
        let canary = sight.canaries.get(&partition)?;
        let serves =
            matches!(canary.code, 0 | 69) && canary.leader_before == (seen.newest.leader, seen.newest.leader_epoch);
        let listing = sight.groups.known().filter(|listing| listing.code == 0)?;
        let settled = millis_between(canary.same_since.max(since), listing.at) > SETTLED_MS;
        let complete = sight.describe_cluster_permitted.known() == Some(&true);
        (serves && settled && complete).then_some((since, listing.at))
    };
    let Some((since, _)) = found() else { return Vec::new() };
    let groups = &facts.memory.groups;
    let missing = |id: &&GroupId| {
        groups.by_id.get(*id).is_some_and(|group| group.listed_by.is_empty() && group.last_seen < since)
    };
    let ids: Vec<_> = groups.by_partition.get(&partition).into_iter().flatten().filter(missing).collect();
    if ids.len() >= SEVERAL { ids } else { Vec::new() }
}

fn explain(context: &Context<'_, '_>, hit: &BTreeMap<PartitionId, Missing<'_>>) -> Finding {
    let partitions: Vec<_> = hit.keys().copied().collect();
    let groups: Vec<_> = hit.values().flat_map(|missing| missing.groups.iter().copied()).collect();
    let sentence = if groups.is_empty() {
        format!(
            "Committed offsets of {} may be lost: a replica that was not in sync became leader.",
            context.reach(&partitions)
        )
    } else {
        format!(
            "{} vanished when the leader of {} changed: their committed offsets may be lost.",
            words::count(groups.len(), "group"),
            place(&partitions)
        )
    };
    let mut finding = finding(SLUG, Severity::Error, sentence);
    finding.outlook = Some("These groups start where auto.offset.reset says: they read again, or skip.".to_owned());
    finding.evidence = evidence(context, hit, &groups);
    finding.avoid.push(Avoid {
        what: "Do not let groups with auto.offset.reset=latest run on".to_owned(),
        why: "What they skip now is not read later; each commit hides where they were.".to_owned(),
    });
    finding.remedies = remedies(context, &partitions, &groups);
    finding.partitions = partitions;
    finding
}

fn place(partitions: &[PartitionId]) -> String {
    match partitions {
        [one] => format!("partition {one}"),
        many => format!("partitions {}", words::list(many)),
    }
}

fn evidence(context: &Context<'_, '_>, hit: &BTreeMap<PartitionId, Missing<'_>>, groups: &[&GroupId]) -> Vec<Evidence> {
    let facts = context.facts;
    let mut evidence = Vec::new();
    for (partition, _) in hit.iter().filter(|(_, missing)| missing.unclean).take(NAMED) {
        let memory = facts.memory.partitions.get(partition).and_then(|memory| memory.unclean_election.as_ref());
        evidence.extend(memory.map(|seen| {
            seen_(format!(
                "At {} broker {} became leader of partition {partition}; in sync were {}, and all of them were down.",
                clock(seen.at),
                seen.leader,
                words::ids(&seen.isr_before)
            ))
        }));
    }
    if !groups.is_empty() {
        let named: Vec<_> = groups.iter().take(NAMED).map(|id| format!("\"{}\"", crate::visible(&id.0))).collect();
        let rest = groups.len() - named.len();
        let more = if rest > 0 { format!(" and {} more", words::thousands(rest)) } else { String::new() };
        evidence.push(seen_(format!(
            "The new leader serves and lists all its groups. Listed before, and not now: {}{more}.",
            named.join(", ")
        )));
        evidence.push(likely("Several at once are no coincidence: they were lost, not deleted.".to_owned()));
    }
    let told = facts.snapshot.brokers.values().filter_map(|sight| sight.topic_configs.known()?.as_ref());
    match told.filter_map(|configs| configs.unclean_leader_election).max() {
        Some(true) => evidence.push(seen_(format!("{OFFSETS_TOPIC} has unclean.leader.election.enable=true."))),
        Some(false) => {}
        None => evidence.push(not_seen("Whether unclean elections are allowed for the topic.".to_owned())),
    }
    evidence
}

fn remedies(context: &Context<'_, '_>, partitions: &[PartitionId], groups: &[&GroupId]) -> Vec<Remedy> {
    let facts = context.facts;
    let commands = context.commands();
    let mut remedies = vec![step(
        format!("Stop the consumers of the groups on {}", place(partitions)),
        "Before they commit new positions. The offsets in their own logs and metrics tell where they were.",
    )];
    let told = facts.snapshot.brokers.values().filter_map(|sight| sight.topic_configs.known()?.as_ref());
    if told.filter_map(|configs| configs.unclean_leader_election).max() == Some(true) {
        let setting = "unclean.leader.election.enable";
        remedies.push(
            Remedy::new(
                "Forbid unclean elections for the topic",
                "Then a leader is found only among replicas in sync.",
            )
            .command(
                commands.set_topic(OFFSETS_TOPIC, &format!("{setting}=false")),
                "The topic's setting. Partitions without a live replica in sync wait for one.",
            )
            .verify(commands.describe_settings(OFFSETS_TOPIC))
            .undo(commands.unset_topic(OFFSETS_TOPIC, setting)),
        );
    }
    let first = groups.first().and_then(|id| Some((id.0.as_str(), facts.memory.groups.by_id.get(*id)?.last_seen)));
    let changed = partitions.first().and_then(|id| facts.memory.partitions.get(id)?.leadership_since);
    let (name, at) = first.unwrap_or(("GROUP", changed.unwrap_or(facts.now)));
    let time = crate::time::for_tools(at);
    remedies.push(
        Remedy::new(
            "Set each group's position by time, while it is stopped",
            "The time before the leader changed. Once per group.",
        )
        .command(
            commands.reset_offsets(name, None, Reset::ToDatetime(&time)),
            "Writes the committed offsets of the group.",
        )
        .danger(Risk::Loses, "Some records are read again or skipped; positions that were not lost are overwritten.")
        .given("the group has no members meanwhile", None)
        .verify(commands.describe_group(name))
        .undo(commands.export_offsets(name, "offsets-before.csv") + " (run it before; then reset with --from-file)"),
    );
    remedies
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::sample::{Sample, slugs, text};
    use crate::snapshot::Observed;

    fn three_groups() -> Sample {
        Sample::kraft(3, 3, 3).group_on(0, "orders").group_on(0, "payments").group_on(0, "shipping").later(30)
    }

    /// Broker 2 leads, serves, and has listed its groups, empty, a while after that.
    fn new_leader(sample: Sample) -> Sample {
        let moved = sample.view(2, 0, Some(2), 6).view(3, 0, Some(2), 6).canary(2, 0, 0).served_now(0).later(10);
        let at = moved.now();
        let mut moved = moved.later(1);
        if let Some(Observed::Known(listing)) = moved.snapshot.brokers.get_mut(&2).map(|sight| &mut sight.groups) {
            Arc::make_mut(listing).at = at;
        }
        moved.later(1)
    }

    #[test]
    fn groups_that_vanished_with_their_leader() {
        let report = new_leader(three_groups().gone(1)).report();
        insta::assert_snapshot!(text(&report, super::SLUG), @r#"
        [error] 3 groups vanished when the leader of partition 0 changed: their committed offsets may be lost.
          outlook: These groups start where auto.offset.reset says: they read again, or skip.
          seen: The new leader serves and lists all its groups. Listed before, and not now: "orders", "payments-1", "shipping-2".
          likely: Several at once are no coincidence: they were lost, not deleted.
          -> Stop the consumers of the groups on partition 0: Before they commit new positions. The offsets in their own logs and metrics tell where they were.
          -> Set each group's position by time, while it is stopped: The time before the leader changed. Once per group.
             if (not known): the group has no members meanwhile
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9002 --group orders --all-topics --reset-offsets --to-datetime 2026-11-29T12:00:00.000 --execute
             changes: Writes the committed offsets of the group.
             ! (loses data) Some records are read again or skipped; positions that were not lost are overwritten.
             verify: kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9002 --describe --group orders
             undo: kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9002 --group orders --all-topics --reset-offsets --to-current --dry-run --export > offsets-before.csv (run it before; then reset with --from-file)
          avoid: Do not let groups with auto.offset.reset=latest run on: What they skip now is not read later; each commit hides where they were.
        "#);
    }

    #[test]
    fn a_replica_that_was_not_in_sync_leads() {
        let sample = Sample::zookeeper(3, 3, 2).topic_configs(|configs| configs.unclean_leader_election = Some(true));
        let sample = sample.isr(0, &[1]).later(30).gone(1).later(30).isr(0, &[2]);
        let report = sample.view(2, 0, Some(2), 6).view(3, 0, Some(2), 6).later(1).report();
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [error] Committed offsets of partition 0 of __consumer_offsets may be lost: a replica that was not in sync became leader.
          outlook: These groups start where auto.offset.reset says: they read again, or skip.
          seen: At 12:01:00 UTC broker 2 became leader of partition 0; in sync were [1], and all of them were down.
          seen: __consumer_offsets has unclean.leader.election.enable=true.
          -> Stop the consumers of the groups on partition 0: Before they commit new positions. The offsets in their own logs and metrics tell where they were.
          -> Forbid unclean elections for the topic: Then a leader is found only among replicas in sync.
             $ kafka-configs.sh --bootstrap-server 127.0.0.1:9002 --entity-type topics --entity-name __consumer_offsets --alter --add-config unclean.leader.election.enable=false
             changes: The topic's setting. Partitions without a live replica in sync wait for one.
             verify: kafka-configs.sh --bootstrap-server 127.0.0.1:9002 --entity-type topics --entity-name __consumer_offsets --describe
             undo: kafka-configs.sh --bootstrap-server 127.0.0.1:9002 --entity-type topics --entity-name __consumer_offsets --alter --delete-config unclean.leader.election.enable
          -> Set each group's position by time, while it is stopped: The time before the leader changed. Once per group.
             if (not known): the group has no members meanwhile
             if (not known): GROUP is replaced by the id of the group, once for each
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9002 --group GROUP --all-topics --reset-offsets --to-datetime 2026-11-29T12:01:00.000 --execute
             changes: Writes the committed offsets of the group.
             ! (loses data) Some records are read again or skipped; positions that were not lost are overwritten.
             verify: kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9002 --describe --group GROUP
             undo: kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9002 --group GROUP --all-topics --reset-offsets --to-current --dry-run --export > offsets-before.csv (run it before; then reset with --from-file)
          avoid: Do not let groups with auto.offset.reset=latest run on: What they skip now is not read later; each commit hides where they were.
        ");
    }

    #[test]
    fn one_group_may_have_been_deleted() {
        let sample = Sample::kraft(3, 3, 3).group_on(0, "orders").later(30).gone(1);
        assert!(!slugs(&new_leader(sample).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn a_clean_election_loses_nothing() {
        let sample = Sample::zookeeper(3, 3, 2).later(30).gone(1).later(30).isr(0, &[2]);
        let report = sample.view(2, 0, Some(2), 6).view(3, 0, Some(2), 6).later(1).report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn a_listing_that_may_be_filtered_proves_nothing() {
        let sample = three_groups().gone(1).cluster_not_permitted();
        assert!(!slugs(&new_leader(sample).report()).contains(&super::SLUG.to_owned()));
    }
}
