//! Topics and partitions.

use std::collections::{BTreeMap, BTreeSet};

use super::groups::OffsetsLog;
use crate::scenario::model::OpenTransaction;

/// A topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Topic {
    /// Its id (KIP-516), made from its name.
    pub id: [u8; 16],
    /// Whether it is one of Kafka's own.
    pub internal: bool,
    /// Settings of the topic itself.
    pub configs: BTreeMap<String, String>,
    /// Its partitions, by number.
    pub partitions: Vec<Partition>,
}

/// A partition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Partition {
    /// Replicas, the preferred leader first.
    pub replicas: Vec<i32>,
    /// In-sync replicas.
    pub isr: Vec<i32>,
    /// The leader, or -1.
    pub leader: i32,
    /// The leader epoch.
    pub epoch: i32,
    /// Goes up with each change (KRaft `partitionEpoch`, ZooKeeper `zkVersion`).
    pub partition_epoch: i32,
    /// Eligible leader replicas (KIP-966).
    pub elr: Vec<i32>,
    /// Who led last, while nobody leads and nobody is in sync (KIP-966, `LastKnownElr`).
    pub last_known_leader: Option<i32>,
    /// Brokers whose log directory of this replica has failed.
    pub offline_on: BTreeSet<i32>,
    /// Replicas that run and yet do not catch up, until their broker restarts.
    pub lagging: BTreeSet<i32>,
    /// Size of the log in bytes.
    pub bytes: u64,
    /// The log's end offset.
    pub end: i64,
    /// A transaction that was begun and never ended.
    pub open_transaction: Option<OpenTransaction>,
    /// While it is reassigned: the replicas that it shall have.
    pub target: Option<Vec<i32>>,
    /// While it is reassigned: the replicas that it had.
    pub original: Option<Vec<i32>>,
    /// ZooKeeper holds something else than the controller's memory.
    pub(super) zookeeper: Option<Registered>,
    /// What replicas held when they left the ISR; a replica out of the ISR that is not here holds nothing.
    pub(super) left_behind: BTreeMap<i32, OffsetsLog>,
}

/// What ZooKeeper holds of a partition (`/brokers/topics/T/partitions/P/state`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Registered {
    pub(super) leader: i32,
    pub(super) isr: Vec<i32>,
    pub(super) epoch: i32,
}

impl Partition {
    /// Gives it a leader (or -1) and what follows: the next leader epoch.
    pub(super) fn lead_by(&mut self, leader: i32) {
        self.last_led_by(leader);
        self.leader = leader;
        self.next_epoch();
        self.partition_epoch += 1;
    }

    /// The next leader epoch. A scenario may begin with any, so it can be the last one already.
    pub(super) fn next_epoch(&mut self) {
        self.epoch = self.epoch.saturating_add(1);
    }

    /// Keeps who led last, before `next` (-1: nobody) does: a leader that goes and leaves nobody in sync
    /// (`PartitionChangeBuilder.maybeUpdateLastKnownLeader`). Whoever leads next ends that.
    pub(super) fn last_led_by(&mut self, next: i32) {
        if next >= 0 {
            self.last_known_leader = None;
        } else if self.leader >= 0 && self.isr.is_empty() {
            self.last_known_leader = Some(self.leader);
        }
    }

    /// Whose logs are complete: the ISR, or, if that is empty, the eligible leader replicas (KIP-966).
    pub(super) fn trusted(&self) -> &[i32] {
        if self.isr.is_empty() { &self.elr } else { &self.isr }
    }

    /// While it is reassigned: the replicas that are being added, and those that will go
    /// (`PartitionReassignmentReplicas`).
    #[must_use]
    pub fn moving(&self) -> Option<(Vec<i32>, Vec<i32>)> {
        let (target, original) = (self.target.as_ref()?, self.original.as_ref()?);
        let lacking = |from: &[i32], of: &[i32]| from.iter().copied().filter(|id| !of.contains(id)).collect();
        Some((lacking(target, original), lacking(original, target)))
    }
}
