//! The wide look at one broker: registered brokers, eligible leader replicas, settings, proof of the placement, and
//! group listings; on a connection of its own, because answers can be large.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep, sleep_until};
use unstuck_diagnosis::snapshot::{
    BrokerSight, CoordinatorAnswers, GroupListing, ListedGroup, Observed, PartitionView, Why,
};
use unstuck_diagnosis::{BrokerId, GroupId, OFFSETS_TOPIC, PartitionId};
use unstuck_wire::messages::cluster::{DescribeClusterRequest, DescribeTopicPartitionsRequest};
use unstuck_wire::messages::coordinator::FindCoordinatorRequest;
use unstuck_wire::messages::groups::ListGroupsRequest;
use unstuck_wire::messages::metadata::{Keep, MetadataRequest, Topics};
use unstuck_wire::{Api, Connection, Release, WireError, release_of};

use super::patience::Patience;
use super::refused::Refused;
use super::{configs, names_safely};
use crate::canary::proof_ids;
use crate::shared::{Nudges, Shared};
use crate::why::{miss, why};

/// Ids in one FindCoordinator request (version 4 on), and requests of one id each below that.
const PROOFS: usize = 10;
const SINGLE_PROOFS: usize = 3;

/// Takes the wide look at one broker for ever, while it answers the cheap one.
pub(super) async fn watch(shared: &Shared, id: BrokerId, nudges: &Nudges) {
    let mut patience = Patience::new();
    loop {
        let answers = shared.read(id, |sight| sight.contact.trouble.is_none() && sight.contact.first_answer.is_some());
        if answers {
            let refused = Refused::new(shared.config.cadence.denied_canaries);
            let mut look = Look { shared, id, pending: Fact::ALL.into(), refused };
            if let Err(error) = look.session(nudges, &mut patience).await {
                look.lose_pending(&why(&error));
            }
        }
        tokio::select! {
            biased;
            () = nudges.wide.notified() => {}
            () = sleep(shared.config.cadence.metadata) => {}
        }
    }
}

/// The facts of a wide look, in the order in which they are asked for: listings, which can take long, last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fact {
    Registered,
    TopicConfigs,
    Elr,
    Coordinators,
    BrokerConfigs,
    StateTopicConfigs,
    Groups,
}

impl Fact {
    const ALL: [Self; 7] = [
        Self::Registered,
        Self::TopicConfigs,
        Self::Elr,
        Self::Coordinators,
        Self::BrokerConfigs,
        Self::StateTopicConfigs,
        Self::Groups,
    ];
    /// What follows leadership, or follows from a coordinator shard that has just come up.
    const LEADERSHIP: [Self; 5] = [Self::Registered, Self::Elr, Self::Coordinators, Self::TopicConfigs, Self::Groups];
    const OFTEN: [Self; 2] = [Self::Registered, Self::Elr];
}

struct Look<'a> {
    shared: &'a Shared,
    id: BrokerId,
    /// What is to be asked now.
    pending: BTreeSet<Fact>,
    /// What is not permitted: asked more and more rarely.
    refused: Refused<Fact>,
}

impl Look<'_> {
    async fn session(&mut self, nudges: &Nudges, patience: &mut Patience) -> Result<(), WireError> {
        let cadence = &self.shared.config.cadence;
        let Some(address) = self.shared.address(self.id) else { return Ok(()) };
        let deadline = self.shared.config.request_timeout;
        let mut connection = self.shared.connect_broker(self.id, &address, deadline).await?;
        connection.handshake(deadline).await?;
        patience.begins();
        let mut all_at = Instant::now();
        loop {
            let started = Instant::now();
            match self.ask_pending(&mut connection).await {
                Ok(()) => patience.answered(),
                Err(WireError::Silent) => {
                    self.lose_pending(&Why::Silent);
                    // The next call waits for the late answer first; but not while the broker is silent altogether.
                    if patience.ends() || self.shared.read(self.id, |sight| sight.contact.trouble.is_some()) {
                        return Ok(());
                    }
                    continue;
                }
                Err(error) => return Err(error),
            }
            tokio::select! {
                biased;
                // An end of this connection says nothing about the facts: connect again and ask.
                _ = connection.ended() => return Ok(()),
                () = nudges.leadership.notified() => self.pending.extend(Fact::LEADERSHIP),
                () = nudges.wide.notified() => {
                    self.refused.forget();
                    self.pending.extend(Fact::ALL);
                }
                () = sleep_until(started + cadence.quorum) => {
                    self.pending.extend(Fact::OFTEN);
                    // A listing with an error, such as "loading", is worth asking for again soon.
                    if self.shared.read(self.id, |sight| sight.groups.known().is_some_and(|told| told.code != 0)) {
                        self.pending.insert(Fact::Groups);
                    }
                }
            }
            if all_at.elapsed() >= cadence.wide {
                self.pending.extend(Fact::ALL);
                all_at = Instant::now();
            }
        }
    }

    async fn ask_pending(&mut self, connection: &mut Connection) -> Result<(), WireError> {
        while let Some(fact) = self.pending.first().copied() {
            match (fact, self.refused.why(&fact).cloned()) {
                // The brokers are told to everybody, and the rest of this question is left out while it is refused.
                (Fact::Registered, _) => self.registered(connection).await?,
                (Fact::Coordinators, _) => self.coordinators(connection).await?,
                (_, Some(why)) => self.lose(fact, &why),
                (Fact::Elr, _) => self.elr(connection).await?,
                (Fact::TopicConfigs, _) => self.topic_configs(connection).await?,
                (Fact::BrokerConfigs, _) => self.broker_configs(connection).await?,
                (Fact::StateTopicConfigs, _) => self.state_topic_configs(connection).await?,
                (Fact::Groups, _) => self.groups(connection).await?,
            }
            self.pending.remove(&fact);
        }
        Ok(())
    }

    /// Takes note of why settings were not told, so that what is refused is not asked for again soon.
    fn asked<T>(&mut self, fact: Fact, told: &Result<T, Why>) {
        self.refused.asked(fact, told.as_ref().err().cloned());
    }

    /// What was to be asked and was not answered is not known, for this reason.
    fn lose_pending(&self, why: &Why) {
        for fact in &self.pending {
            self.lose(*fact, why);
        }
    }

    fn lose(&self, fact: Fact, why: &Why) {
        self.note(|sight, now| match fact {
            // Rights and settings outlive a moment of silence.
            Fact::Registered if sight.describe_cluster_permitted.known().is_some() => false,
            Fact::Registered => miss(&mut sight.describe_cluster_permitted, why, now),
            Fact::Elr if sight.elr == Observed::NotAsked => false,
            Fact::Elr => miss(&mut sight.elr, why, now),
            Fact::Coordinators => miss(&mut sight.coordinators, why, now),
            Fact::TopicConfigs => miss(&mut sight.topic_configs, why, now),
            Fact::BrokerConfigs if sight.configs.known().is_some() => false,
            Fact::BrokerConfigs => miss(&mut sight.configs, why, now),
            Fact::StateTopicConfigs if sight.state_topic_configs.known().is_some() => false,
            Fact::StateTopicConfigs => miss(&mut sight.state_topic_configs, why, now),
            Fact::Groups => miss(&mut sight.groups, why, now),
        });
    }

    fn note(&self, change: impl FnOnce(&mut BrokerSight, Timestamp) -> bool) {
        let now = self.shared.now();
        self.shared.broker(self.id, |sight| change(sight, now));
    }

    fn deadline(&self) -> Duration {
        self.shared.config.cadence.wide_timeout.max(self.shared.config.request_timeout)
    }

    /// DescribeCluster: registered brokers, fenced ones too, and whether we may see everything.
    async fn registered(&mut self, connection: &mut Connection) -> Result<(), WireError> {
        let operations = self.refused.why(&Fact::Registered).is_none();
        let answer = match connection.call(&DescribeClusterRequest { operations }, self.deadline()).await {
            Ok(answered) => answered.answer,
            Err(WireError::TooOld(_)) if !operations => return Ok(()),
            Err(WireError::TooOld(api)) => {
                let permitted = self.permitted_by_metadata(connection).await?;
                self.permitted(permitted, &Why::TooOld(api.to_owned()));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if answer.error != 0 {
            self.note(|sight, now| miss(&mut sight.describe_cluster_permitted, &Why::ErrorCode(answer.error), now));
            return Ok(());
        }
        let fenced = answer.brokers.iter().filter(|(_, (_, fenced))| *fenced).map(|(id, _)| *id).collect();
        self.shared.learn(&answer.brokers.into_iter().map(|(id, (address, _))| (id, address)).collect());
        self.shared.fences(self.id, fenced);
        if operations {
            self.permitted(answer.may_describe, &Why::TooOld("authorized operations".to_owned()));
        }
        Ok(())
    }

    /// Kafka 2.3 to 2.7: Metadata tells what the account may do.
    async fn permitted_by_metadata(&self, connection: &mut Connection) -> Result<Option<bool>, WireError> {
        let request = MetadataRequest { topics: Topics::None, keep: Keep::NONE, cluster_operations: true };
        Ok(connection.call(&request, self.deadline()).await?.answer.may_describe)
    }

    fn permitted(&mut self, told: Option<bool>, otherwise: &Why) {
        let denied = (told == Some(false)).then(|| Why::NotPermitted("DESCRIBE on CLUSTER".to_owned()));
        self.refused.asked(Fact::Registered, denied);
        self.note(|sight, now| match told {
            Some(permitted) => {
                let news = sight.describe_cluster_permitted.known() != Some(&permitted);
                sight.describe_cluster_permitted = Observed::Known(permitted);
                news
            }
            None => miss(&mut sight.describe_cluster_permitted, otherwise, now),
        });
    }

    /// The partitions of `__consumer_offsets` in this broker's own fresh view; empty if it does not see the topic now.
    fn partitions(&self) -> BTreeMap<PartitionId, PartitionView> {
        // What is older may be about a topic that was deleted since.
        let fresh = self.shared.now() - 2 * (self.shared.config.cadence.metadata + self.shared.config.request_timeout);
        self.shared
            .read(self.id, |sight| {
                let view = sight.metadata.known().filter(|view| view.at >= fresh)?;
                Some(view.offsets_topic.as_ref()?.partitions.clone())
            })
            .unwrap_or_default()
    }

    /// Why the topic is not seen: it is not there, or, if settings are denied too, perhaps only hidden from us.
    fn no_topic(&self) -> Why {
        let denied = self.shared.read(self.id, |sight| {
            matches!(sight.topic_configs.unavailable().map(|lost| &lost.why), Some(Why::NotPermitted(_)))
        });
        if denied { Why::NotPermitted(format!("DESCRIBE on TOPIC {OFFSETS_TOPIC}")) } else { Why::NoOffsetsTopic }
    }

    /// Eligible leader replicas, where the release tracks them.
    async fn elr(&self, connection: &mut Connection) -> Result<(), WireError> {
        if connection.version(Api::DescribeTopicPartitions).is_none() {
            return Ok(());
        }
        if self.partitions().is_empty() {
            let why = self.no_topic();
            self.note(|sight, now| miss(&mut sight.elr, &why, now));
            return Ok(());
        }
        let mut found = BTreeMap::new();
        let mut from = Some(0);
        while let Some(partition) = from {
            let request = DescribeTopicPartitionsRequest { topic: OFFSETS_TOPIC.to_owned(), from: partition };
            let answer = connection.call(&request, self.deadline()).await?.answer;
            if answer.error != 0 {
                let why = match answer.error {
                    29 => Why::NotPermitted(format!("DESCRIBE on TOPIC {OFFSETS_TOPIC}")),
                    3 => Why::NoOffsetsTopic,
                    code => Why::ErrorCode(code),
                };
                self.note(|sight, now| miss(&mut sight.elr, &why, now));
                return Ok(());
            }
            found.extend(answer.elr);
            // Only forward: an answer that points back must not keep us here.
            from = answer.next.filter(|next| *next > partition);
        }
        self.note(|sight, _| {
            let news = sight.elr.known() != Some(&found);
            sight.elr = Observed::Known(found);
            news
        });
        Ok(())
    }

    /// FindCoordinator for some ids: does this broker place groups as we do?
    async fn coordinators(&mut self, connection: &mut Connection) -> Result<(), WireError> {
        let leaders: BTreeMap<PartitionId, BrokerId> =
            self.partitions().iter().filter_map(|(number, view)| Some((*number, view.leader?))).collect();
        if leaders.is_empty() {
            let why = if self.partitions().is_empty() { self.no_topic() } else { Why::ErrorCode(5) };
            self.note(|sight, now| miss(&mut sight.coordinators, &why, now));
            return Ok(());
        }
        // The view may be seconds old, and asking for a coordinator makes the topic anew where it was deleted meanwhile.
        if !self.topic_is_there(connection).await? {
            let why = self.no_topic();
            self.note(|sight, now| miss(&mut sight.coordinators, &why, now));
            return Ok(());
        }
        let set = self.shared.canaries();
        let many = connection.version(Api::FindCoordinator).is_some_and(|version| version >= 4);
        let proofs = if many { PROOFS } else { SINGLE_PROOFS };
        let prefix = &self.shared.config.canary_prefix;
        let ids = proof_ids(prefix, &leaders, set.partition_count, &set.broker_counts, proofs);
        let refused = self.refused.why(&Fact::Coordinators).is_some();
        let told = async {
            let mut answers = if refused {
                ids.into_iter().map(|id| (id, Err(30))).collect()
            } else {
                self.find(connection, ids, many).await?
            };
            let denied = answers.values().all(|named| *named == Err(30));
            if !refused {
                let why = || Why::NotPermitted("DESCRIBE on GROUP".to_owned());
                self.refused.asked_for_many(Fact::Coordinators, denied.then(why));
            }
            if denied {
                // Made-up ids are not permitted; ids that were listed are.
                let wanted = leaders.keys().copied().collect();
                let listed = self.shared.listed_on(&wanted, set.partition_count).into_values().take(proofs).collect();
                answers.extend(self.find(connection, listed, many).await?);
            }
            Ok(answers)
        };
        let answers = match told.await {
            Ok(answers) => answers,
            Err(WireError::TooOld(api)) => {
                let why = Why::TooOld(api.to_owned());
                self.note(|sight, now| miss(&mut sight.coordinators, &why, now));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.note(|sight, at| {
            let news = sight.coordinators.known().is_none_or(|before| before.answers != answers);
            sight.coordinators = Observed::Known(CoordinatorAnswers { at, answers, leaders });
            news
        });
        Ok(())
    }

    /// Whether the broker sees `__consumer_offsets` at this very moment.
    async fn topic_is_there(&self, connection: &mut Connection) -> Result<bool, WireError> {
        let only = vec![OFFSETS_TOPIC.to_owned()];
        let topics = if names_safely(connection) { Topics::Named(only.clone()) } else { Topics::All };
        let request = MetadataRequest { topics, keep: Keep::Named(only), cluster_operations: false };
        let answer = connection.call(&request, self.deadline()).await?.answer;
        Ok(answer.topics.get(OFFSETS_TOPIC).is_some_and(|topic| topic.error == 0))
    }

    /// Whom the broker names as coordinators: all ids in one request, or one request each.
    async fn find(
        &self,
        connection: &mut Connection,
        ids: Vec<GroupId>,
        many: bool,
    ) -> Result<BTreeMap<GroupId, Result<BrokerId, i16>>, WireError> {
        let mut answers = BTreeMap::new();
        let ids: Vec<String> = ids.into_iter().map(|id| id.0).collect();
        for groups in ids.chunks(if many { PROOFS } else { 1 }) {
            let request = FindCoordinatorRequest { groups: groups.to_vec() };
            let answered = connection.call(&request, self.deadline()).await?;
            answers.extend(answered.answer.coordinators.into_iter().map(|(group, named)| (GroupId(group), named)));
        }
        Ok(answers)
    }

    async fn topic_configs(&mut self, connection: &mut Connection) -> Result<(), WireError> {
        // Before 2.0 a broker answers with defaults for a topic that does not exist: that proves nothing.
        let proves = release_of(connection.versions()).is_some_and(|release| release >= Release { major: 2, minor: 0 });
        let told = if proves || !self.partitions().is_empty() {
            configs::topic(connection, OFFSETS_TOPIC, self.deadline()).await?
        } else {
            Err(Why::NoOffsetsTopic)
        };
        self.asked(Fact::TopicConfigs, &told);
        self.note(|sight, now| match told {
            Ok(configs) => {
                let news = sight.topic_configs.known() != Some(&configs);
                sight.topic_configs = Observed::Known(configs);
                news
            }
            Err(why) => miss(&mut sight.topic_configs, &why, now),
        });
        Ok(())
    }

    async fn broker_configs(&mut self, connection: &mut Connection) -> Result<(), WireError> {
        let told = configs::broker(self.shared.surroundings.clock, connection, self.id, self.deadline()).await?;
        self.asked(Fact::BrokerConfigs, &told);
        self.note(|sight, now| match told {
            Ok(configs) => {
                let news = sight.configs.known().is_none();
                sight.configs = Observed::Known(configs);
                news
            }
            Err(why) => miss(&mut sight.configs, &why, now),
        });
        Ok(())
    }

    /// Settings of the state topics that this broker lists.
    async fn state_topic_configs(&mut self, connection: &mut Connection) -> Result<(), WireError> {
        let listed: Vec<String> = self
            .shared
            .read(self.id, |sight| Some(sight.metadata.known()?.state_topics.keys().cloned().collect()))
            .unwrap_or_default();
        let mut told = Ok(BTreeMap::new());
        for topic in listed {
            match configs::topic(connection, &topic, self.deadline()).await? {
                Ok(Some(configs)) => drop(told.as_mut().map(|all| all.insert(topic, configs))),
                Ok(None) => {}
                Err(why) => told = Err(why),
            }
        }
        self.asked(Fact::StateTopicConfigs, &told);
        self.note(|sight, now| match told {
            Ok(configs) => {
                let news = sight.state_topic_configs.known() != Some(&configs);
                sight.state_topic_configs = Observed::Known(configs);
                news
            }
            Err(why) => miss(&mut sight.state_topic_configs, &why, now),
        });
        Ok(())
    }

    async fn groups(&self, connection: &mut Connection) -> Result<(), WireError> {
        let answer = match connection.call(&ListGroupsRequest, self.deadline()).await {
            Ok(answered) => answered.answer,
            Err(WireError::TooOld(api)) => {
                let why = Why::TooOld(api.to_owned());
                self.note(|sight, now| miss(&mut sight.groups, &why, now));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let groups: BTreeMap<GroupId, ListedGroup> = answer
            .groups
            .into_iter()
            .map(|group| {
                let listed = ListedGroup {
                    protocol_type: group.protocol_type,
                    state: group.state,
                    group_type: group.group_type,
                };
                (GroupId(group.id), listed)
            })
            .collect();
        self.note(|sight, at| {
            let news = sight.groups.known().is_none_or(|before| before.code != answer.error || before.groups != groups);
            sight.groups = Observed::Known(Arc::new(GroupListing { at, code: answer.error, groups }));
            news
        });
        Ok(())
    }
}
