//! The dashboard of one cluster: worst news first.

use leptos::prelude::*;
use leptos_meta::Meta;
use unstuck_diagnosis::report::{
    BootstrapReport, DataPartitionsReport, GroupCounts, OffsetsTopicReport, Status, TopicPresence,
};

use super::{
    Columns, Head, PageTitle, SinceLine, broker_links, card, could_not_card, drill_panel, group_table, map_card,
    next_step, racks_card, status_tag, stops_tag, table, why_card,
};
use crate::model::{BrokerLine, ClusterModel, Masthead, Stops};
use crate::text::{
    amount, api_href, broker_href, broker_tone, clock, cluster_href, count, ids, or_dash, plan_href, status_class,
    status_word,
};

/// Everything about one cluster, on the page with the address `own`.
pub(crate) fn dashboard(model: ClusterModel, own: &str) -> AnyView {
    let ClusterModel {
        head,
        headline,
        next,
        map,
        brokers,
        broker_count,
        racks,
        groups,
        topic,
        proof,
        data,
        evidence,
        bootstrap,
        drill,
        remembered,
    } = model;
    let title = format!("{}: {} · Unstuck", status_word(headline.status), head.cluster);
    let (incidents, for_colleagues) = remembered.map(|one| (one.line, one.card)).unwrap_or_default();
    let layout = if next.is_some() { "columns side-next" } else { "columns" };
    view! {
        <PageTitle text=title/>
        <Meta name="description" content=headline.sentence.clone()/>
        <section class=format!("headline {}", status_class(headline.status))>
            <h1 aria-live="polite">{headline.sentence.clone()}</h1>
            <p class="detail">{headline.detail.clone()}</p>
            <SinceLine
                head=head.clone()
                status=headline.status
                since=headline.since
                after=headline.since_after
                expected_by=None
            />
            <div class="open-incidents" inner_html=incidents></div>
        </section>
        {drill.map(|drill| drill_panel(drill, own))}
        <div class=layout>
            {next_step(next)}
            <div class="main-col">
                {(!map.is_empty()).then(|| map_card(&head.cluster, map))}
                {stuck_groups(&head, &groups)}
                {data_card(&head, data)}
                {brokers_card(&head, brokers, broker_count)}
                {racks_card(&head, racks)}
                {why_card(&head, &evidence)}
            </div>
            <div class="side-col">
                {topic_card(&head, topic, proof)}
                {groups_card(&groups)}
                <div class="for-colleagues" inner_html=for_colleagues></div>
                {could_not_card(&evidence)}
                {looked_at_card(&head, bootstrap)}
            </div>
        </div>
    }
    .into_any()
}

fn stuck_groups(head: &Masthead, groups: &GroupCounts) -> Option<AnyView> {
    let total = groups.by_status.get(&Status::Stuck).copied().unwrap_or(groups.stuck.len());
    if total == 0 {
        return None;
    }
    let shown = groups.stuck.len();
    let more = (total > shown).then(|| {
        view! {
            <p class="soft">
                {format!("{} of {} are named here. ", amount(shown), amount(total))}
                <a href=api_href(&head.cluster, "/groups?state=stuck") rel="external">"All of them as JSON"</a>
            </p>
        }
    });
    let body = view! {
        {group_table(head, "Stuck groups", &groups.stuck, Columns::All)}
        {more}
    };
    Some(card(&format!("Stuck groups: {}", amount(total)), body))
}

fn brokers_card(head: &Masthead, brokers: Vec<BrokerLine>, total: usize) -> AnyView {
    if brokers.is_empty() {
        return card("Brokers", view! { <p class="soft">"No broker has answered yet, so none is known."</p> });
    }
    let shown = brokers.len();
    let more = (total > shown)
        .then(|| view! { <p class="soft">{format!("The first {} of {}.", amount(shown), count(total, "broker"))}</p> });
    let rows = brokers.into_iter().map(|broker| {
        let stuck = if broker.stuck_groups > 0 { "num bad" } else { "num" };
        view! {
            <tr>
                <th scope="row">
                    <a href=broker_href(&head.cluster, broker.broker)>{format!("broker {}", broker.broker)}</a>
                </th>
                <td data-label="from here">
                    <span>
                        <span class=format!("dot {}", status_class(broker_tone(broker.state))) aria-hidden="true"></span>
                        {broker.sentence}
                    </span>
                </td>
                <td data-label="address" class="mono">{broker.address.unwrap_or_else(|| "not told".to_owned())}</td>
                <td data-label="release">{broker.release.unwrap_or_else(|| "–".to_owned())}</td>
                <td data-label="coordinates" class="num">{amount(broker.coordinates)}</td>
                <td data-label="groups" class="num">{amount(broker.groups)}</td>
                <td data-label="stuck" class=stuck>{amount(broker.stuck_groups)}</td>
                <td data-label="if it stops now">{if_it_stops(broker.if_it_stops)}</td>
            </tr>
        }
    });
    let heads = [
        Head::text("broker"),
        Head::text("from here"),
        Head::text("address"),
        Head::text("release"),
        Head::number("coordinates"),
        Head::number("groups"),
        Head::number("stuck"),
        Head::text("if it stops now"),
    ];
    let body = view! {
        {table("Brokers", heads.into(), rows.collect_view())}
        {more}
    };
    card("Brokers", body)
}

/// A word, loud only where groups would stand still; the worst of it is told to those who rest the pointer on it.
fn if_it_stops(what: Option<(Stops, String)>) -> AnyView {
    match what {
        None => view! { "–" }.into_any(),
        Some((Stops::Stands, sentence)) => view! { <span title=sentence>{stops_tag(Stops::Stands)}</span> }.into_any(),
        Some((stops, sentence)) => view! { <span class="soft" title=sentence>{stops.words().1}</span> }.into_any(),
    }
}

fn topic_card(head: &Masthead, topic: OffsetsTopicReport, proof: Option<String>) -> AnyView {
    let factor = match (topic.presence, topic.replication_factor, topic.max_replication_factor) {
        (TopicPresence::Present, Some(least), Some(most)) if most != least => Some(format!("RF {least} to {most}")),
        (TopicPresence::Present, Some(least), _) => Some(format!("RF {least}")),
        _ => None,
    };
    let factor_class = if topic.warning.is_some() { "figure s-risk" } else { "figure" };
    // How many replicas may be missing before commits are refused.
    let spare = topic.replication_factor.zip(topic.min_insync_replicas).map(|(factor, min)| factor.saturating_sub(min));
    let spare_class = if spare == Some(0) && topic.wanted_replication_factor > 1 { "bad" } else { "" };
    let without_leader = if topic.without_leader > 0 { "bad" } else { "" };
    let facts = (topic.presence == TopicPresence::Present).then(|| {
        view! {
            <dl class="facts">
                <div><dt>"partitions"</dt><dd>{or_dash(topic.partition_count)}</dd></div>
                <div><dt>"min in-sync replicas"</dt><dd>{or_dash(topic.min_insync_replicas)}</dd></div>
                <div><dt>"replicas that may be missing"</dt><dd class=spare_class>{or_dash(spare)}</dd></div>
                <div><dt>"without leader"</dt><dd class=without_leader>{amount(topic.without_leader)}</dd></div>
                <div><dt>"brokers there are"</dt><dd>{broker_links(&head.cluster, &topic.registered_brokers)}</dd></div>
            </dl>
        }
    });
    let body = view! {
        {factor.map(|factor| view! { <p class=factor_class>{factor}</p> })}
        <p class="soft">{topic.sentence}</p>
        {topic.warning.map(|warning| view! {
            <p class="danger soon"><span aria-hidden="true">"▲ "</span>{warning}</p>
            <p><a href=plan_href(&head.cluster, "raise", None)>"A plan that raises it"</a></p>
        })}
        {facts}
        {proof.map(|proof| view! { <p class="soft">{proof}</p> })}
    };
    card("Offsets topic", body)
}

fn groups_card(groups: &GroupCounts) -> AnyView {
    let counts = Status::WORST_FIRST.into_iter().filter_map(|status| {
        let number = groups.by_status.get(&status).copied().filter(|&number| number > 0)?;
        Some(view! { <div><dt>{status_tag(status)}</dt><dd>{amount(number)}</dd></div> })
    });
    let gap = groups.incomplete_because.clone().filter(|_| !groups.complete).map(|why| {
        view! { <p class="soft">{format!("There may be more: {why}")}</p> }
    });
    let body = view! {
        <dl class="facts">
            {counts.collect_view()}
            <div><dt>"known in all"</dt><dd>{amount(groups.total)}</dd></div>
        </dl>
        {gap}
    };
    card("Groups", body)
}

fn data_card(head: &Masthead, data: DataPartitionsReport) -> Option<AnyView> {
    let total = data.without_leader.filter(|&total| total > 0)?;
    let shown = data.named.len();
    let rows = data.named.into_iter().map(|one| {
        view! {
            <tr>
                <th scope="row" class="mono">{unstuck_diagnosis::visible(&one.topic)}</th>
                <td class="num" data-label="partition">{one.partition}</td>
                <td data-label="replicas">{broker_links(&head.cluster, &one.replicas)}</td>
                <td data-label="ISR">{ids(&one.isr)}</td>
            </tr>
        }
    });
    let seen = data.at.map(|at| format!(" Seen at {}.", clock(at, head.observed_at)));
    let note = if total > shown { format!("The first {} are shown.", amount(shown)) } else { String::new() };
    let heads = [Head::text("topic"), Head::number("partition"), Head::text("replicas"), Head::text("ISR")];
    let body = view! {
        <p>"Producers and consumers of these partitions stand still, whatever their group."</p>
        {table("Data partitions without a leader", heads.into(), rows.collect_view())}
        <p class="soft">{note}{seen}</p>
    };
    Some(card(&format!("Data partitions without a leader: {}", amount(total)), body))
}

fn looked_at_card(head: &Masthead, bootstrap: Vec<BootstrapReport>) -> AnyView {
    let addresses = bootstrap.into_iter().map(|one| {
        let class = if one.ok { "soft" } else { "bad" };
        view! { <li><span class="mono">{one.address}</span><span class=class>{one.sentence}</span></li> }
    });
    let body = view! {
        <dl class="facts">
            <div><dt>"cluster"</dt><dd><a href=cluster_href(&head.cluster)>{head.cluster.clone()}</a></dd></div>
            <div>
                <dt>"cluster id"</dt>
                <dd class="mono">{head.cluster_id.clone().unwrap_or_else(|| "not told".to_owned())}</dd>
            </div>
            <div><dt>"looking since"</dt><dd>{clock(head.watching_since, head.observed_at)}</dd></div>
            <div><dt>"seen at"</dt><dd>{clock(head.observed_at, head.observed_at)}</dd></div>
        </dl>
        <ul class="addresses">{addresses.collect_view()}</ul>
        <p class="soft">
            <a href=api_href(&head.cluster, "") rel="external">"The same as JSON"</a>
        </p>
    };
    card("Looked at", body)
}
