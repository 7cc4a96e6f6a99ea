//! The answer for transactional ids, beside the one for groups.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use unstuck_diagnosis::transactional::TransactionalLookup;
use unstuck_diagnosis::{GroupId, Published};

use super::{ClusterPath, LOOKUP_CAP, check_length, find, params};
use crate::problem::Problem;
use crate::watched::Watched;

pub(super) async fn transactional_ids(
    State(watched): State<Arc<Watched>>,
    cluster: ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Json<TransactionalLookup>, Problem> {
    let published = find(&watched, cluster)?;
    let ids = params::ids("id", query.unwrap_or_default().as_bytes())?;
    answer(&published, &ids).map(Json)
}

fn answer(published: &Published, ids: &[GroupId]) -> Result<TransactionalLookup, Problem> {
    // The empty id is that of producers without transactions.
    if ids.is_empty() || ids.iter().any(|id| id.as_str().is_empty()) {
        return Err(Problem::no_transactional_id());
    }
    if ids.len() > LOOKUP_CAP {
        return Err(Problem::too_many_groups(ids.len(), LOOKUP_CAP));
    }
    check_length(ids)?;
    Ok(published.lookup_transactional(ids))
}
