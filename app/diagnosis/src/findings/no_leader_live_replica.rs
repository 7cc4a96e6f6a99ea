//! `no-leader-live-replica`: no leader, although an in-sync replica lives.
//!
//! Catalogue row 2; founding incident 2 (the controller's memory and ZooKeeper disagree, KAFKA-6082). Opens at once as
//! `recovering`; stuck when the time for an election has passed. Closes when a leader is there.

use super::restart::restart;
use super::ways_out::{never_delete_the_topic, never_elect_unclean, who_are};
use super::{Context, Rule, capital, finding, likely, not_seen, seen_};
use crate::commands::Election;
use crate::facts::Controller;
use crate::handbook::Entry;
use crate::report::{Bound, BrokerState, Finding, Remedy, Risk, Severity, Status};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId, words};

const SLUG: &str = "no-leader-live-replica";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "No leader, although an in-sync replica lives",
        severity: "error until the time for an election has passed, then outage",
        means: "The partition of `__consumer_offsets` that coordinates these groups has no leader, and yet a broker with \
                all its data is alive. For the seconds of an ordinary election that is normal. When it lasts, whoever \
                should elect does not know that it has to: in ZooKeeper mode the controller may remember another leader \
                than ZooKeeper holds (KAFKA-6082, two controllers at once for a second), so that it sees nothing to do \
                when the true leader dies, days later. Nothing heals that by itself, but any election event does, and \
                nothing is lost by it.",
        opens: "Every broker that answers says leader -1, and a member of the ISR (or an eligible leader replica, \
                KIP-966) is alive. It is `recovering` until a session time-out and a margin have passed, then `stuck`.",
        closes: "A leader is there.",
        not_told: "ZooKeeper is not looked at, so what it holds is only likely. Releases below 2.4 hide the ISR of a \
                   partition without a leader (KAFKA-8442): then Unstuck says that a live replica *may* be in sync. A \
                   failed log directory on a live broker can look the same: the replica is then offline although its \
                   broker answers.",
        clients_see: "New and reconnecting clients wait without a word (FindCoordinator answers 15). Clients that were \
                      connected to the live replica may go on for a while: it can still serve as coordinator although \
                      nobody finds it. So half the members of a group may work and the other half hang.",
        way_out: "1. A preferred election, if the first replica is the live in-sync one: it cannot lose anything. 2. \
                  Otherwise an election of type `unclean`, in spite of its name: it takes live in-sync replicas first. \
                  Look right before it that one lives. 3. ZooKeeper mode: make it choose a new controller, which reads \
                  the truth and elects. 4. Restart the live in-sync broker: its return makes the controller elect.",
        never: "Do not run an unclean election while the broker with the data answers and the cluster does not list it as \
                live: it would be passed over. Do not delete `__consumer_offsets`. Do not restart the other brokers: each \
                leader that moves now may get stuck the same way.",
        twins: &[
            ("no-leader-no-live-replica", "there nobody alive has all the data, and an election would lose commits"),
            ("no-controller", "there nobody can elect at all: bring the controllers back first"),
            ("leader-lost", "there the cluster has not noticed yet that the leader is gone"),
        ],
        shadows: &["served-but-not-found", "groups-not-listed"],
        versions: "all; ZooKeeper mode below 2.1 above all (KAFKA-6082)",
        sources: &[
            "KAFKA-6082 (ZooKeeper writes fenced by the controller's epoch, 2.1)",
            "KAFKA-8442 (the ISR hidden below 2.4)",
            "KIP-460 (kinds of elections)",
            "PartitionStateMachine.scala, ReplicaStateMachine.scala",
        ],
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
        None if !context.facts.can_elect() => "It will not heal by itself: nobody can elect a leader.".to_owned(),
        None => {
            format!(
                "An election was due {}, and none came: it will not heal by itself.",
                super::by(&due(context, &partitions))
            )
        }
    });
    finding.evidence = evidence(context, candidates, isr_hidden, stuck, &partitions);
    if stuck && rejoining {
        finding.remedies = rejoin(context, candidates);
        finding.avoid.push(never_elect_unclean(candidates));
    } else if stuck {
        finding.remedies = remedies(context, candidates, isr_hidden, &partitions);
    } else {
        finding.remedies.push(Remedy::new("Wait for the election", "Restarting brokers now makes it longer."));
    }
    finding.avoid.push(never_delete_the_topic());
    finding.brokers = candidates.to_vec();
    finding.partitions = partitions;
    finding
}

/// The time by which a leader should have been elected.
fn due(context: &Context<'_, '_>, partitions: &[PartitionId]) -> Bound {
    let memories = partitions.iter().filter_map(|id| context.facts.memory.partitions.get(id));
    let since = memories.filter_map(|memory| memory.candidate_since.max(memory.leaderless_since)).max();
    context.facts.election_bound(since.unwrap_or(context.facts.now))
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
fn rejoin(context: &Context<'_, '_>, candidates: &[BrokerId]) -> Vec<Remedy> {
    let who = words::brokers(candidates);
    let mut remedies = vec![Remedy::new(
        format!("Find out why the cluster does not list {who} as live"),
        "The log says whether the controllers (KRaft) or ZooKeeper are reached. A leader is elected when they are.",
    )];
    if let [one] = candidates {
        let why = "After it has registered anew, its data makes it leader. Nothing is lost.";
        remedies.push(restart(context, *one, format!("Then restart {who}"), why));
    } else {
        remedies.push(Remedy::new(
            format!("Then restart {who}, one after the other"),
            "After one has registered anew, its data makes it leader. Nothing is lost.",
        ));
    }
    remedies
}

fn remedies(
    context: &Context<'_, '_>,
    candidates: &[BrokerId],
    isr_hidden: bool,
    partitions: &[PartitionId],
) -> Vec<Remedy> {
    let commands = context.commands();
    if let Controller::Gone(_) = context.facts.controller {
        let first = Remedy::new("Bring the controllers back first", "Without one nobody can elect a leader.");
        return vec![match commands.quorum_status() {
            Some(command) => first.looks(command),
            None => first,
        }];
    }
    let who = words::brokers(candidates);
    let preferred: Vec<_> = partitions
        .iter()
        .copied()
        .filter(|partition| {
            let seen = context.facts.partitions.get(partition);
            seen.and_then(|seen| seen.newest.replicas.first()).is_some_and(|first| candidates.contains(first))
        })
        .collect();
    let mut remedies = Vec::new();
    if !preferred.is_empty() && !isr_hidden {
        let why = "The first replica is alive and in sync, so nothing is lost. Takes about a second.";
        let election = context.election(Election::Preferred, &preferred, "Elect the preferred leader", why);
        remedies.extend(election.map(|remedy| remedy.given("the first replica is alive and in sync", true)));
    }
    // Brokers below 2.4, the ones that hide the ISR, have no such election (KIP-460).
    if !isr_hidden {
        let title =
            if preferred.is_empty() { "Elect a leader" } else { "If that changes nothing: elect any live replica" };
        let why = "In spite of its name this kind of election takes live in-sync replicas first, so nothing is lost \
                   while one lives.";
        let election = context.election(Election::Unclean, partitions, title, why);
        remedies.extend(election.map(|remedy| {
            context
                .kept_first(remedy)
                .given(format!("{} alive and in sync: look again just before", who_are(candidates)), true)
                .danger(
                    Risk::Exposes,
                    "Should the in-sync replica stop just before the election, another one leads and commits are lost.",
                )
        }));
    }
    if let Some(command) = commands.zookeeper("delete /controller") {
        let title = if isr_hidden {
            "Make ZooKeeper choose a new controller"
        } else {
            "If elections are refused: make ZooKeeper choose a new controller"
        };
        remedies.push(
            Remedy::new(title, "A new controller reads the true state from ZooKeeper and elects what is missing.")
                .command(command, "Which broker is the controller.")
                .given("ZooKeeper itself is well: most of its servers answer", None)
                .danger(
                    Risk::Pause,
                    "No elections for some seconds. Add your chroot to the path, if the cluster has one.",
                )
                .verify("Unstuck shows another controller, and a leader for each partition within seconds.")
                .undo("Cannot be taken back, and need not be: any broker can be the controller."),
        );
    }
    let last = "Last: restart";
    let why = "A broker that returns makes the controller elect again.";
    remedies.push(match candidates {
        [one] => restart(context, *one, format!("{last} {who}"), why),
        _ => Remedy::new(format!("{last} {who}, one after the other"), why)
            .danger(Risk::Pause, "Everything else that they lead moves or stops meanwhile."),
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
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
        ");
    }

    #[test]
    fn stuck_when_no_election_came() {
        let sample = Sample::zookeeper(3, 3, 2).gone(1).no_leader(0, &[2]).later(60);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] No leader for partition 0 of __consumer_offsets, although broker 2 is alive and in sync.
          outlook: An election was due by 12:00:22 UTC, and none came: it will not heal by itself.
          seen: Brokers 2 and 3 say: no leader, leader epoch 6.
          seen: In-sync replicas of partition 0: [2].
          seen: Broker 2 (127.0.0.1:9002) answers.
          likely: The controller remembers another leader than ZooKeeper holds, so it saw no reason to elect one.
          not seen: ZooKeeper itself: Unstuck does not look there.
          -> Elect a leader: In spite of its name this kind of election takes live in-sync replicas first, so nothing is lost while one lives.
             if (not known): you kept how __consumer_offsets looks now, for whoever has to repair it: `kafka-topics.sh --bootstrap-server 127.0.0.1:9002 --describe --topic __consumer_offsets > topic-before.txt`
             if (met): broker 2 is alive and in sync: look again just before
             $ kafka-leader-election.sh --bootstrap-server 127.0.0.1:9002 --election-type unclean --topic __consumer_offsets --partition 0
             changes: The leader of partition 0 of __consumer_offsets, which gets a new leader epoch.
             ! (less safe while it lasts) Should the in-sync replica stop just before the election, another one leads and commits are lost.
             verify: `kafka-topics.sh --bootstrap-server 127.0.0.1:9002 --describe --topic __consumer_offsets` shows its leader, and Unstuck says that the groups there work.
             undo: An election cannot be taken back. A later one may choose another leader.
          -> If elections are refused: make ZooKeeper choose a new controller: A new controller reads the true state from ZooKeeper and elects what is missing.
             if (not known): ZooKeeper itself is well: most of its servers answer
             if (not known): ZOOKEEPER:2181 is replaced by the address that the brokers have as zookeeper.connect
             $ zookeeper-shell.sh ZOOKEEPER:2181 delete /controller
             changes: Which broker is the controller.
             ! (groups may pause for a moment) No elections for some seconds. Add your chroot to the path, if the cluster has one.
             verify: Unstuck shows another controller, and a leader for each partition within seconds.
             undo: Cannot be taken back, and need not be: any broker can be the controller.
          -> Last: restart broker 2: A broker that returns makes the controller elect again.
             if (not met): broker 2 is not the last in-sync replica of any partition of __consumer_offsets (it is of 0)
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9002 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 2 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
        ");
    }

    #[test]
    fn the_preferred_replica_is_elected_without_danger() {
        let sample = Sample::kraft(3, 3, 3).no_leader(0, &[1, 2]).later(60);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] No leader for partition 0 of __consumer_offsets, although brokers 1 and 2 are alive and in sync.
          outlook: An election was due by 12:00:13 UTC, and none came: it will not heal by itself.
          seen: Brokers 1, 2 and 3 say: no leader, leader epoch 6.
          seen: In-sync replicas of partition 0: [1, 2].
          seen: Broker 1 (127.0.0.1:9001) answers.
          seen: Broker 2 (127.0.0.1:9002) answers.
          seen: Broker 1 still serves it to clients that were connected. Every new or reconnecting client finds nobody.
          -> Elect the preferred leader: The first replica is alive and in sync, so nothing is lost. Takes about a second.
             if (met): the first replica is alive and in sync
             $ kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type preferred --topic __consumer_offsets --partition 0
             changes: The leader of partition 0 of __consumer_offsets, which gets a new leader epoch.
             verify: `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __consumer_offsets` shows its leader, and Unstuck says that the groups there work.
             undo: An election cannot be taken back. A later one may choose another leader.
          -> If that changes nothing: elect any live replica: In spite of its name this kind of election takes live in-sync replicas first, so nothing is lost while one lives.
             if (not known): you kept how __consumer_offsets looks now, for whoever has to repair it: `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __consumer_offsets > topic-before.txt`
             if (met): brokers 1 and 2 are alive and in sync: look again just before
             $ kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type unclean --topic __consumer_offsets --partition 0
             changes: The leader of partition 0 of __consumer_offsets, which gets a new leader epoch.
             ! (less safe while it lasts) Should the in-sync replica stop just before the election, another one leads and commits are lost.
             verify: `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __consumer_offsets` shows its leader, and Unstuck says that the groups there work.
             undo: An election cannot be taken back. A later one may choose another leader.
          -> Last: restart brokers 1 and 2, one after the other: A broker that returns makes the controller elect again.
             ! (groups may pause for a moment) Everything else that they lead moves or stops meanwhile.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
        ");
    }

    #[test]
    fn an_old_broker_hides_the_isr() {
        let sample = Sample::zookeeper(3, 3, 2).release("2.3").gone(1).no_leader(0, &[]).later(60);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] No leader for partition 0 of __consumer_offsets, although broker 2 is alive and may be in sync.
          outlook: An election was due by 12:00:22 UTC, and none came: it will not heal by itself.
          seen: Brokers 2 and 3 say: no leader, leader epoch 6.
          seen: Replicas of partition 0: [1, 2].
          seen: Broker 2 (127.0.0.1:9002) answers.
          not seen: The ISR: releases below 2.4 hide it while there is no leader (KAFKA-8442).
          likely: The controller remembers another leader than ZooKeeper holds, so it saw no reason to elect one.
          not seen: ZooKeeper itself: Unstuck does not look there.
          -> Make ZooKeeper choose a new controller: A new controller reads the true state from ZooKeeper and elects what is missing.
             if (not known): ZooKeeper itself is well: most of its servers answer
             if (not known): ZOOKEEPER:2181 is replaced by the address that the brokers have as zookeeper.connect
             $ zookeeper-shell.sh ZOOKEEPER:2181 delete /controller
             changes: Which broker is the controller.
             ! (groups may pause for a moment) No elections for some seconds. Add your chroot to the path, if the cluster has one.
             verify: Unstuck shows another controller, and a leader for each partition within seconds.
             undo: Cannot be taken back, and need not be: any broker can be the controller.
          -> Last: restart broker 2: A broker that returns makes the controller elect again.
             if (met): broker 2 is not the last in-sync replica of any partition of __consumer_offsets
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9002 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 2 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
          avoid: Do not delete __consumer_offsets: Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
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
