//! A group from inside: members with what they have, committed offsets with lag.

use leptos::prelude::*;
use unstuck_diagnosis::lookup::{Assigned, CommittedOffset, GroupDetail, GroupMember, Uncommitted};
use unstuck_diagnosis::visible;

use super::findings_of;
use super::table::{Head, table};
use crate::model::Inside;
use crate::text::{amount, clock, count, number};

/// How many partitions of a member are spelt out.
const PARTITIONS: usize = 40;

/// All that the coordinator told.
pub(crate) fn inside(told: Inside) -> AnyView {
    let Inside { head, detail, evidence } = told;
    let asked = match detail.compared_with {
        Some(before) => format!(
            "Broker {} answered at {}; compared with {}.",
            detail.answered_by,
            clock(detail.at, detail.at),
            clock(before, detail.at)
        ),
        None => format!("Broker {} answered at {}.", detail.answered_by, clock(detail.at, detail.at)),
    };
    view! {
        {findings_of(&head, &evidence)}
        {facts(&detail)}
        {members(&detail)}
        {offsets(detail.offsets, detail.committed_count)}
        {uncommitted(detail.uncommitted)}
        <p class="soft">{asked}</p>
    }
    .into_any()
}

fn facts(detail: &GroupDetail) -> AnyView {
    let unknown = "the coordinator does not know this group";
    let mut facts = vec![
        ("state", detail.state.as_deref().map_or_else(|| unknown.to_owned(), visible)),
        ("type", detail.group_type.as_deref().map_or_else(|| "not told".to_owned(), visible)),
        ("members", amount(detail.member_count)),
    ];
    facts.extend(detail.assigned_partitions.map(|partitions| ("assigned partitions", amount(partitions))));
    facts
        .extend(detail.idle_members.filter(|idle| *idle > 0).map(|idle| ("members without a partition", amount(idle))));
    facts.extend(detail.assignor.as_deref().map(|assignor| ("assignor", visible(assignor))));
    match (detail.group_epoch, detail.assignment_epoch) {
        (Some(group), Some(assignment)) if group != assignment => {
            facts.push(("epoch", format!("{group}, assignment still {assignment}")));
        }
        (Some(group), _) => facts.push(("epoch", group.to_string())),
        (None, _) if detail.state.is_some() => facts.push(("generation", "not told by DescribeGroups".to_owned())),
        (None, _) => {}
    }
    let facts = facts.into_iter().map(|(name, value)| view! { <div><dt>{name}</dt><dd>{value}</dd></div> });
    view! { <dl class="facts">{facts.collect_view()}</dl> }.into_any()
}

fn members(detail: &GroupDetail) -> Option<AnyView> {
    let shown = detail.members.len();
    if shown == 0 {
        return None;
    }
    let epochs = detail.members.iter().any(|member| member.epoch.is_some());
    let rows: Vec<_> = detail.members.iter().map(|member| member_row(member, detail.group_epoch, epochs)).collect();
    let mut heads = vec![Head::text("member"), Head::text("instance id"), Head::text("host")];
    if epochs {
        heads.push(Head::number("epoch"));
    }
    heads.push(Head::text("partitions"));
    let more = (detail.member_count > shown).then(|| {
        let words = format!("The first {} of {} are shown.", amount(shown), count(detail.member_count, "member"));
        view! { <p class="soft">{words}</p> }
    });
    let all = view! {
        <h3>"Members"</h3>
        {table("Members", heads, rows)}
        {more}
    };
    Some(all.into_any())
}

fn member_row(member: &GroupMember, group_epoch: Option<i32>, epochs: bool) -> AnyView {
    let instance = member.instance_id.as_deref().map_or_else(|| "–".to_owned(), visible);
    let behind = member.behind(group_epoch).then(|| view! { " "<span class="tag s-risk">"behind"</span> });
    let classic = (member.classic == Some(true)).then(|| view! { " "<span class="tag">"classic"</span> });
    let epoch = epochs.then(|| {
        let epoch = member.epoch.map_or_else(|| "not told".to_owned(), |epoch| epoch.to_string());
        view! { <td class="num" data-label="epoch">{epoch}</td> }
    });
    let assignment = member.assignment.as_deref().map_or_else(|| "not known".to_owned(), assigned);
    let target = member
        .target
        .as_deref()
        .filter(|target| member.assignment.as_deref() != Some(*target))
        .map(|target| view! { <br/><span class="soft">{format!("should have {}", assigned(target))}</span> });
    view! {
        <tr>
            <th scope="row">
                <span class="mono">{visible(&member.client_id)}</span>{behind}{classic}
                <br/><span class="mono soft">{visible(&member.member_id)}</span>
            </th>
            <td data-label="instance id" class="mono">{instance}</td>
            <td data-label="host" class="mono">{visible(&member.host)}</td>
            {epoch}
            <td data-label="partitions"><span class="mono">{assignment}{target}</span></td>
        </tr>
    }
    .into_any()
}

/// `orders: 0, 1, 2; payments: 4`.
fn assigned(topics: &[Assigned]) -> String {
    let mut left = PARTITIONS;
    let mut parts = Vec::new();
    for topic in topics {
        let numbers: Vec<String> = topic.partitions.iter().take(left).map(ToString::to_string).collect();
        let more = topic.partitions.len() - numbers.len();
        left -= numbers.len();
        parts.push(match (numbers.is_empty(), more) {
            (_, 0) => format!("{}: {}", visible(&topic.topic), numbers.join(", ")),
            (true, more) => format!("{}: {}", visible(&topic.topic), count(more, "partition")),
            (false, more) => format!("{}: {} and {} more", visible(&topic.topic), numbers.join(", "), amount(more)),
        });
    }
    if parts.is_empty() { "none".to_owned() } else { parts.join("; ") }
}

fn offsets(offsets: Result<Vec<CommittedOffset>, String>, total: usize) -> AnyView {
    let offsets = match offsets {
        Err(why) => {
            return view! { <p class="soft">{format!("Committed offsets are not known: {why}")}</p> }.into_any();
        }
        Ok(offsets) if offsets.is_empty() => {
            return view! { <p class="soft">"No offsets are committed."</p> }.into_any();
        }
        Ok(offsets) => offsets,
    };
    let shown = offsets.len();
    let caption = if total > shown {
        format!("Committed offsets: the first {} of {}", amount(shown), amount(total))
    } else {
        "Committed offsets".to_owned()
    };
    let rows: Vec<_> = offsets.into_iter().map(offset_row).collect();
    let heads = vec![
        Head::text("topic"),
        Head::number("partition"),
        Head::number("committed"),
        Head::number("end"),
        Head::number("lag"),
    ];
    view! {
        <h3>{caption.clone()}</h3>
        {table(&caption, heads, rows)}
    }
    .into_any()
}

fn offset_row(one: CommittedOffset) -> AnyView {
    let unknown = || "not known".to_owned();
    let mark = if one.without_leader {
        Some(("tag s-stuck", "no leader"))
    } else if one.unstable {
        Some(("tag s-risk", "held by a transaction"))
    } else if one.stands_still() {
        Some(("tag s-risk", "stands still"))
    } else {
        None
    };
    let end = if one.without_leader { "no leader".to_owned() } else { one.end.map_or_else(unknown, number) };
    view! {
        <tr>
            <th scope="row">
                <span class="mono">{visible(&one.topic)}</span>
                {mark.map(|(class, words)| view! { " "<span class=class>{words}</span> })}
            </th>
            <td class="num" data-label="partition">{one.partition}</td>
            <td class="num" data-label="committed">{number(one.committed)}</td>
            <td class="num" data-label="end">{end}</td>
            <td class="num" data-label="lag">{one.lag.map_or_else(unknown, number)}</td>
        </tr>
    }
    .into_any()
}

/// Partitions that are assigned and have no committed offset.
fn uncommitted(partitions: Vec<Uncommitted>) -> Option<AnyView> {
    if partitions.is_empty() {
        return None;
    }
    let names: Vec<String> = partitions
        .iter()
        .take(PARTITIONS)
        .map(|one| {
            let mark = if one.without_leader { " (no leader)" } else { "" };
            format!("{}-{}{mark}", visible(&one.topic), one.partition)
        })
        .collect();
    let more = partitions.len() - names.len();
    let more = if more > 0 { format!(" and {} more", amount(more)) } else { String::new() };
    let words = format!(
        "Assigned, without a committed offset (nothing was committed yet, or it has expired): {}{more}.",
        names.join(", ")
    );
    Some(view! { <p class="soft">{words}</p> }.into_any())
}
