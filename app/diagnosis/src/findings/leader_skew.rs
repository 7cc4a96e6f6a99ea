//! `leader-skew`: one broker coordinates far more than its share.
//!
//! Catalogue row 16. Not on tiny counts, not while a broker is down, and not before the controller had the time to put
//! things right by itself (auto.leader.rebalance.enable looks every five minutes).

use std::collections::BTreeMap;

use super::{Context, Rule, capital, finding, seen_};
use crate::commands::Election;
use crate::handbook::Entry;
use crate::plan::{Wish, make};
use crate::report::{Finding, Remedy, Risk, Severity};
use crate::time::millis_between;
use crate::{BrokerId, OFFSETS_TOPIC, PartitionId, words};

const SLUG: &str = "leader-skew";
/// How long leadership must have stood still: `leader.imbalance.check.interval.seconds` is 300, and some time to act.
const SETTLED_MS: i64 = 360_000;
/// Fewer partitions above the share than this are no skew.
const LEAST_EXCESS: usize = 4;
/// Fewer groups than this say nothing.
const LEAST_GROUPS: usize = 20;

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "One broker coordinates far more than its share",
        severity: "warning",
        means: "Whoever leads a partition of `__consumer_offsets` does all the work of its groups: heartbeats, rebalances, \
            commits. One broker leads at least twice its share, so it is the busiest, its restart pauses most groups, and \
            its loss hits most of them. Usual causes: leaders that never came back after a restart (no \
            `auto.leader.rebalance.enable`), or one list of replicas for every partition.",
        opens: "One broker leads at least twice its share of the partitions, or of at least 20 known groups; every \
            registered broker is up, and leadership has not changed for 6 minutes.",
        closes: "It leads less than twice its share.",
        not_told: "Which groups are busy is not seen: partitions and groups are counted, not requests.",
        way_out: "Where the first replicas are spread well: an election of the preferred leaders, which cannot lose \
            anything. Else another order of the replicas (`unstuck plan raise-balanced`), then that election. Both pause \
            groups while their coordinator moves: use a quiet hour.",
        twins: &[
            ("one-broker-holds-all", "the others cannot lead: they hold no replica"),
            ("few-brokers-hold-all", "the replicas themselves are on few brokers"),
        ],
        sources: &["leader.imbalance.check.interval.seconds", "KIP-460"],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let brokers = facts.registered.len();
    if facts.stale || brokers < 2 || facts.registered.iter().any(|&id| !facts.electable(id)) || unsettled(context) {
        return Vec::new();
    }
    let mut leads: BTreeMap<BrokerId, Vec<PartitionId>> = BTreeMap::new();
    let mut can_others = false;
    for (&partition, seen) in &facts.partitions {
        let Some(leader) = seen.newest.leader else { return Vec::new() };
        leads.entry(leader).or_default().push(partition);
        can_others |= seen.newest.replicas.len() > 1;
    }
    // Where there is one copy of everything, other findings speak: nobody else could lead.
    if !can_others {
        return Vec::new();
    }
    let all = facts.partitions.len();
    let groups: usize = leads.values().map(|partitions| context.group_count(partitions)).sum();
    let skewed = |partitions: &Vec<PartitionId>| {
        let led = partitions.len();
        let of_groups = context.group_count(partitions);
        let by_partitions = led * brokers >= 2 * all && led >= all / brokers + LEAST_EXCESS;
        let by_groups = groups >= LEAST_GROUPS && of_groups * brokers >= 2 * groups && led > 1;
        by_partitions || by_groups
    };
    leads
        .iter()
        .filter(|(_, partitions)| skewed(partitions))
        .map(|(&broker, led)| explain(context, broker, led, groups))
        .collect()
}

fn unsettled(context: &Context<'_, '_>) -> bool {
    let facts = context.facts;
    let recent = |at| millis_between(at, facts.now) < SETTLED_MS;
    facts.partitions.keys().any(|partition| {
        facts.memory.partitions.get(partition).and_then(|seen| seen.leadership_since).is_some_and(recent)
    })
}

fn explain(context: &Context<'_, '_>, broker: BrokerId, led: &[PartitionId], groups: usize) -> Finding {
    let facts = context.facts;
    let (all, brokers) = (facts.partitions.len(), facts.registered.len());
    let of_groups = context.group_count(led);
    let of_groups = match groups {
        0 => String::new(),
        _ => format!(" and {} of {}", words::thousands(of_groups), words::count(groups, "known group")),
    };
    let mut finding = finding(
        SLUG,
        Severity::Warning,
        format!(
            "{} coordinates {} of {all} partitions of __consumer_offsets{of_groups}; with {brokers} brokers its share is {}.",
            capital(&context.broker(broker)),
            led.len(),
            all.div_ceil(brokers)
        ),
    );
    let first = |partition: &PartitionId| facts.partitions.get(partition).and_then(|seen| seen.newest.replicas.first());
    let preferred_all = facts.partitions.keys().filter(|id| first(id) == Some(&broker)).count();
    let elsewhere: Vec<_> = led
        .iter()
        .copied()
        .filter(|id| {
            let seen = facts.partitions.get(id);
            first(id).is_some_and(|other| {
                *other != broker && facts.electable(*other) && seen.is_some_and(|seen| seen.newest.isr.contains(other))
            })
        })
        .collect();
    finding.evidence.push(seen_(format!(
        "It is the first replica, so the preferred leader, of {preferred_all} partitions; {} of those that it leads prefer \
         another leader, which is in sync.",
        elsewhere.len()
    )));
    // A plan is needed where even the preferred leaders are skewed.
    let order_is_well = preferred_all * brokers < 2 * all;
    if order_is_well && let Some(remedy) = elect(context, &elsewhere) {
        finding.remedies.push(remedy);
    } else if let Ok(plan) = make(facts, Wish::RaiseBalanced) {
        finding.remedies.push(plan.remedy);
        finding.remedies.extend(plan.then);
    }
    finding.brokers = vec![broker];
    finding
}

fn elect(context: &Context<'_, '_>, partitions: &[PartitionId]) -> Option<Remedy> {
    if partitions.is_empty() {
        return None;
    }
    let commands = context.commands();
    let command = commands.elect_each(Election::Preferred, OFFSETS_TOPIC, partitions)?;
    let count = words::count(partitions.len(), "partition");
    Some(
        Remedy::new(
            "Let the preferred leaders lead again",
            "Each of them is in sync, so nothing can be lost. Where auto.leader.rebalance.enable is on, the controller does \
             it by itself.",
        )
        .command(command, format!("the leader, and so the coordinator, of {count}"))
        .danger(Risk::Pause, "Groups on these partitions pause for a moment while their coordinator moves.")
        .given("each preferred leader is in sync and live", true)
        .verify(format!("`{}` shows each leader as the first of its replicas", commands.describe_topic(OFFSETS_TOPIC)))
        .undo("none needed: whoever leads holds the same data"),
    )
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    fn skewed(order: &[i32]) -> Sample {
        let sample = Sample::kraft(3, 9, 3);
        let sample = (0..8).fold(sample, |sample, partition| sample.placed(partition, order).led_by(partition, 1));
        sample.group_on(0, "orders").later(400)
    }

    #[test]
    fn preferred_leaders_that_never_came_back() {
        let sample = (0..8).fold(Sample::kraft(3, 9, 3), |sample, partition| sample.led_by(partition, 1));
        insta::assert_snapshot!(text(&sample.later(400).report(), super::SLUG), @r#"
        [warning] Broker 1 (127.0.0.1:9001) coordinates 8 of 9 partitions of __consumer_offsets; with 3 brokers its share is 3.
          seen: It is the first replica, so the preferred leader, of 3 partitions; 5 of those that it leads prefer another leader, which is in sync.
          -> Let the preferred leaders lead again: Each of them is in sync, so nothing can be lost. Where auto.leader.rebalance.enable is on, the controller does it by itself.
             if (met): each preferred leader is in sync and live
             $ echo '{"partitions":[{"topic":"__consumer_offsets","partition":1},{"topic":"__consumer_offsets","partition":2},{"topic":"__consumer_offsets","partition":4},{"topic":"__consumer_offsets","partition":5},{"topic":"__consumer_offsets","partition":7}]}' > elect.json && kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type preferred --path-to-json-file elect.json
             changes: the leader, and so the coordinator, of 5 partitions
             ! (groups may pause for a moment) Groups on these partitions pause for a moment while their coordinator moves.
             verify: `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __consumer_offsets` shows each leader as the first of its replicas
             undo: none needed: whoever leads holds the same data
        "#);
    }

    #[test]
    fn an_order_that_is_skewed_itself_needs_another_one() {
        insta::assert_snapshot!(text(&skewed(&[1, 2, 3]).report(), super::SLUG), @r#"
        [warning] Broker 1 (127.0.0.1:9001) coordinates 8 of 9 partitions of __consumer_offsets and 1 of 1 known group; with 3 brokers its share is 3.
          seen: It is the first replica, so the preferred leader, of 8 partitions; 0 of those that it leads prefer another leader, which is in sync.
          -> Put the replicas into an order that spreads the leaders: 5 partitions get the same replicas in another order, which spreads the leaders: nothing is copied. Partitions led afterwards: broker 1: 3 (now 8), broker 2: 3 (now 0), broker 3: 3 (now 1).
             if (met): all brokers that hold or get replicas answer
             if (met): there is a controller
             if (met): no reassignment of __consumer_offsets is under way
             file raise-balanced.json: the lists of replicas afterwards
             file rollback.json: the lists of replicas as they are now
             $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise-balanced.json --execute
             changes: the order of the replicas of 5 partitions; nothing is copied
             ! (groups may pause for a moment) Nothing is copied; groups on 5 partitions pause when their coordinator moves, at the next election of preferred leaders.
             verify: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise-balanced.json --verify` says "completed" for every partition, and takes the throttle away
             undo: while it runs: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise-balanced.json --cancel`; afterwards: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file rollback.json --execute`, with the file saved now
          -> Then let the preferred leaders lead: Until then the present leaders go on. Where auto.leader.rebalance.enable is on, the controller does it by itself within minutes; the command chooses the hour.
             if (not known): the reassignment is complete
             $ echo '{"partitions":[{"topic":"__consumer_offsets","partition":0},{"topic":"__consumer_offsets","partition":1},{"topic":"__consumer_offsets","partition":2},{"topic":"__consumer_offsets","partition":3},{"topic":"__consumer_offsets","partition":4}]}' > elect.json && kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type preferred --path-to-json-file elect.json
             changes: the leader, and so the coordinator, of 5 partitions
             ! (groups may pause for a moment) Groups on these partitions pause for a moment while their coordinator moves.
             verify: `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __consumer_offsets` shows each leader as the first of its replicas
             undo: none needed: whoever leads holds the same data
        "#);
    }

    #[test]
    fn balanced_leaders_tiny_counts_and_one_copy_are_no_finding() {
        let tiny = Sample::kraft(3, 3, 3).led_by(1, 1).led_by(2, 1);
        let alone = (0..9).fold(Sample::kraft(3, 9, 1), |sample, partition| sample.placed(partition, &[1]));
        for sample in [Sample::kraft(3, 9, 3), tiny, alone, Sample::kraft(1, 9, 1)] {
            assert!(!slugs(&sample.later(400).report()).contains(&super::SLUG.to_owned()));
        }
    }

    #[test]
    fn not_told_while_a_broker_is_down_or_leaders_have_just_moved() {
        let down = skewed(&[1, 2, 3]).gone(3);
        assert!(!slugs(&down.report()).contains(&super::SLUG.to_owned()));
        let moved = (0..8).fold(Sample::kraft(3, 9, 3).later(60), |sample, partition| {
            sample.led_by(partition, 1).epoch(partition, 9)
        });
        let moved = moved.later(60);
        assert!(!slugs(&moved.report()).contains(&super::SLUG.to_owned()));
        assert!(slugs(&moved.later(400).report()).contains(&super::SLUG.to_owned()));
    }
}
