//! What every rule reads: the snapshot with the simple conclusions already drawn, once and in one place.

mod brokers;
mod controller;
mod settings;
mod topic;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

pub(crate) use brokers::listed_live;
pub(crate) use settings::{Setting, parse_release, release};
pub(crate) use topic::{GONE_MS, proven_absent_now};

use crate::memory::Memory;
use crate::report::{Bound, BrokerState, TopicPresence};
use crate::snapshot::{MetadataView, PartitionView, Snapshot, Why};
use crate::time::after;
use crate::{BrokerId, PartitionId};

/// Added to every session time-out: fencing, election and the way to every broker's cache
/// took up to 1.5 s on brokers that were tried; a busy controller needs longer.
const MARGIN_MS: i64 = 4_000;
/// How long after its bound an expected event counts as not coming at all.
const OVERDUE_MS: i64 = 30_000;

/// The snapshot with simple conclusions drawn.
pub(crate) struct Facts<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) memory: &'a Memory,
    pub(crate) now: Timestamp,
    /// How each broker stands, from here.
    pub(crate) states: BTreeMap<BrokerId, BrokerState>,
    /// Brokers whose views count as current.
    pub(crate) answering: BTreeSet<BrokerId>,
    /// Brokers that some *other* answering broker lists as live.
    pub(crate) listed_live: BTreeSet<BrokerId>,
    /// Brokers that live, and have no address on the listener by which we look.
    pub(crate) off_listener: BTreeSet<BrokerId>,
    /// Brokers there are: live, fenced, in replica lists, or seen before.
    pub(crate) registered: BTreeSet<BrokerId>,
    pub(crate) presence: TopicPresence,
    /// Whether the partitions below come from brokers that no longer answer, because none does.
    pub(crate) stale: bool,
    /// The merged view of each offsets partition.
    pub(crate) partitions: BTreeMap<PartitionId, PartitionFacts<'a>>,
    /// The same of the topics of other coordinators, `__transaction_state` and `__share_group_state`, by topic.
    pub(crate) state_topics: BTreeMap<&'a str, BTreeMap<PartitionId, PartitionFacts<'a>>>,
    pub(crate) controller: Controller,
    /// True for KRaft, false for ZooKeeper, `None` if no broker told.
    pub(crate) kraft: Option<bool>,
    /// Session time-out in milliseconds; `assumed` if no broker told it.
    pub(crate) session: Setting,
    /// `replica.lag.time.max.ms`.
    pub(crate) replica_lag: Setting,
}

/// Whether somebody can elect leaders and change ISRs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Controller {
    /// There is one (KRaft: the quorum has a leader; the node id).
    Known(i32),
    /// The one that was there is gone, and the time for electing another has not passed.
    Electing,
    /// There is none, in words why Unstuck says so.
    Gone(String),
    /// Could not be looked at, and why.
    NotKnown(String),
}

/// One offsets partition, merged from the views of the brokers that count.
pub(crate) struct PartitionFacts<'a> {
    /// The newest view: highest leader epoch, then latest answer.
    pub(crate) newest: &'a PartitionView,
    /// Every counted broker's view.
    pub(crate) views: BTreeMap<BrokerId, &'a PartitionView>,
    /// Whether they agree on leader and epoch.
    pub(crate) agree: bool,
    /// Eligible leader replicas (KIP-966) that count while the ISR is empty.
    pub(crate) eligible: Vec<BrokerId>,
    /// Replicas that the newest view holds for offline although it lists their brokers as live.
    pub(crate) offline_though_live: Vec<BrokerId>,
    /// Those for which that lasts, or whose broker itself names a failed log directory.
    pub(crate) failed_dirs: Vec<BrokerId>,
}

impl<'a> Facts<'a> {
    pub(crate) fn draw(snapshot: &'a Snapshot, memory: &'a Memory, now: Timestamp) -> Self {
        let listed_live = listed_live(snapshot, now);
        let stands = |id, sight| {
            let state = brokers::state_of(sight, listed_live.contains(&id), now);
            brokers::unless_back(state, sight, memory.relisted.get(&id).copied(), now)
        };
        let states: BTreeMap<_, _> = snapshot.brokers.iter().map(|(&id, sight)| (id, stands(id, sight))).collect();
        let answering: BTreeSet<_> = states
            .iter()
            .filter(|(_, state)| matches!(state, BrokerState::Answering | BrokerState::Late))
            .map(|(&id, _)| id)
            .filter(|id| metadata(snapshot, *id).is_some())
            .collect();
        let stale = answering.is_empty();
        let counted: BTreeMap<BrokerId, &MetadataView> = snapshot
            .brokers
            .keys()
            .filter(|id| stale || answering.contains(id))
            .filter_map(|&id| Some((id, metadata(snapshot, id)?)))
            .collect();
        let partitions = topic::merge(snapshot, memory, &counted, now);
        let kraft = snapshot.brokers.values().find_map(|sight| sight.kraft);
        let mut facts = Self {
            snapshot,
            memory,
            now,
            presence: topic::presence(snapshot, memory, &counted, stale, now),
            registered: topic::registered(snapshot, &partitions),
            controller: Controller::NotKnown("not looked at yet".to_owned()),
            session: settings::session(snapshot, kraft),
            replica_lag: settings::setting(
                settings::configs(snapshot).filter_map(|configs| configs.replica_lag_time_max_ms).max(),
                settings::REPLICA_LAG_MS,
            ),
            state_topics: topic::merge_state_topics(&counted),
            states,
            answering,
            off_listener: brokers::off_listener(&counted),
            listed_live,
            stale,
            partitions,
            kraft,
        };
        facts.controller = facts.find_controller();
        facts
    }

    pub(crate) fn state(&self, broker: BrokerId) -> BrokerState {
        self.states.get(&broker).copied().unwrap_or_default()
    }

    /// Since when a broker has not answered.
    pub(crate) fn silent_since(&self, broker: BrokerId) -> Timestamp {
        self.snapshot
            .brokers
            .get(&broker)
            .and_then(|sight| sight.contact.trouble.as_ref())
            .map_or(self.now, |trouble| trouble.since)
    }

    /// Whether a broker can become leader of what it is in sync with: it answers, and the cluster holds it for live;
    /// or we never reached it, but the cluster holds it for live.
    pub(crate) fn electable(&self, broker: BrokerId) -> bool {
        match self.state(broker) {
            BrokerState::Answering | BrokerState::Late => {
                self.listed_live.contains(&broker) || self.answering.iter().all(|&id| id == broker)
            }
            BrokerState::NeverReached | BrokerState::Unreadable | BrokerState::NotTried => {
                self.listed_live.contains(&broker)
            }
            BrokerState::Hung | BrokerState::Gone | BrokerState::NotLive => false,
        }
    }

    /// Whether a broker can become leader of this partition, as far as its disk and the cluster are concerned.
    pub(crate) fn electable_for(&self, seen: &PartitionFacts<'_>, broker: BrokerId) -> bool {
        self.electable(broker) && !seen.failed_dirs.contains(&broker)
    }

    /// Whether something answers, and nothing that answers lists a live broker, not even itself.
    pub(crate) fn counts_no_broker(&self) -> bool {
        let ways = self.snapshot.bootstrap.values().filter_map(|way| Some(way.answer.known()?.broker_count));
        let views = self.answering.iter().filter_map(|&id| metadata(self.snapshot, id)).map(|view| view.brokers.len());
        let mut counts = if self.answering.is_empty() { ways.collect::<Vec<_>>() } else { views.collect() };
        counts.sort_unstable();
        counts.last() == Some(&0)
    }

    /// The brokers among `ids` that answer here, whether or not the cluster holds them for live.
    pub(crate) fn answering_among(&self, ids: &[BrokerId]) -> Vec<BrokerId> {
        ids.iter().copied().filter(|id| self.answering.contains(id)).collect()
    }

    /// Whether a broker is alive although we cannot reach it any more: somebody could fence it, had the time to, and
    /// did not. Silence on an open connection is another matter: a hung broker goes on sending heartbeats.
    pub(crate) fn unreachable_from_here(&self, broker: BrokerId) -> bool {
        let bound = self.election_bound(self.silent_since(broker));
        let why = self.snapshot.brokers.get(&broker).and_then(|sight| sight.contact.trouble.as_ref());
        let long = match self.state(broker) {
            BrokerState::Gone => self.overdue(&bound),
            BrokerState::Hung => why.is_some_and(|trouble| trouble.why != Why::Silent) && self.past(&bound),
            _ => false,
        };
        long && self.listed_live.contains(&broker) && matches!(self.controller, Controller::Known(_))
    }

    /// Whether a broker is lost, as far as known: gone, hung, or not live, and not merely out of our reach.
    pub(crate) fn lost(&self, broker: BrokerId) -> bool {
        matches!(self.state(broker), BrokerState::Gone | BrokerState::Hung | BrokerState::NotLive)
            && !self.unreachable_from_here(broker)
            && !self.off_listener.contains(&broker)
    }

    /// Whether a broker that answered before is stopped, as far as seen from here. One that is merely silent is not: it may
    /// be paused.
    pub(crate) fn stopped(&self, broker: BrokerId) -> bool {
        let trouble = self.snapshot.brokers.get(&broker).and_then(|sight| sight.contact.trouble.as_ref());
        match self.state(broker) {
            BrokerState::Gone => true,
            BrokerState::Hung => trouble.is_some_and(|trouble| trouble.why != Why::Silent),
            _ => false,
        }
    }

    /// The time by which an election that a lost broker calls for should be over.
    pub(crate) fn election_bound(&self, lost_at: Timestamp) -> Bound {
        Bound { at: after(lost_at, self.session.ms + MARGIN_MS), assumed: self.session.assumed }
    }

    /// The time by which a follower that falls behind should have left the ISR, or one that caught up joined it.
    pub(crate) fn replica_bound(&self, from: Timestamp) -> Bound {
        Bound { at: after(from, self.replica_lag.ms + MARGIN_MS), assumed: self.replica_lag.assumed }
    }

    pub(crate) fn past(&self, bound: &Bound) -> bool {
        self.now > bound.at
    }

    /// Whether a bound has passed for so long that not even a busy controller explains it.
    pub(crate) fn overdue(&self, bound: &Bound) -> bool {
        self.now > after(bound.at, OVERDUE_MS)
    }

    /// Whether somebody can elect and change ISRs, as far as known: not knowing is no reason to doubt it.
    pub(crate) fn can_elect(&self) -> bool {
        !matches!(self.controller, Controller::Gone(_))
    }

    pub(crate) fn partition_count(&self) -> Option<i32> {
        let last = *self.partitions.keys().next_back()?;
        last.checked_add(1)
    }
}

/// The last metadata that a broker gave.
pub(crate) fn metadata(snapshot: &Snapshot, broker: BrokerId) -> Option<&MetadataView> {
    snapshot.brokers.get(&broker)?.metadata.known()
}
