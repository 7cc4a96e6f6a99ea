//! The client's eye through librdkafka, with every security mechanism that clients have.
//!
//! A consumer without `group.id`: it never looks for a coordinator and creates nothing. It is polled, so that its event
//! queue stays empty and OAUTHBEARER tokens are refreshed. Everything here blocks, so it has a thread of its own.
//!
//! A client keeps what it was told when it was made. After a refusal another one is made, which is told what the files
//! of secrets and certificates hold then.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use rdkafka::client::{ClientContext, OAuthToken};
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::metadata::{Metadata, MetadataBroker};
use secrecy::{ExposeSecret, SecretString};
use tokio::runtime::Handle;
use unstuck_diagnosis::BrokerId;
use unstuck_diagnosis::snapshot::{ClientView, Why};
use unstuck_security::{TicketError, Tokens};
use unstuck_wire::WireError;
use unstuck_wire::messages::metadata::{BrokerAddress, host_port};

use super::properties::{Properties, Unusable};
use super::{METADATA_DEADLINE, Partition, Topic};
use crate::shared::Shared;

const POLL: Duration = Duration::from_millis(100);
/// How long the first login may take before metadata is asked for.
const LOGIN: Duration = Duration::from_millis(500);
/// The pause after a refused login: too many of them lock an account.
const AFTER_REFUSAL: Duration = Duration::from_secs(30);
/// The pause after a file could not be read, or there was no ticket.
const AFTER_UNREADABLE: Duration = Duration::from_secs(5);
/// How often it is looked whether a file changed that was not valid, or held a secret that was refused.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// For how long the words about a refused TLS handshake stand while nothing else is heard: librdkafka keeps equal errors
/// of a broker to itself for 30 s (`rd_kafka_broker_set_error`).
const REPEATED: Duration = Duration::from_secs(40);
/// How often it is seen to a ticket of Kerberos, which librdkafka does not renew.
const RENEWAL: Duration = Duration::from_secs(30);
/// How long librdkafka keeps a token that does not say when it ends.
const UNTOLD_LIFE: SignedDuration = SignedDuration::from_mins(5);

/// Starts the thread. It ends by itself soon after the collector stops; nobody waits for it, because a request to a
/// dead cluster blocks it for seconds.
pub(super) fn start(shared: Arc<Shared>) {
    let runtime = Handle::current();
    let spawned = std::thread::Builder::new().name("client-eye".to_owned()).spawn({
        let shared = Arc::clone(&shared);
        move || watch(&shared, &runtime)
    });
    if let Err(error) = spawned {
        shared.client(Err(Why::Client(format!("no thread for the client: {error}"))));
    }
}

fn watch(shared: &Shared, runtime: &Handle) {
    let mut failing = None;
    while !shared.stop.is_cancelled() {
        match look(shared, runtime, &mut failing) {
            End::Stopped | End::ToldAnew => {}
            End::Impossible(text) => {
                super::publish(shared, Err(text), &mut failing);
                return;
            }
            End::Invalid(text, told) => {
                super::publish(shared, Err(text), &mut failing);
                // A file may have been read while it was written.
                while !shared.stop.is_cancelled() && !changed(shared, &told) {
                    pause(shared, LOOK_AGAIN);
                }
            }
            End::Unreadable(text) => {
                super::publish(shared, Err(text), &mut failing);
                pause(shared, AFTER_UNREADABLE);
            }
            End::LoginRefused(told) => {
                let again = Instant::now() + AFTER_REFUSAL;
                // Who has another secret need not wait.
                while Instant::now() < again && !shared.stop.is_cancelled() && !changed(shared, &told) {
                    pause(shared, LOOK_AGAIN);
                }
            }
        }
    }
}

fn pause(shared: &Shared, length: Duration) {
    let again = Instant::now() + length;
    while Instant::now() < again && !shared.stop.is_cancelled() {
        std::thread::sleep(POLL);
    }
}

/// Whether a client that is made now would be told something else: a file changed.
fn changed(shared: &Shared, told: &Properties) -> bool {
    Properties::of(&shared.config).is_ok_and(|now| !now.same(told))
}

/// Why a client's time ended.
enum End {
    Stopped,
    /// Never in this build.
    Impossible(String),
    /// The properties, or what is in the files that they come from, are not valid.
    Invalid(String, Arc<Properties>),
    /// A file cannot be read now, or there is no ticket.
    Unreadable(String),
    /// Its connections are refused, and meanwhile a file changed.
    ToldAnew,
    /// With what it was told.
    LoginRefused(Arc<Properties>),
}

fn look(shared: &Shared, runtime: &Handle, failing: &mut Option<String>) -> End {
    let told = match Properties::of(&shared.config) {
        Ok(told) => Arc::new(told),
        Err(error @ Unusable::Unreadable(_)) => return End::Unreadable(error.to_string()),
        Err(error @ Unusable::NotBuiltIn(_)) => return End::Impossible(error.to_string()),
    };
    if let Err(error) = ticket(shared, runtime) {
        return End::Unreadable(WireError::NoTicket(error.to_string()).to_string());
    }
    let eye = Eye {
        cluster: shared.config.name.clone(),
        host: shared.config.bootstrap.first().cloned().unwrap_or_default(),
        logs_in: told.logs_in,
        told: Arc::clone(&told),
        tokens: shared.tokens.clone(),
        runtime: runtime.clone(),
        token: Mutex::default(),
        refusal: Mutex::default(),
    };
    let eye: BaseConsumer<Eye> = match told.config().create_with_context(eye) {
        Ok(eye) => eye,
        Err(error) => return End::Invalid(told.words(&error), told),
    };
    if eye.context().logs_in {
        // The first connection is made without being asked; see how it ends before asking for more.
        let until = Instant::now() + LOGIN;
        while Instant::now() < until && !eye.context().refused() {
            drop(eye.poll(POLL));
        }
    }
    let mut next = Instant::now();
    let mut renewed = Instant::now();
    while !shared.stop.is_cancelled() {
        let refused = eye.context().refused();
        if refused || Instant::now() >= next {
            next = Instant::now() + shared.config.cadence.client;
            let seen = ask(shared, &eye);
            let failed = seen.is_err();
            super::publish(shared, seen, failing);
            if failed && !refused && changed(shared, &told) {
                return End::ToldAnew;
            }
        }
        if refused {
            return End::LoginRefused(told);
        }
        if shared.tickets.is_some() && renewed.elapsed() > RENEWAL {
            renewed = Instant::now();
            // Its failure is logged where it happens, and told when somebody has to log in.
            drop(ticket(shared, runtime));
        }
        // No messages can come, only events: errors and token refreshes, which the context handles.
        drop(eye.poll(POLL));
    }
    End::Stopped
}

/// Has a ticket of Kerberos in the credentials cache, from which librdkafka takes it at each connection.
fn ticket(shared: &Shared, runtime: &Handle) -> Result<(), TicketError> {
    shared.tickets.as_ref().map_or(Ok(()), |tickets| runtime.block_on(tickets.ready()))
}

/// The cluster as the client sees it, or its words about why it does not.
fn ask(shared: &Shared, eye: &BaseConsumer<Eye>) -> Result<ClientView, String> {
    if let Some(refusal) = eye.context().refusal().filter(|_| eye.context().logs_in) {
        return Err(refusal);
    }
    let seen = eye.fetch_metadata(None, METADATA_DEADLINE);
    // Errors come as events: this takes those that say more than the result does.
    drop(eye.poll(Duration::ZERO));
    let metadata = seen.map_err(|error| eye.context().refusal().unwrap_or_else(|| words(&error)))?;
    eye.context().let_in();
    // Where only an authenticated client gets in, the brokers are shown with why the probe does not. Else the probe
    // knows better: librdkafka does not notice when its bootstrap list leads to two clusters.
    if shared.no_way_in() {
        shared.learn(&addresses(&metadata));
    }
    Ok(view(shared.now(), &metadata))
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
    /// Named in the log when a token is asked for; librdkafka does not say for whom it is.
    host: String,
    logs_in: bool,
    told: Arc<Properties>,
    tokens: Option<Tokens>,
    runtime: Handle,
    /// The last one that was given to librdkafka.
    token: Mutex<Option<SecretString>>,
    refusal: Mutex<Option<(String, Instant)>>,
}

impl Eye {
    /// Words of librdkafka, or of a broker that it passes on.
    fn without_secrets(&self, text: &str) -> String {
        let text = self.told.without_secrets(text);
        match self.token.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(token) => text.replace(token.expose_secret(), "***"),
            None => text,
        }
    }

    /// The last refusal, while it stands: that of a login until it is over by another client.
    fn refusal(&self) -> Option<String> {
        let stands = if self.logs_in { Duration::MAX } else { REPEATED };
        let refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        refusal.as_ref().filter(|(_, at)| at.elapsed() < stands).map(|(text, _)| text.clone())
    }

    /// Somebody answered: what was refused before is over, unless it was a login.
    fn let_in(&self) {
        if !self.logs_in {
            self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }

    fn refused(&self) -> bool {
        self.logs_in && self.refusal().is_some()
    }
}

impl ClientContext for Eye {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    /// Called while we poll, on the thread of this file, which may block.
    fn generate_oauth_token(&self, _config: Option<&str>) -> Result<OAuthToken, Box<dyn std::error::Error>> {
        let tokens = self.tokens.as_ref().ok_or("OAUTHBEARER is not configured with a source of tokens")?;
        let token = self.runtime.block_on(tokens.token(&self.host))?;
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = Some(token.value.clone());
        let untold = || Timestamp::now().saturating_add(UNTOLD_LIFE).unwrap_or(Timestamp::MAX);
        Ok(OAuthToken {
            token: token.value.expose_secret().to_owned(),
            principal_name: token.principal.unwrap_or_default(),
            lifetime_ms: token.expires.unwrap_or_else(untold).as_millisecond(),
        })
    }

    fn log(&self, _level: RDKafkaLogLevel, facility: &str, text: &str) {
        tracing::debug!(cluster = self.cluster, facility, "{}", self.without_secrets(text));
    }

    fn error(&self, error: KafkaError, reason: &str) {
        let reason = self.without_secrets(reason);
        tracing::debug!(cluster = self.cluster, "{error}: {reason}");
        let refused = match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SSL) => true,
            // In TLS 1.3 a broker refuses our certificate after the handshake, which is a lost connection for librdkafka.
            Some(RDKafkaErrorCode::BrokerTransportFailure) => reason.contains("SSL alert number"),
            _ => false,
        };
        if refused {
            // Without its times, which would make every repetition look like news.
            let text = about_certificates(reason.split(" (after ").next().unwrap_or(&reason));
            *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some((text, Instant::now()));
        }
    }
}

impl ConsumerContext for Eye {}

/// librdkafka takes every certificate that it does not accept for one that is not trusted, and sends people to
/// `ssl.ca.location` even if it has expired or is for another host (`rd_kafka_transport_ssl_set_endpoint_id`,
/// `rd_kafka_ssl_error` in 2.x).
fn about_certificates(text: &str) -> String {
    match text.split_once(": broker certificate could not be verified") {
        Some((before, _)) => format!(
            "{before}: the broker's certificate is not trusted (tls.ca), not valid now, or for another host \
             (tls.verify_host); librdkafka does not say which"
        ),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::about_certificates;

    #[test]
    fn a_certificate_that_is_not_accepted_need_not_be_one_that_is_not_trusted() {
        let told = "ssl://kafka-1:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify \
                    failed: broker certificate could not be verified, verify that ssl.ca.location is correctly \
                    configured or root CA certificates are installed (install ca-certificates package)";
        assert_eq!(
            about_certificates(told),
            "ssl://kafka-1:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: \
             the broker's certificate is not trusted (tls.ca), not valid now, or for another host (tls.verify_host); \
             librdkafka does not say which"
        );
        let other = "ssl://kafka-1:9093/1: SSL handshake failed: Disconnected";
        assert_eq!(about_certificates(other), other);
    }
}
