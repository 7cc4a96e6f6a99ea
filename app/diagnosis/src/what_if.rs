//! What stops if a broker, or a whole rack, stops now: told before somebody stops one.
//!
//! Founding incident 1 began with brokers that were taken out, founding incident 3 with one that died; both times nobody
//! had known what depended on them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::facts::{Facts, PartitionFacts};
use crate::report::PartitionReport;
use crate::snapshot::{DataPartition, Observed};
use crate::{BrokerId, PartitionId, words};

/// How many data partitions a sentence names.
const NAMED: usize = 5;

/// What would stop, as far as could be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IfItStops {
    /// `If broker 1 stops now`.
    pub title: String,
    /// What happens, worst first. Never empty.
    pub sentences: Vec<String>,
    /// Partitions of the offsets topic that lose their leader for good: no other replica could lead.
    pub loses_leader: Consequence,
    /// Partitions of the offsets topic on which commits are refused: too few replicas remain in sync.
    pub below_min_isr: Consequence,
    /// Partitions of the offsets topic that get another leader.
    pub fails_over: Consequence,
    /// Until when after a crash that takes at most, in milliseconds: the session time-out.
    pub failover_ms: i64,
    /// True if that setting could not be read, so Kafka's default was taken.
    pub failover_assumed: bool,
    /// Whether the KRaft quorum loses its majority; `None` if its voters are not known.
    pub loses_quorum: Option<bool>,
    /// How many partitions of other topics lose their leader, because no other replica is in sync: at least so many for a
    /// rack. `None` if it could not be looked at.
    pub data_partitions: Option<usize>,
    /// The first of them.
    pub data_named: Vec<DataPartition>,
    /// What could not be seen, in sentences.
    pub not_known: Vec<String>,
}

impl IfItStops {
    /// Whether groups, or readers and writers of other topics, would stand still, rather than pause.
    #[must_use]
    pub fn something_stands_still(&self) -> bool {
        !self.loses_leader.partitions.is_empty()
            || !self.below_min_isr.partitions.is_empty()
            || self.loses_quorum == Some(true)
            || self.data_partitions.is_some_and(|count| count > 0)
    }
}

/// Partitions, and the groups on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consequence {
    /// Their numbers.
    pub partitions: Vec<PartitionId>,
    /// How many known groups live on them.
    pub groups: usize,
}

/// A rack with the brokers in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RackReport {
    /// Its name.
    pub rack: String,
    /// Brokers in it, by id.
    pub brokers: Vec<BrokerId>,
    /// Partitions of the offsets topic that have replicas in it.
    pub holds: Vec<PartitionId>,
    /// What stops with it; `None` if it is down already, or nothing is known.
    pub if_it_stops: Option<IfItStops>,
}

/// What stops with a broker; `None` if it is down already, or if nothing current is known.
pub(crate) fn broker_stops(facts: &Facts<'_>, broker: BrokerId) -> Option<IfItStops> {
    if facts.stale || !facts.electable(broker) {
        return None;
    }
    Some(stops(facts, &BTreeSet::from([broker]), format!("If broker {broker} stops now"), "it"))
}

/// Each rack, if there are several.
pub(crate) fn racks(facts: &Facts<'_>, partitions: &[PartitionReport]) -> Vec<RackReport> {
    let mut racks: BTreeMap<&str, BTreeSet<BrokerId>> = BTreeMap::new();
    for (&broker, sight) in &facts.snapshot.brokers {
        if let Some(rack) = sight.rack.as_deref().filter(|rack| !rack.is_empty()) {
            racks.entry(rack).or_default().insert(broker);
        }
    }
    if racks.len() < 2 {
        return Vec::new();
    }
    let report = |(rack, brokers): (&str, BTreeSet<BrokerId>)| {
        let alive = !facts.stale && brokers.iter().any(|&broker| facts.electable(broker));
        let title = format!("If rack {} stops now", crate::visible(rack));
        RackReport {
            rack: rack.to_owned(),
            holds: partitions
                .iter()
                .filter(|report| report.replicas.iter().any(|id| brokers.contains(id)))
                .map(|report| report.partition)
                .collect(),
            if_it_stops: alive.then(|| stops(facts, &brokers, title, "the rack")),
            brokers: brokers.into_iter().collect(),
        }
    };
    racks.into_iter().map(report).collect()
}

/// What becomes of one partition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It has no leader now.
    Leaderless,
    LosesLeader,
    BelowMinIsr,
    FailsOver,
    GoesOn,
}

fn stops(facts: &Facts<'_>, stopping: &BTreeSet<BrokerId>, title: String, it: &str) -> IfItStops {
    let loses_quorum = loses_quorum(facts, stopping);
    let mut found = IfItStops {
        title,
        failover_ms: facts.session.ms,
        failover_assumed: facts.session.assumed,
        loses_quorum,
        ..IfItStops::default()
    };
    let mut leaderless = 0;
    for (&partition, seen) in &facts.partitions {
        let place = match fate(facts, seen, stopping, loses_quorum == Some(true)) {
            Fate::LosesLeader => &mut found.loses_leader,
            Fate::BelowMinIsr => &mut found.below_min_isr,
            Fate::FailsOver => &mut found.fails_over,
            Fate::Leaderless => {
                leaderless += 1;
                continue;
            }
            Fate::GoesOn => continue,
        };
        place.partitions.push(partition);
        place.groups += facts.memory.groups.by_partition.get(&partition).map_or(0, BTreeSet::len);
    }
    data(facts, stopping, &mut found);
    unknowns(facts, &mut found);
    found.sentences = sentences(facts, &found, leaderless, it, stopping.len() > 1);
    found
}

fn fate(facts: &Facts<'_>, seen: &PartitionFacts<'_>, stopping: &BTreeSet<BrokerId>, nobody_elects: bool) -> Fate {
    let view = seen.newest;
    let Some(leader) = view.leader else { return Fate::Leaderless };
    let left = view.isr.iter().filter(|&&id| !stopping.contains(&id) && facts.electable(id)).count();
    let hit = view.isr.iter().any(|id| stopping.contains(id));
    let too_few = hit && facts.min_isr(view.replicas.len()).is_some_and(|min| left < min);
    match stopping.contains(&leader) {
        true if left == 0 || nobody_elects => Fate::LosesLeader,
        true if too_few => Fate::BelowMinIsr,
        true => Fate::FailsOver,
        false if too_few => Fate::BelowMinIsr,
        false => Fate::GoesOn,
    }
}

/// Whether too few voters remain. Controllers that are no brokers are taken for alive: they are not looked at.
fn loses_quorum(facts: &Facts<'_>, stopping: &BTreeSet<BrokerId>) -> Option<bool> {
    if facts.kraft != Some(true) {
        return Some(false);
    }
    let told = facts.answering.iter().filter_map(|id| facts.snapshot.brokers.get(id)?.quorum.known());
    let voters = told.max_by_key(|quorum| quorum.at).map_or(&facts.memory.voters, |quorum| &quorum.voters);
    if voters.is_empty() {
        return None;
    }
    let dead = |voter: &&BrokerId| stopping.contains(voter) || facts.lost(**voter);
    let hit = voters.iter().any(|voter| stopping.contains(voter));
    let left = voters.len() - voters.iter().filter(dead).count();
    Some(hit && left * 2 <= voters.len())
}

fn data(facts: &Facts<'_>, stopping: &BTreeSet<BrokerId>, found: &mut IfItStops) {
    match &facts.snapshot.client {
        Observed::Known(view) => {
            let only = || stopping.iter().filter_map(|broker| view.only_in_sync_on.get(broker));
            found.data_partitions = Some(only().map(|copies| copies.count).sum());
            found.data_named = only().flat_map(|copies| copies.named.iter().cloned()).collect();
            found.data_named.sort();
        }
        Observed::Unavailable(unavailable) => {
            found.not_known.push(format!("Partitions of other topics could not be looked at: {}.", unavailable.why));
        }
        Observed::NotAsked => {
            found.not_known.push("Partitions of other topics have not been looked at yet.".to_owned())
        }
    }
}

fn unknowns(facts: &Facts<'_>, found: &mut IfItStops) {
    if facts.partitions.is_empty() {
        found.not_known.push("__consumer_offsets is not listed.".to_owned());
    } else if facts.min_isr(usize::MAX).is_none() {
        found
            .not_known
            .push("min.insync.replicas could not be read: whether commits would be accepted is not known.".to_owned());
    } else if !facts.min_isr_verified() {
        found
            .not_known
            .push("The topic's own min.insync.replicas could not be read; the brokers' default was taken.".to_owned());
    }
    if found.loses_quorum.is_none() {
        found.not_known.push("Which nodes vote in the controller quorum is not known.".to_owned());
    }
}

fn sentences(facts: &Facts<'_>, found: &IfItStops, leaderless: usize, it: &str, several: bool) -> Vec<String> {
    let topic = "__consumer_offsets";
    let mut said = Vec::new();
    if found.loses_quorum == Some(true) {
        said.push(format!(
            "The controller quorum loses its majority: until it is back nobody elects leaders or takes lost replicas out \
             of an ISR, so commits stop wherever {it} is in sync."
        ));
    }
    if let Some(n) = some(&found.loses_leader) {
        let why = if found.loses_quorum == Some(true) {
            "until the quorum is back".to_owned()
        } else {
            format!("until {it} is back, because no other in-sync replica lives")
        };
        said.push(format!(
            "{n} of {topic} {} leader {why}: {}.",
            loses(n_of(found)),
            groups(found.loses_leader.groups, "stop")
        ));
    }
    if let Some(n) = some(&found.below_min_isr) {
        let min = facts
            .partitions
            .get(found.below_min_isr.partitions.first().unwrap_or(&0))
            .and_then(|seen| facts.min_isr(seen.newest.replicas.len()));
        let min = min.map_or_else(String::new, |min| format!(" (min.insync.replicas is {min})"));
        said.push(format!(
            "Commits are refused on {n} of {topic}, because too few replicas remain in sync{min}: {}.",
            groups(found.below_min_isr.groups, "stop")
        ));
    }
    if let Some(count) = found.data_partitions.filter(|&count| count > 0) {
        let named: Vec<_> = found
            .data_named
            .iter()
            .take(NAMED)
            .map(|partition| format!("{}-{}", crate::visible(&partition.topic), partition.partition))
            .collect();
        let more = count.saturating_sub(named.len());
        let more = if more == 0 { String::new() } else { format!(" and {} more", words::thousands(more)) };
        let least = if several { "At least " } else { "" };
        said.push(format!(
            "{least}{} of other topics {} leader, because no other replica is in sync: {}{more}.",
            words::count(count, "partition"),
            loses(count),
            named.join(", ")
        ));
    }
    if let Some(n) = some(&found.fails_over) {
        let assumed = if found.failover_assumed { ", as far as assumed" } else { "" };
        said.push(format!(
            "{n} of {topic} {} another leader: at once after an orderly stop, within about {} s after a crash{assumed}; {}.",
            if found.fails_over.partitions.len() == 1 { "gets" } else { "get" },
            (found.failover_ms + 999) / 1_000,
            groups(found.fails_over.groups, "pause")
        ));
    }
    if leaderless > 0 {
        let verb = if leaderless == 1 { "has" } else { "have" };
        said.push(format!("{} of {topic} {verb} no leader already.", words::count(leaderless, "partition")));
    }
    if said.is_empty() {
        said.push(if found.not_known.is_empty() {
            "No coordinator moves, and commits go on.".to_owned()
        } else {
            "Nothing stops, as far as could be seen.".to_owned()
        });
    }
    said
}

fn n_of(found: &IfItStops) -> usize {
    found.loses_leader.partitions.len()
}

fn some(consequence: &Consequence) -> Option<String> {
    (!consequence.partitions.is_empty()).then(|| words::count(consequence.partitions.len(), "partition"))
}

fn loses(n: usize) -> &'static str {
    if n == 1 { "loses its" } else { "lose their" }
}

/// `12 known groups stop`.
fn groups(n: usize, verb: &str) -> String {
    match n {
        0 => "no known group lives there".to_owned(),
        1 => format!("1 known group {verb}s"),
        n => format!("{} {verb}", words::count(n, "known group")),
    }
}

#[cfg(test)]
mod tests {
    use super::IfItStops;
    use crate::sample::Sample;

    fn text(found: Option<&IfItStops>) -> String {
        let Some(found) = found else { return "nothing known".to_owned() };
        let said = found.sentences.iter().map(|said| format!("  {said}\n")).collect::<String>();
        let open = found.not_known.iter().map(|said| format!("  ? {said}\n")).collect::<String>();
        format!("{}\n{said}{open}", found.title)
    }

    fn of(sample: &Sample, broker: i32) -> String {
        text(sample.report().broker(broker).and_then(|report| report.if_it_stops.as_ref()))
    }

    #[test]
    fn one_copy_each() {
        let sample = Sample::kraft(3, 6, 1).group_on(0, "orders").group_on(3, "billing").group_on(1, "mail");
        insta::assert_snapshot!(of(&sample, 1), @"
        If broker 1 stops now
          2 partitions of __consumer_offsets lose their leader until it is back, because no other in-sync replica lives: 2 known groups stop.
        ");
    }

    #[test]
    fn three_copies_fail_over() {
        let sample = Sample::kraft(3, 6, 3).min_isr(2).group_on(0, "orders");
        insta::assert_snapshot!(of(&sample, 1), @"
        If broker 1 stops now
          2 partitions of __consumer_offsets get another leader: at once after an orderly stop, within about 9 s after a crash; 1 known group pauses.
        ");
    }

    #[test]
    fn no_headroom_refuses_commits_everywhere() {
        let sample = Sample::kraft(3, 6, 2).min_isr(2).group_on(0, "orders");
        insta::assert_snapshot!(of(&sample, 1), @"
        If broker 1 stops now
          Commits are refused on 4 partitions of __consumer_offsets, because too few replicas remain in sync (min.insync.replicas is 2): 1 known group stops.
        ");
    }

    #[test]
    fn an_isr_of_one_counts_not_the_replicas() {
        let sample = Sample::kraft(3, 3, 3).isr(0, &[1]).group_on(0, "orders");
        insta::assert_snapshot!(of(&sample, 1), @"
        If broker 1 stops now
          1 partition of __consumer_offsets loses its leader until it is back, because no other in-sync replica lives: 1 known group stops.
        ");
    }

    #[test]
    fn data_partitions_are_named() {
        let sample = (0..7).fold(Sample::kraft(3, 3, 3), |sample, partition| sample.only_copy("logs", partition, 2));
        insta::assert_snapshot!(of(&sample, 2), @"
        If broker 2 stops now
          7 partitions of other topics lose their leader, because no other replica is in sync: logs-0, logs-1, logs-2, logs-3, logs-4 and 2 more.
          1 partition of __consumer_offsets gets another leader: at once after an orderly stop, within about 9 s after a crash; no known group lives there.
        ");
        assert!(!of(&sample, 1).contains("logs"));
    }

    #[test]
    fn two_of_three_voters_down_is_the_end_of_elections() {
        let sample = Sample::kraft(3, 6, 3).gone(3).leaderless_after(3);
        insta::assert_snapshot!(of(&sample, 1), @"
        If broker 1 stops now
          The controller quorum loses its majority: until it is back nobody elects leaders or takes lost replicas out of an ISR, so commits stop wherever it is in sync.
          2 partitions of __consumer_offsets lose their leader until the quorum is back: no known group lives there.
          2 partitions of __consumer_offsets have no leader already.
        ");
        insta::assert_snapshot!(of(&sample, 3), @"nothing known");
    }

    #[test]
    fn what_could_not_be_read_is_said() {
        let sample = Sample::kraft(3, 3, 3).no_configs().no_client();
        insta::assert_snapshot!(of(&sample, 1), @"
        If broker 1 stops now
          1 partition of __consumer_offsets gets another leader: at once after an orderly stop, within about 9 s after a crash, as far as assumed; no known group lives there.
          ? Partitions of other topics could not be looked at: all brokers are down.
          ? min.insync.replicas could not be read: whether commits would be accepted is not known.
        ");
    }

    #[test]
    fn racks_likewise() {
        let sample = Sample::kraft(4, 4, 2).rack(1, "a").rack(2, "a").rack(3, "b").rack(4, "b").only_copy("logs", 1, 1);
        let report = sample.report();
        insta::assert_snapshot!(
            report.racks.iter().map(|rack| text(rack.if_it_stops.as_ref())).collect::<String>(), @"
        If rack a stops now
          The controller quorum loses its majority: until it is back nobody elects leaders or takes lost replicas out of an ISR, so commits stop wherever the rack is in sync.
          2 partitions of __consumer_offsets lose their leader until the quorum is back: no known group lives there.
          At least 1 partition of other topics loses its leader, because no other replica is in sync: logs-1.
        If rack b stops now
          The controller quorum loses its majority: until it is back nobody elects leaders or takes lost replicas out of an ISR, so commits stop wherever the rack is in sync.
          2 partitions of __consumer_offsets lose their leader until the quorum is back: no known group lives there.
        ");
        assert!(Sample::kraft(3, 3, 3).report().racks.is_empty(), "no racks, nothing to say");
    }
}
