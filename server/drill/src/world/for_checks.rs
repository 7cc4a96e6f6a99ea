//! What whoever checks a diagnosis asks of the world: the truth, which no client could be sure of.

use super::coordinator::{ShardState, new_coordinator};
use super::{OFFSETS_TOPIC, World};
use crate::scenario::model::BrokerState;

impl World {
    /// Whether there is such a group. A group that an old coordinator failed to load is not counted: it answers as if
    /// the group had never been (`GroupMetadataManager.loadGroupsAndOffsets`).
    #[must_use]
    pub fn holds_group(&self, group: &str) -> bool {
        self.logs.iter().any(|(&partition, log)| log.contains_key(group) && !self.silently_lost(partition))
    }

    /// Whether anybody could be told whether there is such a group: its coordinator runs and serves.
    #[must_use]
    pub fn tells_of_group(&self, group: &str) -> bool {
        let Some(topic) = self.topics.get(OFFSETS_TOPIC) else { return true };
        let count = i32::try_from(topic.partitions.len()).ok();
        let Some(partition) = count.and_then(|count| self.place(group, count)) else { return true };
        let leader = usize::try_from(partition).ok().and_then(|at| topic.partitions.get(at)).map(|one| one.leader);
        let node = leader.and_then(|leader| self.nodes.get(&leader));
        node.is_some_and(|node| {
            node.up
                && matches!(node.state, BrokerState::Running | BrokerState::CutOff)
                && self.shard(node.id, partition).is_ok()
        })
    }

    fn silently_lost(&self, partition: i32) -> bool {
        self.nodes.values().any(|node| {
            let failed = node.shards.get(&partition).is_some_and(|shard| shard.state == ShardState::Failed);
            failed && !new_coordinator(node.release)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use crate::scenario::action::Action;
    use crate::scenario::read;
    use crate::world::World;

    fn world(coordinator: &str, release: &str) -> World {
        let text = format!(
            "title = \"t\"\nstory = \"s\"\n[cluster]\nmode = \"kraft\"\nrelease = \"{release}\"\nbrokers = [1, 2]\n\
             controllers = [9]\n[topic.__consumer_offsets]\npartitions = 2\nreplicas = [1]\n\
             [[topic.__consumer_offsets.partition]]\nid = \"all\"\ncoordinator = \"{coordinator}\"\n\
             [[group]]\nid = \"orders\"\n"
        );
        let mut world = World::new("test", Arc::new(read(&text, "test.toml").expect("a scenario")));
        world.advance(Duration::from_secs(5));
        world
    }

    #[test]
    fn a_group_is_there_while_its_coordinator_is_gone() {
        let mut world = world("serving", "3.9.1");
        assert_eq!((world.holds_group("orders"), world.tells_of_group("orders")), (true, true));
        assert_eq!((world.holds_group("billing"), world.tells_of_group("billing")), (false, true));
        world.apply(&Action::Stop(1)).expect("it runs");
        assert_eq!((world.holds_group("orders"), world.tells_of_group("orders")), (true, false));
        assert_eq!((world.holds_group("billing"), world.tells_of_group("billing")), (false, false));
    }

    #[test]
    fn a_failed_load_hides_groups_without_a_word_in_old_releases() {
        assert!(!world("failed", "3.9.1").holds_group("orders"));
        assert!(world("failed", "4.1.1").holds_group("orders"));
        assert!(!world("failed", "4.1.1").tells_of_group("orders"));
    }
}
