//! Incidents and history as JSON.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use unstuck_app::Source;
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::history::{Event, FindingRecord, Frozen, Incident, Moment, Subject};
use unstuck_store::IncidentFile;

use super::{ClusterPath, find, params};
use crate::incidents::routes::{id_of, store};
use crate::problem::Problem;
use crate::record::read_frozen;
use crate::watched::Watched;

/// What `/api/v1/incidents` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentList {
    /// The open ones, then the newest.
    pub incidents: Vec<Incident>,
    /// What to give as `before` for those before; none if this is all.
    pub before: Option<Timestamp>,
}

impl IncidentList {
    /// A page of incidents, with the way to the next one if it is full.
    pub(crate) fn of(incidents: Vec<Incident>) -> Self {
        let over = || incidents.iter().filter(|one| one.closed.is_some());
        let full = over().count() >= crate::incidents::PAGE as usize;
        let before = over().next_back().filter(|_| full).map(|last| last.opened.at);
        Self { incidents, before }
    }
}

/// What `…/history` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryAnswer {
    /// The cluster's name.
    pub cluster: String,
    /// What happened, newest first.
    pub events: Vec<Event>,
    /// Findings that concern it, newest first.
    pub findings: Vec<FindingRecord>,
    /// What to give as `before` for what happened before; none if this is all.
    pub before: Option<Timestamp>,
    /// Before which time history was dropped, as it was kept long enough.
    pub dropped_until: Option<Timestamp>,
    /// Why what is seen is not being remembered, if it is not.
    pub not_remembered: Option<String>,
}

/// Milliseconds since 1970, or a time in ISO 8601.
fn time(name: &str, text: &str) -> Result<Timestamp, Problem> {
    let millis = text.parse::<i64>().ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    millis.or_else(|| text.parse().ok()).ok_or_else(|| Problem::bad_time(name, text))
}

fn once<T>(field: &mut Option<T>, name: &str, value: T) -> Result<(), Problem> {
    match field.replace(value) {
        None => Ok(()),
        Some(_) => Err(Problem::repeated_parameter(name)),
    }
}

/// All incidents, or those of one cluster.
pub(super) async fn incidents(
    State(watched): State<Arc<Watched>>,
    RawQuery(query): RawQuery,
) -> Result<Json<IncidentList>, Problem> {
    let (mut cluster, mut before) = (None, None);
    for (name, value) in params::pairs(query.unwrap_or_default().as_bytes())? {
        match name.as_str() {
            "cluster" => once(&mut cluster, "cluster", value)?,
            "before" => once(&mut before, "before", time("before", &value)?)?,
            _ => return Err(Problem::unknown_parameter(&name, &["before", "cluster"])),
        }
    }
    // Asked for before the store is, so that a server that keeps nothing says so.
    store(&watched)?;
    let incidents = watched.incidents(cluster.as_deref(), before).await.map_err(|why| Problem::store_fails(&why))?;
    Ok(Json(IncidentList::of(incidents)))
}

/// Everything about one, but what was seen.
pub(super) async fn incident(
    State(watched): State<Arc<Watched>>,
    path: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Json<IncidentFile>, Problem> {
    params::none(query.as_deref())?;
    let found = store(&watched)?.incident(&id_of(path)?).await.map_err(|error| Problem::of_store(&error))?;
    found.map(Json).ok_or_else(Problem::unknown_incident)
}

/// What was seen at a moment of it: facts, memory, and the report.
pub(super) async fn moment(
    State(watched): State<Arc<Watched>>,
    path: Result<Path<(String, String)>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Json<Frozen>, Problem> {
    let Path((id, moment)) = path.map_err(|_| Problem::unknown_incident())?;
    params::none(query.as_deref())?;
    let id = unstuck_diagnosis::history::IncidentId(id);
    let store = store(&watched)?;
    let file = store.incident(&id).await.map_err(|error| Problem::of_store(&error))?;
    let file = file.ok_or_else(Problem::unknown_incident)?;
    let kept: Vec<Moment> = file.moments.iter().map(|(moment, _)| *moment).collect();
    let unknown = || Problem::unknown_moment(&moment, &kept.iter().map(|one| one.slug()).collect::<Vec<_>>());
    let wanted = kept.iter().copied().find(|one| one.slug() == moment).ok_or_else(unknown)?;
    let document = store.document(&id, wanted).await.map_err(|error| Problem::of_store(&error))?;
    let document = document.ok_or_else(unknown)?;
    read_frozen(&document.bytes).map(Json).map_err(|error| Problem::store_fails(&error.to_string()))
}

/// What happened to a cluster, a partition, a broker or a group.
pub(super) async fn history(
    State(watched): State<Arc<Watched>>,
    cluster: ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Json<HistoryAnswer>, Problem> {
    let published = find(&watched, cluster)?;
    let (mut subject, mut before) = (None, None);
    let number = |value: &str| {
        let number = value.parse::<i32>().ok().filter(|number| *number >= 0);
        number.ok_or_else(|| Problem::bad_subject(format!("\"{}\" is no number.", unstuck_diagnosis::visible(value))))
    };
    for (name, value) in params::pairs(query.unwrap_or_default().as_bytes())? {
        let one = match name.as_str() {
            "before" => {
                once(&mut before, "before", time("before", &value)?)?;
                continue;
            }
            "partition" => Subject::Partition(number(&value)?),
            "broker" => Subject::Broker(number(&value)?),
            "group" => Subject::Group(GroupId(value)),
            _ => return Err(Problem::unknown_parameter(&name, &["before", "broker", "group", "partition"])),
        };
        if subject.replace(one).is_some() {
            return Err(Problem::bad_subject("More than one was named.".to_owned()));
        }
    }
    store(&watched)?;
    let name = published.report.cluster.clone();
    let subjects = [subject.unwrap_or(Subject::Cluster)];
    let history = watched.history(&name, &subjects, before).await.map_err(|why| Problem::store_fails(&why))?;
    Ok(Json(HistoryAnswer {
        before: history.events.last().filter(|_| history.more).map(|event| event.since.at),
        events: history.events,
        findings: history.findings,
        dropped_until: history.dropped_until,
        not_remembered: watched.not_remembered(&name),
        cluster: name,
    }))
}
