//! What happened to the thing that a page is about. The server writes it; it never holds up the verdict.

use leptos::prelude::*;

use super::card;
use crate::fetch;
use crate::live::use_live;
use crate::model::About;

/// How many looks at details lie between two of what happened.
const TICKS: u32 = 6;

/// The card, loaded on its own.
#[component]
pub(crate) fn WhatHappened(
    /// The cluster, and what of it.
    of: Memo<(String, About)>,
) -> impl IntoView {
    let live = use_live();
    let told = Resource::new(
        move || (of.get(), live.details_tick() / TICKS),
        |((cluster, about), _)| fetch::happened(cluster, about),
    );
    view! {
        <Transition>
            {move || Suspend::new(async move {
                let html = told.await.unwrap_or_else(|_| "Unstuck did not answer.".to_owned());
                (!html.is_empty()).then(|| card("What happened", view! { <div inner_html=html></div> }))
            })}
        </Transition>
    }
}
