//! The map: every partition of the offsets topic, grouped by the broker that leads it.

use leptos::prelude::*;
use unstuck_diagnosis::report::Status;

use crate::model::{Cell, MapRow};
use crate::text::{amount, broker_href, broker_tone, count, partition_href, status_class, status_word};

/// What the marks of the map mean, worst first.
const LEGEND: [(Status, &str); 5] = [
    (Status::Stuck, "stuck"),
    (Status::Unknown, "could not look"),
    (Status::Recovering, "recovering"),
    (Status::AtRisk, "one failure from stuck"),
    (Status::Working, "working"),
];

/// The whole map.
pub(crate) fn map_card(cluster: &str, rows: Vec<MapRow>) -> AnyView {
    let rows = rows.into_iter().map(|row| {
        let name = match row.broker {
            Some(broker) => view! { <a href=broker_href(cluster, broker)>{format!("broker {broker}")}</a> }.into_any(),
            None => view! { "no broker" }.into_any(),
        };
        let tone = row.broker.map_or(Status::Unknown, |_| broker_tone(row.state));
        let (groups, noun) = if row.stuck_groups > 0 {
            let noun = if row.stuck_groups == 1 { "group stuck" } else { "groups stuck" };
            (amount(row.stuck_groups), noun)
        } else {
            (amount(row.groups), if row.groups == 1 { "group" } else { "groups" })
        };
        view! {
            <li class=format!("map-row {}", status_class(tone))>
                <div class="map-broker">
                    <h3>{name}</h3>
                    <p>{row.sentence}</p>
                </div>
                {cells(cluster, row.cells, row.left_out)}
                <p class="map-count"><strong>{groups}</strong>" "{noun}</p>
            </li>
        }
    });
    view! {
        <section class="card">
            <h2>"Coordinators: partitions of __consumer_offsets by leader"</h2>
            <ul class="map">{rows.collect_view()}</ul>
            {legend()}
        </section>
    }
    .into_any()
}

/// Partitions as small numbered marks, each a link.
pub(crate) fn cells(cluster: &str, cells: Vec<Cell>, left_out: usize) -> AnyView {
    let cells = cells.into_iter().map(|cell| {
        let title = format!("partition {}, {}: {}", cell.partition, status_word(cell.status), cell.sentence);
        view! {
            <li>
                <a
                    class=format!("cell {}", status_class(cell.status))
                    href=partition_href(cluster, cell.partition)
                    title=title.clone()
                    aria-label=title.clone()
                >
                    {cell.partition}
                </a>
            </li>
        }
    });
    let rest = (left_out > 0).then(|| {
        view! { <li class="soft">{format!("and {} more that work", count(left_out, "partition"))}</li> }
    });
    view! {
        <ul class="cells">
            {cells.collect_view()}
            {rest}
        </ul>
    }
    .into_any()
}

/// The meaning of the marks.
pub(crate) fn legend() -> AnyView {
    let marks = LEGEND.map(|(status, words)| {
        view! {
            <li>
                <span class=format!("cell mark {}", status_class(status)) aria-hidden="true"></span>
                {words}
            </li>
        }
    });
    view! { <ul class="legend" aria-label="Legend">{marks.into_iter().collect_view()}</ul> }.into_any()
}
