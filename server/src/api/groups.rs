//! The known groups as a list, page by page.

use std::ops::Bound;
use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use unstuck_diagnosis::report::{NamedGroup, Status};
use unstuck_diagnosis::{GroupId, Published};

use super::{ClusterPath, find, params};
use crate::problem::Problem;
use crate::watched::Watched;

/// How many groups one answer lists at most, and unless asked for fewer.
pub const GROUPS_LIMIT: usize = 1_000;
const PARAMETERS: [&str; 3] = ["state", "limit", "after"];

/// What `…/groups` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupList {
    /// The cluster's name.
    pub cluster: String,
    /// When the snapshot behind it was put together.
    pub observed_at: Timestamp,
    /// How many groups there are in the state asked for (of every state, if none was), on all pages together.
    pub total: usize,
    /// The groups of this page, by id.
    pub groups: Vec<NamedGroup>,
    /// What to give as `after` for the next page; `None` if this is the last one.
    pub next: Option<GroupId>,
    /// Whether the listings behind it are complete.
    pub complete: bool,
    /// Why not, if not.
    pub incomplete_because: Option<String>,
}

#[derive(Default)]
struct Wanted {
    state: Option<Status>,
    limit: Option<usize>,
    after: Option<GroupId>,
}

impl Wanted {
    fn read(query: &str) -> Result<Self, Problem> {
        let mut wanted = Self::default();
        for (name, value) in params::pairs(query.as_bytes())? {
            let before = match name.as_str() {
                "state" => {
                    let state = Status::from_slug(&value).ok_or_else(|| Problem::unknown_state(&value))?;
                    wanted.state.replace(state).is_some()
                }
                "limit" => {
                    let limit = value.parse().ok().filter(|limit| (1..=GROUPS_LIMIT).contains(limit));
                    wanted.limit.replace(limit.ok_or_else(|| Problem::bad_limit(&value, GROUPS_LIMIT))?).is_some()
                }
                "after" => wanted.after.replace(GroupId(value)).is_some(),
                _ => return Err(Problem::unknown_parameter(&name, &PARAMETERS)),
            };
            if before {
                return Err(Problem::repeated_parameter(&name));
            }
        }
        Ok(wanted)
    }
}

pub(super) async fn groups(
    State(watched): State<Arc<Watched>>,
    cluster: ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Json<GroupList>, Problem> {
    let published = find(&watched, cluster)?;
    let wanted = Wanted::read(&query.unwrap_or_default())?;
    Ok(Json(list(&published, &wanted)))
}

fn list(published: &Published, wanted: &Wanted) -> GroupList {
    let counts = &published.report.groups;
    let limit = wanted.limit.unwrap_or(GROUPS_LIMIT);
    let from = wanted.after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
    let fits = |named: &NamedGroup| wanted.state.is_none_or(|state| named.status == state);
    let later = published.memory.groups.by_id.range::<GroupId, _>((from, Bound::Unbounded));
    // One more than asked for, to know whether there is another page.
    let mut groups: Vec<NamedGroup> =
        later.map(|(id, seen)| published.named_group(id, seen)).filter(fits).take(limit + 1).collect();
    let more = groups.len() > limit;
    groups.truncate(limit);
    GroupList {
        cluster: published.report.cluster.clone(),
        observed_at: published.report.observed_at,
        total: match wanted.state {
            Some(state) => counts.by_status.get(&state).copied().unwrap_or(0),
            None => counts.total,
        },
        next: groups.last().filter(|_| more).map(|last| last.group.clone()),
        groups,
        complete: counts.complete,
        incomplete_because: counts.incomplete_because.clone(),
    }
}
