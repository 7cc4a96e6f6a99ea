//! Partitions are added to the offsets topic while brokers run: they go on using the old count.

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::report::PlacementProof;
use unstuck_diagnosis::{GroupId, OFFSETS_TOPIC};
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::groups::{REQUEST_TIMEOUT, ids_on_every_partition};
use unstuck_tests::raw::Connection;
use unstuck_tests::server::{UnstuckServer, unstuck};
use unstuck_tests::shell::Shell;

#[tokio::test(flavor = "multi_thread")]
async fn placement_is_not_certain_while_brokers_use_another_count() -> Result<()> {
    let options = Options { brokers: 2, offsets_replication_factor: 2, ..Options::default() };
    let cluster = Cluster::kraft(options).await?;
    cluster.make_offsets_topic().await?;
    cluster.create_topic("orders", 1, 2).await?;
    // Groups that live elsewhere by the new count.
    let all: Vec<GroupId> = ids_on_every_partition("drift", 60).into_values().collect();
    let moved = || all.iter().filter(|id| partition_for(id, 50) != partition_for(id, 60));
    let moved: Vec<GroupId> = moved().take(10).cloned().collect();
    let kept: Vec<GroupId> = moved.iter().take(3).cloned().collect();
    cluster.commit_for(&kept, "orders").await?;
    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    server
        .wait_for_report("the placement to be proven for 50 partitions", |report| {
            report.placement == PlacementProof::Certain { partition_count: 50 }
        })
        .await;

    cluster.add_partitions(OFFSETS_TOPIC, 60).await?;
    let report = server
        .wait_for_report("the drift to be noticed", |report| matches!(report.placement, PlacementProof::Drift { .. }))
        .await;
    let PlacementProof::Drift { partition_count, brokers, .. } = &report.placement else {
        anyhow::bail!("{:?}", report.placement)
    };
    ensure!(*partition_count == 60 && brokers.values().all(|count| *count == 50), "{:?}", report.placement);
    ensure!(report.findings.iter().any(|finding| finding.sentence.contains("50")), "{:#?}", report.findings);

    let finding = report.findings.iter().find(|finding| finding.slug == "placement-drift").context("a finding")?;

    // The partition of such a group is never given as certain, and a coordinator that is named is the one that the brokers
    // name.
    for result in server.lookup(&moved).await?.results {
        ensure!(result.placement.as_ref().is_none_or(|placement| !placement.proven), "{:#?}", result.placement);
        ensure!(result.placement_note.is_some(), "{result:#?}");
        let named = Connection::open(&cluster.address(1), REQUEST_TIMEOUT)?.find_coordinator(result.group.as_str())?;
        if let Some(leader) = result.coordinator.as_ref().and_then(|coordinator| coordinator.leader) {
            ensure!(Ok(leader) == named, "{}: {leader}, but brokers name {named:?}", result.group);
        }
    }
    let run = unstuck(&["lookup", "--bootstrap-servers", &cluster.bootstrap(), moved[0].as_str()], "").await?;
    ensure!(run.stdout.contains("50") && run.stdout.contains("60"), "{run:?}");

    // The offsets are kept before any broker restarts, as the report offers.
    let shell = Shell::of(cluster.release())?;
    shell.look_first(finding).await?;

    // Restarted brokers use the new count: certain again.
    for broker in [1, 2] {
        cluster.stop(broker).await?;
        cluster.restart_and_wait(broker).await?;
        cluster.wait_until_in_sync().await;
    }
    // The broker that was restarted first leads everything now, and a single leader proves no count.
    cluster.lead_as_preferred().await;
    server
        .wait_for_report("the placement to be proven for 60 partitions", |report| {
            report.placement == PlacementProof::Certain { partition_count: 60 }
        })
        .await;

    // Groups that moved have lost their offsets, and get them back.
    let offsets = async |group: &GroupId| {
        let command = format!("kafka-consumer-groups.sh --bootstrap-server {} --describe", cluster.address(1));
        let ran = shell.run(&format!("{command} --group {group}")).await?;
        anyhow::Ok(ran.rows(&[group.as_str(), "orders", "0"]).len())
    };
    ensure!(offsets(&kept[0]).await? == 0, "{} has kept its offsets", kept[0]);
    let set = finding.remedies.iter().find(|remedy| remedy.mutates()).context("a remedy")?;
    shell.carry_out(set).await?;
    for group in &kept {
        ensure!(offsets(group).await? == 1, "{group} did not get its offsets back");
    }
    Ok(())
}
