//! `no-leader-live-replica`: no leader, although an in-sync replica lives.
//!
//! Catalogue row 2; founding incident 2 (the controller's memory and ZooKeeper disagree, KAFKA-6082). Opens at once as
//! `recovering`; stuck when the time for an election has passed. Closes when a leader is there.

use super::{Context, Rule, capital, election_command, finding, likely, not_seen, seen_, step};
use crate::facts::Controller;
use crate::handbook::Entry;
use crate::report::{BrokerState, Finding, Remedy, Severity, Status};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId, words};

const SLUG: &str = "no-leader-live-replica";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "No leader, although an in-sync replica lives",
        severity: "error until the time for an election has passed, then outage",
        opens: "No leader, although an in-sync replica lives.",
        closes: "A leader is there.",
        shadows: &["served-but-not-found"],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let groups = context.group_by(|verdict| match &verdict.cause {
        Cause::NoLeaderCandidate { candidates, isr_hidden } => {
            Some((candidates.clone(), *isr_hidden, false, verdict.status == Status::Stuck))
        }
        Cause::CandidateRejoining { candidates } => {
            Some((candidates.clone(), false, true, verdict.status == Status::Stuck))
        }
        _ => None,
    });
    groups
        .into_iter()
        .map(|((candidates, hidden, rejoining, stuck), partitions)| {
            explain(context, &candidates, hidden, rejoining, stuck, partitions)
        })
        .collect()
}

fn explain(
    context: &Context<'_, '_>,
    candidates: &[BrokerId],
    isr_hidden: bool,
    rejoining: bool,
    stuck: bool,
    partitions: Vec<PartitionId>,
) -> Finding {
    let who = words::brokers(candidates);
    let reach = context.reach(&partitions);
    let severity = if stuck { Severity::Outage } else { Severity::Error };
    let verb = if candidates.len() == 1 { "is" } else { "are" };
    let sentence = if rejoining {
        format!("No leader yet for {reach}: {who} answers again, and the cluster does not list it as live yet.")
    } else if isr_hidden {
        format!("No leader for {reach}, although {who} {verb} alive and may be in sync.")
    } else {
        format!("No leader for {reach}, although {who} {verb} alive and in sync.")
    };
    let mut finding = finding(SLUG, severity, sentence);
    let bound = partitions
        .iter()
        .filter_map(|partition| context.verdicts.get(partition)?.expected_by.as_ref())
        .max_by_key(|bound| bound.at);
    finding.outlook = Some(match bound {
        Some(bound) => format!("A leader should be elected {}. If not, it will not heal by itself.", super::by(bound)),
        None => "It will not heal by itself: the time for an election has passed.".to_owned(),
    });
    finding.evidence = evidence(context, candidates, isr_hidden, stuck, &partitions);
    if stuck && rejoining {
        finding.remedies = rejoin(candidates);
    } else if stuck {
        finding.remedies = remedies(context, candidates, isr_hidden, &partitions);
    } else {
        finding.remedies.push(step("Wait for the election", "Restarting brokers now makes it longer."));
    }
    finding.brokers = candidates.to_vec();
    finding.partitions = partitions;
    finding
}

fn evidence(
    context: &Context<'_, '_>,
    candidates: &[BrokerId],
    isr_hidden: bool,
    stuck: bool,
    partitions: &[PartitionId],
) -> Vec<crate::report::Evidence> {
    let mut evidence = Vec::new();
    let Some(&first) = partitions.first() else { return evidence };
    evidence.push(context.everyone_says_no_leader(first));
    if let Some(seen) = context.facts.partitions.get(&first) {
        let what = if isr_hidden { "Replicas" } else { "In-sync replicas" };
        let ids = if isr_hidden { &seen.newest.replicas } else { &seen.newest.isr };
        evidence.push(seen_(format!("{what} of partition {first}: {}.", words::ids(ids))));
    }
    for &broker in candidates {
        let said = if context.facts.state(broker) == BrokerState::Answering { "answers" } else { "is listed as live" };
        evidence.push(seen_(format!("{} {said}.", capital(&context.broker(broker)))));
    }
    let serving: Vec<_> = context.verdicts.get(&first).map(|verdict| verdict.served_by.clone()).unwrap_or_default();
    if !serving.is_empty() {
        evidence.push(seen_(format!(
            "{} still serves it to clients that were connected. Every new or reconnecting client finds nobody.",
            capital(&words::brokers(&serving))
        )));
    }
    if isr_hidden {
        evidence
            .push(not_seen("The ISR: releases below 2.4 hide it while there is no leader (KAFKA-8442).".to_owned()));
    }
    match &context.facts.controller {
        Controller::Gone(why) => evidence.push(seen_(format!("Nobody can elect: {why}."))),
        _ if stuck && context.facts.kraft == Some(false) => {
            evidence.push(likely(
                "The controller remembers another leader than ZooKeeper holds, so it saw no reason to elect one."
                    .to_owned(),
            ));
            evidence.push(not_seen("ZooKeeper itself: Unstuck does not look there.".to_owned()));
        }
        _ => {}
    }
    evidence
}

/// The cluster does not hold the candidates for live: an election now would pass them over.
fn rejoin(candidates: &[BrokerId]) -> Vec<Remedy> {
    let who = words::brokers(candidates);
    vec![
        step(
            format!("Find out why the cluster does not list {who} as live"),
            "The log says whether the controllers (KRaft) or ZooKeeper are reached. A leader is elected when they are.",
        ),
        step(format!("Then restart {who}"), "After it has registered anew, its data makes it leader. Nothing is lost."),
        Remedy {
            title: "Do not run an unclean election".to_owned(),
            why: "It would pass over the replica that has all commits.".to_owned(),
            command: None,
            danger: Some("Loses committed offsets.".to_owned()),
            ..Remedy::default()
        },
    ]
}

fn remedies(
    context: &Context<'_, '_>,
    candidates: &[BrokerId],
    isr_hidden: bool,
    partitions: &[PartitionId],
) -> Vec<Remedy> {
    let Some(&first) = partitions.first() else { return Vec::new() };
    if let Controller::Gone(_) = context.facts.controller {
        return vec![step("Bring the controllers back first", "Without one nobody can elect a leader.")];
    }
    let once = if partitions.len() == 1 { "" } else { " Once per partition concerned." };
    let preferred = partitions.iter().all(|partition| {
        let seen = context.facts.partitions.get(partition);
        seen.and_then(|seen| seen.newest.replicas.first()).is_some_and(|first| candidates.contains(first))
    });
    let mut remedies = Vec::new();
    if preferred && !isr_hidden {
        remedies.push(Remedy {
            title: "Elect the preferred leader".to_owned(),
            why: format!("The first replica is alive and in sync, so nothing is lost. Takes about a second.{once}"),
            command: Some(election_command(context, "preferred", first)),
            danger: None,
            ..Remedy::default()
        });
    }
    // Brokers below 2.4, the ones that hide the ISR, have no such election (KIP-460).
    if !isr_hidden {
        remedies.push(Remedy {
            title: if preferred { "If that changes nothing: elect any live replica" } else { "Elect a leader" }
                .to_owned(),
            why: format!("This kind of election takes live in-sync replicas first.{once}"),
            command: Some(election_command(context, "unclean", first)),
            danger: Some(
                "Loses commits if the in-sync replica stops before the election: look again just before.".to_owned(),
            ),
            ..Remedy::default()
        });
    }
    if context.facts.kraft == Some(false) {
        remedies.push(Remedy {
            title: if isr_hidden {
                "Make ZooKeeper choose a new controller".to_owned()
            } else {
                "If elections are refused: make ZooKeeper choose a new controller".to_owned()
            },
            why: "A new controller reads the true state from ZooKeeper and elects what is missing.".to_owned(),
            command: Some("zookeeper-shell.sh ZOOKEEPER:2181 delete /controller".to_owned()),
            danger: Some(
                "No elections for some seconds. Add your chroot to the path, if the cluster has one.".to_owned(),
            ),
            ..Remedy::default()
        });
    }
    remedies.push(Remedy {
        title: format!("Last: restart {}", words::brokers(candidates)),
        why: "A broker that returns makes the controller elect again.".to_owned(),
        command: None,
        danger: Some("Everything else that it leads moves or stops meanwhile.".to_owned()),
        ..Remedy::default()
    });
    remedies
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn first_an_election_is_awaited() {
        let sample = Sample::kraft(3, 3, 3).gone(1).no_leader(0, &[1, 2, 3]);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] No leader for partition 0 of __consumer_offsets, although brokers 2 and 3 are alive and in sync.
          outlook: A leader should be elected by 12:00:13 UTC. If not, it will not heal by itself.
          seen: Brokers 2 and 3 say: no leader, leader epoch 6.
          seen: In-sync replicas of partition 0: [1, 2, 3].
          seen: Broker 2 (127.0.0.1:9002) answers.
          seen: Broker 3 (127.0.0.1:9003) answers.
          -> Wait for the election: Restarting brokers now makes it longer.
        ");
    }

    #[test]
    fn stuck_when_no_election_came() {
        let sample = Sample::zookeeper(3, 3, 2).gone(1).no_leader(0, &[2]).later(60);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] No leader for partition 0 of __consumer_offsets, although broker 2 is alive and in sync.
          outlook: It will not heal by itself: the time for an election has passed.
          seen: Brokers 2 and 3 say: no leader, leader epoch 6.
          seen: In-sync replicas of partition 0: [2].
          seen: Broker 2 (127.0.0.1:9002) answers.
          likely: The controller remembers another leader than ZooKeeper holds, so it saw no reason to elect one.
          not seen: ZooKeeper itself: Unstuck does not look there.
          -> Elect a leader: This kind of election takes live in-sync replicas first.
             $ kafka-leader-election.sh --bootstrap-server 127.0.0.1:9002 --election-type unclean --topic __consumer_offsets --partition 0
             ! Loses commits if the in-sync replica stops before the election: look again just before.
          -> If elections are refused: make ZooKeeper choose a new controller: A new controller reads the true state from ZooKeeper and elects what is missing.
             $ zookeeper-shell.sh ZOOKEEPER:2181 delete /controller
             ! No elections for some seconds. Add your chroot to the path, if the cluster has one.
          -> Last: restart broker 2: A broker that returns makes the controller elect again.
             ! Everything else that it leads moves or stops meanwhile.
        ");
    }

    #[test]
    fn the_preferred_replica_is_elected_without_danger() {
        let sample = Sample::kraft(3, 3, 3).no_leader(0, &[1, 2]).later(60);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] No leader for partition 0 of __consumer_offsets, although brokers 1 and 2 are alive and in sync.
          outlook: It will not heal by itself: the time for an election has passed.
          seen: Brokers 1, 2 and 3 say: no leader, leader epoch 6.
          seen: In-sync replicas of partition 0: [1, 2].
          seen: Broker 1 (127.0.0.1:9001) answers.
          seen: Broker 2 (127.0.0.1:9002) answers.
          seen: Broker 1 still serves it to clients that were connected. Every new or reconnecting client finds nobody.
          -> Elect the preferred leader: The first replica is alive and in sync, so nothing is lost. Takes about a second.
             $ kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type preferred --topic __consumer_offsets --partition 0
          -> If that changes nothing: elect any live replica: This kind of election takes live in-sync replicas first.
             $ kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type unclean --topic __consumer_offsets --partition 0
             ! Loses commits if the in-sync replica stops before the election: look again just before.
          -> Last: restart brokers 1 and 2: A broker that returns makes the controller elect again.
             ! Everything else that it leads moves or stops meanwhile.
        ");
    }

    #[test]
    fn an_old_broker_hides_the_isr() {
        let sample = Sample::zookeeper(3, 3, 2).release("2.3").gone(1).no_leader(0, &[]).later(60);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] No leader for partition 0 of __consumer_offsets, although broker 2 is alive and may be in sync.
          outlook: It will not heal by itself: the time for an election has passed.
          seen: Brokers 2 and 3 say: no leader, leader epoch 6.
          seen: Replicas of partition 0: [1, 2].
          seen: Broker 2 (127.0.0.1:9002) answers.
          not seen: The ISR: releases below 2.4 hide it while there is no leader (KAFKA-8442).
          likely: The controller remembers another leader than ZooKeeper holds, so it saw no reason to elect one.
          not seen: ZooKeeper itself: Unstuck does not look there.
          -> Make ZooKeeper choose a new controller: A new controller reads the true state from ZooKeeper and elects what is missing.
             $ zookeeper-shell.sh ZOOKEEPER:2181 delete /controller
             ! No elections for some seconds. Add your chroot to the path, if the cluster has one.
          -> Last: restart broker 2: A broker that returns makes the controller elect again.
             ! Everything else that it leads moves or stops meanwhile.
        ");
    }

    #[test]
    fn a_broker_that_the_cluster_does_not_list_is_never_passed_over() {
        let sample = Sample::kraft(3, 3, 3).isr(0, &[1]).isolated(1).no_leader(0, &[1]).later(60);
        let text = text(&sample.report(), super::SLUG);
        assert!(text.contains("does not list it as live yet"), "{text}");
        assert!(!text.contains("$ kafka-leader-election"), "{text}");
    }

    #[test]
    fn not_while_there_is_a_leader() {
        assert!(!slugs(&Sample::kraft(3, 3, 3).report()).contains(&super::SLUG.to_owned()));
    }
}
