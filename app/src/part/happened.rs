//! What happened to the thing that a page is about. The server writes it; it never holds up the verdict.

use leptos::prelude::*;
use leptos_router::hooks::{use_location, use_params_map};

use super::card;
use crate::fetch;
use crate::live::use_live;

/// How many looks at details lie between two of what happened.
const TICKS: u32 = 6;

/// The card, loaded on its own.
#[component]
pub(crate) fn WhatHappened() -> impl IntoView {
    let (live, address) = (use_live(), page_address());
    let told =
        Resource::new(move || (address.get(), live.details_tick() / TICKS), |(address, _)| fetch::happened(address));
    view! {
        <Transition>
            {move || Suspend::new(async move {
                let html = told.await.unwrap_or_else(|_| "Unstuck did not answer.".to_owned());
                (!html.is_empty()).then(|| card("What happened", view! { <div inner_html=html></div> }))
            })}
        </Transition>
    }
}

/// The address of the page, path and query, as long as it is this page. The server knows what it means.
pub(crate) fn page_address() -> Memo<String> {
    let (location, params) = (use_location(), use_params_map());
    Memo::new(move |_| {
        // The path of the page that one goes to next is no news for this one.
        params.track();
        let search = location.search.get();
        location.pathname.with_untracked(|path| format!("{path}?{}", search.trim_start_matches('?')))
    })
}
