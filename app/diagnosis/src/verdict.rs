//! The verdict on one offsets partition: which evidence allows which word.
//!
//! One function per step, in the order in which causes shadow one another: no view, no leader, leader not answering,
//! brokers disagreeing, the coordinator's own answer, the ISR, the controller. The first step that finds something
//! decides. Findings group partitions by the [`Cause`] found here, so verdict and explanation cannot differ.

mod coordinator;
mod isr;

use jiff::Timestamp;

use crate::facts::{Facts, PartitionFacts, release};
use crate::memory::PartitionMemory;
use crate::report::{Bound, BrokerState, PlacementProof, Shard, Status};
use crate::snapshot::{Canary, Why};
use crate::time::after;
use crate::{BrokerId, PartitionId};

/// The error of a partition whose leader lives without the listener that the client came by.
const LISTENER_NOT_FOUND: i16 = 72;
/// How long brokers may disagree on a leader before that is more than news on its way.
const DISAGREE_MS: i64 = 10_000;

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
    /// Metadata hides the leader: it lives, and has no address on the listener that we use (error 72).
    ListenerMissing { last_leader: Option<BrokerId> },
    /// No leader; these eligible replicas are offline although their brokers live: their log directories have failed.
    NoLeaderDirFailed { brokers: Vec<BrokerId> },
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
    /// The leader is no member of its own ISR.
    LeaderOutsideIsr { leader: BrokerId },
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
        verdict = step.disagreement().or_else(|| step.coordinator());
        verdict = verdict.or_else(|| step.leader_outside_isr()).or_else(|| step.isr());
    }
    let mut verdict = verdict.unwrap_or_else(|| step.working());
    if facts.stale && matches!(verdict.status, Status::Working | Status::AtRisk) {
        // What nobody who answers has told may have changed since: never called working.
        verdict = self::verdict(Status::Unknown, Cause::NotLookedYet);
    }
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

    /// Error 72 (LISTENER_NOT_FOUND). Brokers below 2.4 say it of any leader that is not alive.
    fn leader_hidden(&self) -> Option<PartitionVerdict> {
        let facts = self.facts;
        let mut tellers = self.seen.views.iter().filter(|(_, view)| view.error == LISTENER_NOT_FOUND).peekable();
        tellers.peek()?;
        let release_of = |id: &BrokerId| facts.snapshot.brokers.get(id).and_then(release);
        if self.seen.newest.error != LISTENER_NOT_FOUND
            || !tellers.all(|(id, _)| release_of(id).is_some_and(|release| release >= (2, 4)))
        {
            return None;
        }
        let since = self.memory.leaderless_since.unwrap_or(facts.now);
        let bound = Bound { at: after(since, DISAGREE_MS), assumed: false };
        let last_leader = self.memory.last_leader.filter(|&leader| !facts.lost(leader));
        Some(until(facts, bound, Status::Stuck, Cause::ListenerMissing { last_leader }))
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
        if let Some(hidden) = self.leader_hidden() {
            return Some(hidden);
        }
        let isr_hidden = self.isr_hidden();
        let eligible = if isr_hidden { self.seen.newest.replicas.clone() } else { self.eligible() };
        let candidates: Vec<_> = eligible.iter().copied().filter(|&id| facts.electable_for(self.seen, id)).collect();
        let (failed, sound): (Vec<_>, Vec<_>) =
            eligible.iter().copied().partition(|id| self.seen.failed_dirs.contains(id));
        let rejoining: Vec<_> = facts.answering_among(&sound);
        let begun = self.memory.leaderless_since.unwrap_or(facts.now);
        let bound = facts.election_bound(self.memory.candidate_since.map_or(begun, |since| since.max(begun)));
        Some(if !candidates.is_empty() {
            let cause = Cause::NoLeaderCandidate { candidates, isr_hidden };
            if facts.can_elect() { until(facts, bound, Status::Stuck, cause) } else { verdict(Status::Stuck, cause) }
        } else if !rejoining.is_empty() {
            until(facts, bound, Status::Stuck, Cause::CandidateRejoining { candidates: rejoining })
        } else if !failed.is_empty() {
            verdict(Status::Stuck, Cause::NoLeaderDirFailed { brokers: failed })
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
        remaining.retain(|&id| id != leader && !facts.lost(id) && !self.seen.failed_dirs.contains(&id));
        let successors: Vec<_> = remaining.iter().copied().filter(|&id| facts.electable_for(self.seen, id)).collect();
        let enough = !facts.surely_below_min_isr(remaining.len(), self.seen.newest.replicas.len());
        if successors.is_empty() {
            return verdict(Status::Stuck, Cause::LeaderGone { leader, successors });
        }
        if !enough {
            return verdict(Status::Stuck, Cause::LeaderGoneTooFewLeft { leader, successors });
        }
        let cause = Cause::LeaderGone { leader, successors };
        if facts.can_elect() { until(facts, bound, Status::Stuck, cause) } else { verdict(Status::Stuck, cause) }
    }

    /// No broker writes such a state: a leader is always in sync with itself. Whether commits are ever acknowledged then
    /// depends on replicas that are said to be in sync with a log which nobody keeps: that cannot be told.
    fn leader_outside_isr(&self) -> Option<PartitionVerdict> {
        let view = self.seen.newest;
        let leader = view.leader.filter(|leader| !view.isr.is_empty() && !view.isr.contains(leader))?;
        Some(verdict(Status::Unknown, Cause::LeaderOutsideIsr { leader }))
    }

    fn disagreement(&self) -> Option<PartitionVerdict> {
        if self.seen.agree {
            return None;
        }
        let since = self.memory.disagreeing_since.unwrap_or(self.facts.now);
        let bound = Bound { at: after(since, DISAGREE_MS), assumed: false };
        Some(until(self.facts, bound, Status::Unknown, Cause::Disagreement))
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
