//! What the looking tasks know together: the snapshot in the making, and who has to be told when it changes.

mod topics;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use unstuck_diagnosis::BrokerId;
use unstuck_diagnosis::snapshot::{
    BootstrapAnswer, BootstrapSight, BrokerSight, ClientView, Contact, Observed, Snapshot, Trouble, Why,
};
use unstuck_security::{Tickets, Tokens};
use unstuck_wire::messages::metadata::BrokerAddress;

pub(crate) use self::topics::partition_count;
use crate::canary::CanarySet;
use crate::entrance::Entrance;
use crate::why::{lose, lose_the_moment};
use crate::{ClusterConfig, Surroundings};

/// Shared by all tasks of one collector.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: ClusterConfig,
    pub(crate) surroundings: Surroundings,
    pub(crate) entrance: Entrance,
    /// Where tokens of OAUTHBEARER come from: for both eyes, so that they share them.
    pub(crate) tokens: Option<Tokens>,
    /// Where tickets of Kerberos come from: for both eyes.
    pub(crate) tickets: Option<Tickets>,
    pub(crate) stop: CancellationToken,
    /// Something that matters changed: publish soon.
    pub(crate) changed: Notify,
    /// A broker was heard of for the first time: give it its tasks.
    pub(crate) discovered: Notify,
    state: Mutex<State>,
}

/// The snapshot in the making.
#[derive(Debug, Default)]
pub(crate) struct State {
    bootstrap: BTreeMap<String, BootstrapSight>,
    /// The cluster that the first answering bootstrap address led to; its id is absent before Kafka 0.10.1.
    cluster: Option<Option<String>>,
    client: Observed<ClientView>,
    brokers: BTreeMap<BrokerId, Entry>,
    /// All-topics metadata has shown `__consumer_offsets`, and no named look has contradicted since.
    topic_seen: bool,
    /// State topics of other coordinators that all-topics metadata has shown.
    state_topics: BTreeSet<String>,
    canaries: Arc<CanarySet>,
    transaction_canaries: Arc<CanarySet>,
    urgent: bool,
}

/// One broker.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) sight: BrokerSight,
    /// The advertised address as told last by whom we believed.
    advertised: Option<String>,
    /// Brokers that this one told to be fenced, at its last DescribeCluster.
    fences: BTreeSet<BrokerId>,
    nudges: Arc<Nudges>,
}

/// Reasons to look before it is time.
#[derive(Debug, Default)]
pub(crate) struct Nudges {
    /// For the cheap look.
    pub(crate) cheap: Notify,
    /// For everything in the wide look.
    pub(crate) wide: Notify,
    /// For those facts of the wide look that follow leadership.
    pub(crate) leadership: Notify,
    /// For the quorum.
    pub(crate) quorum: Notify,
    /// For everything that is looked at further.
    pub(crate) further: Notify,
    /// For what of that follows leadership and replicas.
    pub(crate) moved: Notify,
}

impl State {
    /// Whether all ways in lead to this other cluster, and no broker of ours answers: it was set up anew behind the same
    /// addresses. A way in that does not answer may still lead to ours.
    fn replaced_by(&self, other: &Why) -> bool {
        let led_there = |sight: &BootstrapSight| sight.answer.unavailable().is_some_and(|lost| lost.why == *other);
        let answers = |contact: &Contact| contact.first_answer.is_some() && contact.trouble.is_none();
        self.bootstrap.values().all(led_there) && !self.brokers.values().any(|entry| answers(&entry.sight.contact))
    }
}

impl Shared {
    pub(crate) fn new(config: ClusterConfig, surroundings: Surroundings) -> Self {
        let bootstrap = config.bootstrap.iter().map(|address| (address.clone(), BootstrapSight::default())).collect();
        let state = State { bootstrap, ..State::default() };
        let tokens = config.security.sasl.as_ref().and_then(Tokens::of);
        let tickets = config.security.sasl.as_ref().and_then(Tickets::of);
        let entrance = Entrance::new(&config.security, tokens.clone(), tickets.clone(), &surroundings);
        Self {
            config,
            surroundings,
            entrance,
            tokens,
            tickets,
            stop: CancellationToken::new(),
            changed: Notify::new(),
            discovered: Notify::new(),
            state: Mutex::new(state),
        }
    }

    /// The time of day.
    pub(crate) fn now(&self) -> Timestamp {
        self.surroundings.clock.now()
    }

    fn with<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        // A panic while the lock was held leaves facts that are whole one by one: better than no snapshot at all.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = work(&mut state);
        let urgent = std::mem::take(&mut state.urgent);
        drop(state);
        if urgent {
            self.changed.notify_one();
        }
        result
    }

    /// The snapshot as of now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let name = self.config.name.clone();
        self.with(|state| {
            let mut brokers: BTreeMap<BrokerId, BrokerSight> =
                state.brokers.iter().map(|(id, entry)| (*id, entry.sight.clone())).collect();
            for teller in state.brokers.values().filter(|entry| entry.sight.contact.trouble.is_none()) {
                for id in &teller.fences {
                    if let Some(sight) = brokers.get_mut(id) {
                        sight.fenced = true;
                    }
                }
            }
            Snapshot {
                cluster: name,
                taken_at: self.now(),
                bootstrap: state.bootstrap.clone(),
                client: state.client.clone(),
                brokers,
            }
        })
    }

    /// Changes one broker's facts. `work` says whether the change matters enough to publish at once.
    pub(crate) fn broker(&self, id: BrokerId, work: impl FnOnce(&mut BrokerSight) -> bool) {
        self.with(|state| {
            if let Some(entry) = state.brokers.get_mut(&id) {
                state.urgent |= work(&mut entry.sight);
            }
        });
    }

    /// Reads one broker's facts.
    pub(crate) fn read<R: Default>(&self, id: BrokerId, work: impl FnOnce(&BrokerSight) -> R) -> R {
        self.with(|state| state.brokers.get(&id).map(|entry| work(&entry.sight)).unwrap_or_default())
    }

    /// All brokers known, with their nudges.
    pub(crate) fn brokers(&self) -> Vec<(BrokerId, Arc<Nudges>)> {
        self.with(|state| state.brokers.iter().map(|(id, entry)| (*id, Arc::clone(&entry.nudges))).collect())
    }

    /// Asks all brokers but one for a cheap look at once.
    pub(crate) fn nudge_others(&self, but: BrokerId) {
        for (id, nudges) in self.brokers() {
            if id != but {
                nudges.cheap.notify_one();
            }
        }
    }

    /// Asks for every look at once.
    pub(crate) fn nudge_all(&self) {
        for (_, nudges) in self.brokers() {
            nudges.cheap.notify_one();
            nudges.wide.notify_one();
            nudges.quorum.notify_one();
            nudges.further.notify_one();
        }
    }

    /// Whether this broker is the one to ask what the controller does: in KRaft mode, where each of them asks the
    /// controller, the first with which nothing is wrong; in ZooKeeper mode the one that holds itself for the controller.
    pub(crate) fn speaks_for_controller(&self, id: BrokerId) -> bool {
        self.with(|state| speaks_for_controller(state.brokers.iter().map(|(id, entry)| (*id, &entry.sight)), id))
    }

    /// The address at which to look for a broker.
    pub(crate) fn address(&self, id: BrokerId) -> Option<String> {
        self.read(id, |sight| sight.address.clone())
    }

    /// Takes note of a bootstrap answer. `Err` with that cluster's id if it leads elsewhere than the first.
    pub(crate) fn bootstrap_answer(&self, address: &str, answer: BootstrapAnswer) -> Result<(), Why> {
        self.with(|state| {
            let decided = state.cluster.get_or_insert_with(|| answer.cluster_id.clone()).clone();
            let sight = state.bootstrap.entry(address.to_owned()).or_default();
            if let (Some(ours), Some(theirs)) = (decided, &answer.cluster_id)
                && ours != *theirs
            {
                let why = Why::OtherCluster(theirs.clone());
                state.urgent |= sight.answer.unavailable().is_none_or(|before| before.why != why);
                lose(&mut sight.answer, why.clone(), answer.at);
                if !state.replaced_by(&why) {
                    return Err(why);
                }
                tracing::warn!(cluster = self.config.name, was = ours, is = theirs, "another cluster in its place");
                state.cluster = Some(answer.cluster_id.clone());
            }
            let sight = state.bootstrap.entry(address.to_owned()).or_default();
            state.urgent |= sight.answer.known().is_none_or(|before| before.cluster_id != answer.cluster_id);
            sight.answer = Observed::Known(answer);
            Ok(())
        })
    }

    /// Takes note of a failed bootstrap address; true if that is news.
    pub(crate) fn bootstrap_failure(&self, address: &str, why: Why) -> bool {
        self.with(|state| {
            let sight = state.bootstrap.entry(address.to_owned()).or_default();
            let news = sight.answer.unavailable().is_none_or(|before| before.why != why);
            state.urgent |= news;
            lose(&mut sight.answer, why, self.now());
            news
        })
    }

    /// Whether every bootstrap address was tried by the probe, in vain.
    pub(crate) fn no_way_in(&self) -> bool {
        self.with(|state| state.bootstrap.values().all(|sight| sight.answer.unavailable().is_some()))
    }

    /// The id of another cluster, if an answer came from one.
    pub(crate) fn foreign<'id>(&self, cluster_id: Option<&'id str>) -> Option<&'id str> {
        self.with(|state| {
            let ours = state.cluster.get_or_insert_with(|| cluster_id.map(str::to_owned)).as_deref();
            cluster_id.filter(|theirs| ours.is_some_and(|ours| ours != *theirs))
        })
    }

    /// Takes note of brokers and where they are, as one answer tells them.
    pub(crate) fn learn(&self, told: &BTreeMap<BrokerId, BrokerAddress>) {
        let discovered = self.with(|state| {
            let mut discovered = false;
            for (id, told) in told {
                discovered |= !state.brokers.contains_key(id);
                let entry = state.brokers.entry(*id).or_default();
                if told.rack.is_some() {
                    entry.sight.rack.clone_from(&told.rack);
                }
                // An address that works is kept: a broker with a stale view may still tell an older one.
                let working = entry.sight.contact.trouble.is_none() && entry.sight.contact.first_answer.is_some();
                if entry.advertised.is_none() || !working {
                    entry.advertised = Some(told.address.clone());
                }
                place(*id, entry, &self.config);
            }
            state.urgent |= discovered;
            discovered
        });
        if discovered {
            self.discovered.notify_one();
        }
    }

    /// Takes note of broker ids without addresses (from replica lists).
    pub(crate) fn learn_ids(&self, ids: impl IntoIterator<Item = BrokerId>) {
        let discovered = self.with(|state| {
            let mut discovered = false;
            for id in ids {
                if !state.brokers.contains_key(&id) {
                    place(id, state.brokers.entry(id).or_default(), &self.config);
                    discovered = true;
                }
            }
            state.urgent |= discovered;
            discovered
        });
        if discovered {
            self.discovered.notify_one();
        }
    }

    /// Takes note of the brokers that one broker tells to be fenced.
    pub(crate) fn fences(&self, teller: BrokerId, fenced: BTreeSet<BrokerId>) {
        self.with(|state| {
            if let Some(entry) = state.brokers.get_mut(&teller)
                && entry.fences != fenced
            {
                entry.fences = fenced;
                state.urgent = true;
            }
        });
    }

    /// A broker answered; whatever was wrong is over. True if something was.
    pub(crate) fn answered(&self, id: BrokerId, round_trip_ms: Option<u32>, deadline_ms: u32) -> bool {
        let now = self.now();
        self.with(|state| {
            let Some(entry) = state.brokers.get_mut(&id) else { return false };
            let contact = &mut entry.sight.contact;
            let ended = contact.trouble.take();
            let news = ended.is_some() || contact.first_answer.is_none();
            if ended.is_some_and(|trouble| trouble.why != Why::Silent) {
                // Perhaps another process than the one that gave these.
                entry.sight.canaries.clear();
                entry.sight.transaction_canaries.clear();
                entry.sight.canaries_unanswered_since = None;
            }
            contact.first_answer.get_or_insert(now);
            contact.last_answer = Some(now);
            contact.deadline_ms = deadline_ms;
            if round_trip_ms.is_some() {
                contact.round_trip_ms = round_trip_ms;
            }
            state.urgent |= news;
            news
        })
    }

    /// A broker does not answer (any more). True if this, or this reason, is news.
    pub(crate) fn trouble(&self, id: BrokerId, why: Why, since: Timestamp) -> bool {
        let deadline_ms = u32::try_from(self.config.request_timeout.as_millis()).unwrap_or(u32::MAX);
        let (news, began) = self.with(|state| {
            let Some(entry) = state.brokers.get_mut(&id) else { return (false, false) };
            let sight = &mut entry.sight;
            let before = sight.contact.trouble.take();
            // Canaries were asked for last, and nothing was answered since: that was the first sign.
            let answered = sight.contact.last_answer;
            let sign = sight.canaries_unanswered_since.filter(|&sign| answered.is_none_or(|last| last <= sign));
            let since = sign.map_or(since, |sign| sign.min(since));
            let began = before.is_none();
            let news = before.as_ref().is_none_or(|trouble| trouble.why != why);
            let (since, attempts) =
                before.map_or((since, 1), |trouble| (trouble.since, trouble.attempts.saturating_add(1)));
            if sight.contact.deadline_ms == 0 {
                sight.contact.deadline_ms = deadline_ms;
            }
            lose_the_moment(sight, &why, self.now());
            sight.contact.trouble = Some(Trouble { why, since, attempts });
            state.urgent |= news;
            (news, began)
        });
        if began {
            self.nudge_others(id);
        }
        news
    }

    /// The client's eye saw something, or failed to.
    pub(crate) fn client(&self, seen: Result<ClientView, Why>) {
        self.with(|state| match seen {
            Ok(view) => {
                state.topic_seen |= view.offsets_topic_partitions.is_some_and(|count| count > 0);
                state.state_topics.extend(view.state_topics.iter().cloned());
                let same = state.client.known().is_some_and(|before| {
                    let mut before = before.clone();
                    before.at = view.at;
                    before == view
                });
                state.urgent |= !same;
                state.client = Observed::Known(view);
            }
            Err(why) => {
                state.urgent |= state.client.unavailable().is_none_or(|before| before.why != why);
                lose(&mut state.client, why, self.now());
            }
        });
    }
}

/// As [`Shared::speaks_for_controller`], of brokers in the order of their ids. One that has not answered yet has its turn
/// before the next ones, or who speaks would be a matter of luck at first.
pub(crate) fn speaks_for_controller<'a>(
    brokers: impl Iterator<Item = (BrokerId, &'a BrokerSight)>,
    id: BrokerId,
) -> bool {
    let mut well = brokers.filter(|(_, sight)| sight.contact.trouble.is_none() && sight.address.is_some());
    let speaks = |other: BrokerId, sight: &BrokerSight| {
        let controller = sight.metadata.known().and_then(|view| view.controller);
        sight.kraft != Some(false) || (other == id && controller == Some(id))
    };
    well.find(|(other, sight)| speaks(*other, sight)).is_some_and(|(found, _)| found == id)
}

/// Where we look for a broker: the override, else what was advertised.
fn place(id: BrokerId, entry: &mut Entry, config: &ClusterConfig) {
    let sight = &mut entry.sight;
    if let Some(instead) = config.broker_addresses.get(&id) {
        sight.address = Some(instead.clone());
        sight.overridden_from = entry.advertised.clone().filter(|advertised| advertised != instead);
    } else if sight.address != entry.advertised {
        sight.address.clone_from(&entry.advertised);
        entry.nudges.cheap.notify_one();
    }
}

#[cfg(test)]
mod tests;
