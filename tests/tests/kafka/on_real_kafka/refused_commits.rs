//! A green canary proves reads only: never `working` while commits are refused.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::{GroupId, OFFSETS_TOPIC};
use unstuck_tests::cluster::Cluster;
use unstuck_tests::groups::ids_on_every_partition;
use unstuck_tests::server::{UnstuckServer, brief_lookup};
use unstuck_tests::wait::wait_for;

use super::shared::{kraft_rf3, works};
use super::watch::watch;

/// Until a refusal is noticed: a look a second, its deadline, and a machine that is busy with the brokers.
const NOTICE: Duration = Duration::from_secs(3);

/// One group for each broker that leads something, and all ids.
async fn groups(cluster: &Cluster, prefix: &str) -> Result<(Vec<GroupId>, BTreeMap<i32, GroupId>)> {
    let by_partition = ids_on_every_partition(prefix, 50);
    let ids: Vec<GroupId> = by_partition.values().cloned().collect();
    cluster.commit_for(&ids, "orders").await?;
    let topic = cluster.offsets_topic()?;
    let mut of_leader = BTreeMap::new();
    for (partition, id) in by_partition {
        of_leader.entry(topic[&partition].leader.context("a leader")?).or_insert(id);
    }
    Ok((ids, of_leader))
}

fn set_min_isr(cluster: &Cluster, min_isr: i32) -> Result<()> {
    let setting = format!("min.insync.replicas={min_isr}");
    let args = ["--alter", "--entity-type", "topics", "--entity-name", OFFSETS_TOPIC, "--add-config", &setting];
    cluster.run_class("kafka.admin.ConfigCommand", &args)?;
    Ok(())
}

async fn wait_for_brokers(cluster: &Cluster) -> Result<()> {
    for broker in cluster.broker_ids() {
        cluster.restart_and_wait(broker).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn min_isr_above_the_isr() -> Result<()> {
    let cluster = kraft_rf3().await?;
    let (ids, of_leader) = groups(&cluster, "min-isr").await?;
    let committing: Vec<GroupId> = of_leader.values().cloned().collect();
    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    server.wait_for_status(&ids, Status::Working).await;
    set_min_isr(&cluster, 3)?;
    // Settings are looked at every 15 s.
    server
        .wait_for_report("the new min.insync.replicas to be seen", |report| {
            report.offsets_topic.min_insync_replicas == Some(3)
        })
        .await;

    let watched = watch(&cluster, &server, &ids, &committing, async {
        cluster.kill(2)?;
        wait_for("every group to be shown as not taking commits, with the reason", async || {
            let results = server.lookup(&ids).await.map_err(|error| format!("{error:#}"))?.results;
            let wrong = results.iter().find(|result| {
                works(result.verdict.status) || !result.findings.iter().any(|finding| finding.sentence.contains("min"))
            });
            wrong.map_or(Ok(()), |wrong| Err(brief_lookup(std::slice::from_ref(wrong))))
        })
        .await;
        hold(&server, Duration::from_secs(5)).await
    })
    .await;

    set_min_isr(&cluster, 2)?;
    wait_for_brokers(&cluster).await?;
    let watched = watched?;
    ensure!(
        watched.longest_refusal() > Duration::from_secs(4),
        "commits were refused: {:?}\n{}",
        watched.longest_refusal(),
        watched.summary()
    );
    watched.never_working_while_refused(NOTICE).with_context(|| watched.summary())?;
    server.wait_for_status(&ids, Status::Working).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_follower() -> Result<()> {
    let cluster = kraft_rf3().await?;
    let (ids, of_leader) = groups(&cluster, "follower").await?;
    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    server.wait_for_status(&ids, Status::Working).await;
    let paused = 3;
    let committing: Vec<GroupId> =
        of_leader.iter().filter(|(leader, _)| **leader != paused).map(|(_, group)| group.clone()).collect();

    let watched = watch(&cluster, &server, &ids, &committing, async {
        cluster.pause(paused)?;
        hold(&server, Duration::from_secs(12)).await
    })
    .await;
    cluster.resume(paused)?;
    let watched = watched?;
    watched.never_working_while_refused(NOTICE).with_context(|| watched.summary())?;
    ensure!(!watched.saw(Status::Stuck), "a paused follower leaves nothing stuck:\n{}", watched.summary());
    server.wait_for_status(&ids, Status::Working).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_of_three_quorum_nodes_killed() -> Result<()> {
    let cluster = kraft_rf3().await?;
    let (ids, of_leader) = groups(&cluster, "quorum").await?;
    let survivor = 1;
    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    server.wait_for_status(&ids, Status::Working).await;
    let committing = vec![of_leader[&survivor].clone()];

    let watched = watch(&cluster, &server, &ids, &committing, async {
        cluster.kill(2)?;
        cluster.kill(3)?;
        wait_for("no group to be called working", async || {
            let results = server.lookup(&ids).await.map_err(|error| format!("{error:#}"))?.results;
            let wrong = results.iter().find(|result| works(result.verdict.status));
            wrong.map_or(Ok(()), |wrong| Err(brief_lookup(std::slice::from_ref(wrong))))
        })
        .await;
        hold(&server, Duration::from_secs(12)).await
    })
    .await;
    let report = server.report().await?;
    wait_for_brokers(&cluster).await?;

    let watched = watched?;
    ensure!(
        watched.longest_refusal() > Duration::from_secs(10),
        "commits were refused: {:?}\n{}",
        watched.longest_refusal(),
        watched.summary()
    );
    watched.never_working_while_refused(NOTICE).with_context(|| watched.summary())?;
    let quorum_named = report.findings.iter().any(|finding| finding.sentence.contains("quorum"));
    ensure!(quorum_named, "the lost quorum is named: {:#?}", report.findings);
    server.wait_for_status(&ids, Status::Working).await;
    Ok(())
}

/// Goes on for a while, so that a verdict that comes and goes is caught; returns as soon as the server is gone.
async fn hold(server: &UnstuckServer, time: Duration) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < time {
        ensure!(server.is_running(), "the server ended:\n{}", server.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
