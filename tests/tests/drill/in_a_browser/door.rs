//! A browser at the door: with tokens (`end2end/access.test.mjs`), and by an identity provider (`end2end/oidc.test.mjs`).

use std::fs;

use anyhow::{Context, Result, ensure};
use unstuck_tests::browser::npm_run;
use unstuck_tests::ports::free_port;
use unstuck_tests::server::{UnstuckServer, unstuck};

/// Makes a token: itself, and the line that is kept of it.
async fn token(name: &str, role: &str) -> Result<(String, String)> {
    let made = unstuck(&["token", "new", "--name", name, "--role", role], "").await?;
    ensure!(made.code == Some(0), "{}", made.stderr);
    let token = made.stderr.split_whitespace().find(|word| word.starts_with("uns")).context("a token")?;
    Ok((token.to_owned(), made.stdout))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_as_much_as_its_line_says() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("tokens").display().to_string();
    let ((viewer, viewers), (editor, editors)) = (token("vera", "viewer").await?, token("ada", "editor").await?);
    fs::write(&file, viewers + &editors)?;
    let server = UnstuckServer::drill_with(&["broker-lost", "--access", "token", "--tokens-file", &file]).await?;
    let variables = [("UNSTUCK_VIEWER", viewer.as_str()), ("UNSTUCK_EDITOR", &editor), ("UNSTUCK_TOKENS_FILE", &file)];
    npm_run("access", &server, &variables).await?;
    for secret in [viewer, editor] {
        ensure!(!server.log().contains(&secret), "the log has a token");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_provider_says_who_comes_in() -> Result<()> {
    const SECRET: &str = "clients-secret-0123456789";
    let folder = tempfile::tempdir()?;
    let (port, provider) = (free_port()?, free_port()?.to_string());
    let (secret, config) = (folder.path().join("secret"), folder.path().join("unstuck.toml"));
    fs::write(&secret, SECRET)?;
    // Nobody has to be at the brokers' address: who comes in is the same.
    let text = format!(
        r#"
        [clusters.production]
        bootstrap_servers = "127.0.0.1:1"
        [access]
        mode = "oidc"
        public_url = "http://127.0.0.1:{port}"
        [access.oidc]
        issuer = "http://127.0.0.1:{provider}"
        client_id = "unstuck"
        client_secret_file = "{}"
        editor_values = ["sre"]
        "#,
        secret.display()
    );
    fs::write(&config, text)?;
    let server = UnstuckServer::start_at(port, &["--config", &config.display().to_string()]).await?;
    npm_run("oidc", &server, &[("UNSTUCK_PROVIDER_PORT", &provider), ("UNSTUCK_CLIENT_SECRET", SECRET)]).await?;
    let log = server.log();
    ensure!(log.contains("logged in") && !log.contains(SECRET), "{log}");
    Ok(())
}
