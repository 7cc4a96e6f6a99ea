//! Members and committed offsets of one group, fetched when somebody looks at it, on connections of their own.

mod offsets;
pub(crate) mod transaction;

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use unstuck_diagnosis::lookup::{Assigned, GroupDetail, GroupMember, MEMBERS_CAP};
use unstuck_diagnosis::snapshot::{Why, error_name};
use unstuck_diagnosis::{BrokerId, GroupId};
use unstuck_wire::messages::groups::{
    ConsumerGroupDescribeRequest, DescribeGroupsRequest, GroupDescription, MemberDescription,
    ShareGroupDescribeRequest, StreamsGroupDescribeRequest, TopicPartitions,
};
use unstuck_wire::{Connection, Request, WireError};

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
    async fn open(shared: &Shared, broker: BrokerId, address: &str, until: Instant) -> Result<Self, WireError> {
        let left = || until.saturating_duration_since(Instant::now());
        let opened = async {
            let mut connection = shared.connect_broker(broker, address, left()).await?;
            connection.handshake(left()).await?;
            Ok(Self { connection, until })
        };
        // A login takes several rounds, and may wait for another one.
        timeout_at(until, opened).await.unwrap_or(Err(WireError::Silent))
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
    let mut asked = Timed::open(shared, coordinator, &address, until).await.map_err(failed)?;
    let listed = shared.listed_type(group);
    let (group_type, description) = describe(&mut asked, group, listed.as_deref()).await.map_err(failed)?;
    if description.error != 0 && description.error != GROUP_ID_NOT_FOUND {
        return Err(DetailError::Code { broker: coordinator, code: description.error });
    }
    let known = description.error == 0 && description.state != "Dead";
    let mut detail = inside(&description);
    (detail.at, detail.answered_by) = (shared.now(), coordinator);
    detail.state = known.then_some(description.state);
    detail.group_type = known.then_some(group_type).or(listed);
    // Of a streams group subtopologies are told instead of topics, and a share group commits no offsets.
    let assigned = match detail.group_type.as_deref() {
        Some("share" | "streams") => Vec::new(),
        _ => assigned(&description.members),
    };
    match offsets::fetch(shared, &mut asked, group, assigned, until).await {
        Ok(fetched) => {
            detail.offsets = Ok(fetched.offsets);
            detail.committed_count = fetched.committed_count;
            detail.uncommitted = fetched.uncommitted;
        }
        Err(text) => detail.offsets = Err(text),
    }
    Ok(detail)
}

/// What the description says about the group and its members.
fn inside(description: &GroupDescription) -> GroupDetail {
    let counts: Option<Vec<usize>> = description
        .members
        .iter()
        .map(|member| Some(member.assignment.as_ref()?.values().map(Vec::len).sum()))
        .collect();
    let mut members: Vec<GroupMember> = description.members.iter().map(member).collect();
    members.sort_by_key(|member| !member.behind(description.epoch));
    members.truncate(MEMBERS_CAP);
    let told = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    GroupDetail {
        protocol_type: told(&description.protocol_type),
        assignor: told(&description.assignor),
        group_epoch: description.epoch,
        assignment_epoch: description.assignment_epoch,
        member_count: description.members.len(),
        members,
        idle_members: counts.as_ref().map(|counts| counts.iter().filter(|count| **count == 0).count()),
        assigned_partitions: counts.map(|counts| counts.iter().sum()),
        ..GroupDetail::default()
    }
}

fn member(told: &MemberDescription) -> GroupMember {
    let listed = |topics: &TopicPartitions| {
        topics
            .iter()
            .map(|(topic, partitions)| Assigned { topic: topic.clone(), partitions: partitions.clone() })
            .collect()
    };
    GroupMember {
        member_id: told.member_id.clone(),
        client_id: told.client_id.clone(),
        host: told.host.clone(),
        instance_id: told.instance_id.clone(),
        epoch: told.epoch,
        classic: told.classic,
        assignment: told.assignment.as_ref().map(listed),
        target: told.target.as_ref().map(listed),
    }
}

/// Every partition that some member has.
fn assigned(members: &[MemberDescription]) -> Vec<(String, i32)> {
    let all = members.iter().flat_map(|member| member.assignment.iter().flatten());
    all.flat_map(|(topic, partitions)| partitions.iter().map(|partition| (topic.clone(), *partition))).collect()
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
