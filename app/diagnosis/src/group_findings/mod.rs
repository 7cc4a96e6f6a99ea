//! The rules about single groups whose coordinator is fine: one file each, like those in `findings/`.
//!
//! A rule reads the [`GroupContext`]. Without details (what only the coordinator tells) it finds what listings show, and
//! that comes at once with the verdict; with details it finds the rest when they have been fetched.

use jiff::Timestamp;

use crate::commands::Commands;
use crate::detail::{GroupDetail, GroupTrace};
use crate::handbook::Entry;
use crate::lookup::GroupLookup;
use crate::memory::{Memory, SeenGroup};
use crate::report::{Finding, GroupSettings, Remedy, Report, Risk, Status};
use crate::time;

mod data_partition;
mod group_empty;
mod group_full;
mod group_id_typo;
mod group_rebalance_loop;
mod group_rebalancing;
mod group_unknown;
mod kip848_mismatch;
mod lag_stands_still;
mod lag_unknown;
mod members_without_partitions;
mod mixed_protocols;
mod offsets_expired;
mod reconciling_stuck;
mod static_member_fenced;
mod static_member_gone;
#[cfg(test)]
pub(crate) mod testing;
mod unstable_offsets;

/// What rules about a group read.
pub(crate) struct GroupContext<'a> {
    pub(crate) report: &'a Report,
    pub(crate) memory: &'a Memory,
    /// The answer so far.
    pub(crate) lookup: &'a GroupLookup,
    /// The group as listed; `None` if no listing had it.
    pub(crate) seen: Option<&'a SeenGroup>,
    /// The group from inside, once that was fetched.
    pub(crate) detail: Option<&'a GroupDetail>,
    /// Earlier looks at its inside.
    pub(crate) trace: &'a GroupTrace,
}

/// A rule: the chapters of the handbook about what it finds, and how it finds it.
pub(crate) struct GroupRule {
    entries: &'static [Entry],
    check: fn(&GroupContext<'_>) -> Vec<Finding>,
}

/// All rules. The order breaks ties between findings of equal severity.
const RULES: [&GroupRule; 17] = [
    &offsets_expired::RULE,
    &data_partition::RULE,
    &group_rebalance_loop::RULE,
    &group_rebalancing::RULE,
    &reconciling_stuck::RULE,
    &static_member_fenced::RULE,
    &group_full::RULE,
    &mixed_protocols::RULE,
    &group_id_typo::RULE,
    &group_unknown::RULE,
    &group_empty::RULE,
    &lag_stands_still::RULE,
    &unstable_offsets::RULE,
    &static_member_gone::RULE,
    &members_without_partitions::RULE,
    &kip848_mismatch::RULE,
    &lag_unknown::RULE,
];

/// The chapters of the handbook about findings of groups.
pub(crate) fn entries() -> impl Iterator<Item = &'static Entry> {
    RULES.iter().flat_map(|rule| rule.entries)
}

/// What listings tell about a group.
pub(crate) fn find(report: &Report, memory: &Memory, lookup: &GroupLookup) -> Vec<Finding> {
    let seen = memory.groups.by_id.get(&lookup.group);
    let trace = GroupTrace::default();
    check(&GroupContext { report, memory, lookup, seen, detail: None, trace: &trace })
}

/// What the group's inside tells beyond what `lookup` says already.
#[must_use]
pub fn detail_findings(
    report: &Report,
    memory: &Memory,
    lookup: &GroupLookup,
    detail: &GroupDetail,
    trace: &GroupTrace,
) -> Vec<Finding> {
    let seen = memory.groups.by_id.get(&lookup.group);
    let mut found = check(&GroupContext { report, memory, lookup, seen, detail: Some(detail), trace });
    found.retain(|finding| !lookup.group_findings.contains(finding));
    found
}

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| (rule.check)(context)).collect();
    let commands = context.commands();
    for remedy in findings.iter_mut().flat_map(|finding| &mut finding.remedies) {
        commands.annotate(remedy);
    }
    shadow(&mut findings);
    findings.sort_by_key(|finding| (finding.follows_from.is_some(), std::cmp::Reverse(finding.severity)));
    findings
}

/// All are about the same group, so the slugs decide.
fn shadow(findings: &mut [Finding]) {
    let open: Vec<String> = findings.iter().map(|finding| finding.slug.clone()).collect();
    for finding in findings {
        let cause = entries().find(|entry| {
            entry.slug != finding.slug
                && entry.shadows.contains(&finding.slug.as_str())
                && open.iter().any(|slug| slug == entry.slug)
        });
        finding.follows_from = cause.map(|entry| entry.slug.to_owned());
    }
}

impl GroupContext<'_> {
    /// Whether the group's coordinator serves, so that what is wrong must be in the group.
    fn coordinator_fine(&self) -> bool {
        self.partition_status().is_some_and(|status| matches!(status, Status::Working | Status::AtRisk))
    }

    fn partition_status(&self) -> Option<Status> {
        let partition = self.lookup.placement.as_ref()?.partition;
        self.report.partition(partition).map(|partition| partition.status)
    }

    /// The state: from inside where that was asked, else as listed.
    fn state(&self) -> Option<&str> {
        match self.detail {
            Some(detail) => detail.state.as_deref(),
            None => self.seen?.state.as_deref(),
        }
    }

    fn group_type(&self) -> Option<&str> {
        let inside = self.detail.and_then(|detail| detail.group_type.as_deref());
        inside.or_else(|| self.seen?.group_type.as_deref())
    }

    fn protocol_type(&self) -> &str {
        let inside = self.detail.and_then(|detail| detail.protocol_type.as_deref()).filter(|kind| !kind.is_empty());
        inside.or_else(|| self.seen.map(|seen| seen.protocol_type.as_str())).unwrap_or_default()
    }

    fn settings(&self) -> &GroupSettings {
        &self.report.group_settings
    }

    fn commands(&self) -> Commands {
        Commands::of(self.report)
    }

    /// The id for sentences.
    fn id(&self) -> String {
        self.lookup.group.visible()
    }

    /// The id for commands.
    fn raw_id(&self) -> &str {
        self.lookup.group.as_str()
    }

    /// Since when the group has been listed in this state, if it is: `since 12:00:15 UTC`, or
    /// `since before 12:00:00 UTC, …`.
    fn listed_since(&self, state: &str) -> Option<String> {
        let seen = self.seen.filter(|seen| seen.state.as_deref() == Some(state))?;
        Some(match seen.state_since {
            Some(at) => format!("since {}", time::clock(at)),
            None => format!("since before {}, when Unstuck first saw it", time::clock(seen.first_seen)),
        })
    }

    /// A look at members and offsets with Kafka's own tool.
    fn look(&self) -> Remedy {
        Remedy::new(
            "Look at its members and offsets with Kafka's own tool",
            "It shows which members there are, on which hosts, and how far each partition is behind.",
        )
        .looks(self.commands().describe_members(self.raw_id()))
    }

    /// Setting the offsets of a group by time: the last way out, as records may be read twice or skipped.
    fn reset_by_time(&self, topic: Option<&str>, at: Timestamp) -> Remedy {
        let commands = self.commands();
        let time = crate::time::for_tools(at);
        let reset = commands.reset_offsets(self.raw_id(), topic, crate::commands::Reset::ToDatetime(&time));
        let empty = self.state().map(|state| state == "Empty");
        let file = "offsets-before.csv";
        let topics = topic.map_or_else(|| "all its topics".to_owned(), crate::visible);
        Remedy::new(
            "Set its offsets back to a time when it still worked",
            "Its consumers then read from there. The time in the command is when Unstuck last saw it work: put in the \
             right one. The tool reads it as UTC.",
        )
        .command(reset, format!("The committed offsets of {topics}."))
        .given("the group has no members (the tool refuses otherwise)", empty)
        .danger(Risk::Loses, "Records behind the new offsets are read again, and records before them are skipped.")
        .verify(commands.describe_group(self.raw_id()))
        .undo(format!(
            "Only if the offsets were saved before: {} Then --reset-offsets --from-file {file} sets them again.",
            commands.export_offsets(self.raw_id(), file)
        ))
    }
}
