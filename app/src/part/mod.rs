//! What pages are made of.

mod chain;
mod dashboard;
mod drill;
mod evidence;
mod find;
mod frame;
mod groups;
mod happened;
mod inside;
mod map;
mod remedy;
mod table;
mod views;
mod what_if;

use jiff::Timestamp;
use leptos::prelude::*;
use leptos_meta::Title;
use unstuck_diagnosis::report::{Bound, Status};
use unstuck_diagnosis::{BrokerId, GroupId};

pub(crate) use chain::chain;
pub(crate) use dashboard::dashboard;
pub(crate) use drill::{DrillBanner, drill_panel};
pub(crate) use evidence::{could_not_card, findings_of, why_card};
pub(crate) use find::{ClusterFindBox, FindBox};
pub(crate) use frame::{Frame, framed};
pub(crate) use groups::{Columns, group_table};
pub(crate) use happened::{WhatHappened, page_address};
pub(crate) use inside::inside;
pub(crate) use map::{cells, legend, map_card};
pub(crate) use remedy::{avoided, coded, command, copy_on_click, next_step, remedies};
pub(crate) use table::{Head, table};
pub(crate) use views::views_table;
pub(crate) use what_if::{before_you_stop, racks_card, stops_tag};

use crate::model::Masthead;
use crate::text::{broker_href, clock, span, status_class, status_word};

/// A framed part of a page.
pub(crate) fn card(title: &str, body: impl IntoView + 'static) -> AnyView {
    let title = title.to_owned();
    view! {
        <section class="card">
            <h2>{title}</h2>
            {body}
        </section>
    }
    .into_any()
}

/// The document's title.
///
/// On the server leptos writes titles into the page as they are, without escaping; and a title may hold a group id,
/// which may hold any characters. In the browser a title is plain text.
#[component]
pub(crate) fn PageTitle(
    /// The title, plain text.
    text: String,
) -> impl IntoView {
    #[cfg(feature = "ssr")]
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    view! { <Title text/> }
}

/// A status as a word on its colour.
pub(crate) fn status_tag(status: Status) -> AnyView {
    view! { <span class=format!("tag {}", status_class(status))>{status_word(status)}</span> }.into_any()
}

/// Brokers as links to their pages; `none` if there are none.
pub(crate) fn broker_links(cluster: &str, brokers: &[BrokerId]) -> AnyView {
    if brokers.is_empty() {
        return view! { <span class="soft">"none"</span> }.into_any();
    }
    let links = brokers.iter().enumerate().map(|(at, &broker)| {
        let comma = if at == 0 { "" } else { ", " };
        view! { {comma}<a href=broker_href(cluster, broker)>{broker}</a> }
    });
    links.collect_view().into_any()
}

/// A group id as people can read it: monospace, in the order of its characters, its direction kept to itself.
pub(crate) fn group_id(group: &GroupId) -> AnyView {
    let shown = group.visible();
    view! { <bdi class="id" dir="ltr" title=shown.clone()>{shown.clone()}</bdi> }.into_any()
}

/// A sentence with the group's id in it, the id set apart.
pub(crate) fn sentence_with_id(sentence: &str, group: &GroupId) -> AnyView {
    match sentence.split_once(&group.visible()) {
        Some((before, after)) => {
            let (before, after) = (before.to_owned(), after.to_owned());
            view! { {before}{group_id(group)}{after} }.into_any()
        }
        None => view! { {sentence.to_owned()} }.into_any(),
    }
}

/// Since when, until when, and when that was seen. Apart from the sentence, so that a screen reader hears news only.
#[component]
pub(crate) fn SinceLine(
    /// Which cluster, seen when.
    head: Masthead,
    /// What has been so since.
    status: Status,
    /// Since when; `None` if it was so when looking began.
    since: Option<Timestamp>,
    /// When it was last seen to be otherwise, where nobody looked in between.
    after: Option<Timestamp>,
    /// By when it should be over.
    expected_by: Option<Bound>,
) -> impl IntoView {
    let seen = head.observed_at;
    let quiet = matches!(status, Status::Working | Status::LookAtGroup);
    let since = match since {
        Some(since) if after.is_some() => {
            let after = after.map_or_else(String::new, |after| clock(after, seen));
            Some((
                format!("{} and {}", after.trim_end_matches(" UTC"), clock(since, seen)),
                "(Unstuck did not look in between)".to_owned(),
            ))
        }
        Some(since) => Some((clock(since, seen), format!("({})", span(since, seen)))),
        None if quiet || status == Status::Unknown => None,
        None => Some((
            format!("before {}", clock(head.watching_since, seen)),
            "(it was so when Unstuck began looking)".to_owned(),
        )),
    };
    let since = since.filter(|_| !quiet).map(|(at, long)| {
        let word = if after.is_some() { "Between " } else { "Since " };
        view! { <span>{word}<strong>{at}</strong>{format!(" {long}. ")}</span> }
    });
    let expected = expected_by.map(|bound| {
        let assumed = if bound.assumed { " (assumed: Kafka’s default time-out)" } else { "" };
        view! { <span>"Expected to be over by "<strong>{clock(bound.at, seen)}</strong>{format!("{assumed}. ")}</span> }
    });
    view! {
        <p class="since">
            {since}
            {expected}
            <span class="soft">{format!("Seen at {}.", clock(seen, seen))}</span>
            {head.not_remembered.map(|why| view! { <span class="not-remembered">{why}</span> })}
        </p>
    }
}
