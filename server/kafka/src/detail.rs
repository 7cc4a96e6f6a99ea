//! Members and committed offsets of one group, fetched when somebody looks at it, on connections of their own.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::{Instant, timeout_at};
use unstuck_diagnosis::lookup::{CommittedOffset, GroupDetail, GroupMember, MEMBERS_CAP, OFFSETS_CAP};
use unstuck_diagnosis::snapshot::{Why, error_name};
use unstuck_diagnosis::{BrokerId, GroupId};
use unstuck_wire::messages::groups::{
    ConsumerGroupDescribeRequest, DescribeGroupsRequest, GroupDescription, ShareGroupDescribeRequest,
    StreamsGroupDescribeRequest,
};
use unstuck_wire::messages::metadata::{Keep, MetadataAnswer, MetadataRequest, Topics};
use unstuck_wire::messages::offsets::{ListOffsetsRequest, OffsetFetchRequest, PartitionOffset};
use unstuck_wire::{Api, Connection, Dial, Request, WireError};

use crate::probe::{CLIENT_ID, NAMES_SAFELY};
use crate::shared::Shared;
use crate::why::why;

/// Why the details of a group could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetailError {
    /// Nobody told the coordinator's address.
    #[error("nobody tells the address of broker {0}")]
    NoAddress(BrokerId),
    /// The coordinator did not answer.
    #[error("broker {broker}: {why}")]
    Broker {
        /// The coordinator.
        broker: BrokerId,
        /// What it did instead.
        why: Why,
    },
    /// The coordinator refused, with this code.
    #[error("broker {broker} answered error {code} ({})", error_name(*code))]
    Code {
        /// The coordinator.
        broker: BrokerId,
        /// The error code.
        code: i16,
    },
}

/// The code for "no such group" (DescribeGroups version 6 on, and the newer describe requests).
const GROUP_ID_NOT_FOUND: i16 = 69;

/// A connection with the time that is left for everything.
struct Timed {
    connection: Connection,
    until: Instant,
}

impl Timed {
    async fn open(dialer: &dyn Dial, address: &str, until: Instant) -> Result<Self, WireError> {
        let left = || until.saturating_duration_since(Instant::now());
        let mut connection = Connection::connect_by(dialer, address, CLIENT_ID, left()).await?;
        connection.handshake(left()).await?;
        Ok(Self { connection, until })
    }

    async fn call<R: Request>(&mut self, request: &R) -> Result<R::Answer, WireError> {
        let left = self.until.saturating_duration_since(Instant::now());
        // A throttling broker may take longer than what is left: then that is the answer.
        match timeout_at(self.until, self.connection.call(request, left)).await {
            Ok(answered) => Ok(answered?.answer),
            Err(_) => Err(WireError::Silent),
        }
    }
}

/// Asks the coordinator for a group, and the leaders of its partitions for the ends of their logs.
pub(crate) async fn fetch(
    shared: &Shared,
    group: &GroupId,
    coordinator: BrokerId,
    deadline: Duration,
) -> Result<GroupDetail, DetailError> {
    let until = Instant::now() + deadline;
    let address = shared.address(coordinator).ok_or(DetailError::NoAddress(coordinator))?;
    let failed = |error: WireError| DetailError::Broker { broker: coordinator, why: why(&error) };
    let mut asked = Timed::open(shared.surroundings.dialer.as_ref(), &address, until).await.map_err(failed)?;
    let listed = shared.listed_type(group);
    let (group_type, description) = describe(&mut asked, group, listed.as_deref()).await.map_err(failed)?;
    if description.error != 0 && description.error != GROUP_ID_NOT_FOUND {
        return Err(DetailError::Code { broker: coordinator, code: description.error });
    }
    let known = description.error == 0 && description.state != "Dead";
    let (offsets, committed_count) = match offsets(shared, &mut asked, group, until).await {
        Ok((offsets, count)) => (Ok(offsets), count),
        Err(text) => (Err(text), 0),
    };
    Ok(GroupDetail {
        at: shared.now(),
        answered_by: coordinator,
        group_type: known.then_some(group_type).or(listed),
        state: known.then_some(description.state),
        member_count: description.members.len(),
        members: description
            .members
            .into_iter()
            .take(MEMBERS_CAP)
            .map(|member| GroupMember { member_id: member.member_id, client_id: member.client_id, host: member.host })
            .collect(),
        offsets,
        committed_count,
    })
}

/// The group as one of the four describe requests knows it, and its type. A group of a newer type looks dead to
/// DescribeGroups, so the others are asked in turn, the listed type first.
async fn describe(
    asked: &mut Timed,
    group: &GroupId,
    listed: Option<&str>,
) -> Result<(String, GroupDescription), WireError> {
    let id = group.0.clone();
    let mut types = vec!["classic", "consumer", "share", "streams"];
    if let Some(at) = types.iter().position(|one| Some(*one) == listed) {
        types[..=at].rotate_right(1);
    }
    let mut classic = None;
    for kind in types {
        let answer = match kind {
            "consumer" => asked.call(&ConsumerGroupDescribeRequest { group: id.clone() }).await,
            "share" => asked.call(&ShareGroupDescribeRequest { group: id.clone() }).await,
            "streams" => asked.call(&StreamsGroupDescribeRequest { group: id.clone() }).await,
            _ => asked.call(&DescribeGroupsRequest { groups: vec![id.clone()] }).await,
        };
        let described = match answer {
            Ok(groups) => groups.into_iter().find(|one| one.id == id),
            // Not a type that this release has.
            Err(WireError::TooOld(_)) => None,
            Err(error) => return Err(error),
        };
        let Some(description) = described else { continue };
        let found = description.error == 0 && description.state != "Dead";
        if found {
            return Ok((kind.to_owned(), description));
        }
        if kind == "classic" {
            classic = Some(description);
        }
    }
    let description = classic
        .ok_or_else(|| WireError::Malformed("DescribeGroups answered for another group than was asked".to_owned()))?;
    Ok(("classic".to_owned(), description))
}

/// Committed offsets with the ends of the logs, as far as they could be had in time, and how many there are in all.
async fn offsets(
    shared: &Shared,
    asked: &mut Timed,
    group: &GroupId,
    until: Instant,
) -> Result<(Vec<CommittedOffset>, usize), String> {
    let fetched =
        asked.call(&OffsetFetchRequest { group: group.0.clone() }).await.map_err(|error| why(&error).to_string())?;
    if fetched.error != 0 && fetched.error != GROUP_ID_NOT_FOUND {
        return Err(format!("answered error {} ({})", fetched.error, error_name(fetched.error)));
    }
    let mut committed: BTreeMap<(String, i32), i64> = fetched
        .offsets
        .into_iter()
        .filter(|one| one.error == 0 && one.offset >= 0)
        .map(|one| ((one.topic, one.partition), one.offset))
        .collect();
    let count = committed.len();
    if let Some(beyond) = committed.keys().nth(OFFSETS_CAP).cloned() {
        committed.split_off(&beyond);
    }
    let ends = ends(shared, asked, committed.keys(), until).await;
    let offsets = committed
        .into_iter()
        .map(|((topic, partition), committed)| {
            let end = ends.get(&(topic.clone(), partition)).copied();
            let lag = end.map(|end| (end - committed).max(0));
            CommittedOffset { topic, partition, committed, end, lag }
        })
        .collect();
    Ok((offsets, count))
}

/// The ends of logs, from the partitions' leaders, all asked at once. What no leader told in time is left out.
async fn ends(
    shared: &Shared,
    asked: &mut Timed,
    partitions: impl Iterator<Item = &(String, i32)> + Clone,
    until: Instant,
) -> BTreeMap<(String, i32), i64> {
    let mut names: Vec<String> = partitions.clone().map(|(topic, _)| topic.clone()).collect();
    names.dedup();
    if names.is_empty() {
        return BTreeMap::new();
    }
    let safe = asked.connection.version(Api::Metadata).is_some_and(|version| version >= NAMES_SAFELY);
    let topics = if safe { Topics::Named(names.clone()) } else { Topics::All };
    let Ok(metadata) =
        asked.call(&MetadataRequest { topics, keep: Keep::Named(names), cluster_operations: false }).await
    else {
        return BTreeMap::new();
    };
    let answers = join_all(by_leader(&metadata, partitions).into_iter().map(|(leader, topics)| {
        let told = metadata.brokers.get(&leader).map(|broker| broker.address.clone());
        let address = shared.address(leader).or(told);
        async move {
            let mut asked = Timed::open(shared.surroundings.dialer.as_ref(), &address?, until).await.ok()?;
            asked.call(&ListOffsetsRequest { topics }).await.ok()
        }
    }))
    .await;
    answers
        .into_iter()
        .flatten()
        .flatten()
        .filter(|one: &PartitionOffset| one.error == 0 && one.offset >= 0)
        .map(|one| ((one.topic, one.partition), one.offset))
        .collect()
}

type Wanted = Vec<(String, Vec<i32>)>;

fn by_leader<'a>(
    metadata: &MetadataAnswer,
    partitions: impl Iterator<Item = &'a (String, i32)>,
) -> BTreeMap<BrokerId, Wanted> {
    let mut leaders: BTreeMap<BrokerId, BTreeMap<String, Vec<i32>>> = BTreeMap::new();
    for (topic, partition) in partitions {
        let leader = metadata.topics.get(topic).and_then(|told| told.partitions.get(partition)?.leader);
        if let Some(leader) = leader {
            leaders.entry(leader).or_default().entry(topic.clone()).or_default().push(*partition);
        }
    }
    leaders.into_iter().map(|(leader, topics)| (leader, topics.into_iter().collect())).collect()
}
