//! What is refused of what is done by hand, and what is not.

use super::{KRAFT, ZOOKEEPER};
use crate::scenario::action::Action;
use crate::scenario::{KnownTopic, check_action, read};

fn told(base: &str, action: &str) -> Result<(), String> {
    let scenario = read(base, "x").expect("a scenario");
    let action: Action = serde_json::from_str(action).expect("an action");
    let offsets = KnownTopic { partitions: 6, replicas: [1, 2, 3].into() };
    // One that only the cluster knows of.
    let payments = KnownTopic { partitions: 3, replicas: [1, 2].into() };
    let topics = [("__consumer_offsets", offsets), ("payments", payments)].into();
    check_action(&scenario, &action, topics, &|group| group == "billing")
}

#[track_caller]
fn refused(base: &str, action: &str, what: &str) {
    assert_eq!(told(base, action), Err(what.to_owned()));
}

#[test]
fn what_would_take_all_memory_is_refused() {
    refused(
        KRAFT,
        r#"{"add-partitions":{"topic":"__consumer_offsets","to":100000000}}"#,
        "add-partitions.to: __consumer_offsets has 6 partitions; allowed: more, up to 100000",
    );
    refused(
        KRAFT,
        r#"{"view":{"broker":2,"partition-count":100000000}}"#,
        "view.partition-count: it must be 0 to 100000",
    );
    refused(
        KRAFT,
        r#"{"group":{"id":"x","members":4000000000}}"#,
        "group.members: 4000000000 is not a number of members (0 to 10000)",
    );
    refused(
        KRAFT,
        r#"{"group":{"id":"x-{n}","count":4000000000}}"#,
        "group.count: 4000000000 is not a number of groups (1 to 1000000)",
    );
}

#[test]
fn what_the_cluster_does_not_have_is_refused() {
    let nodes = "(if that is what the scenario is about: `means-contradictions = true`)";
    refused(
        KRAFT,
        r#"{"fault":{"brokers":[99],"apis":["Nope"],"do":"hang"}}"#,
        "fault.brokers[0]: 99 is not one of the brokers (1, 2, 3); fault.apis[0]: Kafka has no request `Nope`; did you \
         mean `Vote`?",
    );
    refused(
        KRAFT,
        r#"{"coordinators":{"partitions":"900","state":"loading"}}"#,
        "coordinators.partitions: there is no partition 900: __consumer_offsets has partitions 0-5",
    );
    refused(KRAFT, r#"{"set":{"leader":77}}"#, &format!("set.leader: 77 is not one of the brokers (1, 2, 3) {nodes}"));
    assert!(told(KRAFT, r#"{"set":{"isr":[78]}}"#).is_err_and(|why| why.starts_with("set.isr: 78 is not one of")));
    refused(KRAFT, r#"{"set":{"replicas":[]}}"#, "set.replicas: a partition has at least one replica");
    refused(KRAFT, r#"{"set":{"end":-1}}"#, "set.end: it cannot be less than 0");
    refused(KRAFT, r#"{"set":{"epoch":2147483647}}"#, "set.epoch: it must be 0 to 1000000000");
    refused(KRAFT, r#"{"view":{"broker":2,"partition-count":-5}}"#, "view.partition-count: it must be 0 to 100000");
    refused(
        KRAFT,
        r#"{"group":{"id":"x","count":3}}"#,
        "group.id: with `count` the id must have `{n}` in it once, where the number goes",
    );
    refused(
        KRAFT,
        r#"{"reassign":{"topic":"orders","replicas":[1]}}"#,
        "reassign.topic: the cluster has no topic `orders` (topics: __consumer_offsets, payments)",
    );
    refused(KRAFT, r#"{"delete-group":"biling"}"#, "delete-group: the cluster has no group `biling`");
    assert!(told(KRAFT, r#"{"write-zookeeper":{"leader":1}}"#).is_err_and(|why| why.starts_with("write-zookeeper: ")));
    assert!(told(KRAFT, r#"{"no-controller":true}"#).is_err_and(|why| why.starts_with("no-controller: ")));
}

#[test]
fn what_the_cluster_has_is_accepted_whatever_the_file_says() {
    for action in [
        r#"{"reassign":{"topic":"payments","partitions":"2","replicas":[3]}}"#,
        r#"{"add-partitions":{"topic":"payments","to":4}}"#,
        r#"{"set":{"topic":"payments","leader":2,"isr":[2],"epoch":9,"end":0}}"#,
        r#"{"delete-topic":"payments"}"#,
        r#"{"delete-group":"billing"}"#,
        r#"{"group":{"id":"x-{n}","count":1000,"members":3,"offsets":{"payments":[1,2,3]}}}"#,
        r#"{"fault":{"name":"it","brokers":[1],"apis":["Metadata"],"do":"hang"}}"#,
        r#"{"end-fault":"it"}"#,
        r#"{"view":{"broker":2,"partition-count":5}}"#,
        r#"{"stop":100}"#,
    ] {
        assert_eq!(told(KRAFT, action), Ok(()), "{action}");
    }
    assert_eq!(told(ZOOKEEPER, r#"{"no-controller":true}"#), Ok(()));
    assert_eq!(told(ZOOKEEPER, r#"{"write-zookeeper":{"leader":1}}"#), Ok(()));
}

#[test]
fn groups_need_their_topic() {
    let scenario = read(KRAFT, "x").expect("a scenario");
    let group: Action = serde_json::from_str(r#"{"group":{"id":"x"}}"#).expect("an action");
    let why = check_action(&scenario, &group, [].into(), &|_| false).expect_err("no offsets topic");
    assert_eq!(why, "group: there can be no groups yet: the cluster has no topic __consumer_offsets");
}
