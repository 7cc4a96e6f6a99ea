//! The cluster at the beginning of a scenario.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::configs::texts;
use super::coordinator::{ShardState, offsets_topic_configs};
use super::groups::{GroupState, MemberState};
use super::image::Image;
use super::reassign::id_of;
use super::timeline::Timeline;
use super::{Node, OFFSETS_TOPIC, Partition, REBALANCE_EVERY, Timer, Topic, World};
use crate::scenario::model::{BrokerState, Coordinator, Group, GroupType, Members, Mode, Offsets};
use crate::scenario::{Scenario, model};

impl World {
    /// A cluster as a scenario says that it begins. Brokers advertise `127.0.0.1` and port 0 until
    /// [`listens_on`](Self::listens_on) tells their ports.
    #[must_use]
    pub fn new(name: &str, scenario: Arc<Scenario>) -> Self {
        let nodes = nodes(&scenario);
        let controller = scenario.cluster.controller.or_else(|| {
            let cluster = &scenario.cluster;
            let voters = if cluster.controllers.is_empty() { &cluster.brokers } else { &cluster.controllers };
            let running = |id: &&i32| nodes.get(id).is_some_and(|node: &Node| node.state == BrokerState::Running);
            let majority = voters.iter().filter(running).count() * 2 > voters.len();
            (majority || cluster.mode == Mode::Zookeeper).then(|| voters.iter().find(running).copied()).flatten()
        });
        let mut world = Self {
            name: name.to_owned(),
            now: Duration::ZERO,
            cluster_id: scenario.cluster.id.clone().unwrap_or_else(|| cluster_id(name)),
            nodes,
            controller,
            vacancy: None,
            controller_epoch: 1,
            no_controller: false,
            topics: BTreeMap::new(),
            image: Arc::new(Image::default()),
            logs: BTreeMap::new(),
            memberships: BTreeMap::new(),
            restless: BTreeMap::new(),
            members_watched: false,
            faults: scenario.fault.clone(),
            acl: scenario.acl.clone(),
            timers: BTreeMap::new(),
            timers_set: 0,
            timeline: Timeline::default(),
            version: 0,
            lot: 0,
            scenario,
        };
        world.begin();
        world
    }

    /// Tells where a broker really listens. It advertises that, unless the scenario says otherwise.
    pub fn listens_on(&mut self, broker: i32, host: &str, port: u16) {
        let advertised = self.scenario.broker.get(&broker.to_string()).and_then(|one| one.advertised.clone());
        if let Some(node) = self.nodes.get_mut(&broker) {
            node.listens = (host.to_owned(), port);
            node.advertises(advertised.as_deref());
        }
        let before = Arc::clone(&self.image);
        self.publish();
        // Whoever is not told (cut off, or without a controller) keeps what it was told before, with the address.
        let image = Arc::clone(&self.image);
        let untold: Vec<i32> =
            self.nodes.values().filter(|node| Arc::ptr_eq(&node.image, &before)).map(|node| node.id).collect();
        for id in untold {
            if let Some(node) = self.nodes.get_mut(&id) {
                node.image = Arc::clone(&image);
            }
            self.see(id);
        }
    }

    fn begin(&mut self) {
        let scenario = Arc::clone(&self.scenario);
        for (name, topic) in &scenario.topic {
            let partitions = (0..topic.partitions).map(|number| self.partition_at_start(topic, number)).collect();
            let mut configs = texts(&topic.configs);
            if name == OFFSETS_TOPIC {
                for (config, value) in offsets_topic_configs() {
                    configs.entry(config).or_insert(value);
                }
            }
            self.topics.insert(name.clone(), Arc::new(Topic::new(name, configs, partitions)));
        }
        let ids: Vec<i32> = self.nodes.keys().copied().collect();
        for id in &ids {
            let said = scenario.broker.get(&id.to_string()).and_then(|broker| broker.partition_count);
            let count = said.unwrap_or_else(|| self.count_at_start(*id));
            if let Some(node) = self.nodes.get_mut(id) {
                node.count = count;
            }
        }
        for group in &scenario.group {
            self.add_groups(group);
        }
        self.publish();
        // Everybody was told how it is: also who is cut off or hangs, and who has no controller to tell it.
        let image = Arc::clone(&self.image);
        for node in self.nodes.values_mut().filter(|node| node.up) {
            node.image = Arc::clone(&image);
        }
        for view in &scenario.view {
            if let Some(node) = self.nodes.get_mut(&view.broker) {
                node.view = Some(view.clone());
            }
        }
        for id in ids {
            self.see(id);
        }
        self.coordinators_at_start();
        self.after(REBALANCE_EVERY, Timer::Rebalance);
        self.await_next_step();
    }

    fn coordinators_at_start(&mut self) {
        for node in self.nodes.values_mut() {
            for shard in node.shards.values_mut() {
                shard.state = ShardState::Serving;
            }
        }
        let said: Vec<_> =
            self.scenario.topic.get(OFFSETS_TOPIC).map(|topic| topic.partition.clone()).unwrap_or_default();
        for partition in said {
            if let Some(state) = partition.coordinator.filter(|state| *state != Coordinator::Serving) {
                let wanted = crate::scenario::action::Coordinators { partitions: partition.id, state, r#for: None };
                self.set_coordinators(&wanted);
            }
        }
    }

    fn partition_at_start(&self, topic: &model::Topic, number: i32) -> Partition {
        let mut partition = Partition {
            replicas: topic.replicas_of(number, &self.scenario.cluster.brokers),
            bytes: topic.bytes.map_or(1 << 20, |size| size.0),
            end: topic.end.unwrap_or(1000),
            ..Partition::default()
        };
        let (mut isr, mut leader) = (None, None);
        for said in topic.partition.iter().filter(|said| said.id.contains(number)) {
            isr = said.isr.clone().or(isr);
            leader = said.leader.or(leader);
            partition.epoch = said.epoch.unwrap_or(partition.epoch);
            partition.bytes = said.bytes.map_or(partition.bytes, |size| size.0);
            partition.end = said.end.unwrap_or(partition.end);
            partition.elr.extend(&said.elr);
            partition.offline_on.extend(&said.offline_on);
            partition.open_transaction = said.open_transaction.or(partition.open_transaction);
        }
        partition.lagging = match &isr {
            Some(isr) => partition.replicas.iter().copied().filter(|id| !isr.contains(id)).collect(),
            None => std::collections::BTreeSet::default(),
        };
        partition.isr = isr.unwrap_or_else(|| {
            // Who is away at the beginning has been away for long; the last one stays, unless the scenario is about
            // eligible leader replicas and says so.
            let live = |id: &i32| self.nodes.get(id).is_none_or(|node| node.registered);
            let in_sync: Vec<i32> = partition.replicas.iter().copied().filter(live).collect();
            if in_sync.is_empty() { partition.replicas.clone() } else { in_sync }
        });
        partition.leader = leader.unwrap_or_else(|| {
            let able = |id: &&i32| {
                partition.isr.contains(id)
                    && !partition.offline_on.contains(id)
                    && self.nodes.get(id).is_some_and(|node| node.registered)
            };
            partition.replicas.iter().find(able).copied().unwrap_or(-1)
        });
        // Who left the ISR last led until then.
        partition.last_known_leader =
            partition.elr.last().copied().filter(|_| partition.leader < 0 && partition.isr.is_empty());
        partition
    }

    /// Adds groups in the partitions where the topic's actual count places them.
    pub(super) fn add_groups(&mut self, group: &Group) {
        let count = match self.topics.get(OFFSETS_TOPIC) {
            Some(topic) => i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX),
            None => return,
        };
        let state = self.group_state(group);
        for number in 1..=group.count.unwrap_or(1) {
            let id =
                if group.count.is_some() { group.id.replace("{n}", &number.to_string()) } else { group.id.clone() };
            self.rebalance_again_and_again(&id, group.rebalances.as_ref());
            if let Some(partition) = self.place(&id, count) {
                self.logs.entry(partition).or_default().insert(id, Arc::clone(&state));
            }
        }
    }

    fn group_state(&self, group: &Group) -> Arc<GroupState> {
        let member = |number: usize| MemberState {
            client_id: format!("consumer-{}", number + 1),
            host: format!("/10.0.0.{}", number % 250 + 1),
            ..MemberState::default()
        };
        let members: Vec<MemberState> = match &group.members {
            Members::Count(count) => (0..usize::try_from(*count).unwrap_or(0)).map(member).collect(),
            Members::Each(each) => each
                .iter()
                .enumerate()
                .map(|(number, said)| MemberState {
                    client_id: said.client_id.clone().unwrap_or_else(|| format!("consumer-{}", number + 1)),
                    host: said.host.clone().unwrap_or_else(|| format!("/10.0.0.{}", number % 250 + 1)),
                    instance_id: said.instance_id.clone(),
                    metadata: Bytes::new(),
                    ..MemberState::default()
                })
                .collect(),
        };
        let mut offsets = BTreeMap::new();
        for (topic, said) in &group.offsets {
            let partitions = self.scenario.topic.get(topic).map_or(0, |topic| topic.partitions);
            for number in 0..partitions {
                let offset = match said {
                    Offsets::Each(offset) => *offset,
                    Offsets::By(by) => usize::try_from(number).ok().and_then(|at| by.get(at)).copied().unwrap_or(-1),
                };
                if offset >= 0 {
                    offsets.insert((topic.clone(), number), offset);
                }
            }
        }
        let state = group
            .state
            .clone()
            .unwrap_or_else(|| if members.is_empty() { "Empty".to_owned() } else { "Stable".to_owned() });
        let protocol = match group.r#type {
            GroupType::Simple => "",
            GroupType::Consumer => "uniform",
            GroupType::Share => "simple",
            GroupType::Connect => "sessioned",
            _ => "range",
        };
        Arc::new(GroupState {
            r#type: group.r#type,
            state,
            generation: 1,
            protocol: protocol.to_owned(),
            members: Arc::new(members),
            offsets: Arc::new(offsets),
        })
    }
}

fn nodes(scenario: &Scenario) -> BTreeMap<i32, Node> {
    let cluster = &scenario.cluster;
    let brokers = cluster.brokers.iter().map(|id| (*id, true));
    let controllers = cluster.controllers.iter().filter(|id| !cluster.brokers.contains(id)).map(|id| (*id, false));
    brokers
        .chain(controllers)
        .map(|(id, is_broker)| {
            let said = scenario.broker.get(&id.to_string()).cloned().unwrap_or_default();
            let mut configs = texts(&cluster.configs);
            configs.extend(texts(&said.configs));
            if let Some(timeout) = cluster.session_timeout {
                let name = match cluster.mode {
                    Mode::Kraft => "broker.session.timeout.ms",
                    Mode::Zookeeper => "zookeeper.session.timeout.ms",
                };
                configs.entry(name.to_owned()).or_insert_with(|| timeout.0.as_millis().to_string());
            }
            let log_dirs = if said.log_dirs.is_empty() { vec!["/var/lib/kafka".to_owned()] } else { said.log_dirs };
            let node = Node {
                id,
                is_broker,
                rack: said.rack,
                release: said.release.unwrap_or(cluster.release),
                // Where a broker listens is told later; nobody connects to a controller.
                advertised: ("127.0.0.1".to_owned(), if is_broker { 0 } else { 9093 }),
                listens: ("127.0.0.1".to_owned(), if is_broker { 0 } else { 9093 }),
                listener: said.listener,
                state: said.state,
                static_configs: configs.clone(),
                default_configs: BTreeMap::new(),
                own_configs: BTreeMap::new(),
                configs,
                count: 0,
                log_dirs,
                registered: said.state == BrokerState::Running,
                up: said.state != BrokerState::Stopped,
                shards: BTreeMap::new(),
                image: Arc::default(),
                seen: Arc::default(),
                view: None,
                silence: 0,
                silent_since: (said.state != BrokerState::Running).then_some(Duration::ZERO),
            };
            (id, node)
        })
        .collect()
}

/// A cluster id made from a name, in the form of Kafka's (16 bytes in URL-safe base64, 22 characters).
fn cluster_id(name: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = u128::from_be_bytes(id_of(name));
    (0..22)
        .map(|at| {
            let shift = 128 - 6 * (at + 1);
            let six = if shift >= 0 { bits >> shift } else { bits << -shift };
            char::from(ALPHABET[usize::try_from(six & 63).unwrap_or(0)])
        })
        .collect()
}
