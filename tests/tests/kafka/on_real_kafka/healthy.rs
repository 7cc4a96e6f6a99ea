//! A healthy cluster: every group of every type works, and its coordinator is the one that Kafka's own tools name.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::report::{PlacementProof, Status};
use unstuck_tests::cluster::Cluster;
use unstuck_tests::consumers::{RustConsumer, console_consumer, console_share_consumer, produce};
use unstuck_tests::groups::{Member, REQUEST_TIMEOUT};
use unstuck_tests::jars::Release;
use unstuck_tests::raw::Connection;
use unstuck_tests::server::{UnstuckServer, brief_lookup, unstuck};
use unstuck_tests::wait::wait_for;

use super::shared::{rf3, statuses};

#[tokio::test(flavor = "multi_thread")]
async fn every_group_type_works_on_4_1() -> Result<()> {
    let cluster = rf3(Release::V4_1_1).await?;
    produce(&cluster, "orders", 20)?;
    let _members = (
        RustConsumer::start(&cluster, "rust-consumer", "orders", "consumer")?,
        console_consumer(&cluster, "java-consumer", "orders", "consumer")?,
        console_share_consumer(&cluster, "java-share", "orders")?,
        Member::streams(&cluster, "streams-app", "streams-input")?,
    );
    // Kafka 4.1.1 calls a streams group NotReady until something changes after its first heartbeat: its topic comes.
    cluster.create_topic("streams-input", 1, 3).await?;
    let kinds = [
        ("rust-consumer", "consumer"),
        ("java-consumer", "consumer"),
        ("java-share", "share"),
        ("streams-app", "streams"),
    ];
    every_group_works(&cluster, &kinds).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_group_type_works_on_3_9() -> Result<()> {
    let cluster = rf3(Release::V3_9_1).await?;
    produce(&cluster, "orders", 20)?;
    every_group_works(&cluster, &[]).await
}

async fn every_group_works(cluster: &Cluster, more: &[(&str, &str)]) -> Result<()> {
    let _members = (
        RustConsumer::start(cluster, "rust-classic", "orders", "classic")?,
        console_consumer(cluster, "java-classic", "orders", "classic")?,
        Member::classic(cluster, "connect-cluster", "connect")?,
    );
    cluster.commit_for(&["simple".into()], "orders").await?;
    let mut kinds = BTreeMap::from([
        ("rust-classic", "classic"),
        ("java-classic", "classic"),
        ("connect-cluster", "classic"),
        ("simple", "classic"),
    ]);
    kinds.extend(more.iter().copied());
    let ids: Vec<GroupId> = kinds.keys().map(|id| GroupId::from(*id)).collect();

    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    let lookup = wait_for("every group to be listed and to work", async || {
        let lookup = server.lookup(&ids).await.map_err(|error| format!("{error:#}\n{}", server.log()))?;
        let fine = lookup.results.iter().all(|result| {
            // A consumer that only commits has no members: its coordinator works, and that is all there is to say.
            let memberless = result.group.as_str() == "simple" && result.verdict.status == Status::LookAtGroup;
            let stable = result.known.state.as_deref() == Some("Stable") || result.group.as_str() == "simple";
            (result.verdict.status == Status::Working && stable || memberless) && result.known.listed
        });
        if fine { Ok(lookup) } else { Err(brief_lookup(&lookup.results)) }
    })
    .await;

    // Share groups bring a topic of one copy with them here: that is all that may be said.
    let of_one_copy = ["state-topic-replication-factor", "data-partition-single-copy"];
    let report = wait_for("a report without findings", async || {
        let report = server.report().await?;
        let others: Vec<_> =
            report.findings.iter().filter(|finding| !of_one_copy.contains(&finding.slug.as_str())).collect();
        if others.is_empty() {
            return Ok(report);
        }
        let said = format!("{others:#?}");
        // Said rightly where the machine was so slow that a broker lost its session: its leaderships are given back.
        cluster.lead_as_preferred().await;
        Err(anyhow::anyhow!(said))
    })
    .await;
    ensure!(matches!(report.placement, PlacementProof::Certain { partition_count: 50 }), "{:?}", report.placement);
    ensure!(report.headline.status == Status::Working, "{:?}", report.headline);
    for result in &lookup.results {
        let named = Connection::open(&cluster.address(1), REQUEST_TIMEOUT)?.find_coordinator(result.group.as_str())?;
        let coordinator = result.coordinator.as_ref().context("a coordinator")?;
        ensure!(Ok(coordinator.leader.unwrap_or(-1)) == named, "{}: {coordinator:?}, but {named:?}", result.group);
        ensure!(coordinator.writes_verified, "{}: {coordinator:?}", result.group);
        ensure!(result.placement.as_ref().is_some_and(|placement| placement.proven), "{:?}", result.placement);
        if let Some(told) = &result.known.group_type {
            ensure!(*told == kinds[result.group.as_str()], "{} is of type {told}", result.group);
        }
    }
    // Kafka's own words for those that its consumer tool describes.
    let described = described_by_kafka(cluster, &["rust-classic", "java-classic"])?;
    for (group, coordinator) in described {
        let result = lookup.results.iter().find(|result| result.group.as_str() == group).context("looked up")?;
        ensure!(result.coordinator.as_ref().and_then(|one| one.leader) == Some(coordinator), "{group}: {coordinator}");
    }
    if kinds.contains_key("rust-consumer") {
        let (_, coordinator) = described_by_kafka(cluster, &["rust-consumer"])?.remove(0);
        let result = server.lookup_one(&"rust-consumer".into()).await?;
        ensure!(result.coordinator.and_then(|one| one.leader) == Some(coordinator));
    }

    // The same in the terminal, asked of the brokers themselves, and in the page.
    let mut args = vec!["lookup", "--bootstrap-servers"];
    let bootstrap = cluster.bootstrap();
    args.push(&bootstrap);
    args.extend(kinds.keys().copied());
    let run = unstuck(&args, "").await?;
    ensure!(run.code == Some(0), "{run:?}");
    for id in kinds.keys() {
        ensure!(run.stdout.contains(id), "{run:?}");
        let page = server.html(&format!("/c/kafka/g?group={id}")).await?;
        ensure!(page.contains(id), "the page of {id}");
    }
    ensure!(server.is_running(), "{:?}\n{}", statuses(&lookup.results), server.log());
    Ok(())
}

/// Group and coordinator, as `kafka-consumer-groups.sh --describe --state` prints them.
fn described_by_kafka(cluster: &Cluster, groups: &[&str]) -> Result<Vec<(String, i32)>> {
    let mut args = vec!["--describe", "--state"];
    for group in groups {
        args.extend(["--group", group]);
    }
    let printed = cluster.run_class("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", &args)?;
    let mut described = Vec::new();
    for group in groups {
        let line = printed.lines().find(|line| line.starts_with(group)).with_context(|| printed.clone())?;
        // GROUP  COORDINATOR (ID)  …: the id is in the first parentheses.
        let id = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')).with_context(|| line.to_owned())?.0;
        described.push(((*group).to_owned(), id.parse()?));
    }
    Ok(described)
}
