//! `unstuck explain`: a chapter of the handbook in the terminal, offline.

use std::fmt::Write as _;
use std::io::Write;

use unstuck_diagnosis::handbook::{self, BY_HAND, Entry, Part, Passage};

use crate::cli::{ExplainArgs, Failure};
use crate::lookup::end_of_output;

/// Up to how many characters a line of text has.
const WIDTH: usize = 100;

pub(crate) fn run(arguments: &ExplainArgs) -> Result<u8, Failure> {
    let text = match &arguments.finding {
        Some(slug) => chapter(slug)?,
        None => list(),
    };
    end_of_output(std::io::stdout().lock().write_all(text.as_bytes()))?;
    Ok(0)
}

/// All findings, by part of the handbook.
fn list() -> String {
    let mut out = String::new();
    for part in Part::ALL {
        let chapters: Vec<_> = handbook::chapters(part).collect();
        if !chapters.is_empty() {
            let _ = writeln!(out, "{}", part.title());
            chapters.iter().for_each(|one| line(&mut out, one.slug, one.title));
        }
    }
    out.push_str("Cannot be seen from outside\n");
    BY_HAND.iter().for_each(|one| line(&mut out, one.slug, one.title));
    out
}

fn line(out: &mut String, slug: &str, title: &str) {
    let _ = writeln!(out, "  {slug:<34} {title}");
}

fn chapter(slug: &str) -> Result<String, Failure> {
    if let Some(entry) = handbook::entry(slug) {
        return Ok(of_entry(entry));
    }
    if let Some(one) = BY_HAND.iter().find(|one| one.slug == slug) {
        let head = format!("{}: {}\nReleases: {}\n", one.slug, one.title, one.versions);
        return Ok(head + &passages(&one.passages()));
    }
    let near: Vec<_> = handbook::nearest(slug).iter().map(|one| one.slug).collect();
    Err(Failure::usage(format!(
        "no finding is called \"{}\"\n  Called much like it: {}\n  `unstuck explain` lists all of them.",
        unstuck_diagnosis::visible(slug),
        near.join(", ")
    )))
}

fn of_entry(entry: &'static Entry) -> String {
    let mut out = format!("{}: {}\n", entry.slug, entry.title);
    let _ = write!(out, "Severity: {}\nReleases: {}\n", entry.severity, entry.versions);
    out.push_str(&passages(&entry.passages()));
    if !entry.twins.is_empty() {
        out.push_str("\nEasily taken for it\n");
        entry.twins.iter().for_each(|(twin, difference)| wrap(&mut out, &format!("{twin}: {difference}")));
    }
    if !entry.shadows.is_empty() {
        out.push_str("\nWhat follows from it\n");
        wrap(&mut out, &entry.shadows.join(", "));
    }
    out
}

fn passages(passages: &[Passage]) -> String {
    let mut out = String::new();
    for passage in passages {
        let _ = write!(out, "\n{}\n", passage.title);
        passage.text.lines().filter(|line| !line.is_empty()).for_each(|line| wrap(&mut out, line));
    }
    out
}

/// Text below a heading, in lines that fit; a word is never cut.
fn wrap(out: &mut String, text: &str) {
    let mut length = 0;
    for word in text.split_whitespace() {
        let more = word.chars().count() + 1;
        if length == 0 || length + more > WIDTH {
            out.push_str(if length == 0 { "  " } else { "\n  " });
            length = 1;
        } else {
            out.push(' ');
        }
        out.push_str(word);
        length += more;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chapter_can_be_printed() {
        let all = list();
        for slug in handbook::slugs().chain(BY_HAND.iter().map(|one| one.slug)) {
            assert!(all.contains(slug), "{slug} is not listed");
            let text = chapter(slug).expect("it has a chapter");
            assert!(text.starts_with(slug), "{text}");
            let long = text.lines().find(|line| line.starts_with("  ") && line.chars().count() > WIDTH + 2);
            assert!(long.is_none_or(|line| !line.trim().contains(' ')), "{long:?}");
        }
    }

    #[test]
    fn a_misspelt_name_is_answered_with_those_like_it() {
        let failure = chapter("leader-los").expect_err("nothing is called so");
        assert_eq!(failure.code, crate::cli::EXIT_USAGE);
        assert!(failure.message.contains("leader-lost"), "{}", failure.message);
    }
}
