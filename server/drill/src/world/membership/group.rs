//! One classic group with real members: what its coordinator remembers of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::{Asking, Joined};
use crate::scenario::model::{GroupType, Release};
use crate::world::{GroupState, MemberState};

/// The subscription of a member that the scenario only tells of: version 0, no topics, no user data. A leader's assignor
/// can read it, and gives it nothing.
const RESIDENT: &[u8] = &[0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];

/// A group with members that are really connected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Membership {
    /// The partition of the offsets topic.
    pub(super) partition: i32,
    pub(super) phase: Phase,
    pub(super) generation: i32,
    pub(super) protocol_type: String,
    pub(super) protocol: String,
    pub(super) leader: String,
    pub(super) members: BTreeMap<String, Member>,
    pub(super) residents: Vec<MemberState>,
    /// Ids that were given out and not used yet, and until when they can be.
    pub(super) given: BTreeMap<String, Duration>,
    /// Joins that wait, and whose they are.
    pub(super) asked: BTreeMap<Asking, String>,
    /// The generation whose assignments could not be written, and what its members are told.
    pub(super) failed: Option<(i32, i16)>,
    /// Whether the group stands in the log: if it does not any more, its members are forgotten.
    pub(super) recorded: bool,
}

/// Where a group is between two generations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Empty,
    /// Members join, until all are there (but not before `from`) or it is too late.
    Preparing {
        from: Duration,
        until: Duration,
    },
    /// The leader's assignments are awaited.
    Completing,
    Stable,
}

/// A member that is really connected.
#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    pub(super) client_id: String,
    pub(super) host: String,
    pub(super) instance_id: Option<String>,
    pub(super) session: Duration,
    pub(super) rebalance: Duration,
    pub(super) heard: Duration,
    pub(super) protocols: Vec<(String, Bytes)>,
    /// Whether it has joined in the rebalance that is going on.
    pub(super) joined: bool,
    pub(super) assignment: Bytes,
}

impl Membership {
    pub(super) fn of(partition: i32, state: Option<&GroupState>) -> Self {
        let Some(state) = state else { return Self { partition, ..Self::default() } };
        let residents: Vec<MemberState> = state
            .members
            .iter()
            .enumerate()
            .map(|(number, member)| MemberState { member_id: state.member_id(number), ..member.clone() })
            .collect();
        Self {
            partition,
            phase: if residents.is_empty() { Phase::Empty } else { Phase::Stable },
            generation: state.generation,
            protocol_type: if residents.is_empty() { String::new() } else { state.protocol_type().to_owned() },
            protocol: state.protocol.clone(),
            residents,
            recorded: true,
            ..Self::default()
        }
    }

    pub(super) fn prepare(&mut self, now: Duration, initial: Duration) {
        let slowest = self.members.values().map(|member| member.rebalance).max().unwrap_or_default();
        self.phase = Phase::Preparing { from: now + initial, until: now + slowest.max(initial) };
        for member in self.members.values_mut() {
            member.joined = false;
        }
    }

    /// When a rebalance that is going on changes by itself at the latest.
    pub(super) fn next_change(&self) -> Duration {
        let Phase::Preparing { from, until } = self.phase else {
            return self.members.values().map(|member| member.heard + member.session).min().unwrap_or_default();
        };
        if self.complete() {
            return from;
        }
        let silent = self.members.values().filter(|one| !one.joined).map(|one| one.heard + one.session);
        silent.chain(self.given.values().copied()).chain([until]).min().unwrap_or(until)
    }

    fn complete(&self) -> bool {
        self.given.is_empty() && self.members.values().all(|member| member.joined)
    }

    /// Takes out who was not heard of, and ends a rebalance whose time has come. Tells whether anything changed.
    pub(super) fn pass(&mut self, now: Duration) -> bool {
        let preparing = matches!(self.phase, Phase::Preparing { .. });
        self.given.retain(|_, until| *until > now);
        let before = self.members.len();
        self.members.retain(|_, member| (preparing && member.joined) || member.heard + member.session > now);
        let mut changed = self.members.len() < before;
        if changed && !preparing {
            self.left(now);
        }
        if let Phase::Preparing { from, until } = self.phase
            && ((now >= from && self.complete()) || now >= until)
        {
            self.next_generation(now);
            changed = true;
        }
        changed
    }

    /// Somebody left, in whatever way.
    pub(super) fn left(&mut self, now: Duration) {
        if self.members.is_empty() {
            self.next_generation(now);
        } else if !matches!(self.phase, Phase::Preparing { .. }) {
            self.prepare(now, Duration::ZERO);
        }
    }

    fn next_generation(&mut self, now: Duration) {
        self.members.retain(|_, member| member.joined);
        self.asked.retain(|_, id| self.members.contains_key(id));
        self.generation += 1;
        self.failed = None;
        if self.members.is_empty() {
            self.leader.clear();
            self.phase = if self.residents.is_empty() { Phase::Empty } else { Phase::Stable };
            if self.residents.is_empty() {
                self.protocol.clear();
            }
            return;
        }
        if !self.members.contains_key(&self.leader) {
            self.leader = self.members.keys().next().cloned().unwrap_or_default();
        }
        self.protocol = self.agreed().unwrap_or_default();
        self.phase = Phase::Completing;
        for member in self.members.values_mut() {
            member.heard = now;
            member.assignment = Bytes::new();
        }
    }

    /// The protocol that each member offers and most prefer.
    fn agreed(&self) -> Option<String> {
        let common = |name: &str| self.members.values().all(|one| one.protocols.iter().any(|(other, _)| other == name));
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        for member in self.members.values() {
            if let Some((name, _)) = member.protocols.iter().find(|(name, _)| common(name)) {
                *votes.entry(name).or_default() += 1;
            }
        }
        votes.into_iter().max_by_key(|(_, count)| *count).map(|(name, _)| name.to_owned())
    }

    pub(super) fn joined(&self, id: &str) -> Joined {
        let metadata = |member: &Member| {
            let own = member.protocols.iter().find(|(name, _)| *name == self.protocol);
            own.map(|(_, metadata)| metadata.clone()).unwrap_or_default()
        };
        let members = if id == self.leader {
            let residents = self.residents.iter().map(|one| {
                let metadata =
                    if one.metadata.is_empty() { Bytes::from_static(RESIDENT) } else { one.metadata.clone() };
                (one.member_id.clone(), one.instance_id.clone(), metadata)
            });
            let real = self.members.iter().map(|(id, one)| (id.clone(), one.instance_id.clone(), metadata(one)));
            residents.chain(real).collect()
        } else {
            Vec::new()
        };
        Joined {
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            member_id: id.to_owned(),
            members,
        }
    }

    /// How the group stands in the log, on top of what the log holds of it.
    pub(super) fn state(&self, before: Option<&GroupState>, release: Release) -> GroupState {
        let real = self.members.iter().map(|(id, member)| MemberState {
            member_id: id.clone(),
            client_id: member.client_id.clone(),
            host: member.host.clone(),
            instance_id: member.instance_id.clone(),
            metadata: member
                .protocols
                .iter()
                .find(|(name, _)| *name == self.protocol)
                .map(|(_, metadata)| metadata.clone())
                .unwrap_or_default(),
            assignment: member.assignment.clone(),
        });
        let state = match self.phase {
            Phase::Empty => "Empty",
            Phase::Preparing { .. } => "PreparingRebalance",
            Phase::Completing if release < Release::V2_3 => "AwaitingSync",
            Phase::Completing => "CompletingRebalance",
            Phase::Stable => "Stable",
        };
        GroupState {
            r#type: if self.protocol_type == "connect" { GroupType::Connect } else { GroupType::Classic },
            state: state.to_owned(),
            generation: self.generation,
            protocol: if self.phase == Phase::Stable { self.protocol.clone() } else { String::new() },
            members: Arc::new(self.residents.iter().cloned().chain(real).collect()),
            offsets: before.map(|state| Arc::clone(&state.offsets)).unwrap_or_default(),
        }
    }

    /// Whether a member offers something that all others offer too.
    pub(super) fn supports(&self, protocols: &[(String, Bytes)]) -> bool {
        let offers = |member: &Member, name: &str| member.protocols.iter().any(|(other, _)| other == name);
        self.members.is_empty()
            || protocols.iter().any(|(name, _)| self.members.values().all(|member| offers(member, name)))
    }
}
