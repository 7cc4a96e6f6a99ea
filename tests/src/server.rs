//! The program under test: `unstuck serve` or a drill as a process of its own, and its command line.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::lookup::{GroupLookup, Lookup};
use unstuck_diagnosis::report::{Report, Status};

use crate::ports::free_port;
use crate::tether::Tethered;
use crate::wait::wait_for;

/// The binary: `$UNSTUCK_BIN`, or `unstuck` in the target folder that the tests were built into.
///
/// # Errors
/// If it was not built.
pub fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("UNSTUCK_BIN") {
        return Ok(PathBuf::from(path));
    }
    let own = std::env::current_exe()?;
    let found = own.ancestors().skip(1).map(|folder| folder.join("unstuck")).find(|path| path.is_file());
    found.context("the binary under test is not built: `cargo build --workspace` first, or `make test`")
}

/// A running `unstuck serve` or `unstuck drill`. Ends when it is dropped, or when this process ends.
#[derive(Debug)]
pub struct UnstuckServer {
    process: Tethered,
    port: u16,
    client: Client,
    folder: TempDir,
}

impl UnstuckServer {
    /// Starts it for one cluster and waits until it answers (not until it has looked at the cluster).
    ///
    /// # Errors
    /// If it does not start.
    pub async fn start(bootstrap: &str) -> Result<Self> {
        Self::start_with(&["--bootstrap-servers", bootstrap]).await
    }

    /// Starts it with these arguments after `serve --listen …`, and waits until it answers.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn start_with(args: &[&str]) -> Result<Self> {
        Self::start_at(free_port()?, args).await
    }

    /// The same at a port that is known before: `127.0.0.1:PORT`.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn start_at(port: u16, args: &[&str]) -> Result<Self> {
        Self::start_command("serve", port, args, &[]).await
    }

    /// The same with these variables in its environment.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn start_in(environment: &[(&str, String)], args: &[&str]) -> Result<Self> {
        Self::start_command("serve", free_port()?, args, environment).await
    }

    /// Starts a drill and waits until it answers.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn drill(scenario: &str) -> Result<Self> {
        Self::drill_with(&[scenario]).await
    }

    /// Starts a drill with these arguments, and waits until it answers.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn drill_with(args: &[&str]) -> Result<Self> {
        Self::start_command("drill", free_port()?, args, &[]).await
    }

    /// Starts the brokers of a drill, without the app that looks at them, and waits until they accept connections.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn headless_drill(scenario: &str) -> Result<Self> {
        Self::drill_with(&[scenario, "--headless"]).await
    }

    async fn start_command(name: &str, port: u16, args: &[&str], environment: &[(&str, String)]) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("unstuck-server-").tempdir()?;
        let mut command = std::process::Command::new(binary()?);
        // What it keeps goes into its own folder, unless told otherwise.
        command.env("XDG_STATE_HOME", folder.path());
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.args([name, "--listen", &format!("127.0.0.1:{port}")]).args(args);
        let process = Tethered::start(&command, &folder.path().join("log.txt"), None)?;
        let server = Self { process, port, client: client()?, folder };
        let began = Instant::now();
        while server.get("/healthz").await.is_err() {
            ensure!(server.is_running(), "unstuck {name} ended:\n{}", server.log());
            ensure!(began.elapsed() < Duration::from_secs(30), "unstuck {name} does not answer:\n{}", server.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(server)
    }

    /// Where it serves, without a path: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Whether the process that was started still runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.process.is_running()
    }

    /// Sends a signal to it, by name.
    ///
    /// # Errors
    /// If it no longer runs.
    pub fn signal(&self, name: &str) -> Result<()> {
        self.process.signal(name)
    }

    /// What it has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log.txt")).unwrap_or_default()
    }

    /// Its memory, in bytes (resident set).
    ///
    /// # Errors
    /// If it no longer runs.
    pub fn resident_bytes(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
        let kilobytes: u64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
        Ok(kilobytes * 1_024)
    }

    /// GET of a path.
    ///
    /// # Errors
    /// If it does not answer in time.
    pub async fn get(&self, path: &str) -> Result<Response> {
        Ok(self.client.get(format!("{}{path}", self.url())).send().await?)
    }

    /// A request that is still to be sent.
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url()))
    }

    /// GET of a JSON document; anything but 200 is an error.
    ///
    /// # Errors
    /// If it does not answer in time, or otherwise than with JSON.
    pub async fn json(&self, path: &str) -> Result<Value> {
        let response = self.get(path).await?;
        let status = response.status();
        let text = response.text().await?;
        ensure!(status == StatusCode::OK, "GET {path}: {status} {text}");
        serde_json::from_str(&text).with_context(|| format!("GET {path}: {text}"))
    }

    /// GET of a page's HTML; anything but 200 is an error.
    ///
    /// # Errors
    /// If it does not answer in time.
    pub async fn html(&self, path: &str) -> Result<String> {
        let response = self.get(path).await?;
        ensure!(response.status() == StatusCode::OK, "GET {path}: {}", response.status());
        Ok(response.text().await?)
    }

    /// The names of the clusters that it looks at.
    ///
    /// # Errors
    /// If it does not answer as documented.
    pub async fn cluster_names(&self) -> Result<Vec<String>> {
        let clusters = self.json("/api/v1/clusters").await?;
        let list = clusters.as_array().or_else(|| clusters["clusters"].as_array()).context("a list of clusters")?;
        let name = |one: &Value| one["cluster"].as_str().or(one["name"].as_str()).map(str::to_owned);
        list.iter().map(|one| name(one).with_context(|| format!("a cluster without a name: {one}"))).collect()
    }

    /// The name of the only cluster.
    ///
    /// # Errors
    /// If it does not answer as documented.
    pub async fn cluster(&self) -> Result<String> {
        self.cluster_names().await?.into_iter().next().context("no cluster")
    }

    /// The report of the only cluster.
    ///
    /// # Errors
    /// If it does not answer as documented.
    pub async fn report(&self) -> Result<Report> {
        self.report_of(&self.cluster().await?).await
    }

    /// The report of one of several clusters.
    ///
    /// # Errors
    /// If it does not answer as documented.
    pub async fn report_of(&self, cluster: &str) -> Result<Report> {
        let value = self.json(&format!("/api/v1/clusters/{cluster}")).await?;
        serde_json::from_value(value).context("the report of a cluster")
    }

    /// Lookup of some groups, through POST (ids of any length).
    ///
    /// # Errors
    /// If it does not answer as documented.
    pub async fn lookup(&self, groups: &[GroupId]) -> Result<Lookup> {
        self.lookup_in(&self.cluster().await?, groups).await
    }

    /// The same in one of several clusters.
    ///
    /// # Errors
    /// If it does not answer as documented.
    pub async fn lookup_in(&self, cluster: &str, groups: &[GroupId]) -> Result<Lookup> {
        let path = format!("/api/v1/clusters/{cluster}/lookup");
        let response = self.request(Method::POST, &path).json(&serde_json::json!({ "groups": groups })).send().await?;
        let status = response.status();
        let text = response.text().await?;
        ensure!(status == StatusCode::OK, "POST {path}: {status} {text}");
        serde_json::from_str(&text).with_context(|| format!("POST {path}: {text}"))
    }

    /// Lookup of one group.
    ///
    /// # Errors
    /// If it does not answer as documented.
    pub async fn lookup_one(&self, group: &GroupId) -> Result<GroupLookup> {
        self.lookup(std::slice::from_ref(group)).await?.results.into_iter().next().context("one result")
    }

    /// Waits until the report of the only cluster fulfils a condition.
    pub async fn wait_for_report(&self, what: &str, condition: impl Fn(&Report) -> bool) -> Report {
        wait_for(what, async || match self.report().await {
            Ok(report) if condition(&report) => Ok(report),
            Ok(report) => Err(brief(&report)),
            Err(error) => Err(format!("{error:#}\n{}", self.log())),
        })
        .await
    }

    /// Waits until a group in one of several clusters has a status that is wanted, and returns it.
    pub async fn wait_for_group(&self, cluster: &str, group: &GroupId, wanted: impl Fn(Status) -> bool) -> Status {
        wait_for(format!("{group} in {cluster}"), async || {
            let lookup = self.lookup_in(cluster, std::slice::from_ref(group)).await?;
            let verdict = &lookup.results.first().context("a result")?.verdict;
            if wanted(verdict.status) {
                return Ok(verdict.status);
            }
            let report = self.report_of(cluster).await?;
            anyhow::bail!("{}: {}\n{}", verdict.status.slug(), verdict.sentence, brief(&report))
        })
        .await
    }

    /// Waits until all these groups have this status, and returns the answers.
    pub async fn wait_for_status(&self, groups: &[GroupId], status: Status) -> Vec<GroupLookup> {
        let what = format!("{} groups to be {}", groups.len(), status.slug());
        wait_for(what, async || {
            let lookup = self.lookup(groups).await.map_err(|error| format!("{error:#}\n{}", self.log()))?;
            let other = lookup.results.iter().find(|result| result.verdict.status != status);
            match other {
                None => Ok(lookup.results),
                Some(other) => Err(brief_lookup(std::slice::from_ref(other))),
            }
        })
        .await
    }
}

/// What a failed wait prints of a report.
#[must_use]
pub fn brief(report: &Report) -> String {
    let mut text = format!("{:#?}\n", report.headline);
    for broker in &report.brokers {
        text += &format!("broker {}: {:?}, {}\n", broker.broker, broker.state, broker.sentence);
    }
    text += &format!("offsets topic: {:?}, {}\n", report.offsets_topic.presence, report.offsets_topic.sentence);
    text += &format!("placement: {:?}\ngroups: {:?}\n", report.placement, report.groups.by_status);
    for status in Status::WORST_FIRST {
        let with: Vec<_> = report.partitions.iter().filter(|one| one.status == status).collect();
        if let Some(first) = with.first() {
            text += &format!("{} partitions {}: {}\n", with.len(), status.slug(), first.sentence);
        }
    }
    for finding in &report.findings {
        text += &format!("{}: {}\n", finding.slug, finding.sentence);
    }
    for one in &report.could_not_observe {
        text += &format!("could not observe {}: {}\n", one.what, one.why);
    }
    text
}

/// What a failed wait prints of some answers.
#[must_use]
pub fn brief_lookup(results: &[GroupLookup]) -> String {
    let mut text = String::new();
    for result in results {
        let verdict = &result.verdict;
        text += &format!("{}: {}, {}\n", result.group, verdict.status.slug(), verdict.sentence);
        text += &format!("  {}; outlook {:?}\n", result.known.sentence, verdict.outlook);
        if let Some(coordinator) = &result.coordinator {
            text += &format!(
                "  partition {:?}, leader {:?} ({:?}), ISR {:?} of {:?}, live {:?}, shard {:?}, writes verified {}\n",
                result.placement.as_ref().map(|placement| placement.partition),
                coordinator.leader,
                coordinator.leader_sentence,
                coordinator.isr,
                coordinator.replicas,
                coordinator.live_replicas,
                coordinator.shard,
                coordinator.writes_verified,
            );
        }
        for finding in &result.findings {
            text += &format!("  {}: {}\n", finding.slug, finding.sentence);
        }
        for one in &result.could_not_observe {
            text += &format!("  could not observe {}: {}\n", one.what, one.why);
        }
    }
    text
}

/// An HTTP client for tests on loopback.
///
/// # Errors
/// If it cannot be built.
pub fn client() -> Result<Client> {
    // Loopback needs no TLS, but the client wants to know whose it would be. A second call finds it installed.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    Ok(Client::builder().no_proxy().timeout(Duration::from_secs(20)).build()?)
}

/// What a run of the command line came to.
#[derive(Debug)]
pub struct CliRun {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs `unstuck` with these arguments and this standard input to its end.
///
/// # Errors
/// If it cannot be started, or does not end within 60 s.
pub async fn unstuck(args: &[&str], input: &str) -> Result<CliRun> {
    unstuck_in(&[], args, input).await
}

/// The same with these variables in its environment.
///
/// # Errors
/// As [`unstuck`].
pub async fn unstuck_in(environment: &[(&str, String)], args: &[&str], input: &str) -> Result<CliRun> {
    let mut command = tokio::process::Command::new(binary()?);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().context("standard input")?;
    // A program that does not read its input closes it; that is no failure.
    let _closed = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    let output = tokio::time::timeout(Duration::from_secs(60), child.wait_with_output())
        .await
        .with_context(|| format!("unstuck {} did not end within 60 s", args.join(" ")))??;
    Ok(CliRun {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
