//! A browser on `unstuck drill broker-lost`: every page says that it is a drill, and its switches work; findings lead to
//! their chapters, and incidents have links. What is checked: `end2end/drill.test.mjs`, `findings.test.mjs` and
//! `incidents.test.mjs` there.

use anyhow::{Context, Result, ensure};
use unstuck_tests::jars::workspace_folder;
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

/// Runs a script of `end2end/package.json` against a drill of its own.
async fn npm_run(script: &str) -> Result<()> {
    let server = UnstuckServer::drill("broker-lost").await?;
    let folder = workspace_folder().join("end2end");
    ensure!(folder.join("node_modules").is_dir(), "`make test-browser` installs what the browser test needs");
    let output = tokio::process::Command::new("npm")
        .args(["run", script])
        .current_dir(folder)
        .env("UNSTUCK_URL", server.url())
        .output()
        .await
        .context("starting npm")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{printed}");
    ensure!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    ensure!(server.is_running(), "the drill ended:\n{}", server.log());
    Ok(())
}
