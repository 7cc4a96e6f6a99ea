//! The page of a plan for the offsets topic. It stays as it is while somebody carries it out.

use leptos::prelude::*;
use unstuck_diagnosis::plan::{BrokerMoves, LeftOut, Plan, Refusal, Wish};
use unstuck_diagnosis::{BrokerId, Published, visible};

use super::described;
use crate::model::{Found, Masthead, Missing, Written};
use crate::part::{Head, card, remedies, table};
use crate::text::{amount, api_href, broker_href, clock, cluster_href, partition_href, plan_href};

/// The plan that an address names.
pub(crate) fn plan(published: &Published, plan: &str, broker: Option<&str>) -> Found<Written> {
    let wish = match broker.map(str::parse::<BrokerId>) {
        None => Wish::from_slug(plan, None),
        Some(Ok(broker)) => Wish::from_slug(plan, Some(broker)),
        Some(Err(_)) => None,
    };
    let Some(wish) = wish else { return Found::Missing(missing(published, plan)) };
    let cluster = &published.report.cluster;
    let seen = published.report.observed_at;
    let outcome = published.plan(wish);
    let about = broker.map_or_else(String::new, |broker| format!("?broker={broker}"));
    let api = api_href(cluster, &format!("/plans/{}{about}", wish.slug()));
    let detail = match &outcome {
        Ok(_) => format!(
            "Made from what was seen at {}. Make it anew if brokers or replicas changed since.",
            clock(seen, seen)
        ),
        Err(_) => format!("As seen at {}.", clock(seen, seen)),
    };
    Found::Here(Written {
        title: format!("{} · {cluster}", title(wish)),
        up: Some((format!("cluster {cluster}"), cluster_href(cluster))),
        tone: "s-look".to_owned(),
        meta: described(&title(wish)),
        heading: title(wish),
        detail,
        html: match outcome {
            Ok(plan) => of_plan(cluster, plan, api),
            Err(Refusal { why, advice }) => {
                card("There is no such plan now", view! { <p>{why}</p><p class="soft">{advice}</p> }).to_html()
            }
        },
    })
}

fn of_plan(cluster: &str, plan: Plan, json: String) -> String {
    let Plan { sentences, remedy, then, brokers, left_out, .. } = plan;
    let said = sentences.into_iter().map(|sentence| view! { <li>{sentence}</li> });
    let steps = std::iter::once(remedy).chain(then).collect();
    let note = "Unstuck changes nothing: read the files, then run the commands yourself.";
    let html = view! {
        <div class="main-col">
            {card("What it reaches", view! { <ul class="lines">{said.collect_view()}</ul> })}
            {card("How to carry it out", remedies(steps))}
        </div>
        <div class="side-col">
            {card("Before you begin", view! {
                <p>{note}</p>
                <p class="soft"><a href=json rel="external">"The same as JSON"</a></p>
            })}
            {card("What it means for each broker", moves(cluster, brokers))}
            {left(cluster, left_out)}
        </div>
    };
    html.to_html()
}

fn moves(cluster: &str, brokers: Vec<BrokerMoves>) -> AnyView {
    let rows = brokers.into_iter().map(|one| {
        let holds = format!("{} → {}", amount(one.holds_before), amount(one.holds_after));
        let leads = format!("{} → {}", amount(one.leads_before), amount(one.leads_after));
        view! {
            <tr>
                <th scope="row"><a href=broker_href(cluster, one.broker)>{format!("broker {}", one.broker)}</a></th>
                <td class="num" data-label="gets">{amount(one.gets)}</td>
                <td class="num" data-label="sends">{amount(one.sends)}</td>
                <td class="num" data-label="holds">{holds}</td>
                <td class="num" data-label="leads">{leads}</td>
            </tr>
        }
    });
    let heads = ["gets", "sends", "holds", "leads"].map(Head::number);
    let heads = std::iter::once(Head::text("broker")).chain(heads).collect();
    table("What the plan means for each broker, in replicas", heads, rows.collect_view())
}

fn left(cluster: &str, left_out: Vec<LeftOut>) -> Option<AnyView> {
    if left_out.is_empty() {
        return None;
    }
    let rows = left_out.into_iter().map(|left| {
        let href = partition_href(cluster, left.partition);
        view! { <div><dt><a href=href>{format!("partition {}", left.partition)}</a></dt><dd>{left.why}</dd></div> }
    });
    Some(card("Left as they are", view! { <dl class="gaps">{rows.collect_view()}</dl> }))
}

fn title(wish: Wish) -> String {
    match wish {
        Wish::Raise => "Raise the replication factor of __consumer_offsets".to_owned(),
        Wish::RaiseBalanced => "Raise the replication factor of __consumer_offsets, and spread its leaders".to_owned(),
        Wish::Evacuate(broker) => format!("Move __consumer_offsets off broker {broker}"),
        Wish::Spread => "Spread __consumer_offsets over brokers and racks".to_owned(),
    }
}

fn missing(published: &Published, plan: &str) -> Missing {
    let cluster = &published.report.cluster;
    let mut links = vec![(format!("cluster {cluster}"), cluster_href(cluster))];
    let all = [Wish::Raise, Wish::RaiseBalanced, Wish::Spread];
    links.extend(all.map(|wish| (title(wish), plan_href(cluster, wish.slug(), None))));
    links.extend(published.report.brokers.iter().take(200).map(|one| {
        let wish = Wish::Evacuate(one.broker);
        (title(wish), plan_href(cluster, wish.slug(), Some(one.broker)))
    }));
    Missing {
        seqs: Masthead::of(published).seqs(),
        heading: format!("There is no plan “{}”", visible(plan)),
        sentence: "There are these:".to_owned(),
        links,
        unreadable: false,
    }
}
