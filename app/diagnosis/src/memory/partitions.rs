//! What was seen of each partition over time: since when it has been the way it is, and how often its leader changed.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Memory, StatusSince, elections};
use crate::facts::{Facts, PartitionFacts};
use crate::time::millis_between;
use crate::{BrokerId, PartitionId};

/// For how long changes of leader are remembered.
const CHANGES_MS: i64 = 900_000;
/// How many changes of leader are remembered.
const CHANGES_CAP: usize = 30;

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
    /// Since when it has had a leader and fewer replicas in sync than it has.
    #[serde(default)]
    pub short_isr_since: Option<Timestamp>,
    /// Since when leader and leader epoch have been what they are.
    pub leadership_since: Option<Timestamp>,
    /// Leader and epoch that this is about.
    pub leadership: (Option<BrokerId>, Option<i32>),
    /// When it got the leaders that it had within the last 15 minutes, oldest first.
    pub leader_changes: Vec<Timestamp>,
    /// Its ISR when last seen with members: releases below 2.4 hide it while there is no leader.
    pub last_isr: Vec<BrokerId>,
    /// The last election of a replica that was not in sync, if one was seen.
    pub unclean_election: Option<UncleanElection>,
    /// An election that looks like one, while brokers still disagree about it.
    #[serde(default)]
    pub suspected_election: Option<UncleanElection>,
    /// When a broker that answers last told of it.
    #[serde(default)]
    pub seen_at: Option<Timestamp>,
    /// Since when replicas have been offline although the cluster lists their brokers as live.
    pub offline_dirs: BTreeMap<BrokerId, Timestamp>,
    /// When its leader epoch last went backwards, which Kafka itself never does.
    pub epoch_fell: Option<EpochFell>,
    /// The verdict, and since when.
    pub verdict: Option<StatusSince>,
}

/// A replica became leader that was not in sync, while those in sync were down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncleanElection {
    /// When it was seen.
    pub at: Timestamp,
    /// The new leader.
    pub leader: BrokerId,
    /// The replicas that were in sync before.
    pub isr_before: Vec<BrokerId>,
}

/// A leader epoch that went backwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpochFell {
    /// When that was seen.
    pub at: Timestamp,
    /// The higher one.
    pub from: i32,
    /// The lower one.
    pub to: i32,
}

/// One partition of another coordinator's topic over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatePartitionMemory {
    /// Since when it has had no leader.
    pub leaderless_since: Option<Timestamp>,
    /// Since when its ISR has been below min.insync.replicas.
    pub below_min_since: Option<Timestamp>,
}

impl Memory {
    pub(super) fn partition_after(
        &self,
        facts: &Facts<'_>,
        partition: PartitionId,
        seen: &PartitionFacts<'_>,
    ) -> PartitionMemory {
        let now = facts.now;
        let before = self.partitions.get(&partition);
        let mut after = before.cloned().unwrap_or_default();
        if facts.stale {
            return after;
        }
        let view = seen.newest;
        let leadership = (view.leader, view.leader_epoch);
        if let Some(before) = before.filter(|before| before.leadership != leadership) {
            after.leadership_since = Some(now);
            note_change(&mut after, before, facts, seen);
        }
        elections::confirm(&mut after, facts, seen);
        after.seen_at = Some(now);
        after.leader_changes.retain(|&at| millis_between(at, now) <= CHANGES_MS);
        after.leadership = leadership;
        after.last_leader = view.leader.or(after.last_leader);
        if !seen.eligible.is_empty() {
            after.last_eligible.clone_from(&seen.eligible);
        }
        if before.is_none_or(|before| view.leader_epoch >= before.leadership.1) {
            elections::forget_eligible(&mut after, facts, seen);
        }
        let keep = |holds: bool, since: Option<Timestamp>| holds.then(|| since.unwrap_or(now));
        let leaderless = view.leader.is_none();
        let mut eligible = if view.isr.is_empty() { seen.eligible.clone() } else { view.isr.clone() };
        if eligible.is_empty() {
            eligible.clone_from(&view.replicas);
        }
        eligible.retain(|id| !seen.failed_dirs.contains(id));
        let candidate = leaderless && !facts.answering_among(&eligible).is_empty();
        if !view.isr.is_empty() {
            after.last_isr.clone_from(&view.isr);
        }
        let offline = seen.offline_though_live.iter();
        after.offline_dirs = offline
            .map(|&id| (id, before.and_then(|before| before.offline_dirs.get(&id)).copied().unwrap_or(now)))
            .collect();
        after.leaderless_since = keep(leaderless, after.leaderless_since);
        after.candidate_since = keep(candidate, after.candidate_since);
        after.disagreeing_since = keep(!seen.agree, after.disagreeing_since);
        let below = facts.min_isr(view.replicas.len()).is_some_and(|min| view.isr.len() < min);
        after.below_min_since = keep(below && !leaderless, after.below_min_since);
        let short = view.replicas.iter().any(|id| !view.isr.contains(id));
        after.short_isr_since = keep(short && !leaderless, after.short_isr_since);
        after
    }

    pub(super) fn state_topics_after(
        &self,
        facts: &Facts<'_>,
    ) -> BTreeMap<String, BTreeMap<PartitionId, StatePartitionMemory>> {
        if facts.stale {
            return self.state_topics.clone();
        }
        let after = |topic: &str, partition: PartitionId, seen: &PartitionFacts<'_>| {
            let before = self.state_topics.get(topic).and_then(|partitions| partitions.get(&partition));
            let keep = |holds: bool, since: Option<Timestamp>| holds.then(|| since.unwrap_or(facts.now));
            let leaderless = seen.newest.leader.is_none();
            let min = facts.state_min_isr(topic, seen.newest.replicas.len());
            let below = min.is_some_and(|min| seen.newest.isr.len() < min);
            StatePartitionMemory {
                leaderless_since: keep(leaderless, before.and_then(|before| before.leaderless_since)),
                below_min_since: keep(below && !leaderless, before.and_then(|before| before.below_min_since)),
            }
        };
        facts
            .state_topics
            .iter()
            .map(|(&topic, partitions)| {
                let partitions = partitions.iter();
                (topic.to_owned(), partitions.map(|(&id, seen)| (id, after(topic, id, seen))).collect())
            })
            .collect()
    }
}

/// Takes in that leader or epoch are others than before.
fn note_change(after: &mut PartitionMemory, before: &PartitionMemory, facts: &Facts<'_>, seen: &PartitionFacts<'_>) {
    let view = seen.newest;
    let (leader_before, epoch_before) = before.leadership;
    if let (Some(from), Some(to)) = (epoch_before, view.leader_epoch)
        && to < from
        && seen.agree
    {
        after.epoch_fell = Some(EpochFell { at: facts.now, from, to });
    }
    // An ISR that shrinks has a new epoch under the same leader in ZooKeeper mode: that is no change of leader.
    let Some(leader) = view.leader.filter(|_| leader_before != view.leader) else { return };
    if before.last_leader.is_some() {
        after.leader_changes.push(facts.now);
        let excess = after.leader_changes.len().saturating_sub(CHANGES_CAP);
        after.leader_changes.drain(..excess);
    }
    after.suspected_election = elections::suspect(before, facts, seen, leader);
}
