//! What brokers keep on their disks, and what is being moved.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{BrokerId, PartitionId};

/// The log directories of one broker (DescribeLogDirs, 1.0+, KIP-113).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogDirs {
    /// When it answered.
    pub at: Timestamp,
    /// Its directories, in the order in which it told them. A failed one is named too, with its error.
    pub dirs: Vec<LogDir>,
    /// Its replicas of `__consumer_offsets`; those in a failed directory are not told.
    pub offsets: BTreeMap<PartitionId, ReplicaSize>,
    /// Bytes of its replicas of `__consumer_offsets` together: what its coordinators would have to read at most.
    pub bytes: i64,
}

/// One log directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogDir {
    /// Its path on the broker's machine.
    pub path: String,
    /// 0, or 56 KAFKA_STORAGE_ERROR: the broker has given it up (disk full, I/O error) until it is restarted.
    pub error: i16,
    /// Size of the volume in bytes; `None` if not told (below v4, Kafka 3.3, KIP-827).
    pub total_bytes: Option<i64>,
    /// Bytes that are free on the volume; `None` if not told (below v4).
    pub usable_bytes: Option<i64>,
}

/// One replica of `__consumer_offsets` on a broker's disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaSize {
    /// Bytes of its segments.
    pub bytes: i64,
    /// How far its log end is behind the high watermark (current replica) or the current replica (future one); 0 if not.
    pub offset_lag: i64,
    /// Whether this is a copy that is to replace the current one in another directory (AlterReplicaLogDirs).
    /// Where both are told, the current one is kept.
    pub is_future: bool,
    /// The directory that holds it.
    pub dir: String,
}

/// A running reassignment of one partition (ListPartitionReassignments, 2.4+, KIP-455).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reassignment {
    /// All replicas at present, those to come and those to go included.
    pub replicas: Vec<BrokerId>,
    /// Replicas that are being added.
    pub adding: Vec<BrokerId>,
    /// Replicas that go once the added ones are in sync.
    pub removing: Vec<BrokerId>,
}
