//! Groups that rebalance again and again, because of what their members do.

use std::sync::Arc;

use super::{Timer, World};
use crate::scenario::model::Rebalances;

impl World {
    /// Lets a group rebalance without end, or ends that.
    pub(super) fn rebalance_again_and_again(&mut self, group: &str, how: Option<&Rebalances>) {
        let Some(how) = how else {
            self.restless.remove(group);
            return;
        };
        if self.restless.insert(group.to_owned(), how.clone()).is_none() {
            self.after(how.every.0, Timer::Rebalances { group: group.to_owned(), begins: true });
        }
    }

    /// A rebalance begins, or is done.
    pub(super) fn group_rebalances(&mut self, group: &str, begins: bool) {
        let Some(how) = self.restless.get(group).cloned() else { return };
        let every = how.every.0;
        let takes = how.takes.map_or(every / 10, |time| time.0).min(every);
        self.after(
            if begins { takes } else { every - takes },
            Timer::Rebalances { group: group.to_owned(), begins: !begins },
        );
        let now = self.now;
        let Some(state) = self.logs.values_mut().find_map(|log| log.get_mut(group)) else { return };
        let state = Arc::make_mut(state);
        if begins {
            "PreparingRebalance".clone_into(&mut state.state);
        } else {
            "Stable".clone_into(&mut state.state);
            state.generation += 1;
            if how.new_members {
                for (number, member) in Arc::make_mut(&mut state.members).iter_mut().enumerate() {
                    let seed = format!("{group}/{number}/{}", now.as_nanos());
                    member.member_id = format!("{}-{}", member.client_id, super::reassign::uuid_text(&seed));
                }
            }
        }
        self.changed();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use crate::scenario::action::Action;
    use crate::scenario::read;
    use crate::world::World;

    const SCENARIO: &str = r#"
title = "t"
story = "s"
[cluster]
mode = "kraft"
release = "3.9.1"
brokers = [1]
[topic.__consumer_offsets]
partitions = 1
[[group]]
id = "orders"
members = 2
rebalances = { every = "10s", takes = "2s", new-members = true }
"#;

    #[test]
    fn a_restless_group_goes_round_until_it_is_replaced() {
        let mut world = World::new("test", Arc::new(read(SCENARIO, "test.toml").expect("a scenario")));
        let at = |world: &mut World, seconds: u64| {
            world.advance(Duration::from_secs(seconds));
            let group = world.group(1, "orders").expect("served").expect("there");
            (group.state.clone(), group.generation, group.member_id(0))
        };
        let first = at(&mut world, 9);
        assert_eq!((first.0.as_str(), first.1), ("Stable", 1));
        assert_eq!(at(&mut world, 11).0, "PreparingRebalance");
        let second = at(&mut world, 13);
        assert_eq!((second.0.as_str(), second.1), ("Stable", 2));
        assert_ne!(first.2, second.2, "members come back under new ids");
        assert_eq!(at(&mut world, 21).0, "PreparingRebalance");
        let quiet = crate::scenario::model::Group { id: "orders".to_owned(), ..Default::default() };
        world.apply(&Action::Group(quiet)).expect("it can be replaced");
        assert_eq!(at(&mut world, 60).0, "Empty");
    }
}
