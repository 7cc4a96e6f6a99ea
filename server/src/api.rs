//! The JSON API, version 1. Each answer is made from the one value that was published last; nothing but a look inside of a
//! group waits for Kafka.

mod body;
mod detail;
mod findings;
mod groups;
mod incidents;
mod params;
mod plans;
mod transactional_ids;

use std::sync::Arc;

use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{DefaultBodyLimit, OriginalUri, Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use unstuck_diagnosis::lookup::Lookup;
use unstuck_diagnosis::report::{OffsetsTopicReport, PartitionReport, PlacementProof, Report, Status};
use unstuck_diagnosis::{GroupId, MAX_GROUP_ID_BYTES, Published, Seq};
use unstuck_drill::serve::Drill;

use crate::drill;
use crate::problem::Problem;
use crate::watched::Watched;

pub(crate) use body::read as read_body;
pub use detail::DetailAnswer;
pub use groups::{GROUPS_LIMIT, GroupList};
pub use incidents::{HistoryAnswer, IncidentList};
pub(crate) use params::{none as no_parameters, pairs};
pub use plans::PlanAnswer;

/// How many ids one lookup answers at most.
pub const LOOKUP_CAP: usize = 1_000;
/// The largest body of a request, in bytes: room for some dozens of the longest ids, percent-encoded.
pub const BODY_LIMIT: usize = 4 * 1024 * 1024;

/// What `/api/v1/clusters` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterList {
    /// The program and its version, such as `unstuck 0.1.0`.
    pub server: String,
    /// Every cluster, by name.
    pub clusters: Vec<ClusterSummary>,
}

/// One cluster in a few words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterSummary {
    /// Its name in the configuration.
    pub cluster: String,
    /// Kafka's cluster id, where told.
    pub cluster_id: Option<String>,
    /// Which publication this is.
    pub seq: Seq,
    /// When the snapshot behind it was put together.
    pub observed_at: Timestamp,
    /// The worst status in the cluster.
    pub status: Status,
    /// The headline.
    pub sentence: String,
}

/// What `…/coordinators` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coordinators {
    /// The cluster's name.
    pub cluster: String,
    /// When the snapshot behind it was put together.
    pub observed_at: Timestamp,
    /// Whether groups live where the hash says.
    pub placement: PlacementProof,
    /// Every partition of `__consumer_offsets` with its coordinator, by number.
    pub partitions: Vec<PartitionReport>,
}

/// What `…/offsets-topic` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetsTopic {
    /// The cluster's name.
    pub cluster: String,
    /// When the snapshot behind it was put together.
    pub observed_at: Timestamp,
    /// The topic as a whole.
    pub offsets_topic: OffsetsTopicReport,
    /// Whether groups live where the hash says.
    pub placement: PlacementProof,
}

/// The routes under `/api`.
pub(crate) fn router(watched: Arc<Watched>) -> Router {
    let drill = watched.drill().cloned().map(drill::routes::api_router).unwrap_or_default();
    Router::new()
        .route("/v1/clusters", get(clusters))
        .route("/v1/clusters/{cluster}", get(report))
        .route("/v1/clusters/{cluster}/lookup", get(lookup).post(lookup_by_post))
        .route("/v1/clusters/{cluster}/detail", get(detail::detail))
        .route("/v1/clusters/{cluster}/groups", get(groups::groups))
        .route("/v1/clusters/{cluster}/transactional-ids", get(transactional_ids::transactional_ids))
        .route("/v1/clusters/{cluster}/coordinators", get(coordinators))
        .route("/v1/clusters/{cluster}/offsets-topic", get(offsets_topic))
        .route("/v1/clusters/{cluster}/plans/{plan}", get(plans::plan))
        .route("/v1/clusters/{cluster}/plans/{plan}/{file}", get(plans::file))
        .route("/v1/clusters/{cluster}/history", get(incidents::history))
        .route("/v1/incidents", get(incidents::incidents))
        .route("/v1/incidents/{id}", get(incidents::incident))
        .route("/v1/incidents/{id}/moments/{moment}", get(incidents::moment))
        .route("/v1/findings", get(findings::findings))
        .route("/v1/findings/{slug}", get(findings::finding))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(watched)
        .merge(drill)
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::map_response(never_cached))
}

/// The part of the API that steers a drill, for one that nobody looks at.
pub(crate) fn drill_router(drill: Arc<Drill>) -> Router {
    drill::routes::api_router(drill)
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::map_response(never_cached))
}

/// An answer is true for a second; nobody may keep it.
async fn never_cached(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A file that browsers save under this name.
pub(crate) fn attachment(name: &str, content_type: &'static str, content: impl IntoResponse) -> Response {
    let mut response = content.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

/// For whatever is not served below `/api`.
pub(crate) async fn unknown_path(OriginalUri(uri): OriginalUri) -> Problem {
    Problem::unknown_path(uri.path())
}

async fn wrong_method(method: Method) -> Problem {
    Problem::wrong_method(&method)
}

type ClusterPath = Result<Path<String>, PathRejection>;

fn find(watched: &Watched, path: ClusterPath) -> Result<Arc<Published>, Problem> {
    // A name that is not UTF-8 is the name of no cluster.
    let name = path.map_or_else(|_| "\u{fffd}".to_owned(), |Path(name)| name);
    watched.newest(&name).ok_or_else(|| watched.unknown(&name))
}

async fn clusters(
    State(watched): State<Arc<Watched>>,
    RawQuery(query): RawQuery,
) -> Result<Json<ClusterList>, Problem> {
    params::none(query.as_deref())?;
    let newest = watched.names().into_iter().filter_map(|name| watched.newest(&name));
    let clusters = newest.map(|published| ClusterSummary {
        cluster: published.report.cluster.clone(),
        cluster_id: published.report.cluster_id.clone(),
        seq: published.seq.clone(),
        observed_at: published.report.observed_at,
        status: published.report.headline.status,
        sentence: published.report.headline.sentence.clone(),
    });
    Ok(Json(ClusterList {
        server: concat!("unstuck ", env!("CARGO_PKG_VERSION")).to_owned(),
        clusters: clusters.collect(),
    }))
}

async fn report(
    State(watched): State<Arc<Watched>>,
    cluster: ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Json<Report>, Problem> {
    let published = find(&watched, cluster)?;
    params::none(query.as_deref())?;
    Ok(Json(published.report.clone()))
}

async fn coordinators(
    State(watched): State<Arc<Watched>>,
    cluster: ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Json<Coordinators>, Problem> {
    let published = find(&watched, cluster)?;
    params::none(query.as_deref())?;
    let report = &published.report;
    Ok(Json(Coordinators {
        cluster: report.cluster.clone(),
        observed_at: report.observed_at,
        placement: report.placement.clone(),
        partitions: report.partitions.clone(),
    }))
}

async fn offsets_topic(
    State(watched): State<Arc<Watched>>,
    cluster: ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Json<OffsetsTopic>, Problem> {
    let published = find(&watched, cluster)?;
    params::none(query.as_deref())?;
    let report = &published.report;
    Ok(Json(OffsetsTopic {
        cluster: report.cluster.clone(),
        observed_at: report.observed_at,
        offsets_topic: report.offsets_topic.clone(),
        placement: report.placement.clone(),
    }))
}

async fn lookup(
    State(watched): State<Arc<Watched>>,
    cluster: ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Json<Lookup>, Problem> {
    let published = find(&watched, cluster)?;
    let groups = params::groups(query.unwrap_or_default().as_bytes())?;
    answer(&published, &groups).map(Json)
}

async fn lookup_by_post(
    State(watched): State<Arc<Watched>>,
    cluster: ClusterPath,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let published = find(&watched, cluster)?;
    params::none(query.as_deref())?;
    let groups = body::groups(&headers, &body::read(body, BODY_LIMIT)?)?;
    Ok(Json(answer(&published, &groups)?).into_response())
}

fn answer(published: &Published, groups: &[GroupId]) -> Result<Lookup, Problem> {
    if groups.is_empty() {
        return Err(Problem::no_group());
    }
    if groups.len() > LOOKUP_CAP {
        return Err(Problem::too_many_groups(groups.len(), LOOKUP_CAP));
    }
    check_length(groups)?;
    Ok(published.lookup(groups))
}

pub(crate) fn check_length<'a>(groups: impl IntoIterator<Item = &'a GroupId>) -> Result<(), Problem> {
    match groups.into_iter().map(|group| group.as_str().len()).find(|bytes| *bytes > MAX_GROUP_ID_BYTES) {
        Some(bytes) => Err(Problem::group_id_too_long(bytes, MAX_GROUP_ID_BYTES)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
