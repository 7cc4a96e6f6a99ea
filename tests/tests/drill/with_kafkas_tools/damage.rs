//! Dangerous commands do their damage to a drill as they would to a cluster.

use anyhow::{Result, ensure};
use unstuck_diagnosis::report::{PlacementProof, Status};
use unstuck_drill::scenario::action::Action;
use unstuck_tests::drills::{Watched, drill, said};
use unstuck_tests::jars::Release::{V3_9_1, V4_1_1};
use unstuck_tests::tools::{Tool, Tools};

use super::read::on_partition;

#[tokio::test(flavor = "multi_thread")]
async fn an_unclean_election_loses_commits() -> Result<()> {
    let lost = &on_partition(2, 4, 1)[0];
    let kept = &on_partition(1, 4, 1)[0];
    let toml = format!(
        r#"
title = "The last in-sync replica is dead"
story = "Broker 2 is a replica, but was not in sync when broker 1 died."
[cluster]
mode = "kraft"
release = "4.1.1"
brokers = [1, 2, 3]
controllers = [100]
session-timeout = "2s"
[topic.__consumer_offsets]
partitions = 4
replicas = [3, 2]
[[topic.__consumer_offsets.partition]]
id = 2
replicas = [1, 2]
isr = [1]
[topic.orders]
partitions = 1
replicas = [3]
[[group]]
id = "{lost}"
offsets = {{ orders = 990 }}
[[group]]
id = "{kept}"
offsets = {{ orders = 980 }}
[[step]]
name = "broker 1 dies"
say = "It dies before broker 2 has caught up."
after = "0s"
do = [{{ stop = 1 }}]
"#
    );
    let drill = drill("unclean", &toml)?;
    let watched = Watched::start(drill.bootstrap());
    watched.until_groups(&[lost], Status::Stuck).await;
    let running = drill.bootstrap()[1..].join(",");
    let tools = Tools::of(V4_1_1);
    let elect = async |kind| {
        let args = ["--election-type", kind, "--topic", "__consumer_offsets", "--partition", "2"];
        tools.run(Tool::LeaderElection, &running, &args).await
    };
    // The harmless kind cannot help.
    let ran = elect("preferred").await?;
    ensure!(ran.status == 1 && ran.all().contains("PreferredLeaderNotAvailable"), "{}", ran.all());
    let ran = elect("unclean").await?;
    ensure!(ran.status == 0 && ran.all().contains("Successfully completed leader election"), "{}", ran.all());
    watched
        .until("the partition to be led by broker 2", |now| {
            let one = now.report.partition(2);
            let served = one.is_some_and(|one| one.leader == Some(2) && one.status < Status::Recovering);
            if served { Ok(()) } else { Err(format!("{:?}", one.map(|one| (one.leader, one.status)))) }
        })
        .await;
    let ran = tools.succeed(Tool::ConsumerGroups, &running, &["--describe", "--group", lost]).await?;
    ensure!(ran.rows(&[lost]).is_empty(), "{}", ran.all());
    let ran = tools.succeed(Tool::ConsumerGroups, &running, &["--describe", "--group", kept]).await?;
    ensure!(ran.rows(&[kept, "orders", "0", "980"]).len() == 1, "{}", ran.all());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_the_offsets_topic_loses_all_groups() -> Result<()> {
    let toml = r#"
title = "Somebody deletes the offsets topic"
story = "To get it with more replicas."
[cluster]
mode = "zookeeper"
release = "3.9.1"
brokers = [1, 2, 3]
configs = { "offsets.topic.num.partitions" = 5, "offsets.topic.replication.factor" = 3 }
[topic.__consumer_offsets]
partitions = 5
replicas = [1]
[topic.orders]
partitions = 1
[[group]]
id = "nightly-{n}"
count = 20
offsets = { orders = 990 }
"#;
    let drill = drill("deleted", toml)?;
    let bootstrap = drill.bootstrap().join(",");
    let watched = Watched::start(drill.bootstrap());
    let tools = Tools::of(V3_9_1);
    watched.until_worst(Status::AtRisk).await;
    let ran = tools.succeed(Tool::ConsumerGroups, &bootstrap, &["--list"]).await?;
    ensure!(ran.printed.lines().count() == 20, "{}", ran.all());

    tools.succeed(Tool::Topics, &bootstrap, &["--delete", "--topic", "__consumer_offsets"]).await?;
    watched
        .until("the topic to be missed", |now| {
            let missed = now.report.findings.iter().any(|finding| finding.slug == "offsets-topic-missing");
            if missed { Ok(()) } else { Err("no such finding") }
        })
        .await;
    // The next tool that asks for a coordinator brings it back, as the settings have it, and empty.
    let ran = tools.run(Tool::ConsumerGroups, &bootstrap, &["--describe", "--group", "nightly-1"]).await?;
    ensure!(ran.rows(&["nightly-1", "orders"]).is_empty(), "{}", ran.all());
    watched
        .until("the new topic to be served", |now| {
            let healthy = now.report.partitions.len() == 5
                && now.report.partitions.iter().all(|one| one.status == Status::Working && one.replicas.len() == 3);
            if healthy { Ok(()) } else { Err(format!("{:?}", now.report.headline)) }
        })
        .await;
    let ran = tools.succeed(Tool::ConsumerGroups, &bootstrap, &["--list"]).await?;
    ensure!(ran.printed.trim().is_empty(), "{}", ran.all());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn more_partitions_make_brokers_hash_differently_once_one_restarts() -> Result<()> {
    let toml = r#"
title = "The offsets topic grows"
story = "Brokers read the number of partitions once, when they start."
[cluster]
mode = "kraft"
release = "4.1.1"
brokers = [1, 2, 3]
controllers = [100]
session-timeout = "2s"
configs = { "offsets.topic.num.partitions" = 4 }
[topic.__consumer_offsets]
partitions = 4
replication-factor = 3
[topic.orders]
partitions = 1
[[group]]
id = "worker-{n}"
count = 30
members = 1
"#;
    let drill = drill("grown", toml)?;
    let bootstrap = drill.bootstrap().join(",");
    let watched = Watched::start(drill.bootstrap());
    watched.until_worst(Status::Working).await;
    let grow = ["--alter", "--topic", "__consumer_offsets", "--partitions", "7"];
    Tools::of(V4_1_1).succeed(Tool::Topics, &bootstrap, &grow).await?;
    for (node, action) in [(false, Action::ShutDown(2)), (true, Action::Start(2))] {
        drill.act(&action).map_err(anyhow::Error::msg)?;
        watched
            .until(format!("broker 2 to answer: {node}"), |now| {
                let trouble = now.snapshot.brokers.get(&2).is_some_and(|sight| sight.contact.trouble.is_none());
                if trouble == node { Ok(()) } else { Err(format!("answers: {trouble}")) }
            })
            .await;
    }
    watched
        .until("the drift to be found", |now| match &now.report.placement {
            PlacementProof::Drift { partition_count: 7, brokers, .. }
                if brokers.get(&1) == Some(&4) && brokers.get(&2) == Some(&7) =>
            {
                Ok(())
            }
            other => Err(format!("{other:?}")),
        })
        .await;
    let answer = watched.lookup("worker-1");
    ensure!(answer.placement.as_ref().is_none_or(|placement| !placement.proven), "{}", said(&answer));
    Ok(())
}
