//! The groups that an incident hit, by name: also those that vanished from every listing, from memory.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use leptos::prelude::*;
use unstuck_diagnosis::history::{Frozen, SeenMembers};
use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::{BrokerId, GroupId, PartitionId, visible};

use super::super::times::when;
use crate::part::{Head, card, group_id, status_tag, table};
use crate::source::IncidentView;
use crate::text::{amount, count, group_href, partition_href};

/// How many groups are named at most.
const GROUPS_CAP: usize = 200;
/// How many members of a group are named at most.
const CLIENTS_CAP: usize = 5;

/// The groups of one partition.
pub(crate) struct Hit {
    /// The partition; `None` for groups whose partition is not certain.
    pub(crate) partition: Option<PartitionId>,
    /// Who coordinates it, or did last.
    pub(crate) coordinator: Option<BrokerId>,
    /// Whether that broker leads it.
    pub(crate) leads: bool,
    /// How its groups stood.
    pub(crate) status: Status,
    /// The groups, up to what was left of the cap.
    pub(crate) groups: Vec<HitGroup>,
}

/// A group that was hit.
pub(crate) struct HitGroup {
    /// Its id.
    pub(crate) id: GroupId,
    /// When it was last listed, and by whom, where it was only remembered then.
    pub(crate) remembered: Option<(Timestamp, Option<BrokerId>)>,
    /// Its state when last listed.
    pub(crate) state: Option<String>,
    /// Who was in it when last asked.
    pub(crate) members: Option<SeenMembers>,
}

/// Groups hit at a moment by partition, the first [`GROUPS_CAP`] of them, and how many there were in all.
pub(crate) fn hit(frozen: &Frozen) -> (Vec<Hit>, usize) {
    let report = &frozen.report;
    let seen = &frozen.memory.groups;
    let mut by_partition: BTreeMap<Option<PartitionId>, BTreeSet<&GroupId>> = BTreeMap::new();
    let mut placed: BTreeSet<&GroupId> = BTreeSet::new();
    for one in report.partitions.iter().filter(|one| matches!(one.status, Status::Stuck | Status::Recovering)) {
        if let Some(ids) = seen.by_partition.get(&one.partition) {
            placed.extend(ids);
            by_partition.entry(Some(one.partition)).or_default().extend(ids);
        }
    }
    for group in report.groups.stuck.iter().filter(|group| !placed.contains(&group.group)) {
        by_partition.entry(group.partition).or_default().insert(&group.group);
    }
    let total = by_partition.values().map(BTreeSet::len).sum();
    let mut left = GROUPS_CAP;
    let mut all = Vec::new();
    for (partition, ids) in by_partition {
        let one = partition.and_then(|partition| report.partition(partition));
        let groups: Vec<HitGroup> = ids
            .into_iter()
            .take(left)
            .map(|id| {
                let known = seen.by_id.get(id);
                let remembered = known
                    .filter(|group| group.listed_by.is_empty())
                    .map(|group| (group.last_seen, group.last_listed_by));
                let state = known.and_then(|group| group.state.clone());
                HitGroup { id: id.clone(), remembered, state, members: seen.members.get(id).cloned() }
            })
            .collect();
        left -= groups.len();
        if !groups.is_empty() {
            let leader = one.and_then(|one| one.leader);
            all.push(Hit {
                partition,
                coordinator: leader.or_else(|| one.and_then(|one| one.last_leader)),
                leads: leader.is_some(),
                status: one.map_or(Status::Stuck, |one| one.status),
                groups,
            });
        }
    }
    (all, total)
}

impl Hit {
    /// `partition 12, coordinated last by broker 1`.
    pub(crate) fn words(&self) -> String {
        let place = self
            .partition
            .map_or_else(|| "partition not certain".to_owned(), |partition| format!("partition {partition}"));
        match (self.coordinator, self.leads) {
            (None, _) => place,
            (Some(broker), true) => format!("{place}, coordinated by broker {broker}"),
            (Some(broker), false) => format!("{place}, coordinated last by broker {broker}"),
        }
    }
}

impl HitGroup {
    /// Whether it was listed, or when last.
    pub(crate) fn listed(&self, near: Timestamp) -> String {
        match self.remembered {
            None => "listed then".to_owned(),
            Some((at, None)) => format!("remembered, last listed at {}", when(at, near)),
            Some((at, Some(broker))) => format!("remembered, last listed at {} by broker {broker}", when(at, near)),
        }
    }
}

/// Who was in a group, when last asked: `3 members: app-1 on /10.0.0.1, …, asked at 15:40:10 UTC`.
pub(crate) fn members_words(members: &SeenMembers, near: Timestamp) -> String {
    let clients = members.clients.iter().take(CLIENTS_CAP);
    let named: Vec<String> =
        clients.map(|(client, host)| format!("{} on {}", visible(client), visible(host))).collect();
    let more = if members.clients.len() > CLIENTS_CAP { ", …" } else { "" };
    let colon = if named.is_empty() { "" } else { ": " };
    let all = count(members.count, "member");
    format!("{all}{colon}{}{more} (asked at {})", named.join(", "), when(members.at, near))
}

/// The card with all of them; nothing where no moment is shown.
pub(super) fn card_of(view: &IncidentView) -> Option<AnyView> {
    let (_, frozen) = view.then.as_ref()?;
    let (hit, total) = hit(frozen);
    if total == 0 {
        let body = view! { <p class="soft">"No group is known on the coordinators that did not work."</p> };
        return Some(card("Groups hit", body));
    }
    let shown: usize = hit.iter().map(|one| one.groups.len()).sum();
    let more = (total > shown).then(|| {
        view! { <p class="soft">{format!("{} of {} are named here.", amount(shown), amount(total))}</p> }
    });
    let tables = hit.into_iter().map(|one| one_partition(&view.incident.cluster, one, frozen.at));
    let body = view! {
        {tables.collect_view()}
        {more}
    };
    Some(card(&format!("Groups hit: {}", amount(total)), body))
}

fn one_partition(cluster: &str, hit: Hit, near: Timestamp) -> AnyView {
    let words = hit.words();
    let caption = format!("Groups on {words}");
    let title = match hit.partition {
        Some(partition) => view! { <a href=partition_href(cluster, partition)>{words}</a> }.into_any(),
        None => words.into_any(),
    };
    let rows = hit.groups.into_iter().map(|group| {
        let listed = group.listed(near);
        let members = group.members.as_ref().map_or_else(|| "not known".to_owned(), |one| members_words(one, near));
        let state = group.state.clone().unwrap_or_else(|| "not told".to_owned());
        view! {
            <tr>
                <th scope="row"><a href=group_href(cluster, &group.id)>{group_id(&group.id)}</a></th>
                <td data-label="listed">{listed}</td>
                <td data-label="last state">{state}</td>
                <td data-label="members">{members}</td>
            </tr>
        }
    });
    let heads = [Head::text("group"), Head::text("listed"), Head::text("last state"), Head::text("members")];
    view! {
        <h3 class="hit">{status_tag(hit.status)}" "{title}</h3>
        {table(&caption, heads.into(), rows.collect_view())}
    }
    .into_any()
}
