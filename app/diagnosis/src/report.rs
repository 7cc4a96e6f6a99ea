//! What follows from a snapshot: the one value that pages, API, command line and live events show.
//!
//! Field names are the JSON contract of `/api/v1` (see `docs/api.md`): add freely, never rename or remove.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

pub use crate::finding::{Avoid, Evidence, Finding, Met, Precondition, Remedy, RemedyFile, Risk, Severity, Strength};
use crate::memory::Pause;
pub use crate::what_if::{Consequence, IfItStops, RackReport};
use crate::{BrokerId, GroupId, PartitionId};

/// The verdict on a coordinator or a group. Ordered from best to worst, so that `max` finds what to show first:
/// stuck > unknown > recovering > at_risk > look_at_group > working.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The coordinator serves, and commits are accepted.
    Working,
    /// The coordinator is fine; the cause is in the group (empty, rebalancing, not there).
    LookAtGroup,
    /// Works, but one more broker failure stops it.
    AtRisk,
    /// Does not serve right now, and is expected to come back by itself by a known time.
    Recovering,
    /// Could not be observed well enough to say.
    #[default]
    Unknown,
    /// Does not serve and will not heal by itself.
    Stuck,
}

impl Status {
    /// All statuses, worst first.
    pub const WORST_FIRST: [Self; 6] =
        [Self::Stuck, Self::Unknown, Self::Recovering, Self::AtRisk, Self::LookAtGroup, Self::Working];

    /// The word in the API, and the suffix of its style class.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::LookAtGroup => "look_at_group",
            Self::AtRisk => "at_risk",
            Self::Recovering => "recovering",
            Self::Unknown => "unknown",
            Self::Stuck => "stuck",
        }
    }

    /// The status that a slug names.
    #[must_use]
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::WORST_FIRST.into_iter().find(|status| status.slug() == slug)
    }

    /// The words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::LookAtGroup => "coordinator fine, look at the group",
            Self::AtRisk => "at risk",
            Self::Recovering => "recovering",
            Self::Unknown => "unknown",
            Self::Stuck => "stuck",
        }
    }

    /// The exit code of `unstuck lookup`: 0 working or look at the group, 1 at risk or recovering, 2 stuck, 3 unknown.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Working | Self::LookAtGroup => 0,
            Self::AtRisk | Self::Recovering => 1,
            Self::Stuck => 2,
            Self::Unknown => 3,
        }
    }
}

/// The diagnosis of one cluster at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The cluster's name in the configuration.
    pub cluster: String,
    /// Kafka's cluster id, where any broker told one.
    pub cluster_id: Option<String>,
    /// When the underlying snapshot was put together.
    pub observed_at: Timestamp,
    /// Since when Unstuck has been looking; earlier runs count where they were remembered.
    pub watching_since: Timestamp,
    /// When nobody looked since then, the last ones.
    #[serde(default)]
    pub pauses: Vec<Pause>,
    /// The worst news in one sentence.
    pub headline: Headline,
    /// The bootstrap addresses that were looked at, with what they led to.
    pub bootstrap: Vec<BootstrapReport>,
    /// Every broker, by id.
    pub brokers: Vec<BrokerReport>,
    /// Every rack by name, where there are several.
    #[serde(default)]
    pub racks: Vec<RackReport>,
    /// The offsets topic as a whole.
    pub offsets_topic: OffsetsTopicReport,
    /// Every partition of the offsets topic, by number.
    pub partitions: Vec<PartitionReport>,
    /// Whether groups live where the hash says.
    pub placement: PlacementProof,
    /// Groups by status.
    pub groups: GroupCounts,
    /// Settings of the brokers that decide what becomes of groups.
    #[serde(default)]
    pub group_settings: GroupSettings,
    /// Partitions of other topics without a leader.
    pub data_partitions: DataPartitionsReport,
    /// What is wrong, worst first.
    pub findings: Vec<Finding>,
    /// What could not be looked at, and why.
    pub could_not_observe: Vec<CouldNotObserve>,
}

impl Report {
    /// The report of one partition, if the offsets topic has it.
    #[must_use]
    pub fn partition(&self, partition: PartitionId) -> Option<&PartitionReport> {
        self.partitions.iter().find(|report| report.partition == partition)
    }

    /// The report of one broker.
    #[must_use]
    pub fn broker(&self, broker: BrokerId) -> Option<&BrokerReport> {
        self.brokers.iter().find(|report| report.broker == broker)
    }
}

/// The largest sentence of the dashboard, and the one below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headline {
    /// The worst status in the cluster.
    pub status: Status,
    /// One sentence with the verdict and its reach.
    pub sentence: String,
    /// What supports it: how many, since when, what still works.
    pub detail: String,
    /// Since when the status has been so, as far as seen.
    pub since: Option<Timestamp>,
    /// When it was last seen to be otherwise, where nobody looked between that and `since`.
    #[serde(default)]
    pub since_after: Option<Timestamp>,
}

/// What a bootstrap address led to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootstrapReport {
    /// `host:port` as configured.
    pub address: String,
    /// Whether it answers and leads to this cluster.
    pub ok: bool,
    /// In words.
    pub sentence: String,
}

/// How a broker stands, from here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BrokerState {
    /// Answers.
    Answering,
    /// Answered before and is silent since a moment: not yet evidence.
    Late,
    /// Answered before, and has been silent for more than two deadlines.
    Hung,
    /// Answered before, and now refuses connections or is unreachable: hard evidence.
    Gone,
    /// Was never reached from here in this run, though the cluster lists it as live.
    NeverReached,
    /// Was never reached from here in this run, and no broker lists it as live.
    NotLive,
    /// Something answers at its address, but not in a way we can use: another protocol, a login, another broker.
    Unreadable,
    /// Not tried yet.
    #[default]
    NotTried,
}

/// One broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerReport {
    /// Its id.
    pub broker: BrokerId,
    /// `host:port` where we look for it.
    pub address: Option<String>,
    /// The advertised address, where `--broker-address` replaced it.
    pub overridden_from: Option<String>,
    /// Its rack.
    pub rack: Option<String>,
    /// How it stands, from here.
    pub state: BrokerState,
    /// The same in words: `answers in 3 ms`, `refuses connections`, …
    pub sentence: String,
    /// Since when, where it does not answer.
    pub since: Option<Timestamp>,
    /// Its release, from the API versions that it offers.
    pub release: Option<String>,
    /// Whether the other brokers hold it for live; `None` if no other broker answers.
    pub live_for_cluster: Option<bool>,
    /// Whether it is registered but fenced (KRaft).
    pub fenced: bool,
    /// The controller that it names (ZooKeeper mode only).
    pub controller: Option<BrokerId>,
    /// The brokers that it holds for live.
    pub sees_brokers: Vec<BrokerId>,
    /// Partitions of the offsets topic that it coordinates, or last coordinated when their leader is lost.
    pub coordinates: Vec<PartitionId>,
    /// Partitions of the offsets topic of which it holds a replica.
    pub holds: Vec<PartitionId>,
    /// Groups on the partitions that it coordinates, as far as known.
    pub group_count: usize,
    /// How many of them are stuck.
    pub stuck_group_count: usize,
    /// When it last answered.
    pub last_answer: Option<Timestamp>,
    /// What stops with it; `None` if it is down already, or nothing current is known.
    #[serde(default)]
    pub if_it_stops: Option<IfItStops>,
}

/// Whether the offsets topic is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopicPresence {
    /// Some broker lists it.
    Present,
    /// Proven absent and never seen by Unstuck.
    Absent,
    /// Proven absent, though it was there before.
    Vanished,
    /// Not in any metadata, but that may be a missing right.
    MaybeHidden,
    /// No broker answered.
    #[default]
    Unknown,
}

/// The offsets topic as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetsTopicReport {
    /// Whether it is there.
    pub presence: TopicPresence,
    /// One sentence about it.
    pub sentence: String,
    /// How many partitions it has; `None` if not known.
    pub partition_count: Option<i32>,
    /// The smallest number of replicas among its partitions.
    pub replication_factor: Option<usize>,
    /// The largest number of replicas, where partitions differ.
    pub max_replication_factor: Option<usize>,
    /// Brokers there are: live, fenced, in replica lists, or seen before.
    pub registered_brokers: Vec<BrokerId>,
    /// The replication factor that it should have at least: min(3, registered brokers).
    pub wanted_replication_factor: usize,
    /// The warning, if the replication factor is below that.
    pub warning: Option<String>,
    /// The effective `min.insync.replicas`; `None` if not known.
    pub min_insync_replicas: Option<usize>,
    /// How many partitions have no leader.
    pub without_leader: usize,
}

/// What the coordinator itself answered, or why nobody could ask it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shard {
    /// It serves this partition (reads are proven).
    Serving,
    /// It is loading the partition.
    Loading,
    /// It is the leader, and has said for long that it does not serve: loading failed.
    Failed,
    /// It says that it does not serve this partition (yet).
    NotServed,
    /// We are not permitted to ask.
    Denied,
    /// Nobody to ask, or no answer.
    #[default]
    Unknown,
}

/// One partition of the offsets topic: the coordinator of all groups that hash to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionReport {
    /// Its number.
    pub partition: PartitionId,
    /// The verdict on its coordinator.
    pub status: Status,
    /// The verdict in words, without the group: `its coordinator, broker 1, cannot be reached`.
    pub sentence: String,
    /// Since when this status has been seen; `None` if it was so when Unstuck began looking.
    pub since: Option<Timestamp>,
    /// When it was last seen to be otherwise, where nobody looked between that and `since`.
    #[serde(default)]
    pub since_after: Option<Timestamp>,
    /// By when `recovering` should be over, and whether that bound is assumed rather than read from the cluster.
    pub expected_by: Option<Bound>,
    /// What will happen next by itself, in a sentence.
    pub outlook: Option<String>,
    /// The leader, as the newest view among the answering brokers says.
    pub leader: Option<BrokerId>,
    /// The last leader known, where there is none now; the only replica, where there is one.
    pub last_leader: Option<BrokerId>,
    /// The leader epoch of that view.
    pub leader_epoch: Option<i32>,
    /// Replicas, preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// In-sync replicas.
    pub isr: Vec<BrokerId>,
    /// Eligible leader replicas (KIP-966), where told.
    pub eligible: Vec<BrokerId>,
    /// Replicas on brokers that are live, as far as known.
    pub live_replicas: Vec<BrokerId>,
    /// The coordinator's own answer.
    pub shard: Shard,
    /// Whether the answering brokers agree on leader and epoch; `None` if none answers.
    pub views_agree: Option<bool>,
    /// Whether it is verified that commits are accepted; false where ISR, min ISR or controller are not known.
    pub writes_verified: bool,
    /// Brokers that answer as coordinator of this partition.
    pub served_by: Vec<BrokerId>,
    /// Slugs of the findings that concern it.
    pub findings: Vec<String>,
    /// Groups on it, as far as known.
    pub group_count: usize,
    /// Each broker's own view, side by side.
    pub views: Vec<ViewReport>,
}

/// A time by which something should have happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The time.
    pub at: Timestamp,
    /// True if the setting behind it could not be read, so Kafka's default was taken.
    pub assumed: bool,
}

/// One broker's own view of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewReport {
    /// Who was asked.
    pub broker: BrokerId,
    /// The leader that it names.
    pub leader: Option<BrokerId>,
    /// The leader epoch.
    pub leader_epoch: Option<i32>,
    /// The ISR.
    pub isr: Vec<BrokerId>,
    /// The controller that it names (ZooKeeper mode only).
    pub controller: Option<BrokerId>,
    /// The brokers that it holds for live.
    pub sees_brokers: Vec<BrokerId>,
    /// When it answered.
    pub answered_at: Option<Timestamp>,
    /// What it said as coordinator.
    pub shard: Shard,
    /// Why there is no (current) view, or the partition's error.
    pub error: Option<String>,
}

/// Whether groups live where the hash says (FindCoordinator against prediction).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum PlacementProof {
    /// Every broker that was asked names the predicted leaders.
    Certain {
        /// Partition count of the hash.
        partition_count: i32,
    },
    /// Some brokers use another partition count than the topic has.
    Drift {
        /// Partition count of the topic.
        partition_count: i32,
        /// The count that each broker uses, as far as found out.
        #[serde(deserialize_with = "broker_ids_as_keys")]
        brokers: BTreeMap<BrokerId, i32>,
        /// In words.
        sentence: String,
    },
    /// The cluster does not place groups as Kafka does; what rests on the hash is withheld.
    Foreign {
        /// In words.
        sentence: String,
    },
    /// Brokers name other coordinators than predicted, and it is not clear yet why; predictions are withheld.
    Contradicted {
        /// In words.
        sentence: String,
    },
    /// Could not be proven (yet); predictions are shown as such.
    Unproven {
        /// Why, in words.
        sentence: String,
    },
    /// There is no offsets topic to place groups on.
    #[default]
    NoTopic,
}

/// JSON keys are text, and serde hands them on as such inside a tagged enum.
fn broker_ids_as_keys<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<BrokerId, i32>, D::Error> {
    let by_text = BTreeMap::<String, i32>::deserialize(deserializer)?;
    by_text.into_iter().map(|(id, count)| Ok((id.parse().map_err(D::Error::custom)?, count))).collect()
}

/// Groups by status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupCounts {
    /// Groups known: listed now, or remembered from earlier listings.
    pub total: usize,
    /// How many are in each status; statuses with none are left out.
    pub by_status: BTreeMap<Status, usize>,
    /// The first [`NAMED_GROUPS_CAP`] stuck groups, by id.
    pub stuck: Vec<NamedGroup>,
    /// Whether the listings are complete: every broker answered, and DESCRIBE on CLUSTER is proven.
    pub complete: bool,
    /// Why not, if not.
    pub incomplete_because: Option<String>,
}

/// Settings of the brokers that decide what becomes of groups; where brokers differ, the value that hits first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSettings {
    /// `offsets.retention.minutes`: how long the offsets of a group without members are kept.
    pub offsets_retention_minutes: i64,
    /// Whether that is Kafka's default, as no broker told it.
    pub offsets_retention_assumed: bool,
    /// Whether it counts from each commit, even in groups that have members (below 2.1, KIP-211).
    pub offsets_expire_by_commit: bool,
    /// `group.initial.rebalance.delay.ms`: how long the first rebalance of an empty group waits for further members.
    pub initial_rebalance_delay_ms: i64,
    /// `group.max.size`; `None` if not told.
    pub group_max_size: Option<i32>,
    /// `transaction.max.timeout.ms`: no transaction stays open longer by itself.
    pub transaction_max_timeout_ms: i64,
    /// The oldest release among the brokers.
    pub oldest_release: Option<String>,
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self {
            offsets_retention_minutes: 10_080,
            offsets_retention_assumed: true,
            offsets_expire_by_commit: false,
            initial_rebalance_delay_ms: 3_000,
            group_max_size: None,
            transaction_max_timeout_ms: 900_000,
            oldest_release: None,
        }
    }
}

/// How many groups a report names at most.
pub const NAMED_GROUPS_CAP: usize = 100;

/// A group by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedGroup {
    /// Its id.
    pub group: GroupId,
    /// Its partition; `None` where the placement is not certain.
    pub partition: Option<PartitionId>,
    /// The verdict.
    pub status: Status,
    /// Its type, where told: classic, consumer, share, streams.
    pub group_type: Option<String>,
    /// Its protocol type: consumer, connect, …, or empty.
    pub protocol_type: String,
    /// Its state when last listed.
    pub state: Option<String>,
    /// When it was last listed.
    pub last_seen: Timestamp,
    /// Whether it is in a listing now, or only remembered.
    pub listed_now: bool,
}

/// Partitions of other topics without a leader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataPartitionsReport {
    /// How many; `None` if it could not be looked at.
    pub without_leader: Option<usize>,
    /// The first of them.
    pub named: Vec<crate::snapshot::LeaderlessPartition>,
    /// When that was seen.
    pub at: Option<Timestamp>,
}

/// Something that could not be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CouldNotObserve {
    /// What: `groups on broker 1`.
    pub what: String,
    /// Why: `connection refused`.
    pub why: String,
    /// The brokers that it is about; none if it is about the cluster.
    #[serde(default)]
    pub brokers: Vec<BrokerId>,
}
