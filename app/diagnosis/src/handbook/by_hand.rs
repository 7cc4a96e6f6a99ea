//! Causes that cannot be seen from outside the brokers.

use serde::Serialize;

use super::Passage;

/// A cause that nobody sees from outside the brokers, and how to look for it by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ByHand {
    /// The stable name: the anchor in the handbook.
    pub slug: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// What it does to groups, and why it cannot be seen from outside.
    pub means: &'static str,
    /// What makes one suspect it: what Unstuck or clients show meanwhile.
    pub suspect: &'static str,
    /// How to look: a line of a log, a metric, a command.
    pub look: &'static str,
    /// The way out, safest first.
    pub way_out: &'static str,
    /// Releases concerned.
    pub versions: &'static str,
    /// Where the facts come from.
    pub sources: &'static [&'static str],
}

impl ByHand {
    /// The texts with their headings, in the order of reading; those that say nothing are left out.
    #[must_use]
    pub fn passages(&self) -> Vec<Passage> {
        let all = [
            ("What it means", self.means),
            ("When to suspect it", self.suspect),
            ("How to look", self.look),
            ("The way out, safest first", self.way_out),
        ];
        all.into_iter().filter(|(_, text)| !text.is_empty()).map(|(title, text)| Passage { title, text }).collect()
    }
}

/// All of them.
pub const BY_HAND: &[ByHand] = &[ByHand {
    slug: "classic-load-failed",
    title: "A classic coordinator whose load failed, and that answers as if all were well",
    means: "\
A coordinator of 3.9 and older that fails to read its partition logs the error, keeps what it had read until then, and serves. \
Groups, or the newest offsets of groups, are missing from its memory. It answers every request normally, so nothing differs \
from a coordinator that has read all.",
    suspect: "\
After the leader of a partition changed, several groups of that one partition are gone or start from the beginning, and groups \
of other partitions are not.",
    look: "Search the log of the leader's broker for `Error loading offsets from __consumer_offsets-N`.",
    way_out: "\
Make another in-sync replica leader, or restart the broker, so that the partition is read anew. If the error comes back, its \
segments are damaged there: another replica has them whole.",
    versions: "all with the classic coordinator (3.9 and older; 4.x only if `group.coordinator.new.enable` is off)",
    sources: &["core/src/main/scala/kafka/coordinator/group/GroupMetadataManager.scala, loadGroupsAndOffsets"],
}];
