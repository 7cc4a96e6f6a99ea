//! The answer for one group, from a report that was already made.

use crate::group_findings;
use crate::groups::{self, named, needs_a_look, shown_partition};
use crate::lookup::{
    Coordinator, GroupLookup, KnownGroup, NearGroup, Placement, SAME_PARTITION_CAP, SamePartitionGroups, Verdict,
};
use crate::memory::{Memory, SeenGroup};
use crate::near::near;
use crate::placement::PlacementSteps;
use crate::rebalance::{Rebalance, rebalance};
use crate::report::{PartitionReport, PlacementProof, Report, Severity, Status, TopicPresence};
use crate::{GroupId, PartitionId};

/// The answer for one group. No waiting, no looking: everything comes from a report that was already made.
#[must_use]
pub fn lookup(report: &Report, memory: &Memory, group: &GroupId) -> GroupLookup {
    let mut answer = about(report, memory, group);
    let marked = memory.groups.by_id.iter().map(|(id, seen)| (id, seen.mark));
    let (near, _) = near(group, marked, !memory.groups.by_id.contains_key(group));
    let count = report.offsets_topic.partition_count;
    answer.near = near
        .into_iter()
        .map(|(id, difference)| NearGroup {
            group: id.clone(),
            difference,
            partition: shown_partition(&report.placement, count, id),
        })
        .collect();
    answer.group_findings = group_findings::find(report, memory, &answer);
    answer
}

/// The same without looking for ids that look alike, which takes a step for every known group.
pub(crate) fn lookup_without_near(report: &Report, memory: &Memory, group: &GroupId) -> GroupLookup {
    let mut answer = about(report, memory, group);
    answer.group_findings = group_findings::find(report, memory, &answer);
    answer
}

/// Everything but ids that look alike, and the findings about the group itself, which read the rest.
fn about(report: &Report, memory: &Memory, group: &GroupId) -> GroupLookup {
    let count = report.offsets_topic.partition_count;
    let shown = shown_partition(&report.placement, count, group);
    let partition = shown.and_then(|partition| report.partition(partition));
    let seen = memory.groups.by_id.get(group);
    let known = known(report, memory, group);
    let findings: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| match shown {
            Some(partition) => finding.partitions.contains(&partition),
            None => finding.severity >= Severity::Error,
        })
        .cloned()
        .collect();
    GroupLookup {
        group: group.clone(),
        verdict: verdict(report, partition, group, seen, &known),
        placement: shown.and_then(|partition| placement(report, group, partition)),
        placement_note: placement_note(report, shown),
        coordinator: partition.map(|partition| coordinator(report, partition)),
        also_hit_partitions: findings
            .first()
            .filter(|finding| finding.severity >= Severity::Error)
            .map_or(0, |finding| finding.partitions.len().saturating_sub(1)),
        same_partition_groups: same_partition(report, memory, group, shown, partition),
        views: partition.map(|partition| partition.views.clone()).unwrap_or_default(),
        could_not_observe: report.could_not_observe.clone(),
        known,
        findings,
        group_findings: Vec::new(),
        near: Vec::new(),
    }
}

fn known(report: &Report, memory: &Memory, group: &GroupId) -> KnownGroup {
    let coordinator_lost = shown_partition(&report.placement, report.offsets_topic.partition_count, group)
        .and_then(|partition| report.partition(partition))
        .is_some_and(|partition| partition.status == Status::Stuck);
    let (seen, gone) = (memory.groups.by_id.get(group), memory.groups.gone.get(group));
    let at = |time| crate::time::at(time, report.observed_at);
    let Some(seen) = seen else {
        return KnownGroup {
            sentence: match (&report.groups.incomplete_because, gone) {
                (None, None) => "no broker lists it".to_owned(),
                (None, Some(gone)) => {
                    format!("no broker lists it any more; it was last listed at {}", at(gone.last_seen))
                }
                (Some(why), None) => format!(
                    "{}never seen by Unstuck, which began looking at {}, and {why}",
                    if coordinator_lost { "cannot be looked for, as its coordinator does not work; " } else { "" },
                    at(report.watching_since)
                ),
                (Some(why), Some(gone)) => {
                    format!("not listed any more, last listed at {}; but {why}", at(gone.last_seen))
                }
            },
            ..KnownGroup::default()
        };
    };
    let listed_by: Vec<_> = seen.listed_by.iter().copied().collect();
    let kind = match (seen.group_type.as_deref(), seen.protocol_type.as_str()) {
        (Some("classic") | None, "") => "a simple consumer (it only commits offsets)".to_owned(),
        (Some("classic") | None, protocol) => format!("a classic group of type {}", crate::visible(protocol)),
        (Some(kind), _) => format!("a {} group", crate::visible(kind)),
    };
    let since = seen.state_since.map(|since| format!(" since {}", at(since))).unwrap_or_default();
    let state = seen
        .state
        .as_deref()
        .map_or_else(|| ", state not told".to_owned(), |state| format!(", state {}{since}", crate::visible(state)));
    let clock = at(seen.last_seen);
    let last_by = seen.last_listed_by.map(|broker| format!(" by broker {broker}")).unwrap_or_default();
    KnownGroup {
        listed: !listed_by.is_empty(),
        remembered: listed_by.is_empty(),
        state: seen.state.clone(),
        state_since: seen.state_since,
        group_type: seen.group_type.clone(),
        protocol_type: Some(seen.protocol_type.clone()),
        last_seen: Some(seen.last_seen),
        members: memory.groups.members.get(group).cloned(),
        sentence: if listed_by.is_empty() {
            format!("{kind}{state}, last listed at {clock}{last_by}; no broker lists it now")
        } else {
            format!("{kind}{state}, listed by {} at {clock}", crate::words::brokers(&listed_by))
        },
        listed_by,
    }
}

fn verdict(
    report: &Report,
    partition: Option<&PartitionReport>,
    group: &GroupId,
    seen: Option<&SeenGroup>,
    known: &KnownGroup,
) -> Verdict {
    let plain = |status: Status, sentence: String| {
        let so = || partition.filter(|partition| partition.status == status);
        Verdict {
            status,
            sentence,
            outlook: partition.and_then(|partition| partition.outlook.clone()),
            since: so().and_then(|partition| partition.since),
            since_after: so().and_then(|partition| partition.since_after),
            expected_by: partition.and_then(|partition| partition.expected_by.clone()),
        }
    };
    let said = |status: Status, reason: &str| plain(status, sentence(group, status, partition.is_some(), reason));
    let Some(partition) = partition else {
        let (status, reason) = without_partition(report);
        return said(status, &reason);
    };
    if partition.status != Status::Working {
        return said(partition.status, &partition.sentence);
    }
    // From here on the coordinator is fine, and what is said is about the group.
    let serves = partition.sentence.strip_prefix("its coordinator ").unwrap_or(&partition.sentence);
    let coordinator_only =
        |why: &str| plain(Status::Working, format!("{group}: its coordinator works ({serves}); {why}."));
    let Some(seen) = seen else {
        return if report.groups.complete {
            said(Status::LookAtGroup, &format!("{}; check the spelling, or its offsets have expired", known.sentence))
        } else {
            coordinator_only(&format!("the group itself was {}", known.sentence))
        };
    };
    let rebalance = rebalance(seen, &report.group_settings, report.observed_at);
    // A group that rebalances again and again is stable between two of them.
    if !needs_a_look(seen) && !matches!(rebalance, Rebalance::Loop { .. }) {
        return match seen.state {
            Some(_) => said(Status::Working, &partition.sentence),
            None if seen.protocol_type.is_empty() => said(Status::Working, &partition.sentence),
            None => coordinator_only("the state of the group itself is not in listings of brokers below 2.6"),
        };
    }
    let state = seen.state.as_deref().unwrap_or("not told");
    match (state, rebalance) {
        ("Empty", _) => said(Status::LookAtGroup, "it has no members: its consumers are not running, or cannot join"),
        ("Dead", _) => said(Status::LookAtGroup, "its coordinator is deleting it"),
        (_, Rebalance::Within { since, by }) => Verdict {
            outlook: Some(format!(
                "A rebalance ends when every member has joined again: by {} at the latest (assumed, as \
                 max.poll.interval.ms is a setting of the consumers).",
                crate::time::clock(by.at)
            )),
            since: seen.state_since.map(|_| since),
            since_after: None,
            expected_by: Some(by),
            ..said(Status::Recovering, &format!("it is rebalancing (state {state})"))
        },
        (_, Rebalance::Past { since, .. }) => {
            let long = crate::time::span(crate::time::millis_between(since, report.observed_at));
            let verdict = said(Status::LookAtGroup, &format!("it has been rebalancing for {long} (state {state})"));
            Verdict { since: Some(since), since_after: None, ..verdict }
        }
        (_, Rebalance::Loop { times, since }) => {
            let long = crate::time::span(crate::time::millis_between(since, report.observed_at));
            said(Status::LookAtGroup, &format!("it has begun to rebalance {times} times in {long} (state {state})"))
        }
        (_, Rebalance::No) => said(Status::LookAtGroup, &format!("it is not ready (state {state})")),
    }
}

fn without_partition(report: &Report) -> (Status, String) {
    let topic = &report.offsets_topic;
    match (&report.placement, topic.presence) {
        (PlacementProof::Foreign { sentence } | PlacementProof::Contradicted { sentence }, _) => {
            (Status::Unknown, lower(sentence.trim_end_matches('.')))
        }
        (PlacementProof::Drift { .. }, _) => {
            (Status::Unknown, "brokers use different partition counts, and they disagree on its partition".to_owned())
        }
        (_, TopicPresence::Vanished) => {
            (Status::Stuck, "__consumer_offsets is gone, so it has no coordinator".to_owned())
        }
        (_, TopicPresence::Absent) if report.headline.status == Status::AtRisk => {
            (Status::AtRisk, "__consumer_offsets does not exist and cannot be created, so it would hang".to_owned())
        }
        (_, TopicPresence::Absent) => (
            Status::LookAtGroup,
            "no consumer group has used this cluster yet, so there is nothing to look at".to_owned(),
        ),
        (_, TopicPresence::MaybeHidden) => (Status::Unknown, "__consumer_offsets is hidden from Unstuck".to_owned()),
        (_, TopicPresence::Present | TopicPresence::Unknown) => (Status::Unknown, lower(&report.headline.sentence)),
    }
}

/// The first letter in lower case.
fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

fn sentence(group: &GroupId, status: Status, placed: bool, reason: &str) -> String {
    match status {
        Status::Working => format!("{group} works: {reason}."),
        Status::LookAtGroup if !placed => format!("{group}: {reason}."),
        Status::LookAtGroup => format!("{group}: its coordinator is fine, look at the group: {reason}."),
        Status::AtRisk => format!("{group} is at risk: {reason}."),
        Status::Recovering => format!("{group} is recovering: {reason}."),
        Status::Stuck => format!("{group} is stuck: {reason}."),
        Status::Unknown => format!("{group}: unknown, because {reason}."),
    }
}

fn placement(report: &Report, group: &GroupId, partition: PartitionId) -> Option<Placement> {
    let steps = PlacementSteps::of(group, report.offsets_topic.partition_count?)?;
    Some(Placement {
        java_hash: steps.java_hash,
        partition_count: steps.partition_count,
        partition,
        proven: matches!(report.placement, PlacementProof::Certain { .. }),
        sentence: steps.sentence(),
    })
}

fn placement_note(report: &Report, shown: Option<PartitionId>) -> Option<String> {
    match &report.placement {
        PlacementProof::Certain { .. } => None,
        PlacementProof::Foreign { sentence } => Some(sentence.clone()),
        PlacementProof::Drift { .. } if shown.is_some() => {
            Some("Brokers use different partition counts; they agree on this group's partition.".to_owned())
        }
        PlacementProof::Drift { sentence, .. } => Some(sentence.clone()),
        PlacementProof::Unproven { sentence } | PlacementProof::Contradicted { sentence } => {
            Some(format!("Not proven: {sentence}."))
        }
        PlacementProof::NoTopic => Some("There is no __consumer_offsets to place it on.".to_owned()),
    }
}

fn coordinator(report: &Report, partition: &PartitionReport) -> Coordinator {
    let broker = partition.leader.or(partition.last_leader).and_then(|id| report.broker(id));
    Coordinator {
        leader: partition.leader,
        address: broker.and_then(|broker| broker.address.clone()),
        leader_sentence: broker.map(|broker| broker.sentence.clone()),
        last_leader: partition.last_leader,
        leader_epoch: partition.leader_epoch,
        replicas: partition.replicas.clone(),
        isr: partition.isr.clone(),
        eligible: partition.eligible.clone(),
        live_replicas: partition.live_replicas.clone(),
        min_insync_replicas: report.offsets_topic.min_insync_replicas,
        shard: partition.shard,
        writes_verified: partition.writes_verified,
    }
}

fn same_partition(
    report: &Report,
    memory: &Memory,
    group: &GroupId,
    shown: Option<PartitionId>,
    partition: Option<&PartitionReport>,
) -> SamePartitionGroups {
    let ids = shown.and_then(|partition| memory.groups.by_partition.get(&partition));
    let coordinator = partition.map_or(Status::Unknown, |partition| partition.status);
    let others = || ids.into_iter().flatten().filter(|id| *id != group);
    SamePartitionGroups {
        count: ids.map_or(0, |ids| ids.len() - usize::from(ids.contains(group))),
        groups: others()
            .filter_map(|id| {
                let seen = memory.groups.by_id.get(id)?;
                let status = groups::status(coordinator, seen, &report.group_settings, report.observed_at);
                Some(named(id, seen, shown, status))
            })
            .take(SAME_PARTITION_CAP)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;
    use crate::snapshot::{ListedGroup, Why};

    fn told(sample: &Sample, group: &str) -> String {
        let lookup = sample.lookup(group);
        let verdict = lookup.verdict;
        let mut out = format!("[{}] {}\n", verdict.status.slug(), verdict.sentence);
        out += &verdict.outlook.map(|outlook| format!("  {outlook}\n")).unwrap_or_default();
        out += &lookup.placement.map(|placement| format!("  {}\n", placement.sentence)).unwrap_or_default();
        out += &lookup.placement_note.map(|note| format!("  note: {note}\n")).unwrap_or_default();
        out + &format!("  group: {}\n", lookup.known.sentence)
    }

    fn listed(protocol: &str, state: &str, kind: &str) -> ListedGroup {
        ListedGroup {
            protocol_type: protocol.to_owned(),
            state: Some(state.to_owned()),
            group_type: Some(kind.to_owned()),
        }
    }

    #[test]
    fn what_a_lookup_says() {
        let three = || Sample::kraft(3, 50, 3);
        let one = || Sample::kraft(3, 50, 1);
        let consumer = |state: &str| three().lists("my-group".into(), listed("consumer", state, "classic"));
        let samples = [
            ("working", consumer("Stable")),
            ("no members", consumer("Empty")),
            ("rebalancing", consumer("PreparingRebalance")),
            ("simple consumer", three().lists("my-group".into(), listed("", "Empty", "classic"))),
            ("KIP-848", three().lists("my-group".into(), listed("consumer", "Stable", "consumer"))),
            ("not there", three()),
            ("not listed, listing filtered", three().cluster_not_permitted()),
            ("one copy", one().lists("my-group".into(), listed("consumer", "Stable", "classic"))),
            ("coordinator gone", one().lists("my-group".into(), listed("consumer", "Stable", "classic")).gone(1)),
            ("coordinator gone, never listed", one().gone(1)),
            ("election due", three().gone(1)),
            ("loading", three().canary(1, 12, 14)),
            ("denied", three().canary(1, 12, 30)),
            ("not reachable", one().never_reached(1)),
            ("fresh cluster", Sample::kraft(3, 0, 3).absent()),
            ("cannot be created", Sample::kraft(1, 0, 1).absent()),
            ("topic vanished", three().later(5).absent().later(10)),
            ("hidden", Sample::kraft(3, 0, 3).hidden()),
            ("nothing answers", Sample::empty().bootstrap("kafka:9092", Why::Refused)),
            ("drift", Sample::kraft(3, 60, 3).coordinators_use(50).later(20)),
            ("elsewhere", three().coordinators_are(2).later(20)),
        ];
        let told: String =
            samples.iter().map(|(name, sample)| format!("{name}:\n{}\n", told(sample, "my-group"))).collect();
        insta::assert_snapshot!(told, @r#"
        working:
        [working] my-group works: its coordinator serves, and commits are accepted.
          "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
          group: a classic group of type consumer, state Stable, listed by broker 1 at 12:00:00 UTC

        no members:
        [look_at_group] my-group: its coordinator is fine, look at the group: it has no members: its consumers are not running, or cannot join.
          "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
          group: a classic group of type consumer, state Empty, listed by broker 1 at 12:00:00 UTC

        rebalancing:
        [recovering] my-group is recovering: it is rebalancing (state PreparingRebalance).
          A rebalance ends when every member has joined again: by 12:05:03 UTC at the latest (assumed, as max.poll.interval.ms is a setting of the consumers).
          "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
          group: a classic group of type consumer, state PreparingRebalance, listed by broker 1 at 12:00:00 UTC

        simple consumer:
        [working] my-group works: its coordinator serves, and commits are accepted.
          "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
          group: a simple consumer (it only commits offsets), state Empty, listed by broker 1 at 12:00:00 UTC

        KIP-848:
        [working] my-group works: its coordinator serves, and commits are accepted.
          "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
          group: a consumer group, state Stable, listed by broker 1 at 12:00:00 UTC

        not there:
        [look_at_group] my-group: its coordinator is fine, look at the group: no broker lists it; check the spelling, or its offsets have expired.
          "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
          group: no broker lists it

        not listed, listing filtered:
        [working] my-group: its coordinator works (serves, and commits are accepted); the group itself was never seen by Unstuck, which began looking at 12:00:00 UTC, and the account may not see all groups (needs DESCRIBE on CLUSTER).
          "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
          group: never seen by Unstuck, which began looking at 12:00:00 UTC, and the account may not see all groups (needs DESCRIBE on CLUSTER)

        one copy:
        [at_risk] my-group is at risk: its coordinator serves, but everything depends on broker 1.
          "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
          group: a classic group of type consumer, state Stable, listed by broker 1 at 12:00:00 UTC

        coordinator gone:
        [stuck] my-group is stuck: its coordinator, broker 1, is down.
          It will not heal by itself: stuck until broker 1 is back.
          "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
          group: a classic group of type consumer, state Stable, last listed at 12:00:00 UTC by broker 1; no broker lists it now

        coordinator gone, never listed:
        [stuck] my-group is stuck: its coordinator, broker 1, is down.
          It will not heal by itself: stuck until broker 1 is back.
          "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
          group: cannot be looked for, as its coordinator does not work; never seen by Unstuck, which began looking at 12:00:00 UTC, and groups on broker 1 could not be listed

        election due:
        [recovering] my-group is recovering: its coordinator, broker 1, is down, and another one is about to be elected.
          Recovering: brokers 2 and 3 are in sync, and an election is due by 12:00:13 UTC.
          "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
          group: never seen by Unstuck, which began looking at 12:00:00 UTC, and groups on broker 1 could not be listed

        loading:
        [recovering] my-group is recovering: its coordinator, broker 1, is loading its partition.
          It serves when it has read the partition: 1 MB.
          "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
          group: no broker lists it

        denied:
        [unknown] my-group: unknown, because Unstuck may not ask its coordinator, broker 1.
          "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
          group: no broker lists it

        not reachable:
        [unknown] my-group: unknown, because its coordinator, broker 1, cannot be reached from here (the connection attempt timed out).
          "my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets
          group: never seen by Unstuck, which began looking at 12:00:00 UTC, and groups on broker 1 could not be listed

        fresh cluster:
        [look_at_group] my-group: no consumer group has used this cluster yet, so there is nothing to look at.
          note: There is no __consumer_offsets to place it on.
          group: no broker lists it

        cannot be created:
        [at_risk] my-group is at risk: __consumer_offsets does not exist and cannot be created, so it would hang.
          note: There is no __consumer_offsets to place it on.
          group: no broker lists it

        topic vanished:
        [stuck] my-group is stuck: __consumer_offsets is gone, so it has no coordinator.
          note: There is no __consumer_offsets to place it on.
          group: no broker lists it

        hidden:
        [unknown] my-group: unknown, because __consumer_offsets is hidden from Unstuck.
          note: Not proven: __consumer_offsets could not be looked at.
          group: no broker lists it

        nothing answers:
        [unknown] my-group: unknown, because no bootstrap address leads to the cluster.
          note: Not proven: __consumer_offsets could not be looked at.
          group: never seen by Unstuck, which began looking at 12:00:00 UTC, and no broker answers

        drift:
        [unknown] my-group: unknown, because brokers use different partition counts, and they disagree on its partition.
          note: __consumer_offsets has 60 partitions, but brokers place groups with the count that they read at their start: broker 1 uses 50, broker 2 uses 50 and broker 3 uses 50. Until every broker has been restarted, a group can live on either partition.
          group: no broker lists it

        elsewhere:
        [unknown] my-group: unknown, because this cluster does not place groups as Kafka does (a proxy, a tenant prefix, or another implementation), so no partition is shown. For "unstuck-canary-proof-0" it names broker 2.
          note: This cluster does not place groups as Kafka does (a proxy, a tenant prefix, or another implementation), so no partition is shown. For "unstuck-canary-proof-0" it names broker 2.
          group: no broker lists it
        "#);
    }

    #[test]
    fn a_lost_coordinators_groups_are_named_from_memory() {
        let sample =
            Sample::kraft(3, 6, 1).group_on(0, "orders").group_on(0, "billing").gone(1).leaderless_after(1).later(5);
        let report = sample.report();
        let named: Vec<_> = report.groups.stuck.iter().map(|group| group.group.as_str()).collect();
        assert_eq!(named.len(), 2, "{named:?}");
        assert!(report.groups.stuck.iter().all(|group| !group.listed_now));
        let lookup = sample.lookup(named[0]);
        assert_eq!((lookup.verdict.status, lookup.same_partition_groups.count), (Status::Stuck, 1));
        assert!(lookup.known.remembered && !lookup.known.listed);
        assert_eq!(lookup.also_hit_partitions, 1);
    }

    #[test]
    fn a_warning_hits_nobody_yet() {
        assert_eq!(Sample::kraft(3, 50, 1).lookup("my-group").also_hit_partitions, 0);
    }

    #[test]
    fn the_min_value_hash_lives_on_partition_zero() {
        let placement = Sample::kraft(3, 50, 3).lookup("polygenelubricants").placement.expect("certain");
        assert_eq!((placement.java_hash, placement.partition, placement.proven), (i32::MIN, 0, true));
    }

    #[test]
    fn the_worst_of_several_leads() {
        let published = Sample::kraft(3, 50, 1).gone(1).published();
        let lookup = published.lookup(&["my-group".into(), "test".into(), "my-group".into()]);
        assert_eq!(lookup.results.len(), 3);
        assert_eq!(lookup.worst(), Status::Stuck);
        assert_eq!(published.lookup(&[]).worst(), Status::Working);
    }
}
