//! What was seen of one cluster: facts only, each broker's own view kept apart, and every fact that is missing says why.
//!
//! Written by `unstuck-kafka`, read by [`diagnose`](crate::diagnose). Ordered maps throughout, so that equal facts
//! always render equally.

mod configs;
mod logs;
mod transactions;
mod why;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::configs::{BrokerConfigs, TopicConfigs};
pub use self::logs::{LogDir, LogDirs, Reassignment, ReplicaSize};
pub use self::transactions::{OpenProducer, OpenTransaction, OpenTransactions, PRODUCERS_CAP, TRANSACTIONS_CAP};
pub use self::why::{Observed, Unavailable, Why, error_name};
use crate::{BrokerId, GroupId, PartitionId};

/// Everything seen of one cluster up to one moment. Always there; partial is normal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The name that the configuration gives the cluster.
    pub cluster: String,
    /// When this snapshot was put together; each fact carries its own time.
    pub taken_at: Timestamp,
    /// The bootstrap addresses: ways in, not brokers.
    pub bootstrap: BTreeMap<String, BootstrapSight>,
    /// The cluster as an ordinary client sees it.
    pub client: Observed<ClientView>,
    /// Every broker that any broker's metadata named (fenced ones included), or that was seen earlier in this run.
    pub brokers: BTreeMap<BrokerId, BrokerSight>,
}

/// What a bootstrap address led to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootstrapSight {
    /// The cluster it leads to. [`Why::OtherCluster`] if another address of the list led elsewhere first.
    pub answer: Observed<BootstrapAnswer>,
}

/// The answer behind a bootstrap address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootstrapAnswer {
    /// When it last answered.
    pub at: Timestamp,
    /// The cluster id; brokers before 0.10.1 have none.
    pub cluster_id: Option<String>,
    /// How many live brokers its metadata listed.
    pub broker_count: usize,
    /// The live brokers that its metadata listed: all that is known where no advertised address works from here.
    pub brokers: Vec<BrokerId>,
}

/// The cluster as an ordinary client (librdkafka) sees it through the bootstrap list: all-topics metadata.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientView {
    /// When the answer came.
    pub at: Timestamp,
    /// Live brokers that it lists.
    pub brokers: Vec<BrokerId>,
    /// Topics that it lists, internal ones included.
    pub topic_count: usize,
    /// Partitions of all topics together.
    pub partition_count: usize,
    /// How many partitions of topics other than `__consumer_offsets` have no leader.
    pub leaderless_count: usize,
    /// The first [`LEADERLESS_CAP`] of them, ordered by topic and partition.
    pub leaderless: Vec<LeaderlessPartition>,
    /// How many partitions `__consumer_offsets` has in this view; `None` if it is not listed.
    pub offsets_topic_partitions: Option<usize>,
    /// Which of [`STATE_TOPICS`] it lists.
    pub state_topics: Vec<String>,
    /// Partitions of topics other than `__consumer_offsets` that have a leader and no other in-sync replica, by that
    /// leader: they lose it with their broker.
    pub only_in_sync_on: BTreeMap<BrokerId, OnlyInSync>,
}

/// Data partitions for which one broker alone is in sync.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnlyInSync {
    /// How many.
    pub count: usize,
    /// How many of them have no other replica at all.
    pub single_replica: usize,
    /// How many of [`OnlyInSync::count`] belong to [`STATE_TOPICS`].
    #[serde(default)]
    pub state: usize,
    /// How many of [`OnlyInSync::single_replica`] belong to [`STATE_TOPICS`].
    #[serde(default)]
    pub state_single_replica: usize,
    /// The first [`ONLY_IN_SYNC_CAP`] of them, ordered by topic and partition, those of [`STATE_TOPICS`] last.
    pub named: Vec<DataPartition>,
}

/// How many data partitions an [`OnlyInSync`] names.
pub const ONLY_IN_SYNC_CAP: usize = 50;

/// A partition of a data topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DataPartition {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: PartitionId,
}

/// How many leaderless data partitions a [`ClientView`] names.
pub const LEADERLESS_CAP: usize = 200;

/// A data partition without a leader.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeaderlessPartition {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: PartitionId,
    /// Ids of the brokers that hold replicas.
    pub replicas: Vec<BrokerId>,
    /// Ids of the in-sync replicas as told (empty below Kafka 2.4 while leaderless, KAFKA-8442).
    pub isr: Vec<BrokerId>,
}

/// All that is known about one broker, each fact from this broker itself unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerSight {
    /// Where we look for it, `host:port`: the advertised address, or the override.
    /// `None` if no broker told an address (its id is known from replica lists only).
    pub address: Option<String>,
    /// The advertised address, if an override replaced it.
    pub overridden_from: Option<String>,
    /// Its rack, as others tell.
    pub rack: Option<String>,
    /// Told to be fenced by DescribeCluster (KRaft 4.0+): registered, but not live.
    pub fenced: bool,
    /// Whether and how it answers us.
    pub contact: Contact,
    /// The oldest release whose API versions fit what it offers, such as `4.1` or `2.8`; for people.
    pub release: Option<String>,
    /// Whether it runs in KRaft mode (it offers DescribeQuorum); `None` until it answered ApiVersions.
    pub kraft: Option<bool>,
    /// Its own view of brokers and `__consumer_offsets`: the last one it gave.
    /// Stays known while the broker does not answer: look at [`Contact`] and [`MetadataView::at`].
    pub metadata: Observed<MetadataView>,
    /// What it answered for our made-up group ids, by partition of `__consumer_offsets`.
    pub canaries: BTreeMap<PartitionId, Canary>,
    /// Since when its coordinator has left canaries unanswered, although the broker answered its metadata: when the
    /// first of these requests was sent. `None` once canaries are answered again. One request asks for many partitions,
    /// so this does not tell which of them it waits for.
    pub canaries_unanswered_since: Option<Timestamp>,
    /// Whom it names as coordinator (FindCoordinator), for the proof of the placement.
    pub coordinators: Observed<CoordinatorAnswers>,
    /// Its ListGroups.
    pub groups: Observed<Arc<GroupListing>>,
    /// Its own settings, as far as they matter here.
    pub configs: Observed<BrokerConfigs>,
    /// Settings of `__consumer_offsets` as this broker tells; `None` inside means proven absent (error 3).
    pub topic_configs: Observed<Option<TopicConfigs>>,
    /// What it says about the KRaft quorum (DescribeQuorum); not asked in ZooKeeper mode.
    pub quorum: Observed<Quorum>,
    /// Eligible leader replicas by partition (DescribeTopicPartitions, KIP-966); only partitions that have some.
    pub elr: Observed<BTreeMap<PartitionId, Vec<BrokerId>>>,
    /// Whether the account is proven to have DESCRIBE on CLUSTER (authorized operations of DescribeCluster).
    /// Without that, listings may be silently filtered (KIP-231).
    pub describe_cluster_permitted: Observed<bool>,
    /// Its log directories (DescribeLogDirs): errors, space, and how large its replicas of `__consumer_offsets` are.
    pub log_dirs: Observed<LogDirs>,
    /// Running reassignments of `__consumer_offsets` (ListPartitionReassignments, 2.4+, KIP-455), empty if none runs.
    /// In KRaft mode the first broker that answers is asked, since it asks the controller; in ZooKeeper mode the one that
    /// holds itself for the controller. The others stay not asked.
    pub reassignments: Observed<BTreeMap<PartitionId, Reassignment>>,
    /// Transactions that its transaction coordinator holds for ongoing (ListTransactions, 3.0+, KIP-664).
    pub open_transactions: Observed<OpenTransactions>,
    /// Producers with an open transaction on partitions of `__consumer_offsets` that it leads (DescribeProducers, 2.8+,
    /// KIP-664): at most [`PRODUCERS_CAP`] for each partition, the oldest transactions first. Partitions without any
    /// are left out.
    pub producers: Observed<BTreeMap<PartitionId, Vec<OpenProducer>>>,
    /// What it answered for made-up transactional ids, by partition of `__transaction_state` (DescribeTransactions,
    /// 3.0+): 105 means "I serve this partition", 14 loading, 15 not available, 16 not mine, 53 denied.
    pub transaction_canaries: BTreeMap<PartitionId, Canary>,
    /// Settings of the state topics that its metadata lists, by topic.
    pub state_topic_configs: Observed<BTreeMap<String, TopicConfigs>>,
}

/// Whether and how a broker answers us.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// When it first answered in this run; `None` if it never did.
    pub first_answer: Option<Timestamp>,
    /// When it last answered any request.
    pub last_answer: Option<Timestamp>,
    /// How long its last metadata answer took, in milliseconds.
    pub round_trip_ms: Option<u32>,
    /// The deadline of one request to it, in milliseconds (throttle time included).
    pub deadline_ms: u32,
    /// What is wrong since the last answer; `None` while it answers.
    /// A connection that merely ended is no trouble: only a failed attempt to connect again, or silence, is.
    pub trouble: Option<Trouble>,
}

/// A broker that does not answer (any more).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// What the latest attempt met.
    pub why: Why,
    /// When the first attempt failed; for silence, when the unanswered request was sent.
    pub since: Timestamp,
    /// Failed attempts in a row, at least 1.
    pub attempts: u32,
}

/// One broker's own view of the cluster, from one Metadata answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataView {
    /// When it answered.
    pub at: Timestamp,
    /// The cluster id it tells.
    pub cluster_id: Option<String>,
    /// The controller it names. Fiction in KRaft: a random live broker on each call.
    pub controller: Option<BrokerId>,
    /// The brokers that it holds for live, on the listener that we use.
    pub brokers: BTreeMap<BrokerId, String>,
    /// `__consumer_offsets` as it sees it; `None` if its all-topics metadata does not list it.
    pub offsets_topic: Option<OffsetsTopicView>,
    /// `__transaction_state` and `__share_group_state` as it sees them, from the same answer; absent if not listed.
    pub state_topics: BTreeMap<String, OffsetsTopicView>,
}

/// The topic in which transaction coordinators keep their state.
pub const TRANSACTION_STATE: &str = "__transaction_state";

/// The topic in which share coordinators keep their state (KIP-932).
pub const SHARE_GROUP_STATE: &str = "__share_group_state";

/// Topics of other coordinators' state than groups'.
pub const STATE_TOPICS: [&str; 2] = [TRANSACTION_STATE, SHARE_GROUP_STATE];

/// `__consumer_offsets`, or another topic of coordinators' state, as one broker sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetsTopicView {
    /// Topic-level error code, 0 if none.
    pub error: i16,
    /// Partitions by number.
    pub partitions: BTreeMap<PartitionId, PartitionView>,
}

/// One partition of such a topic as one broker sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionView {
    /// The leader; `None` for -1. A broker writes -1 also if the leader is not alive in its own cache.
    pub leader: Option<BrokerId>,
    /// The leader epoch; `None` if not told (request below v7, or -1).
    pub leader_epoch: Option<i32>,
    /// All replicas, preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// In-sync replicas; may contain dead brokers. Empty while leaderless below Kafka 2.4 (KAFKA-8442).
    pub isr: Vec<BrokerId>,
    /// Replicas that this broker holds for offline (v5+).
    pub offline_replicas: Vec<BrokerId>,
    /// Partition-level error code: 0, 5 LEADER_NOT_AVAILABLE, 9, or 72 LISTENER_NOT_FOUND.
    pub error: i16,
}

/// A broker's answer for a made-up group id (DescribeGroups) or transactional id of one partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Canary {
    /// The made-up id.
    pub group: GroupId,
    /// When it answered.
    pub at: Timestamp,
    /// The error code: 0 and 69 mean "I serve this partition", 14 loading, 15 not available, 16 not mine, 30 denied.
    pub code: i16,
    /// Leader and leader epoch of the partition in this broker's own metadata before the question was sent.
    pub leader_before: (Option<BrokerId>, Option<i32>),
    /// Since when it has given this same code under this same leader and epoch.
    pub same_since: Timestamp,
}

/// Whom a broker names as coordinator of some group ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoordinatorAnswers {
    /// When it answered.
    pub at: Timestamp,
    /// Group id → the broker it names, or the error code.
    pub answers: BTreeMap<GroupId, Result<BrokerId, i16>>,
    /// Leader by partition in this broker's own metadata when it was asked.
    pub leaders: BTreeMap<PartitionId, BrokerId>,
}

/// What one broker listed as its groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupListing {
    /// When it answered.
    pub at: Timestamp,
    /// The error code; with 14 the list is partial (classic coordinator) or empty (new coordinator).
    pub code: i16,
    /// The groups, by id.
    pub groups: BTreeMap<GroupId, ListedGroup>,
}

/// One group in a broker's listing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedGroup {
    /// Protocol type: `consumer`, `connect`, …; empty for a simple consumer that only commits offsets.
    pub protocol_type: String,
    /// State (ListGroups v4+, Kafka 2.6), such as `Stable`, `Empty`, `PreparingRebalance`; `None` if not told.
    pub state: Option<String>,
    /// Type (ListGroups v5+, Kafka 3.8): `classic`, `consumer`, `share`, `streams`; `None` if not told.
    pub group_type: Option<String>,
}

/// The KRaft quorum as one broker tells it (DescribeQuorum).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quorum {
    /// When it answered.
    pub at: Timestamp,
    /// The leader of the metadata quorum; `None` if there is none.
    pub leader: Option<i32>,
    /// Node ids of the voters.
    pub voters: Vec<i32>,
}
