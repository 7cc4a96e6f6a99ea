//! Topics and their partitions.

use unstuck_diagnosis::OFFSETS_TOPIC;

use super::Check;
use crate::scenario::model::{BrokerState, Partition, Topic};
use crate::scenario::places::join;
use crate::scenario::problem::list;
use crate::scenario::value::{MOST_PARTITIONS, Partitions};

impl Check<'_> {
    pub(super) fn topics(&mut self) {
        for (name, topic) in &self.scenario.topic {
            let path = join("topic", name);
            self.legal_topic_name(&path, name);
            self.topic(&path, name, topic);
        }
    }

    pub(super) fn legal_topic_name(&mut self, path: &str, name: &str) {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || name.len() > 249 || !name.chars().all(legal) || matches!(name, "." | "..") {
            let allowed = "1 to 249 of letters, digits, `.`, `_` and `-`";
            self.wrong(path, format!("Kafka allows no such topic name; allowed: {allowed}"));
        }
    }

    pub(super) fn partition_count(&mut self, path: String, count: i32) {
        if !(1..=MOST_PARTITIONS).contains(&count) {
            self.wrong(path, format!("{count} is not a number of partitions (1 to {MOST_PARTITIONS})"));
        }
    }

    pub(super) fn replication_factor(&mut self, path: &str, factor: Option<usize>) {
        let brokers = self.scenario.cluster.brokers.len();
        if let Some(factor) = factor.filter(|factor| !(1..=brokers).contains(factor)) {
            self.wrong(path, format!("{factor} replicas need as many brokers; allowed: 1 to {brokers}"));
        }
    }

    fn topic(&mut self, path: &str, name: &str, topic: &Topic) {
        self.partition_count(format!("{path}.partitions"), topic.partitions);
        let factor = format!("{path}.replication-factor");
        if topic.replication_factor.is_some() && !topic.replicas.is_empty() {
            self.wrong(&factor, "`replicas` says already where the replicas are; leave one of the two out");
        }
        self.replication_factor(&factor, topic.replication_factor);
        self.broker_list(&format!("{path}.replicas"), &topic.replicas);
        if topic.end.is_some_and(|end| end < 0) {
            self.wrong(format!("{path}.end"), "it cannot be less than 0");
        }
        for (nth, partition) in topic.partition.iter().enumerate() {
            let path = format!("{path}.partition[{nth}]");
            if partition.coordinator.is_some() && name != OFFSETS_TOPIC {
                let what = format!("only partitions of {OFFSETS_TOPIC} have a coordinator");
                self.wrong(format!("{path}.coordinator"), what);
            }
            self.partition(&path, topic, nth, partition);
        }
    }

    fn partition(&mut self, path: &str, topic: &Topic, nth: usize, partition: &Partition) {
        if let Some(beyond) = partition.id.highest().filter(|highest| *highest >= topic.partitions) {
            let there = super::up_to(topic.partitions.max(1));
            self.wrong(format!("{path}.id"), format!("there is no partition {beyond}: the topic has {there}"));
        }
        if partition.id == Partitions::These(Vec::new()) {
            self.wrong(format!("{path}.id"), "it names no partition");
        }
        if partition.replicas.as_ref().is_some_and(Vec::is_empty) {
            self.wrong(format!("{path}.replicas"), "a partition has at least one replica");
        }
        self.broker_list(&format!("{path}.replicas"), partition.replicas.as_deref().unwrap_or_default());
        self.broker_list(&format!("{path}.isr"), partition.isr.as_deref().unwrap_or_default());
        self.broker_list(&format!("{path}.elr"), &partition.elr);
        self.broker_list(&format!("{path}.offline-on"), &partition.offline_on);
        if !partition.elr.is_empty() {
            self.no_elr(&format!("{path}.elr"));
        }
        self.epoch_and_end(path, partition.epoch, partition.end);
        self.time(format!("{path}.open-transaction.age"), partition.open_transaction.map(|open| open.age));
        // Where the replicas follow from the rest of the topic they differ by partition; the first that does not fit
        // speaks for all.
        let before = self.problems.len();
        for id in partition.id.of(topic.partitions.min(MOST_PARTITIONS)) {
            let replicas = topic.replicas_of(id, &self.scenario.cluster.brokers);
            let own_isr = partition.isr.as_deref();
            let earlier = || topic.partition[..nth].iter().rfind(|entry| entry.isr.is_some() && entry.id.contains(id));
            let isr = own_isr.or_else(|| earlier()?.isr.as_deref());
            self.in_sync(path, partition.leader, own_isr, Some(&partition.elr), &replicas);
            if own_isr.is_none() {
                self.disjoint(path, isr.unwrap_or(&self.running(&replicas)), &partition.elr);
            }
            let not_in_sync = |leader: &i32| replicas.contains(leader) && isr.is_some_and(|isr| !isr.contains(leader));
            if let Some(leader) = partition.leader.filter(not_in_sync) {
                let what = format!("{leader} leads, but is not in the ISR ({})", list(isr.unwrap_or_default()));
                self.contradiction(format!("{path}.leader"), what);
            }
            if let Some(broker) = partition.offline_on.iter().find(|broker| !replicas.contains(broker)) {
                let what = format!("{broker} is not one of the replicas ({})", list(&replicas));
                self.contradiction(format!("{path}.offline-on"), what);
            }
            if self.problems.len() > before {
                break;
            }
        }
    }

    /// Those of the replicas whose brokers run at the beginning: in sync unless it is said otherwise.
    fn running(&self, replicas: &[i32]) -> Vec<i32> {
        let state =
            |id: &i32| self.scenario.broker.get(&id.to_string()).map_or(BrokerState::Running, |broker| broker.state);
        replicas.iter().copied().filter(|id| state(id) == BrokerState::Running).collect()
    }
}
