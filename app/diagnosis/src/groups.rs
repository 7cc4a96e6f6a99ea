//! Groups: which are known, in which status, and how complete that knowledge is.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::facts::{Facts, release};
use crate::memory::SeenGroup;
use crate::rebalance::{Rebalance, rebalance};
use crate::report::{
    BrokerState, GroupCounts, GroupSettings, NAMED_GROUPS_CAP, NamedGroup, PartitionReport, PlacementProof, Report,
    Status, TopicPresence,
};
use crate::snapshot::Observed;
use crate::{BrokerId, GroupId, PartitionId, words};

/// Brokers whose groups could not be listed (completely), and why.
pub(crate) fn missing_listings(facts: &Facts<'_>) -> Vec<(BrokerId, String)> {
    let mut missing = Vec::new();
    for (&id, sight) in &facts.snapshot.brokers {
        let why = match (facts.state(id), &sight.groups) {
            (BrokerState::NotTried, _) => Some("not asked yet".to_owned()),
            (BrokerState::Answering | BrokerState::Late, Observed::Known(listing)) => match listing.code {
                0 => None,
                14 => Some("it is still loading groups".to_owned()),
                code => Some(format!("it answered error {code} ({})", crate::snapshot::error_name(code))),
            },
            (BrokerState::Answering | BrokerState::Late, Observed::Unavailable(unavailable)) => {
                Some(unavailable.why.to_string())
            }
            (BrokerState::Answering | BrokerState::Late, Observed::NotAsked) => Some("not asked yet".to_owned()),
            _ => Some(
                sight
                    .contact
                    .trouble
                    .as_ref()
                    .map_or_else(|| "no answer".to_owned(), |trouble| trouble.why.to_string()),
            ),
        };
        missing.extend(why.map(|why| (id, why)));
    }
    missing
}

/// Whether listings may be silently filtered: DESCRIBE on CLUSTER is asked for and not proven.
pub(crate) fn may_be_filtered(facts: &Facts<'_>) -> bool {
    let mut asked = false;
    for id in &facts.answering {
        match facts.snapshot.brokers.get(id).map(|sight| &sight.describe_cluster_permitted) {
            Some(Observed::Known(true)) => return false,
            Some(Observed::Known(false) | Observed::Unavailable(_)) => asked = true,
            Some(Observed::NotAsked) | None => {}
        }
    }
    asked
}

/// Whether "not listed" means "not there": every broker answered its listing, and DESCRIBE on CLUSTER is proven.
fn completeness(facts: &Facts<'_>) -> (bool, Option<String>) {
    let missing = missing_listings(facts);
    if facts.answering.is_empty() {
        return (false, Some("no broker answers".to_owned()));
    }
    if !missing.is_empty() {
        let who: Vec<_> = missing.iter().map(|(id, _)| *id).collect();
        return (false, Some(format!("groups on {} could not be listed", words::brokers(&who))));
    }
    let proven = facts.answering.iter().any(|id| {
        let sight = facts.snapshot.brokers.get(id);
        sight.and_then(|sight| sight.describe_cluster_permitted.known()).is_some_and(|permitted| *permitted)
    });
    if proven {
        (true, None)
    } else {
        (false, Some("the account may not see all groups (needs DESCRIBE on CLUSTER)".to_owned()))
    }
}

/// The settings that decide what becomes of groups.
pub(crate) fn settings(facts: &Facts<'_>) -> GroupSettings {
    let told = || facts.snapshot.brokers.values().filter_map(|sight| sight.configs.known());
    let oldest =
        facts.snapshot.brokers.values().filter_map(|sight| Some((release(sight)?, sight))).min_by_key(|it| it.0);
    let before = |wanted: (u32, u32)| oldest.is_some_and(|(release, _)| release < wanted);
    let retention = told().filter_map(|configs| configs.offsets_retention_minutes).min();
    let defaults = GroupSettings::default();
    // 1 day before 2.0 (KIP-186).
    let assumed = if before((2, 0)) { 1_440 } else { defaults.offsets_retention_minutes };
    GroupSettings {
        offsets_retention_minutes: retention.unwrap_or(assumed),
        offsets_retention_assumed: retention.is_none(),
        offsets_expire_by_commit: before((2, 1)),
        initial_rebalance_delay_ms: told()
            .filter_map(|configs| configs.group_initial_rebalance_delay_ms)
            .max()
            .unwrap_or(defaults.initial_rebalance_delay_ms),
        group_max_size: told().filter_map(|configs| configs.group_max_size).min(),
        transaction_max_timeout_ms: told()
            .filter_map(|configs| configs.transaction_max_timeout_ms)
            .max()
            .unwrap_or(defaults.transaction_max_timeout_ms),
        oldest_release: oldest.and_then(|(_, sight)| sight.release.clone()),
    }
}

/// The status of a group: its coordinator's, unless that is fine and the group itself stands still. A rebalance is
/// expected to end by itself, until its time has passed or the next one follows.
pub(crate) fn status(coordinator: Status, group: &SeenGroup, settings: &GroupSettings, now: Timestamp) -> Status {
    if coordinator != Status::Working {
        return coordinator;
    }
    match rebalance(group, settings, now) {
        // Between two of them it is stable for a moment.
        Rebalance::Loop { .. } => Status::LookAtGroup,
        _ if !needs_a_look(group) => coordinator,
        Rebalance::Within { .. } => Status::Recovering,
        Rebalance::No | Rebalance::Past { .. } => Status::LookAtGroup,
    }
}

/// Whether a listed state means that nobody consumes right now: no members, or a rebalance.
/// A simple consumer (empty protocol type) commits without being a member, so it is always `Empty`.
pub(crate) fn needs_a_look(group: &SeenGroup) -> bool {
    match group.state.as_deref() {
        Some("Empty" | "Dead") => !group.protocol_type.is_empty() || group.group_type.as_deref() == Some("share"),
        Some(
            "PreparingRebalance" | "CompletingRebalance" | "AwaitingSync" | "Assigning" | "Reconciling" | "NotReady",
        ) => true,
        _ => false,
    }
}

/// The partition of a group, where the placement lets it be shown.
pub(crate) fn shown_partition(proof: &PlacementProof, count: Option<i32>, group: &GroupId) -> Option<PartitionId> {
    match proof {
        PlacementProof::Foreign { .. } | PlacementProof::Contradicted { .. } | PlacementProof::NoTopic => None,
        PlacementProof::Drift { partition_count, brokers, .. } => {
            let here = crate::placement::partition_for(group, *partition_count)?;
            let elsewhere = brokers.values().any(|&other| crate::placement::partition_for(group, other) != Some(here));
            (!elsewhere).then_some(here)
        }
        PlacementProof::Certain { .. } | PlacementProof::Unproven { .. } => {
            crate::placement::partition_for(group, count?)
        }
    }
}

/// A group with its verdict, for lists.
pub(crate) fn named(id: &GroupId, group: &SeenGroup, partition: Option<PartitionId>, status: Status) -> NamedGroup {
    NamedGroup {
        group: id.clone(),
        partition,
        status,
        group_type: group.group_type.clone(),
        protocol_type: group.protocol_type.clone(),
        state: group.state.clone(),
        last_seen: group.last_seen,
        listed_now: !group.listed_by.is_empty(),
    }
}

/// A group with its verdict, from a report that was already made; agrees with what [`count`] counted.
pub(crate) fn named_from_report(report: &Report, id: &GroupId, group: &SeenGroup) -> NamedGroup {
    let partition = shown_partition(&report.placement, report.offsets_topic.partition_count, id);
    let coordinator = match partition.and_then(|partition| report.partition(partition)) {
        Some(partition) => partition.status,
        None if report.offsets_topic.presence == TopicPresence::Vanished => Status::Stuck,
        None => Status::Unknown,
    };
    named(id, group, partition, status(coordinator, group, &report.group_settings, report.observed_at))
}

/// All groups by status.
pub(crate) fn count(facts: &Facts<'_>, proof: &PlacementProof, partitions: &[PartitionReport]) -> GroupCounts {
    let statuses: BTreeMap<PartitionId, Status> =
        partitions.iter().map(|report| (report.partition, report.status)).collect();
    let seen = &facts.memory.groups;
    let settings = settings(facts);
    let mut counts = GroupCounts { total: seen.by_id.len(), ..GroupCounts::default() };
    for (id, group) in &seen.by_id {
        let partition = shown_partition(proof, facts.partition_count(), id);
        let coordinator = coordinator_status(facts, partition.and_then(|partition| statuses.get(&partition).copied()));
        let status = status(coordinator, group, &settings, facts.now);
        *counts.by_status.entry(status).or_default() += 1;
        if status == Status::Stuck && counts.stuck.len() < NAMED_GROUPS_CAP {
            counts.stuck.push(named(id, group, partition, status));
        }
    }
    (counts.complete, counts.incomplete_because) = completeness(facts);
    counts
}

/// The status of a group's coordinator: its partition's, or what the missing topic means for it.
pub(crate) fn coordinator_status(facts: &Facts<'_>, partition: Option<Status>) -> Status {
    match (partition, facts.presence) {
        (Some(status), _) => status,
        (None, TopicPresence::Vanished) => Status::Stuck,
        (None, _) => Status::Unknown,
    }
}
