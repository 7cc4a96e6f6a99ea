//! Bytes, read as every answer in every version that is spoken.

use std::time::Duration;

use bytes::Bytes;
use unstuck_wire::messages::api_versions::ApiVersionsRequest;
use unstuck_wire::messages::cluster::{DescribeClusterRequest, DescribeQuorumRequest, DescribeTopicPartitionsRequest};
use unstuck_wire::messages::configs::{DescribeConfigsRequest, Resource};
use unstuck_wire::messages::coordinator::FindCoordinatorRequest;
use unstuck_wire::messages::groups::{
    ConsumerGroupDescribeRequest, DescribeGroupsRequest, ListGroupsRequest, ShareGroupDescribeRequest,
    StreamsGroupDescribeRequest,
};
use unstuck_wire::messages::logs::{DescribeLogDirsRequest, ListPartitionReassignmentsRequest};
use unstuck_wire::messages::metadata::{Keep, MetadataRequest, Topics};
use unstuck_wire::messages::offsets::{ListOffsetsRequest, OffsetFetchRequest};
use unstuck_wire::messages::sasl::{SaslAuthenticateRequest, SaslHandshakeRequest};
use unstuck_wire::messages::transactions::{
    DescribeProducersRequest, DescribeTransactionRequest, DescribeTransactionsRequest, ListTransactionsRequest,
};
use unstuck_wire::{Request, WireError};

/// Reads the bytes as every answer in every version; gives how many of them were answers.
pub(crate) fn read_as_everything(bytes: &Bytes) -> usize {
    fn read<R: Request>(request: &R, bytes: &Bytes) -> usize {
        R::API
            .spoken()
            .filter(|version| match request.decode(*version, &mut bytes.clone()) {
                Ok(_) => true,
                Err(WireError::Malformed(_)) => false,
                Err(other) => panic!("{} version {version}: {other}", R::API.name()),
            })
            .count()
    }
    let id = || "g".to_owned();
    read(&ApiVersionsRequest, bytes)
        + read(&MetadataRequest { topics: Topics::All, keep: Keep::Named(vec![id()]), cluster_operations: true }, bytes)
        + read(&DescribeClusterRequest { operations: true }, bytes)
        + read(&DescribeQuorumRequest, bytes)
        + read(&DescribeTopicPartitionsRequest { topic: id(), from: 0 }, bytes)
        + read(&DescribeConfigsRequest { resource: Resource::Broker(1), names: Vec::new() }, bytes)
        + read(&FindCoordinatorRequest { groups: vec![id()] }, bytes)
        + read(&SaslHandshakeRequest { mechanism: id() }, bytes)
        + read(&SaslAuthenticateRequest { said: Bytes::new() }, bytes)
        + read(&ListGroupsRequest, bytes)
        + read(&DescribeGroupsRequest { groups: vec![id()] }, bytes)
        + read(&ConsumerGroupDescribeRequest { group: id() }, bytes)
        + read(&ShareGroupDescribeRequest { group: id() }, bytes)
        + read(&StreamsGroupDescribeRequest { group: id() }, bytes)
        + read(&OffsetFetchRequest { group: id(), require_stable: true }, bytes)
        + read(&ListOffsetsRequest { topics: Vec::new(), committed: true }, bytes)
        + read(&DescribeLogDirsRequest { topic: id(), partitions: vec![0] }, bytes)
        + read(
            &ListPartitionReassignmentsRequest { topic: id(), partitions: vec![0], timeout: Duration::from_secs(1) },
            bytes,
        )
        + read(&DescribeProducersRequest { topic: id(), partitions: vec![0] }, bytes)
        + read(&DescribeTransactionsRequest { ids: vec![id()] }, bytes)
        + read(&DescribeTransactionRequest { id: id() }, bytes)
        + read(&ListTransactionsRequest { open_for: Duration::from_secs(60) }, bytes)
}
