//! Remedies typed with the real commands heal a drill as they would heal the cluster.

use anyhow::{Result, ensure};
use unstuck_diagnosis::report::Status;
use unstuck_drill::scenario::action::Action;
use unstuck_tests::drills::{Watched, drill};
use unstuck_tests::jars::Release::{self, V3_9_1, V4_1_1};
use unstuck_tests::tools::{Tool, Tools};
use unstuck_tests::wait::wait_for;

use super::read::on_partition;

/// The state that the second founding incident ended in: no leader, though the in-sync replica 2 is alive.
#[tokio::test(flavor = "multi_thread")]
async fn an_election_gives_a_partition_its_leader_back() -> Result<()> {
    let groups = on_partition(3, 8, 2);
    let toml = format!(
        r#"
title = "No leader, though an in-sync replica is alive"
story = "The controller's memory and ZooKeeper disagree."
[cluster]
mode = "zookeeper"
release = "3.9.1"
brokers = [1, 2, 3]
session-timeout = "2s"
configs = {{ "auto.leader.rebalance.enable" = false }}
[broker.1]
state = "stopped"
[topic.__consumer_offsets]
partitions = 8
replicas = [3, 2]
[[topic.__consumer_offsets.partition]]
id = 3
replicas = [2, 1]
isr = [2]
leader = -1
epoch = 15
[topic.orders]
partitions = 1
replicas = [2]
[[group]]
id = "{}"
members = 1
[[group]]
id = "{}"
offsets = {{ orders = 990 }}
"#,
        groups[0], groups[1]
    );
    let drill = drill("incident-2", &toml)?;
    let watched = Watched::start(drill.bootstrap());
    watched.until_groups(&[&groups[0], &groups[1]], Status::Stuck).await;

    let election = ["--election-type", "preferred", "--topic", "__consumer_offsets", "--partition", "3"];
    let running = drill.bootstrap()[1..].join(",");
    let ran = Tools::of(V3_9_1).succeed(Tool::LeaderElection, &running, &election).await?;
    ensure!(ran.all().contains("Successfully completed leader election"), "{}", ran.all());
    watched
        .until("the groups to be served again", |now| {
            let worst = now.report.partition(3).map(|one| (one.status, one.leader));
            let fine = worst.is_some_and(|(status, leader)| status < Status::Recovering && leader == Some(2));
            if fine { Ok(()) } else { Err(format!("{worst:?}")) }
        })
        .await;
    // Nothing was lost by it.
    let ran = Tools::of(V3_9_1).succeed(Tool::ConsumerGroups, &running, &["--describe", "--group", &groups[1]]).await?;
    ensure!(ran.rows(&[&groups[1], "orders", "0", "990"]).len() == 1, "{}", ran.all());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reassignment_raises_the_replication_factor_with_kraft() -> Result<()> {
    a_reassignment_raises_the_replication_factor("kraft", "4.1.1", V4_1_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reassignment_raises_the_replication_factor_with_zookeeper() -> Result<()> {
    a_reassignment_raises_the_replication_factor("zookeeper", "2.8.2", V3_9_1).await
}

async fn a_reassignment_raises_the_replication_factor(mode: &str, release: &str, tools: Release) -> Result<()> {
    let toml = format!(
        r#"
title = "One replica"
story = "All coordinators are on broker 1."
[cluster]
mode = "{mode}"
release = "{release}"
brokers = [1, 2, 3]
session-timeout = "2s"
{}
[topic.__consumer_offsets]
partitions = 6
replicas = [1]
[topic.orders]
partitions = 2
replicas = [2, 3]
[[group]]
id = "billing"
members = 2
offsets = {{ orders = 990 }}
[[group]]
id = "worker-{{n}}"
count = 40
members = 1
"#,
        if mode == "kraft" { "controllers = [100]" } else { "controller = 2" }
    );
    let drill = drill("one-replica", &toml)?;
    let watched = Watched::start(drill.bootstrap());
    watched.until_worst(Status::AtRisk).await;

    let partitions: Vec<String> = (0..6)
        .map(|n| {
            let replicas = [[1, 2, 3], [2, 3, 1], [3, 1, 2]][n % 3];
            format!(r#"{{"topic":"__consumer_offsets","partition":{n},"replicas":{replicas:?}}}"#)
        })
        .collect();
    let folder = tempfile::tempdir()?;
    let plan = folder.path().join("raise.json");
    std::fs::write(&plan, format!(r#"{{"version":1,"partitions":[{}]}}"#, partitions.join(",")))?;
    let plan = plan.display().to_string();
    let bootstrap = drill.bootstrap().join(",");
    let reassign = async |args: &[&str]| {
        let with_plan = [&["--reassignment-json-file", plan.as_str()], args].concat();
        Tools::of(tools).run(Tool::ReassignPartitions, &bootstrap, &with_plan).await
    };
    let ran = reassign(&["--execute", "--throttle", "50000000"]).await?;
    ensure!(ran.status == 0 && ran.printed.contains("Successfully started partition reassignment"), "{}", ran.all());
    wait_for("the reassignment to be verified as complete", async || {
        let ran = reassign(&["--verify"]).await?;
        let complete = ran.printed.matches("is completed").count() == 6;
        if ran.status == 0 && complete { anyhow::Ok(()) } else { anyhow::bail!(ran.all()) }
    })
    .await;
    // `--verify` also took the throttle away.
    let of_topic = ["--describe", "--entity-type", "topics", "--entity-name", "__consumer_offsets"];
    let ran = Tools::of(tools).succeed(Tool::Configs, &bootstrap, &of_topic).await?;
    ensure!(!ran.printed.contains("throttled"), "{}", ran.all());
    watched.until_worst(Status::Working).await;

    watched.forget();
    drill.act(&Action::Stop(1)).map_err(anyhow::Error::msg)?;
    watched
        .until("all coordinators to be led by others", |now| {
            let wrong = now
                .report
                .partitions
                .iter()
                .find(|one| one.leader.is_none_or(|leader| leader == 1) || one.status >= Status::Recovering);
            wrong.map_or(Ok(()), |one| Err(format!("partition {}: {:?} {:?}", one.partition, one.status, one.leader)))
        })
        .await;
    ensure!(!watched.seen().contains(&Status::Stuck), "{:?}", watched.seen());
    watched.until_groups(&["billing", "worker-1", "worker-40"], Status::Working).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lowered_min_isr_lets_commits_through() -> Result<()> {
    let toml = r#"
title = "Too few in-sync replicas"
story = "Two of three replicas are away, and two must be in sync."
[cluster]
mode = "kraft"
release = "4.1.1"
brokers = [1, 2, 3]
controllers = [100]
session-timeout = "2s"
[broker.3]
state = "stopped"
[topic.__consumer_offsets]
partitions = 4
replicas = [1, 3]
configs = { "min.insync.replicas" = 2 }
[[topic.__consumer_offsets.partition]]
id = "all"
isr = [1]
[topic.orders]
partitions = 1
[[group]]
id = "billing"
members = 2
offsets = { orders = 990 }
"#;
    let drill = drill("below-min-isr", toml)?;
    let watched = Watched::start(drill.bootstrap());
    watched.until_groups(&["billing"], Status::Stuck).await;
    let alter = ["--alter", "--entity-type", "topics", "--entity-name", "__consumer_offsets"];
    let running = drill.bootstrap()[..2].join(",");
    let lower = [&alter[..], &["--add-config", "min.insync.replicas=1"]].concat();
    let ran = Tools::of(V4_1_1).succeed(Tool::Configs, &running, &lower).await?;
    ensure!(ran.printed.contains("Completed updating config"), "{}", ran.all());
    watched.until_groups(&["billing"], Status::AtRisk).await;

    // And back: the tool of the other release takes the setting away, and the default of 1 remains.
    let raise = [&alter[..], &["--add-config", "min.insync.replicas=2"]].concat();
    Tools::of(V3_9_1).succeed(Tool::Configs, &running, &raise).await?;
    watched.until_groups(&["billing"], Status::Stuck).await;
    let delete = [&alter[..], &["--delete-config", "min.insync.replicas"]].concat();
    Tools::of(V3_9_1).succeed(Tool::Configs, &running, &delete).await?;
    watched.until_groups(&["billing"], Status::AtRisk).await;
    Ok(())
}
