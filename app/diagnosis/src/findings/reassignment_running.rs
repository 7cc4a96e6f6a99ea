//! `reassignment-running`: replicas of the offsets topic are being moved.
//!
//! Catalogue row 45 (KIP-455). Information while it goes on; a warning when a target is down, because then it never ends.
//! Closes when ListPartitionReassignments no longer lists it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Context, Rule, capital, finding, seen_, step};
use crate::handbook::Entry;
use crate::plan::reassignment;
use crate::report::{Finding, Remedy, Risk, Severity};
use crate::snapshot::Reassignment;
use crate::{BrokerId, PartitionId, words};

const SLUG: &str = "reassignment-running";
const FILE: &str = "cancel.json";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Replicas of `__consumer_offsets` are being moved",
        severity: "info; warning where a target is down",
        means: "A reassignment adds replicas, waits until they are in sync, makes the first of the new list leader, and takes \
                the old ones away. Until then a partition has more replicas than its replication factor. When leaders \
                change, coordinators move, and their groups rebalance once. A target that is down never comes in sync, so \
                the reassignment never ends.",
        opens: "ListPartitionReassignments names partitions of the topic.",
        closes: "It names none.",
        not_told: "Below 2.4, or without DESCRIBE on CLUSTER, reassignments cannot be seen. Its throttle is not looked at: one \
                   that is forgotten slows replication down for ever.",
        clients_see: "One rebalance for each group whose coordinator moves.",
        way_out: "Wait, and verify with the tool at the end: that also removes the throttle. If a target is down, start it, \
                  or cancel the move.",
        never: "Do not start a second reassignment of the same partitions over it.",
        twins: &[
            ("leader-flapping", "Leaders that move without anybody having asked for it."),
            ("broker-down", "A target that is down."),
        ],
        versions: "2.4 and newer (KIP-455)",
        sources: &["KIP-455", "KIP-73 (throttles)"],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let told = facts.answering.iter().filter_map(|id| facts.snapshot.brokers.get(id)?.reassignments.known());
    let running: BTreeMap<PartitionId, &Reassignment> = told
        .flatten()
        .filter(|(_, move_)| !move_.adding.is_empty() || !move_.removing.is_empty())
        .map(|(&id, move_)| (id, move_))
        .collect();
    if running.is_empty() { Vec::new() } else { vec![explain(context, &running)] }
}

fn explain(context: &Context<'_, '_>, running: &BTreeMap<PartitionId, &Reassignment>) -> Finding {
    let facts = context.facts;
    let partitions: Vec<_> = running.keys().copied().collect();
    let in_sync = |partition: &PartitionId, id: &BrokerId| {
        facts.partitions.get(partition).is_some_and(|seen| seen.newest.isr.contains(id))
    };
    let adding: Vec<(PartitionId, BrokerId)> =
        running.iter().flat_map(|(&id, move_)| move_.adding.iter().map(move |&broker| (id, broker))).collect();
    let done = adding.iter().filter(|(partition, broker)| in_sync(partition, broker)).count();
    let dead: BTreeSet<BrokerId> = adding
        .iter()
        .filter(|(partition, broker)| {
            !in_sync(partition, broker)
                && !facts.electable(*broker)
                && facts.state(*broker) != crate::report::BrokerState::NotTried
        })
        .map(|(_, broker)| *broker)
        .collect();
    let dead: Vec<_> = dead.into_iter().collect();
    let reach = context.reach(&partitions);
    let sentence = if dead.is_empty() {
        format!(
            "{} {} being moved to other brokers.",
            capital(&reach),
            if partitions.len() == 1 { "is" } else { "are" }
        )
    } else {
        format!("A move of {reach} stands still: {} {} down, and is to take a copy.", words::brokers(&dead), is(&dead))
    };
    let mut finding = finding(SLUG, if dead.is_empty() { Severity::Info } else { Severity::Warning }, sentence);
    finding.outlook = Some(if dead.is_empty() {
        "Groups rebalance once when their coordinator moves.".to_owned()
    } else {
        format!("It goes on when {} is back, and never ends otherwise.", words::brokers(&dead))
    });
    if !adding.is_empty() {
        finding.evidence.push(seen_(match (done, adding.len()) {
            (0, 1) => "The added replica is not in sync.".to_owned(),
            (_, 1) => "The added replica is in sync.".to_owned(),
            (0, all) => format!("None of the {all} added replicas is in sync."),
            (done, all) if done == all => format!("All {all} added replicas are in sync."),
            (1, all) => format!("1 of {all} added replicas is in sync."),
            (done, all) => format!("{done} of {all} added replicas are in sync."),
        }));
    }
    for (partition, move_) in running.iter().take(3) {
        finding.evidence.push(seen_(format!(
            "Partition {partition}: replicas {}, adding {}, removing {}.",
            words::ids(&move_.replicas),
            words::ids(&move_.adding),
            words::ids(&move_.removing)
        )));
    }
    finding.remedies = remedies(context, running, &dead);
    finding.brokers = dead;
    finding.partitions = partitions;
    finding
}

fn is(brokers: &[BrokerId]) -> &'static str {
    if brokers.len() == 1 { "is" } else { "are" }
}

fn remedies(
    context: &Context<'_, '_>,
    running: &BTreeMap<PartitionId, &Reassignment>,
    dead: &[BrokerId],
) -> Vec<Remedy> {
    let commands = context.commands();
    let mut first = if dead.is_empty() {
        step("Wait until it is done, then verify it", "Verifying also removes the throttle, which stays otherwise.")
    } else {
        step(format!("Start {}", words::brokers(dead)), "It copies what is missing, and the move ends by itself.")
    };
    if let Some(command) = commands.list_reassignments() {
        first = first.looks(command);
    }
    let mut remedies = vec![first];
    if let Some(command) = commands.cancel_reassignment(FILE).filter(|_| !dead.is_empty()) {
        let led = running.keys().all(|id| {
            let leader = context.facts.partitions.get(id).and_then(|seen| seen.newest.leader);
            leader.is_some_and(|leader| running.get(id).is_some_and(|move_| !move_.adding.contains(&leader)))
        });
        remedies.push(
            Remedy::new("Or cancel the move", "The partitions keep the replicas that they had before.")
                .command(command, "Ends the move; added replicas are dropped, and the throttle is removed.")
                .danger(
                    Risk::Pause,
                    "Leaders may move back. The tool waits for every broker of the move: with one that is down it may hang \
                     after the move has ended, and can then be stopped.",
                )
                .given("none of the added replicas leads yet", led)
                .file(FILE, "the partitions whose move ends", json(running))
                .verify(commands.list_reassignments().unwrap_or_else(|| "The move is not listed any more.".to_owned()))
                .undo("Start the same move again."),
        );
    }
    remedies
}

/// What `--cancel` reads: the partitions with the replicas that they are to have.
fn json(running: &BTreeMap<PartitionId, &Reassignment>) -> String {
    reassignment(running.iter().map(|(&partition, move_)| {
        let kept = move_.replicas.iter().copied().filter(|id| !move_.removing.contains(id));
        (partition, kept.collect::<Vec<_>>())
    }))
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};
    use crate::snapshot::Why;

    #[test]
    fn a_move_goes_on() {
        let sample = Sample::kraft(3, 6, 1).reassigning(0, &[2, 3], &[1]).isr(0, &[1, 2]);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [info] Partition 0 of __consumer_offsets is being moved to other brokers.
          outlook: Groups rebalance once when their coordinator moves.
          seen: 1 of 2 added replicas is in sync.
          seen: Partition 0: replicas [1, 2, 3], adding [2, 3], removing [1].
          -> Wait until it is done, then verify it: Verifying also removes the throttle, which stays otherwise.
             $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --list
        ");
    }

    #[test]
    fn a_target_is_down() {
        let sample = Sample::kraft(3, 6, 1).reassigning(0, &[2], &[1]).gone(2).later(30);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [warning] A move of partition 0 of __consumer_offsets stands still: broker 2 is down, and is to take a copy.
          outlook: It goes on when broker 2 is back, and never ends otherwise.
          seen: The added replica is not in sync.
          seen: Partition 0: replicas [1, 2], adding [2], removing [1].
          -> Start broker 2: It copies what is missing, and the move ends by itself.
             $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --list
          -> Or cancel the move: The partitions keep the replicas that they had before.
             if (met): none of the added replicas leads yet
             file cancel.json: the partitions whose move ends
             $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file cancel.json --cancel
             changes: Ends the move; added replicas are dropped, and the throttle is removed.
             ! (groups may pause for a moment) Leaders may move back. The tool waits for every broker of the move: with one that is down it may hang after the move has ended, and can then be stopped.
             verify: kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --list
             undo: Start the same move again.
        ");
    }

    #[test]
    fn nothing_moves() {
        assert!(!slugs(&Sample::kraft(3, 6, 1).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn what_is_not_told_is_not_known() {
        let sample = Sample::kraft(3, 6, 1).reassigning(0, &[2], &[1]);
        let sample = sample.no_reassignments(Why::NotPermitted("DESCRIBE on CLUSTER".to_owned()));
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
