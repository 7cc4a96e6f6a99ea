//! Founding incidents 1 and 3: topics with one replica, all of whose partitions are on the broker that dies. Before, the
//! report says who would stop; after, that only bringing it back helps; then the factor is raised as the report offers.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::plan::Wish;
use unstuck_diagnosis::report::{Finding, Status};
use unstuck_diagnosis::{BrokerId, GroupId, OFFSETS_TOPIC, Published};
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::consumers::{RustConsumer, RustProducer};
use unstuck_tests::drills::Watched;
use unstuck_tests::groups::ids_on_every_partition;
use unstuck_tests::jars::Release;
use unstuck_tests::remedies::open;
use unstuck_tests::shell::Shell;
use unstuck_tests::wait::wait_for;

use super::remedies::completed;
use super::shared::works;

const PARTITIONS: usize = 50;
/// The broker that has everything, and dies.
const LOST: BrokerId = 2;

#[tokio::test(flavor = "multi_thread")]
async fn the_only_replicas_are_on_the_broker_that_dies_on_4_1() -> Result<()> {
    the_only_replicas_are_on_the_broker_that_dies(Release::V4_1_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_only_replicas_are_on_the_broker_that_dies_on_3_9() -> Result<()> {
    the_only_replicas_are_on_the_broker_that_dies(Release::V3_9_1).await
}

async fn the_only_replicas_are_on_the_broker_that_dies(release: Release) -> Result<()> {
    let cluster = Cluster::start(release, Options { offsets_replication_factor: 1, ..Options::default() }).await?;
    // As on a cluster that had one broker when its first consumer came.
    cluster.create_topic_on(OFFSETS_TOPIC, &vec![vec![LOST]; PARTITIONS], &[("cleanup.policy", "compact")]).await?;
    cluster.make_offsets_topic().await?;
    // Three replicas protect the records, not the groups; the log of the first incident had one.
    cluster.create_topic("orders", 3, 3).await?;
    cluster.create_topic_on("logs", &[vec![1], vec![LOST], vec![3]], &[]).await?;
    let ids: Vec<GroupId> = ids_on_every_partition("one-broker", 50).into_values().collect();
    cluster.commit_for(&ids, "orders").await?;
    let consumer = RustConsumer::start(&cluster, "one-broker-real", "orders", "classic")?;
    let _producer = RustProducer::start(&cluster, "orders", Duration::from_millis(250))?;
    goes_on(&consumer).await;

    let watched = Watched::start(cluster.addresses());
    watched.until_worst(Status::AtRisk).await;
    is_warned_of(&watched, ids.len() + 1).await?;
    let shell = Shell::of(release)?;

    watched.forget();
    cluster.kill(LOST)?;
    let killed = Instant::now();
    everything_is_stuck(&watched, "leader-lost").await?;
    println!("{}: all stuck {:?} after the kill", release.version(), killed.elapsed());
    let finding = everything_is_stuck(&watched, "no-leader-no-live-replica").await?;
    println!("{}: Kafka says so {:?} after the kill", release.version(), killed.elapsed());
    only_its_return_helps(&finding)?;
    the_log_has_no_leader(&watched).await;
    let refused = cluster.try_commit(&ids[0], "orders", Duration::from_secs(10))?;
    ensure!(refused == 15, "FindCoordinator answered {refused}, not 15 COORDINATOR_NOT_AVAILABLE");

    cluster.restart_and_wait(LOST).await?;
    all_work(&watched).await;
    watched.until_closed("data-partition-without-leader").await;
    goes_on(&consumer).await;
    cluster.commit_for(&ids, "orders").await?;

    raised_and_taken_back(&watched, &shell).await?;
    raised_and_spread(&watched, &shell).await?;
    watched.until_worst(Status::Working).await;
    // What it was raised for: the broker may go.
    watched.forget();
    cluster.kill(LOST)?;
    watched
        .until("all coordinators to be on other brokers", |now| {
            let wrong = now.report.partitions.iter().find(|one| !works(one.status) || one.leader == Some(LOST));
            wrong.map_or(Ok(()), |one| Err(format!("{}: {:?} {:?}", one.partition, one.leader, one.status)))
        })
        .await;
    ensure!(!watched.seen().contains(&Status::Stuck), "{:?} once there were three replicas", watched.seen());
    cluster.commit_for(&ids, "orders").await?;
    goes_on(&consumer).await;
    Ok(())
}

/// The replication factor is raised as the report offers, which closes the warning, and taken back as it offers too.
async fn raised_and_taken_back(watched: &Watched, shell: &Shell) -> Result<()> {
    let raise = watched.offered("replication-factor-1", &["raise.json", "--execute"]).await.remedy;
    shell.carry_out(&raise).await?;
    shell.verify(&raise, |ran| completed(ran) == PARTITIONS).await?;
    watched.until_closed("replication-factor-1").await;
    shell.undo(&raise, "rollback.json").await?;
    watched
        .until("the warning to be back", |now| {
            let partitions = open(now, "replication-factor-1").map_or(0, |finding| finding.partitions.len());
            if partitions == PARTITIONS { Ok(()) } else { Err(partitions) }
        })
        .await;
    Ok(())
}

/// The plan that moves coordinators to the other brokers as well, and the election that follows.
async fn raised_and_spread(watched: &Watched, shell: &Shell) -> Result<()> {
    let plan = watched.until("a plan", |now| now.plan(Wish::RaiseBalanced).map_err(|refused| refused.why)).await;
    shell.carry_out(&plan.remedy).await?;
    shell.verify(&plan.remedy, |ran| completed(ran) == plan.changes.len()).await?;
    let then = plan.then.context("an election follows")?;
    shell.carry_out(&then).await?;
    watched
        .until("every broker to lead a third", |now| {
            let leads = |broker| now.report.partitions.iter().filter(|one| one.leader == Some(broker)).count();
            let leads = [leads(1), leads(2), leads(3)];
            if leads.iter().all(|count| (16..=17).contains(count)) { Ok(()) } else { Err(format!("{leads:?}")) }
        })
        .await;
    watched.until_closed("replication-factor-1").await;
    Ok(())
}

/// The report says before it happens that every group would stop with this broker, and what to do now.
async fn is_warned_of(watched: &Watched, groups: usize) -> Result<()> {
    let said = format!("{groups} groups");
    let finding = watched
        .until("the warning to name all groups", |now| {
            let finding = open(now, "replication-factor-1").ok_or("no such finding".to_owned())?;
            if finding.sentence.contains(&said) { Ok(finding.clone()) } else { Err(finding.sentence.clone()) }
        })
        .await;
    ensure!(finding.partitions.len() == PARTITIONS, "{finding:#?}");
    let evidence: String = finding.evidence.iter().map(|one| one.text.as_str()).collect();
    ensure!(evidence.contains("data topics does not protect groups"), "{evidence}");
    // Who would stop with each broker, said beforehand.
    let said = |broker| {
        watched.until(format!("what stops with broker {broker}"), move |now: &Published| {
            let report = now.report.broker(broker).ok_or("no such broker")?;
            let stops = report.if_it_stops.clone().ok_or("nothing is said")?;
            if stops.data_partitions.is_some() { Ok(stops) } else { Err("data partitions are not known") }
        })
    };
    let stops = said(LOST).await;
    ensure!(stops.loses_leader.partitions.len() == PARTITIONS && stops.loses_leader.groups == groups, "{stops:#?}");
    let named = stops.data_named.iter().map(|one| (one.topic.as_str(), one.partition));
    ensure!(stops.data_partitions == Some(1) && named.eq([("logs", 1)]), "{stops:#?}");
    let other = said(1).await;
    ensure!(other.loses_leader.partitions.is_empty() && other.data_partitions == Some(1), "{other:#?}");
    Ok(())
}

/// Every group is stuck, and says so for this reason.
async fn everything_is_stuck(watched: &Watched, slug: &str) -> Result<Finding> {
    let finding = watched
        .until(format!("every partition to be stuck because of {slug}"), |now| {
            let other = now.report.partitions.iter().find(|one| one.status != Status::Stuck);
            match (other, open(now, slug)) {
                (None, Some(finding)) if finding.partitions.len() == PARTITIONS => Ok(finding.clone()),
                (other, finding) => Err(format!("{other:?} {finding:?}")),
            }
        })
        .await;
    ensure!(finding.brokers == [LOST], "{finding:#?}");
    Ok(finding)
}

/// Starting the broker comes first; what loses commits says so; and nobody is told to delete the topic.
fn only_its_return_helps(finding: &Finding) -> Result<()> {
    ensure!(finding.outlook.as_deref().is_some_and(|text| text.contains("will not heal by itself")), "{finding:#?}");
    let first = finding.remedies.first().context("a remedy")?;
    ensure!(first.title == format!("Start broker {LOST}") && first.danger.is_none(), "{finding:#?}");
    for remedy in &finding.remedies[1..] {
        ensure!(remedy.command.is_none() || remedy.danger.is_some(), "{remedy:#?} comes without its danger");
        let deletes = remedy.command.as_deref().is_some_and(|command| command.contains("--delete"));
        ensure!(!deletes, "{remedy:#?}");
    }
    Ok(())
}

/// The partition of the log that was on the broker is named, and nothing else.
async fn the_log_has_no_leader(watched: &Watched) {
    watched
        .until("the partition of the log to be missed", |now| {
            let finding = open(now, "data-partition-without-leader").ok_or("no such finding")?;
            let evidence: String = finding.evidence.iter().map(|one| format!("{}\n", one.text)).collect();
            let named = finding.sentence.starts_with("1 partition") && evidence.contains("logs-1: replicas [2]");
            let start = finding.remedies.first().is_some_and(|remedy| remedy.title == format!("Start broker {LOST}"));
            if named && start { Ok(()) } else { Err(format!("{finding:#?}")) }
        })
        .await;
}

async fn all_work(watched: &Watched) {
    watched
        .until("all groups to work", |now| {
            let wrong = now.report.partitions.iter().find(|one| !works(one.status));
            wrong.map_or(Ok(()), |one| Err(format!("{}: {:?}", one.partition, one.status)))
        })
        .await;
}

async fn goes_on(consumer: &RustConsumer) {
    let before = consumer.committed();
    wait_for("the real consumer to commit", async || if consumer.committed() > before { Ok(()) } else { Err(before) })
        .await;
}
