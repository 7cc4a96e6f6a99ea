//! What was seen before: the groups, and since when a partition has been the way it is.
//!
//! A snapshot is one moment; rules that need "for how long" or "which groups were here" read this.
//! Pure as everything here: time comes from the snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::facts::{Facts, PartitionFacts, listed_live, proven_absent_now};
use crate::placement::partition_for;
use crate::placement_proof::contradicted_now;
use crate::report::{PlacementProof, Report, Status};
use crate::snapshot::{GroupListing, Snapshot};
use crate::{BrokerId, GroupId, PartitionId};

/// Everything remembered about one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// When looking began.
    pub watching_since: Timestamp,
    /// Every group ever listed and not properly deleted since.
    pub groups: Arc<SeenGroups>,
    /// How many partitions the offsets topic had when last seen, and when that was; `None` if it never was.
    pub offsets_topic: Option<SeenTopic>,
    /// Since when every broker that answers has proven it absent.
    pub offsets_topic_gone_since: Option<Timestamp>,
    /// What was seen of each partition over time.
    pub partitions: BTreeMap<PartitionId, PartitionMemory>,
    /// Since when no answering broker could tell a controller (ZooKeeper) or quorum leader (KRaft).
    pub no_controller_since: Option<Timestamp>,
    /// The voters of the KRaft quorum when last told: a broker that lost the quorum cannot tell them any more.
    pub voters: Vec<i32>,
    /// Since when the FindCoordinator answers contradict the hash.
    pub placement_contradicted_since: Option<Timestamp>,
    /// The partition count for which FindCoordinator answers proved the placement last.
    pub placement_proven_for: Option<i32>,
    /// Brokers that no other broker lists as live now, though they are known.
    pub unlisted: BTreeSet<BrokerId>,
    /// When a broker that nobody listed as live was listed again.
    pub relisted: BTreeMap<BrokerId, Timestamp>,
    /// The status of the headline, and since when.
    pub headline: Option<StatusSince>,
}

/// The offsets topic when last seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenTopic {
    /// How many partitions it had.
    pub partition_count: i32,
    /// When it was last seen.
    pub last_seen: Timestamp,
}

/// A status, and since when it has been so; `None` if it was so when looking began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusSince {
    /// The status.
    pub status: Status,
    /// Since when.
    pub since: Option<Timestamp>,
}

/// One partition of the offsets topic over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionMemory {
    /// The last leader seen.
    pub last_leader: Option<BrokerId>,
    /// The eligible leader replicas when last told: a dead broker can no longer be asked.
    pub last_eligible: Vec<BrokerId>,
    /// Since when every answering broker has said that there is no leader.
    pub leaderless_since: Option<Timestamp>,
    /// Since when the answering brokers have disagreed on leader or epoch.
    pub disagreeing_since: Option<Timestamp>,
    /// Since when it has had no leader although the broker of an eligible replica answers.
    pub candidate_since: Option<Timestamp>,
    /// Since when its ISR has been below min.insync.replicas.
    pub below_min_since: Option<Timestamp>,
    /// Since when leader and leader epoch have been what they are.
    pub leadership_since: Option<Timestamp>,
    /// Leader and epoch that this is about.
    pub leadership: (Option<BrokerId>, Option<i32>),
    /// The verdict, and since when.
    pub verdict: Option<StatusSince>,
}

/// Every group ever listed in this run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenGroups {
    /// Groups by id.
    pub by_id: BTreeMap<GroupId, SeenGroup>,
    /// Group ids by partition, for the partition count below.
    pub by_partition: BTreeMap<PartitionId, BTreeSet<GroupId>>,
    /// The partition count that `by_partition` was made with.
    pub partition_count: Option<i32>,
    /// The time of each broker's listing that was taken in last.
    pub listings: BTreeMap<BrokerId, Timestamp>,
}

/// A group that was listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenGroup {
    /// Type, where told.
    pub group_type: Option<String>,
    /// Protocol type.
    pub protocol_type: String,
    /// State when last listed.
    pub state: Option<String>,
    /// When it was first listed.
    pub first_seen: Timestamp,
    /// When it was last listed.
    pub last_seen: Timestamp,
    /// Brokers whose latest listing has it; empty if it is only remembered.
    pub listed_by: BTreeSet<BrokerId>,
}

impl Memory {
    /// An empty memory.
    #[must_use]
    pub fn new(watching_since: Timestamp) -> Self {
        Self {
            watching_since,
            groups: Arc::new(SeenGroups::default()),
            offsets_topic: None,
            offsets_topic_gone_since: None,
            partitions: BTreeMap::new(),
            no_controller_since: None,
            voters: Vec::new(),
            placement_contradicted_since: None,
            placement_proven_for: None,
            unlisted: BTreeSet::new(),
            relisted: BTreeMap::new(),
            headline: None,
        }
    }

    fn learn_listing(&mut self, snapshot: &Snapshot, now: Timestamp) {
        let listed = listed_live(snapshot, now);
        for &broker in snapshot.brokers.keys() {
            if !listed.contains(&broker) {
                self.unlisted.insert(broker);
                self.relisted.remove(&broker);
            } else if self.unlisted.remove(&broker) {
                self.relisted.insert(broker, now);
            }
        }
    }

    /// Takes in a snapshot: which groups were seen, and since when things have been as they are.
    pub fn learn(&mut self, snapshot: &Snapshot) {
        let now = snapshot.taken_at;
        self.learn_listing(snapshot, now);
        let facts = Facts::draw(snapshot, self, now);
        let partitions: BTreeMap<_, _> = facts
            .partitions
            .iter()
            .map(|(&partition, seen)| (partition, self.partition_after(&facts, partition, seen)))
            .collect();
        let no_controller = facts.no_controller_now();
        let contradicted = contradicted_now(&facts);
        let gone = proven_absent_now(&facts);
        let quorums = snapshot.brokers.values().filter_map(|sight| sight.quorum.known());
        let voters = quorums.max_by_key(|quorum| quorum.at).map(|quorum| quorum.voters.clone());
        let count = facts.partition_count();
        let (seen_now, answering, stale) = (count.filter(|_| !facts.stale), facts.answering.clone(), facts.stale);
        let served = served_by_leader(&facts);

        if !partitions.is_empty() {
            self.partitions = partitions;
        }
        if !stale {
            self.no_controller_since = no_controller.then(|| self.no_controller_since.unwrap_or(now));
            self.placement_contradicted_since = contradicted.then(|| self.placement_contradicted_since.unwrap_or(now));
        }
        self.offsets_topic_gone_since = gone.then(|| self.offsets_topic_gone_since.unwrap_or(now));
        if let Some(voters) = voters {
            self.voters = voters;
        }
        if let Some(partition_count) = seen_now {
            self.offsets_topic = Some(SeenTopic { partition_count, last_seen: now });
        }
        self.learn_groups(snapshot, &answering, &served);
    }

    /// Takes in what was concluded, so that the next report can say since when.
    pub fn note(&mut self, report: &Report) {
        for partition in &report.partitions {
            let memory = self.partitions.entry(partition.partition).or_default();
            memory.verdict = Some(status_after(memory.verdict.as_ref(), partition.status, report.observed_at));
        }
        if let PlacementProof::Certain { partition_count } = report.placement {
            self.placement_proven_for = Some(partition_count);
        }
        self.headline = Some(status_after(self.headline.as_ref(), report.headline.status, report.observed_at));
    }

    fn partition_after(&self, facts: &Facts<'_>, partition: PartitionId, seen: &PartitionFacts<'_>) -> PartitionMemory {
        let now = facts.now;
        let before = self.partitions.get(&partition);
        let mut after = before.cloned().unwrap_or_default();
        if facts.stale {
            return after;
        }
        let view = seen.newest;
        let leadership = (view.leader, view.leader_epoch);
        if before.is_some() && after.leadership != leadership {
            after.leadership_since = Some(now);
        }
        after.leadership = leadership;
        after.last_leader = view.leader.or(after.last_leader);
        if !seen.eligible.is_empty() {
            after.last_eligible.clone_from(&seen.eligible);
        }
        let keep = |holds: bool, since: Option<Timestamp>| holds.then(|| since.unwrap_or(now));
        let leaderless = view.leader.is_none();
        let mut eligible = if view.isr.is_empty() { seen.eligible.clone() } else { view.isr.clone() };
        if eligible.is_empty() {
            eligible.clone_from(&view.replicas);
        }
        let candidate = leaderless && !facts.answering_among(&eligible).is_empty();
        after.leaderless_since = keep(leaderless, after.leaderless_since);
        after.candidate_since = keep(candidate, after.candidate_since);
        after.disagreeing_since = keep(!seen.agree, after.disagreeing_since);
        let below = facts.min_isr(view.replicas.len()).is_some_and(|min| view.isr.len() < min);
        after.below_min_since = keep(below && !leaderless, after.below_min_since);
        after
    }

    fn learn_groups(&mut self, snapshot: &Snapshot, answering: &BTreeSet<BrokerId>, served: &Served) {
        let count = self.offsets_topic.as_ref().map(|topic| topic.partition_count);
        let fresh: Vec<_> = snapshot
            .brokers
            .iter()
            .filter(|(id, _)| answering.contains(id))
            .filter_map(|(&id, sight)| Some((id, sight.groups.known()?)))
            .filter(|(id, listing)| self.groups.listings.get(id) != Some(&listing.at))
            .collect();
        let lost: Vec<BrokerId> = self.groups.listings.keys().copied().filter(|id| !answering.contains(id)).collect();
        if fresh.is_empty() && lost.is_empty() && self.groups.partition_count == count {
            return;
        }
        let groups = Arc::make_mut(&mut self.groups);
        for broker in lost {
            groups.listings.remove(&broker);
            groups.forget_listing(broker);
        }
        for (broker, listing) in &fresh {
            groups.take_in(*broker, listing);
        }
        if groups.partition_count != count {
            groups.place_all(count);
        }
        for (broker, listing) in fresh.iter().filter(|(_, listing)| listing.code == 0) {
            groups.drop_deleted(served.get(broker).map_or(&[][..], Vec::as_slice), listing.at);
        }
    }
}

fn status_after(before: Option<&StatusSince>, status: Status, now: Timestamp) -> StatusSince {
    let since = match before {
        None => None,
        Some(before) if before.status == status => before.since,
        // The first look was only just finished: it was so when looking began.
        Some(StatusSince { status: Status::Unknown, since: None }) => None,
        Some(_) => Some(now),
    };
    StatusSince { status, since }
}

/// By broker: partitions that it leads and, by its own answer under the present leadership, serves; and since when that
/// leadership stands, if it was seen to change.
type Served = BTreeMap<BrokerId, Vec<(PartitionId, Option<Timestamp>)>>;

/// Only of brokers that are proven to list all their groups.
fn served_by_leader(facts: &Facts<'_>) -> Served {
    let mut served = Served::new();
    for (&partition, seen) in &facts.partitions {
        let Some(leader) = seen.newest.leader.filter(|_| seen.agree) else { continue };
        let canary = facts.snapshot.brokers.get(&leader).and_then(|sight| sight.canaries.get(&partition));
        let current = (seen.newest.leader, seen.newest.leader_epoch);
        let sight = facts.snapshot.brokers.get(&leader);
        let lists_all =
            sight.and_then(|sight| sight.describe_cluster_permitted.known()).is_some_and(|permitted| *permitted);
        if lists_all && canary.is_some_and(|canary| matches!(canary.code, 0 | 69) && canary.leader_before == current) {
            let before = facts.memory.partitions.get(&partition);
            let unchanged = before.is_none_or(|before| before.leadership == current);
            let since = if unchanged { before.and_then(|before| before.leadership_since) } else { Some(facts.now) };
            served.entry(leader).or_default().push((partition, since));
        }
    }
    served
}

impl SeenGroups {
    fn take_in(&mut self, broker: BrokerId, listing: &GroupListing) {
        if listing.code == 0 {
            self.forget_listing(broker);
        }
        self.listings.insert(broker, listing.at);
        for (id, listed) in &listing.groups {
            let new = !self.by_id.contains_key(id);
            let group = self.by_id.entry(id.clone()).or_insert_with(|| SeenGroup {
                group_type: None,
                protocol_type: String::new(),
                state: None,
                first_seen: listing.at,
                last_seen: listing.at,
                listed_by: BTreeSet::new(),
            });
            group.group_type = listed.group_type.clone().or_else(|| group.group_type.take());
            group.protocol_type.clone_from(&listed.protocol_type);
            group.state.clone_from(&listed.state);
            group.last_seen = listing.at;
            group.listed_by.insert(broker);
            if new && let Some(partition) = self.partition_count.and_then(|count| partition_for(id, count)) {
                self.by_partition.entry(partition).or_default().insert(id.clone());
            }
        }
    }

    fn forget_listing(&mut self, broker: BrokerId) {
        for group in self.by_id.values_mut() {
            group.listed_by.remove(&broker);
        }
    }

    fn place_all(&mut self, count: Option<i32>) {
        self.partition_count = count;
        self.by_partition.clear();
        for id in self.by_id.keys() {
            if let Some(partition) = count.and_then(|count| partition_for(id, count)) {
                self.by_partition.entry(partition).or_default().insert(id.clone());
            }
        }
    }

    /// Groups that nobody lists any more although the coordinator that would know them listed at `at` and serves:
    /// they were deleted or have expired. A group whose coordinator is lost stays, to be named as stuck; so does one that
    /// was last listed under another leadership: it may have been lost with it.
    fn drop_deleted(&mut self, served: &[(PartitionId, Option<Timestamp>)], at: Timestamp) {
        for (partition, since) in served {
            let Some(ids) = self.by_partition.get_mut(partition) else { continue };
            ids.retain(|id| {
                let deleted = self.by_id.get(id).is_none_or(|group| {
                    group.listed_by.is_empty()
                        && group.last_seen < at
                        && since.is_none_or(|since| group.last_seen > since)
                });
                if deleted {
                    self.by_id.remove(id);
                }
                !deleted
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::report::{BrokerState, Status};
    use crate::sample::Sample;
    use crate::snapshot::Observed;

    #[test]
    fn a_refusal_older_than_the_word_that_it_lives_again_is_old_news() {
        let mut sample = Sample::kraft(3, 6, 3).gone(2).leaderless_after(2).later(6);
        assert_eq!(sample.report().broker(2).map(|broker| broker.state), Some(BrokerState::Gone));
        for sight in sample.snapshot.brokers.values_mut() {
            if let Observed::Known(view) = &mut sight.metadata {
                view.brokers.insert(2, "127.0.0.1:9002".to_owned());
            }
        }
        let again = sample.later(1);
        assert_eq!(again.report().broker(2).map(|broker| broker.state), Some(BrokerState::Late));
        let refused_all_the_same = again.later(5);
        assert_eq!(refused_all_the_same.report().broker(2).map(|broker| broker.state), Some(BrokerState::Gone));
    }

    #[test]
    fn since_is_when_it_changed_and_nothing_if_it_was_so_before() {
        let sample = Sample::kraft(3, 6, 1).later(10);
        assert_eq!(sample.report().partitions[0].since, None);
        let gone = sample.gone(1);
        let at = gone.now();
        let report = gone.later(5).report();
        assert_eq!((report.partitions[0].status, report.partitions[0].since), (Status::Stuck, Some(at)));
        assert_eq!(report.headline.since, Some(at));
    }

    #[test]
    fn a_group_that_its_coordinator_no_longer_lists_is_forgotten() {
        let sample = Sample::kraft(3, 6, 1).group_on(0, "orders").later(5);
        assert_eq!(sample.report().groups.total, 1);
        assert_eq!(sample.listing_code(1, 0).report().groups.total, 0);
    }

    #[test]
    fn a_group_that_vanished_with_a_leadership_is_remembered() {
        let sample = Sample::kraft(3, 6, 3).group_on(0, "orders").later(5).epoch(0, 6).served_now(0).later(1);
        assert_eq!(sample.listing_code(1, 0).report().groups.total, 1);
    }

    #[test]
    fn a_listing_that_may_be_filtered_forgets_nothing() {
        let sample = Sample::kraft(3, 6, 3).group_on(0, "orders").later(5).cluster_not_permitted();
        assert_eq!(sample.listing_code(1, 0).report().groups.total, 1);
    }

    #[test]
    fn a_partial_listing_forgets_nothing() {
        let sample = Sample::kraft(3, 6, 1).group_on(0, "orders").later(5).listing_code(1, 14);
        assert_eq!(sample.report().groups.total, 1);
    }

    #[test]
    fn a_group_on_a_loading_partition_is_not_forgotten() {
        let sample = Sample::kraft(3, 6, 1).group_on(0, "orders").later(5).canary(1, 0, 14).listing_code(1, 0);
        assert_eq!(sample.report().groups.total, 1);
    }

    #[test]
    fn a_hundred_thousand_groups_are_counted_and_few_are_named() {
        let mut sample = Sample::kraft(3, 50, 1);
        let listed = crate::snapshot::ListedGroup { protocol_type: "consumer".to_owned(), ..Default::default() };
        for n in 0..100_000 {
            let id = crate::GroupId(format!("group-{n}"));
            let leader = crate::placement::partition_for(&id, 50).map_or(1, |partition| partition % 3 + 1);
            let listing = sample.snapshot.brokers.get_mut(&leader).map(|sight| &mut sight.groups);
            if let Some(crate::snapshot::Observed::Known(listing)) = listing {
                let listing = std::sync::Arc::make_mut(listing);
                listing.at = sample.snapshot.taken_at + jiff::SignedDuration::from_millis(1);
                listing.groups.insert(id, listed.clone());
            }
        }
        let report = sample.later(1).gone(1).report();
        assert_eq!(report.groups.total, 100_000);
        let stuck = report.groups.by_status[&Status::Stuck];
        assert!((30_000..40_000).contains(&stuck), "17 of 50 partitions: {stuck}");
        assert_eq!(report.groups.stuck.len(), crate::report::NAMED_GROUPS_CAP);
    }

    #[test]
    fn a_broker_that_is_back_in_time_never_made_anything_stuck() {
        let sample = Sample::kraft(3, 3, 3).gone(1);
        assert_eq!(sample.report().partitions[0].status, Status::Recovering);
        let mut back = sample.later(3);
        back.snapshot.brokers.get_mut(&1).expect("broker 1").contact.trouble = None;
        assert_eq!(back.later(1).report().partitions[0].status, Status::Working);
    }
}
