//! `__consumer_offsets` as the brokers that count see it: whether it is there, and each partition merged from their views.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Facts, PartitionFacts};
use crate::memory::Memory;
use crate::report::TopicPresence;
use crate::snapshot::{MetadataView, OffsetsTopicView, PartitionView, Snapshot};
use crate::time::millis_between;
use crate::{BrokerId, PartitionId};

/// How long the offsets topic must be proven absent before it counts as gone.
pub(crate) const GONE_MS: i64 = 5_000;

/// How long a replica must be offline on a live broker before its disk is held for failed: a broker that has just
/// started is listed as live a moment before its replicas are online again.
const DIR_FAILED_MS: i64 = 5_000;

/// The views of the brokers that count, merged by partition.
pub(super) fn merge<'a>(
    snapshot: &'a Snapshot,
    memory: &Memory,
    counted: &BTreeMap<BrokerId, &'a MetadataView>,
    now: Timestamp,
) -> BTreeMap<PartitionId, PartitionFacts<'a>> {
    let mut partitions = merge_views(counted, |view| view.offsets_topic.as_ref());
    for (partition, seen) in &mut partitions {
        let told =
            counted.keys().filter_map(|id| snapshot.brokers.get(id)?.elr.known()?.get(partition)).next().cloned();
        let memory = memory.partitions.get(partition);
        let remembered = memory.map(|memory| memory.last_eligible.clone());
        seen.eligible = told.or_else(|| remembered.filter(|_| seen.newest.leader.is_none())).unwrap_or_default();
        // With one replica it can be no other, even before anybody tells.
        let view = seen.newest;
        if seen.eligible.is_empty() && view.leader.is_none() && view.isr.is_empty() && view.replicas.len() == 1 {
            seen.eligible.clone_from(&view.replicas);
        }
        let lasting = |id: &BrokerId| {
            let since = memory.and_then(|memory| memory.offline_dirs.get(id)).copied();
            since.is_some_and(|since| millis_between(since, now) >= DIR_FAILED_MS) || tells_a_failed_dir(snapshot, *id)
        };
        seen.failed_dirs = seen.offline_though_live.iter().copied().filter(lasting).collect();
    }
    partitions
}

/// The same for one of the topics of other coordinators.
pub(super) fn merge_state_topics<'a>(
    counted: &BTreeMap<BrokerId, &'a MetadataView>,
) -> BTreeMap<&'a str, BTreeMap<PartitionId, PartitionFacts<'a>>> {
    let names: BTreeSet<&'a str> =
        counted.values().flat_map(|&view| view.state_topics.keys()).map(String::as_str).collect();
    names.into_iter().map(|name| (name, merge_views(counted, |view| view.state_topics.get(name)))).collect()
}

fn merge_views<'a>(
    counted: &BTreeMap<BrokerId, &'a MetadataView>,
    topic: impl Fn(&'a MetadataView) -> Option<&'a OffsetsTopicView>,
) -> BTreeMap<PartitionId, PartitionFacts<'a>> {
    let mut views: BTreeMap<PartitionId, BTreeMap<BrokerId, &'a PartitionView>> = BTreeMap::new();
    for (&broker, &view) in counted {
        for (&partition, seen) in topic(view).iter().flat_map(|topic| &topic.partitions) {
            views.entry(partition).or_default().insert(broker, seen);
        }
    }
    views
        .into_iter()
        .filter_map(|(partition, views)| {
            let (teller, newest) = views
                .iter()
                .max_by_key(|(broker, view)| (view.leader_epoch, counted.get(broker).map(|view| view.at)))
                .map(|(&broker, view)| (broker, *view))?;
            let agree = views.values().all(|view| {
                view.leader == newest.leader
                    && (view.leader_epoch.is_none()
                        || newest.leader_epoch.is_none()
                        || view.leader_epoch == newest.leader_epoch)
            });
            let live = |id: &BrokerId| counted.get(&teller).is_some_and(|view| view.brokers.contains_key(id));
            let offline_though_live = newest.offline_replicas.iter().copied().filter(live).collect();
            let (eligible, failed_dirs) = (Vec::new(), Vec::new());
            Some((partition, PartitionFacts { newest, views, agree, eligible, offline_though_live, failed_dirs }))
        })
        .collect()
}

/// Whether a broker itself names a log directory that it has given up (56 KAFKA_STORAGE_ERROR).
fn tells_a_failed_dir(snapshot: &Snapshot, broker: BrokerId) -> bool {
    let dirs = snapshot.brokers.get(&broker).and_then(|sight| sight.log_dirs.known());
    dirs.is_some_and(|dirs| dirs.dirs.iter().any(|dir| dir.error != 0))
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
