//! Members of classic groups, over the protocol.

use std::time::Duration;

use bytes::Bytes;
use unstuck_wire::schema::join_group_request::JoinGroupRequestProtocol;
use unstuck_wire::schema::leave_group_request::MemberIdentity;
use unstuck_wire::schema::sync_group_request::SyncGroupRequestAssignment;
use unstuck_wire::schema::{
    HeartbeatRequestData, JoinGroupRequestData, JoinGroupResponseData, LeaveGroupRequestData, SyncGroupRequestData,
    SyncGroupResponseData,
};

use super::{Request, ask, does, pass, request, shop, told};
use crate::answer::Answer;
use crate::answer::words::text;
use crate::scenario::action::Action;
use crate::world::World;

fn joining(group: &str, member: &str) -> Request {
    let data = JoinGroupRequestData {
        group_id: text(group),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 30_000,
        member_id: text(member),
        protocol_type: text("consumer"),
        protocols: vec![JoinGroupRequestProtocol {
            name: text("range"),
            metadata: Bytes::from_static(&[0, 0, 0, 0, 0, 1, 0, 3, b'o', b'n', b'e', 0, 0, 0, 0]),
            ..Default::default()
        }],
        ..Default::default()
    };
    request!(1, 11, 7, data)
}

/// What becomes of a join when it is asked for the first time or again.
fn joined(world: &mut World, request: &Request) -> Result<JoinGroupResponseData, Duration> {
    match request.once(world, Duration::ZERO) {
        Answer::Body(body, _) => Ok(told!(request, body.freeze(), JoinGroupResponseData)),
        Answer::Wait(time) => Err(time),
        Answer::Close => panic!("closed"),
    }
}

/// The id that the coordinator gives to somebody new.
fn new_id(world: &mut World, group: &str) -> String {
    let answer = joined(world, &joining(group, "")).expect("an id at once");
    assert_eq!((answer.error_code, answer.generation_id), (79, -1));
    assert!(answer.member_id.as_str().starts_with("rec-"), "{}", answer.member_id);
    assert_eq!(answer.member_id.as_str().len(), "rec-".len() + 36);
    answer.member_id.to_string()
}

fn syncing(group: &str, generation: i32, member: &str, assignments: &[(&str, &'static [u8])]) -> Request {
    let each = assignments.iter().map(|(id, bytes)| SyncGroupRequestAssignment {
        member_id: text(id),
        assignment: Bytes::from_static(bytes),
        ..Default::default()
    });
    let data = SyncGroupRequestData {
        group_id: text(group),
        generation_id: generation,
        member_id: text(member),
        assignments: each.collect(),
        ..Default::default()
    };
    request!(1, 14, 3, data)
}

fn heartbeat(world: &mut World, group: &str, generation: i32, member: &str) -> i16 {
    let data = HeartbeatRequestData {
        group_id: text(group),
        generation_id: generation,
        member_id: text(member),
        ..Default::default()
    };
    ask!(world, 1, 12, 3, data, HeartbeatResponseData).error_code
}

fn synced(world: &mut World, request: &Request) -> (SyncGroupResponseData, Duration) {
    let (body, took) = request.at_last(world);
    (told!(request, body, SyncGroupResponseData), took)
}

fn state(world: &World, group: &str) -> (String, usize) {
    let state = world.group(1, group).expect("served").expect("a group");
    (state.state.clone(), state.members.len())
}

/// A group with one member in its first generation; gives its id.
fn alone(world: &mut World, group: &str) -> String {
    let id = new_id(world, group);
    let join = joining(group, &id);
    let (body, took) = join.at_last(world);
    assert_eq!(took, Duration::from_secs(3), "the first one waits for others (group.initial.rebalance.delay.ms)");
    let answer = told!(join, body, JoinGroupResponseData);
    assert_eq!((answer.error_code, answer.generation_id, answer.leader.as_str()), (0, 1, id.as_str()));
    assert_eq!(answer.members.len(), 1);
    assert_eq!(synced(world, &syncing(group, 1, &id, &[(&id, b"all")])).0.assignment.as_ref(), b"all");
    id
}

#[test]
fn a_member_joins_syncs_and_is_heard() {
    for (mode, release) in [("kraft", "4.1.1"), ("zookeeper", "2.8.2")] {
        let mut world = shop(mode, release, "[1]");
        let id = new_id(&mut world, "new");
        assert_eq!(world.group(1, "new"), Ok(None), "an id that was given out makes no group");
        let join = joining("new", &id);
        assert_eq!(joined(&mut world, &join), Err(Duration::from_secs(3)));
        assert_eq!(state(&world, "new"), ("PreparingRebalance".to_owned(), 1));
        let (body, _) = join.at_last(&mut world);
        assert_eq!(told!(join, body, JoinGroupResponseData).error_code, 0);
        assert_eq!(state(&world, "new").0, "CompletingRebalance");
        assert_eq!(heartbeat(&mut world, "new", 1, &id), 0);
        assert_eq!(synced(&mut world, &syncing("new", 1, &id, &[(&id, b"all")])).0.error_code, 0);
        assert_eq!(state(&world, "new").0, "Stable");
        assert_eq!(heartbeat(&mut world, "new", 1, &id), 0);
        assert_eq!(heartbeat(&mut world, "new", 0, &id), 22);
        assert_eq!(heartbeat(&mut world, "new", 1, "nope"), 25);
        let refused = joined(&mut world, &joining("new", "nope")).expect("at once");
        assert_eq!((refused.error_code, refused.member_id.as_str()), (25, "nope"));
    }
}

#[test]
fn a_second_member_makes_the_first_one_join_again() {
    let mut world = shop("kraft", "3.9.1", "[1]");
    let first = alone(&mut world, "new");
    let second = new_id(&mut world, "new");
    let join = joining("new", &second);
    assert!(joined(&mut world, &join).is_err(), "the first one is awaited");
    assert_eq!(heartbeat(&mut world, "new", 1, &first), 27);
    let again = joining("new", &first);
    let led = joined(&mut world, &again).expect("all are there");
    let follows = joined(&mut world, &join).expect("all are there");
    assert_eq!((led.generation_id, led.members.len(), led.leader.as_str()), (2, 2, first.as_str()));
    assert_eq!((follows.generation_id, follows.members.len(), follows.leader.as_str()), (2, 0, first.as_str()));
    let waits = syncing("new", 2, &second, &[]);
    assert!(matches!(waits.once(&mut world, Duration::ZERO), Answer::Wait(_)), "the leader has not spoken");
    let assigned = syncing("new", 2, &first, &[(&first, b"a"), (&second, b"b")]);
    assert_eq!(synced(&mut world, &assigned).0.assignment.as_ref(), b"a");
    assert_eq!(synced(&mut world, &waits).0.assignment.as_ref(), b"b");
    assert_eq!(state(&world, "new"), ("Stable".to_owned(), 2));

    // One leaves, the other one has the group for itself.
    let data = LeaveGroupRequestData {
        group_id: text("new"),
        members: vec![MemberIdentity { member_id: text(&second), ..Default::default() }],
        ..Default::default()
    };
    let answer = ask!(&mut world, 1, 13, 4, data, LeaveGroupResponseData);
    assert_eq!((answer.error_code, answer.members[0].error_code), (0, 0));
    assert_eq!(heartbeat(&mut world, "new", 2, &first), 27);
    assert_eq!(joined(&mut world, &joining("new", &first)).expect("alone").generation_id, 3);
}

#[test]
fn who_is_not_heard_of_is_taken_out() {
    let mut world = shop("kraft", "4.1.1", "[1]");
    let id = alone(&mut world, "new");
    pass(&mut world, 9000);
    assert_eq!(heartbeat(&mut world, "new", 1, &id), 0);
    pass(&mut world, 9000);
    assert_eq!(state(&world, "new"), ("Stable".to_owned(), 1));
    pass(&mut world, 3000);
    assert_eq!(state(&world, "new"), ("Empty".to_owned(), 0), "nobody had to ask");
    assert_eq!(heartbeat(&mut world, "new", 1, &id), 25);
}

#[test]
fn a_rebalance_waits_for_who_is_silent_no_longer_than_its_session() {
    let mut world = shop("kraft", "4.1.1", "[1]");
    alone(&mut world, "new");
    let second = new_id(&mut world, "new");
    let join = joining("new", &second);
    let (body, took) = join.at_last(&mut world);
    assert_eq!(told!(join, body, JoinGroupResponseData).leader.as_str(), second);
    assert!(took > Duration::from_secs(9) && took < Duration::from_secs(12), "{took:?}");
}

#[test]
fn members_that_the_scenario_tells_of_count_as_joined() {
    let mut world = shop("kraft", "3.9.1", "[1]");
    let id = new_id(&mut world, "live");
    let answer = joined(&mut world, &joining("live", &id)).expect("nobody is awaited");
    assert_eq!((answer.error_code, answer.generation_id, answer.members.len()), (0, 2, 3));
    assert_eq!(synced(&mut world, &syncing("live", 2, &id, &[(&id, b"all")])).0.error_code, 0);
    assert_eq!(state(&world, "live"), ("Stable".to_owned(), 3));
    pass(&mut world, 20_000);
    assert_eq!(state(&world, "live"), ("Stable".to_owned(), 2), "they stay");
}

#[test]
fn a_rebalance_that_cannot_be_written_begins_anew() {
    for (release, takes) in [("4.1.1", 5), ("3.9.1", 0)] {
        let mut world = shop("kraft", release, "[1, 2]");
        does(
            &mut world,
            super::remedies::action(
                "{ configure = { topic = \"__consumer_offsets\", set = { \"min.insync.replicas\" = 2 } } }",
            ),
        );
        does(&mut world, Action::Stop(2));
        pass(&mut world, 10_000);
        let id = new_id(&mut world, "new");
        let join = joining("new", &id);
        let (body, _) = join.at_last(&mut world);
        let generation = told!(join, body, JoinGroupResponseData).generation_id;
        let sync = syncing("new", generation, &id, &[(&id, b"all")]);
        let (answer, took) = synced(&mut world, &sync);
        assert_eq!((answer.error_code, took), (15, Duration::from_secs(takes)), "{release}");
        assert_eq!(state(&world, "new").0, "PreparingRebalance", "{release}");
        let again = joined(&mut world, &joining("new", &id)).expect("alone");
        assert_eq!(again.generation_id, generation + 1, "the generation climbs");
    }
}

#[test]
fn members_of_a_lost_group_are_unknown() {
    let mut world = shop("kraft", "4.1.1", "[1]");
    let id = alone(&mut world, "new");
    does(&mut world, Action::DeleteTopic("__consumer_offsets".to_owned()));
    assert_eq!(heartbeat(&mut world, "new", 1, &id), 16);
    drop(world.find_coordinator(1, "new"));
    pass(&mut world, 3000);
    let leader = world.find_coordinator(1, "new").expect("made anew").0;
    pass(&mut world, 1000);
    let outcome = world.heartbeat(leader, "new", 1, &id, None);
    assert_eq!(outcome, Err(25));
}
