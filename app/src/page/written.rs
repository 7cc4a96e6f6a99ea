//! Pages that the server writes: the handbook, plans, incidents and history. Nothing on them changes while they are read.

use leptos::prelude::*;
use leptos_meta::Meta;
use leptos_router::hooks::use_location;

use super::{answer, param};
use crate::fetch;
use crate::live::use_live;
use crate::model::{About, GroupKey, Written, WrittenKey};
use crate::part::{ClusterFindBox, PageTitle};
use crate::text::query_value;

/// All findings, or one chapter.
#[component]
pub(crate) fn HandbookPage() -> impl IntoView {
    let slug = param("slug");
    written(Memo::new(move |_| WrittenKey::Handbook(slug.get())))
}

/// A plan for the offsets topic.
#[component]
pub(crate) fn PlanPage() -> impl IntoView {
    let (cluster, plan) = (param("cluster"), param("plan"));
    let broker = query("broker");
    let key = Memo::new(move |_| WrittenKey::Plan { cluster: cluster.get(), plan: plan.get(), broker: broker.get() });
    view! {
        <ClusterFindBox cluster/>
        {written(key)}
    }
}

/// An incident, then and now.
#[component]
pub(crate) fn IncidentPage() -> impl IntoView {
    let id = param("id");
    let moment = query("moment");
    written(Memo::new(move |_| WrittenKey::Incident { id: id.get(), moment: moment.get() }))
}

/// The incidents of all clusters.
#[component]
pub(crate) fn IncidentsPage() -> impl IntoView {
    let before = query("before");
    written(Memo::new(move |_| WrittenKey::Incidents { cluster: None, before: before.get() }))
}

/// The incidents of one cluster.
#[component]
pub(crate) fn ClusterIncidentsPage() -> impl IntoView {
    let (cluster, before) = (param("cluster"), query("before"));
    let key = Memo::new(move |_| WrittenKey::Incidents { cluster: Some(cluster.get()), before: before.get() });
    view! {
        <ClusterFindBox cluster/>
        {written(key)}
    }
}

/// What happened to something of a cluster.
#[component]
pub(crate) fn HistoryPage() -> impl IntoView {
    let cluster = param("cluster");
    let (before, partition, broker) = (query("before"), query("partition"), query("broker"));
    let (group, digest) = (query("group"), query("digest"));
    let key = Memo::new(move |_| {
        let about = if let Some(partition) = partition.get() {
            About::Partition(partition)
        } else if let Some(broker) = broker.get() {
            About::Broker(broker)
        } else if let Some(group) = group.get() {
            About::Group(GroupKey::Id(group))
        } else if let Some(digest) = digest.get() {
            About::Group(GroupKey::Digest(digest))
        } else {
            About::Cluster
        };
        WrittenKey::History { cluster: cluster.get(), about, before: before.get() }
    });
    view! {
        <ClusterFindBox cluster/>
        {written(key)}
    }
}

/// A value of the address's query.
fn query(name: &'static str) -> Memo<Option<String>> {
    let search = use_location().search;
    Memo::new(move |_| search.with(|search| query_value(search, name)))
}

/// The mark in the head of the page still says whether Unstuck is there.
fn written(key: Memo<WrittenKey>) -> AnyView {
    let live = use_live();
    Effect::new(move |_| live.follow(None));
    on_cleanup(move || live.left());
    let page = Resource::new(move || key.get(), fetch::written_page);
    view! {
        <Transition fallback=|| view! { <p class="wait">"Looking…"</p> }>
            {move || answer(page, show)}
        </Transition>
    }
    .into_any()
}

fn show(page: Written) -> AnyView {
    let Written { title, up, tone, heading, detail, meta, html } = page;
    let meta = meta.into_iter().map(|(name, content)| {
        // Chats read `property`, search engines `name`; each ignores the other.
        view! { <Meta name=name.clone() property=name content/> }
    });
    view! {
        <PageTitle text=format!("{title} · Unstuck")/>
        {meta.collect_view()}
        {up.map(|(label, href)| view! { <p class="eyebrow"><a href=href>{label}</a></p> })}
        <section class=format!("headline {tone}")>
            <h1>{heading}</h1>
            <p class="detail">{detail}</p>
        </section>
        <div class="columns" inner_html=html></div>
    }
    .into_any()
}
