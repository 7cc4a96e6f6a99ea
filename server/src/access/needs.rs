//! Every route, and whom it is for. `access/tests.rs` walks over the router and finds what is not listed here.

use axum::extract::{MatchedPath, Request};
use http::Method;

use super::Role;
use crate::assets;

/// What a route asks of whoever comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing: probes of health, files of the front end, the way in and out.
    Nobody,
    /// A role, or a higher one.
    AtLeast(Role),
}

const ANYBODY: Need = Need::Nobody;
const VIEWER: Need = Need::AtLeast(Role::Viewer);
const EDITOR: Need = Need::AtLeast(Role::Editor);

/// Method and route as the router has it. `HEAD` is as `GET`.
pub(crate) const NEEDS: &[(&str, &str, Need)] = &[
    ("GET", "/healthz", ANYBODY),
    ("GET", "/readyz", ANYBODY),
    ("GET", "/login", ANYBODY),
    ("POST", "/login", ANYBODY),
    ("GET", "/login/start", ANYBODY),
    ("GET", "/login/callback", ANYBODY),
    ("POST", "/logout", ANYBODY),
    // Pages.
    ("GET", "/", VIEWER),
    ("GET", "/c/{cluster}", VIEWER),
    ("GET", "/c/{cluster}/g", VIEWER),
    ("GET", "/c/{cluster}/t", VIEWER),
    ("GET", "/c/{cluster}/p/{partition}", VIEWER),
    ("GET", "/c/{cluster}/b/{broker}", VIEWER),
    ("GET", "/c/{cluster}/plans/{plan}", VIEWER),
    ("GET", "/c/{cluster}/incidents", VIEWER),
    ("GET", "/c/{cluster}/history", VIEWER),
    ("GET", "/incidents", VIEWER),
    ("GET", "/i/{id}", VIEWER),
    ("GET", "/docs/findings", VIEWER),
    ("GET", "/docs/findings/{slug}", VIEWER),
    // It leads to a page; nothing is kept but an id that is too long for its address.
    ("POST", "/c/{cluster}/find", VIEWER),
    ("GET", "/events", VIEWER),
    // What pages ask for.
    ("POST", "/_page/overview", VIEWER),
    ("POST", "/_page/cluster", VIEWER),
    ("POST", "/_page/group", VIEWER),
    ("POST", "/_page/group-details", VIEWER),
    ("POST", "/_page/transactional", VIEWER),
    ("POST", "/_page/transaction", VIEWER),
    ("POST", "/_page/partition", VIEWER),
    ("POST", "/_page/broker", VIEWER),
    ("POST", "/_page/happened", VIEWER),
    ("POST", "/_page/written", VIEWER),
    // The API. Its one POST asks for many groups at once.
    ("GET", "/api", VIEWER),
    ("GET", "/api/", VIEWER),
    ("GET", "/api/v1/clusters", VIEWER),
    ("GET", "/api/v1/clusters/{cluster}", VIEWER),
    ("GET", "/api/v1/clusters/{cluster}/lookup", VIEWER),
    ("POST", "/api/v1/clusters/{cluster}/lookup", VIEWER),
    ("GET", "/api/v1/clusters/{cluster}/detail", VIEWER),
    ("GET", "/api/v1/clusters/{cluster}/groups", VIEWER),
    ("GET", "/api/v1/clusters/{cluster}/transactional-ids", VIEWER),
    ("GET", "/api/v1/clusters/{cluster}/coordinators", VIEWER),
    ("GET", "/api/v1/clusters/{cluster}/offsets-topic", VIEWER),
    ("GET", "/api/v1/clusters/{cluster}/plans/{plan}", VIEWER),
    ("GET", "/api/v1/clusters/{cluster}/plans/{plan}/{file}", VIEWER),
    ("GET", "/api/v1/clusters/{cluster}/history", VIEWER),
    ("GET", "/api/v1/incidents", VIEWER),
    ("GET", "/api/v1/incidents/{id}", VIEWER),
    ("GET", "/api/v1/incidents/{id}/moments/{moment}", VIEWER),
    ("GET", "/api/v1/findings", VIEWER),
    ("GET", "/api/v1/findings/{slug}", VIEWER),
    // Files of an incident.
    ("GET", "/i/{id}/export.md", VIEWER),
    ("GET", "/i/{id}/export.json", VIEWER),
    ("GET", "/i/{id}/export.html", VIEWER),
    // What people write.
    ("POST", "/c/{cluster}/incidents", EDITOR),
    ("POST", "/i/{id}/notes", EDITOR),
    ("POST", "/i/{id}/acknowledge", EDITOR),
    ("POST", "/i/{id}/release", EDITOR),
    // Drills and recordings.
    ("GET", "/api/v1/drill", VIEWER),
    ("POST", "/api/v1/drill", EDITOR),
    ("POST", "/drill", EDITOR),
    ("GET", "/replay", VIEWER),
    ("POST", "/replay", EDITOR),
];

/// What a request asks for; known once the router has found its route.
pub(crate) fn of(request: &Request) -> Need {
    let readable = matches!(*request.method(), Method::GET | Method::HEAD);
    match request.extensions().get::<MatchedPath>() {
        Some(route) => of_route(request.method(), route.as_str()),
        // No route: a file of the front end, or the page that says that there is nothing, which names clusters.
        None if readable && assets::is_file(request.uri().path()) => Need::Nobody,
        None => VIEWER,
    }
}

/// What a route asks for. One that is not listed asks for the most.
pub(crate) fn of_route(method: &Method, route: &str) -> Need {
    let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
    let listed = NEEDS.iter().find(|(listed, path, _)| *listed == method && *path == route);
    listed.map_or(EDITOR, |(_, _, need)| *need)
}

/// Whether it only tells whether the process lives: what probes ask, by whatever name they call this machine.
pub(crate) fn is_probe(request: &Request) -> bool {
    matches!(request.uri().path(), "/healthz" | "/readyz")
}
