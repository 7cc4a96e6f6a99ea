//! What the coordinator itself answered for our made-up group, and what that is evidence of.

use super::{Cause, PartitionVerdict, Step, shard_word, until, verdict};
use crate::BrokerId;
use crate::placement_proof::count_used_by;
use crate::report::{Bound, PlacementProof, Shard, Status};
use crate::snapshot::Canary;
use crate::time::{after, millis_between};

/// How long the true leader may say "not coordinator" before that is evidence of a failed load
/// (during rolling restarts it does so for 0.1–0.2 s; a queue of loading partitions can take long).
const NOT_SERVED_MS: i64 = 60_000;
/// How old a coordinator's answer may be: it is asked for every 15 s.
const CANARY_AGE_MS: i64 = 45_000;
/// How long loading may take before that is more than a large partition.
const LOADING_MS: i64 = 600_000;
/// How soon a coordinator should have answered for a partition that it has just come to lead.
const FIRST_CANARY_MS: i64 = 10_000;

impl Step<'_, '_> {
    /// The leader's answer for our made-up group, if it was given under the present leadership.
    fn canary(&self, leader: BrokerId) -> Option<&Canary> {
        let canary = self.facts.snapshot.brokers.get(&leader)?.canaries.get(&self.partition)?;
        let current = (self.seen.newest.leader, self.seen.newest.leader_epoch);
        // A refusal is asked for again after ten minutes only; any other answer that is old stands for silence.
        let fresh = canary.code == 30 || millis_between(canary.at, self.facts.now) <= CANARY_AGE_MS;
        (fresh && canary.leader_before == current).then_some(canary)
    }

    pub(super) fn shard_at(&self, leader: BrokerId) -> Shard {
        self.canary(leader).map_or(Shard::Unknown, shard_word)
    }

    pub(super) fn served_by(&self) -> Vec<BrokerId> {
        let brokers = self.facts.snapshot.brokers.iter();
        brokers
            .filter(|(id, _)| self.facts.answering.contains(id))
            .filter(|(_, sight)| {
                sight.canaries.get(&self.partition).is_some_and(|canary| shard_word(canary) == Shard::Serving)
            })
            .map(|(&id, _)| id)
            .collect()
    }

    pub(super) fn coordinator(&self) -> Option<PartitionVerdict> {
        let leader = self.seen.newest.leader?;
        let facts = self.facts;
        if let Some(silent) = self.coordinator_silent(leader) {
            return Some(silent);
        }
        let Some(canary) = self.canary(leader) else {
            return Some(self.no_canary(leader));
        };
        match canary.code {
            0 | 69 => None,
            14 => Some(self.loading(leader, canary)),
            // Below 2.0 a coordinator says 16 about what it is loading, and up to 3.9 about what waits in its queue behind
            // that; its listing tells 14 meanwhile (`GroupMetadataManager`).
            16 if self.lists_with_14(leader) && !self.placement_in_doubt() => Some(self.loading(leader, canary)),
            15 | 16 => Some(self.not_served(leader, canary)),
            30 if self.listed_by_leader(leader) => None,
            30 => {
                let denied = verdict(Status::Unknown, Cause::Denied { leader });
                Some(PartitionVerdict { shard: Shard::Denied, ..denied })
            }
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
        let drift = self.placement_in_doubt();
        let listing = facts.snapshot.brokers.get(&leader).and_then(|sight| sight.groups.known());
        let loading_others = self.lists_with_14(leader);
        let lasted = millis_between(canary.same_since, facts.now) >= NOT_SERVED_MS;
        let failed = lasted && !drift && !loading_others;
        let cause = Cause::NotServed { leader, code: canary.code, failed };
        let shard = if failed { Shard::Failed } else { Shard::NotServed };
        // Without its listing, whether it still loads others is not known: then it may come round.
        if drift || (failed && listing.is_none()) {
            return PartitionVerdict { shard, ..verdict(Status::Unknown, cause) };
        }
        let bound = Bound { at: after(canary.same_since, NOT_SERVED_MS), assumed: false };
        PartitionVerdict {
            shard,
            expected_by: (!lasted).then_some(bound),
            ..verdict(if failed { Status::Stuck } else { Status::Recovering }, cause)
        }
    }

    fn loading(&self, leader: BrokerId, canary: &Canary) -> PartitionVerdict {
        let bound = Bound { at: after(canary.same_since, LOADING_MS), assumed: false };
        let loading = until(self.facts, bound, Status::Unknown, Cause::Loading { leader });
        PartitionVerdict { shard: Shard::Loading, ..loading }
    }

    /// Whether a broker's listing says that it is loading something.
    fn lists_with_14(&self, broker: BrokerId) -> bool {
        let listing = self.facts.snapshot.brokers.get(&broker).and_then(|sight| sight.groups.known());
        listing.is_some_and(|listing| listing.code == 14)
    }

    fn placement_in_doubt(&self) -> bool {
        matches!(
            self.proof,
            PlacementProof::Drift { .. } | PlacementProof::Foreign { .. } | PlacementProof::Contradicted { .. }
        )
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
}
