//! A broker is killed: with one replica its groups are stuck until it is back, with three they recover elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::lookup::{GroupLookup, Lookup};
use unstuck_diagnosis::report::{BrokerState, Status};
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::groups::ids_on_every_partition;
use unstuck_tests::jars::Release;
use unstuck_tests::server::{UnstuckServer, brief_lookup, unstuck};
use unstuck_tests::wait::wait_for;

use super::shared::{rf3, statuses, works};

/// What a person would still call "at once" on a busy machine.
const IN_TIME: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn with_one_replica_exactly_its_groups_are_stuck_on_4_1() -> Result<()> {
    with_one_replica(Release::V4_1_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn with_one_replica_exactly_its_groups_are_stuck_on_3_9() -> Result<()> {
    with_one_replica(Release::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn with_three_replicas_groups_recover_on_the_new_leader_on_4_1() -> Result<()> {
    with_three_replicas(Release::V4_1_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn with_three_replicas_groups_recover_on_the_new_leader_on_3_9() -> Result<()> {
    with_three_replicas(Release::V3_9_1).await
}

async fn with_one_replica(release: Release) -> Result<()> {
    let cluster = Cluster::start(release, Options { offsets_replication_factor: 1, ..Options::default() }).await?;
    cluster.make_offsets_topic().await?;
    cluster.create_topic("orders", 3, 3).await?;
    let by_partition = ids_on_every_partition("one-replica", 50);
    let ids: Vec<GroupId> = by_partition.values().cloned().collect();
    cluster.commit_for(&ids, "orders").await?;

    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    wait_until_all_work(&server, &ids).await;
    wait_for("every group to be listed", async || {
        let results = server.lookup(&ids).await.map_err(|error| format!("{error:#}"))?.results;
        let missing: Vec<_> =
            results.iter().filter(|result| !result.known.listed).map(|one| one.group.clone()).collect();
        if missing.is_empty() { Ok(()) } else { Err(format!("{missing:?}")) }
    })
    .await;

    let victim = 2;
    let topic = cluster.offsets_topic()?;
    let hit: BTreeSet<&GroupId> =
        by_partition.iter().filter(|(partition, _)| topic[partition].replicas == [victim]).map(|(_, id)| id).collect();
    ensure!(hit.len() > 5 && hit.len() < 45, "{} of 50 partitions are on broker {victim}", hit.len());
    cluster.kill(victim)?;

    // First from our own connection's end, then, seconds later, from what Kafka itself says: stuck both times, and nothing else.
    exactly_these_are_stuck(&server, &ids, &hit).await;
    let one = server.lookup_one(hit.first().context("a group that is hit")?).await?;
    ensure!(one.findings.iter().any(|finding| !finding.remedies.is_empty()), "{one:#?}");
    ensure!(one.verdict.sentence.contains("oordinator"), "{:?}", one.verdict);
    let eye = cluster.eye()?;
    wait_for("Kafka to show the partitions without leader", async || {
        let seen = eye.partitions("__consumer_offsets", IN_TIME).map_err(|error| format!("{error:#}"))?;
        let leaderless = seen.values().filter(|partition| partition.leader.is_none()).count();
        if leaderless == hit.len() { Ok(()) } else { Err(format!("{leaderless} without leader")) }
    })
    .await;
    exactly_these_are_stuck(&server, &ids, &hit).await;
    let report =
        server.wait_for_report("the headline to say stuck", |report| report.headline.status == Status::Stuck).await;
    ensure!(report.broker(victim).is_some_and(|broker| broker.state == BrokerState::Gone), "{:#?}", report.brokers);

    named_in_api_page_and_terminal(&cluster, &server, &ids, &hit).await?;

    cluster.restart_and_wait(victim).await?;
    wait_until_all_work(&server, &ids).await;
    ensure!(server.is_running(), "the server ended:\n{}", server.log());
    Ok(())
}

/// The dead broker's groups are stuck, all others work, in one and the same answer, and the answer comes in time.
async fn exactly_these_are_stuck(server: &UnstuckServer, ids: &[GroupId], hit: &BTreeSet<&GroupId>) {
    wait_for("exactly the dead broker's groups to be stuck", async || {
        let asked = Instant::now();
        let results = server.lookup(ids).await.map_err(|error| format!("{error:#}\n{}", server.log()))?.results;
        assert!(asked.elapsed() < IN_TIME, "an answer took {:?}", asked.elapsed());
        let wrong: Vec<_> = results.iter().filter(|result| !as_expected(result, hit)).collect();
        match wrong.first() {
            None => Ok(()),
            Some(first) => Err(format!("{} wrong: {}", wrong.len(), brief_lookup(std::slice::from_ref(first)))),
        }
    })
    .await;
}

fn as_expected(result: &GroupLookup, hit: &BTreeSet<&GroupId>) -> bool {
    if hit.contains(&result.group) { result.verdict.status == Status::Stuck } else { works(result.verdict.status) }
}

async fn named_in_api_page_and_terminal(
    cluster: &Cluster,
    server: &UnstuckServer,
    ids: &[GroupId],
    hit: &BTreeSet<&GroupId>,
) -> Result<()> {
    wait_for("the list of stuck groups to name exactly those", async || {
        let path = "/api/v1/clusters/kafka/groups?state=stuck";
        let listed = server.json(path).await.map_err(|error| format!("{error:#}"))?;
        let groups = listed["groups"].as_array().ok_or("no list of groups")?;
        let named: Option<BTreeSet<&str>> = groups.iter().map(|group| group["group"].as_str()).collect();
        let named = named.ok_or("a group without an id")?;
        if named == hit.iter().map(|id| id.as_str()).collect() { Ok(()) } else { Err(format!("{named:?}")) }
    })
    .await;

    let dashboard = server.html("/c/kafka").await?;
    let shown = hit.iter().filter(|id| dashboard.contains(id.as_str())).count();
    ensure!(shown > 0, "the dashboard names none of the stuck groups");

    // The terminal asks the brokers that are left, without any memory.
    let stuck = *hit.first().context("a group that is hit")?;
    let fine = ids.iter().find(|id| !hit.contains(id)).context("a group that is not hit")?;
    let bootstrap = cluster.running_bootstrap();
    let run = unstuck(&["lookup", "--bootstrap-servers", &bootstrap, stuck.as_str()], "").await?;
    ensure!(run.code == Some(2) && run.stdout.contains("STUCK") && run.stdout.contains("partition"), "{run:?}");
    let run = unstuck(&["lookup", "--bootstrap-servers", &bootstrap, fine.as_str()], "").await?;
    ensure!(run.code.is_some_and(|code| code < 2) && !run.stdout.contains("STUCK"), "{run:?}");
    let run = unstuck(&["lookup", "--server", &server.url(), "--json", "-"], &format!("{stuck}\n{fine}\n")).await?;
    let lookup: Lookup = serde_json::from_str(&run.stdout).with_context(|| format!("{run:?}"))?;
    ensure!(run.code == Some(2) && lookup.results.len() == 2, "{run:?}");
    ensure!(
        lookup.results[0].verdict.since.is_some(),
        "a running server knows since when: {:?}",
        lookup.results[0].verdict
    );
    Ok(())
}

async fn wait_until_all_work(server: &UnstuckServer, ids: &[GroupId]) {
    wait_for("all groups to work", async || {
        let results = server.lookup(ids).await.map_err(|error| format!("{error:#}\n{}", server.log()))?.results;
        match results.iter().find(|result| !works(result.verdict.status)) {
            None => Ok(()),
            Some(other) => Err(brief_lookup(std::slice::from_ref(other))),
        }
    })
    .await;
}

async fn with_three_replicas(release: Release) -> Result<()> {
    let cluster = rf3(release).await?;
    let by_partition = ids_on_every_partition("three-replicas", 50);
    let ids: Vec<GroupId> = by_partition.values().cloned().collect();
    cluster.commit_for(&ids, "orders").await?;
    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    server.wait_for_status(&ids, Status::Working).await;

    let victim = 3;
    let topic = cluster.offsets_topic()?;
    let hit: BTreeSet<&GroupId> = by_partition
        .iter()
        .filter(|(partition, _)| topic[partition].leader == Some(victim))
        .map(|(_, id)| id)
        .collect();
    ensure!(!hit.is_empty(), "broker {victim} leads nothing: {topic:?}");
    cluster.kill(victim)?;

    let mut seen: BTreeMap<GroupId, BTreeSet<Status>> = BTreeMap::new();
    wait_for("all groups to work on other brokers", async || {
        let results = server.lookup(&ids).await.map_err(|error| format!("{error:#}\n{}", server.log()))?.results;
        for result in &results {
            seen.entry(result.group.clone()).or_default().insert(result.verdict.status);
        }
        let recovered = hit.iter().all(|id| seen[*id].contains(&Status::Recovering));
        let moved = results.iter().all(|result| {
            let leader = result.coordinator.as_ref().and_then(|one| one.leader);
            works(result.verdict.status) && leader.is_some_and(|leader| leader != victim)
        });
        if recovered && moved { Ok(()) } else { Err(format!("recovering seen: {recovered}, {:?}", statuses(&results))) }
    })
    .await;
    for (group, statuses) in &seen {
        ensure!(!statuses.contains(&Status::Stuck), "{group} was called stuck: {statuses:?}");
    }

    cluster.restart_and_wait(victim).await?;
    server.wait_for_status(&ids, Status::Working).await;
    ensure!(server.is_running(), "the server ended:\n{}", server.log());
    Ok(())
}
