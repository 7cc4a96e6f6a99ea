//! What each broker believes about a partition, side by side.

use leptos::prelude::*;
use unstuck_diagnosis::report::ViewReport;

use super::{Head, table};
use crate::model::Masthead;
use crate::text::{broker_href, clock, id_or_none, ids, or_dash, shard_words};

/// One row for each broker that was asked; those that did not answer say why.
pub(crate) fn views_table(head: &Masthead, views: Vec<ViewReport>) -> AnyView {
    let with_controller = views.iter().any(|view| view.controller.is_some());
    // What differs from the newest answer is marked: disagreement is what the table is for.
    let newest = views
        .iter()
        .filter(|view| view.answered_at.is_some())
        .max_by_key(|view| view.answered_at)
        .map(|view| (view.leader, view.leader_epoch));
    let span = if with_controller { "7" } else { "6" };
    let rows = views.into_iter().map(|one| {
        let href = broker_href(&head.cluster, one.broker);
        let head_cell = view! { <th scope="row" class="when"><a href=href>{format!("broker {}", one.broker)}</a></th> };
        let Some(at) = one.answered_at else {
            let why = format!("no answer: {}", one.error.unwrap_or_else(|| "not asked yet".to_owned()));
            return view! { <tr>{head_cell}<td colspan=span class="bad">{why}</td></tr> }.into_any();
        };
        let differs = newest.is_some_and(|newest| newest != (one.leader, one.leader_epoch));
        let class = if differs { "differs" } else { "" };
        let error = one.error.map(|error| view! { <span class="answer-note">{error}</span> });
        let controller =
            with_controller.then(|| view! { <td data-label="controller">{id_or_none(one.controller)}</td> });
        view! {
            <tr class=class>
                {head_cell}
                <td data-label="leader">{id_or_none(one.leader)}</td>
                <td data-label="epoch">{or_dash(one.leader_epoch)}</td>
                <td data-label="ISR">{ids(&one.isr)}</td>
                {controller}
                <td data-label="brokers it sees">{ids(&one.sees_brokers)}</td>
                <td data-label="as coordinator">{shard_words(one.shard)}</td>
                <td data-label="answered">
                    <span class="when">{clock(at, head.observed_at)}</span>
                    {error}
                </td>
            </tr>
        }
        .into_any()
    });
    let mut heads = vec![Head::text("asked"), Head::text("leader"), Head::text("epoch"), Head::text("ISR")];
    heads.extend(with_controller.then(|| Head::text("controller")));
    heads.extend([Head::text("brokers it sees"), Head::text("as coordinator"), Head::text("answered")]);
    table("Each broker’s own view of the partition", heads, rows.collect_view())
}
