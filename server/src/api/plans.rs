//! Plans: reassignments of the offsets topic, worked out from what was published last, and their files.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use unstuck_diagnosis::BrokerId;
use unstuck_diagnosis::plan::{Plan, Wish};

use super::{attachment, find, params};
use crate::problem::Problem;
use crate::watched::Watched;

/// What `…/plans/{plan}` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanAnswer {
    /// The cluster's name.
    pub cluster: String,
    /// When the snapshot behind it was put together: the plan is about the replicas as they were then.
    pub observed_at: Timestamp,
    /// The plan.
    #[serde(flatten)]
    pub plan: Plan,
}

fn wish(slug: &str, query: Option<&str>) -> Result<Wish, Problem> {
    if !Wish::SLUGS.contains(&slug) {
        return Err(Problem::unknown_plan(slug, &Wish::SLUGS));
    }
    let takes_broker = slug == "evacuate";
    let mut broker: Option<BrokerId> = None;
    for (name, value) in params::pairs(query.unwrap_or_default().as_bytes())? {
        if name != "broker" || !takes_broker {
            return Err(Problem::unknown_parameter(&name, if takes_broker { &["broker"] } else { &[] }));
        }
        let id = value.parse().ok().filter(|id| *id >= 0).ok_or_else(|| Problem::bad_broker(&value))?;
        if broker.replace(id).is_some() {
            return Err(Problem::repeated_parameter("broker"));
        }
    }
    Wish::from_slug(slug, broker).ok_or_else(Problem::no_broker)
}

fn make(watched: &Watched, cluster: String, slug: &str, query: Option<&str>) -> Result<PlanAnswer, Problem> {
    let published = find(watched, Ok(Path(cluster)))?;
    let plan = published.plan(wish(slug, query)?).map_err(|refusal| Problem::plan_refused(&refusal))?;
    Ok(PlanAnswer { cluster: published.report.cluster.clone(), observed_at: published.report.observed_at, plan })
}

/// A part of a path that is not UTF-8 names nothing.
fn not_utf8(_: PathRejection) -> Problem {
    Problem::unknown_path("\u{fffd}")
}

/// A plan with all that belongs to it.
pub(super) async fn plan(
    State(watched): State<Arc<Watched>>,
    path: Result<Path<(String, String)>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Json<PlanAnswer>, Problem> {
    let Path((cluster, slug)) = path.map_err(not_utf8)?;
    make(&watched, cluster, &slug, query.as_deref()).map(Json)
}

/// One of its files, as the tool reads it.
pub(super) async fn file(
    State(watched): State<Arc<Watched>>,
    path: Result<Path<(String, String, String)>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let Path((cluster, slug, name)) = path.map_err(not_utf8)?;
    let answer = make(&watched, cluster, &slug, query.as_deref())?;
    let names: Vec<&str> = answer.plan.remedy.files.iter().map(|file| file.name.as_str()).collect();
    let file = answer.plan.file(&name).ok_or_else(|| Problem::unknown_file(&name, &names))?;
    Ok(attachment(&file.name, "application/json", file.content.clone()))
}
