//! Made-up group ids: one per partition of `__consumer_offsets`, so that one request per broker touches every
//! coordinator shard. Describing a group that does not exist creates nothing.

use std::collections::{BTreeMap, BTreeSet};

use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::{BrokerId, GroupId, PartitionId};

/// Beyond this common multiple of partition counts the search would take long, and further counts are left out.
const LARGEST_MULTIPLE: i64 = 100_000;
/// Ids tried at most; about ten times what [`LARGEST_MULTIPLE`] needs on average.
const TRIES: u32 = 4_000_000;

/// Ids tried for the proof of the placement.
const PROOF_TRIES: u32 = 500;

/// Canaries for one partition count of the topic and the counts that brokers may use instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CanarySet {
    prefix: String,
    /// The topic's actual count.
    pub(crate) partition_count: i32,
    /// `offsets.topic.num.partitions` of each broker that told it.
    pub(crate) broker_counts: BTreeSet<i32>,
    /// The ids, by the partition that they hash to.
    pub(crate) ids: BTreeMap<PartitionId, GroupId>,
}

impl CanarySet {
    /// Chooses an id per partition: its hash is congruent to the partition modulo the topic's count and, where that is
    /// possible, modulo each broker's count too. So a broker that froze another count at its start agrees about where
    /// the canary lives, and drift of the count cannot look like a failed coordinator.
    pub(crate) fn choose(prefix: &str, partition_count: i32, broker_counts: &BTreeSet<i32>) -> Self {
        let mut set = Self {
            prefix: prefix.to_owned(),
            partition_count,
            broker_counts: broker_counts.clone(),
            ids: BTreeMap::new(),
        };
        if partition_count <= 0 {
            return set;
        }
        let mut together = vec![partition_count];
        let mut multiple = i64::from(partition_count);
        for count in broker_counts.iter().filter(|count| **count > 0 && **count != partition_count) {
            let wider = lcm(multiple, i64::from(*count));
            if wider <= LARGEST_MULTIPLE {
                multiple = wider;
                together.push(*count);
            }
        }
        // First ids that satisfy every count, then, for partitions that have none, ids for the topic's count alone.
        for counts in [together.as_slice(), &together[..1]] {
            for number in 0..TRIES {
                if set.ids.len() == usize::try_from(partition_count).unwrap_or(usize::MAX) {
                    return set;
                }
                let id = GroupId(format!("{prefix}-{number}"));
                let Some(partition) = partition_for(&id, partition_count) else { return set };
                // A count at or below the partition's number can never agree; it is no reason to have no canary.
                let agree =
                    counts.iter().all(|count| partition >= *count || partition_for(&id, *count) == Some(partition));
                if agree {
                    set.ids.entry(partition).or_insert(id);
                }
            }
        }
        set
    }

    /// Whether this set was chosen for just these counts.
    pub(crate) fn fits(&self, prefix: &str, partition_count: i32, broker_counts: &BTreeSet<i32>) -> bool {
        self.prefix == prefix && self.partition_count == partition_count && self.broker_counts == *broker_counts
    }
}

/// Up to `count` made-up ids whose coordinators prove where groups are placed: unlike canaries, ids that another
/// partition count would place with *another leader*. First those that tell the topic's count from every count that a
/// broker may use instead, then any, each on a partition of its own while there are some.
pub(crate) fn proof_ids(
    prefix: &str,
    leaders: &BTreeMap<PartitionId, BrokerId>,
    partition_count: i32,
    other_counts: &BTreeSet<i32>,
    count: usize,
) -> Vec<GroupId> {
    let leader = |id: &GroupId, count: i32| partition_for(id, count).and_then(|partition| leaders.get(&partition));
    let telling = |id: &GroupId| {
        let others = other_counts.iter().filter(|&&other| other > 0 && other != partition_count);
        others.into_iter().all(|&other| leader(id, other) != leader(id, partition_count))
    };
    let candidates = || (0..PROOF_TRIES).map(|number| GroupId(format!("{prefix}-proof-{number}")));
    let mut chosen: Vec<GroupId> = Vec::new();
    let mut partitions = BTreeSet::new();
    for strict in [true, false] {
        for id in candidates() {
            if chosen.len() == count {
                return chosen;
            }
            let Some(partition) =
                partition_for(&id, partition_count).filter(|partition| leaders.contains_key(partition))
            else {
                continue;
            };
            if (!strict || telling(&id)) && partitions.insert(partition) {
                chosen.push(id);
            }
        }
    }
    chosen
}

fn lcm(a: i64, b: i64) -> i64 {
    fn gcd(a: i64, b: i64) -> i64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    a / gcd(a, b) * b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(count: i32, brokers: &[i32]) {
        let set = CanarySet::choose("unstuck-canary", count, &brokers.iter().copied().collect());
        assert_eq!(set.ids.len(), usize::try_from(count).expect("positive"), "one canary per partition");
        for (partition, id) in &set.ids {
            assert_eq!(partition_for(id, count), Some(*partition), "{id}");
            for other in brokers.iter().filter(|other| partition < *other) {
                assert_eq!(partition_for(id, *other), Some(*partition), "{id} modulo {other}");
            }
        }
    }

    #[test]
    fn every_partition_has_a_canary() {
        check(50, &[]);
        check(1, &[]);
        check(2_000, &[]);
    }

    #[test]
    fn brokers_with_other_counts_agree_about_the_canaries() {
        check(60, &[50]);
        check(50, &[60]);
        check(60, &[50, 16]);
    }

    #[test]
    fn counts_that_cannot_be_met_together_leave_a_canary_for_the_topic() {
        let set = CanarySet::choose("c", 997, &[991, 983].into());
        assert_eq!(set.ids.len(), 997);
        assert!(set.ids.iter().all(|(partition, id)| partition_for(id, 997) == Some(*partition)));
    }

    #[test]
    fn proofs_tell_the_topics_count_from_those_that_brokers_may_use() {
        let leaders: BTreeMap<_, _> = (0..60).map(|partition| (partition, partition % 3 + 1)).collect();
        let ids = proof_ids("c", &leaders, 60, &[50].into(), 10);
        assert_eq!(ids.len(), 10);
        for id in &ids {
            let by = |count| partition_for(id, count).and_then(|partition| leaders.get(&partition));
            assert_ne!(by(60), by(50), "{id} has the same leader either way");
        }
        let partitions: BTreeSet<_> = ids.iter().map(|id| partition_for(id, 60)).collect();
        assert_eq!(partitions.len(), 10);
    }

    #[test]
    fn one_leader_still_gives_proofs() {
        let leaders: BTreeMap<_, _> = (0..5).map(|partition| (partition, 1)).collect();
        assert_eq!(proof_ids("c", &leaders, 5, &[50].into(), 10).len(), 5);
        assert!(proof_ids("c", &BTreeMap::new(), 5, &[].into(), 10).is_empty());
    }

    #[test]
    fn no_partitions_no_canaries() {
        assert!(CanarySet::choose("c", 0, &BTreeSet::new()).ids.is_empty());
    }
}
