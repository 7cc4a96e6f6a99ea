//! A browser on a healthy cluster: pages come to life, update, and fit. What it checks: `end2end/smoke.test.mjs`.

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::report::Status;
use unstuck_tests::jars::workspace_folder;
use unstuck_tests::server::UnstuckServer;

use super::shared::kraft_rf3;

#[tokio::test(flavor = "multi_thread")]
async fn pages_come_to_life() -> Result<()> {
    let cluster = kraft_rf3().await?;
    cluster.commit_for(&["browsed".into()], "orders").await?;
    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    server.wait_for_status(&["browsed".into()], Status::Working).await;
    let folder = workspace_folder().join("end2end");
    ensure!(folder.join("node_modules").is_dir(), "`make test-browser` installs what the browser test needs");
    let output = tokio::process::Command::new("npm")
        .arg("test")
        .current_dir(folder)
        .env("UNSTUCK_URL", server.url())
        .output()
        .await
        .context("starting npm")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{printed}");
    ensure!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    ensure!(server.is_running(), "the server ended:\n{}", server.log());
    Ok(())
}
