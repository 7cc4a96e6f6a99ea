//! DescribeQuorum (KIP-595): the controllers' own log.

use std::time::Duration;

use unstuck_wire::schema::DescribeQuorumResponseData;
use unstuck_wire::schema::describe_quorum_response::{Listener, Node, PartitionData, ReplicaState, TopicData};

use super::admin::allowed_and_ruled;
use super::words::code::UNKNOWN_TOPIC_OR_PARTITION;
use super::words::{text, uuid, words};
use super::{Answer, Question, read, say};
use crate::world::World;

const TOPIC: &str = "__cluster_metadata";
/// After how long an observer that does not fetch is forgotten (`LeaderState.OBSERVER_SESSION_TIMEOUT_MS`).
const OBSERVER_SESSION: Duration = Duration::from_secs(300);
/// The beginning of every scenario, in milliseconds since 1970: 2026-01-01. The world knows no other clock.
pub(super) const BEGINNING: i64 = 1_767_225_600_000;

/// Tells leader, voters and observers. A broker asks the controller; without one it waits, and so does the asker.
pub(super) fn describe(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, DescribeQuorumRequestData);
    let empty = (question.asked.version >= 2).then(|| text(""));
    match allowed_and_ruled(world, question) {
        Ok(()) => {}
        Err(Ok(later)) => return later,
        Err(Err(code)) => {
            let answer = DescribeQuorumResponseData {
                error_code: code,
                error_message: empty.map(|_| text(words(code))),
                ..Default::default()
            };
            return say!(question, answer);
        }
    }
    let mut hosted = false;
    let topics = request
        .topics
        .into_iter()
        .map(|topic| {
            let partitions = topic.partitions.into_iter().map(|one| {
                if topic.topic_name.as_str() == TOPIC && one.partition_index == 0 {
                    hosted = true;
                    return PartitionData { error_message: empty.clone(), ..log(world) };
                }
                PartitionData {
                    partition_index: one.partition_index,
                    error_code: UNKNOWN_TOPIC_OR_PARTITION,
                    error_message: empty.as_ref().map(|_| text(words(UNKNOWN_TOPIC_OR_PARTITION))),
                    ..Default::default()
                }
            });
            TopicData { partitions: partitions.collect(), topic_name: topic.topic_name, ..Default::default() }
        })
        .collect();
    let nodes = if hosted && question.asked.version >= 2 { voters(world) } else { Vec::new() };
    let mut answer = DescribeQuorumResponseData { error_message: empty, topics, nodes, ..Default::default() };
    if question.asked.version < 2 {
        for replica in
            answer.topics.iter_mut().flat_map(|topic| &mut topic.partitions).flat_map(|one| &mut one.observers)
        {
            replica.replica_directory_id = Default::default();
        }
    }
    say!(question, answer)
}

/// Where the log ends at a time: it grows by itself, a record every 500 ms
/// (`metadata.max.idle.interval.ms`).
fn end(at: Duration) -> i64 {
    1000 + milliseconds(at) / 500
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn log(world: &World) -> PartitionData {
    let voters = world.voters();
    let replica = |id: i32, silent: Option<Duration>| {
        let last = silent.unwrap_or(world.now());
        ReplicaState {
            replica_id: id,
            log_end_offset: end(last),
            last_fetch_timestamp: BEGINNING + milliseconds(last),
            last_caught_up_timestamp: BEGINNING + milliseconds(last),
            ..Default::default()
        }
    };
    let silent = |id: i32| world.node(id).and_then(crate::world::Node::silent_since);
    let observers = world
        .brokers()
        .filter(|node| !voters.contains(&node.id))
        .filter(|node| node.silent_since().is_none_or(|since| world.now() < since + OBSERVER_SESSION))
        .map(|node| ReplicaState {
            replica_directory_id: uuid(crate::world::id_of(&format!("directory of node {}", node.id))),
            ..replica(node.id, node.silent_since())
        })
        .collect();
    PartitionData {
        leader_id: world.controller().unwrap_or(-1),
        leader_epoch: world.controller_epoch(),
        high_watermark: end(world.now()),
        current_voters: voters.iter().map(|id| replica(*id, silent(*id))).collect(),
        observers,
        ..Default::default()
    }
}

fn voters(world: &World) -> Vec<Node> {
    world
        .voters()
        .into_iter()
        .filter_map(|id| world.node(id))
        .map(|node| Node {
            node_id: node.id,
            listeners: vec![Listener {
                name: text("CONTROLLER"),
                host: text(&node.advertised.0),
                port: node.advertised.1,
                ..Default::default()
            }],
            ..Default::default()
        })
        .collect()
}
