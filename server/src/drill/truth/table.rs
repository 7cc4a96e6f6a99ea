//! The table of public cases: Markdown, as it stands in `docs/truth.md`.

use std::fmt::Write as _;

use unstuck_diagnosis::report::{Finding, Status};
use unstuck_drill::scenario::truth::Truth;

use super::{GOAL_PERCENT, Measured, Score};

/// How many findings are named of what was said.
const MOST_SLUGS: usize = 3;

/// The table with its totals.
pub(super) fn table(results: &[Measured]) -> String {
    let mut text = String::from("| case | situation | expected | said | judgement |\n|---|---|---|---|---|\n");
    for result in results {
        let Measured { title, truth, judged } = result;
        let open = if truth.determined { "" } else { " (cause open)" };
        let mut judgement = judged.judgement.words().to_owned();
        if !judged.because.is_empty() {
            let _ = write!(judgement, ": {}", judged.because.join("; "));
        }
        let row = [&truth.case, title, &(expected(truth) + open), &judged.said, &judgement];
        let cells = row.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text.push('\n');
    text.push_str(&totals(&Score::of(results), results.len()));
    text
}

fn totals(score: &Score, all: usize) -> String {
    let Score { right, partly, honestly_unknown, wrong, determined, determined_right } = *score;
    let percent = score.percent();
    format!(
        "{all} cases: {right} right, {partly} partly, {honestly_unknown} honestly unknown, {wrong} wrong.\n\
         Where the state determines the cause: {determined_right} of {determined} right, {percent} % \
         (the goal is {GOAL_PERCENT} %, and none wrong).\n"
    )
}

fn expected(truth: &Truth) -> String {
    let mut words = vec![truth.verdict.as_str()];
    words.extend(truth.or.iter().map(String::as_str));
    let mut text = words.join(" or ");
    if !truth.cause.is_empty() {
        let _ = write!(text, ": {}", truth.cause.join(", "));
    }
    if let Some(remedy) = truth.remedy.first() {
        let _ = write!(text, "; \"{remedy}\"");
    }
    text
}

/// What was said: the verdict, the findings, and the first remedy of the cause.
pub(super) fn said(status: Status, shown: &[&Finding], truth: &Truth) -> String {
    let mut slugs: Vec<&str> = shown.iter().map(|finding| finding.slug.as_str()).collect();
    slugs.dedup();
    // What was expected first, so that it can be compared.
    slugs.sort_by_key(|slug| truth.cause.iter().position(|wanted| wanted == slug).unwrap_or(usize::MAX));
    let more = slugs.len().saturating_sub(MOST_SLUGS);
    slugs.truncate(MOST_SLUGS.max(truth.cause.len()));
    let mut text = status.slug().to_owned();
    if !slugs.is_empty() {
        let _ = write!(text, ": {}", slugs.join(", "));
    }
    if more > 0 && truth.cause.len() <= MOST_SLUGS {
        let _ = write!(text, " and {more} more");
    }
    let first = slugs.first().and_then(|slug| shown.iter().find(|finding| finding.slug == *slug));
    if let Some(remedy) = first.and_then(|finding| finding.remedies.first()) {
        let _ = write!(text, "; \"{}\"", remedy.title);
    }
    text
}
