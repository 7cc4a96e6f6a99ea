//! The verdict on one offsets partition: which evidence allows which word.
//!
//! One function per step, in the order in which causes shadow one another: no view, no leader, leader not answering,
//! brokers disagreeing, the coordinator's own answer, the ISR, the controller. The first step that finds something
//! decides. Findings group partitions by the [`Cause`] found here, so verdict and explanation cannot differ.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::facts::{Controller, Facts, PartitionFacts, release};
use crate::memory::PartitionMemory;
use crate::placement_proof::count_used_by;
use crate::report::{Bound, BrokerState, PlacementProof, Shard, Status};
use crate::snapshot::{Canary, Why};
use crate::time::{after, millis_between};
use crate::{BrokerId, PartitionId};

/// How long the true leader may say "not coordinator" before that is evidence of a failed load
/// (during rolling restarts it does so for 0.1–0.2 s; a queue of loading partitions can take long).
const NOT_SERVED_MS: i64 = 60_000;
/// How old a coordinator's answer may be: it is asked for every 15 s.
const CANARY_AGE_MS: i64 = 45_000;
/// How long loading may take before that is more than a large partition.
const LOADING_MS: i64 = 600_000;
/// How long brokers may disagree on a leader before that is more than news on its way.
const DISAGREE_MS: i64 = 10_000;
/// How soon a coordinator should have answered for a partition that it has just come to lead.
const FIRST_CANARY_MS: i64 = 10_000;

/// The verdict on one offsets partition.
#[derive(Clone, Debug)]
pub(crate) struct PartitionVerdict {
    pub(crate) status: Status,
    pub(crate) cause: Cause,
    /// By when `recovering` should be over.
    pub(crate) expected_by: Option<Bound>,
    pub(crate) shard: Shard,
    pub(crate) served_by: Vec<BrokerId>,
    pub(crate) writes_verified: bool,
}

/// Why a partition is the way it is. Ordered, so that findings come out in a stable order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// Everything that was looked at is well.
    None,
    /// No broker can be reached from here at all, and none of them refused: it may be our own network.
    NobodyReachable,
    /// No leader, and no live replica that may become one. `eligible`: who could (ISR, or ELR while the ISR is empty).
    NoLeaderNoCandidate { eligible: Vec<BrokerId> },
    /// No leader although these eligible replicas live. `isr_hidden`: an old broker hides the ISR, so "possibly".
    NoLeaderCandidate { candidates: Vec<BrokerId>, isr_hidden: bool },
    /// No leader; the broker of an eligible replica answers, but the cluster does not list it as live yet.
    CandidateRejoining { candidates: Vec<BrokerId> },
    /// The leader's broker is gone (hard evidence); `successors` may be elected.
    LeaderGone { leader: BrokerId, successors: Vec<BrokerId> },
    /// The leader's broker is gone, and too few replicas remain for commits even after an election.
    LeaderGoneTooFewLeft { leader: BrokerId, successors: Vec<BrokerId> },
    /// The leader's broker accepts connections, and answers nothing.
    LeaderHung { leader: BrokerId },
    /// The leader's broker cannot be reached from here, though the cluster holds it for live.
    LeaderNotReachable { leader: BrokerId },
    /// The leader's broker has not been tried yet.
    NotLookedYet,
    /// The brokers that answer disagree on the leader.
    Disagreement,
    /// The coordinator is loading the partition.
    Loading { leader: BrokerId },
    /// The leader's broker answers, its coordinator does not.
    CoordinatorSilent { leader: BrokerId },
    /// The leader says that it does not serve the partition; `failed` once that lasted.
    NotServed { leader: BrokerId, code: i16, failed: bool },
    /// Leadership has just changed, or looking has just begun: the coordinator's answer is not there yet.
    AwaitingCoordinator { leader: BrokerId, first_look: bool },
    /// We are not permitted to ask the coordinator.
    Denied { leader: BrokerId },
    /// Brokers use another partition count: no group maps here for them.
    NotUsed { leader: BrokerId, count: i32 },
    /// The coordinator answered with an unexpected code.
    OddAnswer { leader: BrokerId, code: i16 },
    /// An ISR member is gone: commits wait until the leader may drop it.
    CommitsWait { members: Vec<BrokerId> },
    /// Too few in-sync replicas: commits are refused. `joining`: live replicas that may catch up.
    BelowMinIsr { live: usize, min: usize, joining: Vec<BrokerId> },
    /// An ISR member is gone and nobody can shrink the ISR: commits wait for ever.
    CommitsBlocked { members: Vec<BrokerId> },
    /// All well, but there is no controller to repair the next failure.
    NoController,
    /// All well, but it depends on one broker: RF 1, or ISR at min ISR.
    DependsOn { brokers: Vec<BrokerId> },
}

/// The verdict on `partition`.
pub(crate) fn judge(
    facts: &Facts<'_>,
    proof: &PlacementProof,
    partition: PartitionId,
    seen: &PartitionFacts<'_>,
) -> PartitionVerdict {
    let memory = facts.memory.partitions.get(&partition).cloned().unwrap_or_default();
    let step = Step { facts, proof, partition, seen, memory };
    let mut verdict = step.no_network().or_else(|| step.no_leader()).or_else(|| step.leader_not_answering());
    if verdict.is_none() {
        verdict = step.disagreement().or_else(|| step.coordinator()).or_else(|| step.isr());
    }
    let mut verdict = verdict.unwrap_or_else(|| step.working());
    verdict.served_by = step.served_by();
    if verdict.shard == Shard::Unknown {
        let leader = seen.newest.leader.filter(|leader| facts.answering.contains(leader));
        verdict.shard = leader.map_or(Shard::Unknown, |leader| step.shard_at(leader));
    }
    verdict
}

/// What a broker said as coordinator of a partition, as one word.
pub(crate) fn shard_word(canary: &Canary) -> Shard {
    match canary.code {
        0 | 69 => Shard::Serving,
        14 => Shard::Loading,
        15 | 16 => Shard::NotServed,
        30 => Shard::Denied,
        _ => Shard::Unknown,
    }
}

struct Step<'a, 'b> {
    facts: &'b Facts<'a>,
    proof: &'b PlacementProof,
    partition: PartitionId,
    seen: &'b PartitionFacts<'a>,
    memory: PartitionMemory,
}

fn verdict(status: Status, cause: Cause) -> PartitionVerdict {
    PartitionVerdict {
        status,
        cause,
        expected_by: None,
        shard: Shard::Unknown,
        served_by: Vec::new(),
        writes_verified: false,
    }
}

/// `Recovering` until the bound has passed, then `later`.
fn until(facts: &Facts<'_>, bound: Bound, later: Status, cause: Cause) -> PartitionVerdict {
    if facts.past(&bound) {
        verdict(later, cause)
    } else {
        PartitionVerdict { expected_by: Some(bound), ..verdict(Status::Recovering, cause) }
    }
}

impl Step<'_, '_> {
    fn no_network(&self) -> Option<PartitionVerdict> {
        if !self.facts.answering.is_empty() {
            return None;
        }
        let refused = self.facts.snapshot.brokers.values().any(|sight| {
            sight.contact.first_answer.is_some()
                && sight
                    .contact
                    .trouble
                    .as_ref()
                    .is_some_and(|trouble| matches!(trouble.why, Why::Refused | Why::Silent))
        });
        (!refused).then(|| verdict(Status::Unknown, Cause::NobodyReachable))
    }

    /// ISR members, or the eligible leader replicas where the ISR is empty (KIP-966).
    fn eligible(&self) -> Vec<BrokerId> {
        if self.seen.newest.isr.is_empty() { self.seen.eligible.clone() } else { self.seen.newest.isr.clone() }
    }

    /// Below 2.4 a leaderless partition shows an empty ISR whatever it is (KAFKA-8442).
    fn isr_hidden(&self) -> bool {
        self.seen.newest.isr.is_empty()
            && self.seen.eligible.is_empty()
            && self
                .facts
                .answering
                .iter()
                .any(|id| self.facts.snapshot.brokers.get(id).and_then(release).is_some_and(|release| release < (2, 4)))
    }

    fn no_leader(&self) -> Option<PartitionVerdict> {
        if self.seen.newest.leader.is_some() {
            return None;
        }
        let facts = self.facts;
        // Brokers learn one after the other that a lost leader leads no more: that is no disagreement about who leads.
        let somebody_leads = self.seen.views.values().filter_map(|view| view.leader).any(|leader| !facts.lost(leader));
        if !self.seen.agree
            && somebody_leads
            && let Some(waiting) = self.disagreement()
            && waiting.status == Status::Recovering
        {
            return Some(waiting);
        }
        let isr_hidden = self.isr_hidden();
        let eligible = if isr_hidden { self.seen.newest.replicas.clone() } else { self.eligible() };
        let candidates: Vec<_> = eligible.iter().copied().filter(|&id| facts.electable(id)).collect();
        let rejoining: Vec<_> = facts.answering_among(&eligible);
        let begun = self.memory.leaderless_since.unwrap_or(facts.now);
        let bound = facts.election_bound(self.memory.candidate_since.map_or(begun, |since| since.max(begun)));
        Some(if !candidates.is_empty() {
            let cause = Cause::NoLeaderCandidate { candidates, isr_hidden };
            if facts.can_elect() { until(facts, bound, Status::Stuck, cause) } else { verdict(Status::Stuck, cause) }
        } else if !rejoining.is_empty() {
            until(facts, bound, Status::Stuck, Cause::CandidateRejoining { candidates: rejoining })
        } else {
            verdict(Status::Stuck, Cause::NoLeaderNoCandidate { eligible })
        })
    }

    fn leader_not_answering(&self) -> Option<PartitionVerdict> {
        let leader = self.seen.newest.leader?;
        let facts = self.facts;
        match facts.state(leader) {
            BrokerState::Answering | BrokerState::Late => None,
            BrokerState::Gone => Some(self.leader_gone(leader)),
            BrokerState::Hung if facts.unreachable_from_here(leader) => {
                Some(verdict(Status::Unknown, Cause::LeaderNotReachable { leader }))
            }
            BrokerState::Hung => {
                let bound = facts.election_bound(facts.silent_since(leader));
                let mut verdict = until(facts, bound, Status::Stuck, Cause::LeaderHung { leader });
                if !facts.can_elect() {
                    verdict.status = Status::Stuck;
                    verdict.expected_by = None;
                }
                Some(verdict)
            }
            BrokerState::NeverReached | BrokerState::Unreadable | BrokerState::NotLive => {
                Some(verdict(Status::Unknown, Cause::LeaderNotReachable { leader }))
            }
            BrokerState::NotTried => Some(verdict(Status::Unknown, Cause::NotLookedYet)),
        }
    }

    fn leader_gone(&self, leader: BrokerId) -> PartitionVerdict {
        let facts = self.facts;
        let bound = facts.election_bound(facts.silent_since(leader));
        if facts.unreachable_from_here(leader) {
            // A dead broker would have been dropped by now: the cluster reaches it, we do not.
            return verdict(Status::Unknown, Cause::LeaderNotReachable { leader });
        }
        let mut remaining = self.eligible();
        remaining.retain(|&id| id != leader && !facts.lost(id));
        let successors: Vec<_> = remaining.iter().copied().filter(|&id| facts.electable(id)).collect();
        let enough = facts.min_isr(self.seen.newest.replicas.len()).is_none_or(|min| remaining.len() >= min);
        if successors.is_empty() {
            return verdict(Status::Stuck, Cause::LeaderGone { leader, successors });
        }
        if !enough {
            return verdict(Status::Stuck, Cause::LeaderGoneTooFewLeft { leader, successors });
        }
        let cause = Cause::LeaderGone { leader, successors };
        if facts.can_elect() { until(facts, bound, Status::Stuck, cause) } else { verdict(Status::Stuck, cause) }
    }

    fn disagreement(&self) -> Option<PartitionVerdict> {
        if self.seen.agree {
            return None;
        }
        let since = self.memory.disagreeing_since.unwrap_or(self.facts.now);
        let bound = Bound { at: after(since, DISAGREE_MS), assumed: false };
        Some(until(self.facts, bound, Status::Unknown, Cause::Disagreement))
    }

    /// The leader's answer for our made-up group, if it was given under the present leadership.
    fn canary(&self, leader: BrokerId) -> Option<&Canary> {
        let canary = self.facts.snapshot.brokers.get(&leader)?.canaries.get(&self.partition)?;
        let current = (self.seen.newest.leader, self.seen.newest.leader_epoch);
        // A refusal is asked for again after ten minutes only; any other answer that is old stands for silence.
        let fresh = canary.code == 30 || millis_between(canary.at, self.facts.now) <= CANARY_AGE_MS;
        (fresh && canary.leader_before == current).then_some(canary)
    }

    fn shard_at(&self, leader: BrokerId) -> Shard {
        self.canary(leader).map_or(Shard::Unknown, shard_word)
    }

    fn served_by(&self) -> Vec<BrokerId> {
        let brokers = self.facts.snapshot.brokers.iter();
        brokers
            .filter(|(id, _)| self.facts.answering.contains(id))
            .filter(|(_, sight)| {
                sight.canaries.get(&self.partition).is_some_and(|canary| shard_word(canary) == Shard::Serving)
            })
            .map(|(&id, _)| id)
            .collect()
    }

    fn coordinator(&self) -> Option<PartitionVerdict> {
        let leader = self.seen.newest.leader?;
        let facts = self.facts;
        if let Some(silent) = self.coordinator_silent(leader) {
            return Some(silent);
        }
        let Some(canary) = self.canary(leader) else {
            return Some(self.no_canary(leader));
        };
        let with_shard = |verdict: PartitionVerdict, shard| PartitionVerdict { shard, ..verdict };
        match canary.code {
            0 | 69 => None,
            14 => {
                let bound = Bound { at: after(canary.same_since, LOADING_MS), assumed: false };
                let loading = until(facts, bound, Status::Unknown, Cause::Loading { leader });
                Some(with_shard(loading, Shard::Loading))
            }
            15 | 16 => Some(self.not_served(leader, canary)),
            30 if self.listed_by_leader(leader) => None,
            30 => Some(with_shard(verdict(Status::Unknown, Cause::Denied { leader }), Shard::Denied)),
            code => {
                let bound = Bound { at: after(canary.same_since, NOT_SERVED_MS), assumed: false };
                Some(until(facts, bound, Status::Unknown, Cause::OddAnswer { leader, code }))
            }
        }
    }

    /// Soft evidence, as for a leader that is silent altogether: later than two deadlines, then until the session
    /// time-out. But no election will come of it, as the broker goes on sending heartbeats.
    fn coordinator_silent(&self, leader: BrokerId) -> Option<PartitionVerdict> {
        let sight = self.facts.snapshot.brokers.get(&leader)?;
        let since = sight.canaries_unanswered_since?;
        let late = millis_between(since, self.facts.now) <= 2 * i64::from(sight.contact.deadline_ms.max(1));
        let bound = self.facts.election_bound(since);
        (!late).then(|| until(self.facts, bound, Status::Stuck, Cause::CoordinatorSilent { leader }))
    }

    fn no_canary(&self, leader: BrokerId) -> PartitionVerdict {
        match self.memory.leadership_since {
            Some(since) => {
                let bound = Bound { at: after(since, FIRST_CANARY_MS), assumed: false };
                let cause = Cause::AwaitingCoordinator { leader, first_look: false };
                until(self.facts, bound, Status::Unknown, cause)
            }
            None => verdict(Status::Unknown, Cause::AwaitingCoordinator { leader, first_look: true }),
        }
    }

    fn not_served(&self, leader: BrokerId, canary: &Canary) -> PartitionVerdict {
        let facts = self.facts;
        if let Some(count) = count_used_by(self.proof, leader)
            && self.partition >= count
        {
            return verdict(Status::Unknown, Cause::NotUsed { leader, count });
        }
        let drift = matches!(
            self.proof,
            PlacementProof::Drift { .. } | PlacementProof::Foreign { .. } | PlacementProof::Contradicted { .. }
        );
        let loading_others = facts
            .snapshot
            .brokers
            .get(&leader)
            .and_then(|sight| sight.groups.known())
            .is_some_and(|listing| listing.code == 14);
        let lasted = millis_between(canary.same_since, facts.now) >= NOT_SERVED_MS;
        let failed = lasted && !drift && !loading_others;
        let cause = Cause::NotServed { leader, code: canary.code, failed };
        let shard = if failed { Shard::Failed } else { Shard::NotServed };
        if drift {
            return PartitionVerdict { shard, ..verdict(Status::Unknown, cause) };
        }
        let bound = Bound { at: after(canary.same_since, NOT_SERVED_MS), assumed: false };
        PartitionVerdict {
            shard,
            expected_by: (!lasted).then_some(bound),
            ..verdict(if failed { Status::Stuck } else { Status::Recovering }, cause)
        }
    }

    /// Code 30 says nothing; but a leader that lists a group of this partition has it loaded.
    fn listed_by_leader(&self, leader: BrokerId) -> bool {
        let groups = &self.facts.memory.groups;
        let since = self.memory.leadership_since;
        let fresh = self
            .facts
            .snapshot
            .brokers
            .get(&leader)
            .and_then(|sight| sight.groups.known())
            .is_some_and(|listing| listing.code == 0 && since.is_none_or(|since| listing.at > since));
        fresh
            && groups.by_partition.get(&self.partition).is_some_and(|ids| {
                ids.iter().any(|id| groups.by_id.get(id).is_some_and(|group| group.listed_by.contains(&leader)))
            })
    }

    fn isr(&self) -> Option<PartitionVerdict> {
        let facts = self.facts;
        let view = self.seen.newest;
        let min = facts.min_isr(view.replicas.len());
        let lost: Vec<_> = view.isr.iter().copied().filter(|&id| facts.lost(id)).collect();
        let live = view.isr.len() - lost.len();
        if let Some(min) = min.filter(|&min| live < min) {
            return Some(self.below_min(live, min, &lost));
        }
        if lost.is_empty() {
            return None;
        }
        let lost_at = lost.iter().map(|&id| facts.silent_since(id)).max().unwrap_or(facts.now);
        let bound = facts.replica_bound(lost_at);
        if !facts.can_elect() {
            return Some(verdict(Status::Stuck, Cause::CommitsBlocked { members: lost }));
        }
        if !facts.past(&bound) {
            return Some(until(facts, bound, Status::Stuck, Cause::CommitsWait { members: lost }));
        }
        // Past the bound, and still in the ISR.
        Some(verdict(Status::Stuck, Cause::CommitsBlocked { members: lost }))
    }

    fn below_min(&self, live: usize, min: usize, lost: &[BrokerId]) -> PartitionVerdict {
        let facts = self.facts;
        let view = self.seen.newest;
        let silent_only = !lost.is_empty() && lost.iter().all(|&id| facts.state(id) == BrokerState::Hung);
        if silent_only && view.isr.len() >= min {
            // Soft evidence: the silent member may come back before anybody drops it.
            let since = lost.iter().map(|&id| facts.silent_since(id)).min().unwrap_or(facts.now);
            let cause = Cause::BelowMinIsr { live, min, joining: Vec::new() };
            return until(facts, facts.election_bound(since), Status::Stuck, cause);
        }
        let joining: Vec<_> =
            view.replicas.iter().copied().filter(|id| !view.isr.contains(id) && facts.electable(*id)).collect();
        let may_heal = live + joining.len() >= min && facts.can_elect();
        let cause = Cause::BelowMinIsr { live, min, joining };
        if may_heal {
            let lost_at = lost.iter().map(|&id| facts.silent_since(id)).max();
            let since = self.memory.below_min_since.or(lost_at).unwrap_or(facts.now);
            until(facts, facts.replica_bound(since), Status::Stuck, cause)
        } else {
            verdict(Status::Stuck, cause)
        }
    }

    fn working(&self) -> PartitionVerdict {
        let facts = self.facts;
        let view = self.seen.newest;
        let min = facts.min_isr(view.replicas.len());
        let all_answer = view.isr.iter().chain(&view.leader).all(|&id| facts.state(id) == BrokerState::Answering);
        let shard = view.leader.map_or(Shard::Unknown, |leader| match self.shard_at(leader) {
            Shard::Denied => Shard::Serving,
            shard => shard,
        });
        let base = PartitionVerdict {
            shard,
            writes_verified: facts.min_isr_verified() && all_answer && matches!(facts.controller, Controller::Known(_)),
            ..verdict(Status::Working, Cause::None)
        };
        if matches!(facts.controller, Controller::Gone(_)) {
            return PartitionVerdict { status: Status::AtRisk, cause: Cause::NoController, ..base };
        }
        let critical = self.critical(min.unwrap_or(1));
        if !critical.is_empty() && facts.registered.len() > view.replicas.len() {
            let cause = Cause::DependsOn { brokers: critical.into_iter().collect() };
            return PartitionVerdict { status: Status::AtRisk, cause, ..base };
        }
        base
    }

    /// Brokers whose failure would leave no leader, or too few in-sync replicas for commits.
    fn critical(&self, min: usize) -> BTreeSet<BrokerId> {
        let isr = &self.seen.newest.isr;
        if isr.len() <= min.max(1) { isr.iter().copied().collect() } else { BTreeSet::new() }
    }
}

/// Since when the verdict has been what it is, from memory: `None` if it was so when looking began.
pub(crate) fn since(memory: &PartitionMemory, status: Status, now: Timestamp) -> Option<Timestamp> {
    match &memory.verdict {
        Some(before) if before.status == status => before.since,
        Some(_) => Some(now),
        None => None,
    }
}

#[cfg(test)]
mod tests;
