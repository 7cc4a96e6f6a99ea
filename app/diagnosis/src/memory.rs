//! What was seen before: the groups, and since when a partition has been the way it is.
//!
//! A snapshot is one moment; rules that need "for how long" or "which groups were here" read this.
//! Pure as everything here: time comes from the snapshots.

mod elections;
mod groups;
mod partitions;
mod pauses;
mod seen;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use groups::SeenGroups;
use groups::served_by_leader;
pub use partitions::{EpochFell, PartitionMemory, StatePartitionMemory, UncleanElection};
pub use pauses::{PAUSE_MS, Pause};
pub use seen::{GONE_CAP, GoneGroup, HISTORY_CAP, SeenGroup, StateChange};

use crate::facts::{Facts, GONE_MS, listed_live, proven_absent_now};
use crate::history::SeenBroker;
use crate::placement_proof::contradicted_now;
use crate::report::{PlacementProof, Report, Status};
use crate::snapshot::{BrokerSight, Snapshot};
use crate::time::millis_between;
use crate::{BrokerId, GroupId, PartitionId};

/// How many ghosts are remembered.
pub const GHOSTS_CAP: usize = 100;
/// How many re-creations of the offsets topic are remembered.
const RECREATED_CAP: usize = 10;

/// Everything remembered about one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// When looking began, the first time.
    pub watching_since: Timestamp,
    /// When it was looked last.
    pub looked_until: Timestamp,
    /// When nobody looked since then, the last ones: a restart, or a machine that slept.
    pub pauses: Vec<Pause>,
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
    /// Brokers that answered, or that a broker or a bootstrap address listed as live, ever.
    pub brokers_seen: BTreeMap<BrokerId, SeenBroker>,
    /// When each broker was last seen to be stopped: it refuses connections, or cannot be found any more.
    pub brokers_gone: BTreeMap<BrokerId, Timestamp>,
    /// Since when everything that answers has listed no live broker at all.
    pub counts_none_since: Option<Timestamp>,
    /// Since when two live brokers have been named as controller, each by itself too (ZooKeeper).
    pub controllers_differ_since: Option<Timestamp>,
    /// When the offsets topic was there again after it was gone, or with all leader epochs back at 0.
    pub topic_recreated: Vec<Timestamp>,
    /// Since when a broker that does not coordinate a group has listed it all the same; the first [`GHOSTS_CAP`].
    pub ghosts: BTreeMap<GroupId, Timestamp>,
    /// What was seen of the partitions of other coordinators' topics, by topic.
    pub state_topics: BTreeMap<String, BTreeMap<PartitionId, StatePartitionMemory>>,
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

impl Memory {
    /// An empty memory.
    #[must_use]
    pub fn new(watching_since: Timestamp) -> Self {
        Self {
            watching_since,
            looked_until: watching_since,
            pauses: Vec::new(),
            groups: Arc::new(SeenGroups::default()),
            offsets_topic: None,
            offsets_topic_gone_since: None,
            partitions: BTreeMap::new(),
            no_controller_since: None,
            voters: Vec::new(),
            placement_contradicted_since: None,
            placement_proven_for: None,
            brokers_seen: BTreeMap::new(),
            brokers_gone: BTreeMap::new(),
            counts_none_since: None,
            controllers_differ_since: None,
            topic_recreated: Vec::new(),
            ghosts: BTreeMap::new(),
            state_topics: BTreeMap::new(),
            unlisted: BTreeSet::new(),
            relisted: BTreeMap::new(),
            headline: None,
        }
    }

    fn see_broker(&mut self, id: BrokerId, sight: Option<&BrokerSight>, now: Timestamp) {
        let seen = self.brokers_seen.entry(id).or_insert_with(|| SeenBroker {
            address: None,
            rack: None,
            first_seen: now,
            last_seen: now,
        });
        seen.last_seen = now;
        if let Some(sight) = sight {
            seen.address = sight.address.clone().or(seen.address.take());
            seen.rack = sight.rack.clone().or(seen.rack.take());
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
        self.learn_pause(now);
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
        let counts_none = facts.counts_no_broker();
        let two_controllers = facts.controllers_differ();
        let recreated = self.recreated_now(&facts, &partitions);
        let state_topics = self.state_topics_after(&facts);
        let gone_now: Vec<_> = facts.states.keys().copied().filter(|&id| facts.stopped(id)).collect();
        let seen_live: Vec<_> = facts.answering.union(&facts.listed_live).copied().collect();

        if !partitions.is_empty() {
            self.partitions = partitions;
        }
        if recreated && self.topic_recreated.last() != Some(&now) {
            self.topic_recreated.push(now);
            let excess = self.topic_recreated.len().saturating_sub(RECREATED_CAP);
            self.topic_recreated.drain(..excess);
        }
        self.state_topics = state_topics;
        self.brokers_gone.extend(gone_now.into_iter().map(|id| (id, now)));
        for id in seen_live {
            self.see_broker(id, snapshot.brokers.get(&id), now);
        }
        self.counts_none_since = counts_none.then(|| self.counts_none_since.unwrap_or(now));
        if !stale {
            self.controllers_differ_since = two_controllers.then(|| self.controllers_differ_since.unwrap_or(now));
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
        let listings = self.groups.listings.clone();
        self.learn_groups(snapshot, &answering, &served);
        if listings != self.groups.listings || !self.ghosts.is_empty() {
            self.learn_ghosts(snapshot, now);
        }
    }

    /// Whether the offsets topic has just come back after it was proven gone, or was made anew between two looks: then
    /// all leader epochs are 0 again.
    fn recreated_now(&self, facts: &Facts<'_>, partitions: &BTreeMap<PartitionId, PartitionMemory>) -> bool {
        if facts.stale || facts.partitions.is_empty() {
            return false;
        }
        let was_gone = self.offsets_topic_gone_since.is_some_and(|since| millis_between(since, facts.now) >= GONE_MS);
        let fell = |memory: &PartitionMemory| memory.epoch_fell.as_ref().is_some_and(|fell| fell.at == facts.now);
        let anew = facts.partitions.values().all(|seen| seen.newest.leader_epoch == Some(0));
        self.offsets_topic.is_some() && (was_gone || anew && partitions.values().any(fell))
    }

    /// Takes in what was concluded, so that the next report can say since when.
    pub fn note(&mut self, report: &Report) {
        let resuming = self.resuming(report.observed_at);
        for partition in &report.partitions {
            let memory = self.partitions.entry(partition.partition).or_default();
            if resuming && no_news(memory.verdict.as_ref(), partition.status) {
                continue;
            }
            memory.verdict = Some(status_after(memory.verdict.as_ref(), partition.status, report.observed_at));
        }
        if let PlacementProof::Certain { partition_count } = report.placement {
            self.placement_proven_for = Some(partition_count);
        }
        if resuming && no_news(self.headline.as_ref(), report.headline.status) {
            return;
        }
        self.headline = Some(status_after(self.headline.as_ref(), report.headline.status, report.observed_at));
    }
}

/// Whether a verdict right after a pause tells nothing new: the first looks do not know yet, and what they cannot reach may
/// seem to be about to recover.
fn no_news(before: Option<&StatusSince>, status: Status) -> bool {
    match before.map(|before| before.status) {
        None => false,
        Some(Status::Stuck) => matches!(status, Status::Unknown | Status::Recovering),
        Some(_) => status == Status::Unknown,
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
