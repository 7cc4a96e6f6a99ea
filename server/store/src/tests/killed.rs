//! What was acknowledged survives `kill -9`, and no batch is there by half.
//!
//! The test starts its own binary again as the process that is killed, with an environment variable that makes one of its
//! tests write until that happens.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::history::{Moment, Subject};

use super::made::{at, event, incident, seen};
use crate::{Batch, Document, Lease, Store, Where, open};

const FILE: &str = "UNSTUCK_STORE_TEST_FILE";
const TIMES: u64 = 100;
const GROUPS: i64 = 40;

/// The batch with this number changes something in every table that matters.
fn batch(number: i64) -> Batch {
    let bytes = number.to_string().into_bytes();
    let document = Document {
        incident: incident("i1", 0).id,
        moment: Moment::Worst,
        at: at(number),
        format: 1,
        bytes: bytes.repeat(3_000),
    };
    Batch {
        looked_until: at(number),
        memory: Some(bytes),
        groups: (0..GROUPS).map(|group| (GroupId(format!("group-{group}")), seen(number))).collect(),
        events: vec![event(number, Subject::Cluster, 1), event(number, Subject::Broker(1), 1)],
        incidents: vec![incident("i1", number)],
        documents: vec![document],
        ..Batch::default()
    }
}

/// Which batch the store is at, after checking that it is there as a whole, and all before it.
async fn whole(store: &dyn Store) -> Result<i64> {
    let Some(restored) = store.restore("prod").await? else { return Ok(0) };
    let number = restored.looked_until.as_second() - at(0).as_second();
    let expected = batch(number);
    ensure!(restored.memory == expected.memory, "the memory is of another batch than {number}");
    ensure!(restored.groups.len() == expected.groups.len(), "groups are missing");
    for (id, group) in &restored.groups {
        ensure!(*group == seen(number), "{} is of another batch than {number}", id.visible());
    }
    ensure!(restored.open_incidents == expected.incidents, "the incident is of another batch than {number}");
    let document = store.document(&expected.incidents[0].id, Moment::Worst).await?;
    ensure!(document.as_ref() == expected.documents.first(), "the document is of another batch than {number}");
    let events = store.events("prod", &[], None, u32::MAX).await?;
    let times: Vec<_> = events.iter().map(|event| event.since.at).collect();
    let all: Vec<_> = (1..=number).rev().flat_map(|number| [at(number), at(number)]).collect();
    ensure!(times == all, "events of {number} batches: {}", times.len());
    Ok(number)
}

/// The process that is killed: it writes one batch after the other, and says so.
#[tokio::test]
async fn writes_until_it_is_killed() -> Result<()> {
    let Some(file) = std::env::var_os(FILE).map(PathBuf::from) else { return Ok(()) };
    let store = open(&Where::Sqlite(file)).await?;
    let holder = std::process::id().to_string();
    let Lease::Held { token, .. } = store.take_lease("prod", &holder, Duration::ZERO).await? else {
        bail!("the lease is not free");
    };
    let restored = store.restore("prod").await?;
    let begun = restored.map_or(0, |restored| restored.looked_until.as_second() - at(0).as_second());
    println!();
    for number in begun + 1.. {
        store.write("prod", token, &batch(number)).await?;
        println!("acknowledged {number}");
    }
    Ok(())
}

/// Runs the other process and kills it; the last number that it had acknowledged, if any.
fn run_and_kill(file: &Path, round: u64) -> Result<Option<i64>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--exact", "tests::killed::writes_until_it_is_killed", "--nocapture"]).env(FILE, file);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("its output")?).lines();
    let mut last = None;
    let mut take = |line: String| {
        if let Some(number) = line.strip_prefix("acknowledged ") {
            last = number.parse().ok().or(last);
        }
        last
    };
    // Each tenth one is killed while it opens the file.
    while !round.is_multiple_of(10) {
        let line = lines.next().context("it ended by itself")??;
        if take(line).is_some() {
            break;
        }
    }
    // At another moment of a batch each time; the whole span is a few batches long.
    std::thread::sleep(Duration::from_micros(round * 7_919 % 20_000));
    child.kill()?;
    child.wait()?;
    for line in lines {
        take(line?);
    }
    Ok(last)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_kill_9() -> Result<()> {
    let folder = TempDir::new()?;
    let file = folder.path().join("unstuck.db");
    let (mut before, mut in_flight) = (0, 0);
    for round in 1..=TIMES {
        let acknowledged = run_and_kill(&file, round)?.unwrap_or(before);
        let store = open(&Where::Sqlite(file.clone())).await?;
        let there = whole(&*store).await.with_context(|| format!("after round {round}"))?;
        ensure!(
            there == acknowledged || there == acknowledged + 1,
            "round {round}: {acknowledged} was acknowledged, {there} is there"
        );
        in_flight += there - acknowledged;
        before = there;
    }
    println!("{before} batches, {in_flight} of them written and not acknowledged");
    Ok(())
}
