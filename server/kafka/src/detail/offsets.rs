//! Committed offsets of a group, and how far the logs of its partitions go.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use tokio::time::Instant;
use unstuck_diagnosis::lookup::{CommittedOffset, OFFSETS_CAP, Uncommitted};
use unstuck_diagnosis::snapshot::error_name;
use unstuck_diagnosis::{BrokerId, GroupId, PartitionId};
use unstuck_wire::messages::metadata::{Keep, MetadataAnswer, MetadataRequest, Topics};
use unstuck_wire::messages::offsets::{ListOffsetsRequest, OffsetFetchRequest, PartitionOffset};
use unstuck_wire::{Api, Connection};

use super::{GROUP_ID_NOT_FOUND, Timed};
use crate::probe::names_safely;
use crate::shared::Shared;
use crate::why::why;

/// An open transaction has offsets for the partition (KIP-447).
const UNSTABLE_OFFSET_COMMIT: i16 = 88;

/// What was found out.
pub(super) struct Fetched {
    pub(super) offsets: Vec<CommittedOffset>,
    pub(super) committed_count: usize,
    pub(super) uncommitted: Vec<Uncommitted>,
}

type Key = (String, PartitionId);

/// Committed offsets with the ends of the logs, as far as they could be had in time, and which of the assigned partitions
/// have none.
pub(super) async fn fetch(
    shared: &Shared,
    asked: &mut Timed,
    group: &GroupId,
    assigned: Vec<Key>,
    until: Instant,
) -> Result<Fetched, String> {
    let request = OffsetFetchRequest { group: group.0.clone(), require_stable: false };
    let fetched = asked.call(&request).await.map_err(|error| why(&error).to_string())?;
    if fetched.error != 0 && fetched.error != GROUP_ID_NOT_FOUND {
        return Err(format!("answered error {} ({})", fetched.error, error_name(fetched.error)));
    }
    let mut committed: BTreeMap<Key, i64> = fetched
        .offsets
        .into_iter()
        .filter(|one| one.error == 0 && one.offset >= 0)
        .map(|one| ((one.topic, one.partition), one.offset))
        .collect();
    let committed_count = committed.len();
    let without: BTreeSet<Key> =
        assigned.into_iter().filter(|key| !committed.contains_key(key)).take(OFFSETS_CAP).collect();
    if let Some(beyond) = committed.keys().nth(OFFSETS_CAP).cloned() {
        committed.split_off(&beyond);
    }
    let unstable = if committed_count == 0 { BTreeSet::new() } else { unstable(asked, group).await };
    let logs = Logs::ask(shared, asked, committed.keys().chain(&without), until).await;
    let offsets = committed
        .into_iter()
        .map(|(key, committed)| {
            let end = logs.ends.get(&key).copied();
            let leader = logs.leaders.get(&key).copied();
            CommittedOffset {
                committed,
                end,
                lag: end.map(|end| (end - committed).max(0)),
                stable_end: logs.stable_ends.get(&key).copied(),
                leader: leader.flatten(),
                without_leader: leader == Some(None),
                unstable: unstable.contains(&key),
                topic: key.0,
                partition: key.1,
                ..CommittedOffset::default()
            }
        })
        .collect();
    let uncommitted = without
        .into_iter()
        .map(|key| Uncommitted {
            end: logs.ends.get(&key).copied(),
            without_leader: logs.leaders.get(&key) == Some(&None),
            topic: key.0,
            partition: key.1,
        })
        .collect();
    Ok(Fetched { offsets, committed_count, uncommitted })
}

/// Partitions for which a transaction has offsets that do not count yet. None where that cannot be asked for.
async fn unstable(asked: &mut Timed, group: &GroupId) -> BTreeSet<Key> {
    if asked.connection.version(Api::OffsetFetch).is_none_or(|version| version < 7) {
        return BTreeSet::new();
    }
    let request = OffsetFetchRequest { group: group.0.clone(), require_stable: true };
    let answer = asked.call(&request).await.unwrap_or_default();
    let held = answer.offsets.into_iter().filter(|one| one.error == UNSTABLE_OFFSET_COMMIT);
    held.map(|one| (one.topic, one.partition)).collect()
}

/// What metadata and leaders tell about partitions. What was not told in time is left out.
#[derive(Default)]
struct Logs {
    /// Leaders; `None` for those that have none.
    leaders: BTreeMap<Key, Option<BrokerId>>,
    /// High watermarks.
    ends: BTreeMap<Key, i64>,
    /// Last stable offsets.
    stable_ends: BTreeMap<Key, i64>,
}

impl Logs {
    /// Asks the coordinator for the leaders, and all of them at once for the ends.
    async fn ask(
        shared: &Shared,
        asked: &mut Timed,
        partitions: impl Iterator<Item = &Key> + Clone,
        until: Instant,
    ) -> Self {
        let names: BTreeSet<String> = partitions.clone().map(|(topic, _)| topic.clone()).collect();
        if names.is_empty() {
            return Self::default();
        }
        let names: Vec<String> = names.into_iter().collect();
        let safe = names_safely(&asked.connection);
        let topics = if safe { Topics::Named(names.clone()) } else { Topics::All };
        let request = MetadataRequest { topics, keep: Keep::Named(names), cluster_operations: false };
        let Ok(metadata) = asked.call(&request).await else { return Self::default() };
        let mut logs = Self::default();
        for key in partitions {
            let told = metadata.topics.get(&key.0).and_then(|topic| topic.partitions.get(&key.1));
            logs.leaders.extend(told.map(|partition| (key.clone(), partition.leader)));
        }
        let answers = join_all(by_leader(&logs.leaders).into_iter().map(|(leader, topics)| {
            let address = shared.address(leader).or_else(|| told_address(&metadata, leader));
            async move {
                let mut asked = Timed::open(shared, leader, &address?, until).await.ok()?;
                let ends = asked.call(&ListOffsetsRequest { topics: topics.clone(), committed: false }).await.ok()?;
                // Before Kafka 0.11 there were no transactions.
                let stable = if has_transactions(&asked.connection) {
                    asked.call(&ListOffsetsRequest { topics, committed: true }).await.unwrap_or_default()
                } else {
                    Vec::new()
                };
                Some((ends, stable))
            }
        }))
        .await;
        for (ends, stable) in answers.into_iter().flatten() {
            logs.ends.extend(known(ends));
            logs.stable_ends.extend(known(stable));
        }
        logs
    }
}

fn has_transactions(connection: &Connection) -> bool {
    connection.version(Api::ListOffsets).is_some_and(|version| version >= 2)
}

fn told_address(metadata: &MetadataAnswer, broker: BrokerId) -> Option<String> {
    metadata.brokers.get(&broker).map(|broker| broker.address.clone())
}

fn known(told: Vec<PartitionOffset>) -> impl Iterator<Item = (Key, i64)> {
    told.into_iter().filter(|one| one.error == 0 && one.offset >= 0).map(|one| ((one.topic, one.partition), one.offset))
}

type Wanted = Vec<(String, Vec<i32>)>;

fn by_leader(leaders: &BTreeMap<Key, Option<BrokerId>>) -> BTreeMap<BrokerId, Wanted> {
    let mut wanted: BTreeMap<BrokerId, BTreeMap<String, Vec<i32>>> = BTreeMap::new();
    for ((topic, partition), leader) in leaders {
        if let Some(leader) = leader {
            wanted.entry(*leader).or_default().entry(topic.clone()).or_default().push(*partition);
        }
    }
    wanted.into_iter().map(|(leader, topics)| (leader, topics.into_iter().collect())).collect()
}
