//! Remedies for committed offsets, carried out as reports offer them on a real broker of 4.1.1: a transaction that nobody
//! ends is aborted, and positions are set where groups lost them or do not get on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::message::Message;
use unstuck_diagnosis::lookup::{GroupTrace, detail_findings};
use unstuck_diagnosis::report::{Finding, Remedy, Risk, Status};
use unstuck_diagnosis::{GroupId, OFFSETS_TOPIC};
use unstuck_kafka::{Cadence, ClusterConfig};
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::consumers::{RustConsumer, produce_to};
use unstuck_tests::drills::Watched;
use unstuck_tests::raw::Connection;
use unstuck_tests::remedies::open;
use unstuck_tests::shell::Shell;
use unstuck_tests::tools::Ran;
use unstuck_tests::wait::wait_for;

/// Partitions of the offsets topic.
const PARTITIONS: i32 = 4;
const TOPIC: &str = "orders";
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest that a transaction may stay open here: Kafka's default is 15 minutes.
const LONGEST_TRANSACTION_MS: i32 = 1_000;
/// The first group by name: the command that sets positions after the topic is gone names it.
const FIRST: &str = "archive";
/// Its position in partition 0 before anything happens.
const POSITION: i64 = 4;

/// A cluster, who looks at it, and where commands are run.
struct Scene {
    cluster: Cluster,
    watched: Watched,
    shell: Shell,
}

#[tokio::test(flavor = "multi_thread")]
async fn each_brings_groups_on() -> Result<()> {
    let options =
        Options { brokers: 1, offsets_replication_factor: 1, offsets_partitions: PARTITIONS, ..Options::default() };
    // Brokers that do not ask the transaction's coordinator take whatever comes late, as those before 3.6 do.
    let options = options.with("transaction.partition.verification.enable", false);
    let options = options.with("transaction.max.timeout.ms", LONGEST_TRANSACTION_MS);
    let cluster = Cluster::kraft(options).await?;
    cluster.make_offsets_topic().await?;
    cluster.create_topic(TOPIC, 2, 1).await?;
    for partition in [0, 1] {
        produce_to(&cluster, TOPIC, partition, 6)?;
    }
    leave_a_transaction_open(&cluster).await?;
    let mut config = ClusterConfig::new("watched", cluster.addresses());
    let second = Duration::from_secs(1);
    config.cadence = Cadence { canaries: second, wide: second, transactions: second, ..Cadence::default() };
    let watched = Watched::start_with(config, |_| ());
    let shell = Shell::of(cluster.release())?.with(" TOPIC ", format!(" {TOPIC} "));
    let scene = Scene { cluster, watched, shell };

    // What takes a minute to be said goes on meanwhile.
    let poisoned = Poisoned::start(&scene.cluster)?;
    let mut trace = GroupTrace::default();
    scene.until_committed(Poisoned::GROUP, 1, 6).await;
    scene.look_at(Poisoned::GROUP, &mut trace).await?;
    for partition in [0, 1] {
        produce_to(&scene.cluster, TOPIC, partition, 2)?;
    }
    scene.a_group_that_is_gone_is_set_by_time().await.context("a group that is gone")?;
    scene.a_hanging_transaction_is_aborted().await.context("a hanging transaction")?;
    scene.a_record_is_skipped(poisoned, &mut trace).await.context("a record in the way")?;
    scene.the_topic_is_deleted_and_positions_are_set().await.context("the topic was deleted")?;
    Ok(())
}

/// A commit inside of a transaction that its coordinator does not know of, for the group [`COPIER`].
async fn leave_a_transaction_open(cluster: &Cluster) -> Result<()> {
    let address = cluster.address(1);
    let producer = wait_for("a producer id", async || {
        let mut connection = Connection::open(&address, PATIENCE)?;
        let found = connection.find_transaction_coordinator(COPIER)?;
        found.map_err(|code| anyhow::anyhow!("FindCoordinator: error {code}"))?;
        let made = connection.init_producer_id(COPIER, LONGEST_TRANSACTION_MS)?;
        made.map_err(|code| anyhow::anyhow!("InitProducerId: error {code}"))
    })
    .await;
    let mut connection = Connection::open(&address, PATIENCE)?;
    let code = connection.commit_in_a_transaction_of_nobody(COPIER, producer, COPIER, (TOPIC, 5))?;
    ensure!(code == 0, "TxnOffsetCommit: error {code}");
    Ok(())
}

/// The group whose offsets are in the transaction, and its transactional id.
const COPIER: &str = "copier";

impl Scene {
    fn describe(&self, group: &str) -> String {
        format!("kafka-consumer-groups.sh --bootstrap-server {} --describe --group {group}", self.cluster.address(1))
    }

    /// The committed offset of a group as Kafka's tool shows it; `None` if there is none.
    async fn committed(&self, group: &str, partition: i32) -> Result<Option<i64>> {
        let ran = self.shell.run(&self.describe(group)).await?;
        position(&ran, group, partition)
    }

    async fn until_committed(&self, group: &str, partition: i32, offset: i64) {
        wait_for(format!("{group} to be at {offset} in partition {partition}"), async || {
            let at = self.committed(group, partition).await?;
            ensure!(at == Some(offset), "{at:?}");
            anyhow::Ok(())
        })
        .await;
    }

    /// What is found inside of a group, compared with earlier looks.
    async fn look_at(&self, group: &str, trace: &mut GroupTrace) -> Result<Vec<Finding>> {
        let id = GroupId::from(group);
        self.watched.until_groups(&[group], Status::Working).await;
        let mut detail = self.watched.detail(&id, PATIENCE).await?;
        trace.compare(&mut detail);
        let now = self.watched.now();
        let found = detail_findings(&now.report, &now.memory, &now.lookup_one(&id), &detail, trace);
        trace.keep(&detail);
        Ok(found)
    }

    /// A position as an application leaves it: the group is listed, and has no members.
    async fn commit(&self, group: &str, offset: i64) -> Result<()> {
        let code = Connection::open(&self.cluster.address(1), PATIENCE)?.commit(group, TOPIC, offset)?;
        ensure!(code == 0, "OffsetCommit: error {code}");
        Ok(())
    }

    async fn until_known(&self, group: &str) {
        self.watched
            .until(format!("{group} to be listed"), |now| {
                let known = now.memory.groups.by_id.contains_key(&GroupId::from(group));
                if known { Ok(()) } else { Err("it is not") }
            })
            .await;
    }

    /// Deleted, as it would be by expiry: its position is set back to when it was last listed, and records that were
    /// written since are read.
    async fn a_group_that_is_gone_is_set_by_time(&self) -> Result<()> {
        let (group, slug) = ("nightly", "offsets-expired");
        self.commit(group, 2).await?;
        let written = Timestamp::now();
        self.watched
            .until(format!("{group} to be listed a while after the last record"), |now| {
                let last = now.memory.groups.by_id.get(&GroupId::from(group)).map(|seen| seen.last_seen);
                // Times in commands are in whole seconds.
                let later = last.is_some_and(|last| last.duration_since(written) > SignedDuration::from_secs(1));
                if later { Ok(()) } else { Err(format!("{last:?}")) }
            })
            .await;
        let address = self.cluster.address(1);
        self.shell
            .succeed(&format!("kafka-consumer-groups.sh --bootstrap-server {address} --delete --group {group}"))
            .await?;
        let offered = self
            .watched
            .until(format!("{slug} to open"), |now| {
                let found = now.lookup_one(&GroupId::from(group)).group_findings;
                let offers = found.iter().find(|one| one.slug == slug).and_then(with_a_command);
                offers.ok_or_else(|| format!("{found:#?}"))
            })
            .await;
        // Written after it was last seen: these have to be read.
        produce_to(&self.cluster, TOPIC, 0, 1)?;
        let ran = self.shell.carry_out(&offered).await?;
        let at = self.committed(group, 0).await?;
        ensure!(at == Some(8), "{at:?} after {}", ran.all());
        self.until_known(group).await;
        self.watched
            .until(format!("{slug} to close"), |now| {
                let found = now.lookup_one(&GroupId::from(group)).group_findings;
                if found.iter().any(|one| one.slug == slug) { Err(format!("{found:#?}")) } else { Ok(()) }
            })
            .await;
        Ok(())
    }

    async fn a_hanging_transaction_is_aborted(&self) -> Result<()> {
        let slug = "hanging-transaction";
        let abort = self.watched.offered(slug, &["kafka-transactions.sh", " abort "]).await;
        let confirm = &abort.finding.remedies[0];
        let ran = self.shell.carry_out(confirm).await?;
        let partition = abort.finding.partitions[0].to_string();
        ensure!(ran.rows(&[OFFSETS_TOPIC, &partition]).len() == 1, "the tool does not confirm it: {}", ran.all());
        // It would say nothing of one that is younger than Kafka's default, were it not told.
        let command = confirm.command.as_deref().context("a command")?;
        let (untold, _) = command.split_once(" --max-transaction-timeout").context("the cluster's own time-out")?;
        let ran = self.shell.succeed(untold).await?;
        ensure!(ran.rows(&[OFFSETS_TOPIC]).is_empty(), "{}", ran.all());
        self.shell.carry_out(&abort.remedy).await?;
        self.shell.verify(&abort.remedy, |ran| ran.printed.contains("None")).await?;
        self.watched.until_closed(slug).await;
        let again = self.shell.carry_out(confirm).await?;
        ensure!(again.rows(&[OFFSETS_TOPIC]).is_empty(), "{}", again.all());
        // What was in it is void.
        ensure!(self.committed(COPIER, 0).await?.is_none(), "the aborted offset counts");
        Ok(())
    }

    async fn a_record_is_skipped(&self, poisoned: Poisoned, trace: &mut GroupTrace) -> Result<()> {
        let (group, slug) = (Poisoned::GROUP, "lag-stands-still");
        self.until_committed(group, 1, 8).await;
        let still = wait_for(format!("{slug} to open"), async || {
            let found = self.look_at(group, trace).await?;
            found.iter().find(|one| one.slug == slug).cloned().with_context(|| format!("{found:#?}"))
        })
        .await;
        let skip = with_a_command(&still).context("a command")?;
        ensure!(skip.title.starts_with("As the last way out, skip the record"), "{still:#?}");
        ensure!(skip.risk == Risk::Loses && skip.danger.is_some(), "{skip:#?}");
        let before = self.committed(group, 0).await?.context("a position")?;

        // The tool refuses while it has members, as the remedy says.
        let ran = self.shell.run(skip.command.as_deref().context("a command")?).await?;
        ensure!(self.committed(group, 0).await? == Some(before), "{}", ran.all());
        drop(poisoned);
        self.shell.carry_out(&skip).await?;
        ensure!(self.committed(group, 0).await? == Some(before + 1), "it was not skipped");
        self.shell.undo(&skip, "--shift-by").await?;
        ensure!(self.committed(group, 0).await? == Some(before), "it was not taken back");
        self.shell.carry_out(&skip).await?;

        let _goes_on = RustConsumer::start(&self.cluster, group, TOPIC, "classic")?;
        self.until_committed(group, 0, 9).await;
        let found = self.look_at(group, trace).await?;
        ensure!(found.iter().all(|one| one.slug != slug), "{found:#?}");
        Ok(())
    }

    async fn the_topic_is_deleted_and_positions_are_set(&self) -> Result<()> {
        let slug = "offsets-topic-missing";
        self.commit(FIRST, POSITION).await?;
        self.until_known(FIRST).await;
        let address = self.cluster.address(1);
        self.shell
            .succeed(&format!("kafka-topics.sh --bootstrap-server {address} --delete --topic {OFFSETS_TOPIC}"))
            .await?;
        let gone = self.watched.offered(slug, &["Then set", "--to-datetime"]).await;
        ensure!(gone.remedy.command.as_deref().is_some_and(|command| command.contains(FIRST)), "{:#?}", gone.remedy);
        // Written after it was gone: these have to be read.
        produce_to(&self.cluster, TOPIC, 0, 3)?;
        ensure!(open(&self.watched.now(), slug).is_some(), "Unstuck has made the topic anew");
        self.shell.carry_out(&gone.remedy).await?;
        self.shell.verify(&gone.remedy, |ran| position(ran, FIRST, 0).is_ok_and(|at| at == Some(9))).await?;
        self.watched.until_closed(slug).await;
        self.watched.until_groups(&[FIRST], Status::Working).await;
        Ok(())
    }
}

/// The first remedy of a finding that changes something by a command.
fn with_a_command(finding: &Finding) -> Option<Remedy> {
    finding.remedies.iter().find(|remedy| remedy.mutates() && remedy.command.is_some()).cloned()
}

/// Where a group is in a partition, as `kafka-consumer-groups.sh --describe` shows it.
fn position(ran: &Ran, group: &str, partition: i32) -> Result<Option<i64>> {
    let rows = ran.rows(&[group, TOPIC, &partition.to_string()]);
    let cell = rows.first().and_then(|row| row.get(3)).filter(|cell| **cell != "-");
    cell.map(|cell| cell.parse().with_context(|| ran.all())).transpose()
}

/// A consumer that commits what it reads in partition 1, and never gets past the first record in partition 0.
struct Poisoned {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Poisoned {
    const GROUP: &'static str = "poisoned";

    fn start(cluster: &Cluster) -> Result<Self> {
        // Where it has stood since somebody committed it.
        let code = Connection::open(&cluster.address(1), PATIENCE)?.commit(Self::GROUP, TOPIC, 3)?;
        ensure!(code == 0, "OffsetCommit: error {code}");
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", cluster.bootstrap()).set("group.id", Self::GROUP);
        config.set("auto.offset.reset", "earliest").set("enable.auto.commit", "false").set("log_level", "0");
        let consumer: BaseConsumer = config.create().context("creating a consumer")?;
        consumer.subscribe(&[TOPIC])?;
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) else { continue };
                if message.partition() == 1 {
                    // A commit that fails is made up for by the next one.
                    let _failed = consumer.commit_message(&message, CommitMode::Sync);
                }
            }
        });
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Poisoned {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}
