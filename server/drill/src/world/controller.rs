//! The controller: who it is, how it notices that brokers come and go, and whom it elects.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::{OFFSETS_TOPIC, Partition, QUORUM_ELECTION, REBALANCE_EVERY, REGISTRATION, Timer, Vacancy, World};
use crate::scenario::action::ElectionType;
use crate::scenario::model::{BrokerState, Event, Mode, Release};

/// What an election of one partition came to, with the error code of ElectLeaders (KIP-460).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElectionOutcome {
    /// There is a new leader.
    Elected,
    /// 84: there is a leader, or it is the preferred one already.
    NotNeeded,
    /// 83 (80 for the preferred election): nobody may lead.
    NoneEligible,
    /// 3: no such partition.
    Unknown,
}

impl World {
    /// After how long without a sign of life a broker is taken off the list.
    #[must_use]
    pub fn session_timeout(&self) -> Duration {
        let cluster = &self.scenario.cluster;
        let released = match cluster.mode {
            Mode::Kraft => Duration::from_secs(9),
            Mode::Zookeeper if cluster.release >= Release::V2_8 => Duration::from_secs(18),
            Mode::Zookeeper => Duration::from_secs(6),
        };
        cluster.session_timeout.map_or(released, |time| time.0)
    }

    /// KRaft: the voters.
    #[must_use]
    pub fn voters(&self) -> Vec<i32> {
        let cluster = &self.scenario.cluster;
        if cluster.controllers.is_empty() { cluster.brokers.clone() } else { cluster.controllers.clone() }
    }

    /// Who could be controller now.
    fn candidate(&self) -> Option<i32> {
        let able = |id: &i32| {
            self.nodes.get(id).is_some_and(|node| node.state == BrokerState::Running && (node.up || !node.is_broker))
        };
        if self.mode() == Mode::Zookeeper {
            return self.brokers().map(|node| node.id).find(able).filter(|_| !self.no_controller);
        }
        let voters = self.voters();
        let running: Vec<i32> = voters
            .iter()
            .copied()
            .filter(|id| self.nodes.get(id).is_some_and(|node| node.state == BrokerState::Running))
            .collect();
        (running.len() * 2 > voters.len()).then(|| running.first().copied()).flatten()
    }

    /// Nothing is heard any more of a node.
    pub(super) fn falls_silent(&mut self, id: i32) {
        let timeout = self.session_timeout();
        let now = self.now;
        let Some(node) = self.nodes.get_mut(&id) else { return };
        // Who hangs and then dies was heard of last when it began to hang: its session does not begin anew.
        if node.silent_since.is_none() {
            node.silence += 1;
            node.silent_since = Some(now);
            let silence = node.silence;
            if node.is_broker {
                self.after(timeout, Timer::SessionEnds { node: id, silence });
            }
        }
        self.note_missing_leaders();
        let majority = self.mode() == Mode::Zookeeper || self.candidate().is_some();
        if let Some(controller) = self.controller.filter(|controller| *controller == id || !majority) {
            self.controller = None;
            // ZooKeeper: the controller's node goes with its session. KRaft: the others vote.
            let vacant = if self.mode() == Mode::Zookeeper { timeout } else { QUORUM_ELECTION };
            self.vacancy = Some(Vacancy { node: controller, since: now, until: now + vacant, died: false });
            self.after(vacant, Timer::NewController);
        }
        self.changed();
    }

    /// A node is heard of again.
    pub(super) fn is_heard(&mut self, id: i32) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        node.silence += 1;
        node.silent_since = None;
        let silence = node.silence;
        if node.is_broker {
            self.after(REGISTRATION, Timer::Registers { node: id, silence });
        }
        if self.controller.is_none() {
            self.after(QUORUM_ELECTION, Timer::NewController);
        }
        self.changed();
    }

    pub(super) fn session_ends(&mut self, id: i32, silence: u64) {
        let over = self.nodes.get(&id).is_none_or(|node| node.silence != silence || !node.registered);
        if over {
            return;
        }
        if self.mode() == Mode::Zookeeper
            && let Some(node) = self.nodes.get_mut(&id)
        {
            // Its node in ZooKeeper is gone whether or not a controller sees it.
            node.registered = false;
        }
        if self.controller.is_some() {
            self.broker_failed(id);
            self.publish();
        }
    }

    /// The controller that was not heard of for a while goes on, if nobody could take over in the meantime: with
    /// ZooKeeper its session did not end, with KRaft no other voter began an election.
    pub(super) fn resume_controller(&mut self) {
        let Some(vacancy) = self.vacancy.filter(|vacancy| !vacancy.died && self.now < vacancy.until) else { return };
        let runs = self.nodes.get(&vacancy.node).is_some_and(|node| node.state == BrokerState::Running);
        if runs && self.candidate().is_some() {
            self.vacancy = None;
            self.controller = Some(vacancy.node);
            // Whose session ended meanwhile it finds out now.
            let timeout = self.session_timeout();
            let (from, to) = (vacancy.since, self.now);
            let ended = |since: Duration| since + timeout > from && since + timeout <= to;
            let gone: Vec<i32> =
                self.brokers().filter(|node| node.silent_since.is_some_and(ended)).map(|node| node.id).collect();
            for id in gone {
                self.broker_failed(id);
            }
            self.takes_up();
        }
    }

    /// Somebody becomes controller, unless there is one or it is not known yet that there is none.
    pub(super) fn new_controller(&mut self) {
        if self.controller.is_some() || self.vacancy.is_some_and(|vacancy| self.now < vacancy.until) {
            return;
        }
        let Some(candidate) = self.candidate() else { return };
        self.vacancy = None;
        self.controller = Some(candidate);
        self.controller_epoch += 1;
        let timeout = self.session_timeout();
        let silent: Vec<(i32, u64)> = self
            .nodes
            .values()
            .filter(|node| node.is_broker && node.silent_since.is_some())
            .map(|node| (node.id, node.silence))
            .collect();
        for (id, silence) in silent {
            if self.mode() == Mode::Zookeeper {
                if self.nodes.get(&id).is_some_and(|node| !node.registered) {
                    self.broker_failed(id);
                }
            } else {
                // A new controller gives each broker a whole session to be heard (`BrokerHeartbeatManager`).
                self.after(timeout, Timer::SessionEnds { node: id, silence });
            }
        }
        self.takes_up();
    }

    /// A controller sees to what came about while there was none.
    fn takes_up(&mut self) {
        // Brokers that wait for somebody to register with.
        let waiting: Vec<(i32, u64)> = self
            .nodes
            .values()
            .filter(|node| node.is_broker && (!node.registered || !node.up) && node.silent_since.is_none())
            .map(|node| (node.id, node.silence))
            .collect();
        for (id, silence) in waiting {
            self.after(REGISTRATION, Timer::Registers { node: id, silence });
        }
        self.retry_leaderless();
        self.publish();
        self.catch_up_soon();
    }

    /// A broker registers: leaderless partitions get their leader back if it may lead them.
    pub(super) fn registers(&mut self, id: i32, silence: u64) {
        if self.nodes.get(&id).is_none_or(|node| node.silence != silence) {
            return;
        }
        let no_controller = self.controller.is_none();
        let mode = self.mode();
        let count = self.count_at_start(id);
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let starts = !node.up && node.state == BrokerState::Running;
        if starts {
            node.count = count;
        }
        if no_controller && mode == Mode::Kraft {
            // It waits for a controller before it opens its port; `new_controller` takes it up.
            return;
        }
        node.up = true;
        node.registered = !no_controller || mode == Mode::Zookeeper;
        if self.controller.is_some() {
            self.retry_leaderless();
            self.publish();
            self.catch_up_soon();
        }
        self.changed();
        if starts {
            self.event(&Event::BrokerStarted(id));
        }
        self.leaders_back();
    }

    /// The number of offsets partitions that a broker reads when it starts: the topic's, or else its own setting.
    pub(super) fn count_at_start(&self, id: i32) -> i32 {
        if let Some(topic) = self.topics.get(OFFSETS_TOPIC) {
            return i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
        }
        let set = self.nodes.get(&id).and_then(|node| node.number("offsets.topic.num.partitions"));
        set.and_then(|count| i32::try_from(count).ok()).unwrap_or(50)
    }

    /// The controller handles a broker that is gone: elects other leaders, takes it out of in-sync replicas.
    pub(super) fn broker_failed(&mut self, id: i32) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.registered = false;
        }
        let names: Vec<String> = self.topics.keys().cloned().collect();
        for name in names {
            let topic = Arc::clone(&self.topics[&name]);
            for (number, partition) in topic.partitions.iter().enumerate() {
                if partition.leader == id {
                    self.leave_isr(&name, number, id);
                    self.elect_offline(&name, number);
                } else if partition.isr.contains(&id) {
                    self.leave_isr(&name, number, id);
                    // The controller of ZooKeeper gives a new leader epoch with each change of its own (seen on 2.3.1,
                    // 2.8.2 and 3.9.1: `removeReplicasFromIsr`).
                    if self.mode() == Mode::Zookeeper
                        && let Some(changed) = self.topic_mut(&name).and_then(|topic| topic.partitions.get_mut(number))
                        && changed.isr != partition.isr
                    {
                        changed.next_epoch();
                    }
                    self.disagrees_with_zookeeper(&name, number, id);
                }
            }
        }
    }

    /// ZooKeeper below 2.1 (KAFKA-6082), or whoever writes behind the controller's back: the controller removes a failed
    /// broker from an ISR, finds in ZooKeeper that it *was* the leader, and writes "no leader". Its memory had another
    /// leader, so nothing makes it elect one.
    fn disagrees_with_zookeeper(&mut self, name: &str, number: usize, failed: i32) {
        let Some(partition) = self.topic_mut(name).and_then(|topic| topic.partitions.get_mut(number)) else { return };
        if let Some(registered) = partition.zookeeper.take()
            && registered.leader == failed
        {
            partition.isr = registered.isr.iter().copied().filter(|id| *id != failed).collect();
            partition.leader = -1;
            partition.epoch = registered.epoch.saturating_add(1);
            partition.partition_epoch += 1;
        }
    }

    /// An election because the leader is gone (`OfflinePartitionLeaderElectionStrategy`, `PartitionChangeBuilder`).
    pub(super) fn elect_offline(&mut self, name: &str, number: usize) -> ElectionOutcome {
        let Some(topic) = self.topics.get(name) else { return ElectionOutcome::Unknown };
        let unclean = self.unclean_allowed(topic);
        self.elect_one(name, number, unclean)
    }

    fn elect_one(&mut self, name: &str, number: usize, unclean: bool) -> ElectionOutcome {
        let Some(partition) = self.topics.get(name).and_then(|topic| topic.partitions.get(number)) else {
            return ElectionOutcome::Unknown;
        };
        let trusted = partition.trusted();
        let live = |id: &&i32| self.eligible(partition, **id);
        // Last of all who led last, who has all that there was (`PartitionChangeBuilder.canElectLastKnownLeader`).
        let last = partition.last_known_leader.as_ref().filter(|_| trusted.is_empty()).filter(live);
        let clean = partition.replicas.iter().find(|id| trusted.contains(id) && live(id)).or(last).copied();
        let dirty = partition.replicas.iter().find(live).copied().filter(|_| unclean);
        let leader = clean.or(dirty);
        let loses = clean.is_none() && dirty.is_some();
        let Some(partition) = self.topic_mut(name).and_then(|topic| topic.partitions.get_mut(number)) else {
            return ElectionOutcome::Unknown;
        };
        let Some(leader) = leader else {
            if partition.leader != -1 {
                partition.lead_by(-1);
            }
            return ElectionOutcome::NoneEligible;
        };
        if loses {
            let left = partition.left_behind.remove(&leader).unwrap_or_default();
            partition.isr = vec![leader];
            partition.elr.clear();
            partition.left_behind.clear();
            partition.end = partition.end.min(partition.end / 2);
            partition.lead_by(leader);
            if name == OFFSETS_TOPIC
                && let Ok(number) = i32::try_from(number)
            {
                // What the new leader never had is lost.
                self.logs.insert(number, left);
            }
        } else {
            if partition.isr.is_empty() {
                partition.isr = vec![leader];
                partition.elr.retain(|id| *id != leader);
            }
            partition.lead_by(leader);
        }
        ElectionOutcome::Elected
    }

    /// Partitions without a leader get one if somebody may lead (`onBrokerStartup`, `handleBrokerUnfenced`).
    pub(super) fn retry_leaderless(&mut self) {
        let names: Vec<String> = self.topics.keys().cloned().collect();
        for name in names {
            let topic = Arc::clone(&self.topics[&name]);
            for (number, partition) in topic.partitions.iter().enumerate() {
                if partition.leader == -1 {
                    self.elect_offline(&name, number);
                }
            }
        }
    }

    /// An election that somebody asks for. `None` if there is no controller to run it.
    pub fn elect(&mut self, name: &str, partitions: &[i32], kind: ElectionType) -> Option<Vec<(i32, ElectionOutcome)>> {
        self.controller?;
        let outcomes: Vec<(i32, ElectionOutcome)> = partitions
            .iter()
            .map(|number| {
                let outcome = match usize::try_from(*number) {
                    Ok(at) => self.elect_asked(name, at, kind),
                    Err(_) => ElectionOutcome::Unknown,
                };
                (*number, outcome)
            })
            .collect();
        if outcomes.iter().any(|(_, outcome)| *outcome == ElectionOutcome::Elected) {
            self.publish();
            self.catch_up_soon();
        }
        self.event(&Event::Election);
        self.leaders_back();
        Some(outcomes)
    }

    fn elect_asked(&mut self, name: &str, number: usize, kind: ElectionType) -> ElectionOutcome {
        let Some(partition) = self.topics.get(name).and_then(|topic| topic.partitions.get(number)) else {
            return ElectionOutcome::Unknown;
        };
        let preferred = partition.replicas.first().copied();
        match kind {
            ElectionType::Preferred => {
                if Some(partition.leader) == preferred {
                    return ElectionOutcome::NotNeeded;
                }
                match preferred.filter(|id| partition.trusted().contains(id) && self.eligible(partition, *id)) {
                    Some(id) => {
                        if let Some(partition) = self.topic_mut(name).and_then(|topic| topic.partitions.get_mut(number))
                        {
                            if partition.isr.is_empty() {
                                partition.isr = vec![id];
                                partition.elr.retain(|member| *member != id);
                            }
                            partition.lead_by(id);
                        }
                        ElectionOutcome::Elected
                    }
                    None => ElectionOutcome::NoneEligible,
                }
            }
            // The controller's memory decides, not whether the leader answers.
            ElectionType::Unclean if partition.leader != -1 => ElectionOutcome::NotNeeded,
            ElectionType::Unclean => self.elect_one(name, number, true),
        }
    }

    /// Gives leadership back to preferred replicas, every five minutes, unless it is switched off.
    pub(super) fn rebalance(&mut self) {
        self.after(REBALANCE_EVERY, Timer::Rebalance);
        let off = |id: &i32| {
            self.nodes.get(id).and_then(|node| node.config("auto.leader.rebalance.enable")).as_deref() == Some("false")
        };
        if self.controller.is_none() || self.brokers().any(|node| off(&node.id)) {
            return;
        }
        // Almost always nothing is to be done, so that is found out first: there may be a hundred thousand partitions, and
        // somebody may let a day pass at once.
        let away = |partition: &Partition| {
            partition.leader >= 0
                && partition.replicas.first().is_some_and(|preferred| {
                    *preferred != partition.leader
                        && partition.trusted().contains(preferred)
                        && self.eligible(partition, *preferred)
                })
        };
        let away: Vec<(String, usize)> = self
            .topics
            .iter()
            .flat_map(|(name, topic)| {
                let numbers = topic.partitions.iter().enumerate().filter(|(_, partition)| away(partition));
                numbers.map(|(number, _)| (name.clone(), number))
            })
            .collect();
        for (name, number) in &away {
            self.elect_asked(name, *number, ElectionType::Preferred);
        }
        if !away.is_empty() {
            self.publish();
        }
    }

    /// An orderly shutdown hands leaderships over before the broker goes (`ControlledShutdown`).
    pub(super) fn hand_over(&mut self, id: i32) {
        if self.controller.is_none() {
            return;
        }
        let names: Vec<String> = self.topics.keys().cloned().collect();
        for name in names {
            let topic = Arc::clone(&self.topics[&name]);
            for (number, partition) in topic.partitions.iter().enumerate() {
                let others: BTreeSet<i32> = partition
                    .isr
                    .iter()
                    .copied()
                    .filter(|other| *other != id && self.eligible(partition, *other))
                    .collect();
                if others.is_empty() {
                    continue;
                }
                self.leave_isr(&name, number, id);
                if partition.leader == id
                    && let Some(next) = partition.replicas.iter().find(|replica| others.contains(replica)).copied()
                    && let Some(partition) = self.topic_mut(&name).and_then(|topic| topic.partitions.get_mut(number))
                {
                    partition.lead_by(next);
                }
            }
        }
        self.publish();
    }

    /// Notes which topics miss a leader: partitions without one, or with one that nobody hears of.
    pub(super) fn note_missing_leaders(&mut self) {
        let heard = |id: &i32| self.nodes.get(id).is_some_and(super::Node::heard);
        let missing = self
            .topics
            .iter()
            .filter(|(_, topic)| topic.partitions.iter().any(|partition| !heard(&partition.leader)))
            .map(|(name, _)| name.clone());
        self.timeline.missed.extend(missing);
    }

    /// Tells steps that wait for it when a topic that missed a leader has all of them again.
    pub(super) fn leaders_back(&mut self) {
        let heard = |id: &i32| self.nodes.get(id).is_some_and(super::Node::heard);
        let back: Vec<String> = self
            .timeline
            .missed
            .iter()
            .filter(|name| {
                let topic = self.topics.get(*name);
                topic.is_some_and(|topic| topic.partitions.iter().all(|partition| heard(&partition.leader)))
            })
            .cloned()
            .collect();
        for name in back {
            self.timeline.missed.remove(&name);
            self.event(&Event::LeadersBack(name));
        }
    }
}
