//! What administrative requests ask of the world and do to it, beyond what scenarios do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::placement::partition_for;

use super::coordinator::{NOT_AVAILABLE, NOT_COORDINATOR, new_coordinator};
use super::{GroupState, OFFSETS_TOPIC, Partition, Topic, World};
use crate::scenario::model::{BrokerState, GroupType, Mode};

/// Whether a broker gets what only the controller does done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It is the controller (ZooKeeper), or forwards to it (KRaft).
    Rules,
    /// ZooKeeper: another one is; it answers 41.
    NotController,
    /// It takes the request and gets nobody to carry it out.
    Hangs,
}

/// Why and how a write to the offsets topic is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What a commit is answered.
    pub commit: i16,
    /// What a leader's SyncGroup is answered.
    pub sync: i16,
    /// After how long.
    pub after: Duration,
}

/// Offsets by topic and partition.
pub type Commits = Vec<((String, i32), i64)>;

impl World {
    /// Whether a broker gets done what only the controller does.
    #[must_use]
    pub fn rule(&self, broker: i32) -> Rule {
        let Some(node) = self.nodes.get(&broker) else { return Rule::Hangs };
        let cut_off = node.state == BrokerState::CutOff;
        match self.mode() {
            Mode::Kraft if self.controller.is_some() && !cut_off => Rule::Rules,
            Mode::Kraft => Rule::Hangs,
            Mode::Zookeeper if self.controller == Some(broker) && !cut_off => Rule::Rules,
            // It still believes that it is the controller, and cannot write to ZooKeeper.
            Mode::Zookeeper if cut_off && node.seen().controller == Some(broker) => Rule::Hangs,
            Mode::Zookeeper => Rule::NotController,
        }
    }

    /// How many controllers there have been; the leader epoch of a KRaft quorum.
    #[must_use]
    pub fn controller_epoch(&self) -> i32 {
        self.controller_epoch
    }

    /// Whether a topic may be led by a replica that lacks data: its own setting, or else that of the controller, who
    /// elects.
    #[must_use]
    pub fn unclean_allowed(&self, topic: &Topic) -> bool {
        const NAME: &str = "unclean.leader.election.enable";
        match topic.configs.get(NAME) {
            Some(value) => value == "true",
            None => {
                let node = self.controller.and_then(|id| self.nodes.get(&id)).or_else(|| self.brokers().next());
                node.and_then(|node| node.config(NAME)).as_deref() == Some("true")
            }
        }
    }

    /// Whether a broker refuses to write to an offsets partition now.
    ///
    /// Too few in-sync replicas: 15. Enough, but one of them does not fetch: the old coordinator passes on the 7 of a
    /// commit and makes 27 of that of a rebalance (`GroupMetadataManager`), the new one makes 15 of both.
    #[must_use]
    pub fn refusal(&self, broker: i32, partition: i32) -> Option<Refusal> {
        let code = self.may_write(broker, partition).err()?;
        let after = self.refusal_takes(broker, partition);
        let old = self.nodes.get(&broker).is_some_and(|node| !new_coordinator(node.release));
        Some(if code == NOT_AVAILABLE && old && !after.is_zero() {
            Refusal { commit: 7, sync: 27, after }
        } else {
            Refusal { commit: code, sync: code, after: if code == NOT_AVAILABLE { after } else { Duration::ZERO } }
        })
    }

    /// Whether a broker is the coordinator of a transactional id.
    ///
    /// # Errors
    /// 16 if it does not lead the id's partition of `__transaction_state` in its own eyes.
    pub fn serves_transactions(&self, broker: i32, id: &str) -> Result<(), i16> {
        const TOPIC: &str = "__transaction_state";
        let seen = self.nodes.get(&broker).ok_or(NOT_COORDINATOR)?.seen();
        let count = seen.topics.get(TOPIC).map_or(0, |topic| topic.partitions.len());
        let partition = i32::try_from(count).ok().and_then(|count| partition_for(&GroupId::from(id), count));
        let leads = partition.and_then(|number| seen.partition(TOPIC, number)).is_some_and(|one| one.leader == broker);
        if leads { Ok(()) } else { Err(NOT_COORDINATOR) }
    }

    /// Writes committed offsets of a group, which comes into being with them.
    ///
    /// # Errors
    /// As [`serves`](Self::serves) and [`may_write`](Self::may_write).
    pub fn commit(&mut self, broker: i32, group: &str, commits: Commits) -> Result<(), i16> {
        let mut state = self.group(broker, group)?.map_or_else(
            || GroupState { r#type: GroupType::Simple, state: "Empty".to_owned(), ..GroupState::default() },
            |state| GroupState::clone(state),
        );
        let offsets = Arc::make_mut(&mut state.offsets);
        offsets.extend(commits);
        self.write_group(broker, group, Some(state))
    }

    /// Replicas for so many partitions, and which of them are in sync at first. `None` if there are not enough brokers.
    /// KRaft places replicas on fenced brokers as well (`StripedReplicaPlacer`), ZooKeeper on live ones only.
    pub(super) fn placed(&self, count: usize, factor: usize) -> Option<Vec<Partition>> {
        let live: Vec<i32> = self.brokers().filter(|node| node.registered).map(|node| node.id).collect();
        let fenced: Vec<i32> =
            self.brokers().filter(|node| !node.registered && self.mode() == Mode::Kraft).map(|node| node.id).collect();
        if factor == 0 || live.is_empty() || factor > live.len() + fenced.len() {
            return None;
        }
        let of_live = factor.min(live.len());
        Some(
            (0..count)
                .map(|at| {
                    let mut partition = super::reassign::spread(&live, at, of_live);
                    partition.replicas.extend(fenced.iter().take(factor - of_live));
                    partition
                })
                .collect(),
        )
    }

    /// Whether there are brokers for so many replicas.
    #[must_use]
    pub fn can_place(&self, factor: usize) -> bool {
        self.placed(0, factor).is_some()
    }

    /// Makes a topic whose replicas are said.
    ///
    /// # Errors
    /// 36 if it exists; 39 if a replica is no broker, named twice, or none is live.
    pub fn create_topic_on(
        &mut self,
        name: &str,
        replicas: &[Vec<i32>],
        configs: BTreeMap<String, String>,
    ) -> Result<(), i16> {
        if self.topics.contains_key(name) {
            return Err(36);
        }
        let partitions = replicas.iter().map(|ids| self.on(ids)).collect::<Result<_, _>>()?;
        self.topics.insert(name.to_owned(), Arc::new(Topic::new(name, configs, partitions)));
        if name == OFFSETS_TOPIC {
            self.logs.clear();
        }
        self.publish();
        Ok(())
    }

    /// Adds partitions whose replicas are said.
    ///
    /// # Errors
    /// 3 if there is no such topic, 39 as [`create_topic_on`](Self::create_topic_on).
    pub fn add_partitions_on(&mut self, name: &str, replicas: &[Vec<i32>]) -> Result<(), i16> {
        let partitions: Vec<Partition> = replicas.iter().map(|ids| self.on(ids)).collect::<Result<_, _>>()?;
        self.topic_mut(name).ok_or(3_i16)?.partitions.extend(partitions);
        self.publish();
        Ok(())
    }

    fn on(&self, ids: &[i32]) -> Result<Partition, i16> {
        let known = |id: &i32| self.nodes.get(id).is_some_and(|node| node.is_broker);
        let twice = ids.iter().enumerate().any(|(at, id)| ids[..at].contains(id));
        let isr: Vec<i32> =
            ids.iter().copied().filter(|id| self.nodes.get(id).is_some_and(|node| node.registered)).collect();
        let Some(leader) = isr.first().copied().filter(|_| !twice && ids.iter().all(known)) else { return Err(39) };
        Ok(Partition { replicas: ids.to_vec(), isr, leader, ..Partition::default() })
    }
}
