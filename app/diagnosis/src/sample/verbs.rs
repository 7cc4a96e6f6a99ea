//! The verbs that break a made-up cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;

use super::Sample;
use crate::memory::Memory;
use crate::placement::partition_for;
use crate::snapshot::{
    BootstrapSight, BrokerSight, Contact, CoordinatorAnswers, GroupListing, LeaderlessPartition, ListedGroup,
    MetadataView, Observed, PartitionView, TopicConfigs, Trouble, Unavailable, Why,
};
use crate::{BrokerId, GroupId, PartitionId};

impl Sample {
    /// A broker does not answer, for this reason, since this moment.
    #[must_use]
    pub fn trouble(mut self, broker: BrokerId, why: Why) -> Self {
        let since = self.now();
        self.sight(broker).contact.trouble = Some(Trouble { why, since, attempts: 1 });
        self
    }

    /// A broker that answered before refuses connections. The others have not noticed.
    #[must_use]
    pub fn gone(self, broker: BrokerId) -> Self {
        self.trouble(broker, Why::Refused)
    }

    /// A broker accepts connections and has answered nothing for so many seconds; the others go on.
    #[must_use]
    pub fn hung(self, broker: BrokerId, seconds: i64) -> Self {
        self.trouble(broker, Why::Silent).later(seconds)
    }

    /// A broker that the others list as live was never reached from here.
    #[must_use]
    pub fn never_reached(mut self, broker: BrokerId) -> Self {
        self = self.trouble(broker, Why::ConnectTimeout);
        let sight = self.sight(broker);
        let trouble = sight.contact.trouble.take();
        *sight = BrokerSight {
            address: sight.address.clone(),
            contact: Contact { deadline_ms: 1_000, trouble, ..Contact::default() },
            ..BrokerSight::default()
        };
        self.memory = Memory::new(self.now());
        self
    }

    pub(super) fn views(&mut self) -> impl Iterator<Item = (BrokerId, &mut MetadataView)> {
        self.snapshot.brokers.iter_mut().filter_map(|(&id, sight)| match &mut sight.metadata {
            Observed::Known(view) if sight.contact.trouble.is_none() => Some((id, view)),
            _ => None,
        })
    }

    pub(super) fn each_view(mut self, change: impl Fn(PartitionId, &mut PartitionView)) -> Self {
        for (_, view) in self.views() {
            for (&partition, seen) in view.offsets_topic.iter_mut().flat_map(|topic| &mut topic.partitions) {
                change(partition, seen);
            }
        }
        self
    }

    /// Every broker that answers sees this ISR.
    #[must_use]
    pub fn isr(self, partition: PartitionId, isr: &[BrokerId]) -> Self {
        self.each_view(|id, view| {
            if id == partition {
                view.isr = isr.to_vec();
            }
        })
    }

    /// Every broker that answers sees this leader epoch.
    #[must_use]
    pub fn epoch(self, partition: PartitionId, epoch: i32) -> Self {
        self.each_view(|id, view| {
            if id == partition {
                view.leader_epoch = Some(epoch);
            }
        })
    }

    /// The leader answers as coordinator under the leadership that it sees now.
    #[must_use]
    pub fn served_now(mut self, partition: PartitionId) -> Self {
        let at = self.now();
        for sight in self.snapshot.brokers.values_mut() {
            let view = sight.metadata.known().and_then(|view| view.offsets_topic.as_ref()?.partitions.get(&partition));
            if let (Some(view), Some(canary)) = (view, sight.canaries.get_mut(&partition)) {
                (canary.leader_before, canary.at) = ((view.leader, view.leader_epoch), at);
            }
        }
        self
    }

    /// A broker answers, and no other one lists it as live.
    #[must_use]
    pub fn isolated(mut self, broker: BrokerId) -> Self {
        for (id, view) in self.views() {
            if id != broker {
                view.brokers.remove(&broker);
            }
        }
        self
    }

    /// Every broker that answers says that this partition has no leader, and this ISR.
    #[must_use]
    pub fn no_leader(self, partition: PartitionId, isr: &[BrokerId]) -> Self {
        self.each_view(|id, view| {
            if id == partition {
                *view = PartitionView {
                    leader: None,
                    leader_epoch: Some(6),
                    isr: isr.to_vec(),
                    error: 5,
                    replicas: view.replicas.clone(),
                    offline_replicas: Vec::new(),
                };
            }
        })
    }

    /// The cluster has noticed that this broker is gone: it is not listed, and what it led alone has no leader.
    #[must_use]
    pub fn leaderless_after(mut self, broker: BrokerId) -> Self {
        for (_, view) in self.views() {
            view.brokers.remove(&broker);
        }
        self.each_view(|_, view| {
            if view.leader == Some(broker) {
                view.leader = None;
                view.leader_epoch = Some(6);
                view.error = 5;
            }
        })
    }

    /// One broker sees another leader and epoch.
    #[must_use]
    pub fn view(mut self, broker: BrokerId, partition: PartitionId, leader: Option<BrokerId>, epoch: i32) -> Self {
        for (id, view) in self.views() {
            let seen = view.offsets_topic.as_mut().and_then(|topic| topic.partitions.get_mut(&partition));
            if let Some(seen) = seen.filter(|_| id == broker) {
                (seen.leader, seen.leader_epoch) = (leader, Some(epoch));
            }
        }
        self
    }

    /// A broker answers this code for a partition's made-up group.
    #[must_use]
    pub fn canary(mut self, broker: BrokerId, partition: PartitionId, code: i16) -> Self {
        let at = self.now();
        if let Some(canary) = self.sight(broker).canaries.get_mut(&partition) {
            (canary.code, canary.at, canary.same_since) = (code, at, at);
        }
        self
    }

    /// A broker answers, and its coordinator has answered nothing for so many seconds.
    #[must_use]
    pub fn canaries_unanswered(mut self, broker: BrokerId, seconds: i64) -> Self {
        let since = self.now();
        // Only a broker that answers is asked for canaries.
        let answers = |sight: &&mut BrokerSight| sight.contact.first_answer.is_some();
        if let Some(sight) = self.snapshot.brokers.get_mut(&broker).filter(answers) {
            sight.canaries_unanswered_since = Some(since);
        }
        self = self.later(seconds);
        if let Some(sight) = self.snapshot.brokers.get_mut(&broker).filter(answers) {
            sight.canaries.values_mut().for_each(|canary| canary.at = since);
        }
        self.learn()
    }

    /// A broker has not answered for a partition's made-up group yet, since looking began.
    #[must_use]
    pub fn no_canary(mut self, broker: BrokerId, partition: PartitionId) -> Self {
        self.sight(broker).canaries.remove(&partition);
        self
    }

    /// Every broker says that min.insync.replicas is this.
    #[must_use]
    pub fn min_isr(mut self, min: i32) -> Self {
        for sight in self.snapshot.brokers.values_mut() {
            let configs = TopicConfigs { min_insync_replicas: Some(min), ..super::further::topic_configs() };
            sight.topic_configs = Observed::Known(Some(configs));
        }
        self
    }

    /// No broker tells its settings.
    #[must_use]
    pub fn no_configs(mut self) -> Self {
        let unavailable = self.unavailable(Why::NotPermitted("DESCRIBE_CONFIGS on CLUSTER".to_owned()));
        for sight in self.snapshot.brokers.values_mut() {
            sight.configs = Observed::Unavailable(unavailable.clone());
            sight.topic_configs = Observed::Unavailable(unavailable.clone());
        }
        self
    }

    /// Every broker is of this release.
    #[must_use]
    pub fn release(mut self, release: &str) -> Self {
        for sight in self.snapshot.brokers.values_mut() {
            sight.release = Some(release.to_owned());
        }
        self
    }

    /// Every broker names this controller.
    #[must_use]
    pub fn controller(mut self, controller: BrokerId) -> Self {
        for (_, view) in self.views() {
            view.controller = Some(controller);
        }
        self
    }

    /// A broker's listing has this error code.
    #[must_use]
    pub fn listing_code(mut self, broker: BrokerId, code: i16) -> Self {
        let at = self.now();
        let listing = GroupListing { at, code, groups: BTreeMap::new() };
        self.sight(broker).groups = Observed::Known(Arc::new(listing));
        self
    }

    /// The coordinator of a partition lists a group, made to hash to it from this name.
    #[must_use]
    pub fn group_on(self, partition: PartitionId, name: &str) -> Self {
        let count = self.partition_count();
        let id = (0..100_000)
            .map(|n| if n == 0 { GroupId::from(name) } else { GroupId(format!("{name}-{n}")) })
            .find(|id| partition_for(id, count) == Some(partition))
            .unwrap_or_default();
        let listed = ListedGroup {
            protocol_type: "consumer".to_owned(),
            state: Some("Stable".to_owned()),
            group_type: Some("classic".to_owned()),
        };
        self.lists(id, listed)
    }

    pub(super) fn partition_count(&self) -> i32 {
        let views = self.snapshot.brokers.values().filter_map(|sight| sight.metadata.known()?.offsets_topic.as_ref());
        views.map(|topic| topic.partitions.len()).max().and_then(|count| i32::try_from(count).ok()).unwrap_or(0)
    }

    /// The coordinator of a group lists it.
    #[must_use]
    pub fn lists(mut self, id: GroupId, listed: ListedGroup) -> Self {
        let at = self.now();
        let partition = partition_for(&id, self.partition_count()).unwrap_or(0);
        let leader = self
            .snapshot
            .brokers
            .values()
            .find_map(|sight| sight.metadata.known()?.offsets_topic.as_ref()?.partitions.get(&partition)?.leader);
        if let Observed::Known(listing) = &mut self.sight(leader.unwrap_or(1)).groups {
            let listing = Arc::make_mut(listing);
            listing.at = at.max(listing.at) + SignedDuration::from_millis(1);
            listing.groups.insert(id, listed);
        }
        self.learn()
    }

    /// FindCoordinator answers fit this partition count, and so do the brokers' own settings.
    #[must_use]
    pub fn coordinators_use(mut self, count: i32) -> Self {
        if count > 0 {
            self = self.configs(|configs| configs.offsets_topic_num_partitions = Some(count));
        }
        let actual = self.partition_count();
        self.coordinators(|id, leaders| {
            let partition = partition_for(id, count.min(actual.max(1)).max(1))?;
            leaders.get(&partition).copied()
        });
        self
    }

    /// FindCoordinator names this broker for every id but one.
    #[must_use]
    pub fn coordinators_are(mut self, broker: BrokerId) -> Self {
        self.coordinators(|id, _| Some(if id.0.ends_with('3') { broker % 3 + 1 } else { broker }));
        self
    }

    fn coordinators(&mut self, name: impl Fn(&GroupId, &BTreeMap<PartitionId, BrokerId>) -> Option<BrokerId>) {
        let at = self.now();
        for sight in self.snapshot.brokers.values_mut() {
            let Some(topic) = sight.metadata.known().and_then(|view| view.offsets_topic.as_ref()) else { continue };
            let leaders: BTreeMap<_, _> =
                topic.partitions.iter().filter_map(|(&id, view)| Some((id, view.leader?))).collect();
            let ids = (0..12).map(|n| GroupId(format!("unstuck-canary-proof-{n}")));
            let answers = ids.map(|id| (id.clone(), name(&id, &leaders).ok_or(15))).collect();
            sight.coordinators = Observed::Known(CoordinatorAnswers { at, answers, leaders });
        }
    }

    /// DescribeQuorum names no leader.
    #[must_use]
    pub fn no_quorum_leader(mut self) -> Self {
        for sight in self.snapshot.brokers.values_mut() {
            if let Observed::Known(quorum) = &mut sight.quorum {
                quorum.leader = None;
            }
        }
        self
    }

    /// DescribeQuorum is not permitted.
    #[must_use]
    pub fn quorum_denied(self) -> Self {
        self.no_quorum(Why::NotPermitted("DESCRIBE on CLUSTER".to_owned()))
    }

    /// DescribeQuorum is not answered.
    #[must_use]
    pub fn quorum_silent(self) -> Self {
        self.no_quorum(Why::Silent)
    }

    fn no_quorum(mut self, why: Why) -> Self {
        let unavailable = self.unavailable(why);
        for sight in self.snapshot.brokers.values_mut() {
            sight.quorum = Observed::Unavailable(unavailable.clone());
        }
        self
    }

    /// DESCRIBE on CLUSTER is not permitted.
    #[must_use]
    pub fn cluster_not_permitted(mut self) -> Self {
        for sight in self.snapshot.brokers.values_mut() {
            sight.describe_cluster_permitted = Observed::Known(false);
        }
        self
    }

    pub(super) fn unavailable(&self, why: Why) -> Unavailable {
        Unavailable { why, since: self.now() }
    }

    /// The offsets topic is proven absent.
    #[must_use]
    pub fn absent(self) -> Self {
        self.without_topic(&Observed::Known(None))
    }

    /// The offsets topic is not listed, and we may not ask for its settings.
    #[must_use]
    pub fn hidden(self) -> Self {
        let unavailable =
            self.unavailable(Why::NotPermitted("DESCRIBE_CONFIGS on TOPIC __consumer_offsets".to_owned()));
        self.without_topic(&Observed::Unavailable(unavailable))
    }

    fn without_topic(mut self, configs: &Observed<Option<TopicConfigs>>) -> Self {
        for sight in self.snapshot.brokers.values_mut() {
            sight.topic_configs = configs.clone();
            sight.canaries.clear();
            sight.coordinators = Observed::NotAsked;
            if let Observed::Known(view) = &mut sight.metadata {
                view.offsets_topic = None;
            }
        }
        if let Observed::Known(view) = &mut self.snapshot.client {
            view.offsets_topic_partitions = None;
        }
        self
    }

    /// A bootstrap address leads nowhere, for this reason.
    #[must_use]
    pub fn bootstrap(mut self, address: &str, why: Why) -> Self {
        let answer = Observed::Unavailable(self.unavailable(why));
        self.snapshot.bootstrap.insert(address.to_owned(), BootstrapSight { answer });
        self
    }

    /// A partition of another topic has no leader.
    #[must_use]
    pub fn leaderless_data(mut self, topic: &str, partition: PartitionId, replicas: &[BrokerId]) -> Self {
        if let Observed::Known(view) = &mut self.snapshot.client {
            view.leaderless_count += 1;
            view.brokers.retain(|id| !replicas.contains(id));
            view.leaderless.push(LeaderlessPartition {
                topic: topic.to_owned(),
                partition,
                replicas: replicas.to_vec(),
                isr: replicas.to_vec(),
            });
        }
        self
    }

    /// The client's eye could not look.
    #[must_use]
    pub fn no_client(mut self) -> Self {
        self.snapshot.client = Observed::Unavailable(self.unavailable(Why::Client("all brokers are down".to_owned())));
        self
    }
}
