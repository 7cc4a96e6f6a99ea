//! An answer for a terminal: the verdict first, then the evidence, then what to do.
//!
//! Nothing depends on colour, and nothing that a cluster or a server wrote can move the cursor.

mod inside;
mod plan;
mod remedy;
mod report;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::IsTerminal;

use jiff::Timestamp;
use unstuck_diagnosis::lookup::{Coordinator, GroupLookup, Lookup, Placement};
use unstuck_diagnosis::report::{Evidence, Finding, Shard, Status, ViewReport};
use unstuck_diagnosis::{BrokerId, GroupId};

pub(crate) use self::inside::{detail, transaction, transactional};
pub(crate) use self::plan::{plan, refusal};
use self::remedy::steps;
pub(crate) use self::report::report;
use crate::config::Environment;

/// How many groups of the same partition are named.
const NEIGHBOURS: usize = 5;
/// How many gaps are named.
const GAPS: usize = 8;

/// Whether colours are wanted: on a terminal that has them, unless `NO_COLOR` is set.
pub(crate) fn in_colours(environment: &Environment) -> bool {
    std::io::stdout().is_terminal()
        && environment.get("NO_COLOR").is_none()
        && environment.get("TERM").as_deref() != Some("dumb")
}

/// The whole answer, one block per group.
pub(crate) fn lookup(lookup: &Lookup, colours: bool) -> String {
    let mut told = BTreeSet::new();
    let blocks: Vec<String> = lookup.results.iter().map(|group| block(group, &mut told, colours)).collect();
    let mut text = blocks.join("\n");
    if lookup.results.len() > 1 {
        let _ = writeln!(text, "\n{}", totals(lookup));
    }
    text
}

fn totals(lookup: &Lookup) -> String {
    let counts = Status::WORST_FIRST.into_iter().filter_map(|status| {
        let count = lookup.results.iter().filter(|group| group.verdict.status == status).count();
        (count > 0).then(|| format!("{count} {}", status.words()))
    });
    format!("{} groups: {}", lookup.results.len(), counts.collect::<Vec<_>>().join(" · "))
}

/// One group. Findings in `told` were explained with an earlier group, so they are only named.
fn block<'a>(group: &'a GroupLookup, told: &mut BTreeSet<&'a str>, colours: bool) -> String {
    let mut lines = Lines::default();
    let verdict = &group.verdict;
    lines.text.push_str(&first_line(&group.group, &verdict.sentence, verdict.status, colours));
    if let Some(placement) = &group.placement {
        lines.add(&placement.sentence);
    }
    if let Some(note) = &group.placement_note {
        lines.add(note);
    }
    if let (Some(placement), Some(coordinator)) = (&group.placement, &group.coordinator) {
        lines.add(&chain(placement, coordinator));
    }
    lines.add_since(verdict.since, verdict.since_after);
    match (&verdict.outlook, &verdict.expected_by) {
        (Some(outlook), _) => lines.add(outlook),
        (None, Some(bound)) => lines.add(&format!("Expected by {}", time(bound.at))),
        (None, None) => {}
    }
    let all = group.all_findings();
    let (worst, others) = all.split_at(usize::from(!all.is_empty()));
    for finding in worst.iter().copied() {
        if told.insert(&finding.sentence) {
            evidence(&mut lines, finding);
            steps(&mut lines, finding);
        } else {
            lines.add(&format!("{}: {} (see above)", finding.severity.slug(), finding.sentence));
            finding.remedies.iter().take(1).for_each(|remedy| lines.add(&format!("Next: {}", remedy.title)));
        }
    }
    if group.also_hit_partitions > 0 {
        lines.add(&format!("Also hit: {}", count(group.also_hit_partitions, "other partition")));
    }
    neighbours(&mut lines, group);
    if !group.known.sentence.is_empty() {
        lines.add(&format!("The group: {}", group.known.sentence));
    }
    views(&mut lines, &group.views);
    for finding in others.iter().copied().filter(|finding| told.insert(&finding.sentence)) {
        match &finding.follows_from {
            Some(cause) => follows(&mut lines, finding, cause),
            None => evidence(&mut lines, finding),
        }
    }
    for gap in group.could_not_observe.iter().take(GAPS) {
        lines.add(&format!("Could not look: {} ({})", gap.what, gap.why));
    }
    if let Some(more @ 1..) = group.could_not_observe.len().checked_sub(GAPS) {
        lines.add(&format!("Could not look: {more} more; --json lists them"));
    }
    lines.text
}

impl Lines {
    /// Since when something is so, as exactly as looking can tell.
    fn add_since(&mut self, since: Option<Timestamp>, after: Option<Timestamp>) {
        match (since, after) {
            (Some(since), Some(after)) => {
                self.add(&format!(
                    "Since some time between {} and {}: Unstuck did not look then",
                    time(after),
                    time(since)
                ));
            }
            (Some(since), None) => self.add(&format!("Since {}", time(since))),
            (None, _) => {}
        }
    }
}

/// A time as the terminal shows it.
pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn count(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The verdict with its word in capitals, so that the eye finds it without colour.
fn first_line(group: &GroupId, sentence: &str, status: Status, colours: bool) -> String {
    let mark = |word: &str| {
        let word = word.to_uppercase();
        if colours { format!("\u{1b}[1;{}m{word}\u{1b}[0m", colour(status)) } else { word }
    };
    let word = match status {
        Status::Working => "works",
        Status::LookAtGroup => "look at the group",
        _ => status.words(),
    };
    let (id, rest) = sentence.split_at(if sentence.starts_with(&group.visible()) { group.visible().len() } else { 0 });
    match rest.split_once(word) {
        Some((before, after)) => format!("{}{}{}{}\n", safe(id), safe(before), mark(word), safe(after)),
        None => format!("{}: {}\n", mark(word), safe(sentence)),
    }
}

fn colour(status: Status) -> u8 {
    match status {
        Status::Working => 32,
        Status::LookAtGroup => 36,
        Status::AtRisk => 33,
        Status::Recovering => 34,
        Status::Unknown => 35,
        Status::Stuck => 31,
    }
}

#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    fn add(&mut self, line: &str) {
        let _ = writeln!(self.text, "  {}", safe(line));
    }

    fn add_below(&mut self, line: &str) {
        let _ = writeln!(self.text, "    {}", safe(line));
    }
}

/// Makes characters visible that would move the cursor, change colours or turn the direction of reading around.
pub(crate) fn safe(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || turns {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

fn ids(ids: &[BrokerId]) -> String {
    format!("[{}]", ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

/// The group's partition and who answers for it.
fn chain(placement: &Placement, coordinator: &Coordinator) -> String {
    let mut parts = vec![match (coordinator.leader, &coordinator.address) {
        (Some(leader), Some(address)) => format!("leader {leader} ({address})"),
        (Some(leader), None) => format!("leader {leader}"),
        (None, _) => match coordinator.last_leader {
            Some(last) => format!("no leader (last: {last})"),
            None => "no leader".to_owned(),
        },
    }];
    if let Some(epoch) = coordinator.leader_epoch {
        parts.push(format!("epoch {epoch}"));
    }
    parts.push(format!("replicas {}", ids(&coordinator.replicas)));
    parts.push(format!("ISR {}", ids(&coordinator.isr)));
    if !coordinator.eligible.is_empty() {
        parts.push(format!("eligible {}", ids(&coordinator.eligible)));
    }
    if let Some(min) = coordinator.min_insync_replicas {
        parts.push(format!("min ISR {min}"));
    }
    parts.push(
        match coordinator.shard {
            Shard::Serving if coordinator.writes_verified => "coordinator serves it",
            Shard::Serving => "coordinator serves it (writes not verified)",
            Shard::Loading => "coordinator is loading it",
            Shard::Failed => "coordinator failed to load it",
            Shard::NotServed => "coordinator does not serve it",
            Shard::Denied => "asking the coordinator is not permitted",
            Shard::Unknown => "no answer from a coordinator",
        }
        .to_owned(),
    );
    if let (Some(broker), Some(sentence)) =
        (coordinator.leader.or(coordinator.last_leader), &coordinator.leader_sentence)
    {
        parts.push(format!("broker {broker}: {sentence}"));
    }
    format!("partition {}: {}", placement.partition, parts.join(" · "))
}

/// Each broker's own view, where they differ: agreement is not worth the lines.
fn views(lines: &mut Lines, views: &[ViewReport]) {
    let told: BTreeSet<_> =
        views.iter().filter(|view| view.error.is_none()).map(|view| (view.leader, view.leader_epoch)).collect();
    if told.len() < 2 {
        return;
    }
    lines.add("Brokers disagree:");
    for view in views {
        let leader = view.leader.map_or_else(|| "no leader".to_owned(), |leader| format!("leader {leader}"));
        let epoch = view.leader_epoch.map_or_else(String::new, |epoch| format!(" · epoch {epoch}"));
        let error = view.error.as_ref().map_or_else(String::new, |error| format!(" · {error}"));
        lines.add_below(&format!("broker {} says: {leader}{epoch} · ISR {}{error}", view.broker, ids(&view.isr)));
    }
}

fn evidence(lines: &mut Lines, finding: &Finding) {
    lines.add(&format!("{}: {}", finding.severity.slug(), finding.sentence));
    for Evidence { strength, text } in &finding.evidence {
        lines.add_below(&format!("{}: {text}", strength.words()));
    }
}

/// A finding that merely follows from another: named, and no more.
fn follows(lines: &mut Lines, finding: &Finding, cause: &str) {
    lines.add(&format!("{}: {} (follows from {cause})", finding.severity.slug(), finding.sentence));
}

fn neighbours(lines: &mut Lines, group: &GroupLookup) {
    let others = &group.same_partition_groups;
    if others.count == 0 {
        return;
    }
    let named: Vec<String> =
        others.groups.iter().take(NEIGHBOURS).map(|other| GroupId::visible(&other.group)).collect();
    let more = if others.count > named.len() { ", …" } else { "" };
    lines.add(&format!("Same partition: {}: {}{more}", count(others.count, "other group"), named.join(", ")));
}

#[cfg(test)]
mod tests;
