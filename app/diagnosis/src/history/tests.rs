//! What is one incident, what is over, and what is told.

use std::fmt::Write;

use super::{Book, Changes, Chronicle, Event, Happened, Incident, Moment, SETTLING_MS, Subject};
use crate::memory::Memory;
use crate::report::Status;
use crate::sample::Sample;

#[test]
fn a_restart_of_a_second_keeps_since_when_it_is_so() {
    let dead = Sample::kraft(3, 6, 1).group_on(0, "orders").later(1).gone(1).leaderless_after(1);
    let died = dead.now();
    let dead = dead.later(1);
    let restarted = dead.now();
    // The first look after the restart knows nothing yet.
    let mut blind = dead.clone().later(1);
    blind.memory = Memory::new(blind.now());
    blind.memory.recall(dead.memory.without_groups());
    for sight in blind.snapshot.brokers.values_mut() {
        *sight = crate::snapshot::BrokerSight { address: sight.address.clone(), ..Default::default() };
    }
    let blind = blind.later(1);
    assert_eq!(blind.report().headline.status, Status::Unknown);
    let seen = Sample { snapshot: dead.snapshot, memory: blind.later(1).memory }.later(3);
    let partition = &seen.report().partitions[0];
    assert_eq!((partition.status, partition.since), (Status::Stuck, Some(died)));
    assert!(seen.memory.pauses.iter().any(|pause| pause.from == restarted), "{:#?}", seen.memory.pauses);
}

/// A sample that is looked at again and again.
struct Looks {
    book: Book,
    chronicle: Chronicle,
    names: u32,
}

impl Looks {
    fn new() -> Self {
        Self { book: Book::default(), chronicle: Chronicle::default(), names: 0 }
    }

    fn at(&mut self, sample: &Sample) -> Changes {
        let names = &mut self.names;
        self.book.step(&sample.report(), &mut || {
            *names += 1;
            format!("name-{names}")
        })
    }

    fn told(&mut self, sample: &Sample) -> Vec<Event> {
        let published = sample.published();
        self.chronicle.step(&published.report, &published.memory)
    }

    fn open(&self) -> Vec<&Incident> {
        self.book.incidents().collect()
    }
}

fn moments(changes: &Changes) -> Vec<Moment> {
    changes.moments.iter().map(|(_, moment)| *moment).collect()
}

#[test]
fn one_dead_broker_is_one_incident_from_the_first_sign_until_it_has_settled() {
    let mut looks = Looks::new();
    let sample = Sample::kraft(3, 50, 1).group_on(0, "orders").later(1);
    assert_eq!(looks.at(&sample).incidents, []);
    let began = sample.now();
    let dead = sample.later(1).gone(1).leaderless_after(1);
    let changes = looks.at(&dead);
    assert_eq!(moments(&changes), [Moment::Opening]);
    let [incident] = looks.open()[..] else { panic!("{:#?}", looks.open()) };
    assert_eq!(incident.partitions.len(), 17);
    assert_eq!((incident.opened.at, incident.opened.after), (dead.now(), Some(began)));
    assert_eq!(incident.stuck_groups, 1);
    let id = incident.id.clone();
    assert!(changes.findings.iter().any(|record| record.incident.as_ref() == Some(&id)));

    // Back: calm, but not over yet.
    let back = Sample::kraft(3, 50, 1).group_on(0, "orders").later(5);
    let changes = looks.at(&back);
    assert!(changes.findings.iter().all(|record| record.closed.is_some()), "{:#?}", changes.findings);
    assert_eq!(looks.open().first().and_then(|incident| incident.calm_since), Some(back.now()));
    let calm = back.now();
    let settled = back.later(SETTLING_MS / 1_000);
    let changes = looks.at(&settled);
    assert_eq!(moments(&changes), [Moment::Closing]);
    assert_eq!(changes.incidents.iter().map(|incident| incident.closed).collect::<Vec<_>>(), [Some(calm)]);
    assert_eq!(looks.open(), Vec::<&Incident>::new());
}

#[test]
fn what_comes_back_within_the_settling_time_is_the_same_incident() {
    let mut looks = Looks::new();
    let healthy = || Sample::kraft(3, 6, 1);
    looks.at(&healthy().later(1).gone(1).leaderless_after(1));
    let id = looks.open()[0].id.clone();
    looks.at(&healthy().later(3));
    looks.at(&healthy().later(30).gone(1).leaderless_after(1));
    let [incident] = looks.open()[..] else { panic!("{:#?}", looks.open()) };
    assert_eq!((&incident.id, incident.calm_since), (&id, None));
}

#[test]
fn another_cause_is_another_incident_and_a_shared_one_is_not() {
    let mut looks = Looks::new();
    looks.at(&Sample::kraft(3, 6, 1).later(1).gone(1).leaderless_after(1));
    let both = Sample::kraft(3, 6, 1).later(1).gone(1).leaderless_after(1).later(1).gone(2).leaderless_after(2);
    looks.at(&both);
    // The finding of the first has grown: it concerns the second broker as well.
    assert_eq!(looks.open().len(), 1, "{:#?}", looks.open());
}

#[test]
fn a_warning_makes_no_incident() {
    let mut looks = Looks::new();
    let sample = Sample::kraft(3, 6, 1).later(1);
    let changes = looks.at(&sample);
    assert!(!changes.findings.is_empty(), "its replication factor is warned of");
    assert!(looks.open().is_empty());
}

#[test]
fn data_partitions_without_a_leader_are_an_incident_once_that_lasts_longer_than_a_restart() {
    let mut looks = Looks::new();
    let healthy = || Sample::kraft(3, 6, 3).later(1);
    looks.at(&healthy());
    let dead = || healthy().later(1).gone(1).leaderless_data("orders", 0, &[1]);
    let began = dead().now();
    looks.at(&dead());
    assert!(looks.open().is_empty(), "{:#?}", looks.open());
    looks.at(&dead().later(59));
    assert!(looks.open().is_empty(), "a restart takes as long: {:#?}", looks.open());
    let changes = looks.at(&dead().later(61));
    assert_eq!(moments(&changes), [Moment::Opening]);
    let [incident] = looks.open()[..] else { panic!("{:#?}", looks.open()) };
    assert_eq!(incident.opened.at, began, "it began when the finding did");
    assert!(incident.slugs.iter().any(|slug| slug == "data-partition-without-leader"), "{incident:#?}");
    looks.at(&healthy().later(120));
    assert!(looks.open()[0].calm_since.is_some());
    looks.at(&healthy().later(125 + SETTLING_MS / 1000));
    assert!(looks.open().is_empty());
}

#[test]
fn data_partitions_that_nobody_could_look_at_are_no_incident() {
    let mut looks = Looks::new();
    let mut unseen = Sample::kraft(3, 6, 3).later(1).gone(1).leaderless_data("orders", 0, &[1]);
    unseen.snapshot.client = crate::snapshot::Observed::NotAsked;
    looks.at(&unseen);
    looks.at(&unseen.clone().later(600));
    assert!(looks.open().is_empty(), "{:#?}", looks.open());
}

#[test]
fn whoever_sees_nothing_closes_nothing() {
    let mut looks = Looks::new();
    let dead = Sample::kraft(3, 6, 1).later(1).gone(1).leaderless_after(1);
    looks.at(&dead);
    let blind = dead.later(1).gone(2).gone(3).later(600);
    assert_eq!(looks.at(&blind), Changes::default());
    assert_eq!(looks.open().first().map(|incident| incident.calm_since), Some(None));
}

#[test]
fn an_incident_goes_on_after_a_restart() {
    let mut looks = Looks::new();
    let dead = Sample::kraft(3, 6, 1).later(1).gone(1).leaderless_after(1);
    let changes = looks.at(&dead);
    let mut again = Looks { book: Book::of(changes.findings, changes.incidents, Some(dead.now())), ..Looks::new() };
    let later = dead.later(480);
    assert_eq!(again.at(&later), Changes::default(), "nothing is new");
    assert_eq!(again.open().len(), 1);
}

fn text(events: &[Event]) -> String {
    let mut out = String::new();
    for event in events {
        let subject = match &event.subject {
            Subject::Cluster => "cluster".to_owned(),
            Subject::Partition(partition) => format!("partition {partition}"),
            Subject::Broker(broker) => format!("broker {broker}"),
            Subject::Group(group) => group.to_string(),
        };
        let _ = writeln!(out, "{subject}: {:?}", event.what);
    }
    out
}

#[test]
fn only_news_are_told() {
    let mut looks = Looks::new();
    let sample = Sample::kraft(3, 3, 1).group_on(0, "orders").group_on(1, "audit");
    insta::assert_snapshot!(text(&looks.told(&sample)));
    assert_eq!(looks.told(&sample.clone().later(1)), []);
    let dead = sample.later(2).gone(1).leaderless_after(1);
    insta::assert_snapshot!(text(&looks.told(&dead)));
    assert_eq!(looks.told(&dead.later(1)), []);
}

#[test]
fn a_group_that_was_deleted_is_told_and_none_when_nobody_looked() {
    let mut looks = Looks::new();
    let sample = Sample::kraft(3, 6, 1).group_on(0, "orders").later(5);
    looks.told(&sample);
    let told = looks.told(&sample.listing_code(1, 0));
    let deleted = |event: &Event| event.what == Happened::GroupDeleted && matches!(event.subject, Subject::Group(_));
    assert!(told.iter().any(deleted), "{told:#?}");
    let later = Sample::kraft(3, 6, 1).later(3_600);
    let told = looks.told(&later);
    assert!(told.iter().any(|event| event.what == Happened::LookingBegan), "{told:#?}");
}

#[test]
fn memory_that_was_kept_names_the_groups_and_tells_when_nobody_looked() {
    let sample = Sample::kraft(3, 6, 1).group_on(0, "orders").later(5);
    let (before, seen) = (sample.memory.clone(), sample.now());
    let listed = before.groups.by_id.values().next().map(|group| group.last_seen);
    let rows = before.groups.by_id.iter().map(|(id, group)| (id.clone(), group.clone())).collect::<Vec<_>>();
    let restored: Memory = before.without_groups().with_groups(rows, [], []);
    let (id, group) = restored.groups.by_id.iter().next().expect("the group");
    let id = id.clone();
    assert_eq!((Some(group.last_seen), group.last_listed_by), (listed, Some(1)));
    assert!(group.listed_by.is_empty(), "nobody lists it yet");
    assert_eq!(restored.groups.by_partition, before.groups.by_partition);

    // Eight minutes later the broker is dead: it died at some time in between.
    let mut dead = Sample { memory: restored, ..sample }.later(480).gone(1).leaderless_after(1);
    dead.snapshot.brokers.remove(&1);
    let lookup = dead.lookup(id.as_str());
    assert_eq!((lookup.verdict.since, lookup.verdict.since_after), (Some(dead.now()), Some(seen)));
    insta::assert_snapshot!(lookup.known.sentence);
}
