//! Groups, as partitions of the offsets topic hold them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::scenario::model::GroupType;

/// What one offsets partition holds: its groups, by id.
pub type OffsetsLog = BTreeMap<String, Arc<GroupState>>;

/// A group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupState {
    /// Its type.
    pub r#type: GroupType,
    /// Its state, as Kafka names it.
    pub state: String,
    /// Goes up with each rebalance (`generation` of classic groups, the group epoch of the others).
    pub generation: i32,
    /// The assignor or protocol that its members agreed on.
    pub protocol: String,
    /// Members, shared between groups that are alike.
    pub members: Arc<Vec<MemberState>>,
    /// Committed offsets by topic and partition, shared likewise.
    pub offsets: Arc<BTreeMap<(String, i32), i64>>,
}

/// A member of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberState {
    /// The id that the coordinator gave it. Empty for members from the scenario: see [`GroupState::member_id`].
    pub member_id: String,
    /// Its client id.
    pub client_id: String,
    /// The host that it connects from.
    pub host: String,
    /// The id of a static member.
    pub instance_id: Option<String>,
    /// Its subscription or metadata, in the layout of its protocol.
    pub metadata: bytes::Bytes,
    /// Its assignment, likewise.
    pub assignment: bytes::Bytes,
}

impl GroupState {
    /// Kafka's protocol type.
    #[must_use]
    pub fn protocol_type(&self) -> &'static str {
        match self.r#type {
            GroupType::Classic | GroupType::Consumer => "consumer",
            GroupType::Connect => "connect",
            GroupType::Share => "share",
            GroupType::Streams => "streams",
            GroupType::Simple => "",
        }
    }

    /// The id of its member with this number: given by the coordinator, or made from client id and number as Kafka
    /// makes one from client id and a random UUID.
    #[must_use]
    pub fn member_id(&self, number: usize) -> String {
        match self.members.get(number) {
            Some(member) if member.member_id.is_empty() => {
                format!("{}-00000000-0000-4000-8000-{number:012x}", member.client_id)
            }
            Some(member) => member.member_id.clone(),
            None => String::new(),
        }
    }
}
