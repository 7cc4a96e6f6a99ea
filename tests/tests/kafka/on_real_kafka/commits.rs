//! Commits for some groups all the time: the truth that verdicts are held against.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use unstuck_diagnosis::GroupId;
use unstuck_tests::cluster::Cluster;
use unstuck_tests::raw::Connection;
use unstuck_tests::wait::wait_for;

/// After this time without an answer a commit counts as refused.
const PATIENCE: Duration = Duration::from_secs(1);
/// Each attempt begins so long after the one before, whether or not that one was answered: an attempt that hangs on a
/// dying broker hides nothing.
const EVERY: Duration = Duration::from_millis(200);

/// One attempt to commit, as a client makes it that finds its coordinator anew.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    begun: Instant,
    /// Why it was refused, if it was.
    pub(super) refused: Option<String>,
}

/// Attempts of one group, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Commits(pub(super) Vec<Commit>);

impl Commits {
    /// Stretches in which no attempt went through: from the beginning of the first refused one to that of the next accepted.
    pub(super) fn refusals(&self) -> Vec<(Instant, Instant)> {
        let mut stretches = Vec::new();
        let mut first_refused = None;
        for commit in &self.0 {
            match (&commit.refused, first_refused) {
                (Some(_), None) => first_refused = Some(commit.begun),
                (None, Some(from)) => {
                    stretches.push((from, commit.begun));
                    first_refused = None;
                }
                _ => {}
            }
        }
        if let (Some(from), Some(last)) = (first_refused, self.0.last()) {
            stretches.push((from, last.begun));
        }
        stretches
    }
}

/// Clients that commit until they are told to stop.
pub(super) struct Committing {
    stop: Arc<AtomicBool>,
    attempts: BTreeMap<GroupId, Arc<Mutex<Vec<Commit>>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Committing {
    pub(super) fn start(cluster: &Cluster, groups: &[GroupId]) -> Self {
        let addresses: Arc<Vec<String>> =
            Arc::new(cluster.broker_ids().into_iter().map(|id| cluster.address(id)).collect());
        let mut committing = Self { stop: Arc::default(), attempts: BTreeMap::new(), threads: Vec::new() };
        for group in groups {
            let attempts: Arc<Mutex<Vec<Commit>>> = Arc::default();
            committing.attempts.insert(group.clone(), Arc::clone(&attempts));
            let (stop, addresses, group) = (Arc::clone(&committing.stop), Arc::clone(&addresses), group.clone());
            committing.threads.push(std::thread::spawn(move || {
                std::thread::scope(|scope| {
                    while !stop.load(Ordering::Relaxed) {
                        scope.spawn(|| attempt(&addresses, &group, &attempts));
                        std::thread::sleep(EVERY);
                    }
                });
            }));
        }
        committing
    }

    /// Waits until commits of each group went through.
    pub(super) async fn wait_until_flowing(&self) {
        wait_for("commits of each group to go through", async || {
            let dry = self.attempts.iter().find(|(_, attempts)| {
                let attempts = attempts.lock().unwrap_or_else(PoisonError::into_inner);
                attempts.iter().all(|commit| commit.refused.is_some())
            });
            dry.map_or(Ok(()), |(group, attempts)| Err(format!("{group}: {attempts:?}")))
        })
        .await;
    }

    /// Stops them all, and returns what they met.
    pub(super) fn stop(self) -> Result<BTreeMap<GroupId, Commits>> {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().map_err(|_| anyhow::anyhow!("a committing thread panicked"))?;
        }
        let commits = self.attempts.into_iter().map(|(group, attempts)| {
            let mut commits = attempts.lock().unwrap_or_else(PoisonError::into_inner).clone();
            commits.sort_by_key(|commit| commit.begun);
            (group, Commits(commits))
        });
        Ok(commits.collect())
    }
}

fn attempt(addresses: &[String], group: &GroupId, attempts: &Mutex<Vec<Commit>>) {
    let begun = Instant::now();
    let refused = match commit(addresses, group) {
        Ok(0) => None,
        Ok(code) => Some(format!("error {code}")),
        Err(error) => Some(format!("{error:#}")),
    };
    attempts.lock().unwrap_or_else(PoisonError::into_inner).push(Commit { begun, refused });
}

fn commit(addresses: &[String], group: &GroupId) -> Result<i16> {
    let find = |address: &String| Connection::open(address, PATIENCE)?.find_coordinator(group.as_str());
    let named = addresses.iter().find_map(|address| find(address).ok()?.ok()).context("nobody names a coordinator")?;
    // Broker ids begin at 1, in the order of the addresses.
    let address = addresses.get(usize::try_from(named - 1)?).context("the coordinator's address")?;
    Connection::open(address, PATIENCE)?.commit(group.as_str(), "orders", 1)
}
