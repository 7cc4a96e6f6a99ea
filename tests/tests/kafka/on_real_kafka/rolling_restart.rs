//! A rolling restart (RF 3, min ISR 2) under a thousand groups and real consumers: `recovering` appears, `stuck` never,
//! and `working` never while nobody serves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::{GroupId, PartitionId, Published};
use unstuck_kafka::ClusterConfig;
use unstuck_tests::cluster::Cluster;
use unstuck_tests::consumers::{RustConsumer, RustProducer, console_consumer};
use unstuck_tests::drills::Watched;
use unstuck_tests::groups::ids_on_every_partition;
use unstuck_tests::observer::{Observed, Observer, Served};
use unstuck_tests::server::{UnstuckServer, brief_lookup};
use unstuck_tests::tether::Tethered;
use unstuck_tests::wait::wait_for;

use super::shared::{kraft_rf3, works};
use super::watch::watch;

/// All groups: real consumers, and those that only have a committed offset.
const GROUPS: usize = 1_000;
/// Consumers of librdkafka, half of them with each protocol.
const CONSUMERS: usize = 24;
/// Partitions of the offsets topic.
const PARTITIONS: i32 = 50;
/// Whoever served nothing for so long must not be called working at the end of it.
const NOBODY: Duration = Duration::from_secs(1);

/// What one published report says.
#[derive(Clone, Debug)]
struct Said {
    observed_at: Timestamp,
    headline: Status,
    partitions: BTreeMap<PartitionId, Status>,
}

impl From<&Published> for Said {
    fn from(published: &Published) -> Self {
        let report = &published.report;
        let partitions = report.partitions.iter().map(|one| (one.partition, one.status)).collect();
        Self { observed_at: report.observed_at, headline: report.headline.status, partitions }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_is_recovering_and_never_stuck() -> Result<()> {
    let cluster = kraft_rf3().await?;
    let consumers = consumers(&cluster)?;
    let on_each: Vec<GroupId> = ids_on_every_partition("rolling", PARTITIONS).into_values().collect();
    let mut simple = on_each.clone();
    let real = consumers.rust.len() + consumers.java.len();
    simple.extend((0..GROUPS - real - on_each.len()).map(|n| GroupId(format!("nightly-{n}"))));
    cluster.commit_for(&simple, "orders").await?;
    let _producer = RustProducer::start(&cluster, "orders", Duration::from_millis(250))?;
    consumers.wait_until_all_go_on().await;

    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    server.wait_for_status(&on_each, Status::Working).await;
    server.wait_for_report("all groups to be known", |report| report.groups.total >= GROUPS).await;
    let reports: Arc<Mutex<Vec<Said>>> = Arc::default();
    let note = Arc::clone(&reports);
    let unstuck = Watched::start_with(ClusterConfig::new("rolling", cluster.addresses()), move |published| {
        note.lock().unwrap_or_else(PoisonError::into_inner).push(published.into());
    });
    unstuck.until_worst(Status::Working).await;
    reports.lock().unwrap_or_else(PoisonError::into_inner).clear();

    let observer = Observer::start(&cluster, PARTITIONS);
    let watched = watch(&cluster, &server, &on_each, &on_each[..6], async {
        for broker in cluster.broker_ids() {
            cluster.stop(broker).await?;
            cluster.restart_and_wait(broker).await?;
            // As an operator does: the next one only when all replicas are in sync again.
            cluster.wait_until_in_sync().await;
        }
        Ok(())
    })
    .await?;
    unstuck.until_worst(Status::Working).await;
    let observed = observer.stop();
    let reports = reports.lock().unwrap_or_else(PoisonError::into_inner).clone();
    judge(&cluster, &observed, &reports)?;

    ensure!(!watched.saw(Status::Stuck), "a rolling restart is no outage:\n{}", watched.summary());
    ensure!(watched.saw(Status::Recovering), "recovering never appeared:\n{}", watched.summary());
    // Kafka takes up to 0.3 s for each move; a refusal that lasts must be noticed within a look and a bit.
    watched.never_working_while_refused(Duration::from_millis(1_500)).with_context(|| watched.summary())?;

    consumers.wait_until_all_go_on().await;
    let every: Vec<GroupId> = simple.iter().chain(consumers.rust.keys()).cloned().collect();
    wait_for("every group to work", async || {
        let results = server.lookup(&every).await.map_err(|error| format!("{error:#}\n{}", server.log()))?.results;
        let other = results.iter().find(|result| !works(result.verdict.status));
        other.map_or(Ok(()), |other| Err(brief_lookup(std::slice::from_ref(other))))
    })
    .await;
    ensure!(server.is_running(), "the server ended:\n{}", server.log());
    Ok(())
}

/// Holds each report against what the observer saw.
fn judge(cluster: &Cluster, observed: &Observed, reports: &[Said]) -> Result<()> {
    let brokers = cluster.broker_ids();
    let (mut judged, mut not_known) = (0, 0);
    for report in reports {
        ensure!(report.headline != Status::Stuck, "stuck at {}\n{}", report.observed_at, timeline(reports, None));
        for (&partition, &status) in &report.partitions {
            let said =
                || format!("partition {partition} at {}\n{}", report.observed_at, timeline(reports, Some(partition)));
            ensure!(status != Status::Stuck, "stuck: {}", said());
            if !works(status) {
                continue;
            }
            judged += 1;
            match observed.served(&brokers, partition, report.observed_at - NOBODY, report.observed_at) {
                Served::Somebody => {}
                Served::NotKnown => not_known += 1,
                Served::Nobody => {
                    anyhow::bail!("{}, though nobody had served it for a second: {}", status.slug(), said())
                }
            }
        }
    }
    let statuses: BTreeSet<Status> = reports.iter().flat_map(|report| report.partitions.values().copied()).collect();
    ensure!(statuses.contains(&Status::Recovering), "recovering was never said: {statuses:?}");
    // The first second lies before the observer's first look.
    ensure!(not_known * 20 < judged, "{not_known} of {judged} could not be judged");
    let gap = observed.longest_gap(PARTITIONS).map(|(partition, from, to)| (partition, to.duration_since(from)));
    println!(
        "{} reports, {} looks, {judged} times working or at risk, {not_known} of them not judged, statuses {statuses:?}, \
         longest without anybody who serves: {gap:?}",
        reports.len(),
        observed.len()
    );
    Ok(())
}

/// When a status changed, of one partition or of the headline.
fn timeline(reports: &[Said], partition: Option<PartitionId>) -> String {
    let mut last = None;
    let mut text = String::new();
    for report in reports {
        let status = match partition {
            Some(partition) => report.partitions.get(&partition).copied(),
            None => Some(report.headline),
        };
        if status != last {
            text += &format!("{}: {status:?}\n", report.observed_at);
            last = status;
        }
    }
    text
}

/// Consumers that commit all the time, by group.
struct Consumers {
    rust: BTreeMap<GroupId, RustConsumer>,
    java: Vec<Tethered>,
}

fn consumers(cluster: &Cluster) -> Result<Consumers> {
    let rust = (0..CONSUMERS).map(|n| {
        let (id, protocol) = (format!("rolling-rust-{n}"), if n % 2 == 0 { "classic" } else { "consumer" });
        Ok((GroupId::from(id.as_str()), RustConsumer::start(cluster, &id, "orders", protocol)?))
    });
    let java = ["classic", "consumer"];
    let java = java.map(|protocol| console_consumer(cluster, &format!("rolling-java-{protocol}"), "orders", protocol));
    Ok(Consumers { rust: rust.collect::<Result<_>>()?, java: java.into_iter().collect::<Result<_>>()? })
}

impl Consumers {
    /// Waits until each has committed something new.
    async fn wait_until_all_go_on(&self) {
        let before: BTreeMap<&GroupId, u64> = self.rust.iter().map(|(id, one)| (id, one.committed())).collect();
        wait_for("all real consumers to go on committing", async || {
            let idle = self.rust.iter().find(|(id, consumer)| consumer.committed() <= before[*id]);
            let ended = self.java.iter().filter(|java| !java.is_running()).count();
            match idle {
                None if ended == 0 => Ok(()),
                idle => Err(format!("{ended} of Java ended, idle: {:?}", idle.map(|(id, _)| id))),
            }
        })
        .await;
    }
}
