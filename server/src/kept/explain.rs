//! `unstuck diagnose FILE`: what was seen then, explained without a cluster.

use std::fmt::Write;

use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::{GroupId, Published, visible};

use super::{Kept, Shown};
use crate::cli::Failure;
use crate::lookup::json;
use crate::text;

/// What is wanted of a file.
pub(crate) struct Wanted<'a> {
    /// The groups to look up; none: the whole report.
    pub(crate) groups: &'a [GroupId],
    /// Which moment, as typed.
    pub(crate) moment: Option<&'a str>,
    /// What was said then, instead of what today's rules say.
    pub(crate) as_said: bool,
    /// For programs.
    pub(crate) json: bool,
    /// Whether there are colours.
    pub(crate) colours: bool,
}

/// Explains a moment of a file: what to print, and how bad it is.
///
/// # Errors
/// There is no such moment.
pub(crate) fn explain(file: &str, kept: &Kept, wanted: &Wanted<'_>) -> Result<(String, Status), Failure> {
    let Shown { place, frozen } = kept.shown(wanted.moment).map_err(|which| match wanted.moment {
        Some(moment) => Failure::usage(format!(
            "{file}: there is no moment `{}`\n  {which}\n  Name one of these with --step, or leave it out",
            visible(moment)
        )),
        None => Failure::usage(format!(
            "{file}: nothing is kept of what was seen\n  {which}\n  Export the incident again, or give another file"
        )),
    })?;
    let said = frozen.published();
    let today = if wanted.as_said { said.clone() } else { frozen.diagnosed_again() };
    let lookup = today.lookup(wanted.groups);
    let status = if wanted.groups.is_empty() { crate::drill::worst(&today) } else { lookup.worst() };
    if wanted.json {
        let answer = if wanted.groups.is_empty() { json(&today.report)? } else { json(&lookup)? };
        return Ok((answer + "\n", status));
    }
    let mut out = String::new();
    let _ = writeln!(out, "What was seen of {} at {}", visible(&frozen.report.cluster), text::time(frozen.at));
    let _ = writeln!(out, "{}, written by Unstuck {}", visible(&place), visible(&frozen.written_by));
    if let Some(why) = &kept.rest {
        let _ = writeln!(out, "What follows it in the file could not be read: {}", visible(why));
    }
    if frozen.groups_left_out > 0 {
        let left_out = frozen.groups_left_out;
        let _ = writeln!(out, "{left_out} groups on partitions that worked were left out: too many to keep.");
    }
    for line in differences(&said, &today, wanted.groups) {
        let _ = writeln!(out, "Said then: {}", visible(&line));
    }
    out.push('\n');
    out.push_str(&if wanted.groups.is_empty() {
        text::report(&today.report, wanted.colours)
    } else {
        text::lookup(&lookup, wanted.colours)
    });
    Ok((out, status))
}

/// What was said then of what today's rules say otherwise.
fn differences(said: &Published, today: &Published, groups: &[GroupId]) -> Vec<String> {
    let mut lines = Vec::new();
    if groups.is_empty() {
        let (then, now) = (&said.report, &today.report);
        if (then.headline.status, &then.headline.sentence) != (now.headline.status, &now.headline.sentence) {
            lines.push(format!("{} ({})", then.headline.sentence, then.headline.status.words()));
        }
        let slugs = |published: &Published| -> Vec<String> {
            published.report.findings.iter().map(|finding| finding.slug.clone()).collect()
        };
        let (before, after) = (slugs(said), slugs(today));
        if before != after {
            let listed = if before.is_empty() { "none".to_owned() } else { before.join(", ") };
            lines.push(format!("findings: {listed}"));
        }
        return lines;
    }
    for group in groups {
        let (then, now) = (said.lookup_one(group).verdict, today.lookup_one(group).verdict);
        if (then.status, &then.sentence) != (now.status, &now.sentence) {
            lines.push(format!("{} ({})", then.sentence, then.status.words()));
        }
    }
    lines
}
