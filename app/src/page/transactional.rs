//! One transactional id.

use leptos::prelude::*;
use leptos_router::hooks::use_location;
use unstuck_diagnosis::report::Shard;
use unstuck_diagnosis::transactional::{TransactionDetail, TransactionView};
use unstuck_diagnosis::visible;

use super::{live_page, param};
use crate::fetch;
use crate::live::use_live;
use crate::model::{Masthead, TransactionModel, TransactionalModel};
use crate::part::{ClusterFindBox, Frame, Head, broker_links, card, findings_of, framed, group_id, next_step, table};
use crate::text::{clock, ids, or_dash, query_value, status_word};

/// One transactional id.
#[component]
pub(crate) fn TransactionalPage() -> impl IntoView {
    let cluster = param("cluster");
    let search = use_location().search;
    let id = Memo::new(move |_| search.with(|search| query_value(search, "id")).unwrap_or_default());
    let both = Memo::new(move |_| (cluster.get(), id.get()));
    let live = use_live();
    Effect::new(move |_| live.follow(Some(cluster.get())));
    view! {
        <ClusterFindBox cluster transactional=true/>
        {live_page(
            both,
            |(cluster, id)| fetch::transactional(cluster, id),
            |model: &TransactionalModel| model.head.seqs(),
            show,
        )}
        <Transaction both/>
    }
}

fn show(model: TransactionalModel) -> AnyView {
    let TransactionalModel { head, answer, next, evidence } = model;
    let verdict = answer.verdict;
    let frame = Frame {
        title: format!("{}: {}", status_word(verdict.status), answer.transactional_id.visible()),
        status: verdict.status,
        sentence: verdict.sentence,
        detail: verdict.outlook,
        since_after: verdict.since_after,
        since: verdict.since,
        expected_by: verdict.expected_by,
    };
    let place = answer.placement.map(|placement| view! { <p class="mono">{placement.sentence}</p> });
    let coordinator = answer.coordinator.map(|one| {
        let leader = match (one.leader, one.address) {
            (Some(leader), Some(address)) => format!("broker {leader} ({address})"),
            (Some(leader), None) => format!("broker {leader}"),
            (None, _) => "none".to_owned(),
        };
        view! {
            <dl class="facts">
                <div><dt>"leader"</dt><dd>{leader}</dd></div>
                <div><dt>"leader epoch"</dt><dd>{or_dash(one.leader_epoch)}</dd></div>
                <div><dt>"coordinator says"</dt><dd>{says(one.shard)}</dd></div>
                <div><dt>"replicas"</dt><dd>{ids(&one.replicas)}</dd></div>
                <div><dt>"ISR"</dt><dd>{ids(&one.isr)}</dd></div>
                <div><dt>"min.insync.replicas"</dt><dd>{or_dash(one.min_insync_replicas)}</dd></div>
            </dl>
        }
    });
    let views = (!answer.views.is_empty())
        .then(|| card("What each broker believes about its partition", views_of(&head, answer.views)));
    let why = findings_of(&head, &evidence).map(|findings| card("Why Unstuck says so", findings));
    let main = view! { {next_step(next)}{views}{why} };
    let side = card(
        "Where it lives",
        view! {
            <p>{group_id(&answer.transactional_id)}</p>
            {place}
            {coordinator}
        },
    );
    framed(head, frame, main, side)
}

fn says(shard: Shard) -> &'static str {
    match shard {
        Shard::Serving => "serves",
        Shard::Loading => "loading",
        Shard::Failed | Shard::NotServed => "does not serve it",
        Shard::Denied => "may not be asked",
        Shard::Unknown => "no answer",
    }
}

fn views_of(head: &Masthead, views: Vec<TransactionView>) -> AnyView {
    let rows: Vec<_> = views
        .into_iter()
        .map(|one| {
            let leader = one.leader.map_or_else(|| "none".to_owned(), |leader| leader.to_string());
            view! {
                <tr>
                    <th scope="row">"broker "{broker_links(&head.cluster, &[one.broker])}</th>
                    <td data-label="leader">{leader}</td>
                    <td data-label="epoch" class="num">{or_dash(one.leader_epoch)}</td>
                    <td data-label="ISR">{ids(&one.isr)}</td>
                    <td data-label="as coordinator">{says(one.shard)}</td>
                </tr>
            }
        })
        .collect();
    let heads = vec![
        Head::text("broker"),
        Head::text("leader"),
        Head::number("epoch"),
        Head::text("ISR"),
        Head::text("as coordinator"),
    ];
    table("What each broker believes about its partition", heads, rows)
}

/// What the coordinator tells about the transaction: asked for on its own, so that it never holds up the verdict.
#[component]
fn Transaction(both: Memo<(String, String)>) -> impl IntoView {
    let live = use_live();
    let told =
        Resource::new(move || (both.get(), live.details_tick()), |((cluster, id), _)| fetch::transaction(cluster, id));
    view! {
        <Transition fallback=|| card("Transaction", view! { <p class="wait">"Asking the coordinator…"</p> })>
            {move || Suspend::new(async move {
                let body = match told.await {
                    Ok(TransactionModel { answer: None }) => return ().into_any(),
                    Ok(TransactionModel { answer: Some(Ok(detail)) }) => transaction(detail),
                    Ok(TransactionModel { answer: Some(Err(why)) }) => view! { <p class="soft">{why}</p> }.into_any(),
                    Err(_) => view! { <p class="soft">"Unstuck did not answer."</p> }.into_any(),
                };
                card("Transaction", body)
            })}
        </Transition>
    }
}

fn transaction(detail: TransactionDetail) -> AnyView {
    let sentence = detail.sentence();
    let producer = detail.state.is_some().then(|| {
        let partitions: Vec<String> = detail
            .partitions
            .iter()
            .map(|topic| {
                let numbers: Vec<String> = topic.partitions.iter().map(ToString::to_string).collect();
                format!("{}: {}", visible(&topic.topic), numbers.join(", "))
            })
            .collect();
        let partitions = if partitions.is_empty() { "none".to_owned() } else { partitions.join("; ") };
        view! {
            <dl class="facts">
                <div><dt>"producer id"</dt><dd>{detail.producer_id}</dd></div>
                <div><dt>"producer epoch"</dt><dd>{detail.producer_epoch}</dd></div>
                <div><dt>"partitions"</dt><dd class="mono">{partitions}</dd></div>
            </dl>
        }
    });
    view! {
        <p>{sentence}</p>
        {producer}
        <p class="soft">{format!("Broker {} answered at {}.", detail.answered_by, clock(detail.at, detail.at))}</p>
    }
    .into_any()
}
