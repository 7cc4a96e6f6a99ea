//! `served-but-not-found`: nobody can find the coordinator of a partition, yet a broker still serves it.
//!
//! Seen on ZooKeeper 3.9 while founding incident 2 was staged: FindCoordinator answers 15 on every broker, and the broker
//! that led before goes on answering 0 for groups of the partition. Opens when its answer was given after the change of
//! leadership had settled; closes when a leader is named that serves, or the old one serves no longer.

use super::{Context, Rule, finding, likely, seen_};
use crate::commands::Election;
use crate::handbook::Entry;
use crate::report::{Avoid, Finding, PlacementProof, Remedy, Risk, Severity};
use crate::time::{clock, millis_between};
use crate::{BrokerId, OFFSETS_TOPIC, PartitionId};

const SLUG: &str = "served-but-not-found";
/// How long the broker that led before may go on serving: it learns of the change by a message of the controller.
const SETTLED_MS: i64 = 5_000;
/// How old its answer may be: canaries are sent every 15 s.
const FRESH_MS: i64 = 45_000;

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Nobody can find the coordinator, yet a broker still serves it",
        severity: "error",
        means: "A client first asks any broker who coordinates its group; that answer comes from the metadata of the broker \
                that is asked. Whether a broker serves a group is decided by what it has loaded, and it unloads only when \
                the controller tells it that it leads no longer. Where that message never came, members that are connected \
                may go on working, heartbeat by heartbeat, while every new or reconnecting one hangs.",
        opens: "A broker answers as coordinator of a partition (0 or 69 for a made-up group) although no broker that \
                answers, itself included, names it as leader, and its answer is more than 5 s younger than that state.",
        closes: "It is named as leader again, or does not serve any longer.",
        not_told: "Whether commits through that broker are still accepted cannot be seen without committing one. If its \
                   answers are older than 45 s, nothing is said.",
        clients_see: "Connected members: nothing, for hours or days. Every consumer that restarts, and every tool: \
                      COORDINATOR_NOT_AVAILABLE, or silence. \"It worked until the deployment.\"",
        way_out: "Have a leader elected while the broker still lives: the preferred election where it is the first replica \
                  and in sync, otherwise the other kind, which takes live in-sync replicas first. Restart no consumer of \
                  these groups before.",
        never: "Do not restart the consumers to see whether that helps: those that still work cannot come back. Do not \
                restart the broker first: it may be the only one that has the last commits.",
        twins: &[
            (
                "stale-broker",
                "There the broker itself still names itself leader: its view is old. Here it agrees with all \
                              others that it does not lead.",
            ),
            ("no-leader-live-replica", "The state of the partition; this finding adds that somebody still serves it."),
            (
                "ghost-group",
                "Groups still listed by a broker, seen from the listing. A coordinator that serves lists too.",
            ),
        ],
        versions: "all; with ZooKeeper mostly below 2.1 (KAFKA-6082)",
        sources: &["KAFKA-6082", "core/.../coordinator/group/GroupMetadataManager.scala (ownedPartitions)"],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    // Where another implementation or a proxy answers, every broker may serve every group.
    if matches!(context.proof, PlacementProof::Foreign { .. } | PlacementProof::Contradicted { .. }) {
        return Vec::new();
    }
    let by_broker = context.facts.partitions.iter().flat_map(|(&partition, seen)| {
        let leads = |id: &BrokerId| seen.views.values().any(|view| view.leader == Some(*id));
        let strangers = serving(context, partition).into_iter().filter(move |id| !leads(id));
        strangers.map(move |id| ((id, seen.newest.leader), partition))
    });
    let mut groups: std::collections::BTreeMap<_, Vec<PartitionId>> = std::collections::BTreeMap::new();
    for (key, partition) in by_broker {
        groups.entry(key).or_default().push(partition);
    }
    groups.into_iter().map(|((broker, leader), partitions)| explain(context, broker, leader, partitions)).collect()
}

/// Who serves a partition by an answer that is younger than the present leadership.
fn serving(context: &Context<'_, '_>, partition: PartitionId) -> Vec<BrokerId> {
    let facts = context.facts;
    let since = facts.memory.partitions.get(&partition).and_then(|memory| memory.leadership_since);
    let fresh = |id: &BrokerId| {
        let canary = facts.snapshot.brokers.get(id).and_then(|sight| sight.canaries.get(&partition));
        canary.is_some_and(|canary| {
            millis_between(canary.at, facts.now) <= FRESH_MS
                && since.is_none_or(|since| millis_between(since, canary.at) > SETTLED_MS)
        })
    };
    let served_by = context.verdicts.get(&partition).map(|verdict| verdict.served_by.clone()).unwrap_or_default();
    served_by.into_iter().filter(fresh).collect()
}

fn explain(
    context: &Context<'_, '_>,
    broker: BrokerId,
    leader: Option<BrokerId>,
    partitions: Vec<PartitionId>,
) -> Finding {
    let reach = context.reach(&partitions);
    let sentence = match leader {
        None => format!("Nobody can find the coordinator of {reach}, yet broker {broker} still serves it."),
        Some(leader) => format!("Broker {broker} still serves {reach}, although broker {leader} leads it."),
    };
    let mut finding = finding(SLUG, Severity::Error, sentence);
    finding.outlook = Some(format!(
        "Members that are connected to broker {broker} may go on working. Every new or reconnecting one {}.",
        if leader.is_none() { "hangs" } else { "is sent to the other broker" }
    ));
    if let Some(&first) = partitions.first() {
        let canary = context.facts.snapshot.brokers.get(&broker).and_then(|sight| sight.canaries.get(&first));
        finding.evidence.extend(canary.map(|canary| {
            seen_(format!(
                "Asked as coordinator of partition {first} at {}, broker {broker} answered {}: it serves.",
                clock(canary.at),
                canary.code
            ))
        }));
        finding.evidence.push(match leader {
            None => context.everyone_says_no_leader(first),
            Some(leader) => seen_(format!("The brokers that answer name broker {leader} as leader.")),
        });
    }
    finding.evidence.push(likely(
        "The broker was never told that it leads no longer, so it has not unloaded the groups.".to_owned(),
    ));
    finding.avoid.push(Avoid {
        what: "Do not restart consumers of these groups before the coordinator can be found".to_owned(),
        why: "Those that still work would hang like the others.".to_owned(),
    });
    finding.remedies = remedies(context, broker, leader, &partitions);
    finding.brokers = vec![broker];
    finding.partitions = partitions;
    finding
}

fn remedies(
    context: &Context<'_, '_>,
    broker: BrokerId,
    leader: Option<BrokerId>,
    partitions: &[PartitionId],
) -> Vec<Remedy> {
    let last = super::restart::restart(
        context,
        broker,
        if leader.is_none() { format!("Last: restart broker {broker}") } else { format!("Restart broker {broker}") },
        "When it returns, it loads what it leads and nothing else, and the controller elects what is missing.",
    );
    if leader.is_some() {
        return vec![last];
    }
    let views = || partitions.iter().filter_map(|partition| context.facts.partitions.get(partition));
    let in_sync = views().all(|seen| seen.newest.isr.contains(&broker));
    let first = views().all(|seen| seen.newest.replicas.first() == Some(&broker));
    let commands = context.commands();
    let mut remedies = Vec::new();
    if first
        && in_sync
        && let Some(command) = commands.elect_each(Election::Preferred, OFFSETS_TOPIC, partitions)
    {
        remedies.push(
            Remedy::new("Elect the preferred leader", format!("That is broker {broker}, which serves and is in sync."))
                .command(command, format!("Broker {broker} leads again, under a new epoch."))
                .given(format!("broker {broker} is in sync"), in_sync)
                .verify("The partition has a leader, and new consumers find their coordinator.")
                .undo("Needs none: it is the leader that the assignment prefers."),
        );
    }
    if let Some(command) = commands.elect_each(Election::Unclean, OFFSETS_TOPIC, partitions) {
        let title = if first && in_sync { "If that changes nothing: elect any live replica" } else { "Elect a leader" };
        remedies.push(
            Remedy::new(title, "This kind of election takes live in-sync replicas first.")
                .command(command, "A live replica leads the partition, those in sync first.")
                .danger(
                    if in_sync { Risk::Exposes } else { Risk::Loses },
                    "Loses commits if no in-sync replica lives at that moment: look again just before.",
                )
                .given(format!("broker {broker}, which has the last commits, is in sync"), in_sync)
                .verify("The partition has a leader, and new consumers find their coordinator.")
                .undo("Cannot be undone."),
        );
    }
    remedies.push(last);
    remedies.sort_by_key(|remedy| remedy.risk == Risk::Loses);
    remedies
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn the_broker_that_led_before_goes_on_serving() {
        let sample = Sample::zookeeper(3, 3, 2).later(5).gone(2).no_leader(0, &[1]).later(20).served_now(0);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] Nobody can find the coordinator of partition 0 of __consumer_offsets, yet broker 1 still serves it.
          outlook: Members that are connected to broker 1 may go on working. Every new or reconnecting one hangs.
          seen: Asked as coordinator of partition 0 at 12:00:25 UTC, broker 1 answered 0: it serves.
          seen: Brokers 1 and 3 say: no leader, leader epoch 6.
          likely: The broker was never told that it leads no longer, so it has not unloaded the groups.
          -> Elect the preferred leader: That is broker 1, which serves and is in sync.
             if (met): broker 1 is in sync
             $ kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type preferred --topic __consumer_offsets --partition 0
             changes: Broker 1 leads again, under a new epoch.
             verify: The partition has a leader, and new consumers find their coordinator.
             undo: Needs none: it is the leader that the assignment prefers.
          -> If that changes nothing: elect any live replica: This kind of election takes live in-sync replicas first.
             if (met): broker 1, which has the last commits, is in sync
             $ kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type unclean --topic __consumer_offsets --partition 0
             changes: A live replica leads the partition, those in sync first.
             ! (less safe while it lasts) Loses commits if no in-sync replica lives at that moment: look again just before.
             verify: The partition has a leader, and new consumers find their coordinator.
             undo: Cannot be undone.
          -> Last: restart broker 1: When it returns, it loads what it leads and nothing else, and the controller elects what is missing.
             if (not met): broker 1 is not the last in-sync replica of any partition of __consumer_offsets (it is of 0)
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 1 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
          avoid: Do not restart consumers of these groups before the coordinator can be found: Those that still work would hang like the others.
          follows from no-leader-live-replica
        ");
    }

    #[test]
    fn another_one_leads_and_two_serve() {
        let sample =
            Sample::kraft(3, 3, 3).later(5).view(1, 0, Some(2), 6).view(2, 0, Some(2), 6).view(3, 0, Some(2), 6);
        let report = sample.canary(2, 0, 0).later(20).report();
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [error] Broker 1 still serves partition 0 of __consumer_offsets, although broker 2 leads it.
          outlook: Members that are connected to broker 1 may go on working. Every new or reconnecting one is sent to the other broker.
          seen: Asked as coordinator of partition 0 at 12:00:25 UTC, broker 1 answered 0: it serves.
          seen: The brokers that answer name broker 2 as leader.
          likely: The broker was never told that it leads no longer, so it has not unloaded the groups.
          -> Restart broker 1: When it returns, it loads what it leads and nothing else, and the controller elects what is missing.
             if (met): broker 1 is not the last in-sync replica of any partition of __consumer_offsets
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 1 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
          avoid: Do not restart consumers of these groups before the coordinator can be found: Those that still work would hang like the others.
        ");
    }

    #[test]
    fn an_answer_from_before_the_change_is_no_evidence() {
        let sample = Sample::zookeeper(3, 3, 2).later(5).gone(2).no_leader(0, &[1]);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn a_coordinator_that_does_not_serve_any_more_is_none() {
        let sample = Sample::zookeeper(3, 3, 2).later(5).gone(2).no_leader(0, &[1]).later(20).canary(1, 0, 16);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn an_answer_that_is_old_could_not_be_told() {
        let mut sample = Sample::zookeeper(3, 3, 2).later(5).gone(2).no_leader(0, &[1]).later(20);
        let at = sample.now();
        sample = sample.later(60);
        if let Some(canary) = sample.snapshot.brokers.get_mut(&1).and_then(|sight| sight.canaries.get_mut(&0)) {
            canary.at = at;
        }
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
