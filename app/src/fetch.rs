//! The pages' questions to the server. Each answers from what was published; only [`group_details`] waits, briefly.

use leptos::prelude::*;
use leptos::server_fn::codec::Json;

use crate::model::{
    BrokerModel, ClusterModel, DetailsModel, Found, GroupKey, GroupModel, OverviewModel, PartitionModel,
    TransactionModel, TransactionalModel, Written,
};
#[cfg(feature = "ssr")]
use {
    crate::model::{AboutCluster, Inside, Missing, Remembered, no_cluster, nobody_to_ask},
    crate::source::Source,
    crate::text::cluster_href,
    crate::written::address::{About, WrittenKey},
    crate::written::history::{self, Of, time_of},
    crate::written::{incident, incidents},
    std::sync::Arc,
    std::time::Duration,
    unstuck_diagnosis::history::Moment,
    unstuck_diagnosis::{GroupId, Published},
};

/// How long a dashboard waits for the open incidents.
#[cfg(feature = "ssr")]
const OPEN_INCIDENTS_DEADLINE: Duration = Duration::from_millis(300);
/// How long a live page waits for what happened.
#[cfg(feature = "ssr")]
const HISTORY_DEADLINE: Duration = Duration::from_millis(500);
/// How long a page waits that consists of what was kept.
#[cfg(feature = "ssr")]
const KEPT_DEADLINE: Duration = Duration::from_secs(10);
/// What is said when it takes longer.
#[cfg(feature = "ssr")]
const NOT_IN_TIME: &str = "History could not be read in time.";

/// How long a page waits for the details of a group, whatever the source's own deadline is.
#[cfg(feature = "ssr")]
const DETAILS_DEADLINE: Duration = Duration::from_millis(1_500);

#[cfg(feature = "ssr")]
fn source() -> Result<Arc<dyn Source>, ServerFnError> {
    use_context::<Arc<dyn Source>>().ok_or_else(|| ServerFnError::new("the server gave the pages no source"))
}

/// How the drill is going, for whoever looks.
#[cfg(feature = "ssr")]
fn drill(source: &dyn Source) -> Option<crate::model::DrillState> {
    let only_read = crate::source::Visitor::here().only_reads;
    source.drill().map(|drill| crate::model::DrillState { only_read, ..drill })
}

/// Looks a cluster up and makes a page of it.
#[cfg(feature = "ssr")]
fn with_cluster<T: AboutCluster>(
    cluster: &str,
    page: impl FnOnce(&Published) -> Found<T>,
) -> Result<Found<T>, ServerFnError> {
    let source = source()?;
    let Some(published) = source.published(cluster) else { return Ok(no_cluster(cluster, &*source)) };
    let mut found = page(&published);
    if let Found::Here(model) = &mut found
        && let Some(head) = model.head_mut()
    {
        head.not_remembered = source.not_remembered(cluster);
    }
    Ok(found)
}

/// Waits for what was kept, for a while.
#[cfg(feature = "ssr")]
async fn kept<T>(deadline: Duration, answer: crate::source::Answer<'_, Result<T, String>>) -> Result<T, String> {
    tokio::time::timeout(deadline, answer).await.unwrap_or_else(|_elapsed| Err(NOT_IN_TIME.to_owned()))
}

/// What a dashboard says of incidents. Without the open ones if they cannot be read at once: the verdict comes first.
#[cfg(feature = "ssr")]
async fn remembered(source: &dyn Source, published: &Published) -> Option<Remembered> {
    if !source.keeps() {
        return None;
    }
    let cluster = &published.report.cluster;
    let all = kept(OPEN_INCIDENTS_DEADLINE, source.incidents(Some(cluster), None)).await.unwrap_or_default();
    let open: Vec<_> = all.into_iter().filter(|one| one.closed.is_none()).collect();
    Some(incidents::remembered(cluster, &open, published.report.observed_at))
}

/// What history is asked of; `None` if nothing can be of that name.
#[cfg(feature = "ssr")]
fn asked_of(source: &dyn Source, published: &Published, about: &About) -> Option<Of> {
    match about {
        About::Cluster => Some(Of::Cluster),
        About::Partition(number) => number.parse().ok().map(Of::Partition),
        About::Broker(id) => id.parse().ok().map(Of::Broker),
        About::Group(key) => {
            let group = group_of(source, &published.report.cluster, key)?;
            let placed = published.lookup_one(&group).placement.map(|placement| placement.partition);
            Some(Of::Group(group, placed))
        }
    }
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
    let clusters = source.clusters();
    let mut model = OverviewModel::of(&clusters, drill(&*source));
    if let (OverviewModel::One(cluster), Some(published)) = (&mut model, clusters.first()) {
        cluster.head.not_remembered = source.not_remembered(&cluster.head.cluster);
        cluster.remembered = remembered(&*source, published).await;
    }
    Ok(Found::Here(model))
}

/// The dashboard of one cluster.
#[server(prefix = "/_page", endpoint = "cluster", input = Json)]
pub(crate) async fn cluster(cluster: String) -> Result<Found<ClusterModel>, ServerFnError> {
    let source = source()?;
    let remembered = match source.published(&cluster) {
        Some(published) => remembered(&*source, &published).await,
        None => None,
    };
    with_cluster(&cluster, |published| {
        Found::Here(ClusterModel { remembered, ..ClusterModel::of(published, drill(&*source)) })
    })
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
    if let Some(why) = nobody_to_ask(&published, &group) {
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

/// What happened to what the page at an address is about, as the HTML of a card; empty if nothing is kept.
#[server(prefix = "/_page", endpoint = "happened", input = Json)]
pub(crate) async fn happened(address: String) -> Result<String, ServerFnError> {
    let source = source()?;
    let Some((cluster, about)) = About::at(&address) else { return Ok(String::new()) };
    let Some(published) = source.published(&cluster).filter(|_| source.keeps()) else { return Ok(String::new()) };
    let Some(of) = asked_of(&*source, &published, &about) else { return Ok(String::new()) };
    let history = kept(HISTORY_DEADLINE, source.history(&cluster, &of.subjects(), None)).await;
    Ok(history::card_html(&cluster, &of, &history, published.report.observed_at))
}

/// The page at an address, of those that the server writes: of the handbook, a plan, an incident, history.
#[server(prefix = "/_page", endpoint = "written", input = Json)]
pub(crate) async fn written_page(address: String) -> Result<Found<Written>, ServerFnError> {
    let source = source()?;
    let Some(key) = WrittenKey::at(&address) else {
        return Ok(Found::Missing(Missing {
            heading: "There is no page at this address".to_owned(),
            links: vec![("all clusters".to_owned(), "/".to_owned())],
            ..Missing::default()
        }));
    };
    let about = match &key {
        WrittenKey::Plan { cluster, .. } | WrittenKey::History { cluster, .. } => Some(cluster.clone()),
        WrittenKey::Incidents { cluster, .. } => cluster.clone(),
        WrittenKey::Handbook(_) | WrittenKey::Incident { .. } => None,
    };
    let mut found = match key {
        WrittenKey::Handbook(slug) if slug.is_empty() => Found::Here(crate::written::handbook::all()),
        WrittenKey::Handbook(slug) => crate::written::handbook::chapter(&slug),
        WrittenKey::Plan { cluster, plan, broker } => match source.published(&cluster) {
            Some(published) => crate::written::plan::plan(&published, &plan, broker.as_deref()),
            None => no_cluster(&cluster, &*source),
        },
        WrittenKey::Incident { id, moment } => incident_page(&*source, &id, moment.as_deref()).await,
        WrittenKey::Incidents { cluster, before } => {
            incidents_page(&*source, cluster.as_deref(), before.as_deref()).await
        }
        WrittenKey::History { cluster, about, before } => {
            history_page(&*source, &cluster, &about, before.as_deref()).await
        }
    };
    if let (Found::Here(page), Some(cluster)) = (&mut found, about)
        && let Some(why) = source.not_remembered(&cluster)
    {
        page.detail = format!("{} {why}", page.detail);
    }
    Ok(found)
}

#[cfg(feature = "ssr")]
async fn incident_page(source: &dyn Source, id: &str, moment: Option<&str>) -> Found<Written> {
    let moment = moment.and_then(|word| Moment::ALL.into_iter().find(|one| one.slug() == word));
    match kept(KEPT_DEADLINE, source.incident(id, moment)).await {
        Ok(Some(view)) => Found::Here(incident::page(&view, own_address().as_deref())),
        Ok(None) => Found::Missing(incident::missing(id, source.keeps())),
        Err(_) if !source.keeps() => Found::Missing(incident::missing(id, false)),
        Err(why) => incident::unreadable(&why),
    }
}

/// Where this server is for whoever asks: chats want the whole address of a picture.
#[cfg(feature = "ssr")]
fn own_address() -> Option<String> {
    let asked = use_context::<http::request::Parts>()?;
    let header = |name: &str| asked.headers.get(name).and_then(|value| value.to_str().ok());
    let plain = |letter: char| letter.is_ascii_alphanumeric() || ".:-[]".contains(letter);
    let host = header("host").filter(|host| !host.is_empty() && host.chars().all(plain))?;
    let scheme = if header("x-forwarded-proto") == Some("https") { "https" } else { "http" };
    Some(format!("{scheme}://{host}"))
}

#[cfg(feature = "ssr")]
async fn incidents_page(source: &dyn Source, cluster: Option<&str>, before: Option<&str>) -> Found<Written> {
    if !source.keeps() {
        return Found::Missing(incident::not_kept("This Unstuck keeps no incidents"));
    }
    let before = time_of(before);
    let all = match kept(KEPT_DEADLINE, source.incidents(cluster, before)).await {
        Ok(all) => all,
        Err(why) => return incident::unreadable(&why),
    };
    let now = match cluster {
        Some(cluster) => match source.published(cluster) {
            Some(published) => Some(published.report.observed_at),
            // Incidents outlive a cluster's place in the configuration.
            None if all.is_empty() => return no_cluster(cluster, source),
            None => None,
        },
        None => source.clusters().iter().map(|one| one.report.observed_at).max(),
    };
    Found::Here(incidents::list(cluster, all, before, now))
}

#[cfg(feature = "ssr")]
async fn history_page(source: &dyn Source, cluster: &str, about: &About, before: Option<&str>) -> Found<Written> {
    let Some(published) = source.published(cluster) else { return no_cluster(cluster, source) };
    if !source.keeps() {
        return Found::Missing(incident::not_kept("This Unstuck keeps no history"));
    }
    let Some(of) = asked_of(source, &published, about) else {
        return Found::Missing(Missing {
            heading: "History of what?".to_owned(),
            sentence: "The address names no partition, broker or group.".to_owned(),
            links: vec![(format!("cluster {cluster}"), cluster_href(cluster))],
            ..Missing::default()
        });
    };
    let before = time_of(before);
    match kept(KEPT_DEADLINE, source.history(cluster, &of.subjects(), before)).await {
        Ok(history) => Found::Here(history::page(cluster, &of, &history, before, published.report.observed_at)),
        Err(why) => incident::unreadable(&why),
    }
}
