//! Whatever bytes a peer sends, decoding ends with an answer or an error: it never panics and never aborts.

use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
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
    DescribeProducersRequest, DescribeTransactionsRequest, ListTransactionsRequest,
};
use unstuck_wire::{Api, Request};

mod everything;

use everything::read_as_everything;

/// Every request can be written in every version that we claim to speak.
#[test]
fn every_request_is_written_in_every_spoken_version() {
    fn write<R: Request>(request: &R) -> Api {
        for version in R::API.spoken() {
            let mut out = bytes::BytesMut::new();
            request.encode(version, &mut out).unwrap_or_else(|error| panic!("{} {version}: {error}", R::API.name()));
        }
        R::API
    }
    let id = || "g".to_owned();
    let mut written = vec![
        write(&ApiVersionsRequest),
        write(&MetadataRequest { topics: Topics::All, keep: Keep::All, cluster_operations: false }),
        write(&MetadataRequest { topics: Topics::None, keep: Keep::All, cluster_operations: false }),
        write(&MetadataRequest { topics: Topics::Named(vec![id()]), keep: Keep::All, cluster_operations: false }),
        write(&DescribeClusterRequest { operations: true }),
        write(&DescribeQuorumRequest),
        write(&DescribeTopicPartitionsRequest { topic: id(), from: 7 }),
        write(&DescribeConfigsRequest { resource: Resource::Topic(id()), names: vec![id()] }),
        write(&FindCoordinatorRequest { groups: vec![id()] }),
        write(&SaslHandshakeRequest { mechanism: id() }),
        write(&SaslAuthenticateRequest { said: Bytes::from_static(b"me") }),
        write(&ListGroupsRequest),
        write(&DescribeGroupsRequest { groups: vec![id(), String::new()] }),
        write(&ConsumerGroupDescribeRequest { group: id() }),
        write(&ShareGroupDescribeRequest { group: id() }),
        write(&StreamsGroupDescribeRequest { group: id() }),
        write(&OffsetFetchRequest { group: id(), require_stable: true }),
        write(&ListOffsetsRequest { topics: vec![(id(), vec![0, 1])], committed: true }),
        write(&DescribeLogDirsRequest { topic: id(), partitions: vec![0] }),
        write(&ListPartitionReassignmentsRequest { topic: id(), partitions: vec![0], timeout: Duration::from_secs(1) }),
        write(&DescribeProducersRequest { topic: id(), partitions: vec![0] }),
        write(&DescribeTransactionsRequest { ids: vec![id()] }),
        write(&ListTransactionsRequest { open_for: Duration::from_secs(60) }),
    ];
    written.sort_unstable();
    written.dedup();
    assert_eq!(written, Api::ALL, "every api that we name is covered here");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_as_everything(&Bytes::from(bytes));
    }

    /// Mostly zeros and the bytes of large counts: gets deeper into nested arrays than noise does.
    #[test]
    fn plausible_bytes_are_read_or_refused(
        bytes in proptest::collection::vec(prop_oneof![4 => Just(0_u8), 2 => Just(0xff), 1 => Just(0x7f), 2 => 1..4_u8], 0..200)
    ) {
        read_as_everything(&Bytes::from(bytes));
    }
}

const CHILD: &str = "UNSTUCK_TEST_HOSTILE_CHILD";

/// The worst bytes we can think of, as an answer of every kind and version.
fn hostile() -> Vec<Bytes> {
    let mut all = Vec::new();
    for lead in [0, 2, 4, 6, 8, 10] {
        for count in [&[0x7f, 0xff, 0xff, 0xff][..], &[0xff, 0xff, 0xff, 0xff, 0x07], &[0xff, 0xff, 0xff, 0xff, 0x0f]] {
            // A few zeros, a count of 2^31-1 (or nearly 2^32), and nothing, or many zeros or counts, behind it; as much
            // as we read at most only where it is refused soon, or this would take minutes.
            for (filler, length) in [(0_u8, 0), (0, 128 << 10), (1, 128 << 10), (0xff, 16 << 20)] {
                let mut bytes = vec![0; lead];
                bytes.extend_from_slice(count);
                bytes.resize(bytes.len() + length, filler);
                all.push(Bytes::from(bytes));
            }
        }
    }
    all
}

/// The child of the next test; on its own it does nothing.
#[test]
fn hostile_counts_in_this_process() {
    if std::env::var_os(CHILD).is_some() {
        let answers: usize = hostile().iter().map(read_as_everything).sum();
        println!("read: {answers}");
    }
}

/// An allocation that fails aborts a Rust process, and no test can catch that: so a child with little address space
/// reads hostile counts, and has to end in order.
#[test]
fn hostile_counts_do_not_abort_a_process_with_little_memory() {
    let this = std::env::current_exe().expect("the path of this test");
    // 1,500 MB of address space: threads, code, and what the largest answer may reasonably need.
    let script = "ulimit -v 1500000 && exec \"$0\" --exact hostile_counts_in_this_process --nocapture --test-threads 1";
    let child = Command::new("sh").args(["-c", script]).arg(this).env(CHILD, "1").output().expect("a shell");
    let text = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && text.contains("read: "),
        "{:?}\n{text}\n{}",
        child.status,
        String::from_utf8_lossy(&child.stderr)
    );
}
