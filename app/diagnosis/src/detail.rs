//! What a group looks like from inside, as its coordinator and the leaders of its partitions tell.
//!
//! Asked for when somebody looks at the group, with a deadline, never before the verdict.

mod trace;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::trace::{GroupSample, GroupTrace};
use crate::report::Finding;
use crate::{BrokerId, PartitionId};

/// How many members a [`GroupDetail`] names at most.
pub const MEMBERS_CAP: usize = 50;
/// How many committed offsets a [`GroupDetail`] lists at most, and how many partitions without one.
pub const OFFSETS_CAP: usize = 200;

/// What a group looks like from inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupDetail {
    /// When it was asked.
    pub at: Timestamp,
    /// The coordinator that answered.
    pub answered_by: BrokerId,
    /// Its type as found: classic, consumer, share, streams.
    pub group_type: Option<String>,
    /// Its state; `None` if the coordinator does not know the group.
    pub state: Option<String>,
    /// Its protocol type (classic groups): consumer, connect, …
    #[serde(default)]
    pub protocol_type: Option<String>,
    /// The assignor: the protocol that the members chose (classic, told while it is stable), or the server's (KIP-848).
    #[serde(default)]
    pub assignor: Option<String>,
    /// The group's epoch (KIP-848, share, streams). DescribeGroups does not tell the generation of a classic group.
    #[serde(default)]
    pub group_epoch: Option<i32>,
    /// The epoch of the target assignment (same types).
    #[serde(default)]
    pub assignment_epoch: Option<i32>,
    /// How many members it has.
    pub member_count: usize,
    /// The first [`MEMBERS_CAP`] of them, those that lag behind the group's epoch first.
    pub members: Vec<GroupMember>,
    /// How many members have no partition; `None` where an assignment is not known.
    #[serde(default)]
    pub idle_members: Option<usize>,
    /// How many partitions are assigned; `None` where an assignment is not known.
    #[serde(default)]
    pub assigned_partitions: Option<usize>,
    /// Committed offsets and lag, or why they are not known.
    pub offsets: Result<Vec<CommittedOffset>, String>,
    /// How many partitions have committed offsets (the list is capped at [`OFFSETS_CAP`]).
    pub committed_count: usize,
    /// Partitions that are assigned and have no committed offset, at most [`OFFSETS_CAP`]: nothing was committed yet, or
    /// what was has expired.
    #[serde(default)]
    pub uncommitted: Vec<Uncommitted>,
    /// When the group was asked before, where `committed_before` and `end_before` are from.
    #[serde(default)]
    pub compared_with: Option<Timestamp>,
    /// Findings about the group that need these facts, worst first.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

impl Default for GroupDetail {
    fn default() -> Self {
        Self {
            at: Timestamp::default(),
            answered_by: -1,
            group_type: None,
            state: None,
            protocol_type: None,
            assignor: None,
            group_epoch: None,
            assignment_epoch: None,
            member_count: 0,
            members: Vec::new(),
            idle_members: None,
            assigned_partitions: None,
            offsets: Ok(Vec::new()),
            committed_count: 0,
            uncommitted: Vec::new(),
            compared_with: None,
            findings: Vec::new(),
        }
    }
}

/// A member of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupMember {
    /// The member id.
    pub member_id: String,
    /// Its client id.
    pub client_id: String,
    /// The host it connects from.
    pub host: String,
    /// Its `group.instance.id`, if it is a static member (KIP-345).
    #[serde(default)]
    pub instance_id: Option<String>,
    /// Its epoch (KIP-848, share, streams).
    #[serde(default)]
    pub epoch: Option<i32>,
    /// Whether it speaks the classic protocol in a group of the new one; `None` if not told (below Kafka 4.0).
    #[serde(default)]
    pub classic: Option<bool>,
    /// Its partitions; `None` where the assignment cannot be read (not one of the consumer protocol).
    #[serde(default)]
    pub assignment: Option<Vec<Assigned>>,
    /// The partitions that it should have (KIP-848, streams); `None` if not told.
    #[serde(default)]
    pub target: Option<Vec<Assigned>>,
}

impl GroupMember {
    /// How many partitions it has.
    #[must_use]
    pub fn partition_count(&self) -> Option<usize> {
        self.assignment.as_ref().map(|topics| topics.iter().map(|topic| topic.partitions.len()).sum())
    }

    /// Whether it has not taken over what the coordinator has in mind for it.
    #[must_use]
    pub fn behind(&self, group_epoch: Option<i32>) -> bool {
        let older = self.epoch.zip(group_epoch).is_some_and(|(own, group)| own < group);
        older || self.target.as_ref().is_some_and(|target| self.assignment.as_ref() != Some(target))
    }

    /// `client-1 (instance a) at /10.0.0.7`, for sentences.
    pub(crate) fn named(&self) -> String {
        let name = if self.client_id.is_empty() { &self.member_id } else { &self.client_id };
        let instance = self.instance_id.as_ref().map(|id| format!(" (instance {})", crate::visible(id)));
        format!(
            "{}{} at {}",
            crate::visible(name),
            instance.unwrap_or_default(),
            crate::visible(self.host.trim_start_matches('/'))
        )
    }
}

/// Partitions of one topic, ordered. Of a streams group: of one subtopology.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Assigned {
    /// The topic.
    pub topic: String,
    /// Its partitions.
    pub partitions: Vec<PartitionId>,
}

/// A committed offset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommittedOffset {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: PartitionId,
    /// The committed offset.
    pub committed: i64,
    /// The end of the log (high watermark); `None` if not known.
    pub end: Option<i64>,
    /// `end - committed`, not below 0; `None` if not known.
    pub lag: Option<i64>,
    /// How far read_committed consumers can read (last stable offset); `None` if not known.
    #[serde(default)]
    pub stable_end: Option<i64>,
    /// The partition's leader; `None` if it has none, or none was told.
    #[serde(default)]
    pub leader: Option<BrokerId>,
    /// Whether the coordinator says that the partition has no leader: it can be neither read nor written.
    #[serde(default)]
    pub without_leader: bool,
    /// Whether a transaction that is still open has offsets for this partition (88 UNSTABLE_OFFSET_COMMIT, KIP-447).
    #[serde(default)]
    pub unstable: bool,
    /// The committed offset at the time of `compared_with`.
    #[serde(default)]
    pub committed_before: Option<i64>,
    /// The end at that time.
    #[serde(default)]
    pub end_before: Option<i64>,
}

impl CommittedOffset {
    /// Whether records were written and none was committed since the look before, although there is something to read.
    #[must_use]
    pub fn stands_still(&self) -> bool {
        self.committed_before == Some(self.committed)
            && self.lag.is_some_and(|lag| lag > 0)
            && self.end.zip(self.end_before).is_some_and(|(now, before)| now > before)
    }

    /// Whether something was committed since the look before.
    #[must_use]
    pub fn moves(&self) -> bool {
        self.committed_before.is_some_and(|before| before != self.committed)
    }
}

/// A partition that is assigned and has no committed offset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncommitted {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: PartitionId,
    /// The end of the log; `None` if not known.
    pub end: Option<i64>,
    /// Whether the coordinator says that it has no leader.
    pub without_leader: bool,
}
