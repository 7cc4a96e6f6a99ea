//! What can be done to a cluster: by a step of the timeline, by hand, or by a fault from the beginning.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::model::{Acl, Coordinator, Group, Setting};
use super::value::{Partitions, Time};

/// One thing that is done to the cluster. In a file: a table with one key, such as `{ stop = 1 }`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Kills a node (broker or controller) at once, as kill -9 does.
    Stop(i32),
    /// Shuts a broker down in an orderly way: it hands its leaderships over first, as far as that is possible.
    ShutDown(i32),
    /// Starts a node that is stopped.
    Start(i32),
    /// Hangs a broker's process (SIGSTOP, a long garbage collection, a dying disk).
    Pause(i32),
    /// Lets a paused broker go on.
    Resume(i32),
    /// Cuts a broker off from the controller and from other brokers; clients still reach it.
    CutOff(i32),
    /// Ends what `cut-off` did.
    Reconnect(i32),
    /// Runs an election, as `kafka-leader-election` does.
    Elect(Elect),
    /// Sets facts about partitions, as the controller holds them true, without any election.
    Set(SetPartitions),
    /// ZooKeeper: writes what it holds about a partition behind the controller's back.
    WriteZookeeper(SetPartitions),
    /// Makes another node the controller.
    MoveController(i32),
    /// ZooKeeper: takes the controller away, without a new one.
    NoController(bool),
    /// Gives partitions other replicas, as `kafka-reassign-partitions` does.
    Reassign(Reassign),
    /// Adds partitions to a topic until it has so many.
    AddPartitions(AddPartitions),
    /// Creates a topic, its replicas spread over the brokers.
    CreateTopic(CreateTopic),
    /// Deletes a topic.
    DeleteTopic(String),
    /// Changes settings of a topic or of brokers.
    Configure(Configure),
    /// Sets how coordinators of offsets partitions are.
    Coordinators(Coordinators),
    /// Brings a fault about.
    Fault(Fault),
    /// Ends the fault with this name.
    EndFault(String),
    /// Makes a broker's view differ.
    View(View),
    /// Gives a broker the view that everybody has.
    EndView(i32),
    /// Changes what the account that looks may see.
    Acl(Acl),
    /// Adds a group, or replaces the one with this id.
    Group(Group),
    /// Removes a group and its offsets.
    DeleteGroup(String),
    /// Fails a log directory of a broker.
    FailLogDir(LogDir),
    /// Repairs a log directory of a broker: what was in it is there again.
    RepairLogDir(LogDir),
    /// Lets a broker advertise another address.
    Advertise(Advertise),
}

/// Which election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ElectionType {
    /// Only the first replica, if it is in sync. Cannot lose data.
    #[default]
    Preferred,
    /// A live in-sync replica if there is one; else any live replica, which loses what that one lacks.
    Unclean,
}

/// An election.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Elect {
    /// The topic; `__consumer_offsets` if not said.
    pub topic: Option<String>,
    /// Which partitions; all if not said.
    pub partitions: Partitions,
    /// Which kind.
    pub r#type: ElectionType,
}

/// Facts about partitions. What is not said stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SetPartitions {
    /// The topic; `__consumer_offsets` if not said.
    pub topic: Option<String>,
    /// Which partitions; all if not said.
    pub partitions: Partitions,
    /// The leader, or -1 for none.
    pub leader: Option<i32>,
    /// In-sync replicas.
    pub isr: Option<Vec<i32>>,
    /// Replicas.
    pub replicas: Option<Vec<i32>>,
    /// The leader epoch; one more than before if the leader changes and this is not said.
    pub epoch: Option<i32>,
    /// Eligible leader replicas.
    pub elr: Option<Vec<i32>>,
    /// Brokers on which the log directory of this replica has failed.
    pub offline_on: Option<Vec<i32>>,
    /// The end offset.
    pub end: Option<i64>,
}

/// Other replicas for partitions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Reassign {
    /// The topic; `__consumer_offsets` if not said.
    pub topic: Option<String>,
    /// Which partitions; all if not said.
    pub partitions: Partitions,
    /// The replicas, the preferred leader first. With `rotate` each partition begins with the next one.
    pub replicas: Vec<i32>,
    /// Spread the preferred leaders: partition n begins with replica n modulo their number.
    pub rotate: bool,
}

/// More partitions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AddPartitions {
    /// The topic.
    pub topic: String,
    /// How many it shall have.
    pub to: i32,
}

/// A topic that is created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CreateTopic {
    /// The topic.
    pub topic: String,
    /// How many partitions.
    pub partitions: i32,
    /// How many replicas each partition has. 1 if not said.
    #[serde(default)]
    pub replication_factor: Option<usize>,
}

/// Other settings.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Configure {
    /// The topic whose settings change.
    pub topic: Option<String>,
    /// The broker whose settings change; all brokers if neither this nor `topic` is said.
    pub broker: Option<i32>,
    /// Settings to set.
    pub set: BTreeMap<String, Setting>,
    /// Settings to take back: what was before them holds again.
    pub delete: Vec<String>,
}

/// How coordinators are.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Coordinators {
    /// Which partitions of `__consumer_offsets`; all if not said.
    #[serde(default)]
    pub partitions: Partitions,
    /// How they are, on the broker that leads each.
    pub state: Coordinator,
    /// `loading` ends after this time; never if it is not said.
    #[serde(default)]
    pub r#for: Option<Time>,
}

/// A broker's own view, where it differs from the controller's truth. It lasts until `end-view`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct View {
    /// Whose view.
    pub broker: i32,
    /// The controller that it names (-1: none).
    #[serde(default)]
    pub controller: Option<i32>,
    /// The brokers that it lists.
    #[serde(default)]
    pub brokers: Option<Vec<i32>>,
    /// Partitions that it sees otherwise.
    #[serde(default)]
    pub partition: Vec<SetPartitions>,
    /// How many partitions of `__consumer_offsets` it sees.
    #[serde(default)]
    pub partition_count: Option<i32>,
    /// Topics that it does not see.
    #[serde(default)]
    pub missing_topics: Vec<String>,
    /// Whom it names as coordinator of every group, whoever leads; need not be a broker of the cluster.
    #[serde(default)]
    pub coordinator: Option<i32>,
}

/// A fault: which requests it meets, and what happens to them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Fault {
    /// A name, by which it can be ended.
    #[serde(default)]
    pub name: Option<String>,
    /// Which brokers; all if not said.
    #[serde(default)]
    pub brokers: Vec<i32>,
    /// Which requests, by Kafka's name, such as `DescribeGroups`; all if not said.
    #[serde(default)]
    pub apis: Vec<String>,
    /// With `error`: for which offsets partitions, by the group asked for. All if not said.
    #[serde(default)]
    pub partitions: Partitions,
    /// What happens.
    pub r#do: FaultKind,
    /// With `delay`: for how long. With `error`: how long the answer takes.
    #[serde(default)]
    pub delay: Option<Time>,
    /// With `error`: the code.
    #[serde(default)]
    pub code: Option<i16>,
}

/// What a fault does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// Connections are refused. Meets whole brokers.
    Refuse,
    /// Connections are accepted and closed at once. Meets whole brokers.
    Close,
    /// The request is read, and the connection closed.
    Reset,
    /// The request is read, and not answered until the fault ends.
    #[default]
    Hang,
    /// The answer comes late.
    Delay,
    /// Half of the answer is sent, then nothing more.
    HalfAnswer,
    /// The answer's length and correlation id are sent, then the connection is closed.
    CloseAfterHeader,
    /// The answer is nonsense of the right length.
    Garbage,
    /// The answer carries an error code.
    Error,
}

/// A log directory of a broker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LogDir {
    /// The broker.
    pub broker: i32,
    /// Which partitions of `__consumer_offsets` are in it; all of the broker if not said.
    #[serde(default)]
    pub partitions: Partitions,
}

/// Another address that a broker advertises.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Advertise {
    /// The broker.
    pub broker: i32,
    /// The `host:port`. The address that it really listens on if it is not said, or empty.
    #[serde(default)]
    pub address: String,
}
