//! Which Kafka release a broker probably runs, told from what it offers.

use std::fmt;

use crate::VersionTable;

/// A Kafka release line, such as 2.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// Major number.
    pub major: u8,
    /// Minor number.
    pub minor: u8,
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Newest first: a request and a version of it that this release line brought to broker listeners, in both modes.
/// Sources: the `validVersions` of the message schemas at each release, and the tables of clients that guess likewise.
const MARKS: &[(u8, u8, i16, i16)] = &[
    (4, 1, 74, 1),  // ListConfigResources (KIP-1142)
    (4, 0, 68, 1),  // ConsumerGroupHeartbeat with a regular expression
    (3, 9, 2, 9),   // ListOffsets for tiered storage (KIP-1005)
    (3, 8, 16, 5),  // ListGroups with types (KIP-848)
    (3, 7, 1, 16),  // Fetch with node endpoints (KIP-951)
    (3, 6, 24, 4),  // AddPartitionsToTxn verification (KIP-890)
    (3, 5, 1, 15),  // Fetch with replica state (KIP-903)
    (3, 4, 1, 14),  // Fetch from tiered storage (KIP-405)
    (3, 2, 11, 9),  // JoinGroup with reason (KIP-800, KIP-814)
    (3, 1, 1, 13),  // Fetch by topic id (KIP-516)
    (3, 0, 10, 4),  // FindCoordinator for many groups (KIP-699)
    (2, 8, 60, 0),  // DescribeCluster (KIP-700)
    (2, 7, 1, 12),  // Fetch with diverging epochs (KIP-595)
    (2, 6, 16, 4),  // ListGroups with states (KIP-518)
    (2, 5, 9, 7),   // OffsetFetch stable (KIP-447)
    (2, 4, 3, 9),   // Metadata, flexible (KIP-482)
    (2, 3, 11, 5),  // JoinGroup with static members (KIP-345)
    (2, 2, 43, 0),  // ElectLeaders (KIP-183)
    (2, 1, 3, 7),   // Metadata with leader epoch (KIP-320)
    (2, 0, 1, 8),   // Fetch with earlier throttling (KIP-219)
    (1, 1, 32, 1),  // DescribeConfigs with synonyms (KIP-226)
    (1, 0, 3, 5),   // Metadata with offline replicas (KIP-112)
    (0, 11, 22, 0), // InitProducerId (KIP-98)
];

/// The newest release line whose mark the broker offers: it runs that one or a newer one that we do not know.
/// `None` before 0.11 and for other implementations that offer nothing of it.
#[must_use]
pub fn release_of(versions: &VersionTable) -> Option<Release> {
    MARKS
        .iter()
        .find(|(_, _, key, version)| versions.0.get(key).is_some_and(|(_, highest)| highest >= version))
        .map(|(major, minor, _, _)| Release { major: *major, minor: *minor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_mark_counts() {
        let old = VersionTable([(1, (0, 6)), (3, (0, 5)), (32, (0, 0))].into());
        assert_eq!(release_of(&old).map(|release| release.to_string()).as_deref(), Some("1.0"));
        let new = VersionTable([(74, (0, 1)), (3, (0, 13)), (68, (0, 1))].into());
        assert_eq!(release_of(&new).map(|release| release.to_string()).as_deref(), Some("4.1"));
        assert_eq!(release_of(&VersionTable::default()), None);
    }
}
