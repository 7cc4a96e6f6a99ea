//! The page of an incident as one file: no script, nothing to load, no link that leads only here.

use super::super::incident::{Medium, html, page_of};
use crate::source::IncidentView;

/// The page as one HTML file, with its style sheet in it.
#[must_use]
pub fn incident_html(view: &IncidentView, css: &str) -> String {
    let page = page_of(view);
    let (title, heading, detail) = (escaped(&page.title), escaped(&page.heading), escaped(&page.detail));
    let body = without_own_links(&html(view, Medium::File));
    // A style sheet cannot end its element early: the only text that could is taken apart.
    let css = css.replace("</", "<\\/");
    let tone = page.tone;
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"robots\" content=\"noindex\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{title} · Unstuck</title>\n<style>\n{css}\n</style>\n</head>\n\
         <body>\n<main>\n<section class=\"headline {tone}\"><h1>{heading}</h1><p class=\"detail\">{detail}</p></section>\n\
         <div class=\"columns\">{body}</div>\n</main>\n</body>\n</html>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Links to pages of this server become plain text; those to the web, and files to be saved, stay.
fn without_own_links(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    let mut dropped = false;
    while let Some(at) = rest.find("<a ").into_iter().chain(rest.find("</a>")).min() {
        let (before, tail) = rest.split_at(at);
        out.push_str(before);
        let end = end_of_tag(tail);
        let (tag, after) = tail.split_at(end);
        rest = after;
        if tag == "</a>" {
            out.push_str(if dropped { "</span>" } else { tag });
        } else {
            dropped = tag.contains(" href=\"/");
            out.push_str(if dropped { "<span>" } else { tag });
        }
    }
    out.push_str(rest);
    out
}

/// Where a tag ends: at the first `>` that is not in a value.
fn end_of_tag(tag: &str) -> usize {
    let mut quoted = false;
    for (at, letter) in tag.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '>' if !quoted => return at + 1,
            _ => {}
        }
    }
    tag.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_only_here_become_text() {
        let html = "<p><a href=\"/c/prod\" class=\"x\">prod</a> <a class=\"y\" href=\"/b?c=&quot;>\">b</a> \
                    <a href=\"https://example.org\">web</a></p><article>a</article>";
        assert_eq!(
            without_own_links(html),
            "<p><span>prod</span> <span>b</span> <a href=\"https://example.org\">web</a></p><article>a</article>"
        );
    }
}
