//! Verdicts beside the truth: what Unstuck says of a group, and whether its commits go through, moment by moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::report::Status;
use unstuck_tests::cluster::Cluster;
use unstuck_tests::raw::Connection;
use unstuck_tests::server::{UnstuckServer, brief_lookup};
use unstuck_tests::wait::wait_for;

/// After this time without an answer a commit counts as refused.
const PATIENCE: Duration = Duration::from_secs(1);

/// One attempt to commit.
#[derive(Clone, Copy, Debug)]
struct Commit {
    begun: Instant,
    ended: Instant,
    accepted: bool,
}

/// One answer of Unstuck.
#[derive(Clone, Debug)]
struct Verdict {
    at: Instant,
    statuses: Vec<Status>,
}

/// What was seen while watching.
#[derive(Debug)]
pub(super) struct Watched {
    groups: Vec<GroupId>,
    began: Instant,
    commits: BTreeMap<GroupId, Vec<Commit>>,
    verdicts: Vec<Verdict>,
    /// The first answer of each status in full, for messages.
    firsts: BTreeMap<Status, String>,
    /// What was wrong with commits, for messages.
    refusals: BTreeSet<String>,
}

/// Watches while `during` runs, which begins when commits of each group went through: asks for verdicts about 20 times a second, and commits for each of `committing` about 10 times a second.
pub(super) async fn watch(
    cluster: &Cluster,
    server: &UnstuckServer,
    groups: &[GroupId],
    committing: &[GroupId],
    during: impl Future<Output = Result<()>>,
) -> Result<Watched> {
    let began = Instant::now();
    let stop = Arc::new(AtomicBool::new(false));
    let flowing = Arc::new(AtomicUsize::new(0));
    let addresses: Vec<String> = cluster.broker_ids().into_iter().map(|id| cluster.address(id)).collect();
    let committers: Vec<_> = committing
        .iter()
        .map(|group| {
            let (stop, flowing) = (Arc::clone(&stop), Arc::clone(&flowing));
            let (addresses, group) = (addresses.clone(), group.clone());
            std::thread::spawn(move || {
                let mut commits = Vec::new();
                let mut connections = BTreeMap::new();
                let mut refusals = BTreeSet::new();
                while !stop.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    let outcome = commit(&mut connections, &addresses, &group);
                    let accepted = outcome.as_ref().is_ok_and(|code| *code == 0);
                    if !accepted {
                        refusals.insert(match outcome {
                            Ok(code) => format!("error {code}"),
                            Err(error) => format!("{error:#}"),
                        });
                    }
                    if accepted && !commits.iter().any(|commit: &Commit| commit.accepted) {
                        flowing.fetch_add(1, Ordering::Relaxed);
                    }
                    commits.push(Commit { begun, ended: Instant::now(), accepted });
                    std::thread::sleep(Duration::from_millis(100));
                }
                (group, commits, refusals)
            })
        })
        .collect();

    wait_for("commits of each group to go through", async || {
        let count = flowing.load(Ordering::Relaxed);
        if count == committing.len() { Ok(()) } else { Err(format!("{count} of {}", committing.len())) }
    })
    .await;
    let mut verdicts = Vec::new();
    let mut firsts = BTreeMap::new();
    let outcome = {
        let mut during = std::pin::pin!(during);
        loop {
            tokio::select! {
                outcome = &mut during => break outcome,
                () = tokio::time::sleep(Duration::from_millis(50)) => {
                    let results = server.lookup(groups).await?.results;
                    for result in &results {
                        firsts.entry(result.verdict.status).or_insert_with(|| brief_lookup(std::slice::from_ref(result)));
                    }
                    let statuses = results.iter().map(|result| result.verdict.status).collect();
                    verdicts.push(Verdict { at: Instant::now(), statuses });
                }
            }
        }
    };
    stop.store(true, Ordering::Relaxed);
    let mut watched = Watched {
        groups: groups.to_vec(),
        began,
        commits: BTreeMap::new(),
        verdicts,
        firsts,
        refusals: BTreeSet::new(),
    };
    for thread in committers {
        let (group, commits, refusals) = thread.join().map_err(|_| anyhow::anyhow!("a committing thread panicked"))?;
        watched.commits.insert(group, commits);
        watched.refusals.extend(refusals);
    }
    outcome.with_context(|| watched.summary())?;
    Ok(watched)
}

/// Commits as a client does that finds its coordinator anew each time.
fn commit(connections: &mut BTreeMap<String, Connection>, addresses: &[String], group: &GroupId) -> Result<i16> {
    let mut call = |address: &String, then: &mut dyn FnMut(&mut Connection) -> Result<Result<i32, i16>>| {
        let mut connection = match connections.remove(address) {
            Some(connection) => connection,
            None => Connection::open(address, PATIENCE)?,
        };
        let answer = then(&mut connection)?;
        connections.insert(address.clone(), connection);
        anyhow::Ok(answer)
    };
    let mut named = None;
    for address in addresses {
        if let Ok(Ok(id)) = call(address, &mut |connection| connection.find_coordinator(group.as_str())) {
            named = Some(id);
            break;
        }
    }
    let id = named.context("nobody names a coordinator")?;
    // Broker ids begin at 1, in the order of the addresses.
    let address = addresses.get(usize::try_from(id - 1)?).context("the coordinator's address")?;
    match call(address, &mut |connection| {
        connection.commit(group.as_str(), "orders", 1).map(|code| Ok(i32::from(code)))
    })? {
        Ok(code) => Ok(i16::try_from(code)?),
        Err(code) => Ok(code),
    }
}

impl Watched {
    /// Whether any group ever had this status.
    pub(super) fn saw(&self, status: Status) -> bool {
        self.verdicts.iter().any(|verdict| verdict.statuses.contains(&status))
    }

    /// How long commits of any watched group were refused at a stretch, at most.
    pub(super) fn longest_refusal(&self) -> Duration {
        let all = self.commits.values().flat_map(|commits| refusals(commits));
        all.map(|(from, to)| to - from).max().unwrap_or_default()
    }

    /// Fails if a group was called working or at risk while its commits were refused, `notice` after the refusals began.
    /// (At risk claims that commits go through, too.)
    pub(super) fn never_working_while_refused(&self, notice: Duration) -> Result<()> {
        for (group, commits) in &self.commits {
            let column = self.groups.iter().position(|one| one == group).context("a watched group")?;
            for (from, to) in refusals(commits) {
                let wrong = self.verdicts.iter().find(|verdict| {
                    verdict.at > from + notice
                        && verdict.at < to
                        && matches!(verdict.statuses[column], Status::Working | Status::AtRisk)
                });
                if let Some(verdict) = wrong {
                    anyhow::bail!(
                        "{group} was called {:?} at {:?}, though its commits were refused from {:?} to {:?}\n{}",
                        verdict.statuses[column],
                        verdict.at - self.began,
                        from - self.began,
                        to - self.began,
                        self.timeline(column)
                    );
                }
            }
        }
        Ok(())
    }

    /// When the status of a group changed, for messages.
    fn timeline(&self, column: usize) -> String {
        let mut last = None;
        let mut text = String::new();
        for verdict in &self.verdicts {
            let status = verdict.statuses[column];
            if last != Some(status) {
                text += &format!("{:?}: {}\n", verdict.at - self.began, status.slug());
                last = Some(status);
            }
        }
        text
    }

    /// When the statuses changed, over all groups, for messages.
    pub(super) fn summary(&self) -> String {
        let mut last = BTreeMap::new();
        let mut text = String::new();
        for verdict in &self.verdicts {
            let mut counts: BTreeMap<Status, usize> = BTreeMap::new();
            for status in &verdict.statuses {
                *counts.entry(*status).or_default() += 1;
            }
            if counts != last {
                text += &format!("{:?}: {counts:?}\n", verdict.at - self.began);
                last = counts;
            }
        }
        for first in self.firsts.values() {
            text += first;
        }
        for (group, commits) in &self.commits {
            let accepted = commits.iter().filter(|commit| commit.accepted).count();
            text += &format!("{group}: {accepted} of {} commits accepted\n", commits.len());
        }
        text += &format!("commits failed with {:?}\n", self.refusals);
        text
    }
}

/// Stretches in which no commit went through: from the end of the last accepted one to the beginning of the next.
fn refusals(commits: &[Commit]) -> Vec<(Instant, Instant)> {
    let mut stretches = Vec::new();
    let mut last_accepted: Option<Commit> = None;
    let mut refused = false;
    for commit in commits {
        if commit.accepted {
            if let (Some(last), true) = (last_accepted, refused) {
                stretches.push((last.ended, commit.begun));
            }
            last_accepted = Some(*commit);
            refused = false;
        } else {
            refused = true;
        }
    }
    if let (Some(last), true, Some(end)) = (last_accepted, refused, commits.last()) {
        stretches.push((last.ended, end.ended));
    }
    stretches
}
