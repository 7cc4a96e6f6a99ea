//! Kafka's requests by key and name, so that a fault can name any of them.

/// Each request's key and name, ascending, as of Kafka 4.1 (`clients/src/main/resources/common/message`).
pub const APIS: [(i16, &str); 93] = [
    (0, "Produce"),
    (1, "Fetch"),
    (2, "ListOffsets"),
    (3, "Metadata"),
    (4, "LeaderAndIsr"),
    (5, "StopReplica"),
    (6, "UpdateMetadata"),
    (7, "ControlledShutdown"),
    (8, "OffsetCommit"),
    (9, "OffsetFetch"),
    (10, "FindCoordinator"),
    (11, "JoinGroup"),
    (12, "Heartbeat"),
    (13, "LeaveGroup"),
    (14, "SyncGroup"),
    (15, "DescribeGroups"),
    (16, "ListGroups"),
    (17, "SaslHandshake"),
    (18, "ApiVersions"),
    (19, "CreateTopics"),
    (20, "DeleteTopics"),
    (21, "DeleteRecords"),
    (22, "InitProducerId"),
    (23, "OffsetForLeaderEpoch"),
    (24, "AddPartitionsToTxn"),
    (25, "AddOffsetsToTxn"),
    (26, "EndTxn"),
    (27, "WriteTxnMarkers"),
    (28, "TxnOffsetCommit"),
    (29, "DescribeAcls"),
    (30, "CreateAcls"),
    (31, "DeleteAcls"),
    (32, "DescribeConfigs"),
    (33, "AlterConfigs"),
    (34, "AlterReplicaLogDirs"),
    (35, "DescribeLogDirs"),
    (36, "SaslAuthenticate"),
    (37, "CreatePartitions"),
    (38, "CreateDelegationToken"),
    (39, "RenewDelegationToken"),
    (40, "ExpireDelegationToken"),
    (41, "DescribeDelegationToken"),
    (42, "DeleteGroups"),
    (43, "ElectLeaders"),
    (44, "IncrementalAlterConfigs"),
    (45, "AlterPartitionReassignments"),
    (46, "ListPartitionReassignments"),
    (47, "OffsetDelete"),
    (48, "DescribeClientQuotas"),
    (49, "AlterClientQuotas"),
    (50, "DescribeUserScramCredentials"),
    (51, "AlterUserScramCredentials"),
    (52, "Vote"),
    (53, "BeginQuorumEpoch"),
    (54, "EndQuorumEpoch"),
    (55, "DescribeQuorum"),
    (56, "AlterPartition"),
    (57, "UpdateFeatures"),
    (58, "Envelope"),
    (59, "FetchSnapshot"),
    (60, "DescribeCluster"),
    (61, "DescribeProducers"),
    (62, "BrokerRegistration"),
    (63, "BrokerHeartbeat"),
    (64, "UnregisterBroker"),
    (65, "DescribeTransactions"),
    (66, "ListTransactions"),
    (67, "AllocateProducerIds"),
    (68, "ConsumerGroupHeartbeat"),
    (69, "ConsumerGroupDescribe"),
    (70, "ControllerRegistration"),
    (71, "GetTelemetrySubscriptions"),
    (72, "PushTelemetry"),
    (73, "AssignReplicasToDirs"),
    (74, "ListConfigResources"),
    (75, "DescribeTopicPartitions"),
    (76, "ShareGroupHeartbeat"),
    (77, "ShareGroupDescribe"),
    (78, "ShareFetch"),
    (79, "ShareAcknowledge"),
    (80, "AddRaftVoter"),
    (81, "RemoveRaftVoter"),
    (82, "UpdateRaftVoter"),
    (83, "InitializeShareGroupState"),
    (84, "ReadShareGroupState"),
    (85, "WriteShareGroupState"),
    (86, "DeleteShareGroupState"),
    (87, "ReadShareGroupStateSummary"),
    (88, "StreamsGroupHeartbeat"),
    (89, "StreamsGroupDescribe"),
    (90, "DescribeShareGroupOffsets"),
    (91, "AlterShareGroupOffsets"),
    (92, "DeleteShareGroupOffsets"),
];

/// The key of the request with this name of today; case counts.
#[must_use]
pub fn api_key(name: &str) -> Option<i16> {
    APIS.iter().find(|(_, known)| *known == name).map(|(key, _)| *key)
}

/// The name of the request with this key.
#[must_use]
pub fn api_name(key: i16) -> Option<&'static str> {
    APIS.get(usize::try_from(key).ok()?).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What real brokers of each release answered names each request as this list does.
    #[test]
    fn names_are_those_that_brokers_answer() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/api-versions");
        let mut compared = 0;
        for entry in std::fs::read_dir(folder).expect("the recorded versions") {
            let path = entry.expect("an entry").path();
            if path.to_string_lossy().contains(".features.") {
                continue;
            }
            for line in std::fs::read_to_string(&path).expect("text").lines().filter(|line| !line.starts_with('#')) {
                let mut columns = line.split('\t');
                let key: i16 = columns.next().expect("a key").parse().expect("a number");
                let name = columns.next().expect("a name");
                // Called so in 3.7 to 4.0.
                let name = if name == "ListClientMetricsResources" { "ListConfigResources" } else { name };
                assert_eq!(api_name(key), Some(name), "{}", path.display());
                assert_eq!(api_key(name), Some(key));
                compared += 1;
            }
        }
        assert!(compared > 300, "{compared}");
    }

    #[test]
    fn keys_are_their_places() {
        for (place, (key, _)) in APIS.iter().enumerate() {
            assert_eq!(usize::try_from(*key), Ok(place));
        }
        assert_eq!(api_key("Nothing"), None);
        assert_eq!(api_name(-1), None);
        assert_eq!(api_name(93), None);
    }
}
