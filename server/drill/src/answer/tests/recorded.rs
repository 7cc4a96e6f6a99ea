//! What real brokers answered, asked again of the imitation in the same situation.

use bytes::Bytes;
use unstuck_wire::schema::{
    ApiVersionsResponseData, ConsumerGroupDescribeResponseData, DeleteGroupsResponseData, DescribeClusterResponseData,
    DescribeConfigsResponseData, DescribeGroupsResponseData, DescribeProducersResponseData,
    DescribeTopicPartitionsResponseData, ElectLeadersResponseData, FindCoordinatorResponseData, JoinGroupResponseData,
    KafkaUuid, ListGroupsResponseData, ListOffsetsResponseData, ListPartitionReassignmentsResponseData,
    ListTransactionsResponseData, MetadataResponseData, OffsetCommitResponseData, OffsetFetchResponseData,
};

use super::{body, cluster, world};
use crate::scenario::action::Action;
use crate::world::World;

/// What the recording tells of its cluster.
struct Recording<'a> {
    mode: &'a str,
    release: &'a str,
    lines: &'a str,
    controller: i32,
    /// A simple group on broker 1, one with a member there, and one that is not there.
    groups: [String; 3],
}

impl<'a> Recording<'a> {
    fn new(mode: &'a str, release: &'a str, lines: &'a str) -> Self {
        let groups = ["simple (empty) group", "stable group", "not coordinator"].map(|what| {
            let line = lines.lines().find(|line| line.starts_with("15\t0\t") && line.contains(what));
            let request = line.and_then(|line| line.split('\t').nth(3)).expect("asked by DescribeGroups version 0");
            // One id in an array.
            String::from_utf8(bytes(request)[6..].to_vec()).expect("an id")
        });
        let head = lines.lines().next().expect("a head");
        let controller = head.split("controller ").nth(1).and_then(|rest| rest.chars().next()?.to_digit(10));
        let controller = controller.and_then(|id| i32::try_from(id).ok()).unwrap_or(1);
        Self { mode, release, lines, controller, groups }
    }
}

/// When something was asked: before there was an offsets topic, before there were groups, with them, or after broker 3
/// had died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Fresh,
    NoGroups,
    Healthy,
    Dead,
}

/// The cluster that was recorded.
fn same(recording: &Recording<'_>, when: When) -> World {
    let Recording { mode, release, controller, groups, .. } = recording;
    let probe = world(&cluster(mode, release));
    let place = |at: usize| probe.place(&groups[at], 50).expect("a partition");
    let offsets_topic = format!(
        r#"
[topic.__consumer_offsets]
partitions = 50
replicas = [2]
end = 0
[[topic.__consumer_offsets.partition]]
id = [{}, {}]
replicas = [1]
[[topic.__consumer_offsets.partition]]
id = {}
replicas = [3]
"#,
        place(0),
        place(1),
        place(2)
    );
    let members = format!(
        r#"
[[group]]
id = "{}"
type = "simple"
offsets = {{ one = [9] }}
[[group]]
id = "{}"
members = [{{ client-id = "rec", host = "/127.0.0.1" }}]
"#,
        groups[0], groups[1]
    );
    let controller =
        if *mode == "kraft" { "controllers = [100]\n".to_owned() } else { format!("controller = {controller}\n") };
    let offsets_topic = if when == When::Fresh { "" } else { &offsets_topic };
    let members = if when == When::Healthy || when == When::Dead { &members } else { "" };
    let mut world = world(&format!(
        r#"{}{controller}session-timeout = "6s"
[cluster.configs]
"auto.create.topics.enable" = false
"auto.leader.rebalance.enable" = false
"offsets.topic.replication.factor" = 1
[topic.one]
partitions = 3
end = 0
[topic.three]
partitions = 3
replication-factor = 3
end = 0
[topic.two]
partitions = 3
end = 0
[[topic.two.partition]]
id = 0
replicas = [3, 1]
[[topic.two.partition]]
id = 1
replicas = [1, 2]
[[topic.two.partition]]
id = 2
replicas = [2, 3]
{offsets_topic}{members}"#,
        cluster(mode, release),
    ));
    if when == When::Dead {
        world.apply(&Action::Stop(3)).expect("broker 3");
        world.advance(std::time::Duration::from_secs(8));
    }
    world
}

/// Reads an answer to its last byte.
macro_rules! read_all {
    ($type:ident, $bytes:expr, $version:expr) => {{
        let mut bytes = $bytes.clone();
        let answer = $type::read(&mut bytes, $version).expect("an answer");
        assert!(bytes.is_empty(), "bytes left over");
        answer
    }};
}

/// An answer as text, without what differs from run to run: ports, ids, order where there is none.
fn plain(api: i16, version: i16, bytes: &Bytes, kraft: bool) -> String {
    match api {
        2 => format!("{:#?}", read_all!(ListOffsetsResponseData, bytes, version)),
        3 => {
            let mut answer = read_all!(MetadataResponseData, bytes, version);
            answer.cluster_id = answer.cluster_id.map(|_| super::super::words::text("cluster"));
            answer.brokers.sort_by_key(|broker| broker.node_id);
            answer.brokers.iter_mut().for_each(|broker| broker.port = 0);
            if kraft {
                answer.controller_id = answer.controller_id.min(1);
            }
            answer.topics.sort_by_key(|topic| topic.name.as_ref().map(|name| name.as_str().to_owned()));
            for topic in &mut answer.topics {
                topic.topic_id = if topic.topic_id == KafkaUuid::ZERO { KafkaUuid::ZERO } else { KafkaUuid::ONE };
                topic.partitions.sort_by_key(|partition| partition.partition_index);
            }
            format!("{answer:#?}")
        }
        9 => {
            let mut answer = read_all!(OffsetFetchResponseData, bytes, version);
            let single = answer.topics.iter_mut().flat_map(|topic| &mut topic.partitions);
            // Whoever was recorded committed offsets and words of its own.
            single.for_each(|one| (one.committed_offset, one.metadata) = (one.committed_offset.min(0), None));
            let many = answer.groups.iter_mut().flat_map(|group| &mut group.topics);
            many.flat_map(|topic| &mut topic.partitions)
                .for_each(|one| (one.committed_offset, one.metadata) = (one.committed_offset.min(0), None));
            format!("{answer:#?}")
        }
        10 => {
            let mut answer = read_all!(FindCoordinatorResponseData, bytes, version);
            answer.port = answer.port.min(1);
            answer.coordinators.iter_mut().for_each(|one| one.port = one.port.min(1));
            format!("{answer:#?}")
        }
        15 => {
            let mut answer = read_all!(DescribeGroupsResponseData, bytes, version);
            for member in answer.groups.iter_mut().flat_map(|group| &mut group.members) {
                member.member_id = super::super::words::text("member");
                // What a real consumer of the time subscribed to.
                (member.member_metadata, member.member_assignment) = (Bytes::new(), Bytes::new());
            }
            format!("{answer:#?}")
        }
        16 => {
            let mut answer = read_all!(ListGroupsResponseData, bytes, version);
            answer.groups.sort_by_key(|group| group.group_id.as_str().to_owned());
            format!("{answer:#?}")
        }
        18 => {
            let mut answer = read_all!(ApiVersionsResponseData, bytes, version);
            // Requests that are not answered here are not offered; what the recording of another run of 4.1.1 tells of
            // features differs in unstable ones.
            answer.api_keys.retain(|one| matches!(one.api_key, 3 | 10 | 15 | 16 | 18 | 32 | 60 | 69));
            answer.supported_features.clear();
            answer.finalized_features.clear();
            answer.finalized_features_epoch = 0;
            format!("{answer:#?}")
        }
        32 => {
            let mut answer = read_all!(DescribeConfigsResponseData, bytes, version);
            for result in &mut answer.results {
                result.configs.sort_by_key(|config| config.name.as_str().to_owned());
            }
            format!("{answer:#?}")
        }
        60 => {
            let mut answer = read_all!(DescribeClusterResponseData, bytes, version);
            answer.cluster_id = super::super::words::text("cluster");
            if kraft {
                answer.controller_id = answer.controller_id.min(1);
            }
            answer.brokers.sort_by_key(|broker| broker.broker_id);
            answer.brokers.iter_mut().for_each(|broker| broker.port = 0);
            format!("{answer:#?}")
        }
        8 => format!("{:#?}", read_all!(OffsetCommitResponseData, bytes, version)),
        11 => {
            let mut answer = read_all!(JoinGroupResponseData, bytes, version);
            answer.member_id = super::super::words::text("member");
            format!("{answer:#?}")
        }
        42 => {
            let mut answer = read_all!(DeleteGroupsResponseData, bytes, version);
            answer.results.sort_by_key(|one| one.group_id.as_str().to_owned());
            format!("{answer:#?}")
        }
        43 => {
            let mut answer = read_all!(ElectLeadersResponseData, bytes, version);
            answer.replica_election_results.sort_by_key(|one| one.topic.as_str().to_owned());
            format!("{answer:#?}")
        }
        46 => format!("{:#?}", read_all!(ListPartitionReassignmentsResponseData, bytes, version)),
        61 => format!("{:#?}", read_all!(DescribeProducersResponseData, bytes, version)),
        66 => format!("{:#?}", read_all!(ListTransactionsResponseData, bytes, version)),
        69 => format!("{:#?}", read_all!(ConsumerGroupDescribeResponseData, bytes, version)),
        75 => {
            let mut answer = read_all!(DescribeTopicPartitionsResponseData, bytes, version);
            answer.topics.iter_mut().for_each(|topic| topic.topic_id = KafkaUuid::ZERO);
            format!("{answer:#?}")
        }
        _ => String::new(),
    }
}

fn bytes(hex: &str) -> Bytes {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    if hex == "-" { Bytes::new() } else { (0..hex.len()).step_by(2).map(digit).collect() }
}

fn compare(recording: &Recording<'_>) -> (usize, Vec<String>) {
    let Recording { mode, release, .. } = recording;
    let mut compared = 0;
    let mut different = Vec::new();
    for line in recording.lines.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [api, version, what, request, response] = columns[..] else { panic!("{line}") };
        let (api, version): (i16, i16) = (api.parse().expect("a key"), version.parse().expect("a version"));
        let when = match what.split(": ").collect::<Vec<_>>()[..] {
            ["fresh", _] => When::Fresh,
            ["healthy", what] if what.starts_with("unknown group") => When::NoGroups,
            ["healthy" | "one broker", _] => When::Healthy,
            ["broker dead", _] => When::Dead,
            _ => panic!("{what}"),
        };
        let (lowest, highest) = unstuck_wire::serve::spoken(api).expect("a known request");
        let unsupported = what.contains("unsupported");
        if !matches!(api, 2 | 3 | 8 | 9 | 10 | 11 | 15 | 16 | 18 | 32 | 42 | 43 | 46 | 60 | 61 | 66 | 69 | 75)
            || !((lowest..=highest).contains(&version) || unsupported)
        {
            continue;
        }
        let mut world = same(recording, when);
        // Elections and reassignments were asked of the controller, deletions of the group's coordinator.
        let asked: &[i32] = match api {
            43 | 46 => &[recording.controller],
            42 => &[1, 2, 3],
            _ => &[1],
        };
        let kraft = *mode == "kraft";
        let read = if unsupported { 0 } else { version };
        let theirs = plain(api, read, &bytes(response), kraft);
        let told = asked
            .iter()
            .map(|broker| plain(api, read, &body(&mut world, *broker, api, version, bytes(request)), kraft));
        let told: Vec<String> = told.collect();
        let ours = told.iter().find(|ours| **ours == theirs).unwrap_or(&told[0]).clone();
        compared += 1;
        if ours != theirs {
            let lines = theirs.lines().zip(ours.lines()).filter(|(theirs, ours)| theirs != ours).take(12);
            let lines: Vec<String> = lines.map(|(theirs, ours)| format!("  real {theirs}\n  ours {ours}")).collect();
            different.push(format!("{release}, api {api} v{version}, {what}:\n{}", lines.join("\n")));
        }
    }
    (compared, different)
}

#[test]
fn answers_are_those_of_real_brokers() {
    let recordings = [
        ("zookeeper", "1.0.2", include_str!("../../../data/recorded/1.0.2.tsv"), 30),
        ("zookeeper", "2.3.1", include_str!("../../../data/recorded/2.3.1.tsv"), 40),
        ("zookeeper", "2.8.2", include_str!("../../../data/recorded/2.8.2.tsv"), 50),
        ("zookeeper", "3.9.1", include_str!("../../../data/recorded/3.9.1.tsv"), 60),
        ("kraft", "4.1.1", include_str!("../../../data/recorded/4.1.1.tsv"), 60),
    ];
    let mut different = Vec::new();
    for (mode, release, recorded, least) in recordings {
        let (compared, of_these) = compare(&Recording::new(mode, release, recorded));
        assert!(compared >= least, "{release}: only {compared} compared");
        different.extend(of_these);
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}
