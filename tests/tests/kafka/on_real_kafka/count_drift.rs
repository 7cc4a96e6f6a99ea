//! Partitions are added to the offsets topic while brokers run: they go on using the old count.

use anyhow::{Result, ensure};
use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::report::PlacementProof;
use unstuck_diagnosis::{GroupId, OFFSETS_TOPIC};
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::groups::{REQUEST_TIMEOUT, ids_on_every_partition};
use unstuck_tests::raw::Connection;
use unstuck_tests::server::{UnstuckServer, unstuck};

#[tokio::test(flavor = "multi_thread")]
async fn placement_is_not_certain_while_brokers_use_another_count() -> Result<()> {
    let options = Options { brokers: 2, offsets_replication_factor: 2, ..Options::default() };
    let cluster = Cluster::kraft(options).await?;
    cluster.make_offsets_topic().await?;
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

    // A group that lives elsewhere by the new count: its partition is never given as certain, and a coordinator that is
    // named is the one that the brokers name.
    let moved: Vec<GroupId> = ids_on_every_partition("drift", 60)
        .into_values()
        .filter(|id| partition_for(id, 50) != partition_for(id, 60))
        .take(10)
        .collect();
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

    // Restarted brokers use the new count: certain again.
    for broker in [1, 2] {
        cluster.stop(broker).await?;
        cluster.restart_and_wait(broker).await?;
        cluster.wait_until_in_sync().await;
    }
    // The broker that was restarted first leads everything now, and a single leader proves no count.
    let args = ["--election-type", "preferred", "--all-topic-partitions"];
    cluster.run_class("org.apache.kafka.tools.LeaderElectionCommand", &args)?;
    server
        .wait_for_report("the placement to be proven for 60 partitions", |report| {
            report.placement == PlacementProof::Certain { partition_count: 60 }
        })
        .await;
    Ok(())
}
