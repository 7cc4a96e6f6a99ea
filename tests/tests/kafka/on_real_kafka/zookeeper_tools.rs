//! Tools that talk to ZooKeeper, which no drill can serve: those of 2.8.2, against brokers of 3.9.1 with ZooKeeper.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::{GroupId, OFFSETS_TOPIC, PartitionId, Published};
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::drills::Watched;
use unstuck_tests::groups::ids_on_every_partition;
use unstuck_tests::jars::Release;
use unstuck_tests::tools::{Tool, Tools};
use unstuck_tests::wait::wait_for;

use super::shared::works;

/// Partitions of the offsets topic.
pub(super) const PARTITIONS: i32 = 12;

/// Leader, replicas and in-sync replicas of a partition. The order of the ISR means nothing.
pub(super) type Placed = (Option<i32>, Vec<i32>, BTreeSet<i32>);

pub(super) async fn started(offsets_replication_factor: i32) -> Result<Cluster> {
    let options = Options { offsets_replication_factor, offsets_partitions: PARTITIONS, ..Options::default() };
    // No elections but those that the tests cause.
    let cluster = Cluster::zookeeper(options.with("auto.leader.rebalance.enable", false)).await?;
    cluster.make_offsets_topic().await?;
    cluster.create_topic("orders", 1, 3).await?;
    Ok(cluster)
}

pub(super) fn tools() -> &'static Tools {
    Tools::of(Release::V2_8_2)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reassignment_raises_the_replication_factor() -> Result<()> {
    let cluster = started(1).await?;
    let zookeeper = cluster.zookeeper_address()?;
    let ids: Vec<GroupId> = ids_on_every_partition("raised", PARTITIONS).into_values().collect();
    cluster.commit_for(&ids, "orders").await?;
    let watched = Watched::start(cluster.addresses());
    watched.until_worst(Status::AtRisk).await;
    described_as_shown(&watched, zookeeper, |placed| placed.1.len() == 1).await;

    let rows: Vec<String> = (0..PARTITIONS)
        .zip([[1, 2, 3], [2, 3, 1], [3, 1, 2]].iter().cycle())
        .map(|(partition, replicas)| {
            format!(r#"{{"topic":"{OFFSETS_TOPIC}","partition":{partition},"replicas":{replicas:?}}}"#)
        })
        .collect();
    let plan = cluster.folder().join("raise.json");
    std::fs::write(&plan, format!(r#"{{"version":1,"partitions":[{}]}}"#, rows.join(",")))?;
    let plan = plan.display().to_string();
    let reassign = async |args: &[&str]| {
        let with_plan = [&["--reassignment-json-file", plan.as_str()], args].concat();
        tools().succeed_with_zookeeper(Tool::ReassignPartitions, zookeeper, &with_plan).await
    };
    let ran = reassign(&["--execute", "--throttle", "50000000"]).await?;
    ensure!(ran.printed.contains("Successfully started partition reassignments"), "{}", ran.all());
    let throttled = async || {
        let ran = tools().succeed_with_zookeeper(Tool::Topics, zookeeper, &["--describe"]).await?;
        anyhow::Ok(ran.printed.contains("leader.replication.throttled.replicas="))
    };
    ensure!(throttled().await?, "it is throttled until it is verified");
    wait_for("the reassignment to be verified as complete", async || {
        let ran = reassign(&["--verify"]).await.map_err(|error| format!("{error:#}"))?;
        let complete = ran.printed.lines().filter(|line| line.ends_with("is complete.")).count();
        if complete == rows.len() { Ok(()) } else { Err(ran.all()) }
    })
    .await;
    described_as_shown(&watched, zookeeper, |placed| placed.2.len() == 3).await;
    ensure!(!throttled().await?, "a verified reassignment leaves no throttle");
    watched.until_worst(Status::Working).await;
    ensure!(!watched.seen().contains(&Status::Stuck), "{:?} while it was raised", watched.seen());

    // What it was raised for: any broker may go.
    watched.forget();
    let victim = 2;
    cluster.kill(victim)?;
    watched
        .until("all coordinators to be on other brokers", |now| {
            let wrong = now.report.partitions.iter().find(|one| !works(one.status) || one.leader == Some(victim));
            wrong.map_or(Ok(()), |one| Err(format!("{}: {:?} {:?}", one.partition, one.leader, one.status)))
        })
        .await;
    ensure!(!watched.seen().contains(&Status::Stuck), "{:?} after broker {victim} was killed", watched.seen());
    cluster.commit_for(&ids, "orders").await?;
    described_as_shown(&watched, zookeeper, |placed| placed.2.len() == 2).await;
    Ok(())
}

/// Waits until all partitions are like this, and `kafka-topics --zookeeper` and Unstuck agree on each.
pub(super) async fn described_as_shown(watched: &Watched, zookeeper: &str, like: impl Fn(&Placed) -> bool) {
    wait_for("kafka-topics and Unstuck to show the same", async || {
        watched.look_now();
        let described = described(zookeeper).await.map_err(|error| format!("{error:#}"))?;
        let shown = shown(&watched.now());
        let complete = described.len() == usize::try_from(PARTITIONS).unwrap_or(0) && described.values().all(&like);
        if complete && described == shown { Ok(()) } else { Err(format!("tool {described:?}\nUnstuck {shown:?}")) }
    })
    .await;
}

/// The offsets topic as `kafka-topics --describe` of 2.8.2 prints it.
pub(super) async fn described(zookeeper: &str) -> Result<BTreeMap<PartitionId, Placed>> {
    let args = ["--describe", "--topic", OFFSETS_TOPIC];
    let ran = tools().succeed_with_zookeeper(Tool::Topics, zookeeper, &args).await?;
    let ids = |words: &str| words.split(',').map(|id| Ok(id.parse()?)).collect::<Result<Vec<i32>>>();
    let rows = ran.rows(&["Topic:", OFFSETS_TOPIC, "Partition:"]).into_iter().map(|row| {
        let after = |name: &str| {
            let at = row.iter().position(|word| *word == name).and_then(|at| row.get(at + 1));
            at.copied().with_context(|| format!("{name} in {row:?}"))
        };
        let leader = after("Leader:")?.parse().ok().filter(|id| *id >= 0);
        let isr = ids(after("Isr:")?)?.into_iter().collect();
        Ok((after("Partition:")?.parse()?, (leader, ids(after("Replicas:")?)?, isr)))
    });
    rows.collect()
}

/// The offsets topic as Unstuck shows it.
fn shown(now: &Published) -> BTreeMap<PartitionId, Placed> {
    let all = now.report.partitions.iter();
    all.map(|one| (one.partition, (one.leader, one.replicas.clone(), one.isr.iter().copied().collect()))).collect()
}
