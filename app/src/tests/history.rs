//! What happened to a group, a partition, a broker: on their pages, and on a page of its own.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::history::SeenMembers;

use super::fixture::{Fixture, Kept, at};
use super::incidents::{keeping, view};
use super::{get, words};

#[tokio::test]
async fn pages_tell_what_happened() {
    let (_, page) = get(keeping(view()), "/c/prod/p/0").await;
    let said = words(&page);
    assert!(
        said.contains("What happened 15:48:32 UTC Partition 0 has no leader (leader epoch 7, in sync: none)."),
        "{said}"
    );
    assert!(page.contains(r#"href="/c/prod/history?partition=0""#), "{page}");
    let (_, page) = get(keeping(view()), "/c/prod/b/1").await;
    let said = words(&page);
    assert!(said.contains("between 15:40:10 and 15:48:31 UTC Broker 1 (b1:9092): refuses connections."), "{said}");
}

#[tokio::test]
async fn a_group_page_tells_of_its_partition_and_a_flapping_leader_in_one_line() {
    let (_, page) = get(keeping(view()), "/c/prod/g?group=my-group").await;
    let said = words(&page);
    let expected =
        "Partition 12: its leader changed 9 times between 15:48:32 and 15:48:48 UTC: led by nobody, 2, 1, 2,";
    assert!(said.contains(expected) && said.contains("one by one: 9"), "{said}");
    assert!(page.contains(r#"href="/c/prod/history?group=my-group""#), "{page}");
}

#[tokio::test]
async fn history_has_a_page_and_earlier_ones() {
    let (status, page) = get(keeping(view()), "/c/prod/history?group=my-group").await;
    assert_eq!(status, StatusCode::OK);
    let said = words(&page);
    assert!(said.contains("What happened to group my-group") && said.contains("partition 12"), "{said}");
    assert!(page.contains("/c/prod/history?group=my-group&amp;before=1795967312000"), "{page}");
    let (status, page) = get(keeping(view()), "/c/prod/history?partition=12&before=1000").await;
    assert_eq!(status, StatusCode::OK);
    assert!(words(&page).contains("Nothing is kept of this time."), "{}", words(&page));
    let (status, page) = get(keeping(view()), "/c/prod/history?partition=x").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(words(&page).contains("History of what?"), "{}", words(&page));
    let (status, _) = get(Fixture::new(&["prod"]), "/c/prod/history").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn history_that_cannot_be_read_delays_no_verdict() {
    let page = tokio::time::timeout(Duration::from_secs(5), get(Fixture::keeping(Kept::Never), "/c/prod/p/0")).await;
    let (status, page) = page.expect("the page does not wait");
    assert_eq!(status, StatusCode::OK);
    let said = words(&page);
    assert!(said.contains("Every group on partition 0 is stuck"), "{said}");
    assert!(said.contains("History could not be read in time."), "{said}");
    let (_, page) = get(Fixture::keeping(Kept::Empty), "/c/prod/p/0").await;
    assert!(words(&page).contains("Nothing has happened since history is kept."), "{}", words(&page));
    let (_, page) = get(Fixture::new(&["prod"]), "/c/prod/p/0").await;
    assert!(!words(&page).contains("What happened"), "{}", words(&page));
}

#[tokio::test]
async fn what_is_not_being_remembered_is_said_on_every_page() {
    for path in ["/", "/c/prod", "/c/prod/p/0", "/c/prod/b/1", "/c/prod/g?group=my-group", "/c/prod/plans/raise"] {
        let (_, page) = get(Fixture::keeping(Kept::Unreadable("the disk is full.")), path).await;
        let expected = "Not being remembered since 15:50:00 UTC, because the disk is full.";
        assert!(words(&page).contains(expected), "{path}: {}", words(&page));
    }
}

#[tokio::test]
async fn where_nobody_looked_since_is_two_times_and_a_vanished_group_has_its_members() {
    let mut fixture = Fixture::new(&["prod"]);
    for published in fixture.clusters.values_mut() {
        let published = Arc::make_mut(published);
        for partition in &mut published.report.partitions {
            partition.since_after = partition.since.map(|_| at("2026-11-29T15:40:10Z"));
        }
        let clients = vec![("app-1".to_owned(), "/10.0.0.9".to_owned())];
        let members = SeenMembers { at: at("2026-11-29T15:40:00Z"), count: 3, clients };
        Arc::make_mut(&mut published.memory.groups).members.insert(GroupId::from("my-group"), members);
    }
    let (_, page) = get(fixture, "/c/prod/g?group=my-group").await;
    let said = words(&page);
    for expected in [
        "Between 15:40:10 and 15:48:31 UTC (Unstuck did not look in between).",
        "When its coordinator was last asked, at 15:40:00 UTC, it had 3 members: app-1 on /10.0.0.9, ….",
    ] {
        assert!(said.contains(expected), "{expected} is not in: {said}");
    }
}
