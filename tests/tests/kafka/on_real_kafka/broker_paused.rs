//! A broker that hangs (SIGSTOP): its connections stand, nothing answers.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::report::{BrokerState, Status};
use unstuck_tests::groups::ids_on_every_partition;
use unstuck_tests::server::UnstuckServer;
use unstuck_tests::wait::wait_for;

use super::shared::{kraft_rf3, statuses, works};

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_broker_is_shown_and_delays_nothing_else() -> Result<()> {
    let cluster = kraft_rf3().await?;
    let ids: Vec<GroupId> = ids_on_every_partition("paused", 50).into_values().collect();
    cluster.commit_for(&ids, "orders").await?;
    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    server.wait_for_status(&ids, Status::Working).await;

    let victim = 1;
    cluster.pause(victim)?;
    let mut slowest = Duration::ZERO;
    wait_for("the broker to be shown as not answering, and all groups to work elsewhere", async || {
        let asked = Instant::now();
        let results = server.lookup(&ids).await.map_err(|error| format!("{error:#}"))?.results;
        slowest = asked.elapsed().max(slowest);
        let report = server.report().await.map_err(|error| format!("{error:#}"))?;
        let broker = report.broker(victim).ok_or("no such broker")?.clone();
        let shown = matches!(broker.state, BrokerState::Late | BrokerState::Hung);
        let moved = results.iter().all(|result| {
            works(result.verdict.status) && result.coordinator.as_ref().is_some_and(|one| one.leader != Some(victim))
        });
        if shown && moved { Ok(()) } else { Err(format!("{broker:#?}\n{:?}", statuses(&results))) }
    })
    .await;
    ensure!(slowest < Duration::from_secs(2), "an answer took {slowest:?} while broker {victim} hung");
    let report = server.report().await?;
    let others_answer = report
        .brokers
        .iter()
        .filter(|broker| broker.broker != victim)
        .all(|broker| broker.state == BrokerState::Answering);
    ensure!(others_answer, "{:#?}", report.brokers);
    let page = server.html(&format!("/c/kafka/b/{victim}")).await?;
    let sentence = &report.broker(victim).context("the hanging broker")?.sentence;
    ensure!(!sentence.contains("answers in"), "{sentence}");
    ensure!(page.contains("answer"), "the page of broker {victim} says that it does not answer");

    cluster.resume(victim)?;
    server
        .wait_for_report("the broker to answer again", |report| {
            report.broker(victim).is_some_and(|broker| broker.state == BrokerState::Answering)
        })
        .await;
    server.wait_for_status(&ids, Status::Working).await;
    ensure!(server.is_running(), "the server ended:\n{}", server.log());
    Ok(())
}
