//! What stops with a broker or a rack: told before somebody stops it.

use leptos::prelude::*;
use unstuck_diagnosis::BrokerId;

use super::{broker_links, card};
use crate::model::{Masthead, RackLine, Stops, WhatIf};
use crate::text::{amount, partition_href, plan_href};

/// For the page of a broker.
pub(crate) fn before_you_stop(head: &Masthead, broker: BrokerId, what: Option<WhatIf>) -> AnyView {
    let href = plan_href(&head.cluster, "evacuate", Some(broker));
    let body = view! {
        {consequences(head, what)}
        <p><a href=href>"A plan that moves its partitions of __consumer_offsets away first"</a></p>
    };
    card("Before you stop this broker", body)
}

/// The racks, each with what stops with it.
pub(crate) fn racks_card(head: &Masthead, racks: Vec<RackLine>) -> Option<AnyView> {
    if racks.is_empty() {
        return None;
    }
    let racks = racks.into_iter().map(|rack| {
        view! {
            <div class="finding">
                <h3>{format!("Rack {}: brokers ", rack.rack)}{broker_links(&head.cluster, &rack.brokers)}</h3>
                {consequences(head, rack.stops)}
            </div>
        }
    });
    Some(card("If a rack stops", racks.collect_view()))
}

/// How bad it is, in a word on its colour.
pub(crate) fn stops_tag(stops: Stops) -> AnyView {
    let (tone, word) = stops.words();
    view! { <span class=format!("tag {tone}")>{word}</span> }.into_any()
}

/// In sentences, worst first, and with the partitions whose groups would stand still.
fn consequences(head: &Masthead, what: Option<WhatIf>) -> AnyView {
    let Some(what) = what else {
        let words = "It is down already, or nothing current is known of it: what would stop cannot be told.";
        return view! { <p class="soft">{words}</p> }.into_any();
    };
    let links = what.partitions.iter().map(|&partition| {
        view! { <a href=partition_href(&head.cluster, partition)>{partition}</a>" " }
    });
    let hit = (!what.partitions.is_empty()).then(|| {
        let rest = (what.more > 0).then(|| format!("and {} more", amount(what.more)));
        view! { <p class="soft">"Partitions: "{links.collect_view()}{rest}</p> }
    });
    let said = what.sentences.into_iter().chain(what.not_known).map(|sentence| view! { <li>{sentence}</li> });
    view! {
        <p>{stops_tag(what.stops)}" "<strong>{what.title}</strong></p>
        <ul class="lines">{said.collect_view()}</ul>
        {hit}
    }
    .into_any()
}
