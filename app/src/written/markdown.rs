//! What people wrote, made safe: Markdown whose HTML is shown as text, whose links lead to web or mail addresses only, and
//! whose images are links, as loading one tells a stranger who reads the page.

use pulldown_cmark::{CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html};

/// A note as HTML.
pub(crate) fn safe(text: &str) -> String {
    let mut out: Vec<Event<'_>> = Vec::new();
    // What closes the links and images that are open.
    let mut open: Vec<Option<String>> = Vec::new();
    for event in Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES) {
        match event {
            Event::Html(raw) | Event::InlineHtml(raw) => out.push(Event::Text(raw)),
            Event::Start(Tag::HtmlBlock) => out.push(Event::Start(Tag::Paragraph)),
            Event::End(TagEnd::HtmlBlock) => out.push(Event::End(TagEnd::Paragraph)),
            // The page has headings of its own above.
            Event::Start(Tag::Heading { level, .. }) => out.push(Event::Start(Tag::Heading {
                level: below(level),
                id: None,
                classes: Vec::new(),
                attrs: Vec::new(),
            })),
            Event::End(TagEnd::Heading(level)) => out.push(Event::End(TagEnd::Heading(below(level)))),
            Event::Start(Tag::Link { link_type, dest_url, .. }) => {
                let address =
                    if link_type == LinkType::Email { format!("mailto:{dest_url}") } else { dest_url.to_string() };
                begin(&address, &mut open, &mut out);
            }
            Event::Start(Tag::Image { dest_url, .. }) => begin(&dest_url, &mut open, &mut out),
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some(Some(end)) = open.pop() {
                    let raw = end == "</a>";
                    let end = CowStr::from(end);
                    out.push(if raw { Event::InlineHtml(end) } else { Event::Text(end) });
                }
            }
            other => out.push(other),
        }
    }
    let mut written = String::with_capacity(text.len() + text.len() / 2);
    html::push_html(&mut written, out.into_iter());
    written
}

/// Begins a link, or only text where the address is none that a page may lead to, or a link is open already.
fn begin(address: &str, open: &mut Vec<Option<String>>, out: &mut Vec<Event<'_>>) {
    let inside = open.iter().any(|end| end.as_deref() == Some("</a>"));
    if inside {
        open.push(None);
    } else if may_be_followed(address) {
        let href = attribute(address);
        out.push(Event::InlineHtml(format!("<a href=\"{href}\" rel=\"nofollow noopener external\">").into()));
        open.push(Some("</a>".to_owned()));
    } else {
        open.push(Some(format!(" ({address})")));
    }
}

fn may_be_followed(address: &str) -> bool {
    let scheme = address.split(':').next().unwrap_or_default().to_ascii_lowercase();
    address.contains(':') && matches!(scheme.as_str(), "http" | "https" | "mailto")
}

fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

fn below(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => HeadingLevel::H6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_shown_and_never_run() {
        let notes = [
            "Started **broker 1** again, see `server.log`.\n\n- one\n- two",
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b <b>c</b>",
            "[x](javascript:alert(1)) [y](JavaScript:alert(1)) [z](data:text/html,x) [w](/c/prod)",
            "[runbook](https://wiki.example/kafka?a=1&b=\"2\") <https://example.org> <ops@example.org>",
            "![graph](https://example.org/graph.png) ![g](javascript:1) [![in](https://a.example/i.png)](https://b.example)",
            "# Big\n\n| a | b |\n|---|---|\n| <i>1</i> | ~~2~~ |",
            "[x]: https://example.org \"</a><script>\"\n\n[x]",
        ];
        let all: Vec<String> = notes.into_iter().map(safe).collect();
        insta::assert_snapshot!(all.join("\n---\n"));
    }
}
