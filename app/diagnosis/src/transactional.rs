//! The answer for one transactional id: which broker coordinates its transactions, and whether that one serves.
//!
//! The same eyes as for groups, on `__transaction_state`: the id is hashed like a group's (TransactionStateManager), the
//! leader of the partition is the coordinator, and made-up ids (DescribeTransactions, 105 = serving) tell whether it
//! serves. FindCoordinator is never asked for it: it would create the topic.

mod words;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::facts::{Facts, PartitionFacts};
use crate::lookup::{Assigned, Placement, Verdict};
use crate::memory::Memory;
use crate::placement::{kafka_abs, partition_for};
use crate::report::{Bound, BrokerState, Finding, Report, Shard, Status};
use crate::snapshot::{Canary, OpenTransaction, Snapshot, TRANSACTION_STATE};
use crate::{BrokerId, GroupId, PartitionId, time};

/// How long a leader may say that it does not serve before that is held for a failure.
const NOT_SERVED_MS: i64 = 60_000;

/// The answer to a lookup of transactional ids: the JSON of the API and of `unstuck lookup --transactional-id --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionalLookup {
    /// The cluster's name in the configuration.
    pub cluster: String,
    /// When the snapshot behind the answer was put together.
    pub observed_at: Timestamp,
    /// One result per id, in the order asked.
    pub results: Vec<TransactionalAnswer>,
}

impl TransactionalLookup {
    /// The worst status among the results; `Working` if there are none.
    #[must_use]
    pub fn worst(&self) -> Status {
        self.results.iter().map(|result| result.verdict.status).max().unwrap_or(Status::Working)
    }
}

/// The answer for one transactional id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionalAnswer {
    /// The id, exactly as asked.
    pub transactional_id: GroupId,
    /// The verdict on its coordinator.
    pub verdict: Verdict,
    /// The arithmetic; `None` where there is no `__transaction_state` to place it on, as far as seen.
    pub placement: Option<Placement>,
    /// Its coordinator; `None` without a placement.
    pub coordinator: Option<TransactionCoordinator>,
    /// Each broker's own view of the partition.
    pub views: Vec<TransactionView>,
    /// Its transaction, if the coordinator named it among the open ones.
    pub open: Option<OpenTransaction>,
    /// Findings of the cluster about transactions, worst first.
    pub findings: Vec<Finding>,
}

/// The coordinator of a transactional id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionCoordinator {
    /// The leader of the partition; `None` if it has none.
    pub leader: Option<BrokerId>,
    /// The leader's address, where known.
    pub address: Option<String>,
    /// Leader epoch.
    pub leader_epoch: Option<i32>,
    /// Replicas, preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// In-sync replicas.
    pub isr: Vec<BrokerId>,
    /// Effective min.insync.replicas of `__transaction_state`; `None` if not told.
    pub min_insync_replicas: Option<usize>,
    /// What it answered itself.
    pub shard: Shard,
}

/// One broker's view of a partition of `__transaction_state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionView {
    /// Who was asked.
    pub broker: BrokerId,
    /// The leader that it names.
    pub leader: Option<BrokerId>,
    /// The leader epoch.
    pub leader_epoch: Option<i32>,
    /// The ISR.
    pub isr: Vec<BrokerId>,
    /// What it said as coordinator.
    pub shard: Shard,
}

/// A transaction as its coordinator describes it (DescribeTransactions, 3.0 and later, KIP-664): asked for when somebody
/// looks, with a deadline, never before the verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionDetail {
    /// When it was asked.
    pub at: Timestamp,
    /// The coordinator that answered.
    pub answered_by: BrokerId,
    /// The state: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, …; `None` if the coordinator
    /// knows no such id (105 TRANSACTIONAL_ID_NOT_FOUND).
    pub state: Option<String>,
    /// The producer's id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i32,
    /// `transaction.timeout.ms` of the producer.
    pub timeout_ms: i64,
    /// When the transaction began; `None` if none runs.
    pub started: Option<Timestamp>,
    /// The partitions that are part of it.
    pub partitions: Vec<Assigned>,
}

impl TransactionDetail {
    /// In words: `Ongoing since 12:00:00 UTC (2 min), past its time-out of 1 min`.
    #[must_use]
    pub fn sentence(&self) -> String {
        words::detail(self)
    }
}

/// Why the coordinator is the way it is.
enum Cause {
    Serves,
    OneReplica(BrokerId),
    NoLeader { candidates: Vec<BrokerId> },
    LeaderDown(BrokerId),
    LeaderSilent(BrokerId),
    LeaderNotReachable(BrokerId),
    TooFewInSync { isr: usize, min: usize },
    Loading(BrokerId),
    NotServed(BrokerId),
    Denied(BrokerId),
    NotAsked(BrokerId),
}

/// The answers for some transactional ids, in the order asked. No waiting, no looking.
pub(crate) fn lookup(snapshot: &Snapshot, memory: &Memory, report: &Report, ids: &[GroupId]) -> TransactionalLookup {
    let facts = Facts::draw(snapshot, memory, report.observed_at);
    TransactionalLookup {
        cluster: report.cluster.clone(),
        observed_at: report.observed_at,
        results: ids.iter().map(|id| answer(&facts, report, id)).collect(),
    }
}

fn answer(facts: &Facts<'_>, report: &Report, id: &GroupId) -> TransactionalAnswer {
    let partitions = facts.state_topics.get(TRANSACTION_STATE);
    let count = partitions.and_then(|partitions| partitions.keys().next_back()?.checked_add(1));
    let partition = count.and_then(|count| partition_for(id, count));
    let seen = partition.and_then(|partition| partitions?.get(&partition));
    let findings = |status: Status| -> Vec<Finding> {
        report.findings.iter().filter(|finding| about_transactions(finding, status)).cloned().collect()
    };
    let open = facts.snapshot.brokers.values().filter_map(|sight| sight.open_transactions.known());
    let open = open.flat_map(|open| &open.oldest).find(|open| open.transactional_id == id.0).cloned();
    let Some((partition, seen)) = partition.zip(seen) else {
        let (status, sentence) = words::without_topic(facts, id);
        return TransactionalAnswer {
            transactional_id: id.clone(),
            verdict: Verdict { status, sentence, outlook: None, since: None, since_after: None, expected_by: None },
            placement: None,
            coordinator: None,
            views: Vec::new(),
            open,
            findings: findings(status),
        };
    };
    let judged = judge(facts, partition, seen);
    let leader = seen.newest.leader;
    TransactionalAnswer {
        transactional_id: id.clone(),
        verdict: Verdict {
            status: judged.status,
            sentence: words::sentence(id, judged.status, &judged.cause),
            outlook: judged.by.as_ref().map(|by| format!("Expected to be over {}.", crate::findings::by(by))),
            since: judged.since,
            since_after: judged.since.and_then(|since| facts.memory.unseen_before(since)),
            expected_by: judged.by,
        },
        placement: count.map(|count| placement(id, count, partition)),
        coordinator: Some(TransactionCoordinator {
            leader,
            address: leader.and_then(|leader| facts.snapshot.brokers.get(&leader)?.address.clone()),
            leader_epoch: seen.newest.leader_epoch,
            replicas: seen.newest.replicas.clone(),
            isr: seen.newest.isr.clone(),
            min_insync_replicas: facts.state_min_isr(TRANSACTION_STATE, seen.newest.replicas.len()),
            shard: leader.map_or(Shard::Unknown, |leader| shard(canary(facts, leader, partition))),
        }),
        views: views(facts, partition, &seen.views),
        open,
        findings: findings(judged.status),
    }
}

/// Findings whose rules are about transactions; their slugs say so. What is broken about other partitions of the topic is
/// no cause where this id's own coordinator works.
fn about_transactions(finding: &Finding, status: Status) -> bool {
    let works = matches!(status, Status::Working | Status::AtRisk);
    finding.slug.contains("transaction") && !(works && finding.slug == "transaction-coordinator-offline")
}

fn placement(id: &GroupId, partition_count: i32, partition: PartitionId) -> Placement {
    let java_hash = id.java_hash();
    Placement {
        java_hash,
        partition_count,
        partition,
        // FindCoordinator would prove it, and could create the topic.
        proven: false,
        sentence: format!(
            "\"{}\".hashCode() = {java_hash}, abs {}, mod {partition_count} = partition {partition} of {TRANSACTION_STATE}",
            id.visible(),
            kafka_abs(java_hash)
        ),
    }
}

fn views(
    facts: &Facts<'_>,
    partition: PartitionId,
    views: &BTreeMap<BrokerId, &crate::snapshot::PartitionView>,
) -> Vec<TransactionView> {
    let view = |(&broker, view): (&BrokerId, &&crate::snapshot::PartitionView)| TransactionView {
        broker,
        leader: view.leader,
        leader_epoch: view.leader_epoch,
        isr: view.isr.clone(),
        shard: shard(canary(facts, broker, partition)),
    };
    views.iter().map(view).collect()
}

fn canary<'a>(facts: &Facts<'a>, broker: BrokerId, partition: PartitionId) -> Option<&'a Canary> {
    facts.snapshot.brokers.get(&broker)?.transaction_canaries.get(&partition)
}

fn shard(canary: Option<&Canary>) -> Shard {
    match canary.map(|canary| canary.code) {
        Some(0 | 105) => Shard::Serving,
        Some(14) => Shard::Loading,
        Some(15 | 16) => Shard::NotServed,
        Some(53) => Shard::Denied,
        _ => Shard::Unknown,
    }
}

struct Judged {
    status: Status,
    cause: Cause,
    since: Option<Timestamp>,
    by: Option<Bound>,
}

fn judged(status: Status, cause: Cause) -> Judged {
    Judged { status, cause, since: None, by: None }
}

/// Recovering until the bound, stuck past it.
fn until(facts: &Facts<'_>, since: Option<Timestamp>, by: Bound, cause: Cause) -> Judged {
    let status = if facts.past(&by) { Status::Stuck } else { Status::Recovering };
    Judged { status, cause, since, by: (status == Status::Recovering).then_some(by) }
}

/// The steps stand in the order in which causes shadow one another, as for groups.
fn judge(facts: &Facts<'_>, partition: PartitionId, seen: &PartitionFacts<'_>) -> Judged {
    let view = seen.newest;
    let memory = facts.memory.state_topics.get(TRANSACTION_STATE).and_then(|topic| topic.get(&partition));
    let candidates = |but: Option<BrokerId>| -> Vec<BrokerId> {
        view.isr.iter().copied().filter(|id| Some(*id) != but && facts.electable(*id)).collect()
    };
    let Some(leader) = view.leader else {
        let since = memory.and_then(|memory| memory.leaderless_since);
        let candidates = candidates(None);
        if candidates.is_empty() || !facts.can_elect() {
            return Judged { since, ..judged(Status::Stuck, Cause::NoLeader { candidates }) };
        }
        let by = facts.election_bound(since.unwrap_or(facts.now));
        return until(facts, since, by, Cause::NoLeader { candidates });
    };
    match facts.state(leader) {
        BrokerState::Answering => {}
        BrokerState::NeverReached | BrokerState::Unreadable | BrokerState::NotTried => {
            return judged(Status::Unknown, Cause::LeaderNotReachable(leader));
        }
        _ if facts.unreachable_from_here(leader) => {
            return judged(Status::Unknown, Cause::LeaderNotReachable(leader));
        }
        state => {
            let since = facts.silent_since(leader);
            let down = matches!(state, BrokerState::Gone | BrokerState::NotLive);
            let cause = if down { Cause::LeaderDown(leader) } else { Cause::LeaderSilent(leader) };
            // Nobody else is in sync: that does not heal before this broker is back. Silence may end by itself.
            if down && (candidates(Some(leader)).is_empty() || !facts.can_elect()) {
                return Judged { since: Some(since), ..judged(Status::Stuck, cause) };
            }
            return until(facts, Some(since), facts.election_bound(since), cause);
        }
    }
    let told = canary(facts, leader, partition);
    let since = told.map(|canary| canary.same_since);
    match shard(told) {
        Shard::Serving => {}
        Shard::Loading => return Judged { since, ..judged(Status::Recovering, Cause::Loading(leader)) },
        Shard::Denied => return judged(Status::Unknown, Cause::Denied(leader)),
        Shard::NotServed | Shard::Failed => {
            let by = Bound { at: time::after(since.unwrap_or(facts.now), NOT_SERVED_MS), assumed: false };
            return until(facts, since, by, Cause::NotServed(leader));
        }
        Shard::Unknown => return judged(Status::Unknown, Cause::NotAsked(leader)),
    }
    if let Some(min) = facts.state_min_isr(TRANSACTION_STATE, view.replicas.len()).filter(|min| view.isr.len() < *min) {
        let since = memory.and_then(|memory| memory.below_min_since);
        let by = facts.replica_bound(since.unwrap_or(facts.now));
        return until(facts, since, by, Cause::TooFewInSync { isr: view.isr.len(), min });
    }
    if let ([only], true) = (view.replicas.as_slice(), facts.registered.len() > 1) {
        return judged(Status::AtRisk, Cause::OneReplica(*only));
    }
    judged(Status::Working, Cause::Serves)
}

#[cfg(test)]
mod tests;
