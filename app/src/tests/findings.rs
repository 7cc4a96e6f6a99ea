//! Findings and ways out on a page, and the handbook behind them.

use http::StatusCode;
use unstuck_diagnosis::handbook::{BY_HAND, handbook};

use super::fixture::Fixture;
use super::{get, words};

#[tokio::test]
async fn a_remedy_says_what_it_needs_costs_and_leaves() {
    let (_, page) = get(Fixture::new(&["prod"]), "/c/prod").await;
    let said = words(&page);
    for expected in [
        "If its disk is lost loses data The partitions begin anew.",
        "Danger: committed offsets of 5 groups are lost",
        "Only if met broker 1 is stopped not known nobody has a copy of its disk not met broker 2 has the data",
        "It changes : the replicas of 17 partitions",
        "raise.json : new replicas",
        "Save raise.json",
        "To see that it worked kafka-topics.sh --describe",
        "To take it back : Not possible: see kafka-topics.sh .",
    ] {
        assert!(said.contains(expected), "{expected} is not in: {said}");
    }
    let file = "data:application/octet-stream,%7B%22version%22%3A%201%2C%20%22topics%22%3A%20%22a%26b%23c%22%7D";
    assert!(page.contains(file), "{page}");
    assert!(page.contains(r#"download="raise.json""#), "{page}");
}

#[tokio::test]
async fn what_not_to_do_is_never_a_numbered_step() {
    let (_, page) = get(Fixture::new(&["prod"]), "/c/prod").await;
    let (_, after) = page.split_once("What not to do").expect("what not to do");
    assert!(after.contains("Do not delete __consumer_offsets"), "{after}");
    for list in page.split("<ol class=\"remedies\">").skip(1) {
        let list = list.split("</ol>").next().unwrap_or_default();
        assert!(!list.contains("Do not delete"), "{list}");
    }
}

#[tokio::test]
async fn what_follows_is_folded_below_its_cause() {
    let (_, page) = get(Fixture::new(&["prod"]), "/c/prod").await;
    let (_, after) = page.split_once("Follows from this: 1 finding").expect("a fold");
    assert!(after.contains("1 partition of another topic has no leader"), "{after}");
    assert_eq!(words(&page).matches("1 partition of another topic has no leader").count(), 1);
}

#[tokio::test]
async fn every_finding_leads_to_its_chapter() {
    for path in ["/c/prod", "/c/prod/p/0", "/c/prod/b/1", "/c/prod/g?group=my-group"] {
        let (_, page) = get(Fixture::new(&["prod"]), path).await;
        assert!(page.contains(r#"href="/docs/findings/no-leader-no-live-replica""#), "{path}: {page}");
    }
}

#[tokio::test]
async fn the_handbook_lists_every_finding() {
    let (status, page) = get(Fixture::new(&["prod"]), "/docs/findings").await;
    assert_eq!(status, StatusCode::OK);
    for slug in handbook().iter().map(|entry| entry.slug).chain(BY_HAND.iter().map(|one| one.slug)) {
        assert!(page.contains(&format!("href=\"/docs/findings/{slug}\"")), "{slug} is not listed");
    }
    let said = words(&page);
    assert!(said.contains("What a finding is") && said.contains("Which cause comes first"), "{said}");
}

#[tokio::test]
async fn every_chapter_can_be_read() {
    for entry in handbook() {
        let (status, page) = get(Fixture::new(&["prod"]), &entry.href()).await;
        assert_eq!(status, StatusCode::OK, "{}", entry.slug);
        let said = words(&page);
        for expected in ["It opens when", "It closes when", entry.severity] {
            assert!(said.contains(expected), "{}: {expected} is not in: {said}", entry.slug);
        }
    }
    for one in BY_HAND {
        let (status, page) = get(Fixture::new(&["prod"]), &format!("/docs/findings/{}", one.slug)).await;
        assert_eq!(status, StatusCode::OK, "{}", one.slug);
        assert!(words(&page).contains("cannot be seen from outside"), "{}", one.slug);
    }
}

#[tokio::test]
async fn a_slug_that_nobody_has_names_those_like_it() {
    let (status, page) = get(Fixture::new(&["prod"]), "/docs/findings/leader-los%3Cscript%3E").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(words(&page).contains("No finding is called “leader-los<script>”"), "{}", words(&page));
    assert!(page.contains(r#"href="/docs/findings/leader-lost""#), "{page}");
    super::assert_inert(&page);
}

#[tokio::test]
async fn before_a_broker_is_stopped_its_page_says_what_stops() {
    let (status, page) = get(Fixture::new(&["prod"]), "/c/prod/b/2").await;
    assert_eq!(status, StatusCode::OK);
    let said = words(&page);
    for expected in [
        "Before you stop this broker something stops If broker 2 stops now",
        "2 partitions of __consumer_offsets lose their leader.",
        "The quorum is not known.",
        "Partitions: 1 4",
    ] {
        assert!(said.contains(expected), "{expected} is not in: {said}");
    }
    assert!(page.contains(r#"href="/c/prod/plans/evacuate?broker=2""#), "{page}");
    let (_, page) = get(Fixture::new(&["prod"]), "/c/prod/b/1").await;
    assert!(words(&page).contains("It is down already, or nothing current is known of it"), "{}", words(&page));
}

#[tokio::test]
async fn the_dashboard_warns_before_the_fact() {
    let (_, page) = get(Fixture::new(&["prod"]), "/c/prod").await;
    let said = words(&page);
    assert!(said.contains("If a rack stops Rack a: brokers 2 something stops If broker 2 stops now"), "{said}");
    assert!(page.contains(r#"title="2 partitions of __consumer_offsets lose their leader.""#), "{page}");
}

#[tokio::test]
async fn a_plan_that_cannot_be_made_says_why() {
    let (status, page) = get(Fixture::new(&["prod"]), "/c/prod/plans/evacuate?broker=2").await;
    assert_eq!(status, StatusCode::OK);
    let said = words(&page);
    assert!(
        said.contains("Move __consumer_offsets off broker 2") && said.contains("There is no such plan now"),
        "{said}"
    );
    for path in
        ["/c/prod/plans/evacuate", "/c/prod/plans/evacuate?broker=x", "/c/prod/plans/raise?broker=2", "/c/prod/plans/x"]
    {
        let (status, page) = get(Fixture::new(&["prod"]), path).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
        assert!(page.contains(r#"href="/c/prod/plans/evacuate?broker=2""#), "{path}: {page}");
    }
}

#[tokio::test]
async fn a_plan_is_ready_to_use() {
    let published = unstuck_diagnosis::sample::Sample::kraft(3, 6, 1).published();
    let name = published.report.cluster.clone();
    let mut fixture = Fixture::new(&[]);
    fixture.clusters.insert(name.clone(), std::sync::Arc::new(published));
    let (status, page) = get(fixture, &format!("/c/{name}/plans/raise")).await;
    assert_eq!(status, StatusCode::OK);
    let said = words(&page);
    for expected in
        ["What it reaches", "How to carry it out", "kafka-reassign-partitions.sh", "Save raise.json", "broker 3"]
    {
        assert!(said.contains(expected), "{expected} is not in: {said}");
    }
}
