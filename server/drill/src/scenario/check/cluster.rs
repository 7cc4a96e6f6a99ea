//! The cluster as a whole, and its brokers.

use std::collections::BTreeSet;

use super::Check;
use crate::scenario::model::{Mode, Release};
use crate::scenario::problem::list;
use crate::scenario::value::MOST_PARTITIONS;

impl Check<'_> {
    pub(super) fn cluster(&mut self) {
        for (key, text) in [("title", &self.scenario.title), ("story", &self.scenario.story)] {
            if text.trim().is_empty() {
                self.wrong(key, "it is empty");
            }
        }
        let cluster = &self.scenario.cluster;
        if cluster.brokers.is_empty() {
            self.wrong("cluster.brokers", "a cluster has at least one broker");
        }
        let mut seen = BTreeSet::new();
        for (key, ids) in [("cluster.brokers", &cluster.brokers), ("cluster.controllers", &cluster.controllers)] {
            for &id in ids {
                if id < 0 {
                    self.wrong(key, format!("{id} is no node id: they are 0 or more"));
                } else if !seen.insert(id) {
                    self.wrong(key, format!("{id} is named twice"));
                }
            }
        }
        if cluster.mode == Mode::Zookeeper && !cluster.controllers.is_empty() {
            self.wrong("cluster.controllers", "with ZooKeeper the controller is one of the brokers; leave this out");
        }
        self.release("cluster.release", cluster.release);
        if let Some(controller) = cluster.controller {
            self.voter("cluster.controller", controller);
        }
        if cluster.session_timeout.is_some_and(|time| time.0.is_zero()) {
            self.wrong("cluster.session-timeout", "it must be longer than 0");
        }
        self.time("cluster.session-timeout".to_owned(), cluster.session_timeout);
        self.broker_configs("cluster.configs", cluster.configs.keys());
        if cluster.elr == Some(true) {
            self.no_elr("cluster.elr");
        }
    }

    fn release(&mut self, path: &str, release: Release) {
        match self.scenario.cluster.mode {
            Mode::Kraft if release < Release::V3_6 => {
                self.wrong(
                    path,
                    "this release has no KRaft that could be imitated; allowed with KRaft: 3.6.2, 3.9.1, 4.1.1",
                );
            }
            Mode::Zookeeper if release >= Release::V4_1 => {
                let allowed = "1.0.2, 2.3.1, 2.8.2, 3.6.2, 3.9.1";
                self.wrong(path, format!("Kafka 4 has no ZooKeeper mode; allowed with ZooKeeper: {allowed}"));
            }
            _ => {}
        }
    }

    /// An address that a broker advertises.
    pub(super) fn address(&mut self, path: String, address: &str) {
        if !is_host_and_port(address) {
            self.wrong(path, format!("`{address}` is not `host:port`, such as `kafka-1.internal:9092`"));
        }
    }

    pub(super) fn brokers(&mut self) {
        let brokers = &self.scenario.cluster.brokers;
        for (key, broker) in &self.scenario.broker {
            let path = crate::scenario::places::join("broker", key);
            match key.parse::<i32>() {
                // Not `+1` or `01`: nobody would find those again.
                Ok(id) if id.to_string() == *key => self.broker(&path, id),
                _ => self.wrong(&path, format!("`{key}` is no broker id; brokers: {}", list(brokers))),
            }
            if let Some(advertised) = &broker.advertised {
                self.address(format!("{path}.advertised"), advertised);
            }
            if let Some(release) = broker.release {
                self.release(&format!("{path}.release"), release);
            }
            if broker.partition_count.is_some_and(|count| !(1..=MOST_PARTITIONS).contains(&count)) {
                self.wrong(format!("{path}.partition-count"), format!("it must be 1 to {MOST_PARTITIONS}"));
            }
            self.broker_configs(&format!("{path}.configs"), broker.configs.keys());
            let mut seen = BTreeSet::new();
            if let Some(twice) = broker.log_dirs.iter().find(|folder| !seen.insert(*folder)) {
                self.wrong(format!("{path}.log-dirs"), format!("{twice} is named twice"));
            }
        }
    }
}

/// Whether a text is `host:port` or `[v6 address]:port`, with a port from 1 to 65535.
fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host_fits = match bare {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && !host.contains([':', '/', '[', ']']) && !host.contains(char::is_whitespace),
    };
    host_fits && port.parse::<u16>().is_ok_and(|port| port > 0)
}
