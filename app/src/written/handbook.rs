//! The pages of the handbook as HTML, from the chapters beside the rules.

use leptos::prelude::*;
use unstuck_diagnosis::handbook::{self, BY_HAND, BY_HAND_ABOUT, Entry, INTRODUCTION, Part, Passage};

use super::described;
use crate::model::{Found, Missing, Seqs, Written};
use crate::part::{Head, card, table};
use crate::text::finding_href;

/// A chapter in a list: slug, title, how bad.
type Line = (&'static str, &'static str, &'static str);

/// The largest sentence of the list.
const HEADING: &str = "What Unstuck can find";

/// All findings, and what to know before reading about one.
pub(crate) fn all() -> Written {
    let mut parts: Vec<AnyView> = Vec::new();
    for part in Part::ALL {
        let lines: Vec<Line> = handbook::chapters(part).map(line).collect();
        if !lines.is_empty() {
            parts.push(list(part.title(), part.about(), "how bad", lines));
        }
    }
    let by_hand = BY_HAND.iter().map(|one| (one.slug, one.title, one.versions)).collect();
    parts.push(list("By hand", BY_HAND_ABOUT, "releases", by_hand));
    let html = view! {
        <div class="main-col">{parts}</div>
        <div class="side-col prose">{INTRODUCTION.iter().map(section).collect_view()}</div>
    };
    Written {
        title: "Findings".to_owned(),
        heading: HEADING.to_owned(),
        detail: "A chapter for each: what it means, when it opens and closes, what clients see, and the way out."
            .to_owned(),
        up: None,
        tone: "s-look".to_owned(),
        meta: described(HEADING),
        html: html.to_html(),
    }
}

/// The chapter of a slug, or what is called much like it.
pub(crate) fn chapter(slug: &str) -> Found<Written> {
    if let Some(entry) = handbook::entry(slug) {
        return Found::Here(of_entry(entry));
    }
    let Some(one) = BY_HAND.iter().find(|one| one.slug == slug) else { return Found::Missing(missing(slug)) };
    let side = view! {
        {facts("cannot be seen from outside", one.versions)}
        {sources(one.sources)}
    };
    Found::Here(page(one.slug, one.title, &one.passages(), side.into_any()))
}

fn of_entry(entry: &'static Entry) -> Written {
    let lines = |slugs: &[&str]| slugs.iter().filter_map(|slug| handbook::entry(slug)).map(line).collect();
    let twins = (!entry.twins.is_empty()).then(|| {
        let items = entry.twins.iter().map(|(slug, difference)| {
            let title = handbook::entry(slug).map_or("", |twin| twin.title);
            view! { <li><p>{link(slug)}": "{spans(title)}</p><p class="soft">{spans(difference)}</p></li> }
        });
        card("Easily taken for it", view! { <ul class="lines">{items.collect_view()}</ul> })
    });
    let side = view! {
        {facts(entry.severity, entry.versions)}
        {twins}
        {links("What follows from it", lines(entry.shadows))}
        {links("May itself follow from", handbook::shadowed_by(entry.slug).map(line).collect())}
        {sources(entry.sources)}
    };
    page(entry.slug, entry.title, &entry.passages(), side.into_any())
}

fn page(slug: &str, title: &str, passages: &[Passage], side: AnyView) -> Written {
    let html = view! {
        <div class="main-col prose">{passages.iter().map(section).collect_view()}</div>
        <div class="side-col">{side}</div>
    };
    Written {
        title: format!("{slug} · Findings"),
        heading: title.replace('`', ""),
        detail: slug.to_owned(),
        up: Some(("All findings".to_owned(), "/docs/findings".to_owned())),
        tone: "s-look".to_owned(),
        meta: described(&title.replace('`', "")),
        html: html.to_html(),
    }
}

fn missing(slug: &str) -> Missing {
    let near = handbook::nearest(slug).into_iter();
    let mut links: Vec<_> = near.map(|one| (one.slug.to_owned(), one.href())).collect();
    links.push(("all findings".to_owned(), "/docs/findings".to_owned()));
    Missing {
        seqs: Seqs::new(),
        heading: format!("No finding is called “{}”", unstuck_diagnosis::visible(slug)),
        sentence: "These are called much like it:".to_owned(),
        links,
        unreadable: false,
    }
}

fn line(entry: &'static Entry) -> Line {
    (entry.slug, entry.title, entry.severity)
}

fn list(title: &str, about: &'static str, last: &'static str, lines: Vec<Line>) -> AnyView {
    let rows = lines.into_iter().map(|(slug, title, how_bad)| {
        view! {
            <tr>
                <th scope="row">{link(slug)}</th>
                <td data-label="what it says">{spans(title)}</td>
                <td data-label=last>{spans(how_bad)}</td>
            </tr>
        }
    });
    let heads = [Head::text("finding"), Head::text("what it says"), Head::text(last)];
    let body = view! {
        <p class="soft">{about}</p>
        {table(title, heads.into(), rows.collect_view())}
    };
    card(title, body)
}

fn facts(how_bad: &'static str, versions: &str) -> AnyView {
    let body = view! {
        <dl class="facts">
            <div><dt>"how bad"</dt><dd>{how_bad}</dd></div>
            <div><dt>"releases"</dt><dd>{spans(versions)}</dd></div>
        </dl>
    };
    card("This finding", body)
}

fn links(title: &str, lines: Vec<Line>) -> Option<AnyView> {
    if lines.is_empty() {
        return None;
    }
    let items = lines.into_iter().map(|(slug, title, _)| view! { <li>{link(slug)}": "{spans(title)}</li> });
    Some(card(title, view! { <ul class="lines">{items.collect_view()}</ul> }))
}

fn sources(sources: &'static [&'static str]) -> Option<AnyView> {
    if sources.is_empty() {
        return None;
    }
    let items = sources.iter().map(|source| view! { <li class="soft">{*source}</li> });
    Some(card("Sources", view! { <ul class="lines">{items.collect_view()}</ul> }))
}

fn link(slug: &str) -> AnyView {
    view! { <a class="mono" href=finding_href(slug)>{slug.to_owned()}</a> }.into_any()
}

/// A passage: paragraphs have an empty line between them; lines that begin with `- ` or a number are a list.
fn section(passage: &Passage) -> AnyView {
    let items = |items: Vec<&str>| items.into_iter().map(|item| view! { <li>{spans(item)}</li> }).collect_view();
    let blocks = passage.text.split("\n\n").map(|paragraph| {
        let lines = || paragraph.lines();
        if let Some(all) = lines().map(|line| line.strip_prefix("- ")).collect() {
            view! { <ul>{items(all)}</ul> }.into_any()
        } else if let Some(all) = lines().map(numbered).collect() {
            view! { <ol>{items(all)}</ol> }.into_any()
        } else {
            view! { <p>{spans(paragraph)}</p> }.into_any()
        }
    });
    card(passage.title, blocks.collect_view())
}

/// What stands behind `1. `.
fn numbered(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once(". ")?;
    number.parse::<u8>().ok().map(|_| rest)
}

/// `` `code` `` and `*words*`; a slug in code is a link.
fn spans(text: &str) -> AnyView {
    let mut pieces: Vec<AnyView> = Vec::new();
    for (nth, piece) in text.split('`').enumerate() {
        let is_slug = || handbook::entry(piece).is_some() || BY_HAND.iter().any(|one| one.slug == piece);
        if nth % 2 == 1 {
            let piece_ = piece.to_owned();
            pieces.push(if is_slug() { link(piece) } else { view! { <code>{piece_}</code> }.into_any() });
            continue;
        }
        for (nth, piece) in piece.split('*').enumerate().filter(|(_, piece)| !piece.is_empty()) {
            let piece = piece.to_owned();
            pieces.push(if nth % 2 == 1 { view! { <strong>{piece}</strong> }.into_any() } else { piece.into_any() });
        }
    }
    pieces.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_paragraphs_lists_and_links() {
        let text = "See `leader-lost`, *not* `<acks>`.\n\n- one\n- two\n\n1. first\n2. second";
        let html = section(&Passage { title: "It", text }).to_html().replace("<!>", "");
        assert_eq!(
            html,
            "<section class=\"card\"><h2>It</h2>\
             <p>See <a href=\"/docs/findings/leader-lost\" class=\"mono\">leader-lost</a>, <strong>not</strong> \
             <code>&lt;acks&gt;</code>.</p>\
             <ul><li>one</li><li>two</li></ul><ol><li>first</li><li>second</li></ol></section>"
        );
    }
}
