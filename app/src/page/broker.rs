//! One broker.

use leptos::prelude::*;
use unstuck_diagnosis::report::BrokerState;

use super::{live_page, param};
use crate::fetch;
use crate::live::use_live;
use crate::model::BrokerModel;
use crate::part::{
    ClusterFindBox, Columns, Frame, WhatHappened, before_you_stop, broker_links, card, cells, could_not_card, framed,
    group_table, legend, next_step, why_card,
};
use crate::text::{amount, broker_tone, clock, count, id_or_none};

/// One broker.
#[component]
pub(crate) fn BrokerPage() -> impl IntoView {
    let (cluster, broker) = (param("cluster"), param("broker"));
    let both = Memo::new(move |_| (cluster.get(), broker.get()));
    let live = use_live();
    Effect::new(move |_| live.follow(Some(cluster.get())));
    view! {
        <ClusterFindBox cluster/>
        {live_page(
            both,
            |(cluster, broker)| fetch::broker(cluster, broker),
            |model: &BrokerModel| model.head.seqs(),
            show,
        )}
        <WhatHappened/>
    }
}

fn show(model: BrokerModel) -> AnyView {
    let BrokerModel { head, report, cells: drawn, left_out, seen_by, not_seen_by, stops, stuck, next, evidence } =
        model;
    let id = report.broker;
    let tone = broker_tone(report.state);
    let answers = report.state == BrokerState::Answering;
    let colon = if answers { "" } else { ":" };
    let sentence = format!("Broker {id}{colon} {}", report.sentence);
    let was = if answers { "coordinates" } else { "coordinated last" };
    let detail = format!(
        "It {was} {} with {}{}.",
        count(report.coordinates.len(), "partition"),
        count(report.group_count, "group"),
        if report.stuck_group_count > 0 {
            format!(", {} of them stuck", amount(report.stuck_group_count))
        } else {
            String::new()
        },
    );
    let live = match report.live_for_cluster {
        Some(true) => "yes",
        Some(false) => "no",
        None => "no other broker answers",
    };
    let stuck_card = (report.stuck_group_count > 0).then(|| {
        let more = (report.stuck_group_count > stuck.len()).then(|| {
            view! { <p class="soft">{format!("{} of {} are named here.", amount(stuck.len()), amount(report.stuck_group_count))}</p> }
        });
        card(
            &format!("Stuck groups: {}", amount(report.stuck_group_count)),
            view! {
                {group_table(&head, "Stuck groups on this broker's partitions", &stuck, Columns::All)}
                {more}
            },
        )
    });
    let last_answer = report.last_answer.map_or_else(|| "never".to_owned(), |at| clock(at, head.observed_at));
    let main = view! {
        {next_step(next)}
        {card("Partitions of __consumer_offsets that it coordinates", view! {
            <div class="map-row">{cells(&head.cluster, drawn, left_out)}</div>
            {legend()}
        })}
        {stuck_card}
        {before_you_stop(&head, id, stops)}
        {why_card(&head, &evidence)}
    };
    let side = view! {
        {card("This broker", view! {
            <dl class="facts">
                <div>
                    <dt>"address"</dt>
                    <dd class="mono">{report.address.unwrap_or_else(|| "not told".to_owned())}</dd>
                </div>
                {report.overridden_from.map(|from| view! {
                    <div><dt>"advertised as"</dt><dd class="mono">{from}</dd></div>
                })}
                <div><dt>"release"</dt><dd>{report.release.unwrap_or_else(|| "not known".to_owned())}</dd></div>
                <div><dt>"rack"</dt><dd>{report.rack.unwrap_or_else(|| "none".to_owned())}</dd></div>
                <div><dt>"last answer"</dt><dd>{last_answer}</dd></div>
                <div><dt>"live for the others"</dt><dd>{live}</dd></div>
                <div><dt>"seen by"</dt><dd>{broker_links(&head.cluster, &seen_by)}</dd></div>
                <div><dt>"not seen by"</dt><dd>{broker_links(&head.cluster, &not_seen_by)}</dd></div>
                <div><dt>"fenced"</dt><dd>{if report.fenced { "yes" } else { "no" }}</dd></div>
                {report.controller.map(|controller| view! {
                    <div><dt>"names as controller"</dt><dd>{id_or_none(Some(controller))}</dd></div>
                })}
                <div>
                    <dt>{if answers { "sees brokers" } else { "last saw brokers" }}</dt>
                    <dd>{broker_links(&head.cluster, &report.sees_brokers)}</dd>
                </div>
                <div><dt>"holds replicas of"</dt><dd>{count(report.holds.len(), "partition")}</dd></div>
            </dl>
        })}
        {could_not_card(&evidence)}
    };
    let frame = Frame {
        title: sentence.clone(),
        status: tone,
        sentence,
        detail: Some(detail),
        since: report.since,
        since_after: None,
        expected_by: None,
    };
    framed(head, frame, main, side)
}
