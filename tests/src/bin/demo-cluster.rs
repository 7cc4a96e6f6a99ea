//! `make run-kafka`: three real Kafka brokers with some groups, and Unstuck looking at them, until Ctrl-C.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::GroupId;
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::consumers::{RustConsumer, produce};
use unstuck_tests::groups::Member;
use unstuck_tests::server::binary;
use unstuck_tests::tether::Tethered;

#[tokio::main]
async fn main() -> Result<()> {
    println!("Starting three Kafka brokers (the first time, Maven fetches Kafka) …");
    // One replica, as clusters have it whose offsets topic was made while a single broker ran: kill one, and groups are stuck.
    let options = Options { offsets_replication_factor: 1, ..Options::default() };
    let cluster = Cluster::kraft(options).await?;
    cluster.make_offsets_topic().await?;
    cluster.create_topic("orders", 6, 3).await?;
    produce(&cluster, "orders", 100)?;
    let simple: Vec<GroupId> = (1..=40).map(|n| GroupId(format!("nightly-report-{n}"))).collect();
    cluster.commit_for(&simple, "orders").await?;
    let mut consumers = Vec::new();
    for (group, protocol) in [("billing", "classic"), ("shipping", "classic"), ("search-index", "consumer")] {
        consumers.push(RustConsumer::start(&cluster, group, "orders", protocol)?);
    }
    let _connect = Member::classic(&cluster, "connect-warehouse", "connect")?;

    let listen = std::env::var("UNSTUCK_LISTEN").unwrap_or_else(|_| "127.0.0.1:8080".to_owned());
    let mut command = Command::new(binary()?);
    command.args(["serve", "--listen", &listen, "--cluster-name", "demo", "--bootstrap-servers", &cluster.bootstrap()]);
    let log = cluster.folder().join("unstuck.txt");
    let server = Tethered::start(&command, &log, None)?;
    wait_until_answering(&server, &listen, &log).await?;

    println!("\n  Unstuck looks at them: http://{listen}\n");
    println!("  Brokers:      {}", cluster.bootstrap());
    for broker in cluster.broker_ids() {
        println!("  Kill broker {broker}: kill -9 {}", cluster.pid(broker).context("it runs")?);
    }
    println!("  Log:          {}", log.display());
    println!("\n  Then look up a group, such as nightly-report-7 or billing. Ctrl-C ends everything.");
    tokio::signal::ctrl_c().await?;
    println!("\nStopping …");
    drop(server);
    Ok(())
}

async fn wait_until_answering(server: &Tethered, listen: &str, log: &std::path::Path) -> Result<()> {
    loop {
        if tokio::net::TcpStream::connect(listen).await.is_ok() && server.is_running() {
            return Ok(());
        }
        ensure!(server.is_running(), "unstuck serve ended: {}", std::fs::read_to_string(log).unwrap_or_default());
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
