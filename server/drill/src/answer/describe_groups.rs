//! DescribeGroups (key 15): groups of the classic protocol.

use unstuck_wire::schema::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use unstuck_wire::schema::{DescribeGroupsResponseData, KafkaString};

use super::list_groups::type_of;
use super::members::written;
use super::words::{code, group_operations, text};
use super::{Answer, Question, read, say};
use crate::scenario::model::Release;
use crate::world::{GroupState, World};

pub(super) fn answer(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, DescribeGroupsRequestData);
    let Some(node) = world.node(question.broker) else { return Answer::Close };
    let release = node.release;
    let groups = request.groups.iter().map(|id| {
        let mut described = DescribedGroup { group_id: id.clone(), ..DescribedGroup::default() };
        match looked_up(world, question, "DescribeGroups", id.as_str()) {
            Err(error) => described.error_code = error,
            Ok(Some(group)) if type_of(group) == "classic" => {
                fill(&mut described, world, group);
            }
            Ok(other) => {
                described.group_state = KafkaString::from_static("Dead");
                if question.asked.version >= 6 {
                    // From version 6 on a group that is not there is an error (KIP-1043).
                    described.error_code = code::GROUP_NOT_FOUND;
                    described.error_message = Some(text(&missing(id.as_str(), other.is_some(), "classic")));
                }
            }
        }
        let version = question.asked.version;
        if request.include_authorized_operations && described.error_code == 0 && version >= 3 {
            described.authorized_operations = group_operations(release);
        } else if release < Release::V2_8 && version >= 3 {
            // Before 2.4 what was not asked for was 0, not "unknown" (KIP-430).
            described.authorized_operations = 0;
        }
        described
    });
    say!(question, DescribeGroupsResponseData::default().with_groups(groups.collect()))
}

/// A group as the coordinator that is asked has it, or its error code.
pub(super) fn looked_up<'a>(
    world: &'a World,
    question: &Question<'_>,
    api: &str,
    id: &str,
) -> Result<Option<&'a GroupState>, i16> {
    if let Some(error) = question.forced {
        return Err(error);
    }
    if !world.may_describe_group(id) {
        return Err(code::GROUP_DENIED);
    }
    let partition = world.node(question.broker).and_then(|node| world.place(id, node.count));
    if let Some(error) = partition.and_then(|partition| world.error_for(question.broker, api, partition)) {
        return Err(error);
    }
    world.group(question.broker, id).map(|group| group.map(AsRef::as_ref))
}

/// What coordinators say about a group that is not there, or is of another type.
pub(super) fn missing(id: &str, exists: bool, wanted: &str) -> String {
    if exists { format!("Group {id} is not a {wanted} group.") } else { format!("Group {id} not found.") }
}

fn fill(described: &mut DescribedGroup, world: &World, group: &GroupState) {
    // The protocol and what it carries are told of a stable group only (`GroupMetadata.summary`).
    let stable = group.state == "Stable";
    described.group_state = text(&group.state);
    described.protocol_type = KafkaString::from_static(group.protocol_type());
    if stable {
        described.protocol_data = text(&group.protocol);
    }
    described.members = group
        .members
        .iter()
        .enumerate()
        .map(|(number, member)| {
            let (metadata, assignment) = if stable { written(world, group, number) } else { Default::default() };
            DescribedGroupMember {
                member_id: text(&group.member_id(number)),
                group_instance_id: member.instance_id.as_deref().map(text),
                client_id: text(&member.client_id),
                client_host: text(&member.host),
                member_metadata: metadata,
                member_assignment: assignment,
                ..DescribedGroupMember::default()
            }
        })
        .collect();
}
