//! Committed offsets of a group (OffsetFetch), and the ends of logs (ListOffsets).

use bytes::{Bytes, BytesMut};
use kacrab_protocol::generated::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kacrab_protocol::generated::offset_fetch_request::OffsetFetchRequestGroup;
use kacrab_protocol::generated::{
    ListOffsetsRequestData, ListOffsetsResponseData, OffsetFetchRequestData, OffsetFetchResponseData,
};

use super::{Decoded, Request, malformed, unwritable};
use crate::decode::{owned, text};
use crate::{Api, WireError};

/// Asks the coordinator for all committed offsets of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetFetchRequest {
    /// The group id.
    pub group: String,
    /// Whether partitions for which an open transaction has offsets get the error 88 instead (KIP-447; below version 7
    /// this cannot be asked for, and brokers answer as if it had not been).
    pub require_stable: bool,
}

/// The committed offsets of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetFetchAnswer {
    /// Error code of the group.
    pub error: i16,
    /// Each partition with a committed offset.
    pub offsets: Vec<PartitionOffset>,
}

/// An offset of one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionOffset {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// Error code of the partition.
    pub error: i16,
    /// The offset; -1 if there is none.
    pub offset: i64,
}

impl Request for OffsetFetchRequest {
    type Answer = OffsetFetchAnswer;
    const API: Api = Api::OffsetFetch;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        let mut request = OffsetFetchRequestData::default();
        let group = text(&self.group)?;
        if version >= 8 {
            request.groups = vec![OffsetFetchRequestGroup::default().with_group_id(group).with_topics(None)];
        } else {
            request.group_id = group;
            request.topics = None;
        }
        request.require_stable = self.require_stable && version >= 7;
        request.write(out, version).map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let answer = OffsetFetchResponseData::read(body, version).map_err(malformed)?;
        let mut plain = OffsetFetchAnswer { error: answer.error_code, offsets: Vec::new() };
        let mut add = |topic: String, partition: i32, error: i16, offset: i64| {
            plain.offsets.push(PartitionOffset { topic, partition, error, offset });
        };
        for topic in &answer.topics {
            for one in &topic.partitions {
                add(owned(&topic.name), one.partition_index, one.error_code, one.committed_offset);
            }
        }
        if let Some(group) = answer.groups.first() {
            for topic in &group.topics {
                for one in &topic.partitions {
                    add(owned(&topic.name), one.partition_index, one.error_code, one.committed_offset);
                }
            }
            plain.error = group.error_code;
        }
        Ok(Decoded { answer: plain, throttle_ms: answer.throttle_time_ms })
    }
}

/// Asks partition leaders for the ends of their logs: the high watermark, as a plain consumer sees it, or the last stable
/// offset, as far as a read_committed consumer can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListOffsetsRequest {
    /// Topics with their partitions.
    pub topics: Vec<(String, Vec<i32>)>,
    /// Whether the last stable offset is asked for. Below version 2 (Kafka 0.11) there is none.
    pub committed: bool,
}

impl Request for ListOffsetsRequest {
    type Answer = Vec<PartitionOffset>;
    const API: Api = Api::ListOffsets;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        // Timestamp -1 asks for the latest offset; replica -1 is a consumer.
        let topics = self
            .topics
            .iter()
            .map(|(name, partitions)| {
                let partitions = partitions
                    .iter()
                    .map(|index| {
                        ListOffsetsPartition::default()
                            .with_partition_index(*index)
                            .with_current_leader_epoch(-1)
                            .with_timestamp(-1)
                    })
                    .collect();
                Ok(ListOffsetsTopic::default().with_name(text(name)?).with_partitions(partitions))
            })
            .collect::<Result<_, WireError>>()?;
        ListOffsetsRequestData::default()
            .with_replica_id(-1)
            .with_isolation_level(i8::from(self.committed && version >= 2))
            .with_topics(topics)
            .write(out, version)
            .map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let answer = ListOffsetsResponseData::read(body, version).map_err(malformed)?;
        let ends = answer
            .topics
            .iter()
            .flat_map(|topic| {
                topic.partitions.iter().map(|one| PartitionOffset {
                    topic: owned(&topic.name),
                    partition: one.partition_index,
                    error: one.error_code,
                    offset: one.offset,
                })
            })
            .collect();
        Ok(Decoded { answer: ends, throttle_ms: answer.throttle_time_ms })
    }
}
