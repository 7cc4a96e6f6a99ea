//! DescribeTopicPartitions (KIP-966): topics page by page, with eligible leader replicas.

use unstuck_wire::schema::DescribeTopicPartitionsResponseData;
use unstuck_wire::schema::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};

use super::words::code::{TOPIC_DENIED, UNKNOWN_TOPIC_OR_PARTITION};
use super::words::{TOPIC_OPERATIONS, text, uuid};
use super::{Answer, Question, read, say};
use crate::world::{Image, Partition, World};

/// `max.request.partition.size.limit`.
const LIMIT: usize = 2000;

/// Tells partitions as the broker's own cache has them. Unlike Metadata it calls a partition without a leader no error.
pub(super) fn describe(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, DescribeTopicPartitionsRequestData);
    let Some(node) = world.node(question.broker) else { return Answer::Close };
    let seen = node.seen();
    let limit = usize::try_from(request.response_partition_limit).unwrap_or(0).clamp(1, LIMIT);
    let all = request.topics.is_empty();
    let mut names: Vec<&str> = if all {
        seen.topics.keys().map(String::as_str).filter(|name| world.may_describe_topic(name)).collect()
    } else {
        request.topics.iter().map(|topic| topic.name.as_str()).collect()
    };
    names.sort_unstable();
    names.dedup();
    let cursor = request.cursor.as_deref().map(|cursor| (cursor.topic_name.as_str(), cursor.partition_index));
    if let Some((topic, _)) = cursor {
        names.retain(|name| *name >= topic);
    }
    let mut answer = DescribeTopicPartitionsResponseData::default();
    let mut left = limit;
    for name in names {
        let refused = question.forced.or_else(|| (!world.may_describe_topic(name)).then_some(TOPIC_DENIED));
        let topic = seen.topics.get(name);
        let code = refused.or_else(|| topic.is_none().then_some(UNKNOWN_TOPIC_OR_PARTITION));
        if let Some(error_code) = code {
            answer.topics.push(DescribeTopicPartitionsResponseTopic {
                error_code,
                name: Some(text(name)),
                topic_authorized_operations: if error_code == TOPIC_DENIED { i32::MIN } else { TOPIC_OPERATIONS },
                ..Default::default()
            });
            continue;
        }
        let Some(topic) = topic else { continue };
        if left == 0 {
            answer.next_cursor = Some(Box::new(Cursor { topic_name: text(name), ..Default::default() }));
            break;
        }
        let from = cursor.filter(|(at, _)| *at == name).map_or(0, |(_, partition)| partition.max(0));
        let from = usize::try_from(from).unwrap_or(0);
        let partitions: Vec<_> = (0..)
            .zip(&topic.partitions)
            .skip(from)
            .take(left)
            .map(|(number, partition)| told(seen, name, number, partition))
            .collect();
        left -= partitions.len();
        let next = from + partitions.len();
        answer.topics.push(DescribeTopicPartitionsResponseTopic {
            name: Some(text(name)),
            topic_id: uuid(topic.id),
            is_internal: topic.internal,
            partitions,
            topic_authorized_operations: TOPIC_OPERATIONS,
            ..Default::default()
        });
        if next < topic.partitions.len() {
            answer.next_cursor = Some(Box::new(Cursor {
                topic_name: text(name),
                partition_index: i32::try_from(next).unwrap_or(i32::MAX),
                ..Default::default()
            }));
            break;
        }
    }
    say!(question, answer)
}

fn told(seen: &Image, name: &str, number: i32, partition: &Partition) -> DescribeTopicPartitionsResponsePartition {
    let offline = |id: &&i32| !seen.brokers.contains_key(id) || partition.offline_on.contains(id);
    DescribeTopicPartitionsResponsePartition {
        partition_index: number,
        leader_id: seen.leader(name, number).unwrap_or(-1),
        leader_epoch: partition.epoch,
        replica_nodes: partition.replicas.clone(),
        isr_nodes: partition.isr.clone(),
        eligible_leader_replicas: Some(partition.elr.clone()),
        last_known_elr: Some(partition.last_known_leader.into_iter().collect()),
        offline_replicas: partition.replicas.iter().filter(offline).copied().collect(),
        ..Default::default()
    }
}
