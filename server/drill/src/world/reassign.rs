//! Other replicas for partitions, more partitions, topics made and deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{OFFSETS_TOPIC, Partition, Topic, World};
use crate::scenario::action::Reassign;
use crate::scenario::model::{Event, Mode};

/// Why replicas are not reassigned, with the error code of AlterPartitionReassignments (KIP-455).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReassignmentError {
    /// 3.
    #[error("there is no such partition")]
    Unknown,
    /// 39.
    #[error("replicas that do not exist, or twice the same one")]
    InvalidReplicas,
    /// 85.
    #[error("no reassignment of this partition is in progress")]
    NoneInProgress,
    /// 39: KRaft does not cancel where no in-sync replica would be left.
    #[error("nobody in sync would be left to lead")]
    Unclean,
}

impl World {
    /// Gives a partition other replicas; `None` cancels a reassignment. It ends once all of them are in sync.
    ///
    /// # Errors
    /// See [`ReassignmentError`].
    pub fn reassign(&mut self, name: &str, number: i32, target: Option<Vec<i32>>) -> Result<(), ReassignmentError> {
        let at = usize::try_from(number).map_err(|_| ReassignmentError::Unknown)?;
        let known = |id: &i32| self.nodes.get(id).is_some_and(|node| node.is_broker);
        if let Some(target) = &target {
            let mut ids = target.clone();
            ids.sort_unstable();
            ids.dedup();
            if target.is_empty() || ids.len() != target.len() || !target.iter().all(known) {
                return Err(ReassignmentError::InvalidReplicas);
            }
        }
        let unclean =
            self.mode() == Mode::Kraft && !self.topics.get(name).is_some_and(|topic| self.unclean_allowed(topic));
        let partition =
            self.topic_mut(name).and_then(|topic| topic.partitions.get_mut(at)).ok_or(ReassignmentError::Unknown)?;
        let original = partition.original.clone().unwrap_or_else(|| partition.replicas.clone());
        match target {
            Some(target) => {
                let rest: Vec<i32> = original.iter().copied().filter(|id| !target.contains(id)).collect();
                partition.replicas = target.iter().copied().chain(rest).collect();
                partition.isr.retain(|id| partition.replicas.contains(id));
                partition.target = Some(target);
                partition.original = Some(original);
            }
            None => {
                if partition.target.is_none() {
                    return Err(ReassignmentError::NoneInProgress);
                }
                let isr: Vec<i32> = partition.isr.iter().copied().filter(|id| original.contains(id)).collect();
                if isr.is_empty() && unclean {
                    return Err(ReassignmentError::Unclean);
                }
                partition.target = None;
                partition.original = None;
                partition.left_behind.retain(|id, _| original.contains(id));
                partition.replicas = original;
                partition.isr = isr;
                if partition.leader >= 0 && !partition.isr.contains(&partition.leader) {
                    let first = partition.isr.first().copied().unwrap_or(-1);
                    partition.lead_by(first);
                }
            }
        }
        partition.partition_epoch += 1;
        self.publish();
        self.catch_up_soon();
        self.event(&Event::Reassignment);
        Ok(())
    }

    /// Reassignments whose new replicas are all in sync come to their end: the others go, and if the leader is among
    /// them, the first replica in sync leads. KRaft waits for those that are added only, ZooKeeper for all
    /// (`PartitionReassignmentReplicas.maybeCompleteReassignment`, `KafkaController.isReassignmentComplete`).
    pub(super) fn finish_reassignments(&mut self, name: &str) {
        let kraft = self.mode() == Mode::Kraft;
        let Some(topic) = self.topic_mut(name) else { return };
        for partition in &mut topic.partitions {
            let Some((adding, _)) = partition.moving() else { continue };
            let Some(target) = partition.target.clone() else { continue };
            let awaited = if kraft { &adding } else { &target };
            let isr: Vec<i32> = partition.isr.iter().copied().filter(|id| target.contains(id)).collect();
            if isr.is_empty() || !awaited.iter().all(|id| partition.isr.contains(id)) {
                continue;
            }
            partition.left_behind.retain(|id, _| target.contains(id));
            partition.elr.retain(|id| target.contains(id));
            partition.offline_on.retain(|id| target.contains(id));
            partition.target = None;
            partition.original = None;
            if partition.leader >= 0
                && !target.contains(&partition.leader)
                && let Some(first) = target.iter().find(|id| isr.contains(id)).copied()
            {
                partition.lead_by(first);
            }
            partition.isr = isr;
            partition.replicas = target;
            partition.partition_epoch += 1;
        }
    }

    pub(super) fn reassign_all(&mut self, wanted: &Reassign) -> Result<(), String> {
        let name = wanted.topic.clone().unwrap_or_else(|| OFFSETS_TOPIC.to_owned());
        let count = self.topics.get(&name).map_or(0, |topic| topic.partitions.len());
        for number in wanted.partitions.of(i32::try_from(count).unwrap_or(i32::MAX)) {
            let mut replicas = wanted.replicas.clone();
            if wanted.rotate && !replicas.is_empty() {
                let by = usize::try_from(number).unwrap_or(0) % replicas.len();
                replicas.rotate_left(by);
            }
            self.reassign(&name, number, Some(replicas)).map_err(|error| format!("{name}-{number}: {error}"))?;
        }
        Ok(())
    }

    /// Makes a topic; its replicas are spread round-robin over the brokers.
    ///
    /// # Errors
    /// 36 if it exists, 37 if the count is not positive, 38 if there are not enough brokers (ZooKeeper: live ones).
    pub fn create_topic(
        &mut self,
        name: &str,
        count: i32,
        factor: usize,
        configs: BTreeMap<String, String>,
    ) -> Result<(), i16> {
        if self.topics.contains_key(name) {
            return Err(36);
        }
        if count < 1 {
            return Err(37);
        }
        let partitions = self.placed(usize::try_from(count).unwrap_or(0), factor).ok_or(38_i16)?;
        self.topics.insert(name.to_owned(), Arc::new(Topic::new(name, configs, partitions)));
        if name == OFFSETS_TOPIC {
            self.logs.clear();
        }
        self.publish();
        Ok(())
    }

    /// Adds partitions until there are so many. What brokers hash with stays as it was when they started.
    ///
    /// # Errors
    /// 3 if there is no such topic, 37 if it has as many already, 38 if there are not enough brokers.
    pub fn add_partitions(&mut self, name: &str, to: i32) -> Result<(), i16> {
        let to = usize::try_from(to).map_err(|_| 37_i16)?;
        let topic = self.topics.get(name).ok_or(3_i16)?;
        let has = topic.partitions.len();
        if to <= has {
            return Err(37);
        }
        let factor = topic.partitions.first().map_or(1, |partition| partition.replicas.len().max(1));
        let placed = self.placed(to, factor).ok_or(38_i16)?;
        if let Some(topic) = self.topic_mut(name) {
            topic.partitions.extend(placed.into_iter().skip(has));
        }
        self.publish();
        Ok(())
    }

    /// Deletes a topic. With the offsets topic all groups and all committed offsets go.
    ///
    /// # Errors
    /// 3 if there is no such topic.
    pub fn delete_topic(&mut self, name: &str) -> Result<(), i16> {
        self.topics.remove(name).ok_or(3_i16)?;
        if name == OFFSETS_TOPIC {
            self.logs.clear();
        }
        self.publish();
        Ok(())
    }
}

/// A partition whose replicas are spread round-robin.
pub(super) fn spread(brokers: &[i32], at: usize, factor: usize) -> Partition {
    let replicas: Vec<i32> =
        (0..factor).filter_map(|n| brokers.get((at + n) % brokers.len().max(1)).copied()).collect();
    Partition {
        isr: replicas.clone(),
        leader: replicas.first().copied().unwrap_or(-1),
        replicas,
        bytes: 1 << 20,
        end: 1000,
        ..Partition::default()
    }
}

impl Topic {
    /// A topic with an id made from its name.
    pub(super) fn new(name: &str, configs: BTreeMap<String, String>, partitions: Vec<Partition>) -> Self {
        Self { id: id_of(name), internal: name.starts_with("__"), configs, partitions }
    }
}

/// An id made from a name, the same in each run (FNV-1a, 128 bits; version 4 in form, as Kafka's are).
pub(crate) fn id_of(name: &str) -> [u8; 16] {
    let hash = name.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    let mut id = hash.to_be_bytes();
    id[6] = (id[6] & 0x0f) | 0x40;
    id[8] = (id[8] & 0x3f) | 0x80;
    id
}

/// A UUID made from a text, as Java writes one.
pub(super) fn uuid_text(text: &str) -> String {
    let hex = format!("{:032x}", u128::from_be_bytes(id_of(text)));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
