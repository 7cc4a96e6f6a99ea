//! The whole voice in one file, so that it can be read through: for each chapter of the handbook a made-up cluster in which
//! its finding is open, and everything that is said about it there: the finding with its ways out, the headline, the words
//! for partitions, and the answers for a group. `src/snapshots/` has the text; read it aloud when it changes.
//!
//! A chapter without a voice fails the test. To add one: a line in `CLUSTERS`, or in `voice/groups.rs` for rules about groups.

mod groups;

use std::collections::BTreeSet;
use std::sync::Arc;

use groups::GROUPS;

use crate::GroupId;
use crate::memory::Memory;
use crate::report::Report;
use crate::sample::{Sample, text};
use crate::snapshot::{
    BootstrapAnswer, BootstrapSight, GroupListing, ListedGroup, Observed, SHARE_GROUP_STATE, TRANSACTION_STATE, Why,
};

/// A name, and a cluster.
type Voice = (&'static str, fn() -> Sample);

/// Findings of clusters: the slug, and a cluster in which it is open.
const CLUSTERS: &[Voice] = &[
    ("advertised-address-looks-wrong", || {
        let why = Why::NameNotFound("no such host".to_owned());
        Sample::kraft(3, 6, 3).address(1, "kafka-1.internal:9092").trouble(1, why)
    }),
    ("bootstrap-unusable", || Sample::empty().bootstrap("kafka:9092", Why::Refused)),
    ("broker-counts-itself-out", || {
        let mut sample = Sample::empty();
        let answer = BootstrapAnswer { at: sample.now(), cluster_id: None, broker_count: 0, brokers: Vec::new() };
        let sight = BootstrapSight { answer: Observed::Known(answer) };
        sample.snapshot.bootstrap.insert("kafka:9092".to_owned(), sight);
        sample.later(1).later(60)
    }),
    ("broker-down", || Sample::kraft(4, 3, 1).gone(4)),
    ("broker-ids-unknown", || unknown_ids(3, 391)),
    ("broker-not-reachable", || Sample::kraft(3, 6, 1).never_reached(1)),
    ("broker-renumbered", || unknown_ids(1, 1001)),
    ("brokers-disagree", || Sample::kraft(3, 3, 3).view(3, 0, Some(2), 5).later(20)),
    ("cleanup-policy", || Sample::kraft(3, 3, 3).cleanup_policy("compact,delete").group_on(0, "orders")),
    ("canaries-denied", || Sample::kraft(3, 3, 3).canary(1, 0, 30)),
    ("commits-wait", || Sample::kraft(3, 1, 3).group_on(0, "orders").gone(2).gone(3)),
    ("coordinator-failed", || Sample::kraft(3, 3, 3).group_on(0, "orders").canary(1, 0, 16).later(70)),
    ("coordinator-loading", || Sample::kraft(3, 3, 1).group_on(0, "orders").canary(1, 0, 14)),
    ("coordinator-silent", || Sample::kraft(3, 6, 3).group_on(0, "orders").canaries_unanswered(1, 30)),
    ("data-partition-single-copy", || {
        (0..5).fold(Sample::kraft(3, 3, 3), |sample, partition| sample.only_copy("logs", partition, 2))
    }),
    ("data-partition-without-leader", || {
        Sample::kraft(3, 3, 3).leaderless_data("logs", 101, &[1]).leaderless_data("clicks", 7, &[1]).gone(1)
    }),
    ("few-brokers-hold-all", || {
        (0..3).fold(Sample::kraft(5, 3, 3), |sample, partition| sample.placed(partition, &[1, 2, 3]))
    }),
    ("ghost-group", ghost),
    ("groups-not-listed", || Sample::kraft(3, 3, 3).cluster_not_permitted()),
    ("hanging-transaction", || {
        Sample::kraft(3, 6, 3).producer_open(0, 4_711, 7_200).open_transaction(2, "billing-1", 4_711)
    }),
    ("isr-below-min", || {
        Sample::kraft(3, 1, 3).group_on(0, "orders").min_isr(2).isr(0, &[1]).gone(2).gone(3).later(60)
    }),
    ("leader-flapping", || {
        let moved = |sample: Sample, leader: i32, epoch: i32| {
            let sample = sample.view(1, 0, Some(leader), epoch).view(2, 0, Some(leader), epoch);
            sample.view(3, 0, Some(leader), epoch).later(60)
        };
        moved(moved(moved(Sample::kraft(3, 3, 3).later(1), 2, 6), 1, 7), 2, 8)
    }),
    ("leader-lost", || Sample::kraft(3, 6, 1).group_on(0, "orders").gone(1)),
    ("leader-outside-isr", || Sample::zookeeper(3, 3, 2).later(2).isr(0, &[2]).epoch(0, 0).served_now(0).later(1)),
    ("leader-silent", || Sample::kraft(3, 6, 3).group_on(0, "orders").hung(1, 30)),
    ("leader-skew", || {
        let sample = (0..8).fold(Sample::kraft(3, 9, 3), |sample, partition| sample.led_by(partition, 1));
        sample.later(400)
    }),
    ("listener-missing", || {
        let hidden = Sample::kraft(3, 3, 3).later(2).no_leader(0, &[1, 2, 3]);
        hidden.partition_error(1, 0, 72).partition_error(2, 0, 72).partition_error(3, 0, 72).later(20)
    }),
    ("log-dir-failed", || {
        Sample::kraft(3, 6, 1).later(2).no_leader(0, &[1]).offline_replica(0, 1).log_dir_error(1, 56).later(10)
    }),
    ("min-isr-without-headroom", || Sample::kraft(3, 3, 2).min_isr(2).group_on(0, "orders")),
    ("no-controller", || Sample::kraft(3, 3, 1).gone(1).gone(2)),
    ("no-leader-live-replica", || {
        Sample::zookeeper(3, 3, 2)
            .group_on(0, "orders")
            .controller(3)
            .gone(2)
            .leaderless_after(2)
            .no_leader(0, &[1])
            .later(60)
    }),
    ("no-leader-no-live-replica", || {
        Sample::kraft(3, 3, 3).group_on(0, "orders").isr(0, &[1]).gone(1).no_leader(0, &[1])
    }),
    ("offsets-may-be-lost", || {
        let sample = Sample::zookeeper(3, 3, 2).topic_configs(|configs| configs.unclean_leader_election = Some(true));
        let sample = sample.isr(0, &[1]).later(30).gone(1).later(30).isr(0, &[2]);
        sample.view(2, 0, Some(2), 6).view(3, 0, Some(2), 6).later(1)
    }),
    ("offsets-topic-missing", || Sample::kraft(3, 50, 3).group_on(0, "orders").later(60).absent().later(10)),
    ("one-broker-holds-all", || {
        (0..3).fold(Sample::kraft(3, 3, 1), |sample, partition| sample.placed(partition, &[2])).group_on(0, "orders")
    }),
    ("one-rack-holds-all", || Sample::kraft(4, 2, 2).rack(1, "a").rack(2, "a").rack(3, "b").rack(4, "b")),
    ("partition-count-config-differs", || Sample::kraft(3, 6, 3).offsets_topic_num_partitions(2, 50)),
    ("partition-large", || Sample::kraft(3, 6, 3).offsets_size(1, 0, 3_200_000_000)),
    ("placement-drift", || Sample::kraft(3, 60, 3).coordinators_use(50).later(20)),
    ("placement-foreign", || Sample::kraft(3, 50, 3).coordinators_are(2).later(20)),
    ("reassignment-running", || Sample::kraft(3, 6, 1).reassigning(0, &[2], &[1]).gone(2).later(30)),
    ("replication-factor-1", || Sample::kraft(3, 6, 1).group_on(0, "orders")),
    ("replication-factor-low", || Sample::kraft(3, 6, 2).group_on(0, "orders")),
    ("served-but-not-found", || Sample::zookeeper(3, 3, 2).later(5).gone(2).no_leader(0, &[1]).later(20).served_now(0)),
    ("share-coordinator-offline", || {
        let sample = Sample::kraft(3, 3, 3).state_topic(SHARE_GROUP_STATE, 3, 3);
        sample.state_no_leader(SHARE_GROUP_STATE, 0, &[1]).later(60)
    }),
    ("stale-broker", || Sample::kraft(3, 3, 3).view(3, 0, Some(2), 4).later(20)),
    ("state-topic-replication-factor", || Sample::kraft(3, 3, 3).state_topic(TRANSACTION_STATE, 6, 1)),
    ("topic-flaps", || Sample::kraft(3, 2, 3).later(60).epoch(0, 0).epoch(1, 0).later(1)),
    ("transaction-coordinator-offline", || {
        let sample = Sample::kraft(3, 3, 3).state_topic(TRANSACTION_STATE, 6, 1).later(5).gone(1).leaderless_after(1);
        sample.state_no_leader(TRANSACTION_STATE, 0, &[1]).state_no_leader(TRANSACTION_STATE, 3, &[1]).later(20)
    }),
    ("two-controllers", || Sample::zookeeper(3, 3, 3).names_controller(1, Some(1)).later(20)),
    ("unclean-election-enabled", || {
        Sample::kraft(3, 3, 3).topic_configs(|configs| configs.unclean_leader_election = Some(true))
    }),
    ("under-replicated", || {
        Sample::kraft(3, 3, 3).isr(0, &[1, 2]).offset_lag(3, 0, 12_345).group_on(0, "orders").later(60)
    }),
];

/// More that is said, where no finding is open or another case of one.
const OTHERS: &[Voice] = &[
    ("nothing seen yet", Sample::empty),
    ("all is well", || Sample::kraft(3, 6, 3).group_on(0, "orders")),
    ("an election is due", || Sample::kraft(3, 3, 3).group_on(0, "orders").gone(1)),
    ("an election is awaited, with ZooKeeper", || Sample::zookeeper(3, 3, 2).gone(2).no_leader(0, &[1])),
    ("the preferred replica can be elected", || {
        Sample::kraft(3, 3, 3).gone(3).leaderless_after(3).no_leader(0, &[1, 2]).later(60)
    }),
    ("an old release hides the ISR", || {
        Sample::zookeeper(3, 3, 2).release("2.3").controller(3).gone(1).no_leader(0, &[]).later(60)
    }),
    ("the only copy is down", || Sample::kraft(3, 6, 1).group_on(0, "orders").gone(1).leaderless_after(1)),
    ("a lost leader of an old release", || {
        Sample::zookeeper(3, 3, 3).release("2.2").isr(0, &[1]).gone(1).leaderless_after(1)
    }),
    ("a follower may catch up", || Sample::kraft(3, 1, 3).min_isr(3).isr(0, &[1, 2])),
    ("more in-sync replicas asked for than there are", || Sample::zookeeper(3, 1, 1).release("3.6").min_isr(2)),
    ("commits wait for seconds", || Sample::kraft(4, 1, 3).gone(3)),
    ("a silent leader, at first", || Sample::kraft(3, 6, 1).hung(1, 4)),
    ("the cluster does not list it", || Sample::kraft(3, 3, 3).isr(0, &[1]).isolated(1).no_leader(0, &[1]).later(60)),
    ("no controller with ZooKeeper", || Sample::zookeeper(3, 3, 3).controller(1).gone(1).later(60)),
    ("a fresh cluster", || Sample::kraft(3, 0, 3).absent()),
    ("the topic cannot be created", || Sample::kraft(1, 0, 1).absent()),
    ("the topic is hidden", || Sample::kraft(3, 0, 3).hidden()),
    ("a single broker", || Sample::kraft(1, 6, 1)),
];

fn unknown_ids(brokers: i32, old: i32) -> Sample {
    let mut sample = Sample::zookeeper(brokers, 3, 1);
    for partition in 0..3 {
        sample = sample.replicas(partition, &[old]).no_leader(partition, &[old]);
    }
    sample.memory = Memory::new(sample.now());
    sample.later(5)
}

/// Two brokers list the same group.
fn ghost() -> Sample {
    let mut sample = Sample::kraft(3, 3, 3).group_on(0, "orders");
    let id = sample.memory.groups.by_id.keys().next().cloned().unwrap_or_default();
    let listed = ListedGroup { protocol_type: "consumer".to_owned(), ..ListedGroup::default() };
    let at = sample.now() + jiff::SignedDuration::from_millis(2);
    if let Some(sight) = sample.snapshot.brokers.get_mut(&3) {
        let listing = GroupListing { at, code: 0, groups: [(id, listed)].into() };
        sight.groups = Observed::Known(Arc::new(listing));
    }
    sample.later(25)
}

/// What is said beside the findings: the headline, the words for partitions, and the answer for a group.
fn around(sample: &Sample, report: &Report) -> String {
    let mut out = format!("headline: [{}] {}\n", report.headline.status.slug(), report.headline.sentence);
    out += &format!("          {}\n", report.headline.detail);
    let partitions: BTreeSet<_> =
        report.partitions.iter().map(|one| format!("[{}] {}", one.status.slug(), one.sentence)).collect();
    out += &partitions.iter().map(|words| format!("partition: {words}\n")).collect::<String>();
    let group = sample.memory.groups.by_id.keys().next().cloned().unwrap_or_else(|| GroupId::from("my-group"));
    let lookup = sample.lookup(&group.0);
    out += &format!("group: [{}] {}\n", lookup.verdict.status.slug(), lookup.verdict.sentence);
    out += &lookup.verdict.outlook.iter().map(|outlook| format!("       {outlook}\n")).collect::<String>();
    out + &format!("       {}\n", lookup.known.sentence)
}

#[test]
fn the_whole_voice() {
    let mut out = String::new();
    for (slug, sample) in CLUSTERS {
        let sample = sample();
        let report = sample.report();
        out += &format!("== {slug}\n{}{}\n", text(&report, slug), around(&sample, &report));
    }
    for (slug, voice) in GROUPS {
        out += &format!("== {slug}\n{}\n", voice(slug));
    }
    for (name, sample) in OTHERS {
        let sample = sample();
        let report = sample.report();
        let findings: String = report.findings.iter().map(crate::sample::finding_text).collect();
        out += &format!("== ({name})\n{findings}{}\n", around(&sample, &report));
    }
    let silent: Vec<_> = out.lines().filter(|line| line.starts_with("no finding")).collect();
    assert!(silent.is_empty(), "these samples do not open what they should: {silent:?}");
    insta::assert_snapshot!("voice", out);
}

#[test]
fn every_chapter_has_a_voice() {
    let voices: BTreeSet<_> =
        CLUSTERS.iter().map(|(slug, _)| *slug).chain(GROUPS.iter().map(|(slug, _)| *slug)).collect();
    let chapters: BTreeSet<_> = crate::handbook::slugs().collect();
    assert_eq!(chapters.difference(&voices).collect::<Vec<_>>(), Vec::<&&str>::new(), "add them to src/voice.rs");
    assert_eq!(voices.difference(&chapters).collect::<Vec<_>>(), Vec::<&&str>::new(), "no such chapter");
}

/// Every chapter says what a chapter has to say, and names only chapters that there are.
#[test]
fn every_chapter_is_whole() {
    let slugs: BTreeSet<_> = crate::handbook::slugs().collect();
    for entry in crate::handbook::handbook() {
        let texts =
            [entry.title, entry.severity, entry.means, entry.opens, entry.closes, entry.not_told, entry.way_out];
        assert!(texts.iter().all(|text| !text.is_empty()), "{} has an empty part", entry.slug);
        assert!(!entry.versions.is_empty(), "{} has an empty part", entry.slug);
        assert!(!entry.sources.is_empty(), "{} names no source", entry.slug);
        for text in [entry.means, entry.opens, entry.closes, entry.not_told, entry.clients_see, entry.way_out] {
            let quotes = ['\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}'];
            assert!(
                (text.is_empty() || text.ends_with(['.', '"'])) && !text.contains(quotes),
                "{}: {text:?}",
                entry.slug
            );
        }
        let named = entry.twins.iter().map(|(twin, _)| twin).chain(entry.shadows);
        let unknown: Vec<_> = named.filter(|slug| !slugs.contains(**slug) || **slug == entry.slug).collect();
        assert!(unknown.is_empty(), "{} names {unknown:?}", entry.slug);
    }
}
