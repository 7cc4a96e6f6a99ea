//! The pages as a reader without JavaScript gets them, rendered through the same handler as the server's.

mod drill;
mod findings;
mod fixture;
mod history;
mod incidents;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use http::{Request, StatusCode};
use leptos::prelude::*;
use unstuck_diagnosis::GroupId;

use crate::source::Source;
use crate::{App, shell, text};
use fixture::{Details, Fixture, long_id};

/// As the server does, once before it renders anything; makes the executor known to leptos, too. Listing the routes while
/// another page is being rendered can leave that page waiting for ever.
static ROUTE_COUNT: LazyLock<usize> = LazyLock::new(|| leptos_axum::generate_route_list(App).len());

/// A page, and its HTTP status.
async fn get(fixture: Fixture, path: &str) -> (StatusCode, String) {
    assert_eq!(*ROUTE_COUNT, 13);
    let source: Arc<dyn Source> = Arc::new(fixture);
    let options = LeptosOptions::builder().output_name("unstuck").site_pkg_dir("pkg/hash").build();
    let page = leptos_axum::render_app_async_with_context(
        move || provide_context(Arc::clone(&source)),
        move || shell(options.clone()),
    );
    let response = page(Request::builder().uri(path).body(Body::empty()).expect("a request")).await;
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("a page");
    (status, String::from_utf8(body.to_vec()).expect("a page is UTF-8"))
}

/// What an element of the page's head says.
fn meta(page: &str, name: &str) -> Option<String> {
    let tag = page.split("<meta ").find(|tag| tag.contains(&format!("name=\"{name}\"")))?;
    let content = tag.split("content=\"").nth(1)?;
    content.split('"').next().map(str::to_owned)
}

/// The text that a reader sees: what is in the body, without tags and scripts.
fn words(page: &str) -> String {
    let body = page.split_once("<body>").expect("a body").1;
    let mut out = String::new();
    let mut rest = body;
    while let Some((text, tail)) = rest.split_once('<') {
        out.push_str(text);
        out.push(' ');
        let tail =
            if tail.starts_with("script") { tail.split_once("</script").map_or("", |(_, tail)| tail) } else { tail };
        rest = tail.split_once('>').map_or("", |(_, tail)| tail);
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[tokio::test]
async fn the_dashboard_says_everything_without_javascript() {
    let (status, page) = get(Fixture::new(&["prod"]), "/c/prod").await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("<title>stuck: prod · Unstuck</title>"), "{page}");
    let words = words(&page);
    for expected in [
        "Broker 1 is gone: 5 groups are stuck",
        "Since 15:48:31 UTC (2 min).",
        "Seen at 15:50:31 UTC.",
        "Next step What is this? Start broker 1 only looks It holds the only replica.",
        "kafka-server-start.sh config/server.properties",
        "committed offsets of 5 groups are lost",
        "RF 1",
        "Data partitions without a leader: 1",
        "groups on broker 1",
        "b1:9092",
        "MkU3OEVBNTcwNTJENDM2Qk",
        "broker 1 did not list its groups",
        "crm␠",
    ] {
        assert!(words.contains(expected), "{expected} is not in: {words}");
    }
    for expected in [
        r#"action="/c/prod/find""#,
        r#"href="/c/prod/p/0""#,
        r#"href="/c/prod/b/1""#,
        r#"href="/c/prod/g?group=crm%20""#,
        r#"class="cell s-stuck""#,
        "partition 0, stuck: it has no leader, and no other replica exists",
    ] {
        assert!(page.contains(expected), "{expected} is not in: {page}");
    }
}

#[tokio::test]
async fn an_id_cannot_break_the_page() {
    let (_, page) = get(Fixture::new(&["prod"]), "/c/prod").await;
    assert!(!page.contains("<script>alert(1)"), "{page}");
    assert!(!page.contains('\u{202e}') || !words(&page).contains('\u{202e}'), "{page}");
    assert!(words(&page).contains("\\u{202e}evil"));
}

#[tokio::test]
async fn the_front_page_of_one_cluster_is_its_dashboard() {
    let (status, page) = get(Fixture::new(&["prod"]), "/").await;
    assert_eq!(status, StatusCode::OK);
    assert!(words(&page).contains("Broker 1 is gone: 5 groups are stuck"));
    assert!(page.contains(r#"action="/c/prod/find""#));
}

#[tokio::test]
async fn the_front_page_of_several_clusters_lists_them() {
    let (status, page) = get(Fixture::new(&["a b", "prod"]), "/").await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains(r#"href="/c/a%20b""#) && page.contains(r#"formaction="/c/prod/find""#), "{page}");
    let (status, page) = get(Fixture::new(&["a b", "prod"]), "/c/a%20b").await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("<title>stuck: a b · Unstuck</title>"), "{page}");
}

#[tokio::test]
async fn what_does_not_exist_is_a_404_that_says_what_does() {
    for (path, heading, link) in [
        ("/c/nowhere", "There is no cluster named “nowhere” here", "/c/prod"),
        ("/c/nowhere/g?group=x", "There is no cluster named “nowhere” here", "/c/prod"),
        ("/c/prod/p/50", "There is no partition “50”", "/c/prod/p/49"),
        ("/c/prod/p/x%3Cy", "There is no partition “x<y”", "/c/prod/p/0"),
        ("/c/prod/b/9", "No broker “9” was seen", "/c/prod/b/3"),
        ("/c/prod/g", "Which group?", "/c/prod"),
        ("/c/prod/g?digest=00", "Paste the group id again", "/c/prod"),
        ("/no/such/page", "There is no page at this address", "/"),
    ] {
        let (status, page) = get(Fixture::new(&["prod"]), path).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
        assert!(words(&page).contains(heading), "{path}: {}", words(&page));
        assert!(page.contains(&format!("href=\"{link}\"")), "{path}: {page}");
    }
}

#[tokio::test]
async fn a_group_page_shows_the_chain_and_where_it_breaks() {
    let (status, page) = get(Fixture::new(&["prod"]), "/c/prod/g?group=my-group").await;
    assert_eq!(status, StatusCode::OK);
    let words = words(&page);
    for expected in ["-1906497762", "mod 50", "partition 12", "What each broker believes about partition 12"] {
        assert!(words.contains(expected), "{expected} is not in: {words}");
    }
    assert!(page.contains(r#"class="link bad""#), "{page}");
    assert!(words.contains("Its partition has no leader, so nobody can be asked"), "{words}");
}

#[tokio::test]
async fn a_group_page_answers_for_exactly_the_id_of_its_address() {
    let hostile = "</title></script></textarea>\"'><script>alert(1)</script>&amp;";
    for id in ["a%41b", "a+b", " x ", "", "é\u{1F600}", "a&group=b", hostile] {
        let group = GroupId::from(id);
        let (status, page) = get(Fixture::new(&["prod"]), &text::group_href("prod", &group)).await;
        assert_eq!(status, StatusCode::OK, "{id}");
        let hash = group.java_hash().to_string();
        assert!(words(&page).contains(&format!("Java hashCode {hash}")), "{id}: {}", words(&page));
        assert_inert(&page);
    }
}

/// Every script of a page carries the request's nonce, so none of them came out of an id.
fn assert_inert(page: &str) {
    for (at, _) in page.match_indices("<script") {
        let tag = page[at..].split('>').next().unwrap_or_default();
        assert!(tag.contains(" nonce=\""), "{tag}> in {page}");
    }
    assert_eq!(page.matches("</title>").count(), 1, "{page}");
}

#[tokio::test]
async fn an_address_cannot_break_the_page_that_refuses_it() {
    for path in [
        "/c/%3C%2Ftitle%3E%3Cscript%3E",
        "/c/prod/p/%3C%2Ftitle%3E%3Cscript%3E",
        "/c/prod/b/%3C%2Ftitle%3E%3Cscript%3E",
    ] {
        let (status, page) = get(Fixture::new(&["prod"]), path).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
        assert_inert(&page);
    }
}

#[tokio::test]
async fn a_long_id_is_named_by_its_digest() {
    let long = long_id();
    let (status, page) = get(Fixture::new(&["prod"]), &text::group_href("prod", &long)).await;
    assert_eq!(status, StatusCode::OK);
    assert!(words(&page).contains(&format!("Java hashCode {}", long.java_hash())), "{}", words(&page));
}

#[tokio::test]
async fn details_of_a_group_come_with_its_page() {
    let group = a_served_group();
    let (_, page) = get(Fixture::new(&["prod"]), &text::group_href("prod", &group)).await;
    let words = words(&page);
    for expected in ["state Stable", "type consumer", "/10.0.0.9", "worker-9", "orders: 3, 4", "no leader", "1,204"] {
        assert!(words.contains(expected), "{expected} is not in: {words}");
    }
}

#[tokio::test]
async fn a_transactional_id_has_its_page() {
    let (status, page) = get(Fixture::new(&["prod"]), "/c/prod/t?id=my-app").await;
    assert_eq!(status, StatusCode::OK);
    let words = words(&page);
    for expected in ["my-app : unknown", "unknown, because no broker answers", "Ongoing since 15:40:31 UTC", "4711"] {
        assert!(words.replace("my-app:", "my-app :").contains(expected), "{expected} is not in: {words}");
    }
    let (status, _) = get(Fixture::new(&["prod"]), "/c/prod/t").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_coordinator_that_never_answers_delays_a_page_by_a_bounded_time() {
    let group = a_served_group();
    let fixture = Fixture { details: Details::Never, ..Fixture::new(&["prod"]) };
    let href = text::group_href("prod", &group);
    let page = tokio::time::timeout(Duration::from_secs(10), get(fixture, &href));
    let (status, page) = page.await.expect("the page does not wait for ever");
    assert_eq!(status, StatusCode::OK);
    assert!(words(&page).contains("did not answer within 1.5 s"), "{}", words(&page));
}

/// Some id on a partition that broker 2 leads.
fn a_served_group() -> GroupId {
    (0..)
        .map(|number| GroupId(format!("served-{number}")))
        .find(|group| {
            unstuck_diagnosis::placement::partition_for(group, 50).is_some_and(|partition| partition % 3 == 1)
        })
        .expect("there are many ids")
}

#[tokio::test]
async fn partition_and_broker_pages_tell_the_same_truth() {
    let (status, page) = get(Fixture::new(&["prod"]), "/c/prod/p/0").await;
    assert_eq!(status, StatusCode::OK);
    let said = words(&page);
    assert!(
        said.contains("Every group on partition 0 is stuck: it has no leader")
            && said.contains("no answer: connection refused"),
        "{said}"
    );
    let (status, page) = get(Fixture::new(&["prod"]), "/c/prod/b/1").await;
    assert_eq!(status, StatusCode::OK);
    let said = words(&page);
    assert!(said.contains("Broker 1: refuses connections") && said.contains("not seen by 2 , 3"), "{said}");
}
