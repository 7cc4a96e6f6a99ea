//! A draft for the post-mortem, in Markdown: what Unstuck knows is filled in, and what only people know is asked.

use std::fmt::Write;

use jiff::Timestamp;
use unstuck_diagnosis::report::{Finding, Remedy};
use unstuck_diagnosis::{PartitionId, visible};

use super::super::incident::{hit, members_words, moment_words, opened_by, read_at, standing};
use super::super::timeline;
use super::super::times::{began, day_and_time, when};
use crate::source::{IncidentView, Now};
use crate::text::{amount, command_alone, count, ids};

/// How many single events are written below one line at most.
const SINGLES_CAP: usize = 20;
/// How many partitions are named at most.
const PARTITIONS_CAP: usize = 100;

/// A draft for the post-mortem of an incident, in Markdown.
#[must_use]
pub fn incident_markdown(view: &IncidentView) -> String {
    let mut out = String::new();
    summary(&mut out, view);
    impact(&mut out, view);
    timeline_of(&mut out, view);
    cause(&mut out, view);
    notes(&mut out, view);
    out.push_str(QUESTIONS);
    out
}

const QUESTIONS: &str = "## What to ask\n\n\
    - What came first, and what followed from it?\n  - \n\
    - How was it noticed, and what would have shown it earlier?\n  - \n\
    - What helped, what did not, what was missing?\n  - \n\
    - Would one more failure have made it worse? What is still at risk?\n  - \n\n\
    ## Next steps\n\n- [ ] \n- [ ] \n- [ ] \n";

fn summary(out: &mut String, view: &IncidentView) {
    let incident = &view.incident;
    line(out, &format!("# {}", plain(&incident.title)));
    line(out, "A draft for the post-mortem, from what Unstuck saw. All times are UTC.");
    line(out, "## Summary");
    item(out, &format!("Cluster: {}", code(&incident.cluster)));
    item(out, &format!("Opened: {}", plain(&day_and_time(incident.opened.at))));
    // As somebody reads it who does not know when it was written.
    item(out, &plain(&standing(incident, Timestamp::MAX)));
    item(out, &format!("Opened by: {}", plain(&opened_by(&incident.by))));
    match &view.now {
        Now::Seen(now) => {
            let (at, sentence) = (day_and_time(now.report.observed_at), &now.report.headline.sentence);
            item(out, &format!("Now ({at}): {}", plain(sentence)));
        }
        Now::AnotherCluster => item(out, "Now: another cluster has its name here."),
        Now::NotLookedAt => item(out, "Now: the cluster is not looked at here."),
    }
    out.push('\n');
}

fn impact(out: &mut String, view: &IncidentView) {
    let incident = &view.incident;
    line(out, "## Impact");
    item(out, &format!("{} stood still at the worst.", count(incident.stuck_groups, "group")));
    item(out, &format!("Brokers: {}", ids(&incident.brokers)));
    item(out, &format!("Partitions of `__consumer_offsets`: {}", partitions(&incident.partitions)));
    out.push('\n');
    let Some((_, frozen)) = &view.then else { return };
    let (all, total) = hit(frozen);
    if total == 0 {
        return;
    }
    let shown: usize = all.iter().map(|one| one.groups.len()).sum();
    line(out, &format!("### Groups hit: {}", amount(total)));
    for one in all {
        item(out, &plain(&capital(&one.words())));
        for group in one.groups {
            let members = group
                .members
                .as_ref()
                .map_or_else(String::new, |members| format!("; {}", plain(&members_words(members, frozen.at))));
            let _ = writeln!(out, "  - {} ({}){members}", code(&group.id.visible()), plain(&group.listed(frozen.at)));
        }
    }
    if total > shown {
        item(out, &format!("and {} more", amount(total - shown)));
    }
    out.push('\n');
}

fn timeline_of(out: &mut String, view: &IncidentView) {
    let opened = view.incident.opened.at;
    line(out, &format!("## Timeline ({})", opened.strftime("%Y-%m-%d")));
    let lines = timeline::lines(&view.events, &view.findings, None);
    if lines.is_empty() {
        item(out, "Nothing was kept of what happened.");
    }
    for one in lines {
        let slug = one.slug.map_or_else(String::new, |slug| format!(" ({})", code(&slug)));
        let at = began(one.since, opened);
        item(out, &format!("{}: {}{slug}", at.strip_prefix("at ").unwrap_or(&at), plain(&one.text)));
        let more = one.folded.len().saturating_sub(SINGLES_CAP);
        for (at, text) in one.folded.into_iter().take(SINGLES_CAP) {
            let _ = writeln!(out, "  - {}: {}", when(at, opened), plain(&text));
        }
        if more > 0 {
            let _ = writeln!(out, "  - and {} more", amount(more));
        }
    }
    if view.events_cut {
        item(out, "More happened than is told here.");
    }
    out.push('\n');
}

fn cause(out: &mut String, view: &IncidentView) {
    line(out, "## Cause and evidence");
    match (&view.then, &view.unreadable) {
        (Some((moment, frozen)), _) => {
            let report = &frozen.report;
            let seen = when(frozen.at, view.incident.opened.at);
            let (sentence, detail) = (plain(&report.headline.sentence), plain(&report.headline.detail));
            line(out, &format!("As Unstuck said it {} ({seen}): {sentence}. {detail}", moment_words(*moment)));
            for finding in &report.findings {
                evidence(out, finding);
            }
            line(out, "## Ways out that were offered");
            let mut offered: Vec<&Remedy> = Vec::new();
            for remedy in report.findings.iter().flat_map(|finding| &finding.remedies) {
                if !offered.contains(&remedy) {
                    offered.push(remedy);
                }
            }
            if offered.is_empty() {
                item(out, "None.");
                out.push('\n');
            }
            for remedy in offered {
                way_out(out, remedy);
            }
        }
        (None, Some(why)) => line(out, &format!("What was seen then is kept, but cannot be read: {}", plain(why))),
        (None, None) => {
            line(out, "What was seen then is not kept. These findings were open:");
            for record in &view.findings {
                evidence(out, &record.at_worst);
            }
        }
    }
}

fn evidence(out: &mut String, finding: &Finding) {
    line(out, &format!("### {} ({})", plain(&finding.sentence), code(&finding.slug)));
    if let Some(cause) = &finding.follows_from {
        line(out, &format!("Follows from {}.", code(cause)));
    }
    if let Some(outlook) = &finding.outlook {
        line(out, &plain(outlook));
    }
    for piece in &finding.evidence {
        item(out, &format!("*{}*: {}", piece.strength.words(), plain(&piece.text)));
    }
    if !finding.evidence.is_empty() {
        out.push('\n');
    }
}

fn way_out(out: &mut String, remedy: &Remedy) {
    let why = plain(&remedy.why);
    item(out, &format!("**{}** ({}). {why}", plain(&remedy.title), remedy.risk.words()));
    if let Some(danger) = &remedy.danger {
        let _ = writeln!(out, "  - Danger: {}", plain(danger));
    }
    for given in &remedy.preconditions {
        let _ = writeln!(out, "  - Only if {} ({})", plain(&given.text), given.state.words());
    }
    if let Some(command) = &remedy.command {
        out.push('\n');
        let fence = "`".repeat(longest_run(command).max(2) + 1);
        let indented = command.lines().map(|text| format!("  {text}\n")).collect::<String>();
        let _ = writeln!(out, "  {fence}sh\n{indented}  {fence}");
    }
    for (label, text) in [("To see that it worked", &remedy.verify), ("To take it back", &remedy.undo)] {
        if let Some(text) = text {
            let words = command_alone(text).map_or_else(|| plain(text), code);
            let _ = writeln!(out, "  - {label}: {words}");
        }
    }
    out.push('\n');
}

fn notes(out: &mut String, view: &IncidentView) {
    line(out, "## Notes");
    if view.notes.is_empty() {
        line(out, "Nobody wrote anything.");
    }
    let near = read_at(view);
    for note in &view.notes {
        line(out, &format!("**{}**, {}:", plain(&visible(&note.by)), when(note.at, near)));
        // As typed, but set apart: whatever a note says, it stays a quotation.
        for text in note.text.lines() {
            // Its HTML is text here as on the page; a web address in angle brackets is none.
            let _ = writeln!(out, "> {}", text.replace('<', "\\<").replace("\\<http", "<http"));
        }
        out.push('\n');
    }
}

fn line(out: &mut String, text: &str) {
    let _ = writeln!(out, "{text}\n");
}

fn item(out: &mut String, text: &str) {
    let _ = writeln!(out, "- {text}");
}

fn partitions(all: &[PartitionId]) -> String {
    let more = all.len().saturating_sub(PARTITIONS_CAP);
    let named = ids(&all[..all.len() - more]);
    if more > 0 { format!("{named} and {} more", amount(more)) } else { named }
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A text with `` `code` `` in it, none of whose other characters mean anything in Markdown or HTML, on one line.
fn plain(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    let balanced = pieces.len() % 2 == 1;
    let mut out = String::with_capacity(text.len() + 8);
    for (nth, piece) in pieces.into_iter().enumerate() {
        if nth % 2 == 1 && balanced {
            let _ = write!(out, "{}", code(piece));
            continue;
        }
        if nth > 0 && !balanced {
            out.push_str("\\`");
        }
        for letter in piece.chars() {
            match letter {
                '\n' | '\r' => out.push(' '),
                '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '&' => out.extend(['\\', letter]),
                other => out.push(other),
            }
        }
    }
    out
}

/// A text in backticks, however many it has itself.
fn code(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    match longest_run(&text) {
        0 if !text.trim().is_empty() => format!("`{text}`"),
        run => {
            let ticks = "`".repeat(run + 1);
            format!("{ticks} {text} {ticks}")
        }
    }
}

/// How many backticks stand in a row at most.
fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_a_cluster_means_anything_in_markdown() {
        assert_eq!(plain("see `a_b` of __x <b> [y](z)"), "see `a_b` of \\_\\_x \\<b\\> \\[y\\](z)");
        assert_eq!(plain("one ` only\nand_more"), "one \\` only and\\_more");
        assert_eq!(code("a`b"), "`` a`b ``");
    }
}
