//! Log directories (DescribeLogDirs) and running reassignments (ListPartitionReassignments).

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::generated::describe_log_dirs_request::DescribableLogDirTopic;
use kacrab_protocol::generated::list_partition_reassignments_request::ListPartitionReassignmentsTopics;
use kacrab_protocol::generated::{
    DescribeLogDirsRequestData, DescribeLogDirsResponseData, ListPartitionReassignmentsRequestData,
    ListPartitionReassignmentsResponseData,
};

use super::{Decoded, Request, malformed, unwritable};
use crate::decode::{owned, text};
use crate::{Api, WireError};

/// Asks for a broker's log directories, and for its replicas of these partitions of one topic. Creates nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribeLogDirsRequest {
    /// The topic.
    pub topic: String,
    /// Partitions of it; none to ask for the directories alone.
    pub partitions: Vec<i32>,
}

/// Log directories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeLogDirsAnswer {
    /// Error code of the whole answer (version 3 on). Below, an account without rights gets no directories.
    pub error: i16,
    /// The directories.
    pub dirs: Vec<LogDirAnswer>,
}

/// One log directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogDirAnswer {
    /// Its path.
    pub path: String,
    /// Its error code: 56 if it failed.
    pub error: i16,
    /// Size of the volume (version 4 on).
    pub total_bytes: Option<i64>,
    /// Free space of the volume (version 4 on).
    pub usable_bytes: Option<i64>,
    /// Replicas in it.
    pub replicas: Vec<ReplicaAnswer>,
}

/// One replica in a log directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplicaAnswer {
    /// The partition.
    pub partition: i32,
    /// Bytes of its segments.
    pub bytes: i64,
    /// How far it is behind.
    pub offset_lag: i64,
    /// Whether it is to replace the current one.
    pub is_future: bool,
}

impl Request for DescribeLogDirsRequest {
    type Answer = DescribeLogDirsAnswer;
    const API: Api = Api::DescribeLogDirs;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        let topic =
            DescribableLogDirTopic::default().with_topic(text(&self.topic)?).with_partitions(self.partitions.clone());
        DescribeLogDirsRequestData::default().with_topics(Some(vec![topic])).write(out, version).map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let answer = DescribeLogDirsResponseData::read(body, version).map_err(malformed)?;
        let told = |bytes: i64| Some(bytes).filter(|bytes| *bytes >= 0 && version >= 4);
        let dirs = answer
            .results
            .iter()
            .map(|dir| LogDirAnswer {
                path: owned(&dir.log_dir),
                error: dir.error_code,
                total_bytes: told(dir.total_bytes),
                usable_bytes: told(dir.usable_bytes),
                replicas: dir
                    .topics
                    .iter()
                    .filter(|topic| topic.name.as_str() == self.topic)
                    .flat_map(|topic| &topic.partitions)
                    .map(|replica| ReplicaAnswer {
                        partition: replica.partition_index,
                        bytes: replica.partition_size,
                        offset_lag: replica.offset_lag,
                        is_future: replica.is_future_key,
                    })
                    .collect(),
            })
            .collect();
        Ok(Decoded {
            answer: DescribeLogDirsAnswer { error: answer.error_code, dirs },
            throttle_ms: answer.throttle_time_ms,
        })
    }
}

/// Asks which of these partitions of one topic are being reassigned. Brokers in KRaft mode forward it to the active
/// controller; in ZooKeeper mode only the controller answers. Creates nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPartitionReassignmentsRequest {
    /// The topic.
    pub topic: String,
    /// Partitions of it.
    pub partitions: Vec<i32>,
    /// How long the controller may take.
    pub timeout: Duration,
}

/// Running reassignments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPartitionReassignmentsAnswer {
    /// Error code.
    pub error: i16,
    /// By partition; those that are not reassigned are left out.
    pub partitions: BTreeMap<i32, ReassignmentAnswer>,
}

/// One running reassignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReassignmentAnswer {
    /// All replicas at present.
    pub replicas: Vec<i32>,
    /// Those being added.
    pub adding: Vec<i32>,
    /// Those being removed.
    pub removing: Vec<i32>,
}

impl Request for ListPartitionReassignmentsRequest {
    type Answer = ListPartitionReassignmentsAnswer;
    const API: Api = Api::ListPartitionReassignments;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        let topic = ListPartitionReassignmentsTopics::default()
            .with_name(text(&self.topic)?)
            .with_partition_indexes(self.partitions.clone());
        ListPartitionReassignmentsRequestData::default()
            .with_timeout_ms(i32::try_from(self.timeout.as_millis()).unwrap_or(i32::MAX))
            .with_topics(Some(vec![topic]))
            .write(out, version)
            .map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let answer = ListPartitionReassignmentsResponseData::read(body, version).map_err(malformed)?;
        let partitions = answer
            .topics
            .into_iter()
            .filter(|topic| topic.name.as_str() == self.topic)
            .flat_map(|topic| topic.partitions)
            .map(|running| {
                let told = ReassignmentAnswer {
                    replicas: running.replicas,
                    adding: running.adding_replicas,
                    removing: running.removing_replicas,
                };
                (running.partition_index, told)
            })
            .collect();
        Ok(Decoded {
            answer: ListPartitionReassignmentsAnswer { error: answer.error_code, partitions },
            throttle_ms: answer.throttle_time_ms,
        })
    }
}
