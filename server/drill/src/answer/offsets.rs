//! OffsetCommit, OffsetDelete and DeleteGroups: what tools and simple consumers write into the offsets topic.

use unstuck_wire::schema::delete_groups_response::DeletableGroupResult;
use unstuck_wire::schema::offset_commit_response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic};
use unstuck_wire::schema::offset_delete_response::{OffsetDeleteResponsePartition, OffsetDeleteResponseTopic};
use unstuck_wire::schema::{
    DeleteGroupsResponseData, OffsetCommitRequestData, OffsetCommitResponseData, OffsetDeleteResponseData,
};

use super::admin::group_refused;
use super::words::code::{
    GROUP_NOT_FOUND, GROUP_SUBSCRIBED_TO_TOPIC, INVALID_GROUP_ID, METADATA_TOO_LARGE, NON_EMPTY_GROUP, NOT_COORDINATOR,
    TOPIC_DENIED, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION,
};
use super::words::uuid;
use super::{Answer, Question, read, say};
use crate::world::{GroupState, World};

/// Commits offsets.
pub(super) fn commit(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, OffsetCommitRequestData);
    let group = request.group_id.as_str();
    let longest = world.node(question.broker).and_then(|node| node.number("offset.metadata.max.bytes")).unwrap_or(4096);
    let longest = usize::try_from(longest).unwrap_or(usize::MAX);
    let Some(node) = world.node(question.broker) else { return Answer::Close };
    let seen = node.seen();
    let mut commits = Vec::new();
    let mut topics = Vec::new();
    for topic in &request.topics {
        // From version 10 on topics are named by id only.
        let name = if question.asked.version >= 10 {
            seen.topics.iter().find(|(_, one)| uuid(one.id) == topic.topic_id).map(|(name, _)| name.clone())
        } else {
            Some(topic.name.as_str().to_owned())
        };
        let partitions = topic
            .partitions
            .iter()
            .map(|one| {
                let code = match &name {
                    None => UNKNOWN_TOPIC_ID,
                    Some(name) if !world.may_describe_topic(name) => TOPIC_DENIED,
                    Some(name) if seen.partition(name, one.partition_index).is_none() => UNKNOWN_TOPIC_OR_PARTITION,
                    Some(_) if one.committed_metadata.as_ref().is_some_and(|text| text.len() > longest) => {
                        METADATA_TOO_LARGE
                    }
                    Some(name) => {
                        commits.push(((name.clone(), one.partition_index), one.committed_offset));
                        0
                    }
                };
                OffsetCommitResponsePartition {
                    partition_index: one.partition_index,
                    error_code: code,
                    ..Default::default()
                }
            })
            .collect();
        topics.push(OffsetCommitResponseTopic {
            name: topic.name.clone(),
            topic_id: topic.topic_id,
            partitions,
            ..Default::default()
        });
    }
    let code = match group_refused(world, question, "OffsetCommit", group) {
        Some(code) => Some((code, true)),
        None => match committed(world, question, &request, commits) {
            Ok(code) => code.map(|code| (code, false)),
            Err(later) => return later,
        },
    };
    if let Some((code, all)) = code {
        for partition in topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
            if all || partition.error_code == 0 {
                partition.error_code = code;
            }
        }
    }
    say!(question, OffsetCommitResponseData { topics, ..Default::default() })
}

/// Writes commits; gives the code where they are refused.
fn committed(
    world: &mut World,
    question: &Question<'_>,
    request: &OffsetCommitRequestData,
    commits: crate::world::Commits,
) -> Result<Option<i16>, Answer> {
    let group = request.group_id.as_str();
    let broker = question.broker;
    let partition = match world.serves(broker, group) {
        Ok(partition) => partition,
        Err(code) => return Ok(Some(code)),
    };
    let generation = request.generation_id_or_member_epoch;
    let instance = request.group_instance_id.as_ref().map(|id| id.as_str());
    if let Err(code) = world.may_commit(broker, group, generation, request.member_id.as_str(), instance) {
        return Ok(Some(code));
    }
    if let Some(refusal) = world.refusal(broker, partition) {
        return if question.waited < refusal.after {
            Err(Answer::Wait(refusal.after - question.waited))
        } else {
            Ok(Some(refusal.commit))
        };
    }
    if commits.is_empty() {
        return Ok(None);
    }
    Ok(world.commit(broker, group, commits).err())
}

/// Takes committed offsets back (KIP-496).
pub(super) fn delete(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, OffsetDeleteRequestData);
    let group = request.group_id.as_str();
    let refused = |code: i16| OffsetDeleteResponseData { error_code: code, ..Default::default() };
    if let Some(code) = group_refused(world, question, "OffsetDelete", group) {
        return say!(question, refused(code));
    }
    if group.is_empty() {
        return say!(question, refused(INVALID_GROUP_ID));
    }
    let broker = question.broker;
    let state = match world.group(broker, group) {
        Ok(Some(state)) => GroupState::clone(state),
        Ok(None) => return say!(question, refused(GROUP_NOT_FOUND)),
        Err(code) => return say!(question, refused(code)),
    };
    let Some(node) = world.node(broker) else { return Answer::Close };
    let subscribed = subscribed(&state);
    let mut after = state.clone();
    let topics = request
        .topics
        .iter()
        .map(|topic| {
            let name = topic.name.as_str();
            let partitions = topic
                .partitions
                .iter()
                .map(|one| {
                    let number = one.partition_index;
                    let error_code = if !world.may_describe_topic(name) {
                        TOPIC_DENIED
                    } else if node.seen().partition(name, number).is_none() {
                        UNKNOWN_TOPIC_OR_PARTITION
                    } else if subscribed.iter().any(|topic| topic == name) {
                        GROUP_SUBSCRIBED_TO_TOPIC
                    } else {
                        std::sync::Arc::make_mut(&mut after.offsets).remove(&(name.to_owned(), number));
                        0
                    };
                    OffsetDeleteResponsePartition { partition_index: number, error_code, ..Default::default() }
                })
                .collect();
            OffsetDeleteResponseTopic { name: topic.name.clone(), partitions, ..Default::default() }
        })
        .collect();
    if after != state {
        match written(world, question, group, Some(after)) {
            Ok(0) => {}
            Ok(code) => return say!(question, refused(code)),
            Err(later) => return later,
        }
    }
    say!(question, OffsetDeleteResponseData { topics, ..Default::default() })
}

/// The topics that members of a group read: those of their subscriptions (`ConsumerProtocolSubscription`: a version, then
/// the topics); of members that only the scenario tells of, those that the group has offsets in.
fn subscribed(state: &GroupState) -> Vec<String> {
    let mut topics = Vec::new();
    for member in state.members.iter() {
        let listed = topics_of(&member.metadata);
        match listed {
            Some(listed) if !listed.is_empty() => topics.extend(listed),
            _ => topics.extend(state.offsets.keys().map(|(topic, _)| topic.clone())),
        }
    }
    topics
}

fn topics_of(subscription: &[u8]) -> Option<Vec<String>> {
    let (_, rest) = subscription.split_at_checked(2)?;
    let (count, mut rest) = rest.split_first_chunk::<4>()?;
    let mut topics = Vec::new();
    for _ in 0..i32::from_be_bytes(*count) {
        let (length, behind) = rest.split_first_chunk::<2>()?;
        let length = usize::try_from(i16::from_be_bytes(*length)).ok()?;
        let (name, behind) = behind.split_at_checked(length)?;
        topics.push(String::from_utf8(name.to_vec()).ok()?);
        rest = behind;
    }
    Some(topics)
}

/// Writes a group, or waits for it to be refused; gives the code.
fn written(world: &mut World, question: &Question<'_>, group: &str, state: Option<GroupState>) -> Result<i16, Answer> {
    let broker = question.broker;
    let partition = match world.serves(broker, group) {
        Ok(partition) => partition,
        Err(code) => return Ok(code),
    };
    if let Some(refusal) = world.refusal(broker, partition) {
        return if question.waited < refusal.after {
            Err(Answer::Wait(refusal.after - question.waited))
        } else {
            Ok(refusal.commit)
        };
    }
    Ok(world.write_group(broker, group, state).err().unwrap_or(0))
}

/// The code with which a write of a group is refused in the end.
fn refused_with(world: &World, question: &Question<'_>, group: &str) -> i16 {
    let partition = world.serves(question.broker, group);
    let refusal = partition.map(|partition| world.refusal(question.broker, partition));
    refusal.map_or_else(|code| code, |refusal| refusal.map_or(NOT_COORDINATOR, |refusal| refusal.commit))
}

/// Deletes groups that have no members (KIP-229).
pub(super) fn delete_groups(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, DeleteGroupsRequestData);
    let mut results = Vec::new();
    for id in request.groups_names {
        let group = id.as_str();
        let found = world.group(question.broker, group).map(|state| state.map(|state| state.members.is_empty()));
        let error_code = match (group_refused(world, question, "DeleteGroups", group), found) {
            (Some(code), _) => code,
            (None, _) if group.is_empty() => INVALID_GROUP_ID,
            (None, Err(code)) => code,
            (None, Ok(None)) => GROUP_NOT_FOUND,
            (None, Ok(Some(false))) => NON_EMPTY_GROUP,
            (None, Ok(Some(true))) => match written(world, question, group, None) {
                Ok(code) => code,
                Err(later) if results.is_empty() => return later,
                // Others were deleted already, so the request cannot be done once more: this one is refused at once.
                Err(_) => refused_with(world, question, group),
            },
        };
        results.push(DeletableGroupResult { group_id: id, error_code, ..Default::default() });
    }
    say!(question, DeleteGroupsResponseData { results, ..Default::default() })
}
