//! `min-isr-without-headroom`: as many replicas must be in sync as there are, so any restart stops commits.
//!
//! Catalogue row 14 (and row 13 up to 3.6, where min.insync.replicas above the replication factor stops commits at once:
//! `isr-below-min` says so).

use super::{Context, Rule, finding, likely, seen_};
use crate::handbook::Entry;
use crate::plan::{Wish, make};
use crate::report::{Finding, Met, Remedy, Risk, Severity};
use crate::snapshot::TopicConfigs;
use crate::verdict::Cause;
use crate::{OFFSETS_TOPIC, words};

const SLUG: &str = "min-isr-without-headroom";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "min.insync.replicas is as high as the replication factor: any restart stops commits",
        severity: "warning",
        means: "A coordinator writes commits and group states with acks=-1: if fewer replicas than `min.insync.replicas` \
            are in sync, it refuses them with error 15 (NOT_ENOUGH_REPLICAS on the log). With as many demanded as there \
            are, one broker that stops, even for an orderly restart, stops the groups of every partition that it holds.",
        opens: "The effective `min.insync.replicas` equals the number of replicas of a partition, and is more than 1.",
        closes: "It is lower than the number of replicas, or 1.",
        not_told: "Where no broker tells `min.insync.replicas` nothing is said. Where only the brokers' default could be \
            read, the topic may override it: the evidence says \"likely\".",
        clients_see: "Nothing until a broker stops; then \"coordinator not available\", groups that rebalance without end, \
            commits that time out.",
        way_out: "Raise the replication factor (`unstuck plan raise`), which loses nothing; else give the topic a lower \
            `min.insync.replicas` of its own: one less than it has replicas.",
        never: "Do not lower it below what the loss of one broker needs: with 1, a crash of the leader can lose what was \
            committed last.",
        twins: &[("isr-below-min", "a replica is missing already: commits are refused now")],
        versions: "all; from 3.7 on the value is capped by the replication factor (KAFKA-15583)",
        sources: &[
            "KAFKA-15583",
            "KIP-966",
            "GroupCoordinator: NOT_ENOUGH_REPLICAS is told as COORDINATOR_NOT_AVAILABLE",
        ],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let mut partitions = Vec::new();
    let mut factor = usize::MAX;
    for (&partition, seen) in &facts.partitions {
        let replicas = seen.newest.replicas.len();
        let refused =
            matches!(context.verdicts.get(&partition).map(|verdict| &verdict.cause), Some(Cause::BelowMinIsr { .. }));
        if replicas > 1 && !refused && facts.min_isr(replicas) == Some(replicas) {
            partitions.push(partition);
            factor = factor.min(replicas);
        }
    }
    if partitions.is_empty() {
        return Vec::new();
    }
    let mut finding = finding(
        SLUG,
        Severity::Warning,
        format!(
            "Any broker that stops, even for a restart, stops commits on its partitions: {} {} as many replicas as \
             min.insync.replicas demands.",
            context.reach(&partitions),
            if partitions.len() == 1 { "has" } else { "have" },
        ),
    );
    let text = format!("Replicas: {factor}; effective min.insync.replicas: {factor}.");
    finding.evidence.push(if facts.min_isr_verified() {
        seen_(text)
    } else {
        likely(format!("{text} That is the brokers' default; the topic's own setting could not be read."))
    });
    if let Ok(plan) = make(facts, Wish::Raise) {
        finding.remedies.push(plan.remedy);
    }
    finding.remedies.push(lower(context, factor - 1));
    finding.partitions = partitions;
    vec![finding]
}

fn lower(context: &Context<'_, '_>, to: usize) -> Remedy {
    let commands = context.commands();
    let own = own(context);
    let undo = match own {
        Some(TopicConfigs { min_insync_is_override: Some(true), min_insync_replicas: Some(value), .. }) => {
            commands.set_topic(OFFSETS_TOPIC, &format!("min.insync.replicas={value}"))
        }
        _ => commands.unset_topic(OFFSETS_TOPIC, "min.insync.replicas"),
    };
    let mut remedy = Remedy::new(
        format!("Ask for {} in sync", words::count(to, "replica")),
        "One broker may then be missing without stopping commits.",
    )
    .command(
        commands.set_topic(OFFSETS_TOPIC, &format!("min.insync.replicas={to}")),
        format!("the topic's own min.insync.replicas, to {to}, at once and without a restart"),
    )
    .verify(format!(
        "`{}` shows min.insync.replicas={to}, and this finding closes",
        commands.describe_settings(OFFSETS_TOPIC)
    ))
    .undo(format!("`{undo}`"));
    remedy = if to == 1 {
        remedy.danger(
            Risk::Exposes,
            "A commit counts once the leader alone has it: while no other replica is in sync, a crash of the leader loses it.",
        )
    } else {
        remedy.danger(
            Risk::Exposes,
            format!(
                "A commit then counts once {to} replicas have it, one fewer than now: if these are lost, so is it."
            ),
        )
    };
    if context.facts.kraft == Some(true) {
        remedy = remedy
            .given("no partition of the topic is without a leader (eligible replicas are forgotten)", leaders(context));
    }
    remedy
}

/// Changing the setting clears the eligible leader replicas (KIP-966).
fn leaders(context: &Context<'_, '_>) -> Met {
    context.facts.partitions.values().all(|seen| seen.newest.leader.is_some()).into()
}

fn own<'a>(context: &Context<'a, '_>) -> Option<&'a TopicConfigs> {
    let snapshot = context.facts.snapshot;
    context.facts.answering.iter().find_map(|id| snapshot.brokers.get(id)?.topic_configs.known()?.as_ref())
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn two_copies_and_two_demanded() {
        let sample = Sample::kraft(3, 3, 2).min_isr(2).group_on(0, "orders");
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @r#"
        [warning] Any broker that stops, even for a restart, stops commits on its partitions: all 3 partitions of __consumer_offsets (1 known group) have as many replicas as min.insync.replicas demands.
          seen: Replicas: 2; effective min.insync.replicas: 2.
          -> Raise the replication factor to 3 by a reassignment; leaders stay: 3 partitions get 3 replicas: 3 replicas are copied, 3 MB in all, nothing is moved away, and whoever leads now goes on leading. Partitions led as now: broker 1: 1, broker 2: 1, broker 3: 1. Throttled to 10 MB/s for each broker, copying takes about a second.
             if (met): all brokers that hold or get replicas answer
             if (met): there is a controller
             if (met): no reassignment of __consumer_offsets is under way
             if (met): the disks of the brokers that get replicas have room for them (broker 1 needs 1 MB, broker 2 needs 1 MB, broker 3 needs 1 MB)
             file raise.json: the lists of replicas afterwards
             file rollback.json: the lists of replicas as they are now
             $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --execute --throttle 10000000
             changes: the lists of replicas of 3 partitions; 3 replicas are copied
             ! (groups may pause for a moment) Copying costs network and disks, up to the throttle, and may slow clients down; no coordinator moves.
             verify: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --verify` says "completed" for every partition, and takes the throttle away
             undo: while it runs: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --cancel`; afterwards: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file rollback.json --execute`, with the file saved now
          -> Ask for 1 replica in sync: One broker may then be missing without stopping commits.
             if (met): no partition of the topic is without a leader (eligible replicas are forgotten)
             $ kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --alter --add-config min.insync.replicas=1
             changes: the topic's own min.insync.replicas, to 1, at once and without a restart
             ! (less safe while it lasts) A commit counts once the leader alone has it: while no other replica is in sync, a crash of the leader loses it.
             verify: `kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --describe` shows min.insync.replicas=1, and this finding closes
             undo: `kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --alter --delete-config min.insync.replicas`
        "#);
    }

    #[test]
    fn with_all_brokers_used_only_the_setting_can_give_way() {
        let sample = Sample::zookeeper(3, 3, 3).min_isr(3);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [warning] Any broker that stops, even for a restart, stops commits on its partitions: all 3 partitions of __consumer_offsets have as many replicas as min.insync.replicas demands.
          seen: Replicas: 3; effective min.insync.replicas: 3.
          -> Ask for 2 replicas in sync: One broker may then be missing without stopping commits.
             $ kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --alter --add-config min.insync.replicas=2
             changes: the topic's own min.insync.replicas, to 2, at once and without a restart
             ! (less safe while it lasts) A commit then counts once 2 replicas have it, one fewer than now: if these are lost, so is it.
             verify: `kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --describe` shows min.insync.replicas=2, and this finding closes
             undo: `kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --alter --delete-config min.insync.replicas`
        ");
    }

    #[test]
    fn headroom_one_copy_and_refused_already_are_no_finding() {
        let refused = Sample::kraft(3, 1, 3).min_isr(3).isr(0, &[1, 2]).gone(3);
        for sample in [Sample::kraft(3, 3, 3).min_isr(2), Sample::kraft(3, 3, 1).min_isr(2), refused] {
            assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
        }
    }

    #[test]
    fn an_unknown_setting_is_no_finding() {
        assert!(!slugs(&Sample::kraft(3, 3, 2).no_configs().report()).contains(&super::SLUG.to_owned()));
    }
}
