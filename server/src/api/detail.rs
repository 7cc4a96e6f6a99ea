//! What the coordinator of a group tells about it: members, offsets and lag. The only answer of the API that waits for
//! Kafka, up to the deadline that a look inside has.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use serde::{Deserialize, Serialize};
use unstuck_app::Source;
use unstuck_diagnosis::lookup::{GroupDetail, GroupLookup};

use super::{ClusterPath, check_length, find, params};
use crate::problem::Problem;
use crate::watched::Watched;

/// What `…/detail` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailAnswer {
    /// The verdict, which did not wait for the rest.
    pub lookup: GroupLookup,
    /// What its coordinator told, with the findings that follow from it; none if it could not be asked.
    pub detail: Option<GroupDetail>,
    /// Why not.
    pub could_not_ask: Option<String>,
}

pub(super) async fn detail(
    State(watched): State<Arc<Watched>>,
    cluster: ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Json<DetailAnswer>, Problem> {
    let published = find(&watched, cluster)?;
    let groups = params::groups(query.unwrap_or_default().as_bytes())?;
    let [group] = groups.as_slice() else {
        return Err(if groups.is_empty() { Problem::no_group() } else { Problem::too_many_groups(groups.len(), 1) });
    };
    check_length([group])?;
    let lookup = published.lookup_one(group);
    Ok(Json(match watched.group_detail(&published.report.cluster, group).await {
        Ok(detail) => DetailAnswer { lookup, detail: Some(detail), could_not_ask: None },
        Err(why) => DetailAnswer { lookup, detail: None, could_not_ask: Some(why) },
    }))
}
