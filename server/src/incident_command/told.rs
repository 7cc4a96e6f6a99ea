//! Incidents as text.

use std::fmt::Write;

use unstuck_diagnosis::history::{Incident, OpenedBy};
use unstuck_diagnosis::visible;
use unstuck_store::IncidentFile;

use super::at;
use crate::api::IncidentList;

/// One line for each, and its title below.
pub(super) fn list(list: &IncidentList) -> String {
    if list.incidents.is_empty() {
        return "No incident is kept.\n".to_owned();
    }
    let mut out = String::new();
    for incident in &list.incidents {
        let _ = writeln!(
            out,
            "{}  {}  {}  {}",
            visible(&incident.id.0),
            at(incident.opened.at),
            until(incident),
            visible(&incident.cluster)
        );
        let _ = writeln!(out, "  {}", visible(&incident.title));
    }
    if let Some(before) = list.before {
        let _ = writeln!(out, "\nThere are more before {}.", at(before));
    }
    out
}

fn until(incident: &Incident) -> String {
    incident.closed.map_or_else(|| "open".to_owned(), |closed| format!("until {}", at(closed)))
}

/// Everything that is kept of one, but what was seen.
pub(super) fn incident(file: &IncidentFile) -> String {
    let one = &file.incident;
    let mut out = format!("{}\n", visible(&one.title));
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(out, "  {name:<12} {}", visible(value));
    };
    line("Incident", &one.id.0);
    line("Cluster", &one.cluster);
    line("Began", &at(one.opened.at));
    line("Over", &one.closed.map_or_else(|| "no, it is open".to_owned(), at));
    line("Severity", one.severity.slug());
    line("Stuck groups", &one.stuck_groups.to_string());
    line(
        "Opened by",
        match &one.by {
            OpenedBy::Unstuck => "Unstuck",
            OpenedBy::Person(Some(name)) => name,
            OpenedBy::Person(None) => "somebody, by hand",
            OpenedBy::Import => "an import",
        },
    );
    if let Some(acknowledged) = &one.acknowledged {
        line("Looked after", &format!("by {}, since {}", acknowledged.by, at(acknowledged.at)));
    }
    if !file.moments.is_empty() {
        let moments: Vec<String> =
            file.moments.iter().map(|(moment, time)| format!("{} ({})", moment.slug(), at(*time))).collect();
        line("Moments", &moments.join(", "));
    }
    if !file.findings.is_empty() {
        out.push_str("Findings\n");
    }
    for record in &file.findings {
        let closed = record.closed.map_or_else(|| "open".to_owned(), |closed| format!("until {}", at(closed.at)));
        let _ = writeln!(out, "  {}  {closed}  {}", at(record.opened.at), visible(&record.slug));
        let _ = writeln!(out, "    {}", visible(&record.at_worst.sentence));
    }
    if !file.notes.is_empty() {
        out.push_str("Notes\n");
    }
    for note in &file.notes {
        let _ = writeln!(out, "  {}  {}", at(note.at), visible(&note.by));
        for text in note.text.lines() {
            let _ = writeln!(out, "    {}", visible(text));
        }
    }
    let more = if file.events_cut { " (the first ones)" } else { "" };
    let _ = writeln!(
        out,
        "{} events{more}; --json prints them, and `unstuck incident export` takes all out",
        file.events.len()
    );
    out
}
