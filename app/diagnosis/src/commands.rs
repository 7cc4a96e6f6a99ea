//! The exact command for this cluster: Kafka's own tools as the oldest release among the brokers has them, with an
//! address that answers. Unstuck writes them down and never runs one.
//!
//! `*.sh` are the scripts of the Apache download; packages have them without the ending. When each of them learnt to talk
//! to brokers instead of ZooKeeper:
//!
//! | tool | `--bootstrap-server` since |
//! |---|---|
//! | `kafka-consumer-groups.sh` | 0.10 |
//! | `kafka-log-dirs.sh` | 1.0 (KIP-113) |
//! | `kafka-acls.sh` | 2.1 (KIP-332) |
//! | `kafka-topics.sh` | 2.2 (KIP-377) |
//! | `kafka-preferred-replica-election.sh` | 2.2 (KIP-183); replaced by `kafka-leader-election.sh` in 2.4 (KIP-460) |
//! | `kafka-configs.sh` for topics | 2.5 (KIP-543) |
//! | `kafka-reassign-partitions.sh` | 2.6 (KIP-455, KAFKA-8820) |
//! | `kafka-transactions.sh`, `kafka-get-offsets.sh` | 3.0 (KIP-664, KIP-635) |
//! | `kafka-metadata-quorum.sh` | 3.3 (KIP-836) |

use std::fmt::Write;

use crate::facts::Facts;
use crate::remedy::{Met, Precondition, Remedy};
use crate::report::{BrokerState, Report};
use crate::{BrokerId, PartitionId};

/// Stands for the address of ZooKeeper, which brokers do not tell.
pub(crate) const ZOOKEEPER: &str = "ZOOKEEPER:2181";
/// Stands for the address of a broker, where none answers.
pub(crate) const BOOTSTRAP: &str = "BOOTSTRAP:9092";
/// Stands for a topic that a group reads, where nobody told which.
pub(crate) const TOPIC: &str = "TOPIC";
/// Stands for the principal that Unstuck logs in as.
pub(crate) const PRINCIPAL: &str = "User:UNSTUCK";

const MINUTE_MS: i64 = 60_000;
/// From which age on `kafka-transactions.sh find-hanging` looks at a transaction, unless it is told: TransactionsCommand.
const HANGING_AFTER_MINUTES: i64 = 15;

/// Major and minor.
type Release = (u32, u32);

/// Since when the tools have the syntax that is used here, for those that differ by release.
const SINCE: [(&str, Release); 10] = [
    ("kafka-acls.sh --bootstrap-server", (2, 1)),
    ("kafka-topics.sh --bootstrap-server", (2, 2)),
    ("kafka-preferred-replica-election.sh --bootstrap-server", (2, 2)),
    ("kafka-leader-election.sh", (2, 4)),
    ("kafka-configs.sh --bootstrap-server", (2, 5)),
    ("kafka-reassign-partitions.sh --bootstrap-server", (2, 6)),
    ("kafka-cluster.sh", (2, 8)),
    ("kafka-transactions.sh", (3, 0)),
    ("kafka-get-offsets.sh", (3, 0)),
    ("kafka-metadata-quorum.sh", (3, 3)),
];

/// Which leader an election is to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Election {
    /// The first replica of the assignment, if it is alive and in sync. Cannot lose anything.
    Preferred,
    /// Live members of the ISR first; without any, whatever replica lives, and what only others had is lost.
    Unclean,
}

/// What to do with a reassignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reassign {
    /// Start it, with a limit in bytes per second for the copying or without.
    Execute { throttle: Option<u64> },
    /// See how far it is; removes the throttle once it is done.
    Verify,
}

/// Where to set the committed offsets of a group. The group must have no members meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reset<'a> {
    /// To the first record of that time or later, such as `2026-11-29T12:00:00.000`.
    ToDatetime(&'a str),
    /// So many records further than they are, or back.
    ShiftBy(i64),
}

/// What is permitted by an ACL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource<'a> {
    Cluster,
    Group(&'a str),
    /// All groups whose ids begin so (KIP-290, 2.0).
    GroupPrefix(&'a str),
    Topic(&'a str),
    TransactionalId(&'a str),
}

/// Writes commands for one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commands {
    bootstrap: String,
    /// The oldest release among the brokers; `None` if none told.
    release: Option<Release>,
    kraft: Option<bool>,
}

impl Commands {
    pub(crate) fn new(facts: &Facts<'_>) -> Self {
        let address = |id| facts.snapshot.brokers.get(id)?.address.clone();
        Self {
            bootstrap: facts.answering.iter().find_map(address).unwrap_or_else(|| BOOTSTRAP.to_owned()),
            release: facts.snapshot.brokers.values().filter_map(crate::facts::release).min(),
            kraft: facts.kraft,
        }
    }

    /// The same where only the report is at hand. Whether there is a ZooKeeper is not in it, and no command about groups
    /// needs to know.
    pub(crate) fn of(report: &Report) -> Self {
        let answering = report.brokers.iter().filter(|broker| broker.state == BrokerState::Answering);
        let address = answering.filter_map(|broker| broker.address.clone()).next();
        let release =
            report.brokers.iter().filter_map(|broker| crate::facts::parse_release(broker.release.as_deref()?));
        Self { bootstrap: address.unwrap_or_else(|| BOOTSTRAP.to_owned()), release: release.min(), kraft: None }
    }

    /// Whether a syntax is there: the newest is taken where no broker told its release, and in KRaft always, which has no
    /// ZooKeeper.
    fn has(&self, since: Release) -> bool {
        self.release.is_none_or(|release| release >= since) || self.kraft == Some(true) && since < (3, 0)
    }

    fn at(&self) -> String {
        format!("--bootstrap-server {}", quoted(&self.bootstrap))
    }

    fn at_since(&self, since: Release) -> String {
        if self.has(since) { self.at() } else { format!("--zookeeper {ZOOKEEPER}") }
    }

    fn topics(&self) -> String {
        format!("kafka-topics.sh {}", self.at_since((2, 2)))
    }

    /// Leader, replicas and ISR of each partition.
    pub(crate) fn describe_topic(&self, topic: &str) -> String {
        format!("{} --describe --topic {}", self.topics(), quoted(topic))
    }

    /// The same of every topic.
    pub(crate) fn describe_topics(&self) -> String {
        format!("{} --describe", self.topics())
    }

    /// The same of one topic, kept in a file.
    pub(crate) fn save_topic(&self, topic: &str) -> String {
        format!("{} > topic-before.txt", self.describe_topic(topic))
    }

    /// The partitions of all topics that have no leader.
    pub(crate) fn describe_unavailable(&self) -> String {
        format!("{} --describe --unavailable-partitions", self.topics())
    }

    /// Creates a topic, with settings such as `cleanup.policy=compact`.
    pub(crate) fn create_topic(&self, topic: &str, partitions: i32, factor: usize, settings: &[&str]) -> String {
        let mut command = format!(
            "{} --create --topic {} --partitions {partitions} --replication-factor {factor}",
            self.topics(),
            quoted(topic)
        );
        for setting in settings {
            let _ = write!(command, " --config {}", quoted(setting));
        }
        command
    }

    /// An election for one partition; `None` where the release has no tool for it (unclean ones below 2.4).
    pub(crate) fn elect(&self, kind: Election, topic: &str, partition: PartitionId) -> Option<String> {
        if self.has((2, 4)) {
            let kind = kind.word();
            let topic = quoted(topic);
            let at = self.at();
            return Some(format!(
                "kafka-leader-election.sh {at} --election-type {kind} --topic {topic} --partition {partition}"
            ));
        }
        self.elect_each(kind, topic, &[partition])
    }

    /// An election for some partitions of a topic, which a file names: the command writes it first.
    pub(crate) fn elect_each(&self, kind: Election, topic: &str, partitions: &[PartitionId]) -> Option<String> {
        if let ([partition], true) = (partitions, self.has((2, 4))) {
            return self.elect(kind, topic, *partition);
        }
        let entries: Vec<_> = partitions
            .iter()
            .map(|partition| format!("{{\"topic\":{},\"partition\":{partition}}}", json_string(topic)))
            .collect();
        let file = quoted(&format!("{{\"partitions\":[{}]}}", entries.join(","))).into_owned();
        let tool = self.election_tool(kind)?;
        Some(format!("echo {file} > elect.json && {tool} --path-to-json-file elect.json"))
    }

    fn election_tool(&self, kind: Election) -> Option<String> {
        if self.has((2, 4)) {
            return Some(format!("kafka-leader-election.sh {} --election-type {}", self.at(), kind.word()));
        }
        let tool = || format!("kafka-preferred-replica-election.sh {}", self.at_since((2, 2)));
        (kind == Election::Preferred).then(tool)
    }

    fn topic_settings(&self, topic: &str) -> String {
        let at = self.at_since((2, 5));
        format!("kafka-configs.sh {at} --entity-type topics --entity-name {}", quoted(topic))
    }

    /// The settings of its own that a topic has.
    pub(crate) fn describe_settings(&self, topic: &str) -> String {
        format!("{} --describe", self.topic_settings(topic))
    }

    /// Gives a topic a setting of its own: `min.insync.replicas=1`.
    pub(crate) fn set_topic(&self, topic: &str, setting: &str) -> String {
        format!("{} --alter --add-config {}", self.topic_settings(topic), quoted(setting))
    }

    /// Takes a setting of its own from a topic, so that the brokers' default applies again.
    pub(crate) fn unset_topic(&self, topic: &str, setting: &str) -> String {
        format!("{} --alter --delete-config {}", self.topic_settings(topic), quoted(setting))
    }

    fn reassign_tool(&self) -> String {
        format!("kafka-reassign-partitions.sh {}", self.at_since((2, 6)))
    }

    /// Moves replicas as a file says.
    pub(crate) fn reassign(&self, file: &str, what: Reassign) -> String {
        let tool = format!("{} --reassignment-json-file {}", self.reassign_tool(), quoted(file));
        match what {
            Reassign::Execute { throttle: Some(limit) } => format!("{tool} --execute --throttle {limit}"),
            Reassign::Execute { throttle: None } => format!("{tool} --execute"),
            Reassign::Verify => format!("{tool} --verify"),
        }
    }

    /// Takes back a reassignment that is under way; there is no such thing below 2.6.
    pub(crate) fn cancel_reassignment(&self, file: &str) -> Option<String> {
        self.has((2, 6)).then(|| format!("{} --reassignment-json-file {} --cancel", self.reassign_tool(), quoted(file)))
    }

    /// The reassignments that are under way.
    pub(crate) fn list_reassignments(&self) -> Option<String> {
        if self.has((2, 6)) {
            Some(format!("{} --list", self.reassign_tool()))
        } else {
            self.zookeeper("get /admin/reassign_partitions")
        }
    }

    fn groups(&self) -> String {
        format!("kafka-consumer-groups.sh {}", self.at())
    }

    /// The groups there are, as far as coordinators tell.
    pub(crate) fn list_groups(&self) -> String {
        format!("{} --list", self.groups())
    }

    /// Committed offsets and lag of a group.
    pub(crate) fn describe_group(&self, group: &str) -> String {
        format!("{} --describe --group {}", self.groups(), quoted(group))
    }

    /// A group's members with what they are assigned (KIP-175, 1.1).
    pub(crate) fn describe_members(&self, group: &str) -> String {
        let wide = if self.has((1, 1)) { " --members --verbose" } else { "" };
        format!("{}{wide}", self.describe_group(group))
    }

    /// A group's state, coordinator and assignor (KIP-175, 1.1).
    pub(crate) fn describe_state(&self, group: &str) -> String {
        let state = if self.has((1, 1)) { " --state" } else { "" };
        format!("{}{state}", self.describe_group(group))
    }

    /// Keeps the committed offsets of some groups, whether or not they have members. As text: a group with members cannot
    /// be exported.
    pub(crate) fn save_offsets<'a>(&self, groups: impl IntoIterator<Item = &'a str>) -> String {
        let names: Vec<_> = groups.into_iter().map(quoted).collect();
        match names.as_slice() {
            [one] => format!("{} --describe --group {one} > offsets-before.txt", self.groups()),
            many => format!(
                "for group in {}; do {} --describe --group \"$group\"; done > offsets-before.txt",
                many.join(" "),
                self.groups()
            ),
        }
    }

    /// Committed offsets and lag of every group there is, one after the other, so that one that does not answer does not
    /// spoil the rest.
    pub(crate) fn describe_all_groups(&self) -> String {
        self.each_group(&format!("{} --describe --group \"$group\"", self.groups()))
    }

    /// The same, kept in a file.
    pub(crate) fn save_all_offsets(&self) -> String {
        format!("{} > offsets-before.txt", self.describe_all_groups())
    }

    /// Exports the committed offsets of every group, none of which may have members, into a file per group.
    pub(crate) fn export_all_offsets(&self) -> String {
        let groups = self.groups();
        self.each_group(&format!(
            "{groups} --group \"$group\" --all-topics --reset-offsets --to-current --dry-run --export > \"offsets-$group.csv\""
        ))
    }

    /// Sets what [`Commands::export_all_offsets`] exported: also of groups that are no longer listed.
    pub(crate) fn import_all_offsets(&self) -> String {
        let groups = self.groups();
        format!(
            "for file in offsets-*.csv; do group=${{file#offsets-}}; {groups} --group \"${{group%.csv}}\" --reset-offsets \
             --from-file \"$file\" --execute; done"
        )
    }

    /// The command must not read what the loop reads.
    fn each_group(&self, command: &str) -> String {
        format!("{} | while IFS= read -r group; do {command} </dev/null; done", self.list_groups())
    }

    /// Exports the committed offsets of a group without members, for `--reset-offsets --from-file` (KIP-122). Changes
    /// nothing.
    pub(crate) fn export_offsets(&self, group: &str, file: &str) -> String {
        let groups = self.groups();
        let group = quoted(group);
        let file = quoted(file);
        format!("{groups} --group {group} --all-topics --reset-offsets --to-current --dry-run --export > {file}")
    }

    /// Sets the committed offsets of a group that has no members, for one topic or for all (KIP-122).
    pub(crate) fn reset_offsets(&self, group: &str, topic: Option<&str>, to: Reset<'_>) -> String {
        let topic = topic.map_or_else(|| "--all-topics".to_owned(), |topic| format!("--topic {}", quoted(topic)));
        let to = match to {
            Reset::ToDatetime(time) => format!("{topic} --reset-offsets --to-datetime {}", quoted(time)),
            Reset::ShiftBy(records) => format!("{topic} --reset-offsets --shift-by {records}"),
        };
        format!("{} --group {} {to} --execute", self.groups(), quoted(group))
    }

    /// Who is the leader of the quorum, and which voters follow it. `None` with ZooKeeper and below 3.3.
    pub(crate) fn quorum_status(&self) -> Option<String> {
        (self.kraft == Some(true) && self.release.is_none_or(|release| release >= (3, 3)))
            .then(|| format!("kafka-metadata-quorum.sh {} describe --status", self.at()))
    }

    /// A command for ZooKeeper's shell; `None` where there is no ZooKeeper, as far as known.
    pub(crate) fn zookeeper(&self, command: &str) -> Option<String> {
        (self.kraft == Some(false)).then(|| format!("zookeeper-shell.sh {ZOOKEEPER} {command}"))
    }

    fn transactions(&self) -> Option<String> {
        self.has((3, 0)).then(|| format!("kafka-transactions.sh {}", self.at()))
    }

    /// Finds transactions that no producer will end, on what a broker leads; `None` below 3.0. The tool passes over those
    /// that are younger than its `--max-transaction-timeout`, in minutes, so it is told `transaction.max.timeout.ms` where
    /// that is not Kafka's default.
    pub(crate) fn find_hanging(&self, broker: BrokerId, max_timeout_ms: i64) -> Option<String> {
        let find = format!("{} find-hanging --broker-id {broker}", self.transactions()?);
        let minutes = max_timeout_ms.max(1).saturating_add(MINUTE_MS - 1) / MINUTE_MS;
        Some(if minutes == HANGING_AFTER_MINUTES {
            find
        } else {
            format!("{find} --max-transaction-timeout {minutes}")
        })
    }

    /// Aborts a transaction that no producer will end, by where it begins; `None` below 3.0.
    pub(crate) fn abort_transaction(&self, topic: &str, partition: PartitionId, start_offset: i64) -> Option<String> {
        let tool = self.transactions()?;
        let topic = quoted(topic);
        Some(format!("{tool} abort --topic {topic} --partition {partition} --start-offset {start_offset}"))
    }

    /// Who writes to a partition, and since where a transaction is open; `None` below 3.0.
    pub(crate) fn describe_producers(&self, topic: &str, partition: PartitionId) -> Option<String> {
        let topic = quoted(topic);
        Some(format!("{} describe-producers --topic {topic} --partition {partition}", self.transactions()?))
    }

    /// Sizes and errors of log directories on some brokers, for one topic.
    pub(crate) fn log_dirs(&self, brokers: &[BrokerId], topic: &str) -> String {
        let brokers: Vec<_> = brokers.iter().map(ToString::to_string).collect();
        let only = if brokers.is_empty() { String::new() } else { format!(" --broker-list {}", brokers.join(",")) };
        format!("kafka-log-dirs.sh {} --describe{only} --topic-list {}", self.at(), quoted(topic))
    }

    /// Whether a broker answers at all at an address.
    pub(crate) fn broker_answers(address: &str) -> String {
        format!("kafka-broker-api-versions.sh --bootstrap-server {}", quoted(address))
    }

    /// Permits Unstuck's principal to do something.
    pub(crate) fn acl(&self, operations: &[&str], resources: &[Resource<'_>]) -> String {
        self.acl_change("--add", operations, resources)
    }

    /// Takes the permission back. Without `--force` the tool asks at a terminal whether it should, and fails where there is
    /// none.
    pub(crate) fn remove_acl(&self, operations: &[&str], resources: &[Resource<'_>]) -> String {
        self.acl_change("--remove --force", operations, resources)
    }

    fn acl_change(&self, change: &str, operations: &[&str], resources: &[Resource<'_>]) -> String {
        let at =
            if self.has((2, 1)) { self.at() } else { format!("--authorizer-properties zookeeper.connect={ZOOKEEPER}") };
        let mut command = format!("kafka-acls.sh {at} {change} --allow-principal {PRINCIPAL}");
        for operation in operations {
            let _ = write!(command, " --operation {operation}");
        }
        for resource in resources {
            let _ = match resource {
                Resource::Cluster => write!(command, " --cluster"),
                Resource::Group(name) => write!(command, " --group {}", quoted(name)),
                Resource::GroupPrefix(name) => {
                    write!(command, " --group {} --resource-pattern-type prefixed", quoted(name))
                }
                Resource::Topic(name) => write!(command, " --topic {}", quoted(name)),
                Resource::TransactionalId(name) => write!(command, " --transactional-id {}", quoted(name)),
            };
        }
        command
    }

    /// Says of a remedy what its command leaves to whoever runs it: an address that brokers do not tell, and a release
    /// that nobody told.
    pub(crate) fn annotate(&self, remedy: &mut Remedy) {
        let Some(command) = &remedy.command else { return };
        let mut says = Vec::new();
        if command.contains(ZOOKEEPER) {
            says.push(format!("{ZOOKEEPER} is replaced by the address that the brokers have as zookeeper.connect"));
        }
        if command.contains(BOOTSTRAP) {
            says.push(format!("{BOOTSTRAP} is replaced by the address of a broker that answers"));
        }
        if command.split_whitespace().any(|word| word == "GROUP") {
            says.push("GROUP is replaced by the id of the group, once for each".to_owned());
        }
        if command.split_whitespace().any(|word| word == TOPIC) {
            says.push(format!("{TOPIC} is replaced by a topic that the group reads, once for each of them"));
        }
        if command.contains(PRINCIPAL) {
            says.push(format!("{PRINCIPAL} is replaced by the principal that Unstuck logs in as"));
            says.push(
                "whoever runs it may change ACLs (ALTER on CLUSTER); --command-config names their login".to_owned(),
            );
        }
        if self.release.is_none() {
            let since = SINCE.iter().filter(|(tool, _)| command.contains(tool)).map(|(_, since)| since).max();
            says.extend(since.map(|(major, minor)| {
                format!("the brokers run Kafka {major}.{minor} or newer (none of them told its release)")
            }));
        }
        for text in says {
            if remedy.preconditions.iter().all(|known| known.text != text) {
                remedy.preconditions.push(Precondition { text, state: Met::NotKnown });
            }
        }
    }
}

impl Election {
    fn word(self) -> &'static str {
        match self {
            Self::Preferred => "preferred",
            Self::Unclean => "unclean",
        }
    }
}

/// A value as one word for a POSIX shell: as it is if it is harmless, else in single quotes.
pub(crate) fn quoted(value: &str) -> std::borrow::Cow<'_, str> {
    let harmless = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,=@+%".contains(&byte);
    // A leading minus would be read as an option by the tool, quoted or not: nothing can be done about that here.
    if !value.is_empty() && value.bytes().all(harmless) {
        value.into()
    } else {
        format!("'{}'", value.replace('\'', r"'\''")).into()
    }
}

/// A string in JSON. Topic names have letters, digits, dots, underscores and dashes only, so nothing else needs more care.
fn json_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests;
