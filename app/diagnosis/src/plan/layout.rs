//! What a plan starts from: where the replicas of the offsets topic are, and which brokers may get some.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Draft, Rack};
use super::{LeftOut, Refusal};
use crate::facts::Facts;
use crate::report::BrokerState;
use crate::{BrokerId, PartitionId, words};

/// Where the replicas are, and where they may go.
pub(super) struct Layout<'a, 'b> {
    pub(super) facts: &'b Facts<'a>,
    /// Partitions that can be reassigned, with their replicas: those with a live leader.
    pub(super) lists: BTreeMap<PartitionId, Vec<BrokerId>>,
    pub(super) leaders: BTreeMap<PartitionId, BrokerId>,
    /// Partitions that no reassignment can change now.
    pub(super) left_out: Vec<LeftOut>,
    /// Live, unfenced brokers.
    pub(super) usable: BTreeSet<BrokerId>,
    pub(super) racks: BTreeMap<BrokerId, Rack>,
}

impl<'a, 'b> Layout<'a, 'b> {
    pub(super) fn of(facts: &'b Facts<'a>) -> Result<Self, Refusal> {
        if facts.stale {
            return Err(Refusal::new(
                "No broker answers, so it is not known where the replicas are now.",
                "Start a broker, or check the way to the cluster.",
            ));
        }
        if facts.partitions.is_empty() {
            return Err(Refusal::new(
                "__consumer_offsets is not listed, so there is nothing to move.",
                "It is created when the first consumer group commits; or Unstuck may not see it (DESCRIBE on the topic).",
            ));
        }
        let usable: BTreeSet<_> = facts.registered.iter().copied().filter(|&broker| usable(facts, broker)).collect();
        let rack = |broker: BrokerId| facts.snapshot.brokers.get(&broker).and_then(|sight| sight.rack.as_deref());
        let racks = facts.registered.iter().map(|&broker| (broker, Rack::of(broker, rack(broker)))).collect();
        let mut layout =
            Self { facts, lists: BTreeMap::new(), leaders: BTreeMap::new(), left_out: Vec::new(), usable, racks };
        for (&partition, seen) in &facts.partitions {
            let replicas = &seen.newest.replicas;
            match seen.newest.leader {
                Some(leader) if layout.usable.contains(&leader) && replicas.contains(&leader) => {
                    layout.leaders.insert(partition, leader);
                    layout.lists.insert(partition, replicas.clone());
                }
                Some(leader) => layout.left_out.push(LeftOut {
                    partition,
                    why: format!("its leader, broker {leader}, does not answer; nothing can be copied from it"),
                }),
                None => layout
                    .left_out
                    .push(LeftOut { partition, why: "it has no leader; a reassignment cannot rescue it".to_owned() }),
            }
        }
        if layout.lists.is_empty() {
            return Err(Refusal::new(
                "No partition of __consumer_offsets has a live leader, and a reassignment cannot rescue one without.",
                "Bring the leaders back first: the findings say how.",
            ));
        }
        Ok(layout)
    }

    pub(super) fn draft(&self) -> Draft {
        Draft::new(self.racks.clone(), &self.usable, self.lists.clone())
    }

    pub(super) fn draft_without(&self, broker: BrokerId) -> Draft {
        let targets = self.usable.iter().copied().filter(|&id| id != broker).collect();
        Draft::new(self.racks.clone(), &targets, self.lists.clone())
    }

    /// The replica that is to be first: the preferred one where it could lead now, else the leader.
    pub(super) fn first(&self, partition: PartitionId) -> Option<BrokerId> {
        let preferred = self.lists.get(&partition)?.first().copied()?;
        if self.in_sync(partition, preferred) { Some(preferred) } else { self.leaders.get(&partition).copied() }
    }

    /// Whether a broker could lead a partition right now.
    pub(super) fn in_sync(&self, partition: PartitionId, broker: BrokerId) -> bool {
        let seen = self.facts.partitions.get(&partition);
        self.usable.contains(&broker) && seen.is_some_and(|seen| seen.newest.isr.contains(&broker))
    }

    /// Brokers among these that are down, as far as known.
    pub(super) fn down(&self, brokers: &BTreeSet<BrokerId>) -> Vec<BrokerId> {
        brokers.iter().copied().filter(|broker| !self.usable.contains(broker)).collect()
    }

    /// Brokers among these that live for the cluster, though we could not ask them.
    pub(super) fn not_asked(&self, brokers: &BTreeSet<BrokerId>) -> Vec<BrokerId> {
        let asked = |broker: &BrokerId| self.facts.answering.contains(broker);
        brokers.iter().copied().filter(|broker| self.usable.contains(broker) && !asked(broker)).collect()
    }

    /// Bytes of a partition: as its leader has it on disk, else the largest copy.
    pub(super) fn size(&self, partition: PartitionId) -> Option<u64> {
        let on = |broker: BrokerId| {
            let replica = self.facts.snapshot.brokers.get(&broker)?.log_dirs.known()?.offsets.get(&partition)?;
            (!replica.is_future).then(|| u64::try_from(replica.bytes).unwrap_or(0))
        };
        let at_leader = self.leaders.get(&partition).and_then(|&leader| on(leader));
        at_leader.or_else(|| self.facts.snapshot.brokers.keys().filter_map(|&broker| on(broker)).max())
    }

    /// Why no more brokers can be used, for sentences: `brokers 2 and 3 are down`.
    pub(super) fn why_so_few(&self) -> String {
        let down = self.down(&self.facts.registered);
        match down.as_slice() {
            [] => String::new(),
            [_] => format!("; {} is not live", words::brokers(&down)),
            _ => format!("; {} are not live", words::brokers(&down)),
        }
    }
}

/// Whether a broker may get replicas: it lives, and is not fenced.
fn usable(facts: &Facts<'_>, broker: BrokerId) -> bool {
    let Some(sight) = facts.snapshot.brokers.get(&broker) else { return false };
    let unreadable = facts.state(broker) == BrokerState::Unreadable && !facts.listed_live.contains(&broker);
    facts.electable(broker) && !sight.fenced && !unreadable
}
