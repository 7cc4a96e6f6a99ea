//! What was seen at one moment, kept so that later versions can read it and colleagues see what was seen then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::memory::Memory;
use crate::report::{Report, Status};
use crate::snapshot::{GroupListing, Observed, Snapshot};
use crate::{GroupId, Input, PartitionId, Published, Seq, diagnose};

/// The format that is written. A change that earlier versions of the reader would get wrong takes the next number, and the
/// reader goes on to know all numbers before.
pub const FORMAT: u32 = 1;
/// Up to how many groups all of them are kept; of more, only those on partitions that do not work.
const ALL_GROUPS_CAP: usize = 10_000;

/// One moment: the facts, what was seen before, and what was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    /// The format, see [`FORMAT`].
    pub format: u32,
    /// The version of Unstuck that wrote it.
    pub written_by: String,
    /// The moment.
    pub at: Timestamp,
    /// What was said, word for word.
    pub report: Report,
    /// The facts.
    pub snapshot: Arc<Snapshot>,
    /// What was seen before.
    pub memory: Memory,
    /// How many groups on partitions that worked were left out, as there were too many. The counts in the report have them.
    #[serde(default)]
    pub groups_left_out: usize,
}

impl Frozen {
    /// Keeps a moment.
    #[must_use]
    pub fn of(published: &Published, written_by: &str) -> Self {
        let mut snapshot = Arc::clone(&published.snapshot);
        let mut memory = published.memory.clone();
        let mut groups_left_out = 0;
        if memory.groups.by_id.len() > ALL_GROUPS_CAP {
            let works = |status: Status| status == Status::Working;
            let fine: BTreeSet<PartitionId> =
                published.report.partitions.iter().filter(|one| works(one.status)).map(|one| one.partition).collect();
            let groups = Arc::make_mut(&mut memory.groups);
            let dropped: BTreeSet<GroupId> =
                fine.iter().filter_map(|partition| groups.by_partition.remove(partition)).flatten().collect();
            groups.by_id.retain(|id, _| !dropped.contains(id));
            groups.members.retain(|id, _| !dropped.contains(id));
            groups_left_out = dropped.len();
            leave_out(Arc::make_mut(&mut snapshot), &dropped);
        }
        Self {
            format: FORMAT,
            written_by: written_by.to_owned(),
            at: published.report.observed_at,
            report: published.report.clone(),
            snapshot,
            memory,
            groups_left_out,
        }
    }

    /// As it was published then: what pages and lookups read.
    #[must_use]
    pub fn published(&self) -> Published {
        Published {
            seq: Seq { boot: "frozen".to_owned(), n: 0 },
            snapshot: Arc::clone(&self.snapshot),
            report: self.report.clone(),
            memory: self.memory.clone(),
        }
    }

    /// What today's rules say of it.
    #[must_use]
    pub fn diagnosed_again(&self) -> Published {
        let report = diagnose(&Input { snapshot: &self.snapshot, memory: &self.memory, now: self.at });
        Published { report, ..self.published() }
    }
}

fn leave_out(snapshot: &mut Snapshot, dropped: &BTreeSet<GroupId>) {
    for sight in snapshot.brokers.values_mut() {
        if let Observed::Known(listing) = &mut sight.groups {
            let groups: BTreeMap<_, _> = listing
                .groups
                .iter()
                .filter(|(id, _)| !dropped.contains(*id))
                .map(|(id, one)| (id.clone(), one.clone()))
                .collect();
            *listing = Arc::new(GroupListing { at: listing.at, code: listing.code, groups });
        }
    }
}
