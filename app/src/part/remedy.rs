//! Ways out: what to do, why, what must hold, what it may cost, and the command. Unstuck never runs one.

use std::time::Duration;

use leptos::prelude::*;
use unstuck_diagnosis::report::{Avoid, Met, Precondition, Remedy, RemedyFile, Risk, Severity};
use web_sys::wasm_bindgen::JsCast;

use crate::model::NextStep;
use crate::text::{command_alone, data_href, finding_href};

/// The one thing to do now, framed, and the other ways below it.
pub(crate) fn next_step(next: Option<NextStep>) -> Option<AnyView> {
    let NextStep { severity, slug, remedy, others, avoid } = next?;
    let tone = match severity {
        Severity::Outage | Severity::Error => "urgent",
        Severity::Warning => "soon",
        Severity::Info => "calm",
    };
    let others = (!others.is_empty()).then(|| {
        view! {
            <div class="others">
                <h3 class="label">"If that is not possible, in order of safety"</h3>
                {remedies(others)}
            </div>
        }
    });
    let step = view! {
        <section class=format!("card next {tone}")>
            <h2>"Next step"</h2>
            <a class="card-link" href=finding_href(&slug)>"What is this?"</a>
            <h3 class="next-title">{remedy.title.clone()}</h3>
            {body(remedy)}
            {others}
            {avoided(avoid)}
        </section>
    };
    Some(step.into_any())
}

/// Ways out as a list, safest first.
pub(crate) fn remedies(remedies: Vec<Remedy>) -> AnyView {
    let items = remedies.into_iter().map(|remedy| {
        view! {
            <li>
                <p class="remedy-title">{remedy.title.clone()}</p>
                {body(remedy)}
            </li>
        }
    });
    view! { <ol class="remedies">{items.collect_view()}</ol> }.into_any()
}

/// What not to do: never a step, so never with a number.
pub(crate) fn avoided(avoid: Vec<Avoid>) -> Option<AnyView> {
    if avoid.is_empty() {
        return None;
    }
    let items = avoid.into_iter().map(|one| {
        view! { <li><p class="remedy-title">{one.what}</p><p class="why">{coded(&one.why)}</p></li> }
    });
    let list = view! {
        <div class="others avoid">
            <h3 class="label">"What not to do"</h3>
            <ul>{items.collect_view()}</ul>
        </div>
    };
    Some(list.into_any())
}

/// What a remedy costs, in two or three words.
fn cost(remedy: &Remedy) -> (&'static str, &'static str) {
    match remedy.risk {
        Risk::None if remedy.command.is_some() && remedy.changes.is_none() => ("tag s-working", "only looks"),
        Risk::None => ("tag s-working", Risk::None.words()),
        Risk::Pause => ("tag s-recovering", Risk::Pause.words()),
        Risk::Exposes => ("tag s-risk", Risk::Exposes.words()),
        Risk::Loses => ("tag s-stuck", Risk::Loses.words()),
    }
}

fn body(remedy: Remedy) -> AnyView {
    let (class, words) = cost(&remedy);
    let danger_class = if remedy.risk < Risk::Loses { "danger soon" } else { "danger" };
    view! {
        <p class="why"><span class=class>{words}</span>" "{coded(&remedy.why)}</p>
        {remedy.danger.map(|danger| view! {
            <p class=danger_class><span aria-hidden="true">"▲ "</span><span class="visually-hidden">"Danger: "</span>{coded(&danger)}</p>
        })}
        {preconditions(remedy.preconditions)}
        {remedy.changes.map(|changes| said("It changes", changes))}
        {remedy.files.into_iter().map(file).collect_view()}
        {remedy.command.map(|text| command(text, "Command"))}
        {remedy.verify.map(|verify| said("To see that it worked", verify))}
        {remedy.undo.map(|undo| said("To take it back", undo))}
    }
    .into_any()
}

/// What must hold first, and whether it does.
fn preconditions(all: Vec<Precondition>) -> Option<AnyView> {
    if all.is_empty() {
        return None;
    }
    let items = all.into_iter().map(|one| {
        let class = match one.state {
            Met::Met => "tag s-working",
            Met::NotMet => "tag s-stuck",
            Met::NotKnown => "tag s-unknown",
        };
        view! { <li><span class=class>{one.state.words()}</span><span>{coded(&one.text)}</span></li> }
    });
    let list = view! {
        <p class="label">"Only if"</p>
        <ul class="evidence">{items.collect_view()}</ul>
    };
    Some(list.into_any())
}

/// A sentence, or a command, under a label.
fn said(label: &'static str, text: String) -> AnyView {
    if let Some(text) = command_alone(&text) {
        view! { <p class="label">{label}</p>{command(text.to_owned(), "Command")} }.into_any()
    } else {
        view! { <p class="said"><span class="label">{label}": "</span>{coded(&text)}</p> }.into_any()
    }
}

/// A text with `` `code` `` in it.
pub(crate) fn coded(text: &str) -> AnyView {
    let pieces = text.split('`').enumerate().map(|(nth, piece)| {
        let piece = piece.to_owned();
        if nth % 2 == 1 { view! { <code>{piece}</code> }.into_any() } else { piece.into_any() }
    });
    pieces.collect_view().into_any()
}

/// A file that the command reads: to be looked at, and to be saved.
fn file(file: RemedyFile) -> AnyView {
    let RemedyFile { name, what, content } = file;
    let href = data_href(&content);
    view! {
        <details class="file">
            <summary><span class="mono">{name.clone()}</span>": "{what}</summary>
            {command(content, "Content of the file")}
        </details>
        <p class="save"><a href=href download=name.clone() rel="external">{format!("Save {name}")}</a></p>
    }
    .into_any()
}

/// A command, wrapped so that all of it can be read, with a button that copies it: see [`copy_on_click`].
pub(crate) fn command(text: String, label: &'static str) -> AnyView {
    view! {
        <div class="command">
            <pre tabindex="0" aria-label=label><code>{text}</code></pre>
            <button type="button" class="copy">"Copy"</button>
        </div>
    }
    .into_any()
}

/// One listener for the buttons of all commands, those included that the server wrote into a page.
pub(crate) fn copy_on_click() {
    let clicks = window_event_listener(leptos::ev::click, move |click| {
        let Some(button) = click.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok()) else { return };
        if !button.class_list().contains("copy") {
            return;
        }
        let text = button.previous_element_sibling().and_then(|command| command.text_content());
        let _ = window().navigator().clipboard().write_text(&text.unwrap_or_default());
        button.set_text_content(Some("Copied"));
        set_timeout(move || button.set_text_content(Some("Copy")), Duration::from_secs(2));
    });
    on_cleanup(move || clicks.remove());
}
