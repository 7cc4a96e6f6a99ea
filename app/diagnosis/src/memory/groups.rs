//! The groups: which were ever listed, by whom, and which were properly deleted since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{GHOSTS_CAP, GONE_CAP, GoneGroup, Memory, SeenGroup};
use crate::facts::Facts;
use crate::history::SeenMembers;
use crate::near::Mark;
use crate::placement::partition_for;
use crate::snapshot::{GroupListing, Snapshot};
use crate::time::millis_between;
use crate::{BrokerId, GroupId, PartitionId};

/// How long after a change of leadership a listing of the old leader may still have its groups.
const SETTLED_MS: i64 = 5_000;

/// Every group ever listed.
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
    /// Groups that their coordinator no longer knows: deleted, or all their offsets expired. The latest [`GONE_CAP`].
    #[serde(default)]
    pub gone: BTreeMap<GroupId, GoneGroup>,
    /// Who was in a group when somebody last asked its coordinator for the members.
    #[serde(default)]
    pub members: BTreeMap<GroupId, SeenMembers>,
}

impl Memory {
    /// The memory of an earlier run, kept apart from its groups. Whose listings those were is history now: each group is
    /// only remembered until a broker lists it again.
    #[must_use]
    pub fn with_groups(
        mut self,
        groups: impl IntoIterator<Item = (GroupId, SeenGroup)>,
        gone: impl IntoIterator<Item = (GroupId, GoneGroup)>,
        members: impl IntoIterator<Item = (GroupId, SeenMembers)>,
    ) -> Self {
        let listings = self.groups.listings.clone();
        let mut kept = SeenGroups { gone: gone.into_iter().collect(), ..SeenGroups::default() };
        for (id, mut group) in groups {
            // What did not change was not written again each time that it was listed.
            let listed = group.listed_by.iter().filter_map(|broker| listings.get(broker).copied());
            group.last_seen = listed.max().map_or(group.last_seen, |listed| listed.max(group.last_seen));
            group.listed_by.clear();
            group.mark = Mark::of(id.as_str());
            kept.by_id.insert(id, group);
        }
        kept.members = members.into_iter().filter(|(id, _)| kept.by_id.contains_key(id)).collect();
        kept.place_all(self.offsets_topic.as_ref().map(|topic| topic.partition_count));
        self.groups = Arc::new(kept);
        self
    }

    /// The same without groups, but with the times of the listings, as [`with_groups`](Self::with_groups) takes it.
    #[must_use]
    pub fn without_groups(&self) -> Self {
        let listings = self.groups.listings.clone();
        let groups = Arc::new(SeenGroups { listings, ..SeenGroups::default() });
        Self { groups, ..self.clone() }
    }

    /// Takes over groups that are not known now, and what is known better of the others.
    pub(super) fn recall_groups(&mut self, earlier: &SeenGroups) {
        let groups = Arc::make_mut(&mut self.groups);
        for (id, seen) in &earlier.by_id {
            match groups.by_id.get_mut(id) {
                Some(known) => known.first_seen = known.first_seen.min(seen.first_seen),
                None if groups.gone.contains_key(id) => {}
                None => {
                    groups.by_id.insert(id.clone(), SeenGroup { listed_by: BTreeSet::new(), ..seen.clone() });
                }
            }
        }
        for (id, gone) in &earlier.gone {
            if !groups.by_id.contains_key(id) {
                groups.gone.entry(id.clone()).or_insert_with(|| gone.clone());
            }
        }
        for (id, members) in &earlier.members {
            if groups.by_id.contains_key(id) {
                groups.members.entry(id.clone()).or_insert_with(|| members.clone());
            }
        }
        let count = groups.partition_count;
        groups.place_all(count);
    }

    /// Takes in who is in a group, as its coordinator told.
    pub fn see_members(&mut self, group: &GroupId, members: SeenMembers) {
        // An empty group tells nothing of who was in it.
        if members.count > 0 && self.groups.by_id.contains_key(group) {
            Arc::make_mut(&mut self.groups).members.insert(group.clone(), members);
        }
    }

    pub(super) fn learn_groups(&mut self, snapshot: &Snapshot, answering: &BTreeSet<BrokerId>, served: &Served) {
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

    /// Which groups are listed by a broker that does not coordinate them, although it has had the time to drop them.
    pub(super) fn learn_ghosts(&mut self, snapshot: &Snapshot, now: Timestamp) {
        let facts = Facts::draw(snapshot, self, now);
        let mut ghosts = BTreeMap::new();
        for (partition, ids) in &self.groups.by_partition {
            let Some(leader) = facts.partitions.get(partition).and_then(|seen| seen.newest.leader) else { continue };
            let since = self.partitions.get(partition).and_then(|seen| seen.leadership_since);
            let stranger = |id: &BrokerId| {
                let listed = self.groups.listings.get(id).copied().unwrap_or(now);
                *id != leader && since.is_none_or(|since| millis_between(since, listed) > SETTLED_MS)
            };
            for id in ids {
                let listed_by = self.groups.by_id.get(id).map(|group| &group.listed_by);
                if ghosts.len() < GHOSTS_CAP && listed_by.is_some_and(|brokers| brokers.iter().any(stranger)) {
                    ghosts.insert(id.clone(), self.ghosts.get(id).copied().unwrap_or(now));
                }
            }
        }
        self.ghosts = ghosts;
    }
}

/// By broker: partitions that it leads and, by its own answer under the present leadership, serves; and since when that
/// leadership stands, if it was seen to change.
pub(super) type Served = BTreeMap<BrokerId, Vec<(PartitionId, Option<Timestamp>)>>;

/// Only of brokers that are proven to list all their groups.
pub(super) fn served_by_leader(facts: &Facts<'_>) -> Served {
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
            let group = self.by_id.entry(id.clone()).or_insert_with(|| SeenGroup::new(id, listing.at));
            group.take_in(listed, listing.at);
            group.listed_by.insert(broker);
            group.last_listed_by = Some(broker);
            if new {
                self.gone.remove(id);
                if let Some(partition) = self.partition_count.and_then(|count| partition_for(id, count)) {
                    self.by_partition.entry(partition).or_default().insert(id.clone());
                }
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
                if deleted && let Some(group) = self.by_id.remove(id) {
                    let gone = GoneGroup {
                        last_seen: group.last_seen,
                        state: group.state,
                        protocol_type: group.protocol_type,
                        state_since: group.state_since,
                    };
                    self.members.remove(id);
                    self.gone.insert(id.clone(), gone);
                }
                !deleted
            });
        }
        self.forget_the_oldest_gone();
    }

    fn forget_the_oldest_gone(&mut self) {
        let Some(surplus) = self.gone.len().checked_sub(GONE_CAP).filter(|surplus| *surplus > 0) else { return };
        let mut by_age: Vec<_> = self.gone.iter().map(|(id, gone)| (gone.last_seen, id.clone())).collect();
        by_age.sort_unstable();
        for (_, id) in by_age.into_iter().take(surplus) {
            self.gone.remove(&id);
        }
    }
}
