//! A plain client's look at a cluster, through librdkafka: what tests compare Unstuck's answers with.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};

/// A client that only reads metadata. It has no group, so it touches no coordinator.
pub struct Eye {
    client: BaseConsumer,
}

/// One partition as metadata shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSeen {
    /// The leader, or `None` for -1.
    pub leader: Option<i32>,
    /// Replicas, preferred leader first.
    pub replicas: Vec<i32>,
    /// In-sync replicas.
    pub isr: Vec<i32>,
}

impl Eye {
    /// A client of these bootstrap addresses. Does not connect yet.
    ///
    /// # Errors
    /// If the client library refuses the addresses.
    pub fn new(bootstrap: &str) -> Result<Self> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", bootstrap).set("client.id", "unstuck-tests");
        // Brokers come and go in tests: try again soon, and say nothing about it.
        config.set("reconnect.backoff.ms", "50").set("reconnect.backoff.max.ms", "200").set("log_level", "0");
        Ok(Self { client: config.create().context("creating a client")? })
    }

    /// Ids of the brokers that metadata lists as live.
    ///
    /// # Errors
    /// If no broker answers in time.
    pub fn brokers(&self, timeout: Duration) -> Result<BTreeSet<i32>> {
        let metadata = self.client.fetch_metadata(None, timeout)?;
        Ok(metadata.brokers().iter().map(rdkafka::metadata::MetadataBroker::id).collect())
    }

    /// The partitions of a topic from all-topics metadata (asking for one topic might create it); empty if it is not listed.
    ///
    /// # Errors
    /// If no broker answers in time.
    pub fn partitions(&self, topic: &str, timeout: Duration) -> Result<BTreeMap<i32, PartitionSeen>> {
        let metadata = self.client.fetch_metadata(None, timeout)?;
        let Some(found) = metadata.topics().iter().find(|candidate| candidate.name() == topic) else {
            return Ok(BTreeMap::new());
        };
        let seen = found.partitions().iter().map(|partition| {
            let leader = (partition.leader() >= 0).then_some(partition.leader());
            let seen = PartitionSeen { leader, replicas: partition.replicas().to_vec(), isr: partition.isr().to_vec() };
            (partition.id(), seen)
        });
        Ok(seen.collect())
    }
}
