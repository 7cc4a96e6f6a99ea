//! What was seen before: the groups, and since when a partition has been the way it is.
//!
//! A snapshot is one moment; rules that need "for how long" or "which groups were here" read this.
//! Pure as everything here: time comes from the snapshots.

mod groups;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use groups::served_by_leader;
pub use groups::{SeenGroup, SeenGroups};

use crate::facts::{Facts, PartitionFacts, listed_live, proven_absent_now};
use crate::placement_proof::contradicted_now;
use crate::report::{PlacementProof, Report, Status};
use crate::snapshot::Snapshot;
use crate::{BrokerId, PartitionId};

/// Everything remembered about one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// When looking began.
    pub watching_since: Timestamp,
    /// Every group ever listed and not properly deleted since.
    pub groups: Arc<SeenGroups>,
    /// How many partitions the offsets topic had when last seen, and when that was; `None` if it never was.
    pub offsets_topic: Option<SeenTopic>,
    /// Since when every broker that answers has proven it absent.
    pub offsets_topic_gone_since: Option<Timestamp>,
    /// What was seen of each partition over time.
    pub partitions: BTreeMap<PartitionId, PartitionMemory>,
    /// Since when no answering broker could tell a controller (ZooKeeper) or quorum leader (KRaft).
    pub no_controller_since: Option<Timestamp>,
    /// The voters of the KRaft quorum when last told: a broker that lost the quorum cannot tell them any more.
    pub voters: Vec<i32>,
    /// Since when the FindCoordinator answers contradict the hash.
    pub placement_contradicted_since: Option<Timestamp>,
    /// The partition count for which FindCoordinator answers proved the placement last.
    pub placement_proven_for: Option<i32>,
    /// Brokers that no other broker lists as live now, though they are known.
    pub unlisted: BTreeSet<BrokerId>,
    /// When a broker that nobody listed as live was listed again.
    pub relisted: BTreeMap<BrokerId, Timestamp>,
    /// The status of the headline, and since when.
    pub headline: Option<StatusSince>,
}

/// The offsets topic when last seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenTopic {
    /// How many partitions it had.
    pub partition_count: i32,
    /// When it was last seen.
    pub last_seen: Timestamp,
}

/// A status, and since when it has been so; `None` if it was so when looking began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusSince {
    /// The status.
    pub status: Status,
    /// Since when.
    pub since: Option<Timestamp>,
}

/// One partition of the offsets topic over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionMemory {
    /// The last leader seen.
    pub last_leader: Option<BrokerId>,
    /// The eligible leader replicas when last told: a dead broker can no longer be asked.
    pub last_eligible: Vec<BrokerId>,
    /// Since when every answering broker has said that there is no leader.
    pub leaderless_since: Option<Timestamp>,
    /// Since when the answering brokers have disagreed on leader or epoch.
    pub disagreeing_since: Option<Timestamp>,
    /// Since when it has had no leader although the broker of an eligible replica answers.
    pub candidate_since: Option<Timestamp>,
    /// Since when its ISR has been below min.insync.replicas.
    pub below_min_since: Option<Timestamp>,
    /// Since when leader and leader epoch have been what they are.
    pub leadership_since: Option<Timestamp>,
    /// Leader and epoch that this is about.
    pub leadership: (Option<BrokerId>, Option<i32>),
    /// The verdict, and since when.
    pub verdict: Option<StatusSince>,
}

impl Memory {
    /// An empty memory.
    #[must_use]
    pub fn new(watching_since: Timestamp) -> Self {
        Self {
            watching_since,
            groups: Arc::new(SeenGroups::default()),
            offsets_topic: None,
            offsets_topic_gone_since: None,
            partitions: BTreeMap::new(),
            no_controller_since: None,
            voters: Vec::new(),
            placement_contradicted_since: None,
            placement_proven_for: None,
            unlisted: BTreeSet::new(),
            relisted: BTreeMap::new(),
            headline: None,
        }
    }

    fn learn_listing(&mut self, snapshot: &Snapshot, now: Timestamp) {
        let listed = listed_live(snapshot, now);
        for &broker in snapshot.brokers.keys() {
            if !listed.contains(&broker) {
                self.unlisted.insert(broker);
                self.relisted.remove(&broker);
            } else if self.unlisted.remove(&broker) {
                self.relisted.insert(broker, now);
            }
        }
    }

    /// Takes in a snapshot: which groups were seen, and since when things have been as they are.
    pub fn learn(&mut self, snapshot: &Snapshot) {
        let now = snapshot.taken_at;
        self.learn_listing(snapshot, now);
        let facts = Facts::draw(snapshot, self, now);
        let partitions: BTreeMap<_, _> = facts
            .partitions
            .iter()
            .map(|(&partition, seen)| (partition, self.partition_after(&facts, partition, seen)))
            .collect();
        let no_controller = facts.no_controller_now();
        let contradicted = contradicted_now(&facts);
        let gone = proven_absent_now(&facts);
        let quorums = snapshot.brokers.values().filter_map(|sight| sight.quorum.known());
        let voters = quorums.max_by_key(|quorum| quorum.at).map(|quorum| quorum.voters.clone());
        let count = facts.partition_count();
        let (seen_now, answering, stale) = (count.filter(|_| !facts.stale), facts.answering.clone(), facts.stale);
        let served = served_by_leader(&facts);

        if !partitions.is_empty() {
            self.partitions = partitions;
        }
        if !stale {
            self.no_controller_since = no_controller.then(|| self.no_controller_since.unwrap_or(now));
            self.placement_contradicted_since = contradicted.then(|| self.placement_contradicted_since.unwrap_or(now));
        }
        self.offsets_topic_gone_since = gone.then(|| self.offsets_topic_gone_since.unwrap_or(now));
        if let Some(voters) = voters {
            self.voters = voters;
        }
        if let Some(partition_count) = seen_now {
            self.offsets_topic = Some(SeenTopic { partition_count, last_seen: now });
        }
        self.learn_groups(snapshot, &answering, &served);
    }

    /// Takes in what was concluded, so that the next report can say since when.
    pub fn note(&mut self, report: &Report) {
        for partition in &report.partitions {
            let memory = self.partitions.entry(partition.partition).or_default();
            memory.verdict = Some(status_after(memory.verdict.as_ref(), partition.status, report.observed_at));
        }
        if let PlacementProof::Certain { partition_count } = report.placement {
            self.placement_proven_for = Some(partition_count);
        }
        self.headline = Some(status_after(self.headline.as_ref(), report.headline.status, report.observed_at));
    }

    fn partition_after(&self, facts: &Facts<'_>, partition: PartitionId, seen: &PartitionFacts<'_>) -> PartitionMemory {
        let now = facts.now;
        let before = self.partitions.get(&partition);
        let mut after = before.cloned().unwrap_or_default();
        if facts.stale {
            return after;
        }
        let view = seen.newest;
        let leadership = (view.leader, view.leader_epoch);
        if before.is_some() && after.leadership != leadership {
            after.leadership_since = Some(now);
        }
        after.leadership = leadership;
        after.last_leader = view.leader.or(after.last_leader);
        if !seen.eligible.is_empty() {
            after.last_eligible.clone_from(&seen.eligible);
        }
        let keep = |holds: bool, since: Option<Timestamp>| holds.then(|| since.unwrap_or(now));
        let leaderless = view.leader.is_none();
        let mut eligible = if view.isr.is_empty() { seen.eligible.clone() } else { view.isr.clone() };
        if eligible.is_empty() {
            eligible.clone_from(&view.replicas);
        }
        let candidate = leaderless && !facts.answering_among(&eligible).is_empty();
        after.leaderless_since = keep(leaderless, after.leaderless_since);
        after.candidate_since = keep(candidate, after.candidate_since);
        after.disagreeing_since = keep(!seen.agree, after.disagreeing_since);
        let below = facts.min_isr(view.replicas.len()).is_some_and(|min| view.isr.len() < min);
        after.below_min_since = keep(below && !leaderless, after.below_min_since);
        after
    }
}

fn status_after(before: Option<&StatusSince>, status: Status, now: Timestamp) -> StatusSince {
    let since = match before {
        None => None,
        Some(before) if before.status == status => before.since,
        // The first look was only just finished: it was so when looking began.
        Some(StatusSince { status: Status::Unknown, since: None }) => None,
        Some(_) => Some(now),
    };
    StatusSince { status, since }
}

#[cfg(test)]
mod tests;
