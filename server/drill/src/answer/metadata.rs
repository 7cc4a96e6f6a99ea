//! Metadata (key 3): brokers and topics in the eyes of the broker that is asked
//! (`KafkaApis.handleTopicMetadataRequest`, `ZkMetadataCache`, `KRaftMetadataCache`).

use std::collections::BTreeSet;

use unstuck_wire::schema::MetadataResponseData;
use unstuck_wire::schema::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};

use super::words::{TOPIC_OPERATIONS, cluster_operations, code, text, uuid};
use super::{Answer, Question, read, say};
use crate::scenario::model::{Mode, Release};
use crate::world::{Node, OFFSETS_TOPIC, Partition, Topic, World};

pub(super) fn answer(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, MetadataRequestData);
    let version = question.asked.version;
    let wants_operations = request.include_topic_authorized_operations && version >= 8;
    let mut topics = Vec::new();
    match &request.topics {
        Some(asked) if version > 0 || !asked.is_empty() => {
            let mut seen = BTreeSet::new();
            for one in asked {
                let name = one.name.as_ref().map(|name| name.as_str().to_owned());
                if seen.insert((name.clone(), one.topic_id.to_bytes())) {
                    topics.push(match name {
                        Some(name) => named(world, question, &name, request.allow_auto_topic_creation),
                        None => by_id(world, question, &one.topic_id.to_bytes()),
                    });
                }
            }
        }
        _ => topics = all(world, question),
    }
    // Before 2.4 what was not asked for was 0, not "unknown" (KIP-430).
    let unasked = world.node(question.broker).filter(|node| node.release < Release::V2_8 && version >= 8).map(|_| 0);
    for topic in &mut topics {
        if wants_operations && topic.error_code == 0 {
            topic.topic_authorized_operations = TOPIC_OPERATIONS;
        } else if let Some(none) = unasked {
            topic.topic_authorized_operations = none;
        }
    }
    let controller_id = controller(world, question.broker);
    let Some(node) = world.node(question.broker) else { return Answer::Close };
    let mut answer = MetadataResponseData::default()
        .with_brokers(brokers(node))
        .with_cluster_id(Some(text(world.cluster_id())))
        .with_controller_id(controller_id)
        .with_topics(topics);
    if request.include_cluster_authorized_operations && (8..=10).contains(&version) {
        answer.cluster_authorized_operations = cluster_operations(world);
    } else if let Some(none) = unasked {
        answer.cluster_authorized_operations = none;
    }
    if version >= 13 {
        answer.error_code = question.forced.unwrap_or(0);
    }
    say!(question, answer)
}

/// The controller that a broker names: with ZooKeeper the one it was told of, in KRaft any live broker, another one each
/// time (KIP-590).
pub(super) fn controller(world: &mut World, broker: i32) -> i32 {
    let lot = if world.mode() == Mode::Kraft { world.lot() } else { 0 };
    let Some(node) = world.node(broker) else { return -1 };
    if world.mode() == Mode::Zookeeper {
        return node.seen().controller.unwrap_or(-1);
    }
    let live: Vec<i32> = node.seen().brokers.keys().copied().collect();
    let count = u64::try_from(live.len()).unwrap_or(0);
    // The lot is a mere count; spread so that runs of it do not look like a round.
    let drawn = lot.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    drawn.checked_rem(count).and_then(|at| live.get(usize::try_from(at).ok()?)).copied().unwrap_or(-1)
}

fn brokers(node: &Node) -> Vec<MetadataResponseBroker> {
    node.seen()
        .brokers
        .iter()
        .map(|(id, endpoint)| MetadataResponseBroker {
            node_id: *id,
            host: text(&endpoint.host),
            port: i32::from(endpoint.port),
            rack: endpoint.rack.as_deref().map(text),
            ..MetadataResponseBroker::default()
        })
        .collect()
}

fn all(world: &World, question: &Question<'_>) -> Vec<MetadataResponseTopic> {
    let Some(node) = world.node(question.broker) else { return Vec::new() };
    let shown = node.seen().topics.iter().filter(|(name, _)| world.may_describe_topic(name));
    shown.map(|(name, topic)| described(node, question, name, topic)).collect()
}

fn refused(name: Option<&str>, error: i16) -> MetadataResponseTopic {
    MetadataResponseTopic { name: name.map(text), error_code: error, ..MetadataResponseTopic::default() }
}

fn by_id(world: &World, question: &Question<'_>, id: &[u8; 16]) -> MetadataResponseTopic {
    let found = world.node(question.broker).and_then(|node| Some((node, World::topic_by_id(node, id)?)));
    let mut answer = match found {
        Some((node, (name, topic))) if world.may_describe_topic(name) => described(node, question, name, topic),
        // The name stays hidden.
        Some(_) => refused(None, code::TOPIC_DENIED),
        None => refused(None, code::UNKNOWN_TOPIC_ID),
    };
    answer.topic_id = uuid(*id);
    answer
}

fn named(world: &mut World, question: &Question<'_>, name: &str, may_create: bool) -> MetadataResponseTopic {
    if !world.may_describe_topic(name) {
        return refused(Some(name), code::TOPIC_DENIED);
    }
    let Some(node) = world.node(question.broker) else { return refused(Some(name), code::UNKNOWN_TOPIC_OR_PARTITION) };
    if let Some(topic) = node.seen().topics.get(name) {
        return described(node, question, name, topic);
    }
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if name.is_empty() || name.len() > 249 || matches!(name, "." | "..") || !name.bytes().all(legal) {
        let error = if node.release < Release::V2_8 { code::UNKNOWN_TOPIC_OR_PARTITION } else { code::INVALID_TOPIC };
        return refused(Some(name), error);
    }
    let release = node.release;
    let creates = node.config("auto.create.topics.enable").is_none_or(|value| value == "true");
    if name == OFFSETS_TOPIC {
        // Up to 2.7 naming it is enough, whatever the request allows.
        if release >= Release::V2_8 && !(may_create && creates) {
            return refused(Some(name), code::UNKNOWN_TOPIC_OR_PARTITION);
        }
        let factor = node.number("offsets.topic.replication.factor").unwrap_or(3);
        let enough = i64::try_from(node.seen().brokers.len()).is_ok_and(|live| live >= factor);
        // That it is missing is all that is asked; the answer itself does not matter.
        drop(world.find_coordinator(question.broker, ""));
        let error = match (release >= Release::V2_8, enough) {
            (true, _) => code::UNKNOWN_TOPIC_OR_PARTITION,
            (false, true) => code::LEADER_NOT_AVAILABLE,
            (false, false) => code::INVALID_REPLICATION_FACTOR,
        };
        return MetadataResponseTopic { is_internal: true, ..refused(Some(name), error) };
    }
    // Topics of users are not made up by being asked for: a drill would fill with slips of the pen.
    refused(Some(name), code::UNKNOWN_TOPIC_OR_PARTITION)
}

fn described(node: &Node, question: &Question<'_>, name: &str, topic: &Topic) -> MetadataResponseTopic {
    if let Some(error) = question.forced.filter(|_| question.asked.version < 13) {
        return refused(Some(name), error);
    }
    let partitions =
        (0..).zip(&topic.partitions).map(|(number, partition)| told(node, question.asked.version, number, partition));
    MetadataResponseTopic {
        name: Some(text(name)),
        topic_id: uuid(topic.id),
        is_internal: topic.internal,
        partitions: partitions.collect(),
        ..MetadataResponseTopic::default()
    }
}

fn told(node: &Node, version: i16, number: i32, partition: &Partition) -> MetadataResponsePartition {
    let live = |id: &i32| node.seen().brokers.contains_key(id);
    let leader = if live(&partition.leader) { partition.leader } else { -1 };
    let leaderless = leader < 0;
    let old = node.release < Release::V2_8;
    let mut replicas = partition.replicas.clone();
    // KAFKA-8442: brokers below 2.4 tell no in-sync replicas, and no leader epoch, of a partition without leader.
    let mut isr = if leaderless && old { Vec::new() } else { partition.isr.clone() };
    let offline = partition.replicas.iter().copied().filter(|id| !live(id) || partition.offline_on.contains(id));
    let mut error = match leaderless {
        // 2.3 looked whether it was alive itself, not whether the leader was (seen on 2.3.1).
        true if node.release == Release::V2_3 && version >= 6 => code::LISTENER_NOT_FOUND,
        // Alive, and without the listener that the client came by (KIP-226).
        true if node.seen().without_listener.contains(&partition.leader) && version >= 6 => code::LISTENER_NOT_FOUND,
        true => code::LEADER_NOT_AVAILABLE,
        false => 0,
    };
    if version == 0 {
        let all_live = replicas.iter().chain(&isr).all(live);
        if !leaderless && !all_live {
            error = code::REPLICA_NOT_AVAILABLE;
        }
        replicas.retain(live);
        isr.retain(live);
    }
    MetadataResponsePartition {
        error_code: error,
        partition_index: number,
        leader_id: leader,
        leader_epoch: if leaderless && old { -1 } else { partition.epoch },
        offline_replicas: offline.collect(),
        replica_nodes: replicas,
        isr_nodes: isr,
        ..MetadataResponsePartition::default()
    }
}
