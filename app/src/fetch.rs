//! The pages' questions to the server. Each answers from what was published; only [`group_details`] waits, briefly.

use leptos::prelude::*;
use leptos::server_fn::codec::Json;

use crate::model::{
    BrokerModel, ChapterModel, ClusterModel, DetailsModel, FindingsModel, Found, GroupKey, GroupModel, OverviewModel,
    PartitionModel, TransactionModel, TransactionalModel,
};
#[cfg(feature = "ssr")]
use {
    crate::model::{Inside, no_cluster},
    crate::source::Source,
    std::sync::Arc,
    std::time::Duration,
    unstuck_diagnosis::{GroupId, Published},
};

/// How long a page waits for the details of a group, whatever the source's own deadline is.
#[cfg(feature = "ssr")]
const DETAILS_DEADLINE: Duration = Duration::from_millis(1_500);

#[cfg(feature = "ssr")]
fn source() -> Result<Arc<dyn Source>, ServerFnError> {
    use_context::<Arc<dyn Source>>().ok_or_else(|| ServerFnError::new("the server gave the pages no source"))
}

/// Looks a cluster up and makes a page of it.
#[cfg(feature = "ssr")]
fn with_cluster<T>(cluster: &str, page: impl FnOnce(&Published) -> Found<T>) -> Result<Found<T>, ServerFnError> {
    let source = source()?;
    Ok(match source.published(cluster) {
        Some(published) => page(&published),
        None => no_cluster(cluster, &source.clusters()),
    })
}

/// The group that a key names.
#[cfg(feature = "ssr")]
fn group_of(source: &dyn Source, cluster: &str, key: &GroupKey) -> Option<GroupId> {
    match key {
        GroupKey::Id(id) => Some(GroupId::from(id.as_str())),
        GroupKey::Digest(digest) => source.group_by_digest(cluster, digest),
        GroupKey::None => None,
    }
}

/// The front page.
#[server(prefix = "/_page", endpoint = "overview", input = Json)]
pub(crate) async fn overview() -> Result<Found<OverviewModel>, ServerFnError> {
    let source = source()?;
    Ok(Found::Here(OverviewModel::of(&source.clusters(), source.drill())))
}

/// The dashboard of one cluster.
#[server(prefix = "/_page", endpoint = "cluster", input = Json)]
pub(crate) async fn cluster(cluster: String) -> Result<Found<ClusterModel>, ServerFnError> {
    let drill = source()?.drill();
    with_cluster(&cluster, |published| Found::Here(ClusterModel::of(published, drill)))
}

/// One group.
#[server(prefix = "/_page", endpoint = "group", input = Json)]
pub(crate) async fn group(cluster: String, key: GroupKey) -> Result<Found<GroupModel>, ServerFnError> {
    let group = group_of(&*source()?, &cluster, &key);
    with_cluster(&cluster, |published| match &group {
        Some(group) => Found::Here(GroupModel::of(published, group)),
        None => crate::model::unknown_group(published, &key),
    })
}

/// What the group's coordinator tells about it. Never awaited by the verdict.
#[server(prefix = "/_page", endpoint = "group-details", input = Json)]
pub(crate) async fn group_details(cluster: String, key: GroupKey) -> Result<DetailsModel, ServerFnError> {
    let source = source()?;
    let (Some(group), Some(published)) = (group_of(&*source, &cluster, &key), source.published(&cluster)) else {
        return Ok(DetailsModel { answer: None });
    };
    if let Some(why) = GroupModel::of(&published, &group).nobody_to_ask() {
        return Ok(DetailsModel { answer: Some(Err(why)) });
    }
    let answer = match tokio::time::timeout(DETAILS_DEADLINE, source.group_detail(&cluster, &group)).await {
        Ok(answer) => answer,
        Err(_elapsed) => Err("Its coordinator did not answer within 1.5 s.".to_owned()),
    };
    Ok(DetailsModel { answer: Some(answer.map(|detail| Inside::of(&published, detail))) })
}

/// One transactional id.
#[server(prefix = "/_page", endpoint = "transactional", input = Json)]
pub(crate) async fn transactional(cluster: String, id: String) -> Result<Found<TransactionalModel>, ServerFnError> {
    with_cluster(&cluster, |published| TransactionalModel::of(published, &id))
}

/// What a transactional id's coordinator tells about it. Never awaited by the verdict.
#[server(prefix = "/_page", endpoint = "transaction", input = Json)]
pub(crate) async fn transaction(cluster: String, id: String) -> Result<TransactionModel, ServerFnError> {
    let source = source()?;
    if id.is_empty() || source.published(&cluster).is_none() {
        return Ok(TransactionModel { answer: None });
    }
    let id = GroupId(id);
    let answer = match tokio::time::timeout(DETAILS_DEADLINE, source.transaction_detail(&cluster, &id)).await {
        Ok(answer) => answer,
        Err(_elapsed) => Err("Its coordinator did not answer within 1.5 s.".to_owned()),
    };
    Ok(TransactionModel { answer: Some(answer) })
}

/// One partition of the offsets topic.
#[server(prefix = "/_page", endpoint = "partition", input = Json)]
pub(crate) async fn partition(cluster: String, partition: String) -> Result<Found<PartitionModel>, ServerFnError> {
    with_cluster(&cluster, |published| PartitionModel::of(published, &partition))
}

/// One broker.
#[server(prefix = "/_page", endpoint = "broker", input = Json)]
pub(crate) async fn broker(cluster: String, broker: String) -> Result<Found<BrokerModel>, ServerFnError> {
    with_cluster(&cluster, |published| BrokerModel::of(published, &broker))
}

/// All findings of the handbook.
#[server(prefix = "/_page", endpoint = "findings", input = Json)]
pub(crate) async fn findings() -> Result<Found<FindingsModel>, ServerFnError> {
    Ok(Found::Here(FindingsModel::of()))
}

/// One chapter of the handbook.
#[server(prefix = "/_page", endpoint = "finding", input = Json)]
pub(crate) async fn finding(slug: String) -> Result<Found<ChapterModel>, ServerFnError> {
    Ok(ChapterModel::of(&slug))
}
