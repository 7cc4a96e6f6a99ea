//! Faults: which requests are met by which.

use std::time::Duration;

use super::World;
use crate::scenario::action::{Fault, FaultKind};
use crate::scenario::model::BrokerState;

/// Whether a broker can be connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reachable {
    /// It answers.
    Yes,
    /// Connections are accepted by the system, and nothing is ever read.
    Hangs,
    /// Connections are refused.
    Refused,
    /// Connections are accepted and closed at once.
    Closed,
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Beyond a late answer.
    pub kind: Option<FaultKind>,
    /// How late the answer comes.
    pub delay: Duration,
    /// With [`FaultKind::Error`]: the code.
    pub code: i16,
}

impl World {
    /// Whether a broker can be connected to.
    #[must_use]
    pub fn reachable(&self, broker: i32) -> Reachable {
        let Some(node) = self.nodes.get(&broker).filter(|node| node.is_broker) else { return Reachable::Refused };
        if node.state == BrokerState::Stopped || !node.up || !node.listener {
            return Reachable::Refused;
        }
        let whole = |kind: FaultKind| self.faults.iter().any(|fault| fault.r#do == kind && concerns(fault, broker));
        if whole(FaultKind::Refuse) {
            Reachable::Refused
        } else if whole(FaultKind::Close) {
            Reachable::Closed
        } else if node.state == BrokerState::Paused {
            Reachable::Hangs
        } else {
            Reachable::Yes
        }
    }

    /// What happens to a request for an API (by Kafka's name). Delays add up; of the other faults the first counts.
    #[must_use]
    pub fn met(&self, broker: i32, api: &str) -> Met {
        let mut met = Met::default();
        for fault in self.faults.iter().filter(|fault| concerns(fault, broker)) {
            if !fault.apis.is_empty() && !fault.apis.iter().any(|one| one == api) {
                continue;
            }
            match fault.r#do {
                FaultKind::Refuse | FaultKind::Close => {}
                FaultKind::Delay => met.delay += fault.delay.unwrap_or_default().0,
                // For some partitions only: whoever answers looks at each group by itself.
                FaultKind::Error if fault.partitions != crate::scenario::value::Partitions::All => {}
                kind => {
                    if met.kind.is_none() {
                        met.kind = Some(kind);
                        met.code = fault.code.unwrap_or(-1);
                        met.delay += fault.delay.unwrap_or_default().0;
                    }
                }
            }
        }
        met
    }

    /// The error code with which a broker answers for one offsets partition, if a fault says so.
    #[must_use]
    pub fn error_for(&self, broker: i32, api: &str, partition: i32) -> Option<i16> {
        self.faults
            .iter()
            .find(|fault| {
                fault.r#do == FaultKind::Error
                    && concerns(fault, broker)
                    && (fault.apis.is_empty() || fault.apis.iter().any(|one| one == api))
                    && fault.partitions != crate::scenario::value::Partitions::All
                    && fault.partitions.contains(partition)
            })
            .and_then(|fault| fault.code)
    }

    /// Whether the account that looks may describe a group.
    #[must_use]
    pub fn may_describe_group(&self, group: &str) -> bool {
        !self.acl.groups_hidden || self.acl.visible_groups.iter().any(|prefix| group.starts_with(prefix))
    }

    /// Whether the account that looks may describe a topic.
    #[must_use]
    pub fn may_describe_topic(&self, topic: &str) -> bool {
        !self.acl.hidden_topics.iter().any(|hidden| hidden == topic)
    }
}

fn concerns(fault: &Fault, broker: i32) -> bool {
    fault.brokers.is_empty() || fault.brokers.contains(&broker)
}
