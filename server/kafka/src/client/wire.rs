//! The client's eye over a connection of ours, for simulated time. It behaves as librdkafka does as far as that shows:
//! keeps a connection while it answers, else tries the bootstrap addresses and the brokers in turn, and says the same words when nobody answers.

use rdkafka::error::RDKafkaErrorCode;
use tokio::time::{Instant, MissedTickBehavior, interval};
use unstuck_diagnosis::snapshot::ClientView;
use unstuck_wire::messages::metadata::{Keep, MetadataAnswer, MetadataRequest, Topics};
use unstuck_wire::{Connection, WireError};

use super::{METADATA_DEADLINE, Partition, Topic};
use crate::shared::Shared;

/// Looks for ever.
pub(super) async fn watch(shared: &Shared) {
    let mut client = Client { shared, connection: None, last: None };
    let mut failing = None;
    let mut looks = interval(shared.config.cadence.client);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let seen = client.look().await;
        super::publish(shared, seen, &mut failing);
    }
}

struct Client<'a> {
    shared: &'a Shared,
    /// A connection that answered last time.
    connection: Option<Connection>,
    /// The address tried last: after a failure the next one has its turn.
    last: Option<String>,
}

impl Client<'_> {
    async fn look(&mut self) -> Result<ClientView, String> {
        let until = Instant::now() + METADATA_DEADLINE;
        let answer = match self.ask(until).await {
            Ok(answer) => answer,
            Err(WireError::Silent) => return Err(RDKafkaErrorCode::OperationTimedOut.to_string()),
            Err(_) => return Err(RDKafkaErrorCode::BrokerTransportFailure.to_string()),
        };
        if self.shared.no_way_in() {
            self.shared.learn(&answer.brokers);
        }
        let topics = answer.topics.iter().map(|(name, topic)| Topic {
            name,
            partitions: topic.partitions.iter().map(|(number, told)| Partition {
                number: *number,
                leader: told.leader,
                replicas: &told.replicas,
                isr: &told.isr,
            }),
        });
        Ok(super::view(self.shared.now(), answer.brokers.keys().copied(), topics))
    }

    /// The first answer, from the connection that stands or from the addresses in turn; silence of any one of them if
    /// there is none, else the last failure.
    async fn ask(&mut self, until: Instant) -> Result<MetadataAnswer, WireError> {
        let mut failure = WireError::Refused;
        if let Some(connection) = self.connection.take() {
            match self.ask_on(connection, until).await {
                Ok(answer) => return Ok(answer),
                Err(error) => failure = worse(failure, error),
            }
        }
        for address in self.addresses() {
            if Instant::now() >= until {
                break;
            }
            self.last = Some(address.clone());
            let asked = match self.shared.connect(&address, self.share(until)).await {
                Ok(mut connection) => match connection.handshake(self.share(until)).await {
                    Ok(()) => self.ask_on(connection, until).await,
                    Err(error) => Err(error),
                },
                Err(error) => Err(error),
            };
            match asked {
                Ok(answer) => return Ok(answer),
                Err(error) => failure = worse(failure, error),
            }
        }
        Err(failure)
    }

    async fn ask_on(&mut self, mut connection: Connection, until: Instant) -> Result<MetadataAnswer, WireError> {
        let request = MetadataRequest { topics: Topics::All, keep: Keep::All, cluster_operations: false };
        let answered = connection.call(&request, self.share(until)).await?;
        self.connection = Some(connection);
        Ok(answered.answer)
    }

    /// One step's share of the time: one hung address must not use up all of it.
    fn share(&self, until: Instant) -> std::time::Duration {
        until.saturating_duration_since(Instant::now()).min(self.shared.config.request_timeout)
    }

    /// Where to ask: ways in first, then the brokers that are known; beginning behind the one that failed last.
    fn addresses(&self) -> Vec<String> {
        let mut all = self.shared.config.bootstrap.clone();
        for (id, _) in self.shared.brokers() {
            if let Some(address) = self.shared.address(id).filter(|address| !all.contains(address)) {
                all.push(address);
            }
        }
        if let Some(at) = self.last.as_ref().and_then(|last| all.iter().position(|address| address == last)) {
            all.rotate_left(at + 1);
        }
        all
    }
}

/// Silence says more than refusals do: the client would have waited in vain, not been turned away.
fn worse(before: WireError, now: WireError) -> WireError {
    if before == WireError::Silent { before } else { now }
}
