//! A browser on a healthy cluster: pages come to life, update, and fit. What it checks: `end2end/smoke.test.mjs`.

use anyhow::Result;
use unstuck_diagnosis::report::Status;
use unstuck_tests::browser::npm_run;
use unstuck_tests::server::UnstuckServer;

use super::shared::kraft_rf3;

#[tokio::test(flavor = "multi_thread")]
async fn pages_come_to_life() -> Result<()> {
    let cluster = kraft_rf3().await?;
    cluster.commit_for(&["browsed".into()], "orders").await?;
    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    server.wait_for_status(&["browsed".into()], Status::Working).await;
    npm_run("test", &server, &[]).await
}
