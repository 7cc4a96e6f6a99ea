//! The same requests in every version to every broker that answers, and what they answer, field by field.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::{Buf, Bytes, BytesMut};
use unstuck_wire::schema::{
    ApiVersionsRequestData, ApiVersionsResponseData, ConsumerGroupDescribeRequestData,
    ConsumerGroupDescribeResponseData, DescribeClusterRequestData, DescribeClusterResponseData,
    DescribeConfigsRequestData, DescribeConfigsResponseData, DescribeGroupsRequestData, DescribeGroupsResponseData,
    DescribeLogDirsRequestData, DescribeLogDirsResponseData, DescribeProducersRequestData,
    DescribeProducersResponseData, DescribeQuorumRequestData, DescribeQuorumResponseData,
    DescribeTopicPartitionsRequestData, DescribeTopicPartitionsResponseData, FindCoordinatorRequestData,
    FindCoordinatorResponseData, KafkaString, ListGroupsRequestData, ListGroupsResponseData, ListOffsetsRequestData,
    ListOffsetsResponseData, ListPartitionReassignmentsRequestData, ListPartitionReassignmentsResponseData,
    ListTransactionsRequestData, ListTransactionsResponseData, MetadataRequestData, MetadataResponseData,
    OffsetFetchRequestData, OffsetFetchResponseData, describe_configs_request::DescribeConfigsResource,
    describe_producers_request, describe_quorum_request, list_offsets_request::ListOffsetsPartition,
    list_offsets_request::ListOffsetsTopic, metadata_request::MetadataRequestTopic,
    offset_fetch_request::OffsetFetchRequestGroup,
};
use unstuck_wire::serve::{Asked, answer_frame, spoken};

use super::tree::Tree;

/// What is asked about.
#[derive(Clone, Debug)]
pub struct Asking {
    /// Groups, wherever they live, and one that there is not.
    pub groups: Vec<String>,
    /// A topic with partitions 0 and 1.
    pub topic: String,
}

/// All answers of a broker as facts by path, and the versions that it offers of what is asked.
///
/// # Errors
/// If it cannot be reached, or answers what cannot be read to the last byte.
pub fn answers(address: &str, broker: i32, asking: &Asking) -> Result<BTreeMap<String, String>> {
    let mut facts = BTreeMap::new();
    let mut connection = Connection::open(address)?;
    let mut versions = connection.ask(18, 0, &Bytes::new())?.context("ApiVersions")?;
    let offered = ApiVersionsResponseData::read(&mut versions, 0).context("ApiVersions")?.api_keys;
    let kraft = offered.iter().any(|one| one.api_key == 55);
    for api in [2, 3, 9, 10, 15, 16, 18, 32, 35, 46, 55, 60, 61, 66, 69, 75] {
        let range = offered.iter().find(|one| one.api_key == api).map(|one| (one.min_version, one.max_version));
        let range = range.zip(spoken(api)).map(|((min, max), (lowest, highest))| (min.max(lowest), max.min(highest)));
        facts.insert(format!("/{api}/versions"), format!("{range:?}"));
        let Some((lowest, highest)) = range else { continue };
        for version in lowest..=highest {
            for (what, request) in requests(api, version, broker, asking)? {
                let path = format!("/{api} v{version} {what}");
                match connection.ask(api, version, &request)? {
                    None => {
                        facts.insert(path, "closed".to_owned());
                        connection = Connection::open(address)?;
                    }
                    Some(mut answer) => {
                        let printed = printed(api, version, &mut answer).with_context(|| path.clone())?;
                        ensure!(answer.is_empty(), "{path}: {} bytes are left", answer.len());
                        Tree::read(&printed).flatten(&path, &mut facts, &|name, value| plain(name, value, kraft));
                    }
                }
            }
        }
    }
    Ok(facts)
}

/// What is kept of a field: not what must differ from cluster to cluster.
fn plain(name: &str, value: &str, kraft: bool) -> String {
    let number = value.parse::<i64>().ok();
    let some_or_none = |what: &str| match number {
        Some(number) if number > 0 => what.to_owned(),
        _ => value.to_owned(),
    };
    match name {
        "port" => some_or_none("a port"),
        "controller_id" if kraft => some_or_none("a broker"),
        "finalized_features_epoch" | "log_end_offset" | "high_watermark" => some_or_none("a number"),
        "last_fetch_timestamp" | "last_caught_up_timestamp" => some_or_none("a time"),
        "partition_size" | "total_bytes" | "usable_bytes" => "a size".to_owned(),
        "cluster_id" if value != "None" => "an id".to_owned(),
        "log_dir" => "a path".to_owned(),
        // The client's id, and a random one behind it.
        "member_id" if value.len() > 38 => format!("{}…", &value[..value.len() - 37]),
        _ => value.to_owned(),
    }
}

struct Connection {
    stream: TcpStream,
    correlation: i32,
}

impl Connection {
    fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, correlation: 0 })
    }

    /// The body of the answer; `None` if the connection is closed instead.
    fn ask(&mut self, api: i16, version: i16, body: &[u8]) -> Result<Option<Bytes>> {
        self.correlation += 1;
        let asked = Asked { api, version, correlation: self.correlation, client_id: None, body: Bytes::new() };
        // Answers have tags where requests have them, but for ApiVersions (KIP-511).
        let tagged = answer_frame(&asked, &[])?.len() > 8;
        let flexible = if api == 18 { version >= 3 } else { tagged };
        let mut frame = Vec::new();
        frame.extend(i32::try_from(10 + usize::from(flexible) + body.len())?.to_be_bytes());
        frame.extend(api.to_be_bytes());
        frame.extend(version.to_be_bytes());
        frame.extend(self.correlation.to_be_bytes());
        // No client id.
        frame.extend((-1_i16).to_be_bytes());
        frame.extend(flexible.then_some(0));
        frame.extend(body);
        self.stream.write_all(&frame)?;
        let mut length = [0; 4];
        if self.stream.read_exact(&mut length).is_err() {
            return Ok(None);
        }
        let mut answer = vec![0; usize::try_from(i32::from_be_bytes(length))?];
        self.stream.read_exact(&mut answer)?;
        let mut answer = Bytes::from(answer);
        ensure!(answer.get_i32() == self.correlation, "the answer to another request");
        if tagged {
            ensure!(answer.get_u8() == 0, "tags in the header");
        }
        Ok(Some(answer))
    }
}

fn text(from: &str) -> KafkaString {
    KafkaString::from(from.to_owned())
}

/// The requests of an API, each with what it asks.
fn requests(api: i16, version: i16, broker: i32, asking: &Asking) -> Result<Vec<(String, Bytes)>> {
    let mut requests = Vec::new();
    macro_rules! ask {
        ($what:expr, $request:expr) => {{
            let mut body = BytesMut::new();
            $request.write(&mut body, version).with_context(|| format!("writing {api} v{version}"))?;
            requests.push(($what.to_string(), body.freeze()));
        }};
    }
    let groups: Vec<KafkaString> = asking.groups.iter().map(|id| text(id)).collect();
    let topic = || text(&asking.topic);
    match api {
        2 => {
            for (what, timestamp) in [("latest", -1), ("earliest", -2)] {
                let partition = |partition_index| ListOffsetsPartition {
                    partition_index,
                    current_leader_epoch: -1,
                    timestamp,
                    ..ListOffsetsPartition::default()
                };
                let partitions = vec![partition(0), partition(1)];
                let topics = vec![ListOffsetsTopic { name: topic(), partitions, ..ListOffsetsTopic::default() }];
                ask!(what, ListOffsetsRequestData::default().with_replica_id(-1).with_topics(topics));
            }
        }
        3 => {
            let mut request = MetadataRequestData::default().with_topics((version == 0).then(Vec::new));
            request.include_topic_authorized_operations = version >= 8;
            ask!("all topics", request);
            let names = [topic(), text("missing")];
            let topics = names.map(|name| MetadataRequestTopic { name: Some(name), ..MetadataRequestTopic::default() });
            ask!(
                "some",
                MetadataRequestData::default()
                    .with_topics(Some(topics.into()))
                    .with_allow_auto_topic_creation(version < 4)
            );
        }
        9 if version >= 8 => {
            for id in groups {
                let group = OffsetFetchRequestGroup { group_id: id.clone(), topics: None, ..Default::default() };
                ask!(id, OffsetFetchRequestData { groups: vec![group], ..OffsetFetchRequestData::default() });
            }
        }
        9 if version >= 2 => {
            for id in groups {
                ask!(id, OffsetFetchRequestData { group_id: id.clone(), topics: None, ..Default::default() });
            }
        }
        10 if version >= 4 => {
            ask!(
                "all",
                FindCoordinatorRequestData { coordinator_keys: groups, ..FindCoordinatorRequestData::default() }
            );
        }
        10 => {
            for id in groups {
                ask!(id, FindCoordinatorRequestData { key: id.clone(), ..FindCoordinatorRequestData::default() });
            }
        }
        15 => {
            let request = DescribeGroupsRequestData { groups, ..DescribeGroupsRequestData::default() };
            ask!("all", request.with_include_authorized_operations(version >= 3));
        }
        16 => ask!("all", ListGroupsRequestData::default()),
        18 => ask!(
            "all",
            ApiVersionsRequestData {
                client_software_name: text("tests"),
                client_software_version: text("1"),
                ..ApiVersionsRequestData::default()
            }
        ),
        32 => {
            let of_topic = DescribeConfigsResource {
                resource_type: 2,
                resource_name: text(unstuck_diagnosis::OFFSETS_TOPIC),
                ..DescribeConfigsResource::default()
            };
            let keys = ["offsets.topic.num.partitions", "min.insync.replicas", "auto.leader.rebalance.enable"];
            let of_broker = DescribeConfigsResource {
                resource_type: 4,
                resource_name: text(&broker.to_string()),
                configuration_keys: Some(keys.map(text).into()),
                ..DescribeConfigsResource::default()
            };
            let of_topic = DescribeConfigsResource { configuration_keys: None, ..of_topic };
            let resources = vec![of_topic, of_broker];
            let request = DescribeConfigsRequestData { resources, ..DescribeConfigsRequestData::default() };
            ask!("topic and broker", request.with_include_synonyms(version >= 1));
        }
        35 => ask!("all", DescribeLogDirsRequestData { topics: None, ..DescribeLogDirsRequestData::default() }),
        46 => {
            ask!("all", ListPartitionReassignmentsRequestData { topics: None, timeout_ms: 1000, ..Default::default() })
        }
        55 => {
            let partitions = vec![describe_quorum_request::PartitionData::default()];
            let topics = vec![describe_quorum_request::TopicData {
                topic_name: text("__cluster_metadata"),
                partitions,
                ..Default::default()
            }];
            ask!("the quorum", DescribeQuorumRequestData { topics, ..DescribeQuorumRequestData::default() });
        }
        60 => {
            let mut request = DescribeClusterRequestData::default().with_include_cluster_authorized_operations(true);
            request.include_fenced_brokers = version >= 2;
            ask!("all", request);
        }
        61 => {
            let topics = vec![describe_producers_request::TopicRequest {
                name: topic(),
                partition_indexes: vec![0, 1],
                ..Default::default()
            }];
            ask!("of a topic", DescribeProducersRequestData { topics, ..DescribeProducersRequestData::default() });
        }
        66 => ask!("all", ListTransactionsRequestData::default()),
        69 => ask!("all", ConsumerGroupDescribeRequestData { group_ids: groups, ..Default::default() }),
        75 => {
            let request = DescribeTopicPartitionsRequestData::default();
            ask!("all", request.with_response_partition_limit(2000));
        }
        _ => {}
    }
    Ok(requests)
}

/// An answer as `{:?}` prints it.
fn printed(api: i16, version: i16, bytes: &mut Bytes) -> Result<String> {
    fn print<T: Debug, E: std::error::Error + Send + Sync + 'static>(read: Result<T, E>) -> Result<String> {
        Ok(format!("{:?}", read?))
    }
    match api {
        2 => print(ListOffsetsResponseData::read(bytes, version)),
        3 => print(MetadataResponseData::read(bytes, version)),
        9 => print(OffsetFetchResponseData::read(bytes, version)),
        10 => print(FindCoordinatorResponseData::read(bytes, version)),
        15 => print(DescribeGroupsResponseData::read(bytes, version)),
        16 => print(ListGroupsResponseData::read(bytes, version)),
        18 => {
            // Which requests are offered in which versions is compared by itself: not all of them are imitated.
            print(ApiVersionsResponseData::read(bytes, version).map(|answer| answer.with_api_keys(Vec::new())))
        }
        32 => print(DescribeConfigsResponseData::read(bytes, version)),
        35 => print(DescribeLogDirsResponseData::read(bytes, version)),
        46 => print(ListPartitionReassignmentsResponseData::read(bytes, version)),
        55 => print(DescribeQuorumResponseData::read(bytes, version)),
        60 => print(DescribeClusterResponseData::read(bytes, version)),
        61 => print(DescribeProducersResponseData::read(bytes, version)),
        66 => print(ListTransactionsResponseData::read(bytes, version)),
        69 => print(ConsumerGroupDescribeResponseData::read(bytes, version)),
        75 => print(DescribeTopicPartitionsResponseData::read(bytes, version)),
        other => anyhow::bail!("nobody asks {other}"),
    }
}
