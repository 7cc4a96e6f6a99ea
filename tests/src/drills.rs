//! Drills over TCP, and the collector with its diagnosis looking at a cluster, whether scripted or real.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use unstuck_diagnosis::lookup::{GroupDetail, GroupLookup};
use unstuck_diagnosis::memory::Memory;
use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::snapshot::Snapshot;
use unstuck_diagnosis::{GroupId, Input, Published, Seq, diagnose};
use unstuck_drill::scenario;
use unstuck_drill::serve::{Drill, Listen};
use unstuck_kafka::{Cadence, ClusterConfig, Collector};

use crate::wait::GENEROUS;

/// Serves a scenario on free ports of 127.0.0.1.
///
/// # Errors
/// If the text is no scenario, or no port is free.
pub fn drill(name: &str, toml: &str) -> Result<Drill> {
    let scenario = scenario::read(toml, name)?;
    let listen = Listen::Loopback { host: "127.0.0.1".to_owned(), ports: None };
    Drill::start(name, Arc::new(scenario), &listen).context("serving a drill")
}

/// Serves a scenario that is shipped, without its steps: what happens is the test's.
///
/// # Errors
/// If there is no such scenario, or no port is free.
pub fn shipped_without_steps(name: &str) -> Result<Drill> {
    let mut scenario = scenario::shipped::find(name)?;
    scenario.step.clear();
    let listen = Listen::Loopback { host: "127.0.0.1".to_owned(), ports: None };
    Drill::start(name, Arc::new(scenario), &listen).context("serving a drill")
}

/// The collector and what follows from what it sees, as the server has them, without pages.
#[derive(Debug)]
pub struct Watched {
    published: watch::Receiver<Arc<Published>>,
    collector: Arc<Collector>,
    seen: Arc<Mutex<BTreeSet<Status>>>,
    task: JoinHandle<()>,
}

impl Watched {
    /// Starts to look through these bootstrap addresses, a little more often than a server does.
    #[must_use]
    pub fn start(bootstrap: Vec<String>) -> Self {
        let mut config = ClusterConfig::new("watched", bootstrap);
        config.cadence = Cadence {
            metadata: Duration::from_millis(250),
            canaries: Duration::from_secs(2),
            quorum: Duration::from_secs(1),
            wide: Duration::from_secs(2),
            client: Duration::from_secs(1),
            bootstrap: Duration::from_secs(1),
            ..Cadence::default()
        };
        Self::start_with(config, |_| ())
    }

    /// Starts to look as configured, and shows each value to `see` as soon as it is published.
    #[must_use]
    pub fn start_with(config: ClusterConfig, mut see: impl FnMut(&Published) + Send + 'static) -> Self {
        let collector = Arc::new(Collector::start(config));
        let mut snapshots = collector.snapshots();
        let mut memory = Memory::new(Timestamp::now());
        let mut n = 0;
        let mut value = move |snapshot: Arc<Snapshot>| {
            n += 1;
            memory.learn(&snapshot);
            let report = diagnose(&Input { snapshot: &snapshot, memory: &memory, now: Timestamp::now() });
            memory.note(&report);
            Arc::new(Published { seq: Seq { boot: String::new(), n }, snapshot, report, memory: memory.clone() })
        };
        let first = Arc::clone(&snapshots.borrow_and_update());
        let (sender, published) = watch::channel(value(first));
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let note = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while snapshots.changed().await.is_ok() {
                let snapshot = Arc::clone(&snapshots.borrow_and_update());
                let next = value(snapshot);
                lock(&note).extend(next.report.partitions.iter().map(|partition| partition.status));
                see(&next);
                sender.send_replace(next);
            }
        });
        Self { published, collector, seen, task }
    }

    /// What was seen last, and what follows.
    #[must_use]
    pub fn now(&self) -> Arc<Published> {
        Arc::clone(&self.published.borrow())
    }

    /// Takes every look at once.
    pub fn look_now(&self) {
        self.collector.look_now();
    }

    /// The verdicts that any coordinator has had since the start, or since [`forget`](Self::forget).
    #[must_use]
    pub fn seen(&self) -> BTreeSet<Status> {
        lock(&self.seen).clone()
    }

    /// Forgets what [`seen`](Self::seen) tells.
    pub fn forget(&self) {
        lock(&self.seen).clear();
    }

    /// Members and offsets of a group, asked from its coordinator now.
    ///
    /// # Errors
    /// If nobody is known as its coordinator, or that one does not answer in time.
    pub async fn detail(&self, group: &GroupId, deadline: Duration) -> Result<GroupDetail> {
        let coordinator = self.now().lookup_one(group).coordinator.and_then(|one| one.leader);
        let coordinator = coordinator.with_context(|| format!("{group} has no coordinator"))?;
        Ok(self.collector.group_detail(group, coordinator, deadline).await?)
    }

    /// Waits until what is seen fulfils a condition; `Err` is the last state, printed if the deadline passes.
    ///
    /// # Panics
    /// If it is not fulfilled within [`GENEROUS`].
    pub async fn until<T, E: Display>(&self, what: impl Display, look: impl Fn(&Published) -> Result<T, E>) -> T {
        let mut published = self.published.clone();
        let began = Instant::now();
        loop {
            let now = Arc::clone(&published.borrow_and_update());
            match look(&now) {
                Ok(value) => return value,
                Err(state) => assert!(
                    began.elapsed() < GENEROUS,
                    "waited {} s in vain for: {what}\nlast state: {state}\n{:?}\n{:#?}",
                    GENEROUS.as_secs(),
                    now.report.headline,
                    now.report.findings
                ),
            }
            if tokio::time::timeout(Duration::from_secs(5), published.changed()).await.is_ok_and(|sent| sent.is_err()) {
                panic!("the collector ended while waiting for: {what}");
            }
        }
    }

    /// Waits until every fact was looked at once and the worst verdict is this one.
    pub async fn until_worst(&self, status: Status) {
        self.until(format!("the worst verdict to be {}", status.slug()), |now| {
            let settled = Collector::settled(&now.snapshot);
            let worst = now.report.headline.status;
            if settled && worst == status { Ok(()) } else { Err(format!("{}, settled: {settled}", worst.slug())) }
        })
        .await;
    }

    /// Waits until these groups have this verdict.
    pub async fn until_groups(&self, groups: &[&str], status: Status) {
        let ids: Vec<GroupId> = groups.iter().map(|id| GroupId::from(*id)).collect();
        self.until(format!("{groups:?} to be {}", status.slug()), |now| {
            let results = now.lookup(&ids).results;
            match results.iter().find(|result| result.verdict.status != status) {
                None => Ok(()),
                Some(other) => Err(said(other)),
            }
        })
        .await;
    }

    /// The answer for one group now.
    #[must_use]
    pub fn lookup(&self, group: &str) -> GroupLookup {
        self.now().lookup_one(&GroupId::from(group))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An answer in one line, for failures.
#[must_use]
pub fn said(lookup: &GroupLookup) -> String {
    let findings: Vec<&str> = lookup.findings.iter().map(|finding| finding.slug.as_str()).collect();
    format!("{}: {}: {} {findings:?}", lookup.group, lookup.verdict.status.slug(), lookup.verdict.sentence)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
