//! What answers ask of the world.

use std::sync::Arc;
use std::time::Duration;

use super::coordinator::ShardState;
use super::{Node, Topic, World};
use crate::scenario::Scenario;

impl World {
    /// The scenario, for another world that plays it anew.
    #[must_use]
    pub(crate) fn shared_scenario(&self) -> Arc<Scenario> {
        Arc::clone(&self.scenario)
    }

    /// The topic with this id, in the eyes of a broker.
    #[must_use]
    pub(crate) fn topic_by_id<'a>(node: &'a Node, id: &[u8; 16]) -> Option<(&'a String, &'a Arc<Topic>)> {
        node.seen.topics.iter().find(|(_, topic)| topic.id == *id)
    }

    /// Whether a broker still loads a partition of the offsets topic.
    #[must_use]
    pub(crate) fn loads(&self, broker: i32, partition: i32) -> bool {
        let shard = self.nodes.get(&broker).and_then(|node| node.shards.get(&partition));
        let not_over = |until: Duration| until > self.now;
        shard.is_some_and(|shard| match shard.state {
            ShardState::Loading(until) => until.is_none_or(not_over),
            _ => false,
        })
    }
}
