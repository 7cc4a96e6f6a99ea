//! The verdict on a partition, and the state of a broker, in words. The subject is left out, so that the same words
//! serve "group x is stuck: …", the partition's page and the broker's row.

use crate::BrokerId;
use crate::facts::Facts;
use crate::report::{BrokerState, Status};
use crate::time;
use crate::verdict::{Cause, PartitionVerdict};
use crate::words;

/// Why the coordinator of a partition is the way it is: `its coordinator, broker 1, is down`.
pub(crate) fn sentence(facts: &Facts<'_>, verdict: &PartitionVerdict) -> String {
    let stuck = verdict.status == Status::Stuck;
    match &verdict.cause {
        Cause::None if verdict.writes_verified => "its coordinator serves, and commits are accepted".to_owned(),
        Cause::None => "its coordinator serves; whether commits are accepted is not verified".to_owned(),
        Cause::NobodyReachable => "no broker can be reached from here".to_owned(),
        Cause::NoLeaderNoCandidate { eligible } if eligible.is_empty() => {
            "its coordinator's partition has no leader, and nobody is known who could lead".to_owned()
        }
        Cause::NoLeaderNoCandidate { eligible } => {
            format!("its coordinator's partition has no leader, and {} {} down", words::brokers(eligible), is(eligible))
        }
        Cause::NoLeaderCandidate { candidates, isr_hidden } => format!(
            "its coordinator's partition has no leader, although {} {} alive{}",
            words::brokers(candidates),
            is(candidates),
            if *isr_hidden { "" } else { " and in sync" }
        ),
        Cause::ListenerMissing { .. } => {
            "its coordinator lives, but has no address on the listener that we use".to_owned()
        }
        Cause::NoLeaderDirFailed { brokers } => format!(
            "its coordinator's partition has no leader: its replica on {} is offline, although the broker is alive",
            words::brokers(brokers)
        ),
        Cause::CandidateRejoining { candidates } => format!(
            "its coordinator's partition has no leader yet; {} {} just back",
            words::brokers(candidates),
            is(candidates)
        ),
        Cause::LeaderGone { leader, successors } if !stuck && !successors.is_empty() => {
            format!("its coordinator, broker {leader}, is down, and another one is about to be elected")
        }
        Cause::LeaderGone { leader, .. } => format!("its coordinator, broker {leader}, is down"),
        Cause::LeaderGoneTooFewLeft { leader, .. } => {
            format!("its coordinator, broker {leader}, is down, and too few replicas remain for commits")
        }
        Cause::LeaderHung { leader } if stuck => format!("its coordinator, broker {leader}, hangs"),
        Cause::LeaderHung { leader } => format!("its coordinator, broker {leader}, does not answer"),
        Cause::LeaderNotReachable { leader } => {
            format!("its coordinator, broker {leader}, cannot be reached from here ({})", trouble(facts, *leader))
        }
        Cause::NotLookedYet => "its coordinator has not been looked at yet".to_owned(),
        Cause::Disagreement if verdict.status == Status::Recovering => {
            "brokers do not agree yet on its coordinator".to_owned()
        }
        Cause::Disagreement => "brokers disagree on its coordinator".to_owned(),
        Cause::LeaderOutsideIsr { leader } => format!(
            "its coordinator, broker {leader}, leads the partition without being in sync: its state contradicts itself"
        ),
        Cause::Loading { leader } => format!("its coordinator, broker {leader}, is loading its partition"),
        Cause::CoordinatorSilent { leader } if stuck => {
            format!("its coordinator hangs, although its broker {leader} answers")
        }
        Cause::CoordinatorSilent { leader } => {
            format!("its coordinator does not answer, although its broker {leader} does")
        }
        Cause::NotServed { leader, failed: true, .. } => {
            format!("its coordinator, broker {leader}, leads the partition but does not serve it")
        }
        Cause::NotServed { leader, .. } => format!("its coordinator, broker {leader}, does not serve it yet"),
        Cause::AwaitingCoordinator { leader, first_look: true } => {
            format!("its coordinator, broker {leader}, has not answered yet")
        }
        Cause::AwaitingCoordinator { leader, .. } => {
            format!("its coordinator is broker {leader} since a moment, and has not answered yet")
        }
        Cause::Denied { leader } => format!("Unstuck may not ask its coordinator, broker {leader}"),
        Cause::NotUsed { count, .. } => {
            format!("no group lives on this partition while brokers use {count} partitions")
        }
        Cause::OddAnswer { leader, code } => {
            format!("its coordinator, broker {leader}, answers {code} ({})", crate::snapshot::error_name(*code))
        }
        Cause::CommitsWait { members } => {
            format!("commits wait: {} {} down and still in the ISR", words::brokers(members), is(members))
        }
        Cause::CommitsBlocked { members } => format!(
            "commits are blocked: {} {} down and cannot be taken out of the ISR",
            words::brokers(members),
            is(members)
        ),
        Cause::BelowMinIsr { live, min, .. } => {
            format!(
                "commits are refused: {} in sync, min.insync.replicas is {min}",
                words::count(*live, "live replica")
            )
        }
        Cause::NoController => {
            "its coordinator serves, but the cluster has no controller to repair the next failure".to_owned()
        }
        Cause::DependsOn { brokers } => {
            format!("its coordinator serves, but everything depends on {}", words::brokers(brokers))
        }
    }
}

fn is(brokers: &[BrokerId]) -> &'static str {
    if brokers.len() == 1 { "is" } else { "are" }
}

fn trouble(facts: &Facts<'_>, broker: BrokerId) -> String {
    let trouble = facts.snapshot.brokers.get(&broker).and_then(|sight| sight.contact.trouble.as_ref());
    trouble.map_or_else(|| "no answer".to_owned(), |trouble| trouble.why.to_string())
}

/// How a broker stands: `answers in 3 ms`, `refuses connections since 15:48:31 UTC`.
pub(crate) fn broker_sentence(facts: &Facts<'_>, broker: BrokerId) -> String {
    let sight = facts.snapshot.brokers.get(&broker);
    let since = || time::clock(facts.silent_since(broker));
    match facts.state(broker) {
        BrokerState::Answering => match sight.and_then(|sight| sight.contact.round_trip_ms) {
            Some(ms) if facts.answering.iter().any(|&id| id != broker) && !facts.listed_live.contains(&broker) => {
                format!("answers in {ms} ms, but the other brokers do not list it as live")
            }
            Some(ms) => format!("answers in {ms} ms"),
            None => "answers".to_owned(),
        },
        BrokerState::Late => format!("late: no answer since {}", since()),
        BrokerState::Hung => format!("{}, since {}", trouble(facts, broker), since()),
        BrokerState::Gone => format!("{}, since {}", trouble(facts, broker), since()),
        BrokerState::NeverReached => format!("cannot be reached from here: {}", trouble(facts, broker)),
        BrokerState::NotLive if sight.is_some_and(|sight| sight.address.is_none()) => {
            "known from replica lists only; no broker tells its address".to_owned()
        }
        BrokerState::NotLive if sight.is_some_and(|sight| sight.fenced) => {
            format!("fenced by the cluster; {}", trouble(facts, broker))
        }
        BrokerState::NotLive => format!("not listed as live; {}", trouble(facts, broker)),
        BrokerState::Unreadable => format!("cannot be asked: {}", trouble(facts, broker)),
        BrokerState::NotTried if sight.is_some_and(|sight| sight.address.is_none()) => {
            "known from replica lists only; no broker tells its address".to_owned()
        }
        BrokerState::NotTried => "not tried yet".to_owned(),
    }
}
