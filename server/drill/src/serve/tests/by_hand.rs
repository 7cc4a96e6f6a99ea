//! What is done by hand, and jumps.

use std::time::Duration;

use super::scenario;
use crate::scenario::action::Action;
use crate::serve::Drill;

const STEP: &str = "[[step]]\nname = \"a\"\nsay = \"b\"\nafter = \"7d\"\ndo = [{ stop = 2 }]";

fn action(json: &str) -> Action {
    serde_json::from_str(json).expect("an action")
}

#[tokio::test(start_paused = true)]
async fn what_is_done_by_hand_is_checked_against_the_cluster_as_it_is() {
    let drill = Drill::in_memory("test", scenario(""));
    let more = |to: i32| action(&format!(r#"{{"add-partitions":{{"topic":"orders","to":{to}}}}}"#));
    assert_eq!(drill.act(&more(100_000_000)).expect_err("too many").lines().count(), 1);
    assert_eq!(drill.act(&more(5)), Ok(()));
    let why = drill.act(&more(4)).expect_err("it has 5");
    assert_eq!(why, "add-partitions.to: orders has 5 partitions; allowed: more, up to 100000");
    assert_eq!(drill.act(&action(r#"{"set":{"topic":"orders","partitions":4,"epoch":8}}"#)), Ok(()));

    assert!(drill.act(&action(r#"{"delete-group":"new"}"#)).is_err());
    assert_eq!(drill.act(&action(r#"{"group":{"id":"new","members":1}}"#)), Ok(()));
    assert_eq!(drill.act(&action(r#"{"delete-group":"new"}"#)), Ok(()));
    assert!(drill.act(&action(r#"{"delete-group":"new"}"#)).is_err());
    assert!(drill.act(&action(r#"{"end-fault":"it"}"#)).is_err());

    assert_eq!(drill.act(&action(r#"{"delete-topic":"orders"}"#)), Ok(()));
    let why = drill.act(&more(9)).expect_err("it is gone");
    assert!(why.starts_with("add-partitions.topic: the cluster has no topic `orders`"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_jump_is_as_far_as_it_says_and_not_too_far() {
    let drill = Drill::in_memory("test", scenario(STEP));
    let day = Duration::from_secs(86_400);
    assert_eq!(drill.jump(31 * day).await, Err("a jump is at most 30d long".to_owned()));
    assert_eq!(drill.status().now_ms, 0);
    drill.jump(30 * day).await.expect("not too far");
    let status = drill.status();
    assert_eq!((status.now_ms, status.steps[0].at_ms), (30 * 86_400_000, Some(7 * 86_400_000)));
}

#[tokio::test(start_paused = true)]
async fn others_have_their_turns_while_time_jumps_and_a_restart_ends_it() {
    let drill = Drill::in_memory("test", scenario(STEP));
    let jump = drill.jump(Duration::from_secs(20 * 86_400));
    let other = async {
        let seen = drill.status().now_ms;
        drill.restart();
        seen
    };
    let (jumped, seen) = tokio::join!(biased; jump, other);
    assert_eq!(jumped, Ok(()));
    assert!((1..20 * 86_400_000).contains(&seen), "{seen}");
    assert_eq!(drill.status().now_ms, 0);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_the_end_is_told() {
    let drill = Drill::in_memory("test", scenario(""));
    let ended = drill.ended();
    tokio::pin!(ended);
    assert!(tokio::time::timeout(Duration::from_secs(1), &mut ended).await.is_err());
    drill.shutdown().await;
    ended.await;
}
