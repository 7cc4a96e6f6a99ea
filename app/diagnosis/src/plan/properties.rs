//! What holds for every plan, whatever the cluster: made-up replica lists, racks and dead brokers.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{Plan, Wish};
use crate::BrokerId;
use crate::sample::Sample;

/// A cluster: how many brokers, their racks, the replica lists, and who is down.
#[derive(Clone, Debug)]
struct Made {
    brokers: i32,
    racks: Vec<Option<u8>>,
    lists: Vec<Vec<BrokerId>>,
    down: Option<BrokerId>,
}

fn made() -> impl Strategy<Value = Made> {
    (2..8_i32).prop_flat_map(|brokers| {
        let ids: Vec<BrokerId> = (1..=brokers).collect();
        let list = (1..4_usize).prop_flat_map(move |factor| {
            proptest::sample::subsequence(ids.clone(), factor.min(ids.len())).prop_shuffle()
        });
        (
            Just(brokers),
            proptest::collection::vec(proptest::option::of(0..4_u8), usize::try_from(brokers).unwrap_or(0)),
            proptest::collection::vec(list, 1..14),
            proptest::option::weighted(0.3, 1..=brokers),
        )
            .prop_map(|(brokers, racks, lists, down)| Made { brokers, racks, lists, down })
    })
}

impl Made {
    fn sample(&self) -> Sample {
        let mut sample = Sample::kraft(self.brokers, i32::try_from(self.lists.len()).unwrap_or(1), 1);
        for (partition, list) in (0..).zip(&self.lists) {
            sample = sample.placed(partition, list);
        }
        for (broker, rack) in (1..).zip(&self.racks) {
            if let Some(rack) = rack {
                sample = sample.rack(broker, &format!("rack-{rack}"));
            }
        }
        match self.down {
            Some(broker) => sample.gone(broker).leaderless_after(broker),
            None => sample,
        }
    }

    fn rack(&self, broker: BrokerId) -> String {
        let rack = usize::try_from(broker - 1).ok().and_then(|at| self.racks.get(at)).copied().flatten();
        rack.map_or_else(|| format!("broker-{broker}"), |rack| format!("rack-{rack}"))
    }

    fn live(&self) -> BTreeSet<BrokerId> {
        (1..=self.brokers).filter(|broker| Some(*broker) != self.down).collect()
    }

    /// How many racks a list is spread over.
    fn spread(&self, list: &[BrokerId]) -> usize {
        list.iter().map(|&broker| self.rack(broker)).collect::<BTreeSet<_>>().len()
    }

    /// What holds whatever the plan is for.
    fn check(&self, plan: &Plan) {
        let live = self.live();
        for change in &plan.changes {
            let unique: BTreeSet<_> = change.to.iter().collect();
            assert_eq!(unique.len(), change.to.len(), "a replica twice: {change:?}");
            let added = change.to.iter().filter(|id| !change.from.contains(id));
            assert!(added.into_iter().all(|id| live.contains(id)), "a dead broker gets a replica: {change:?}");
            assert_ne!(change.from, change.to);
            assert!(live.contains(&change.to[0]), "a dead broker is to lead: {change:?}");
        }
        let json: serde_json::Value = serde_json::from_str(&plan.remedy.files[0].content).expect("JSON");
        let back: serde_json::Value = serde_json::from_str(&plan.remedy.files[1].content).expect("JSON");
        for (file, lists) in [
            (&json, plan.changes.iter().map(|change| &change.to).collect::<Vec<_>>()),
            (&back, plan.changes.iter().map(|change| &change.from).collect()),
        ] {
            assert_eq!(file["version"], 1);
            let partitions = file["partitions"].as_array().expect("a list");
            assert_eq!(partitions.len(), plan.changes.len());
            for ((entry, change), list) in partitions.iter().zip(&plan.changes).zip(lists) {
                assert_eq!(entry["topic"], "__consumer_offsets");
                assert_eq!(entry["partition"], change.partition);
                assert_eq!(entry["replicas"], serde_json::json!(list));
            }
        }
        let gets: usize = plan.brokers.iter().map(|moves| moves.gets).sum();
        assert_eq!(gets, plan.copies);
        assert_eq!(plan.brokers.iter().map(|moves| moves.sends).sum::<usize>(), plan.copies);
        let dead_involved =
            plan.changes.iter().any(|change| change.from.iter().chain(&change.to).any(|id| !live.contains(id)));
        assert_eq!(plan.throttle.is_none(), dead_involved || plan.copies == 0, "throttle: {plan:#?}");
    }
}

/// How far apart the fullest and the emptiest of these brokers are.
fn gap(lists: &BTreeMap<i32, Vec<BrokerId>>, live: &BTreeSet<BrokerId>) -> usize {
    let held = |broker: BrokerId| lists.values().filter(|list| list.contains(&broker)).count();
    let counts: Vec<_> = live.iter().map(|&broker| held(broker)).collect();
    counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0)
}

/// The replica lists after a plan.
fn after(sample: &Sample, plan: &Plan) -> BTreeMap<i32, Vec<BrokerId>> {
    let report = sample.report();
    let mut lists: BTreeMap<_, _> =
        report.partitions.iter().map(|report| (report.partition, report.replicas.clone())).collect();
    for change in &plan.changes {
        lists.insert(change.partition, change.to.clone());
    }
    lists
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn raising_adds_what_is_missing_and_nothing_else(made in made()) {
        let sample = made.sample();
        let Ok(plan) = sample.published().plan(Wish::Raise) else { return Ok(()) };
        prop_assert_eq!(&plan, &sample.published().plan(Wish::Raise).expect("the same"), "equal facts, equal plans");
        made.check(&plan);
        let factor = usize::try_from(made.brokers).unwrap_or(0).min(3);
        let report = sample.report();
        let left_out: BTreeSet<_> = plan.left_out.iter().map(|left| left.partition).collect();
        for partition in &report.partitions {
            let changed = plan.changes.iter().find(|change| change.partition == partition.partition);
            let to = changed.map_or(&partition.replicas, |change| &change.to);
            if left_out.contains(&partition.partition) {
                prop_assert!(changed.is_none() && partition.leader.is_none());
                continue;
            }
            prop_assert_eq!(to.len(), factor.max(partition.replicas.len()), "the factor is reached, no more");
            prop_assert!(partition.replicas.iter().all(|id| to.contains(id)), "what there is stays");
            let first_lives = partition.replicas.first().is_some_and(|id| Some(*id) != made.down);
            let first = if first_lives { partition.replicas.first().copied() } else { partition.leader };
            if changed.is_some() {
                prop_assert_eq!(to.first().copied(), first, "whoever leads stays first");
            }
            // Racks: no added replica in a taken rack while a live broker in a free one was there.
            let free = made.live().into_iter().any(|id| !to.iter().any(|other| made.rack(*other) == made.rack(id)));
            let present = made.spread(&partition.replicas);
            let best = present + to.len() - partition.replicas.len();
            prop_assert!(made.spread(to) == best || !free, "racks are left unused: {:?} {:?}", to, made);
        }
    }

    #[test]
    fn raising_from_one_copy_balances(brokers in 3..8_i32, partitions in 1..30_i32, all_on_one in any::<bool>()) {
        let mut sample = Sample::kraft(brokers, partitions, 1);
        for partition in 0..partitions {
            if all_on_one {
                sample = sample.placed(partition, &[1]);
            }
        }
        let plan = sample.published().plan(Wish::Raise).expect("a plan");
        let live: BTreeSet<_> = (1..=brokers).collect();
        let others: BTreeSet<_> = if all_on_one { (2..=brokers).collect() } else { live.clone() };
        prop_assert!(gap(&after(&sample, &plan), &others) <= 1, "{:#?}", plan.brokers);
        prop_assert_eq!(plan.then.is_none(), true, "leaders stay");
        let balanced = sample.published().plan(Wish::RaiseBalanced).expect("a plan");
        let leads: Vec<_> = balanced.brokers.iter().map(|moves| moves.leads_after).collect();
        let all_lead = balanced.brokers.len() == live.len();
        let least = if all_lead { *leads.iter().min().expect("some") } else { 0 };
        prop_assert!(leads.iter().max().expect("some") - least <= 1, "{:#?}", balanced.brokers);
        prop_assert_eq!(balanced.copies, plan.copies, "order costs nothing");
    }

    #[test]
    fn evacuating_keeps_the_factor_and_moves_no_more(made in made(), broker in 1..8_i32) {
        let sample = made.sample();
        let Ok(plan) = sample.published().plan(Wish::Evacuate(broker)) else { return Ok(()) };
        made.check(&plan);
        for change in &plan.changes {
            prop_assert!(change.from.contains(&broker) && !change.to.contains(&broker));
            prop_assert_eq!(change.from.len(), change.to.len());
            prop_assert_eq!(change.to.iter().filter(|id| !change.from.contains(id)).count(), 1, "one copy each");
            let leader = sample.report().partition(change.partition).and_then(|report| report.leader);
            if leader != Some(broker) && change.from[0] == broker {
                prop_assert_eq!(change.to.first().copied(), leader, "whoever leads goes on leading");
            }
        }
        let left: BTreeSet<_> = plan.left_out.iter().map(|left| left.partition).collect();
        for (partition, list) in after(&sample, &plan) {
            prop_assert!(!list.contains(&broker) || left.contains(&partition));
        }
    }

    #[test]
    fn spreading_levels_and_loses_no_copy(made in made()) {
        let sample = made.sample();
        let Ok(plan) = sample.published().plan(Wish::Spread) else { return Ok(()) };
        made.check(&plan);
        for change in &plan.changes {
            prop_assert_eq!(change.from.len(), change.to.len());
            prop_assert!(made.spread(&change.to) >= made.spread(&change.from), "racks: {:?} {:?}", change, made);
        }
        let after = after(&sample, &plan);
        let one_rack_each = made.racks.iter().all(Option::is_none);
        // While a broker is down the others take over its replicas as well, wherever they have room in a list.
        if one_rack_each && made.down.is_none() {
            prop_assert!(gap(&after, &made.live()) <= 1, "{:?} {:?}", after, made);
        }
    }
}
