//! Metadata: brokers and topics as one broker sees them.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::generated::metadata_response::{MetadataResponseBroker, MetadataResponseTopic};
use kacrab_protocol::generated::{MetadataRequestData, MetadataRequestTopic};

use super::cluster::may_describe;
use super::{Decoded, Request, unwritable};
use crate::decode::{array_length, int16, int32, nullable_string, owned, tags, text, windowed};
use crate::{Api, WireError};

/// Asks for brokers and topics. Never lets the broker create a topic (`allow_auto_topic_creation=false`);
/// but brokers up to 2.7 ignore that for internal topics: do not name those there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataRequest {
    /// Which topics to ask for.
    pub topics: Topics,
    /// Which topics to keep from the answer. The others are only counted.
    pub keep: Keep,
    /// Also ask what the account may do with the cluster (told in versions 8 to 10, Kafka 2.3 to 2.8).
    pub cluster_operations: bool,
}

/// Topics to ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topics {
    /// All that the account may see. Creates nothing on any release.
    All,
    /// None, only brokers; version 0 has no way to say that and asks for all.
    None,
    /// These.
    Named(Vec<String>),
}

/// Topics to keep from an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Those with these names: the rest of a large answer costs no memory.
    Named(Vec<String>),
    /// All.
    All,
}

impl Keep {
    /// No topic at all.
    pub const NONE: Self = Self::Named(Vec::new());

    fn keeps(&self, name: &String) -> bool {
        match self {
            Self::Named(names) => names.contains(name),
            Self::All => true,
        }
    }
}

/// The broker's view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataAnswer {
    /// The cluster id (version 2 on).
    pub cluster_id: Option<String>,
    /// The controller it names (version 1 on); `None` for -1.
    pub controller: Option<i32>,
    /// The brokers it holds for live, by id.
    pub brokers: BTreeMap<i32, BrokerAddress>,
    /// How many topics it listed.
    pub topic_count: usize,
    /// The topics to keep, by name.
    pub topics: BTreeMap<String, TopicMetadata>,
    /// Whether the account has DESCRIBE on CLUSTER; `None` if not asked or not told.
    pub may_describe: Option<bool>,
    /// Length of the answer in bytes.
    pub bytes: usize,
}

/// Where a broker is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerAddress {
    /// `host:port`, with IPv6 hosts in brackets.
    pub address: String,
    /// Its rack.
    pub rack: Option<String>,
}

/// A topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicMetadata {
    /// Topic-level error code.
    pub error: i16,
    /// Partitions by number.
    pub partitions: BTreeMap<i32, PartitionMetadata>,
}

/// A partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionMetadata {
    /// Partition-level error code.
    pub error: i16,
    /// The leader; `None` for -1.
    pub leader: Option<i32>,
    /// The leader epoch (version 7 on); `None` for -1.
    pub leader_epoch: Option<i32>,
    /// All replicas, preferred leader first.
    pub replicas: Vec<i32>,
    /// In-sync replicas.
    pub isr: Vec<i32>,
    /// Offline replicas (version 5 on).
    pub offline_replicas: Vec<i32>,
}

/// `host:port`, with an IPv6 host in brackets.
#[must_use]
pub fn host_port(host: &str, port: i32) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Windows for one broker and one topic (10,000 partitions with 5 replicas each are below 1 MB).
const BROKER_WINDOW: usize = 256 << 10;
const TOPIC_WINDOW: usize = 8 << 20;

impl Request for MetadataRequest {
    type Answer = MetadataAnswer;
    const API: Api = Api::Metadata;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        let topics = match &self.topics {
            // Version 0 says "all" by the empty list, later ones by null.
            Topics::All => (version == 0).then(Vec::new),
            Topics::None => Some(Vec::new()),
            Topics::Named(names) => Some(
                names
                    .iter()
                    .map(|name| Ok(MetadataRequestTopic::default().with_name(Some(text(name)?))))
                    .collect::<Result<_, WireError>>()?,
            ),
        };
        MetadataRequestData::default()
            .with_topics(topics)
            // Below version 4 the field does not exist, and the codec refuses to drop anything but its default.
            .with_allow_auto_topic_creation(version < 4)
            .with_include_cluster_authorized_operations(self.cluster_operations && (8..=10).contains(&version))
            .write(out, version)
            .map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let compact = version >= 9;
        let bytes = body.len();
        let throttle_ms = if version >= 3 { int32(body)? } else { 0 };
        let mut answer = MetadataAnswer { bytes, ..MetadataAnswer::default() };
        for _ in 0..array_length(body, compact)?.unwrap_or(0) {
            let broker = windowed(body, BROKER_WINDOW, |view| MetadataResponseBroker::read(view, version))?;
            answer.brokers.insert(
                broker.node_id,
                BrokerAddress {
                    address: host_port(broker.host.as_str(), broker.port),
                    rack: broker.rack.as_ref().map(owned),
                },
            );
        }
        if version >= 2 {
            answer.cluster_id = nullable_string(body, compact)?;
        }
        if version >= 1 {
            answer.controller = Some(int32(body)?).filter(|id| *id >= 0);
        }
        for _ in 0..array_length(body, compact)?.unwrap_or(0) {
            let topic = windowed(body, TOPIC_WINDOW, |view| MetadataResponseTopic::read(view, version))?;
            answer.topic_count += 1;
            let Some(name) = topic.name.as_ref().map(owned).filter(|name| self.keep.keeps(name)) else { continue };
            answer.topics.insert(name, plain_topic(topic));
        }
        if (8..=10).contains(&version) {
            answer.may_describe = may_describe(int32(body)?);
        }
        if version >= 13 {
            let error = int16(body)?;
            if error != 0 {
                return Err(WireError::Malformed(format!("Metadata answered error {error}")));
            }
        }
        if compact {
            tags(body)?;
        }
        Ok(Decoded { answer, throttle_ms })
    }
}

fn plain_topic(topic: MetadataResponseTopic) -> TopicMetadata {
    let partitions = topic
        .partitions
        .into_iter()
        .map(|partition| {
            let plain = PartitionMetadata {
                error: partition.error_code,
                leader: Some(partition.leader_id).filter(|id| *id >= 0),
                leader_epoch: Some(partition.leader_epoch).filter(|epoch| *epoch >= 0),
                replicas: partition.replica_nodes,
                isr: partition.isr_nodes,
                offline_replicas: partition.offline_replicas,
            };
            (partition.partition_index, plain)
        })
        .collect();
    TopicMetadata { error: topic.error_code, partitions }
}
