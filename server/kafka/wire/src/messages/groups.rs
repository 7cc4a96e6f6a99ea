//! Listing and describing groups of every type.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::describe_groups_response::DescribedGroupMember;
use kacrab_protocol::generated::list_groups_response::ListedGroup as WireListedGroup;
use kacrab_protocol::generated::{
    ConsumerGroupDescribeRequestData, ConsumerGroupDescribeResponseData, DescribeGroupsRequestData,
    DescribeGroupsResponseData, ListGroupsRequestData, ShareGroupDescribeRequestData, ShareGroupDescribeResponseData,
    StreamsGroupDescribeRequestData, StreamsGroupDescribeResponseData, consumer_group_describe_response,
    share_group_describe_response, streams_group_describe_response,
};

use super::{Decoded, Request, malformed, unwritable};
use crate::decode::{array_length, int16, int32, nullable_string, owned, tags, text, windowed};
use crate::{Api, WireError};

/// Asks for all groups that the broker coordinates, of all states and types.
#[derive(Clone, Copy, Debug)]
pub struct ListGroupsRequest;

/// The groups of one broker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListGroupsAnswer {
    /// Error code.
    pub error: i16,
    /// The groups.
    pub groups: Vec<GroupEntry>,
}

/// One listed group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupEntry {
    /// Its id.
    pub id: String,
    /// Protocol type; empty for a simple consumer.
    pub protocol_type: String,
    /// State (version 4 on).
    pub state: Option<String>,
    /// Type (version 5 on).
    pub group_type: Option<String>,
}

/// A group's entry: four strings, two of them short, and tags.
const ENTRY_WINDOW: usize = 160 << 10;

impl Request for ListGroupsRequest {
    type Answer = ListGroupsAnswer;
    const API: Api = Api::ListGroups;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        ListGroupsRequestData::default().write(out, version).map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let compact = version >= 3;
        let throttle_ms = if version >= 1 { int32(body)? } else { 0 };
        let error = int16(body)?;
        let mut groups = Vec::new();
        for _ in 0..array_length(body, compact)?.unwrap_or(0) {
            let entry = windowed(body, ENTRY_WINDOW, |view| WireListedGroup::read(view, version))?;
            groups.push(GroupEntry {
                id: owned(&entry.group_id),
                protocol_type: owned(&entry.protocol_type),
                state: (version >= 4).then(|| owned(&entry.group_state)),
                group_type: (version >= 5).then(|| owned(&entry.group_type)),
            });
        }
        if compact {
            tags(body)?;
        }
        Ok(Decoded { answer: ListGroupsAnswer { error, groups }, throttle_ms })
    }
}

/// A described group, of whatever type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupDescription {
    /// Its id.
    pub id: String,
    /// Error code.
    pub error: i16,
    /// State, such as `Stable`; `Dead` if the coordinator does not know the group (below DescribeGroups version 6).
    pub state: String,
    /// Protocol type; empty where the request implies it.
    pub protocol_type: String,
    /// The assignor: the protocol that was chosen (classic, while Stable), or the server's (newer types but streams).
    pub assignor: String,
    /// The group's epoch, for the newer types. DescribeGroups does not tell a generation.
    pub epoch: Option<i32>,
    /// The epoch of its target assignment, for the newer types.
    pub assignment_epoch: Option<i32>,
    /// Its members.
    pub members: Vec<MemberDescription>,
}

/// A member of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberDescription {
    /// Member id.
    pub member_id: String,
    /// Client id.
    pub client_id: String,
    /// Host it connects from.
    pub host: String,
    /// `group.instance.id` of a static member (DescribeGroups version 4 on).
    pub instance_id: Option<String>,
    /// Its epoch, for the newer types.
    pub epoch: Option<i32>,
    /// Whether it speaks the classic protocol in a consumer group (ConsumerGroupDescribe version 1 on).
    pub classic: Option<bool>,
    /// Its partitions by topic (of a streams group: its active tasks by subtopology); `None` if what the broker holds
    /// cannot be read.
    pub assignment: Option<TopicPartitions>,
    /// The partitions that it should have, where told.
    pub target: Option<TopicPartitions>,
}

/// Partitions by topic, both in order.
pub type TopicPartitions = BTreeMap<String, Vec<i32>>;

/// What a leader of a classic consumer group assigned to a member (ConsumerProtocolAssignment.json). `None` if these bytes
/// are not that: brokers do not look into them.
fn assigned(mut bytes: Bytes) -> Option<TopicPartitions> {
    let body = &mut bytes;
    if int16(body).ok()? < 0 {
        return None;
    }
    let mut topics = TopicPartitions::new();
    for _ in 0..array_length(body, false).ok()?? {
        let topic = nullable_string(body, false).ok()??;
        let partitions = topics.entry(topic).or_default();
        for _ in 0..array_length(body, false).ok()?? {
            partitions.push(int32(body).ok().filter(|partition| *partition >= 0)?);
        }
        partitions.sort_unstable();
    }
    Some(topics)
}

fn by_name<'a>(topics: impl Iterator<Item = (&'a KafkaString, &'a Vec<i32>)>) -> TopicPartitions {
    let mut named = TopicPartitions::new();
    for (name, partitions) in topics {
        named.entry(owned(name)).or_default().extend(partitions);
    }
    for partitions in named.values_mut() {
        partitions.sort_unstable();
    }
    named
}

fn classic_member(protocol_type: &str, state: &str, one: &DescribedGroupMember) -> MemberDescription {
    let assignment = match (protocol_type, one.member_assignment.is_empty()) {
        // Told while the group is stable only; then nothing means none.
        ("consumer", true) => (state == "Stable").then(TopicPartitions::new),
        ("consumer", false) => assigned(one.member_assignment.clone()),
        _ => None,
    };
    MemberDescription {
        member_id: owned(&one.member_id),
        client_id: owned(&one.client_id),
        host: owned(&one.client_host),
        instance_id: one.group_instance_id.as_ref().map(owned),
        assignment,
        ..MemberDescription::default()
    }
}

fn consumer_member(version: i16, one: &consumer_group_describe_response::Member) -> MemberDescription {
    let named = |assignment: &consumer_group_describe_response::Assignment| {
        by_name(assignment.topic_partitions.iter().map(|topic| (&topic.topic_name, &topic.partitions)))
    };
    MemberDescription {
        member_id: owned(&one.member_id),
        client_id: owned(&one.client_id),
        host: owned(&one.client_host),
        instance_id: one.instance_id.as_ref().map(owned),
        epoch: Some(one.member_epoch),
        // -1 is not known, 0 classic, 1 of the new protocol.
        classic: (version >= 1 && one.member_type >= 0).then_some(one.member_type == 0),
        assignment: Some(named(&one.assignment)),
        target: Some(named(&one.target_assignment)),
    }
}

fn share_member(_version: i16, one: &share_group_describe_response::Member) -> MemberDescription {
    let topics = one.assignment.topic_partitions.iter().map(|topic| (&topic.topic_name, &topic.partitions));
    MemberDescription {
        member_id: owned(&one.member_id),
        client_id: owned(&one.client_id),
        host: owned(&one.client_host),
        epoch: Some(one.member_epoch),
        assignment: Some(by_name(topics)),
        ..MemberDescription::default()
    }
}

fn streams_member(_version: i16, one: &streams_group_describe_response::Member) -> MemberDescription {
    let active = |assignment: &streams_group_describe_response::Assignment| {
        by_name(assignment.active_tasks.iter().map(|task| (&task.subtopology_id, &task.partitions)))
    };
    MemberDescription {
        member_id: owned(&one.member_id),
        client_id: owned(&one.client_id),
        host: owned(&one.client_host),
        instance_id: one.instance_id.as_ref().map(owned),
        epoch: Some(one.member_epoch),
        classic: Some(one.is_classic),
        assignment: Some(active(&one.assignment)),
        target: Some(active(&one.target_assignment)),
    }
}

/// Asks a coordinator for groups (DescribeGroups). Describing a group that does not exist creates nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribeGroupsRequest {
    /// The group ids.
    pub groups: Vec<String>,
}

impl Request for DescribeGroupsRequest {
    type Answer = Vec<GroupDescription>;
    const API: Api = Api::DescribeGroups;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        let groups = self.groups.iter().map(|group| text(group)).collect::<Result<_, _>>()?;
        DescribeGroupsRequestData::default().with_groups(groups).write(out, version).map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let answer = DescribeGroupsResponseData::read(body, version).map_err(malformed)?;
        let groups = answer
            .groups
            .iter()
            .map(|group| GroupDescription {
                id: owned(&group.group_id),
                error: group.error_code,
                state: owned(&group.group_state),
                protocol_type: owned(&group.protocol_type),
                assignor: owned(&group.protocol_data),
                epoch: None,
                assignment_epoch: None,
                members: group
                    .members
                    .iter()
                    .map(|one| classic_member(group.protocol_type.as_str(), group.group_state.as_str(), one))
                    .collect(),
            })
            .collect();
        Ok(Decoded { answer: groups, throttle_ms: answer.throttle_time_ms })
    }
}

/// The three describe requests of the newer group types differ in their names only, as far as we read them.
macro_rules! describe_request {
    ($(#[$doc:meta])* $name:ident, $api:ident, $request:ident, $response:ident, $member:ident, $assignor:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            /// The group id. One per call: brokers answer twice for ids of several partitions in one request.
            pub group: String,
        }

        impl Request for $name {
            type Answer = Vec<GroupDescription>;
            const API: Api = Api::$api;

            fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
                $request::default().with_group_ids(vec![text(&self.group)?]).write(out, version).map_err(unwritable)
            }

            fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
                let answer = $response::read(body, version).map_err(malformed)?;
                let groups = answer
                    .groups
                    .iter()
                    .map(|group| GroupDescription {
                        id: owned(&group.group_id),
                        error: group.error_code,
                        state: owned(&group.group_state),
                        protocol_type: String::new(),
                        assignor: $assignor(group),
                        epoch: Some(group.group_epoch),
                        assignment_epoch: Some(group.assignment_epoch),
                        members: group.members.iter().map(|one| $member(version, one)).collect(),
                    })
                    .collect();
                Ok(Decoded { answer: groups, throttle_ms: answer.throttle_time_ms })
            }
        }
    };
}

describe_request!(
    /// Asks a coordinator for a group of the new consumer protocol (KIP-848).
    ConsumerGroupDescribeRequest, ConsumerGroupDescribe, ConsumerGroupDescribeRequestData,
    ConsumerGroupDescribeResponseData, consumer_member,
    |group: &consumer_group_describe_response::DescribedGroup| owned(&group.assignor_name)
);
describe_request!(
    /// Asks a coordinator for a share group (KIP-932).
    ShareGroupDescribeRequest, ShareGroupDescribe, ShareGroupDescribeRequestData, ShareGroupDescribeResponseData,
    share_member, |group: &share_group_describe_response::DescribedGroup| owned(&group.assignor_name)
);
describe_request!(
    /// Asks a coordinator for a streams group (KIP-1071).
    StreamsGroupDescribeRequest, StreamsGroupDescribe, StreamsGroupDescribeRequestData,
    StreamsGroupDescribeResponseData, streams_member,
    |_group: &streams_group_describe_response::DescribedGroup| String::new()
);

#[cfg(test)]
mod tests {
    use super::*;

    /// Version 1, `orders` with partitions 2 and 0, no user data.
    const ASSIGNMENT: &[u8] =
        b"\x00\x01\x00\x00\x00\x01\x00\x06orders\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x00\xff\xff\xff\xff";

    #[test]
    fn an_assignment_is_read_and_ordered() {
        let read = assigned(Bytes::from_static(ASSIGNMENT)).expect("an assignment");
        assert_eq!(read.into_iter().collect::<Vec<_>>(), [("orders".to_owned(), vec![0, 2])]);
        assert_eq!(assigned(Bytes::from_static(b"\0\0\0\0\0\0")), Some(TopicPartitions::new()));
    }

    #[test]
    fn other_bytes_are_not_one() {
        for end in 0..ASSIGNMENT.len() - 4 {
            assert_eq!(assigned(Bytes::from_static(&ASSIGNMENT[..end])), None, "{end} bytes");
        }
        for bytes in
            [&b"\0\x01\x7f\xff\xff\xff"[..], b"\xff\xff\0\0\0\0", b"{\"worker\": 1}", b"\0\x01\0\0\0\x01\xff\xff"]
        {
            assert_eq!(assigned(Bytes::from_static(bytes)), None, "{bytes:?}");
        }
        let connect = DescribedGroupMember { member_assignment: Bytes::from_static(ASSIGNMENT), ..Default::default() };
        assert_eq!(classic_member("connect", "Stable", &connect).assignment, None);
        assert!(classic_member("consumer", "Stable", &connect).assignment.is_some());
    }

    #[test]
    fn nothing_is_none_in_a_stable_group_only() {
        let member = DescribedGroupMember::default();
        assert_eq!(classic_member("consumer", "Stable", &member).assignment, Some(TopicPartitions::new()));
        assert_eq!(classic_member("consumer", "PreparingRebalance", &member).assignment, None);
    }
}
