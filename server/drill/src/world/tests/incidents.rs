//! Brokers and controllers that die, hang, or are cut off.

use super::{action, elect, one, world};
use crate::scenario::action::{Action, ElectionType};

#[test]
fn a_dead_broker_leads_until_its_session_ends() {
    for (mode, release, timeout) in [("kraft", "3.9.1", 9), ("zookeeper", "3.9.1", 18), ("zookeeper", "1.0.2", 6)] {
        // Broker 1 is the controller with ZooKeeper, so the one that dies is 3.
        let mut world = one(mode, release, "[3]");
        world.does(Action::Stop(3));
        world.pass(timeout * 1000 - 1);
        assert_eq!(world.told(2), Some(3), "{mode} {release}: nobody noticed yet");
        world.pass(2);
        assert_eq!(world.led(), (-1, vec![3]), "{mode} {release}: the last ISR member stays");
        assert_eq!(world.told(2), Some(-1), "{mode} {release}");
        assert_eq!(world.truth().epoch, 1);
    }
}

#[test]
fn with_eligible_leader_replicas_the_last_member_leaves_the_isr() {
    let mut world = one("kraft", "4.1.1", "[3]");
    world.does(Action::Stop(3));
    world.pass(9001);
    assert_eq!(world.led(), (-1, vec![]));
    assert_eq!(world.truth().elr, [3]);
    world.does(Action::Start(3));
    world.pass(1000);
    assert_eq!(world.led(), (3, vec![3]));
    assert!(world.truth().elr.is_empty());
}

#[test]
fn another_replica_takes_over_and_the_group_is_there() {
    for (mode, release, timeout) in [("kraft", "4.1.1", 9001), ("zookeeper", "2.3.1", 6001)] {
        let mut world = one(mode, release, "[3, 2]");
        assert_eq!(world.serving(3), Ok(true));
        world.does(Action::Stop(3));
        world.pass(timeout);
        assert_eq!(world.led(), (2, vec![2]), "{mode}");
        assert_eq!(world.serving(2), Err(14), "it reads its log first");
        world.pass(100);
        assert_eq!(world.serving(2), Ok(true));
    }
}

#[test]
fn a_broker_that_starts_again_leads_again_and_catches_up() {
    let mut world = one("kraft", "3.9.1", "[3]");
    world.does(Action::Stop(3));
    world.pass(10_000);
    world.does(Action::Start(3));
    world.pass(1000);
    assert_eq!(world.led(), (3, vec![3]));
    world.pass(100);
    assert_eq!(world.serving(3), Ok(true), "what is on its disk is there");

    let mut world = one("kraft", "3.9.1", "[3, 2]");
    world.does(Action::Stop(3));
    world.pass(10_000);
    world.does(Action::Start(3));
    world.pass(1000);
    assert_eq!(world.led(), (2, vec![2]), "it does not take leadership back by itself");
    world.pass(2000);
    assert_eq!(world.led(), (2, vec![2, 3]));
    world.pass(300_000);
    assert_eq!(world.led(), (3, vec![2, 3]), "the controller gives it back every five minutes");
}

#[test]
fn a_pause_shorter_than_the_session_is_not_noticed() {
    let mut world = one("kraft", "4.1.1", "[3, 2]");
    world.does(Action::Pause(3));
    world.pass(5000);
    assert_eq!(world.led(), (3, vec![3, 2]));
    world.does(Action::Resume(3));
    world.pass(60_000);
    assert_eq!(world.led(), (3, vec![3, 2]), "its session did not end later");
    assert_eq!(world.serving(3), Ok(true));

    world.does(Action::Pause(3));
    world.pass(10_000);
    assert_eq!(world.led(), (2, vec![2]));
    assert_eq!(world.serving(3), Ok(true), "the hung broker does not know");
    world.does(Action::Resume(3));
    world.pass(1000);
    assert_eq!(world.serving(3), Err(16), "now it does");
    world.pass(2000);
    assert_eq!(world.led(), (2, vec![2, 3]));
}

#[test]
fn who_is_cut_off_keeps_what_it_knew_and_its_groups() {
    let mut world = one("kraft", "4.1.1", "[3, 2]");
    world.does(Action::CutOff(3));
    world.pass(10_000);
    assert_eq!((world.told(1), world.told(2), world.told(3)), (Some(2), Some(2), Some(3)));
    assert_eq!((world.serving(2), world.serving(3)), (Ok(true), Ok(true)), "the same group twice: a ghost");
    assert_eq!(world.may_write(2, 0), Ok(()));
    assert_eq!(world.may_write(3, 0), Err(15), "its follower does not fetch from it");
    world.does(Action::Reconnect(3));
    world.pass(3000);
    assert_eq!((world.told(3), world.serving(3)), (Some(2), Err(16)));
}

#[test]
fn the_next_controller_takes_over_with_zookeeper() {
    let mut world = one("zookeeper", "2.8.2", "[1, 2]");
    assert_eq!(world.controller(), Some(1));
    world.does(Action::Stop(1));
    world.pass(17_999);
    assert_eq!((world.controller(), world.told(2)), (None, Some(1)));
    world.pass(2);
    assert_eq!((world.controller(), world.told(3)), (Some(2), Some(2)));
}

#[test]
fn the_quorum_has_a_new_leader_before_it_notices_the_broker() {
    let mut world = one("kraft", "3.9.1", "[1, 2]");
    world.does(Action::Stop(1));
    world.pass(2001);
    assert_eq!((world.controller(), world.told(2)), (Some(2), Some(1)), "a new controller gives a whole session");
    world.pass(9000);
    assert_eq!(world.told(2), Some(2));
}

#[test]
fn without_a_majority_nothing_is_elected() {
    let mut world = one("kraft", "4.1.1", "[3, 1]");
    world.does(Action::Stop(2));
    world.does(Action::Stop(3));
    world.pass(120_000);
    assert_eq!((world.controller(), world.told(1)), (None, Some(3)), "broker 1 still names a dead leader");
    assert_eq!(
        world.apply(&elect(ElectionType::Preferred)),
        Err("there is no controller to run an election".to_owned())
    );
    world.does(Action::Start(2));
    world.pass(20_000);
    assert_eq!((world.controller(), world.led()), (Some(1), (1, vec![1])));
}

#[test]
fn a_dead_controller_of_its_own_leaves_brokers_as_they_are() {
    let head = "controllers = [100]\n";
    let mut world = world("kraft", "4.1.1", &format!("{head}{}{}", super::offsets("[3, 2]"), super::GROUP));
    assert_eq!(world.controller(), Some(100));
    world.does(Action::Stop(100));
    world.pass(60_000);
    world.does(Action::Stop(3));
    world.pass(60_000);
    assert_eq!((world.controller(), world.told(2)), (None, Some(3)));
    world.does(Action::Start(100));
    world.pass(20_000);
    assert_eq!((world.controller(), world.told(2)), (Some(100), Some(2)));
}

/// Founding incident 2: ZooKeeper holds another leader than the controller remembers; when that one fails, the controller
/// writes "no leader" and nothing makes it elect one, while a live replica is in sync and goes on serving.
#[test]
fn a_leader_behind_the_controllers_back_is_not_replaced() {
    let mut world = one("zookeeper", "1.0.2", "[2, 3]");
    world.does(action("{ write-zookeeper = { leader = 3, isr = [3, 2], epoch = 4 } }"));
    assert_eq!(world.led(), (2, vec![2, 3]), "nobody reads it");
    world.does(Action::Stop(3));
    world.pass(6001);
    assert_eq!((world.led(), world.truth().epoch), ((-1, vec![2]), 5));
    assert_eq!(world.told(1), Some(-1));
    assert_eq!(world.serving(2), Ok(true), "who led goes on serving whoever finds it");
    world.pass(3_600_000);
    assert_eq!(world.led(), (-1, vec![2]), "and so it stays");
    world.does(elect(ElectionType::Preferred));
    assert_eq!(world.led(), (2, vec![2]));
    world.pass(100);
    assert_eq!((world.told(1), world.serving(2)), (Some(2), Ok(true)));
}

#[test]
fn a_new_controller_reads_what_zookeeper_holds() {
    let mut world = one("zookeeper", "1.0.2", "[2, 3]");
    world.does(action("{ write-zookeeper = { leader = 3, isr = [3], epoch = 4 } }"));
    world.does(Action::MoveController(2));
    assert_eq!((world.led(), world.truth().epoch), ((3, vec![3]), 4));
}

#[test]
fn a_failed_log_directory_takes_leadership_from_a_live_broker() {
    let mut world = one("kraft", "3.9.1", "[3, 2]");
    world.does(action("{ fail-log-dir = { broker = 3 } }"));
    assert_eq!(world.led(), (2, vec![2]));
    assert_eq!(world.serving(3), Err(16));
    world.pass(60_000);
    assert_eq!(world.led(), (2, vec![2]), "a failed directory does not catch up");

    let mut world = one("kraft", "3.9.1", "[3]");
    world.does(action("{ fail-log-dir = { broker = 3 } }"));
    assert_eq!(world.led(), (-1, vec![3]));
}

#[test]
fn an_orderly_shutdown_hands_over_first() {
    let mut world = one("kraft", "4.1.1", "[3, 2]");
    world.does(Action::ShutDown(3));
    assert_eq!((world.led(), world.told(1)), ((2, vec![2]), Some(2)));
    let mut world = one("zookeeper", "2.8.2", "[3]");
    world.does(Action::ShutDown(3));
    assert_eq!((world.led(), world.told(1)), ((-1, vec![3]), Some(-1)), "nobody to hand over to; nobody waits either");
}
