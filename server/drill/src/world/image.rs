//! What a broker believes about the cluster: its metadata cache.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{OFFSETS_TOPIC, Topic, World};
use crate::scenario::action::{SetPartitions, View};
use crate::scenario::model::Mode;

/// A metadata cache.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image {
    /// The controller (ZooKeeper; in KRaft brokers name a random live one instead).
    pub controller: Option<i32>,
    /// Brokers held for live that have the listener of clients, by id.
    pub brokers: BTreeMap<i32, Endpoint>,
    /// Brokers held for live that lack it.
    pub without_listener: BTreeSet<i32>,
    /// Topics by name.
    pub topics: BTreeMap<String, Arc<Topic>>,
}

/// Where a broker says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Host.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Rack.
    pub rack: Option<String>,
}

impl Image {
    /// The leader that the broker tells: -1 if the one it knows is not live in its eyes (`MetadataCache`).
    #[must_use]
    pub fn leader(&self, topic: &str, partition: i32) -> Option<i32> {
        let partition = self.partition(topic, partition)?;
        Some(if self.brokers.contains_key(&partition.leader) { partition.leader } else { -1 })
    }

    /// A partition.
    #[must_use]
    pub fn partition(&self, topic: &str, partition: i32) -> Option<&super::Partition> {
        self.topics.get(topic)?.partitions.get(usize::try_from(partition).ok()?)
    }
}

impl World {
    /// The controller tells its truth to every broker that it hears of.
    pub(super) fn publish(&mut self) {
        let image = Arc::new(Image {
            controller: self.controller.filter(|_| self.mode() == Mode::Zookeeper),
            brokers: self
                .nodes
                .values()
                .filter(|node| node.is_broker && node.registered && node.listener)
                .map(|node| {
                    let (host, port) = node.advertised.clone();
                    (node.id, Endpoint { host, port, rack: node.rack.clone() })
                })
                .collect(),
            without_listener: self
                .nodes
                .values()
                .filter(|node| node.is_broker && node.registered && !node.listener)
                .map(|node| node.id)
                .collect(),
            topics: self.topics.clone(),
        });
        self.image = image;
        self.note_missing_leaders();
        if self.controller.is_some() {
            let told: Vec<i32> = self
                .nodes
                .values()
                .filter(|node| node.is_broker && node.registered && node.heard())
                .map(|node| node.id)
                .collect();
            for id in told {
                self.tell(id);
            }
        }
        self.changed();
    }

    /// Gives one broker the newest image.
    pub(super) fn tell(&mut self, id: i32) {
        let image = Arc::clone(&self.image);
        if let Some(node) = self.nodes.get_mut(&id) {
            node.image = image;
        }
        self.see(id);
    }

    /// Works out what a broker sees, from what it was told and its own view, and which coordinators follow from it.
    pub(super) fn see(&mut self, id: i32) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        node.seen = match &node.view {
            None => Arc::clone(&node.image),
            Some(view) => Arc::new(altered(&node.image, view)),
        };
        self.follow_leadership(id);
        self.changed();
    }

    pub(super) fn set_view(&mut self, view: View) {
        let id = view.broker;
        if let Some(node) = self.nodes.get_mut(&id) {
            node.view = Some(view);
        }
        self.see(id);
    }

    pub(super) fn end_view(&mut self, id: i32) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.view = None;
        }
        self.see(id);
    }
}

fn altered(image: &Image, view: &View) -> Image {
    let mut image = image.clone();
    if let Some(controller) = view.controller {
        image.controller = Some(controller).filter(|id| *id >= 0);
    }
    if let Some(brokers) = &view.brokers {
        image.brokers.retain(|id, _| brokers.contains(id));
    }
    for name in &view.missing_topics {
        image.topics.remove(name);
    }
    if let Some(count) = view.partition_count
        && let Some(topic) = image.topics.get_mut(OFFSETS_TOPIC)
        && let Some(last) = topic.partitions.last().cloned()
    {
        Arc::make_mut(topic).partitions.resize(usize::try_from(count).unwrap_or(0), last);
    }
    for facts in &view.partition {
        if let Some(topic) = image.topics.get_mut(facts.topic.as_deref().unwrap_or(OFFSETS_TOPIC)) {
            set(Arc::make_mut(topic), facts);
        }
    }
    image
}

/// Sets facts about partitions.
pub(super) fn set(topic: &mut Topic, facts: &SetPartitions) {
    let count = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
    for number in facts.partitions.of(count) {
        let Some(partition) = usize::try_from(number).ok().and_then(|at| topic.partitions.get_mut(at)) else {
            continue;
        };
        if let Some(replicas) = &facts.replicas {
            partition.replicas.clone_from(replicas);
        }
        if let Some(isr) = &facts.isr {
            partition.isr.clone_from(isr);
        }
        if let Some(elr) = &facts.elr {
            partition.elr.clone_from(elr);
        }
        if let Some(offline) = &facts.offline_on {
            partition.offline_on = offline.iter().copied().collect();
        }
        if let Some(end) = facts.end {
            partition.end = end;
        }
        match (facts.leader, facts.epoch) {
            (Some(leader), None) if leader != partition.leader => partition.lead_by(leader),
            (leader, epoch) => {
                let leader = leader.unwrap_or(partition.leader);
                partition.last_led_by(leader);
                partition.leader = leader;
                partition.epoch = epoch.unwrap_or(partition.epoch);
                partition.partition_epoch += 1;
            }
        }
    }
}
