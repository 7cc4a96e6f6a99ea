//! Steps by time, by hand, and by event.

use std::time::Duration;

use super::{elect, offsets, world};
use crate::scenario::action::{Action, ElectionType};

#[test]
fn steps_happen_by_time_by_hand_and_by_event_and_in_their_order() {
    let steps = r#"
[[step]]
name = "dies"
say = "Broker 3 dies."
after = "20s"
do = [{ stop = 3 }]
[[step]]
name = "told"
say = "Somebody says so."
[[step]]
name = "elected"
say = "An election."
on = "election"
[[step]]
name = "back"
say = "All leaders are back."
on = { leaders-back = "__consumer_offsets" }
"#;
    let mut world = world("kraft", "3.9.1", &(offsets("[3]") + steps));
    let at = |world: &super::World| world.next_step().map(|(number, _)| number);
    world.pass(19_999);
    assert_eq!(at(&world), Some(0));
    world.pass(1);
    assert_eq!((at(&world), world.happened(0)), (Some(1), Some(Duration::from_secs(20))));
    world.does(elect(ElectionType::Preferred));
    assert_eq!(at(&world), Some(1), "an event does not overtake a step by hand");
    world.pass(60_000);
    assert!(world.next());
    assert_eq!(at(&world), Some(2));
    world.does(elect(ElectionType::Unclean));
    assert_eq!(at(&world), Some(3), "an election ran, although nobody was elected");
    assert_eq!(world.led(), (-1, vec![3]));
    world.does(Action::Start(3));
    world.pass(5000);
    assert_eq!(at(&world), None);
    assert!(!world.next());
}

#[test]
fn the_same_scenario_goes_the_same_way() {
    let run = || {
        let mut world = world("kraft", "4.1.1", &offsets("[3, 2]"));
        for broker in [3, 2] {
            world.does(Action::Stop(broker));
            world.pass(15_000);
            world.does(Action::Start(broker));
            world.pass(15_000);
        }
        format!("{:?}", world.topics())
    };
    assert_eq!(run(), run());
}

/// Whoever plays alone brings about what a step waits for; what nobody can bring about just happens.
#[test]
fn what_a_step_waits_for_is_brought_about() {
    let steps = r#"
[[step]]
name = "stopped"
say = "Broker 3 stops."
on = { broker-stopped = 3 }
[[step]]
name = "elected"
say = "An election."
on = "election"
[[step]]
name = "started"
say = "Broker 3 is back."
on = { broker-started = 3 }
[[step]]
name = "configured"
say = "A setting was changed."
on = { config-changed = "*" }
"#;
    let mut world = world("kraft", "3.9.1", &(offsets("[3]") + steps));
    let at = |world: &super::World| world.next_step().map(|(number, _)| number);
    assert!(world.play_on());
    assert_eq!(at(&world), Some(1));
    world.pass(15_000);
    assert_eq!(world.led().0, -1, "broker 3 was really stopped");
    assert!(world.play_on());
    assert_eq!(at(&world), Some(2));
    assert!(world.play_on());
    assert_eq!(at(&world), Some(2), "it starts, and the step comes when it is there");
    world.pass(5_000);
    assert_eq!((at(&world), world.led().0), (Some(3), 3));
    assert!(world.play_on());
    assert_eq!(at(&world), None);
    assert!(!world.play_on());
}
