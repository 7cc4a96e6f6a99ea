//! Verdicts beside the truth: what Unstuck says of a group, and whether its commits go through, moment by moment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::report::Status;
use unstuck_tests::cluster::Cluster;
use unstuck_tests::server::{UnstuckServer, brief_lookup};

use super::commits::{Commits, Committing};

/// How long before commits go through again a group may be called working: on a busy machine the brokers' caches, and
/// with them clients, follow a new leader with a delay.
const EARLY: Duration = Duration::from_secs(1);

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
    commits: BTreeMap<GroupId, Commits>,
    verdicts: Vec<Verdict>,
    /// The first answer of each status in full, for messages.
    firsts: BTreeMap<Status, String>,
}

/// Watches while `during` runs, which begins when commits of each group went through: asks for the verdicts on `groups`
/// about 20 times a second, and goes on committing for each of `committing`.
pub(super) async fn watch(
    cluster: &Cluster,
    server: &UnstuckServer,
    groups: &[GroupId],
    committing: &[GroupId],
    during: impl Future<Output = Result<()>>,
) -> Result<Watched> {
    let began = Instant::now();
    let clients = Committing::start(cluster, committing);
    clients.wait_until_flowing().await;
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
    let watched = Watched { groups: groups.to_vec(), began, commits: clients.stop()?, verdicts, firsts };
    outcome.with_context(|| watched.summary())?;
    Ok(watched)
}

impl Watched {
    /// Whether any group ever had this status.
    pub(super) fn saw(&self, status: Status) -> bool {
        self.verdicts.iter().any(|verdict| verdict.statuses.contains(&status))
    }

    /// How long commits of any watched group were refused at a stretch, at most.
    pub(super) fn longest_refusal(&self) -> Duration {
        let all = self.commits.values().flat_map(Commits::refusals);
        all.map(|(from, to)| to - from).max().unwrap_or_default()
    }

    /// Fails if a group was called working or at risk while its commits were refused, `notice` after the refusals began.
    /// (At risk claims that commits go through, too.)
    pub(super) fn never_working_while_refused(&self, notice: Duration) -> Result<()> {
        for (group, commits) in &self.commits {
            let column = self.groups.iter().position(|one| one == group).context("a watched group")?;
            for (from, to) in commits.refusals() {
                let wrong = self.verdicts.iter().find(|verdict| {
                    verdict.at > from + notice
                        && verdict.at + EARLY < to
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
            let refused: Vec<&String> = commits.0.iter().filter_map(|commit| commit.refused.as_ref()).collect();
            let reasons: BTreeSet<&String> = refused.iter().copied().collect();
            text += &format!("{group}: {} of {} commits refused: {reasons:?}\n", refused.len(), commits.0.len());
        }
        text
    }
}
