//! What can be done to the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::coordinator::offsets_topic_configs;
use super::image::set;
use super::topic::Registered;
use super::{OFFSETS_TOPIC, World};
use crate::scenario::action::{Action, Advertise, CreateTopic, Elect, LogDir, SetPartitions};
use crate::scenario::model::{BrokerState, Event};

impl World {
    /// Does something to the cluster. What is done already (starting a broker that runs) changes nothing.
    ///
    /// # Errors
    /// In words, if it cannot be done: no such broker, topic or fault, or nobody to do it.
    pub fn apply(&mut self, action: &Action) -> Result<(), String> {
        match action {
            Action::Stop(id) => self.stop(*id, false),
            Action::ShutDown(id) => self.stop(*id, true),
            Action::Start(id) => self.start(*id),
            Action::Pause(id) => self.silence(*id, BrokerState::Paused),
            Action::CutOff(id) => self.silence(*id, BrokerState::CutOff),
            Action::Resume(id) => self.end_silence(*id, BrokerState::Paused),
            Action::Reconnect(id) => self.end_silence(*id, BrokerState::CutOff),
            Action::Elect(elect) => self.elect_all(elect),
            Action::Set(facts) => self.set_facts(facts),
            Action::WriteZookeeper(facts) => self.write_zookeeper(facts),
            Action::MoveController(id) => self.move_controller(*id),
            Action::NoController(none) => {
                self.no_controller = *none;
                self.vacancy = None;
                if *none {
                    self.controller = None;
                    self.changed();
                } else {
                    self.new_controller();
                }
                Ok(())
            }
            Action::Reassign(wanted) => {
                self.controller_for("give partitions other replicas")?;
                self.reassign_all(wanted)
            }
            Action::AddPartitions(wanted) => self
                .controller_for("add partitions")?
                .add_partitions(&wanted.topic, wanted.to)
                .map_err(|code| format!("{} cannot get {} partitions (error {code})", wanted.topic, wanted.to)),
            Action::CreateTopic(wanted) => self.controller_for("create a topic")?.create(wanted),
            Action::DeleteTopic(name) => self
                .controller_for("delete a topic")?
                .delete_topic(name)
                .map_err(|code| format!("{name} cannot be deleted (error {code})")),
            Action::Configure(wanted) => self.configure(wanted),
            Action::Coordinators(wanted) => {
                self.set_coordinators(wanted);
                Ok(())
            }
            Action::Fault(fault) => {
                self.faults.push(fault.clone());
                self.changed();
                Ok(())
            }
            Action::EndFault(name) => {
                let before = self.faults.len();
                self.faults.retain(|fault| fault.name.as_ref() != Some(name));
                self.changed();
                if self.faults.len() < before { Ok(()) } else { Err(format!("there is no fault named `{name}`")) }
            }
            Action::View(view) => {
                self.known_broker(view.broker)?;
                self.set_view(view.clone());
                Ok(())
            }
            Action::EndView(id) => {
                self.known_broker(*id)?;
                self.end_view(*id);
                Ok(())
            }
            Action::Acl(acl) => {
                self.acl = acl.clone();
                self.changed();
                Ok(())
            }
            Action::Group(group) => {
                self.add_groups(group);
                self.changed();
                Ok(())
            }
            Action::DeleteGroup(id) => {
                for log in self.logs.values_mut() {
                    log.remove(id);
                }
                self.changed();
                Ok(())
            }
            Action::FailLogDir(dir) => self.fail_log_dir(dir),
            Action::RepairLogDir(dir) => self.repair_log_dir(dir),
            Action::Advertise(wanted) => self.advertise(wanted),
        }
    }

    /// The cluster, if there is a controller to do what is wanted.
    fn controller_for(&mut self, what: &str) -> Result<&mut Self, String> {
        if self.controller.is_some() { Ok(self) } else { Err(format!("there is no controller to {what}")) }
    }

    fn known_broker(&self, id: i32) -> Result<(), String> {
        match self.nodes.get(&id) {
            Some(node) if node.is_broker => Ok(()),
            _ => Err(format!("there is no broker {id}")),
        }
    }

    fn stop(&mut self, id: i32, orderly: bool) -> Result<(), String> {
        let node = self.nodes.get(&id).ok_or_else(|| format!("there is no node {id}"))?;
        if node.state == BrokerState::Stopped {
            return Ok(());
        }
        let orderly = orderly && node.is_broker && node.heard() && self.controller.is_some();
        if orderly {
            self.hand_over(id);
        }
        if let Some(node) = self.nodes.get_mut(&id) {
            node.state = BrokerState::Stopped;
            node.up = false;
            node.shards.clear();
        }
        self.falls_silent(id);
        if let Some(vacancy) = self.vacancy.as_mut().filter(|vacancy| vacancy.node == id) {
            vacancy.died = true;
        }
        if orderly {
            // It says goodbye, so nobody waits for its session to end.
            self.vacancy = None;
            if self.controller.is_none() {
                self.new_controller();
            }
            self.broker_failed(id);
            self.publish();
        }
        self.event(&Event::BrokerStopped(id));
        Ok(())
    }

    fn start(&mut self, id: i32) -> Result<(), String> {
        let node = self.nodes.get_mut(&id).ok_or_else(|| format!("there is no node {id}"))?;
        if node.state != BrokerState::Stopped {
            return Ok(());
        }
        node.state = BrokerState::Running;
        node.shards.clear();
        for name in self.topics.keys().cloned().collect::<Vec<_>>() {
            if let Some(topic) = self.topic_mut(&name) {
                for partition in &mut topic.partitions {
                    partition.lagging.remove(&id);
                }
            }
        }
        self.is_heard(id);
        Ok(())
    }

    fn silence(&mut self, id: i32, state: BrokerState) -> Result<(), String> {
        self.known_broker(id)?;
        let Some(node) = self.nodes.get_mut(&id) else { return Ok(()) };
        match node.state {
            BrokerState::Stopped => return Err(format!("broker {id} is stopped")),
            BrokerState::Running => {}
            BrokerState::Paused | BrokerState::CutOff => {
                node.state = state;
                self.changed();
                return Ok(());
            }
        }
        node.state = state;
        self.falls_silent(id);
        Ok(())
    }

    fn end_silence(&mut self, id: i32, from: BrokerState) -> Result<(), String> {
        self.known_broker(id)?;
        let Some(node) = self.nodes.get_mut(&id) else { return Ok(()) };
        if node.state != from {
            return Ok(());
        }
        node.state = BrokerState::Running;
        if node.registered {
            // Before its session ended: nobody noticed.
            node.silence += 1;
            node.silent_since = None;
            if self.controller.is_none() {
                self.resume_controller();
                self.new_controller();
            } else {
                self.tell(id);
            }
        } else {
            self.is_heard(id);
        }
        self.changed();
        Ok(())
    }

    fn elect_all(&mut self, wanted: &Elect) -> Result<(), String> {
        let name = wanted.topic.as_deref().unwrap_or(OFFSETS_TOPIC).to_owned();
        let count = self.topics.get(&name).map(|topic| topic.partitions.len());
        let count = count.ok_or_else(|| format!("there is no topic `{name}`"))?;
        let partitions = wanted.partitions.of(i32::try_from(count).unwrap_or(i32::MAX));
        match self.elect(&name, &partitions, wanted.r#type) {
            Some(_) => Ok(()),
            None => Err("there is no controller to run an election".to_owned()),
        }
    }

    fn set_facts(&mut self, facts: &SetPartitions) -> Result<(), String> {
        let name = facts.topic.as_deref().unwrap_or(OFFSETS_TOPIC).to_owned();
        let topic = self.topic_mut(&name).ok_or_else(|| format!("there is no topic `{name}`"))?;
        set(topic, facts);
        if facts.isr.is_some() {
            let count = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
            for number in facts.partitions.of(count) {
                if let Some(partition) = usize::try_from(number).ok().and_then(|at| topic.partitions.get_mut(at)) {
                    // Whoever runs and is said to be out of sync stays so until it restarts.
                    partition.lagging =
                        partition.replicas.iter().copied().filter(|id| !partition.isr.contains(id)).collect();
                }
            }
        }
        self.publish();
        Ok(())
    }

    fn write_zookeeper(&mut self, facts: &SetPartitions) -> Result<(), String> {
        let name = facts.topic.as_deref().unwrap_or(OFFSETS_TOPIC).to_owned();
        let topic = self.topic_mut(&name).ok_or_else(|| format!("there is no topic `{name}`"))?;
        let count = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
        for number in facts.partitions.of(count) {
            if let Some(partition) = usize::try_from(number).ok().and_then(|at| topic.partitions.get_mut(at)) {
                partition.zookeeper = Some(Registered {
                    leader: facts.leader.unwrap_or(partition.leader),
                    isr: facts.isr.clone().unwrap_or_else(|| partition.isr.clone()),
                    epoch: facts.epoch.unwrap_or(partition.epoch.saturating_add(1)),
                });
            }
        }
        Ok(())
    }

    fn move_controller(&mut self, id: i32) -> Result<(), String> {
        let able = self.nodes.get(&id).is_some_and(|node| node.state == BrokerState::Running);
        if !able {
            return Err(format!("node {id} does not run, so it cannot become controller"));
        }
        self.controller = Some(id);
        self.vacancy = None;
        self.controller_epoch += 1;
        // A new controller reads everything anew: what ZooKeeper holds, and who waits for a leader.
        for name in self.topics.keys().cloned().collect::<Vec<_>>() {
            let topic = Arc::clone(&self.topics[&name]);
            if topic.partitions.iter().all(|partition| partition.zookeeper.is_none()) {
                continue;
            }
            if let Some(topic) = self.topic_mut(&name) {
                for partition in &mut topic.partitions {
                    if let Some(registered) = partition.zookeeper.take() {
                        partition.leader = registered.leader;
                        partition.isr = registered.isr;
                        partition.epoch = registered.epoch;
                    }
                }
            }
        }
        self.retry_leaderless();
        self.publish();
        self.catch_up_soon();
        self.leaders_back();
        Ok(())
    }

    fn fail_log_dir(&mut self, dir: &LogDir) -> Result<(), String> {
        self.known_broker(dir.broker)?;
        let Some(topic) = self.topic_mut(OFFSETS_TOPIC) else { return Err("there is no offsets topic".to_owned()) };
        let mut lost = Vec::new();
        for (number, partition) in (0..).zip(&mut topic.partitions) {
            if dir.partitions.contains(number) && partition.replicas.contains(&dir.broker) {
                partition.offline_on.insert(dir.broker);
                lost.push(usize::try_from(number).unwrap_or(0));
            }
        }
        for number in lost {
            let leads = self.topics[OFFSETS_TOPIC].partitions[number].leader == dir.broker;
            self.leave_isr(OFFSETS_TOPIC, number, dir.broker);
            if leads && self.controller.is_some() {
                self.elect_offline(OFFSETS_TOPIC, number);
            }
        }
        self.publish();
        Ok(())
    }

    /// The disk is there again with what was on it. (A real broker finds that out when it starts again.)
    fn repair_log_dir(&mut self, dir: &LogDir) -> Result<(), String> {
        self.known_broker(dir.broker)?;
        let Some(topic) = self.topic_mut(OFFSETS_TOPIC) else { return Err("there is no offsets topic".to_owned()) };
        for (number, partition) in (0..).zip(&mut topic.partitions) {
            if dir.partitions.contains(number) {
                partition.offline_on.remove(&dir.broker);
            }
        }
        if self.controller.is_some() {
            self.retry_leaderless();
        }
        self.publish();
        self.catch_up_soon();
        self.leaders_back();
        Ok(())
    }

    fn create(&mut self, wanted: &CreateTopic) -> Result<(), String> {
        let configs = if wanted.topic == OFFSETS_TOPIC { offsets_topic_configs() } else { BTreeMap::new() };
        let factor = wanted.replication_factor.unwrap_or(1);
        self.create_topic(&wanted.topic, wanted.partitions, factor, configs).map_err(|code| {
            let why = match code {
                36 => "there is one already".to_owned(),
                37 => format!("{} is no number of partitions", wanted.partitions),
                _ => format!("there are not enough brokers for {factor} replicas"),
            };
            format!("the topic {} cannot be created: {why}", wanted.topic)
        })
    }

    fn advertise(&mut self, wanted: &Advertise) -> Result<(), String> {
        self.known_broker(wanted.broker)?;
        if let Some(node) = self.nodes.get_mut(&wanted.broker) {
            node.advertises(Some(wanted.address.as_str()).filter(|address| !address.is_empty()));
        }
        self.publish();
        Ok(())
    }
}
