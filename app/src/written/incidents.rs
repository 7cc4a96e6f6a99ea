//! Lists of incidents, and what a dashboard says of them.

use jiff::Timestamp;
use leptos::prelude::*;
use unstuck_diagnosis::history::Incident;
use unstuck_diagnosis::visible;

use super::incident::notes::{by_field, only_reads};
use super::not_indexed;
use super::times::{began, day_and_time, when};
use crate::model::{Remembered, Written};
use crate::part::{Head, card, table};
use crate::source::Visitor;
use crate::text::{amount, cluster_href, count, incident_href, incidents_href, span};

/// From how many incidents in a list on there may be earlier ones.
const EARLIER_FROM: usize = 10;
/// How many open incidents a dashboard names at most.
const OPEN_CAP: usize = 3;

/// The list of a cluster, or of all; `now` is the newest time that is known.
pub(crate) fn list(
    cluster: Option<&str>,
    incidents: Vec<Incident>,
    before: Option<Timestamp>,
    now: Option<Timestamp>,
) -> Written {
    let open = incidents.iter().filter(|one| one.closed.is_none()).count();
    let heading = match (before, open) {
        (Some(before), _) => format!("Incidents before {}", day_and_time(before)),
        (None, 0) => "No incident is open".to_owned(),
        (None, 1) => "1 incident is open".to_owned(),
        (None, number) => format!("{} incidents are open", amount(number)),
    };
    let oldest = incidents.iter().map(|one| one.opened.at).min();
    let earlier = oldest.filter(|_| incidents.len() >= EARLIER_FROM).map(|oldest| {
        let href = format!("{}?before={}", incidents_href(cluster), oldest.as_millisecond());
        view! { <p><a href=href>"Earlier ones"</a></p> }
    });
    let body = if incidents.is_empty() {
        let words = match before {
            Some(_) => "There is none, or it was dropped as it was kept long enough.",
            None => {
                "None was seen since history is kept. One is opened when groups stand still, or when somebody makes a \
                     link of what is seen."
            }
        };
        view! { <p class="soft">{words}</p> }.into_any()
    } else {
        view! {
            {rows(cluster.is_none(), incidents, now)}
            {earlier}
        }
        .into_any()
    };
    let html = view! {
        <div class="main-col">{card("Incidents", body)}</div>
        <div class="side-col">
            {cluster.map(|cluster| make_card(cluster, false))}
            {cluster.map(|_| view! { <p><a href=incidents_href(None)>"Incidents of all clusters"</a></p> })}
        </div>
    };
    let up = cluster.map_or_else(
        || ("all clusters".to_owned(), "/".to_owned()),
        |cluster| (format!("cluster {cluster}"), cluster_href(cluster)),
    );
    Written {
        title: cluster.map_or_else(|| "Incidents".to_owned(), |cluster| format!("Incidents · {cluster}")),
        up: Some(up),
        tone: if open > 0 { "s-stuck" } else { "s-look" }.to_owned(),
        meta: not_indexed(&heading),
        heading,
        detail: "From the first sign until all has been calm for five minutes: what was seen, who looks after it."
            .to_owned(),
        html: html.to_html(),
    }
}

fn rows(all_clusters: bool, incidents: Vec<Incident>, now: Option<Timestamp>) -> AnyView {
    let rows = incidents.into_iter().map(|one| {
        let near = now.unwrap_or(Timestamp::MAX);
        let until = one.closed.or(now.map(|now| now.max(one.opened.at)));
        let lasted = until.map_or_else(|| "not known".to_owned(), |until| span(one.opened.at, until));
        let state = match (one.closed, one.calm_since) {
            (Some(closed), _) => {
                view! { <span class="soft">{format!("over since {}", when(closed, near))}</span> }.into_any()
            }
            (None, Some(_)) => view! { <span class="tag s-recovering">"calm"</span> }.into_any(),
            (None, None) => view! { <span class="tag s-stuck">"open"</span> }.into_any(),
        };
        let who = one.acknowledged.map_or_else(|| "nobody yet".to_owned(), |one| visible(&one.by));
        let cluster = all_clusters.then(|| {
            view! { <td data-label="cluster"><a href=cluster_href(&one.cluster)>{visible(&one.cluster)}</a></td> }
        });
        view! {
            <tr>
                <th scope="row"><a href=incident_href(&one.id)>{one.title}</a></th>
                {cluster}
                <td data-label="state">{state}</td>
                <td data-label="began">{began(one.opened, near)}</td>
                <td data-label="lasted">{lasted}</td>
                <td data-label="groups" class="num">{amount(one.stuck_groups)}</td>
                <td data-label="looked after by"><bdi>{who}</bdi></td>
            </tr>
        }
    });
    let mut heads = vec![Head::text("incident")];
    heads.extend(all_clusters.then(|| Head::text("cluster")));
    heads.extend([
        Head::text("state"),
        Head::text("began"),
        Head::text("lasted"),
        Head::number("groups"),
        Head::text("looked after by"),
    ]);
    table("Incidents, open ones first", heads, rows.collect_view())
}

/// The form that makes a link of what is seen now; with a link to the list, where that is another page.
fn make_card(cluster: &str, list: bool) -> AnyView {
    let action = incidents_href(Some(cluster));
    let visitor = Visitor::here();
    let form = if visitor.only_reads {
        only_reads("Links are made by editors.")
    } else {
        view! {
            <form class="fields" method="post" action=action>
                {by_field("make-by", "Your name (if you like)", &visitor)}
                <button type="submit">"Make a link of what I see"</button>
            </form>
        }
        .into_any()
    };
    let body = view! {
        <p class="soft">"It shows colleagues exactly what is seen now, also when it has changed."</p>
        {form}
        {list.then(|| view! { <p class="soft"><a href=incidents_href(Some(cluster))>"Incidents of this cluster"</a></p> })}
    };
    card("For colleagues", body)
}

/// What the dashboard of a cluster says of incidents, as HTML.
pub(crate) fn remembered(cluster: &str, open: &[Incident], now: Timestamp) -> Remembered {
    let shown = open.iter().take(OPEN_CAP).map(|one| {
        let who = one.acknowledged.as_ref().map_or_else(
            || "nobody has said that they look after it".to_owned(),
            |one| format!("{} looks after it", visible(&one.by)),
        );
        let href = incident_href(&one.id);
        let title = one.title.clone();
        let words = format!("open since {}, {who}", when(one.opened.at, now));
        view! { <p class="open-incident"><span class="tag s-stuck">"Incident"</span>" "<a href=href>{title}</a>" "<span class="soft">{words}</span></p> }
    });
    let more = (open.len() > OPEN_CAP).then(|| {
        let words = format!("{} more", count(open.len() - OPEN_CAP, "open incident"));
        view! { <p class="open-incident"><a href=incidents_href(Some(cluster))>{words}</a></p> }
    });
    let line = (!open.is_empty()).then(|| {
        view! {
            {shown.collect_view()}
            {more}
        }
        .to_html()
    });
    Remembered { line: line.unwrap_or_default(), card: make_card(cluster, true).to_html() }
}
