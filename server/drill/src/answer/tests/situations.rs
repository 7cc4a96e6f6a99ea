//! Situations that recordings do not have.

use bytes::Bytes;
use unstuck_wire::schema::{
    DescribeGroupsRequestData, FetchRequestData, FindCoordinatorRequestData, ListGroupsRequestData,
    MetadataRequestData, OffsetFetchRequestData, fetch_request::FetchPartition, fetch_request::FetchTopic,
    metadata_request::MetadataRequestTopic,
};

use super::{Answer, ask, asked, cluster, world};
use crate::answer::words::text;
use crate::scenario::action::{Action, Coordinators};
use crate::scenario::model::Coordinator;
use crate::world::World;

/// Three groups, all on broker 1.
fn three(mode: &str, release: &str, more: &str) -> World {
    let syncing = if release == "1.0.2" { "AwaitingSync" } else { "CompletingRebalance" };
    world(&format!(
        r#"{}
[topic.__consumer_offsets]
partitions = 4
replicas = [1]
[topic.orders]
partitions = 2
[[group]]
id = "a"
members = 1
offsets = {{ orders = 5 }}
[[group]]
id = "b"
state = "{syncing}"
members = 2
[[group]]
id = "c"
{more}"#,
        cluster(mode, release)
    ))
}

fn listed(world: &mut World) -> (i16, Vec<String>) {
    let answer = ask!(world, 1, 16, 0, ListGroupsRequestData::default(), ListGroupsResponseData);
    (answer.error_code, answer.groups.iter().map(|group| group.group_id.as_str().to_owned()).collect())
}

fn described(world: &mut World, broker: i32, id: &str) -> (i16, String) {
    let request = DescribeGroupsRequestData::default().with_groups(vec![text(id)]);
    let answer = ask!(world, broker, 15, 0, request, DescribeGroupsResponseData);
    (answer.groups[0].error_code, answer.groups[0].group_state.as_str().to_owned())
}

#[test]
fn a_coordinator_that_loads() {
    for (mode, release, code, others) in
        [("zookeeper", "1.0.2", 16, 2), ("zookeeper", "2.8.2", 14, 2), ("kraft", "4.1.1", 14, 0)]
    {
        let mut world = three(mode, release, "");
        let partition = world.place("a", 4).expect("a partition");
        let partitions = partition.to_string().parse().expect("partitions");
        let state = Coordinator::Loading;
        world.apply(&Action::Coordinators(Coordinators { partitions, state, r#for: None })).expect("it loads");
        assert_eq!(described(&mut world, 1, "a"), (code, String::new()), "{release}");
        let (error, groups) = listed(&mut world);
        assert_eq!((error, groups.len()), (14, others), "{release}: the old coordinator lists what it has");
    }
}

#[test]
fn a_coordinator_that_failed_to_load() {
    for (mode, release, told) in
        [("zookeeper", "2.8.2", (0, "Dead".to_owned())), ("kraft", "4.1.1", (16, String::new()))]
    {
        let mut world = three(mode, release, "");
        let partitions = world.place("a", 4).expect("a partition").to_string().parse().expect("partitions");
        let state = Coordinator::Failed;
        world.apply(&Action::Coordinators(Coordinators { partitions, state, r#for: None })).expect("it fails");
        assert_eq!(described(&mut world, 1, "a"), told, "{release}");
        assert_eq!(listed(&mut world), (0, vec!["b".to_owned(), "c".to_owned()]), "{release}: and not a word about it");
        let request = FindCoordinatorRequestData::default().with_key(text("a"));
        let answer = ask!(&mut world, 2, 10, 1, request, FindCoordinatorResponseData);
        assert_eq!((answer.error_code, answer.node_id), (0, 1), "it is still pointed to");
    }
}

#[test]
fn states_are_called_as_the_release_calls_them() {
    assert_eq!(described(&mut three("zookeeper", "1.0.2", ""), 1, "b").1, "AwaitingSync");
    assert_eq!(described(&mut three("zookeeper", "2.3.1", ""), 1, "b").1, "CompletingRebalance");
    assert_eq!(described(&mut three("zookeeper", "2.3.1", ""), 2, "b"), (16, String::new()));
}

#[test]
fn what_an_account_may_not_see() {
    let hidden = "[acl]\ngroups-hidden = true\nvisible-groups = [\"c\"]\nhidden-topics = [\"__consumer_offsets\"]";
    let mut world = three("kraft", "3.9.1", hidden);
    assert_eq!(described(&mut world, 1, "a"), (30, String::new()));
    assert_eq!(described(&mut world, 1, "c"), (0, "Empty".to_owned()));
    assert_eq!(listed(&mut world), (0, vec!["c".to_owned()]));
    assert_eq!(listed(&mut three("zookeeper", "1.0.2", hidden)), (31, vec![]));
    let request = FindCoordinatorRequestData::default().with_key(text("a"));
    assert_eq!(ask!(&mut world, 1, 10, 1, request, FindCoordinatorResponseData).error_code, 30);
    let request = OffsetFetchRequestData::default().with_group_id(text("a")).with_topics(None);
    assert_eq!(ask!(&mut world, 1, 9, 5, request, OffsetFetchResponseData).error_code, 30);
    let request = MetadataRequestData::default().with_topics(None);
    let all = ask!(&mut world, 1, 3, 9, request, MetadataResponseData);
    assert_eq!(all.topics.len(), 1);
}

#[test]
fn naming_the_offsets_topic_creates_it_up_to_2_7() {
    for (release, version, code, created) in [("1.0.2", 4, 5, true), ("2.3.1", 4, 5, true), ("2.8.2", 4, 3, false)] {
        let mut world = world(&cluster("zookeeper", release));
        let topic = MetadataRequestTopic { name: Some(text("__consumer_offsets")), ..Default::default() };
        let request =
            MetadataRequestData::default().with_topics(Some(vec![topic])).with_allow_auto_topic_creation(false);
        let answer = ask!(&mut world, 1, 3, version, request, MetadataResponseData);
        assert_eq!(answer.topics[0].error_code, code, "{release}");
        world.advance(std::time::Duration::from_secs(10));
        assert_eq!(world.topics().contains_key("__consumer_offsets"), created, "{release}");
    }
}

#[test]
fn more_replicas_than_brokers_are_told_up_to_2_7_and_never_created() {
    let short = cluster("zookeeper", "2.3.1") + "[broker.3]\nstate = \"stopped\"\n";
    let mut world = world(&short);
    let topic = MetadataRequestTopic { name: Some(text("__consumer_offsets")), ..Default::default() };
    let request = MetadataRequestData::default().with_topics(Some(vec![topic]));
    assert_eq!(ask!(&mut world, 1, 3, 4, request, MetadataResponseData).topics[0].error_code, 38);
    world.advance(std::time::Duration::from_secs(10));
    assert!(world.topics().is_empty());
}

#[test]
fn controllers_are_drawn_by_lot_in_kraft_and_known_with_zookeeper() {
    let mut seen = std::collections::BTreeSet::new();
    let (mut kraft, mut zookeeper) = (three("kraft", "3.9.1", ""), three("zookeeper", "3.9.1", ""));
    for _ in 0..20 {
        let request = MetadataRequestData::default().with_topics(None);
        seen.insert(ask!(&mut kraft, 1, 3, 9, request, MetadataResponseData).controller_id);
        assert_eq!(ask!(&mut zookeeper, 1, 3, 9, request, MetadataResponseData).controller_id, 1);
    }
    assert_eq!(seen.len(), 3);
}

#[test]
fn a_fetch_waits_for_as_long_as_it_says_and_fails_at_once() {
    let mut world = three("kraft", "3.9.1", "");
    let fetch = |partition: i32| {
        let partition = FetchPartition { partition, current_leader_epoch: -1, ..FetchPartition::default() };
        let topic = FetchTopic { topic: text("orders"), partitions: vec![partition], ..FetchTopic::default() };
        let request = FetchRequestData::default().with_topics(vec![topic]).with_max_wait_ms(500).with_min_bytes(1);
        let mut body = bytes::BytesMut::new();
        request.write(&mut body, 11).expect("a request");
        unstuck_wire::serve::Asked { api: 1, version: 11, correlation: 1, client_id: None, body: body.freeze() }
    };
    for (partition, waited, waits) in [(0, 100, true), (0, 500, false), (1, 0, false)] {
        let asked = fetch(partition);
        let waited = std::time::Duration::from_millis(waited);
        let question =
            crate::answer::Question { broker: 1, asked: &asked, forced: None, waited, connection: 1, host: "/h" };
        let answer = crate::answer::answer(&mut world, &question);
        assert_eq!(matches!(answer, Answer::Wait(rest) if rest.as_millis() == 400), waits, "{partition} {waited:?}");
    }
}

#[test]
fn a_code_that_a_fault_wants_is_in_each_answer() {
    let mut world = three("kraft", "4.1.1", "");
    let request = DescribeGroupsRequestData::default().with_groups(vec![text("a")]);
    let mut body = bytes::BytesMut::new();
    request.write(&mut body, 5).expect("a request");
    let Answer::Body(answer, _) = asked(&mut world, 1, 15, 5, body.freeze(), Some(15)) else { panic!("no answer") };
    let answer = unstuck_wire::schema::DescribeGroupsResponseData::read(&mut answer.freeze(), 5).expect("an answer");
    assert_eq!(answer.groups[0].error_code, 15);
}

#[test]
fn what_is_not_offered_closes_the_connection() {
    let mut world = three("zookeeper", "1.0.2", "");
    // Metadata above the range, a request that 1.0 does not know, and one that nobody knows.
    for (api, version) in [(3, 9), (60, 0), (999, 0), (-1, 0)] {
        assert_eq!(asked(&mut world, 1, api, version, Bytes::new(), None), Answer::Close);
    }
}
