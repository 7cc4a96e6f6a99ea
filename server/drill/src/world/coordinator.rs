//! Group coordinators: which partitions of the offsets topic a broker serves, and where a group is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::placement::partition_for;

use super::groups::{GroupState, OffsetsLog};
use super::{OFFSETS_TOPIC, TOPIC_CREATION, Timer, World};
use crate::scenario::model::{Implementation, Mode, Release};

/// A partition of the offsets topic, as loaded by the broker that leads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The leader epoch that it was loaded at.
    pub epoch: i32,
    /// How it is.
    pub state: ShardState,
}

/// How a shard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardState {
    /// Answers.
    Serving,
    /// Reads its log, until this time; `None`: without an end.
    Loading(Option<Duration>),
    /// Failed to read its log.
    Failed,
}

/// Codes that coordinators answer with.
pub(crate) const LOADING: i16 = 14;
pub(crate) const NOT_AVAILABLE: i16 = 15;
pub(crate) const NOT_COORDINATOR: i16 = 16;

/// The settings that the offsets topic is made with (`GroupCoordinator.offsetsTopicConfigs`).
pub(super) fn offsets_topic_configs() -> BTreeMap<String, String> {
    [("cleanup.policy", "compact"), ("compression.type", "producer"), ("segment.bytes", "104857600")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// How fast a coordinator reads its log, in bytes per millisecond (100 MB/s).
const LOAD_SPEED: u64 = 100_000;
/// A load takes at least so long: until its turn comes.
const SHORTEST_LOAD: Duration = Duration::from_millis(50);

impl World {
    /// The partition where a broker that counts `count` partitions looks for a group.
    #[must_use]
    pub fn place(&self, group: &str, count: i32) -> Option<i32> {
        match self.implementation() {
            Implementation::Kafka => partition_for(&GroupId::from(group), count),
            Implementation::Redpanda => {
                // Another hash (FNV-1a here, where Redpanda takes xxhash): all that matters is that it is not Java's.
                let hash = group.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
                });
                let count = u64::try_from(count).ok().filter(|count| *count > 0)?;
                i32::try_from(hash % count).ok()
            }
        }
    }

    /// Who a broker names as coordinator of a group: the leader in its own cache of the partition it counts, with host
    /// and port; or the error code (`KafkaApis.getCoordinator`). Does not look whether that coordinator works.
    /// Creates the offsets topic where it is missing, as Kafka does.
    ///
    /// # Errors
    /// 15.
    pub fn find_coordinator(&mut self, broker: i32, group: &str) -> Result<(i32, String, u16), i16> {
        let Some(node) = self.nodes.get(&broker) else { return Err(NOT_AVAILABLE) };
        if !node.seen().topics.contains_key(OFFSETS_TOPIC) {
            if !self.topics.contains_key(OFFSETS_TOPIC)
                && !self.timers.values().any(|timer| matches!(timer, Timer::OffsetsTopicCreated { .. }))
            {
                self.after(TOPIC_CREATION, Timer::OffsetsTopicCreated { by: broker });
            }
            return Err(NOT_AVAILABLE);
        }
        let node = &self.nodes[&broker];
        if let Some(named) = node.view.as_ref().and_then(|view| view.coordinator) {
            let known = node.seen().brokers.get(&named).map(|endpoint| (endpoint.host.clone(), endpoint.port));
            let (host, port) = known.unwrap_or_else(|| (format!("broker-{named}.invalid"), 9092));
            return Ok((named, host, port));
        }
        let partition = self.place(group, node.count).ok_or(NOT_AVAILABLE)?;
        let leader = node.seen().leader(OFFSETS_TOPIC, partition).ok_or(NOT_AVAILABLE)?;
        let endpoint = node.seen().brokers.get(&leader).ok_or(NOT_AVAILABLE)?;
        Ok((leader, endpoint.host.clone(), endpoint.port))
    }

    /// The partition under which a broker serves a group; or the error code.
    ///
    /// # Errors
    /// 14 while it loads (16 from brokers below 2.0, which looked at ownership first, PR 4788); 16 if it does not serve
    /// the partition or, with the new coordinator, failed to load it.
    pub fn serves(&self, broker: i32, group: &str) -> Result<i32, i16> {
        let node = self.nodes.get(&broker).ok_or(NOT_COORDINATOR)?;
        let partition = self.place(group, node.count).ok_or(NOT_COORDINATOR)?;
        self.shard(broker, partition).map(|()| partition)
    }

    /// As [`serves`](Self::serves), for a partition.
    ///
    /// # Errors
    /// As [`serves`](Self::serves).
    pub fn shard(&self, broker: i32, partition: i32) -> Result<(), i16> {
        let node = self.nodes.get(&broker).ok_or(NOT_COORDINATOR)?;
        match node.shards.get(&partition).map(|shard| shard.state) {
            None => Err(NOT_COORDINATOR),
            Some(ShardState::Loading(until)) if until.is_none_or(|until| until > self.now) => {
                Err(if node.release < Release::V2_3 { NOT_COORDINATOR } else { LOADING })
            }
            Some(ShardState::Failed) if new_coordinator(node.release) => Err(NOT_COORDINATOR),
            Some(_) => Ok(()),
        }
    }

    /// The groups of a partition that a broker serves. Empty for an old coordinator that failed to load: it serves on
    /// without what it could not read (`GroupMetadataManager.loadGroupsAndOffsets`).
    #[must_use]
    pub fn log(&self, broker: i32, partition: i32) -> Option<&OffsetsLog> {
        let shard = self.nodes.get(&broker)?.shards.get(&partition)?;
        (shard.state != ShardState::Failed).then(|| self.logs.get(&partition)).flatten()
    }

    /// The partitions that a broker serves or loads.
    #[must_use]
    pub fn partitions_of(&self, broker: i32) -> Vec<i32> {
        self.nodes.get(&broker).map(|node| node.shards.keys().copied().collect()).unwrap_or_default()
    }

    /// A group as a broker has it; `Ok(None)` if it serves the partition and has no such group.
    ///
    /// # Errors
    /// As [`serves`](Self::serves).
    pub fn group(&self, broker: i32, group: &str) -> Result<Option<&Arc<GroupState>>, i16> {
        let partition = self.serves(broker, group)?;
        Ok(self.log(broker, partition).and_then(|log| log.get(group)))
    }

    /// Writes a group (or removes it) in the partition where this broker serves it.
    ///
    /// # Errors
    /// As [`serves`](Self::serves), and as [`may_write`](Self::may_write).
    pub fn write_group(&mut self, broker: i32, group: &str, state: Option<GroupState>) -> Result<(), i16> {
        let partition = self.serves(broker, group)?;
        self.may_write(broker, partition)?;
        let log = self.logs.entry(partition).or_default();
        match state {
            Some(state) => drop(log.insert(group.to_owned(), Arc::new(state))),
            None => drop(log.remove(group)),
        }
        self.changed();
        Ok(())
    }

    /// Loads and unloads coordinators after a broker's view of leaders changed.
    pub(super) fn follow_leadership(&mut self, id: i32) {
        let mode = self.mode();
        let now = self.now;
        let Some(node) = self.nodes.get_mut(&id).filter(|node| node.is_broker) else { return };
        let seen = Arc::clone(&node.seen);
        let Some(topic) = seen.topics.get(OFFSETS_TOPIC) else {
            node.shards.clear();
            return;
        };
        let mut loaded_by = None;
        for (number, partition) in (0..).zip(&topic.partitions) {
            let shard = node.shards.get(&number).copied();
            if partition.leader == id && !partition.offline_on.contains(&id) {
                if let Some(shard) = shard
                    && (shard.epoch == partition.epoch || mode == Mode::Zookeeper)
                {
                    // With ZooKeeper whoever leads already loads nothing for a new epoch (`ReplicaManager.makeLeaders`).
                    node.shards.insert(number, Shard { epoch: partition.epoch, ..shard });
                    continue;
                }
                let time = Duration::from_millis(partition.bytes / LOAD_SPEED).max(SHORTEST_LOAD);
                loaded_by = loaded_by.max(Some(time));
                let state = ShardState::Loading(Some(now + time));
                node.shards.insert(number, Shard { epoch: partition.epoch, state });
            } else if partition.leader >= 0 || mode == Mode::Kraft || partition.offline_on.contains(&id) {
                // With ZooKeeper "no leader" is not sent to the one who led: it goes on serving (seen on 3.9.1).
                node.shards.remove(&number);
            }
        }
        let beyond = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
        node.shards.retain(|number, _| *number < beyond);
        if let Some(time) = loaded_by {
            self.after(time, Timer::Loaded);
        }
    }

    pub(super) fn set_coordinators(&mut self, wanted: &crate::scenario::action::Coordinators) {
        use crate::scenario::model::Coordinator;
        let now = self.now;
        let state = match wanted.state {
            Coordinator::Serving => ShardState::Serving,
            Coordinator::Failed => ShardState::Failed,
            Coordinator::Loading => ShardState::Loading(wanted.r#for.map(|time| now + time.0)),
        };
        for node in self.nodes.values_mut() {
            for (number, shard) in &mut node.shards {
                if wanted.partitions.contains(*number) {
                    shard.state = state;
                }
            }
        }
        if let Some(time) = wanted.r#for {
            self.after(time.0, Timer::Loaded);
        }
        self.changed();
    }

    pub(super) fn create_offsets_topic(&mut self, by: i32) {
        let Some(node) = self.nodes.get(&by) else { return };
        let factor = node.number("offsets.topic.replication.factor").and_then(|factor| usize::try_from(factor).ok());
        let count = node.number("offsets.topic.num.partitions").and_then(|count| i32::try_from(count).ok());
        if self.controller.is_none() {
            // Nobody makes it; the next request asks anew.
            return;
        }
        // More replicas than live brokers: it fails, each time anew, and nobody is told (KIP-115).
        let _failed =
            self.create_topic(OFFSETS_TOPIC, count.unwrap_or(50), factor.unwrap_or(3), offsets_topic_configs());
    }
}

/// Whether a release runs the coordinator that is new with KIP-848 (the default and only one from 4.0 on).
#[must_use]
pub(crate) fn new_coordinator(release: Release) -> bool {
    release >= Release::V4_1
}
