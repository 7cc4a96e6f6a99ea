//! Which topics of coordinators' state there are, and the made-up ids for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::snapshot::{BrokerConfigs, MetadataView, OffsetsTopicView, TRANSACTION_STATE};
use unstuck_diagnosis::{GroupId, PartitionId};

use super::{Shared, State};
use crate::canary::CanarySet;

impl Shared {
    /// Whether `__consumer_offsets` is known to exist, so that it may be named.
    pub(crate) fn topic_seen(&self) -> bool {
        self.with(|state| state.topic_seen)
    }

    /// What a metadata answer says about the existence of `__consumer_offsets`.
    pub(crate) fn topic_told(&self, exists: bool) {
        self.with(|state| state.topic_seen = exists);
    }

    /// State topics of other coordinators that are known to exist, so that they may be named.
    pub(crate) fn state_topics(&self) -> BTreeSet<String> {
        self.with(|state| state.state_topics.clone())
    }

    /// All-topics metadata has shown these state topics.
    pub(crate) fn state_topics_seen(&self, topics: impl IntoIterator<Item = String>) {
        self.with(|state| state.state_topics.extend(topics));
    }

    /// A broker that was asked for these by name does not know them; if no other one does, they are not named again.
    pub(crate) fn state_topics_unknown(&self, topics: impl IntoIterator<Item = String>) {
        self.with(|state| {
            for topic in topics {
                let lists = |view: &MetadataView| view.state_topics.contains_key(&topic);
                if !state.brokers.values().filter_map(|entry| entry.sight.metadata.known()).any(lists) {
                    state.state_topics.remove(&topic);
                }
            }
        });
    }

    /// The canaries for `__consumer_offsets` as the brokers see it now.
    pub(crate) fn canaries(&self) -> Arc<CanarySet> {
        let prefix = &self.config.canary_prefix;
        self.with(|state| {
            let count = state.count(partition_count);
            let others = state.told(|configs| configs.offsets_topic_num_partitions);
            refresh(&mut state.canaries, prefix, count, &others)
        })
    }

    /// The made-up transactional ids for `__transaction_state` as the brokers see it now.
    pub(crate) fn transaction_canaries(&self) -> Arc<CanarySet> {
        let prefix = &self.config.canary_prefix;
        self.with(|state| {
            let count = state.count(|view| count_of(view.state_topics.get(TRANSACTION_STATE)?));
            let others = state.told(|configs| configs.transaction_state_num_partitions);
            refresh(&mut state.transaction_canaries, prefix, count, &others)
        })
    }

    /// Some group that a broker listed and that lives on each of these partitions: an id that the account may describe.
    pub(crate) fn listed_on(
        &self,
        partitions: &BTreeSet<PartitionId>,
        partition_count: i32,
    ) -> BTreeMap<PartitionId, GroupId> {
        let listings: Vec<_> =
            self.with(|state| state.brokers.values().filter_map(|entry| entry.sight.groups.known().cloned()).collect());
        let mut found = BTreeMap::new();
        for group in listings.iter().flat_map(|listing| listing.groups.keys()) {
            if found.len() == partitions.len() {
                break;
            }
            if let Some(partition) = partition_for(group, partition_count)
                && partitions.contains(&partition)
            {
                found.entry(partition).or_insert_with(|| group.clone());
            }
        }
        found
    }

    /// The type that any broker listed for a group.
    pub(crate) fn listed_type(&self, group: &GroupId) -> Option<String> {
        self.with(|state| {
            state
                .brokers
                .values()
                .filter_map(|entry| entry.sight.groups.known()?.groups.get(group)?.group_type.clone())
                .next()
        })
    }
}

impl State {
    /// The largest count in the views of brokers that answer; 0 if there is none.
    fn count(&self, of: impl Fn(&MetadataView) -> Option<i32>) -> i32 {
        let answering = self.brokers.values().filter(|entry| entry.sight.contact.trouble.is_none());
        answering.filter_map(|entry| of(entry.sight.metadata.known()?)).max().unwrap_or(0)
    }

    /// What brokers told about one of their settings.
    fn told(&self, setting: impl Fn(&BrokerConfigs) -> Option<i32>) -> BTreeSet<i32> {
        self.brokers.values().filter_map(|entry| setting(entry.sight.configs.known()?)).collect()
    }
}

/// The set for these counts: the one there is if it fits, else a new one.
fn refresh(set: &mut Arc<CanarySet>, prefix: &str, count: i32, others: &BTreeSet<i32>) -> Arc<CanarySet> {
    if !set.fits(prefix, count, others) {
        *set = Arc::new(CanarySet::choose(prefix, count, others));
    }
    Arc::clone(set)
}

/// How many partitions `__consumer_offsets` has in a view; `None` if it has none there.
pub(crate) fn partition_count(view: &MetadataView) -> Option<i32> {
    count_of(view.offsets_topic.as_ref()?)
}

fn count_of(topic: &OffsetsTopicView) -> Option<i32> {
    i32::try_from(topic.partitions.len()).ok().filter(|count| *count > 0)
}
