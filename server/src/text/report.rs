//! A whole report for a terminal: how the cluster stands, what is wrong, and what to do about the worst of it.

use unstuck_diagnosis::report::Report;

use super::{GAPS, Lines, colour, evidence, follows, safe, steps};

/// How many brokers and racks are named that would take something with them.
const STOPS: usize = 6;

/// The headline with its figures, every finding, and what could not be looked at.
pub(crate) fn report(report: &Report, colours: bool) -> String {
    let mut lines = Lines::default();
    let headline = &report.headline;
    let word = headline.status.words().to_uppercase();
    let word = if colours { format!("\u{1b}[1;{}m{word}\u{1b}[0m", colour(headline.status)) } else { word };
    lines.text = format!("{word}: {}\n", safe(&headline.sentence));
    if !headline.detail.is_empty() {
        lines.add(&headline.detail);
    }
    lines.add_since(headline.since, headline.since_after);
    for (number, finding) in report.findings.iter().enumerate() {
        if let Some(cause) = &finding.follows_from {
            follows(&mut lines, finding, cause);
            continue;
        }
        evidence(&mut lines, finding);
        if number == 0 {
            steps(&mut lines, finding);
        } else if let Some(remedy) = finding.remedies.first() {
            lines.add_below(&format!("Next: {}", remedy.title.trim_end_matches('.')));
        }
    }
    what_if(&mut lines, report);
    for gap in report.could_not_observe.iter().take(GAPS) {
        lines.add(&format!("Could not look: {} ({})", gap.what, gap.why));
    }
    if let Some(more @ 1..) = report.could_not_observe.len().checked_sub(GAPS) {
        lines.add(&format!("Could not look: {more} more; --json lists them"));
    }
    lines.text
}

/// What stops with a broker or a rack, where something would stand still: a warning before the fact.
fn what_if(lines: &mut Lines, report: &Report) {
    let brokers = report.brokers.iter().filter_map(|broker| broker.if_it_stops.as_ref());
    let racks = report.racks.iter().filter_map(|rack| rack.if_it_stops.as_ref());
    let mut more = 0_usize;
    for (number, what) in brokers.chain(racks).filter(|what| what.something_stands_still()).enumerate() {
        if number < STOPS {
            lines.add(&format!("{}:", what.title));
            what.sentences.iter().for_each(|sentence| lines.add_below(sentence));
        } else {
            more += 1;
        }
    }
    if more > 0 {
        lines
            .add(&format!("{more} more brokers or racks would take groups with them; the page and the JSON have them"));
    }
}
