//! Who is controller, from when on, and what goes on without one.

use std::time::Instant;

use super::{GROUP, action, elect, offsets, one, world};
use crate::scenario::action::{Action, ElectionType};
use crate::world::OFFSETS_TOPIC;

#[test]
fn nobody_becomes_controller_before_the_session_of_the_last_one_ends() {
    for release in ["2.8.2", "3.9.1"] {
        let mut world = one("zookeeper", release, "[1, 2]");
        world.does(Action::Stop(1));
        world.pass(400);
        world.does(Action::Pause(2));
        world.pass(1000);
        world.does(Action::Resume(2));
        assert_eq!(world.controller(), None, "{release}: a broker that goes on is no sign of anything");
        world.does(Action::Stop(3));
        world.does(Action::Start(3));
        world.pass(16_599);
        assert_eq!(world.controller(), None, "{release}: nor is one that starts");
        world.pass(1);
        assert_eq!(world.controller(), Some(2), "{release}: after 18 s");
    }
    let mut world = one("kraft", "4.1.1", "[1, 2]");
    world.does(Action::Stop(1));
    world.does(Action::Pause(3));
    world.pass(1000);
    world.does(Action::Resume(3));
    world.pass(999);
    assert_eq!(world.controller(), None, "the quorum has not voted yet");
    world.pass(1);
    assert_eq!(world.controller(), Some(2));
}

#[test]
fn a_controller_that_is_back_in_time_stays_controller() {
    for (mode, release) in [("zookeeper", "2.8.2"), ("kraft", "4.1.1")] {
        let mut world = one(mode, release, "[1, 2]");
        world.does(Action::MoveController(3));
        let epoch = world.controller_epoch();
        world.does(Action::Pause(3));
        world.pass(1000);
        assert_eq!(world.controller(), None, "{mode}");
        world.does(Action::Resume(3));
        world.pass(60_000);
        assert_eq!((world.controller(), world.controller_epoch()), (Some(3), epoch), "{mode}");
    }
}

#[test]
fn a_controller_that_died_does_not_go_on_although_it_starts_in_time() {
    let mut world = one("zookeeper", "2.8.2", "[1, 2]");
    world.does(Action::MoveController(3));
    world.does(Action::Pause(3));
    world.pass(1000);
    world.does(Action::Stop(3));
    world.does(Action::Start(3));
    world.pass(16_999);
    assert_eq!(world.controller(), None, "its node in ZooKeeper belongs to the session that has not ended");
    world.pass(1);
    assert_eq!(world.controller(), Some(1));
}

#[test]
fn a_controller_that_shuts_down_is_replaced_at_once() {
    let mut world = one("zookeeper", "2.8.2", "[1, 2]");
    world.does(Action::ShutDown(1));
    assert_eq!((world.controller(), world.told(3)), (Some(2), Some(2)));
}

/// The controller hangs, a broker's session ends meanwhile, and the controller goes on.
#[test]
fn a_controller_that_is_back_finds_out_who_has_gone() {
    for (mode, release, session) in [("zookeeper", "2.8.2", 18_000), ("kraft", "3.9.1", 9000)] {
        let mut world = one(mode, release, "[2, 1]");
        world.does(Action::Stop(2));
        world.pass(session - 1000);
        world.does(Action::Pause(1));
        world.pass(1500);
        assert_eq!((world.controller(), world.told(3)), (None, Some(2)), "{mode}: nobody to notice");
        world.does(Action::Resume(1));
        assert_eq!((world.controller(), world.told(3)), (Some(1), Some(1)), "{mode}");
    }
}

#[test]
fn who_hangs_and_then_dies_has_one_session() {
    let mut world = one("kraft", "3.9.1", "[3, 2]");
    world.does(Action::Pause(3));
    world.pass(8000);
    world.does(Action::Stop(3));
    world.pass(999);
    assert_eq!(world.told(1), Some(3));
    world.pass(2);
    assert_eq!((world.told(1), world.led()), (Some(2), (2, vec![2])));
}

#[test]
fn without_a_controller_nothing_is_reassigned_added_made_or_deleted() {
    let mut world = world("kraft", "4.1.1", &format!("{}{GROUP}", offsets("[3, 1]")));
    world.does(Action::Stop(2));
    world.does(Action::Stop(3));
    world.pass(120_000);
    for (text, what) in [
        ("{ reassign = { replicas = [1] } }", "give partitions other replicas"),
        ("{ add-partitions = { topic = \"orders\", to = 5 } }", "add partitions"),
        ("{ delete-topic = \"__consumer_offsets\" }", "delete a topic"),
    ] {
        assert_eq!(world.apply(&action(text)), Err(format!("there is no controller to {what}")));
    }
    assert_eq!((world.truth().replicas.clone(), world.truth().moving()), (vec![3, 1], None));
    assert_eq!(world.topics()["orders"].partitions.len(), 1);
    world.does(Action::Start(2));
    world.pass(20_000);
    assert_eq!(world.serving(1), Ok(true), "the group is still there");

    let mut world = super::world("zookeeper", "2.8.2", "");
    world.does(Action::NoController(true));
    assert_eq!(world.find_coordinator(2, "g"), Err(15));
    world.pass(60_000);
    assert!(!world.topics().contains_key(OFFSETS_TOPIC), "nobody makes the offsets topic either");
    world.does(Action::NoController(false));
    assert_eq!(world.find_coordinator(2, "g"), Err(15));
    world.pass(5000);
    assert!(world.topics().contains_key(OFFSETS_TOPIC), "the next request asks anew");
}

#[test]
fn the_last_leader_epoch_stays_the_last() {
    let max = i32::MAX;
    for (mode, release) in [("kraft", "4.1.1"), ("zookeeper", "1.0.2")] {
        let mut world = one(mode, release, "[3, 2]");
        world.does(action(&format!("{{ set = {{ epoch = {max} }} }}")));
        if mode == "zookeeper" {
            world.does(action("{ write-zookeeper = { leader = 3, isr = [3, 2] } }"));
        }
        world.does(Action::Stop(3));
        world.pass(20_000);
        world.does(Action::Start(3));
        world.pass(400_000);
        world.does(elect(ElectionType::Preferred));
        assert_eq!((world.truth().leader, world.truth().epoch), (3, max), "{mode}");
    }
}

/// With as many partitions as a scenario may have, brokers that go and days that pass take moments.
#[test]
fn a_day_of_a_hundred_thousand_partitions_passes_quickly() {
    let topic = "[topic.large]\npartitions = 100000\nreplication-factor = 3\n";
    let mut world = world("kraft", "3.9.1", topic);
    let began = Instant::now();
    let leads = |world: &super::World, id: i32| {
        world.topics()["large"].partitions.iter().filter(|partition| partition.leader == id).count()
    };
    world.does(Action::Stop(3));
    world.pass(86_400_000);
    assert_eq!(leads(&world, 3), 0);
    world.does(Action::Start(3));
    world.pass(86_400_000);
    assert_eq!(leads(&world, 3), 33_333, "given back");
    let took = began.elapsed();
    assert!(took.as_secs() < 60, "{took:?}");
}
