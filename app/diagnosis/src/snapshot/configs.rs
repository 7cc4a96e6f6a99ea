//! Settings of brokers and of topics, as far as they matter here.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A broker's own settings, as far as they matter here; `None` where the broker did not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerConfigs {
    /// When it answered.
    pub at: Timestamp,
    /// `offsets.topic.num.partitions`.
    pub offsets_topic_num_partitions: Option<i32>,
    /// `offsets.topic.replication.factor`.
    pub offsets_topic_replication_factor: Option<i32>,
    /// `broker.session.timeout.ms` (KRaft; belongs to the controllers, so a broker's value may be another).
    pub broker_session_timeout_ms: Option<i64>,
    /// `zookeeper.session.timeout.ms` (ZooKeeper mode).
    pub zookeeper_session_timeout_ms: Option<i64>,
    /// `replica.lag.time.max.ms`.
    pub replica_lag_time_max_ms: Option<i64>,
    /// `min.insync.replicas`, the default that `__consumer_offsets` inherits.
    pub min_insync_replicas: Option<i32>,
    /// `unclean.leader.election.enable`, the default of topics. In KRaft the controllers' own value decides.
    pub unclean_leader_election: Option<bool>,
    /// `auto.leader.rebalance.enable`. In KRaft the controllers' own value decides.
    pub auto_leader_rebalance: Option<bool>,
    /// `offsets.retention.minutes`: how long offsets of a group without members are kept.
    pub offsets_retention_minutes: Option<i64>,
    /// `group.initial.rebalance.delay.ms`.
    pub group_initial_rebalance_delay_ms: Option<i64>,
    /// `transaction.max.timeout.ms`: no transaction may stay open longer.
    pub transaction_max_timeout_ms: Option<i64>,
    /// `group.max.size`: members that one group may have.
    pub group_max_size: Option<i32>,
    /// `default.replication.factor`; does not apply to `__consumer_offsets`.
    pub default_replication_factor: Option<i32>,
    /// `transaction.state.log.num.partitions`.
    pub transaction_state_num_partitions: Option<i32>,
    /// `transaction.state.log.replication.factor`.
    pub transaction_state_replication_factor: Option<i32>,
}

/// Settings of `__consumer_offsets`, or of another topic of coordinators' state; `None` where not told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicConfigs {
    /// Effective `min.insync.replicas`, inherited values included.
    pub min_insync_replicas: Option<i32>,
    /// Whether this value is the topic's own, not one that it inherits from the brokers (config source `TOPIC_CONFIG`,
    /// DescribeConfigs v1+).
    pub min_insync_is_override: Option<bool>,
    /// `cleanup.policy`.
    pub cleanup_policy: Option<String>,
    /// `unclean.leader.election.enable`, inherited values included.
    pub unclean_leader_election: Option<bool>,
    /// `segment.bytes`: what a coordinator may have to read once more than needed, since the newest segment is never
    /// compacted.
    pub segment_bytes: Option<i64>,
}
