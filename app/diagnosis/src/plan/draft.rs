//! An assignment under construction: where replicas go, in the order of what matters. First no two replicas in one rack
//! as long as racks allow, then as many replicas on each broker as on any other, and never more moves than that takes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{BrokerId, PartitionId};

/// Where a broker stands. One without a rack is its own: as far from the others as a rack is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rack {
    Named(String),
    Own(BrokerId),
}

impl Rack {
    pub(super) fn of(broker: BrokerId, rack: Option<&str>) -> Self {
        rack.filter(|rack| !rack.is_empty()).map_or(Self::Own(broker), |rack| Self::Named(rack.to_owned()))
    }
}

/// Replica lists that can be changed.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// The rack of every broker that is known, also of those that may not get anything.
    racks: BTreeMap<BrokerId, Rack>,
    /// Replica lists, preferred leader first.
    pub(super) lists: BTreeMap<PartitionId, Vec<BrokerId>>,
    /// How many replicas each broker holds that may get some.
    load: BTreeMap<BrokerId, usize>,
}

/// One replica to take from a broker and give to another.
struct Shift {
    partition: PartitionId,
    from: BrokerId,
    to: BrokerId,
}

impl Draft {
    /// `targets`: the brokers that may get replicas.
    pub(super) fn new(
        racks: BTreeMap<BrokerId, Rack>,
        targets: &BTreeSet<BrokerId>,
        lists: BTreeMap<PartitionId, Vec<BrokerId>>,
    ) -> Self {
        let mut load: BTreeMap<_, _> = targets.iter().map(|&broker| (broker, 0)).collect();
        for broker in lists.values().flatten() {
            if let Some(held) = load.get_mut(broker) {
                *held += 1;
            }
        }
        Self { racks, lists, load }
    }

    fn list(&self, partition: PartitionId) -> &[BrokerId] {
        self.lists.get(&partition).map_or(&[], Vec::as_slice)
    }

    fn held(&self, broker: BrokerId) -> usize {
        self.load.get(&broker).copied().unwrap_or(0)
    }

    /// How many replicas of a list, except one, are in this broker's rack.
    fn crowd(&self, list: &[BrokerId], broker: BrokerId, except: Option<BrokerId>) -> usize {
        let rack = self.racks.get(&broker);
        list.iter().filter(|&&other| Some(other) != except && rack.is_some() && self.racks.get(&other) == rack).count()
    }

    /// Adds a replica to a partition: in the emptiest rack, there on the emptiest broker. `None` if every broker has one.
    pub(super) fn add(&mut self, partition: PartitionId) -> Option<BrokerId> {
        let list = self.list(partition);
        let first = list.first().copied().unwrap_or(partition);
        // Among equals the one that follows the first replica, so that neighbours share the work.
        let rank = |broker: BrokerId| (broker <= first, broker);
        let best = self
            .load
            .keys()
            .copied()
            .filter(|broker| !list.contains(broker))
            .min_by_key(|&broker| (self.crowd(list, broker, None), self.held(broker), rank(broker)))?;
        self.lists.entry(partition).or_default().push(best);
        *self.load.entry(best).or_default() += 1;
        Some(best)
    }

    /// Takes a broker out of a partition's list.
    pub(super) fn remove(&mut self, partition: PartitionId, broker: BrokerId) {
        if let Some(list) = self.lists.get_mut(&partition) {
            list.retain(|&other| other != broker);
        }
        if let Some(held) = self.load.get_mut(&broker) {
            *held = held.saturating_sub(1);
        }
    }

    fn replace(&mut self, shift: &Shift) {
        let Some(place) =
            self.lists.get_mut(&shift.partition).and_then(|list| list.iter_mut().find(|broker| **broker == shift.from))
        else {
            return;
        };
        *place = shift.to;
        if let Some(held) = self.load.get_mut(&shift.from) {
            *held = held.saturating_sub(1);
        }
        *self.load.entry(shift.to).or_default() += 1;
    }

    /// Takes replicas out of racks that hold several of the same partition, while another rack has none. The first of a
    /// list stays.
    pub(super) fn spread_racks(&mut self) {
        let partitions: Vec<_> = self.lists.keys().copied().collect();
        for partition in partitions {
            while let Some(shift) = self.out_of_rack(partition) {
                self.replace(&shift);
            }
        }
    }

    fn out_of_rack(&self, partition: PartitionId) -> Option<Shift> {
        let list = self.list(partition);
        let crowded = list.iter().skip(1).copied().filter(|&broker| self.crowd(list, broker, Some(broker)) > 0);
        let from = crowded.max_by_key(|&broker| (self.held(broker), broker))?;
        let crowd = self.crowd(list, from, Some(from));
        let free = |&broker: &BrokerId| !list.contains(&broker) && self.crowd(list, broker, Some(from)) < crowd;
        let to = self.load.keys().copied().filter(free).min_by_key(|&broker| {
            let crowd = self.crowd(list, broker, Some(from));
            (crowd, self.held(broker), broker)
        })?;
        Some(Shift { partition, from, to })
    }

    /// Moves what may be moved from full brokers to empty ones until none holds more than one replica more than another,
    /// or nothing helps any more. Never worse for racks.
    pub(super) fn level(&mut self, movable: &dyn Fn(PartitionId, BrokerId) -> bool) {
        while let Some(path) = self.relief(movable) {
            for shift in &path {
                self.replace(shift);
            }
        }
    }

    /// The shortest chain of shifts that takes one replica from a fuller broker to one with at least two fewer.
    fn relief(&self, movable: &dyn Fn(PartitionId, BrokerId) -> bool) -> Option<Vec<Shift>> {
        let mut full: Vec<_> = self.load.iter().map(|(&broker, &held)| (Reverse(held), broker)).collect();
        full.sort_unstable();
        let mut empty: Vec<_> = self.load.iter().map(|(&broker, &held)| (held, broker)).collect();
        empty.sort_unstable();
        let least = empty.first()?.0;
        let mut on: BTreeMap<BrokerId, Vec<PartitionId>> = BTreeMap::new();
        for (&partition, list) in &self.lists {
            for &broker in list.iter().filter(|&&broker| self.load.contains_key(&broker)) {
                if movable(partition, broker) {
                    on.entry(broker).or_default().push(partition);
                }
            }
        }
        full.iter().take_while(|(Reverse(held), _)| *held >= least + 2).find_map(|&(Reverse(held), start)| {
            let mut came: BTreeMap<BrokerId, (PartitionId, BrokerId)> = BTreeMap::new();
            let mut next = VecDeque::from([start]);
            while let Some(from) = next.pop_front() {
                for &(there, to) in &empty {
                    if to == start || came.contains_key(&to) {
                        continue;
                    }
                    let shifts = on.get(&from).into_iter().flatten().copied();
                    let mut shifts = shifts.filter(|&partition| self.allows(partition, from, to));
                    let Some(partition) = shifts.find(|&partition| !used(&came, start, from, partition)) else {
                        continue;
                    };
                    came.insert(to, (partition, from));
                    if there + 2 <= held {
                        return Some(way(&came, start, to));
                    }
                    next.push_back(to);
                }
            }
            None
        })
    }

    fn allows(&self, partition: PartitionId, from: BrokerId, to: BrokerId) -> bool {
        let list = self.list(partition);
        !list.contains(&to) && self.crowd(list, to, Some(from)) <= self.crowd(list, from, Some(from))
    }

    /// Lets other replicas be first where `may` allows it, until no broker is first of more than one list more than
    /// another, or nothing helps any more.
    pub(super) fn level_leaders(&mut self, may: &dyn Fn(PartitionId, BrokerId) -> bool) {
        while let Some(path) = self.leader_relief(may) {
            for shift in &path {
                if let Some(list) = self.lists.get_mut(&shift.partition) {
                    list.retain(|&broker| broker != shift.to);
                    list.insert(0, shift.to);
                }
            }
        }
    }

    fn leader_relief(&self, may: &dyn Fn(PartitionId, BrokerId) -> bool) -> Option<Vec<Shift>> {
        let leads = self.leads();
        let count = |broker: BrokerId| leads.get(&broker).copied().unwrap_or(0);
        let mut full: Vec<_> = leads.iter().map(|(&broker, &count)| (Reverse(count), broker)).collect();
        full.sort_unstable();
        let least = leads.values().copied().min()?;
        full.iter().take_while(|(Reverse(count), _)| *count >= least + 2).find_map(|&(Reverse(high), start)| {
            let mut came: BTreeMap<BrokerId, (PartitionId, BrokerId)> = BTreeMap::new();
            let mut next = VecDeque::from([start]);
            while let Some(from) = next.pop_front() {
                let first_on = self.lists.iter().filter(|(_, list)| list.first() == Some(&from));
                for (&partition, list) in first_on {
                    let mut others: Vec<_> = list.iter().skip(1).copied().collect();
                    others.sort_by_key(|&broker| count(broker));
                    for to in others {
                        let known = to == start || came.contains_key(&to) || !self.load.contains_key(&to);
                        if known || !may(partition, to) || used(&came, start, from, partition) {
                            continue;
                        }
                        came.insert(to, (partition, from));
                        if count(to) + 2 <= high {
                            return Some(way(&came, start, to));
                        }
                        next.push_back(to);
                    }
                }
            }
            None
        })
    }

    /// Of how many lists each broker is the first that may get replicas.
    pub(super) fn leads(&self) -> BTreeMap<BrokerId, usize> {
        let mut leads: BTreeMap<_, _> = self.load.keys().map(|&broker| (broker, 0)).collect();
        for first in self.lists.values().filter_map(|list| list.first()) {
            if let Some(count) = leads.get_mut(first) {
                *count += 1;
            }
        }
        leads
    }

    /// Orders the replicas that were added so that, if a leader is lost, its partitions do not all go to the same broker:
    /// the second of a list is the one that takes over.
    pub(super) fn order_added(&mut self, added: &dyn Fn(PartitionId, BrokerId) -> bool) {
        let mut heirs: BTreeMap<(BrokerId, BrokerId), usize> = BTreeMap::new();
        for (&partition, list) in &mut self.lists {
            let Some(&first) = list.first() else { continue };
            if list.get(1).is_some_and(|&second| added(partition, second)) {
                let tail = list.get_mut(1..).unwrap_or_default();
                tail.sort_unstable();
                let best = tail
                    .iter()
                    .enumerate()
                    .min_by_key(|&(_, &broker)| (heirs.get(&(first, broker)).copied().unwrap_or(0), broker))
                    .map_or(0, |(at, _)| at);
                tail.swap(0, best);
            }
            if let Some(&heir) = list.get(1) {
                *heirs.entry((first, heir)).or_default() += 1;
            }
        }
    }
}

/// Whether the way from the start to here moves something of this partition already.
fn used(
    came: &BTreeMap<BrokerId, (PartitionId, BrokerId)>,
    start: BrokerId,
    here: BrokerId,
    partition: PartitionId,
) -> bool {
    let mut at = here;
    while at != start {
        match came.get(&at) {
            Some(&(moved, _)) if moved == partition => return true,
            Some(&(_, from)) => at = from,
            None => return false,
        }
    }
    false
}

/// The shifts that lead from the start to a broker.
fn way(came: &BTreeMap<BrokerId, (PartitionId, BrokerId)>, start: BrokerId, end: BrokerId) -> Vec<Shift> {
    let mut shifts = Vec::new();
    let mut at = end;
    while at != start {
        let Some(&(partition, from)) = came.get(&at) else { break };
        shifts.push(Shift { partition, from, to: at });
        at = from;
    }
    shifts
}
