//! Each kind of fault, as a client meets it.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use unstuck_wire::messages::groups::DescribeGroupsRequest;
use unstuck_wire::{Connection, WireError};

use super::{DEADLINE, exchange, greet, groups, hello, loopback, metadata, stream};
use crate::scenario::action::{Action, Fault, FaultKind};

const SHORT: Duration = Duration::from_millis(300);

/// A fault of broker 1, for some requests.
fn fault(kind: FaultKind, apis: &[&str]) -> Action {
    Action::Fault(Fault {
        name: Some("it".to_owned()),
        brokers: vec![1],
        apis: apis.iter().map(|&api| api.to_owned()).collect(),
        r#do: kind,
        ..Fault::default()
    })
}

fn end() -> Action {
    Action::EndFault("it".to_owned())
}

#[tokio::test]
async fn refused_and_closed_at_once() {
    let drill = loopback("");
    let mut open = greet(&drill, 0).await.expect("broker 1");
    drill.act(&fault(FaultKind::Refuse, &[])).expect("a fault");
    assert_eq!(timeout(DEADLINE, open.ended()).await.expect("it ends"), WireError::Closed);
    assert_eq!(Connection::connect(&drill.bootstrap()[0], "test", DEADLINE).await.err(), Some(WireError::Refused));
    greet(&drill, 1).await.expect("broker 2 is not meant");
    drill.act(&end()).expect("it ends");
    drill.act(&fault(FaultKind::Close, &[])).expect("a fault");
    let closed = timeout(DEADLINE, async {
        loop {
            // The listener opens in its own time.
            match Connection::connect(&drill.bootstrap()[0], "test", DEADLINE).await {
                Ok(mut connection) => return connection.handshake(DEADLINE).await.err(),
                Err(WireError::Closed) => return Some(WireError::Closed),
                Err(_) => tokio::task::yield_now().await,
            }
        }
    });
    assert_eq!(closed.await.expect("it accepts"), Some(WireError::Closed));
}

#[tokio::test]
async fn a_request_is_reset_or_hangs() {
    let drill = loopback("");
    let mut open = greet(&drill, 0).await.expect("broker 1");
    drill.act(&fault(FaultKind::Reset, &["Metadata"])).expect("a fault");
    assert_eq!(groups(&mut open).await.err(), None, "another request");
    assert_eq!(metadata(&mut open, DEADLINE).await.err(), Some(WireError::Closed));
    drill.act(&end()).expect("it ends");

    let mut open = greet(&drill, 0).await.expect("broker 1");
    drill.act(&fault(FaultKind::Hang, &["Metadata"])).expect("a fault");
    assert_eq!(metadata(&mut open, SHORT).await.err(), Some(WireError::Silent));
    assert_eq!(open.late_answer(SHORT).await.err(), Some(WireError::Silent));
    drill.act(&end()).expect("it ends");
    open.late_answer(DEADLINE).await.expect("the answer that was owed");
    metadata(&mut open, DEADLINE).await.expect("an answer");
}

#[tokio::test]
async fn an_answer_is_late() {
    let drill = loopback("[[fault]]\nbrokers = [1]\napis = [\"Metadata\"]\ndo = \"delay\"\ndelay = \"400ms\"");
    let mut open = greet(&drill, 0).await.expect("broker 1");
    let begun = Instant::now();
    metadata(&mut open, DEADLINE).await.expect("an answer");
    assert!(begun.elapsed() >= Duration::from_millis(400));
}

#[tokio::test]
async fn half_an_answer_and_one_that_ends_after_its_head() {
    let drill = loopback("");
    let mut open = stream(&drill, 0).await;
    let mut whole = timeout(DEADLINE, exchange(&mut open, &hello(), 4)).await.expect("a length");
    let length = usize::try_from(i32::from_be_bytes([whole[0], whole[1], whole[2], whole[3]])).expect("a length");
    whole.extend(timeout(DEADLINE, exchange(&mut open, &[], length)).await.expect("an answer"));
    assert_eq!(whole.len(), length + 4);
    drill.act(&fault(FaultKind::HalfAnswer, &["ApiVersions"])).expect("a fault");
    let mut open = stream(&drill, 0).await;
    let half = timeout(DEADLINE, exchange(&mut open, &hello(), whole.len() / 2)).await.expect("half of an answer");
    assert_eq!(half, whole[..whole.len() / 2]);
    let more = timeout(SHORT, exchange(&mut open, &[], 1)).await;
    assert!(more.is_err(), "nothing more comes, and the connection stays open: {more:?}");
    let mut connection = Connection::connect(&drill.bootstrap()[0], "test", DEADLINE).await.expect("accepted");
    assert_eq!(connection.handshake(SHORT).await.err(), Some(WireError::Silent));
    drill.act(&end()).expect("it ends");

    drill.act(&fault(FaultKind::CloseAfterHeader, &["ApiVersions"])).expect("a fault");
    let mut open = stream(&drill, 0).await;
    let head = timeout(DEADLINE, exchange(&mut open, &hello(), 1000)).await.expect("it ends");
    assert_eq!((head.len(), &head[4..]), (8, [0, 0, 0, 7].as_slice()));
}

#[tokio::test]
async fn nonsense_of_the_right_length() {
    let drill = loopback("");
    let mut open = stream(&drill, 0).await;
    let right = timeout(DEADLINE, exchange(&mut open, &hello(), 8)).await.expect("an answer");
    drill.act(&fault(FaultKind::Garbage, &[])).expect("a fault");
    let mut open = stream(&drill, 0).await;
    let length = usize::try_from(i32::from_be_bytes([right[0], right[1], right[2], right[3]])).expect("a length");
    let wrong = timeout(DEADLINE, exchange(&mut open, &hello(), length + 4)).await.expect("an answer");
    assert_eq!((wrong.len(), &wrong[..8]), (length + 4, &right[..]));
    let mut connection = Connection::connect(&drill.bootstrap()[0], "test", DEADLINE).await.expect("accepted");
    assert!(matches!(connection.handshake(DEADLINE).await, Err(WireError::Malformed(_))));
}

#[tokio::test]
async fn an_error_code_for_all_or_for_one_partition() {
    let drill = loopback("");
    let find = |world: &mut crate::world::World, group: &str| world.place(group, 6);
    let group = (1..=12)
        .map(|number| format!("billing-{number}"))
        .find(|group| drill.with(|world| find(world, group)).is_some_and(|partition| partition % 3 == 0));
    let group = group.expect("a group of broker 1");
    let partition = drill.with(|world| find(world, &group)).expect("a partition");
    let mut open = greet(&drill, 0).await.expect("broker 1");
    let request = DescribeGroupsRequest { groups: vec![group] };
    for (partitions, code) in [(format!("{partition}"), 16), ("all".to_owned(), 7)] {
        drill
            .act(&Action::Fault(Fault {
                name: Some("it".to_owned()),
                partitions: partitions.parse().expect("partitions"),
                apis: vec!["DescribeGroups".to_owned()],
                r#do: FaultKind::Error,
                code: Some(code),
                ..Fault::default()
            }))
            .expect("a fault");
        let answer = open.call(&request, DEADLINE).await.expect("an answer").answer;
        assert_eq!(answer[0].error, code);
        drill.act(&end()).expect("it ends");
    }
    assert_eq!(open.call(&request, DEADLINE).await.expect("an answer").answer[0].error, 0);
}
