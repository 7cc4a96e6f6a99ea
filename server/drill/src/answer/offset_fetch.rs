//! OffsetFetch (key 9): committed offsets, as the coordinator that is asked has them. A group that it does not know has
//! none, without error.

use std::collections::BTreeMap;

use unstuck_wire::schema::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions, OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
};
use unstuck_wire::schema::{KafkaString, KafkaUuid, OffsetFetchRequestData, OffsetFetchResponseData};

use super::describe_groups::looked_up;
use super::words::{code, text, uuid};
use super::{Answer, Question, read, say};
use crate::scenario::model::Release;
use crate::world::{GroupState, World};

/// A topic that is asked for, with its partitions.
struct Wanted {
    name: String,
    id: KafkaUuid,
    partitions: Vec<i32>,
}

/// A topic of the answer: name, id, and each partition with its offset or an error code.
struct Fetched {
    name: String,
    id: KafkaUuid,
    partitions: Offsets,
}

/// Partitions, each with its offset or an error code.
type Offsets = Vec<(i32, Result<i64, i16>)>;

pub(super) fn answer(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, OffsetFetchRequestData);
    let version = question.asked.version;
    if version >= 8 {
        return batched(world, question, &request);
    }
    let wanted: Option<Vec<Wanted>> = request.topics.as_ref().map(|topics| {
        let wanted = topics.iter().map(|topic| Wanted {
            name: topic.name.as_str().to_owned(),
            id: KafkaUuid::ZERO,
            partitions: topic.partition_indexes.clone(),
        });
        wanted.collect()
    });
    let found = looked_up(world, question, "OffsetFetch", request.group_id.as_str());
    let mut answer = OffsetFetchResponseData::default();
    let fetched = match found {
        Ok(group) => fetch(world, question, group, wanted.as_deref()),
        Err(error) if version >= 2 => {
            answer.error_code = error;
            Vec::new()
        }
        // Version 1 has no place for an error but each partition; 3.9 leaves even those out (seen on 3.9.1).
        Err(_) if world.node(question.broker).is_some_and(|node| node.release == Release::V3_9) => Vec::new(),
        Err(error) => wanted.unwrap_or_default().into_iter().map(|topic| all_with(topic, error)).collect(),
    };
    answer.topics = fetched
        .into_iter()
        .map(|topic| OffsetFetchResponseTopic {
            name: text(&topic.name),
            partitions: topic.partitions.into_iter().map(|(number, offset)| single(number, offset)).collect(),
            ..OffsetFetchResponseTopic::default()
        })
        .collect();
    say!(question, answer)
}

fn batched(world: &World, question: &Question<'_>, request: &OffsetFetchRequestData) -> Answer {
    let by_id = question.asked.version >= 10;
    let groups = request.groups.iter().map(|asked| {
        let wanted: Option<Vec<Wanted>> = asked.topics.as_ref().map(|topics| {
            let wanted = topics.iter().map(|topic| Wanted {
                name: if by_id { name_of(world, question, topic.topic_id) } else { topic.name.as_str().to_owned() },
                id: topic.topic_id,
                partitions: topic.partition_indexes.clone(),
            });
            wanted.collect()
        });
        let mut answer = OffsetFetchResponseGroup { group_id: asked.group_id.clone(), ..Default::default() };
        match looked_up(world, question, "OffsetFetch", asked.group_id.as_str()) {
            Err(error) => answer.error_code = error,
            Ok(group) => {
                let fetched = fetch(world, question, group, wanted.as_deref());
                answer.topics = fetched
                    .into_iter()
                    .map(|topic| OffsetFetchResponseTopics {
                        name: if by_id { KafkaString::default() } else { text(&topic.name) },
                        topic_id: if by_id { topic.id } else { KafkaUuid::ZERO },
                        partitions: topic
                            .partitions
                            .into_iter()
                            .map(|(number, offset)| of_many(number, offset))
                            .collect(),
                        ..Default::default()
                    })
                    .collect();
            }
        }
        answer
    });
    say!(question, OffsetFetchResponseData::default().with_groups(groups.collect()))
}

fn name_of(world: &World, question: &Question<'_>, id: KafkaUuid) -> String {
    let node = world.node(question.broker);
    let found = node.and_then(|node| World::topic_by_id(node, &id.to_bytes()));
    found.map(|(name, _)| name.clone()).unwrap_or_default()
}

fn all_with(topic: Wanted, error: i16) -> Fetched {
    let partitions = topic.partitions.into_iter().map(|number| (number, Err(error))).collect();
    Fetched { name: topic.name, id: topic.id, partitions }
}

fn fetch(
    world: &World,
    question: &Question<'_>,
    group: Option<&GroupState>,
    wanted: Option<&[Wanted]>,
) -> Vec<Fetched> {
    let committed = group.map(|group| &group.offsets);
    let Some(wanted) = wanted else {
        // All that is committed, of topics that may be seen.
        let mut topics: BTreeMap<&str, Offsets> = BTreeMap::new();
        for ((topic, number), offset) in committed.into_iter().flat_map(|offsets| offsets.iter()) {
            topics.entry(topic).or_default().push((*number, Ok(*offset)));
        }
        let id = |name: &str| world.topics().get(name).map(|topic| uuid(topic.id)).unwrap_or_default();
        return topics
            .into_iter()
            .filter(|(name, _)| world.may_describe_topic(name))
            .map(|(name, partitions)| Fetched { name: name.to_owned(), id: id(name), partitions })
            .collect();
    };
    wanted
        .iter()
        .map(|topic| {
            let by_id = question.asked.version >= 10;
            let refusal = if by_id && topic.name.is_empty() {
                Some(code::UNKNOWN_TOPIC_ID)
            } else {
                (!world.may_describe_topic(&topic.name)).then_some(code::TOPIC_DENIED)
            };
            let partitions = topic.partitions.iter().map(|number| {
                let offset = committed.and_then(|offsets| offsets.get(&(topic.name.clone(), *number)).copied());
                (*number, refusal.map_or(Ok(offset.unwrap_or(-1)), Err))
            });
            Fetched { name: topic.name.clone(), id: topic.id, partitions: partitions.collect() }
        })
        .collect()
}

fn single(number: i32, offset: Result<i64, i16>) -> OffsetFetchResponsePartition {
    OffsetFetchResponsePartition {
        partition_index: number,
        committed_offset: offset.unwrap_or(-1),
        committed_leader_epoch: -1,
        metadata: Some(KafkaString::default()),
        error_code: offset.err().unwrap_or(0),
        ..OffsetFetchResponsePartition::default()
    }
}

fn of_many(number: i32, offset: Result<i64, i16>) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index: number,
        committed_offset: offset.unwrap_or(-1),
        committed_leader_epoch: -1,
        metadata: Some(KafkaString::default()),
        error_code: offset.err().unwrap_or(0),
        ..OffsetFetchResponsePartitions::default()
    }
}
