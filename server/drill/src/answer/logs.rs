//! Looks at partitions of topics, at the broker that leads them: ListOffsets (key 2), Fetch (1), OffsetForLeaderEpoch
//! (23). Logs have ends here, but no records.

use std::time::Duration;

use bytes::Bytes;
use unstuck_wire::schema::fetch_response::{FetchableTopicResponse, PartitionData};
use unstuck_wire::schema::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use unstuck_wire::schema::offset_for_leader_epoch_response::{EpochEndOffset, OffsetForLeaderTopicResult};
use unstuck_wire::schema::{FetchResponseData, KafkaUuid, ListOffsetsResponseData, OffsetForLeaderEpochResponseData};

use super::words::{code, text};
use super::{Answer, Question, read, say};
use crate::scenario::model::Release;
use crate::world::{Partition, World};

/// A partition that the broker that is asked leads, in its own view, or the error code (`ReplicaManager`). `epoch` is the
/// leader epoch that the asker knows, -1 for none (KIP-320).
fn led<'a>(
    world: &'a World,
    question: &Question<'_>,
    topic: &str,
    number: i32,
    epoch: i32,
) -> Result<&'a Partition, i16> {
    if let Some(error) = question.forced {
        return Err(error);
    }
    if !world.may_describe_topic(topic) {
        return Err(code::TOPIC_DENIED);
    }
    let node = world.node(question.broker).ok_or(code::UNKNOWN_TOPIC_OR_PARTITION)?;
    let partition = node.seen().partition(topic, number).ok_or(code::UNKNOWN_TOPIC_OR_PARTITION)?;
    if partition.offline_on.contains(&question.broker) {
        return Err(code::STORAGE_ERROR);
    }
    if partition.leader != question.broker {
        // 1.0 knows only of what it hosts itself.
        let hosted = partition.replicas.contains(&question.broker) || node.release > Release::V1_0;
        return Err(if hosted { code::NOT_LEADER } else { code::UNKNOWN_TOPIC_OR_PARTITION });
    }
    match epoch {
        known if known >= 0 && known < partition.epoch => Err(code::FENCED_LEADER_EPOCH),
        known if known > partition.epoch => Err(code::UNKNOWN_LEADER_EPOCH),
        _ => Ok(partition),
    }
}

pub(super) fn list_offsets(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, ListOffsetsRequestData);
    let version = question.asked.version;
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let known = if version >= 4 { asked.current_leader_epoch } else { -1 };
            let mut one = ListOffsetsPartitionResponse {
                partition_index: asked.partition_index,
                timestamp: -1,
                offset: -1,
                ..ListOffsetsPartitionResponse::default()
            };
            match led(world, question, topic.name.as_str(), asked.partition_index, known) {
                Err(error) => one.error_code = error,
                Ok(partition) => {
                    // -1 the end, -2 the beginning, -3 the highest timestamp, -4 the local beginning, -5 what was last
                    // tiered; else the first record that is not older: there are no records.
                    one.offset = match asked.timestamp {
                        -1 => partition.end,
                        -2 | -4 => 0,
                        _ => -1,
                    };
                    if version >= 4 && one.offset >= 0 {
                        one.leader_epoch = partition.epoch;
                    }
                }
            }
            one
        });
        ListOffsetsTopicResponse { name: topic.name.clone(), partitions: partitions.collect(), ..Default::default() }
    });
    say!(question, ListOffsetsResponseData::default().with_topics(topics.collect()))
}

pub(super) fn fetch(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, FetchRequestData);
    let version = question.asked.version;
    if version >= 7 && request.session_epoch > 0 {
        // Sessions are never granted, so this one cannot be continued (KIP-227).
        return say!(question, FetchResponseData::default().with_error_code(code::FETCH_SESSION_NOT_FOUND));
    }
    let mut failed = false;
    let topics: Vec<FetchableTopicResponse> = request
        .topics
        .iter()
        .map(|topic| {
            let name = if version >= 13 {
                let node = world.node(question.broker);
                let found = node.and_then(|node| World::topic_by_id(node, &topic.topic_id.to_bytes()));
                found.map(|(name, _)| name.clone())
            } else {
                Some(topic.topic.as_str().to_owned())
            };
            let partitions = topic.partitions.iter().map(|asked| {
                let known = if version >= 9 { asked.current_leader_epoch } else { -1 };
                let found = match &name {
                    Some(name) => led(world, question, name, asked.partition, known),
                    None => Err(code::UNKNOWN_TOPIC_ID),
                };
                let found = found.and_then(|partition| {
                    let there = (0..=partition.end).contains(&asked.fetch_offset);
                    if there { Ok(partition.end) } else { Err(code::OFFSET_OUT_OF_RANGE) }
                });
                failed |= found.is_err();
                PartitionData {
                    partition_index: asked.partition,
                    error_code: found.err().unwrap_or(0),
                    high_watermark: found.unwrap_or(-1),
                    last_stable_offset: found.unwrap_or(-1),
                    log_start_offset: found.map_or(-1, |_| 0),
                    records: Some(Bytes::new()),
                    ..PartitionData::default()
                }
            });
            FetchableTopicResponse {
                topic: if version >= 13 { text("") } else { topic.topic.clone() },
                topic_id: if version >= 13 { topic.topic_id } else { KafkaUuid::ZERO },
                partitions: partitions.collect(),
                ..FetchableTopicResponse::default()
            }
        })
        .collect();
    let longest = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
    if !failed && request.min_bytes > 0 && question.waited < longest {
        return Answer::Wait(longest - question.waited);
    }
    say!(question, FetchResponseData::default().with_responses(topics))
}

pub(super) fn offset_for_leader_epoch(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, OffsetForLeaderEpochRequestData);
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let mut one = EpochEndOffset { partition: asked.partition, ..EpochEndOffset::default() };
            match led(world, question, topic.topic.as_str(), asked.partition, asked.current_leader_epoch) {
                Err(error) => one.error_code = error,
                // Where older epochs ended is not kept: the whole log counts as written in the present one.
                Ok(partition) if asked.leader_epoch == partition.epoch => {
                    (one.leader_epoch, one.end_offset) = (partition.epoch, partition.end);
                }
                Ok(partition) if (0..partition.epoch).contains(&asked.leader_epoch) => {
                    (one.leader_epoch, one.end_offset) = (asked.leader_epoch, partition.end);
                }
                Ok(_) => {}
            }
            one
        });
        OffsetForLeaderTopicResult {
            topic: topic.topic.clone(),
            partitions: partitions.collect(),
            ..Default::default()
        }
    });
    say!(question, OffsetForLeaderEpochResponseData::default().with_topics(topics.collect()))
}
