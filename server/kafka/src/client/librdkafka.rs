//! The client's eye through librdkafka, with every security mechanism that clients have.
//!
//! A consumer without `group.id`: it never looks for a coordinator and creates nothing. It is polled, so that its event
//! queue stays empty and OAUTHBEARER tokens are refreshed. Everything here blocks, so it has a thread of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::metadata::{Metadata, MetadataBroker};
use unstuck_diagnosis::BrokerId;
use unstuck_diagnosis::snapshot::{ClientView, Why};
use unstuck_wire::messages::metadata::{BrokerAddress, host_port};

use super::{METADATA_DEADLINE, Partition, Topic};
use crate::probe::CLIENT_ID;
use crate::shared::Shared;

const POLL: Duration = Duration::from_millis(100);
/// How long the first login may take before metadata is asked for.
const LOGIN: Duration = Duration::from_millis(500);
/// The pause after a refused login: too many of them lock an account.
const AFTER_REFUSAL: Duration = Duration::from_secs(30);
/// Properties that are ours to set, or that would make a group member of us.
const OURS: [&str; 5] =
    ["bootstrap.servers", "metadata.broker.list", "client.id", "group.id", "allow.auto.create.topics"];

/// Starts the thread. It ends by itself soon after the collector stops; nobody waits for it, because a request to a
/// dead cluster blocks it for seconds.
pub(super) fn start(shared: Arc<Shared>) {
    let spawned = std::thread::Builder::new().name("client-eye".to_owned()).spawn({
        let shared = Arc::clone(&shared);
        move || watch(&shared)
    });
    if let Err(error) = spawned {
        shared.client(Err(Why::Client(format!("no thread for the client: {error}"))));
    }
}

fn watch(shared: &Shared) {
    let mut failing = None;
    while !shared.stop.is_cancelled() {
        match look(shared, &mut failing) {
            End::Stopped => {}
            End::Invalid(text) => {
                tracing::warn!(cluster = shared.config.name, "client: {text}");
                shared.client(Err(Why::Client(text)));
                return;
            }
            End::LoginRefused => {
                let again = Instant::now() + AFTER_REFUSAL;
                while Instant::now() < again && !shared.stop.is_cancelled() {
                    std::thread::sleep(POLL);
                }
            }
        }
    }
}

/// Why a client's time ended.
enum End {
    Stopped,
    /// The properties are not valid.
    Invalid(String),
    LoginRefused,
}

fn look(shared: &Shared, failing: &mut Option<String>) -> End {
    let eye = match open(shared) {
        Ok(eye) => eye,
        Err(error) => return End::Invalid(words(&error)),
    };
    if eye.context().logs_in {
        // The first connection is made without being asked; see how it ends before asking for more.
        let until = Instant::now() + LOGIN;
        while Instant::now() < until && !eye.context().refused() {
            drop(eye.poll(POLL));
        }
    }
    let mut next = Instant::now();
    while !shared.stop.is_cancelled() {
        let refused = eye.context().refused();
        if refused || Instant::now() >= next {
            next = Instant::now() + shared.config.cadence.client;
            let seen = ask(shared, &eye);
            super::publish(shared, seen, failing);
        }
        if refused {
            return End::LoginRefused;
        }
        // No messages can come, only events: errors and token refreshes, which the context handles.
        drop(eye.poll(POLL));
    }
    End::Stopped
}

/// The cluster as the client sees it, or its words about why it does not.
fn ask(shared: &Shared, eye: &BaseConsumer<Eye>) -> Result<ClientView, String> {
    if let Some(refusal) = eye.context().refusal().filter(|_| eye.context().logs_in) {
        return Err(refusal);
    }
    let seen = eye.fetch_metadata(None, METADATA_DEADLINE);
    // Errors come as events: this takes those that say more than the result does.
    drop(eye.poll(Duration::ZERO));
    let refusal = eye.context().take_refusal();
    let metadata = seen.map_err(|error| refusal.unwrap_or_else(|| words(&error)))?;
    // Where only an authenticated client gets in, the brokers are shown with why the probe does not. Else the probe
    // knows better: librdkafka does not notice when its bootstrap list leads to two clusters.
    if shared.no_way_in() {
        shared.learn(&addresses(&metadata));
    }
    Ok(view(shared.now(), &metadata))
}

fn open(shared: &Shared) -> Result<BaseConsumer<Eye>, KafkaError> {
    let security = shared.config.properties.get("security.protocol").map(|protocol| protocol.to_ascii_lowercase());
    let logs_in = security.is_some_and(|protocol| protocol.starts_with("sasl"));
    let mut properties = ClientConfig::new();
    // librdkafka logs in again at each connection: slowly enough that a refusal is noticed before the next attempt.
    properties
        .set("reconnect.backoff.ms", if logs_in { "1000" } else { "100" })
        .set("reconnect.backoff.max.ms", "1000");
    for (name, value) in &shared.config.properties {
        if !OURS.contains(&name.as_str()) {
            properties.set(name, value);
        }
    }
    properties
        .set("bootstrap.servers", shared.config.bootstrap.join(","))
        .set("client.id", CLIENT_ID)
        .set("allow.auto.create.topics", "false");
    properties.create_with_context(Eye { cluster: shared.config.name.clone(), logs_in, refusal: Mutex::default() })
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

fn view(at: Timestamp, metadata: &Metadata) -> ClientView {
    let topics = metadata.topics().iter().map(|topic| Topic {
        name: topic.name(),
        partitions: topic.partitions().iter().map(|partition| Partition {
            number: partition.id(),
            leader: Some(partition.leader()).filter(|leader| *leader >= 0),
            replicas: partition.replicas(),
            isr: partition.isr(),
        }),
    });
    super::view(at, metadata.brokers().iter().map(MetadataBroker::id), topics)
}

/// Passes librdkafka's words on to our log, and keeps those about a refused login or TLS handshake.
struct Eye {
    cluster: String,
    logs_in: bool,
    refusal: Mutex<Option<String>>,
}

impl Eye {
    fn refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The last refusal; forgotten now, unless it is one of a login.
    fn take_refusal(&self) -> Option<String> {
        if self.logs_in {
            return self.refusal();
        }
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn refused(&self) -> bool {
        self.logs_in && self.refusal().is_some()
    }
}

impl ClientContext for Eye {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, text: &str) {
        tracing::debug!(cluster = self.cluster, facility, "{text}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(cluster = self.cluster, "{error}: {reason}");
        if let Some(RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SSL) = error.rdkafka_error_code() {
            // Without its times, which would make every repetition look like news.
            let text = reason.split(" (after ").next().unwrap_or(reason).to_owned();
            *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        }
    }
}

impl ConsumerContext for Eye {}
