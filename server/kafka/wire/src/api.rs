//! Which requests we send, in which versions, and what a broker offers.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use kacrab_protocol::generated::ApiKey;

/// The requests that Unstuck sends. None of them changes anything on a broker.
///
/// [`SaslHandshake`](Self::SaslHandshake) and [`SaslAuthenticate`](Self::SaslAuthenticate) are sent by
/// [`Connection`](crate::Connection) itself, where it has a [`Login`](crate::Login).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Api {
    /// Api key 18.
    ApiVersions,
    /// Api key 17 (KIP-43, Kafka 0.10).
    SaslHandshake,
    /// Api key 36 (KIP-152, Kafka 1.0).
    SaslAuthenticate,
    /// Api key 3.
    Metadata,
    /// Api key 60 (KIP-700, Kafka 2.8).
    DescribeCluster,
    /// Api key 10. Creates `__consumer_offsets` where it is missing: the caller must know that it exists.
    FindCoordinator,
    /// Api key 16.
    ListGroups,
    /// Api key 15.
    DescribeGroups,
    /// Api key 69 (KIP-848, Kafka 3.7).
    ConsumerGroupDescribe,
    /// Api key 77 (KIP-932, Kafka 4.1; early access in 4.0 is not spoken).
    ShareGroupDescribe,
    /// Api key 89 (KIP-1071, Kafka 4.1).
    StreamsGroupDescribe,
    /// Api key 9.
    OffsetFetch,
    /// Api key 2.
    ListOffsets,
    /// Api key 32 (KIP-133).
    DescribeConfigs,
    /// Api key 55 (KIP-595); offered by brokers in KRaft mode only.
    DescribeQuorum,
    /// Api key 75 (KIP-966, Kafka 3.8).
    DescribeTopicPartitions,
    /// Api key 35 (KIP-113).
    DescribeLogDirs,
    /// Api key 46 (KIP-455, Kafka 2.4).
    ListPartitionReassignments,
    /// Api key 61 (KIP-664, Kafka 2.8).
    DescribeProducers,
    /// Api key 65 (KIP-664, Kafka 3.0).
    DescribeTransactions,
    /// Api key 66 (KIP-664, Kafka 3.0).
    ListTransactions,
}

impl Api {
    /// All of them, for tests and tables.
    pub const ALL: [Self; 21] = [
        Self::ApiVersions,
        Self::SaslHandshake,
        Self::SaslAuthenticate,
        Self::Metadata,
        Self::DescribeCluster,
        Self::FindCoordinator,
        Self::ListGroups,
        Self::DescribeGroups,
        Self::ConsumerGroupDescribe,
        Self::ShareGroupDescribe,
        Self::StreamsGroupDescribe,
        Self::OffsetFetch,
        Self::ListOffsets,
        Self::DescribeConfigs,
        Self::DescribeQuorum,
        Self::DescribeTopicPartitions,
        Self::DescribeLogDirs,
        Self::ListPartitionReassignments,
        Self::DescribeProducers,
        Self::DescribeTransactions,
        Self::ListTransactions,
    ];

    /// Kafka's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ApiVersions => "ApiVersions",
            Self::SaslHandshake => "SaslHandshake",
            Self::SaslAuthenticate => "SaslAuthenticate",
            Self::Metadata => "Metadata",
            Self::DescribeCluster => "DescribeCluster",
            Self::FindCoordinator => "FindCoordinator",
            Self::ListGroups => "ListGroups",
            Self::DescribeGroups => "DescribeGroups",
            Self::ConsumerGroupDescribe => "ConsumerGroupDescribe",
            Self::ShareGroupDescribe => "ShareGroupDescribe",
            Self::StreamsGroupDescribe => "StreamsGroupDescribe",
            Self::OffsetFetch => "OffsetFetch",
            Self::ListOffsets => "ListOffsets",
            Self::DescribeConfigs => "DescribeConfigs",
            Self::DescribeQuorum => "DescribeQuorum",
            Self::DescribeTopicPartitions => "DescribeTopicPartitions",
            Self::DescribeLogDirs => "DescribeLogDirs",
            Self::ListPartitionReassignments => "ListPartitionReassignments",
            Self::DescribeProducers => "DescribeProducers",
            Self::DescribeTransactions => "DescribeTransactions",
            Self::ListTransactions => "ListTransactions",
        }
    }

    pub(crate) fn codec_key(self) -> ApiKey {
        match self {
            Self::ApiVersions => ApiKey::ApiVersions,
            Self::SaslHandshake => ApiKey::SaslHandshake,
            Self::SaslAuthenticate => ApiKey::SaslAuthenticate,
            Self::Metadata => ApiKey::Metadata,
            Self::DescribeCluster => ApiKey::DescribeCluster,
            Self::FindCoordinator => ApiKey::FindCoordinator,
            Self::ListGroups => ApiKey::ListGroups,
            Self::DescribeGroups => ApiKey::DescribeGroups,
            Self::ConsumerGroupDescribe => ApiKey::ConsumerGroupDescribe,
            Self::ShareGroupDescribe => ApiKey::ShareGroupDescribe,
            Self::StreamsGroupDescribe => ApiKey::StreamsGroupDescribe,
            Self::OffsetFetch => ApiKey::OffsetFetch,
            Self::ListOffsets => ApiKey::ListOffsets,
            Self::DescribeConfigs => ApiKey::DescribeConfigs,
            Self::DescribeQuorum => ApiKey::DescribeQuorum,
            Self::DescribeTopicPartitions => ApiKey::DescribeTopicPartitions,
            Self::DescribeLogDirs => ApiKey::DescribeLogDirs,
            Self::ListPartitionReassignments => ApiKey::ListPartitionReassignments,
            Self::DescribeProducers => ApiKey::DescribeProducers,
            Self::DescribeTransactions => ApiKey::DescribeTransactions,
            Self::ListTransactions => ApiKey::ListTransactions,
        }
    }

    /// The number on the wire.
    #[must_use]
    pub fn key(self) -> i16 {
        self.codec_key() as i16
    }

    /// The versions that the codec both reads and writes and whose fields we use; tests hold them against the codec.
    #[must_use]
    pub fn spoken(self) -> RangeInclusive<i16> {
        match self {
            Self::ApiVersions => 0..=4,
            // Version 0 is followed by bare tokens instead of SaslAuthenticate (Kafka 0.10 and 0.11).
            Self::SaslHandshake => 1..=1,
            Self::Metadata => 0..=13,
            Self::SaslAuthenticate | Self::DescribeCluster | Self::DescribeQuorum | Self::ListTransactions => 0..=2,
            Self::FindCoordinator | Self::DescribeGroups => 0..=6,
            Self::ListGroups => 0..=5,
            Self::ConsumerGroupDescribe => 0..=1,
            Self::ShareGroupDescribe => 1..=1,
            Self::StreamsGroupDescribe
            | Self::DescribeTopicPartitions
            | Self::ListPartitionReassignments
            | Self::DescribeProducers
            | Self::DescribeTransactions => 0..=0,
            // The codec does not know version 0, all that Kafka 1.x offers.
            Self::DescribeLogDirs => 1..=5,
            // From 2 on it can ask for all topics; 10 names topics by id only, and we show names.
            Self::OffsetFetch => 2..=9,
            Self::ListOffsets => 1..=10,
            // The codec does not know version 0, all that Kafka 1.0 offers.
            Self::DescribeConfigs => 1..=4,
        }
    }

    /// The largest answer that we read, in bytes. Listings of hundreds of thousands of groups or partitions are real,
    /// and are decoded element by element; no other answer comes near its limit on a sane cluster.
    pub(crate) fn answer_limit(self) -> usize {
        match self {
            Self::ListGroups | Self::Metadata => 64 << 20,
            Self::ApiVersions => 1 << 20,
            // From somebody who has not proven anything yet.
            Self::SaslHandshake | Self::SaslAuthenticate => 64 << 10,
            _ => 16 << 20,
        }
    }
}

/// What a broker offers: per api key the lowest and highest version (its ApiVersions answer).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionTable(pub BTreeMap<i16, (i16, i16)>);

impl VersionTable {
    /// The highest version that the broker offers and we speak.
    #[must_use]
    pub fn common(&self, api: Api) -> Option<i16> {
        let (lowest, highest) = self.0.get(&api.key())?;
        let spoken = api.spoken();
        let version = *highest.min(spoken.end());
        (version >= *lowest.max(spoken.start())).then_some(version)
    }

    /// Whether the broker offers this request at all, in whatever version.
    #[must_use]
    pub fn offers(&self, api: Api) -> bool {
        self.0.contains_key(&api.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(api: Api, lowest: i16, highest: i16) -> VersionTable {
        VersionTable([(api.key(), (lowest, highest))].into())
    }

    #[test]
    fn the_highest_common_version_is_taken() {
        assert_eq!(table(Api::Metadata, 0, 5).common(Api::Metadata), Some(5));
        assert_eq!(table(Api::Metadata, 0, 99).common(Api::Metadata), Some(13));
        assert_eq!(table(Api::OffsetFetch, 1, 10).common(Api::OffsetFetch), Some(9));
    }

    #[test]
    fn the_codec_speaks_what_we_claim() {
        for api in Api::ALL {
            let known = kacrab_protocol::generated::client_api_info(api.codec_key());
            let spoken = api.spoken();
            assert!(known.min_version <= *spoken.start() && *spoken.end() <= known.max_version, "{api:?}: {known:?}");
        }
    }

    #[test]
    fn no_common_version_is_none() {
        assert_eq!(table(Api::DescribeConfigs, 0, 0).common(Api::DescribeConfigs), None);
        assert_eq!(table(Api::Metadata, 14, 20).common(Api::Metadata), None);
        assert_eq!(table(Api::Metadata, 5, 3).common(Api::Metadata), None);
        assert_eq!(VersionTable::default().common(Api::Metadata), None);
        assert!(table(Api::DescribeConfigs, 0, 0).offers(Api::DescribeConfigs));
    }
}
