//! Real consumers on a drill: they join, and hang silently once their coordinator is gone.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::report::Status;
use unstuck_drill::scenario::action::Action;
use unstuck_tests::consumers::{RustConsumer, console_consumer_at};
use unstuck_tests::drills::{Watched, drill};
use unstuck_tests::jars::Release::V4_1_1;
use unstuck_tests::wait::wait_for;

use super::read::on_partition;

#[tokio::test(flavor = "multi_thread")]
async fn join_hang_and_come_back() -> Result<()> {
    let toml = r#"
title = "One replica on broker 2"
story = "Whoever has its coordinator there waits for broker 2."
[cluster]
mode = "kraft"
release = "4.1.1"
brokers = [1, 2, 3]
controllers = [100]
session-timeout = "2s"
[topic.__consumer_offsets]
partitions = 4
replicas = [2]
[topic.orders]
partitions = 3
replicas = [1, 3]
end = 5
"#;
    let drill = drill("consumers", toml)?;
    let watched = Watched::start(drill.bootstrap());
    let (java, rust) = (on_partition(0, 4, 1).remove(0), on_partition(1, 4, 1).remove(0));
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("java.txt");
    let bootstrap = drill.bootstrap().join(",");
    let java_runs = console_consumer_at(V4_1_1, &bootstrap, &log, &java, "orders", "classic")?;
    let _rust_runs = RustConsumer::start_at(&bootstrap, &rust, "orders", "classic")?;
    joined(&watched, &java, &rust).await?;

    drill.act(&Action::Stop(2)).map_err(anyhow::Error::msg)?;
    watched.until_groups(&[&java, &rust], Status::Stuck).await;
    ensure!(java_runs.is_running(), "{}", std::fs::read_to_string(&log)?);

    drill.act(&Action::Start(2)).map_err(anyhow::Error::msg)?;
    joined(&watched, &java, &rust).await?;
    ensure!(java_runs.is_running(), "{}", std::fs::read_to_string(&log)?);
    Ok(())
}

/// Both groups are stable, each with its one member.
async fn joined(watched: &Watched, java: &str, rust: &str) -> Result<()> {
    watched.until_groups(&[java, rust], Status::AtRisk).await;
    for (group, client) in [(java, "console-consumer"), (rust, "rdkafka")] {
        wait_for(format!("the member of {group}"), async || {
            let detail = watched.detail(&GroupId::from(group), Duration::from_secs(3)).await?;
            let member = detail.members.first().context("no member")?;
            let stable = detail.state.as_deref() == Some("Stable") && member.client_id.contains(client);
            ensure!(stable && detail.member_count == 1, "{detail:?}");
            Ok(())
        })
        .await;
    }
    Ok(())
}
