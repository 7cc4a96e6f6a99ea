//! Pages that the server writes: the handbook, and plans. Nothing on them changes while they are read.

use leptos::prelude::*;
use leptos_meta::Meta;
use leptos_router::hooks::use_location;

use super::{answer, param};
use crate::fetch;
use crate::live::use_live;
use crate::model::{Written, WrittenKey};
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
    let search = use_location().search;
    let key = Memo::new(move |_| {
        let broker = search.with(|search| query_value(search, "broker"));
        WrittenKey::Plan { cluster: cluster.get(), plan: plan.get(), broker }
    });
    view! {
        <ClusterFindBox cluster/>
        {written(key)}
    }
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
    let Written { title, up, heading, detail, html } = page;
    view! {
        <PageTitle text=format!("{title} · Unstuck")/>
        <Meta name="description" content=heading.clone()/>
        {up.map(|(label, href)| view! { <p class="eyebrow"><a href=href>{label}</a></p> })}
        <section class="headline s-look">
            <h1>{heading}</h1>
            <p class="detail">{detail}</p>
        </section>
        <div class="columns" inner_html=html></div>
    }
    .into_any()
}
