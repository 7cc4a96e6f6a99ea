//! Remedies of reports, carried out as they are offered, for what real brokers cannot be brought into in a test.

use anyhow::{Context, Result, ensure};
use unstuck_drill::serve::Drill;
use unstuck_tests::drills::{Watched, drill, shipped_without_steps};
use unstuck_tests::jars::Release::V4_1_1;
use unstuck_tests::remedies::open;
use unstuck_tests::shell::Shell;

/// A drill of 4.1.1 with six partitions, all with the same replicas in the same order.
fn same_order(name: &str, brokers: &str, replicas: &str) -> Result<Drill> {
    let toml = format!(
        r#"
title = "One order for all"
story = "Somebody wrote the same list of replicas for each partition."
[cluster]
mode = "kraft"
release = "4.1.1"
brokers = {brokers}
session-timeout = "2s"
[topic.__consumer_offsets]
partitions = 6
replicas = {replicas}
[topic.orders]
partitions = 2
[[group]]
id = "worker-{{n}}"
count = 40
offsets = {{ orders = 990 }}
"#
    );
    drill(name, &toml)
}

/// Carries out a reassignment and the election that follows it, until the finding that offered them is gone.
async fn reassigned_and_elected(drill: &Drill, slug: &str, file: &str) -> Result<()> {
    let watched = Watched::start(drill.bootstrap());
    let shell = Shell::of(V4_1_1)?;
    let moved = watched.offered(slug, &[file, "--execute"]).await;
    let then =
        moved.finding.remedies.iter().find(|remedy| {
            remedy.command.as_deref().is_some_and(|command| command.contains("--election-type preferred"))
        });
    shell.carry_out(&moved.remedy).await?;
    shell
        .verify(&moved.remedy, |ran| ran.printed.contains("is complete") && !ran.printed.contains("in progress"))
        .await?;
    if let Some(then) = then {
        shell.carry_out(then).await?;
    }
    watched.until_closed(slug).await;
    watched
        .until("no broker to lead more than its share", |now| {
            let brokers = drill.bootstrap().len();
            let share = now.report.partitions.len().div_ceil(brokers);
            let leads = |id| now.report.partitions.iter().filter(|one| one.leader == Some(id)).count();
            let most = now.report.brokers.iter().map(|one| leads(one.broker)).max().unwrap_or_default();
            if most <= share { Ok(()) } else { Err(format!("{most} instead of {share}")) }
        })
        .await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_makes_one_broker_lead_all_is_changed() -> Result<()> {
    let drill = same_order("skewed", "[1, 2, 3]", "[1, 2, 3]")?;
    reassigned_and_elected(&drill, "leader-skew", "raise-balanced.json").await
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_are_spread_over_brokers_that_hold_none() -> Result<()> {
    let drill = same_order("two-of-five", "[1, 2, 3, 4, 5]", "[1, 2, 3]")?;
    let watched = Watched::start(drill.bootstrap());
    let finding = watched.until_open("few-brokers-hold-all").await;
    ensure!(!finding.remedies.is_empty(), "{finding:#?}");
    drop(watched);
    reassigned_and_elected(&drill, "few-brokers-hold-all", "spread.json").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_that_failed_to_load_moves_to_another_leader() -> Result<()> {
    let drill = shipped_without_steps("load-failed-on-a-healthy-partition")?;
    let watched = Watched::start(drill.bootstrap());
    let slug = "coordinator-failed";
    // Only after a minute is it told from a coordinator that moves.
    let moved = watched.offered(slug, &["--reassignment-json-file", "--execute"]).await;
    let shell = Shell::of(V4_1_1)?;
    shell.look_first(&moved.finding).await?;
    shell.carry_out(&moved.remedy).await?;
    watched.until_closed(slug).await;
    let now = watched.now();
    ensure!(open(&now, "leader-skew").is_none(), "{:#?}", now.report.findings);
    let partition = now.report.partition(13).context("the partition")?;
    ensure!(partition.leader.is_some_and(|leader| leader != 1), "{partition:#?}");
    Ok(())
}
