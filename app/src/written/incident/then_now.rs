//! Two columns: what was seen then, word for word, and what is true now.

use jiff::Timestamp;
use leptos::prelude::*;
use unstuck_diagnosis::history::{FindingRecord, Moment};
use unstuck_diagnosis::report::{Headline, Status};

use super::super::times::{began, when};
use super::{Medium, moment_words, sentence_of};
use crate::model::{Evidence, Masthead};
use crate::part::{card, findings_of, status_tag};
use crate::source::{IncidentView, Now};
use crate::text::{cluster_href, finding_href, incident_href, status_class};

/// The moment that is shown, and links to the others.
pub(super) fn then_card(view: &IncidentView, medium: Medium) -> AnyView {
    let opened = view.incident.opened.at;
    let shown = view.then.as_ref().map(|(moment, _)| *moment);
    let body = match (&view.then, &view.unreadable) {
        (Some((moment, frozen)), _) => {
            let report = &frozen.report;
            let head = Masthead::of(&frozen.published());
            let evidence = Evidence::of(report.findings.iter(), report.could_not_observe.iter());
            let caption = format!("{}, {}", capital(moment_words(*moment)), when(frozen.at, opened));
            view! {
                <p class="soft">{caption}</p>
                {headline(&report.headline)}
                {findings_of(&head, &evidence)}
                <p class="soft">{format!("Word for word as Unstuck {} said it then.", frozen.written_by)}</p>
            }
            .into_any()
        }
        (None, Some(why)) => {
            view! { <p>"What was seen then is kept, but cannot be read: "{sentence_of(why)}</p> }.into_any()
        }
        (None, None) => view! { <p>"What was seen then is not kept."</p> }.into_any(),
    };
    let moments = (medium == Medium::Page && view.moments.len() > 1).then(|| moments(view, shown));
    let body = view! {
        {moments}
        {body}
    };
    view! { <div class="then">{card("Then", body)}</div> }.into_any()
}

fn moments(view: &IncidentView, shown: Option<Moment>) -> AnyView {
    let opened = view.incident.opened.at;
    let links = view.moments.iter().map(|&(moment, at)| {
        let words = format!("{} ({})", moment_words(moment), when(at, opened));
        if Some(moment) == shown {
            return view! { <li><strong aria-current="true">{words}</strong></li> }.into_any();
        }
        let href = format!("{}?moment={}", incident_href(&view.incident.id), moment.slug());
        view! { <li><a href=href>{words}</a></li> }.into_any()
    });
    view! { <nav aria-label="Moments that are kept"><ul class="moments">{links.collect_view()}</ul></nav> }.into_any()
}

/// The cluster as it is now, and what of the incident still holds.
pub(super) fn now_card(view: &IncidentView, near: Timestamp) -> AnyView {
    let cluster = &view.incident.cluster;
    let body = match &view.now {
        Now::AnotherCluster => view! {
            <p>
                {format!(
                    "Another cluster is called {cluster} here, with another cluster id: this page cannot say how the one of \
                     this incident stands now.",
                )}
            </p>
        }
        .into_any(),
        Now::NotLookedAt => view! {
            <p>{format!("Cluster {cluster} is not looked at here, so this page cannot say how it stands now.")}</p>
        }
        .into_any(),
        Now::Seen(now) => {
            let report = &now.report;
            let seen = report.observed_at;
            view! {
                <p class="soft">{format!("As of {}. Load the page again for what came after.", when(seen, seen))}</p>
                {headline(&report.headline)}
                <p><a href=cluster_href(cluster)>{format!("Cluster {cluster}, live")}</a></p>
            }
            .into_any()
        }
    };
    let findings = view.findings.iter().map(|record| finding(record, near));
    let findings = (!view.findings.is_empty()).then(|| {
        view! {
            <h3 class="label">"What of it still holds"</h3>
            <ul class="evidence">{findings.collect_view()}</ul>
        }
    });
    let body = view! {
        {body}
        {findings}
    };
    view! { <div class="now">{card("Now", body)}</div> }.into_any()
}

fn headline(headline: &Headline) -> AnyView {
    let Headline { status, sentence, detail, .. } = headline;
    view! {
        <p class=format!("said-then {}", status_class(*status))>{status_tag(*status)}" "<strong>{sentence.clone()}</strong></p>
        <p>{detail.clone()}</p>
    }
    .into_any()
}

fn finding(record: &FindingRecord, near: Timestamp) -> AnyView {
    let last = record.last.as_ref().unwrap_or(&record.at_worst);
    let (class, word, until) = match record.closed {
        None => (status_class(Status::Stuck), "open", String::new()),
        Some(closed) => (status_class(Status::Working), "closed", format!(" Closed {}.", began(closed, near))),
    };
    let sentence = last.sentence.trim_end_matches('.').to_owned();
    view! {
        <li>
            <span class=format!("tag {class}")>{word}</span>
            <span>
                {format!("{sentence}. ")}
                <a class="slug" href=finding_href(&record.slug)>{record.slug.clone()}</a>
                <span class="soft">{until}</span>
            </span>
        </li>
    }
    .into_any()
}

/// With a capital letter.
fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
