//! Settings of brokers and topics.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Node, Topic, World};
use crate::recorded::recorded;
use crate::scenario::action::Configure;
use crate::scenario::model::{Event, Mode, Release, Setting};

const MIN_ISR: &str = "min.insync.replicas";

/// A broker's setting, if nobody set it. Of no use for what depends on the machine.
pub(super) fn broker_default(release: Release, name: &str) -> Option<String> {
    // Defaults do not depend on the mode as far as anything here asks for them.
    recorded(release, Mode::Kraft).broker_configs.get(name)?.value.clone().filter(|value| !value.starts_with('{'))
}

/// Settings as text.
pub(super) fn texts(configs: &BTreeMap<String, Setting>) -> BTreeMap<String, String> {
    configs.iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
}

/// Which setting of a broker is the default of this setting of its topics (`ServerTopicConfigSynonyms`); most have the
/// same name behind `log.`.
#[must_use]
pub fn broker_synonym(topic_config: &str) -> String {
    match topic_config {
        "min.insync.replicas" | "unclean.leader.election.enable" | "compression.type" => topic_config.to_owned(),
        "max.message.bytes" => "message.max.bytes".to_owned(),
        "cleanup.policy" => "log.cleanup.policy".to_owned(),
        "delete.retention.ms" => "log.cleaner.delete.retention.ms".to_owned(),
        "min.compaction.lag.ms" => "log.cleaner.min.compaction.lag.ms".to_owned(),
        "max.compaction.lag.ms" => "log.cleaner.max.compaction.lag.ms".to_owned(),
        "min.cleanable.dirty.ratio" => "log.cleaner.min.cleanable.ratio".to_owned(),
        "file.delete.delay.ms" => "log.segment.delete.delay.ms".to_owned(),
        "segment.index.bytes" => "log.index.size.max.bytes".to_owned(),
        "segment.ms" => "log.roll.ms".to_owned(),
        "segment.jitter.ms" => "log.roll.jitter.ms".to_owned(),
        "flush.messages" => "log.flush.interval.messages".to_owned(),
        "flush.ms" => "log.flush.interval.ms".to_owned(),
        other => format!("log.{other}"),
    }
}

impl World {
    /// A topic's setting as a broker tells it: the value, and whether the topic (1), a broker (dynamic 2 or static 4) or
    /// the release (5) set it, in the codes of DescribeConfigs' `config_source`.
    #[must_use]
    pub fn topic_config(&self, node: &Node, topic: &Topic, name: &str) -> (Option<String>, i8) {
        if let Some(value) = topic.configs.get(name) {
            return (Some(value.clone()), 1);
        }
        let synonym = broker_synonym(name);
        if let Some(value) = node.configs.get(&synonym) {
            return (Some(value.clone()), node.config_source(&synonym));
        }
        let default = recorded(node.release, self.mode()).topic_configs.get(name).and_then(|one| one.value.clone());
        (default, 5)
    }

    /// Changes settings of a topic (or takes them back, where there is no value).
    ///
    /// # Errors
    /// If there is no such topic.
    pub fn configure_topic(&mut self, name: &str, changes: &[(String, Option<String>)]) -> Result<(), String> {
        let Some(topic) = self.topic_mut(name) else { return Err(format!("there is no topic `{name}`")) };
        change(&mut topic.configs, changes);
        let min_isr_changes = changes.iter().any(|(config, _)| config == MIN_ISR);
        if min_isr_changes {
            // An update of min.insync.replicas clears the eligible leader replicas (KIP-966).
            for partition in &mut topic.partitions {
                partition.elr.clear();
            }
        }
        let unclean = changes
            .iter()
            .any(|(config, value)| config == "unclean.leader.election.enable" && value.as_deref() == Some("true"));
        if unclean && self.controller.is_some() {
            self.retry_leaderless();
            self.catch_up_soon();
        }
        self.publish();
        self.event(&Event::ConfigChanged(name.to_owned()));
        self.leaders_back();
        Ok(())
    }

    /// Changes settings of one broker, or of all.
    ///
    /// # Errors
    /// If there is no such broker.
    pub fn configure_broker(&mut self, id: Option<i32>, changes: &[(String, Option<String>)]) -> Result<(), String> {
        let ids: Vec<i32> = match id {
            Some(id) => vec![id],
            // Controllers too: they elect.
            None => self.nodes.keys().copied().collect(),
        };
        if let Some(why) = self.min_isr_refused(id, changes) {
            return Err(why);
        }
        let known = &recorded(self.release(), self.mode()).broker_configs;
        for broker in ids {
            let Some(node) = self.nodes.get_mut(&broker) else { return Err(format!("there is no broker {broker}")) };
            for one in changes {
                // What needs a restart can only stand in the file; that is also where else it can be taken back from.
                let in_file = known.get(&one.0).is_some_and(|config| config.read_only);
                let dynamic = if id.is_some() { &mut node.own_configs } else { &mut node.default_configs };
                let missing = one.1.is_none() && !dynamic.contains_key(&one.0);
                change(if in_file || missing { &mut node.static_configs } else { dynamic }, std::slice::from_ref(one));
            }
            node.configs_changed();
        }
        if changes.iter().any(|(config, _)| config == MIN_ISR) {
            // As with a topic's own: the eligible leader replicas of all topics (KIP-966).
            for topic in self.topics.values_mut() {
                if topic.partitions.iter().any(|partition| !partition.elr.is_empty()) {
                    for partition in &mut Arc::make_mut(topic).partitions {
                        partition.elr.clear();
                    }
                }
            }
            self.publish();
        }
        let unclean = changes.iter().any(|(config, _)| config == "unclean.leader.election.enable");
        if unclean && self.controller.is_some() {
            self.retry_leaderless();
            self.publish();
            self.catch_up_soon();
        }
        self.changed();
        self.event(&Event::ConfigChanged("*".to_owned()));
        self.leaders_back();
        Ok(())
    }

    /// Why brokers' `min.insync.replicas` cannot be changed so, in words. With eligible leader replicas it is the
    /// cluster's alone, and always set (`ConfigurationControlManager`, 4.1).
    fn min_isr_refused(&self, id: Option<i32>, changes: &[(String, Option<String>)]) -> Option<String> {
        let change = changes.iter().find(|(config, _)| config == MIN_ISR).filter(|_| self.keeps_elr())?;
        match (id, &change.1) {
            (Some(_), _) => {
                Some(format!("with eligible leader replicas, {MIN_ISR} is set for all brokers, not for one"))
            }
            (None, None) => Some(format!("with eligible leader replicas, {MIN_ISR} of all brokers cannot be removed")),
            (None, Some(_)) => None,
        }
    }

    pub(super) fn configure(&mut self, wanted: &Configure) -> Result<(), String> {
        let set = wanted.set.iter().map(|(name, value)| (name.clone(), Some(value.to_string())));
        let changes: Vec<_> = set.chain(wanted.delete.iter().map(|name| (name.clone(), None))).collect();
        match &wanted.topic {
            Some(topic) => self.configure_topic(topic, &changes),
            None => self.configure_broker(wanted.broker, &changes),
        }
    }
}

fn change(configs: &mut BTreeMap<String, String>, changes: &[(String, Option<String>)]) {
    for (name, value) in changes {
        match value {
            Some(value) => drop(configs.insert(name.clone(), value.clone())),
            None => drop(configs.remove(name)),
        }
    }
}
