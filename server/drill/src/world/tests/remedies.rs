//! What people do about it: what heals, and what does damage.

use super::{GROUP, action, elect, offsets, one, world};
use crate::scenario::action::{Action, ElectionType};
use crate::world::{GroupState, OFFSETS_TOPIC, ReassignmentError};

/// A group that came into being after a replica had left the ISR.
fn write(world: &mut super::World, broker: i32, id: &str) {
    let state = GroupState { state: "Empty".to_owned(), ..GroupState::default() };
    world.write_group(broker, id, Some(state)).expect("the coordinator writes");
}

#[test]
fn an_unclean_election_loses_what_the_replica_did_not_have() {
    for (mode, release) in [("kraft", "4.1.1"), ("kraft", "3.9.1"), ("zookeeper", "2.8.2")] {
        let mut world = one(mode, release, "[2, 3]");
        world.does(Action::Stop(3));
        world.pass(20_000);
        write(&mut world, 2, "later");
        world.does(Action::Stop(2));
        world.pass(20_000);
        world.does(Action::Start(3));
        world.pass(20_000);
        assert_eq!(world.truth().leader, -1, "{mode} {release}: 3 is not in sync");
        world.does(elect(ElectionType::Preferred));
        assert_eq!(world.truth().leader, -1, "{mode} {release}");
        world.does(elect(ElectionType::Unclean));
        world.pass(100);
        assert_eq!(world.led(), (3, vec![3]), "{mode} {release}");
        assert_eq!(world.serving(3), Ok(true), "{mode} {release}: what it had when it left");
        assert_eq!(world.group(3, "later"), Ok(None), "{mode} {release}: lost");
        world.does(Action::Start(2));
        world.pass(5000);
        assert_eq!(world.led().1, [3, 2], "{mode} {release}: who comes back comes last");
        world.does(elect(ElectionType::Preferred));
        world.pass(100);
        assert_eq!(world.group(2, "later"), Ok(None), "{mode} {release}: lost on the other one too");
    }
}

#[test]
fn an_unclean_election_with_a_live_isr_member_loses_nothing() {
    let mut world = one("zookeeper", "2.8.2", "[2, 3]");
    world.does(action("{ set = { leader = -1, isr = [3] } }"));
    world.does(elect(ElectionType::Unclean));
    world.pass(100);
    assert_eq!((world.led(), world.serving(3)), ((3, vec![3]), Ok(true)));
}

#[test]
fn a_reassignment_raises_the_replication_factor() {
    for (mode, release) in [("kraft", "4.1.1"), ("zookeeper", "2.8.2")] {
        let mut world = one(mode, release, "[2]");
        world.reassign(OFFSETS_TOPIC, 0, Some(vec![2, 3])).expect("accepted");
        assert_eq!(world.truth().moving(), Some((vec![3], vec![])));
        assert_eq!(world.led(), (2, vec![2]));
        world.pass(2001);
        assert_eq!((world.truth().moving(), world.led()), (None, (2, vec![2, 3])));
        world.does(Action::Stop(2));
        world.pass(18_100);
        assert_eq!((world.led(), world.serving(3)), ((3, vec![3]), Ok(true)), "{mode}: now it survives");
    }
}

#[test]
fn a_reassignment_moves_a_partition() {
    let mut world = one("kraft", "4.1.1", "[2]");
    world.reassign(OFFSETS_TOPIC, 0, Some(vec![3])).expect("accepted");
    assert_eq!((world.truth().replicas.clone(), world.truth().moving()), (vec![3, 2], Some((vec![3], vec![2]))));
    world.pass(2001);
    assert_eq!((world.truth().replicas.clone(), world.led()), (vec![3], (3, vec![3])));
    world.pass(100);
    assert_eq!((world.serving(3), world.serving(2)), (Ok(true), Err(16)));
}

#[test]
fn a_leaderless_partition_is_not_moved_before_its_broker_is_back() {
    for (mode, release) in [("kraft", "4.1.1"), ("kraft", "3.9.1"), ("zookeeper", "3.9.1")] {
        let mut world = one(mode, release, "[3]");
        world.does(Action::Stop(3));
        world.pass(20_000);
        world.reassign(OFFSETS_TOPIC, 0, Some(vec![2])).expect("accepted");
        world.pass(600_000);
        assert_eq!((world.truth().leader, world.truth().replicas.clone()), (-1, vec![2, 3]), "{mode} {release}");
        world.does(Action::Start(3));
        world.pass(5000);
        assert_eq!((world.led(), world.truth().replicas.clone()), ((2, vec![2]), vec![2]), "{mode} {release}");
        world.pass(100);
        assert_eq!(world.serving(2), Ok(true), "{mode} {release}: nothing lost");
    }
}

#[test]
fn a_reassignment_can_be_cancelled() {
    let mut world = one("kraft", "4.1.1", "[2]");
    world.does(Action::Stop(3));
    world.pass(20_000);
    world.reassign(OFFSETS_TOPIC, 0, Some(vec![2, 3])).expect("KRaft takes dead brokers");
    world.pass(60_000);
    assert_eq!(world.truth().moving(), Some((vec![3], vec![])), "3 does not catch up");
    world.reassign(OFFSETS_TOPIC, 0, None).expect("cancelled");
    assert_eq!((world.truth().replicas.clone(), world.led()), (vec![2], (2, vec![2])));
    assert_eq!(world.reassign(OFFSETS_TOPIC, 0, None), Err(ReassignmentError::NoneInProgress));

    let mut world = one("kraft", "4.1.1", "[3]");
    world.does(Action::Stop(3));
    world.pass(20_000);
    world.reassign(OFFSETS_TOPIC, 0, Some(vec![2])).expect("accepted");
    assert_eq!(world.reassign(OFFSETS_TOPIC, 0, None), Err(ReassignmentError::Unclean), "seen on 4.1.1");
}

#[test]
fn kraft_does_not_wait_for_a_dead_replica_that_was_there_before() {
    for (mode, done) in [("kraft", true), ("zookeeper", false)] {
        let mut world = one(mode, "3.9.1", "[2, 3]");
        world.does(Action::Stop(3));
        world.pass(20_000);
        world.reassign(OFFSETS_TOPIC, 0, Some(vec![2, 3, 1])).expect("accepted");
        world.pass(10_000);
        assert_eq!(world.truth().moving().is_none(), done, "{mode}");
    }
}

#[test]
fn more_partitions_change_nothing_for_brokers_that_run() {
    let mut world = one("kraft", "4.1.1", "[1, 2]");
    world.does(action("{ add-partitions = { topic = \"__consumer_offsets\", to = 4 } }"));
    assert_eq!(world.topics()[OFFSETS_TOPIC].partitions.len(), 4);
    assert_eq!(world.node(3).expect("a broker").count, 1);
    world.does(Action::Stop(3));
    world.pass(1000);
    world.does(Action::Start(3));
    world.pass(2000);
    assert_eq!((world.node(3).expect("a broker").count, world.node(2).expect("a broker").count), (4, 1));
    assert_eq!(world.serving(1), Ok(true), "who counts as before finds the group");
}

#[test]
fn deleting_the_offsets_topic_loses_everything() {
    let mut world = one("kraft", "4.1.1", "[1]");
    world.does(Action::DeleteTopic(OFFSETS_TOPIC.to_owned()));
    assert_eq!(world.serving(1), Err(16));
    assert_eq!(world.find_coordinator(1, "g"), Err(15), "and asks for a new one");
    world.pass(3000);
    let leader = world.find_coordinator(1, "g").expect("made anew").0;
    world.pass(100);
    assert_eq!(world.serving(leader), Ok(false));
}

#[test]
fn the_offsets_topic_is_not_made_with_too_few_brokers() {
    for (mode, made) in [("zookeeper", false), ("kraft", true)] {
        let mut world = world(mode, "3.9.1", "");
        world.does(Action::Stop(3));
        world.pass(20_000);
        assert_eq!(world.find_coordinator(1, "g"), Err(15));
        world.pass(5000);
        // KRaft counts fenced brokers, ZooKeeper live ones (seen on both).
        assert_eq!(world.find_coordinator(1, "g").is_ok(), made, "{mode}");
    }
}

#[test]
fn lowering_min_insync_replicas_lets_commits_through() {
    for (release, takes) in [("3.9.1", 0), ("4.1.1", 5)] {
        let min = "\n[topic.__consumer_offsets.configs]\n\"min.insync.replicas\" = 2\n";
        let offsets = offsets("[1, 2]").replace("[topic.orders]", &format!("{min}[topic.orders]"));
        let mut world = world("kraft", release, &(offsets + GROUP));
        assert_eq!(world.may_write(1, 0), Ok(()));
        world.does(Action::Stop(2));
        world.pass(20_000);
        assert_eq!(world.may_write(1, 0), Err(15));
        assert_eq!(world.refusal_takes(1, 0).as_secs(), takes, "{release}");
        world.does(action("{ configure = { topic = \"__consumer_offsets\", set = { \"min.insync.replicas\" = 1 } } }"));
        assert_eq!(world.may_write(1, 0), Ok(()), "{release}");
    }
}

#[test]
fn one_replica_and_two_wanted_is_for_ever_before_3_7() {
    for (release, fine) in [("3.6.2", false), ("3.9.1", true)] {
        let min = "configs = { \"min.insync.replicas\" = 2 }\n";
        let world = world("kraft", release, &format!("{min}{}{GROUP}", offsets("[1]")));
        assert_eq!(world.may_write(1, 0).is_ok(), fine, "{release}");
    }
}

#[test]
fn allowing_unclean_elections_elects() {
    for entity in ["topic = \"__consumer_offsets\", ", ""] {
        let mut world = one("kraft", "3.9.1", "[2, 3]");
        world.does(Action::Stop(3));
        world.pass(20_000);
        world.does(Action::Stop(2));
        // Two of three voters are gone: only with the next start can anything be elected.
        world.does(Action::Start(3));
        world.pass(20_000);
        assert_eq!(world.led(), (-1, vec![2]));
        world.does(action(&format!(
            "{{ configure = {{ {entity}set = {{ \"unclean.leader.election.enable\" = true }} }} }}"
        )));
        assert_eq!(world.led(), (3, vec![3]), "{entity}");
    }
}

#[test]
fn settings_of_one_broker_come_before_those_of_all_and_of_the_file() {
    let name = "log.cleaner.threads";
    let mut world = world("kraft", "4.1.1", &format!("configs = {{ \"{name}\" = 2 }}\n"));
    let told = |world: &super::World| {
        let node = world.node(1).expect("a broker");
        (node.config(name).unwrap_or_default(), node.config_source(name))
    };
    assert_eq!(told(&world), ("2".to_owned(), 4));
    let set = |value: Option<&str>| vec![(name.to_owned(), value.map(str::to_owned))];
    world.configure_broker(None, &set(Some("3"))).expect("set");
    assert_eq!(told(&world), ("3".to_owned(), 3));
    world.configure_broker(Some(1), &set(Some("4"))).expect("set");
    assert_eq!(told(&world), ("4".to_owned(), 2));
    world.configure_broker(Some(1), &set(None)).expect("taken back");
    world.configure_broker(None, &set(None)).expect("taken back");
    assert_eq!(told(&world), ("2".to_owned(), 4));
}
