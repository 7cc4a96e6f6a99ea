//! What happened to a group, a partition, a broker or a cluster: a card for its page, and a page of its own.

use jiff::Timestamp;
use leptos::prelude::*;
use unstuck_diagnosis::history::Subject;
use unstuck_diagnosis::{BrokerId, GroupId, PartitionId};

use super::not_indexed;
use super::timeline::{Line, lines, list};
use super::times::when;
use crate::model::Written;
use crate::part::card;
use crate::source::History;
use crate::text::{amount, broker_href, cluster_href, group_href, history_href, partition_href};

/// How many lines a card shows.
const CARD_LINES: usize = 20;

/// What history is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// The cluster as a whole.
    Cluster,
    /// A partition of the offsets topic.
    Partition(PartitionId),
    /// A broker.
    Broker(BrokerId),
    /// A group, and the partition that it hashes to.
    Group(GroupId, Option<PartitionId>),
}

impl Of {
    /// What to read: of a group also what happened to its partition.
    pub(crate) fn subjects(&self) -> Vec<Subject> {
        match self {
            Self::Cluster => vec![Subject::Cluster],
            Self::Partition(partition) => vec![Subject::Partition(*partition)],
            Self::Broker(broker) => vec![Subject::Broker(*broker)],
            Self::Group(group, partition) => {
                std::iter::once(Subject::Group(group.clone())).chain(partition.map(Subject::Partition)).collect()
            }
        }
    }

    fn name(&self, cluster: &str) -> String {
        match self {
            Self::Cluster => format!("cluster {cluster}"),
            Self::Partition(partition) => format!("partition {partition}"),
            Self::Broker(broker) => format!("broker {broker}"),
            Self::Group(group, _) => format!("group {}", group.visible()),
        }
    }

    fn page(&self, cluster: &str) -> String {
        match self {
            Self::Cluster => cluster_href(cluster),
            Self::Partition(partition) => partition_href(cluster, *partition),
            Self::Broker(broker) => broker_href(cluster, *broker),
            Self::Group(group, _) => group_href(cluster, group),
        }
    }

    /// The query of an address of a page about it.
    fn query(&self) -> String {
        match self {
            Self::Cluster => String::new(),
            Self::Partition(partition) => format!("partition={partition}"),
            Self::Broker(broker) => format!("broker={broker}"),
            Self::Group(group, _) => {
                let href = group_href("", group);
                href.split_once('?').map_or_else(String::new, |(_, query)| query.to_owned())
            }
        }
    }
}

/// Newest first. Findings from before the oldest event that was read are told on the next page, with that time's events.
fn newest_first(history: &History) -> Vec<Line> {
    let oldest = history.events.iter().map(|event| event.since.at).min();
    let mut lines = lines(&history.events, &history.findings, oldest.filter(|_| history.more));
    lines.reverse();
    lines
}

/// The body of the card "What happened", as HTML.
pub(crate) fn card_html(cluster: &str, of: &Of, history: &Result<History, String>, now: Timestamp) -> String {
    let history = match history {
        Ok(history) => history,
        Err(why) => return view! { <p class="soft">{why.clone()}</p> }.to_html(),
    };
    let mut all = newest_first(history);
    let more = history.more || all.len() > CARD_LINES;
    all.truncate(CARD_LINES);
    if all.is_empty() {
        return view! { <p class="soft">{format!("Nothing has happened since history is kept.{}", dropped(history, now))}</p> }
            .to_html();
    }
    let words = if more { "Everything that is kept" } else { "As a page of its own" };
    let href = history_href(cluster, &of.query(), None);
    view! {
        {list(all, now)}
        <p><a href=href>{words}</a></p>
    }
    .to_html()
}

/// The page.
pub(crate) fn page(cluster: &str, of: &Of, history: &History, before: Option<Timestamp>, now: Timestamp) -> Written {
    let name = of.name(cluster);
    let all = newest_first(history);
    let oldest = history.events.iter().map(|event| event.since.at).min();
    let earlier = oldest.filter(|_| history.more).map(|oldest| {
        view! { <p><a href=history_href(cluster, &of.query(), Some(oldest.as_millisecond()))>"Earlier"</a></p> }
    });
    let newest = before.map(|_| view! { <p><a href=history_href(cluster, &of.query(), None)>"The newest"</a></p> });
    let gone = dropped(history, now);
    let gone = (!gone.is_empty()).then(|| view! { <p class="soft">{gone.trim().to_owned()}</p> });
    let body = if all.is_empty() {
        view! { <p class="soft">"Nothing is kept of this time."</p> }.into_any()
    } else {
        list(all, now)
    };
    let body = view! {
        {newest}
        {body}
        {earlier}
        {gone}
    };
    let whole = view! { <div class="whole">{card("What happened, newest first", body)}</div> };
    let until = before.map_or_else(String::new, |before| format!(" before {}", when(before, now)));
    Written {
        title: format!("History of {name} · {cluster}"),
        up: Some((name.clone(), of.page(cluster))),
        tone: "s-look".to_owned(),
        heading: format!("What happened to {name}{until}"),
        detail: match of {
            Of::Group(_, Some(partition)) => {
                format!("What happened to partition {partition}, on which its coordinator lives, is told as well.")
            }
            _ => "As far as it was seen and is kept.".to_owned(),
        },
        meta: not_indexed(&format!("What happened to {name} of {cluster}")),
        html: whole.to_html(),
    }
}

fn dropped(history: &History, now: Timestamp) -> String {
    history.dropped_until.map_or_else(String::new, |until| {
        format!(" What happened before {} was dropped, as it was kept long enough.", when(until, now))
    })
}

/// How many milliseconds since 1970 an address says, as a time.
pub(crate) fn time_of(milliseconds: Option<&str>) -> Option<Timestamp> {
    Timestamp::from_millisecond(milliseconds?.parse().ok()?).ok()
}

/// Who was in a group that is only remembered, in a sentence.
pub(crate) fn remembered_members(members: &unstuck_diagnosis::history::SeenMembers, now: Timestamp) -> String {
    let clients: Vec<String> = members
        .clients
        .iter()
        .map(|(client, host)| format!("{} on {}", unstuck_diagnosis::visible(client), unstuck_diagnosis::visible(host)))
        .collect();
    let named = if clients.is_empty() { String::new() } else { format!(": {}", clients.join(", ")) };
    let more = if members.count > clients.len() && !clients.is_empty() { ", …" } else { "" };
    let noun = if members.count == 1 { "member" } else { "members" };
    format!(
        "When its coordinator was last asked, at {}, it had {} {noun}{named}{more}.",
        when(members.at, now),
        amount(members.count)
    )
}
