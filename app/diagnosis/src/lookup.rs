//! The answer for one group: its types. What fills them from a report is in `answer.rs`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use crate::answer::lookup;
pub use crate::detail::{
    Assigned, CommittedOffset, GroupDetail, GroupMember, GroupSample, GroupTrace, MEMBERS_CAP, OFFSETS_CAP, Uncommitted,
};
pub use crate::group_findings::detail_findings;
use crate::history::SeenMembers;
pub use crate::near::Difference;
use crate::remedy::{Met, Precondition, RemedyFile};
use crate::report::{Bound, CouldNotObserve, Finding, NamedGroup, Shard, Status, ViewReport};
use crate::{BrokerId, GroupId, PartitionId};

/// The answer to `lookup`: the JSON of the API and of `unstuck lookup --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lookup {
    /// The cluster's name in the configuration.
    pub cluster: String,
    /// Kafka's cluster id, where told.
    pub cluster_id: Option<String>,
    /// When the snapshot behind the answer was put together.
    pub observed_at: Timestamp,
    /// One result per id, in the order asked.
    pub results: Vec<GroupLookup>,
}

impl Lookup {
    /// The worst status among the results; `Working` if there are none.
    #[must_use]
    pub fn worst(&self) -> Status {
        self.results.iter().map(|result| result.verdict.status).max().unwrap_or(Status::Working)
    }

    /// Leaves each file of a remedy to the first result that has it: findings about a cluster stand with every group that
    /// they hit, and a file may have kilobytes. Where one is left out, a precondition names the group that has it.
    pub(crate) fn tell_files_once(&mut self) {
        let mut told: BTreeMap<RemedyFile, GroupId> = BTreeMap::new();
        for result in &mut self.results {
            let mut own = BTreeSet::new();
            let findings = result.findings.iter_mut().chain(&mut result.group_findings);
            for remedy in findings.flat_map(|finding| &mut finding.remedies) {
                let given = &mut remedy.preconditions;
                remedy.files.retain(|file| {
                    let Some(first) = told.get(file).filter(|_| !own.contains(file)) else {
                        own.insert(file.clone());
                        told.entry(file.clone()).or_insert_with(|| result.group.clone());
                        return true;
                    };
                    let text = format!("{} is saved as the result of {} has it", file.name, first.visible());
                    given.push(Precondition { text, state: Met::NotKnown });
                    false
                });
            }
        }
    }
}

/// The answer for one group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupLookup {
    /// The id, exactly as asked.
    pub group: GroupId,
    /// The verdict.
    pub verdict: Verdict,
    /// The arithmetic; `None` where the partition is withheld or cannot be known.
    pub placement: Option<Placement>,
    /// Why the placement is missing or not certain.
    pub placement_note: Option<String>,
    /// The coordinator: the partition's leader and what is known about it.
    pub coordinator: Option<Coordinator>,
    /// What is known of the group itself.
    pub known: KnownGroup,
    /// Findings that concern its partition, worst first.
    pub findings: Vec<Finding>,
    /// Findings about the group itself, worst first, as far as listings tell. Those that need its coordinator's own
    /// answer are in [`GroupDetail::findings`].
    #[serde(default)]
    pub group_findings: Vec<Finding>,
    /// Known ids that look like this one, the most alike first.
    #[serde(default)]
    pub near: Vec<NearGroup>,
    /// Other groups on the same partition: how many, and the first of them.
    pub same_partition_groups: SamePartitionGroups,
    /// How many other partitions are in the same trouble.
    pub also_hit_partitions: usize,
    /// Each broker's own view of the partition.
    pub views: Vec<ViewReport>,
    /// What could not be looked at, as far as it matters for this group.
    pub could_not_observe: Vec<CouldNotObserve>,
}

impl GroupLookup {
    /// All findings: worst first, what merely follows from another one at the end, and among equals those about the group
    /// itself first.
    #[must_use]
    pub fn all_findings(&self) -> Vec<&Finding> {
        let mut all: Vec<&Finding> = self.group_findings.iter().chain(&self.findings).collect();
        all.sort_by_key(|finding| (finding.follows_from.is_some(), std::cmp::Reverse(finding.severity)));
        all
    }
}

/// A verdict in one word and one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The word.
    pub status: Status,
    /// The sentence, with the group's id.
    pub sentence: String,
    /// What follows: whether it will heal by itself, and by when.
    pub outlook: Option<String>,
    /// Since when this has been seen; `None` if it was so when Unstuck began looking.
    pub since: Option<Timestamp>,
    /// When it was last seen to be otherwise, where nobody looked between that and `since`: it began at some time between
    /// the two.
    #[serde(default)]
    pub since_after: Option<Timestamp>,
    /// By when `recovering` should be over.
    pub expected_by: Option<Bound>,
}

/// Where the group lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// `String.hashCode` of the id.
    pub java_hash: i32,
    /// Partitions of the offsets topic.
    pub partition_count: i32,
    /// The partition.
    pub partition: PartitionId,
    /// Whether FindCoordinator answers prove it.
    pub proven: bool,
    /// The arithmetic in one line.
    pub sentence: String,
}

/// The coordinator of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coordinator {
    /// The leader of the group's partition; `None` if it has none.
    pub leader: Option<BrokerId>,
    /// The leader's address, where known.
    pub address: Option<String>,
    /// How the leader (or the lost one) stands, in words.
    pub leader_sentence: Option<String>,
    /// The last leader known, where there is none now.
    pub last_leader: Option<BrokerId>,
    /// Leader epoch.
    pub leader_epoch: Option<i32>,
    /// Replicas, preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// In-sync replicas.
    pub isr: Vec<BrokerId>,
    /// Eligible leader replicas (KIP-966).
    pub eligible: Vec<BrokerId>,
    /// Replicas on live brokers.
    pub live_replicas: Vec<BrokerId>,
    /// Effective min.insync.replicas.
    pub min_insync_replicas: Option<usize>,
    /// The coordinator's own answer.
    pub shard: Shard,
    /// Whether it is verified that commits are accepted.
    pub writes_verified: bool,
}

/// What is known of a group itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownGroup {
    /// Whether some broker lists it now.
    pub listed: bool,
    /// Whether it was listed earlier, and is not now.
    pub remembered: bool,
    /// Its state when last listed.
    pub state: Option<String>,
    /// Its type, where told.
    pub group_type: Option<String>,
    /// Its protocol type.
    pub protocol_type: Option<String>,
    /// Since when it has been in that state, as listings show it; `None` if it was so when it was first listed.
    #[serde(default)]
    pub state_since: Option<Timestamp>,
    /// When it was last listed.
    pub last_seen: Option<Timestamp>,
    /// Brokers that list it now.
    pub listed_by: Vec<BrokerId>,
    /// Who was in it when somebody last asked its coordinator.
    #[serde(default)]
    pub members: Option<SeenMembers>,
    /// In words.
    pub sentence: String,
}

/// A known group whose id looks like the one that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NearGroup {
    /// Its id.
    pub group: GroupId,
    /// What it differs in.
    pub difference: Difference,
    /// Its partition; `None` where the placement is not certain.
    pub partition: Option<PartitionId>,
}

/// Groups that share a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamePartitionGroups {
    /// How many others there are, as far as known.
    pub count: usize,
    /// The first [`SAME_PARTITION_CAP`] of them, by id.
    pub groups: Vec<NamedGroup>,
}

/// How many groups of the same partition a lookup names at most.
pub const SAME_PARTITION_CAP: usize = 20;
