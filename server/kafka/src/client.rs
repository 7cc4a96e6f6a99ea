//! The client's eye: the cluster as an ordinary client sees it, through librdkafka with every security mechanism that
//! clients have.
//!
//! A consumer without `group.id`: it never looks for a coordinator and creates nothing. It is polled, so that its event
//! queue stays empty and OAUTHBEARER tokens are refreshed. Everything here blocks, so it has a thread of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::KafkaError;
use rdkafka::metadata::Metadata;
use unstuck_diagnosis::snapshot::{ClientView, LEADERLESS_CAP, LeaderlessPartition, Why};
use unstuck_diagnosis::{BrokerId, OFFSETS_TOPIC};
use unstuck_wire::messages::metadata::{BrokerAddress, host_port};

use crate::probe::CLIENT_ID;
use crate::shared::Shared;

/// How long a metadata request may take; the thread notices a stop only after it.
const METADATA_DEADLINE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(100);
/// Properties that are ours to set, or that would make a group member of us.
const OURS: [&str; 5] =
    ["bootstrap.servers", "metadata.broker.list", "client.id", "group.id", "allow.auto.create.topics"];

/// Starts the thread. It ends by itself soon after the collector stops; nobody waits for it, because a request to a
/// dead cluster blocks it for seconds.
pub(crate) fn start(shared: Arc<Shared>) {
    let spawned = std::thread::Builder::new().name("client-eye".to_owned()).spawn({
        let shared = Arc::clone(&shared);
        move || watch(&shared)
    });
    if let Err(error) = spawned {
        shared.client(Err(Why::Client(format!("no thread for the client: {error}"))));
    }
}

fn watch(shared: &Shared) {
    let cluster = shared.config.name.clone();
    let mut properties = ClientConfig::new();
    properties.set("reconnect.backoff.max.ms", "1000");
    for (name, value) in &shared.config.properties {
        if !OURS.contains(&name.as_str()) {
            properties.set(name, value);
        }
    }
    properties
        .set("bootstrap.servers", shared.config.bootstrap.join(","))
        .set("client.id", CLIENT_ID)
        .set("allow.auto.create.topics", "false");
    let eye: BaseConsumer<Eye> = match properties.create_with_context(Eye { cluster: cluster.clone() }) {
        Ok(eye) => eye,
        Err(error) => {
            tracing::warn!(cluster, "client: {error}");
            shared.client(Err(Why::Client(words(&error))));
            return;
        }
    };
    let mut failing = None;
    let mut next = Instant::now();
    while !shared.stop.is_cancelled() {
        if Instant::now() >= next {
            next = Instant::now() + shared.config.cadence.client;
            let seen = eye.fetch_metadata(None, METADATA_DEADLINE);
            let failure = seen.as_ref().err().map(words);
            if failure != failing {
                match &failure {
                    Some(text) => tracing::warn!(cluster, "client: {text}"),
                    None => tracing::info!(cluster, "client: answers again"),
                }
                failing = failure;
            }
            if let Ok(metadata) = &seen {
                // Where only an authenticated client gets in, the brokers are shown with why the probe does not. Else
                // the probe knows better: librdkafka does not notice when its bootstrap list leads to two clusters.
                if shared.no_way_in() {
                    shared.learn(&addresses(metadata));
                }
            }
            shared.client(seen.map(|metadata| view(&metadata)).map_err(|error| Why::Client(words(&error))));
        }
        // No messages can come, only events: errors and token refreshes, which the context handles.
        drop(eye.poll(POLL));
    }
}

fn words(error: &KafkaError) -> String {
    error.rdkafka_error_code().map_or_else(|| error.to_string(), |code| code.to_string())
}

fn addresses(metadata: &Metadata) -> BTreeMap<BrokerId, BrokerAddress> {
    metadata
        .brokers()
        .iter()
        .map(|broker| (broker.id(), BrokerAddress { address: host_port(broker.host(), broker.port()), rack: None }))
        .collect()
}

fn view(metadata: &Metadata) -> ClientView {
    let mut view = ClientView {
        at: Timestamp::now(),
        brokers: metadata.brokers().iter().map(rdkafka::metadata::MetadataBroker::id).collect(),
        topic_count: metadata.topics().len(),
        partition_count: 0,
        leaderless_count: 0,
        leaderless: Vec::new(),
        offsets_topic_partitions: None,
    };
    view.brokers.sort_unstable();
    for topic in metadata.topics() {
        view.partition_count += topic.partitions().len();
        if topic.name() == OFFSETS_TOPIC {
            view.offsets_topic_partitions = Some(topic.partitions().len());
            continue;
        }
        for partition in topic.partitions().iter().filter(|partition| partition.leader() < 0) {
            view.leaderless_count += 1;
            view.leaderless.push(LeaderlessPartition {
                topic: topic.name().to_owned(),
                partition: partition.id(),
                replicas: partition.replicas().to_vec(),
                isr: partition.isr().to_vec(),
            });
        }
    }
    view.leaderless.sort_unstable();
    view.leaderless.truncate(LEADERLESS_CAP);
    view
}

/// Passes librdkafka's words on to our log.
struct Eye {
    cluster: String,
}

impl ClientContext for Eye {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, text: &str) {
        tracing::debug!(cluster = self.cluster, facility, "{text}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(cluster = self.cluster, "{error}: {reason}");
    }
}

impl ConsumerContext for Eye {}
