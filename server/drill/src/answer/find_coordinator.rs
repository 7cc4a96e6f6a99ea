//! FindCoordinator (key 10): whom the broker that is asked takes for the coordinator (`KafkaApis.getCoordinator`). It
//! never looks whether that coordinator works.

use unstuck_wire::schema::FindCoordinatorResponseData;
use unstuck_wire::schema::find_coordinator_response::Coordinator;

use super::words::{code, message, text};
use super::{Answer, Question, read, say};
use crate::scenario::model::Release;
use crate::world::World;

const TRANSACTIONS_TOPIC: &str = "__transaction_state";
const SHARE_TOPIC: &str = "__share_group_state";

type Found = Result<(i32, String, u16), i16>;

pub(super) fn answer(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, FindCoordinatorRequestData);
    let version = question.asked.version;
    if version >= 4 {
        let coordinators = request.coordinator_keys.iter().map(|key| {
            let found = find(world, question, request.key_type, key.as_str());
            let mut one = Coordinator { key: key.clone(), ..Coordinator::default() };
            (one.error_code, one.node_id, one.host, one.port) = told(&found);
            one.error_message = message(one.error_code)
                .filter(|_| one.error_code != code::COORDINATOR_NOT_AVAILABLE)
                .or_else(|| Some(text("")));
            one
        });
        return say!(question, FindCoordinatorResponseData::default().with_coordinators(coordinators.collect()));
    }
    let release = world.node(question.broker).map_or(world.release(), |node| node.release);
    if !matches!(request.key_type, 0..=2) && release == Release::V1_0 {
        return Answer::Close;
    }
    let found = find(world, question, request.key_type, request.key.as_str());
    let mut answer = FindCoordinatorResponseData::default();
    (answer.error_code, answer.node_id, answer.host, answer.port) = told(&found);
    if answer.error_code == code::INVALID_REQUEST && release == Release::V2_3 {
        answer.error_code = -1;
    }
    if version >= 1 && release >= Release::V2_3 {
        answer.error_message = message(answer.error_code).or_else(|| (answer.error_code == 0).then(|| text("NONE")));
    }
    say!(question, answer)
}

fn told(found: &Found) -> (i16, i32, unstuck_wire::schema::KafkaString, i32) {
    match found {
        Ok((id, host, port)) => (0, *id, text(host), i32::from(*port)),
        Err(code) => (*code, -1, text(""), -1),
    }
}

fn find(world: &mut World, question: &Question<'_>, kind: i8, key: &str) -> Found {
    if let Some(error) = question.forced {
        return Err(error);
    }
    match kind {
        0 => group(world, question.broker, key),
        // Nothing here would create these topics, so without them there is no such coordinator.
        1 => leader_of(world, question.broker, TRANSACTIONS_TOPIC, key),
        // The key of a share partition: group, topic id, partition (KIP-932).
        2 if question.asked.version >= 6 && key.split(':').count() >= 3 => {
            leader_of(world, question.broker, SHARE_TOPIC, key)
        }
        _ => Err(code::INVALID_REQUEST),
    }
}

fn group(world: &mut World, broker: i32, group: &str) -> Found {
    if !world.may_describe_group(group) {
        return Err(code::GROUP_DENIED);
    }
    let partition = world.node(broker).and_then(|node| world.place(group, node.count));
    if let Some(error) = partition.and_then(|partition| world.error_for(broker, "FindCoordinator", partition)) {
        return Err(error);
    }
    world.find_coordinator(broker, group)
}

fn leader_of(world: &World, broker: i32, topic: &str, key: &str) -> Found {
    let none = code::COORDINATOR_NOT_AVAILABLE;
    let seen = world.node(broker).ok_or(none)?.seen();
    let count = i32::try_from(seen.topics.get(topic).ok_or(none)?.partitions.len()).map_err(|_| none)?;
    let partition = world.place(key, count).ok_or(none)?;
    let leader = seen.leader(topic, partition).ok_or(none)?;
    let endpoint = seen.brokers.get(&leader).ok_or(none)?;
    Ok((leader, endpoint.host.clone(), endpoint.port))
}
