//! Whether commits are accepted: the ISR, the controller, and what all depends on.

use std::collections::BTreeSet;

use super::{Cause, PartitionVerdict, Step, until, verdict};
use crate::BrokerId;
use crate::facts::Controller;
use crate::report::{BrokerState, Shard, Status};

impl Step<'_, '_> {
    pub(super) fn isr(&self) -> Option<PartitionVerdict> {
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
        // Removing a fact must not make a verdict harder: where the setting is only assumed, commits *may* be refused.
        let sure = facts.surely_below_min_isr(live, view.replicas.len());
        let later = if sure { Status::Stuck } else { Status::Unknown };
        let silent_only = !lost.is_empty() && lost.iter().all(|&id| facts.state(id) == BrokerState::Hung);
        if silent_only && view.isr.len() >= min {
            // Soft evidence: the silent member may come back before anybody drops it.
            let since = lost.iter().map(|&id| facts.silent_since(id)).min().unwrap_or(facts.now);
            let cause = Cause::BelowMinIsr { live, min, joining: Vec::new() };
            return until(facts, facts.election_bound(since), later, cause);
        }
        let joining: Vec<_> = view
            .replicas
            .iter()
            .copied()
            .filter(|id| !view.isr.contains(id) && facts.electable_for(self.seen, *id))
            .collect();
        let may_heal = live + joining.len() >= min && facts.can_elect();
        let cause = Cause::BelowMinIsr { live, min, joining };
        if may_heal {
            let lost_at = lost.iter().map(|&id| facts.silent_since(id)).max();
            let since = self.memory.below_min_since.or(lost_at).unwrap_or(facts.now);
            until(facts, facts.replica_bound(since), later, cause)
        } else {
            verdict(later, cause)
        }
    }

    pub(super) fn working(&self) -> PartitionVerdict {
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
