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
    /// The answer for some groups, in the order asked. No waiting, no looking. A file that remedies of several of them
    /// need stands with the first.
    #[must_use]
    pub fn lookup(&self, groups: &[GroupId]) -> Lookup {
        let mut lookup = Lookup {
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
        };
        lookup.tell_files_once();
        lookup
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Remedy;
    use crate::sample::Sample;

    fn raise(lookup: &GroupLookup) -> &Remedy {
        let remedies = || lookup.findings.iter().flat_map(|finding| &finding.remedies);
        remedies().find(|remedy| remedy.title.starts_with("Raise the replication factor")).expect("a plan is offered")
    }

    #[test]
    fn a_file_stands_with_the_first_group_that_needs_it() {
        let published = Sample::kraft(3, 6, 1).published();
        let ids: Vec<GroupId> = ["orders", "payments", "orders"].map(GroupId::from).to_vec();
        let several = published.lookup(&ids);
        let alone = published.lookup_one(&ids[0]);
        assert_eq!(several.results[0], alone, "the first one is as it would be alone");
        assert!(!raise(&alone).files.is_empty());
        for later in &several.results[1..] {
            let remedy = raise(later);
            assert_eq!(remedy.files, [], "{remedy:#?}");
            assert_eq!(remedy.command, raise(&alone).command);
            let says =
                remedy.preconditions.iter().filter(|given| given.text.contains("is saved as the result of orders"));
            assert_eq!(says.count(), raise(&alone).files.len(), "{remedy:#?}");
        }
        assert_eq!(published.lookup(&ids[1..2]).results[0], published.lookup_one(&ids[1]), "one alone has all");
    }
}
