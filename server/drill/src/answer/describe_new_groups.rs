//! ConsumerGroupDescribe (key 69, KIP-848), ShareGroupDescribe (77, KIP-932) and StreamsGroupDescribe (89, KIP-1071).

use unstuck_wire::schema::{
    ConsumerGroupDescribeResponseData, KafkaString, ShareGroupDescribeResponseData, StreamsGroupDescribeResponseData,
    consumer_group_describe_response as consumer, share_group_describe_response as share_group,
    streams_group_describe_response as streams,
};

use super::describe_groups::{looked_up, missing};
use super::list_groups::type_of;
use super::members::{consumed, share};
use super::words::{code, group_operations, text, uuid};
use super::{Answer, Question, read, say};
use crate::scenario::model::Release;
use crate::world::{GroupState, World};

/// The group, or error code and words; for the empty id and for a protocol that the broker has switched off too.
fn found<'a>(
    world: &'a World,
    question: &Question<'_>,
    api: &str,
    wanted: &str,
    id: &str,
) -> Result<&'a GroupState, (i16, Option<KafkaString>)> {
    let without_words = |error: i16| (error, None);
    let node = world.node(question.broker).ok_or_else(|| without_words(code::NOT_COORDINATOR))?;
    // Up to 3.9 the new protocols are there to be tried out, and off.
    let protocols = node.config("group.coordinator.rebalance.protocols").unwrap_or_default();
    if node.release < Release::V4_1 && !protocols.split(',').any(|one| one.trim() == wanted) {
        return Err(without_words(code::UNSUPPORTED_VERSION));
    }
    if id.is_empty() {
        return Err(without_words(code::INVALID_GROUP_ID));
    }
    match looked_up(world, question, api, id).map_err(without_words)? {
        Some(group) if type_of(group) == wanted => Ok(group),
        other => Err((code::GROUP_NOT_FOUND, Some(text(&missing(id, other.is_some(), wanted))))),
    }
}

/// The assignment of a member, by id, name and partitions of each topic.
macro_rules! assignment {
    ($module:ident, $world:expr, $group:expr, $number:expr) => {{
        let own = share(&consumed($world, $group), $number, $group.members.len());
        let topics = own.into_iter().map(|(name, partitions)| $module::TopicPartitions {
            topic_id: $world.topics().get(&name).map(|topic| uuid(topic.id)).unwrap_or_default(),
            topic_name: text(&name),
            partitions,
            ..$module::TopicPartitions::default()
        });
        $module::Assignment { topic_partitions: topics.collect(), ..$module::Assignment::default() }
    }};
}

pub(super) fn consumer(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, ConsumerGroupDescribeRequestData);
    let release = world.node(question.broker).map_or(world.release(), |node| node.release);
    let describe = |id: &KafkaString| {
        let mut described = consumer::DescribedGroup { group_id: id.clone(), ..Default::default() };
        match found(world, question, "ConsumerGroupDescribe", "consumer", id.as_str()) {
            Err((error, words)) => (described.error_code, described.error_message) = (error, words),
            Ok(group) => {
                described.group_state = text(&group.state);
                described.group_epoch = group.generation;
                described.assignment_epoch = group.generation;
                described.assignor_name = text(&group.protocol);
                described.members =
                    (0..group.members.len()).map(|number| consumer_member(world, group, number)).collect();
                if request.include_authorized_operations {
                    described.authorized_operations = group_operations(release);
                }
            }
        }
        described
    };
    let groups = request.group_ids.iter().map(describe).collect();
    say!(question, ConsumerGroupDescribeResponseData::default().with_groups(groups))
}

fn consumer_member(world: &World, group: &GroupState, number: usize) -> consumer::Member {
    let member = &group.members[number];
    let assignment = assignment!(consumer, world, group, number);
    consumer::Member {
        member_id: text(&group.member_id(number)),
        instance_id: member.instance_id.as_deref().map(text),
        member_epoch: group.generation,
        client_id: text(&member.client_id),
        client_host: text(&member.host),
        subscribed_topic_names: consumed(world, group).keys().map(|name| text(name)).collect(),
        target_assignment: assignment.clone(),
        assignment,
        // 1: of the new protocol (version 1 on).
        member_type: 1,
        ..Default::default()
    }
}

pub(super) fn share_group(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, ShareGroupDescribeRequestData);
    let release = world.node(question.broker).map_or(world.release(), |node| node.release);
    let describe = |id: &KafkaString| {
        let mut described = share_group::DescribedGroup { group_id: id.clone(), ..Default::default() };
        match found(world, question, "ShareGroupDescribe", "share", id.as_str()) {
            Err((error, words)) => (described.error_code, described.error_message) = (error, words),
            Ok(group) => {
                described.group_state = text(&group.state);
                described.group_epoch = group.generation;
                described.assignment_epoch = group.generation;
                described.assignor_name = text(&group.protocol);
                described.members = (0..group.members.len()).map(|number| share_member(world, group, number)).collect();
                if request.include_authorized_operations {
                    described.authorized_operations = group_operations(release);
                }
            }
        }
        described
    };
    let groups = request.group_ids.iter().map(describe).collect();
    say!(question, ShareGroupDescribeResponseData::default().with_groups(groups))
}

fn share_member(world: &World, group: &GroupState, number: usize) -> share_group::Member {
    let member = &group.members[number];
    share_group::Member {
        member_id: text(&group.member_id(number)),
        member_epoch: group.generation,
        client_id: text(&member.client_id),
        client_host: text(&member.host),
        subscribed_topic_names: consumed(world, group).keys().map(|name| text(name)).collect(),
        assignment: assignment!(share_group, world, group, number),
        ..Default::default()
    }
}

pub(super) fn streams(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, StreamsGroupDescribeRequestData);
    let release = world.node(question.broker).map_or(world.release(), |node| node.release);
    let describe = |id: &KafkaString| {
        let mut described = streams::DescribedGroup { group_id: id.clone(), ..Default::default() };
        match found(world, question, "StreamsGroupDescribe", "streams", id.as_str()) {
            Err((error, words)) => (described.error_code, described.error_message) = (error, words),
            Ok(group) => {
                described.group_state = text(&group.state);
                described.group_epoch = group.generation;
                described.assignment_epoch = group.generation;
                let source_topics = consumed(world, group).keys().map(|name| text(name)).collect();
                let whole = streams::Subtopology { subtopology_id: text("0"), source_topics, ..Default::default() };
                let topology = streams::Topology { epoch: 1, subtopologies: Some(vec![whole]), ..Default::default() };
                described.topology = Some(Box::new(topology));
                described.members =
                    (0..group.members.len()).map(|number| streams_member(world, group, number)).collect();
                if request.include_authorized_operations {
                    described.authorized_operations = group_operations(release);
                }
            }
        }
        described
    };
    let groups = request.group_ids.iter().map(describe).collect();
    say!(question, StreamsGroupDescribeResponseData::default().with_groups(groups))
}

fn streams_member(world: &World, group: &GroupState, number: usize) -> streams::Member {
    let member = &group.members[number];
    // A task for each partition number of the source topics.
    let own = share(&consumed(world, group), number, group.members.len());
    let mut partitions: Vec<i32> = own.into_values().flatten().collect();
    partitions.sort_unstable();
    partitions.dedup();
    let tasks = streams::TaskIds { subtopology_id: text("0"), partitions, ..Default::default() };
    let assignment = streams::Assignment { active_tasks: vec![tasks], ..Default::default() };
    streams::Member {
        member_id: text(&group.member_id(number)),
        member_epoch: group.generation,
        instance_id: member.instance_id.as_deref().map(text),
        client_id: text(&member.client_id),
        client_host: text(&member.host),
        topology_epoch: 1,
        process_id: text(&format!("process-{}", number + 1)),
        target_assignment: assignment.clone(),
        assignment,
        ..Default::default()
    }
}
