//! Registered brokers (DescribeCluster), the KRaft quorum (DescribeQuorum) and eligible leader replicas
//! (DescribeTopicPartitions).

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::generated::describe_quorum_request::{PartitionData, TopicData};
use kacrab_protocol::generated::describe_topic_partitions_request::{Cursor, TopicRequest};
use kacrab_protocol::generated::{
    DescribeClusterRequestData, DescribeClusterResponseData, DescribeQuorumRequestData, DescribeQuorumResponseData,
    DescribeTopicPartitionsRequestData, DescribeTopicPartitionsResponseData,
};

use super::metadata::{BrokerAddress, host_port};
use super::{Decoded, Request, malformed, unwritable};
use crate::decode::{owned, text};
use crate::{Api, WireError};

/// Asks for the registered brokers, fenced ones included from version 2 (Kafka 4.0).
#[derive(Clone, Copy, Debug)]
pub struct DescribeClusterRequest {
    /// Whether to ask for what the account may do as well: the one part that needs a right, so that the broker's
    /// authorizer notes it where that is missing (`AuthHelper.computeDescribeClusterResponse`).
    pub operations: bool,
}

/// The registered brokers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeClusterAnswer {
    /// Error code.
    pub error: i16,
    /// The cluster id.
    pub cluster_id: String,
    /// Brokers by id: where they are, and whether they are fenced.
    pub brokers: BTreeMap<i32, (BrokerAddress, bool)>,
    /// Whether the account has DESCRIBE on CLUSTER; `None` if not told.
    pub may_describe: Option<bool>,
}

/// Whether a set of authorized operations holds DESCRIBE, which is operation 8 in `AclOperation` (one bit per
/// operation); `None` if the broker told nothing.
pub(super) fn may_describe(operations: i32) -> Option<bool> {
    (operations != i32::MIN).then_some(operations & (1 << 8) != 0)
}

impl Request for DescribeClusterRequest {
    type Answer = DescribeClusterAnswer;
    const API: Api = Api::DescribeCluster;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        DescribeClusterRequestData::default()
            .with_include_cluster_authorized_operations(self.operations)
            .with_include_fenced_brokers(version >= 2)
            .write(out, version)
            .map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let answer = DescribeClusterResponseData::read(body, version).map_err(malformed)?;
        let brokers = answer
            .brokers
            .iter()
            .map(|broker| {
                let address = host_port(broker.host.as_str(), broker.port);
                (broker.broker_id, (BrokerAddress { address, rack: broker.rack.as_ref().map(owned) }, broker.is_fenced))
            })
            .collect();
        Ok(Decoded {
            answer: DescribeClusterAnswer {
                error: answer.error_code,
                cluster_id: owned(&answer.cluster_id),
                brokers,
                may_describe: may_describe(answer.cluster_authorized_operations),
            },
            throttle_ms: answer.throttle_time_ms,
        })
    }
}

/// Asks for the state of the metadata quorum. Brokers forward it to the active controller.
#[derive(Clone, Copy, Debug)]
pub struct DescribeQuorumRequest;

/// The state of the quorum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeQuorumAnswer {
    /// Error code, of the answer or of its only partition.
    pub error: i16,
    /// Node id of the leader; `None` for -1.
    pub leader: Option<i32>,
    /// Node ids of the voters.
    pub voters: Vec<i32>,
}

impl Request for DescribeQuorumRequest {
    type Answer = DescribeQuorumAnswer;
    const API: Api = Api::DescribeQuorum;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        let topic = TopicData::default()
            .with_topic_name(text("__cluster_metadata")?)
            .with_partitions(vec![PartitionData::default().with_partition_index(0)]);
        DescribeQuorumRequestData::default().with_topics(vec![topic]).write(out, version).map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let answer = DescribeQuorumResponseData::read(body, version).map_err(malformed)?;
        let mut plain = DescribeQuorumAnswer { error: answer.error_code, ..DescribeQuorumAnswer::default() };
        if let Some(partition) = answer.topics.first().and_then(|topic| topic.partitions.first()) {
            if plain.error == 0 {
                plain.error = partition.error_code;
            }
            plain.leader = Some(partition.leader_id).filter(|id| *id >= 0);
            plain.voters = partition.current_voters.iter().map(|voter| voter.replica_id).collect();
        }
        Ok(Decoded { answer: plain, throttle_ms: 0 })
    }
}

/// Asks for the partitions of one existing topic with their eligible leader replicas, from partition `from` on.
/// Creates nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribeTopicPartitionsRequest {
    /// The topic.
    pub topic: String,
    /// The first partition; 0 unless an answer named another one as next.
    pub from: i32,
}

/// Eligible leader replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeTopicPartitionsAnswer {
    /// Topic-level error code.
    pub error: i16,
    /// Eligible leader replicas by partition, partitions without any left out.
    pub elr: BTreeMap<i32, Vec<i32>>,
    /// Where to go on; `None` at the end.
    pub next: Option<i32>,
}

impl Request for DescribeTopicPartitionsRequest {
    type Answer = DescribeTopicPartitionsAnswer;
    const API: Api = Api::DescribeTopicPartitions;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        let mut request = DescribeTopicPartitionsRequestData::default()
            .with_topics(vec![TopicRequest::default().with_name(text(&self.topic)?)])
            .with_response_partition_limit(2_000);
        if self.from > 0 {
            let cursor = Cursor::default().with_topic_name(text(&self.topic)?).with_partition_index(self.from);
            request.cursor = Some(Box::new(cursor));
        }
        request.write(out, version).map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let answer = DescribeTopicPartitionsResponseData::read(body, version).map_err(malformed)?;
        let mut plain = DescribeTopicPartitionsAnswer::default();
        if let Some(topic) = answer.topics.first() {
            plain.error = topic.error_code;
            for partition in &topic.partitions {
                if let Some(elr) = partition.eligible_leader_replicas.as_ref().filter(|elr| !elr.is_empty()) {
                    plain.elr.insert(partition.partition_index, elr.clone());
                }
            }
        }
        plain.next = answer.next_cursor.map(|cursor| cursor.partition_index);
        Ok(Decoded { answer: plain, throttle_ms: answer.throttle_time_ms })
    }
}
