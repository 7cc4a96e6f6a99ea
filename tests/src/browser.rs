//! Browsers, driven by the scripts of `end2end/package.json`.

use anyhow::{Context, Result, ensure};

use crate::jars::workspace_folder;
use crate::server::UnstuckServer;

/// Runs a script against a server, with these variables besides `UNSTUCK_URL`.
///
/// # Errors
/// What a browser should see is not there, the server ended, or npm and the script's packages are not installed.
pub async fn npm_run(script: &str, server: &UnstuckServer, variables: &[(&str, &str)]) -> Result<()> {
    let folder = workspace_folder().join("end2end");
    ensure!(folder.join("node_modules").is_dir(), "`make test-browser` installs what the browser test needs");
    let output = tokio::process::Command::new("npm")
        .args(["run", script])
        .current_dir(folder)
        .env("UNSTUCK_URL", server.url())
        .envs(variables.iter().copied())
        .output()
        .await
        .context("starting npm")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{printed}");
    ensure!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    ensure!(server.is_running(), "the server ended:\n{}", server.log());
    Ok(())
}
