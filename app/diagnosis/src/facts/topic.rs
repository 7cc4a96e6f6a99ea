//! `__consumer_offsets` as the brokers that count see it: whether it is there, and each partition merged from their views.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Facts, PartitionFacts};
use crate::memory::Memory;
use crate::report::TopicPresence;
use crate::snapshot::{MetadataView, PartitionView, Snapshot};
use crate::time::millis_between;
use crate::{BrokerId, PartitionId};

/// How long the offsets topic must be proven absent before it counts as gone.
const GONE_MS: i64 = 5_000;

pub(super) fn merge<'a>(
    snapshot: &'a Snapshot,
    memory: &Memory,
    counted: &BTreeMap<BrokerId, &'a MetadataView>,
) -> BTreeMap<PartitionId, PartitionFacts<'a>> {
    let mut views: BTreeMap<PartitionId, BTreeMap<BrokerId, &'a PartitionView>> = BTreeMap::new();
    for (&broker, &view) in counted {
        for (&partition, seen) in view.offsets_topic.iter().flat_map(|topic| &topic.partitions) {
            views.entry(partition).or_default().insert(broker, seen);
        }
    }
    views
        .into_iter()
        .filter_map(|(partition, views)| {
            let newest = views
                .iter()
                .max_by_key(|(broker, view)| (view.leader_epoch, counted.get(broker).map(|view| view.at)))
                .map(|(_, view)| *view)?;
            let agree = views.values().all(|view| {
                view.leader == newest.leader
                    && (view.leader_epoch.is_none()
                        || newest.leader_epoch.is_none()
                        || view.leader_epoch == newest.leader_epoch)
            });
            let told =
                counted.keys().filter_map(|id| snapshot.brokers.get(id)?.elr.known()?.get(&partition)).next().cloned();
            let remembered = memory.partitions.get(&partition).map(|seen| seen.last_eligible.clone());
            let mut eligible = told.or_else(|| remembered.filter(|_| newest.leader.is_none())).unwrap_or_default();
            // With one replica it can be no other, even before anybody tells.
            if eligible.is_empty() && newest.leader.is_none() && newest.isr.is_empty() && newest.replicas.len() == 1 {
                eligible.clone_from(&newest.replicas);
            }
            Some((partition, PartitionFacts { newest, views, agree, eligible }))
        })
        .collect()
}

/// Brokers there are: live, fenced, in replica lists, or seen before.
pub(super) fn registered(
    snapshot: &Snapshot,
    partitions: &BTreeMap<PartitionId, PartitionFacts<'_>>,
) -> BTreeSet<BrokerId> {
    let replicas = partitions.values().flat_map(|partition| partition.newest.replicas.iter().copied());
    snapshot.brokers.keys().copied().chain(replicas).collect()
}

pub(super) fn presence(
    snapshot: &Snapshot,
    memory: &Memory,
    counted: &BTreeMap<BrokerId, &MetadataView>,
    stale: bool,
    now: Timestamp,
) -> TopicPresence {
    if counted.values().any(|view| view.offsets_topic.is_some()) {
        return TopicPresence::Present;
    }
    if counted.is_empty() || stale {
        return TopicPresence::Unknown;
    }
    let configs = || counted.keys().filter_map(|id| snapshot.brokers.get(id)).map(|sight| &sight.topic_configs);
    let told = || configs().filter_map(|configs| configs.known());
    if told().next().is_some() && told().all(Option::is_none) {
        return match (&memory.offsets_topic, memory.offsets_topic_gone_since) {
            (None, _) if lists_groups(snapshot) => TopicPresence::MaybeHidden,
            (None, _) => TopicPresence::Absent,
            // One sample is not enough: a broker that has just started does not know its topics yet.
            (Some(_), Some(since)) if millis_between(since, now) >= GONE_MS => TopicPresence::Vanished,
            (Some(_), _) => TopicPresence::Unknown,
        };
    }
    if lists_groups(snapshot) || told().any(Option::is_some) || configs().any(|configs| configs.unavailable().is_some())
    {
        TopicPresence::MaybeHidden
    } else {
        TopicPresence::Unknown
    }
}

fn lists_groups(snapshot: &Snapshot) -> bool {
    snapshot.brokers.values().filter_map(|sight| sight.groups.known()).any(|listing| !listing.groups.is_empty())
}

/// Whether every broker that answers proves the offsets topic absent; the memory turns it into "since when".
pub(crate) fn proven_absent_now(facts: &Facts<'_>) -> bool {
    let brokers = || facts.answering.iter().filter_map(|id| facts.snapshot.brokers.get(id));
    let told = || brokers().filter_map(|sight| sight.topic_configs.known());
    facts.partitions.is_empty() && told().next().is_some() && told().all(Option::is_none)
}
