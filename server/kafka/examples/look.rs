//! Prints what the collector sees: `cargo run -p unstuck-kafka --example look -- localhost:9092 [SECONDS [GROUP]]`.
//! The first settled snapshot as JSON on standard output, and the details of the group as its coordinator tells them;
//! then, for so many seconds, one line per change.

use std::time::{Duration, Instant};

use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::snapshot::Snapshot;
use unstuck_kafka::{ClusterConfig, Collector};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let bootstrap = arguments.next().ok_or("usage: look BOOTSTRAP,… [SECONDS]")?;
    let seconds = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let started = Instant::now();
    let collector = Collector::start(ClusterConfig::new("here", bootstrap.split(',').map(str::to_owned).collect()));
    let mut snapshots = collector.snapshots();
    while !Collector::settled(&snapshots.borrow_and_update()) && started.elapsed() < Duration::from_secs(15) {
        snapshots.changed().await?;
    }
    let snapshot = snapshots.borrow().clone();
    eprintln!("{:?} settled={}", started.elapsed(), Collector::settled(&snapshot));
    println!("{}", serde_json::to_string_pretty(&*snapshot)?);
    if let Some(group) = arguments.next().map(GroupId) {
        let topic = snapshot.brokers.values().find_map(|sight| sight.metadata.known()?.offsets_topic.as_ref());
        let partition = topic.and_then(|topic| partition_for(&group, topic.partitions.len().try_into().ok()?));
        let leader = topic.and_then(|topic| topic.partitions.get(&partition?)?.leader).ok_or("no coordinator")?;
        match collector.group_detail(&group, leader, Duration::from_secs(2)).await {
            Ok(detail) => println!("{}", serde_json::to_string_pretty(&detail)?),
            Err(error) => println!("{error}"),
        }
    }
    let mut last = String::new();
    let mut printed = Instant::now();
    while started.elapsed() < Duration::from_secs(seconds) {
        snapshots.changed().await?;
        let line = line(&snapshots.borrow_and_update());
        if line != last {
            eprintln!("{:8.3} (+{:.3}) {line}", started.elapsed().as_secs_f64(), printed.elapsed().as_secs_f64());
            printed = Instant::now();
            last = line;
        }
    }
    collector.shutdown().await;
    Ok(())
}

/// Trouble, leaders, canary codes, placement and quorum of each broker, in one line.
fn line(snapshot: &Snapshot) -> String {
    let mut parts = Vec::new();
    for (id, sight) in &snapshot.brokers {
        let state = sight.contact.trouble.as_ref().map_or("ok".to_owned(), |trouble| trouble.why.to_string());
        let partitions =
            sight.metadata.known().and_then(|view| view.offsets_topic.as_ref()).map(|topic| &topic.partitions);
        let leaderless = partitions.map(|all| all.values().filter(|one| one.leader.is_none()).count());
        let mut codes = std::collections::BTreeMap::<i16, usize>::new();
        for canary in sight.canaries.values() {
            *codes.entry(canary.code).or_default() += 1;
        }
        let groups = sight.groups.known().map(|listing| listing.groups.len());
        let quorum = sight.quorum.known().map(|quorum| quorum.leader);
        let coordinators =
            sight.coordinators.known().map(|answers| answers.answers.values().filter(|one| one.is_ok()).count());
        let elr = sight.elr.known().map(std::collections::BTreeMap::len);
        parts.push(format!(
            "{id}:{state}{} leaderless={leaderless:?} canaries={codes:?} groups={groups:?} quorum={quorum:?} coord={coordinators:?} elr={elr:?}",
            if sight.fenced { " fenced" } else { "" },
        ));
    }
    for (address, sight) in &snapshot.bootstrap {
        if let Some(unavailable) = sight.answer.unavailable() {
            parts.push(format!("{address}: {}", unavailable.why));
        }
    }
    parts.push(match (snapshot.client.known(), snapshot.client.unavailable()) {
        (Some(view), _) => format!("client brokers={:?} leaderless={}", view.brokers, view.leaderless_count),
        (_, Some(unavailable)) => format!("client: {}", unavailable.why),
        _ => "client not asked".to_owned(),
    });
    parts.join(" | ")
}
