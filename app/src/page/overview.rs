//! The front page.

use leptos::prelude::*;
use leptos_meta::Meta;
use unstuck_diagnosis::report::Status;

use super::live_page;
use crate::fetch;
use crate::live::use_live;
use crate::model::{ClusterLine, OverviewModel};
use crate::part::{FindBox, Head, PageTitle, card, dashboard, status_tag, table};
use crate::text::{amount, clock, cluster_href, count, status_class};

/// All clusters; the dashboard if there is only one.
#[component]
pub(crate) fn OverviewPage() -> impl IntoView {
    let live = use_live();
    Effect::new(move |_| live.follow(None));
    live_page(Memo::new(|_| ()), |()| fetch::overview(), OverviewModel::seqs, show)
}

fn show(model: OverviewModel) -> AnyView {
    match model {
        OverviewModel::One(cluster) => {
            let name = cluster.head.cluster.clone();
            let (names, href) = (vec![name.clone()], cluster_href(&name));
            view! {
                <FindBox clusters=names/>
                <p class="eyebrow">
                    <a class="cluster-name" href=href>{name}</a>
                </p>
                {dashboard(*cluster, "/")}
            }
            .into_any()
        }
        OverviewModel::Many(lines) => many(lines),
    }
}

fn many(lines: Vec<ClusterLine>) -> AnyView {
    let Some(worst) = lines.first() else {
        return view! {
            <PageTitle text="No cluster · Unstuck".to_owned()/>
            <section class="headline s-unknown">
                <h1>"No cluster is configured"</h1>
                <p class="detail">"Start with --bootstrap-servers, or name clusters in a configuration file."</p>
            </section>
        }
        .into_any();
    };
    let status = worst.headline.status;
    let sentence = if status == Status::Working {
        format!("All {} work", count(lines.len(), "cluster"))
    } else {
        format!("{}: {}", worst.head.cluster, worst.headline.sentence)
    };
    let detail = worst.headline.detail.clone();
    let mut names: Vec<String> = lines.iter().map(|line| line.head.cluster.clone()).collect();
    names.sort();
    let rows = lines.into_iter().map(|line| {
        view! {
            <tr>
                <th scope="row"><a href=cluster_href(&line.head.cluster)>{line.head.cluster.clone()}</a></th>
                <td data-label="status">{status_tag(line.headline.status)}</td>
                <td data-label="what is the matter">{line.headline.sentence}</td>
                <td data-label="brokers" class="num">{amount(line.brokers)}</td>
                <td data-label="groups" class="num">{amount(line.groups)}</td>
                <td data-label="seen" class="when">{clock(line.head.observed_at, line.head.observed_at)}</td>
            </tr>
        }
    });
    let title = format!("{sentence} · Unstuck");
    view! {
        <PageTitle text=title/>
        <Meta name="description" content=detail.clone()/>
        <FindBox clusters=names/>
        <section class=format!("headline {}", status_class(status))>
            <h1 aria-live="polite">{sentence}</h1>
            <p class="detail">{detail}</p>
        </section>
        {card(
            "Clusters",
            table(
                "Clusters, worst first",
                vec![
                    Head::text("cluster"),
                    Head::text("status"),
                    Head::text("what is the matter"),
                    Head::number("brokers"),
                    Head::number("groups"),
                    Head::text("seen"),
                ],
                rows.collect_view(),
            ),
        )}
        <p class="eyebrow"><a href="/incidents">"Incidents of all clusters"</a></p>
    }
    .into_any()
}
