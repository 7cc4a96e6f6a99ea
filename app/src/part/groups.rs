//! Tables of groups.

use leptos::prelude::*;
use unstuck_diagnosis::report::NamedGroup;

use super::{Head, group_id, status_tag, table};
use crate::model::Masthead;
use crate::text::{clock, group_href, partition_href};

/// How much a table says about each group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Columns {
    /// Id and verdict: there is little room.
    Brief,
    /// The partition is known from where the table stands.
    OnePartition,
    /// Everything.
    All,
}

/// Groups by name. `caption` is for those who cannot see the heading.
pub(crate) fn group_table(head: &Masthead, caption: &str, groups: &[NamedGroup], columns: Columns) -> AnyView {
    let (brief, with_partition) = (columns == Columns::Brief, columns == Columns::All);
    let rows = groups.iter().map(|group| {
        let kind = match (group.group_type.as_deref(), group.protocol_type.as_str()) {
            (Some(kind), "" | "consumer") => kind.to_owned(),
            (Some(kind), protocol) => format!("{kind}, {}", unstuck_diagnosis::visible(protocol)),
            (None, "") => "offsets only".to_owned(),
            (None, protocol) => unstuck_diagnosis::visible(protocol),
        };
        let seen = if group.listed_now { "now".to_owned() } else { clock(group.last_seen, head.observed_at) };
        let partition = with_partition.then(|| {
            let link = group.partition.map(|partition| {
                view! { <a href=partition_href(&head.cluster, partition)>{partition}</a> }
            });
            view! { <td class="num" data-label="partition">{link}</td> }
        });
        let state = group.state.clone().unwrap_or_else(|| "not told".to_owned());
        let rest = (!brief).then(|| {
            view! {
                <td data-label="type">{kind}</td>
                <td data-label="last state">{state}</td>
                <td data-label="listed" class="when">{seen}</td>
            }
        });
        view! {
            <tr>
                <th scope="row"><a href=group_href(&head.cluster, &group.group)>{group_id(&group.group)}</a></th>
                <td data-label="verdict">{status_tag(group.status)}</td>
                {partition}
                {rest}
            </tr>
        }
    });
    let mut heads = vec![Head::text("group"), Head::text("verdict")];
    heads.extend(with_partition.then(|| Head::number("partition")));
    if !brief {
        heads.extend([Head::text("type"), Head::text("last state"), Head::text("listed")]);
    }
    table(caption, heads, rows.collect_view())
}
