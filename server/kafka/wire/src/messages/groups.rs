//! Listing and describing groups of every type.

use bytes::{Bytes, BytesMut};
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::list_groups_response::ListedGroup as WireListedGroup;
use kacrab_protocol::generated::{
    ConsumerGroupDescribeRequestData, ConsumerGroupDescribeResponseData, DescribeGroupsRequestData,
    DescribeGroupsResponseData, ListGroupsRequestData, ShareGroupDescribeRequestData, ShareGroupDescribeResponseData,
    StreamsGroupDescribeRequestData, StreamsGroupDescribeResponseData,
};

use super::{Decoded, Request, malformed, unwritable};
use crate::decode::{array_length, int16, int32, owned, tags, text, windowed};
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
}

fn member(member_id: &KafkaString, client_id: &KafkaString, host: &KafkaString) -> MemberDescription {
    MemberDescription { member_id: owned(member_id), client_id: owned(client_id), host: owned(host) }
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
                members: group
                    .members
                    .iter()
                    .map(|one| member(&one.member_id, &one.client_id, &one.client_host))
                    .collect(),
            })
            .collect();
        Ok(Decoded { answer: groups, throttle_ms: answer.throttle_time_ms })
    }
}

/// The three describe requests of the newer group types differ in their names only, as far as we read them.
macro_rules! describe_request {
    ($(#[$doc:meta])* $name:ident, $api:ident, $request:ident, $response:ident) => {
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
                        members: group
                            .members
                            .iter()
                            .map(|one| member(&one.member_id, &one.client_id, &one.client_host))
                            .collect(),
                    })
                    .collect();
                Ok(Decoded { answer: groups, throttle_ms: answer.throttle_time_ms })
            }
        }
    };
}

describe_request!(
    /// Asks a coordinator for a group of the new consumer protocol (KIP-848).
    ConsumerGroupDescribeRequest, ConsumerGroupDescribe, ConsumerGroupDescribeRequestData, ConsumerGroupDescribeResponseData
);
describe_request!(
    /// Asks a coordinator for a share group (KIP-932).
    ShareGroupDescribeRequest, ShareGroupDescribe, ShareGroupDescribeRequestData, ShareGroupDescribeResponseData
);
describe_request!(
    /// Asks a coordinator for a streams group (KIP-1071).
    StreamsGroupDescribeRequest, StreamsGroupDescribe, StreamsGroupDescribeRequestData, StreamsGroupDescribeResponseData
);
