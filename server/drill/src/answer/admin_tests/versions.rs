//! Each version that is offered is answered, and read back to the last byte.

use bytes::BytesMut;
use unstuck_wire::schema::alter_partition_reassignments_request::{ReassignablePartition, ReassignableTopic};
use unstuck_wire::schema::create_partitions_request::CreatePartitionsTopic;
use unstuck_wire::schema::create_topics_request::CreatableTopic;
use unstuck_wire::schema::delete_topics_request::DeleteTopicState;
use unstuck_wire::schema::join_group_request::JoinGroupRequestProtocol;
use unstuck_wire::schema::leave_group_request::MemberIdentity;
use unstuck_wire::schema::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use unstuck_wire::schema::offset_delete_request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use unstuck_wire::schema::{
    AlterConfigsRequestData, AlterPartitionReassignmentsRequestData, CreatePartitionsRequestData,
    CreateTopicsRequestData, DeleteGroupsRequestData, DeleteTopicsRequestData, DescribeLogDirsRequestData,
    DescribeProducersRequestData, DescribeQuorumRequestData, DescribeTopicPartitionsRequestData,
    DescribeTransactionsRequestData, ElectLeadersRequestData, HeartbeatRequestData, IncrementalAlterConfigsRequestData,
    JoinGroupRequestData, LeaveGroupRequestData, ListPartitionReassignmentsRequestData, ListTransactionsRequestData,
    OffsetCommitRequestData, OffsetDeleteRequestData, SyncGroupRequestData, alter_configs_request,
    describe_producers_request, describe_quorum_request, incremental_alter_configs_request,
};

use super::{Request, empty, next_correlation, shop, told};
use crate::answer::offered;
use crate::answer::words::{text, uuid};
use crate::world::World;

const RELEASES: [(&str, &str); 8] = [
    ("zookeeper", "1.0.2"),
    ("zookeeper", "2.3.1"),
    ("zookeeper", "2.8.2"),
    ("zookeeper", "3.6.2"),
    ("kraft", "3.6.2"),
    ("zookeeper", "3.9.1"),
    ("kraft", "3.9.1"),
    ("kraft", "4.1.1"),
];

/// A request of an API in a version; `None` for APIs that somebody else answers.
fn request(world: &World, api: i16, version: i16) -> Option<BytesMut> {
    let one = || text("one");
    let mut body = empty();
    let b = &mut body;
    let written = match api {
        8 => {
            let id = uuid(world.topics()["one"].id);
            let partition = OffsetCommitRequestPartition { committed_offset: 7, ..Default::default() };
            let mut topic = OffsetCommitRequestTopic { partitions: vec![partition], ..Default::default() };
            if version >= 10 {
                topic.topic_id = id;
            } else {
                topic.name = one();
            }
            OffsetCommitRequestData {
                group_id: text("idle"),
                generation_id_or_member_epoch: -1,
                topics: vec![topic],
                ..Default::default()
            }
            .write(b, version)
        }
        11 => JoinGroupRequestData {
            group_id: text("new"),
            session_timeout_ms: 10_000,
            rebalance_timeout_ms: 10_000,
            protocol_type: text("consumer"),
            protocols: vec![JoinGroupRequestProtocol { name: text("range"), ..Default::default() }],
            ..Default::default()
        }
        .write(b, version),
        12 => HeartbeatRequestData { group_id: text("live"), member_id: text("x"), ..Default::default() }
            .write(b, version),
        13 => {
            let mut request = LeaveGroupRequestData { group_id: text("live"), ..Default::default() };
            if version >= 3 {
                request.members = vec![MemberIdentity { member_id: text("x"), ..Default::default() }];
            } else {
                request.member_id = text("x");
            }
            request.write(b, version)
        }
        14 => SyncGroupRequestData { group_id: text("live"), member_id: text("x"), ..Default::default() }
            .write(b, version),
        19 => {
            let topic = |name: &str, factor| CreatableTopic {
                name: text(name),
                num_partitions: 2,
                replication_factor: factor,
                ..Default::default()
            };
            let topics = vec![topic("made", 1), topic("one", 1), topic("nine", 9)];
            CreateTopicsRequestData { topics, ..Default::default() }.write(b, version)
        }
        20 => {
            let mut request = DeleteTopicsRequestData::default();
            if version >= 6 {
                request.topics = vec![DeleteTopicState { name: Some(text("missing")), ..Default::default() }];
            } else {
                request.topic_names = vec![text("missing")];
            }
            request.write(b, version)
        }
        33 => AlterConfigsRequestData {
            resources: vec![alter_configs_request::AlterConfigsResource {
                resource_type: 2,
                resource_name: one(),
                ..Default::default()
            }],
            ..Default::default()
        }
        .write(b, version),
        35 => DescribeLogDirsRequestData { topics: None, ..Default::default() }.write(b, version),
        37 => CreatePartitionsRequestData {
            topics: vec![CreatePartitionsTopic { name: one(), count: 5, ..Default::default() }],
            validate_only: true,
            ..Default::default()
        }
        .write(b, version),
        42 => DeleteGroupsRequestData { groups_names: vec![text("live")], ..Default::default() }.write(b, version),
        43 => ElectLeadersRequestData { topic_partitions: None, ..Default::default() }.write(b, version),
        44 => IncrementalAlterConfigsRequestData {
            resources: vec![incremental_alter_configs_request::AlterConfigsResource {
                resource_type: 2,
                resource_name: one(),
                ..Default::default()
            }],
            ..Default::default()
        }
        .write(b, version),
        45 => {
            let partitions = vec![ReassignablePartition { replicas: Some(vec![1, 2]), ..Default::default() }];
            let topics = vec![ReassignableTopic { name: one(), partitions, ..Default::default() }];
            AlterPartitionReassignmentsRequestData { topics, ..Default::default() }.write(b, version)
        }
        46 => ListPartitionReassignmentsRequestData { topics: None, ..Default::default() }.write(b, version),
        47 => OffsetDeleteRequestData {
            group_id: text("live"),
            topics: vec![OffsetDeleteRequestTopic {
                name: one(),
                partitions: vec![OffsetDeleteRequestPartition::default()],
                ..Default::default()
            }],
            ..Default::default()
        }
        .write(b, version),
        55 => DescribeQuorumRequestData {
            topics: vec![describe_quorum_request::TopicData {
                topic_name: text("__cluster_metadata"),
                partitions: vec![describe_quorum_request::PartitionData::default()],
                ..Default::default()
            }],
            ..Default::default()
        }
        .write(b, version),
        61 => DescribeProducersRequestData {
            topics: vec![describe_producers_request::TopicRequest {
                name: one(),
                partition_indexes: vec![0, 1, 9],
                ..Default::default()
            }],
            ..Default::default()
        }
        .write(b, version),
        65 => DescribeTransactionsRequestData { transactional_ids: vec![text("tx")], ..Default::default() }
            .write(b, version),
        66 => {
            ListTransactionsRequestData { state_filters: vec![text("Bogus")], ..Default::default() }.write(b, version)
        }
        75 => DescribeTopicPartitionsRequestData { response_partition_limit: 2000, ..Default::default() }
            .write(b, version),
        _ => return None,
    };
    written.expect("a request that this version can say");
    Some(body)
}

/// Reads an answer back; gives the first error code that it tells.
fn read(request: &Request, body: bytes::Bytes) {
    match request.api {
        8 => drop(told!(request, body, OffsetCommitResponseData)),
        11 => drop(told!(request, body, JoinGroupResponseData)),
        12 => drop(told!(request, body, HeartbeatResponseData)),
        13 => drop(told!(request, body, LeaveGroupResponseData)),
        14 => drop(told!(request, body, SyncGroupResponseData)),
        19 => drop(told!(request, body, CreateTopicsResponseData)),
        20 => drop(told!(request, body, DeleteTopicsResponseData)),
        33 => drop(told!(request, body, AlterConfigsResponseData)),
        35 => drop(told!(request, body, DescribeLogDirsResponseData)),
        37 => drop(told!(request, body, CreatePartitionsResponseData)),
        42 => drop(told!(request, body, DeleteGroupsResponseData)),
        43 => drop(told!(request, body, ElectLeadersResponseData)),
        44 => drop(told!(request, body, IncrementalAlterConfigsResponseData)),
        45 => drop(told!(request, body, AlterPartitionReassignmentsResponseData)),
        46 => drop(told!(request, body, ListPartitionReassignmentsResponseData)),
        47 => drop(told!(request, body, OffsetDeleteResponseData)),
        55 => drop(told!(request, body, DescribeQuorumResponseData)),
        61 => drop(told!(request, body, DescribeProducersResponseData)),
        65 => drop(told!(request, body, DescribeTransactionsResponseData)),
        66 => drop(told!(request, body, ListTransactionsResponseData)),
        75 => drop(told!(request, body, DescribeTopicPartitionsResponseData)),
        other => panic!("no reader for api {other}"),
    }
}

#[test]
fn every_version_that_is_offered_is_answered() {
    for (mode, release) in RELEASES {
        let begin = shop(mode, release, "[1]");
        let node = begin.node(1).expect("a broker");
        let mut answered = 0;
        for (api, (min, max)) in offered(&begin, node) {
            for version in min..=max {
                // In a healthy world, with nothing allowed, with a small ISR, and without a controller.
                for trouble in 0..4 {
                    let mut world = begin.clone();
                    let Some(body) = request(&world, api, version) else { continue };
                    let toml = [
                        "",
                        r#"{ acl = { hidden-topics = ["one"], groups-hidden = true, cluster-hidden = true } }"#,
                        r#"{ configure = { topic = "__consumer_offsets", set = { "min.insync.replicas" = 3 } } }"#,
                        if mode == "zookeeper" { "{ no-controller = true }" } else { "{ stop = 2 }" },
                    ][trouble];
                    if !toml.is_empty() {
                        let action = super::remedies::action(toml);
                        world.apply(&action).expect("can be done");
                    }
                    if trouble == 3 && mode == "kraft" {
                        super::does(&mut world, crate::scenario::action::Action::Stop(3));
                    }
                    let request =
                        Request { broker: 1, api, version, body: body.freeze(), correlation: next_correlation() };
                    let (body, _) = request.at_last(&mut world);
                    read(&request, body);
                    answered += 1;
                }
            }
        }
        assert!(answered >= 60, "{mode} {release}: only {answered}");
    }
}

#[test]
fn unreadable_requests_close_the_connection() {
    let begin = shop("kraft", "4.1.1", "[1]");
    let node = begin.node(1).expect("a broker");
    for (api, (_, version)) in offered(&begin, node) {
        let Some(whole) = request(&begin, api, version) else { continue };
        let whole = whole.freeze();
        for cut in 0..whole.len() {
            let mut world = begin.clone();
            let cut = Request { broker: 1, api, version, body: whole.slice(..cut), correlation: 1 };
            // Whatever is made of it, nobody panics; what is too short cannot be read.
            drop(cut.once(&mut world, std::time::Duration::ZERO));
        }
        for at in 0..whole.len() {
            let mut world = begin.clone();
            let mut flipped = whole.to_vec();
            flipped[at] ^= 0x55;
            let flipped = Request { broker: 1, api, version, body: flipped.into(), correlation: 1 };
            drop(flipped.once(&mut world, std::time::Duration::ZERO));
        }
    }
}
