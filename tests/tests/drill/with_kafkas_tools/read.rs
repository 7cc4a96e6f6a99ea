//! What tools read of healthy drills: the right topics, leaders, groups, lags and settings.

use anyhow::{Result, ensure};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::report::Status;
use unstuck_drill::serve::Drill;
use unstuck_tests::drills::{Watched, drill};
use unstuck_tests::jars::Release::{self, V3_9_1, V4_1_1};
use unstuck_tests::tools::{Tool, Tools};

/// Partitions of the offsets topic below; partition n is led by broker n modulo 3 plus 1.
const PARTITIONS: i32 = 10;

fn healthy(mode: &str, release: &str) -> Result<Drill> {
    let toml = format!(
        r#"
title = "All is well"
story = "Nothing is wrong."
[cluster]
mode = "{mode}"
release = "{release}"
brokers = [1, 2, 3]
configs = {{ "offsets.topic.num.partitions" = {PARTITIONS} }}
[topic.__consumer_offsets]
partitions = {PARTITIONS}
replication-factor = 3
[topic.orders]
partitions = 3
replication-factor = 2
end = 1000
configs = {{ "retention.ms" = 86400000 }}
[[group]]
id = "billing"
members = 2
offsets = {{ orders = 990 }}
[[group]]
id = "nightly"
offsets = {{ orders = [500, -1, 1000] }}
"#
    );
    drill(&format!("healthy-{release}"), &toml)
}

#[tokio::test(flavor = "multi_thread")]
async fn of_4_1() -> Result<()> {
    of("kraft", "4.1.1", &[V4_1_1, V3_9_1]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_3_9() -> Result<()> {
    of("kraft", "3.9.1", &[V3_9_1, V4_1_1]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_3_9_with_zookeeper() -> Result<()> {
    of("zookeeper", "3.9.1", &[V3_9_1, V4_1_1]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_2_8() -> Result<()> {
    of("zookeeper", "2.8.2", &[V3_9_1, V4_1_1]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_2_3() -> Result<()> {
    of("zookeeper", "2.3.1", &[V3_9_1, V4_1_1]).await
}

async fn of(mode: &str, release: &str, tools: &[Release]) -> Result<()> {
    let drill = healthy(mode, release)?;
    let watched = Watched::start(drill.bootstrap());
    watched.until_worst(Status::Working).await;
    let bootstrap = drill.bootstrap().join(",");
    for (nth, tools) in tools.iter().enumerate() {
        let tools = Tools::of(*tools);
        topics(tools, &bootstrap).await?;
        settings(tools, &bootstrap).await?;
        others(tools, &bootstrap, mode).await?;
        groups(tools, &bootstrap, 500 + i64::try_from(nth)?).await?;
        ensure!(drill.status().nodes.iter().all(|node| node.state == "running"), "{:?}", drill.status().nodes);
    }
    let ran =
        Tools::of(tools[0]).succeed(Tool::ConsumerGroups, &bootstrap, &["--delete", "--group", "nightly"]).await?;
    ensure!(ran.printed.contains("successful"), "{}", ran.all());
    let ran = Tools::of(tools[0]).succeed(Tool::ConsumerGroups, &bootstrap, &["--list"]).await?;
    ensure!(ran.printed.trim() == "billing", "{}", ran.all());
    watched.until_groups(&["billing"], Status::Working).await;
    Ok(())
}

async fn topics(tools: &'static Tools, bootstrap: &str) -> Result<()> {
    let ran = tools.succeed(Tool::Topics, bootstrap, &["--list"]).await?;
    ensure!(ran.printed.lines().eq(["__consumer_offsets", "orders"]), "{}", ran.all());

    let ran = tools.succeed(Tool::Topics, bootstrap, &["--describe"]).await?;
    ensure!(ran.rows(&["Topic:", "__consumer_offsets", "Partition:"]).len() == 10, "{}", ran.all());
    let of_orders = ["Topic:", "orders", "Partition:"];
    ensure!(ran.rows(&of_orders).len() == 3, "{}", ran.all());
    let third = [&of_orders[..], &["2", "Leader:", "3", "Replicas:", "3,1", "Isr:", "3,1"]].concat();
    ensure!(ran.rows(&third).len() == 1, "{}", ran.all());
    ensure!(ran.printed.contains("retention.ms=86400000"), "{}", ran.all());
    ensure!(ran.printed.contains("cleanup.policy=compact"), "{}", ran.all());

    for only in ["--under-replicated-partitions", "--unavailable-partitions", "--under-min-isr-partitions"] {
        let ran = tools.succeed(Tool::Topics, bootstrap, &["--describe", only]).await?;
        ensure!(ran.printed.trim().is_empty(), "{only}: {}", ran.all());
    }
    let ran = tools.run(Tool::Topics, bootstrap, &["--describe", "--topic", "missing"]).await?;
    ensure!(ran.status == 1 && ran.all().contains("does not exist"), "{}", ran.all());
    Ok(())
}

async fn settings(tools: &'static Tools, bootstrap: &str) -> Result<()> {
    let of_topic = ["--describe", "--entity-type", "topics", "--entity-name", "__consumer_offsets"];
    let ran = tools.succeed(Tool::Configs, bootstrap, &of_topic).await?;
    ensure!(ran.printed.contains("cleanup.policy=compact"), "{}", ran.all());
    let ran = tools.succeed(Tool::Configs, bootstrap, &[&of_topic[..], &["--all"]].concat()).await?;
    ensure!(ran.rows(&["min.insync.replicas=1"]).len() == 1, "{}", ran.all());
    let of_broker = ["--describe", "--entity-type", "brokers", "--entity-name", "2", "--all"];
    let ran = tools.succeed(Tool::Configs, bootstrap, &of_broker).await?;
    ensure!(ran.rows(&["offsets.topic.num.partitions=10"]).len() == 1, "{}", ran.all());
    Ok(())
}

/// Tools that tell more about brokers and logs.
async fn others(tools: &'static Tools, bootstrap: &str, mode: &str) -> Result<()> {
    let ran = tools.succeed(Tool::GetOffsets, bootstrap, &["--topic", "orders"]).await?;
    ensure!(ran.printed.lines().eq(["orders:0:1000", "orders:1:1000", "orders:2:1000"]), "{}", ran.all());
    let ran = tools.succeed(Tool::LogDirs, bootstrap, &["--describe", "--topic-list", "orders"]).await?;
    ensure!(
        ran.printed.contains("\"partition\":\"orders-0\"") && ran.printed.contains("/var/lib/kafka"),
        "{}",
        ran.all()
    );
    if mode == "kraft" {
        let ran = tools.succeed(Tool::MetadataQuorum, bootstrap, &["describe", "--status"]).await?;
        ensure!(ran.rows(&["LeaderId:", "1"]).len() == 1, "{}", ran.all());
    }
    Ok(())
}

/// `committed` is what the group `nightly` has committed in partition 0; one more afterwards.
async fn groups(tools: &'static Tools, bootstrap: &str, committed: i64) -> Result<()> {
    let groups = async |args: &[&str]| tools.succeed(Tool::ConsumerGroups, bootstrap, args).await;
    let ran = groups(&["--list"]).await?;
    let mut listed: Vec<&str> = ran.printed.split_whitespace().collect();
    listed.sort_unstable();
    ensure!(listed == ["billing", "nightly"], "{}", ran.all());

    let ran = groups(&["--describe", "--all-groups"]).await?;
    ensure!(ran.rows(&["billing", "orders", "1", "990", "1000", "10"]).len() == 1, "{}", ran.all());
    let (at, lag) = (committed.to_string(), (1000 - committed).to_string());
    ensure!(ran.rows(&["nightly", "orders", "0", &at, "1000", &lag]).len() == 1, "{}", ran.all());
    ensure!(ran.rows(&["nightly", "orders", "1"]).is_empty(), "{}", ran.all());
    ensure!(ran.rows(&["nightly", "orders", "2", "1000", "1000", "0"]).len() == 1, "{}", ran.all());

    let ran = groups(&["--describe", "--group", "billing", "--members"]).await?;
    ensure!(ran.rows(&["billing"]).len() == 2, "{}", ran.all());
    ensure!(ran.printed.contains("consumer-1") && ran.printed.contains("consumer-2"), "{}", ran.all());
    let ran = groups(&["--describe", "--group", "billing", "--state"]).await?;
    let partition = partition_for(&GroupId::from("billing"), PARTITIONS).unwrap_or(-1);
    let coordinator = format!("({})", partition % 3 + 1);
    let row = ran.rows(&["billing"]).concat();
    ensure!(row.contains(&coordinator.as_str()) && row.contains(&"Stable") && row.contains(&"2"), "{}", ran.all());
    let ran = groups(&["--describe", "--group", "nobody"]).await?;
    ensure!(ran.all().contains("does not exist") || ran.all().contains("not found"), "{}", ran.all());

    let to = (committed + 1).to_string();
    let reset = ["--reset-offsets", "--topic", "orders:0", "--to-offset", &to, "--execute", "--group"];
    let ran = groups(&[&reset[..], &["nightly"]].concat()).await?;
    // A new line is missing between its rows, whose columns are padded.
    let words: Vec<&str> = ran.printed.split_whitespace().collect();
    ensure!(words.ends_with(&["nightly", "orders", "0", &to]), "{}", ran.all());
    let ran = groups(&["--describe", "--group", "nightly"]).await?;
    ensure!(ran.rows(&["nightly", "orders", "0", &to]).len() == 1, "{}", ran.all());
    // Nobody resets or deletes a group under its members.
    let ran = groups(&[&reset[..], &["billing"]].concat()).await?;
    ensure!(ran.all().contains("inactive"), "{}", ran.all());
    let ran = tools.run(Tool::ConsumerGroups, bootstrap, &["--delete", "--group", "billing"]).await?;
    ensure!(ran.all().contains("GroupNotEmpty") || ran.all().contains("not empty"), "{}", ran.all());
    Ok(())
}

/// Ids of so many groups that live on this of so many partitions.
pub(super) fn on_partition(partition: i32, partitions: i32, count: usize) -> Vec<String> {
    let ids = (0..).map(|n| format!("group-{n}"));
    ids.filter(|id| partition_for(&GroupId::from(id.as_str()), partitions) == Some(partition)).take(count).collect()
}
