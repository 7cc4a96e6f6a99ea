//! A cluster that no consumer has used yet: Unstuck says so, and does not create the offsets topic by looking. The command
//! that it offers does.

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::report::{Met, Status, TopicPresence};
use unstuck_diagnosis::{GroupId, OFFSETS_TOPIC};
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::groups::REQUEST_TIMEOUT;
use unstuck_tests::jars::Release;
use unstuck_tests::server::{UnstuckServer, unstuck};
use unstuck_tests::shell::Shell;
use unstuck_tests::wait::wait_for;

#[tokio::test(flavor = "multi_thread")]
async fn looking_does_not_create_the_offsets_topic_on_4_1() -> Result<()> {
    looking_does_not_create_the_offsets_topic(Release::V4_1_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_does_not_create_the_offsets_topic_on_3_9() -> Result<()> {
    looking_does_not_create_the_offsets_topic(Release::V3_9_1).await
}

async fn looking_does_not_create_the_offsets_topic(release: Release) -> Result<()> {
    // One broker, and the factor of three that Kafka comes with: the first consumer will hang.
    let cluster = Cluster::start(release, Options { brokers: 1, ..Options::default() }).await?;
    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    let report = server
        .wait_for_report("the missing offsets topic to be noticed", |report| {
            report.offsets_topic.presence == TopicPresence::Absent && !report.findings.is_empty()
        })
        .await;
    ensure!(!matches!(report.headline.status, Status::Stuck | Status::Recovering), "{:?}", report.headline);
    let finding = report.findings.iter().find(|finding| finding.slug.contains("offsets-topic"));
    ensure!(finding.is_some(), "{:#?}", report.findings);
    let words = format!("{} {:#?}", report.offsets_topic.sentence, report.findings);
    ensure!(words.contains("no consumer") || words.contains("first consumer"), "{words}");
    ensure!(words.contains("offsets.topic.replication.factor"), "a factor of 3 on one broker will hang: {words}");

    // Everything that somebody could look at, and enough rounds for every kind of look.
    let result = server.lookup_one(&"my-group".into()).await?;
    ensure!(!matches!(result.verdict.status, Status::Stuck | Status::Working), "{:?}", result.verdict);
    for path in ["/", "/c/kafka", "/c/kafka/g?group=my-group", "/c/kafka/b/1"] {
        server.html(path).await?;
    }
    for path in ["coordinators", "offsets-topic", "groups", "lookup?group=my-group"] {
        server.json(&format!("/api/v1/clusters/kafka/{path}")).await?;
    }
    let run = unstuck(&["lookup", "--bootstrap-servers", &cluster.bootstrap(), "my-group"], "").await?;
    ensure!(run.code != Some(2) && !run.stdout.contains("STUCK"), "{run:?}");
    let first = report.observed_at;
    wait_for("twenty seconds of looking, wide looks included", async || {
        let now = server.report().await.map_err(|error| format!("{error:#}"))?.observed_at;
        let watched = now.as_millisecond() - first.as_millisecond();
        if watched > 20_000 { Ok(()) } else { Err(format!("{watched} ms")) }
    })
    .await;

    let seen = cluster.eye()?.partitions(OFFSETS_TOPIC, REQUEST_TIMEOUT)?;
    ensure!(seen.is_empty(), "looking has created {OFFSETS_TOPIC} with {} partitions", seen.len());
    create_it_as_offered(&cluster, &server).await?;
    ensure!(server.is_running(), "the server ended:\n{}", server.log());
    Ok(())
}

/// With one broker and a factor of three no consumer would ever create it. The command that is offered does.
async fn create_it_as_offered(cluster: &Cluster, server: &UnstuckServer) -> Result<()> {
    let report = server.report().await?;
    let finding =
        report.findings.iter().find(|finding| finding.slug == "offsets-topic-missing").context("a finding")?;
    let create = finding.remedies.iter().find(|remedy| remedy.mutates()).context("a command")?;
    ensure!(create.title.starts_with("If groups have to work before 3 brokers are live"), "{create:#?}");
    ensure!(create.preconditions.iter().all(|given| given.state == Met::Met), "{create:#?}");
    let shell = Shell::of(cluster.release())?;
    shell.carry_out(create).await?;
    shell.verify(create, |ran| ran.printed.contains("PartitionCount: 50")).await?;
    let report = server
        .wait_for_report("the topic to be seen", |report| {
            report.offsets_topic.presence == TopicPresence::Present && report.offsets_topic.partition_count == Some(50)
        })
        .await;
    ensure!(report.findings.iter().all(|finding| finding.slug != "offsets-topic-missing"), "{:#?}", report.findings);

    // It is the topic that groups need: one commits there and is found.
    cluster.create_topic("orders", 1, 1).await?;
    let group = GroupId::from("my-group");
    cluster.commit_for(std::slice::from_ref(&group), "orders").await?;
    wait_for("the group's coordinator to work", async || {
        let result = server.lookup_one(&group).await.map_err(|error| format!("{error:#}"))?;
        let works = result.known.listed && result.placement.as_ref().is_some_and(|placement| placement.proven);
        if works { Ok(()) } else { Err(format!("{:?} {:?}", result.verdict, result.placement)) }
    })
    .await;
    Ok(())
}
