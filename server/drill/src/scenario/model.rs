//! What a scenario file says. The doc comments become the JSON schema and `docs/scenarios.md`, so they speak to
//! whoever writes such a file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::action::{Action, Fault, View};
use super::truth::Truth;
use super::value::{Partitions, Size, Time};

pub(crate) use super::groups::NUMBER;
pub use super::groups::{Group, GroupType, Member, Members, Offsets, Rebalances};

/// A cluster that fails on purpose, and what happens to it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Scenario {
    /// One line that says what goes wrong.
    pub title: String,
    /// What happens and why, in a few sentences; shown to the trainee.
    pub story: String,
    /// A public report of the incident that this one follows.
    #[serde(default)]
    pub source: Option<String>,
    /// The cluster as a whole.
    pub cluster: Cluster,
    /// What is particular about single brokers, by id: `[broker.1]`.
    #[serde(default)]
    pub broker: BTreeMap<String, Broker>,
    /// Topics by name; `[topic.__consumer_offsets]` above all. Without it the offsets topic does not exist yet.
    #[serde(default)]
    pub topic: BTreeMap<String, Topic>,
    /// Consumer groups.
    #[serde(default)]
    pub group: Vec<Group>,
    /// Where a broker's view differs from what the controller holds true.
    #[serde(default)]
    pub view: Vec<View>,
    /// Faults that are there from the beginning.
    #[serde(default)]
    pub fault: Vec<Fault>,
    /// What the account that looks may not see.
    #[serde(default)]
    pub acl: Acl,
    /// What must be said of the beginning, before any step.
    #[serde(default)]
    pub expect: Vec<Expect>,
    /// What happens, in order.
    #[serde(default)]
    pub step: Vec<Step>,
    /// What is true of it, where it is a public case.
    #[serde(default)]
    pub truth: Option<Truth>,
    /// Accept what contradicts itself (a leader that is no replica, an ISR outside of the replicas): the scenario is
    /// about exactly that.
    #[serde(default)]
    pub means_contradictions: bool,
}

/// The cluster as a whole.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Cluster {
    /// Where cluster metadata live.
    pub mode: Mode,
    /// The release that brokers run: 1.0.2, 2.3.1, 2.8.2, 3.6.2, 3.9.1 or 4.1.1.
    pub release: Release,
    /// The brokers' ids.
    pub brokers: Vec<i32>,
    /// The cluster id that brokers tell.
    #[serde(default)]
    pub id: Option<String>,
    /// KRaft: ids of nodes that are only controllers. Without any, the brokers are the voters.
    #[serde(default)]
    pub controllers: Vec<i32>,
    /// The controller at the beginning; the first voter or broker if it is not said.
    #[serde(default)]
    pub controller: Option<i32>,
    /// After how long without a sign of life a broker is taken off the list. As released: 9s with KRaft, 18s with
    /// ZooKeeper from 2.5 on, 6s before.
    #[serde(default)]
    pub session_timeout: Option<Time>,
    /// Settings of every broker, such as `offsets.topic.replication.factor`.
    #[serde(default)]
    pub configs: BTreeMap<String, Setting>,
    /// Who implements it. Redpanda places groups otherwise than Kafka does.
    #[serde(default)]
    pub implementation: Implementation,
    /// KRaft from 4.0 on: whether eligible leader replicas are kept. As released: from 4.1 on.
    #[serde(default)]
    pub elr: Option<bool>,
}

/// Where cluster metadata live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// In ZooKeeper (up to 3.9).
    Zookeeper,
    /// In a quorum of controllers (from 3.3 on).
    Kraft,
}

/// A Kafka release whose brokers can be imitated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
pub enum Release {
    /// 1.0.2.
    #[serde(rename = "1.0.2")]
    V1_0,
    /// 2.3.1.
    #[serde(rename = "2.3.1")]
    V2_3,
    /// 2.8.2.
    #[serde(rename = "2.8.2")]
    V2_8,
    /// 3.6.2.
    #[serde(rename = "3.6.2")]
    V3_6,
    /// 3.9.1.
    #[serde(rename = "3.9.1")]
    V3_9,
    /// 4.1.1.
    #[serde(rename = "4.1.1")]
    V4_1,
}

/// Who implements the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Implementation {
    /// Apache Kafka.
    #[default]
    Kafka,
    /// Redpanda: speaks the protocol, but does not place groups by Java's hash in `__consumer_offsets`.
    Redpanda,
}

/// A setting's value; numbers and truth values may be written as such.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum Setting {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Number(i64),
    /// Text.
    Text(String),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Text(value) => f.write_str(value),
        }
    }
}

/// What is particular about one broker.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Broker {
    /// Its rack.
    #[serde(default)]
    pub rack: Option<String>,
    /// The release that it runs, if another than the cluster's (a rolling upgrade).
    #[serde(default)]
    pub release: Option<Release>,
    /// The `host:port` that it advertises instead of the one it really listens on.
    #[serde(default)]
    pub advertised: Option<String>,
    /// Settings that differ from the cluster's.
    #[serde(default)]
    pub configs: BTreeMap<String, Setting>,
    /// How it is at the beginning.
    #[serde(default)]
    pub state: BrokerState,
    /// The number of offsets partitions that it hashes with; brokers read it once, when they start.
    #[serde(default)]
    pub partition_count: Option<i32>,
    /// Whether it has the listener that clients use. Without it, it is alive for the others, clients are not told its
    /// address, and the partitions that it leads have no leader for them (error 72).
    #[serde(default = "yes")]
    pub listener: bool,
    /// Its log directories. `/var/lib/kafka` if none is named.
    #[serde(default)]
    pub log_dirs: Vec<String>,
}

fn yes() -> bool {
    true
}

impl Default for Broker {
    fn default() -> Self {
        Self {
            rack: None,
            release: None,
            advertised: None,
            configs: BTreeMap::new(),
            state: BrokerState::default(),
            partition_count: None,
            listener: true,
            log_dirs: Vec::new(),
        }
    }
}

/// How a broker is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BrokerState {
    /// It serves.
    #[default]
    Running,
    /// Its process is gone: connections are refused.
    Stopped,
    /// Its process hangs: connections are accepted, nothing is answered.
    Paused,
    /// It serves clients, but neither the controller nor other brokers hear of it.
    CutOff,
}

/// A topic. Say where its replicas are by `replicas` (all partitions alike), by `replication-factor` (spread over the
/// brokers), or per partition.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Topic {
    /// How many partitions.
    pub partitions: i32,
    /// Each partition's replicas, the preferred leader first.
    #[serde(default)]
    pub replicas: Vec<i32>,
    /// How many replicas, spread round-robin over the brokers. 1 if neither this nor `replicas` is said.
    #[serde(default)]
    pub replication_factor: Option<usize>,
    /// Settings of the topic.
    #[serde(default)]
    pub configs: BTreeMap<String, Setting>,
    /// The size of each partition's log on each replica. 1 MiB if not said.
    #[serde(default)]
    pub bytes: Option<Size>,
    /// The end offset of each partition's log. 1000 if not said.
    #[serde(default)]
    pub end: Option<i64>,
    /// Partitions that differ: `[[topic.NAME.partition]]`.
    #[serde(default)]
    pub partition: Vec<Partition>,
}

/// Partitions of a topic that differ from the rest of it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Partition {
    /// Which.
    pub id: Partitions,
    /// Replicas, the preferred leader first.
    #[serde(default)]
    pub replicas: Option<Vec<i32>>,
    /// In-sync replicas. If not said, all replicas whose brokers are there at the beginning, or all if none is.
    #[serde(default)]
    pub isr: Option<Vec<i32>>,
    /// The leader, or -1 for none; the first in-sync replica that runs if not said.
    #[serde(default)]
    pub leader: Option<i32>,
    /// The leader epoch; 0 if not said.
    #[serde(default)]
    pub epoch: Option<i32>,
    /// Eligible leader replicas (KIP-966).
    #[serde(default)]
    pub elr: Vec<i32>,
    /// Brokers on which the log directory of this replica has failed.
    #[serde(default)]
    pub offline_on: Vec<i32>,
    /// The size of the log.
    #[serde(default)]
    pub bytes: Option<Size>,
    /// The end offset.
    #[serde(default)]
    pub end: Option<i64>,
    /// How the coordinator of an offsets partition is at the beginning.
    #[serde(default)]
    pub coordinator: Option<Coordinator>,
    /// A transaction that was begun and never ended.
    #[serde(default)]
    pub open_transaction: Option<OpenTransaction>,
}

/// A transaction that is open on a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OpenTransaction {
    /// Who began it.
    pub producer_id: i64,
    /// Its first offset: what comes after it is not seen by readers of committed data.
    pub start: i64,
    /// For how long it has been open at the beginning.
    pub age: Time,
}

impl Topic {
    /// The replicas of a partition at the beginning, the preferred leader first, in a cluster with these brokers.
    /// Spread round-robin: partition n begins with broker n modulo their number.
    #[must_use]
    pub fn replicas_of(&self, partition: i32, brokers: &[i32]) -> Vec<i32> {
        let own = self.partition.iter().rfind(|entry| entry.replicas.is_some() && entry.id.contains(partition));
        if let Some(replicas) = own.and_then(|entry| entry.replicas.as_ref()) {
            return replicas.clone();
        }
        if !self.replicas.is_empty() {
            return self.replicas.clone();
        }
        let first = usize::try_from(partition).unwrap_or(0);
        let factor = self.replication_factor.unwrap_or(1).min(brokers.len());
        (0..factor).map(|nth| brokers[(first + nth) % brokers.len()]).collect()
    }
}

/// How the coordinator of one offsets partition is on the broker that leads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Coordinator {
    /// Serves.
    Serving,
    /// Still loads, without an end.
    Loading,
    /// Failed to load: answers 16 (new coordinator, from 3.7 on), or serves without what it could not read (before).
    Failed,
}

/// What the account that looks may not see or ask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Acl {
    /// No DESCRIBE on these topics: they are missing from listings, and asked by name they are refused (29).
    pub hidden_topics: Vec<String>,
    /// No DESCRIBE on groups, except those that begin with one of `visible-groups`: 30, and filtered listings.
    pub groups_hidden: bool,
    /// Beginnings of group ids that may be described although `groups-hidden`.
    pub visible_groups: Vec<String>,
    /// No DESCRIBE and DESCRIBE_CONFIGS on CLUSTER: 31 for the quorum, log directories and broker settings.
    pub cluster_hidden: bool,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Step {
    /// A short name, such as `broker 1 dies`; `--step` and `unstuck drill ctl next` name it.
    pub name: String,
    /// A sentence or two for the trainee: what just happened, and what to look at.
    pub say: String,
    /// When, counted from the step before (or the beginning). Without `after` and `on` somebody says "next".
    #[serde(default)]
    pub after: Option<Time>,
    /// The event that brings it about.
    #[serde(default)]
    pub on: Option<Event>,
    /// What happens, in this order.
    #[serde(default)]
    pub r#do: Vec<Action>,
    /// What must be said of it.
    #[serde(default)]
    pub expect: Vec<Expect>,
}

/// An event that a step waits for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// Somebody ran an election (ElectLeaders).
    Election,
    /// Somebody gave partitions other replicas (AlterPartitionReassignments).
    Reassignment,
    /// Somebody changed a setting of this topic or of any (`*`).
    ConfigChanged(String),
    /// This broker started (again).
    BrokerStarted(i32),
    /// This broker stopped.
    BrokerStopped(i32),
    /// Each partition of this topic has a leader again.
    LeadersBack(String),
}

/// What Unstuck must say, at a time after a step. Whatever is not named here may be anything.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Expect {
    /// How long after the step (or the beginning) this is looked at. `5s` if not said.
    pub after: Option<Time>,
    /// The worst verdict of all coordinators: `working`, `at_risk`, `recovering`, `stuck`, `unknown`, `look_at_group`.
    pub worst: Option<String>,
    /// Verdicts by group id.
    pub group: BTreeMap<String, String>,
    /// Verdicts by partitions of `__consumer_offsets`: `"0-9" = "stuck"`.
    pub partition: BTreeMap<String, String>,
    /// Findings that must be open, by slug.
    pub findings: Vec<String>,
    /// Findings that must not be open; `*` forbids all that are not in `findings`.
    pub no_findings: Vec<String>,
    /// Texts that the report must contain: sentences, evidence, remedies and their commands.
    pub says: Vec<String>,
    /// Texts that it must not contain.
    pub never_says: Vec<String>,
    /// Verdicts that no coordinator may have had at any time since the step (or the beginning).
    pub never: Vec<String>,
}

impl Expect {
    /// How long after the step (or the beginning) it is looked at: 5 s if it is not said.
    #[must_use]
    pub fn looked_at(&self) -> Time {
        self.after.unwrap_or(Time(std::time::Duration::from_secs(5)))
    }
}
