//! The verbs that say where replicas are.

use super::Sample;
use crate::snapshot::{DataPartition, Observed, STATE_TOPICS};
use crate::{BrokerId, PartitionId};

impl Sample {
    /// A partition lies on these brokers, all in sync, is led by the first of them, and served by it.
    #[must_use]
    pub fn placed(self, partition: PartitionId, replicas: &[BrokerId]) -> Self {
        let leader = replicas.first().copied();
        let mut sample = self.each_view(|id, view| {
            if id == partition {
                view.replicas = replicas.to_vec();
                view.isr = replicas.to_vec();
                view.leader = leader;
            }
        });
        for (&id, sight) in &mut sample.snapshot.brokers {
            if let Some(canary) = sight.canaries.get_mut(&partition) {
                canary.code = if Some(id) == leader { 0 } else { 16 };
                canary.leader_before.0 = leader;
            }
        }
        let count = sample.partition_count();
        sample.coordinators_use(count)
    }
}

impl Sample {
    /// A partition of another topic has its only in-sync replica on this broker, and no other replica at all.
    #[must_use]
    pub fn only_copy(mut self, topic: &str, partition: PartitionId, broker: BrokerId) -> Self {
        if let Observed::Known(view) = &mut self.snapshot.client {
            let only = view.only_in_sync_on.entry(broker).or_default();
            only.count += 1;
            only.single_replica += 1;
            only.state += usize::from(STATE_TOPICS.contains(&topic));
            only.state_single_replica += usize::from(STATE_TOPICS.contains(&topic));
            only.named.push(DataPartition { topic: topic.to_owned(), partition });
        }
        self
    }
}

impl Sample {
    /// Every broker that answers sees this leader, and it serves the partition.
    #[must_use]
    pub fn led_by(self, partition: PartitionId, leader: BrokerId) -> Self {
        let mut sample = self.each_view(|id, view| {
            if id == partition {
                view.leader = Some(leader);
            }
        });
        for (&id, sight) in &mut sample.snapshot.brokers {
            if let Some(canary) = sight.canaries.get_mut(&partition) {
                canary.code = if id == leader { 0 } else { 16 };
            }
        }
        let count = sample.partition_count();
        sample.served_now(partition).coordinators_use(count)
    }
}
