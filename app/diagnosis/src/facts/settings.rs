//! Settings that bound what is expected, read from the brokers or assumed to be Kafka's defaults.

use super::Facts;
use crate::snapshot::{BrokerConfigs, BrokerSight, Snapshot};

/// Kafka's default of `broker.session.timeout.ms` (KRaft controllers).
const KRAFT_SESSION_MS: i64 = 9_000;
/// Kafka's default of `zookeeper.session.timeout.ms` since 2.5 (6,000 before).
const ZOOKEEPER_SESSION_MS: i64 = 18_000;
/// Kafka's default of `replica.lag.time.max.ms` since 2.5 (10,000 before).
pub(super) const REPLICA_LAG_MS: i64 = 30_000;

/// A setting in milliseconds, read or assumed.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) ms: i64,
    pub(crate) assumed: bool,
}

impl Facts<'_> {
    /// The effective `min.insync.replicas` of a partition with so many replicas: as it is up to 3.6,
    /// capped by the replication factor from 3.7 on (KAFKA-15583). `None` if no broker told.
    pub(crate) fn min_isr(&self, replicas: usize) -> Option<usize> {
        let (told, _) = self.told_min_isr()?;
        Some(if self.caps_min_isr() { told.min(replicas.max(1)) } else { told })
    }

    /// Whether the topic's own `min.insync.replicas` was told by a broker that answers. The brokers' default alone is
    /// no proof: the topic may override it.
    pub(crate) fn min_isr_verified(&self) -> bool {
        self.told_min_isr().is_some_and(|(_, verified)| verified)
    }

    /// The effective `min.insync.replicas` of a partition of another coordinator's topic. These topics have one of their
    /// own (`transaction.state.log.min.isr`); `None` if no broker told it.
    pub(crate) fn state_min_isr(&self, topic: &str, replicas: usize) -> Option<usize> {
        let told = |sight: &BrokerSight| sight.state_topic_configs.known()?.get(topic)?.min_insync_replicas;
        let told = self.answering.iter().filter_map(|id| self.snapshot.brokers.get(id)).filter_map(told).max()?;
        let told = usize::try_from(told).unwrap_or(1).max(1);
        Some(if self.caps_min_isr() { told.min(replicas.max(1)) } else { told })
    }

    fn caps_min_isr(&self) -> bool {
        self.snapshot.brokers.values().filter_map(release).any(|release| release >= (3, 7))
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
}

pub(super) fn configs(snapshot: &Snapshot) -> impl Iterator<Item = &BrokerConfigs> {
    snapshot.brokers.values().filter_map(|sight| sight.configs.known())
}

pub(super) fn setting(told: Option<i64>, default: i64) -> Setting {
    Setting { ms: told.unwrap_or(default), assumed: told.is_none() }
}

pub(super) fn session(snapshot: &Snapshot, kraft: Option<bool>) -> Setting {
    if kraft == Some(false) {
        let told = configs(snapshot).filter_map(|configs| configs.zookeeper_session_timeout_ms).max();
        setting(told, ZOOKEEPER_SESSION_MS)
    } else {
        setting(configs(snapshot).filter_map(|configs| configs.broker_session_timeout_ms).max(), KRAFT_SESSION_MS)
    }
}

/// Major and minor of a broker's release.
pub(crate) fn release(sight: &BrokerSight) -> Option<(u32, u32)> {
    parse_release(sight.release.as_deref()?)
}

/// Major and minor of a release such as `4.1`.
pub(crate) fn parse_release(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().and_then(|minor| minor.parse().ok()).unwrap_or(0);
    Some((major, minor))
}
