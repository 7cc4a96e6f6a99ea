//! How long a store takes, and how large it gets: `cargo run --release -p unstuck-store --example measure -- [URL or file]`.
//!
//! Without an argument it writes into a file that it removes at the end. The year that it writes is an ordinary one: each
//! day a rolling restart of 9 brokers with 50 partitions, each week an incident, findings besides, 100,000 groups.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use jiff::{SignedDuration, Timestamp};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::history::{
    Event, FindingRecord, Happened, Incident, IncidentId, Moment, OpenedBy, OpeningId, SeenMembers, Since, Subject,
};
use unstuck_diagnosis::memory::SeenGroup;
use unstuck_diagnosis::report::{BrokerState, Evidence, Finding, Severity, Status, Strength};
use unstuck_store::{Batch, Document, Lease, Retention, Store, Where, open};

const GROUPS: usize = 100_000;
const DAYS: i64 = 365;

fn main() -> Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure())
}

async fn measure() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("unstuck-measure-{}", std::process::id()));
    let place = match std::env::args().nth(1) {
        Some(url) if url.starts_with("postgres") => Where::Postgres(url),
        Some(path) => Where::Sqlite(PathBuf::from(path)),
        None => Where::Sqlite(folder.join("unstuck.db")),
    };
    let store = open(&place).await?;
    let measured = write_and_read(&*store).await;
    drop(store);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context("removing what was written")?;
    }
    measured
}

fn say(what: &str, since: Instant) {
    println!("| {what} | {:.1} ms |", since.elapsed().as_secs_f64() * 1000.0);
}

async fn write_and_read(store: &dyn Store) -> Result<()> {
    let start = Timestamp::from_second(1_800_000_000)?;
    let lease = store.take_lease("prod", "measure", Duration::from_secs(3600)).await?;
    let Lease::Held { token, .. } = lease else { bail!("somebody else records: {lease:?}") };
    println!("| | |\n|---|---|");

    let begun = Instant::now();
    store.write("prod", token, &groups(start, GROUPS)).await?;
    say("100,000 new groups with their members", begun);
    let begun = Instant::now();
    store.write("prod", token, &Batch { members: Vec::new(), ..groups(start, 65_000) }).await?;
    say("65,000 changed groups", begun);
    println!("| size then | {:.0} MB |", megabytes(store).await?);

    let mut slowest = Duration::ZERO;
    let begun = Instant::now();
    for look in 0..200 {
        let one = Instant::now();
        let looked_until = start + SignedDuration::from_secs(look);
        store
            .write("prod", token, &Batch { looked_until, memory: Some(vec![b'x'; 20_000]), ..Batch::default() })
            .await?;
        slowest = slowest.max(one.elapsed());
    }
    println!("| a batch without changed groups, mean of 200 | {:.1} ms |", begun.elapsed().as_secs_f64() * 5.0);
    println!("| the slowest of them | {:.1} ms |", slowest.as_secs_f64() * 1000.0);

    let begun = Instant::now();
    for day in 0..DAYS {
        store.write("prod", token, &day_of(start + SignedDuration::from_hours(24 * day), day)).await?;
    }
    say("a year of history, a batch a day", begun);
    println!("| size then | {:.0} MB |", megabytes(store).await?);

    let begun = Instant::now();
    let restored = store.restore("prod").await?.context("a record")?;
    say("everything that is needed to go on is read", begun);
    println!("| groups then | {} |", restored.groups.len());
    let begun = Instant::now();
    store.events("prod", &[Subject::Partition(7), Subject::Group(GroupId::from("group-7"))], None, 100).await?;
    say("the newest 100 events of a partition and a group", begun);
    let begun = Instant::now();
    store.incidents(None, None, 50).await?;
    say("the newest 50 incidents", begun);
    let begun = Instant::now();
    let keep = Retention { groups: Duration::from_secs(86_400 * 30), history: Duration::from_secs(86_400 * 90) };
    let dropped = store.retain("prod", &keep, start + SignedDuration::from_hours(24 * DAYS)).await?;
    say("dropping all but 90 days", begun);
    println!("| dropped | {} events, {} findings, {} incidents |", dropped.events, dropped.findings, dropped.incidents);
    println!("| size then | {:.0} MB |", megabytes(store).await?);
    Ok(())
}

async fn megabytes(store: &dyn Store) -> Result<f64> {
    let kilobytes = u32::try_from(store.bytes().await? / 1000)?;
    Ok(f64::from(kilobytes) / 1000.0)
}

fn groups(at: Timestamp, count: usize) -> Batch {
    let id = |n: usize| GroupId(format!("team-{}.service-{n}.consumer-of-orders", n % 97));
    let group = SeenGroup {
        group_type: Some("classic".to_owned()),
        protocol_type: "consumer".to_owned(),
        state: Some("Stable".to_owned()),
        first_seen: at,
        last_seen: at,
        listed_by: BTreeSet::from([3]),
        ..SeenGroup::default()
    };
    let clients = (0..3).map(|n| (format!("consumer-orders-{n}"), format!("/10.12.0.{n}"))).collect();
    let members = SeenMembers { at, count: 3, clients };
    Batch {
        watching_since: at,
        looked_until: at,
        groups: (0..count).map(|n| (id(n), group.clone())).collect(),
        members: (0..count).map(|n| (id(n), members.clone())).collect(),
        ..Batch::default()
    }
}

fn day_of(at: Timestamp, day: i64) -> Batch {
    let since = Since { at, after: Some(at) };
    let mut batch = Batch { looked_until: at, ..Batch::default() };
    // Each broker goes and comes; each partition that it leads moves twice, and its verdict with it.
    for broker in 0..9 {
        for (half, state) in [(0, BrokerState::Gone), (1, BrokerState::Answering)] {
            let at = at + SignedDuration::from_mins(i64::from(broker) * 4 + half * 2);
            let since = Since { at, after: Some(at) };
            let address = Some(format!("kafka-{broker}.example.com:9092"));
            let sentence = "It refuses connections.".to_owned();
            let what = Happened::Broker { state, address, sentence };
            batch.events.push(Event { since, subject: Subject::Broker(broker), what });
            for partition in (0..50).filter(|partition| partition % 9 == broker) {
                let what = Happened::Leadership { leader: Some(broker), leader_epoch: Some(7), isr: vec![1, 2, 3] };
                batch.events.push(Event { since, subject: Subject::Partition(partition), what });
                let sentence = "Its leader has changed, and the new one loads its groups.".to_owned();
                let what = Happened::Verdict { status: Status::Recovering, sentence };
                batch.events.push(Event { since, subject: Subject::Partition(partition), what });
            }
        }
    }
    let weekly = day % 7 == 0;
    let incident = weekly.then(|| IncidentId(format!("incident-{day}")));
    for n in 0..4 {
        let finding = finding();
        batch.findings.push(FindingRecord {
            id: OpeningId(format!("finding-{day}-{n}")),
            slug: finding.slug.clone(),
            opened: since,
            closed: Some(since),
            at_opening: finding.clone(),
            at_worst: finding.clone(),
            worst_at: at,
            last: Some(finding),
            incident: incident.clone(),
        });
    }
    if let Some(id) = incident {
        // What is seen at a moment of a cluster of this size, compressed.
        let moments = [Moment::Opening, Moment::Worst, Moment::Closing];
        let document = |moment| Document { incident: id.clone(), moment, at, format: 1, bytes: vec![7; 300_000] };
        batch.documents = moments.map(document).to_vec();
        batch.incidents.push(Incident {
            id,
            cluster: "prod".to_owned(),
            opened: since,
            calm_since: Some(at),
            closed: Some(at),
            by: OpenedBy::Unstuck,
            title: "1,204 groups stand still: 6 partitions have no leader".to_owned(),
            severity: Severity::Outage,
            stuck_groups: 1_204,
            slugs: vec!["no-leader-no-live-replica".to_owned()],
            partitions: (0..6).collect(),
            brokers: vec![3],
            acknowledged: None,
        });
    }
    batch
}

/// About as long as they are with evidence and remedies.
fn finding() -> Finding {
    let evidence =
        |n: usize| Evidence { strength: Strength::Seen, text: format!("Evidence {n}: {}", "words ".repeat(20)) };
    Finding {
        slug: "no-leader-no-live-replica".to_owned(),
        severity: Severity::Outage,
        sentence: "6 partitions of __consumer_offsets have no leader.".to_owned(),
        outlook: Some("They stay so until broker 3 is back. ".repeat(20)),
        evidence: (0..8).map(evidence).collect(),
        remedies: Vec::new(),
        avoid: Vec::new(),
        follows_from: None,
        partitions: (0..6).collect(),
        brokers: vec![3],
    }
}
