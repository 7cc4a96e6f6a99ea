//! What members of a scenario's groups subscribe to and are assigned: the topics that their group commits offsets of,
//! their partitions spread over the members. Members that really joined say so themselves.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{BufMut, Bytes, BytesMut};
use unstuck_wire::schema::consumer_protocol_assignment::TopicPartition;
use unstuck_wire::schema::{ConsumerProtocolAssignmentData, ConsumerProtocolSubscriptionData};

use super::words::text;
use crate::scenario::model::GroupType;
use crate::world::{GroupState, World};

/// The version of the consumer protocol that is written: the first one, which each client reads.
const PROTOCOL: i16 = 0;

/// Topics that a group consumes, with all their partitions.
pub(super) fn consumed(world: &World, group: &GroupState) -> BTreeMap<String, Vec<i32>> {
    let names: BTreeSet<&String> = group.offsets.keys().map(|(topic, _)| topic).collect();
    let mut topics = BTreeMap::new();
    for name in names {
        let count = world.topics().get(name).map_or(0, |topic| topic.partitions.len());
        topics.insert(name.clone(), (0..).take(count).collect());
    }
    topics
}

/// The share of the member with this number: ranges, as the range assignor gives them.
pub(super) fn share(topics: &BTreeMap<String, Vec<i32>>, number: usize, members: usize) -> BTreeMap<String, Vec<i32>> {
    let mut share = BTreeMap::new();
    for (name, partitions) in topics {
        let members = members.max(1);
        let (each, more) = (partitions.len() / members, partitions.len() % members);
        let from = number * each + number.min(more);
        let to = from + each + usize::from(number < more);
        if let Some(own) = partitions.get(from..to).filter(|own| !own.is_empty()) {
            share.insert(name.clone(), own.to_vec());
        }
    }
    share
}

/// Subscription and assignment of a member, as the consumer protocol writes them. Connect's own protocol is not
/// imitated: empty.
pub(super) fn written(world: &World, group: &GroupState, number: usize) -> (Bytes, Bytes) {
    let Some(member) = group.members.get(number) else { return (Bytes::new(), Bytes::new()) };
    if !member.metadata.is_empty() || group.r#type != GroupType::Classic {
        return (member.metadata.clone(), member.assignment.clone());
    }
    let topics = consumed(world, group);
    let subscription =
        ConsumerProtocolSubscriptionData::default().with_topics(topics.keys().map(|name| text(name)).collect());
    let assigned = share(&topics, number, group.members.len())
        .into_iter()
        .map(|(name, partitions)| TopicPartition { topic: text(&name), partitions, ..TopicPartition::default() })
        .collect();
    let assignment = ConsumerProtocolAssignmentData::default().with_assigned_partitions(assigned);
    let mut metadata = BytesMut::new();
    metadata.put_i16(PROTOCOL);
    let mut own = BytesMut::new();
    own.put_i16(PROTOCOL);
    match (subscription.write(&mut metadata, PROTOCOL), assignment.write(&mut own, PROTOCOL)) {
        (Ok(()), Ok(())) => (metadata.freeze(), own.freeze()),
        // Names that do not fit the protocol.
        _ => (Bytes::new(), Bytes::new()),
    }
}
