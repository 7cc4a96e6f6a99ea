//! The pure core of Unstuck: group ids and where they live, what was seen of a cluster, and what follows from it.
//!
//! No I/O, no clock, no randomness, and no way to fail: equal input gives equal output, natively and in WebAssembly.
//! The flow: a [`Snapshot`](snapshot::Snapshot) (facts) and a [`Memory`](memory::Memory) (what was seen before)
//! go into [`diagnose`], a [`Report`](report::Report) comes out; [`lookup`](lookup::lookup) answers for one group.

mod answer;
mod commands;
mod could_not;
mod detail;
mod diagnose;
mod facts;
mod finding;
mod findings;
mod group_findings;
mod group_id;
mod groups;
pub mod handbook;
mod headline;
pub mod history;
pub mod lookup;
pub mod memory;
mod near;
mod partition_words;
pub mod permissions;
pub mod placement;
mod placement_proof;
pub mod plan;
#[cfg(test)]
mod properties;
mod published;
mod rebalance;
mod remedy;
pub mod report;
mod rights;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
pub mod snapshot;
pub mod time;
pub mod transactional;
mod verdict;
#[cfg(test)]
mod voice;
mod what_if;
mod words;

pub use diagnose::{Input, diagnose};
pub use group_id::{GroupId, MAX_GROUP_ID_BYTES, java_hash, visible};
pub use handbook::slugs;
pub use published::{NEAR_LOOKUPS, Published, Seq};

/// A broker's id (`broker.id` or `node.id`), 0 or more. Ids from 1001 on are often generated ones.
pub type BrokerId = i32;
/// A partition's number, from 0.
pub type PartitionId = i32;
/// The internal topic whose partitions hold consumer groups and their committed offsets.
pub const OFFSETS_TOPIC: &str = "__consumer_offsets";
