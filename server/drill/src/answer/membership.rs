//! JoinGroup, SyncGroup, Heartbeat and LeaveGroup: classic groups with members that are really connected.

use std::time::Duration;

use unstuck_wire::schema::join_group_response::JoinGroupResponseMember;
use unstuck_wire::schema::leave_group_response::MemberResponse;
use unstuck_wire::schema::{
    HeartbeatResponseData, JoinGroupResponseData, LeaveGroupResponseData, SyncGroupResponseData,
};

use super::admin::group_refused;
use super::words::text;
use super::{Answer, Question, read, say};
use crate::scenario::model::Release;
use crate::world::{JoinOutcome, Joining, SyncOutcome, Syncing, World};

fn milliseconds(number: i32) -> Duration {
    Duration::from_millis(u64::try_from(number).unwrap_or(0))
}

/// A member joins.
pub(super) fn join(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, JoinGroupRequestData);
    let version = question.asked.version;
    let group = request.group_id.as_str();
    let outcome = match group_refused(world, question, "JoinGroup", group) {
        Some(code) => JoinOutcome::Refused(code, request.member_id.as_str().to_owned()),
        None => {
            let joining = Joining {
                group,
                member_id: request.member_id.as_str(),
                instance_id: request.group_instance_id.as_ref().map(|id| id.as_str()),
                client_id: question.asked.client_id.as_deref().unwrap_or_default(),
                host: question.host,
                session_timeout: milliseconds(request.session_timeout_ms),
                // Version 0 knows no second time-out.
                rebalance_timeout: milliseconds(if version == 0 {
                    request.session_timeout_ms
                } else {
                    request.rebalance_timeout_ms
                }),
                protocol_type: request.protocol_type.as_str(),
                protocols: request.protocols.iter().map(|one| (one.name.to_string(), one.metadata.clone())).collect(),
                id_first: version >= 4,
                asking: (question.connection, question.asked.correlation),
            };
            world.join(question.broker, &joining)
        }
    };
    let answer = match outcome {
        JoinOutcome::Wait(time) => return Answer::Wait(time),
        JoinOutcome::Refused(code, member_id) => {
            let old = world.node(question.broker).is_some_and(|node| node.release == Release::V1_0);
            JoinGroupResponseData {
                error_code: code,
                generation_id: if old { 0 } else { -1 },
                member_id: text(&member_id),
                protocol_name: (version < 7).then(|| text("")),
                ..Default::default()
            }
        }
        JoinOutcome::Joined(joined) => JoinGroupResponseData {
            generation_id: joined.generation,
            protocol_type: (version >= 7).then(|| text(&joined.protocol_type)),
            protocol_name: Some(text(&joined.protocol)),
            leader: text(&joined.leader),
            member_id: text(&joined.member_id),
            members: joined
                .members
                .into_iter()
                .map(|(id, instance, metadata)| JoinGroupResponseMember {
                    member_id: text(&id),
                    group_instance_id: instance.as_deref().filter(|_| version >= 5).map(text),
                    metadata,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        },
    };
    say!(question, answer)
}

/// A member asks for its assignment.
pub(super) fn sync(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, SyncGroupRequestData);
    let group = request.group_id.as_str();
    let outcome = match group_refused(world, question, "SyncGroup", group) {
        Some(code) => SyncOutcome::Refused(code),
        None => {
            let syncing = Syncing {
                group,
                generation: request.generation_id,
                member_id: request.member_id.as_str(),
                protocol: request.protocol_name.as_ref().map(|name| name.as_str()),
                assignments: request
                    .assignments
                    .iter()
                    .map(|one| (one.member_id.to_string(), one.assignment.clone()))
                    .collect(),
                waited: question.waited,
            };
            world.sync(question.broker, &syncing)
        }
    };
    let answer = match outcome {
        SyncOutcome::Wait(time) => return Answer::Wait(time),
        SyncOutcome::Refused(code) => SyncGroupResponseData { error_code: code, ..Default::default() },
        SyncOutcome::Synced(protocol_type, protocol, assignment) => SyncGroupResponseData {
            protocol_type: Some(text(&protocol_type)).filter(|_| question.asked.version >= 5),
            protocol_name: Some(text(&protocol)).filter(|_| question.asked.version >= 5),
            assignment,
            ..Default::default()
        },
    };
    say!(question, answer)
}

/// A member says that it is there.
pub(super) fn heartbeat(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, HeartbeatRequestData);
    let group = request.group_id.as_str();
    let error_code = group_refused(world, question, "Heartbeat", group).unwrap_or_else(|| {
        let instance = request.group_instance_id.as_ref().map(|id| id.as_str());
        world
            .heartbeat(question.broker, group, request.generation_id, request.member_id.as_str(), instance)
            .err()
            .unwrap_or(0)
    });
    say!(question, HeartbeatResponseData { error_code, ..Default::default() })
}

/// Members leave, or a tool takes them out.
pub(super) fn leave(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, LeaveGroupRequestData);
    let group = request.group_id.as_str();
    let broker = question.broker;
    let refused = group_refused(world, question, "LeaveGroup", group).or_else(|| world.serves(broker, group).err());
    if let Some(error_code) = refused {
        return say!(question, LeaveGroupResponseData { error_code, ..Default::default() });
    }
    if question.asked.version < 3 {
        let error_code = world.leave(broker, group, request.member_id.as_str(), None).err().unwrap_or(0);
        return say!(question, LeaveGroupResponseData { error_code, ..Default::default() });
    }
    let members = request
        .members
        .into_iter()
        .map(|one| {
            let instance = one.group_instance_id.as_ref().map(|id| id.as_str());
            let error_code = world.leave(broker, group, one.member_id.as_str(), instance).err().unwrap_or(0);
            MemberResponse {
                member_id: one.member_id.clone(),
                group_instance_id: one.group_instance_id.clone(),
                error_code,
                ..Default::default()
            }
        })
        .collect();
    say!(question, LeaveGroupResponseData { members, ..Default::default() })
}
