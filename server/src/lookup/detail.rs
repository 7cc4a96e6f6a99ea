//! `--detail`: what coordinators tell beyond the verdict, asked once the verdict is there.

use std::time::Duration;

use futures::future::join_all;
use serde::Serialize;
use unstuck_diagnosis::lookup::{GroupDetail, GroupTrace, Lookup, detail_findings};
use unstuck_diagnosis::transactional::{TransactionDetail, TransactionalLookup};
use unstuck_diagnosis::{GroupId, Published};
use unstuck_kafka::Collector;

use super::Failure;

/// How long one coordinator is waited for.
const DEADLINE: Duration = Duration::from_secs(3);
/// Of how many ids details are asked for: each is a connection of its own.
const ASKED: usize = 20;

/// What was asked about one id, and what was told.
#[derive(Debug, Serialize)]
pub(crate) struct Told<T> {
    /// The id.
    pub(crate) id: GroupId,
    /// The answer, or why there is none.
    pub(crate) told: Result<T, String>,
}

/// Members and offsets of groups. There are no earlier looks to compare with.
pub(super) async fn of_groups(collector: &Collector, published: &Published, lookup: &Lookup) -> Vec<Told<GroupDetail>> {
    let each = lookup.results.iter().take(ASKED).map(|one| async move {
        let leader = one.coordinator.as_ref().and_then(|coordinator| coordinator.leader);
        let told = match leader {
            None => Err("there is no coordinator to ask".to_owned()),
            Some(leader) => {
                collector.group_detail(&one.group, leader, DEADLINE).await.map_err(|error| error.to_string())
            }
        };
        let told = told.map(|mut detail| {
            let (report, memory) = (&published.report, &published.memory);
            detail.findings = detail_findings(report, memory, one, &detail, &GroupTrace::default());
            detail
        });
        Told { id: one.group.clone(), told }
    });
    join_all(each).await
}

/// How transactions stand.
pub(super) async fn of_transactions(
    collector: &Collector,
    lookup: &TransactionalLookup,
) -> Vec<Told<TransactionDetail>> {
    let each = lookup.results.iter().take(ASKED).map(|one| async move {
        let id = one.transactional_id.clone();
        let leader = one.coordinator.as_ref().and_then(|coordinator| coordinator.leader);
        let told = match leader {
            None => Err("there is no coordinator to ask".to_owned()),
            Some(leader) => {
                collector.transaction_detail(&id, leader, DEADLINE).await.map_err(|error| error.to_string())
            }
        };
        Told { id, told }
    });
    join_all(each).await
}

/// The answer as JSON; with `details` beside the results, if there are any.
pub(super) fn json(lookup: &impl Serialize, details: Option<&impl Serialize>) -> Result<String, Failure> {
    #[derive(Serialize)]
    struct WithDetails<'a, L, D> {
        #[serde(flatten)]
        lookup: &'a L,
        details: &'a D,
    }
    match details {
        None => super::json(lookup),
        Some(details) => super::json(&WithDetails { lookup, details }),
    }
}
