//! A browser on `unstuck drill broker-lost`: every page says that it is a drill, and its switches work; findings lead to
//! their chapters, and incidents have links. What is checked: `end2end/drill.test.mjs`, `findings.test.mjs` and
//! `incidents.test.mjs` there.

use anyhow::Result;
use unstuck_tests::server::UnstuckServer;

#[tokio::test(flavor = "multi_thread")]
async fn the_switches_work() -> Result<()> {
    npm_run("drill").await
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_lead_to_their_chapters() -> Result<()> {
    npm_run("findings").await
}

#[tokio::test(flavor = "multi_thread")]
async fn incidents_have_links() -> Result<()> {
    npm_run("incidents").await
}

/// Runs a script against a drill of its own.
async fn npm_run(script: &str) -> Result<()> {
    super::npm_run(script, &UnstuckServer::drill("broker-lost").await?, &[]).await
}
