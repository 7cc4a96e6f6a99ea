//! The door as a whole: over the router with all its routes, as a stranger, a viewer and an editor meet it.

mod entry;
mod oidc;
mod routes;

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::Request;
use http::request::Builder;
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use unstuck_diagnosis::history::Frozen;
use unstuck_drill::serve::Drill;

use super::Peer;
use super::credentials::Hash;
use super::door::Door;
use super::proxy::ProxyHeader;
use crate::assets::Bundle;
use crate::config::{AccessConfig, Mode, StoreConfig};
use crate::record::Keeper;
use crate::replay::{Film, Player};
use crate::same_site::OnLoopback;
use crate::testing::{answer, clusters, healthy, text};
use crate::watched::Watched;

/// Made up, and looked for in everything that is answered.
const VIEWER: &str = "unstuck_viewers-secret-0123456789abcdefghijklmnopq";
const EDITOR: &str = "unstuck_editors-secret-0123456789abcdefghijklmnopq";
const SCENARIO: &str = "title = \"A drill\"\nstory = \"A story.\"\n[cluster]\nmode = \"kraft\"\nrelease = \"4.1.1\"\nbrokers = [1, 2, 3]\n\
                        [topic.__consumer_offsets]\npartitions = 50\nreplication-factor = 3\n";

/// A server with everything that can be served: clusters, incidents, a drill, a recording.
struct Site {
    router: Router,
    folder: TempDir,
}

impl Site {
    async fn new(config: impl FnOnce(&Path) -> AccessConfig) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let door = Door::new(&config(folder.path())).expect("a good configuration");
        let store = StoreConfig::file(folder.path().join("unstuck.db"));
        let keeper = Keeper::open(store, &TaskTracker::new(), &CancellationToken::new()).await.expect("a store");
        let scenario = unstuck_drill::scenario::read(SCENARIO, "test.toml").expect("a good scenario");
        let drill = Drill::in_memory("test", Arc::new(scenario));
        let published = healthy("production", &["orders"]);
        let film = Film::of(vec![Frozen::of(&published, "1.2.3")]).expect("a moment");
        let watched = Watched::new(clusters([published]))
            .with_drill(Arc::new(drill))
            .with_replay(Arc::new(Player::new(film)))
            .with_keeper(Some(keeper));
        let stop = CancellationToken::new();
        let router = crate::serving::router_behind(Arc::new(door), Arc::new(watched), &Bundle::embedded(), stop);
        Self { router, folder }
    }

    /// Behind tokens of a viewer and an editor.
    async fn with_tokens() -> Self {
        Self::new(|folder| {
            let path = folder.join("tokens");
            let line = |name: &str, role: &str, token: &str| format!("{name} {role} {}\n", Hash::of(token).hex());
            std::fs::write(&path, line("grafana", "viewer", VIEWER) + &line("ada", "editor", EDITOR)).expect("written");
            AccessConfig { mode: Mode::Token(path), public_url: None, tls: None }
        })
        .await
    }

    /// Behind a proxy at 10.0.0.7, where members of `sre` are editors.
    async fn behind_a_proxy() -> Self {
        Self::new(|_| {
            let proxy = ProxyHeader {
                trusted: vec!["10.0.0.7/32".parse().expect("a network")],
                user: http::HeaderName::from_static("x-forwarded-user"),
                groups: Some(http::HeaderName::from_static("x-forwarded-groups")),
                editors: vec!["sre".to_owned()],
            };
            AccessConfig { mode: Mode::ProxyHeader(proxy), public_url: None, tls: None }
        })
        .await
    }

    async fn send(&self, request: Builder, body: impl Into<String>) -> Response {
        answer(self.router.clone(), request.body(Body::from(body.into())).expect("a request")).await
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        self.send(with(Request::get(path), headers), "").await
    }

    async fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        self.send(with(Request::post(path), headers), body).await
    }

    /// Logs in with a token, and gives the cookie as a browser sends it back.
    async fn log_in(&self, token: &str) -> String {
        let response = self.post("/login", &[], &format!("token={token}")).await;
        assert_eq!(response.status(), 303);
        let set = response.headers()["set-cookie"].to_str().expect("ASCII");
        set.split(';').next().expect("a pair").to_owned()
    }

    /// As whoever comes over a connection from this address.
    fn from(mut self, address: &str) -> Self {
        let peer = Peer(std::net::SocketAddr::new(address.parse().expect("an address"), 40_000));
        self.router = self.router.layer(axum::Extension(peer));
        self
    }
}

fn with(request: Builder, headers: &[(&str, &str)]) -> Builder {
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// Status and type of a problem; no token may stand in it.
async fn problem(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let body = text(response).await;
    assert!(!body.contains("secret-0123456789"), "{body}");
    let problem: Value = serde_json::from_str(&body).unwrap_or_default();
    (status, problem["type"].as_str().unwrap_or_default().trim_start_matches("urn:unstuck:problem:").to_owned())
}
