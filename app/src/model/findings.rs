//! The handbook's pages. Its texts stay on the server: a page is sent the one that it shows.

use serde::{Deserialize, Serialize};
#[cfg(feature = "ssr")]
use {
    super::{Found, Missing, Seqs},
    unstuck_diagnosis::handbook::{self, BY_HAND, ByHand, Entry, INTRODUCTION, Part, Passage},
};

/// All findings, and what to know before reading about one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FindingsModel {
    /// The introduction.
    pub(crate) introduction: Vec<Section>,
    /// The findings, by part of the handbook.
    pub(crate) parts: Vec<PartModel>,
}

/// One part of the handbook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PartModel {
    /// Its heading.
    pub(crate) title: String,
    /// What its chapters have in common.
    pub(crate) about: String,
    /// Its chapters.
    pub(crate) lines: Vec<ChapterLine>,
}

/// A chapter in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChapterLine {
    /// Its slug.
    pub(crate) slug: String,
    /// How bad, in words; for causes that cannot be seen, the releases concerned.
    pub(crate) severity: String,
    /// What is wrong.
    pub(crate) title: Vec<Span>,
}

/// One chapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChapterModel {
    /// Its slug.
    pub(crate) slug: String,
    /// What is wrong, as plain text.
    pub(crate) title: String,
    /// How bad; `None` for a cause that cannot be seen.
    pub(crate) severity: Option<String>,
    /// Releases concerned.
    pub(crate) versions: Vec<Span>,
    /// The texts.
    pub(crate) sections: Vec<Section>,
    /// Findings that are easily taken for it, with the difference.
    pub(crate) twins: Vec<(ChapterLine, Vec<Span>)>,
    /// Findings that are shown as consequences.
    pub(crate) shadows: Vec<ChapterLine>,
    /// Findings that it is shown as a consequence of.
    pub(crate) shadowed_by: Vec<ChapterLine>,
    /// Where the facts come from.
    pub(crate) sources: Vec<String>,
}

/// A heading and its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Section {
    /// The heading.
    pub(crate) title: String,
    /// The text.
    pub(crate) blocks: Vec<Block>,
}

/// A paragraph, or the items of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Block {
    /// A paragraph.
    Text(Vec<Span>),
    /// A list without an order.
    Items(Vec<Vec<Span>>),
    /// A list in order.
    Steps(Vec<Vec<Span>>),
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Span {
    /// As it is.
    Plain(String),
    /// A word that the text is about.
    Strong(String),
    /// Something that is typed or printed.
    Code(String),
    /// The slug of another chapter.
    Chapter(String),
}

#[cfg(feature = "ssr")]
impl FindingsModel {
    pub(crate) fn of() -> Self {
        let mut parts: Vec<PartModel> = Part::ALL
            .into_iter()
            .map(|part| PartModel {
                title: part.title().to_owned(),
                about: part.about().to_owned(),
                lines: handbook::chapters(part).map(line).collect(),
            })
            .filter(|part| !part.lines.is_empty())
            .collect();
        parts.push(PartModel {
            title: "By hand".to_owned(),
            about: handbook::BY_HAND_ABOUT.to_owned(),
            lines: BY_HAND.iter().map(by_hand_line).collect(),
        });
        Self { introduction: INTRODUCTION.iter().map(section).collect(), parts }
    }
}

#[cfg(feature = "ssr")]
impl ChapterModel {
    pub(crate) fn of(slug: &str) -> Found<Self> {
        if let Some(entry) = handbook::entry(slug) {
            return Found::Here(Self::of_entry(entry));
        }
        match BY_HAND.iter().find(|one| one.slug == slug) {
            Some(one) => Found::Here(Self::of_by_hand(one)),
            None => Found::Missing(missing(slug)),
        }
    }

    fn of_entry(entry: &'static Entry) -> Self {
        let lines = |slugs: &[&str]| slugs.iter().filter_map(|slug| handbook::entry(slug)).map(line).collect();
        Self {
            slug: entry.slug.to_owned(),
            title: entry.title.replace('`', ""),
            severity: Some(entry.severity.to_owned()),
            versions: spans(entry.versions),
            sections: entry.passages().iter().map(section).collect(),
            twins: entry
                .twins
                .iter()
                .filter_map(|(slug, difference)| Some((line(handbook::entry(slug)?), spans(difference))))
                .collect(),
            shadows: lines(entry.shadows),
            shadowed_by: handbook::shadowed_by(entry.slug).map(line).collect(),
            sources: entry.sources.iter().map(|&source| source.to_owned()).collect(),
        }
    }

    fn of_by_hand(one: &'static ByHand) -> Self {
        Self {
            slug: one.slug.to_owned(),
            title: one.title.replace('`', ""),
            severity: None,
            versions: spans(one.versions),
            sections: one.passages().iter().map(section).collect(),
            twins: Vec::new(),
            shadows: Vec::new(),
            shadowed_by: Vec::new(),
            sources: one.sources.iter().map(|&source| source.to_owned()).collect(),
        }
    }
}

#[cfg(feature = "ssr")]
fn line(entry: &'static Entry) -> ChapterLine {
    ChapterLine { slug: entry.slug.to_owned(), severity: entry.severity.to_owned(), title: spans(entry.title) }
}

#[cfg(feature = "ssr")]
fn by_hand_line(one: &ByHand) -> ChapterLine {
    ChapterLine { slug: one.slug.to_owned(), severity: one.versions.to_owned(), title: spans(one.title) }
}

#[cfg(feature = "ssr")]
fn missing(slug: &str) -> Missing {
    let near = handbook::nearest(slug).into_iter();
    let mut links: Vec<_> = near.map(|one| (one.slug.to_owned(), one.href())).collect();
    links.push(("all findings".to_owned(), "/docs/findings".to_owned()));
    Missing {
        seqs: Seqs::new(),
        heading: format!("No finding is called “{}”", unstuck_diagnosis::visible(slug)),
        sentence: "These are called much like it:".to_owned(),
        links,
    }
}

#[cfg(feature = "ssr")]
fn section(passage: &Passage) -> Section {
    Section { title: passage.title.to_owned(), blocks: blocks(passage.text) }
}

/// Paragraphs have an empty line between them; lines that begin with `- ` or a number are a list.
#[cfg(feature = "ssr")]
fn blocks(text: &str) -> Vec<Block> {
    let numbered = |line: &str| {
        let (number, rest) = line.split_once(". ")?;
        number.parse::<u8>().ok().map(|_| spans(rest))
    };
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let lines: Vec<&str> = paragraph.lines().collect();
        if let Some(items) = lines.iter().map(|line| line.strip_prefix("- ").map(spans)).collect() {
            Block::Items(items)
        } else if let Some(steps) = lines.iter().map(|line| numbered(line)).collect() {
            Block::Steps(steps)
        } else {
            Block::Text(spans(paragraph))
        }
    });
    paragraphs.collect()
}

/// `` `code` `` and `*words*`; a slug in code is a link.
#[cfg(feature = "ssr")]
fn spans(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    for (nth, piece) in text.split('`').enumerate() {
        if nth % 2 == 1 {
            let chapter = handbook::entry(piece).is_some() || BY_HAND.iter().any(|one| one.slug == piece);
            spans.push(if chapter { Span::Chapter(piece.to_owned()) } else { Span::Code(piece.to_owned()) });
            continue;
        }
        for (nth, piece) in piece.split('*').enumerate().filter(|(_, piece)| !piece.is_empty()) {
            let piece = piece.to_owned();
            spans.push(if nth % 2 == 1 { Span::Strong(piece) } else { Span::Plain(piece) });
        }
    }
    spans
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;

    #[test]
    fn texts_become_paragraphs_lists_and_links() {
        let plain = |text: &str| Span::Plain(text.to_owned());
        assert_eq!(
            blocks("See `leader-lost`, *not* `acks`.\n\n- one\n- two\n\n1. first\n2. second"),
            [
                Block::Text(vec![
                    plain("See "),
                    Span::Chapter("leader-lost".to_owned()),
                    plain(", "),
                    Span::Strong("not".to_owned()),
                    plain(" "),
                    Span::Code("acks".to_owned()),
                    plain("."),
                ]),
                Block::Items(vec![vec![plain("one")], vec![plain("two")]]),
                Block::Steps(vec![vec![plain("first")], vec![plain("second")]]),
            ]
        );
    }
}
