//! The handbook: all findings, and a chapter for each. Nothing here changes while it is read.

use leptos::prelude::*;
use leptos_meta::Meta;

use super::{param, still_page};
use crate::fetch;
use crate::model::{Block, ChapterLine, ChapterModel, FindingsModel, PartModel, Section, Span};
use crate::part::{Head, PageTitle, card, table};
use crate::text::finding_href;

/// All findings.
#[component]
pub(crate) fn FindingsPage() -> impl IntoView {
    still_page(Memo::new(|_| ()), |()| fetch::findings(), show_all)
}

/// One chapter.
#[component]
pub(crate) fn ChapterPage() -> impl IntoView {
    still_page(param("slug"), fetch::finding, show_chapter)
}

fn show_all(model: FindingsModel) -> AnyView {
    let FindingsModel { introduction, parts } = model;
    view! {
        <PageTitle text="Findings · Unstuck".to_owned()/>
        <Meta name="description" content="What Unstuck can find, and the way out of each"/>
        <section class="headline s-look">
            <h1>"What Unstuck can find"</h1>
            <p class="detail">"A chapter for each: what it means, when it opens and closes, what clients see, and the way out."</p>
        </section>
        <div class="columns">
            <div class="main-col">{parts.into_iter().map(part).collect_view()}</div>
            <div class="side-col prose">{introduction.into_iter().map(section_card).collect_view()}</div>
        </div>
    }
    .into_any()
}

fn part(part: PartModel) -> AnyView {
    let PartModel { title, about, lines } = part;
    let rows = lines.into_iter().map(|line| {
        view! {
            <tr>
                <th scope="row" class="mono"><a href=finding_href(&line.slug)>{line.slug.clone()}</a></th>
                <td data-label="what it says">{spans(line.title)}</td>
                <td data-label="how bad">{line.severity}</td>
            </tr>
        }
    });
    let heads = [Head::text("finding"), Head::text("what it says"), Head::text("how bad")];
    card(
        &title,
        view! {
            <p class="soft">{about}</p>
            {table(&title, heads.into(), rows.collect_view())}
        },
    )
}

fn show_chapter(model: ChapterModel) -> AnyView {
    let ChapterModel { slug, title, severity, versions, sections, twins, shadows, shadowed_by, sources } = model;
    let seen = severity.is_some();
    let twins = (!twins.is_empty()).then(|| {
        let items = twins.into_iter().map(|(line, difference)| {
            view! { <li><p>{chapter_link(&line.slug)}": "{spans(line.title)}</p><p class="soft">{spans(difference)}</p></li> }
        });
        card("Easily taken for it", view! { <ul class="lines">{items.collect_view()}</ul> })
    });
    let sources = (!sources.is_empty()).then(|| {
        let items = sources.into_iter().map(|source| view! { <li class="soft">{source}</li> });
        card("Sources", view! { <ul class="lines">{items.collect_view()}</ul> })
    });
    view! {
        <PageTitle text=format!("{slug} · Findings · Unstuck")/>
        <Meta name="description" content=title.clone()/>
        <p class="eyebrow"><a href="/docs/findings">"All findings"</a></p>
        <section class="headline s-look">
            <h1>{title}</h1>
            <p class="detail mono">{slug}</p>
        </section>
        <div class="columns">
            <div class="main-col prose">{sections.into_iter().map(section_card).collect_view()}</div>
            <div class="side-col">
                {card("This finding", view! {
                    <dl class="facts">
                        <div><dt>"how bad"</dt><dd>{severity.unwrap_or_else(|| "cannot be seen from outside".to_owned())}</dd></div>
                        <div><dt>"releases"</dt><dd>{spans(versions)}</dd></div>
                        {seen.then(|| view! { <div><dt>"in reports"</dt><dd>"closes by itself when it is gone"</dd></div> })}
                    </dl>
                })}
                {twins}
                {chapter_list("What follows from it", shadows)}
                {chapter_list("May itself follow from", shadowed_by)}
                {sources}
            </div>
        </div>
    }
    .into_any()
}

fn chapter_list(title: &str, lines: Vec<ChapterLine>) -> Option<AnyView> {
    if lines.is_empty() {
        return None;
    }
    let items = lines.into_iter().map(|line| view! { <li>{chapter_link(&line.slug)}": "{spans(line.title)}</li> });
    Some(card(title, view! { <ul class="lines">{items.collect_view()}</ul> }))
}

fn chapter_link(slug: &str) -> AnyView {
    view! { <a class="mono" href=finding_href(slug)>{slug.to_owned()}</a> }.into_any()
}

fn section_card(section: Section) -> AnyView {
    let items = |items: Vec<Vec<Span>>| items.into_iter().map(|item| view! { <li>{spans(item)}</li> }).collect_view();
    let blocks = section.blocks.into_iter().map(|block| match block {
        Block::Text(text) => view! { <p>{spans(text)}</p> }.into_any(),
        Block::Items(all) => view! { <ul>{items(all)}</ul> }.into_any(),
        Block::Steps(all) => view! { <ol>{items(all)}</ol> }.into_any(),
    });
    card(&section.title, blocks.collect_view())
}

fn spans(spans: Vec<Span>) -> AnyView {
    let pieces = spans.into_iter().map(|span| match span {
        Span::Plain(text) => view! { {text} }.into_any(),
        Span::Strong(text) => view! { <strong>{text}</strong> }.into_any(),
        Span::Code(text) => view! { <code>{text}</code> }.into_any(),
        Span::Chapter(slug) => chapter_link(&slug),
    });
    pieces.collect_view().into_any()
}
