//! The handbook as one Markdown document.

use std::fmt::Write;

use super::{BY_HAND, ByHand, Entry, INTRODUCTION, Part, chapters, entry, shadowed_by};

/// The whole handbook, as `docs/findings.md` has it.
#[must_use]
pub fn document() -> String {
    let mut out = String::from(OPENING);
    for passage in INTRODUCTION {
        let _ = write!(out, "\n## {}\n\n{}\n", passage.title, linked(passage.text));
    }
    out.push_str("\n## All findings\n");
    for part in Part::ALL.into_iter().filter(|part| chapters(*part).next().is_some()) {
        let _ = write!(
            out,
            "\n**{}.** {}\n\n| finding | severity | what it says |\n|---|---|---|\n",
            part.title(),
            part.about()
        );
        for chapter in chapters(part) {
            let _ = writeln!(out, "| {} | {} | {} |", link(chapter.slug), cell(chapter.severity), cell(chapter.title));
        }
    }
    for part in Part::ALL.into_iter().filter(|part| chapters(*part).next().is_some()) {
        let _ = write!(out, "\n## {}\n", part.title());
        chapters(part).for_each(|one| chapter(&mut out, one));
    }
    let _ = write!(out, "\n## By hand\n\n{BY_HAND_ABOUT}\n");
    BY_HAND.iter().for_each(|one| by_hand(&mut out, one));
    out
}

const OPENING: &str = "\
<!-- Written by `make docs` from the rules in app/diagnosis/src/findings: change it there. -->

# Findings

What Unstuck can find: a chapter for each, with what it means, when it opens and closes, what clients see, and the way out.
A running Unstuck has the same chapters at `/docs/findings/{slug}`, linked from every finding that it shows.
";

/// What the last part of the handbook is about.
pub const BY_HAND_ABOUT: &str = "\
These causes leave no trace that can be seen from outside the brokers: no request tells them apart from a cluster that is \
well. Unstuck never reports them. If groups misbehave and Unstuck finds nothing, look for them by hand.";

fn chapter(out: &mut String, entry: &Entry) {
    let _ = write!(out, "\n### {}\n\n**{}.**\n", entry.slug, entry.title.trim_end_matches('.'));
    let _ = writeln!(out, "Severity: {}. Releases: {}.", entry.severity, entry.versions);
    for passage in entry.passages() {
        said(out, passage.title, passage.text);
    }
    if !entry.twins.is_empty() {
        out.push_str("\n*Easily taken for.*\n\n");
        for (twin, difference) in entry.twins {
            let _ = writeln!(out, "- {}: {}", link(twin), linked(difference));
        }
    }
    slugs(out, "What follows from it", entry.shadows.iter().copied());
    slugs(out, "May itself follow from", shadowed_by(entry.slug).map(|cause| cause.slug));
    if !entry.sources.is_empty() {
        let _ = write!(out, "\n*Sources.* {}\n", entry.sources.join("; "));
    }
}

fn by_hand(out: &mut String, one: &ByHand) {
    let _ = write!(out, "\n### {}\n\n**{}.**\n", one.slug, one.title.trim_end_matches('.'));
    let _ = writeln!(out, "Releases: {}.", one.versions);
    for passage in one.passages() {
        said(out, passage.title, passage.text);
    }
    if !one.sources.is_empty() {
        let _ = write!(out, "\n*Sources.* {}\n", one.sources.join("; "));
    }
}

/// A passage; a list begins below its heading.
fn said(out: &mut String, title: &str, text: &str) {
    let gap = if text.starts_with("- ") || text.starts_with("1. ") { "\n\n" } else { " " };
    let _ = write!(out, "\n*{title}.*{gap}{}\n", linked(text));
}

fn slugs(out: &mut String, title: &str, slugs: impl Iterator<Item = &'static str>) {
    let links: Vec<_> = slugs.map(link).collect();
    if !links.is_empty() {
        let _ = write!(out, "\n*{title}:* {}.\n", links.join(", "));
    }
}

fn link(slug: &str) -> String {
    format!("[`{slug}`](#{slug})")
}

/// For a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The text, with slugs in code turned into links.
fn linked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (nth, piece) in text.split('`').enumerate() {
        let code = nth % 2 == 1;
        match (code, entry(piece).is_some() || BY_HAND.iter().any(|one| one.slug == piece)) {
            (true, true) => out.push_str(&link(piece)),
            (true, false) => {
                let _ = write!(out, "`{piece}`");
            }
            (false, _) => out.push_str(piece),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_leads_to_a_heading() {
        let document = document();
        for target in document.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(document.contains(&format!("\n### {target}\n")), "nothing is called {target}");
        }
    }

    #[test]
    fn every_slug_has_one_chapter() {
        let document = document();
        for slug in crate::handbook::slugs() {
            assert_eq!(document.matches(&format!("\n### {slug}\n")).count(), 1, "{slug}");
        }
    }

    #[test]
    fn slugs_in_a_text_become_links() {
        assert_eq!(linked("see `leader-lost`, not `acks=all`"), "see [`leader-lost`](#leader-lost), not `acks=all`");
    }
}
