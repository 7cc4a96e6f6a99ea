//! What the looking tasks know together: the snapshot in the making, and who has to be told when it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::snapshot::{
    BootstrapAnswer, BootstrapSight, BrokerSight, ClientView, Contact, MetadataView, Observed, Snapshot, Trouble, Why,
};
use unstuck_diagnosis::{BrokerId, GroupId, PartitionId};
use unstuck_wire::messages::metadata::BrokerAddress;

use crate::canary::CanarySet;
use crate::why::lose;
use crate::{ClusterConfig, Surroundings};

/// Shared by all tasks of one collector.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: ClusterConfig,
    pub(crate) surroundings: Surroundings,
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
    canaries: Arc<CanarySet>,
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
        Self {
            config,
            surroundings,
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
        }
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
            // What was told stays told for metadata, canaries and settings, which carry their time. A listing, the
            // quorum and the like speak of this moment and of this broker alone: without it they are not known.
            let now = self.now();
            if sight.metadata.known().is_none() {
                lose(&mut sight.metadata, why.clone(), now);
            }
            if sight.configs.known().is_none() {
                lose(&mut sight.configs, why.clone(), now);
            }
            if sight.topic_configs.known().is_none() {
                lose(&mut sight.topic_configs, why.clone(), now);
            }
            if sight.describe_cluster_permitted.known().is_none() {
                lose(&mut sight.describe_cluster_permitted, why.clone(), now);
            }
            lose(&mut sight.groups, why.clone(), now);
            lose(&mut sight.coordinators, why.clone(), now);
            if sight.quorum != Observed::NotAsked {
                lose(&mut sight.quorum, why.clone(), now);
            }
            if sight.elr != Observed::NotAsked {
                lose(&mut sight.elr, why.clone(), now);
            }
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

    /// Whether `__consumer_offsets` is known to exist, so that it may be named.
    pub(crate) fn topic_seen(&self) -> bool {
        self.with(|state| state.topic_seen)
    }

    /// What a metadata answer says about the existence of `__consumer_offsets`.
    pub(crate) fn topic_told(&self, exists: bool) {
        self.with(|state| state.topic_seen = exists);
    }

    /// The canaries for the topic as the brokers see it now.
    pub(crate) fn canaries(&self) -> Arc<CanarySet> {
        self.with(|state| {
            let count = state
                .brokers
                .values()
                .filter(|entry| entry.sight.contact.trouble.is_none())
                .filter_map(|entry| partition_count(entry.sight.metadata.known()?))
                .max()
                .unwrap_or(0);
            let broker_counts: BTreeSet<i32> = state
                .brokers
                .values()
                .filter_map(|entry| entry.sight.configs.known()?.offsets_topic_num_partitions)
                .collect();
            if !state.canaries.fits(&self.config.canary_prefix, count, &broker_counts) {
                state.canaries = Arc::new(CanarySet::choose(&self.config.canary_prefix, count, &broker_counts));
            }
            Arc::clone(&state.canaries)
        })
    }

    /// Some group that a broker listed and that lives on each of these partitions: an id that the account may describe.
    pub(crate) fn listed_on(
        &self,
        partitions: &BTreeSet<PartitionId>,
        partition_count: i32,
    ) -> BTreeMap<PartitionId, GroupId> {
        let listings: Vec<_> =
            self.with(|state| state.brokers.values().filter_map(|entry| entry.sight.groups.known().cloned()).collect());
        let mut found = BTreeMap::new();
        for group in listings.iter().flat_map(|listing| listing.groups.keys()) {
            if found.len() == partitions.len() {
                break;
            }
            if let Some(partition) = partition_for(group, partition_count)
                && partitions.contains(&partition)
            {
                found.entry(partition).or_insert_with(|| group.clone());
            }
        }
        found
    }

    /// The type that any broker listed for a group.
    pub(crate) fn listed_type(&self, group: &GroupId) -> Option<String> {
        self.with(|state| {
            state
                .brokers
                .values()
                .filter_map(|entry| entry.sight.groups.known()?.groups.get(group)?.group_type.clone())
                .next()
        })
    }
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

/// How many partitions `__consumer_offsets` has in a view; `None` if it has none there.
pub(crate) fn partition_count(view: &MetadataView) -> Option<i32> {
    let partitions = &view.offsets_topic.as_ref()?.partitions;
    i32::try_from(partitions.len()).ok().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests;
