//! Drills over TCP, and the collector with its diagnosis looking at a cluster, whether scripted or real.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jiff::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use unstuck_diagnosis::lookup::GroupLookup;
use unstuck_diagnosis::memory::Memory;
use unstuck_diagnosis::report::Status;
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
    look: mpsc::Sender<()>,
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
            ..Cadence::default()
        };
        let collector = Collector::start(config);
        let mut snapshots = collector.snapshots();
        let mut memory = Memory::new(Timestamp::now());
        let mut n = 0;
        let mut value = move |snapshot: Arc<_>| {
            n += 1;
            memory.learn(&snapshot);
            let report = diagnose(&Input { snapshot: &snapshot, memory: &memory, now: Timestamp::now() });
            memory.note(&report);
            Arc::new(Published { seq: Seq { boot: String::new(), n }, snapshot, report, memory: memory.clone() })
        };
        let first = Arc::clone(&snapshots.borrow_and_update());
        let (sender, published) = watch::channel(value(first));
        let (look, mut asked) = mpsc::channel(1);
        let task = tokio::spawn(async move {
            loop {
                tokio::select! {
                    changed = snapshots.changed() => {
                        if changed.is_err() {
                            return;
                        }
                        let snapshot = Arc::clone(&snapshots.borrow_and_update());
                        sender.send_replace(value(snapshot));
                    }
                    asked = asked.recv() => match asked {
                        Some(()) => collector.look_now(),
                        None => return,
                    }
                }
            }
        });
        Self { published, look, task }
    }

    /// What was seen last, and what follows.
    #[must_use]
    pub fn now(&self) -> Arc<Published> {
        Arc::clone(&self.published.borrow())
    }

    /// Takes every look at once.
    pub fn look_now(&self) {
        // If it is full, that look is about to be taken.
        let _full = self.look.try_send(());
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
            // At least once a second.
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
