//! Made-up clusters for tests: a healthy one, and verbs that break it.
//!
//! Broker `b` listens on `127.0.0.1:900b`; partition `p` is led by broker `p % brokers + 1`, followed by the next ones.
//! Time begins at 12:00:00 UTC; every verb but [`Sample::later`] changes the present moment.

mod further;
mod placing;
mod verbs;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::lookup::{GroupLookup, lookup};
use crate::memory::Memory;
use crate::report::{Finding, Remedy, Report, Risk, Strength};
use crate::snapshot::{
    BootstrapAnswer, BootstrapSight, BrokerSight, Canary, ClientView, Contact, GroupListing, MetadataView, Observed,
    OffsetsTopicView, OpenTransactions, PartitionView, Quorum, Snapshot,
};
use crate::{BrokerId, GroupId, Input, PartitionId, Published, Seq, diagnose};

/// A cluster that can be broken.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What is seen now.
    pub snapshot: Snapshot,
    /// What was seen before.
    pub memory: Memory,
}

const START: &str = "2026-11-29T12:00:00Z";

fn start() -> Timestamp {
    START.parse().unwrap_or(Timestamp::UNIX_EPOCH)
}

impl Sample {
    /// Nothing seen yet.
    #[must_use]
    pub fn empty() -> Self {
        let snapshot = Snapshot {
            cluster: "test".to_owned(),
            taken_at: start(),
            bootstrap: BTreeMap::new(),
            client: Observed::NotAsked,
            brokers: BTreeMap::new(),
        };
        Self { snapshot, memory: Memory::new(start()) }
    }

    /// A healthy KRaft cluster of release 4.1 whose brokers are its controllers too.
    #[must_use]
    pub fn kraft(brokers: i32, partitions: i32, replication_factor: usize) -> Self {
        Self::healthy(brokers, partitions, replication_factor, true)
    }

    /// A healthy ZooKeeper cluster of release 3.9 with broker 2 (or the last) as controller.
    #[must_use]
    pub fn zookeeper(brokers: i32, partitions: i32, replication_factor: usize) -> Self {
        Self::healthy(brokers, partitions, replication_factor, false).release("3.9")
    }

    fn healthy(brokers: i32, partitions: i32, replication_factor: usize, kraft: bool) -> Self {
        let mut sample = Self::empty();
        let now = start();
        let addresses: BTreeMap<_, _> = (1..=brokers).map(|id| (id, format!("127.0.0.1:{}", 9000 + id))).collect();
        let views: BTreeMap<PartitionId, PartitionView> = (0..partitions)
            .map(|partition| {
                let replicas: Vec<_> =
                    (0..brokers).map(|step| (partition + step) % brokers + 1).take(replication_factor).collect();
                let view = PartitionView {
                    leader: replicas.first().copied(),
                    leader_epoch: Some(5),
                    isr: replicas.clone(),
                    replicas,
                    ..PartitionView::default()
                };
                (partition, view)
            })
            .collect();
        for (&id, address) in &addresses {
            let metadata = MetadataView {
                at: now,
                cluster_id: Some("sample-cluster".to_owned()),
                controller: Some(2.min(brokers)),
                brokers: addresses.clone(),
                offsets_topic: Some(OffsetsTopicView { error: 0, partitions: views.clone() }),
                state_topics: BTreeMap::new(),
            };
            let sight = BrokerSight {
                address: Some(address.clone()),
                contact: Contact {
                    first_answer: Some(now),
                    last_answer: Some(now),
                    round_trip_ms: Some(3),
                    deadline_ms: 1_000,
                    trouble: None,
                },
                release: Some("4.1".to_owned()),
                kraft: Some(kraft),
                metadata: Observed::Known(metadata),
                groups: Observed::Known(Arc::new(GroupListing { at: now, code: 0, groups: BTreeMap::new() })),
                configs: Observed::Known(further::broker_configs(now, kraft)),
                topic_configs: Observed::Known(Some(further::topic_configs())),
                quorum: if kraft {
                    Observed::Known(Quorum { at: now, leader: Some(2.min(brokers)), voters: (1..=brokers).collect() })
                } else {
                    Observed::NotAsked
                },
                elr: Observed::Known(BTreeMap::new()),
                describe_cluster_permitted: Observed::Known(true),
                log_dirs: Observed::Known(further::log_dirs(now, id, &views)),
                reassignments: if kraft || id == 2.min(brokers) {
                    Observed::Known(BTreeMap::new())
                } else {
                    Observed::NotAsked
                },
                open_transactions: Observed::Known(OpenTransactions { at: now, ..OpenTransactions::default() }),
                producers: Observed::Known(BTreeMap::new()),
                state_topic_configs: Observed::Known(BTreeMap::new()),
                ..BrokerSight::default()
            };
            sample.snapshot.brokers.insert(id, sight);
        }
        sample.snapshot.client = Observed::Known(ClientView {
            at: now,
            brokers: (1..=brokers).collect(),
            topic_count: 2,
            partition_count: 10,
            leaderless_count: 0,
            leaderless: Vec::new(),
            offsets_topic_partitions: usize::try_from(partitions).ok().filter(|&count| count > 0),
            state_topics: Vec::new(),
            only_in_sync_on: BTreeMap::new(),
        });
        let answer = BootstrapAnswer {
            at: now,
            cluster_id: Some("sample-cluster".to_owned()),
            broker_count: addresses.len(),
            brokers: addresses.keys().copied().collect(),
        };
        let sight = BootstrapSight { answer: Observed::Known(answer) };
        sample.snapshot.bootstrap.insert("127.0.0.1:9001".to_owned(), sight);
        sample.canaries(&views).coordinators_use(partitions).learn()
    }

    fn canaries(mut self, views: &BTreeMap<PartitionId, PartitionView>) -> Self {
        let at = self.now();
        for (&id, sight) in &mut self.snapshot.brokers {
            for (&partition, view) in views {
                let code = if view.leader == Some(id) { 0 } else { 16 };
                let group = GroupId(format!("unstuck-canary-{partition}"));
                let leader_before = (view.leader, view.leader_epoch);
                sight.canaries.insert(partition, Canary { group, at, code, leader_before, same_since: at });
            }
        }
        self
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.snapshot.taken_at
    }

    fn learn(mut self) -> Self {
        self.memory.learn(&self.snapshot);
        let report = self.diagnose();
        self.memory.note(&report);
        self
    }

    fn diagnose(&self) -> Report {
        diagnose(&Input { snapshot: &self.snapshot, memory: &self.memory, now: self.now() })
    }

    /// Time passes: brokers that answer go on answering the same, second by second.
    #[must_use]
    pub fn later(mut self, seconds: i64) -> Self {
        self = self.learn();
        let now = self.now() + SignedDuration::from_secs(seconds);
        self.snapshot.taken_at = now;
        for sight in self.snapshot.brokers.values_mut().filter(|sight| sight.contact.trouble.is_none()) {
            sight.contact.last_answer = Some(now);
            if let Observed::Known(view) = &mut sight.metadata {
                view.at = now;
            }
            if let Observed::Known(quorum) = &mut sight.quorum {
                quorum.at = now;
            }
            if let Observed::Known(dirs) = &mut sight.log_dirs {
                dirs.at = now;
            }
            if let Observed::Known(transactions) = &mut sight.open_transactions {
                transactions.at = now;
            }
            for canary in sight.canaries.values_mut().chain(sight.transaction_canaries.values_mut()) {
                canary.at = now;
            }
        }
        self.learn()
    }

    /// The report at this moment.
    #[must_use]
    pub fn report(&self) -> Report {
        let mut sample = self.clone();
        sample.memory.learn(&sample.snapshot);
        sample.diagnose()
    }

    /// What a server would publish at this moment.
    #[must_use]
    pub fn published(&self) -> Published {
        let mut memory = self.memory.clone();
        memory.learn(&self.snapshot);
        let snapshot = Arc::new(self.snapshot.clone());
        Published { seq: Seq { boot: "test".to_owned(), n: 1 }, report: self.report(), snapshot, memory }
    }

    /// The answer for one group at this moment.
    #[must_use]
    pub fn lookup(&self, group: &str) -> GroupLookup {
        let published = self.published();
        lookup(&published.report, &published.memory, &group.into())
    }

    fn sight(&mut self, broker: BrokerId) -> &mut BrokerSight {
        self.snapshot.brokers.entry(broker).or_default()
    }
}

/// The slugs of a report's findings, worst first.
#[must_use]
pub fn slugs(report: &Report) -> Vec<String> {
    report.findings.iter().map(|finding| finding.slug.clone()).collect()
}

/// A finding as people read it, for snapshot tests; says so if there is none.
#[must_use]
pub fn text(report: &Report, slug: &str) -> String {
    let texts = report.findings.iter().filter(|finding| finding.slug == slug).map(finding_text);
    let out: String = texts.collect();
    if out.is_empty() { format!("no finding {slug}") } else { out }
}

/// All that a finding says.
#[must_use]
pub fn finding_text(finding: &Finding) -> String {
    let mut out = format!("[{}] {}\n", finding.severity.slug(), finding.sentence);
    out += &finding.outlook.iter().map(|outlook| format!("  outlook: {outlook}\n")).collect::<String>();
    for evidence in &finding.evidence {
        let strength = match evidence.strength {
            Strength::Seen => "seen",
            Strength::Likely => "likely",
            Strength::NotSeen => "not seen",
        };
        out += &format!("  {strength}: {}\n", evidence.text);
    }
    out += &finding.remedies.iter().map(remedy_text).collect::<String>();
    for avoid in &finding.avoid {
        out += &format!("  avoid: {}: {}\n", avoid.what, avoid.why);
    }
    out += &finding.follows_from.iter().map(|slug| format!("  follows from {slug}\n")).collect::<String>();
    out
}

/// All that a remedy says. Of its files the names only.
fn remedy_text(remedy: &Remedy) -> String {
    let mut out = format!("  -> {}: {}\n", remedy.title, remedy.why);
    for given in &remedy.preconditions {
        out += &format!("     if ({}): {}\n", given.state.words(), given.text);
    }
    for file in &remedy.files {
        out += &format!("     file {}: {}\n", file.name, file.what);
    }
    let line = |sign: &str, text: &Option<String>| -> String {
        text.iter().map(|text| format!("     {sign} {text}\n")).collect()
    };
    out += &line("$", &remedy.command);
    out += &line("changes:", &remedy.changes);
    let risk = if remedy.risk == Risk::None { String::new() } else { format!("({}) ", remedy.risk.words()) };
    out += &line(format!("! {risk}").trim_end(), &remedy.danger);
    out += &line("verify:", &remedy.verify);
    out += &line("undo:", &remedy.undo);
    out
}
