//! `leader-lost`: the leader's broker is gone, and the cluster has not noticed yet (or never will).
//!
//! Catalogue row 3. Opens the moment a broker that answered before refuses connections or is unreachable while others
//! still name it as leader, some nine seconds before Kafka reports anything. Closes when a leader answers.

use super::{Context, Rule, capital, finding, seen_, step};
use crate::facts::Controller;
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity, Status};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId, words};

const SLUG: &str = "leader-lost";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "The leader's broker is gone, and the cluster has not noticed yet (or never will)",
        severity: "outage, or error while an election is due",
        opens: "A leader's broker that answered before refuses or is unreachable.",
        closes: "A leader answers.",
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let groups = context.group_by(|verdict| match &verdict.cause {
        Cause::LeaderGone { leader, successors } => Some((*leader, successors.clone(), true, verdict.status)),
        Cause::LeaderGoneTooFewLeft { leader, successors } => {
            Some((*leader, successors.clone(), false, verdict.status))
        }
        _ => None,
    });
    groups
        .into_iter()
        .map(|((leader, successors, enough, status), partitions)| {
            explain(context, leader, &successors, enough, status, partitions)
        })
        .collect()
}

fn explain(
    context: &Context<'_, '_>,
    leader: BrokerId,
    successors: &[BrokerId],
    enough: bool,
    status: Status,
    partitions: Vec<PartitionId>,
) -> Finding {
    let reach = context.reach(&partitions);
    let stuck = status == Status::Stuck;
    let severity = if stuck { Severity::Outage } else { Severity::Error };
    let trouble = context.trouble(leader);
    let mut finding =
        finding(SLUG, severity, format!("{} is down: it coordinates {reach}.", capital(&context.broker(leader))));
    finding.evidence.push(seen_(format!(
        "{}: {trouble}, since {}.",
        capital(&context.broker(leader)),
        crate::time::clock(context.facts.silent_since(leader))
    )));
    if context.facts.listed_live.contains(&leader) {
        finding.evidence.push(seen_(
            "The other brokers still list it as live; they notice after their session time-out.".to_owned(),
        ));
    }
    let bound = partitions
        .iter()
        .filter_map(|partition| context.verdicts.get(partition)?.expected_by.as_ref())
        .max_by_key(|bound| bound.at);
    if successors.is_empty() {
        finding.outlook = Some(format!("It will not heal by itself: stuck until broker {leader} is back."));
        finding.evidence.push(seen_("No other in-sync replica lives.".to_owned()));
        finding.remedies.push(start(leader));
        finding.remedies.push(no_restart());
    } else if !enough {
        finding.outlook = Some(format!(
            "{} can be elected, but then too few in-sync replicas remain for commits (min.insync.replicas).",
            capital(&words::brokers(successors))
        ));
        finding.remedies.push(start(leader));
    } else if let Some(bound) = bound {
        finding.outlook = Some(format!(
            "Recovering: {} {} in sync, and an election is due {}.",
            words::brokers(successors),
            if successors.len() == 1 { "is" } else { "are" },
            super::by(bound)
        ));
        finding.remedies.push(step(
            "Wait for the election",
            "It needs no help. Start the broker again when you know why it stopped.",
        ));
    } else {
        finding.outlook = Some(match &context.facts.controller {
            Controller::Gone(why) => format!("Nobody can elect another leader: {why}."),
            _ => "The time for an election has passed, and none came.".to_owned(),
        });
        finding.remedies.push(start(leader));
        finding
            .remedies
            .push(step("Look at the controller's log", "It should have elected one of the in-sync replicas."));
    }
    finding.brokers = vec![leader];
    finding.partitions = partitions;
    finding
}

fn start(leader: BrokerId) -> Remedy {
    step(
        format!("Start broker {leader}"),
        "It has the data: the groups come back by themselves within seconds of its start, and nothing is lost.",
    )
}

fn no_restart() -> Remedy {
    Remedy {
        title: "Do not delete __consumer_offsets, and do not restart the other brokers".to_owned(),
        why: "The other coordinators work.".to_owned(),
        command: None,
        danger: Some("Deleting the topic deletes the committed offsets of all groups.".to_owned()),
        ..Remedy::default()
    }
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn stuck_at_once_without_another_replica() {
        let sample = Sample::kraft(3, 6, 1).group_on(0, "orders").gone(1);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] Broker 1 (127.0.0.1:9001) is down: it coordinates 2 of 6 partitions of __consumer_offsets (1 known group).
          outlook: It will not heal by itself: stuck until broker 1 is back.
          seen: Broker 1 (127.0.0.1:9001): connection refused, since 12:00:00 UTC.
          seen: The other brokers still list it as live; they notice after their session time-out.
          seen: No other in-sync replica lives.
          -> Start broker 1: It has the data: the groups come back by themselves within seconds of its start, and nothing is lost.
          -> Do not delete __consumer_offsets, and do not restart the other brokers: The other coordinators work.
             ! Deleting the topic deletes the committed offsets of all groups.
        ");
    }

    #[test]
    fn recovering_with_another_replica_in_sync() {
        insta::assert_snapshot!(text(&Sample::kraft(3, 3, 3).gone(1).report(), super::SLUG), @"
        [error] Broker 1 (127.0.0.1:9001) is down: it coordinates partition 0 of __consumer_offsets.
          outlook: Recovering: brokers 2 and 3 are in sync, and an election is due by 12:00:13 UTC.
          seen: Broker 1 (127.0.0.1:9001): connection refused, since 12:00:00 UTC.
          seen: The other brokers still list it as live; they notice after their session time-out.
          -> Wait for the election: It needs no help. Start the broker again when you know why it stopped.
        ");
    }

    #[test]
    fn too_few_would_remain() {
        let sample = Sample::kraft(3, 3, 3).min_isr(3).gone(1);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] Broker 1 (127.0.0.1:9001) is down: it coordinates partition 0 of __consumer_offsets.
          outlook: Brokers 2 and 3 can be elected, but then too few in-sync replicas remain for commits (min.insync.replicas).
          seen: Broker 1 (127.0.0.1:9001): connection refused, since 12:00:00 UTC.
          seen: The other brokers still list it as live; they notice after their session time-out.
          -> Start broker 1: It has the data: the groups come back by themselves within seconds of its start, and nothing is lost.
        ");
    }

    #[test]
    fn no_quorum_no_election() {
        let sample = Sample::kraft(3, 3, 3).gone(1).gone(2);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] Broker 1 (127.0.0.1:9001) is down: it coordinates partition 0 of __consumer_offsets.
          outlook: Nobody can elect another leader: 2 of 3 quorum voters do not answer.
          seen: Broker 1 (127.0.0.1:9001): connection refused, since 12:00:00 UTC.
          seen: The other brokers still list it as live; they notice after their session time-out.
          -> Start broker 1: It has the data: the groups come back by themselves within seconds of its start, and nothing is lost.
          -> Look at the controller's log: It should have elected one of the in-sync replicas.
        [outage] Broker 2 (127.0.0.1:9002) is down: it coordinates partition 1 of __consumer_offsets.
          outlook: Nobody can elect another leader: 2 of 3 quorum voters do not answer.
          seen: Broker 2 (127.0.0.1:9002): connection refused, since 12:00:00 UTC.
          seen: The other brokers still list it as live; they notice after their session time-out.
          -> Start broker 2: It has the data: the groups come back by themselves within seconds of its start, and nothing is lost.
          -> Look at the controller's log: It should have elected one of the in-sync replicas.
        ");
    }

    #[test]
    fn a_broker_never_reached_is_not_a_dead_one() {
        let sample = Sample::kraft(3, 6, 1).never_reached(1);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
