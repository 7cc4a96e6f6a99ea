//! Whose settings count, and what changing them does to eligible leader replicas.

use super::{action, one, world};
use crate::scenario::action::{Action, ElectionType};

fn with_settings(mode: &str, release: &str, settings: &str) -> super::World {
    world(mode, release, &format!("{settings}{}{}", super::offsets("[2, 3]"), super::GROUP))
}

#[test]
fn the_leaders_min_insync_replicas_count() {
    for (other, of_leader, allowed) in [(1, 1, Ok(())), (1, 2, Err(15)), (2, 1, Ok(()))] {
        let settings = format!(
            "[broker.1]\nconfigs = {{ \"min.insync.replicas\" = {other} }}\n\
             [broker.2]\nconfigs = {{ \"min.insync.replicas\" = {of_leader} }}\n"
        );
        let mut world = with_settings("zookeeper", "2.8.2", &settings);
        world.does(action("{ set = { isr = [2] } }"));
        assert_eq!(world.may_write(2, 0), allowed, "broker 1: {other}, the leader: {of_leader}");
    }
}

/// From 3.7 on min.insync.replicas is no more than there are replicas (KAFKA-15583): the leader's release decides.
#[test]
fn the_leaders_release_says_what_min_insync_replicas_means() {
    for (release, allowed) in [("3.9.1", Ok(())), ("3.6.2", Err(15))] {
        let settings = format!("configs = {{ \"min.insync.replicas\" = 2 }}\n[broker.2]\nrelease = \"{release}\"\n");
        let rest = format!("{settings}{}{}", super::offsets("[2]"), super::GROUP);
        assert_eq!(world("kraft", "3.6.2", &rest).may_write(2, 0), allowed, "{release}");
    }
}

#[test]
fn the_controllers_setting_allows_unclean_elections() {
    for (id, leader) in [(3, -1), (1, 3)] {
        let settings = format!("[broker.{id}]\nconfigs = {{ \"unclean.leader.election.enable\" = true }}\n");
        let mut world = with_settings("zookeeper", "2.8.2", &settings);
        world.does(action("{ set = { isr = [2] } }"));
        world.does(Action::Stop(2));
        world.pass(18_001);
        assert_eq!((world.controller(), world.truth().leader), (Some(1), leader), "set on broker {id}");
    }
    // A controller that is no broker obeys what was set for all.
    let mut world = with_settings("kraft", "3.9.1", "controllers = [100]\n");
    world.does(action("{ set = { isr = [2] } }"));
    world.does(Action::Stop(2));
    world.pass(10_000);
    assert_eq!(world.truth().leader, -1);
    world.does(action("{ configure = { set = { \"unclean.leader.election.enable\" = true } } }"));
    assert_eq!(world.truth().leader, 3);
}

#[test]
fn who_led_last_is_elected_when_there_are_no_eligible_replicas() {
    let mut world = one("kraft", "4.1.1", "[1]");
    world.does(Action::Stop(1));
    world.pass(15_000);
    assert_eq!((world.led(), world.truth().elr.clone()), ((-1, vec![]), vec![1]));
    assert_eq!(world.truth().last_known_leader, Some(1));
    let set = "set = { \"min.insync.replicas\" = 1 }";
    world.does(action(&format!("{{ configure = {{ topic = \"__consumer_offsets\", {set} }} }}")));
    assert_eq!(world.truth().elr, Vec::<i32>::new());
    world.does(Action::Start(1));
    world.pass(60_000);
    assert_eq!((world.led(), world.truth().last_known_leader), ((1, vec![1]), None));
    assert_eq!(world.serving(1), Ok(true), "all that there was is on its disk");
}

#[test]
fn who_led_last_goes_before_an_unclean_leader_and_after_eligible_ones() {
    let fallen = || {
        let mut world = with_settings("kraft", "4.1.1", "controllers = [100]\n");
        world.does(Action::Stop(3));
        world.pass(10_000);
        world.does(Action::Stop(2));
        world.pass(10_000);
        assert_eq!((world.led(), world.truth().last_known_leader), ((-1, vec![]), Some(2)));
        world
    };
    let mut eligible = fallen();
    eligible.does(Action::Start(3));
    eligible.pass(5000);
    let elr = eligible.truth().elr.clone();
    assert_eq!((elr, eligible.led()), (vec![2], (-1, vec![])), "3 left while 2 was enough");
    eligible.does(Action::Start(2));
    eligible.pass(1500);
    assert_eq!(eligible.truth().leader, 2);

    let mut cleared = fallen();
    cleared.does(action("{ configure = { set = { \"min.insync.replicas\" = 1 } } }"));
    assert_eq!(cleared.truth().elr, Vec::<i32>::new(), "a setting of all brokers clears them too");
    cleared.does(Action::Start(3));
    cleared.does(Action::Start(2));
    cleared.pass(900);
    cleared.does(super::elect(ElectionType::Unclean));
    assert_eq!(cleared.truth().leader, 2, "not 3, which lacks data");
}

#[test]
fn with_eligible_replicas_min_insync_replicas_is_the_clusters() {
    let one_of = "{ configure = { broker = 1, set = { \"min.insync.replicas\" = 1 } } }";
    let all = "{ configure = { set = { \"min.insync.replicas\" = 1 } } }";
    let back = "{ configure = { delete = [\"min.insync.replicas\"] } }";
    let mut with = one("kraft", "4.1.1", "[2, 3]");
    assert!(with.apply(&action(one_of)).is_err_and(|why| why.contains("not for one")));
    with.does(action(all));
    assert!(with.apply(&action(back)).is_err_and(|why| why.contains("cannot be removed")));
    let mut without = one("kraft", "3.9.1", "[2, 3]");
    for text in [one_of, all, back] {
        without.does(action(text));
    }
}
