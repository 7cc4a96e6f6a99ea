//! Brokers that lack a listener or name a coordinator that is none, and transactions that hang.

use unstuck_wire::schema::describe_producers_request::TopicRequest;
use unstuck_wire::schema::{DescribeProducersRequestData, FindCoordinatorRequestData, MetadataRequestData};

use super::{ask, cluster, world};
use crate::answer::words::text;
use crate::world::Reachable;

const TOPIC: &str = "\n[topic.__consumer_offsets]\npartitions = 1\nreplicas = [2, 1]\n";

#[test]
fn a_leader_without_the_clients_listener_is_none_for_them() {
    for release in ["2.3.1", "3.9.1"] {
        let mut world = world(&format!("{}[broker.2]\nlistener = false{TOPIC}", cluster("zookeeper", release)));
        assert_eq!(world.reachable(2), Reachable::Refused);
        let request = MetadataRequestData { topics: None, ..MetadataRequestData::default() };
        let answer = ask!(&mut world, 1, 3, 7, request, MetadataResponseData);
        let brokers: Vec<i32> = answer.brokers.iter().map(|broker| broker.node_id).collect();
        assert_eq!(brokers, [1, 3], "{release}");
        let partition = &answer.topics[0].partitions[0];
        assert_eq!((partition.error_code, partition.leader_id), (72, -1), "{release}");
        assert_eq!(partition.replica_nodes, [2, 1]);
        let request = FindCoordinatorRequestData { key: text("orders"), ..FindCoordinatorRequestData::default() };
        let answer = ask!(&mut world, 1, 10, 2, request, FindCoordinatorResponseData);
        assert_eq!(answer.error_code, 15, "{release}");
        assert!(world.shard(2, 0).is_ok(), "it serves whoever reaches it otherwise");
    }
}

#[test]
fn a_broker_may_name_a_coordinator_that_nobody_lists() {
    let view = "[[view]]\nbroker = 1\ncoordinator = 1546510463\n";
    let mut world = world(&format!("{}{TOPIC}{view}", cluster("kraft", "3.9.1")));
    for (broker, named) in [(1, 1_546_510_463), (3, 2)] {
        let request = FindCoordinatorRequestData { key: text("orders"), ..FindCoordinatorRequestData::default() };
        let answer = ask!(&mut world, broker, 10, 2, request, FindCoordinatorResponseData);
        assert_eq!((answer.error_code, answer.node_id), (0, named));
    }
}

#[test]
fn an_open_transaction_is_told_by_whoever_has_a_replica() {
    let open = "[[topic.__consumer_offsets.partition]]\nid = 0\n\
                open-transaction = { producer-id = 171100, start = 900, age = \"58h\" }\n";
    let mut world = world(&format!("{}{TOPIC}{open}", cluster("kraft", "3.9.1")));
    for (broker, code, producers) in [(1, 0, 1), (2, 0, 1), (3, 6, 0)] {
        let topic = TopicRequest { name: text("__consumer_offsets"), partition_indexes: vec![0], ..Default::default() };
        let request = DescribeProducersRequestData { topics: vec![topic], ..Default::default() };
        let answer = ask!(&mut world, broker, 61, 0, request, DescribeProducersResponseData);
        let partition = &answer.topics[0].partitions[0];
        assert_eq!((partition.error_code, partition.active_producers.len()), (code, producers), "broker {broker}");
        if let Some(producer) = partition.active_producers.first() {
            assert_eq!((producer.producer_id, producer.current_txn_start_offset), (171_100, 900));
        }
    }
}
