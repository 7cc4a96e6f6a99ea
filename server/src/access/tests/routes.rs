//! Each route of the router is in the table, and is what the table says.

use std::collections::BTreeSet;

use http::Method;

use super::super::Role;
use super::super::needs::{self, NEEDS, Need};
use super::*;

/// The paths of a router's routes, from what axum shows of it.
fn paths(router: &Router) -> BTreeSet<String> {
    let shown = format!("{router:?}");
    let after_ids = shown.split("RouteId(").skip(1).filter_map(|rest| rest.split_once("): \"")?.1.split_once('"'));
    after_ids
        .map(|(path, _)| path.to_owned())
        .filter(|path| path.starts_with('/') && !path.contains("__private"))
        .collect()
}

/// A path that a route matches.
fn filled(route: &str) -> String {
    let segment = |part: &str| match part {
        "{cluster}" => "production".to_owned(),
        "{partition}" | "{broker}" => "1".to_owned(),
        "{plan}" => "raise".to_owned(),
        part if part.starts_with('{') => "x".to_owned(),
        part => part.to_owned(),
    };
    route.split('/').map(segment).collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn every_route_is_in_the_table_and_the_table_has_no_other() {
    let routes = paths(&Site::with_tokens().await.router);
    let listed: BTreeSet<String> = NEEDS.iter().map(|(_, path, _)| (*path).to_owned()).collect();
    assert!(routes.len() > 50, "axum shows its routes otherwise: {routes:?}");
    assert_eq!(routes, listed);
}

#[test]
fn what_is_not_listed_asks_for_the_most() {
    assert_eq!(needs::of_route(&Method::GET, "/forgotten"), Need::AtLeast(Role::Editor));
    assert_eq!(needs::of_route(&Method::DELETE, "/i/{id}"), Need::AtLeast(Role::Editor));
    assert_eq!(needs::of_route(&Method::HEAD, "/i/{id}"), Need::AtLeast(Role::Viewer));
}

#[tokio::test]
async fn a_stranger_gets_what_needs_nobody_and_nothing_else() {
    let site = Site::with_tokens().await;
    for route in paths(&site.router) {
        for method in [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
            let request = Request::builder().method(&method).uri(filled(&route));
            let status = site.send(request, "").await.status().as_u16();
            let need = needs::of_route(&method, &route);
            if (method.as_str(), route.as_str()) == ("POST", "/login") {
                // Nobody is kept from trying; nothing was shown, so it is refused by its handler.
                continue;
            }
            assert_eq!(status == 401, need != Need::Nobody, "{method} {route}: {status}");
        }
    }
    for path in ["/nowhere", "/api/v1/nowhere", "/api", "/..%2f..%2fetc/passwd", "/c/production/nowhere"] {
        assert_eq!(site.get(path, &[]).await.status(), 401, "{path}");
    }
}

#[tokio::test]
async fn a_viewer_reads_everything_and_writes_nothing() {
    let site = Site::with_tokens().await;
    let viewer = bearer(VIEWER);
    for (method, route, need) in NEEDS {
        let method: Method = method.parse().expect("a method");
        let request = with(Request::builder().method(&method).uri(filled(route)), &[("authorization", &viewer)]);
        let response = site.send(request, "").await;
        let (status, kind) = (response.status().as_u16(), response.headers().get("content-type").cloned());
        if *need == Need::AtLeast(Role::Editor) {
            assert_eq!(status, 403, "{method} {route}");
            assert_eq!(kind.expect("a type"), "application/problem+json", "{method} {route}");
            assert_eq!(problem(response).await.1, "not-permitted");
        } else {
            assert!(![401, 403, 405].contains(&status) || *route == "/login", "{method} {route}: {status}");
        }
    }
}

#[tokio::test]
async fn an_editor_is_let_in_everywhere() {
    let site = Site::with_tokens().await;
    let editor = bearer(EDITOR);
    for (method, route, _) in NEEDS {
        let request = with(Request::builder().method(*method).uri(filled(route)), &[("authorization", &editor)]);
        let status = site.send(request, "").await.status().as_u16();
        assert!(![401, 403, 405].contains(&status) || *route == "/login", "{method} {route}: {status}");
    }
}

#[tokio::test]
async fn what_changes_something_is_taken_from_our_own_pages_alone() {
    let site = Site::with_tokens().await;
    let cookie = site.log_in(EDITOR).await;
    let mut seen = 0;
    let changes = NEEDS.iter().filter(|(method, route, need)| {
        *method == "POST" && (*need == Need::AtLeast(Role::Editor) || matches!(*route, "/login" | "/logout"))
    });
    for (_, route, _) in changes {
        for sent in [
            &[("sec-fetch-site", "cross-site"), ("host", "unstuck.example")][..],
            &[("sec-fetch-site", "same-site"), ("host", "unstuck.example")],
            &[("origin", "https://evil.example"), ("host", "unstuck.example")],
            &[("origin", "null"), ("host", "unstuck.example")],
        ] {
            let headers = [sent, &[("cookie", cookie.as_str())]].concat();
            let refused = problem(site.post(&filled(route), &headers, "").await).await;
            assert_eq!(refused, (403, "cross-site".to_owned()), "{route} {sent:?}");
            seen += 1;
        }
    }
    assert!(seen >= 36, "{seen}");
}

#[tokio::test]
async fn files_of_the_front_end_need_no_login_and_lead_nowhere_else() {
    let site = Site::with_tokens().await;
    for path in ["/favicon.svg", &crate::assets::stylesheet_path()] {
        assert_eq!(site.get(path, &[]).await.status(), 200, "{path}");
    }
    for path in [
        "/pkg/../bundle-hash.txt",
        "/pkg/%2e%2e/bundle-hash.txt",
        "/pkg/..%2fbundle-hash.txt",
        "/pkg/%2e%2e%2fbundle-hash.txt",
        "/style/..%5c..%5cCargo.toml",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%252f..%252fetc%252fpasswd",
        "//etc/passwd",
        "/favicon.svg/../../Cargo.toml",
        "/favicon.svg%00.txt",
    ] {
        assert_eq!(site.get(path, &[]).await.status(), 401, "{path}");
        let answer = site.get(path, &[("authorization", &bearer(VIEWER))]).await;
        assert_eq!(answer.status(), 404, "{path}");
        let body = text(answer).await;
        assert!(!body.contains("[package]") && !body.contains("root:"), "{path}");
    }
}

#[tokio::test]
async fn every_answer_has_the_headers_that_keep_it_from_being_misused() {
    let site = Site::with_tokens().await;
    let viewer = bearer(VIEWER);
    for path in ["/", "/login", "/api/v1/clusters", "/healthz", "/favicon.svg", "/nowhere", "/events"] {
        for headers in [&[][..], &[("authorization", viewer.as_str())]] {
            let response = site.get(path, headers).await;
            let header = |name: &str| {
                response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
            };
            let policy = header("content-security-policy");
            assert!(
                policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
                "{path}: {policy}"
            );
            assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"), "{path}: {policy}");
            assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
            assert_eq!(header("x-frame-options"), "DENY", "{path}");
            assert_eq!(header("referrer-policy"), "same-origin", "{path}");
            assert_eq!(header("cross-origin-resource-policy"), "same-origin", "{path}");
            assert_eq!(header("cross-origin-opener-policy"), "same-origin", "{path}");
            assert_eq!(header("access-control-allow-origin"), "", "{path}");
        }
    }
}
