//! Incidents: exactly what was seen then, beside what is true now.

use std::sync::Arc;

use http::StatusCode;
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::history::{
    Acknowledged, Event, FindingRecord, Frozen, Happened, Incident, IncidentId, Moment, Note, OpenedBy, OpeningId,
    SeenMembers, Since, Subject,
};
use unstuck_diagnosis::report::{BrokerState, Status};

use super::fixture::{Fixture, Kept, at, published};
use super::{get, meta, words};
use crate::source::{IncidentView, Now};
use crate::{incident_html, incident_markdown};

/// Broker 1 died between two looks, and is still dead.
pub(super) fn view() -> IncidentView {
    let mut then = published("prod");
    let groups = Arc::make_mut(&mut then.memory.groups);
    let group = GroupId::from("my-group");
    if let Some(seen) = groups.by_id.get_mut(&group) {
        seen.last_listed_by = Some(1);
    }
    let clients = vec![("app-1".to_owned(), "/10.0.0.9".to_owned()), ("<i>".to_owned(), "/10.0.0.10".to_owned())];
    groups.members.insert(group, SeenMembers { at: at("2026-11-29T15:45:00Z"), count: 3, clients });
    let since = Since { at: at("2026-11-29T15:48:31Z"), after: Some(at("2026-11-29T15:40:10Z")) };
    let finding = then.report.findings[0].clone();
    let record = |slug: &str, closed| FindingRecord {
        id: OpeningId("opening".to_owned()),
        slug: slug.to_owned(),
        opened: since,
        closed,
        at_opening: finding.clone(),
        at_worst: finding.clone(),
        worst_at: since.at,
        last: None,
        incident: None,
    };
    let closed = Since { at: at("2026-11-29T15:50:00Z"), after: Some(at("2026-11-29T15:49:59Z")) };
    let event = |second: i64, subject, what| {
        let when = since.at.as_second() + second;
        let when = jiff::Timestamp::from_second(when).expect("a time");
        Event { since: Since { at: when, after: None }, subject, what }
    };
    let leads = |leader| Happened::Leadership { leader, leader_epoch: Some(7), isr: Vec::new() };
    let verdict = |sentence: &str| Happened::Verdict { status: Status::Stuck, sentence: sentence.to_owned() };
    let gone = Happened::Broker {
        state: BrokerState::Gone,
        address: Some("b1:9092".to_owned()),
        sentence: "refuses connections".to_owned(),
    };
    let mut events = vec![Event { since, subject: Subject::Broker(1), what: gone }];
    events.extend((0..50).step_by(3).map(|partition| event(1, Subject::Partition(partition), leads(None))));
    events.push(event(2, Subject::Cluster, verdict("Broker 1 is gone: 5 groups are stuck")));
    for second in 10..18 {
        events.push(event(second, Subject::Partition(12), leads(Some(1 + i32::from(second % 2 == 0)))));
    }
    let note = |number, by: &str, text: &str| Note {
        number,
        at: at("2026-11-29T15:49:10Z"),
        by: by.to_owned(),
        text: text.to_owned(),
    };
    IncidentView {
        incident: Incident {
            id: IncidentId("k3yX".to_owned()),
            cluster: "prod".to_owned(),
            opened: since,
            calm_since: None,
            closed: None,
            by: OpenedBy::Unstuck,
            title: "Broker 1 is gone: 5 groups are stuck".to_owned(),
            severity: finding.severity,
            stuck_groups: 5,
            slugs: vec![finding.slug.clone()],
            partitions: (0..50).step_by(3).collect(),
            brokers: vec![1],
            acknowledged: None,
        },
        findings: vec![record("no-leader-no-live-replica", None), record("broker-down", Some(closed))],
        notes: vec![
            note(1, "Ada", "Started **broker 1** again, see [the runbook](https://wiki.example/kafka)."),
            note(2, "<b>Eve", "<script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)>"),
        ],
        events,
        events_cut: false,
        moments: vec![(Moment::Opening, since.at), (Moment::Worst, at("2026-11-29T15:49:00Z"))],
        then: Some((Moment::Worst, Frozen::of(&then, "0.1.0"))),
        unreadable: None,
        now: Now::Seen(Arc::new(published("prod"))),
    }
}

pub(super) fn keeping(view: IncidentView) -> Fixture {
    Fixture::keeping(Kept::Here(Box::new(view)))
}

#[tokio::test]
async fn a_link_shows_what_was_seen_then_beside_what_is_true_now() {
    let (status, page) = get(keeping(view()), "/i/k3yX").await;
    assert_eq!(status, StatusCode::OK);
    insta::assert_snapshot!(words(&page));
    for expected in [
        r#"href="/i/k3yX?moment=opening""#,
        r#"href="/c/prod/g?group=my-group""#,
        r#"href="/c/prod""#,
        r#"<form method="post" action="/i/k3yX/notes""#,
        r#"action="/i/k3yX/acknowledge""#,
        r#"href="/i/k3yX/export.md""#,
        r#"href="/i/k3yX/export.html?pseudonyms=true""#,
        r#"id="notes""#,
    ] {
        assert!(page.contains(expected), "{expected} is not in: {page}");
    }
    assert_eq!(meta(&page, "robots").as_deref(), Some("noindex, nofollow"));
    assert_eq!(meta(&page, "og:title").as_deref(), Some("Broker 1 is gone: 5 groups are stuck"));
    let described = meta(&page, "og:description").expect("a description");
    assert!(
        described.starts_with("Cluster prod. Open since some time between 15:40:10 and 15:48:31 UTC."),
        "{described}"
    );
}

#[tokio::test]
async fn a_note_cannot_do_anything() {
    let (_, page) = get(keeping(view()), "/i/k3yX").await;
    super::assert_inert(&page);
    for forbidden in ["<img", "javascript:alert(1)\"", "<b>Eve", "<i>"] {
        assert!(!page.contains(forbidden), "{forbidden} is in: {page}");
    }
    assert!(page.contains(r#"<a href="https://wiki.example/kafka" rel="nofollow noopener external">the runbook</a>"#));
    assert!(words(&page).contains("<script>alert(1)</script>"), "{}", words(&page));
}

#[tokio::test]
async fn another_moment_can_be_looked_at() {
    let (_, page) = get(keeping(view()), "/i/k3yX?moment=opening").await;
    assert!(words(&page).contains("When it opened, 15:50:31 UTC"), "{}", words(&page));
    assert!(page.contains(r#"href="/i/k3yX?moment=worst""#), "{page}");
}

#[tokio::test]
async fn whoever_looks_after_it_is_named() {
    let mut taken = view();
    taken.incident.acknowledged = Some(Acknowledged { by: "Ada".to_owned(), at: at("2026-11-29T15:49:00Z") });
    let (_, page) = get(keeping(taken.clone()), "/i/k3yX").await;
    assert!(words(&page).contains("Ada looks after it."), "{}", words(&page));
    assert!(page.contains(r#"action="/i/k3yX/release""#) && !page.contains("/acknowledge"), "{page}");
    let (_, page) = get(keeping(taken), "/incidents").await;
    assert!(words(&page).contains("prod open between 15:40:10 and 15:48:31 UTC 2 min 5 Ada"), "{}", words(&page));
}

#[tokio::test]
async fn whether_it_is_over_is_said() {
    let mut calm = view();
    calm.incident.calm_since = Some(at("2026-11-29T15:50:00Z"));
    let (_, page) = get(keeping(calm.clone()), "/i/k3yX").await;
    let said = words(&page);
    assert!(said.contains("Calm since 15:50:00 UTC: it is over when it stays so until 15:55:00 UTC."), "{said}");
    calm.incident.closed = Some(at("2026-11-28T15:50:00Z"));
    let (_, page) = get(keeping(calm), "/i/k3yX").await;
    assert!(words(&page).contains("Over since 2026-11-28 15:50:00 UTC, after"), "{}", words(&page));
}

#[tokio::test]
async fn what_cannot_be_shown_is_said() {
    let mut gone = view();
    (gone.now, gone.then, gone.unreadable) =
        (Now::NotLookedAt, None, Some("it was written by a later version".to_owned()));
    let (status, page) = get(keeping(gone), "/i/k3yX").await;
    assert_eq!(status, StatusCode::OK);
    let said = words(&page);
    for expected in ["Cluster prod is not looked at here", "cannot be read: it was written by a later version."] {
        assert!(said.contains(expected), "{expected} is not in: {said}");
    }
}

#[tokio::test]
async fn another_cluster_of_the_same_name_is_not_taken_for_this_one() {
    let mut elsewhere = view();
    elsewhere.now = Now::AnotherCluster;
    let draft = crate::incident_markdown(&elsewhere);
    assert!(draft.contains("Now: another cluster has its name here."), "{draft}");
    let (_, page) = get(keeping(elsewhere), "/i/k3yX").await;
    let said = words(&page);
    let expected = "Another cluster is called prod here, with another cluster id: this page cannot say how the one of this \
                    incident stands now.";
    assert!(said.contains(expected), "{said}");
    assert!(!page.contains(">Cluster prod, live<"), "{page}");
}

#[tokio::test]
async fn a_link_that_leads_nowhere_says_why() {
    for (kept, path, status, expected) in [
        (Kept::Empty, "/i/none", StatusCode::NOT_FOUND, "It may have been dropped"),
        (
            Kept::Empty,
            "/i/%3C%2Ftitle%3E%3Cscript%3E",
            StatusCode::NOT_FOUND,
            "There is no incident “</title><script>” here",
        ),
        (Kept::Nothing, "/i/none", StatusCode::NOT_FOUND, "Start it with --store"),
        (Kept::Nothing, "/incidents", StatusCode::NOT_FOUND, "Start it with --store"),
        (Kept::Unreadable("the disk is full"), "/i/none", StatusCode::SERVICE_UNAVAILABLE, "the disk is full."),
        (Kept::Unreadable("the disk is full"), "/incidents", StatusCode::SERVICE_UNAVAILABLE, "cannot be read now"),
    ] {
        let (answered, page) = get(Fixture::keeping(kept), path).await;
        assert_eq!(answered, status, "{path}");
        assert!(words(&page).contains(expected), "{path}: {}", words(&page));
        super::assert_inert(&page);
    }
}

#[tokio::test]
async fn incidents_are_listed_and_can_be_made() {
    let (status, page) = get(keeping(view()), "/c/prod/incidents").await;
    assert_eq!(status, StatusCode::OK);
    assert!(words(&page).contains("1 incident is open"), "{}", words(&page));
    assert!(page.contains(r#"href="/i/k3yX""#), "{page}");
    assert!(page.contains(r#"<form method="post" action="/c/prod/incidents""#), "{page}");
    let (_, page) = get(Fixture::keeping(Kept::Empty), "/c/prod/incidents").await;
    let said = words(&page);
    assert!(said.contains("No incident is open") && said.contains("None was seen since history is kept."), "{said}");
    let (_, page) = get(keeping(view()), "/incidents?before=1000").await;
    assert!(words(&page).contains("Incidents before 1970-01-01 00:00:01 UTC"), "{}", words(&page));
}

#[tokio::test]
async fn the_dashboard_leads_to_what_is_open_and_waits_for_nothing() {
    for path in ["/c/prod", "/"] {
        let (_, page) = get(keeping(view()), path).await;
        assert!(page.contains(r#"href="/i/k3yX""#), "{page}");
        assert!(words(&page).contains("nobody has said that they look after it"), "{}", words(&page));
        assert!(words(&page).contains("Make a link of what I see"), "{}", words(&page));
    }
    let begun = std::time::Duration::from_secs(5);
    let page = tokio::time::timeout(begun, get(Fixture::keeping(Kept::Never), "/c/prod")).await;
    let (status, page) = page.expect("the page does not wait");
    assert_eq!(status, StatusCode::OK);
    assert!(words(&page).contains("Broker 1 is gone: 5 groups are stuck"), "{}", words(&page));
    let (_, page) = get(Fixture::new(&["prod"]), "/c/prod").await;
    assert!(!page.contains("Make a link"), "{page}");
}

#[test]
fn a_draft_for_the_post_mortem_is_written() {
    insta::assert_snapshot!(incident_markdown(&view()));
}

#[test]
fn the_page_fits_into_one_file() {
    let file = incident_html(&view(), "p { color: red }</style><object>");
    for forbidden in ["</style><object>", "<script", "<form", "href=\"/", "<img", "src=\"", "<link", "@import", "url("]
    {
        assert!(!file.contains(forbidden), "{forbidden} is in: {file}");
    }
    let said = words(&file.replace("<body>\n", "<body>"));
    for expected in ["Broker 1 is gone: 5 groups are stuck", "my-group", "Started broker 1 again", "Start broker 1"] {
        assert!(said.contains(expected), "{expected} is not in: {said}");
    }
}
