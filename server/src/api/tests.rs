use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};
use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::sample::Sample;

use super::*;
use crate::testing::{self, healthy, text};

const GROUPS: [&str; 5] = ["a", "b", "my-group", "tail ", "\u{1F600}"];

fn clusters() -> std::collections::BTreeMap<String, crate::watched::WatchedCluster> {
    testing::clusters([healthy("production", &GROUPS), healthy("staging", &GROUPS)])
}

async fn answer(request: http::Request<Body>) -> Response {
    testing::answer(testing::router(clusters()), request).await
}

async fn get_(path: &str) -> Response {
    answer(http::Request::get(path).body(Body::empty()).expect("a request")).await
}

async fn body(response: Response) -> Value {
    let text = text(response).await;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

async fn json_of(path: &str) -> Value {
    let response = get_(path).await;
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    assert_eq!(response.headers()["cache-control"], "no-store", "{path}");
    assert_eq!(response.headers()["content-type"], "application/json", "{path}");
    body(response).await
}

async fn problem(response: Response) -> (u16, String, Problem) {
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert_eq!(response.headers()["cache-control"], "no-store");
    let problem: Problem = serde_json::from_value(body(response).await).expect("a problem");
    assert_eq!(problem.status, status);
    assert!(!problem.advice.is_empty() && !problem.detail.is_empty() && !problem.title.is_empty());
    let word = problem.kind.strip_prefix("urn:unstuck:problem:").expect("a type of ours").to_owned();
    (status, word, problem)
}

async fn refused(path: &str, status: u16, word: &str) -> Problem {
    let (got_status, got_word, problem) = problem(get_(path).await).await;
    assert_eq!((got_status, got_word.as_str()), (status, word), "{path}: {problem:?}");
    problem
}

async fn post(path: &str, content_type: &str, body: impl Into<Body>) -> Response {
    let request = http::Request::post(path).header("content-type", content_type).body(body.into());
    answer(request.expect("a request")).await
}

const LOOKUP: &str = "/api/v1/clusters/production/lookup";
const FORM: &str = "application/x-www-form-urlencoded";

fn asked(lookup: &Value) -> Vec<&str> {
    let results = lookup["results"].as_array().expect("results");
    results.iter().map(|result| result["group"].as_str().expect("an id")).collect()
}

#[tokio::test]
async fn clusters_are_listed_by_name() {
    let list = json_of("/api/v1/clusters").await;
    assert!(list["server"].as_str().is_some_and(|server| server.starts_with("unstuck ")), "{list}");
    let names: Vec<_> = list["clusters"].as_array().expect("a list").iter().map(|one| &one["cluster"]).collect();
    assert_eq!(names, ["production", "staging"]);
    for field in ["cluster_id", "seq", "observed_at", "status", "sentence"] {
        assert!(list["clusters"][0].get(field).is_some(), "{field} in {list}");
    }
}

#[tokio::test]
async fn the_report_and_its_parts_are_the_same_value() {
    let report = json_of("/api/v1/clusters/production").await;
    let coordinators = json_of("/api/v1/clusters/production/coordinators").await;
    let topic = json_of("/api/v1/clusters/production/offsets-topic").await;
    assert_eq!(report["cluster"], "production");
    assert_eq!(coordinators["partitions"], report["partitions"]);
    assert_eq!(coordinators["partitions"].as_array().map(Vec::len), Some(50));
    assert_eq!(topic["offsets_topic"], report["offsets_topic"]);
    assert_eq!(topic["offsets_topic"]["partition_count"], 50);
    assert_eq!(topic["placement"], report["placement"]);
}

#[tokio::test]
async fn transactional_ids_are_answered_like_groups() {
    let sample = Sample::kraft(3, 50, 3).state_topic("__transaction_state", 50, 3);
    let watched = testing::clusters([testing::named("production", &sample)]);
    let request =
        http::Request::get("/api/v1/clusters/production/transactional-ids?id=my-app&id=other").body(Body::empty());
    let lookup = body(testing::answer(testing::router(watched), request.expect("a request")).await).await;
    assert_eq!(lookup["results"][0]["transactional_id"], "my-app");
    assert_eq!(lookup["results"][0]["verdict"]["status"], "working", "{lookup}");
    assert_eq!(lookup["results"][0]["placement"]["proven"], false);
    assert_eq!(lookup["results"][1]["views"].as_array().map(Vec::len), Some(3));
    let none = json_of("/api/v1/clusters/production/transactional-ids?id=my-app").await;
    assert_eq!(none["results"][0]["verdict"]["status"], "unknown", "there is no such topic");
    refused("/api/v1/clusters/production/transactional-ids", 400, "no-transactional-id").await;
    refused("/api/v1/clusters/production/transactional-ids?id=", 400, "no-transactional-id").await;
    refused("/api/v1/clusters/production/transactional-ids?group=a", 400, "unknown-parameter").await;
    refused("/api/v1/clusters/nowhere/transactional-ids?id=a", 404, "unknown-cluster").await;
}

#[tokio::test]
async fn a_lookup_answers_in_the_order_asked_by_every_way_of_asking() {
    let by_query = json_of(&format!("{LOOKUP}?group=my-group&group=%F0%9F%98%80&group=tail+&group=")).await;
    let ids = ["my-group", "\u{1F600}", "tail ", ""];
    assert_eq!(asked(&by_query), ids);
    let by_form = post(LOOKUP, FORM, "group=my-group&group=%F0%9F%98%80&group=tail%20&group=").await;
    assert_eq!(by_form.status(), StatusCode::OK);
    let by_json = post(LOOKUP, "application/json; charset=utf-8", json!({ "groups": ids }).to_string()).await;
    assert_eq!(by_json.headers()["cache-control"], "no-store");
    assert_eq!(asked(&body(by_form).await), ids);
    assert_eq!(asked(&body(by_json).await), ids);
}

#[tokio::test]
async fn a_lookup_has_the_promised_fields() {
    let lookup = json_of(&format!("{LOOKUP}?group=my-group")).await;
    assert_eq!(lookup["cluster"], "production");
    assert!(lookup["observed_at"].is_string());
    let result = &lookup["results"][0];
    for field in
        ["verdict", "placement", "coordinator", "findings", "same_partition_groups", "views", "could_not_observe"]
    {
        assert!(result.get(field).is_some(), "{field} in {result}");
    }
    for field in ["status", "sentence", "since"] {
        assert!(result["verdict"].get(field).is_some(), "{field} in {result}");
    }
    assert_eq!(result["placement"]["java_hash"], -1_906_497_762);
    assert_eq!(result["placement"]["partition"], partition_for(&GroupId::from("my-group"), 50).expect("a partition"));
    for field in ["leader", "leader_epoch", "replicas", "isr", "live_replicas", "shard"] {
        assert!(result["coordinator"].get(field).is_some(), "{field} in {result}");
    }
}

#[tokio::test]
async fn the_longest_id_fits_a_post() {
    let longest = "é".repeat(16_383) + "x";
    assert_eq!(longest.len(), 32_767);
    let response = post(LOOKUP, "application/json", json!({ "groups": [longest] }).to_string()).await;
    assert_eq!(asked(&body(response).await), [longest]);
    let too_long = "x".repeat(32_768);
    let (status, word, problem) =
        problem(post(LOOKUP, "application/json", json!({ "groups": [too_long] }).to_string()).await).await;
    assert_eq!((status, word.as_str()), (400, "group-id-too-long"));
    assert!(problem.detail.contains("32768") && problem.detail.contains("32767"), "{problem:?}");
}

#[tokio::test]
async fn groups_come_page_by_page() {
    let all = json_of("/api/v1/clusters/production/groups").await;
    let ids = |list: &Value| -> Vec<String> {
        let groups = list["groups"].as_array().expect("groups");
        groups.iter().map(|group| group["group"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(ids(&all), GROUPS);
    assert_eq!((all["total"].as_u64(), &all["next"]), (Some(5), &Value::Null));
    let mut seen = Vec::new();
    let mut path = "/api/v1/clusters/production/groups?limit=2".to_owned();
    loop {
        let page = json_of(&path).await;
        seen.extend(ids(&page));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/v1/clusters/production/groups?limit=2&after={}", next.replace(' ', "%20"));
    }
    assert_eq!(seen, GROUPS);
}

#[tokio::test]
async fn groups_by_state_add_up() {
    let mut found = 0;
    for state in Status::WORST_FIRST {
        let list = json_of(&format!("/api/v1/clusters/production/groups?state={}", state.slug())).await;
        let groups = list["groups"].as_array().expect("groups");
        assert!(groups.iter().all(|group| group["status"] == state.slug()), "{list}");
        assert_eq!(list["total"].as_u64(), Some(groups.len() as u64), "{list}");
        found += groups.len();
    }
    assert_eq!(found, GROUPS.len());
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said() {
    let unknown = refused("/api/v1/clusters/prod/lookup?group=a", 404, "unknown-cluster").await;
    assert_eq!(unknown.allowed, ["production", "staging"]);
    for path in ["", "/coordinators", "/offsets-topic", "/groups"] {
        refused(&format!("/api/v1/clusters/nowhere{path}"), 404, "unknown-cluster").await;
    }
    refused("/api/v1/clusters/%ff", 404, "unknown-cluster").await;
    refused(LOOKUP, 400, "no-group").await;
    refused(&format!("{LOOKUP}?group=%f"), 400, "bad-encoding").await;
    refused(&format!("{LOOKUP}?group=%ff"), 400, "bad-encoding").await;
    refused(&format!("{LOOKUP}?groups=a"), 400, "unknown-parameter").await;
    refused("/api/v1/clusters?group=a", 400, "unknown-parameter").await;
    refused(&format!("{LOOKUP}?{}", "group=a&".repeat(1_001)), 400, "too-many-groups").await;
    let state = refused("/api/v1/clusters/production/groups?state=hung", 400, "unknown-state").await;
    assert_eq!(state.allowed.len(), 6);
    refused("/api/v1/clusters/production/groups?limit=0", 400, "bad-limit").await;
    refused("/api/v1/clusters/production/groups?limit=1001", 400, "bad-limit").await;
    refused("/api/v1/clusters/production/groups?state=stuck&state=working", 400, "repeated-parameter").await;
    let path = refused("/api/v2/clusters", 404, "unknown-path").await;
    assert!(path.detail.contains("/api/v2/clusters"), "{path:?}");
    for path in ["/api", "/api/", "/api/v1", "/api/v1/clusters/", "/api/v1/clusters/production/lookups"] {
        refused(path, 404, "unknown-path").await;
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_body_is_said() {
    let cases = [
        ("application/json", "{\"groups\": [1]}", 400, "bad-json"),
        ("application/json", "{\"group\": \"a\"}", 400, "bad-json"),
        ("application/json", "{\"groups\": [\"\\ud800\"]}", 400, "bad-json"),
        ("application/json", "", 400, "bad-json"),
        ("application/json", "{\"groups\": []}", 400, "no-group"),
        (FORM, "", 400, "no-group"),
        (FORM, "group=%", 400, "bad-encoding"),
        ("text/plain", "my-group", 415, "unsupported-body"),
    ];
    for (content_type, text, status, word) in cases {
        let (got_status, got_word, _) = problem(post(LOOKUP, content_type, text).await).await;
        assert_eq!((got_status, got_word.as_str()), (status, word), "{content_type} {text}");
    }
    let (status, word, _) = problem(post(LOOKUP, FORM, vec![b'a'; BODY_LIMIT + 1]).await).await;
    assert_eq!((status, word.as_str()), (413, "body-too-large"));
}

#[tokio::test]
async fn a_wrong_method_is_told_which_ones_are_right() {
    let response = answer(http::Request::delete(LOOKUP).body(Body::empty()).expect("a request")).await;
    let allow = response.headers()["allow"].to_str().expect("text").to_owned();
    assert!(allow.contains("GET") && allow.contains("POST"), "{allow}");
    let (status, word, _) = problem(response).await;
    assert_eq!((status, word.as_str()), (405, "wrong-method"));
    let response = post("/api/v1/clusters", FORM, "").await;
    assert_eq!(problem(response).await.0, 405);
}

#[tokio::test]
async fn a_defect_in_one_answer_is_a_problem_too() {
    let app = Router::new()
        .route("/", get(|| async { panic!("on purpose") as () }))
        .layer(axum::middleware::from_fn(crate::guard::guard));
    let response = testing::answer(app, http::Request::get("/").body(Body::empty()).expect("a request")).await;
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
async fn ready_means_that_every_cluster_was_looked_at() {
    assert_eq!(get_("/healthz").await.status(), StatusCode::OK);
    assert_eq!(get_("/readyz").await.status(), StatusCode::OK);
    let clusters = clusters();
    clusters["staging"].settled.store(false, Ordering::Relaxed);
    let request = http::Request::get("/readyz").body(Body::empty()).expect("a request");
    let response = testing::answer(testing::router(clusters), request).await;
    assert_eq!(response.headers()["retry-after"], "1");
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    let problem: Problem = serde_json::from_value(body(response).await).expect("a problem");
    assert!(problem.detail.contains("staging") && !problem.detail.contains("production"), "{problem:?}");
}

#[tokio::test]
async fn the_handbook_is_there_for_programs_too() {
    let all = json_of("/api/v1/findings").await;
    let findings = all["findings"].as_array().expect("a list");
    assert_eq!(findings.len(), unstuck_diagnosis::slugs().count());
    assert!(!all["by_hand"].as_array().expect("a list").is_empty());
    let one = json_of("/api/v1/findings/leader-lost").await;
    assert_eq!((&one["slug"], &one["docs"]), (&json!("leader-lost"), &json!("/docs/findings/leader-lost")));
    let problem = refused("/api/v1/findings/leader-los", 404, "unknown-finding").await;
    assert_eq!(problem.allowed.first().map(String::as_str), Some("leader-lost"));
}

#[tokio::test]
async fn plans_are_made_and_their_files_downloaded() {
    let low = testing::named("low", &unstuck_diagnosis::sample::Sample::kraft(3, 6, 1));
    let router = testing::router(testing::clusters([low]));
    let get = |path: &str| {
        let request = http::Request::get(path).body(Body::empty()).expect("a request");
        testing::answer(router.clone(), request)
    };
    let plan = body(get("/api/v1/clusters/low/plans/raise").await).await;
    assert_eq!((&plan["cluster"], &plan["plan"], &plan["copies"]), (&json!("low"), &json!("raise"), &json!(12)));
    assert_eq!(plan["remedy"]["files"][0]["name"], "raise.json");
    let file = get("/api/v1/clusters/low/plans/raise/raise.json").await;
    assert_eq!(file.headers()["content-type"], "application/json");
    assert_eq!(file.headers()["content-disposition"], "attachment; filename=\"raise.json\"");
    assert_eq!(file.headers()["cache-control"], "no-store");
    assert_eq!(text(file).await, plan["remedy"]["files"][0]["content"].as_str().expect("text"));
    let back = body(get("/api/v1/clusters/low/plans/evacuate/rollback.json?broker=2").await).await;
    assert_eq!(back["partitions"][0]["replicas"], json!([2]));
    assert_eq!(back["partitions"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn plans_are_refused_with_reasons() {
    let base = "/api/v1/clusters/production/plans";
    let refusal = refused(&format!("{base}/raise"), 409, "plan-refused").await;
    assert!(refusal.detail.contains("3 replicas already"), "{refusal:?}");
    assert_eq!(refused(&format!("{base}/bogus"), 404, "unknown-plan").await.allowed.len(), 4);
    refused(&format!("{base}/raise?broker=1"), 400, "unknown-parameter").await;
    refused(&format!("{base}/evacuate"), 400, "no-broker").await;
    refused(&format!("{base}/evacuate?broker=one"), 400, "bad-broker").await;
    refused(&format!("{base}/evacuate?broker=1&broker=2"), 400, "repeated-parameter").await;
    refused("/api/v1/clusters/nowhere/plans/raise", 404, "unknown-cluster").await;
    refused(&format!("{base}/%ff"), 404, "unknown-path").await;
}

#[tokio::test]
async fn a_plan_has_no_other_files() {
    let low = testing::named("low", &unstuck_diagnosis::sample::Sample::kraft(3, 6, 1));
    let request = http::Request::get("/api/v1/clusters/low/plans/raise/other.json").body(Body::empty());
    let answer = testing::answer(testing::router(testing::clusters([low])), request.expect("a request")).await;
    let (status, word, problem) = problem(answer).await;
    assert_eq!((status, word.as_str()), (404, "unknown-file"));
    assert_eq!(problem.allowed, ["raise.json", "rollback.json"]);
}

#[tokio::test]
async fn a_look_inside_says_why_nobody_could_be_asked() {
    let answer = json_of("/api/v1/clusters/production/detail?group=my-group").await;
    assert_eq!(answer["lookup"], json_of("/api/v1/clusters/production/lookup?group=my-group").await["results"][0]);
    assert_eq!((&answer["detail"], &answer["could_not_ask"]), (&Value::Null, &json!("nobody answers in tests")));
    refused("/api/v1/clusters/production/detail", 400, "no-group").await;
    refused("/api/v1/clusters/production/detail?group=a&group=b", 400, "too-many-groups").await;
    refused("/api/v1/clusters/elsewhere/detail?group=a", 404, "unknown-cluster").await;
}
