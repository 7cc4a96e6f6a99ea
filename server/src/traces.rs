//! What earlier looks at the inside of groups showed, for those that were looked at last.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use unstuck_diagnosis::lookup::{GroupDetail, GroupLookup, GroupTrace, detail_findings};
use unstuck_diagnosis::{GroupId, Published};

/// Of how many groups earlier looks are kept.
const GROUPS: usize = 64;

/// Earlier looks, of the groups that were looked at last.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    /// By cluster and group, the latest last.
    kept: Mutex<VecDeque<((String, GroupId), GroupTrace)>>,
}

impl Traces {
    /// Compares a look with earlier ones, finds what follows, and keeps it for later ones.
    pub(crate) fn complete(&self, published: &Published, lookup: &GroupLookup, detail: &mut GroupDetail) {
        let key = (published.report.cluster.clone(), lookup.group.clone());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(known, _)| *known == key);
        let mut trace = at.and_then(|at| kept.remove(at)).map(|(_, trace)| trace).unwrap_or_default();
        trace.compare(detail);
        detail.findings = detail_findings(&published.report, &published.memory, lookup, detail, &trace);
        trace.keep(detail);
        if kept.len() == GROUPS {
            kept.pop_front();
        }
        kept.push_back((key, trace));
    }
}
