//! Transactions (KIP-664): open ones (ListTransactions), made-up ones (DescribeTransactions), and producers on
//! partitions (DescribeProducers).

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::generated::describe_producers_request::TopicRequest;
use kacrab_protocol::generated::{
    DescribeProducersRequestData, DescribeProducersResponseData, DescribeTransactionsRequestData,
    DescribeTransactionsResponseData, ListTransactionsRequestData, ListTransactionsResponseData,
};

use super::{Decoded, Request, malformed, unwritable};
use crate::decode::{owned, text};
use crate::{Api, WireError};

/// Asks a broker for the ongoing transactions whose coordinator it is. Those that the account may not describe are
/// left out without a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListTransactionsRequest {
    /// Only those that have been open for longer than this (version 1 on, KIP-994; below, all are told).
    pub open_for: Duration,
}

impl ListTransactionsRequest {
    /// Whether this version tells only transactions of a certain age.
    #[must_use]
    pub fn filters_by_age(version: i16) -> bool {
        version >= 1
    }
}

/// Open transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListTransactionsAnswer {
    /// Error code: 14 while the coordinator loads.
    pub error: i16,
    /// The transactions.
    pub transactions: Vec<TransactionAnswer>,
    /// Length of the answer in bytes.
    pub bytes: usize,
}

/// An open transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionAnswer {
    /// The transactional id.
    pub transactional_id: String,
    /// The producer's id.
    pub producer_id: i64,
    /// Its state.
    pub state: String,
}

impl Request for ListTransactionsRequest {
    type Answer = ListTransactionsAnswer;
    const API: Api = Api::ListTransactions;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        let mut request = ListTransactionsRequestData::default().with_state_filters(vec![text("Ongoing")?]);
        if Self::filters_by_age(version) {
            request.duration_filter = i64::try_from(self.open_for.as_millis()).unwrap_or(i64::MAX);
        }
        request.write(out, version).map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let bytes = body.len();
        let answer = ListTransactionsResponseData::read(body, version).map_err(malformed)?;
        let transactions = answer
            .transaction_states
            .iter()
            .map(|one| TransactionAnswer {
                transactional_id: owned(&one.transactional_id),
                producer_id: one.producer_id,
                state: owned(&one.transaction_state),
            })
            .collect();
        Ok(Decoded {
            answer: ListTransactionsAnswer { error: answer.error_code, transactions, bytes },
            throttle_ms: answer.throttle_time_ms,
        })
    }
}

/// Asks about transactional ids. For one that does not exist its coordinator answers error 105, and nothing is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribeTransactionsRequest {
    /// Transactional ids; not empty ones.
    pub ids: Vec<String>,
}

impl Request for DescribeTransactionsRequest {
    /// Error code by transactional id.
    type Answer = BTreeMap<String, i16>;
    const API: Api = Api::DescribeTransactions;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        let ids = self.ids.iter().map(|id| text(id)).collect::<Result<_, _>>()?;
        DescribeTransactionsRequestData::default().with_transactional_ids(ids).write(out, version).map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let answer = DescribeTransactionsResponseData::read(body, version).map_err(malformed)?;
        let codes =
            answer.transaction_states.iter().map(|one| (owned(&one.transactional_id), one.error_code)).collect();
        Ok(Decoded { answer: codes, throttle_ms: answer.throttle_time_ms })
    }
}

/// Asks the coordinator of one transactional id how its transaction stands. Nothing is created for an id that does not
/// exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribeTransactionRequest {
    /// The transactional id; not the empty one.
    pub id: String,
}

/// How a transaction stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionDescription {
    /// Error code: 105 if the coordinator knows no such id.
    pub error: i16,
    /// The state, such as `Ongoing`.
    pub state: String,
    /// The producer's id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// `transaction.timeout.ms` of the producer.
    pub timeout_ms: i32,
    /// When it began, in milliseconds since 1970; -1 if none is open.
    pub started_ms: i64,
    /// The partitions that are part of it, by topic.
    pub partitions: BTreeMap<String, Vec<i32>>,
}

impl Request for DescribeTransactionRequest {
    /// `None` if the broker answered for another id.
    type Answer = Option<TransactionDescription>;
    const API: Api = Api::DescribeTransactions;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        DescribeTransactionsRequest { ids: vec![self.id.clone()] }.encode(version, out)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let answer = DescribeTransactionsResponseData::read(body, version).map_err(malformed)?;
        let found = answer.transaction_states.iter().find(|one| one.transactional_id.as_str() == self.id);
        let described = found.map(|one| TransactionDescription {
            error: one.error_code,
            state: owned(&one.transaction_state),
            producer_id: one.producer_id,
            producer_epoch: one.producer_epoch,
            timeout_ms: one.transaction_timeout_ms,
            started_ms: one.transaction_start_time_ms,
            partitions: one.topics.iter().map(|topic| (owned(&topic.topic), topic.partitions.clone())).collect(),
        });
        Ok(Decoded { answer: described, throttle_ms: answer.throttle_time_ms })
    }
}

/// Asks for producers on partitions of one topic that the broker has replicas of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribeProducersRequest {
    /// The topic.
    pub topic: String,
    /// Partitions of it.
    pub partitions: Vec<i32>,
}

/// Producers with an open transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeProducersAnswer {
    /// By partition: its error code, or producers that have a transaction open there.
    pub partitions: BTreeMap<i32, Result<Vec<ProducerAnswer>, i16>>,
    /// Length of the answer in bytes.
    pub bytes: usize,
}

/// A producer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProducerAnswer {
    /// Its id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i32,
    /// Epoch of the coordinator that wrote the last marker; -1 if none.
    pub coordinator_epoch: i32,
    /// When it wrote last, in milliseconds since 1970; `None` for -1.
    pub last_timestamp: Option<i64>,
    /// First offset of its open transaction.
    pub txn_start_offset: i64,
}

impl Request for DescribeProducersRequest {
    type Answer = DescribeProducersAnswer;
    const API: Api = Api::DescribeProducers;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        let topic =
            TopicRequest::default().with_name(text(&self.topic)?).with_partition_indexes(self.partitions.clone());
        DescribeProducersRequestData::default().with_topics(vec![topic]).write(out, version).map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let bytes = body.len();
        let answer = DescribeProducersResponseData::read(body, version).map_err(malformed)?;
        let topics = answer.topics.iter().filter(|topic| topic.name.as_str() == self.topic);
        let partitions = topics
            .flat_map(|topic| &topic.partitions)
            .map(|partition| {
                let open = partition.active_producers.iter().filter(|producer| producer.current_txn_start_offset >= 0);
                let told = open
                    .map(|producer| ProducerAnswer {
                        producer_id: producer.producer_id,
                        producer_epoch: producer.producer_epoch,
                        coordinator_epoch: producer.coordinator_epoch,
                        last_timestamp: Some(producer.last_timestamp).filter(|time| *time >= 0),
                        txn_start_offset: producer.current_txn_start_offset,
                    })
                    .collect();
                let told = if partition.error_code == 0 { Ok(told) } else { Err(partition.error_code) };
                (partition.partition_index, told)
            })
            .collect();
        Ok(Decoded { answer: DescribeProducersAnswer { partitions, bytes }, throttle_ms: answer.throttle_time_ms })
    }
}
