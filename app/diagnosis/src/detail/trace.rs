//! What earlier looks at a group showed: only that tells whether it moves.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::GroupDetail;
use crate::PartitionId;

/// How many looks are kept of one group.
const SAMPLES: usize = 8;
/// Looks that follow each other faster are not kept.
const SPACING: SignedDuration = SignedDuration::from_secs(15);
/// Older looks tell nothing about now.
const OLDEST: SignedDuration = SignedDuration::from_mins(30);

/// Earlier looks at one group, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupTrace {
    samples: Vec<GroupSample>,
}

/// What of a look is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupSample {
    /// When it was.
    pub at: Timestamp,
    /// The state.
    pub state: Option<String>,
    /// Member ids, with instance id and host.
    pub members: BTreeMap<String, (Option<String>, String)>,
    /// Committed offsets with the ends of the logs.
    pub offsets: BTreeMap<(String, PartitionId), (i64, Option<i64>)>,
    /// Partitions for which a transaction had offsets.
    pub unstable: BTreeSet<(String, PartitionId)>,
}

impl GroupTrace {
    /// The looks, oldest first.
    #[must_use]
    pub fn samples(&self) -> &[GroupSample] {
        &self.samples
    }

    /// Tells a new look what the oldest one showed.
    pub fn compare(&self, detail: &mut GroupDetail) {
        let at = detail.at;
        let Some(before) = self.samples.iter().find(|sample| at.duration_since(sample.at) <= OLDEST) else { return };
        if before.at >= at {
            return;
        }
        detail.compared_with = Some(before.at);
        for one in detail.offsets.iter_mut().flatten() {
            let known = before.offsets.get(&(one.topic.clone(), one.partition));
            one.committed_before = known.map(|(committed, _)| *committed);
            one.end_before = known.and_then(|(_, end)| *end);
        }
    }

    /// Keeps a look for later ones.
    pub fn keep(&mut self, detail: &GroupDetail) {
        self.samples.retain(|sample| detail.at.duration_since(sample.at) <= OLDEST);
        if self.samples.last().is_some_and(|last| detail.at.duration_since(last.at) < SPACING) {
            return;
        }
        if self.samples.len() == SAMPLES {
            self.samples.remove(0);
        }
        let key = |topic: &String, partition: PartitionId| (topic.clone(), partition);
        let offsets = || detail.offsets.iter().flatten();
        self.samples.push(GroupSample {
            at: detail.at,
            state: detail.state.clone(),
            members: detail
                .members
                .iter()
                .map(|member| (member.member_id.clone(), (member.instance_id.clone(), member.host.clone())))
                .collect(),
            offsets: offsets().map(|one| (key(&one.topic, one.partition), (one.committed, one.end))).collect(),
            unstable: offsets().filter(|one| one.unstable).map(|one| key(&one.topic, one.partition)).collect(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group_findings::testing::detail;

    #[test]
    fn a_look_is_compared_with_the_oldest_of_the_last_half_hour() {
        let mut trace = GroupTrace::default();
        let mut first = detail("Stable").offset("orders", 0, 10, 20).made;
        trace.compare(&mut first);
        assert_eq!(first.compared_with, None);
        trace.keep(&first);
        let mut soon = detail("Stable").at(5).offset("orders", 0, 10, 25).offset("orders", 1, 1, 1).made;
        trace.compare(&mut soon);
        trace.keep(&soon);
        assert_eq!(trace.samples().len(), 1, "too soon to be kept");
        let seen: Vec<_> =
            soon.offsets.iter().flatten().map(|one| (one.stands_still(), one.committed_before)).collect();
        assert_eq!(seen, [(true, Some(10)), (false, None)]);
        for n in 1..20 {
            trace.keep(&detail("Stable").at(20 * n).made);
        }
        assert_eq!(trace.samples().len(), SAMPLES);
        let mut late = detail("Stable").at(3_000).offset("orders", 0, 10, 25).made;
        trace.compare(&mut late);
        assert_eq!(late.compared_with, None, "too long ago");
    }
}
