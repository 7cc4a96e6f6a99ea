//! Transactions that are open, as far as coordinators and partition leaders tell (KIP-664).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How many open transactions are kept of one coordinator.
pub const TRANSACTIONS_CAP: usize = 20;

/// How many producers are kept of one partition.
pub const PRODUCERS_CAP: usize = 20;

/// Transactions that one broker's transaction coordinator holds for ongoing (ListTransactions with that state only).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTransactions {
    /// When it answered.
    pub at: Timestamp,
    /// Only transactions that have been open for longer than this were asked for (v1+, Kafka 3.8, KIP-994);
    /// 0 where the release cannot tell them apart, so that all that are open are told.
    pub open_for_ms: i64,
    /// How many of these there are, as far as we may see them: those without DESCRIBE on their transactional id are left
    /// out silently.
    pub ongoing: usize,
    /// The first [`TRANSACTIONS_CAP`] of them, by transactional id: their age is not told.
    pub oldest: Vec<OpenTransaction>,
}

/// One open transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OpenTransaction {
    /// The transactional id.
    pub transactional_id: String,
    /// The producer's id.
    pub producer_id: i64,
    /// Such as `Ongoing`.
    pub state: String,
}

/// A producer that has a transaction open on a partition, as its leader tells (DescribeProducers).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenProducer {
    /// The producer's id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i32,
    /// Epoch of the transaction coordinator that wrote the last marker; -1 if none did yet.
    pub coordinator_epoch: i32,
    /// When it last wrote to the partition.
    pub last_timestamp: Option<Timestamp>,
    /// First offset of the open transaction. Everything behind it is invisible to read_committed consumers, and a
    /// coordinator does not apply the offsets that it commits before the transaction ends.
    pub txn_start_offset: i64,
}
