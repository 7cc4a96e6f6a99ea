//! What a scenario says must fit together. One file per part; each adds what it finds to the [`Check`].
//!
//! Two kinds of problems: what cannot be served at all (an id that no node has, a release without KRaft), and what
//! contradicts itself as a cluster's own data may do when it is broken (a leader that is no replica). The second kind is
//! accepted from a scenario that says `means-contradictions = true`.
//!
//! What is done to a cluster by hand is held to the same rules ([`check_action`]), with the topics and groups that there
//! are by then.

mod actions;
mod by_hand;
mod cluster;
mod expectations;
mod faults;
mod groups;
mod steps;
#[cfg(test)]
mod tests;
mod topics;
mod truth;

use std::collections::{BTreeMap, BTreeSet};

use unstuck_diagnosis::OFFSETS_TOPIC;

use super::action::{Action, SetPartitions};
use super::model::{Mode, Release, Scenario};
use super::places::join;
use super::problem::{did_you_mean, list};
use super::value::{MOST_PARTITIONS, Partitions, Time};

pub use self::by_hand::{KnownTopic, check_action};

/// The highest leader epoch that may be said: each election adds one, and Kafka's are 32 bits wide.
const HIGHEST_EPOCH: i32 = 1_000_000_000;
/// The longest time that may be said: 7 days.
const LONGEST: Time = Time(std::time::Duration::from_secs(7 * 86_400));
/// Settings that would say again what `session-timeout` says.
const SESSION_TIMEOUTS: [&str; 2] = ["broker.session.timeout.ms", "zookeeper.session.timeout.ms"];

/// What is wrong, by key. A key is written as [`Problem::path`](super::Problem::path).
pub(super) fn problems(scenario: &Scenario) -> Vec<(String, String)> {
    let mut check = Check { scenario, topics: topics_ever(scenario), by_hand: false, problems: Vec::new() };
    check.cluster();
    check.brokers();
    check.topics();
    check.groups();
    for (nth, view) in scenario.view.iter().enumerate() {
        check.view(&format!("view[{nth}]"), view);
    }
    for (nth, fault) in scenario.fault.iter().enumerate() {
        check.fault(&format!("fault[{nth}]"), fault);
    }
    check.acl("acl", &scenario.acl);
    for (nth, expect) in scenario.expect.iter().enumerate() {
        check.expect(&format!("expect[{nth}]"), expect);
    }
    check.steps();
    if let Some(truth) = &scenario.truth {
        check.truth(truth);
    }
    check.problems
}

/// What has been found so far.
struct Check<'a> {
    scenario: &'a Scenario,
    /// Topics as they may come to be in the course of the scenario, or, by hand, as they are.
    topics: BTreeMap<&'a str, KnownTopic>,
    /// Whether something is done by hand.
    by_hand: bool,
    problems: Vec<(String, String)>,
}

impl Check<'_> {
    fn wrong(&mut self, path: impl Into<String>, what: impl Into<String>) {
        self.problems.push((path.into(), what.into()));
    }

    /// Something that a broken cluster may well hold, so the scenario can say that it is about that.
    fn contradiction(&mut self, path: impl Into<String>, what: impl Into<String>) {
        if !self.scenario.means_contradictions {
            let what = what.into();
            self.wrong(path, format!("{what} (if that is what the scenario is about: `means-contradictions = true`)"));
        }
    }

    fn kraft(&self) -> bool {
        self.scenario.cluster.mode == Mode::Kraft
    }

    /// Whether eligible leader replicas exist: KIP-966, from 4.0 on.
    fn has_elr(&self) -> bool {
        self.kraft() && self.scenario.cluster.release >= Release::V4_1
    }

    fn broker(&mut self, path: &str, id: i32) {
        let brokers = &self.scenario.cluster.brokers;
        if !brokers.contains(&id) {
            self.wrong(path, format!("{id} is not one of the brokers ({})", list(brokers)));
        }
    }

    /// A broker or a node that is only a controller.
    fn node(&mut self, path: &str, id: i32) {
        let cluster = &self.scenario.cluster;
        if !cluster.brokers.contains(&id) && !cluster.controllers.contains(&id) {
            let nodes = list(cluster.brokers.iter().chain(&cluster.controllers));
            self.wrong(path, format!("{id} is not one of the nodes ({nodes})"));
        }
    }

    /// A node that can be the controller.
    fn voter(&mut self, path: &str, id: i32) {
        let cluster = &self.scenario.cluster;
        let voters = if cluster.controllers.is_empty() { &cluster.brokers } else { &cluster.controllers };
        if !voters.contains(&id) {
            self.wrong(path, format!("{id} cannot be the controller; allowed: {}", list(voters)));
        }
    }

    /// Brokers named in data: each at most once, and one of the cluster's, unless the data are meant to be stale.
    fn broker_list(&mut self, path: &str, ids: &[i32]) {
        let brokers = &self.scenario.cluster.brokers;
        let mut seen = BTreeSet::new();
        for id in ids {
            if !seen.insert(id) {
                self.wrong(path, format!("{id} is named twice"));
            } else if !brokers.contains(id) {
                self.contradiction(path, format!("{id} is not one of the brokers ({})", list(brokers)));
            }
        }
    }

    /// A topic of the scenario, or, by hand, of the cluster. The offsets topic may come into being by itself, so a
    /// scenario may always name it.
    fn topic_name(&mut self, path: &str, name: &str) {
        let mut known: BTreeSet<&str> = self.topics.keys().copied().collect();
        if !self.by_hand {
            // Those that are deleted in its course, too.
            known.extend(self.scenario.topic.keys().map(String::as_str));
        }
        if known.contains(name) || (!self.by_hand && name == OFFSETS_TOPIC) {
            return;
        }
        let whose = if self.by_hand { "cluster" } else { "scenario" };
        let nearest = did_you_mean(name, known.iter().copied());
        let topics = if known.is_empty() { "none".to_owned() } else { list(known) };
        self.wrong(path, format!("the {whose} has no topic `{name}`{nearest} (topics: {topics})"));
    }

    /// A time that somebody will live to see.
    fn time(&mut self, path: String, time: Option<Time>) {
        if time.is_some_and(|time| time > LONGEST) {
            self.wrong(path, format!("it must not be longer than {LONGEST}"));
        }
    }

    /// A leader epoch and an end offset.
    fn epoch_and_end(&mut self, path: &str, epoch: Option<i32>, end: Option<i64>) {
        if epoch.is_some_and(|epoch| !(0..=HIGHEST_EPOCH).contains(&epoch)) {
            self.wrong(format!("{path}.epoch"), format!("it must be 0 to {HIGHEST_EPOCH}"));
        }
        if end.is_some_and(|end| end < 0) {
            self.wrong(format!("{path}.end"), "it cannot be less than 0");
        }
    }

    /// Settings of brokers.
    fn broker_configs<'k>(&mut self, path: &str, keys: impl Iterator<Item = &'k String>) {
        for key in keys.filter(|key| SESSION_TIMEOUTS.contains(&key.as_str())) {
            let what = "say `session-timeout` in `[cluster]`: this setting follows from it";
            self.wrong(join(path, key), what);
        }
    }

    /// Partitions of a topic, or of the offsets topic.
    fn partitions(&mut self, path: &str, topic: &str, partitions: &Partitions) {
        let Some(count) = self.topics.get(topic).map(|topic| topic.partitions) else { return };
        if let Some(beyond) = partitions.highest().filter(|highest| *highest >= count) {
            self.wrong(path, format!("there is no partition {beyond}: {topic} has {}", up_to(count)));
        }
    }

    /// An ELR is stated where none can be.
    fn no_elr(&mut self, path: &str) {
        if !self.has_elr() {
            self.wrong(path, "there are eligible leader replicas only with KRaft and release 4.1.1");
        }
    }

    /// Facts about partitions, from an action or a view. Whether they fit together depends on what was before, so only
    /// what fits at no time is wrong.
    fn set(&mut self, path: &str, set: &SetPartitions, view: bool) {
        let topic = set.topic.as_deref().unwrap_or(OFFSETS_TOPIC);
        self.topic_name(&format!("{path}.topic"), topic);
        self.partitions(&format!("{path}.partitions"), topic, &set.partitions);
        let lists =
            [("isr", &set.isr), ("replicas", &set.replicas), ("elr", &set.elr), ("offline-on", &set.offline_on)];
        for (key, ids) in lists {
            self.broker_list(&format!("{path}.{key}"), ids.as_deref().unwrap_or_default());
        }
        if set.elr.is_some() {
            self.no_elr(&format!("{path}.elr"));
        }
        if set.replicas.as_ref().is_some_and(Vec::is_empty) {
            self.wrong(format!("{path}.replicas"), "a partition has at least one replica");
        }
        self.epoch_and_end(path, set.epoch, set.end);
        if view {
            let leader = set.leader.filter(|leader| *leader != -1);
            return self.broker_list(&format!("{path}.leader"), leader.as_slice());
        }
        let ever = self.topics.get(topic).map(|topic| topic.replicas.iter().copied().collect::<Vec<_>>());
        let Some(replicas) = set.replicas.clone().or(ever) else {
            let leader = set.leader.filter(|leader| *leader != -1);
            return self.broker_list(&format!("{path}.leader"), leader.as_slice());
        };
        self.in_sync(path, set.leader, set.isr.as_deref(), set.elr.as_deref(), &replicas);
    }

    /// Leader, ISR and ELR against the replicas.
    fn in_sync(&mut self, path: &str, leader: Option<i32>, isr: Option<&[i32]>, elr: Option<&[i32]>, replicas: &[i32]) {
        if let Some(leader) = leader.filter(|leader| *leader != -1 && !replicas.contains(leader)) {
            let brokers = &self.scenario.cluster.brokers;
            if brokers.contains(&leader) {
                self.contradiction(
                    format!("{path}.leader"),
                    format!("{leader} is not one of the replicas ({})", list(replicas)),
                );
            } else {
                self.contradiction(
                    format!("{path}.leader"),
                    format!("{leader} is not one of the brokers ({})", list(brokers)),
                );
            }
        }
        for (key, ids) in [("isr", isr), ("elr", elr)] {
            if let Some(id) = ids.unwrap_or_default().iter().find(|id| !replicas.contains(id)) {
                self.contradiction(
                    format!("{path}.{key}"),
                    format!("{id} is not one of the replicas ({})", list(replicas)),
                );
            }
        }
        self.disjoint(path, isr.unwrap_or_default(), elr.unwrap_or_default());
    }

    /// ISR and ELR have no replica in common.
    fn disjoint(&mut self, path: &str, isr: &[i32], elr: &[i32]) {
        if let Some(id) = elr.iter().find(|id| isr.contains(id)) {
            let what = format!("{id} is in the ISR already ({}); a replica is in one of the two", list(isr));
            self.contradiction(format!("{path}.elr"), what);
        }
    }
}

/// `partitions 0-49`.
fn up_to(count: i32) -> String {
    if count == 1 { "only partition 0".to_owned() } else { format!("partitions 0-{}", count - 1) }
}

fn topics_ever(scenario: &Scenario) -> BTreeMap<&str, KnownTopic> {
    let brokers = &scenario.cluster.brokers;
    let mut topics: BTreeMap<&str, KnownTopic> = BTreeMap::new();
    for (name, topic) in &scenario.topic {
        // More are refused elsewhere; they must not be counted here one by one.
        let partitions = topic.partitions.clamp(0, MOST_PARTITIONS);
        let replicas = (0..partitions).flat_map(|partition| topic.replicas_of(partition, brokers)).collect();
        topics.insert(name, KnownTopic { partitions, replicas });
    }
    for action in scenario.step.iter().flat_map(|step| &step.r#do) {
        let (topic, replicas) = match action {
            Action::AddPartitions(add) => {
                if let Some(topic) = topics.get_mut(add.topic.as_str()) {
                    topic.partitions = topic.partitions.max(add.to.min(MOST_PARTITIONS));
                    topic.replicas.extend(brokers);
                }
                continue;
            }
            Action::Reassign(reassign) => (&reassign.topic, Some(&reassign.replicas)),
            Action::Set(set) | Action::WriteZookeeper(set) => (&set.topic, set.replicas.as_ref()),
            Action::CreateTopic(create) => {
                let topic = topics.entry(create.topic.as_str()).or_default();
                topic.partitions = topic.partitions.max(create.partitions.clamp(0, MOST_PARTITIONS));
                topic.replicas.extend(brokers);
                continue;
            }
            Action::DeleteTopic(name) => {
                // It may come back otherwise than it was.
                topics.remove(name.as_str());
                continue;
            }
            _ => continue,
        };
        if let (Some(topic), Some(replicas)) = (topics.get_mut(topic.as_deref().unwrap_or(OFFSETS_TOPIC)), replicas) {
            topic.replicas.extend(replicas);
        }
    }
    topics
}
