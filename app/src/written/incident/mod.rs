//! The page of an incident: exactly what was seen then, beside what is true now.

mod groups;
pub(super) mod notes;
mod then_now;

use jiff::Timestamp;
use leptos::prelude::*;
use unstuck_diagnosis::history::{Incident, Moment, OpenedBy, SETTLING_MS};
use unstuck_diagnosis::report::Severity;
use unstuck_diagnosis::visible;

use super::timeline;
use super::times::{day_and_time, since, when};

use crate::model::{Found, Missing, Seqs, Written};
use crate::part::{broker_links, card};
use crate::source::IncidentView;
use crate::text::{cluster_href, count, incident_href, incidents_href, partition_href, span};
pub(super) use groups::{hit, members_words};

/// How many partitions a page names as links at most.
const PARTITIONS_CAP: usize = 100;

/// What goes with a page and what goes into a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Medium {
    /// A page of this server: with forms.
    Page,
    /// A file that somebody sends around: nothing to press.
    File,
}

/// The page of an incident, on the server with the address `here`.
pub(crate) fn page(view: &IncidentView, here: Option<&str>) -> Written {
    let mut page = Written { html: html(view, Medium::Page), ..page_of(view) };
    page.meta.extend(here.map(|here| ("og:image".to_owned(), format!("{here}/preview.png"))));
    page
}

/// The page without its body.
pub(super) fn page_of(view: &IncidentView) -> Written {
    let incident = &view.incident;
    let near = read_at(view);
    let detail = standing(incident, near);
    let title = format!("{} · incident of {}", incident.title, incident.cluster);
    let description = format!("Cluster {}. {detail}", incident.cluster);
    Written {
        title,
        up: Some((format!("incidents of {}", incident.cluster), incidents_href(Some(&incident.cluster)))),
        tone: tone(incident).to_owned(),
        heading: incident.title.clone(),
        meta: meta(&incident.title, &description),
        detail,
        html: String::new(),
    }
}

/// What chats show of a link, and that search engines are to leave it alone.
fn meta(title: &str, description: &str) -> Vec<(String, String)> {
    [
        ("description", description),
        ("robots", "noindex, nofollow"),
        ("og:title", title),
        ("og:description", description),
        ("og:type", "article"),
        ("og:site_name", "Unstuck"),
        ("twitter:card", "summary"),
        ("twitter:title", title),
        ("twitter:description", description),
    ]
    .map(|(name, content)| (name.to_owned(), content.to_owned()))
    .into()
}

/// Everything below the heading.
pub(super) fn html(view: &IncidentView, medium: Medium) -> String {
    let (near, opened) = (read_at(view), view.incident.opened.at);
    let lines = timeline::lines(&view.events, &view.findings, None);
    let told = if lines.is_empty() {
        view! { <p class="soft">"Nothing was kept of what happened."</p> }.into_any()
    } else {
        timeline::list(lines, opened)
    };
    let cut = view.events_cut.then(|| view! { <p class="soft">"More happened than is shown here."</p> });
    let day = opened.strftime("%Y-%m-%d").to_string();
    let happened = view! {
        <p class="soft">{format!("It began on {day}. Times without a day are within 12 hours of that.")}</p>
        {told}
        {cut}
    };
    let main = view! {
        {card("What happened", happened)}
        {notes::notes_card(view, near, medium)}
        {groups::card_of(view)}
    };
    let side = view! {
        {(medium == Medium::Page).then(|| notes::looked_after_card(&view.incident, near))}
        {facts_card(&view.incident, near)}
        {(medium == Medium::Page).then(|| exports_card(&view.incident))}
    };
    let all = view! {
        <div class="then-now">
            {then_now::then_card(view, medium)}
            {then_now::now_card(view, near)}
        </div>
        <div class="main-col">{main}</div>
        <div class="side-col">{side}</div>
    };
    all.to_html()
}

/// When the page is read, as far as anything here tells the time: the cluster's newest look, or the newest thing told.
pub(super) fn read_at(view: &IncidentView) -> Timestamp {
    let incident = &view.incident;
    let told = [
        view.now.seen().map(|now| now.report.observed_at),
        incident.closed,
        incident.calm_since,
        view.events.last().map(|event| event.since.at),
        view.notes.last().map(|note| note.at),
        view.moments.iter().map(|(_, at)| *at).max(),
    ];
    told.into_iter().flatten().max().unwrap_or(incident.opened.at)
}

/// Whether it is over, how many it hit, and who looks after it.
pub(super) fn standing(incident: &Incident, near: Timestamp) -> String {
    let began = since(incident.opened, near);
    let state = match (incident.closed, incident.calm_since) {
        (Some(closed), _) => format!(
            "Over since {}, after {}; it had been open {began}.",
            when(closed, near),
            span(incident.opened.at, closed)
        ),
        (None, Some(calm)) => {
            let until = Timestamp::from_millisecond(calm.as_millisecond().saturating_add(SETTLING_MS)).unwrap_or(calm);
            format!(
                "Open {began}. Calm since {}: it is over when it stays so until {}.",
                when(calm, near),
                when(until, near)
            )
        }
        (None, None) => format!("Open {began}."),
    };
    let groups = match incident.stuck_groups {
        0 => "No group is known to have stood still.".to_owned(),
        number => format!("{} stood still at the worst.", count(number, "group")),
    };
    let who = match &incident.acknowledged {
        Some(one) => format!("{} looks after it.", visible(&one.by)),
        None if incident.closed.is_some() => String::new(),
        None => "Nobody has said yet that they look after it.".to_owned(),
    };
    [state, groups, who].join(" ").trim_end().to_owned()
}

/// The style class that goes with how bad it is now.
fn tone(incident: &Incident) -> &'static str {
    match (incident.closed, incident.calm_since, incident.severity) {
        (Some(_), ..) | (None, None, Severity::Info) => "s-look",
        (None, Some(_), _) => "s-recovering",
        (None, None, Severity::Outage | Severity::Error) => "s-stuck",
        (None, None, Severity::Warning) => "s-risk",
    }
}

/// Who opened it, in words.
pub(super) fn opened_by(by: &OpenedBy) -> String {
    match by {
        OpenedBy::Unstuck => "Unstuck, because of a severe finding".to_owned(),
        OpenedBy::Person(Some(name)) => format!("{}, who made a link of what was seen", visible(name)),
        OpenedBy::Person(None) => "somebody who made a link of what was seen".to_owned(),
        OpenedBy::Import => "taken over from another Unstuck".to_owned(),
    }
}

/// The words for a moment.
pub(super) fn moment_words(moment: Moment) -> &'static str {
    match moment {
        Moment::Opening => "when it opened",
        Moment::Worst => "at its worst",
        Moment::Closing => "when it was over",
    }
}

fn facts_card(incident: &Incident, near: Timestamp) -> AnyView {
    let cluster = &incident.cluster;
    let shown = incident.partitions.iter().take(PARTITIONS_CAP);
    let partitions = shown.enumerate().map(|(at, &partition)| {
        let comma = if at == 0 { "" } else { ", " };
        view! { {comma}<a href=partition_href(cluster, partition)>{partition}</a> }
    });
    let more = incident.partitions.len().saturating_sub(PARTITIONS_CAP);
    let body = view! {
        <dl class="facts">
            <div><dt>"cluster"</dt><dd><a href=cluster_href(cluster)>{visible(cluster)}</a></dd></div>
            <div><dt>"opened"</dt><dd>{day_and_time(incident.opened.at)}</dd></div>
            {incident.closed.map(|closed| view! { <div><dt>"over"</dt><dd>{when(closed, near)}</dd></div> })}
            <div><dt>"opened by"</dt><dd>{opened_by(&incident.by)}</dd></div>
            <div><dt>"brokers"</dt><dd>{broker_links(cluster, &incident.brokers)}</dd></div>
            <div>
                <dt>"partitions"</dt>
                <dd>
                    {partitions.collect_view()}
                    {(more > 0).then(|| format!(" and {}", count(more, "other")))}
                    {incident.partitions.is_empty().then_some("none")}
                </dd>
            </div>
        </dl>
    };
    card("This incident", body)
}

fn exports_card(incident: &Incident) -> AnyView {
    let formats = [
        ("md", "Markdown", "a draft for the post-mortem"),
        ("html", "HTML", "this page in one file"),
        ("json", "JSON", "everything, for tools and for another Unstuck"),
    ];
    let items = formats.map(|(ending, name, what)| {
        let href = format!("{}/export.{ending}", incident_href(&incident.id));
        let hidden = format!("{href}?pseudonyms=true");
        view! {
            <li>
                <p><a href=href rel="external">{name}</a>": "{what}</p>
                <p class="soft"><a href=hidden rel="external">"with made-up names for groups and hosts"</a></p>
            </li>
        }
    });
    let body = view! {
        <ul class="lines">{items.into_iter().collect_view()}</ul>
        <p class="soft">"Whoever has the address of this page can read it and write notes."</p>
    };
    card("Take it elsewhere", body)
}

/// There is no incident of this name.
pub(crate) fn missing(id: &str, keeps: bool) -> Missing {
    if !keeps {
        return not_kept("This Unstuck keeps no incidents");
    }
    Missing {
        seqs: Seqs::new(),
        heading: format!("There is no incident “{}” here", visible(id)),
        sentence:
            "It may have been dropped, as it was kept long enough; the link may be of another Unstuck; or it was \
                   not copied as a whole."
                .to_owned(),
        links: vec![("all incidents".to_owned(), incidents_href(None)), ("all clusters".to_owned(), "/".to_owned())],
        unreadable: false,
    }
}

/// Nothing is kept here, and what to do about that.
pub(crate) fn not_kept(heading: &str) -> Missing {
    Missing {
        seqs: Seqs::new(),
        heading: heading.to_owned(),
        sentence:
            "It forgets what it saw when it stops. Start it with --store and a place for its database, and it keeps \
                   history and incidents."
                .to_owned(),
        links: vec![("all clusters".to_owned(), "/".to_owned())],
        unreadable: false,
    }
}

/// What is kept cannot be read now.
pub(crate) fn unreadable<T>(why: &str) -> Found<T> {
    Found::Missing(Missing {
        seqs: Seqs::new(),
        heading: "What was kept cannot be read now".to_owned(),
        sentence: format!("{} What is true now can still be seen.", sentence_of(why)),
        links: vec![("all clusters".to_owned(), "/".to_owned())],
        unreadable: true,
    })
}

/// A reason as a sentence: with its full stop.
pub(crate) fn sentence_of(why: &str) -> String {
    format!("{}.", why.trim_end().trim_end_matches('.'))
}
