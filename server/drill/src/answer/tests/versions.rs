//! Each version that is offered is answered, and read back to the last byte.

use unstuck_wire::schema::add_partitions_to_txn_request::{AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction};
use unstuck_wire::schema::fetch_request::{FetchPartition, FetchTopic};
use unstuck_wire::schema::metadata_request::MetadataRequestTopic;
use unstuck_wire::schema::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use unstuck_wire::schema::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use unstuck_wire::schema::{
    AddPartitionsToTxnRequestData, ApiVersionsRequestData, ConsumerGroupDescribeRequestData,
    DescribeClusterRequestData, DescribeConfigsRequestData, DescribeGroupsRequestData, FetchRequestData,
    FindCoordinatorRequestData, KafkaString, ListConfigResourcesRequestData, ListGroupsRequestData,
    ListOffsetsRequestData, MetadataRequestData, OffsetFetchRequestData, OffsetForLeaderEpochRequestData,
    ShareGroupDescribeRequestData, StreamsGroupDescribeRequestData,
    describe_configs_request::DescribeConfigsResource,
    list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic},
};

use super::{ask, body, cluster, world};
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

const IDS: [&str; 7] = ["classic", "simple", "connect", "consumer", "share", "streams", "unknown"];

fn everything(mode: &str, release: &str) -> World {
    let new = if release == "4.1.1" {
        r#"
[[group]]
id = "consumer"
type = "consumer"
members = 2
offsets = { orders = 5 }
[[group]]
id = "share"
type = "share"
members = 2
offsets = { orders = 5 }
[[group]]
id = "streams"
type = "streams"
members = 2
offsets = { orders = 5 }
"#
    } else {
        ""
    };
    world(&format!(
        r#"{}
[broker.3]
state = "stopped"
rack = "b"
[topic.__consumer_offsets]
partitions = 5
[topic.orders]
partitions = 4
replication-factor = 2
[topic.secret]
partitions = 1
[acl]
hidden-topics = ["secret"]
[[group]]
id = "classic"
members = [{{ client-id = "a", instance-id = "i" }}, {{ client-id = "b" }}]
offsets = {{ orders = [1, 2, -1, 4] }}
[[group]]
id = "simple"
type = "simple"
offsets = {{ orders = 7 }}
[[group]]
id = "connect"
type = "connect"
members = 1
{new}"#,
        cluster(mode, release)
    ))
}

#[test]
fn each_version_offered_is_answered_to_the_last_byte() {
    for (mode, release) in RELEASES {
        let mut world = everything(mode, release);
        let node = world.node(1).expect("broker 1");
        let mut versions = 0;
        for (api, (lowest, highest)) in offered(&world, node) {
            for version in lowest..=highest {
                // Kafka's own three ways to be asked for: present, absent, and not to be seen.
                versions += usize::from(asked_in(&mut world, api, version));
            }
        }
        assert!(versions > 20, "{mode} {release}: {versions}");
    }
}

/// Asks in one version; `false` for an API that is asked elsewhere.
fn asked_in(world: &mut World, api: i16, version: i16) -> bool {
    let ids = || IDS.iter().map(|id| text(id)).collect::<Vec<KafkaString>>();
    let orders = world.topics()["orders"].id;
    match api {
        1 => {
            let partition = FetchPartition { partition: 0, ..FetchPartition::default() };
            let mut topic = FetchTopic { partitions: vec![partition], ..FetchTopic::default() };
            if version >= 13 {
                topic.topic_id = uuid(orders)
            } else {
                topic.topic = text("orders")
            }
            let request = FetchRequestData::default().with_topics(vec![topic]).with_max_wait_ms(500).with_min_bytes(1);
            let answer = ask!(world, 1, api, version, request, FetchResponseData);
            assert_eq!(answer.responses[0].partitions[0].high_watermark, 1000);
        }
        2 => {
            let partition = ListOffsetsPartition { timestamp: -1, current_leader_epoch: -1, ..Default::default() };
            let topic = ListOffsetsTopic { name: text("orders"), partitions: vec![partition], ..Default::default() };
            let request = ListOffsetsRequestData::default().with_replica_id(-1).with_topics(vec![topic]);
            let answer = ask!(world, 1, api, version, request, ListOffsetsResponseData);
            assert_eq!(answer.topics[0].partitions[0].offset, 1000);
        }
        3 => {
            let named = ["orders", "secret", "nothing"]
                .map(|name| MetadataRequestTopic { name: Some(text(name)), ..Default::default() });
            for topics in [(version > 0).then(Vec::new), Some(named.to_vec()), (version == 0).then(Vec::new)] {
                let asked = topics.as_ref().map(Vec::len);
                let mut request = MetadataRequestData::default().with_topics(topics);
                request.allow_auto_topic_creation = version < 4;
                request.include_topic_authorized_operations = version >= 8;
                request.include_cluster_authorized_operations = (8..=10).contains(&version);
                let answer = ask!(world, 1, api, version, request, MetadataResponseData);
                assert_eq!(answer.brokers.len(), 2);
                match asked {
                    Some(0) if version > 0 => assert!(answer.topics.is_empty()),
                    Some(3) => {
                        assert_eq!(answer.topics.iter().map(|topic| topic.error_code).collect::<Vec<_>>(), [0, 29, 3]);
                    }
                    _ => assert_eq!(answer.topics.len(), 2, "all but the hidden one"),
                }
            }
            if version >= 12 {
                let by_id = MetadataRequestTopic { topic_id: uuid(orders), ..Default::default() };
                let other = MetadataRequestTopic { topic_id: uuid([9; 16]), ..Default::default() };
                let request = MetadataRequestData::default().with_topics(Some(vec![by_id, other]));
                let answer = ask!(world, 1, api, version, request, MetadataResponseData);
                assert_eq!(answer.topics[0].name, Some(text("orders")));
                assert_eq!(answer.topics[1].error_code, 100);
            }
        }
        9 => {
            for id in IDS {
                let mut request = OffsetFetchRequestData::default();
                if version >= 8 {
                    let mut topic = OffsetFetchRequestTopics { partition_indexes: vec![0, 2], ..Default::default() };
                    if version >= 10 {
                        topic.topic_id = uuid(orders)
                    } else {
                        topic.name = text("orders")
                    }
                    let group = |topics| OffsetFetchRequestGroup {
                        group_id: text(id),
                        topics,
                        ..OffsetFetchRequestGroup::default()
                    };
                    request.groups = vec![group(Some(vec![topic])), group(None)];
                } else {
                    request.group_id = text(id);
                    let topic = OffsetFetchRequestTopic {
                        name: text("orders"),
                        partition_indexes: vec![0, 2],
                        ..OffsetFetchRequestTopic::default()
                    };
                    request.topics = (version < 2 || id == "simple").then(|| vec![topic]);
                }
                ask!(world, 1, api, version, request, OffsetFetchResponseData);
            }
        }
        10 => {
            for kind in [0, 1, 2].into_iter().filter(|kind| version > 0 || *kind == 0) {
                let mut request = FindCoordinatorRequestData::default().with_key_type(kind);
                if version >= 4 {
                    request.coordinator_keys = ids()
                } else {
                    request.key = text("classic")
                }
                ask!(world, 1, api, version, request, FindCoordinatorResponseData);
            }
        }
        15 => {
            let mut request = DescribeGroupsRequestData::default().with_groups(ids());
            request.include_authorized_operations = version >= 3;
            for broker in [1, 2] {
                ask!(world, broker, api, version, request, DescribeGroupsResponseData);
            }
        }
        16 => {
            let mut request = ListGroupsRequestData::default();
            if version >= 4 {
                request.states_filter = vec![text("stable"), text("Empty")];
            }
            if version >= 5 {
                request.types_filter = vec![text("Classic")];
            }
            ask!(world, 1, api, version, request, ListGroupsResponseData);
        }
        18 => {
            let mut request = ApiVersionsRequestData::default();
            if version >= 3 {
                request.client_software_name = text("test");
                request.client_software_version = text("1.0-x");
            }
            let answer = ask!(world, 1, api, version, request, ApiVersionsResponseData);
            assert!(answer.api_keys.len() > 10);
        }
        23 => {
            let partition = OffsetForLeaderPartition { current_leader_epoch: -1, ..Default::default() };
            let topic =
                OffsetForLeaderTopic { topic: text("orders"), partitions: vec![partition], ..Default::default() };
            let mut request = OffsetForLeaderEpochRequestData::default().with_topics(vec![topic]);
            if version >= 3 {
                request.replica_id = -1;
            }
            let answer = ask!(world, 1, api, version, request, OffsetForLeaderEpochResponseData);
            assert_eq!(answer.topics[0].partitions[0].end_offset, 1000);
        }
        24 => {
            let mut request = AddPartitionsToTxnRequestData::default();
            if version >= 4 {
                request.transactions = vec![AddPartitionsToTxnTransaction {
                    topics: vec![AddPartitionsToTxnTopic { partitions: vec![1], ..Default::default() }],
                    ..AddPartitionsToTxnTransaction::default()
                }];
            } else {
                let topic = AddPartitionsToTxnTopic { partitions: vec![1], ..Default::default() };
                request.v3_and_below_topics = vec![topic];
            }
            ask!(world, 1, api, version, request, AddPartitionsToTxnResponseData);
        }
        74 => {
            let answer = ask!(
                world,
                1,
                api,
                version,
                ListConfigResourcesRequestData::default(),
                ListConfigResourcesResponseData
            );
            assert_eq!(answer.config_resources.len(), if version > 0 { 2 + 2 * 2 } else { 0 });
        }
        32 if version == 0 => {
            // One broker, all settings.
            let request = bytes::Bytes::from_static(&[0, 0, 0, 1, 4, 0, 1, b'1', 0xff, 0xff, 0xff, 0xff]);
            assert!(body(world, 1, api, version, request).len() > 1000);
        }
        32 => {
            let resource = |kind, name: &str, keys| DescribeConfigsResource {
                resource_type: kind,
                resource_name: text(name),
                configuration_keys: keys,
                ..DescribeConfigsResource::default()
            };
            let mut request = DescribeConfigsRequestData::default().with_resources(vec![
                resource(2, "orders", None),
                resource(2, "secret", None),
                resource(2, "nothing", None),
                resource(4, "1", Some(vec![text("min.insync.replicas"), text("log.dirs")])),
                resource(4, "2", None),
                resource(4, "", None),
                resource(9, "x", None),
            ]);
            request.include_synonyms = true;
            let answer = ask!(world, 1, api, version, request, DescribeConfigsResponseData);
            let codes: Vec<i16> = answer.results.iter().map(|result| result.error_code).collect();
            assert_eq!(codes[1..4], [29, 3, 0]);
            assert_eq!((codes[4], codes[6]), (42, 42));
            assert_eq!(answer.results[3].configs.len(), 2);
            let resource = &answer.results[0].configs;
            assert!(resource.iter().any(|config| config.name.as_str() == "min.insync.replicas"));
        }
        60 => {
            let mut request = DescribeClusterRequestData::default().with_include_cluster_authorized_operations(true);
            request.include_fenced_brokers = version >= 2;
            let answer = ask!(world, 1, api, version, request, DescribeClusterResponseData);
            assert_eq!(answer.brokers.len(), if version >= 2 { 3 } else { 2 });
        }
        69 => {
            let request = ConsumerGroupDescribeRequestData::default().with_group_ids(ids());
            ask!(world, 1, api, version, request, ConsumerGroupDescribeResponseData);
            ask!(world, 2, api, version, request, ConsumerGroupDescribeResponseData);
        }
        77 => {
            let request = ShareGroupDescribeRequestData::default().with_group_ids(ids());
            ask!(world, 1, api, version, request, ShareGroupDescribeResponseData);
            ask!(world, 2, api, version, request, ShareGroupDescribeResponseData);
        }
        89 => {
            let request = StreamsGroupDescribeRequestData::default().with_group_ids(ids());
            ask!(world, 1, api, version, request, StreamsGroupDescribeResponseData);
            ask!(world, 2, api, version, request, StreamsGroupDescribeResponseData);
        }
        _ => return false,
    }
    true
}
