//! What was seen, as a cluster that is well and as what happens to it then.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use unstuck_diagnosis::history::{Frozen, Moment};
use unstuck_diagnosis::report::{BrokerState, PartitionReport, Shard};
use unstuck_diagnosis::snapshot::OffsetsTopicView;
use unstuck_diagnosis::{BrokerId, OFFSETS_TOPIC, PartitionId};

use crate::incidents::archive::Archive;

/// How many groups are told of.
const GROUPS: usize = 300;
/// How many topics besides those of coordinators.
const TOPICS: usize = 20;
/// The releases of drills, newest last, and the oldest version that each stands for.
const RELEASES: [(&str, (u32, u32)); 6] =
    [("1.0.2", (0, 0)), ("2.3.1", (2, 0)), ("2.8.2", (2, 5)), ("3.6.2", (3, 0)), ("3.9.1", (3, 7)), ("4.1.1", (4, 0))];

/// How something is told, where there are several ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// What the controller held is set, instead of left to the controller of the drill.
    pub(super) set: bool,
    /// What hung did so in its requests only; its heartbeats went on.
    pub(super) threads: bool,
    /// What was gone was gone for clients only.
    pub(super) refused: bool,
}

impl Way {
    /// All of them, the most natural one first.
    pub(super) const ALL: [Self; 6] = [
        Self { set: false, threads: false, refused: false },
        Self { set: true, threads: false, refused: false },
        Self { set: false, threads: true, refused: false },
        Self { set: true, threads: true, refused: false },
        Self { set: false, threads: false, refused: true },
        Self { set: true, threads: false, refused: true },
    ];
}

/// Something that happens to a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Its process is gone.
    Gone,
    /// It hangs.
    Hung,
    /// It serves, and nobody hears of it.
    CutOff,
    /// It serves, and its coordinator answers nothing.
    Locked,
}

/// How partitions are at a moment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Placed {
    pub(super) replicas: Vec<BrokerId>,
    pub(super) isr: Vec<BrokerId>,
    /// `None`: no leader.
    pub(super) leader: Option<BrokerId>,
}

/// A topic, partitions that are alike together.
#[derive(Clone, Debug, Default)]
pub(super) struct Topic {
    pub(super) partitions: i32,
    pub(super) placed: BTreeMap<Placed, Vec<PartitionId>>,
    /// How many replicas, where it is not known on which brokers.
    pub(super) replication_factor: Option<usize>,
    pub(super) configs: Vec<(&'static str, String)>,
}

/// A group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) id: String,
    pub(super) kind: &'static str,
    pub(super) state: Option<String>,
    pub(super) members: usize,
}

/// Everything that a scenario is written from.
#[derive(Debug)]
pub(super) struct Rebuilt<'a> {
    pub(super) archive: &'a Archive,
    pub(super) at: Timestamp,
    pub(super) kraft: bool,
    pub(super) release: &'static str,
    pub(super) cluster_id: Option<String>,
    pub(super) brokers: Vec<BrokerId>,
    pub(super) controllers: Vec<i32>,
    pub(super) racks: BTreeMap<BrokerId, String>,
    /// Brokers that were not there from the beginning.
    pub(super) stopped: BTreeSet<BrokerId>,
    pub(super) session_timeout_ms: Option<i64>,
    pub(super) configs: Vec<(&'static str, String)>,
    pub(super) topics: BTreeMap<String, Topic>,
    pub(super) groups: Vec<Group>,
    pub(super) groups_hidden: bool,
    pub(super) fates: BTreeMap<BrokerId, Fate>,
    pub(super) controller_lost: bool,
    /// The offsets topic was there before, and not at the worst moment.
    pub(super) topic_lost: bool,
    /// How partitions of the offsets topic were at the worst moment, where not as at the beginning.
    pub(super) set: BTreeMap<Placed, Vec<PartitionId>>,
    pub(super) coordinators: BTreeMap<&'static str, Vec<PartitionId>>,
    /// How it was when it was over.
    pub(super) closing: Option<&'a Frozen>,
    pub(super) notes: Vec<String>,
}

impl<'a> Rebuilt<'a> {
    pub(super) fn of(archive: &'a Archive, worst: &'a Frozen) -> Self {
        let opening = archive.documents.get(&Moment::Opening).unwrap_or(worst);
        let brokers = brokers(opening, worst);
        let (kraft, release) = release(worst);
        let voters: BTreeSet<i32> = worst.memory.voters.iter().copied().collect();
        let mut rebuilt = Self {
            archive,
            at: archive.incident.opened.at,
            kraft,
            release,
            cluster_id: worst.report.cluster_id.clone(),
            controllers: if kraft {
                voters.iter().copied().filter(|id| !brokers.contains(id)).collect()
            } else {
                Vec::new()
            },
            racks: racks(worst),
            stopped: BTreeSet::new(),
            session_timeout_ms: None,
            configs: Vec::new(),
            topics: BTreeMap::new(),
            groups: Vec::new(),
            groups_hidden: false,
            fates: BTreeMap::new(),
            topic_lost: false,
            controller_lost: worst.memory.no_controller_since.is_some(),
            set: BTreeMap::new(),
            coordinators: BTreeMap::new(),
            closing: archive.documents.get(&Moment::Closing),
            notes: Vec::new(),
            brokers: brokers.into_iter().collect(),
        };
        rebuilt.notes.push("Sizes and offsets were not kept: those of the drill are made up.".to_owned());
        if worst.groups_left_out > 0 {
            rebuilt.notes.push(format!("{} groups on partitions that worked were not kept.", worst.groups_left_out));
        }
        rebuilt.fates(worst);
        rebuilt.settings(worst);
        rebuilt.offsets_topic(opening, worst);
        rebuilt.other_topics(worst);
        rebuilt.groups(worst);
        rebuilt
    }

    /// How it was when it was over, if that is kept.
    pub(super) fn over(&self) -> Option<&'a Frozen> {
        self.closing
    }

    fn fates(&mut self, worst: &Frozen) {
        for broker in &worst.report.brokers {
            let id = broker.broker;
            if !self.brokers.contains(&id) {
                continue;
            }
            let seen = worst.memory.brokers_seen.contains_key(&id);
            let sight = worst.snapshot.brokers.get(&id);
            let fate = match broker.state {
                BrokerState::Gone => Some(Fate::Gone),
                BrokerState::Late | BrokerState::Hung => Some(Fate::Hung),
                BrokerState::NotLive if seen => Some(Fate::Gone),
                BrokerState::NotLive | BrokerState::NotTried => {
                    self.stopped.insert(id);
                    None
                }
                BrokerState::NeverReached | BrokerState::Unreadable => {
                    self.notes.push(format!(
                        "Broker {id} could not be reached or read from where Unstuck looked ({}); here it can.",
                        broker.sentence
                    ));
                    None
                }
                BrokerState::Answering if broker.live_for_cluster == Some(false) => Some(Fate::CutOff),
                BrokerState::Answering if sight.is_some_and(|one| one.canaries_unanswered_since.is_some()) => {
                    Some(Fate::Locked)
                }
                BrokerState::Answering => None,
            };
            if let Some(fate) = fate {
                self.fates.insert(id, fate);
            }
        }
        // One that was never there is not part of the placement of whoever reads this; it must exist all the same.
        for &id in &self.brokers {
            if worst.report.broker(id).is_none() {
                self.stopped.insert(id);
            }
        }
    }

    fn settings(&mut self, worst: &Frozen) {
        let Some(configs) = worst.snapshot.brokers.values().find_map(|sight| sight.configs.known()) else {
            self.notes.push("Settings of brokers were not seen: those of the release hold.".to_owned());
            return;
        };
        let mut number = |key: &'static str, value: Option<i64>, default: i64| {
            if let Some(value) = value.filter(|value| *value != default) {
                self.configs.push((key, value.to_string()));
            }
        };
        number("offsets.topic.replication.factor", configs.offsets_topic_replication_factor.map(i64::from), 3);
        number("min.insync.replicas", configs.min_insync_replicas.map(i64::from), 1);
        number("offsets.retention.minutes", configs.offsets_retention_minutes, 10_080);
        for (key, value, default) in [
            ("unclean.leader.election.enable", configs.unclean_leader_election, false),
            ("auto.leader.rebalance.enable", configs.auto_leader_rebalance, true),
        ] {
            if let Some(value) = value.filter(|value| *value != default) {
                self.configs.push((key, value.to_string()));
            }
        }
        self.session_timeout_ms = if self.kraft {
            configs.broker_session_timeout_ms.filter(|ms| *ms != 9_000)
        } else {
            configs.zookeeper_session_timeout_ms.filter(|ms| !matches!(ms, 6_000 | 18_000))
        }
        .filter(|ms| *ms > 0);
    }

    fn offsets_topic(&mut self, opening: &Frozen, worst: &Frozen) {
        let (before, after) = (&opening.report.partitions, &worst.report.partitions);
        let seen = worst.memory.offsets_topic.as_ref().filter(|topic| topic.partition_count > 0);
        self.topic_lost = after.is_empty() && worst.memory.offsets_topic_gone_since.is_some() && seen.is_some();
        if let (true, Some(seen)) = (before.is_empty() && self.topic_lost, seen) {
            self.notes.push(format!("On which brokers {OFFSETS_TOPIC} was before it was gone, was not kept."));
            let (partitions, factor) = (seen.partition_count, self.brokers.len().min(3));
            let topic = Topic { partitions, replication_factor: Some(factor), ..Topic::default() };
            self.topics.insert(OFFSETS_TOPIC.to_owned(), topic);
            return;
        }
        if after.is_empty() && before.is_empty() {
            self.notes.push(format!("No partition of {OFFSETS_TOPIC} was seen, so there is no such topic here."));
            return;
        }
        let mut topic = Topic::default();
        let reports = if before.len() >= after.len() { before } else { after };
        for report in reports {
            let last = worst.report.partition(report.partition).unwrap_or(report);
            let well = self.well(report, last);
            topic.partitions = topic.partitions.max(report.partition + 1);
            let worst_placed = Placed { replicas: last.replicas.clone(), isr: last.isr.clone(), leader: last.leader };
            let as_before = worst_placed == well;
            topic.placed.entry(well).or_default().push(report.partition);
            if !as_before && !last.replicas.is_empty() {
                self.set.entry(worst_placed).or_default().push(report.partition);
            }
            let state = match last.shard {
                Shard::Loading => Some("loading"),
                Shard::Failed => Some("failed"),
                _ => None,
            };
            if let Some(state) = state {
                self.coordinators.entry(state).or_default().push(report.partition);
            }
            self.groups_hidden |= last.shard == Shard::Denied;
        }
        let configs =
            worst.snapshot.brokers.values().find_map(|sight| sight.topic_configs.known().and_then(Option::as_ref));
        if let Some(configs) = configs {
            if let (Some(min), Some(true)) = (configs.min_insync_replicas, configs.min_insync_is_override) {
                topic.configs.push(("min.insync.replicas", min.to_string()));
            }
            if let Some(bytes) = configs.segment_bytes.filter(|bytes| *bytes != 104_857_600) {
                topic.configs.push(("segment.bytes", bytes.to_string()));
            }
        }
        self.topics.insert(OFFSETS_TOPIC.to_owned(), topic);
    }

    /// How a partition was before anything happened, as far as can be told.
    fn well(&self, report: &PartitionReport, last: &PartitionReport) -> Placed {
        let replicas = if report.replicas.is_empty() { last.replicas.clone() } else { report.replicas.clone() };
        let lost = |id: &BrokerId| self.fates.contains_key(id);
        let isr: Vec<BrokerId> = if last.leader.is_none() && !last.isr.is_empty() {
            // Without a leader nobody changes it: this is what it was.
            replicas.iter().copied().filter(|id| last.isr.contains(id)).collect()
        } else {
            replicas.iter().copied().filter(|id| last.isr.is_empty() || last.isr.contains(id) || lost(id)).collect()
        };
        let isr = if isr.is_empty() { replicas.clone() } else { isr };
        let here = |id: &BrokerId| isr.contains(id) && !self.stopped.contains(id);
        let leader = [last.last_leader, report.leader, last.leader].into_iter().flatten().find(here);
        let leader = leader.or_else(|| isr.iter().copied().find(here));
        Placed { replicas, isr, leader }
    }

    fn other_topics(&mut self, worst: &Frozen) {
        let views = worst.snapshot.brokers.values().filter_map(|sight| sight.metadata.known());
        let newest = views.max_by_key(|view| view.at);
        for (name, view) in newest.into_iter().flat_map(|view| &view.state_topics) {
            let topic = state_topic(view, &self.fates);
            if topic.partitions > 0 {
                self.topics.insert(name.clone(), topic);
            }
        }
        let Some(client) = worst.snapshot.client.known() else {
            self.notes.push("Topics with data were not seen.".to_owned());
            return;
        };
        let mut found: BTreeMap<&str, Topic> = BTreeMap::new();
        for one in &client.leaderless {
            if one.replicas.iter().any(|id| !self.brokers.contains(id)) || one.replicas.is_empty() {
                continue;
            }
            let topic = found.entry(&one.topic).or_default();
            topic.partitions = topic.partitions.max(one.partition + 1);
            let isr = if one.isr.is_empty() { one.replicas.clone() } else { one.isr.clone() };
            let isr: Vec<BrokerId> = one.replicas.iter().copied().filter(|id| isr.contains(id)).collect();
            let leader = isr.first().copied();
            topic.placed.entry(Placed { replicas: one.replicas.clone(), isr, leader }).or_default().push(one.partition);
        }
        let known = found.len();
        for (name, topic) in found.into_iter().take(TOPICS) {
            self.topics.entry(name.to_owned()).or_insert(topic);
        }
        if known > TOPICS {
            self.notes.push(format!("{} more topics had partitions without a leader.", known - TOPICS));
        }
        self.notes.push(format!(
            "Of {} other topics only those are kept that had partitions without a leader; their other partitions are made up.",
            client.topic_count.saturating_sub(usize::from(client.offsets_topic_partitions.is_some()))
        ));
    }

    fn groups(&mut self, worst: &Frozen) {
        if !self.topics.contains_key(OFFSETS_TOPIC) {
            return;
        }
        let seen = &worst.memory.groups;
        // Those that stood still come first: whoever trains with this looks for them.
        let affected: BTreeSet<PartitionId> = self.archive.incident.partitions.iter().copied().collect();
        let mut ids: Vec<_> = seen.by_partition.iter().collect();
        ids.sort_by_key(|(partition, _)| (!affected.contains(partition), **partition));
        let mut all: Vec<_> = ids.into_iter().flat_map(|(_, groups)| groups).collect();
        let total = all.len();
        all.truncate(GROUPS);
        let mut unseen = 0;
        for id in all {
            let Some(group) = seen.by_id.get(id) else { continue };
            if id.as_str().is_empty() || id.as_str().len() > 249 || id.as_str().contains("{n}") {
                self.notes.push(format!("The group {} has an id that a scenario cannot have.", id.visible()));
                continue;
            }
            let simple = group.protocol_type.is_empty() && group.state.as_deref() != Some("Stable");
            let kind = match (group.group_type.as_deref(), group.protocol_type.as_str()) {
                (Some("Consumer" | "consumer"), _) if self.kraft && matches!(self.release, "3.9.1" | "4.1.1") => {
                    "consumer"
                }
                (Some("Share" | "share"), _) if self.release == "4.1.1" => "share",
                (Some("Streams" | "streams"), _) if self.release == "4.1.1" => "streams",
                (_, "connect") => "connect",
                _ if simple => "simple",
                _ => "classic",
            };
            let state =
                group.state.as_deref().filter(|state| !matches!(*state, "Stable" | "Empty" | "Dead" | "Unknown"));
            let rebalancing = matches!(state, Some("PreparingRebalance" | "CompletingRebalance"));
            unseen += usize::from(!seen.members.contains_key(id));
            let members = match (kind, group.state.as_deref()) {
                ("simple", _) | (_, Some("Empty" | "Dead")) => 0,
                _ => seen.members.get(id).map_or(1, |members| members.count.clamp(1, 50)),
            };
            let state = state.filter(|_| rebalancing && kind == "classic").map(str::to_owned);
            self.groups.push(Group { id: id.as_str().to_owned(), kind, state, members });
        }
        if unseen > 0 {
            self.notes.push(format!(
                "The members of {unseen} groups were not looked at; here each of them has one, or none if it was empty."
            ));
        }
        if total > GROUPS {
            self.notes.push(format!("{} more groups were known; these are the first {GROUPS}.", total - GROUPS));
        }
    }
}

fn state_topic(view: &OffsetsTopicView, fates: &BTreeMap<BrokerId, Fate>) -> Topic {
    let mut topic = Topic::default();
    for (&partition, one) in &view.partitions {
        topic.partitions = topic.partitions.max(partition + 1);
        let isr = one.replicas.iter().copied();
        let isr: Vec<BrokerId> =
            isr.filter(|id| one.isr.is_empty() || one.isr.contains(id) || fates.contains_key(id)).collect();
        let isr = if isr.is_empty() { one.replicas.clone() } else { isr };
        let leader = one.leader.filter(|leader| isr.contains(leader)).or_else(|| isr.first().copied());
        topic.placed.entry(Placed { replicas: one.replicas.clone(), isr, leader }).or_default().push(partition);
    }
    topic
}

/// Every broker that was seen or that holds a replica.
fn brokers(opening: &Frozen, worst: &Frozen) -> BTreeSet<BrokerId> {
    let mut ids = BTreeSet::new();
    for frozen in [opening, worst] {
        ids.extend(frozen.snapshot.brokers.keys());
        ids.extend(frozen.memory.brokers_seen.keys());
        ids.extend(frozen.report.partitions.iter().flat_map(|one| &one.replicas));
        let views = frozen.snapshot.brokers.values().filter_map(|sight| sight.metadata.known());
        let states = views.flat_map(|view| view.state_topics.values()).flat_map(|topic| topic.partitions.values());
        ids.extend(states.flat_map(|one| &one.replicas));
    }
    ids.retain(|id| *id >= 0);
    ids
}

fn racks(worst: &Frozen) -> BTreeMap<BrokerId, String> {
    let told = worst.report.brokers.iter();
    told.filter_map(|broker| Some((broker.broker, broker.rack.clone().filter(|rack| !rack.is_empty())?))).collect()
}

/// KRaft or not, and the release of drills that is nearest.
fn release(worst: &Frozen) -> (bool, &'static str) {
    let sights = || worst.snapshot.brokers.values();
    let version = |text: &str| {
        let mut parts = text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<u32>().ok());
        Some((parts.next()?, parts.next().unwrap_or(0)))
    };
    let seen = sights().filter_map(|sight| sight.release.as_deref().and_then(version)).min().unwrap_or((4, 1));
    let kraft = sights().any(|sight| sight.kraft == Some(true)) || !sights().any(|sight| sight.kraft.is_some());
    let fits = |name: &str| if kraft { matches!(name, "3.6.2" | "3.9.1" | "4.1.1") } else { name != "4.1.1" };
    let possible = || RELEASES.iter().filter(|(name, _)| fits(name));
    let found = possible().rfind(|(_, from)| *from <= seen).or_else(|| possible().next());
    (kraft, found.map_or("4.1.1", |(name, _)| name))
}
