//! `make bench`: how fast and how small, measured on real brokers and on the largest drill. Prints Markdown for
//! `docs/performance.md`. With the argument `drills` only what needs no Kafka.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::report::Status;
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::groups::ids_on_every_partition;
use unstuck_tests::server::{UnstuckServer, unstuck};

/// Kills of a broker.
const KILLS: usize = 20;
/// Starts of the server, and of the command line.
const STARTS: usize = 10;
/// Requests of one page.
const PAGES: usize = 20;
/// Requests per second, open loop: each is sent when its time has come, whether or not earlier ones are answered.
const RATE: u32 = 1_000;
/// For how long.
const LOAD_SECONDS: u32 = 20;
/// Nothing here takes this long; it ends a measurement that would never end.
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<()> {
    drills().await?;
    incident_page().await?;
    if std::env::args().nth(1).as_deref() == Some("drills") {
        return Ok(());
    }
    // Kafka's own session time-out: the comparison is with what an operator has.
    let session_timeout = Duration::from_secs(9);
    let options = Options { offsets_replication_factor: 1, session_timeout, ..Options::default() };
    let cluster = Cluster::kraft(options).await?;
    cluster.make_offsets_topic().await?;
    cluster.create_topic("orders", 3, 3).await?;
    let ids: Vec<GroupId> = ids_on_every_partition("bench", 50).into_values().collect();
    cluster.commit_for(&ids, "orders").await?;

    println!("Three brokers of Kafka 4.1.1, 50 offsets partitions with one replica, {} cores.\n", cores());
    first_verdict(&cluster, &ids[0]).await?;
    memory_and_latency(&cluster, &ids).await?;
    detection(&cluster, &ids).await
}

/// The drill `large`: 50 brokers with 100,000 groups.
async fn drills() -> Result<()> {
    let (mut starts, mut resident) = (Vec::new(), 0);
    for _ in 0..STARTS {
        let begun = Instant::now();
        let drill = UnstuckServer::headless_drill("large").await?;
        starts.push(begun.elapsed());
        resident = resident.max(drill.resident_bytes()?);
    }
    println!(
        "| drill of 50 brokers and 100,000 groups, {STARTS} starts | min | median | p90 | max |\n|---|---|---|---|---|"
    );
    println!("{}", row("brokers accept connections", &mut starts));
    println!("\nResident memory of the brokers: {:.1} MB at most.", mega(resident));
    let begun = Instant::now();
    let watched = UnstuckServer::drill("large").await?;
    while watched.report().await?.groups.total < 100_000 {
        ensure!(begun.elapsed() < LIMIT, "the groups of the drill are not listed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("With the app looking at it, all groups are listed after {}; ", millis(begun.elapsed()));
    tokio::time::sleep(Duration::from_secs(35)).await;
    println!("two wide looks later both together have {:.1} MB.\n", mega(watched.resident_bytes()?));
    Ok(())
}

/// How long the page of an incident takes in which thousands of groups stand still: five of fifty brokers are stopped, and
/// with them all replicas of six of a hundred partitions.
async fn incident_page() -> Result<()> {
    let watched = UnstuckServer::drill("large").await?;
    let begun = Instant::now();
    while watched.report().await?.groups.total < 100_000 {
        ensure!(begun.elapsed() < LIMIT, "the groups of the drill are not listed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for broker in 1..=5 {
        let stop = watched
            .request(reqwest::Method::POST, "/api/v1/drill")
            .json(&serde_json::json!({"apply": {"stop": broker}}));
        stop.send().await?.error_for_status()?;
    }
    let (id, stuck) = loop {
        ensure!(begun.elapsed() < 2 * LIMIT, "no incident has thousands of groups");
        let list = watched.json("/api/v1/incidents").await?;
        let worst =
            list["incidents"].as_array().and_then(|all| all.iter().max_by_key(|one| one["stuck_groups"].as_u64()));
        let stuck = worst.and_then(|one| one["stuck_groups"].as_u64()).unwrap_or_default();
        if let Some(id) = worst.and_then(|one| one["id"].as_str()).filter(|_| stuck >= 5_000) {
            break (id.to_owned(), stuck);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let (mut pages, mut bytes) = (Vec::new(), 0);
    for _ in 0..PAGES {
        let asked = Instant::now();
        bytes = watched.html(&format!("/i/{id}")).await?.len();
        pages.push(asked.elapsed());
    }
    println!(
        "| page of an incident in which {stuck} of 100,000 groups stand still, {PAGES} times | min | median | p90 | max |"
    );
    println!("|---|---|---|---|---|");
    println!("{}", row(&format!("`/i/…`, {} kB", bytes / 1_000), &mut pages));
    println!();
    Ok(())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(0, std::num::NonZero::get)
}

async fn first_verdict(cluster: &Cluster, group: &GroupId) -> Result<()> {
    let bootstrap = cluster.bootstrap();
    let (mut serve, mut cli) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let begun = Instant::now();
        let server = UnstuckServer::start(&bootstrap).await?;
        while !is_settled(server.lookup_one(group).await?.verdict.status) {
            ensure!(begun.elapsed() < LIMIT, "no verdict after a start");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        serve.push(begun.elapsed());
        drop(server);
        let begun = Instant::now();
        let run = unstuck(&["lookup", "--bootstrap-servers", &bootstrap, group.as_str()], "").await?;
        ensure!(run.code.is_some_and(|code| code < 2), "{run:?}");
        cli.push(begun.elapsed());
    }
    println!("| start → first verdict, {STARTS} starts | min | median | p90 | max |\n|---|---|---|---|---|");
    println!("{}", row("`unstuck serve`, asked over HTTP", &mut serve));
    println!("{}\n", row("`unstuck lookup`, whole run", &mut cli));
    Ok(())
}

fn is_settled(status: Status) -> bool {
    matches!(status, Status::Working | Status::AtRisk | Status::LookAtGroup)
}

async fn memory_and_latency(cluster: &Cluster, ids: &[GroupId]) -> Result<()> {
    println!("| groups | resident memory |\n|---|---|");
    let mut made = 0;
    let mut servers = Vec::new();
    for count in [1_000_usize, 10_000] {
        let more: Vec<GroupId> = (made..count).map(|n| GroupId(format!("bench-application-group-{n}"))).collect();
        cluster.commit_for(&more, "orders").await?;
        made = count;
        let server = UnstuckServer::start(&cluster.bootstrap()).await?;
        let begun = Instant::now();
        while server.report().await?.groups.total < count {
            ensure!(begun.elapsed() < LIMIT, "the groups are not listed: {:?}", server.report().await?.groups.total);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // Two more wide looks: what is kept from look to look is in the number.
        tokio::time::sleep(Duration::from_secs(35)).await;
        println!("| {count} | {:.1} MB |", mega(server.resident_bytes()?));
        servers.push(server);
    }
    let server = servers.pop().context("the last server")?;
    drop(servers);
    println!();
    latency(&server, ids).await?;
    println!("Resident memory after it: {:.1} MB\n", mega(server.resident_bytes()?));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a number for people")]
fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

async fn latency(server: &UnstuckServer, ids: &[GroupId]) -> Result<()> {
    let client = unstuck_tests::server::client()?;
    let begun = Instant::now();
    let mut requests = Vec::new();
    for n in 0..RATE * LOAD_SECONDS {
        let due = begun + Duration::from_secs(1) / RATE * n;
        tokio::time::sleep_until(due.into()).await;
        let group = &ids[usize::try_from(n)? % ids.len()];
        let request = client.get(format!("{}/api/v1/clusters/kafka/lookup?group={}", server.url(), group.as_str()));
        requests.push(tokio::spawn(async move {
            let answer = request.send().await?.error_for_status()?.bytes().await?;
            // From the time at which it was due, not sent: waiting for the generator counts.
            anyhow::Ok((due.elapsed(), answer.len()))
        }));
    }
    let (mut times, mut failed) = (Vec::new(), 0);
    for request in requests {
        match request.await? {
            Ok((time, _)) => times.push(time),
            Err(_) => failed += 1,
        }
    }
    times.sort();
    let at = |fraction: usize| millis(times[(times.len() - 1) * fraction / 1_000]);
    println!(
        "| lookups over HTTP, {RATE}/s open loop for {LOAD_SECONDS} s, 10,000 groups | p50 | p90 | p99 | p99.9 | max | failed |"
    );
    println!("|---|---|---|---|---|---|---|");
    println!("| one group each | {} | {} | {} | {} | {} | {failed} |\n", at(500), at(900), at(990), at(999), at(1_000));
    Ok(())
}

async fn detection(cluster: &Cluster, ids: &[GroupId]) -> Result<()> {
    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    let brokers = cluster.broker_ids();
    let (mut unstuck_times, mut kafka_times) = (Vec::new(), Vec::new());
    for kill in 0..KILLS {
        let victim = brokers[kill % brokers.len()];
        let observer = brokers[(kill + 1) % brokers.len()];
        wait_until_all_work(&server, ids).await?;
        let topic = cluster.offsets_topic()?;
        let (partition, _) =
            topic.iter().find(|(_, one)| one.leader == Some(victim)).context("a partition it leads")?;
        let group = ids.iter().find(|id| unstuck_diagnosis::placement::partition_for(id, 50) == Some(*partition));
        let group = group.context("a group on it")?;
        // A look begins each second: spread the kills over it.
        tokio::time::sleep(Duration::from_millis(50 * u64::try_from(kill)?)).await;

        cluster.kill(victim)?;
        let killed = Instant::now();
        let eye = unstuck_tests::eye::Eye::new(&cluster.address(observer))?;
        let partition = *partition;
        let kafka = tokio::task::spawn_blocking(move || {
            loop {
                let seen = eye.partitions("__consumer_offsets", Duration::from_secs(2));
                if seen.is_ok_and(|seen| seen.get(&partition).is_some_and(|one| one.leader.is_none())) {
                    return Some(killed.elapsed());
                }
                if killed.elapsed() > LIMIT {
                    return None;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        while server.lookup_one(group).await?.verdict.status != Status::Stuck {
            ensure!(killed.elapsed() < LIMIT, "broker {victim} was killed, and {group} is not called stuck");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        unstuck_times.push(killed.elapsed());
        kafka_times.push(kafka.await?.context("Kafka never showed the partition without leader")?);
        eprintln!("kill {} of {KILLS}: {:?}, Kafka {:?}", kill + 1, unstuck_times[kill], kafka_times[kill]);
        cluster.restart_and_wait(victim).await?;
    }
    println!("| kill -9 of a leader without another live replica, {KILLS} kills | min | median | p90 | max |");
    println!("|---|---|---|---|---|");
    println!("{}", row("Unstuck publishes `stuck`", &mut unstuck_times));
    println!("{}", row("the brokers' metadata shows no leader", &mut kafka_times));
    Ok(())
}

async fn wait_until_all_work(server: &UnstuckServer, ids: &[GroupId]) -> Result<()> {
    let begun = Instant::now();
    while !server.lookup(ids).await?.results.iter().all(|result| is_settled(result.verdict.status)) {
        ensure!(begun.elapsed() < LIMIT, "the cluster does not come back: {:#?}", server.report().await?.headline);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

fn row(name: &str, times: &mut [Duration]) -> String {
    times.sort();
    let at = |fraction: usize| millis(times[(times.len() - 1) * fraction / 100]);
    format!("| {name} | {} | {} | {} | {} |", at(0), at(50), at(90), at(100))
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}
