//! Pages that the server writes: the handbook, plans, incidents and history. Nothing on them changes while they are read.

use leptos::prelude::*;
use leptos_meta::Meta;

use super::{answer, param};
use crate::fetch;
use crate::live::use_live;
use crate::model::Written;
use crate::part::{ClusterFindBox, PageTitle, page_address};

/// A page that the server writes. The mark in the head of the page still says whether Unstuck is there.
#[component]
pub(crate) fn WrittenPage() -> impl IntoView {
    let cluster = param("cluster");
    let live = use_live();
    Effect::new(move |_| live.follow(None));
    on_cleanup(move || live.left());
    let address = page_address();
    let page = Resource::new(move || address.get(), fetch::written_page);
    view! {
        {cluster.with_untracked(|name| !name.is_empty()).then(|| view! { <ClusterFindBox cluster/> })}
        <Transition fallback=|| view! { <p class="wait">"Looking…"</p> }>
            {move || answer(page, show)}
        </Transition>
    }
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
