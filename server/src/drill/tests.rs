//! The routes of a drill, and what is listed.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use unstuck_drill::scenario::{Scenario, read};
use unstuck_drill::serve::Drill;

use super::list::listed;
use crate::assets::Bundle;
use crate::testing::{answer, clusters, healthy, router, text};
use crate::watched::Watched;

const SCENARIO: &str = r#"
title = "Two of three <b>"
story = "A story."

[cluster]
mode = "kraft"
release = "4.1.1"
brokers = [1, 2, 3]

[topic.__consumer_offsets]
partitions = 50
replication-factor = 3

[[step]]
name = "one dies"
say = "Broker 1 was killed."
do = [{ stop = 1 }]

[[step]]
name = "two die"
say = "Broker 2 was killed."
do = [{ stop = 2 }]
"#;

fn scenario() -> Scenario {
    read(SCENARIO, "test.toml").expect("a good scenario")
}

fn drill() -> Arc<Drill> {
    Arc::new(Drill::in_memory("test", Arc::new(scenario())))
}

fn routes(drill: &Arc<Drill>) -> Router {
    let watched = Watched::new(clusters([healthy("test", &["orders"])])).with_drill(Arc::clone(drill));
    crate::router(Arc::new(watched), &Bundle::embedded(), CancellationToken::new())
}

async fn send(drill: &Arc<Drill>, request: Request<Body>) -> Response {
    answer(routes(drill), request).await
}

fn form(body: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let request = Request::post("/drill").header("content-type", "application/x-www-form-urlencoded");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(Body::from(body.to_owned())).expect("a request")
}

fn told(body: &str) -> Request<Body> {
    let request = Request::post("/api/v1/drill").header("content-type", "application/json");
    request.body(Body::from(body.to_owned())).expect("a request")
}

fn states(drill: &Drill) -> Vec<String> {
    drill.status().nodes.into_iter().filter(|node| node.is_broker).map(|node| node.state).collect()
}

/// Status and `type` of a problem.
async fn problem(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let body: Value = serde_json::from_str(&text(response).await).expect("JSON");
    let kind = body["type"].as_str().expect("a type").trim_start_matches("urn:unstuck:problem:").to_owned();
    (status, kind)
}

#[tokio::test]
async fn buttons_do_what_they_say_and_lead_back() {
    let drill = drill();
    for (body, states_then) in [
        ("do=stop&node=2&back=%2Fc%2Ftest%23drill", ["running", "stopped", "running"]),
        ("do=start&node=2&back=/c/test%23drill", ["running", "running", "running"]),
        ("do=pause&node=3&back=/c/test%23drill", ["running", "running", "paused"]),
        ("do=resume&node=3&back=/c/test%23drill", ["running", "running", "running"]),
        ("do=cut-off&node=3&back=/c/test%23drill", ["running", "running", "cut-off"]),
        ("do=reconnect&node=3&back=/c/test%23drill", ["running", "running", "running"]),
        ("do=next&back=/c/test%23drill", ["stopped", "running", "running"]),
        ("do=restart&back=/c/test%23drill", ["running", "running", "running"]),
    ] {
        let response = send(&drill, form(body, &[])).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER, "{body}");
        assert_eq!(response.headers()["location"], "/c/test#drill", "{body}");
        assert_eq!(states(&drill), states_then, "{body}");
    }
    let response = send(&drill, form("do=next", &[])).await;
    assert_eq!(response.headers()["location"], "/");
}

#[tokio::test]
async fn doing_the_next_step_by_hand_is_that_step() {
    let drill = drill();
    send(&drill, form("do=stop&node=1", &[])).await;
    assert_eq!(drill.status().steps[0].at_ms.map(|_| ()), Some(()), "{:?}", drill.status().steps);
}

#[tokio::test]
async fn forms_that_say_nothing_are_refused() {
    let drill = drill();
    for (body, status, kind) in [
        ("", 400, "bad-wish"),
        ("do=dance", 400, "bad-wish"),
        ("do=stop", 400, "bad-wish"),
        ("do=stop&node=one", 400, "bad-wish"),
        ("do=stop&node=99999999999", 400, "bad-wish"),
        ("do=stop&node=9", 409, "drill-refused"),
        ("do=stop&node=1&node=2", 400, "repeated-parameter"),
        ("do=stop&broker=1", 400, "unknown-parameter"),
        ("do=stop%", 400, "bad-encoding"),
        ("do=next&back=//evil.example", 400, "bad-back"),
        ("do=next&back=https://evil.example", 400, "bad-back"),
        ("do=next&back=/%5Cevil.example", 400, "bad-back"),
        ("do=next&back=", 400, "bad-back"),
        ("do=next&back=/%0D%0ASet-Cookie:x", 400, "bad-back"),
    ] {
        assert_eq!(problem(send(&drill, form(body, &[])).await).await, (status, kind.to_owned()), "{body}");
    }
    assert_eq!(states(&drill), ["running"; 3], "nothing was done");
}

#[tokio::test]
async fn other_sites_are_refused_and_this_one_is_not() {
    let drill = drill();
    for (headers, welcome) in [
        (&[("sec-fetch-site", "cross-site")][..], false),
        (&[("sec-fetch-site", "same-site"), ("origin", "http://localhost:8080")], false),
        (&[("origin", "http://evil.example"), ("host", "localhost:8080")], false),
        (&[("origin", "null"), ("host", "localhost:8080")], false),
        (&[("origin", "http://localhost:8080"), ("host", "localhost:8080")], true),
        (&[("sec-fetch-site", "same-origin"), ("origin", "http://localhost:8080")], true),
        (&[("sec-fetch-site", "none")], true),
        (&[], true),
    ] {
        let response = send(&drill, form("do=restart", headers)).await;
        assert_eq!(response.status() == StatusCode::SEE_OTHER, welcome, "{headers:?}");
        let mut request = told(r#"{"restart": true}"#);
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().expect("a header"));
        }
        let response = send(&drill, request).await;
        assert_eq!(response.status() == StatusCode::OK, welcome, "{headers:?}");
        if !welcome {
            assert_eq!(problem(response).await, (403, "cross-site".to_owned()));
        }
    }
}

/// A name that somebody lets point to this machine makes their page look like ours to the browser.
#[tokio::test]
async fn on_loopback_a_foreign_name_is_another_host() {
    let drill = drill();
    for (host, welcome) in [
        ("evil.example", false),
        ("evil.example:8080", false),
        ("localhost.evil.example:8080", false),
        ("localhost:8080", true),
        ("LOCALHOST", true),
        ("127.0.0.1:8080", true),
        ("[::1]:8080", true),
    ] {
        let origin = format!("http://{host}");
        let headers = [("host", host), ("origin", origin.as_str()), ("sec-fetch-site", "same-origin")];
        let on_loopback = routes(&drill).layer(axum::Extension(crate::same_site::OnLoopback));
        let response = answer(on_loopback, form("do=restart", &headers)).await;
        let told = if welcome { StatusCode::SEE_OTHER } else { StatusCode::MISDIRECTED_REQUEST };
        assert_eq!(response.status(), told, "{host}");
        let response = send(&drill, form("do=restart", &headers)).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER, "{host}: who listens elsewhere is reached by names");
    }
}

#[tokio::test]
async fn the_api_tells_how_the_drill_is_going() {
    let drill = drill();
    let request = Request::get("/api/v1/drill").body(Body::empty()).expect("a request");
    let response = send(&drill, request).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["cache-control"], "no-store");
    let status: Value = serde_json::from_str(&text(response).await).expect("JSON");
    assert_eq!((&status["name"], &status["title"]), (&json!("test"), &json!("Two of three <b>")));
    assert_eq!(status["bootstrap"].as_array().map(Vec::len), Some(3));
    assert_eq!(status["steps"][0]["state"], "by-hand");
    assert_eq!(status["nodes"][0]["state"], "running");
}

#[tokio::test]
async fn the_api_does_what_it_is_told() {
    let drill = drill();
    for (body, states_then) in [
        (r#"{"next": true}"#, ["stopped", "running", "running"]),
        (r#"{"apply": {"start": 1}}"#, ["running", "running", "running"]),
        // The controllers need some seconds to agree on a new one.
        (r#"{"jump": "10m"}"#, ["running", "running", "running"]),
        (r#"{"apply": {"elect": {"partitions": "0-9", "type": "unclean"}}}"#, ["running", "running", "running"]),
        (r#"{"apply": {"shut-down": 3}}"#, ["running", "running", "stopped"]),
        (r#"{"restart": true}"#, ["running", "running", "running"]),
    ] {
        let response = send(&drill, told(body)).await;
        assert_eq!(response.status(), StatusCode::OK, "{body}: {}", text(response).await);
        assert_eq!(states(&drill), states_then, "{body}");
    }
    send(&drill, told(r#"{"jump": "10m"}"#)).await;
    assert!(drill.status().now_ms >= 600_000);
}

#[tokio::test]
async fn the_api_refuses_what_it_does_not_understand() {
    let drill = drill();
    for (body, status, kind) in [
        ("", 400, "bad-wish"),
        ("{}", 400, "bad-wish"),
        (r#"{"next": false}"#, 400, "bad-wish"),
        (r#"{"dance": true}"#, 400, "bad-wish"),
        (r#"{"jump": "soon"}"#, 400, "bad-wish"),
        (r#"{"jump": "31d"}"#, 400, "bad-wish"),
        (r#"{"apply": {"stop": "one"}}"#, 400, "bad-wish"),
        (r#"{"apply": {"stop": 9}}"#, 409, "drill-refused"),
    ] {
        assert_eq!(problem(send(&drill, told(body)).await).await, (status, kind.to_owned()), "{body}");
    }
    let plain = Request::post("/api/v1/drill").header("content-type", "text/plain");
    let plain = plain.body(Body::from(r#"{"next": true}"#)).expect("a request");
    assert_eq!(problem(send(&drill, plain).await).await, (415, "unsupported-body".to_owned()));
    let large = told(&format!("{}{{\"next\": true}}", " ".repeat(70_000)));
    assert_eq!(problem(send(&drill, large).await).await, (413, "body-too-large".to_owned()));
    let query = Request::get("/api/v1/drill?group=x").body(Body::empty()).expect("a request");
    assert_eq!(problem(send(&drill, query).await).await, (400, "unknown-parameter".to_owned()));
    let delete = Request::delete("/api/v1/drill").body(Body::empty()).expect("a request");
    assert_eq!(problem(send(&drill, delete).await).await, (405, "wrong-method".to_owned()));
    assert_eq!(states(&drill), ["running"; 3], "nothing was done");
    send(&drill, told(r#"{"next": true}"#)).await;
    send(&drill, told(r#"{"next": true}"#)).await;
    assert_eq!(problem(send(&drill, told(r#"{"next": true}"#)).await).await, (409, "no-next-step".to_owned()));
}

#[tokio::test]
async fn without_a_drill_there_is_nothing_to_steer() {
    let routes = || router(clusters([healthy("kafka", &["orders"])]));
    let response = answer(routes(), form("do=next", &[])).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    let get = Request::get("/api/v1/drill").body(Body::empty()).expect("a request");
    assert_eq!(problem(answer(routes(), get).await).await, (404, "unknown-path".to_owned()));
    assert_eq!(problem(answer(routes(), told("{}")).await).await, (404, "unknown-path".to_owned()));
}

#[tokio::test]
async fn pages_and_events_tell_of_the_drill() {
    let drill = drill();
    for path in ["/", "/c/test", "/c/test/g?group=orders"] {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let page = text(send(&drill, request).await).await;
        assert!(page.contains("Two of three &lt;b>") || page.contains("Two of three &lt;b&gt;"), "{path}: {page}");
        assert_eq!(page.contains(r#"action="/drill""#), !path.contains("/g?"), "{path}: {page}");
    }
}

#[test]
fn scenarios_are_listed_below_what_they_are_for() {
    let named = |name: &str, title: &str, source: Option<&str>| {
        let scenario = Scenario { title: title.to_owned(), source: source.map(str::to_owned), ..scenario() };
        (name.to_owned(), scenario)
    };
    let text = listed(&[
        named("broker-lost", "One dies", None),
        named("hung", "One hangs", None),
        named("reported", "As it was", Some("https://example.org")),
    ]);
    insta::assert_snapshot!(text, @r"
    To begin with
      broker-lost  One dies

    Incidents that were reported in public
      reported     As it was

    One trouble each
      hung         One hangs

    Run one with: unstuck drill NAME
    ");
}
