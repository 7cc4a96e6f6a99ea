//! What people do with Kafka's tools, in the codes and words that were recorded of real brokers.

use std::time::Duration;

use unstuck_wire::schema::alter_partition_reassignments_request::{ReassignablePartition, ReassignableTopic};
use unstuck_wire::schema::create_topics_request::{CreatableReplicaAssignment, CreatableTopic};
use unstuck_wire::schema::delete_topics_request::DeleteTopicState;
use unstuck_wire::schema::describe_topic_partitions_request::{Cursor, TopicRequest};
use unstuck_wire::schema::elect_leaders_request::TopicPartitions;
use unstuck_wire::schema::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use unstuck_wire::schema::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use unstuck_wire::schema::{
    AlterPartitionReassignmentsRequestData, CreateTopicsRequestData, DeleteGroupsRequestData, DeleteTopicsRequestData,
    DescribeLogDirsRequestData, DescribeQuorumRequestData, DescribeTopicPartitionsRequestData,
    DescribeTransactionsRequestData, ElectLeadersRequestData, IncrementalAlterConfigsRequestData,
    ListPartitionReassignmentsRequestData, OffsetCommitRequestData, describe_quorum_request,
};

use super::{Request, ask, does, pass, plain, request, shop, told, world};
use crate::answer::Answer;
use crate::answer::words::text;
use crate::scenario::action::Action;
use crate::world::{OFFSETS_TOPIC, World};

/// An action as a file says it.
pub(super) fn action(toml: &str) -> Action {
    #[derive(serde::Deserialize)]
    struct File {
        r#do: Action,
    }
    toml::from_str::<File>(&format!("do = {toml}")).expect("an action").r#do
}

/// Elects; the code and words of each partition.
fn elect(world: &mut World, broker: i32, kind: i8, topic: &str, numbers: &[i32]) -> Vec<(i16, Option<String>)> {
    let request = ElectLeadersRequestData {
        election_type: kind,
        topic_partitions: Some(vec![TopicPartitions {
            topic: text(topic),
            partitions: numbers.to_vec(),
            ..Default::default()
        }]),
        ..Default::default()
    };
    let answer = ask!(world, broker, 43, 1, request, ElectLeadersResponseData);
    assert_eq!(answer.error_code, 0);
    let results = answer.replica_election_results.into_iter().flat_map(|one| one.partition_result);
    results.map(|one| (one.error_code, plain(one.error_message.as_ref()))).collect()
}

fn said(code: i16, words: &str) -> Vec<(i16, Option<String>)> {
    vec![(code, Some(words.to_owned()))]
}

#[test]
fn elections_answer_as_recorded() {
    let mut world = shop("kraft", "4.1.1", "[1]");
    let not_needed = "Leader election not needed for topic partition.";
    assert_eq!(elect(&mut world, 2, 0, "one", &[0]), said(84, not_needed));
    assert_eq!(elect(&mut world, 2, 1, "one", &[0]), said(84, not_needed));
    assert_eq!(elect(&mut world, 2, 1, "missing", &[0]), said(3, "No such topic as missing"));
    assert_eq!(elect(&mut world, 2, 1, "one", &[77]), said(3, "No such partition as one-77"));
    does(&mut world, Action::Stop(3));
    pass(&mut world, 10_000);
    assert_eq!(elect(&mut world, 1, 0, "one", &[2]), said(80, "The preferred leader was not available."));
    assert_eq!(elect(&mut world, 1, 1, "one", &[2]), said(83, "Eligible topic partition leaders are not available."));
    assert_eq!(elect(&mut world, 1, 1, "three", &[2]), said(84, not_needed));
    does(&mut world, Action::Start(3));
    pass(&mut world, 5000);
    assert_eq!(elect(&mut world, 1, 0, "three", &[2]), vec![(0, None)]);
    assert_eq!(elect(&mut world, 1, 0, "three", &[2]), said(84, not_needed));

    let mut world = shop("zookeeper", "3.9.1", "[1]");
    assert_eq!(elect(&mut world, 2, 0, "one", &[0]), vec![(41, None)], "broker 1 is the controller");
    assert_eq!(elect(&mut world, 1, 0, "one", &[77]), said(3, "The partition does not exist."));
    does(&mut world, Action::Stop(3));
    pass(&mut world, 20_000);
    let words =
        "Failed to elect leader for partition one-2 under strategy OfflinePartitionLeaderElectionStrategy(true)";
    assert_eq!(elect(&mut world, 1, 1, "one", &[2]), said(83, words));
}

#[test]
fn before_kip_460_no_election_needed_is_fine() {
    let mut world = shop("zookeeper", "2.3.1", "[1]");
    let all = ElectLeadersRequestData { topic_partitions: None, ..Default::default() };
    let answer = ask!(&mut world, 1, 43, 0, all, ElectLeadersResponseData);
    let codes: Vec<i16> = answer
        .replica_election_results
        .iter()
        .flat_map(|one| &one.partition_result)
        .map(|one| one.error_code)
        .collect();
    assert_eq!(codes, [0; 7]);
}

#[test]
fn an_election_of_everything_mentions_what_went_wrong_only() {
    let mut world = shop("kraft", "4.1.1", "[1]");
    let all = || ElectLeadersRequestData { topic_partitions: None, ..Default::default() };
    assert_eq!(ask!(&mut world, 1, 43, 2, all(), ElectLeadersResponseData).replica_election_results, []);
    does(&mut world, Action::Stop(3));
    pass(&mut world, 10_000);
    let results = ask!(&mut world, 1, 43, 2, all(), ElectLeadersResponseData).replica_election_results;
    let topics: Vec<&str> = results.iter().map(|one| one.topic.as_str()).collect();
    assert_eq!(topics, ["one", "three"]);
    assert_eq!(results[0].partition_result.len(), 1);
}

#[test]
fn without_a_controller_requests_hang_and_time_out() {
    let mut world = shop("kraft", "4.1.1", "[1]");
    does(&mut world, Action::Stop(2));
    does(&mut world, Action::Stop(3));
    let quorum = DescribeQuorumRequestData {
        topics: vec![describe_quorum_request::TopicData {
            topic_name: text("__cluster_metadata"),
            partitions: vec![Default::default()],
            ..Default::default()
        }],
        ..Default::default()
    };
    let request = request!(1, 55, 2, quorum);
    assert_eq!(request.once(&mut world, Duration::ZERO), Answer::Wait(Duration::from_secs(30)));
    let (body, took) = request.at_last(&mut world);
    let answer = told!(request, body, DescribeQuorumResponseData);
    assert_eq!((answer.error_code, took), (7, Duration::from_secs(30)));
    does(&mut world, Action::Start(2));
    pass(&mut world, 5000);
    let (body, took) = request.at_last(&mut world);
    let answer = told!(request, body, DescribeQuorumResponseData);
    assert_eq!((answer.topics[0].partitions[0].leader_id, answer.nodes.len(), took), (1, 3, Duration::ZERO));
}

fn reassign(world: &mut World, broker: i32, topic: &str, replicas: Option<Vec<i32>>) -> (i16, Option<String>) {
    let partitions = vec![ReassignablePartition { partition_index: 0, replicas, ..Default::default() }];
    let topics = vec![ReassignableTopic { name: text(topic), partitions, ..Default::default() }];
    let request = AlterPartitionReassignmentsRequestData { topics, ..Default::default() };
    let answer = ask!(world, broker, 45, 0, request, AlterPartitionReassignmentsResponseData);
    match answer.responses.first() {
        Some(topic) => (topic.partitions[0].error_code, plain(topic.partitions[0].error_message.as_ref())),
        None => (answer.error_code, plain(answer.error_message.as_ref())),
    }
}

/// A reassignment in flight: topic, replicas, adding, removing.
type Moving = (String, Vec<i32>, Vec<i32>, Vec<i32>);

fn moving(world: &mut World, broker: i32) -> Vec<Moving> {
    let request = ListPartitionReassignmentsRequestData { topics: None, ..Default::default() };
    let answer = ask!(world, broker, 46, 0, request, ListPartitionReassignmentsResponseData);
    let topics = answer.topics.into_iter();
    topics
        .flat_map(|topic| {
            let name = topic.name.to_string();
            let each = topic.partitions.into_iter();
            each.map(move |one| (name.clone(), one.replicas, one.adding_replicas, one.removing_replicas))
        })
        .collect()
}

#[test]
fn a_reassignment_makes_the_offsets_topic_survive() {
    let mut world = shop("kraft", "4.1.1", "[1]");
    assert_eq!(reassign(&mut world, 2, OFFSETS_TOPIC, Some(vec![1, 2, 3])), (0, None));
    assert_eq!(moving(&mut world, 3), [(OFFSETS_TOPIC.to_owned(), vec![1, 2, 3], vec![2, 3], vec![])]);
    pass(&mut world, 2500);
    assert_eq!(moving(&mut world, 3), []);
    does(&mut world, Action::Stop(1));
    pass(&mut world, 20_000);
    let leader = world.topics()[OFFSETS_TOPIC].partitions[0].leader;
    assert!(leader > 1, "{leader}");
    assert!(world.group(leader, "live").expect("served").is_some());
}

#[test]
fn reassignments_are_refused_as_recorded() {
    let no_such = "The manual partition assignment includes broker 9, but no such broker is registered.";
    let mut world = shop("kraft", "4.1.1", "[1]");
    let words = |text: &str| Some(text.to_owned());
    assert_eq!(reassign(&mut world, 1, "one", None), (85, None));
    assert_eq!(reassign(&mut world, 1, "missing", None), (3, words("Unable to find a topic named missing.")));
    assert_eq!(reassign(&mut world, 1, "one", Some(vec![9])), (39, words(no_such)));
    let empty = "The manual partition assignment includes an empty replica list.";
    assert_eq!(reassign(&mut world, 1, "one", Some(vec![])), (39, words(empty)));

    let mut world = shop("zookeeper", "3.9.1", "[1]");
    let elsewhere = "This is not the correct controller for this cluster.";
    assert_eq!(reassign(&mut world, 2, "one", None), (41, words(elsewhere)));
    assert_eq!(reassign(&mut world, 1, "one", None), (85, words("No partition reassignment is in progress.")));
    let dead = "Replica assignment has brokers that are not alive. Replica list: ArrayBuffer(9), live broker list: \
                Set(1, 2, 3)";
    assert_eq!(reassign(&mut world, 1, "one", Some(vec![9])), (39, words(dead)));
}

/// Sets (0) or deletes (1) a setting; code and words.
fn alter(
    world: &mut World,
    broker: i32,
    resource: (i8, &str),
    name: &str,
    value: Option<&str>,
    try_only: bool,
) -> (i16, Option<String>) {
    let config = AlterableConfig {
        name: text(name),
        config_operation: i8::from(value.is_none()),
        value: value.map(text),
        ..Default::default()
    };
    let request = IncrementalAlterConfigsRequestData {
        resources: vec![AlterConfigsResource {
            resource_type: resource.0,
            resource_name: text(resource.1),
            configs: vec![config],
            ..Default::default()
        }],
        validate_only: try_only,
        ..Default::default()
    };
    let answer = ask!(world, broker, 44, 1, request, IncrementalAlterConfigsResponseData);
    (answer.responses[0].error_code, plain(answer.responses[0].error_message.as_ref()))
}

#[test]
fn settings_change_as_recorded() {
    let mut world = shop("kraft", "4.1.1", "[1]");
    let words = |text: &str| Some(text.to_owned());
    let one = (2, "one");
    assert_eq!(alter(&mut world, 3, one, "retention.ms", Some("5"), true), (0, None));
    assert_eq!(world.topics()["one"].configs.get("retention.ms"), None, "only tried");
    assert_eq!(alter(&mut world, 3, one, "retention.ms", Some("5"), false), (0, None));
    assert_eq!(world.topics()["one"].configs["retention.ms"], "5");
    let wrong = "Invalid value abc for configuration retention.ms: Not a number of type LONG";
    assert_eq!(alter(&mut world, 3, one, "retention.ms", Some("abc"), false), (40, words(wrong)));
    assert_eq!(alter(&mut world, 3, one, "retention.ms", None, false), (0, None));
    assert_eq!(world.topics()["one"].configs.get("retention.ms"), None);
    let missing = "The topic 'missing' does not exist.";
    assert_eq!(alter(&mut world, 3, (2, "missing"), "retention.ms", Some("5"), false), (3, words(missing)));
    assert_eq!(
        alter(&mut world, 3, one, "nonsense", Some("5"), false),
        (40, words("Unknown topic config name: nonsense"))
    );
    let fixed = "Cannot update these configs dynamically: Set(offsets.topic.num.partitions)";
    assert_eq!(alter(&mut world, 1, (4, "1"), "offsets.topic.num.partitions", Some("5"), false), (42, words(fixed)));
    for rate in ["leader.replication.throttled.rate", "follower.replication.throttled.rate"] {
        assert_eq!(alter(&mut world, 1, (4, "1"), rate, Some("1000000"), false), (0, None));
        assert_eq!(world.node(1).expect("a broker").config_source(rate), 2);
        assert_eq!(alter(&mut world, 1, (4, "1"), rate, None, false), (0, None));
        assert_eq!(world.node(1).expect("a broker").config(rate), None);
    }
    assert_eq!(alter(&mut world, 1, (4, "2"), "log.cleaner.threads", Some("2"), false).0, 42, "ask broker 2");
    assert_eq!(alter(&mut world, 1, (4, ""), "log.cleaner.threads", Some("2"), false), (0, None));
    assert_eq!(world.node(3).expect("a broker").config_source("log.cleaner.threads"), 3);
}

fn commit(world: &mut World, broker: i32, group: &str) -> (i16, Duration) {
    let partitions = vec![OffsetCommitRequestPartition { committed_offset: 9, ..Default::default() }];
    let topics = vec![OffsetCommitRequestTopic { name: text("one"), partitions, ..Default::default() }];
    let data = OffsetCommitRequestData {
        group_id: text(group),
        generation_id_or_member_epoch: -1,
        topics,
        ..Default::default()
    };
    let request = request!(broker, 8, 7, data);
    let (body, took) = request.at_last(world);
    let answer = told!(request, body, OffsetCommitResponseData);
    (answer.topics[0].partitions[0].error_code, took)
}

#[test]
fn simple_commits() {
    for (mode, release) in [("kraft", "4.1.1"), ("zookeeper", "2.3.1")] {
        let mut world = shop(mode, release, "[1]");
        assert_eq!(commit(&mut world, 1, "new").0, 0);
        let state = world.group(1, "new").expect("served").cloned().expect("it came into being");
        assert_eq!((state.state.as_str(), state.offsets[&("one".to_owned(), 0)]), ("Empty", 9));
        assert_eq!(commit(&mut world, 1, "live").0, 25);
        assert_eq!(commit(&mut world, 2, "idle").0, 16);
    }
}

#[test]
fn commits_are_refused_below_min_insync_replicas_until_it_is_lowered() {
    for (release, takes) in [("4.1.1", 5), ("3.9.1", 0)] {
        let mut world = shop("kraft", release, "[1, 2]");
        let topic = (2, OFFSETS_TOPIC);
        assert_eq!(alter(&mut world, 1, topic, "min.insync.replicas", Some("2"), false), (0, None));
        assert_eq!(commit(&mut world, 1, "idle").0, 0);
        does(&mut world, Action::Stop(2));
        pass(&mut world, 10_000);
        assert_eq!(commit(&mut world, 1, "idle"), (15, Duration::from_secs(takes)), "{release}");
        assert_eq!(alter(&mut world, 1, topic, "min.insync.replicas", Some("1"), false), (0, None));
        assert_eq!(commit(&mut world, 1, "idle"), (0, Duration::ZERO), "{release}");
    }
}

#[test]
fn a_dead_follower_that_is_still_in_sync_holds_commits_up() {
    let mut world = shop("zookeeper", "2.8.2", "[1, 2]");
    does(&mut world, Action::Pause(2));
    assert_eq!(commit(&mut world, 1, "idle"), (7, Duration::from_secs(5)), "the old coordinator passes 7 on");
    let mut world = shop("kraft", "4.1.1", "[1, 2]");
    does(&mut world, Action::Pause(2));
    assert_eq!(commit(&mut world, 1, "idle"), (15, Duration::from_secs(5)));
    pass(&mut world, 10_000);
    assert_eq!(commit(&mut world, 1, "idle"), (0, Duration::ZERO), "it left the ISR");
}

#[test]
fn groups_are_deleted_when_they_are_empty() {
    let mut world = shop("kraft", "3.9.1", "[1]");
    let ids = || ["live", "idle", "nobody"].map(text).to_vec();
    let request = || DeleteGroupsRequestData { groups_names: ids(), ..Default::default() };
    let codes = |answer: unstuck_wire::schema::DeleteGroupsResponseData| -> Vec<i16> {
        answer.results.iter().map(|one| one.error_code).collect()
    };
    assert_eq!(codes(ask!(&mut world, 2, 42, 2, request(), DeleteGroupsResponseData)), [16, 16, 16]);
    assert_eq!(codes(ask!(&mut world, 1, 42, 2, request(), DeleteGroupsResponseData)), [68, 0, 69]);
    assert_eq!(codes(ask!(&mut world, 1, 42, 2, request(), DeleteGroupsResponseData)), [68, 69, 69]);
}

#[test]
fn topics_are_made_and_deleted() {
    let mut world = shop("kraft", "4.1.1", "[1]");
    let assignments =
        vec![CreatableReplicaAssignment { partition_index: 0, broker_ids: vec![3, 1], ..Default::default() }];
    let topic = |name: &str, factor, assignments| CreatableTopic {
        name: text(name),
        num_partitions: if factor == -1 { -1 } else { 4 },
        replication_factor: factor,
        assignments,
        ..Default::default()
    };
    let topics = vec![topic("by-hand", -1, assignments), topic("spread", 2, vec![]), topic("nine", 9, vec![])];
    let answer =
        ask!(&mut world, 2, 19, 7, CreateTopicsRequestData { topics, ..Default::default() }, CreateTopicsResponseData);
    let shapes: Vec<_> =
        answer.topics.iter().map(|one| (one.error_code, one.num_partitions, one.replication_factor)).collect();
    assert_eq!(shapes, [(0, 1, 2), (0, 4, 2), (38, -1, -1)]);
    assert_eq!(world.topics()["by-hand"].partitions[0].replicas, [3, 1]);
    let id = answer.topics[1].topic_id;
    let by_id = vec![DeleteTopicState { name: None, topic_id: id, ..Default::default() }];
    let request = DeleteTopicsRequestData { topics: by_id, ..Default::default() };
    let answer = ask!(&mut world, 2, 20, 6, request, DeleteTopicsResponseData);
    assert_eq!(
        (answer.responses[0].error_code, plain(answer.responses[0].name.as_ref())),
        (0, Some("spread".to_owned()))
    );
    assert!(!world.topics().contains_key("spread"));
}

#[test]
fn deleting_the_offsets_topic_with_the_tool_loses_everything() {
    let mut world = shop("zookeeper", "2.8.2", "[1]");
    let names = || DeleteTopicsRequestData { topic_names: vec![text(OFFSETS_TOPIC)], ..Default::default() };
    let answer = ask!(&mut world, 2, 20, 5, names(), DeleteTopicsResponseData);
    assert_eq!(answer.responses[0].error_code, 41);
    let answer = ask!(&mut world, 1, 20, 5, names(), DeleteTopicsResponseData);
    assert_eq!(answer.responses[0].error_code, 0);
    drop(world.find_coordinator(1, "live"));
    pass(&mut world, 5000);
    let leader = world.find_coordinator(1, "live").expect("made anew").0;
    assert_eq!(world.group(leader, "live"), Ok(None));
}

#[test]
fn topics_are_told_page_by_page() {
    let mut world = shop("kraft", "4.1.1", "[1]");
    let mut cursor: Option<Cursor> = None;
    let mut seen = Vec::new();
    for _ in 0..10 {
        let request = DescribeTopicPartitionsRequestData {
            topics: ["three", "one"].map(|name| TopicRequest { name: text(name), ..Default::default() }).to_vec(),
            response_partition_limit: 2,
            cursor: cursor.take().map(Box::new),
            ..Default::default()
        };
        let answer = ask!(&mut world, 1, 75, 0, request, DescribeTopicPartitionsResponseData);
        for topic in &answer.topics {
            let name = plain(topic.name.as_ref()).unwrap_or_default();
            seen.extend(topic.partitions.iter().map(|one| format!("{name}-{}", one.partition_index)));
        }
        let Some(next) = answer.next_cursor else { break };
        cursor =
            Some(Cursor { topic_name: next.topic_name, partition_index: next.partition_index, ..Default::default() });
    }
    assert_eq!(seen, ["one-0", "one-1", "one-2", "three-0", "three-1", "three-2"]);
    does(&mut world, Action::Stop(3));
    pass(&mut world, 10_000);
    let request = DescribeTopicPartitionsRequestData { response_partition_limit: 2000, ..Default::default() };
    let answer = ask!(&mut world, 1, 75, 0, request, DescribeTopicPartitionsResponseData);
    let leaderless = &answer.topics[1].partitions[2];
    assert_eq!((leaderless.error_code, leaderless.leader_id, leaderless.isr_nodes.len()), (0, -1, 0));
    assert_eq!(leaderless.eligible_leader_replicas.as_deref(), Some([3].as_slice()));
    assert_eq!(leaderless.last_known_elr.as_deref(), Some([3].as_slice()));
    assert_eq!(leaderless.offline_replicas, [3]);
}

#[test]
fn a_failed_log_directory_is_told() {
    let mut world = shop("kraft", "3.9.1", "[1]");
    does(&mut world, action("{ fail-log-dir = { broker = 1 } }"));
    let request = DescribeLogDirsRequestData { topics: None, ..Default::default() };
    let answer = ask!(&mut world, 1, 35, 4, request, DescribeLogDirsResponseData);
    let dirs: Vec<_> =
        answer.results.iter().map(|one| (one.error_code, one.log_dir.as_str(), one.topics.len())).collect();
    assert_eq!(dirs, [(0, "/var/lib/kafka", 2), (56, "/var/lib/kafka-2", 0)]);
    assert!(answer.results[0].usable_bytes < answer.results[0].total_bytes);
    does(&mut world, action("{ acl = { cluster-hidden = true } }"));
    let request = || DescribeLogDirsRequestData { topics: None, ..Default::default() };
    let answer = ask!(&mut world, 1, 35, 4, request(), DescribeLogDirsResponseData);
    assert_eq!((answer.error_code, answer.results.len()), (31, 0));
}

#[test]
fn the_coordinator_of_a_transaction_says_that_there_is_none() {
    let rest = "[topic.__transaction_state]\npartitions = 50\nreplicas = [3]\n";
    let mut world = world("kraft", "4.1.1", rest);
    let code = |world: &mut World, broker| {
        let request = DescribeTransactionsRequestData { transactional_ids: vec![text("canary")], ..Default::default() };
        ask!(world, broker, 65, 0, request, DescribeTransactionsResponseData).transaction_states[0].error_code
    };
    assert_eq!((code(&mut world, 3), code(&mut world, 1)), (105, 16));
    let again: Request = request!(3, 65, 0, DescribeTransactionsRequestData::default());
    assert!(matches!(again.once(&mut world, Duration::ZERO), Answer::Body(..)));
}
