//! What every rule reads: the snapshot with the simple conclusions already drawn, once and in one place.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::memory::Memory;
use crate::report::{Bound, BrokerState, TopicPresence};
use crate::snapshot::{BrokerSight, MetadataView, PartitionView, Snapshot, Why};
use crate::time::{after, millis_between};
use crate::{BrokerId, PartitionId};

/// Kafka's default of `broker.session.timeout.ms` (KRaft controllers).
const KRAFT_SESSION_MS: i64 = 9_000;
/// Kafka's default of `zookeeper.session.timeout.ms` since 2.5 (6,000 before).
const ZOOKEEPER_SESSION_MS: i64 = 18_000;
/// Kafka's default of `replica.lag.time.max.ms` since 2.5 (10,000 before).
const REPLICA_LAG_MS: i64 = 30_000;
/// Added to every session time-out: fencing, election and the way to every broker's cache
/// took up to 1.5 s on brokers that were tried; a busy controller needs longer.
const MARGIN_MS: i64 = 4_000;
/// How long the offsets topic must be proven absent before it counts as gone.
const GONE_MS: i64 = 5_000;
/// How long a broker that is listed as live again may take to be reached: attempts are at most a second apart.
const RELISTED_MS: i64 = 3_000;
/// How long after its bound an expected event counts as not coming at all.
const OVERDUE_MS: i64 = 30_000;
/// How long a quorum without a leader is taken for an election.
const CONTROLLER_GRACE_MS: i64 = 5_000;
/// How long DescribeQuorum may stay unanswered everywhere before that means that there is no quorum.
const QUORUM_SILENCE_MS: i64 = 45_000;

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
    /// Brokers there are: live, fenced, in replica lists, or seen before.
    pub(crate) registered: BTreeSet<BrokerId>,
    pub(crate) presence: TopicPresence,
    /// Whether the partitions below come from brokers that no longer answer, because none does.
    pub(crate) stale: bool,
    /// The merged view of each offsets partition.
    pub(crate) partitions: BTreeMap<PartitionId, PartitionFacts<'a>>,
    pub(crate) controller: Controller,
    /// True for KRaft, false for ZooKeeper, `None` if no broker told.
    pub(crate) kraft: Option<bool>,
    /// Session time-out in milliseconds; `assumed` if no broker told it.
    pub(crate) session: Setting,
    /// `replica.lag.time.max.ms`.
    pub(crate) replica_lag: Setting,
}

/// A setting in milliseconds, read or assumed.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) ms: i64,
    pub(crate) assumed: bool,
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
}

impl<'a> Facts<'a> {
    pub(crate) fn draw(snapshot: &'a Snapshot, memory: &'a Memory, now: Timestamp) -> Self {
        let listed_live = listed_live(snapshot, now);
        let stands = |id, sight| {
            let state = state_of(sight, listed_live.contains(&id), now);
            unless_back(state, sight, memory.relisted.get(&id).copied(), now)
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
        let partitions = merge(snapshot, memory, &counted);
        let kraft = snapshot.brokers.values().find_map(|sight| sight.kraft);
        let mut facts = Self {
            snapshot,
            memory,
            now,
            presence: presence(snapshot, memory, &counted, stale, now),
            registered: registered(snapshot, &partitions),
            controller: Controller::NotKnown("not looked at yet".to_owned()),
            session: session(snapshot, kraft),
            replica_lag: setting(
                configs(snapshot).filter_map(|configs| configs.replica_lag_time_max_ms).max(),
                REPLICA_LAG_MS,
            ),
            states,
            answering,
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

    /// The brokers among `ids` that answer here, whether or not the cluster holds them for live.
    pub(crate) fn answering_among(&self, ids: &[BrokerId]) -> Vec<BrokerId> {
        ids.iter().copied().filter(|id| self.answering.contains(id)).collect()
    }

    /// The effective `min.insync.replicas` of a partition with so many replicas: as it is up to 3.6,
    /// capped by the replication factor from 3.7 on (KAFKA-15583). `None` if no broker told.
    pub(crate) fn min_isr(&self, replicas: usize) -> Option<usize> {
        let (told, _) = self.told_min_isr()?;
        let caps = self.snapshot.brokers.values().filter_map(release).any(|release| release >= (3, 7));
        Some(if caps { told.min(replicas.max(1)) } else { told })
    }

    /// Whether the topic's own `min.insync.replicas` was told by a broker that answers. The brokers' default alone is
    /// no proof: the topic may override it.
    pub(crate) fn min_isr_verified(&self) -> bool {
        self.told_min_isr().is_some_and(|(_, verified)| verified)
    }

    /// The largest value that brokers tell: those that answer first, as what others said may be long out of date.
    fn told_min_isr(&self) -> Option<(usize, bool)> {
        let topic = |sight: &BrokerSight| sight.topic_configs.known()?.as_ref()?.min_insync_replicas;
        let default = |sight: &BrokerSight| sight.configs.known()?.min_insync_replicas;
        let answering = || self.answering.iter().filter_map(|id| self.snapshot.brokers.get(id));
        let least = |told: i32| usize::try_from(told).unwrap_or(1).max(1);
        if let Some(told) = answering().filter_map(topic).max() {
            return Some((least(told), true));
        }
        let others = self.snapshot.brokers.values().filter_map(topic).max();
        let told = answering().filter_map(default).max().max(others)?;
        Some((least(told), false))
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

    fn find_controller(&self) -> Controller {
        if self.answering.is_empty() {
            return Controller::NotKnown("no broker answers".to_owned());
        }
        match self.kraft {
            None => Controller::NotKnown("no broker told its mode yet".to_owned()),
            Some(true) => self.quorum(),
            Some(false) => self.zookeeper_controller(),
        }
    }

    /// KRaft: the newest DescribeQuorum answer decides, unless at least half of the voters are known to be lost.
    fn quorum(&self) -> Controller {
        let told = self.answering.iter().filter_map(|id| self.snapshot.brokers.get(id)?.quorum.known());
        let newest = told.max_by_key(|quorum| quorum.at);
        let voters = newest.map_or(&self.memory.voters, |quorum| &quorum.voters);
        let lost = voters.iter().filter(|&&voter| self.lost_voter(voter)).count();
        if lost > 0 && lost * 2 >= voters.len() {
            let verb = if lost == 1 { "does" } else { "do" };
            return Controller::Gone(format!("{lost} of {} quorum voters {verb} not answer", voters.len()));
        }
        // Without a leader told by anybody for a while. Mere silence needs longer: a broker that asked a controller which
        // then hung does not answer for up to 30 s, although another one has been elected meanwhile.
        let patience = if newest.is_some() { CONTROLLER_GRACE_MS } else { QUORUM_SILENCE_MS };
        let since = self.memory.no_controller_since.filter(|&since| millis_between(since, self.now) >= patience);
        if let Some(since) = since {
            let since = crate::time::clock(since);
            return Controller::Gone(format!("no broker could name a quorum leader since {since}"));
        }
        match newest {
            Some(quorum) => match quorum.leader {
                Some(leader) if matches!(self.state(leader), BrokerState::Gone) => Controller::Electing,
                Some(leader) => Controller::Known(leader),
                None => Controller::Electing,
            },
            None => Controller::NotKnown(self.why_no_quorum()),
        }
    }

    /// Hard evidence, or silence past the session time-out. A controller that is no broker is never judged: it is not
    /// looked at.
    fn lost_voter(&self, voter: BrokerId) -> bool {
        match self.state(voter) {
            BrokerState::Gone => true,
            BrokerState::Hung => self.past(&self.election_bound(self.silent_since(voter))),
            _ => false,
        }
    }

    fn why_no_quorum(&self) -> String {
        self.answering
            .iter()
            .filter_map(|id| self.snapshot.brokers.get(id)?.quorum.unavailable())
            .map(|unavailable| unavailable.why.to_string())
            .next()
            .unwrap_or_else(|| "DescribeQuorum not asked yet".to_owned())
    }

    /// ZooKeeper mode: the controller that the answering brokers name.
    fn zookeeper_controller(&self) -> Controller {
        let named: BTreeSet<Option<BrokerId>> =
            self.answering.iter().filter_map(|&id| Some(metadata(self.snapshot, id)?.controller)).collect();
        let live = named
            .iter()
            .flatten()
            .copied()
            .find(|&id| !matches!(self.state(id), BrokerState::Gone | BrokerState::Hung | BrokerState::NotLive));
        if let Some(id) = live {
            return Controller::Known(id);
        }
        match self.memory.no_controller_since {
            Some(since) if self.past(&self.election_bound(since)) => {
                Controller::Gone(match named.iter().flatten().next() {
                    Some(id) => format!("the controller that brokers name, broker {id}, does not answer"),
                    None => "no broker names a controller".to_owned(),
                })
            }
            _ => Controller::Electing,
        }
    }

    /// Whether, in this snapshot, nobody can name a live controller or quorum leader although somebody was asked.
    /// The memory turns this into "since when".
    pub(crate) fn no_controller_now(&self) -> bool {
        if self.answering.is_empty() {
            return false;
        }
        match self.kraft {
            None => false,
            Some(false) => !matches!(self.zookeeper_controller(), Controller::Known(_)),
            Some(true) => {
                let asked: Vec<_> = self
                    .answering
                    .iter()
                    .filter_map(|id| self.snapshot.brokers.get(id))
                    .map(|sight| &sight.quorum)
                    .collect();
                let told = |quorum: &crate::snapshot::Observed<crate::snapshot::Quorum>| {
                    quorum.known().is_some_and(|quorum| quorum.leader.is_some())
                };
                let in_vain = |quorum: &crate::snapshot::Observed<crate::snapshot::Quorum>| {
                    quorum.known().is_some_and(|quorum| quorum.leader.is_none())
                        || quorum.unavailable().is_some_and(|unavailable| {
                            matches!(unavailable.why, Why::Silent | Why::Closed | Why::ErrorCode(_))
                        })
                };
                asked.iter().any(|quorum| in_vain(quorum)) && !asked.iter().any(|quorum| told(quorum))
            }
        }
    }
}

/// The last metadata that a broker gave.
pub(crate) fn metadata(snapshot: &Snapshot, broker: BrokerId) -> Option<&MetadataView> {
    snapshot.brokers.get(&broker)?.metadata.known()
}

fn configs(snapshot: &Snapshot) -> impl Iterator<Item = &crate::snapshot::BrokerConfigs> {
    snapshot.brokers.values().filter_map(|sight| sight.configs.known())
}

fn setting(told: Option<i64>, default: i64) -> Setting {
    Setting { ms: told.unwrap_or(default), assumed: told.is_none() }
}

fn session(snapshot: &Snapshot, kraft: Option<bool>) -> Setting {
    if kraft == Some(false) {
        let told = configs(snapshot).filter_map(|configs| configs.zookeeper_session_timeout_ms).max();
        setting(told, ZOOKEEPER_SESSION_MS)
    } else {
        setting(configs(snapshot).filter_map(|configs| configs.broker_session_timeout_ms).max(), KRAFT_SESSION_MS)
    }
}

/// Major and minor of a release such as `4.1`.
pub(crate) fn release(sight: &BrokerSight) -> Option<(u32, u32)> {
    let mut parts = sight.release.as_deref()?.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().and_then(|minor| minor.parse().ok()).unwrap_or(0);
    Some((major, minor))
}

/// Brokers that some other broker that answers lists as live; or a bootstrap address, where no broker answers.
pub(crate) fn listed_live(snapshot: &Snapshot, now: Timestamp) -> BTreeSet<BrokerId> {
    let mut live = BTreeSet::new();
    for (&id, sight) in &snapshot.brokers {
        if matches!(state_of(sight, true, now), BrokerState::Answering | BrokerState::Late) {
            let listed = sight.metadata.known().into_iter().flat_map(|view| view.brokers.keys().copied());
            live.extend(listed.filter(|&other| other != id));
        }
    }
    if live.is_empty() {
        // Where no advertised address works from here, the bootstrap addresses alone tell which brokers live.
        let told = snapshot.bootstrap.values().filter_map(|way| way.answer.known()).flat_map(|answer| &answer.brokers);
        let never_answered =
            |id: &&BrokerId| snapshot.brokers.get(id).is_some_and(|sight| sight.contact.first_answer.is_none());
        live.extend(told.filter(never_answered));
    }
    live
}

/// A refusal that is older than the cluster's word that the broker lives again is old news: the next attempt is under way.
fn unless_back(state: BrokerState, sight: &BrokerSight, relisted: Option<Timestamp>, now: Timestamp) -> BrokerState {
    let older = |at: Timestamp| sight.contact.trouble.as_ref().is_some_and(|trouble| trouble.since < at);
    match relisted {
        Some(at) if state == BrokerState::Gone && older(at) && millis_between(at, now) < RELISTED_MS => {
            BrokerState::Late
        }
        _ => state,
    }
}

/// How a broker stands, from its contact (`verdict-rules`: hard evidence speaks at once, silence needs time).
fn state_of(sight: &BrokerSight, listed_live: bool, now: Timestamp) -> BrokerState {
    let contact = &sight.contact;
    let Some(trouble) = &contact.trouble else {
        return match contact.last_answer {
            Some(_) => BrokerState::Answering,
            // Named by replica lists only: no broker that answers holds it for live, or it would have told the address.
            None if sight.address.is_none() && !listed_live => BrokerState::NotLive,
            None => BrokerState::NotTried,
        };
    };
    match &trouble.why {
        Why::AuthenticationRequired
        | Why::SpeaksHttp
        | Why::SpeaksTls
        | Why::Malformed(_)
        | Why::OtherBroker(_)
        | Why::OtherCluster(_)
        | Why::TooOld(_)
        | Why::NotPermitted(_)
        | Why::ErrorCode(_) => BrokerState::Unreadable,
        _ if contact.first_answer.is_none() && listed_live => BrokerState::NeverReached,
        _ if contact.first_answer.is_none() => BrokerState::NotLive,
        Why::Refused | Why::Unreachable(_) => BrokerState::Gone,
        Why::NameNotFound(_)
        | Why::ConnectTimeout
        | Why::Silent
        | Why::Closed
        | Why::NoOffsetsTopic
        | Why::Client(_) => {
            let patience = 2 * i64::from(contact.deadline_ms.max(1));
            if millis_between(trouble.since, now) > patience { BrokerState::Hung } else { BrokerState::Late }
        }
    }
}

fn merge<'a>(
    snapshot: &'a Snapshot,
    memory: &Memory,
    counted: &BTreeMap<BrokerId, &'a MetadataView>,
) -> BTreeMap<PartitionId, PartitionFacts<'a>> {
    let mut views: BTreeMap<PartitionId, BTreeMap<BrokerId, &'a PartitionView>> = BTreeMap::new();
    for (&broker, &view) in counted {
        for (&partition, seen) in view.offsets_topic.iter().flat_map(|topic| &topic.partitions) {
            views.entry(partition).or_default().insert(broker, seen);
        }
    }
    views
        .into_iter()
        .filter_map(|(partition, views)| {
            let newest = views
                .iter()
                .max_by_key(|(broker, view)| (view.leader_epoch, counted.get(broker).map(|view| view.at)))
                .map(|(_, view)| *view)?;
            let agree = views.values().all(|view| {
                view.leader == newest.leader
                    && (view.leader_epoch.is_none()
                        || newest.leader_epoch.is_none()
                        || view.leader_epoch == newest.leader_epoch)
            });
            let told =
                counted.keys().filter_map(|id| snapshot.brokers.get(id)?.elr.known()?.get(&partition)).next().cloned();
            let remembered = memory.partitions.get(&partition).map(|seen| seen.last_eligible.clone());
            let eligible = told.or_else(|| remembered.filter(|_| newest.leader.is_none())).unwrap_or_default();
            Some((partition, PartitionFacts { newest, views, agree, eligible }))
        })
        .collect()
}

/// Brokers there are: live, fenced, in replica lists, or seen before.
fn registered(snapshot: &Snapshot, partitions: &BTreeMap<PartitionId, PartitionFacts<'_>>) -> BTreeSet<BrokerId> {
    let replicas = partitions.values().flat_map(|partition| partition.newest.replicas.iter().copied());
    snapshot.brokers.keys().copied().chain(replicas).collect()
}

fn presence(
    snapshot: &Snapshot,
    memory: &Memory,
    counted: &BTreeMap<BrokerId, &MetadataView>,
    stale: bool,
    now: Timestamp,
) -> TopicPresence {
    if counted.values().any(|view| view.offsets_topic.is_some()) {
        return TopicPresence::Present;
    }
    if counted.is_empty() || stale {
        return TopicPresence::Unknown;
    }
    let configs = || counted.keys().filter_map(|id| snapshot.brokers.get(id)).map(|sight| &sight.topic_configs);
    let told = || configs().filter_map(|configs| configs.known());
    if told().next().is_some() && told().all(Option::is_none) {
        return match (&memory.offsets_topic, memory.offsets_topic_gone_since) {
            (None, _) if lists_groups(snapshot) => TopicPresence::MaybeHidden,
            (None, _) => TopicPresence::Absent,
            // One sample is not enough: a broker that has just started does not know its topics yet.
            (Some(_), Some(since)) if millis_between(since, now) >= GONE_MS => TopicPresence::Vanished,
            (Some(_), _) => TopicPresence::Unknown,
        };
    }
    if lists_groups(snapshot) || told().any(Option::is_some) || configs().any(|configs| configs.unavailable().is_some())
    {
        TopicPresence::MaybeHidden
    } else {
        TopicPresence::Unknown
    }
}

fn lists_groups(snapshot: &Snapshot) -> bool {
    snapshot.brokers.values().filter_map(|sight| sight.groups.known()).any(|listing| !listing.groups.is_empty())
}

/// Whether every broker that answers proves the offsets topic absent; the memory turns it into "since when".
pub(crate) fn proven_absent_now(facts: &Facts<'_>) -> bool {
    let brokers = || facts.answering.iter().filter_map(|id| facts.snapshot.brokers.get(id));
    let told = || brokers().filter_map(|sight| sight.topic_configs.known());
    facts.partitions.is_empty() && told().next().is_some() && told().all(Option::is_none)
}
