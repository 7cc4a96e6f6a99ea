//! Small things that answers say: error codes with Kafka's words for them, sets of allowed operations, strings and ids
//! as the codec wants them.

use unstuck_wire::schema::{KafkaString, KafkaUuid};

use crate::world::World;

/// Error codes (`org.apache.kafka.common.protocol.Errors`).
pub(crate) mod code {
    /// What has no code of its own (`UNKNOWN_SERVER_ERROR`).
    pub(crate) const UNEXPECTED: i16 = -1;
    pub(crate) const OFFSET_OUT_OF_RANGE: i16 = 1;
    pub(crate) const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
    pub(crate) const LEADER_NOT_AVAILABLE: i16 = 5;
    pub(crate) const NOT_LEADER: i16 = 6;
    pub(crate) const TIMED_OUT: i16 = 7;
    pub(crate) const REPLICA_NOT_AVAILABLE: i16 = 9;
    pub(crate) const METADATA_TOO_LARGE: i16 = 12;
    pub(crate) const LOADING: i16 = 14;
    pub(crate) const COORDINATOR_NOT_AVAILABLE: i16 = 15;
    pub(crate) const NOT_COORDINATOR: i16 = 16;
    pub(crate) const INVALID_TOPIC: i16 = 17;
    pub(crate) const INVALID_GROUP_ID: i16 = 24;
    pub(crate) const TOPIC_DENIED: i16 = 29;
    pub(crate) const GROUP_DENIED: i16 = 30;
    pub(crate) const CLUSTER_DENIED: i16 = 31;
    pub(crate) const UNSUPPORTED_VERSION: i16 = 35;
    pub(crate) const TOPIC_EXISTS: i16 = 36;
    pub(crate) const INVALID_PARTITIONS: i16 = 37;
    pub(crate) const INVALID_REPLICATION_FACTOR: i16 = 38;
    pub(crate) const INVALID_ASSIGNMENT: i16 = 39;
    pub(crate) const INVALID_CONFIG: i16 = 40;
    pub(crate) const NOT_CONTROLLER: i16 = 41;
    pub(crate) const INVALID_REQUEST: i16 = 42;
    pub(crate) const POLICY_VIOLATION: i16 = 44;
    pub(crate) const STORAGE_ERROR: i16 = 56;
    pub(crate) const NON_EMPTY_GROUP: i16 = 68;
    pub(crate) const GROUP_NOT_FOUND: i16 = 69;
    pub(crate) const FETCH_SESSION_NOT_FOUND: i16 = 70;
    pub(crate) const LISTENER_NOT_FOUND: i16 = 72;
    pub(crate) const DELETION_DISABLED: i16 = 73;
    pub(crate) const FENCED_LEADER_EPOCH: i16 = 74;
    pub(crate) const UNKNOWN_LEADER_EPOCH: i16 = 76;
    pub(crate) const PREFERRED_LEADER_NOT_AVAILABLE: i16 = 80;
    pub(crate) const ELIGIBLE_LEADERS_NOT_AVAILABLE: i16 = 83;
    pub(crate) const ELECTION_NOT_NEEDED: i16 = 84;
    pub(crate) const NO_REASSIGNMENT_IN_PROGRESS: i16 = 85;
    pub(crate) const GROUP_SUBSCRIBED_TO_TOPIC: i16 = 86;
    pub(crate) const UNKNOWN_TOPIC_ID: i16 = 100;
    pub(crate) const TRANSACTIONAL_ID_NOT_FOUND: i16 = 105;
    pub(crate) const MISMATCHED_ENDPOINT_TYPE: i16 = 114;
    pub(crate) const UNSUPPORTED_ENDPOINT_TYPE: i16 = 115;
}

/// Text for the codec.
pub(crate) fn text(from: &str) -> KafkaString {
    KafkaString::from(from.to_owned())
}

/// A topic id for the codec.
pub(crate) fn uuid(id: [u8; 16]) -> KafkaUuid {
    let bits = u128::from_be_bytes(id);
    let half = |bits: u128| u64::try_from(bits & u128::from(u64::MAX)).unwrap_or(0);
    KafkaUuid::from_parts(half(bits >> 64), half(bits))
}

/// Kafka's words for an error code where it says nothing more particular (`Errors`).
pub(crate) fn words(code: i16) -> &'static str {
    match code {
        0 => "",
        _ => known_words(code).unwrap_or(UNEXPECTED),
    }
}

/// As [`words`], for the codec, and none where there are none here.
pub(crate) fn message(code: i16) -> Option<KafkaString> {
    known_words(code).map(KafkaString::from_static)
}

const UNEXPECTED: &str = "The server experienced an unexpected error when processing the request.";

fn known_words(code: i16) -> Option<&'static str> {
    Some(match code {
        code::UNEXPECTED => UNEXPECTED,
        code::UNKNOWN_TOPIC_OR_PARTITION => "This server does not host this topic-partition.",
        code::TIMED_OUT => "The request timed out.",
        code::COORDINATOR_NOT_AVAILABLE => "The coordinator is not available.",
        code::TOPIC_DENIED => "Topic authorization failed.",
        code::GROUP_DENIED => "Group authorization failed.",
        code::CLUSTER_DENIED => "Cluster authorization failed.",
        code::NOT_CONTROLLER => "This is not the correct controller for this cluster.",
        code::INVALID_REQUEST => {
            "This most likely occurs because of a request being malformed by the client library or the message was sent \
             to an incompatible broker. See the broker logs for more details."
        }
        code::PREFERRED_LEADER_NOT_AVAILABLE => "The preferred leader was not available.",
        code::ELIGIBLE_LEADERS_NOT_AVAILABLE => "Eligible topic partition leaders are not available.",
        code::ELECTION_NOT_NEEDED => "Leader election not needed for topic partition.",
        code::NO_REASSIGNMENT_IN_PROGRESS => "No partition reassignment is in progress.",
        code::UNKNOWN_TOPIC_ID => "This server does not host this topic ID.",
        _ => return None,
    })
}

/// A set of operations, one bit for each `AclOperation`.
const fn operations(of: &[u32]) -> i32 {
    let mut bits = 0;
    let mut at = 0;
    while at < of.len() {
        bits |= 1 << of[at];
        at += 1;
    }
    bits
}

/// What may be done with a topic: READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS.
pub(crate) const TOPIC_OPERATIONS: i32 = operations(&[3, 4, 5, 6, 7, 8, 10, 11]);

/// What may be done with the cluster: CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS,
/// IDEMPOTENT_WRITE. Nothing for whoever may not see it.
pub(crate) fn cluster_operations(world: &World) -> i32 {
    if world.acl().cluster_hidden { 0 } else { operations(&[5, 7, 8, 9, 10, 11, 12]) }
}

/// What may be done with a group: READ, DELETE, DESCRIBE; from 4.0 on also DESCRIBE_CONFIGS and ALTER_CONFIGS.
pub(crate) fn group_operations(release: crate::scenario::model::Release) -> i32 {
    if release >= crate::scenario::model::Release::V4_1 {
        operations(&[3, 6, 8, 10, 11])
    } else {
        operations(&[3, 6, 8])
    }
}
