//! Kafka's own command-line tools, of the releases that the tests fetch, against any cluster.
//!
//! A JVM takes a second to start and most tools less than that to run, so one JVM runs many of them, one after another
//! (`tests/java/KafkaTools.java`). It ends with this process, because its standard input does.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::jars::{Release, java, run_class, workspace_folder};

/// The longest that a tool may run: their own requests give up after 30 to 60 s.
const DEADLINE: Duration = Duration::from_secs(90);

/// A command-line tool, by what its shell script is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// `kafka-topics`.
    Topics,
    /// `kafka-consumer-groups`.
    ConsumerGroups,
    /// `kafka-leader-election`.
    LeaderElection,
    /// `kafka-reassign-partitions`.
    ReassignPartitions,
    /// `kafka-configs`.
    Configs,
    /// `kafka-get-offsets`.
    GetOffsets,
    /// `kafka-log-dirs`.
    LogDirs,
    /// `kafka-metadata-quorum`.
    MetadataQuorum,
    /// `kafka-transactions`.
    Transactions,
    /// `kafka-acls`.
    Acls,
    /// `kafka-broker-api-versions`.
    BrokerApiVersions,
    /// `zookeeper-shell`.
    ZooKeeperShell,
}

impl Tool {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Topics,
        Self::ConsumerGroups,
        Self::LeaderElection,
        Self::ReassignPartitions,
        Self::Configs,
        Self::GetOffsets,
        Self::LogDirs,
        Self::MetadataQuorum,
        Self::Transactions,
        Self::Acls,
        Self::BrokerApiVersions,
        Self::ZooKeeperShell,
    ];

    /// What its script is called.
    #[must_use]
    pub fn script(self) -> &'static str {
        match self {
            Self::Topics => "kafka-topics.sh",
            Self::ConsumerGroups => "kafka-consumer-groups.sh",
            Self::LeaderElection => "kafka-leader-election.sh",
            Self::ReassignPartitions => "kafka-reassign-partitions.sh",
            Self::Configs => "kafka-configs.sh",
            Self::GetOffsets => "kafka-get-offsets.sh",
            Self::LogDirs => "kafka-log-dirs.sh",
            Self::MetadataQuorum => "kafka-metadata-quorum.sh",
            Self::Transactions => "kafka-transactions.sh",
            Self::Acls => "kafka-acls.sh",
            Self::BrokerApiVersions => "kafka-broker-api-versions.sh",
            Self::ZooKeeperShell => "zookeeper-shell.sh",
        }
    }

    /// Whether a release has it.
    #[must_use]
    pub fn is_in(self, release: Release) -> bool {
        match self {
            // KIP-836 and KIP-664.
            Self::MetadataQuorum | Self::Transactions => release != Release::V2_8_2,
            Self::ZooKeeperShell => release != Release::V4_1_1,
            _ => true,
        }
    }

    /// The class that its script starts.
    pub(crate) fn main_class(self, release: Release) -> &'static str {
        // They moved with the modules: KAFKA-14525.
        let old = release == Release::V2_8_2;
        match self {
            Self::Topics if old => "kafka.admin.TopicCommand",
            Self::Topics => "org.apache.kafka.tools.TopicCommand",
            Self::ConsumerGroups if old => "kafka.admin.ConsumerGroupCommand",
            Self::ConsumerGroups => "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
            Self::LeaderElection if old => "kafka.admin.LeaderElectionCommand",
            Self::LeaderElection => "org.apache.kafka.tools.LeaderElectionCommand",
            Self::ReassignPartitions if old => "kafka.admin.ReassignPartitionsCommand",
            Self::ReassignPartitions => "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
            Self::Configs => "kafka.admin.ConfigCommand",
            Self::GetOffsets if old => "kafka.tools.GetOffsetShell",
            Self::GetOffsets => "org.apache.kafka.tools.GetOffsetShell",
            Self::LogDirs if old => "kafka.admin.LogDirsCommand",
            Self::LogDirs => "org.apache.kafka.tools.LogDirsCommand",
            Self::MetadataQuorum => "org.apache.kafka.tools.MetadataQuorumCommand",
            Self::Transactions => "org.apache.kafka.tools.TransactionsCommand",
            Self::Acls if release == Release::V4_1_1 => "org.apache.kafka.tools.AclCommand",
            Self::Acls => "kafka.admin.AclCommand",
            Self::BrokerApiVersions if release == Release::V4_1_1 => "org.apache.kafka.tools.BrokerApiVersionsCommand",
            Self::BrokerApiVersions => "kafka.admin.BrokerApiVersionsCommand",
            Self::ZooKeeperShell => "org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka",
        }
    }
}

/// What became of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Its exit status. `kafka-consumer-groups` exits with 0 whatever happens.
    pub status: i32,
    /// What it printed to standard output.
    pub printed: String,
    /// What it printed to standard error: warnings, stack traces.
    pub errors: String,
}

impl Ran {
    /// The words of each line that begins with these words, whatever the columns' widths.
    #[must_use]
    pub fn rows(&self, first: &[&str]) -> Vec<Vec<&str>> {
        let rows = self.printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        rows.filter(|words| words.starts_with(first)).collect()
    }

    /// Everything printed, for failures.
    #[must_use]
    pub fn all(&self) -> String {
        format!("status {}\n{}{}", self.status, self.printed, self.errors)
    }
}

/// The tools of one release.
#[derive(Debug)]
pub struct Tools {
    release: Release,
    jvm: Mutex<Option<Jvm>>,
}

#[derive(Debug)]
struct Jvm {
    input: ChildStdin,
    answers: Receiver<String>,
    child: Child,
}

impl Drop for Jvm {
    fn drop(&mut self) {
        // It may have ended already.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

impl Tools {
    /// The tools of a release, shared by all tests of a binary.
    #[must_use]
    pub fn of(release: Release) -> &'static Self {
        static V4_1_1: Tools = Tools::new(Release::V4_1_1);
        static V3_9_1: Tools = Tools::new(Release::V3_9_1);
        static V2_8_2: Tools = Tools::new(Release::V2_8_2);
        match release {
            Release::V4_1_1 => &V4_1_1,
            Release::V3_9_1 => &V3_9_1,
            Release::V2_8_2 => &V2_8_2,
        }
    }

    const fn new(release: Release) -> Self {
        Self { release, jvm: Mutex::new(None) }
    }

    /// Their release.
    #[must_use]
    pub fn release(&self) -> Release {
        self.release
    }

    /// Runs a tool with `--bootstrap-server` to its end, whatever its status.
    ///
    /// # Errors
    /// If Java cannot be started, or the tool does not end within 90 s.
    pub async fn run(&'static self, tool: Tool, bootstrap: &str, args: &[&str]) -> Result<Ran> {
        self.run_at(tool, ["--bootstrap-server", bootstrap], args).await
    }

    /// Runs a tool with `--zookeeper` (2.8 is the last release whose tools take it) that must exit with 0.
    ///
    /// # Errors
    /// As [`succeed`](Self::succeed).
    pub async fn succeed_with_zookeeper(&'static self, tool: Tool, zookeeper: &str, args: &[&str]) -> Result<Ran> {
        let ran = self.run_at(tool, ["--zookeeper", zookeeper], args).await?;
        ensure!(ran.status == 0, "{tool:?} {args:?} of {}: {}", self.release.version(), ran.all());
        Ok(ran)
    }

    /// Runs one command in `zookeeper-shell` and returns what it printed. In a JVM of its own, since it ends its JVM.
    ///
    /// # Errors
    /// If Java cannot be started or the shell exits with an error.
    pub async fn zookeeper_shell(&'static self, zookeeper: &str, command: &[&str]) -> Result<String> {
        let args: Vec<String> = ["-server", zookeeper].iter().chain(command).map(|&arg| arg.to_owned()).collect();
        let shell = Tool::ZooKeeperShell.main_class(self.release);
        let ran = tokio::task::spawn_blocking(move || {
            run_class(self.release, shell, &args.iter().map(String::as_str).collect::<Vec<_>>())
        });
        ran.await?
    }

    async fn run_at(&'static self, tool: Tool, at: [&str; 2], args: &[&str]) -> Result<Ran> {
        let mut line = word(tool.main_class(self.release));
        for arg in at.iter().chain(args) {
            line.push(' ');
            line += &word(arg);
        }
        line.push('\n');
        // Blocking, since each test has a runtime of its own and the JVM outlives it.
        let ran = tokio::task::spawn_blocking(move || {
            let mut slot = self.jvm.lock().unwrap_or_else(PoisonError::into_inner);
            let ran = ask(&mut slot, self.release, &line);
            if ran.is_err() {
                // The tool may still be at it: the next run gets another JVM.
                *slot = None;
            }
            ran
        });
        ran.await?.with_context(|| format!("running {tool:?} {args:?} of {}", self.release.version()))
    }

    /// Runs a tool that must exit with 0; returns what it printed.
    ///
    /// # Errors
    /// As [`run`](Self::run), and if it exits with another status; the text has what it printed.
    pub async fn succeed(&'static self, tool: Tool, bootstrap: &str, args: &[&str]) -> Result<Ran> {
        let ran = self.run(tool, bootstrap, args).await?;
        ensure!(ran.status == 0, "{tool:?} {args:?} of {}: {}", self.release.version(), ran.all());
        Ok(ran)
    }
}

fn ask(slot: &mut Option<Jvm>, release: Release, line: &str) -> Result<Ran> {
    if slot.is_none() {
        *slot = Some(start(release)?);
    }
    let jvm = slot.as_mut().context("a JVM")?;
    jvm.input.write_all(line.as_bytes()).context("telling the JVM what to run")?;
    let answer = match jvm.answers.recv_timeout(DEADLINE) {
        Ok(answer) => answer,
        Err(RecvTimeoutError::Timeout) => bail!("it did not end within {} s", DEADLINE.as_secs()),
        Err(RecvTimeoutError::Disconnected) => bail!("the JVM ended"),
    };
    let mut words = answer.split_whitespace();
    let mut next = || words.next().with_context(|| format!("the JVM said {answer:?}"));
    Ok(Ran { status: next()?.parse()?, printed: text(next()?)?, errors: text(next()?)? })
}

fn start(release: Release) -> Result<Jvm> {
    let source = workspace_folder().join("tests/java/KafkaTools.java");
    let mut command: Command = java(release, 192, &source.display().to_string())?;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("starting java")?;
    let input = child.stdin.take().context("the JVM's input")?;
    let output = BufReader::new(child.stdout.take().context("the JVM's output")?);
    let (sender, answers) = channel();
    std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    Ok(Jvm { input, answers, child })
}

fn word(text: &str) -> String {
    text.bytes().fold("x".to_owned(), |word, byte| format!("{word}{byte:02x}"))
}

fn text(word: &str) -> Result<String> {
    let digits = word.strip_prefix('x').context("a word of the JVM")?.as_bytes();
    let bytes: Result<Vec<u8>> =
        digits.chunks(2).map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?)).collect();
    Ok(String::from_utf8_lossy(&bytes?).into_owned())
}
