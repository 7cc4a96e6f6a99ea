//! Transactions: whether their coordinators serve, what is open, and who has a transaction open on `__consumer_offsets`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use unstuck_diagnosis::snapshot::{
    Canary, OpenProducer, OpenTransaction, OpenTransactions, PRODUCERS_CAP, TRANSACTION_STATE, TRANSACTIONS_CAP, Why,
};
use unstuck_diagnosis::{GroupId, OFFSETS_TOPIC};
use unstuck_wire::messages::transactions::{
    DescribeProducersRequest, DescribeTransactionsRequest, ListTransactionsRequest, ProducerAnswer,
};
use unstuck_wire::{Api, Connection, WireError};

use super::{LARGE_ANSWER, LARGE_EVERY, Look, keep};
use crate::why::miss;

/// Younger transactions are nobody's trouble: the default of `transaction.timeout.ms`.
const OPEN_FOR: Duration = Duration::from_secs(60);

impl Look<'_> {
    /// Made-up transactional ids, one for each partition of `__transaction_state`, in one request.
    pub(super) async fn transaction_canaries(
        &self,
        connection: &mut Connection,
    ) -> Result<Option<Duration>, WireError> {
        let cadence = &self.shared.config.cadence;
        let partitions = self
            .shared
            .read(self.id, |sight| {
                Some(sight.metadata.known()?.state_topics.get(TRANSACTION_STATE)?.partitions.clone())
            })
            .unwrap_or_default();
        if partitions.is_empty() || connection.version(Api::DescribeTransactions).is_none() {
            self.note(|sight, _| !std::mem::take(&mut sight.transaction_canaries).is_empty());
            return Ok(None);
        }
        let set = self.shared.transaction_canaries();
        let ids: BTreeMap<&str, i32> = set.ids.iter().map(|(partition, id)| (id.as_str(), *partition)).collect();
        let request = DescribeTransactionsRequest { ids: ids.keys().map(|id| (*id).to_owned()).collect() };
        let codes = connection.call(&request, self.deadline()).await?.answer;
        let mut told = BTreeMap::new();
        for (id, code) in codes {
            let Some(partition) = ids.get(id.as_str()) else { continue };
            let leader_before = partitions.get(partition).map_or((None, None), |one| (one.leader, one.leader_epoch));
            told.insert(*partition, (GroupId(id), code, leader_before));
        }
        let fine = told.values().all(|(_, code, (leader, _))| match code {
            105 => *leader == Some(self.id),
            16 => *leader != Some(self.id),
            _ => false,
        });
        self.note(|sight, at| {
            let before = std::mem::take(&mut sight.transaction_canaries);
            let mut news = before.len() != told.len();
            for (partition, (group, code, leader_before)) in told {
                let was = before.get(&partition);
                news |= was.is_none_or(|was| was.code != code);
                let same = was.filter(|was| was.code == code && was.leader_before == leader_before);
                let same_since = same.map_or(at, |was| was.same_since);
                sight.transaction_canaries.insert(partition, Canary { group, at, code, leader_before, same_since });
            }
            news
        });
        Ok((!fine).then_some(cadence.quorum))
    }

    /// Transactions that this coordinator holds for ongoing; from Kafka 3.8 on only those that are old.
    pub(super) async fn transactions(&self, connection: &mut Connection) -> Result<Option<Duration>, WireError> {
        if self.too_old(connection, Api::ListTransactions, |sight| &mut sight.open_transactions) {
            return Ok(None);
        }
        let by_age = connection.version(Api::ListTransactions).is_some_and(ListTransactionsRequest::filters_by_age);
        let answer = connection.call(&ListTransactionsRequest { open_for: OPEN_FOR }, self.deadline()).await?.answer;
        let ongoing = answer.transactions.len();
        let mut open: Vec<OpenTransaction> = answer
            .transactions
            .into_iter()
            .map(|one| OpenTransaction {
                transactional_id: one.transactional_id,
                producer_id: one.producer_id,
                state: one.state,
            })
            .collect();
        open.sort_unstable();
        open.truncate(TRANSACTIONS_CAP);
        let open_for_ms = if by_age { i64::try_from(OPEN_FOR.as_millis()).unwrap_or(i64::MAX) } else { 0 };
        self.note(|sight, at| match answer.error {
            0 => {
                let told = OpenTransactions { at, open_for_ms, ongoing, oldest: open };
                // They come and go: worth keeping, not worth publishing at once.
                keep(&mut sight.open_transactions, told, |_, _| true)
            }
            code => miss(&mut sight.open_transactions, &Why::ErrorCode(code), at),
        });
        Ok((answer.bytes > LARGE_ANSWER).then(|| self.shared.config.cadence.transactions * LARGE_EVERY))
    }

    /// Producers that have a transaction open on partitions of `__consumer_offsets` which this broker leads.
    pub(super) async fn producers(&self, connection: &mut Connection) -> Result<Option<Duration>, WireError> {
        if self.too_old(connection, Api::DescribeProducers, |sight| &mut sight.producers) {
            return Ok(None);
        }
        let Some(topic) = self.topic() else {
            self.note(|sight, now| miss(&mut sight.producers, &Why::NoOffsetsTopic, now));
            return Ok(None);
        };
        let led = topic.partitions.into_iter().filter(|(_, view)| view.leader == Some(self.id));
        let partitions: Vec<_> = led.map(|(partition, _)| partition).collect();
        let mut told = BTreeMap::new();
        let (mut refused, mut bytes) = (None, 0);
        if !partitions.is_empty() {
            let request = DescribeProducersRequest { topic: OFFSETS_TOPIC.to_owned(), partitions };
            let answer = connection.call(&request, self.deadline()).await?.answer;
            bytes = answer.bytes;
            for (partition, producers) in answer.partitions {
                match producers {
                    Ok(producers) if producers.is_empty() => {}
                    Ok(producers) => drop(told.insert(partition, oldest(producers))),
                    // Leadership has moved on: the next leader tells.
                    Err(3 | 6) => {}
                    Err(code) => refused = Some(code),
                }
            }
        }
        let why = refused.map(|code| match code {
            29 => Why::NotPermitted(format!("READ on TOPIC {OFFSETS_TOPIC}")),
            code => Why::ErrorCode(code),
        });
        self.note(|sight, at| match why {
            Some(why) => miss(&mut sight.producers, &why, at),
            None => keep(&mut sight.producers, told, |_, _| true),
        });
        Ok((bytes > LARGE_ANSWER).then(|| self.shared.config.cadence.transactions * LARGE_EVERY))
    }
}

/// The first transactions by their first offset, which is the order in which they began.
fn oldest(mut producers: Vec<ProducerAnswer>) -> Vec<OpenProducer> {
    producers.sort_unstable_by_key(|producer| (producer.txn_start_offset, producer.producer_id));
    producers
        .into_iter()
        .take(PRODUCERS_CAP)
        .map(|producer| OpenProducer {
            producer_id: producer.producer_id,
            producer_epoch: producer.producer_epoch,
            coordinator_epoch: producer.coordinator_epoch,
            last_timestamp: producer.last_timestamp.and_then(|time| Timestamp::from_millisecond(time).ok()),
            txn_start_offset: producer.txn_start_offset,
        })
        .collect()
}
