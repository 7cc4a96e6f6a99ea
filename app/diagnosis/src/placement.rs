//! Where a group lives: group id → partition of `__consumer_offsets`.

use serde::{Deserialize, Serialize};

use crate::{GroupId, PartitionId};

/// Kafka's `Utils.abs`: like `abs`, but 0 for `i32::MIN`, which has no positive counterpart.
/// (clients `Utils.abs`; the commonly published `abs(hash % n)` differs for this one hash.)
#[must_use]
pub fn kafka_abs(hash: i32) -> i32 {
    if hash == i32::MIN { 0 } else { hash.abs() }
}

/// The partition of `__consumer_offsets` that holds a group:
/// `Utils.abs(groupId.hashCode()) % partition_count` (`GroupMetadataManager.partitionFor`,
/// `GroupCoordinatorService.partitionFor`; the same in every release since 0.9).
///
/// `None` if `partition_count` is not positive. The count is the topic's *actual* one;
/// brokers freeze theirs at start, so after partitions were added they may use an older count.
#[must_use]
pub fn partition_for(group: &GroupId, partition_count: i32) -> Option<PartitionId> {
    (partition_count > 0).then(|| kafka_abs(group.java_hash()) % partition_count)
}

/// The arithmetic of one group's placement, step by step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementSteps {
    /// The group id.
    pub group: GroupId,
    /// `String.hashCode` of the id.
    pub java_hash: i32,
    /// Partitions of `__consumer_offsets`, at least 1.
    pub partition_count: i32,
    /// The partition, `0 <= partition < partition_count`.
    pub partition: PartitionId,
}

impl PlacementSteps {
    /// Works out one group's placement; `None` if `partition_count` is not positive.
    #[must_use]
    pub fn of(group: &GroupId, partition_count: i32) -> Option<Self> {
        let partition = partition_for(group, partition_count)?;
        Some(Self { group: group.clone(), java_hash: group.java_hash(), partition_count, partition })
    }

    /// One line that shows each step.
    #[must_use]
    pub fn sentence(&self) -> String {
        let shown = if self.group.0.is_empty() { String::new() } else { self.group.visible() };
        format!(
            "\"{shown}\".hashCode() = {}, abs {}, mod {} = partition {} of __consumer_offsets",
            self.java_hash,
            kafka_abs(self.java_hash),
            self.partition_count,
            self.partition
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn min_value_goes_to_partition_zero() {
        assert_eq!(partition_for(&"polygenelubricants".into(), 50), Some(0));
        assert_eq!(partition_for(&"GydZG_".into(), 7), Some(0));
    }

    #[test]
    fn a_negative_hash_is_neither_masked_nor_euclidean() {
        assert_eq!(partition_for(&"my-group".into(), 50), Some(12));
    }

    #[test]
    fn no_partition_without_partitions() {
        assert_eq!(partition_for(&"x".into(), 0), None);
        assert_eq!(partition_for(&"x".into(), -1), None);
    }

    #[test]
    fn shows_each_step() {
        let steps = PlacementSteps::of(&"my-group".into(), 50).expect("50 partitions");
        insta::assert_snapshot!(
            steps.sentence(),
            @r#""my-group".hashCode() = -1906497762, abs 1906497762, mod 50 = partition 12 of __consumer_offsets"#
        );
        let empty = PlacementSteps::of(&"".into(), 50).expect("50 partitions");
        insta::assert_snapshot!(
            empty.sentence(),
            @r#""".hashCode() = 0, abs 0, mod 50 = partition 0 of __consumer_offsets"#
        );
    }
}
