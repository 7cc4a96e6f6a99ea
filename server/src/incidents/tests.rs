//! Incidents over HTTP: made by hand, written about, taken over, exported; and what is refused.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use unstuck_diagnosis::Published;
use unstuck_diagnosis::sample::Sample;
use unstuck_diagnosis::snapshot::Observed;

use crate::assets::Bundle;
use crate::config::StoreConfig;
use crate::record::{Keeper, Recording, RecordingOf};
use crate::testing::{named, text, watched_cluster};
use crate::watched::Watched;

struct Site {
    router: Router,
    published: watch::Sender<Arc<Published>>,
    _folder: TempDir,
}

impl Site {
    async fn new() -> Self {
        Self::kept_as("production").await
    }

    /// A cluster called `production` that is kept under this name.
    async fn kept_as(key: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let config = StoreConfig::file(folder.path().join("unstuck.db"));
        let keeper = Keeper::open(config, &TaskTracker::new(), &CancellationToken::new()).await;
        let (published, mut cluster) = watched_cluster(named("production", &dead()));
        let status = RecordingOf { key: key.to_owned(), recording: Recording::Recording };
        cluster.recording = Some(watch::channel(status).1);
        let clusters = [("production".to_owned(), cluster)].into();
        let watched = Watched::new(clusters).with_keeper(Some(keeper.expect("a store")));
        let router = crate::router(Arc::new(watched), &Bundle::embedded(), CancellationToken::new());
        Self { router, published, _folder: folder }
    }

    async fn send(&self, request: http::Request<Body>) -> Response {
        crate::testing::answer(self.router.clone(), request).await
    }

    async fn get(&self, path: &str) -> Response {
        self.send(http::Request::get(path).body(Body::empty()).expect("a request")).await
    }

    async fn json(&self, path: &str) -> Value {
        let response = self.get(path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        serde_json::from_str(&text(response).await).expect("JSON")
    }

    async fn post(&self, path: &str, form: &str) -> Response {
        self.send(http::Request::post(path).body(Body::from(form.to_owned())).expect("a request")).await
    }

    /// Makes a link of what is seen, and gives its path.
    async fn link(&self) -> String {
        let response = self.post("/c/production/incidents", "by=Ada").await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        response.headers()["location"].to_str().expect("a path").to_owned()
    }
}

fn dead() -> Sample {
    Sample::kraft(3, 6, 1).group_on(0, "orders").later(1).gone(1).leaderless_after(1)
}

async fn refused(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let problem: Value = serde_json::from_str(&text(response).await).expect("a problem");
    (status, problem["type"].as_str().unwrap_or_default().trim_start_matches("urn:unstuck:problem:").to_owned())
}

#[tokio::test]
async fn a_link_keeps_what_was_seen() {
    let site = Site::new().await;
    let path = site.link().await;
    let id = path.strip_prefix("/i/").expect("the path of an incident");
    assert_eq!(id.len(), 32, "nobody can guess it: {id}");
    let file = site.json(&format!("/api/v1/incidents/{id}")).await;
    assert_eq!(file["incident"]["by"]["person"], "Ada");
    assert_eq!(file["incident"]["stuck_groups"], 1);
    let moment = site.json(&format!("/api/v1/incidents/{id}/moments/opening")).await;
    let report = site.json("/api/v1/clusters/production").await;
    assert_eq!(moment["report"], report, "word for word");
    let list = site.json("/api/v1/incidents?cluster=production").await;
    assert_eq!(list["incidents"][0]["id"], id);
    assert_eq!(site.json("/api/v1/incidents?cluster=elsewhere").await["incidents"], serde_json::json!([]));
}

#[tokio::test]
async fn a_link_is_listed_where_its_cluster_is_kept() {
    let site = Site::kept_as("production (another)").await;
    let path = site.link().await;
    let list = site.json("/api/v1/incidents?cluster=production").await;
    assert_eq!(list["incidents"][0]["id"], path.strip_prefix("/i/").expect("the path of an incident"));
}

#[tokio::test]
async fn another_cluster_behind_the_same_name_is_not_shown_as_now() {
    let site = Site::new().await;
    let path = site.link().await;
    let page = async || text(site.get(&path).await).await;
    let (now, another) = ("Cluster production, live", "Another cluster is called production here");
    let before = page().await;
    assert!(before.contains(now) && !before.contains(another), "{before}");
    let mut other = dead();
    for sight in other.snapshot.brokers.values_mut() {
        if let Observed::Known(view) = &mut sight.metadata {
            view.cluster_id = Some("another-cluster".to_owned());
        }
    }
    site.published.send_replace(Arc::new(named("production", &other)));
    let after = page().await;
    assert!(after.contains(another) && !after.contains(now), "{after}");
    // Nobody can tell which cluster it is while no broker answers: what is seen is shown.
    for sight in other.snapshot.brokers.values_mut() {
        sight.metadata = Observed::NotAsked;
    }
    site.published.send_replace(Arc::new(named("production", &other)));
    assert!(page().await.contains(now));
}

#[tokio::test]
async fn people_write_about_it_and_take_it_over() {
    let site = Site::new().await;
    let path = site.link().await;
    let written = site.post(&format!("{path}/notes"), "by=Ada&text=first+line%0D%0Asecond+%3Cb%3E").await;
    assert_eq!(written.headers()["location"], format!("{path}#notes").as_str());
    site.post(&format!("{path}/acknowledge"), "by=Grace").await;
    let id = path.trim_start_matches("/i/");
    let file = site.json(&format!("/api/v1/incidents/{id}")).await;
    assert_eq!(file["notes"][0]["text"], "first line\nsecond <b>");
    assert_eq!(file["notes"][0]["by"], "Ada");
    assert_eq!(file["incident"]["acknowledged"]["by"], "Grace");
    site.post(&format!("{path}/release"), "").await;
    let file = site.json(&format!("/api/v1/incidents/{id}")).await;
    assert_eq!(file["incident"]["acknowledged"], Value::Null);

    // Who is logged in at a proxy is believed where that proxy is known (`access/tests`), and nowhere else.
    let request = http::Request::post(format!("{path}/notes")).header("x-forwarded-user", "linus");
    site.send(request.body(Body::from("by=Ada&text=again")).expect("a request")).await;
    assert_eq!(site.json(&format!("/api/v1/incidents/{id}")).await["notes"][1]["by"], "Ada");
}

#[tokio::test]
async fn an_export_can_be_read_and_hides_names_if_asked_to() {
    let site = Site::new().await;
    let path = site.link().await;
    let response = site.get(&format!("{path}/export.json")).await;
    assert!(response.headers()["content-disposition"].to_str().expect("text").contains("incident-2026-11-29-"));
    let whole = super::archive::read(text(response).await.as_bytes()).expect("an archive");
    assert_eq!(whole.documents.len(), 1);
    let hidden = text(site.get(&format!("{path}/export.json?pseudonyms=true")).await).await;
    assert!(!hidden.contains("127.0.0.1") && !hidden.contains("orders"), "{hidden}");
    assert_eq!(
        refused(site.get(&format!("{path}/export.json?pseudonyms=yes")).await).await,
        (400, "bad-flag".to_owned())
    );
}

#[tokio::test]
async fn an_export_is_a_draft_for_the_post_mortem_and_a_page_of_its_own() {
    let site = Site::new().await;
    let path = site.link().await;
    for (ending, kind, expected) in [("md", "text/markdown", "## Timeline"), ("html", "text/html", "<!DOCTYPE html>")] {
        let response = site.get(&format!("{path}/export.{ending}")).await;
        assert!(response.headers()["content-type"].to_str().expect("text").starts_with(kind), "{ending}");
        let text = text(response).await;
        assert!(text.contains(expected) && text.contains("orders"), "{text}");
        let hidden = crate::testing::text(site.get(&format!("{path}/export.{ending}?pseudonyms=true")).await).await;
        assert!(!hidden.contains("orders") && hidden.contains("group-1-"), "{hidden}");
    }
}

#[tokio::test]
async fn what_is_no_incident_or_not_from_here_is_refused() {
    let site = Site::new().await;
    let path = site.link().await;
    let cases = [
        (site.get("/api/v1/incidents/none").await, 404, "unknown-incident"),
        (
            site.get(&format!("/api/v1{}/moments/closing", path.replace("/i/", "/incidents/"))).await,
            404,
            "unknown-moment",
        ),
        (site.get("/i/none/export.json").await, 404, "unknown-incident"),
        (site.get("/api/v1/incidents?before=yesterday").await, 400, "bad-time"),
        (site.get("/api/v1/incidents?state=open").await, 400, "unknown-parameter"),
        (site.get("/api/v1/clusters/production/history?partition=x").await, 400, "bad-subject"),
        (site.get("/api/v1/clusters/production/history?partition=1&broker=1").await, 400, "bad-subject"),
        (site.post("/i/none/notes", "text=hello").await, 404, "unknown-incident"),
        (site.post(&format!("{path}/notes"), "by=Ada&text=+").await, 400, "empty-note"),
        (site.post(&format!("{path}/notes"), &format!("text={}", "x".repeat(20_000))).await, 400, "note-too-long"),
        (site.post(&format!("{path}/acknowledge"), "by=").await, 400, "no-name"),
        (site.post("/c/elsewhere/incidents", "").await, 404, "unknown-cluster"),
    ];
    for (n, (response, status, word)) in cases.into_iter().enumerate() {
        assert_eq!(refused(response).await, (status, word.to_owned()), "case {n}");
    }
    let elsewhere = http::Request::post(format!("{path}/notes")).header("sec-fetch-site", "cross-site");
    let elsewhere = site.send(elsewhere.body(Body::from("text=hello")).expect("a request")).await;
    assert_eq!(refused(elsewhere).await, (403, "cross-site".to_owned()));
}

#[tokio::test]
async fn a_server_that_keeps_nothing_says_so() {
    let clusters = crate::testing::clusters([crate::testing::healthy("production", &["orders"])]);
    let get = |path: &str| http::Request::get(path).body(Body::empty()).expect("a request");
    for path in ["/api/v1/incidents", "/api/v1/incidents/x", "/api/v1/clusters/production/history"] {
        let response = crate::testing::answer(crate::testing::router(clusters.clone()), get(path)).await;
        assert_eq!(refused(response).await, (404, "nothing-kept".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn history_is_empty_before_anything_happened() {
    let site = Site::new().await;
    for subject in ["", "?partition=0", "?broker=1", "?group=orders"] {
        let answer = site.json(&format!("/api/v1/clusters/production/history{subject}")).await;
        assert_eq!((&answer["events"], &answer["not_remembered"]), (&serde_json::json!([]), &Value::Null), "{subject}");
    }
}
