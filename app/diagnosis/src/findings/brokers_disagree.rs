//! `stale-broker` and `brokers-disagree`: brokers that answer name different leaders, for longer than news takes to
//! travel.
//!
//! Catalogue row 4: a broker cut off from ZooKeeper or the controllers keeps an old view. The older leader epoch is the
//! stale one; where all that disagree have an older one, they are named. Otherwise nothing tells who is right.

use std::collections::BTreeSet;

use super::{Context, Rule, capital, finding, likely, seen_, step};
use crate::facts::{Controller, Facts, PartitionFacts};
use crate::handbook::Entry;
use crate::report::{Avoid, Evidence, Finding, Remedy, Severity, Status};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId, words};

const SLUG: &str = "brokers-disagree";
const STALE: &str = "stale-broker";

pub(super) const RULE: Rule = Rule {
    entries: &[
        Entry {
            slug: STALE,
            title: "A broker has an old view of who leads, and goes on as if nothing had happened",
            severity: "error; the verdict of the partitions concerned is unknown",
            means: "Every broker answers from its own copy of the metadata. One that is cut off from ZooKeeper or from the \
                    controllers, or that refuses their messages, keeps an old copy. Clients that ask it are sent to the \
                    leaders of before; what it leads in its own eyes it goes on serving, and who stays connected to it \
                    commits offsets that the rest of the cluster never sees.",
            opens: "Brokers that answer name different leaders for more than 10 s, and those that differ tell an older \
                    leader epoch; where brokers tell no epochs (below 2.1), another view than the controller's own.",
            closes: "They agree.",
            not_told: "Why it is cut off: its own log says so.",
            clients_see: "It depends on the broker that a client asked: some work, some get NOT_COORDINATOR (16) for ever, \
                          some work with a coordinator that nobody else knows.",
            way_out: "Look at the log of the broker: whether it reaches ZooKeeper or the controllers, and whether it refuses \
                      their messages (CLUSTER_AUTHORIZATION_FAILED). Repair that; it catches up by itself. Restart it if \
                      not, and if it is not the last in-sync replica of anything.",
            never: "Do not take it for the leader because it says so itself: the higher epoch is right.",
            twins: &[
                ("two-controllers", "Two brokers give orders, so epochs do not tell who is right."),
                ("served-but-not-found", "There the broker agrees that it does not lead, and serves all the same."),
                ("ghost-group", "What that looks like in the listings."),
            ],
            shadows: &["ghost-group", "broker-down"],
            versions: "all; with ZooKeeper also lost messages of the controller (KAFKA-4362, 0.10.0 to 0.10.1.0)",
            sources: &["KAFKA-4362", "KIP-320 (leader epochs in metadata)"],
        },
        Entry {
            slug: SLUG,
            title: "Brokers that answer name different leaders, for longer than news takes to travel",
            severity: "error; the verdict of the partitions concerned is unknown",
            means: "Every broker answers from its own copy of the metadata, and these copies differ. Nothing tells which of \
                    them is the older one.",
            opens: "Brokers that answer name different leaders for more than 10 s, and their leader epochs do not say which \
                    view is the newer one.",
            closes: "They agree.",
            not_told: "Which broker is right.",
            clients_see: "It depends on the broker that a client asked.",
            way_out: "Ask the controller: the view of the broker that is controller is the newest. Then look at the logs of \
                      the others.",
            twins: &[(STALE, "The same where epochs tell whose view is old.")],
            shadows: &["ghost-group"],
            sources: &["KIP-320 (leader epochs in metadata)"],
            ..Entry::BLANK
        },
    ],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let lasting = context
        .group_by(|verdict| (verdict.cause == Cause::Disagreement && verdict.status == Status::Unknown).then_some(()));
    let Some(partitions) = lasting.into_values().next() else { return Vec::new() };
    let views: Vec<_> = partitions.iter().filter_map(|id| Some((*id, context.facts.partitions.get(id)?))).collect();
    let by_partition: Vec<_> = views.iter().map(|(_, seen)| stale_in(context.facts, seen)).collect();
    let older = by_partition.iter().all(Option::is_some);
    let stale: BTreeSet<BrokerId> = if older {
        by_partition.into_iter().flatten().flatten().collect()
    } else {
        views.iter().flat_map(|(_, seen)| differing(seen)).collect()
    };
    vec![explain(context, older, stale.into_iter().collect(), &views, partitions.clone())]
}

/// Brokers with an older view of this partition: a lower leader epoch; where brokers do not tell epochs (below 2.1), another
/// view than the controller's. `None` if neither tells.
fn stale_in(facts: &Facts<'_>, seen: &PartitionFacts<'_>) -> Option<Vec<BrokerId>> {
    if seen.views.values().all(|view| view.leader_epoch.is_some()) {
        let differing = differing(seen);
        let older = differing
            .iter()
            .filter_map(|id| seen.views.get(id))
            .all(|view| view.leader_epoch < seen.newest.leader_epoch);
        return older.then_some(differing);
    }
    let Controller::Known(controller) = facts.controller else { return None };
    let true_view = seen.views.get(&controller).filter(|_| facts.kraft == Some(false))?;
    let others = seen.views.iter().filter(|(_, view)| view.leader != true_view.leader);
    Some(others.map(|(&id, _)| id).collect())
}

fn differing(seen: &PartitionFacts<'_>) -> Vec<BrokerId> {
    let differs = seen.views.iter().filter(|(_, view)| {
        view.leader != seen.newest.leader
            || view.leader_epoch.is_some() && view.leader_epoch != seen.newest.leader_epoch
    });
    differs.map(|(&id, _)| id).collect()
}

fn explain(
    context: &Context<'_, '_>,
    older: bool,
    stale: Vec<BrokerId>,
    views: &[(PartitionId, &PartitionFacts<'_>)],
    partitions: Vec<PartitionId>,
) -> Finding {
    let who = words::brokers(&stale);
    let reach = context.reach(&partitions);
    let one = stale.len() == 1;
    let mut finding = if older {
        let sentence = format!(
            "{} {} an old view: who asks {} is sent to the wrong coordinator for {reach}.",
            capital(&who),
            if one { "has" } else { "have" },
            if one { "it" } else { "them" }
        );
        finding(STALE, Severity::Error, sentence)
    } else {
        let sentence = format!("Brokers disagree on who leads {reach}: clients may be sent to the wrong one.");
        finding(SLUG, Severity::Error, sentence)
    };
    if let Some((partition, seen)) = views.first() {
        finding.evidence = said(seen, (views.len() > 1).then_some(*partition));
    }
    for &id in stale.iter().filter(|_| older) {
        finding.evidence.extend(cut_off(context, id));
        let serves: Vec<_> = partitions
            .iter()
            .copied()
            .filter(|partition| context.verdicts.get(partition).is_some_and(|verdict| verdict.served_by.contains(&id)))
            .collect();
        if !serves.is_empty() {
            finding.evidence.push(seen_(format!(
                "It still serves as coordinator of {}: clients that stay connected to it work apart from all others.",
                context.reach(&serves)
            )));
        }
    }
    if older {
        finding.avoid.push(Avoid {
            what: format!("Do not trust {who} about who leads"),
            why: "Of two views the one with the higher leader epoch is right.".to_owned(),
        });
    }
    finding.remedies = remedies(context, older, &stale);
    finding.brokers = stale;
    finding.partitions = partitions;
    finding
}

fn said(seen: &PartitionFacts<'_>, partition: Option<PartitionId>) -> Vec<Evidence> {
    let of = partition.map(|partition| format!(" (partition {partition})")).unwrap_or_default();
    let words = |(broker, view): (&BrokerId, &&crate::snapshot::PartitionView)| {
        let leader = view.leader.map_or_else(|| "no leader".to_owned(), |leader| format!("leader {leader}"));
        let epoch = view.leader_epoch.map(|epoch| format!(", epoch {epoch}")).unwrap_or_default();
        seen_(format!("Broker {broker} says: {leader}{epoch}{of}."))
    };
    seen.views.iter().map(words).collect()
}

fn cut_off(context: &Context<'_, '_>, broker: BrokerId) -> Option<Evidence> {
    let facts = context.facts;
    let others = facts.answering.iter().any(|&id| id != broker);
    let to = if facts.kraft == Some(false) { "ZooKeeper" } else { "the controllers" };
    (others && !facts.listed_live.contains(&broker)).then(|| {
        likely(format!(
            "Broker {broker} is cut off from {to}: the others do not list it as live, and it does not know."
        ))
    })
}

fn remedies(context: &Context<'_, '_>, older: bool, stale: &[BrokerId]) -> Vec<Remedy> {
    let facts = context.facts;
    let who = words::brokers(stale);
    if !older {
        return vec![step(
            "Look at the logs of the brokers that disagree, and at the controller's view",
            "The controller's own is the newest. A broker whose log tells of lost sessions or refused messages is the \
             stale one.",
        )];
    }
    let mut remedies = vec![step(
        format!("Look at the log of {who}: its view is the older one"),
        if facts.kraft == Some(false) {
            "It says whether ZooKeeper is reached, and whether messages of the controller are refused \
             (CLUSTER_AUTHORIZATION_FAILED: then correct its super.users or principal mapping). It catches up by itself."
        } else {
            "It says whether the controllers are reached. When they are, it catches up by itself."
        },
    )];
    remedies.extend(context.commands().quorum_status().map(|command| {
        step(
            format!("See whether the controllers are well, and how far {who} is behind"),
            "Lag of observers is told too.",
        )
        .looks(command)
    }));
    remedies.extend(stale.iter().map(|&id| {
        super::restart::restart(
            context,
            id,
            format!("If it does not catch up: restart broker {id}"),
            "It reads everything anew.",
        )
    }));
    remedies
}

#[cfg(test)]
mod tests {
    use crate::report::Status;
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn a_stale_broker_is_named() {
        let sample = Sample::kraft(3, 3, 3).view(3, 0, Some(2), 4).later(20);
        insta::assert_snapshot!(text(&sample.report(), super::STALE), @"
        [error] Broker 3 has an old view: who asks it is sent to the wrong coordinator for partition 0 of __consumer_offsets.
          seen: Broker 1 says: leader 1, epoch 5.
          seen: Broker 2 says: leader 1, epoch 5.
          seen: Broker 3 says: leader 2, epoch 4.
          -> Look at the log of broker 3: its view is the older one: It says whether the controllers are reached. When they are, it catches up by itself.
          -> See whether the controllers are well, and how far broker 3 is behind: Lag of observers is told too.
             $ kafka-metadata-quorum.sh --bootstrap-server 127.0.0.1:9001 describe --status
          -> If it does not catch up: restart broker 3: It reads everything anew.
             if (met): broker 3 is not the last in-sync replica of any partition of __consumer_offsets
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 3 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
          avoid: Do not trust broker 3 about who leads: Of two views the one with the higher leader epoch is right.
        ");
    }

    #[test]
    fn without_epochs_nobody_tells_whose_view_is_old() {
        let sample = Sample::kraft(3, 3, 3).view(3, 0, Some(2), 5).later(20);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] Brokers disagree on who leads partition 0 of __consumer_offsets: clients may be sent to the wrong one.
          seen: Broker 1 says: leader 1, epoch 5.
          seen: Broker 2 says: leader 1, epoch 5.
          seen: Broker 3 says: leader 2, epoch 5.
          -> Look at the logs of the brokers that disagree, and at the controller's view: The controller's own is the newest. A broker whose log tells of lost sessions or refused messages is the stale one.
        ");
    }

    #[test]
    fn a_broker_that_is_cut_off_and_serves_its_own_world() {
        let moved =
            Sample::zookeeper(3, 3, 3).view(2, 0, Some(2), 6).view(3, 0, Some(2), 6).isolated(1).canary(2, 0, 0);
        insta::assert_snapshot!(text(&moved.later(20).report(), super::STALE), @"
        [error] Broker 1 has an old view: who asks it is sent to the wrong coordinator for partition 0 of __consumer_offsets.
          seen: Broker 1 says: leader 1, epoch 5.
          seen: Broker 2 says: leader 2, epoch 6.
          seen: Broker 3 says: leader 2, epoch 6.
          likely: Broker 1 is cut off from ZooKeeper: the others do not list it as live, and it does not know.
          seen: It still serves as coordinator of partition 0 of __consumer_offsets: clients that stay connected to it work apart from all others.
          -> Look at the log of broker 1: its view is the older one: It says whether ZooKeeper is reached, and whether messages of the controller are refused (CLUSTER_AUTHORIZATION_FAILED: then correct its super.users or principal mapping). It catches up by itself.
          -> If it does not catch up: restart broker 1: It reads everything anew.
             if (met): broker 1 is not the last in-sync replica of any partition of __consumer_offsets
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 1 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
          avoid: Do not trust broker 1 about who leads: Of two views the one with the higher leader epoch is right.
        ");
    }

    #[test]
    fn news_on_its_way_is_recovering() {
        let report = Sample::kraft(3, 3, 3).view(3, 0, Some(2), 4).report();
        assert_eq!(report.partitions[0].status, Status::Recovering);
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
        assert!(!slugs(&report).contains(&super::STALE.to_owned()));
    }

    #[test]
    fn a_silent_brokers_old_view_does_not_count() {
        let report = Sample::kraft(3, 3, 3).view(3, 0, Some(2), 4).hung(3, 10).isr(0, &[1, 2]).report();
        assert_eq!(report.partitions[0].views_agree, Some(true));
    }
}
