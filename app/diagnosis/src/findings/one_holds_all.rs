//! `one-broker-holds-all`, `few-brokers-hold-all` and `one-rack-holds-all`: copies that fall together.
//!
//! Catalogue row 11. Typical after a cluster grew (new brokers get nothing by themselves) and after a reassignment with
//! the same list for every partition.

use std::collections::BTreeSet;

use super::{Context, Rule, finding, seen_, step};
use crate::facts::Facts;
use crate::handbook::Entry;
use crate::plan::{Plan, Refusal, Wish, make, wanted};
use crate::report::{Finding, Remedy, Severity};
use crate::{BrokerId, PartitionId, words};

const BROKER: &str = "one-broker-holds-all";
const FEW: &str = "few-brokers-hold-all";
const RACK: &str = "one-rack-holds-all";

pub(super) const RULE: Rule = Rule {
    entries: &[
        Entry {
            slug: BROKER,
            title: "One broker holds the whole offsets topic",
            severity: "warning",
            means: "Every partition of `__consumer_offsets` lies on the same broker and nowhere else: it coordinates every \
                group of the cluster, and when it stops, every group stands still. The topic was created while only this \
                broker was up, or with factor 1 on the first broker.",
            opens: "The replica lists of all partitions name one broker only, and more than one broker is registered.",
            closes: "Some partition has a replica elsewhere.",
            not_told: "Where no broker lists the topic nothing is said.",
            clients_see: "Nothing until the broker stops; then every group of the cluster at once.",
            way_out: "Raise the replication factor by a reassignment (`unstuck plan raise`); `raise-balanced` spreads the \
                coordinators as well, which pauses groups for a moment each.",
            never: "Do not delete `__consumer_offsets`: every committed offset would be gone.",
            twins: &[("replication-factor-1", "one copy each, but on different brokers")],
            sources: &["founding incident 3"],
            ..Entry::BLANK
        },
        Entry {
            slug: FEW,
            title: "The same few brokers hold every copy of the offsets topic",
            severity: "info",
            means: "All partitions have the same replicas; the other brokers hold none. It is safe as long as enough of \
                those brokers live, but they alone do the work of all coordinators. Brokers that are added to a cluster get \
                nothing by themselves.",
            opens: "All replica lists together name as many brokers as one list has, at least two, and some live broker \
                holds nothing.",
            closes: "Another broker holds a replica.",
            not_told: "Where no broker lists the topic nothing is said.",
            way_out: "Spread the replicas (`unstuck plan spread`) in a quiet hour: coordinators move, their groups pause.",
            twins: &[("leader-skew", "the copies are spread, the leaders are not")],
            sources: &["kafka-reassign-partitions.sh"],
            ..Entry::BLANK
        },
        Entry {
            slug: RACK,
            title: "All copies of some offsets partitions lie in one rack",
            severity: "warning",
            means: "When this rack or zone fails, these partitions lose every copy at once, however high the replication \
                factor is. `broker.rack` counts only when a topic is created or reassigned: a topic that existed before \
                racks were set is not spread over them.",
            opens: "A partition with two or more replicas has all of them in one rack, and live brokers of another rack \
                are there.",
            closes: "Each partition has replicas in at least two racks.",
            not_told: "Where a broker tells no rack, partitions on it are not judged.",
            way_out: "Spread the replicas (`unstuck plan spread`): each partition gives one copy to another rack.",
            twins: &[(BROKER, "it is one broker, not one rack")],
            sources: &["KIP-36"],
            ..Entry::BLANK
        },
    ],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    if context.facts.partitions.is_empty() {
        return Vec::new();
    }
    brokers(context).into_iter().chain(racks(context)).collect()
}

fn brokers(context: &Context<'_, '_>) -> Option<Finding> {
    let facts = context.facts;
    let lists = || facts.partitions.values().map(|seen| &seen.newest.replicas);
    let holders: BTreeSet<_> = lists().flatten().copied().collect();
    let factor = lists().map(Vec::len).max().unwrap_or(0);
    let idle: Vec<_> =
        facts.registered.iter().copied().filter(|id| !holders.contains(id) && facts.electable(*id)).collect();
    if idle.is_empty() || holders.len() != factor || facts.partitions.len() < 2 {
        return None;
    }
    let all: Vec<_> = facts.partitions.keys().copied().collect();
    let holders: Vec<_> = holders.into_iter().collect();
    let mut found = if let [one] = holders.as_slice() {
        let groups = context.group_count(&all);
        let groups = if groups == 0 { String::new() } else { format!(" ({})", words::count(groups, "known group")) };
        let mut found = finding(
            BROKER,
            Severity::Warning,
            format!("Broker {one} holds all of __consumer_offsets: when it stops, every group stops{groups}."),
        );
        found.remedies = plan(make(facts, Wish::RaiseBalanced), wanted_title(facts));
        found.partitions.clone_from(&all);
        found
    } else {
        let mut found = finding(
            FEW,
            Severity::Info,
            format!("{} hold all of __consumer_offsets; other brokers hold nothing of it.", capital_brokers(&holders)),
        );
        found.remedies = plan(make(facts, Wish::Spread), "Spread it over the brokers".to_owned());
        found
    };
    found.evidence.push(seen_(format!(
        "All {} partitions have their replicas on {}; {} live and hold none.",
        all.len(),
        words::brokers(&holders),
        words::brokers(&idle)
    )));
    found.brokers = holders;
    Some(found)
}

fn wanted_title(facts: &Facts<'_>) -> String {
    format!("Raise the replication factor to {} by a reassignment", wanted(facts))
}

fn capital_brokers(brokers: &[BrokerId]) -> String {
    super::capital(&words::brokers(brokers))
}

/// The remedy of a plan; what is in the way where there is none now.
fn plan(plan: Result<Plan, Refusal>, title: String) -> Vec<Remedy> {
    match plan {
        Ok(plan) => std::iter::once(plan.remedy).chain(plan.then).collect(),
        Err(refusal) => {
            vec![step(
                format!("{title}, as soon as that is possible"),
                format!("Not now: {} {}", refusal.why, refusal.advice),
            )]
        }
    }
}

fn racks(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let rack = |broker: BrokerId| {
        facts.snapshot.brokers.get(&broker)?.rack.as_deref().filter(|rack| !rack.is_empty()).map(str::to_owned)
    };
    let live: BTreeSet<_> =
        facts.registered.iter().copied().filter(|&id| facts.electable(id)).filter_map(rack).collect();
    if live.len() < 2 {
        return Vec::new();
    }
    let mut in_one: std::collections::BTreeMap<String, Vec<PartitionId>> = std::collections::BTreeMap::new();
    for (&partition, seen) in &facts.partitions {
        let racks: Option<BTreeSet<_>> = seen.newest.replicas.iter().map(|&id| rack(id)).collect();
        if let Some(racks) = racks
            && racks.len() == 1
            && seen.newest.replicas.len() > 1
            && let Some(only) = racks.into_iter().next()
        {
            in_one.entry(only).or_default().push(partition);
        }
    }
    in_one
        .into_iter()
        .map(|(rack, partitions)| {
            let reach = context.reach(&partitions);
            let mut found = finding(
                RACK,
                Severity::Warning,
                format!(
                    "All copies of {reach} lie in rack {}: when it fails, nobody can take over.",
                    crate::visible(&rack)
                ),
            );
            let lists = partitions.first().and_then(|id| Some((id, facts.partitions.get(id)?)));
            found.evidence.extend(
                lists.map(|(id, seen)| {
                    seen_(format!("Partition {id}: replicas {}.", words::ids(&seen.newest.replicas)))
                }),
            );
            found.evidence.push(seen_(format!(
                "Racks of live brokers: {}.",
                words::list(&live.iter().map(|rack| crate::visible(rack)).collect::<Vec<_>>())
            )));
            found.remedies = plan(make(facts, Wish::Spread), "Spread it over the racks".to_owned());
            found.partitions = partitions;
            found
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    fn all_on(sample: Sample, partitions: i32, list: &[i32]) -> Sample {
        (0..partitions).fold(sample, |sample, partition| sample.placed(partition, list))
    }

    #[test]
    fn one_broker_holds_all() {
        let sample = all_on(Sample::kraft(3, 3, 1), 3, &[2]).group_on(0, "orders");
        insta::assert_snapshot!(text(&sample.report(), super::BROKER), @r#"
        [warning] Broker 2 holds all of __consumer_offsets: when it stops, every group stops (1 known group).
          seen: All 3 partitions have their replicas on broker 2; brokers 1 and 3 live and hold none.
          -> Raise the replication factor to 3, and spread the leaders as well: 3 partitions get 3 replicas and an order that spreads the leaders: 6 replicas are copied, 6 MB in all, nothing is moved away. Partitions led afterwards: broker 1: 1 (now 0), broker 2: 1 (now 3), broker 3: 1 (now 0). Throttled to 10 MB/s for each broker, copying takes about a second.
             if (met): all brokers that hold or get replicas answer
             if (met): there is a controller
             if (met): no reassignment of __consumer_offsets is under way
             if (met): the disks of the brokers that get replicas have room for them (broker 1 needs 3 MB, broker 3 needs 3 MB)
             file raise-balanced.json: the lists of replicas afterwards
             file rollback.json: the lists of replicas as they are now
             $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise-balanced.json --execute --throttle 10000000
             changes: the lists of replicas of 3 partitions; 6 replicas are copied
             ! (groups may pause for a moment) Copying costs network and disks, up to the throttle; groups on 2 partitions pause when their coordinator moves, at the next election of preferred leaders.
             verify: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise-balanced.json --verify` says "completed" for every partition, and takes the throttle away
             undo: while it runs: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise-balanced.json --cancel`; afterwards: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file rollback.json --execute`, with the file saved now
          -> Then let the preferred leaders lead: Until then the present leaders go on. Where auto.leader.rebalance.enable is on, the controller does it by itself within minutes; the command chooses the hour.
             if (not known): the reassignment is complete
             $ echo '{"partitions":[{"topic":"__consumer_offsets","partition":0},{"topic":"__consumer_offsets","partition":1}]}' > elect.json && kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type preferred --path-to-json-file elect.json
             changes: the leader, and so the coordinator, of 2 partitions
             ! (groups may pause for a moment) Groups on these partitions pause for a moment while their coordinator moves.
             verify: `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __consumer_offsets` shows each leader as the first of its replicas
             undo: none needed: whoever leads holds the same data
        "#);
    }

    #[test]
    fn three_of_five_hold_all() {
        let report = all_on(Sample::kraft(5, 3, 3), 3, &[1, 2, 3]).report();
        assert!(!slugs(&report).contains(&super::BROKER.to_owned()));
        insta::assert_snapshot!(text(&report, super::FEW), @r#"
        [info] Brokers 1, 2 and 3 hold all of __consumer_offsets; other brokers hold nothing of it.
          seen: All 3 partitions have their replicas on brokers 1, 2 and 3; brokers 4 and 5 live and hold none.
          -> Spread the replicas of __consumer_offsets over brokers and racks: 2 partitions get another list of replicas: 3 replicas are copied, 3 MB in all. Partitions led afterwards: broker 1: 1 (now 3), broker 2: 0, broker 3: 0, broker 4: 1 (now 0), broker 5: 1 (now 0). Throttled to 10 MB/s for each broker, copying takes about a second.
             if (met): all brokers that hold or get replicas answer
             if (met): there is a controller
             if (met): no reassignment of __consumer_offsets is under way
             if (met): the disks of the brokers that get replicas have room for them (broker 4 needs 2 MB, broker 5 needs 1 MB)
             file spread.json: the lists of replicas afterwards
             file rollback.json: the lists of replicas as they are now
             $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file spread.json --execute --throttle 10000000
             changes: the lists of replicas of 2 partitions; 3 replicas are copied
             ! (groups may pause for a moment) Copying costs network and disks, up to the throttle; groups on 1 partition pause for a moment when their coordinator moves, at the end of the copying.
             verify: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file spread.json --verify` says "completed" for every partition, and takes the throttle away
             undo: while it runs: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file spread.json --cancel`; afterwards: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file rollback.json --execute`, with the file saved now
          -> Then let the preferred leaders lead: Until then the present leaders go on. Where auto.leader.rebalance.enable is on, the controller does it by itself within minutes; the command chooses the hour.
             if (not known): the reassignment is complete
             $ kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type preferred --topic __consumer_offsets --partition 0
             changes: the leader, and so the coordinator, of 1 partition
             ! (groups may pause for a moment) Groups on these partitions pause for a moment while their coordinator moves.
             verify: `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __consumer_offsets` shows each leader as the first of its replicas
             undo: none needed: whoever leads holds the same data
        "#);
    }

    #[test]
    fn one_rack_holds_all_copies() {
        let sample = Sample::kraft(4, 2, 2).rack(1, "a").rack(2, "a").rack(3, "b").rack(4, "b");
        insta::assert_snapshot!(text(&sample.report(), super::RACK), @r#"
        [warning] All copies of partition 0 of __consumer_offsets lie in rack a: when it fails, nobody can take over.
          seen: Partition 0: replicas [1, 2].
          seen: Racks of live brokers: a and b.
          -> Spread the replicas of __consumer_offsets over brokers and racks: 1 partition gets another list of replicas: 1 replica is copied, 1 MB in all. Partitions led as now: broker 1: 1, broker 2: 1, broker 3: 0, broker 4: 0. Throttled to 10 MB/s for each broker, copying takes about a second.
             if (met): all brokers that hold or get replicas answer
             if (met): there is a controller
             if (met): no reassignment of __consumer_offsets is under way
             if (met): the disks of the brokers that get replicas have room for them (broker 4 needs 1 MB)
             file spread.json: the lists of replicas afterwards
             file rollback.json: the lists of replicas as they are now
             $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file spread.json --execute --throttle 10000000
             changes: the lists of replicas of 1 partition; 1 replica is copied
             ! (groups may pause for a moment) Copying costs network and disks, up to the throttle, and may slow clients down; no coordinator moves.
             verify: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file spread.json --verify` says "completed" for every partition, and takes the throttle away
             undo: while it runs: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file spread.json --cancel`; afterwards: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file rollback.json --execute`, with the file saved now
        "#);
    }

    #[test]
    fn spread_copies_are_no_finding() {
        let spread = Sample::kraft(4, 8, 2).rack(1, "a").rack(2, "b").rack(3, "a").rack(4, "b");
        for sample in [Sample::kraft(3, 6, 3), Sample::kraft(3, 6, 1), Sample::kraft(1, 6, 1), spread] {
            assert!(!slugs(&sample.report()).iter().any(|slug| slug.contains("hold")), "{:?}", slugs(&sample.report()));
        }
    }

    #[test]
    fn a_broker_that_tells_no_rack_is_not_judged() {
        let sample = Sample::kraft(4, 2, 2).rack(1, "a").rack(3, "a").rack(4, "b");
        assert!(!slugs(&sample.report()).contains(&super::RACK.to_owned()));
        assert!(!slugs(&Sample::empty().report()).iter().any(|slug| slug.contains("hold")));
    }
}
