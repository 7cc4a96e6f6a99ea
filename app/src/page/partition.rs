//! One partition of the offsets topic.

use leptos::prelude::*;
use unstuck_diagnosis::report::Status;

use super::{live_page, param};
use crate::fetch;
use crate::live::use_live;
use crate::model::PartitionModel;
use crate::part::{
    ClusterFindBox, Columns, Frame, WhatHappened, broker_links, card, could_not_card, framed, group_table, next_step,
    views_table, why_card,
};
use crate::text::{amount, id_or_none, or_dash, shard_words, status_word};

/// One partition.
#[component]
pub(crate) fn PartitionPage() -> impl IntoView {
    let (cluster, partition) = (param("cluster"), param("partition"));
    let both = Memo::new(move |_| (cluster.get(), partition.get()));
    let live = use_live();
    Effect::new(move |_| live.follow(Some(cluster.get())));
    view! {
        <ClusterFindBox cluster/>
        {live_page(
            both,
            |(cluster, partition)| fetch::partition(cluster, partition),
            |model: &PartitionModel| model.head.seqs(),
            show,
        )}
        <WhatHappened/>
    }
}

fn show(model: PartitionModel) -> AnyView {
    let PartitionModel { head, report, min_insync_replicas, next, group_count, groups, evidence } = model;
    let number = report.partition;
    let sentence = match report.status {
        Status::Unknown => format!("Partition {number}: unknown how its groups stand. {}", report.sentence),
        status => format!("Every group on partition {number} is {}: {}", status_word(status), report.sentence),
    };
    let more = (group_count > groups.len()).then(|| {
        view! { <p class="soft">{format!("The first {} of {} are shown.", amount(groups.len()), amount(group_count))}</p> }
    });
    let groups_body = if groups.is_empty() {
        view! { <p class="soft">"No group was seen on this partition."</p> }.into_any()
    } else {
        view! {
            {group_table(&head, "Groups on this partition", &groups, Columns::OnePartition)}
            {more}
        }
        .into_any()
    };
    let writes = if report.writes_verified { "accepted" } else { "not verified" };
    let agree = match report.views_agree {
        Some(true) => "yes",
        Some(false) => "no",
        None => "nobody answers",
    };
    let frame = Frame {
        title: format!("{}: partition {number}", status_word(report.status)),
        status: report.status,
        sentence,
        detail: report.outlook.clone(),
        since: report.since,
        since_after: report.since_after,
        expected_by: report.expected_by.clone(),
    };
    let main = view! {
        {next_step(next)}
        {card(&format!("What each broker believes about partition {number}"), views_table(&head, report.views))}
        {card(&format!("Groups on partition {number}: {}", amount(group_count)), groups_body)}
        {why_card(&head, &evidence)}
    };
    let side = view! {
        {card("As the newest view says", view! {
            <dl class="facts">
                <div><dt>"leader"</dt><dd>{match report.leader {
                    Some(leader) => broker_links(&head.cluster, &[leader]),
                    None => view! { "none" }.into_any(),
                }}</dd></div>
                <div><dt>"last leader"</dt><dd>{id_or_none(report.last_leader)}</dd></div>
                <div><dt>"leader epoch"</dt><dd>{or_dash(report.leader_epoch)}</dd></div>
                <div><dt>"replicas"</dt><dd>{broker_links(&head.cluster, &report.replicas)}</dd></div>
                <div><dt>"in sync"</dt><dd>{broker_links(&head.cluster, &report.isr)}</dd></div>
                <div><dt>"eligible"</dt><dd>{broker_links(&head.cluster, &report.eligible)}</dd></div>
                <div><dt>"live replicas"</dt><dd>{broker_links(&head.cluster, &report.live_replicas)}</dd></div>
                <div><dt>"min in-sync replicas"</dt><dd>{or_dash(min_insync_replicas)}</dd></div>
                <div><dt>"coordinator says"</dt><dd>{shard_words(report.shard)}</dd></div>
                <div><dt>"served by"</dt><dd>{broker_links(&head.cluster, &report.served_by)}</dd></div>
                <div><dt>"commits"</dt><dd>{writes}</dd></div>
                <div><dt>"brokers agree"</dt><dd>{agree}</dd></div>
            </dl>
        })}
        {could_not_card(&evidence)}
    };
    framed(head, frame, main, side)
}
