//! What answers to administrative requests have in common.

use std::time::Duration;

use super::words::code::{CLUSTER_DENIED, GROUP_DENIED, NOT_CONTROLLER, TIMED_OUT};
use super::{Answer, Question};
use crate::world::{Rule, World};

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

/// The code with which a request about a group is refused before anybody looks at the group: by a fault, or because the
/// account may not see it.
pub(super) fn group_refused(world: &World, question: &Question<'_>, api: &str, group: &str) -> Option<i16> {
    let fault = || {
        let count = world.node(question.broker)?.count;
        world.error_for(question.broker, api, world.place(group, count)?)
    };
    question.forced.or_else(fault).or_else(|| (!world.may_describe_group(group)).then_some(GROUP_DENIED))
}
