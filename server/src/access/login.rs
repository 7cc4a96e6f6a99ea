//! The way in and out for browsers: a plain page with a form, which works without scripts.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{DefaultBodyLimit, RawQuery, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use unstuck_diagnosis::visible;

use super::credentials::Hash;
use super::door::{Door, Rule};
use super::oidc::{self, Oidc, Person};
use super::sessions::Origin;
use super::{Peer, Who};
use crate::api::pairs;
use crate::assets;
use crate::problem::Problem;
use crate::replay::escaped;
use crate::same_site::{Sent, local_path};

/// The page.
const PATH: &str = "/login";
/// Where a login at an identity provider begins.
const START: &str = "/login/start";
/// Where it comes back to.
const CALLBACK: &str = "/login/callback";
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
        .route(START, get(start))
        .route(CALLBACK, get(come_back))
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
    Failed(&'a str),
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
        Rule::Oidc(oidc) => {
            let said = if out { Said::LoggedOut } else { Said::Nothing };
            Ok(at_provider(oidc, back, said, StatusCode::OK))
        }
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
            let cookie = door.sessions.begin(Origin::Token(Hash::of(token)), Instant::now());
            let cookie = cookie.map_err(|_| Problem::defect())?;
            tracing::info!(name = known.name, role = known.role.word(), "logged in");
            Ok(leading(back, &[cookie]))
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
    let to = if matches!(door.rule, Rule::Token(_) | Rule::Oidc(_)) { "/login?out" } else { "/" };
    leading(to, &[cookie])
}

/// Leads to a page, with cookies.
fn leading(to: &str, cookies: &[String]) -> Response {
    let mut response = Redirect::to(to).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for mut cookie in cookies.iter().filter_map(|cookie| HeaderValue::from_str(cookie).ok()) {
        cookie.set_sensitive(true);
        headers.append(header::SET_COOKIE, cookie);
    }
    response
}

/// Leads to the identity provider.
async fn start(State(door): State<Arc<Door>>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let mut back = None;
    for (name, value) in pairs(query.unwrap_or_default().as_bytes())? {
        match name.as_str() {
            "back" => back = Some(value),
            _ => return Err(Problem::unknown_parameter(&name, &["back"])),
        }
    }
    let back = local_path(back.as_deref().unwrap_or("/"))?;
    let Rule::Oidc(oidc) = &door.rule else { return Ok(Redirect::to(back).into_response()) };
    match oidc.begin(back, Instant::now()).await {
        Ok((url, state)) => Ok(leading(&url, &[door.sessions.login_cookie(&state, oidc::LOGIN)])),
        Err(why) => {
            tracing::error!("nobody can log in: {why}");
            let status = StatusCode::SERVICE_UNAVAILABLE;
            Ok(at_provider(oidc, back, Said::Failed(&why.to_string()), status))
        }
    }
}

/// Somebody comes back from the identity provider. It sends what it likes beside code and state.
async fn come_back(
    State(door): State<Arc<Door>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let Rule::Oidc(oidc) = &door.rule else { return Ok(Redirect::to("/").into_response()) };
    let (mut code, mut state, mut error) = (String::new(), String::new(), None);
    for (name, value) in pairs(query.unwrap_or_default().as_bytes())? {
        match name.as_str() {
            "code" => code = value,
            "state" => state = value,
            "error" => error = Some(value),
            _ => {}
        }
    }
    let over = door.sessions.login_cookie("", std::time::Duration::ZERO);
    let refused = |why: &str| {
        tracing::warn!("a login came to nothing: {why}");
        let mut response = at_provider(oidc, "/", Said::Failed(why), StatusCode::UNAUTHORIZED);
        if let Ok(over) = HeaderValue::from_str(&over) {
            response.headers_mut().append(header::SET_COOKIE, over);
        }
        response
    };
    if let Some(error) = error {
        let error: String = visible(&error).chars().take(100).collect();
        return Ok(refused(&format!("the identity provider says: {error}")));
    }
    match oidc.finish(&code, &state, door.sessions.login_state(&headers), Instant::now()).await {
        Ok(Person { name, role, back }) => {
            tracing::info!(name, role = role.word(), "logged in");
            let session = door.sessions.begin(Origin::Person { name, role }, Instant::now());
            Ok(leading(&back, &[session.map_err(|_| Problem::defect())?, over]))
        }
        Err(why) => Ok(refused(&why.to_string())),
    }
}

/// The page that leads to the identity provider.
fn at_provider(oidc: &Oidc, back: &str, said: Said<'_>, status: StatusCode) -> Response {
    let query = if back == "/" { String::new() } else { format!("?back={}", crate::pages::percent_encoded(back)) };
    let host = escaped(&oidc.host());
    let body = format!(
        r#"<p><a class="main-button" href="{START}{query}">Log in at {host}</a></p>
<p class="soft">It tells Unstuck your name, and whether you may write.</p>"#
    );
    (status, document(&format!("{}\n{body}", words(said)))).into_response()
}

/// What stands above the form.
fn words(said: Said<'_>) -> String {
    match said {
        Said::Nothing => String::new(),
        Said::LoggedOut => "<p role=\"status\">You are logged out.</p>".to_owned(),
        Said::Refused(problem) => {
            format!("<p class=\"danger\" role=\"alert\">{} {}</p>", escaped(&problem.detail), escaped(&problem.advice))
        }
        Said::Failed(why) => format!("<p class=\"danger\" role=\"alert\">Not logged in: {}.</p>", escaped(why)),
    }
}

fn form(back: &str, said: Said<'_>, status: StatusCode) -> Response {
    let words = words(said);
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
