//! Ways out: what to do, why, what it may cost, and the command. Unstuck never runs one.

use std::time::Duration;

use leptos::prelude::*;
use unstuck_diagnosis::report::{Remedy, Severity};

use crate::model::NextStep;

/// The one thing to do now, framed, and the other ways below it.
pub(crate) fn next_step(next: Option<NextStep>) -> Option<AnyView> {
    let NextStep { severity, remedy, others } = next?;
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
            <h3 class="next-title">{remedy.title.clone()}</h3>
            {body(remedy)}
            {others}
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

fn body(remedy: Remedy) -> AnyView {
    view! {
        <p class="why">{remedy.why}</p>
        {remedy.danger.map(|danger| view! {
            <p class="danger"><span aria-hidden="true">"▲ "</span><span class="visually-hidden">"Danger: "</span>{danger}</p>
        })}
        {remedy.command.map(|command| view! { <Command command/> })}
    }
    .into_any()
}

/// A command, wrapped so that all of it can be read, with a button that copies it.
#[component]
pub(crate) fn Command(command: String) -> impl IntoView {
    let copied = RwSignal::new(false);
    let text = StoredValue::new(command.clone());
    let copy = move |_| {
        let _ = window().navigator().clipboard().write_text(&text.get_value());
        copied.set(true);
        set_timeout(
            move || {
                let _ = copied.try_set(false);
            },
            Duration::from_secs(2),
        );
    };
    view! {
        <div class="command">
            <pre tabindex="0" aria-label="Command"><code>{command}</code></pre>
            <button type="button" class="copy" on:click=copy>
                {move || if copied.get() { "Copied" } else { "Copy" }}
            </button>
        </div>
    }
}
