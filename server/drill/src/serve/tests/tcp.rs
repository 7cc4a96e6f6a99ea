//! Brokers on ports: what they answer, and what stops them.

use tokio::time::timeout;
use unstuck_wire::messages::cluster::DescribeClusterRequest;
use unstuck_wire::messages::configs::{DescribeConfigsRequest, Resource};
use unstuck_wire::messages::coordinator::FindCoordinatorRequest;
use unstuck_wire::messages::groups::DescribeGroupsRequest;
use unstuck_wire::messages::offsets::{ListOffsetsRequest, OffsetFetchRequest};
use unstuck_wire::{Connection, WireError};

use super::{DEADLINE, greet, groups, loopback, metadata};
use crate::scenario::action::Action;
use crate::serve::{Drill, Listen};

const SHORT: std::time::Duration = std::time::Duration::from_millis(300);

#[tokio::test]
async fn what_diagnoses_ask_is_answered() {
    let drill = loopback("");
    let mut first = greet(&drill, 0).await.expect("broker 1");
    let seen = metadata(&mut first, DEADLINE).await.expect("metadata");
    assert_eq!(seen.brokers.len(), 3);
    let advertised: Vec<&String> = seen.brokers.values().map(|broker| &broker.address).collect();
    assert_eq!(advertised, drill.bootstrap().iter().collect::<Vec<_>>());
    assert_eq!(seen.topics["__consumer_offsets"].partitions.len(), 6);

    let mut listed = 0;
    for nth in 0..3 {
        listed += groups(&mut greet(&drill, nth).await.expect("a broker")).await.expect("a list");
    }
    assert_eq!(listed, 12);

    let find = FindCoordinatorRequest { groups: vec!["billing-1".to_owned(), "billing-2".to_owned()] };
    let named = first.call(&find, DEADLINE).await.expect("coordinators").answer.coordinators;
    let coordinator = named["billing-1"].expect("a coordinator");
    let nth = usize::try_from(coordinator - 1).expect("an id");
    let mut owner = greet(&drill, nth).await.expect("the coordinator");
    let describe = DescribeGroupsRequest { groups: vec!["billing-1".to_owned()] };
    let described = owner.call(&describe, DEADLINE).await.expect("a description").answer.remove(0);
    assert_eq!((described.error, described.state.as_str(), described.members.len()), (0, "Stable", 2));
    let fetch = OffsetFetchRequest { group: "billing-1".to_owned(), require_stable: false };
    let offsets = owner.call(&fetch, DEADLINE).await.expect("offsets").answer;
    assert_eq!(offsets.offsets.iter().map(|one| one.offset).collect::<Vec<_>>(), [5, 5, 5]);

    let ends = ListOffsetsRequest { topics: vec![("orders".to_owned(), vec![0, 1])], committed: false };
    let ends = first.call(&ends, DEADLINE).await.expect("ends").answer;
    assert_eq!(ends.iter().map(|one| (one.error, one.offset)).collect::<Vec<_>>(), [(0, 1000), (6, -1)]);
    let configs = DescribeConfigsRequest { resource: Resource::Broker(1), names: vec!["log.dirs".to_owned()] };
    let configs = first.call(&configs, DEADLINE).await.expect("settings").answer;
    assert_eq!(configs.values["log.dirs"], "/var/lib/kafka");
    let cluster = first.call(&DescribeClusterRequest { operations: true }, DEADLINE).await.expect("the cluster").answer;
    assert_eq!((cluster.brokers.len(), cluster.may_describe), (3, Some(true)));
    drill.shutdown().await;
}

#[tokio::test]
async fn a_stopped_broker_refuses_and_comes_back_on_its_port() {
    let drill = loopback("");
    let address = drill.bootstrap()[0].clone();
    let mut open = greet(&drill, 0).await.expect("broker 1");
    drill.act(&Action::Stop(1)).expect("broker 1");
    let ended = timeout(DEADLINE, open.ended()).await.expect("the connection ends");
    assert_eq!(ended, WireError::Closed);
    assert_eq!(Connection::connect(&address, "test", DEADLINE).await.err(), Some(WireError::Refused));
    // The port is still its own.
    assert!(std::net::TcpListener::bind(&address).is_err());

    drill.act(&Action::Start(1)).expect("broker 1");
    drill.jump(std::time::Duration::from_secs(1)).await.expect("not too far");
    let again = timeout(DEADLINE, async {
        loop {
            match greet(&drill, 0).await {
                Ok(connection) => return connection,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    });
    let mut again = again.await.expect("it accepts again");
    assert_eq!(drill.bootstrap()[0], address);
    metadata(&mut again, DEADLINE).await.expect("an answer");
}

#[tokio::test]
async fn a_broker_that_was_gone_within_one_jump_has_been_gone() {
    let drill = loopback("[[step]]\nname = \"a\"\nsay = \"b\"\nafter = \"1s\"\ndo = [{ stop = 2 }, { start = 2 }]");
    let mut open = greet(&drill, 1).await.expect("broker 2");
    drill.jump(std::time::Duration::from_secs(60)).await.expect("not too far");
    assert_eq!(timeout(DEADLINE, open.ended()).await.expect("it ends"), WireError::Closed);
    assert!(drill.status().nodes.iter().all(|node| node.state == "running" && !node.starting));
}

#[tokio::test]
async fn a_paused_broker_accepts_and_says_nothing_until_it_goes_on() {
    let drill = loopback("");
    let mut open = greet(&drill, 0).await.expect("broker 1");
    drill.act(&Action::Pause(1)).expect("broker 1");
    assert_eq!(metadata(&mut open, SHORT).await.err(), Some(WireError::Silent));
    let mut other = Connection::connect(&drill.bootstrap()[0], "test", DEADLINE).await.expect("accepted");
    assert_eq!(other.handshake(SHORT).await.err(), Some(WireError::Silent));

    drill.act(&Action::Resume(1)).expect("broker 1");
    open.late_answer(DEADLINE).await.expect("the answer that was owed");
    metadata(&mut open, DEADLINE).await.expect("an answer");
    other.handshake(DEADLINE).await.expect("an answer");
}

#[tokio::test]
async fn the_scenario_can_be_played_again_on_the_same_ports() {
    let drill = loopback("[[step]]\nname = \"a\"\nsay = \"b\"\ndo = [{ stop = 1 }]");
    let before = drill.bootstrap();
    let mut changes = drill.changes();
    assert!(drill.next());
    assert!(!drill.next());
    assert!(changes.has_changed().expect("it runs"));
    changes.mark_unchanged();
    drill.restart();
    assert!(changes.has_changed().expect("it runs"));
    assert_eq!(drill.bootstrap(), before);
    let status = drill.status();
    assert_eq!((status.steps[0].state, status.bootstrap), (crate::world::StepState::ByHand, before));
    assert!(drill.with(|world| world.node(1).is_some_and(crate::world::Node::heard)));
}

#[tokio::test]
async fn ports_follow_the_first_one_and_are_free_at_the_end() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let first = free.local_addr().expect("bound").port();
    let listen = Listen::Loopback { host: "127.0.0.1".to_owned(), ports: Some(first) };
    assert!(Drill::start("test", super::scenario(""), &listen).is_err(), "somebody has the port");
    drop(free);
    // Others may take the ports after it meanwhile; then there is nothing to be seen here.
    let Ok(drill) = Drill::start("test", super::scenario(""), &listen) else { return };
    let ports: Vec<String> = (first..first + 3).map(|port| format!("127.0.0.1:{port}")).collect();
    assert_eq!(drill.bootstrap(), ports);
    assert!(Drill::start("other", super::scenario(""), &listen).is_err(), "this drill has the ports");
    greet(&drill, 0).await.expect("broker 1");
    drill.shutdown().await;
    assert!(Connection::connect(&ports[0], "test", DEADLINE).await.is_err());
    // A connection that the broker closed first lingers in the system, and does not keep the next drill from the port.
    let drill = Drill::start("test", super::scenario(""), &listen).expect("the ports are free");
    let mut closed = super::stream(&drill, 0).await;
    timeout(DEADLINE, super::exchange(&mut closed, &[0xff; 8], 1)).await.expect("no request: closed");
    drop(closed);
    drill.shutdown().await;
    Drill::start("test", super::scenario(""), &listen).expect("the ports are free");
}

#[tokio::test]
async fn a_dropped_drill_leaves_nothing() {
    let drill = loopback("");
    let address = drill.bootstrap()[0].clone();
    let mut open = greet(&drill, 0).await.expect("broker 1");
    let tasks = drill.shared.tasks.clone();
    drop(drill);
    timeout(DEADLINE, tasks.wait()).await.expect("all tasks end");
    assert_eq!(timeout(DEADLINE, open.ended()).await.expect("it ends"), WireError::Closed);
    assert_eq!(Connection::connect(&address, "test", DEADLINE).await.err(), Some(WireError::Refused));
}
