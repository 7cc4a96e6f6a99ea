//! Ids in the body of a POST: for those that do not fit a URL.

use axum::extract::rejection::BytesRejection;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use unstuck_diagnosis::GroupId;

use super::params;
use crate::problem::Problem;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Groups {
    groups: Vec<GroupId>,
}

/// The whole body, of at most `limit` bytes (which the router sees to).
pub(crate) fn read(body: Result<Bytes, BytesRejection>, limit: usize) -> Result<Bytes, Problem> {
    body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::body_too_large(limit),
        _ => Problem::broken_body(),
    })
}

/// The ids, from a form with repeated `group`, or from `{"groups": […]}`.
pub(super) fn groups(headers: &HeaderMap, body: &[u8]) -> Result<Vec<GroupId>, Problem> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("none");
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "application/x-www-form-urlencoded" => params::groups(body),
        "application/json" => serde_json::from_slice::<Groups>(body)
            .map(|body| body.groups)
            .map_err(|error| Problem::bad_json(format!("The body is not the expected JSON: {error}."))),
        _ => Err(Problem::unsupported_body(content_type)),
    }
}
