//! ListGroups (key 16): the groups of the partitions that this broker serves, and not a word about any others.

use unstuck_wire::schema::list_groups_response::ListedGroup;
use unstuck_wire::schema::{KafkaString, ListGroupsResponseData};

use super::words::{code, text};
use super::{Answer, Question, read, say};
use crate::scenario::model::{GroupType, Release};
use crate::world::{GroupState, World};

pub(super) fn answer(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, ListGroupsRequestData);
    let Some(node) = world.node(question.broker) else { return Answer::Close };
    let release = node.release;
    let mut answer = ListGroupsResponseData::default();
    if let Some(error) = question.forced {
        return say!(question, answer.with_error_code(error));
    }
    if release < Release::V2_3 && (world.acl().cluster_hidden || world.acl().groups_hidden) {
        // Up to 2.0: all or nothing, by DESCRIBE on CLUSTER. From 2.1 on the list is filtered (KIP-231).
        return say!(question, answer.with_error_code(code::CLUSTER_DENIED));
    }
    let new = crate::world::new_coordinator(release);
    let wanted = |filter: &[KafkaString], value: &str| {
        filter.is_empty() || filter.iter().any(|one| one.as_str().eq_ignore_ascii_case(value))
    };
    for partition in world.partitions_of(question.broker) {
        let fault = world.error_for(question.broker, "ListGroups", partition);
        let error = fault.or_else(|| world.loads(question.broker, partition).then_some(code::LOADING));
        match error {
            None => {}
            // Of a shard that is not its own any more a coordinator says nothing.
            Some(code::NOT_COORDINATOR) => continue,
            Some(error) => {
                answer.error_code = error;
                continue;
            }
        }
        for (id, group) in world.log(question.broker, partition).into_iter().flatten() {
            let state = group.state.as_str();
            let kind = type_of(group);
            if world.may_describe_group(id)
                && wanted(&request.states_filter, state)
                && wanted(&request.types_filter, kind)
            {
                answer.groups.push(ListedGroup {
                    group_id: text(id),
                    protocol_type: KafkaString::from_static(group.protocol_type()),
                    group_state: text(state),
                    group_type: KafkaString::from_static(kind),
                    ..ListedGroup::default()
                });
            }
        }
    }
    if new && answer.error_code != 0 {
        // The new coordinator fails as a whole; the old one lists what it has.
        answer.groups.clear();
    }
    say!(question, answer)
}

/// A group's type as listings tell it (KIP-848).
pub(super) fn type_of(group: &GroupState) -> &'static str {
    match group.r#type {
        GroupType::Classic | GroupType::Connect | GroupType::Simple => "classic",
        GroupType::Consumer => "consumer",
        GroupType::Share => "share",
        GroupType::Streams => "streams",
    }
}
