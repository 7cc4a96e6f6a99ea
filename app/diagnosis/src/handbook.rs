//! The handbook: what each finding means, independent of any cluster. Written beside the rule that makes it; rendered as
//! `docs/findings.md` and as the pages `/docs/findings/{slug}`.

mod by_hand;
mod document;
mod introduction;
mod nearest;

use serde::Serialize;

pub use by_hand::{BY_HAND, ByHand};
pub use document::{BY_HAND_ABOUT, document};
pub use introduction::{INTRODUCTION, Passage};
pub use nearest::nearest;

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

/// Where a chapter stands in the handbook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Something does not work now.
    Now,
    /// Everything works, and the next failure hurts.
    Before,
    /// The coordinator is fine; the cause is in one group.
    Group,
    /// Something could not be looked at, so a verdict is weaker than it could be.
    NotSeen,
}

impl Part {
    /// In the order of the handbook.
    pub const ALL: [Self; 4] = [Self::Now, Self::Before, Self::Group, Self::NotSeen];

    /// The heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Now => "Something does not work",
            Self::Before => "Warnings before the fact",
            Self::Group => "The coordinator is fine: look at the group",
            Self::NotSeen => "What could not be looked at",
        }
    }

    /// What the chapters of this part have in common.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Now => {
                "Groups stand still, or are about to. The chapters stand in the order in which the rules are asked."
            }
            Self::Before => {
                "Nobody is hit yet. Each of these turns the next ordinary event, a restart, a full disk, a lost broker, \
                 into an outage. They are the ones to work on by day."
            }
            Self::Group => {
                "The coordinator serves, and commits are accepted. What is wrong is found among the members of one group, \
                 in its offsets, or in the partitions that it reads."
            }
            Self::NotSeen => {
                "These are about Unstuck's own sight. They never say that something is broken in the cluster; they say \
                 what stays open until Unstuck may look, and how to let it."
            }
        }
    }
}

/// Chapters that are about what could not be looked at.
const NOT_SEEN: [&str; 4] = ["bootstrap-unusable", "broker-not-reachable", "canaries-denied", "groups-not-listed"];

impl Entry {
    /// Where the chapter stands: by what the finding costs at worst.
    #[must_use]
    pub fn part(&self) -> Part {
        if crate::group_findings::entries().any(|entry| entry.slug == self.slug) {
            Part::Group
        } else if NOT_SEEN.contains(&self.slug) {
            Part::NotSeen
        } else if self.severity.contains("outage") || self.severity.contains("error") {
            Part::Now
        } else {
            Part::Before
        }
    }

    /// Where the chapter is shown by a running Unstuck. Stable: it may be written into runbooks.
    #[must_use]
    pub fn href(&self) -> String {
        href(self.slug)
    }

    /// The texts with their headings, in the order of reading; those that say nothing are left out.
    #[must_use]
    pub fn passages(&self) -> Vec<Passage> {
        let all = [
            ("What it means", self.means),
            ("It opens when", self.opens),
            ("It closes when", self.closes),
            ("What clients see", self.clients_see),
            ("The way out, safest first", self.way_out),
            ("What not to do", self.never),
            ("What cannot be told", self.not_told),
        ];
        all.into_iter().filter(|(_, text)| !text.is_empty()).map(|(title, text)| Passage { title, text }).collect()
    }
}

/// The stable address of a finding's chapter in the app.
#[must_use]
pub fn href(slug: &str) -> String {
    format!("/docs/findings/{slug}")
}

/// All chapters in the order in which their rules are asked: those about clusters first, then those about groups.
fn entries() -> impl Iterator<Item = &'static Entry> {
    crate::findings::entries().chain(crate::group_findings::entries())
}

/// The chapters of one part, in the order in which their rules are asked.
pub fn chapters(part: Part) -> impl Iterator<Item = &'static Entry> {
    entries().filter(move |entry| entry.part() == part)
}

/// The chapters of which the findings of `slug` are shown as consequences.
pub fn shadowed_by(slug: &str) -> impl Iterator<Item = &'static Entry> {
    entries().filter(move |entry| entry.shadows.contains(&slug))
}

/// All chapters, ordered by slug: of findings about clusters and about single groups.
#[must_use]
pub fn handbook() -> Vec<&'static Entry> {
    let mut entries: Vec<_> = entries().collect();
    entries.sort_by_key(|entry| entry.slug);
    entries
}

/// The chapter of a slug.
#[must_use]
pub fn entry(slug: &str) -> Option<&'static Entry> {
    entries().find(|entry| entry.slug == slug)
}

/// The slugs that findings can have, alphabetically.
pub fn slugs() -> impl Iterator<Item = &'static str> {
    handbook().into_iter().map(|entry| entry.slug)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_unique_and_fit_an_address() {
        let all: Vec<_> = slugs().chain(BY_HAND.iter().map(|one| one.slug)).collect();
        let unique: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(unique.len(), all.len(), "{all:?}");
        for slug in all {
            assert!(slug.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{slug}");
        }
    }

    #[test]
    fn twins_and_shadows_are_findings() {
        for one in handbook() {
            for slug in one.twins.iter().map(|(slug, _)| slug).chain(one.shadows) {
                assert!(entry(slug).is_some(), "{} speaks of {slug}, and there is no such finding", one.slug);
                assert_ne!(slug, &one.slug);
            }
        }
        for slug in NOT_SEEN {
            assert!(entry(slug).is_some(), "{slug}");
        }
    }

    #[test]
    fn a_consequence_is_never_its_own_cause() {
        for one in handbook() {
            for consequence in one.shadows.iter().filter_map(|slug| entry(slug)) {
                assert!(
                    !consequence.shadows.contains(&one.slug),
                    "{} and {} hide each other",
                    one.slug,
                    consequence.slug
                );
            }
        }
    }

    #[test]
    fn chapters_say_what_has_to_be_said() {
        for one in handbook() {
            for (what, text) in [
                ("title", one.title),
                ("severity", one.severity),
                ("means", one.means),
                ("opens", one.opens),
                ("closes", one.closes),
                ("not_told", one.not_told),
                ("way_out", one.way_out),
                ("versions", one.versions),
            ] {
                assert!(!text.trim().is_empty(), "{}: {what} says nothing", one.slug);
            }
            assert!(!one.sources.is_empty(), "{}: where do the facts come from?", one.slug);
        }
        for one in BY_HAND {
            for text in [one.title, one.means, one.suspect, one.look, one.way_out, one.versions] {
                assert!(!text.trim().is_empty(), "{}: a text says nothing", one.slug);
            }
        }
    }
}
