//! What was seen of one cluster: facts only, each broker's own view kept apart, and every fact that is missing says why.
//!
//! Written by `unstuck-kafka`, read by [`diagnose`](crate::diagnose). Ordered maps throughout, so that equal facts
//! always render equally.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{BrokerId, GroupId, PartitionId};

/// A remote fact: known, unavailable for a reason, or not asked for (yet).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observed<T> {
    /// The fact, as observed.
    Known(T),
    /// Asked for in vain.
    Unavailable(Unavailable),
    /// Not asked for (yet).
    #[default]
    NotAsked,
}

impl<T> Observed<T> {
    /// The fact, if known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(fact) => Some(fact),
            Self::Unavailable(_) | Self::NotAsked => None,
        }
    }

    /// Why it is not known, if it was asked for in vain.
    pub fn unavailable(&self) -> Option<&Unavailable> {
        match self {
            Self::Unavailable(unavailable) => Some(unavailable),
            Self::Known(_) | Self::NotAsked => None,
        }
    }
}

/// Why a fact could not be observed, and since when that is so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unavailable {
    /// The reason of the latest attempt.
    pub why: Why,
    /// When the fact was first asked for in vain, with no success since.
    pub since: Timestamp,
}

/// Reasons why something could not be observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "detail")]
pub enum Why {
    /// The host name has no address here. The text is the resolver's.
    NameNotFound(String),
    /// The host refuses connections on this port.
    Refused,
    /// No route, network or host unreachable. The text is the operating system's.
    Unreachable(String),
    /// The connection attempt was not answered in time.
    ConnectTimeout,
    /// The connection stands, but a request was not answered in time.
    Silent,
    /// The connection is accepted, then closed without an answer, on every attempt.
    Closed,
    /// It accepts, answers ApiVersions, then closes: what a SASL listener does to a client without credentials.
    AuthenticationRequired,
    /// It answers, but in HTTP.
    SpeaksHttp,
    /// It answers, but in TLS (or wants TLS): a TLS listener.
    SpeaksTls,
    /// An answer that is not a valid Kafka answer. The text says what was wrong with it.
    Malformed(String),
    /// Another broker, or none we expect, answers at this address. The id that answered.
    OtherBroker(BrokerId),
    /// The address belongs to another cluster; its id.
    OtherCluster(String),
    /// The broker's release does not offer this request in a version that we speak; the API's name.
    TooOld(String),
    /// The account lacks a right; the ACL that would show the fact, as `OPERATION on RESOURCE`.
    NotPermitted(String),
    /// The broker answered with an error code.
    ErrorCode(i16),
    /// The offsets topic is not there, so there is nothing to ask.
    NoOffsetsTopic,
    /// The client library's own words.
    Client(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameNotFound(text) => write!(f, "the host name cannot be resolved ({text})"),
            Self::Refused => f.write_str("connection refused"),
            Self::Unreachable(text) => write!(f, "unreachable ({text})"),
            Self::ConnectTimeout => f.write_str("the connection attempt timed out"),
            Self::Silent => f.write_str("accepts connections, but does not answer"),
            Self::Closed => f.write_str("accepts connections, then closes them"),
            Self::AuthenticationRequired => {
                f.write_str("closes the connection unless the client logs in (a SASL listener)")
            }
            Self::SpeaksHttp => f.write_str("speaks HTTP, not Kafka"),
            Self::SpeaksTls => f.write_str("speaks TLS, not plaintext Kafka"),
            Self::Malformed(text) => write!(f, "malformed answer ({text})"),
            Self::OtherBroker(id) => write!(f, "broker {id} answers at this address"),
            Self::OtherCluster(id) => write!(f, "belongs to another cluster ({id})"),
            Self::TooOld(api) => write!(f, "broker too old for {api}"),
            Self::NotPermitted(acl) => write!(f, "needs {acl}"),
            Self::ErrorCode(code) => write!(f, "answered error {code} ({})", error_name(*code)),
            Self::NoOffsetsTopic => f.write_str("__consumer_offsets does not exist"),
            Self::Client(text) => f.write_str(text),
        }
    }
}

/// The name of a Kafka error code (clients `Errors.java`), for the codes that matter here.
#[must_use]
pub fn error_name(code: i16) -> &'static str {
    match code {
        -1 => "UNKNOWN_SERVER_ERROR",
        0 => "NONE",
        3 => "UNKNOWN_TOPIC_OR_PARTITION",
        5 => "LEADER_NOT_AVAILABLE",
        6 => "NOT_LEADER_OR_FOLLOWER",
        7 => "REQUEST_TIMED_OUT",
        9 => "REPLICA_NOT_AVAILABLE",
        14 => "COORDINATOR_LOAD_IN_PROGRESS",
        15 => "COORDINATOR_NOT_AVAILABLE",
        16 => "NOT_COORDINATOR",
        19 => "NOT_ENOUGH_REPLICAS",
        24 => "INVALID_GROUP_ID",
        29 => "TOPIC_AUTHORIZATION_FAILED",
        30 => "GROUP_AUTHORIZATION_FAILED",
        31 => "CLUSTER_AUTHORIZATION_FAILED",
        33 => "UNSUPPORTED_SASL_MECHANISM",
        34 => "ILLEGAL_SASL_STATE",
        35 => "UNSUPPORTED_VERSION",
        41 => "NOT_CONTROLLER",
        42 => "INVALID_REQUEST",
        56 => "KAFKA_STORAGE_ERROR",
        58 => "SASL_AUTHENTICATION_FAILED",
        69 => "GROUP_ID_NOT_FOUND",
        72 => "LISTENER_NOT_FOUND",
        _ => "see Kafka's Errors.java",
    }
}

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
}

/// `__consumer_offsets` as one broker sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetsTopicView {
    /// Topic-level error code, 0 if none.
    pub error: i16,
    /// Partitions by number.
    pub partitions: BTreeMap<PartitionId, PartitionView>,
}

/// One partition of `__consumer_offsets` as one broker sees it.
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

/// A broker's answer for a made-up group id of one partition (DescribeGroups).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Canary {
    /// The made-up group id.
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

/// A broker's own settings, as far as they matter here; `None` where the broker did not tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerConfigs {
    /// When it answered.
    pub at: Timestamp,
    /// `offsets.topic.num.partitions`.
    pub offsets_topic_num_partitions: Option<i32>,
    /// `offsets.topic.replication.factor`.
    pub offsets_topic_replication_factor: Option<i32>,
    /// `broker.session.timeout.ms` (KRaft; belongs to the controllers, so a broker's value may be another).
    pub broker_session_timeout_ms: Option<i64>,
    /// `zookeeper.session.timeout.ms` (ZooKeeper mode).
    pub zookeeper_session_timeout_ms: Option<i64>,
    /// `replica.lag.time.max.ms`.
    pub replica_lag_time_max_ms: Option<i64>,
    /// `min.insync.replicas`, the default that `__consumer_offsets` inherits.
    pub min_insync_replicas: Option<i32>,
}

/// Settings of `__consumer_offsets`; `None` where not told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicConfigs {
    /// Effective `min.insync.replicas`, inherited values included.
    pub min_insync_replicas: Option<i32>,
    /// `cleanup.policy`.
    pub cleanup_policy: Option<String>,
    /// `unclean.leader.election.enable`.
    pub unclean_leader_election: Option<bool>,
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
