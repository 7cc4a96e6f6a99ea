//! Classic groups with members that are really connected: who joined, which generation they agreed on, who was not heard
//! of for too long (`GroupCoordinator`, `GroupMetadataManager` of the new coordinator; both alike for classic groups).
//!
//! Members that only the scenario tells of ("residents") count as joined and as alive.

mod group;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

pub(super) use self::group::Membership;
use self::group::Phase;
use super::coordinator::LOADING;
use super::{Timer, World};
use crate::scenario::model::GroupType;

const UNKNOWN_MEMBER: i16 = 25;
const ILLEGAL_GENERATION: i16 = 22;
const INCONSISTENT_PROTOCOL: i16 = 23;
const INVALID_GROUP_ID: i16 = 24;
const INVALID_SESSION_TIMEOUT: i16 = 26;
const REBALANCE: i16 = 27;
const MEMBER_ID_REQUIRED: i16 = 79;
const FENCED_INSTANCE: i16 = 82;

/// How often members are looked after.
const WATCH_EVERY: Duration = Duration::from_secs(1);
/// What tells one request from another: its connection, and the number that it has there.
pub type Asking = (u64, i32);

/// A JoinGroup.
#[derive(Clone, Debug)]
pub struct Joining<'a> {
    /// The group.
    pub group: &'a str,
    /// The member's id; empty before it was given one.
    pub member_id: &'a str,
    /// The id of a static member.
    pub instance_id: Option<&'a str>,
    /// The client id.
    pub client_id: &'a str,
    /// The host that it comes from.
    pub host: &'a str,
    /// After how long without a sign of life it is taken out.
    pub session_timeout: Duration,
    /// How long others wait for it in a rebalance.
    pub rebalance_timeout: Duration,
    /// `consumer`, `connect`, …
    pub protocol_type: &'a str,
    /// What it offers, with its metadata, in its order of preference.
    pub protocols: Vec<(String, Bytes)>,
    /// Whether a member without an id must ask again with the one that it is given (KIP-394, from version 4 on).
    pub id_first: bool,
    /// Which request this is.
    pub asking: Asking,
}

/// What becomes of a JoinGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinOutcome {
    /// Others are awaited, for so long at most.
    Wait(Duration),
    /// A code, and the member id to go with it.
    Refused(i16, String),
    /// There is a generation.
    Joined(Joined),
}

/// A generation, as one of its members is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Its number.
    pub generation: i32,
    /// `consumer`, `connect`, …
    pub protocol_type: String,
    /// What was agreed on.
    pub protocol: String,
    /// The leader's member id.
    pub leader: String,
    /// The member's own id.
    pub member_id: String,
    /// For the leader: member id, instance id and metadata of each.
    pub members: Vec<(String, Option<String>, Bytes)>,
}

/// A SyncGroup.
#[derive(Clone, Debug)]
pub struct Syncing<'a> {
    /// The group.
    pub group: &'a str,
    /// The generation that the member is in.
    pub generation: i32,
    /// The member's id.
    pub member_id: &'a str,
    /// What the member believes was agreed on, if it says so.
    pub protocol: Option<&'a str>,
    /// From the leader: assignments by member id.
    pub assignments: Vec<(String, Bytes)>,
    /// How long it waits already.
    pub waited: Duration,
}

/// What becomes of a SyncGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncOutcome {
    /// The leader's assignments are awaited, or that they are written; for so long at most.
    Wait(Duration),
    /// A code.
    Refused(i16),
    /// Protocol type, protocol, and the member's assignment.
    Synced(String, String, Bytes),
}

impl World {
    /// A member joins, or asks again after it had to wait.
    pub fn join(&mut self, broker: i32, request: &Joining<'_>) -> JoinOutcome {
        let refused = |code: i16| JoinOutcome::Refused(code, request.member_id.to_owned());
        if request.group.is_empty() {
            return refused(INVALID_GROUP_ID);
        }
        let partition = match self.serves(broker, request.group) {
            Ok(partition) => partition,
            Err(code) => return refused(code),
        };
        let bound = |name: &str, default: u64| {
            let set = self.nodes.get(&broker).and_then(|node| node.number(name));
            Duration::from_millis(set.and_then(|number| u64::try_from(number).ok()).unwrap_or(default))
        };
        let (shortest, longest) =
            (bound("group.min.session.timeout.ms", 6000), bound("group.max.session.timeout.ms", 1_800_000));
        if !(shortest..=longest).contains(&request.session_timeout) {
            return refused(INVALID_SESSION_TIMEOUT);
        }
        let initial = bound("group.initial.rebalance.delay.ms", 3000);
        let now = self.now;
        self.look_after(broker, request.group);
        let logged = self.log(broker, partition).and_then(|log| log.get(request.group)).cloned();
        let other_type = logged.as_ref().is_some_and(|state| {
            !state.members.is_empty()
                && !matches!(state.r#type, GroupType::Classic | GroupType::Connect | GroupType::Simple)
        });
        if !self.memberships.contains_key(request.group) {
            if other_type {
                return refused(INCONSISTENT_PROTOCOL);
            }
            if logged.is_none() && !request.member_id.is_empty() {
                return refused(UNKNOWN_MEMBER);
            }
        }
        let seed = format!("{}/{}/{}", now.as_nanos(), self.lot, request.group);
        let fresh = format!("{}-{}", request.client_id, super::reassign::uuid_text(&seed));
        self.lot += 1;
        let group = self
            .memberships
            .entry(request.group.to_owned())
            .or_insert_with(|| Membership::of(partition, logged.as_deref()));
        let empty = group.members.is_empty() && group.residents.is_empty();
        if !empty && (group.protocol_type != request.protocol_type || !group.supports(&request.protocols)) {
            return refused(INCONSISTENT_PROTOCOL);
        }
        let id = match group.asked.get(&request.asking) {
            Some(id) => id.clone(),
            None if !request.member_id.is_empty() => request.member_id.to_owned(),
            None if request.id_first && request.instance_id.is_none() => {
                group.given.insert(fresh.clone(), now + request.session_timeout);
                self.watch_soon();
                return JoinOutcome::Refused(MEMBER_ID_REQUIRED, fresh);
            }
            None => {
                // A static member that comes back takes the place of its former self.
                if let Some(instance) = request.instance_id {
                    group.members.retain(|_, member| member.instance_id.as_deref() != Some(instance));
                    group.residents.retain(|member| member.instance_id.as_deref() != Some(instance));
                }
                group.given.insert(fresh.clone(), now + request.session_timeout);
                fresh
            }
        };
        if !group.members.contains_key(&id) && group.given.remove(&id).is_none() {
            return refused(UNKNOWN_MEMBER);
        }
        let waits = group.asked.contains_key(&request.asking);
        let same = group.members.get(&id).is_some_and(|member| member.protocols == request.protocols);
        let done = matches!(group.phase, Phase::Completing | Phase::Stable);
        let member = group.members.entry(id.clone()).or_default();
        member.heard = now;
        // It waited and there is a generation now, or it lost the answer and asks again without anything new.
        if done && (waits || (same && (group.phase == Phase::Completing || group.leader != id))) {
            group.asked.remove(&request.asking);
            return JoinOutcome::Joined(group.joined(&id));
        }
        member.client_id = request.client_id.to_owned();
        member.host = request.host.to_owned();
        member.instance_id = request.instance_id.map(str::to_owned);
        member.session = request.session_timeout;
        member.rebalance = request.rebalance_timeout;
        member.protocols.clone_from(&request.protocols);
        group.protocol_type = request.protocol_type.to_owned();
        match group.phase {
            Phase::Empty => group.prepare(now, initial),
            Phase::Completing | Phase::Stable => group.prepare(now, Duration::ZERO),
            Phase::Preparing { .. } => {}
        }
        if let Some(member) = group.members.get_mut(&id) {
            member.joined = true;
        }
        group.asked.insert(request.asking, id.clone());
        group.pass(now);
        let outcome = if matches!(group.phase, Phase::Preparing { .. }) {
            JoinOutcome::Wait(group.next_change().saturating_sub(now).max(Duration::from_millis(1)))
        } else {
            group.asked.remove(&request.asking);
            JoinOutcome::Joined(group.joined(&id))
        };
        self.record(broker, request.group);
        self.watch_soon();
        outcome
    }

    /// A member asks for its assignment; the leader brings all of them.
    pub fn sync(&mut self, broker: i32, request: &Syncing<'_>) -> SyncOutcome {
        let partition = match self.serves(broker, request.group) {
            Ok(partition) => partition,
            Err(code) => return SyncOutcome::Refused(code),
        };
        if let Err(code) = self.is_member(broker, request.group, request.member_id, None) {
            return SyncOutcome::Refused(code);
        }
        let refusal = self.refusal(broker, partition);
        let now = self.now;
        let Some(group) = self.memberships.get_mut(request.group) else { return SyncOutcome::Refused(UNKNOWN_MEMBER) };
        if let Some((generation, code)) = group.failed
            && generation == request.generation
        {
            return SyncOutcome::Refused(code);
        }
        if group.generation != request.generation {
            return SyncOutcome::Refused(ILLEGAL_GENERATION);
        }
        if request.protocol.is_some_and(|protocol| protocol != group.protocol) {
            return SyncOutcome::Refused(INCONSISTENT_PROTOCOL);
        }
        let next = group.next_change().saturating_sub(now).max(Duration::from_millis(100));
        match group.phase {
            Phase::Empty => return SyncOutcome::Refused(UNKNOWN_MEMBER),
            Phase::Preparing { .. } => return SyncOutcome::Refused(REBALANCE),
            Phase::Stable => {}
            Phase::Completing => {
                if let Some(member) = group.members.get_mut(request.member_id) {
                    member.heard = now;
                }
                if group.leader != request.member_id {
                    return SyncOutcome::Wait(next.min(Duration::from_secs(1)));
                }
                if let Some(refusal) = refusal {
                    if request.waited < refusal.after {
                        return SyncOutcome::Wait(refusal.after - request.waited);
                    }
                    group.failed = Some((group.generation, refusal.sync));
                    group.prepare(now, Duration::ZERO);
                    self.record(broker, request.group);
                    return SyncOutcome::Refused(refusal.sync);
                }
                for (id, assignment) in &request.assignments {
                    if let Some(member) = group.members.get_mut(id) {
                        member.assignment.clone_from(assignment);
                    }
                }
                group.phase = Phase::Stable;
                self.record(broker, request.group);
            }
        }
        let Some(group) = self.memberships.get(request.group) else { return SyncOutcome::Refused(UNKNOWN_MEMBER) };
        let assignment = group.members.get(request.member_id).map(|member| member.assignment.clone());
        SyncOutcome::Synced(group.protocol_type.clone(), group.protocol.clone(), assignment.unwrap_or_default())
    }

    /// A member says that it is there.
    ///
    /// # Errors
    /// 25 for somebody unknown, 22 in another generation, 27 while members join, and as [`serves`](Self::serves); while
    /// the coordinator loads all is well, unseen.
    pub fn heartbeat(
        &mut self,
        broker: i32,
        group: &str,
        generation: i32,
        member_id: &str,
        instance_id: Option<&str>,
    ) -> Result<(), i16> {
        match self.serves(broker, group) {
            Err(LOADING) => return Ok(()),
            served => served?,
        };
        self.is_member(broker, group, member_id, instance_id)?;
        let now = self.now;
        let membership = self.memberships.get_mut(group).ok_or(UNKNOWN_MEMBER)?;
        if membership.generation != generation {
            return Err(ILLEGAL_GENERATION);
        }
        if let Some(member) = membership.members.get_mut(member_id) {
            member.heard = now;
        }
        if matches!(membership.phase, Phase::Preparing { .. }) { Err(REBALANCE) } else { Ok(()) }
    }

    /// A member leaves, or is taken out: by its id, or by the id of a static member.
    ///
    /// # Errors
    /// 25 for somebody unknown, and as [`serves`](Self::serves).
    pub fn leave(&mut self, broker: i32, group: &str, member_id: &str, instance_id: Option<&str>) -> Result<(), i16> {
        let partition = self.serves(broker, group)?;
        self.look_after(broker, group);
        let logged = self.log(broker, partition).and_then(|log| log.get(group)).cloned().ok_or(UNKNOWN_MEMBER)?;
        let now = self.now;
        let membership =
            self.memberships.entry(group.to_owned()).or_insert_with(|| Membership::of(partition, Some(&logged)));
        let before = membership.members.len() + membership.residents.len();
        let meant = |id: &str, instance: Option<&str>| match instance_id {
            Some(wanted) => instance == Some(wanted) && (member_id.is_empty() || member_id == id),
            None => member_id == id,
        };
        let given = membership.given.remove(member_id).is_some();
        membership.members.retain(|id, member| !meant(id, member.instance_id.as_deref()));
        membership.residents.retain(|member| !meant(&member.member_id, member.instance_id.as_deref()));
        let left = membership.members.len() + membership.residents.len() < before;
        if !left && !given {
            return Err(UNKNOWN_MEMBER);
        }
        if left {
            membership.left(now);
        }
        membership.pass(now);
        self.record(broker, group);
        Ok(())
    }

    /// Whether a group takes a commit from somebody who says that he is this member in this generation; a negative
    /// generation says that he is none (a "simple" consumer, or a tool).
    ///
    /// # Errors
    /// 25, 22 or 27 (`GroupCoordinator.validateOffsetCommit`), and as [`serves`](Self::serves).
    pub fn may_commit(
        &mut self,
        broker: i32,
        group: &str,
        generation: i32,
        member_id: &str,
        instance_id: Option<&str>,
    ) -> Result<(), i16> {
        self.look_after(broker, group);
        let Some(state) = self.group(broker, group)?.cloned() else {
            return if generation < 0 { Ok(()) } else { Err(ILLEGAL_GENERATION) };
        };
        if generation < 0 && state.members.is_empty() {
            return Ok(());
        }
        self.is_member(broker, group, member_id, instance_id)?;
        let now = self.now;
        let membership = self.memberships.get_mut(group).ok_or(UNKNOWN_MEMBER)?;
        if membership.generation != generation {
            return Err(ILLEGAL_GENERATION);
        }
        if let Some(member) = membership.members.get_mut(member_id) {
            member.heard = now;
        }
        if membership.phase == Phase::Completing { Err(REBALANCE) } else { Ok(()) }
    }

    fn is_member(&mut self, broker: i32, group: &str, id: &str, instance: Option<&str>) -> Result<(), i16> {
        self.look_after(broker, group);
        let membership = self.memberships.get(group).ok_or(UNKNOWN_MEMBER)?;
        if let Some(instance) = instance
            && membership.members.iter().any(|(other, one)| one.instance_id.as_deref() == Some(instance) && other != id)
        {
            return Err(FENCED_INSTANCE);
        }
        if membership.members.contains_key(id) { Ok(()) } else { Err(UNKNOWN_MEMBER) }
    }

    /// Forgets members of a group that the log does not hold any more, and takes out who was not heard of.
    fn look_after(&mut self, broker: i32, group: &str) {
        let Some(membership) = self.memberships.get_mut(group) else { return };
        let lost =
            membership.recorded && !self.logs.get(&membership.partition).is_some_and(|log| log.contains_key(group));
        if lost {
            self.memberships.remove(group);
        } else if membership.pass(self.now) {
            self.record(broker, group);
        }
    }

    fn record(&mut self, broker: i32, group: &str) {
        let release = self.nodes.get(&broker).map_or_else(|| self.release(), |node| node.release);
        let Some(membership) = self.memberships.get_mut(group) else { return };
        if !membership.recorded && membership.members.is_empty() {
            return;
        }
        membership.recorded = true;
        let log = self.logs.entry(membership.partition).or_default();
        let state = membership.state(log.get(group).map(AsRef::as_ref), release);
        if log.get(group).is_none_or(|before| **before != state) {
            log.insert(group.to_owned(), Arc::new(state));
            self.changed();
        }
    }

    fn watch_soon(&mut self) {
        if !self.members_watched {
            self.members_watched = true;
            self.after(WATCH_EVERY, Timer::Members);
        }
    }

    /// Takes out members that were not heard of, in every group that a live broker serves.
    pub(super) fn watch_members(&mut self) {
        self.members_watched = false;
        let groups: Vec<(String, i32)> =
            self.memberships.iter().map(|(group, membership)| (group.clone(), membership.partition)).collect();
        for (group, partition) in groups {
            let server = self.brokers().find(|node| node.heard() && node.shards.contains_key(&partition));
            if let Some(broker) = server.map(|node| node.id) {
                self.look_after(broker, &group);
            }
        }
        self.memberships.retain(|_, one| !(one.members.is_empty() && one.given.is_empty()));
        if !self.memberships.is_empty() {
            self.watch_soon();
        }
    }
}
