//! Around every request: a deadline, a net for panics, and headers that keep a page from being misused.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use http::{HeaderName, HeaderValue, header};

use crate::poller::panic_text;
use crate::problem::Problem;

/// How long a client may take to send its body, and a handler to begin its answer.
const DEADLINE: Duration = Duration::from_secs(10);

/// Set unless the answer has its own. Pages have a wider policy, with a nonce.
const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'")),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    // Group ids stand in page addresses; they are nobody else's business.
    (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    // Pages that open this one, or that it opens, get no hold of it.
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

pub(crate) async fn guard(request: Request, next: Next) -> Response {
    let begun = Instant::now();
    // Without the query: it may hold any text, and long ones.
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let answer = AssertUnwindSafe(tokio::time::timeout(DEADLINE, next.run(request))).catch_unwind().await;
    let mut response = match answer {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => Problem::too_slow().into_response(),
        Err(panic) => {
            tracing::error!(%method, path, panic = panic_text(panic.as_ref()), "a defect in Unstuck: no answer was made");
            Problem::defect().into_response()
        }
    };
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(value);
    }
    tracing::debug!(%method, path, status = response.status().as_u16(), took = ?begun.elapsed(), "answered");
    response
}
