//! What is looked at further: disks, reassignments, transactions, state topics and settings; and the verbs for it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::Sample;
use crate::snapshot::{
    BrokerConfigs, BrokerSight, Canary, LogDir, LogDirs, Observed, OffsetsTopicView, OpenProducer, OpenTransaction,
    PartitionView, Reassignment, ReplicaSize, TRANSACTION_STATE, TopicConfigs, Why,
};
use crate::{BrokerId, GroupId, PartitionId};

const DIR: &str = "/var/lib/kafka";
const GIGABYTE: i64 = 1_000_000_000;

/// What a broker with the settings that Kafka ships tells.
pub(super) fn broker_configs(at: Timestamp, kraft: bool) -> BrokerConfigs {
    BrokerConfigs {
        at,
        offsets_topic_num_partitions: Some(50),
        offsets_topic_replication_factor: Some(3),
        broker_session_timeout_ms: kraft.then_some(9_000),
        zookeeper_session_timeout_ms: (!kraft).then_some(18_000),
        replica_lag_time_max_ms: Some(30_000),
        min_insync_replicas: Some(1),
        unclean_leader_election: Some(false),
        auto_leader_rebalance: Some(true),
        offsets_retention_minutes: Some(10_080),
        group_initial_rebalance_delay_ms: Some(3_000),
        transaction_max_timeout_ms: Some(900_000),
        group_max_size: Some(i32::MAX),
        default_replication_factor: Some(1),
        transaction_state_num_partitions: Some(50),
        transaction_state_replication_factor: Some(3),
    }
}

/// The settings that `__consumer_offsets` is made with.
pub(super) fn topic_configs() -> TopicConfigs {
    TopicConfigs {
        min_insync_replicas: Some(1),
        min_insync_is_override: Some(false),
        cleanup_policy: Some("compact".to_owned()),
        unclean_leader_election: Some(false),
        segment_bytes: Some(104_857_600),
    }
}

/// One directory with much space; a megabyte for each replica.
pub(super) fn log_dirs(at: Timestamp, broker: BrokerId, views: &BTreeMap<PartitionId, PartitionView>) -> LogDirs {
    let held = views.iter().filter(|(_, view)| view.replicas.contains(&broker));
    let size = ReplicaSize { bytes: 1_000_000, offset_lag: 0, is_future: false, dir: DIR.to_owned() };
    let offsets: BTreeMap<_, _> = held.map(|(&partition, _)| (partition, size.clone())).collect();
    LogDirs { at, dirs: vec![dir(DIR)], bytes: offsets.values().map(|size| size.bytes).sum(), offsets }
}

fn dir(path: &str) -> LogDir {
    LogDir { path: path.to_owned(), error: 0, total_bytes: Some(100 * GIGABYTE), usable_bytes: Some(60 * GIGABYTE) }
}

impl Sample {
    fn log_dirs(mut self, broker: BrokerId, change: impl FnOnce(&mut LogDirs)) -> Self {
        if let Observed::Known(dirs) = &mut self.sight(broker).log_dirs {
            change(dirs);
            dirs.bytes = dirs.offsets.values().map(|size| size.bytes).sum();
        }
        self
    }

    fn every(mut self, change: impl Fn(&mut BrokerSight)) -> Self {
        self.snapshot.brokers.values_mut().for_each(change);
        self
    }

    /// The directory that holds a broker's replicas failed with this error; a second one works.
    #[must_use]
    pub fn log_dir_error(self, broker: BrokerId, code: i16) -> Self {
        self.log_dirs(broker, |dirs| {
            let failed = LogDir { path: DIR.to_owned(), error: code, ..LogDir::default() };
            dirs.dirs = vec![failed, dir("/var/lib/kafka-2")];
            dirs.offsets.clear();
        })
    }

    /// A broker's volume has this size and this much free space.
    #[must_use]
    pub fn log_dir_space(self, broker: BrokerId, total_bytes: i64, usable_bytes: i64) -> Self {
        self.log_dirs(broker, |dirs| {
            for dir in &mut dirs.dirs {
                (dir.total_bytes, dir.usable_bytes) = (Some(total_bytes), Some(usable_bytes));
            }
        })
    }

    /// A broker's replica of a partition is this large.
    #[must_use]
    pub fn offsets_size(self, broker: BrokerId, partition: PartitionId, bytes: i64) -> Self {
        self.log_dirs(broker, |dirs| {
            dirs.offsets.entry(partition).or_default().bytes = bytes;
        })
    }

    /// A broker's replica of a partition is this many messages behind.
    #[must_use]
    pub fn offset_lag(self, broker: BrokerId, partition: PartitionId, lag: i64) -> Self {
        self.log_dirs(broker, |dirs| {
            dirs.offsets.entry(partition).or_default().offset_lag = lag;
        })
    }

    /// No broker was asked for its log directories yet.
    #[must_use]
    pub fn not_asked_log_dirs(self) -> Self {
        self.every(|sight| sight.log_dirs = Observed::NotAsked)
    }

    /// No broker tells us its log directories.
    #[must_use]
    pub fn log_dirs_denied(self) -> Self {
        let unavailable = self.unavailable(Why::NotPermitted("DESCRIBE on CLUSTER".to_owned()));
        self.every(|sight| sight.log_dirs = Observed::Unavailable(unavailable.clone()))
    }

    /// A partition is being reassigned; all brokers that answer see the replicas that are to come.
    #[must_use]
    pub fn reassigning(mut self, partition: PartitionId, adding: &[BrokerId], removing: &[BrokerId]) -> Self {
        self = self.each_view(|id, view| {
            if id == partition {
                view.replicas.extend(adding.iter().filter(|id| !view.replicas.contains(id)).collect::<Vec<_>>());
            }
        });
        for sight in self.snapshot.brokers.values_mut() {
            let view = sight.metadata.known().and_then(|view| view.offsets_topic.as_ref()?.partitions.get(&partition));
            let replicas = view.map(|view| view.replicas.clone()).unwrap_or_default();
            if let Observed::Known(running) = &mut sight.reassignments {
                let reassignment = Reassignment { replicas, adding: adding.to_vec(), removing: removing.to_vec() };
                running.insert(partition, reassignment);
            }
        }
        self
    }

    /// Nobody tells us which reassignments run, for this reason.
    #[must_use]
    pub fn no_reassignments(self, why: Why) -> Self {
        let unavailable = self.unavailable(why);
        self.every(|sight| {
            if sight.reassignments != Observed::NotAsked {
                sight.reassignments = Observed::Unavailable(unavailable.clone());
            }
        })
    }

    /// A producer has had a transaction open on a partition of `__consumer_offsets`, and written nothing, for so many
    /// seconds. Its leader tells.
    #[must_use]
    pub fn producer_open(mut self, partition: PartitionId, producer_id: i64, seconds: i64) -> Self {
        let producer = OpenProducer {
            producer_id,
            producer_epoch: 0,
            coordinator_epoch: 0,
            last_timestamp: Some(self.now() - SignedDuration::from_secs(seconds)),
            txn_start_offset: 100,
        };
        for (&id, sight) in &mut self.snapshot.brokers {
            let view = sight.metadata.known().and_then(|view| view.offsets_topic.as_ref()?.partitions.get(&partition));
            let leads = view.and_then(|view| view.leader) == Some(id);
            if let Observed::Known(producers) = &mut sight.producers
                && leads
            {
                producers.entry(partition).or_default().push(producer.clone());
            }
        }
        self
    }

    /// Leaders do not tell us which producers have transactions open, for this reason.
    #[must_use]
    pub fn no_producers(self, why: Why) -> Self {
        let unavailable = self.unavailable(why);
        self.every(|sight| sight.producers = Observed::Unavailable(unavailable.clone()))
    }

    /// A broker's transaction coordinator holds this transaction for ongoing.
    #[must_use]
    pub fn open_transaction(mut self, broker: BrokerId, transactional_id: &str, producer_id: i64) -> Self {
        let state = "Ongoing".to_owned();
        let open = OpenTransaction { transactional_id: transactional_id.to_owned(), producer_id, state };
        if let Observed::Known(transactions) = &mut self.sight(broker).open_transactions {
            transactions.ongoing += 1;
            transactions.oldest.push(open);
        }
        self
    }

    /// No transaction coordinator tells us what is open, for this reason.
    #[must_use]
    pub fn no_transactions(self, why: Why) -> Self {
        let unavailable = self.unavailable(why);
        self.every(|sight| sight.open_transactions = Observed::Unavailable(unavailable.clone()))
    }

    /// Every broker lists this topic of coordinators' state, laid out like `__consumer_offsets`, served by its leaders.
    #[must_use]
    pub fn state_topic(mut self, topic: &str, partitions: i32, replication_factor: usize) -> Self {
        let at = self.now();
        let brokers = i32::try_from(self.snapshot.brokers.len()).unwrap_or(1).max(1);
        let view = |partition: PartitionId| {
            let holders = (0..brokers).map(|step| (partition + step) % brokers + 1);
            let replicas: Vec<_> = holders.take(replication_factor).collect();
            let leader = replicas.first().copied();
            PartitionView { leader, leader_epoch: Some(3), isr: replicas.clone(), replicas, ..PartitionView::default() }
        };
        let views: BTreeMap<_, _> = (0..partitions).map(|partition| (partition, view(partition))).collect();
        for (_, seen) in self.views() {
            seen.state_topics.insert(topic.to_owned(), OffsetsTopicView { error: 0, partitions: views.clone() });
        }
        if let Observed::Known(view) = &mut self.snapshot.client {
            view.state_topics.push(topic.to_owned());
        }
        for (&id, sight) in &mut self.snapshot.brokers {
            if let Observed::Known(configs) = &mut sight.state_topic_configs {
                let min = TopicConfigs {
                    min_insync_replicas: Some(2),
                    min_insync_is_override: Some(true),
                    ..topic_configs()
                };
                configs.insert(topic.to_owned(), min);
            }
            for (&partition, view) in views.iter().filter(|_| topic == TRANSACTION_STATE) {
                let canary = Canary {
                    group: GroupId(format!("unstuck-canary-{partition}")),
                    at,
                    code: if view.leader == Some(id) { 105 } else { 16 },
                    leader_before: (view.leader, view.leader_epoch),
                    same_since: at,
                };
                sight.transaction_canaries.insert(partition, canary);
            }
        }
        self
    }

    fn each_state_view(mut self, topic: &str, partition: PartitionId, change: impl Fn(&mut PartitionView)) -> Self {
        for (_, seen) in self.views() {
            let view = seen.state_topics.get_mut(topic).and_then(|topic| topic.partitions.get_mut(&partition));
            view.into_iter().for_each(&change);
        }
        self
    }

    /// Every broker that answers says that this partition of a state topic has no leader, and this ISR.
    #[must_use]
    pub fn state_no_leader(self, topic: &str, partition: PartitionId, isr: &[BrokerId]) -> Self {
        self.each_state_view(topic, partition, |view| {
            (view.leader, view.leader_epoch, view.error) = (None, Some(4), 5);
            view.isr = isr.to_vec();
        })
    }

    /// Every broker that answers sees this ISR of a partition of a state topic.
    #[must_use]
    pub fn state_isr(self, topic: &str, partition: PartitionId, isr: &[BrokerId]) -> Self {
        self.each_state_view(topic, partition, |view| view.isr = isr.to_vec())
    }

    /// A broker answers this code for a made-up transactional id of a partition of `__transaction_state`.
    #[must_use]
    pub fn transaction_canary(mut self, broker: BrokerId, partition: PartitionId, code: i16) -> Self {
        let at = self.now();
        if let Some(canary) = self.sight(broker).transaction_canaries.get_mut(&partition) {
            (canary.code, canary.at, canary.same_since) = (code, at, at);
        }
        self
    }

    /// Nobody tells us the settings of state topics, for this reason.
    #[must_use]
    pub fn no_state_topic_configs(self, why: Why) -> Self {
        let unavailable = self.unavailable(why);
        self.every(|sight| sight.state_topic_configs = Observed::Unavailable(unavailable.clone()))
    }

    /// Every broker has other settings.
    #[must_use]
    pub fn configs(self, change: impl Fn(&mut BrokerConfigs)) -> Self {
        self.every(|sight| {
            if let Observed::Known(configs) = &mut sight.configs {
                change(configs);
            }
        })
    }

    /// One broker has other settings.
    #[must_use]
    pub fn configs_of(mut self, broker: BrokerId, change: impl FnOnce(&mut BrokerConfigs)) -> Self {
        if let Observed::Known(configs) = &mut self.sight(broker).configs {
            change(configs);
        }
        self
    }

    /// One broker would make `__consumer_offsets` with this many partitions.
    #[must_use]
    pub fn offsets_topic_num_partitions(self, broker: BrokerId, count: i32) -> Self {
        self.configs_of(broker, |configs| configs.offsets_topic_num_partitions = Some(count))
    }

    /// Every broker tells other settings of `__consumer_offsets`.
    #[must_use]
    pub fn topic_configs(self, change: impl Fn(&mut TopicConfigs)) -> Self {
        self.every(|sight| {
            if let Observed::Known(Some(configs)) = &mut sight.topic_configs {
                change(configs);
            }
        })
    }

    /// `__consumer_offsets` has this cleanup.policy.
    #[must_use]
    pub fn cleanup_policy(self, policy: &str) -> Self {
        self.topic_configs(|configs| configs.cleanup_policy = Some(policy.to_owned()))
    }

    /// A broker is in this rack.
    #[must_use]
    pub fn rack(mut self, broker: BrokerId, rack: &str) -> Self {
        self.sight(broker).rack = Some(rack.to_owned());
        self
    }

    /// A broker advertises this address, and all that answer tell it.
    #[must_use]
    pub fn address(mut self, broker: BrokerId, address: &str) -> Self {
        self.sight(broker).address = Some(address.to_owned());
        for (_, view) in self.views() {
            if let Some(told) = view.brokers.get_mut(&broker) {
                address.clone_into(told);
            }
        }
        self
    }

    /// Every broker that answers holds this replica for offline.
    #[must_use]
    pub fn offline_replica(self, partition: PartitionId, broker: BrokerId) -> Self {
        self.each_view(|id, view| {
            if id == partition && !view.offline_replicas.contains(&broker) {
                view.offline_replicas.push(broker);
            }
        })
    }

    /// Every broker that answers sees these replicas; leader and ISR stay.
    #[must_use]
    pub fn replicas(self, partition: PartitionId, replicas: &[BrokerId]) -> Self {
        self.each_view(|id, view| {
            if id == partition {
                view.replicas = replicas.to_vec();
            }
        })
    }

    /// One broker's metadata has this error for a partition.
    #[must_use]
    pub fn partition_error(mut self, broker: BrokerId, partition: PartitionId, code: i16) -> Self {
        for (id, view) in self.views() {
            let seen = view.offsets_topic.as_mut().and_then(|topic| topic.partitions.get_mut(&partition));
            if let Some(seen) = seen.filter(|_| id == broker) {
                seen.error = code;
            }
        }
        self
    }

    /// One broker names this controller, or none.
    #[must_use]
    pub fn names_controller(mut self, broker: BrokerId, controller: Option<BrokerId>) -> Self {
        for (id, view) in self.views() {
            if id == broker {
                view.controller = controller;
            }
        }
        self
    }

    /// Every broker tells these eligible leader replicas of a partition (KIP-966).
    #[must_use]
    pub fn eligible(self, partition: PartitionId, brokers: &[BrokerId]) -> Self {
        self.every(|sight| {
            if let Observed::Known(eligible) = &mut sight.elr {
                eligible.insert(partition, brokers.to_vec());
            }
        })
    }

    /// A broker is registered, but fenced: the others do not list it.
    #[must_use]
    pub fn fenced(mut self, broker: BrokerId) -> Self {
        self.sight(broker).fenced = true;
        for (id, view) in self.views() {
            if id != broker {
                view.brokers.remove(&broker);
            }
        }
        self
    }
}
