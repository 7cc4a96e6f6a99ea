//! A browser on `unstuck drill broker-lost`: every page says that it is a drill, and its switches work; findings lead to
//! their chapters, and incidents have links. What is checked: `end2end/drill.test.mjs`, `findings.test.mjs` and
//! `incidents.test.mjs` there.

use anyhow::Result;
use unstuck_tests::browser::npm_run;
use unstuck_tests::server::UnstuckServer;

#[tokio::test(flavor = "multi_thread")]
async fn the_switches_work() -> Result<()> {
    on_a_drill("drill").await
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_lead_to_their_chapters() -> Result<()> {
    on_a_drill("findings").await
}

#[tokio::test(flavor = "multi_thread")]
async fn incidents_have_links() -> Result<()> {
    on_a_drill("incidents").await
}

/// Runs a script against a drill of its own.
async fn on_a_drill(script: &str) -> Result<()> {
    npm_run(script, &UnstuckServer::drill("broker-lost").await?, &[]).await
}
