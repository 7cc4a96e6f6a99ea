//! The pages: rendered by `unstuck-app`, with security headers, and the form that leads to a group.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use leptos::config::{Env, LeptosOptions, ReloadWSProtocol};
use leptos::context::{provide_context, use_context};
use leptos::nonce::use_nonce;
use leptos_axum::{
    AxumRouteListing, LeptosRoutes, ResponseOptions, generate_route_list, render_app_async_with_context,
};
use unstuck_app::{AfterPage, App, Source, Stylesheet, Visitor, shell};
use unstuck_diagnosis::{GroupId, Published};

use crate::access::door::who_of;
use crate::access::{Role, Who, login};
use crate::api::{BODY_LIMIT, check_length, pairs, read_body};
use crate::assets::{self, Bundle};
use crate::drill;
use crate::problem::Problem;
use crate::replay;
use crate::watched::Watched;

/// Made once in a process: leptos works it out by running the app, and doing so for a second router while the first one
/// renders left pages waiting for ever (seen in one of five runs of parallel tests).
static ROUTES: LazyLock<Vec<AxumRouteListing>> = LazyLock::new(|| generate_route_list(App));

/// Pages, their server functions, the find form, and files for the browser; whatever else is asked for is the
/// page that says so.
pub(crate) fn router(watched: Arc<Watched>, bundle: &Bundle) -> Router {
    let drill = watched.drill().cloned().map(drill::routes::form_router).unwrap_or_default();
    let replay = watched.replay().cloned().map(replay::routes::router).unwrap_or_default();
    let options = LeptosOptions::builder()
        .output_name("unstuck")
        .site_pkg_dir(bundle.pkg_dir())
        .env(Env::PROD)
        .reload_ws_protocol(ReloadWSProtocol::WS)
        .build();
    let context = {
        let source: Arc<dyn Source> = watched.clone();
        let stylesheet = Stylesheet(assets::stylesheet_path());
        let player = watched.replay().cloned();
        move || {
            let parts = use_context::<http::request::Parts>();
            let who = parts.as_ref().map_or_else(Who::anybody, |parts| who_of(&parts.extensions));
            let only_reads = who.role < Role::Editor;
            let mut after = login::bar(&who);
            if let Some(player) = &player {
                let back =
                    parts.as_ref().and_then(|parts| parts.uri.path_and_query()).map_or("/", |path| path.as_str());
                after.push_str(&replay::bar(&player.standing(), back, only_reads));
            }
            if !after.is_empty() {
                provide_context(AfterPage(after));
            }
            provide_context(Visitor { name: who.name, only_reads });
            provide_context(Arc::clone(&source));
            provide_context(stylesheet.clone());
            set_page_headers();
        }
    };
    let shell_options = options.clone();
    let page = move || shell(shell_options.clone());
    let not_found = render_app_async_with_context(context.clone(), page.clone());
    let find = Router::new()
        .route("/c/{cluster}/find", post(find))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(watched);
    Router::new()
        .leptos_routes_with_context(&options, ROUTES.clone(), context, page)
        .fallback(move |request: Request<Body>| async move {
            let readable = matches!(*request.method(), Method::GET | Method::HEAD);
            if let Some(file) = readable.then(|| assets::file(request.uri().path(), request.headers())).flatten() {
                return file;
            }
            let mut response = not_found(request).await;
            if response.status().is_success() {
                *response.status_mut() = StatusCode::NOT_FOUND;
            }
            response
        })
        .with_state(options)
        .merge(find)
        .merge(drill)
        .merge(replay)
}

/// What a page may load: its own files, and inline scripts that carry this answer's nonce.
fn set_page_headers() {
    let (Some(response), Some(nonce)) = (use_context::<ResponseOptions>(), use_nonce()) else {
        return;
    };
    let policy = format!(
        "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.insert_header(header::CONTENT_SECURITY_POLICY, policy);
    }
    response.insert_header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// `POST /c/{cluster}/find` with the field `group`: leads to the group's page. Ids that do not fit a URL are
/// remembered, and named by their digest. With `kind=transactional` it is a transactional id, and leads to its page.
async fn find(
    State(watched): State<Arc<Watched>>,
    Path(cluster): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let body = read_body(body, BODY_LIMIT)?;
    let published = watched.newest(&cluster).ok_or_else(|| watched.unknown(&cluster))?;
    let fields = pairs(&body)?;
    let field = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let pasted = field("group").ok_or_else(Problem::no_group)?;
    if field("kind") == Some("transactional") {
        let id = GroupId::from(pasted.trim_matches(['\r', '\n']));
        check_length([&id])?;
        return Ok(Redirect::to(&format!("/c/{cluster}/t?id={}", percent_encoded(id.as_str()))).into_response());
    }
    let group = pasted_group(pasted, &published);
    check_length([&group])?;
    let page = if group.needs_digest() {
        let digest = group.digest();
        watched.remember_long_id(group);
        format!("/c/{cluster}/g?digest={digest}")
    } else {
        format!("/c/{cluster}/g?group={}", percent_encoded(group.as_str()))
    };
    Ok(Redirect::to(&page).into_response())
}

/// The id that was meant by a pasted text: all of it, but for line ends around it, which come from copying.
/// Spaces are kept: they are a common cause of trouble. A text of several lines is the id as it is if a known group
/// is called so, else its first line that is not empty.
fn pasted_group(pasted: &str, published: &Published) -> GroupId {
    // Forms send every line end as CR LF, whatever was pasted.
    let text = pasted.trim_matches(['\r', '\n']);
    if !text.contains(['\r', '\n']) {
        return GroupId::from(text);
    }
    let known = &published.memory.groups.by_id;
    let candidates = [GroupId::from(pasted), GroupId::from(text), GroupId(text.replace("\r\n", "\n"))];
    candidates
        .into_iter()
        .find(|id| known.contains_key(id))
        .unwrap_or_else(|| GroupId::from(text.lines().find(|line| !line.is_empty()).unwrap_or_default()))
}

/// Everything but unreserved characters as `%XX` of its UTF-8.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
