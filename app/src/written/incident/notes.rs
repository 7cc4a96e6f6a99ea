//! What people wrote about an incident, who looks after it, and the forms for both.

use jiff::Timestamp;
use leptos::prelude::*;
use unstuck_diagnosis::history::{Incident, Note};
use unstuck_diagnosis::visible;

use super::super::markdown;
use super::super::times::when;
use super::Medium;
use crate::part::card;
use crate::source::{IncidentView, Visitor};
use crate::text::incident_href;

/// The notes, and the form for another one.
pub(super) fn notes_card(view: &IncidentView, near: Timestamp, medium: Medium) -> AnyView {
    let notes = view.notes.iter().map(|one| note(one, near));
    let none = view.notes.is_empty().then(|| view! { <p class="soft">"Nobody has written anything yet."</p> });
    let action = format!("{}/notes", incident_href(&view.incident.id));
    let visitor = Visitor::here();
    let form = (medium == Medium::Page && !visitor.only_reads).then(|| {
        view! {
            <form class="fields" method="post" action=action>
                {by_field("note-by", "Your name", &visitor)}
                <label for="note-text">"What you found out, tried or changed (Markdown)"</label>
                <textarea id="note-text" name="text" rows="4" required maxlength="10000"></textarea>
                <button type="submit">"Write it down"</button>
            </form>
        }
    });
    let body = view! {
        {none}
        {notes.collect_view()}
        {form}
        {(medium == Medium::Page && visitor.only_reads).then(|| only_reads("Notes are written by editors."))}
    };
    view! { <div id="notes">{card("Notes", body)}</div> }.into_any()
}

/// Asks for the name of whoever writes, unless they have logged in with it.
pub(in crate::written) fn by_field(id: &'static str, label: &'static str, visitor: &Visitor) -> AnyView {
    match &visitor.name {
        Some(name) => view! { <p class="soft">"As "<bdi>{visible(name)}</bdi>"."</p> }.into_any(),
        None => view! {
            <label for=id>{label}</label>
            <input id=id name="by" autocomplete="name" maxlength="100"/>
        }
        .into_any(),
    }
}

/// Why there is no form.
pub(in crate::written) fn only_reads(what: &'static str) -> AnyView {
    view! { <p class="soft">{what}" You may read here."</p> }.into_any()
}

fn note(note: &Note, near: Timestamp) -> AnyView {
    let id = format!("note-{}", note.number);
    view! {
        <article class="note" id=id>
            <h3><bdi>{visible(&note.by)}</bdi>" "<span class="soft">{when(note.at, near)}</span></h3>
            <div class="note-text" inner_html=markdown::safe(&note.text)></div>
        </article>
    }
    .into_any()
}

/// Who looks after it; a form to say so, or to take that back.
pub(super) fn looked_after_card(incident: &Incident, near: Timestamp) -> AnyView {
    let href = incident_href(&incident.id);
    let visitor = Visitor::here();
    let body = match &incident.acknowledged {
        Some(one) if visitor.only_reads => view! {
            <p><strong><bdi>{visible(&one.by)}</bdi></strong>{format!(" since {}.", when(one.at, near))}</p>
        }
        .into_any(),
        None if visitor.only_reads => view! {
            <p class="soft">"Nobody yet."</p>
            {only_reads("Editors say so themselves.")}
        }
        .into_any(),
        Some(one) => view! {
            <p><strong><bdi>{visible(&one.by)}</bdi></strong>{format!(" since {}.", when(one.at, near))}</p>
            <form class="fields" method="post" action=format!("{href}/release")>
                <button type="submit" class="small-button">"No longer"</button>
            </form>
        }
        .into_any(),
        None => view! {
            <p class="soft">"Nobody yet. Colleagues who open this page see your name."</p>
            <form class="fields" method="post" action=format!("{href}/acknowledge")>
                {by_field("ack-by", "Your name", &visitor)}
                <button type="submit">"I look after it"</button>
            </form>
        }
        .into_any(),
    };
    card("Who looks after it", body)
}
