//! The way in and out for browsers: a plain page with a form, which works without scripts.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{DefaultBodyLimit, RawQuery, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use http::{HeaderName, HeaderValue, StatusCode, header};

use super::credentials::Hash;
use super::door::{Door, Rule};
use super::sessions::Origin;
use super::{Peer, Who};
use crate::api::pairs;
use crate::assets;
use crate::problem::Problem;
use crate::replay::escaped;
use crate::same_site::{Sent, local_path};

/// The page.
const PATH: &str = "/login";
/// Where browsers go to end their session.
pub(crate) const OUT: &str = "/logout";
/// The largest form, in bytes: a token and the address of a page.
const BODY_LIMIT: usize = 256 * 1024;
/// What the page may load and where it may send its form.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// The way in and out.
pub(crate) fn router(door: Arc<Door>) -> Router {
    Router::new()
        .route(PATH, get(page).post(log_in))
        .route(OUT, post(log_out))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(door)
}

/// The page that leads back to `back`.
pub(super) fn path(back: &str) -> String {
    if back == "/" { PATH.to_owned() } else { format!("{PATH}?back={}", crate::pages::percent_encoded(back)) }
}

/// What stands above the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said<'a> {
    Nothing,
    LoggedOut,
    Refused(&'a Problem),
}

async fn page(State(door): State<Arc<Door>>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let (mut back, mut out) = (None, false);
    for (name, value) in pairs(query.unwrap_or_default().as_bytes())? {
        match name.as_str() {
            "back" => back = Some(value),
            "out" => out = true,
            _ => return Err(Problem::unknown_parameter(&name, &["back", "out"])),
        }
    }
    let back = local_path(back.as_deref().unwrap_or("/"))?;
    match &door.rule {
        Rule::Token(_) => Ok(form(back, if out { Said::LoggedOut } else { Said::Nothing }, StatusCode::OK)),
        // There is nothing to log in to: whoever comes here is in, or the proxy sees to it.
        Rule::Open | Rule::Proxy(_) => Ok(Redirect::to(back).into_response()),
    }
}

async fn log_in(
    State(door): State<Arc<Door>>,
    peer: Option<axum::Extension<Peer>>,
    sent: Sent,
) -> Result<Response, Problem> {
    let [token, back] = sent.fields(["token", "back"], BODY_LIMIT)?;
    let back = local_path(back.as_deref().unwrap_or("/"))?;
    let Rule::Token(file) = &door.rule else { return Ok(Redirect::to(back).into_response()) };
    // Copied texts often end with a line end.
    let token = token.unwrap_or_default();
    let token = token.trim();
    match door.by_token(file, token, peer.map(|axum::Extension(peer)| peer.ip())) {
        Ok(known) => {
            let cookie = door.sessions.begin(Origin(Hash::of(token)), Instant::now());
            let cookie = cookie.map_err(|_| Problem::defect())?;
            tracing::info!(name = known.name, role = known.role.word(), "logged in");
            Ok(leading(back, &cookie))
        }
        Err(problem) => {
            let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::UNAUTHORIZED);
            let mut response = form(back, Said::Refused(&problem), status);
            // What a program would be told stands in the answer for people too.
            if let Some(wait) = problem.retry_after_s {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait));
            }
            Ok(response)
        }
    }
}

async fn log_out(State(door): State<Arc<Door>>, sent: Sent) -> Response {
    let cookie = door.sessions.end(&sent.headers);
    let to = if matches!(door.rule, Rule::Token(_)) { "/login?out" } else { "/" };
    leading(to, &cookie)
}

/// Leads to a page, with a cookie.
fn leading(to: &str, cookie: &str) -> Response {
    let mut response = Redirect::to(to).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(mut cookie) = HeaderValue::from_str(cookie) {
        cookie.set_sensitive(true);
        headers.insert(header::SET_COOKIE, cookie);
    }
    response
}

fn form(back: &str, said: Said<'_>, status: StatusCode) -> Response {
    let words = match said {
        Said::Nothing => String::new(),
        Said::LoggedOut => "<p role=\"status\">You are logged out.</p>".to_owned(),
        Said::Refused(problem) => {
            format!("<p class=\"danger\" role=\"alert\">{} {}</p>", escaped(&problem.detail), escaped(&problem.advice))
        }
    };
    let body = format!(
        r#"<form class="fields" method="post" action="{PATH}">
<input type="hidden" name="back" value="{back}"/>
<label for="token">Token</label>
<input id="token" name="token" type="password" required autofocus autocomplete="current-password" autocapitalize="off" spellcheck="false"/>
<button type="submit" class="main-button">Log in</button>
</form>
<p class="soft">Whoever runs this Unstuck makes one with <code>unstuck token new</code>. Programs send it in the header <code>Authorization: Bearer</code>.</p>"#,
        back = escaped(back),
    );
    (status, document(&format!("{words}\n{body}"))).into_response()
}

/// What stands below each page: as whom somebody is here, and the way out.
pub(crate) fn bar(who: &Who) -> String {
    let Some(name) = &who.name else { return String::new() };
    let out = if who.session {
        format!(
            r#"<form method="post" action="{OUT}"><button type="submit" class="small-button">Log out</button></form>"#
        )
    } else {
        String::new()
    };
    let (name, role) = (escaped(name), who.role.word());
    format!(
        r#"<aside class="visitor" aria-label="Login"><p>Here as <strong><bdi>{name}</bdi></strong>, {role}.</p>{out}</aside>"#
    )
}

/// The page around it.
pub(super) fn document(body: &str) -> ([(HeaderName, HeaderValue); 2], Html<String>) {
    let html = format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<meta name="robots" content="noindex"/>
<title>Log in to Unstuck</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml"/>
<link rel="stylesheet" href="{}"/>
</head>
<body>
<header class="masthead"><p class="brand">Unstuck</p></header>
<main id="main">
<section class="card" aria-labelledby="log-in">
<h1 id="log-in">Log in</h1>
{body}
</section>
</main>
</body>
</html>
"#,
        assets::stylesheet_path()
    );
    let headers = [
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, Html(html))
}
