//! The harness itself: brokers end with the process that started them, even if that is killed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::tether::is_running;
use unstuck_tests::wait::wait_for;

/// Set in the child of the test below, which then starts a broker, tells its process id, and waits to be killed.
const CHILD: &str = "UNSTUCK_TESTS_BE_KILLED";

#[tokio::test(flavor = "multi_thread")]
async fn brokers_die_with_a_killed_test_process() -> Result<()> {
    let name = "on_real_kafka::harness::brokers_die_with_a_killed_test_process";
    if std::env::var_os(CHILD).is_some() {
        let cluster =
            Cluster::kraft(Options { brokers: 1, offsets_replication_factor: 1, ..Options::default() }).await?;
        println!("\nbroker {} {}", cluster.pid(1).context("it runs")?, cluster.folder().display());
        std::future::pending::<()>().await;
    }
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()?;
    let lines = BufReader::new(child.stdout.take().context("the child's output")?).lines();
    let line =
        lines.map_while(Result::ok).find(|line| line.starts_with("broker ")).context("the child starts a broker")?;
    let mut words = line.split(' ').skip(1);
    let pid: u32 = words.next().context("a process id")?.parse()?;
    let folder = std::path::PathBuf::from(words.next().context("a folder")?);
    assert!(is_running(pid));

    child.kill()?;
    child.wait()?;

    wait_for("the broker to die and its folder to go", async || {
        if is_running(pid) || folder.exists() {
            Err(format!("running {}, folder {}", is_running(pid), folder.exists()))
        } else {
            Ok(())
        }
    })
    .await;
    Ok(())
}
