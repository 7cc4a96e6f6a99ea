//! AlterPartitionReassignments and ListPartitionReassignments (KIP-455).

use unstuck_wire::schema::alter_partition_reassignments_response::{
    ReassignablePartitionResponse, ReassignableTopicResponse,
};
use unstuck_wire::schema::list_partition_reassignments_response::{
    OngoingPartitionReassignment, OngoingTopicReassignment,
};
use unstuck_wire::schema::{AlterPartitionReassignmentsResponseData, ListPartitionReassignmentsResponseData};

use super::admin::allowed_and_ruled;
use super::words::code::{
    INVALID_ASSIGNMENT, INVALID_REPLICATION_FACTOR, NO_REASSIGNMENT_IN_PROGRESS, UNKNOWN_TOPIC_OR_PARTITION,
};
use super::words::{text, words};
use super::{Answer, Question, read, say};
use crate::scenario::model::Mode;
use crate::world::{ReassignmentError, World};

/// A code and its words.
type Wrong = (i16, Option<String>);

/// Starts and cancels reassignments.
pub(super) fn alter(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, AlterPartitionReassignmentsRequestData);
    let mut answer = AlterPartitionReassignmentsResponseData {
        allow_replication_factor_change: request.allow_replication_factor_change,
        ..Default::default()
    };
    match allowed_and_ruled(world, question) {
        Ok(()) => {}
        Err(Ok(later)) => return later,
        Err(Err(code)) => {
            answer.error_code = code;
            answer.error_message = Some(text(words(code)));
            return say!(question, answer);
        }
    }
    if world.mode() == Mode::Zookeeper {
        answer.error_message = Some(text(""));
    }
    for topic in request.topics {
        let name = topic.name.as_str();
        let partitions = topic
            .partitions
            .into_iter()
            .map(|one| {
                let number = one.partition_index;
                let (error_code, message) =
                    reassign(world, name, number, one.replicas, request.allow_replication_factor_change)
                        .err()
                        .unwrap_or_default();
                ReassignablePartitionResponse {
                    partition_index: number,
                    error_code,
                    error_message: message.as_deref().map(text),
                    ..Default::default()
                }
            })
            .collect();
        answer.responses.push(ReassignableTopicResponse { name: text(name), partitions, ..Default::default() });
    }
    say!(question, answer)
}

fn reassign(
    world: &mut World,
    name: &str,
    number: i32,
    target: Option<Vec<i32>>,
    may_change_factor: bool,
) -> Result<(), Wrong> {
    let kraft = world.mode() == Mode::Kraft;
    let partition = world
        .topics()
        .get(name)
        .and_then(|topic| usize::try_from(number).ok().and_then(|at| topic.partitions.get(at)))
        .ok_or_else(|| {
            let words = match (kraft, world.topics().contains_key(name)) {
                (false, _) => "The partition does not exist.".to_owned(),
                (true, false) => format!("Unable to find a topic named {name}."),
                (true, true) => format!("Unable to find partition {name}:{number}."),
            };
            (UNKNOWN_TOPIC_OR_PARTITION, Some(words))
        })?;
    if let Some(target) = &target {
        if let Some(wrong) = wrong_replicas(world, target) {
            return Err((INVALID_ASSIGNMENT, Some(wrong)));
        }
        let before = partition.original.as_ref().unwrap_or(&partition.replicas).len();
        if !may_change_factor && before != target.len() {
            let wrong = format!("The replication factor is changed from {before} to {}", target.len());
            return Err((INVALID_REPLICATION_FACTOR, Some(wrong)));
        }
    }
    world.reassign(name, number, target).map_err(|error| match error {
        ReassignmentError::Unknown => (UNKNOWN_TOPIC_OR_PARTITION, None),
        ReassignmentError::InvalidReplicas => (INVALID_ASSIGNMENT, Some(error.to_string())),
        ReassignmentError::NoneInProgress => {
            (NO_REASSIGNMENT_IN_PROGRESS, (!kraft).then(|| words(NO_REASSIGNMENT_IN_PROGRESS).to_owned()))
        }
        ReassignmentError::Unclean => {
            let wrong = format!(
                "Unable to revert partition assignment for {name}:{number} because it would require an unclean leader \
                 election."
            );
            (INVALID_ASSIGNMENT, Some(wrong))
        }
    })
}

/// What is wrong with replicas, in Kafka's words.
fn wrong_replicas(world: &World, target: &[i32]) -> Option<String> {
    let twice = target.iter().enumerate().any(|(at, id)| target[..at].contains(id));
    if world.mode() == Mode::Zookeeper {
        let live: Vec<i32> = world.brokers().filter(|node| node.registered).map(|node| node.id).collect();
        let list = |ids: &[i32]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let said = list(target);
        return if target.is_empty() {
            Some("Empty replica list specified in partition reassignment.".to_owned())
        } else if twice {
            Some(format!("Duplicate replica ids in partition reassignment replica list: ArrayBuffer({said})"))
        } else if target.iter().any(|id| *id < 0) {
            Some(format!("Invalid broker id in replica list: ArrayBuffer({said})"))
        } else if target.iter().any(|id| !live.contains(id)) {
            let live = list(&live);
            Some(format!(
                "Replica assignment has brokers that are not alive. Replica list: ArrayBuffer({said}), live broker \
                 list: Set({live})"
            ))
        } else {
            None
        };
    }
    if target.is_empty() {
        return Some("The manual partition assignment includes an empty replica list.".to_owned());
    }
    let stranger = target.iter().find(|id| !world.brokers().any(|node| node.id == **id));
    if let Some(id) = stranger {
        return Some(format!(
            "The manual partition assignment includes broker {id}, but no such broker is registered."
        ));
    }
    twice.then(|| {
        let id = target.iter().enumerate().find(|(at, id)| target[..*at].contains(id)).map_or(-1, |(_, id)| *id);
        format!("The manual partition assignment includes the broker {id} more than once.")
    })
}

/// Lists reassignments that are not at their end.
pub(super) fn list(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, ListPartitionReassignmentsRequestData);
    let mut answer = ListPartitionReassignmentsResponseData::default();
    match allowed_and_ruled(world, question) {
        Ok(()) => {}
        Err(Ok(later)) => return later,
        Err(Err(code)) => {
            answer.error_code = code;
            answer.error_message = Some(text(words(code)));
            return say!(question, answer);
        }
    }
    if world.mode() == Mode::Zookeeper {
        answer.error_message = Some(text(""));
    }
    for (name, topic) in world.topics() {
        let asked = |number: i32| match &request.topics {
            None => true,
            Some(topics) => {
                topics.iter().any(|one| one.name.as_str() == name && one.partition_indexes.contains(&number))
            }
        };
        let partitions: Vec<_> = (0..)
            .zip(&topic.partitions)
            .filter(|(number, _)| asked(*number))
            .filter_map(|(number, partition)| {
                let (adding, removing) = partition.moving()?;
                Some(OngoingPartitionReassignment {
                    partition_index: number,
                    replicas: partition.replicas.clone(),
                    adding_replicas: adding,
                    removing_replicas: removing,
                    ..Default::default()
                })
            })
            .collect();
        if !partitions.is_empty() {
            answer.topics.push(OngoingTopicReassignment { name: text(name), partitions, ..Default::default() });
        }
    }
    say!(question, answer)
}
