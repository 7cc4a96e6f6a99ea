//! What answers to administrative requests have in common.

use std::time::Duration;

pub(super) use super::words::{text, uuid};
use super::{Answer, Question};
use crate::world::{Rule, World};

pub(super) const UNKNOWN_PARTITION: i16 = 3;
pub(super) const TIMED_OUT: i16 = 7;
pub(super) const NOT_COORDINATOR: i16 = 16;
pub(super) const TOPIC_DENIED: i16 = 29;
pub(super) const GROUP_DENIED: i16 = 30;
pub(super) const CLUSTER_DENIED: i16 = 31;
pub(super) const INVALID_PARTITIONS: i16 = 37;
pub(super) const INVALID_REPLICATION_FACTOR: i16 = 38;
pub(super) const INVALID_ASSIGNMENT: i16 = 39;
pub(super) const NOT_CONTROLLER: i16 = 41;
pub(super) const INVALID_REQUEST: i16 = 42;

/// How long a broker tries to reach a controller for a request that it forwards.
const FORWARDING: Duration = Duration::from_secs(30);

/// Whether the controller's work is done on a request. `Ok`: do it. `Err(Ok(answer))`: not yet. `Err(Err(code))`: it is
/// not, and this is the code that says so.
pub(super) fn ruled(world: &World, question: &Question<'_>) -> Result<(), Result<Answer, i16>> {
    if let Some(code) = question.forced {
        return Err(Err(code));
    }
    match world.rule(question.broker) {
        Rule::Rules => Ok(()),
        Rule::NotController => Err(Err(NOT_CONTROLLER)),
        Rule::Hangs if question.waited < FORWARDING => Err(Ok(Answer::Wait(FORWARDING - question.waited))),
        Rule::Hangs => Err(Err(TIMED_OUT)),
    }
}

/// As [`ruled`], for what needs a right on the cluster.
pub(super) fn allowed_and_ruled(world: &World, question: &Question<'_>) -> Result<(), Result<Answer, i16>> {
    if question.forced.is_none() && world.acl().cluster_hidden {
        return Err(Err(CLUSTER_DENIED));
    }
    ruled(world, question)
}

/// The words that Kafka has for a code where it says nothing more particular (`Errors`).
pub(super) fn words(code: i16) -> &'static str {
    match code {
        0 => "",
        3 => "This server does not host this topic-partition.",
        7 => "The request timed out.",
        29 => "Topic authorization failed.",
        30 => "Group authorization failed.",
        31 => "Cluster authorization failed.",
        41 => "This is not the correct controller for this cluster.",
        80 => "The preferred leader was not available.",
        83 => "Eligible topic partition leaders are not available.",
        84 => "Leader election not needed for topic partition.",
        85 => "No partition reassignment is in progress.",
        100 => "This server does not host this topic ID.",
        _ => "The server experienced an unexpected error when processing the request.",
    }
}

/// The code with which a request about a group is refused before anybody looks at the group: by a fault, or because the
/// account may not see it.
pub(super) fn group_refused(world: &World, question: &Question<'_>, api: &str, group: &str) -> Option<i16> {
    let fault = || {
        let count = world.node(question.broker)?.count;
        world.error_for(question.broker, api, world.place(group, count)?)
    };
    question.forced.or_else(fault).or_else(|| (!world.may_describe_group(group)).then_some(GROUP_DENIED))
}
