//! The verdict on a transactional id in words.

use super::{Cause, TransactionDetail};
use crate::facts::Facts;
use crate::report::Status;
use crate::{GroupId, time, words};

/// Without a partition to look at.
pub(super) fn without_topic(facts: &Facts<'_>, id: &GroupId) -> (Status, String) {
    if facts.answering.is_empty() {
        return (Status::Unknown, format!("{id}: unknown, because no broker answers."));
    }
    let sentence = format!(
        "{id}: unknown, because no broker lists __transaction_state: no producer has used transactions on this cluster \
         yet, or the topic is hidden from Unstuck (needs DESCRIBE on it)."
    );
    (Status::Unknown, sentence)
}

pub(super) fn sentence(id: &GroupId, status: Status, cause: &Cause) -> String {
    let reason = reason(cause);
    match status {
        Status::Working | Status::LookAtGroup => format!("{id} works: {reason}."),
        Status::AtRisk => format!("{id} is at risk: {reason}."),
        Status::Recovering => format!("{id} is recovering: {reason}."),
        Status::Stuck => format!("{id} is stuck: {reason}."),
        Status::Unknown => format!("{id}: unknown, because {reason}."),
    }
}

fn reason(cause: &Cause) -> String {
    match cause {
        Cause::Serves => "its transaction coordinator serves".to_owned(),
        Cause::OneReplica(broker) => {
            format!("its transaction coordinator serves, but everything depends on broker {broker}")
        }
        Cause::NoLeader { candidates } if candidates.is_empty() => {
            "its partition of __transaction_state has no leader, and no in-sync replica is alive".to_owned()
        }
        Cause::NoLeader { candidates } => {
            let verb = if candidates.len() == 1 { "is" } else { "are" };
            format!(
                "its partition of __transaction_state has no leader, although {} {verb} alive and in sync",
                words::brokers(candidates)
            )
        }
        Cause::LeaderDown(leader) => format!("its transaction coordinator, broker {leader}, is down"),
        Cause::LeaderSilent(leader) => format!("its transaction coordinator, broker {leader}, does not answer"),
        Cause::LeaderNotReachable(leader) => {
            format!("its transaction coordinator, broker {leader}, cannot be reached from here")
        }
        Cause::TooFewInSync { isr, min } => {
            let verb = if *isr == 1 { "replica is" } else { "replicas are" };
            format!(
                "{isr} {verb} in sync and min.insync.replicas is {min}, so its transaction coordinator can write nothing"
            )
        }
        Cause::Loading(leader) => {
            format!("its transaction coordinator, broker {leader}, is loading its partition")
        }
        Cause::NotServed(leader) => {
            format!("broker {leader} leads its partition of __transaction_state and says that it does not serve it")
        }
        Cause::Denied(leader) => format!(
            "Unstuck may not ask its transaction coordinator, broker {leader} (needs DESCRIBE on the transactional id)"
        ),
        Cause::NotAsked(leader) => format!(
            "broker {leader}, its transaction coordinator, was not asked or did not answer; brokers below 3.0 cannot be \
             asked"
        ),
    }
}

pub(super) fn detail(detail: &TransactionDetail) -> String {
    let Some(state) = &detail.state else {
        return "The coordinator knows no such transactional id: no producer has used it yet, or it has expired."
            .to_owned();
    };
    let state = crate::visible(state);
    let Some(started) = detail.started else {
        return format!("State {state}: no transaction is open.");
    };
    let lasted = time::millis_between(started, detail.at);
    let late = if lasted > detail.timeout_ms {
        format!(", past its time-out of {}", time::span(detail.timeout_ms))
    } else {
        format!("; it times out after {}", time::span(detail.timeout_ms))
    };
    format!("{state} since {} ({}){late}.", time::clock(started), time::span(lasted))
}
