//! In-sync replicas: who leaves them, who comes back, and whether writes are accepted.

use super::coordinator::{NOT_AVAILABLE, NOT_COORDINATOR, new_coordinator};
use super::{CATCH_UP, Node, OFFSETS_TOPIC, Partition, Timer, Topic, World};
use crate::scenario::model::{BrokerState, Mode, Release};

impl World {
    /// The fewest in-sync replicas with which a partition accepts writes: below 3.7 the setting as it is, from 3.7 on no
    /// more than there are replicas (KAFKA-15583).
    #[must_use]
    pub fn effective_min_isr(&self, topic: &Topic, partition: &Partition) -> usize {
        // The leader decides. While there is none nobody writes; then the first broker's setting is as good as any.
        let node = self.nodes.get(&partition.leader).or_else(|| self.brokers().next());
        node.map_or(1, |node| min_isr_of(node, topic, partition))
    }

    /// Whether a broker can write to an offsets partition that it leads: enough in-sync replicas, and each of them
    /// fetches, so that the high watermark moves.
    ///
    /// # Errors
    /// 16 if its own view says that it does not lead; 15 as coordinators map 19 and 7
    /// (`GroupMetadataManager.appendForGroup`, `CoordinatorOperationExceptionHelper`).
    pub fn may_write(&self, broker: i32, partition: i32) -> Result<(), i16> {
        let node = self.nodes.get(&broker).ok_or(NOT_COORDINATOR)?;
        let topic = node.seen().topics.get(OFFSETS_TOPIC).ok_or(NOT_COORDINATOR)?;
        let at = usize::try_from(partition).map_err(|_| NOT_COORDINATOR)?;
        let partition = topic.partitions.get(at).ok_or(NOT_COORDINATOR)?;
        let enough = partition.isr.len() >= min_isr_of(node, topic, partition);
        let moves = partition.isr.iter().all(|id| {
            *id == broker || (node.state != BrokerState::CutOff && self.nodes.get(id).is_some_and(super::Node::heard))
        });
        if enough && moves { Ok(()) } else { Err(NOT_AVAILABLE) }
    }

    /// How long a write waits before it is refused: a broker that knows the ISR is too small refuses at once (old
    /// coordinator), the others wait for the high watermark (`offsets.commit.timeout.ms` 5000).
    #[must_use]
    pub fn refusal_takes(&self, broker: i32, partition: i32) -> std::time::Duration {
        let waits = self.nodes.get(&broker).is_some_and(|node| {
            let Some(topic) = node.seen().topics.get(OFFSETS_TOPIC) else { return false };
            let Some(partition) = usize::try_from(partition).ok().and_then(|at| topic.partitions.get(at)) else {
                return false;
            };
            new_coordinator(node.release) || partition.isr.len() >= min_isr_of(node, topic, partition)
        });
        if waits { std::time::Duration::from_secs(5) } else { std::time::Duration::ZERO }
    }

    /// Whether a replica could lead or follow: its broker is registered and its log directory works.
    pub(super) fn eligible(&self, partition: &Partition, id: i32) -> bool {
        self.nodes.get(&id).is_some_and(|node| node.registered) && !partition.offline_on.contains(&id)
    }

    /// Whether eligible leader replicas are kept (KIP-966: `eligible.leader.replicas.version` 1, on for new clusters
    /// from 4.1 on).
    #[must_use]
    pub fn keeps_elr(&self) -> bool {
        let cluster = &self.scenario.cluster;
        cluster.mode == Mode::Kraft && cluster.elr.unwrap_or(cluster.release >= Release::V4_1)
    }

    /// Takes a replica out of the ISR. The last member stays, unless eligible leader replicas are kept.
    pub(super) fn leave_isr(&mut self, name: &str, number: usize, id: i32) {
        let keeps_elr = self.keeps_elr();
        let Some(topic) = self.topics.get(name) else { return };
        let Some(before) = topic.partitions.get(number) else { return };
        if !before.isr.contains(&id) || (before.isr.len() == 1 && !keeps_elr) {
            return;
        }
        let min = self.effective_min_isr(topic, before);
        let log = (name == OFFSETS_TOPIC)
            .then(|| i32::try_from(number).ok().and_then(|number| self.logs.get(&number)).cloned())
            .flatten()
            .unwrap_or_default();
        let Some(partition) = self.topic_mut(name).and_then(|topic| topic.partitions.get_mut(number)) else { return };
        partition.isr.retain(|member| *member != id);
        partition.partition_epoch += 1;
        if keeps_elr && partition.isr.len() < min && !partition.elr.contains(&id) {
            partition.elr.push(id);
        }
        partition.left_behind.insert(id, log);
    }

    /// Followers that run and are not said to lag join the ISR.
    pub(super) fn caught_up(&mut self) {
        if self.controller.is_none() {
            return;
        }
        let names: Vec<String> = self.topics.keys().cloned().collect();
        for name in names {
            let topic = std::sync::Arc::clone(&self.topics[&name]);
            for (number, partition) in topic.partitions.iter().enumerate() {
                let leads = self.nodes.get(&partition.leader).is_some_and(|node| node.heard() && node.registered);
                if !leads {
                    continue;
                }
                let joining: Vec<i32> = partition
                    .replicas
                    .iter()
                    .copied()
                    .filter(|id| {
                        !partition.isr.contains(id)
                            && !partition.lagging.contains(id)
                            && self.eligible(partition, *id)
                            && self.nodes.get(id).is_some_and(super::Node::heard)
                    })
                    .collect();
                if !joining.is_empty() {
                    self.join_isr(&name, number, &joining);
                }
            }
            self.finish_reassignments(&name);
        }
        self.publish();
        self.leaders_back();
    }

    fn join_isr(&mut self, name: &str, number: usize, joining: &[i32]) {
        let Some(topic) = self.topics.get(name) else { return };
        let min = topic.partitions.get(number).map_or(1, |partition| self.effective_min_isr(topic, partition));
        let Some(partition) = self.topic_mut(name).and_then(|topic| topic.partitions.get_mut(number)) else { return };
        // Behind those that stayed (seen on 4.1.1, 3.9.1 and 2.8.2).
        partition.isr.extend_from_slice(joining);
        partition.elr.retain(|id| !joining.contains(id));
        if partition.isr.len() >= min {
            partition.elr.clear();
        }
        partition.partition_epoch += 1;
        for id in joining {
            partition.left_behind.remove(id);
        }
    }

    /// Followers will have caught up in a while.
    pub(super) fn catch_up_soon(&mut self) {
        self.after(CATCH_UP, Timer::CaughtUp);
    }
}

/// The fewest in-sync replicas with which this broker, as leader, accepts writes.
fn min_isr_of(node: &Node, topic: &Topic, partition: &Partition) -> usize {
    const NAME: &str = "min.insync.replicas";
    let set = topic.configs.get(NAME).cloned().or_else(|| node.config(NAME));
    let min = set.and_then(|text| text.parse().ok()).unwrap_or(1);
    if node.release >= Release::V3_9 { min.min(partition.replicas.len()) } else { min }
}
