//! The handbook: what each finding means, independent of any cluster. Written beside the rule that makes it; rendered as
//! `docs/findings.md` and as the pages `/docs/findings/{slug}`.

use serde::Serialize;

/// One chapter: everything worth knowing about a kind of finding. Texts are plain sentences; `` `code` `` is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The stable name, as in `Finding::slug` and in links.
    pub slug: &'static str,
    /// What is wrong, in a few words: `No leader, and no live replica that could become one`.
    pub title: &'static str,
    /// How bad, in words: `outage`, or `error, outage past the session time-out`.
    pub severity: &'static str,
    /// What it means: what happens inside Kafka, and what that does to groups.
    pub means: &'static str,
    /// When it opens: the condition that is looked at.
    pub opens: &'static str,
    /// When it closes.
    pub closes: &'static str,
    /// What is said where the evidence is missing, and what cannot be seen from outside.
    pub not_told: &'static str,
    /// What clients and their logs show; empty if nothing particular.
    pub clients_see: &'static str,
    /// The way out in general, in order of safety.
    pub way_out: &'static str,
    /// What not to do, and why; empty if there is no such advice about.
    pub never: &'static str,
    /// Near twins: the other finding's slug, and how to tell them apart.
    pub twins: &'static [(&'static str, &'static str)],
    /// Findings that merely follow from this one where it is open about the same partitions, brokers or group: they are
    /// shown as its consequences.
    pub shadows: &'static [&'static str],
    /// Releases concerned: `all`, `below 2.1 (KAFKA-6082)`.
    pub versions: &'static str,
    /// Where the facts come from: KIPs, JIRA issues, files of Kafka.
    pub sources: &'static [&'static str],
}

impl Entry {
    /// For `..Entry::BLANK` in rules: nothing said.
    pub(crate) const BLANK: Self = Self {
        slug: "",
        title: "",
        severity: "",
        means: "",
        opens: "",
        closes: "",
        not_told: "",
        clients_see: "",
        way_out: "",
        never: "",
        twins: &[],
        shadows: &[],
        versions: "all",
        sources: &[],
    };
}

/// All chapters, ordered by slug: of findings about clusters and about single groups.
#[must_use]
pub fn handbook() -> Vec<&'static Entry> {
    let mut entries: Vec<_> = crate::findings::entries().collect();
    entries.sort_by_key(|entry| entry.slug);
    entries
}

/// The chapter of a slug.
#[must_use]
pub fn entry(slug: &str) -> Option<&'static Entry> {
    handbook().into_iter().find(|entry| entry.slug == slug)
}

/// The slugs that findings can have, alphabetically.
pub fn slugs() -> impl Iterator<Item = &'static str> {
    handbook().into_iter().map(|entry| entry.slug)
}
