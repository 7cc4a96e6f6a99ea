//! What happened from one published value to the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Event, Happened, Since, Subject};
use crate::memory::{Memory, PAUSE_MS, SeenGroups};
use crate::report::{BrokerReport, BrokerState, PartitionReport, Report, Status};
use crate::time::millis_between;
use crate::{BrokerId, PartitionId};

/// What was told last, so that only news are told. It is kept with the memory, and goes on after a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chronicle {
    last: Option<Timestamp>,
    headline: Option<Status>,
    partition_count: Option<i32>,
    partitions: BTreeMap<PartitionId, Told>,
    brokers: BTreeMap<BrokerId, BrokerState>,
    /// Groups that are only remembered, by partition.
    vanished: BTreeMap<PartitionId, usize>,
    /// The groups that this was counted of.
    #[serde(skip)]
    groups: Option<Arc<SeenGroups>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    leader: Option<BrokerId>,
    leader_epoch: Option<i32>,
    isr: Vec<BrokerId>,
    status: Option<Status>,
}

impl Chronicle {
    /// Takes in what was published, and tells what is new. A look that nobody answered is no news.
    pub fn step(&mut self, report: &Report, memory: &Memory) -> Vec<Event> {
        let now = report.observed_at;
        if !report.brokers.iter().any(|broker| broker.state == BrokerState::Answering) {
            return Vec::new();
        }
        let since = Since { at: now, after: self.last };
        let mut events = Vec::new();
        let mut tell = |subject: Subject, what: Happened| events.push(Event { since, subject, what });
        if self.last.is_none_or(|last| millis_between(last, now) >= PAUSE_MS) {
            tell(Subject::Cluster, Happened::LookingBegan);
        }
        self.tell_of_topic(report, &mut tell);
        for partition in &report.partitions {
            self.partitions.entry(partition.partition).or_default().tell(partition, &mut tell);
        }
        for broker in &report.brokers {
            self.tell_of_broker(broker, &mut tell);
        }
        self.tell_of_groups(report, memory, &mut tell);
        self.last = Some(now);
        events
    }

    fn tell_of_topic(&mut self, report: &Report, tell: &mut impl FnMut(Subject, Happened)) {
        if let Some(count) = report.offsets_topic.partition_count.filter(|count| self.partition_count != Some(*count)) {
            self.partition_count = Some(count);
            tell(Subject::Cluster, Happened::PartitionCount { count });
        }
        let headline = &report.headline;
        if self.headline != Some(headline.status) {
            self.headline = Some(headline.status);
            let (status, sentence) = (headline.status, headline.sentence.clone());
            tell(Subject::Cluster, Happened::Verdict { status, sentence });
        }
    }

    fn tell_of_broker(&mut self, broker: &BrokerReport, tell: &mut impl FnMut(Subject, Happened)) {
        // Late is no evidence yet, and what was not tried has not happened.
        let soft = matches!(broker.state, BrokerState::Late | BrokerState::NotTried);
        if soft || self.brokers.get(&broker.broker) == Some(&broker.state) {
            return;
        }
        self.brokers.insert(broker.broker, broker.state);
        let what = Happened::Broker {
            state: broker.state,
            address: broker.address.clone(),
            sentence: broker.sentence.clone(),
        };
        tell(Subject::Broker(broker.broker), what);
    }

    fn tell_of_groups(&mut self, report: &Report, memory: &Memory, tell: &mut impl FnMut(Subject, Happened)) {
        let groups = &memory.groups;
        if self.groups.as_ref().is_some_and(|before| Arc::ptr_eq(before, groups)) {
            return;
        }
        for (&partition, ids) in &groups.by_partition {
            let remembered = |id: &&crate::GroupId| groups.by_id.get(*id).is_some_and(|one| one.listed_by.is_empty());
            let count = ids.iter().filter(remembered).count();
            let before = self.vanished.insert(partition, count).unwrap_or_default();
            let stands_still = report.partition(partition).is_some_and(|one| one.status != Status::Working);
            if count > before && stands_still {
                tell(Subject::Partition(partition), Happened::GroupsVanished { count });
            }
        }
        if let Some(before) = &self.groups {
            for id in groups.gone.keys().filter(|id| before.by_id.contains_key(*id)) {
                tell(Subject::Group(id.clone()), Happened::GroupDeleted);
            }
        }
        self.groups = Some(Arc::clone(groups));
    }
}

impl Told {
    fn tell(&mut self, partition: &PartitionReport, tell: &mut impl FnMut(Subject, Happened)) {
        let subject = || Subject::Partition(partition.partition);
        let same = self.leader == partition.leader
            && self.leader_epoch == partition.leader_epoch
            && self.isr == partition.isr
            && self.status.is_some();
        if !same {
            self.leader = partition.leader;
            self.leader_epoch = partition.leader_epoch;
            self.isr.clone_from(&partition.isr);
            let what = Happened::Leadership {
                leader: partition.leader,
                leader_epoch: partition.leader_epoch,
                isr: partition.isr.clone(),
            };
            tell(subject(), what);
        }
        if self.status != Some(partition.status) {
            self.status = Some(partition.status);
            let what = Happened::Verdict { status: partition.status, sentence: partition.sentence.clone() };
            tell(subject(), what);
        }
    }
}
