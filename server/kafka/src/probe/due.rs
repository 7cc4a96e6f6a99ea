//! Which canaries are due now: often where there is suspicion, rarely where each answer costs a line in a log.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use unstuck_diagnosis::snapshot::PartitionView;
use unstuck_diagnosis::{BrokerId, GroupId, PartitionId};

use crate::config::Cadence;

/// For how long a partition stays under suspicion after its leader changed.
const AFTER_CHANGE: Duration = Duration::from_secs(10);

/// What one broker's canaries were asked and answered.
#[derive(Debug, Default)]
pub(super) struct DueCanaries {
    asked: BTreeMap<PartitionId, Asked>,
    /// When all were asked last; `None` forces all of them.
    all_at: Option<Instant>,
    /// When listed groups were looked for last, to stand in for denied canaries.
    replaced_at: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Asked {
    leader: (Option<BrokerId>, Option<i32>),
    changed_at: Option<Instant>,
    code: Option<i16>,
    denied_at: Option<Instant>,
    /// A listed group to ask for instead of the made-up id, which is not permitted.
    instead: Option<GroupId>,
}

impl DueCanaries {
    /// Everything is due, for a new connection.
    pub(super) fn all(&mut self) {
        self.all_at = None;
    }

    /// The partitions to ask this broker (`me`) for now.
    pub(super) fn take(
        &mut self,
        partitions: impl Iterator<Item = PartitionId>,
        view: &BTreeMap<PartitionId, PartitionView>,
        me: BrokerId,
        now: Instant,
        cadence: &Cadence,
    ) -> BTreeSet<PartitionId> {
        let mut suspects = BTreeSet::new();
        let mut all = BTreeSet::new();
        let mut changed = false;
        for partition in partitions {
            let leader =
                view.get(&partition).map_or((None, None), |partition| (partition.leader, partition.leader_epoch));
            let asked = self.asked.entry(partition).or_insert_with(|| Asked {
                leader,
                changed_at: None,
                code: None,
                denied_at: None,
                instead: None,
            });
            if asked.leader != leader {
                asked.leader = leader;
                asked.changed_at = Some(now);
                changed = true;
            }
            if asked.denied_at.is_some_and(|at| now - at < cadence.denied_canaries) {
                continue;
            }
            all.insert(partition);
            let recent = asked.changed_at.is_some_and(|at| now - at < AFTER_CHANGE);
            // Fine: this broker leads the partition and serves it, or does neither.
            let fine = match asked.code {
                Some(0 | 69) => leader.0 == Some(me),
                Some(16) => leader.0 != Some(me),
                _ => false,
            };
            if recent || leader.0.is_none() || !fine {
                suspects.insert(partition);
            }
        }
        if changed || self.all_at.is_none_or(|at| now - at >= cadence.canaries) {
            self.all_at = Some(now);
            return all;
        }
        suspects
    }

    /// The listed group to ask for in place of this partition's canary.
    pub(super) fn instead(&self, partition: PartitionId) -> Option<&GroupId> {
        self.asked.get(&partition)?.instead.as_ref()
    }

    /// Takes note of an answer.
    pub(super) fn answered(&mut self, partition: PartitionId, code: i16, now: Instant) {
        if let Some(asked) = self.asked.get_mut(&partition) {
            asked.code = Some(code);
            asked.denied_at = (code == 30).then_some(now);
        }
    }

    /// From now on asks for a listed group instead, at the next look already.
    pub(super) fn replace(&mut self, partition: PartitionId, listed: GroupId) {
        if let Some(asked) = self.asked.get_mut(&partition) {
            asked.instead = Some(listed);
            asked.denied_at = None;
        }
    }

    /// The partitions whose canary is denied, so that a listed group may stand in; empty if that was asked less than
    /// `every` ago, because looking through large listings takes time.
    pub(super) fn denied(&mut self, now: Instant, every: Duration) -> BTreeSet<PartitionId> {
        if self.replaced_at.is_some_and(|at| now - at < every) {
            return BTreeSet::new();
        }
        let denied: BTreeSet<_> = self
            .asked
            .iter()
            .filter(|(_, asked)| asked.denied_at.is_some() && asked.instead.is_none())
            .map(|(partition, _)| *partition)
            .collect();
        if !denied.is_empty() {
            self.replaced_at = Some(now);
        }
        denied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: BrokerId = 1;

    fn led_by(leader: Option<BrokerId>, epoch: i32) -> PartitionView {
        PartitionView { leader, leader_epoch: Some(epoch), ..PartitionView::default() }
    }

    struct Scene {
        due: DueCanaries,
        view: BTreeMap<PartitionId, PartitionView>,
        now: Instant,
    }

    impl Scene {
        /// Partition 0 is ours, partition 1 is not; both were answered as they should.
        fn quiet() -> Self {
            let view = [(0, led_by(Some(ME), 3)), (1, led_by(Some(2), 4))].into();
            let mut scene = Self { due: DueCanaries::default(), view, now: Instant::now() };
            assert_eq!(scene.take(), [0, 1].into(), "everything is due at first");
            scene.due.answered(0, 0, scene.now);
            scene.due.answered(1, 16, scene.now);
            scene
        }

        fn take(&mut self) -> BTreeSet<PartitionId> {
            self.due.take([0, 1].into_iter(), &self.view, ME, self.now, &Cadence::default())
        }

        fn later(&mut self, seconds: u64) -> BTreeSet<PartitionId> {
            self.now += Duration::from_secs(seconds);
            self.take()
        }
    }

    #[test]
    fn healthy_partitions_are_asked_every_15_seconds() {
        let mut scene = Scene::quiet();
        assert!(scene.later(1).is_empty());
        assert!(scene.later(13).is_empty());
        assert_eq!(scene.later(1), [0, 1].into());
    }

    #[test]
    fn a_change_of_leader_asks_all_at_once_and_that_one_for_a_while() {
        let mut scene = Scene::quiet();
        scene.view.insert(0, led_by(Some(2), 4));
        assert_eq!(scene.later(1), [0, 1].into());
        scene.due.answered(0, 16, scene.now);
        assert_eq!(scene.later(1), [0].into());
        assert!(scene.later(10).is_empty());
    }

    #[test]
    fn suspicious_answers_are_asked_again_every_second() {
        for (partition, code) in [(0, 16), (0, 14), (0, 15), (1, 0), (1, 69)] {
            let mut scene = Scene::quiet();
            scene.due.answered(partition, code, scene.now);
            assert_eq!(scene.later(1), [partition].into(), "code {code} of partition {partition}");
        }
    }

    #[test]
    fn a_leaderless_partition_is_asked_every_second() {
        let mut scene = Scene::quiet();
        scene.view.insert(1, led_by(None, 4));
        scene.later(1);
        assert_eq!(scene.later(11), [1].into());
    }

    #[test]
    fn a_denied_canary_is_left_alone_for_ten_minutes() {
        let mut scene = Scene::quiet();
        scene.due.answered(0, 30, scene.now);
        assert!(scene.later(1).is_empty());
        assert_eq!(scene.later(300), [1].into());
        assert_eq!(scene.later(300), [0, 1].into());
    }

    #[test]
    fn a_listed_group_stands_in_for_a_denied_canary_at_once() {
        let mut scene = Scene::quiet();
        scene.due.answered(0, 30, scene.now);
        assert_eq!(scene.due.denied(scene.now, Duration::from_secs(3)), [0].into());
        scene.due.replace(0, "orders".into());
        assert_eq!(scene.later(1), [0].into());
        assert_eq!(scene.due.instead(0), Some(&"orders".into()));
        scene.due.answered(0, 30, scene.now);
        assert!(!scene.later(4).contains(&0), "denied too: left alone as well");
        assert!(scene.due.denied(scene.now, Duration::from_secs(3)).is_empty());
    }
}
