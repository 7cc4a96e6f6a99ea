//! One group.

use leptos::prelude::*;
use leptos_meta::Meta;
use leptos_router::hooks::use_location;
use unstuck_diagnosis::report::Status;

use super::{live_page, param};
use crate::fetch;
use crate::live::use_live;
use crate::model::{DetailsModel, GroupKey, GroupModel};
use crate::part::{
    ClusterFindBox, Columns, PageTitle, SinceLine, WhatHappened, card, chain, could_not_card, group_id, group_table,
    inside, next_step, sentence_with_id, views_table, why_card,
};
use crate::text::{amount, count, partition_href, query_value, status_class, status_word};

/// One group.
#[component]
pub(crate) fn GroupPage() -> impl IntoView {
    let cluster = param("cluster");
    let search = use_location().search;
    let key = Memo::new(move |_| {
        search.with(|search| match (query_value(search, "group"), query_value(search, "digest")) {
            (Some(group), _) => GroupKey::Id(group),
            (None, Some(digest)) => GroupKey::Digest(digest),
            (None, None) => GroupKey::None,
        })
    });
    let both = Memo::new(move |_| (cluster.get(), key.get()));
    let live = use_live();
    Effect::new(move |_| live.follow(Some(cluster.get())));
    view! {
        <ClusterFindBox cluster/>
        {live_page(both, |(cluster, key)| fetch::group(cluster, key), |model: &GroupModel| model.head.seqs(), show)}
        <Details both/>
        <WhatHappened/>
    }
}

fn show(model: GroupModel) -> AnyView {
    let GroupModel { head, group, verdict, partition, shared, also_hit_partitions, views, known, .. } = model;
    let (links, next, evidence, members) = (model.chain, model.next, model.evidence, model.members);
    let title = format!("{}: {} · {} · Unstuck", status_word(verdict.status), group.visible(), head.cluster);
    let also_hit = (also_hit_partitions > 0).then(|| {
        let others = count(also_hit_partitions, "other partition");
        match verdict.status {
            Status::Stuck | Status::Recovering => format!("Also hit: {others}."),
            _ => format!("The same holds for {others}."),
        }
    });
    let shared_card = partition.map(|partition| {
        let body = if shared.count == 0 {
            view! { <p class="soft">"No other group was seen on this partition."</p> }.into_any()
        } else {
            let shown = shared.groups.len();
            let more = (shared.count > shown).then(|| {
                view! {
                    <p class="soft">
                        {format!("{} of {} shown. ", amount(shown), amount(shared.count))}
                        <a href=partition_href(&head.cluster, partition)>"More on the partition’s page"</a>
                    </p>
                }
            });
            view! {
                {group_table(&head, "Groups that share this partition", &shared.groups, Columns::Brief)}
                {more}
            }
            .into_any()
        };
        card_with_link(
            &format!("Also on partition {partition}: {}", count(shared.count, "group")),
            &partition_href(&head.cluster, partition),
            "partition",
            body,
        )
    });
    let views_title = partition.map_or_else(
        || "What each broker believes".to_owned(),
        |partition| format!("What each broker believes about partition {partition}"),
    );
    let layout = if next.is_some() { "columns with-chain" } else { "columns with-chain no-next" };
    view! {
        <PageTitle text=title/>
        <Meta name="description" content=verdict.sentence.clone()/>
        <section class=format!("headline {}", status_class(verdict.status))>
            <h1 aria-live="polite">{sentence_with_id(&verdict.sentence, &group)}</h1>
            <p class="detail">
                {verdict.outlook.clone().map(|outlook| format!("{outlook} "))}
                {also_hit}
            </p>
            <SinceLine
                head=head.clone()
                status=verdict.status
                since=verdict.since
                after=verdict.since_after
                expected_by=verdict.expected_by
            />
        </section>
        <div class=layout>
            {next_step(next)}
            {chain(links, &group)}
            <div class="main-col">
                {(!views.is_empty()).then(|| card(&views_title, views_table(&head, views)))}
                {why_card(&head, &evidence)}
            </div>
            <div class="side-col">
                {shared_card}
                {card("What is known of the group", view! {
                    <p>{group_id(&group)}</p>
                    <p class="soft">{known}</p>
                    {members.map(|members| view! { <p class="soft">{members}</p> })}
                })}
                {could_not_card(&evidence)}
            </div>
        </div>
    }
    .into_any()
}

fn card_with_link(title: &str, href: &str, link: &str, body: impl IntoView + 'static) -> AnyView {
    let (href, link) = (href.to_owned(), link.to_owned());
    card(
        title,
        view! {
            <a class="card-link" href=href>{link}</a>
            {body}
        },
    )
}

/// What the coordinator tells about the group: asked for on its own, so that it never holds up the verdict.
#[component]
fn Details(both: Memo<(String, GroupKey)>) -> impl IntoView {
    let live = use_live();
    let details = Resource::new(
        move || (both.get(), live.details_tick()),
        |((cluster, key), _)| fetch::group_details(cluster, key),
    );
    view! {
        <Transition fallback=|| {
            card("Members and offsets", view! { <p class="wait">"Asking the coordinator…"</p> })
        }>
            {move || Suspend::new(async move {
                let body = match details.await {
                    Ok(DetailsModel { answer: None }) => return ().into_any(),
                    Ok(DetailsModel { answer: Some(Ok(told)) }) => inside(told),
                    Ok(DetailsModel { answer: Some(Err(why)) }) => view! { <p class="soft">{why}</p> }.into_any(),
                    Err(_) => view! { <p class="soft">"Unstuck did not answer."</p> }.into_any(),
                };
                card("Members and offsets", body)
            })}
        </Transition>
    }
}
