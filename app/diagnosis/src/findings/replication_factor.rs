//! `replication-factor-1` and `replication-factor-low`: too few copies of the offsets topic.
//!
//! Catalogue rows 9 and 10; founding incident 3. The shipped server.properties sets factor 1. Compared with the
//! *registered* brokers, not the live ones, or the warning would vanish exactly when two of three are down:
//! RF < min(3, registered). A single broker gets a note only.

use super::{Context, Rule, finding, seen_, step};
use crate::handbook::Entry;
use crate::plan::{Plan, Wish, make, wanted};
use crate::report::{Avoid, Finding, Remedy, Severity};
use crate::{BrokerId, PartitionId, words};

const ONE: &str = "replication-factor-1";
const LOW: &str = "replication-factor-low";
/// How many groups the evidence names.
const NAMED: usize = 5;
/// Of how many brokers the evidence says what stops with them.
const BROKERS: usize = 6;

const WAY_OUT: &str = "While all brokers are up: a reassignment that adds replicas and moves nothing away, throttled, with \
    its way back at hand; Unstuck writes both files (`unstuck plan raise`, or the page of the offsets topic). Present \
    leaders stay first in every list, so no coordinator moves. Then set `offsets.topic.replication.factor` for the next \
    cluster: alone, it changes nothing for a topic that exists.";
const NEVER: &str = "Do not delete `__consumer_offsets` so that it is created anew with more replicas: every committed \
    offset of every group is thrown away, groups start over at `auto.offset.reset`, and brokers keep the old partition \
    count in memory. Nor give every partition the same list of replicas: its first broker would coordinate every group.";

pub(super) const RULE: Rule = Rule {
    entries: &[
        Entry {
            slug: ONE,
            title: "One copy of the offsets topic: each broker that stops takes its groups with it",
            severity: "warning; info with a single broker",
            means: "Each partition of `__consumer_offsets` is the coordinator of the groups that hash to it, and it lives \
                on one broker only. While that broker is down nobody can take over: these groups neither rebalance nor \
                commit, whatever the replication factor of the data topics is. If its disk is lost, their offsets are lost.",
            opens: "Some partition of `__consumer_offsets` has one replica, and more than one broker is registered \
                (live, fenced, in replica lists, or seen before). With a single broker it is a note.",
            closes: "Every partition has min(3, registered brokers) replicas, or the factor is 2 or more and \
                `replication-factor-low` speaks instead.",
            not_told: "Where no broker lists the topic nothing is said. Groups are counted as far as they could be listed.",
            clients_see: "Nothing until the broker stops; then \"coordinator not available\" without end, only in the \
                groups that hash to its partitions.",
            way_out: WAY_OUT,
            never: NEVER,
            twins: &[
                (LOW, "there are two copies: one broker may stop, two may not"),
                ("one-broker-holds-all", "the copies, however many, lie on the same brokers"),
            ],
            versions: "all; the server.properties that Kafka ships sets 1",
            sources: &["founding incident 3", "KIP-115", "config/server.properties"],
            ..Entry::BLANK
        },
        Entry {
            slug: LOW,
            title: "Fewer copies of the offsets topic than brokers would allow",
            severity: "warning",
            means: "One broker may stop, for a restart say. If a second one fails meanwhile, the partitions that both held \
                have no leader, and their groups stand still. With three copies two may fail.",
            opens: "Some partition of `__consumer_offsets` has fewer replicas than min(3, registered brokers), and none \
                has only one.",
            closes: "Every partition has min(3, registered brokers) replicas.",
            not_told: "Where no broker lists the topic nothing is said.",
            way_out: WAY_OUT,
            never: NEVER,
            twins: &[
                (ONE, "there is one copy: the next broker that stops is an outage"),
                ("under-replicated", "the replicas are assigned, but not all of them are in sync"),
                ("min-isr-without-headroom", "two copies and min.insync.replicas 2: any restart stops commits"),
            ],
            sources: &["KIP-115", "KIP-966"],
            ..Entry::BLANK
        },
    ],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let factors = || facts.partitions.values().map(|seen| seen.newest.replicas.len());
    let Some(least) = factors().min() else { return Vec::new() };
    let registered = facts.registered.len();
    let wanted = wanted(facts);
    if registered == 1 && least == 1 {
        return vec![single(context)];
    }
    if least >= wanted {
        return Vec::new();
    }
    let partitions: Vec<_> = facts
        .partitions
        .iter()
        .filter(|(_, seen)| seen.newest.replicas.len() < wanted)
        .map(|(&partition, _)| partition)
        .collect();
    let groups = context.group_count(&partitions);
    let in_all = if groups == 0 { String::new() } else { format!(" ({} in all)", words::count(groups, "group")) };
    let mut finding = if least == 1 {
        let text = "__consumer_offsets has replication factor 1: each broker that stops takes its groups with it";
        finding(ONE, Severity::Warning, format!("{text}{in_all}."))
    } else {
        let text = format!("__consumer_offsets has replication factor {least}; {wanted} would survive two failures");
        finding(LOW, Severity::Warning, format!("{text}{in_all}."))
    };
    finding.evidence.push(seen_(format!(
        "{} of {} partitions have fewer than {wanted} replicas; {} are registered.",
        partitions.len(),
        facts.partitions.len(),
        words::count(registered, "broker")
    )));
    finding.evidence.extend(what_stops(context, &partitions).into_iter().map(seen_));
    finding.evidence.extend(names(context, &partitions).map(seen_));
    finding.evidence.push(seen_(
        "The replication factor of your data topics does not protect groups: coordinators live on this topic."
            .to_owned(),
    ));
    finding.remedies = remedies(context, wanted);
    finding.avoid.push(Avoid {
        what: "Do not delete __consumer_offsets to have it created anew".to_owned(),
        why: "Every committed offset of every group would be gone. Adding replicas needs no deletion.".to_owned(),
    });
    finding.partitions = partitions;
    vec![finding]
}

fn single(context: &Context<'_, '_>) -> Finding {
    let mut finding =
        finding(ONE, Severity::Info, "This cluster has one broker: when it stops, every group stops.".to_owned());
    finding.evidence.push(seen_(format!(
        "{} of __consumer_offsets, replication factor 1.",
        words::count(context.facts.partitions.len(), "partition")
    )));
    finding
}

/// What stops with each broker that alone holds some of these partitions: the one with most groups first.
fn what_stops(context: &Context<'_, '_>, partitions: &[PartitionId]) -> Vec<String> {
    let mut alone: std::collections::BTreeMap<BrokerId, Vec<PartitionId>> = std::collections::BTreeMap::new();
    for &partition in partitions {
        if let Some([only]) = context.facts.partitions.get(&partition).map(|seen| seen.newest.replicas.as_slice()) {
            alone.entry(*only).or_default().push(partition);
        }
    }
    let mut stops: Vec<_> = alone
        .iter()
        .map(|(&broker, held)| (std::cmp::Reverse(context.group_count(held)), std::cmp::Reverse(held.len()), broker))
        .collect();
    stops.sort_unstable();
    let more = stops.len().saturating_sub(BROKERS);
    let mut said: Vec<_> = stops
        .into_iter()
        .take(BROKERS)
        .map(|(std::cmp::Reverse(groups), std::cmp::Reverse(held), broker)| {
            let partitions = words::count(held, "partition");
            match groups {
                0 => format!("Without broker {broker}: {partitions} stand still; no known group lives there."),
                n => format!("Without broker {broker}: {partitions} and {} stand still.", words::count(n, "group")),
            }
        })
        .collect();
    if more > 0 {
        said.push(format!("{} hold others alone.", super::capital(&words::count(more, "more broker"))));
    }
    said
}

/// The first of the groups at risk.
fn names(context: &Context<'_, '_>, partitions: &[PartitionId]) -> Option<String> {
    let groups = &context.facts.memory.groups.by_partition;
    let mut names: Vec<_> = partitions.iter().filter_map(|id| groups.get(id)).flatten().collect();
    names.sort_unstable();
    let shown: Vec<_> = names.iter().take(NAMED).map(|id| id.visible()).collect();
    let more = names.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {} more", words::thousands(more)) };
    (!shown.is_empty()).then(|| format!("Groups at risk: {}{more}.", shown.join(", ")))
}

fn remedies(context: &Context<'_, '_>, wanted: usize) -> Vec<Remedy> {
    let mut remedies = raise(context, wanted);
    remedies.push(step(
        format!("Set offsets.topic.replication.factor={wanted} in server.properties of every broker"),
        "It counts only when the topic is created. Alone, it changes nothing for a topic that exists.",
    ));
    remedies
}

/// The reassignment that raises the factor, and the one that spreads the leaders too where one broker leads too many.
pub(super) fn raise(context: &Context<'_, '_>, wanted: usize) -> Vec<Remedy> {
    match make(context.facts, Wish::Raise) {
        Ok(plan) => {
            let lopsided = lopsided(&plan);
            let mut remedies = vec![plan.remedy];
            if lopsided && let Ok(balanced) = make(context.facts, Wish::RaiseBalanced) {
                remedies.push(balanced.remedy);
                remedies.extend(balanced.then);
            }
            remedies
        }
        Err(refusal) => vec![step(
            format!("Raise it to {wanted} by a reassignment, as soon as that is possible"),
            format!("Not now: {} {}", refusal.why, refusal.advice),
        )],
    }
}

/// Whether one broker would be the preferred leader of more than twice its share.
fn lopsided(plan: &Plan) -> bool {
    let all: usize = plan.brokers.iter().map(|moves| moves.leads_after).sum();
    let most = plan.brokers.iter().map(|moves| moves.leads_after).max().unwrap_or(0);
    plan.brokers.len() > 1 && all > plan.brokers.len() && most * plan.brokers.len() >= 2 * all
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn one_copy_on_three_brokers() {
        let sample = Sample::kraft(3, 6, 1).group_on(0, "orders").group_on(3, "billing").group_on(1, "mail");
        insta::assert_snapshot!(text(&sample.report(), super::ONE), @r#"
        [warning] __consumer_offsets has replication factor 1: each broker that stops takes its groups with it (3 groups in all).
          seen: 6 of 6 partitions have fewer than 3 replicas; 3 brokers are registered.
          seen: Without broker 1: 2 partitions and 2 groups stand still.
          seen: Without broker 2: 2 partitions and 1 group stand still.
          seen: Without broker 3: 2 partitions stand still; no known group lives there.
          seen: Groups at risk: billing-3, mail-1, orders-2.
          seen: The replication factor of your data topics does not protect groups: coordinators live on this topic.
          -> Raise the replication factor to 3 by a reassignment; leaders stay: 6 partitions get 3 replicas: 12 replicas are copied, 12 MB in all, nothing is moved away, and whoever leads now goes on leading. Partitions led as now: broker 1: 2, broker 2: 2, broker 3: 2. Throttled to 10 MB/s for each broker, copying takes about a second.
             if (met): all brokers that hold or get replicas answer
             if (met): there is a controller
             if (met): no reassignment of __consumer_offsets is under way
             if (met): the disks of the brokers that get replicas have room for them (broker 1 needs 4 MB, broker 2 needs 4 MB, broker 3 needs 4 MB)
             file raise.json: the lists of replicas afterwards
             file rollback.json: the lists of replicas as they are now
             $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --execute --throttle 10000000
             changes: the lists of replicas of 6 partitions; 12 replicas are copied
             ! (groups may pause for a moment) Copying costs network and disks, up to the throttle, and may slow clients down; no coordinator moves.
             verify: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --verify` says "completed" for every partition, and takes the throttle away
             undo: while it runs: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --cancel`; afterwards: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file rollback.json --execute`, with the file saved now
          -> Set offsets.topic.replication.factor=3 in server.properties of every broker: It counts only when the topic is created. Alone, it changes nothing for a topic that exists.
          avoid: Do not delete __consumer_offsets to have it created anew: Every committed offset of every group would be gone. Adding replicas needs no deletion.
        "#);
    }

    #[test]
    fn two_copies_on_three_brokers() {
        insta::assert_snapshot!(text(&Sample::kraft(3, 6, 2).report(), super::LOW), @r#"
        [warning] __consumer_offsets has replication factor 2; 3 would survive two failures.
          seen: 6 of 6 partitions have fewer than 3 replicas; 3 brokers are registered.
          seen: The replication factor of your data topics does not protect groups: coordinators live on this topic.
          -> Raise the replication factor to 3 by a reassignment; leaders stay: 6 partitions get 3 replicas: 6 replicas are copied, 6 MB in all, nothing is moved away, and whoever leads now goes on leading. Partitions led as now: broker 1: 2, broker 2: 2, broker 3: 2. Throttled to 10 MB/s for each broker, copying takes about a second.
             if (met): all brokers that hold or get replicas answer
             if (met): there is a controller
             if (met): no reassignment of __consumer_offsets is under way
             if (met): the disks of the brokers that get replicas have room for them (broker 1 needs 2 MB, broker 2 needs 2 MB, broker 3 needs 2 MB)
             file raise.json: the lists of replicas afterwards
             file rollback.json: the lists of replicas as they are now
             $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --execute --throttle 10000000
             changes: the lists of replicas of 6 partitions; 6 replicas are copied
             ! (groups may pause for a moment) Copying costs network and disks, up to the throttle, and may slow clients down; no coordinator moves.
             verify: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --verify` says "completed" for every partition, and takes the throttle away
             undo: while it runs: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --cancel`; afterwards: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file rollback.json --execute`, with the file saved now
          -> Set offsets.topic.replication.factor=3 in server.properties of every broker: It counts only when the topic is created. Alone, it changes nothing for a topic that exists.
          avoid: Do not delete __consumer_offsets to have it created anew: Every committed offset of every group would be gone. Adding replicas needs no deletion.
        "#);
    }

    #[test]
    fn all_on_one_broker_offers_to_spread_the_leaders() {
        let sample = (0..6).fold(Sample::kraft(3, 6, 1), |sample, partition| sample.placed(partition, &[1]));
        let report = sample.report();
        let finding = report.findings.iter().find(|finding| finding.slug == super::ONE).expect("open");
        let titles: Vec<_> = finding.remedies.iter().map(|remedy| remedy.title.as_str()).collect();
        insta::assert_snapshot!(titles.join("\n"), @"
        Raise the replication factor to 3 by a reassignment; leaders stay
        Raise the replication factor to 3, and spread the leaders as well
        Then let the preferred leaders lead
        Set offsets.topic.replication.factor=3 in server.properties of every broker
        ");
        let files: Vec<_> = finding.remedies.iter().flat_map(|remedy| &remedy.files).map(|file| &file.name).collect();
        assert_eq!(files, ["raise.json", "rollback.json", "raise-balanced.json", "rollback.json"]);
    }

    #[test]
    fn the_warning_stays_when_two_of_three_are_down() {
        let report = Sample::kraft(3, 6, 1).gone(1).gone(2).report();
        assert!(slugs(&report).contains(&super::ONE.to_owned()));
        assert_eq!(report.offsets_topic.wanted_replication_factor, 3);
        assert!(report.offsets_topic.warning.is_some());
        insta::assert_snapshot!(text(&report, super::ONE), @"
        [warning] __consumer_offsets has replication factor 1: each broker that stops takes its groups with it.
          seen: 6 of 6 partitions have fewer than 3 replicas; 3 brokers are registered.
          seen: Without broker 1: 2 partitions stand still; no known group lives there.
          seen: Without broker 2: 2 partitions stand still; no known group lives there.
          seen: Without broker 3: 2 partitions stand still; no known group lives there.
          seen: The replication factor of your data topics does not protect groups: coordinators live on this topic.
          -> Raise it to 3 by a reassignment, as soon as that is possible: Not now: Replication factor 3 needs 3 live brokers, and 1 is live; brokers 1 and 2 are not live. Start the missing brokers first, or add one.
          -> Set offsets.topic.replication.factor=3 in server.properties of every broker: It counts only when the topic is created. Alone, it changes nothing for a topic that exists.
          avoid: Do not delete __consumer_offsets to have it created anew: Every committed offset of every group would be gone. Adding replicas needs no deletion.
        ");
    }

    #[test]
    fn two_brokers_with_two_copies_are_not_alarming() {
        let report = Sample::kraft(2, 6, 2).report();
        assert!(!slugs(&report).iter().any(|slug| slug.starts_with("replication-factor")));
        assert_eq!(report.offsets_topic.warning, None);
    }

    #[test]
    fn a_single_broker_gets_a_note() {
        insta::assert_snapshot!(text(&Sample::kraft(1, 6, 1).report(), super::ONE), @"
        [info] This cluster has one broker: when it stops, every group stops.
          seen: 6 partitions of __consumer_offsets, replication factor 1.
        ");
    }

    #[test]
    fn unknown_partitions_are_no_finding() {
        assert!(!slugs(&Sample::empty().report()).iter().any(|slug| slug.starts_with("replication-factor")));
    }
}
