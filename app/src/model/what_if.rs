//! What stops with a broker or a rack.

use serde::{Deserialize, Serialize};
use unstuck_diagnosis::PartitionId;
#[cfg(feature = "ssr")]
use unstuck_diagnosis::report::IfItStops;

/// How many partitions are named at most.
#[cfg(feature = "ssr")]
const NAMED: usize = 20;

/// What would happen, in sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WhatIf {
    /// `If broker 1 stops now`.
    pub(crate) title: String,
    /// How bad.
    pub(crate) stops: Stops,
    /// What happens, worst first.
    pub(crate) sentences: Vec<String>,
    /// What could not be seen.
    pub(crate) not_known: Vec<String>,
    /// Partitions of the offsets topic whose groups would stand still: the first of them.
    pub(crate) partitions: Vec<PartitionId>,
    /// How many more there are.
    pub(crate) more: usize,
}

/// How bad it is if a broker stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Stops {
    /// Nothing stops, as far as could be seen.
    Nothing,
    /// Groups pause while another leader is elected.
    Pauses,
    /// Groups, or readers and writers of other topics, stand still until it is back.
    Stands,
}

#[cfg(feature = "ssr")]
impl WhatIf {
    pub(crate) fn of(what: &IfItStops) -> Self {
        let mut partitions = what.loses_leader.partitions.clone();
        partitions.extend(&what.below_min_isr.partitions);
        partitions.sort_unstable();
        let more = partitions.len().saturating_sub(NAMED);
        partitions.truncate(NAMED);
        let stops = match (what.something_stands_still(), what.fails_over.partitions.is_empty()) {
            (true, _) => Stops::Stands,
            (false, false) => Stops::Pauses,
            (false, true) => Stops::Nothing,
        };
        let (sentences, not_known) = (what.sentences.clone(), what.not_known.clone());
        Self { title: what.title.clone(), stops, sentences, not_known, partitions, more }
    }
}

impl Stops {
    /// Its style class, and the words.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Nothing => ("s-working", "nothing stops"),
            Self::Pauses => ("s-recovering", "groups pause"),
            Self::Stands => ("s-risk", "something stops"),
        }
    }
}
