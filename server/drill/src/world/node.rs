//! One node: a broker, a controller, or both.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::coordinator::Shard;
use super::image::Image;
use crate::scenario::action::View;
use crate::scenario::model::{BrokerState, Release};

/// A broker or a controller.
#[derive(Clone, Debug)]
pub struct Node {
    /// `broker.id` or `node.id`.
    pub id: i32,
    /// Whether clients can ask it; the others are controllers only.
    pub is_broker: bool,
    /// Its rack.
    pub rack: Option<String>,
    /// The release that it runs.
    pub release: Release,
    /// The address that it listens on, host and port.
    pub(super) listens: (String, u16),
    /// The address that it advertises, host and port.
    pub advertised: (String, u16),
    /// Whether it has the listener that clients use.
    pub listener: bool,
    /// How it is.
    pub state: BrokerState,
    /// Settings that were set, statically or later: what is in force.
    pub configs: BTreeMap<String, String>,
    /// Those of them that were set in its properties file.
    pub(super) static_configs: BTreeMap<String, String>,
    /// Those that were set for all brokers while they ran.
    pub(super) default_configs: BTreeMap<String, String>,
    /// Those that were set for this broker while it ran.
    pub(super) own_configs: BTreeMap<String, String>,
    /// The number of offsets partitions that it hashes with. Read once, at its start (`GroupCoordinator.startup`).
    pub count: i32,
    /// Its log directories, at least one.
    pub log_dirs: Vec<String>,
    /// Whether the controller holds it for alive (ZooKeeper: its node exists; KRaft: it is not fenced).
    pub registered: bool,
    /// Whether it opens its port: not between its start and its registration.
    pub up: bool,
    /// Partitions of which groups were (re)loaded, by partition of the offsets topic.
    pub shards: BTreeMap<i32, Shard>,
    /// What the controller last told it.
    pub(super) image: Arc<Image>,
    /// What it answers from: the image, changed by a view of its own.
    pub(super) seen: Arc<Image>,
    /// Its own view.
    pub(super) view: Option<View>,
    /// Counts its silences towards the controller, so that a timer knows whether its silence is over.
    pub(super) silence: u64,
    /// Since when nothing was heard of it.
    pub(super) silent_since: Option<Duration>,
}

impl Node {
    /// What it believes about the cluster.
    #[must_use]
    pub fn seen(&self) -> &Image {
        &self.seen
    }

    /// Since when nothing was heard of it, in scenario time.
    #[must_use]
    pub fn silent_since(&self) -> Option<Duration> {
        self.silent_since
    }

    /// Whether the controller and other brokers hear of it.
    #[must_use]
    pub fn heard(&self) -> bool {
        self.state == BrokerState::Running && self.up
    }

    /// A setting, as it was set or else its default in the release.
    #[must_use]
    pub fn config(&self, name: &str) -> Option<String> {
        self.configs.get(name).cloned().or_else(|| super::configs::broker_default(self.release, name))
    }

    /// Who set a setting, in the codes of DescribeConfigs' `config_source`: this broker while it ran 2, all brokers
    /// while they ran 3, its properties file 4, the release 5.
    #[must_use]
    pub fn config_source(&self, name: &str) -> i8 {
        if self.own_configs.contains_key(name) {
            2
        } else if self.default_configs.contains_key(name) {
            3
        } else if self.static_configs.contains_key(name) {
            4
        } else {
            5
        }
    }

    /// Settings that were set while brokers ran: for this one only, or for all of them.
    #[must_use]
    pub fn dynamic_configs(&self, of_all: bool) -> &BTreeMap<String, String> {
        if of_all { &self.default_configs } else { &self.own_configs }
    }

    /// Works out which settings are in force: a broker's own go before those of all, and those before the file's.
    pub(super) fn configs_changed(&mut self) {
        self.configs = self.static_configs.clone();
        self.configs.extend(self.default_configs.clone());
        self.configs.extend(self.own_configs.clone());
    }

    /// Lets it advertise this `host:port` from now on, or else where it listens.
    pub(super) fn advertises(&mut self, address: Option<&str>) {
        self.advertised = match address.and_then(|text| text.rsplit_once(':')) {
            Some((host, port)) => (host.trim_matches(['[', ']']).to_owned(), port.parse().unwrap_or(9092)),
            None => self.listens.clone(),
        };
    }

    /// A setting that is a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        self.config(name)?.parse().ok()
    }
}
