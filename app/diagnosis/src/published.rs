//! The one immutable value that pages, API, command line and live events read, so that they cannot disagree.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::GroupId;
use crate::answer::lookup_without_near;
use crate::groups::named_from_report;
use crate::lookup::{GroupLookup, Lookup, lookup};
use crate::memory::{Memory, SeenGroup};
use crate::report::{NamedGroup, Report};
use crate::snapshot::Snapshot;
use crate::transactional::{self, TransactionalLookup};

/// For how many ids of one lookup others that look alike are searched: each takes a step for every known group.
pub const NEAR_LOOKUPS: usize = 20;

/// A sequence number of published values: the run of the server that made it, and a count within that run.
/// Compare with `!=` only: after a restart the count begins anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Seq {
    /// Differs from run to run.
    pub boot: String,
    /// Counts the published values of one cluster within a run.
    pub n: u64,
}

/// What was published for one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Which publication this is.
    pub seq: Seq,
    /// The facts.
    pub snapshot: Arc<Snapshot>,
    /// What follows from them.
    pub report: Report,
    /// What was seen before.
    pub memory: Memory,
}

impl Published {
    /// The answer for some groups, in the order asked. No waiting, no looking.
    #[must_use]
    pub fn lookup(&self, groups: &[GroupId]) -> Lookup {
        Lookup {
            cluster: self.report.cluster.clone(),
            cluster_id: self.report.cluster_id.clone(),
            observed_at: self.report.observed_at,
            results: groups
                .iter()
                .enumerate()
                .map(|(n, group)| {
                    if n < NEAR_LOOKUPS {
                        self.lookup_one(group)
                    } else {
                        lookup_without_near(&self.report, &self.memory, group)
                    }
                })
                .collect(),
        }
    }

    /// The answer for one group.
    #[must_use]
    pub fn lookup_one(&self, group: &GroupId) -> GroupLookup {
        lookup(&self.report, &self.memory, group)
    }

    /// The answer for some transactional ids, in the order asked. No waiting, no looking.
    #[must_use]
    pub fn lookup_transactional(&self, ids: &[GroupId]) -> TransactionalLookup {
        transactional::lookup(&self.snapshot, &self.memory, &self.report, ids)
    }

    /// A known group with its verdict, as it stands in lists: cheaper than [`lookup_one`](Self::lookup_one).
    #[must_use]
    pub fn named_group(&self, group: &GroupId, seen: &SeenGroup) -> NamedGroup {
        named_from_report(&self.report, group, seen)
    }
}
