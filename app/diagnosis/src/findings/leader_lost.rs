//! `leader-lost`: the leader's broker is gone, and the cluster has not noticed yet (or never will).
//!
//! Catalogue row 3. Opens the moment a broker that answered before refuses connections or is unreachable while others
//! still name it as leader, some nine seconds before Kafka reports anything. Closes when a leader answers.

use super::ways_out::{never_delete_the_topic, never_restart_the_others, who_are};
use super::{Context, Rule, capital, finding, seen_};
use crate::facts::Controller;
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity, Status};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId, words};

const SLUG: &str = "leader-lost";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A coordinator's broker is down, and the cluster has not noticed yet",
        severity: "error while an election is due, otherwise outage",
        means: "The broker that leads these partitions of `__consumer_offsets`, and so coordinates their groups, is gone: \
                it answered before, and now refuses connections or cannot be reached. Kafka itself notices only when the \
                broker's session ends, about nine seconds later (KRaft; eighteen with ZooKeeper). Unstuck has the broken \
                connection at once, and can already tell which partitions will get another leader by themselves and \
                which will not: it is the ISR that decides, not the replication factor.",
        opens: "A leader's broker that answered before refuses connections or is unreachable, while others still name it \
                as leader.",
        closes: "A leader answers; or the cluster says leader -1, and another finding goes on from there.",
        not_told: "A broker that was never reached from here is not called lost, and neither is one that the cluster still \
                   lists long after it should have been dropped, while there is a controller: then it is our way to it \
                   that is broken. If the session time-out could not be read, the bound is marked as assumed.",
        clients_see: "Java: \"Group coordinator ... is unavailable or invalid due to cause: ... Rediscovery will be \
                      attempted.\" at INFO, once; then nothing while it looks. Consumers stop to commit and to join. \
                      Fetching from other partitions goes on until the next rebalance.",
        way_out: "If another in-sync replica lives, wait for the election: it needs no help, and the groups come back by \
                  themselves. If not, start the broker: it has the data. If the bound has passed without an election, look \
                  at the controller, which should have elected.",
        never: "Do not restart the other brokers to \"help\": what they lead stands still meanwhile, and another ISR may \
                shrink to one. Do not delete `__consumer_offsets`.",
        twins: &[
            ("leader-silent", "there the broker accepts connections and answers nothing: it may wake up"),
            ("no-leader-no-live-replica", "what this becomes when the session ends and no in-sync replica lives"),
            ("broker-not-reachable", "there the broker was never reached from here, or the cluster keeps it as live"),
        ],
        shadows: &["broker-down", "groups-not-listed", "data-partition-without-leader"],
        versions: "all",
        sources: &[
            "broker.session.timeout.ms (KRaft, 9 s), zookeeper.session.timeout.ms (18 s since 2.5, 6 s before)",
            "KIP-631 (registration and fencing of brokers in KRaft)",
        ],
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
    let due = context.facts.election_bound(context.facts.silent_since(leader));
    if successors.is_empty() {
        finding.outlook = Some(format!("It will not heal by itself: stuck until broker {leader} is back."));
        finding.evidence.push(seen_("No other in-sync replica lives.".to_owned()));
        finding.remedies.push(start(context, leader));
        finding.avoid.push(never_restart_the_others("the other coordinators work, and a restart stops theirs too."));
    } else if !enough {
        finding.outlook = Some(format!(
            "{} {} {}, but then too few in-sync replicas remain for commits (min.insync.replicas).",
            capital(&words::brokers(successors)),
            if context.facts.past(&due) { "should have been elected" } else { "can be elected" },
            super::by(&due)
        ));
        finding.remedies.push(start(context, leader));
    } else if let Some(bound) = bound {
        finding.outlook = Some(format!(
            "Recovering: {} {} in sync, and an election is due {}.",
            words::brokers(successors),
            if successors.len() == 1 { "is" } else { "are" },
            super::by(bound)
        ));
        finding.remedies.push(
            Remedy::new(
                "Wait for the election",
                "It needs no help. Start the broker again when you know why it stopped.",
            )
            .given(format!("{} alive and in sync", who_are(successors)), true)
            .verify("Unstuck shows another leader for each of these partitions."),
        );
    } else {
        finding.outlook = Some(match &context.facts.controller {
            Controller::Gone(why) => format!("Nobody can elect another leader: {why}."),
            Controller::Known(id) => format!(
                "An election was due {}, and none came. The controller, {} {id}, should have noticed.",
                super::by(&due),
                if context.facts.kraft == Some(false) { "broker" } else { "node" }
            ),
            _ => format!("An election was due {}, and none came.", super::by(&due)),
        });
        finding.remedies.push(start(context, leader));
        finding.remedies.push(look_at_controller(context));
        finding.avoid.push(never_restart_the_others("while nobody elects, whatever they lead would be lost as well."));
    }
    finding.avoid.push(never_delete_the_topic());
    finding.brokers = vec![leader];
    finding.partitions = partitions;
    finding
}

fn start(context: &Context<'_, '_>, leader: BrokerId) -> Remedy {
    let why = "It has the data: the groups come back by themselves within seconds of its start, and nothing is lost.";
    context.start(&[leader], true, why)
}

fn look_at_controller(context: &Context<'_, '_>) -> Remedy {
    let look = Remedy::new("Look at the controller's log", "It should have elected one of the in-sync replicas.");
    let commands = context.commands();
    match commands.quorum_status().or_else(|| commands.zookeeper("get /controller")) {
        Some(command) => look.looks(command).verify("It names a controller that is alive."),
        None => look,
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
             if (not known): its log directories are still there
             verify: Unstuck shows broker 1 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9001` answers.
          avoid: Do not restart the brokers that still work: The other coordinators work, and a restart stops theirs too.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
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
             if (met): brokers 2 and 3 are alive and in sync
             verify: Unstuck shows another leader for each of these partitions.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
        ");
    }

    #[test]
    fn too_few_would_remain() {
        let sample = Sample::kraft(3, 3, 3).min_isr(3).gone(1);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] Broker 1 (127.0.0.1:9001) is down: it coordinates partition 0 of __consumer_offsets.
          outlook: Brokers 2 and 3 can be elected by 12:00:13 UTC, but then too few in-sync replicas remain for commits (min.insync.replicas).
          seen: Broker 1 (127.0.0.1:9001): connection refused, since 12:00:00 UTC.
          seen: The other brokers still list it as live; they notice after their session time-out.
          -> Start broker 1: It has the data: the groups come back by themselves within seconds of its start, and nothing is lost.
             if (not known): its log directories are still there
             verify: Unstuck shows broker 1 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9001` answers.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
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
             if (not known): its log directories are still there
             verify: Unstuck shows broker 1 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9001` answers.
          -> Look at the controller's log: It should have elected one of the in-sync replicas.
             $ kafka-metadata-quorum.sh --bootstrap-server 127.0.0.1:9003 describe --status
             verify: It names a controller that is alive.
          avoid: Do not restart the brokers that still work: While nobody elects, whatever they lead would be lost as well.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
        [outage] Broker 2 (127.0.0.1:9002) is down: it coordinates partition 1 of __consumer_offsets.
          outlook: Nobody can elect another leader: 2 of 3 quorum voters do not answer.
          seen: Broker 2 (127.0.0.1:9002): connection refused, since 12:00:00 UTC.
          seen: The other brokers still list it as live; they notice after their session time-out.
          -> Start broker 2: It has the data: the groups come back by themselves within seconds of its start, and nothing is lost.
             if (not known): its log directories are still there
             verify: Unstuck shows broker 2 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9002` answers.
          -> Look at the controller's log: It should have elected one of the in-sync replicas.
             $ kafka-metadata-quorum.sh --bootstrap-server 127.0.0.1:9003 describe --status
             verify: It names a controller that is alive.
          avoid: Do not restart the brokers that still work: While nobody elects, whatever they lead would be lost as well.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
        ");
    }

    #[test]
    fn a_broker_never_reached_is_not_a_dead_one() {
        let sample = Sample::kraft(3, 6, 1).never_reached(1);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
