//! What is done by hand is checked against the cluster as it is.

use crate::scenario::action::Action;
use crate::scenario::{KnownTopic, check_action};
use crate::world::World;

pub(super) fn check(world: &World, action: &Action) -> Result<(), String> {
    let known = |topic: &crate::world::Topic| KnownTopic {
        partitions: i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX),
        replicas: topic.partitions.iter().flat_map(|partition| partition.replicas.iter().copied()).collect(),
    };
    let topics = world.topics().iter().map(|(name, topic)| (name.as_str(), known(topic))).collect();
    check_action(world.scenario(), action, topics, &|group| is_group(world, group))
}

/// Whether a broker serves a group with this id, or the scenario tells of one: its partition may have no leader now.
fn is_group(world: &World, id: &str) -> bool {
    world.brokers().any(|broker| world.group(broker.id, id).is_ok_and(|group| group.is_some()))
        || world.scenario().group.iter().any(|group| group.stands_for(id))
}
