//! The way out of a finding, safest first, with all that whoever runs it has to know.

use unstuck_diagnosis::report::{Finding, Remedy, RemedyFile, Risk};

use super::Lines;

/// How many next steps are shown; the first is the safest.
const STEPS: usize = 3;
/// Up to how many characters a file is printed as a command that writes it.
const FILE: usize = 4_000;

/// The way out of the worst finding, what not to do, and where to read on. The ways out of the others are on the page
/// and in the JSON.
pub(super) fn steps(lines: &mut Lines, finding: &Finding) {
    for (number, remedy) in finding.remedies.iter().take(STEPS).enumerate() {
        step(lines, if number == 0 { "Next" } else { "Or" }, remedy);
    }
    if let Some(more @ 1..) = finding.remedies.len().checked_sub(STEPS) {
        lines.add(&format!("Or: {more} more; --json lists them"));
    }
    for avoid in &finding.avoid {
        lines.add(&format!("{}. {}", avoid.what.trim_end_matches('.'), avoid.why));
    }
    lines.add(&format!("Read on: unstuck explain {}", finding.slug));
}

/// One remedy, with all that belongs to it.
pub(super) fn step(lines: &mut Lines, word: &str, remedy: &Remedy) {
    lines.add(&format!("{word}: {}.", remedy.title.trim_end_matches('.')));
    if !remedy.why.is_empty() {
        lines.add_below(&remedy.why);
    }
    match (&remedy.danger, remedy.risk) {
        (None, Risk::None) => {}
        (None, risk) => lines.add_below(&format!("Danger: {}.", risk.words())),
        (Some(danger), Risk::Loses) => lines.add_below(&format!("Danger, loses data: {danger}")),
        (Some(danger), _) => lines.add_below(&format!("Danger: {danger}")),
    }
    for one in &remedy.preconditions {
        lines.add_below(&format!("Only if {} ({})", one.text, one.state.words()));
    }
    remedy.files.iter().for_each(|one| file(lines, one));
    if let Some(changes) = &remedy.changes {
        lines.add_below(&format!("Changes: {changes}"));
    }
    // Commands may have several lines; each can be copied by itself.
    remedy.command.iter().flat_map(|command| command.lines()).for_each(|line| lines.add_below(&format!("$ {line}")));
    if let Some(verify) = &remedy.verify {
        lines.add_below(&format!("Check: {verify}"));
    }
    if let Some(undo) = &remedy.undo {
        lines.add_below(&format!("Undo: {undo}"));
    }
}

/// A file that the command reads: as a command that writes it, where that is a line that can be copied.
fn file(lines: &mut Lines, file: &RemedyFile) {
    let RemedyFile { name, what, content } = file;
    let compact = serde_json::from_str::<serde_json::Value>(content).map(|json| json.to_string());
    let content = compact.unwrap_or_else(|_| content.trim_end().to_owned());
    lines.add_below(&format!("File {name}: {what}"));
    if content.len() <= FILE && !content.contains(['\'', '\n', '\\']) {
        lines.add_below(&format!("$ echo '{content}' > {name}"));
    } else {
        lines.add_below("Its content is on the page, and in what --json prints.");
    }
}
