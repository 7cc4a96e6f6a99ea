//! A drill: the banner that says that it is one, and the panel to run it with.
//!
//! The panel is made of plain forms. Where the script runs, what is pressed is sent without leaving the page
//! ([`press`]), so that the focus stays where it is.

mod press;

use leptos::prelude::*;
#[cfg(feature = "ssr")]
use {crate::source::Source, std::sync::Arc};

use super::command;
use crate::model::{DrillNode, DrillNodeState, DrillState, DrillStep, DrillWhen};
use crate::text::{amount, count, seconds};
use press::{Pressed, Refused, on_press};

/// From how many nodes on their list is folded.
const MANY_NODES: usize = 9;

/// Says on every page that what is shown is a drill. The title does not change while the server runs, so it is handed
/// over once; [`crate::live`] loads the page again when another run answers.
#[component]
pub(crate) fn DrillBanner() -> impl IntoView {
    provide_context(Refused::new());
    let title = SharedValue::new(|| {
        #[cfg(feature = "ssr")]
        let title = use_context::<Arc<dyn Source>>().and_then(|source| source.drill()).map(|drill| drill.title);
        #[cfg(not(feature = "ssr"))]
        let title = None::<String>;
        title
    })
    .into_inner();
    title.map(|title| {
        view! {
            <aside class="drill-banner" aria-label="Drill">
                <p>
                    <strong>"Drill, not a real cluster."</strong>
                    <span>{title}</span>
                    <a href="/#drill">"Go to the controls"</a>
                </p>
            </aside>
        }
    })
}

/// The story, where it stands, and the switches of the cluster; on the page with the address `own`.
pub(crate) fn drill_panel(drill: DrillState, own: &str) -> AnyView {
    let back = format!("{own}#drill");
    let refused = use_context::<Refused>().unwrap_or_else(Refused::new);
    view! {
        <section class="card drill" id="drill" tabindex="-1" aria-labelledby="drill-title">
            <h2 id="drill-title">{format!("Drill: {}", drill.title)}</h2>
            <p class="danger" role="alert" hidden=move || refused.text().is_empty()>{move || refused.text()}</p>
            <div class="drill-columns">
                <div class="drill-tale">
                    {story(&drill)}
                    {timeline(&drill, &back)}
                    {again(&drill, &back)}
                </div>
                <div class="drill-switches">
                    {switches(&drill, &back)}
                    {tools(&drill)}
                </div>
            </div>
        </section>
    }
    .into_any()
}

/// The button that begins anew, or why there is nothing to press.
fn again(drill: &DrillState, back: &str) -> AnyView {
    if drill.only_read {
        return view! { <p class="soft">"Drills are run by editors. You may read here."</p> }.into_any();
    }
    view! {
        <form method="post" action="/drill" on:submit=on_press(None)>
            <input type="hidden" name="back" value=back.to_owned()/>
            <button type="submit" class="small-button" name="do" value="restart">
                "Start again from the beginning"
            </button>
        </form>
    }
    .into_any()
}

/// Open until something has happened; whoever opens or folds it later is not overruled.
fn story(drill: &DrillState) -> AnyView {
    let source = drill.source.clone().map(|source| {
        // Only a web address becomes a link: a scenario file may hold any text.
        if source.starts_with("https://") || source.starts_with("http://") {
            view! { <p class="soft">"As reported: "<a href=source.clone() rel="external noreferrer">{source.clone()}</a></p> }
                .into_any()
        } else {
            view! { <p class="soft">{format!("As reported: {source}")}</p> }.into_any()
        }
    });
    let story = drill.story.clone();
    view! {
        <details open=drill.happened() == 0>
            <summary>"The story"</summary>
            <p class="story">{story}</p>
            {source}
        </details>
    }
    .into_any()
}

/// What has happened, what is so now, and what comes next. Later steps are counted, not told.
fn timeline(drill: &DrillState, back: &str) -> AnyView {
    let happened = drill.happened();
    let earlier = drill.steps.iter().take(happened.saturating_sub(1)).map(|step| {
        view! {
            <li>
                <p><strong>{step.name.clone()}</strong>{since(step)}</p>
                <p class="soft">{step.say.clone()}</p>
            </li>
        }
    });
    let earlier = (happened > 1).then(|| {
        view! {
            <details>
                <summary>{format!("{} before this", count(happened - 1, "step"))}</summary>
                <ol class="earlier">{earlier.collect_view()}</ol>
            </details>
        }
    });
    let (name, time, say) = match happened.checked_sub(1).and_then(|last| drill.steps.get(last)) {
        Some(step) => (step.name.clone(), since(step), step.say.clone()),
        None => ("It begins".to_owned(), String::new(), "Nothing was done to the cluster yet.".to_owned()),
    };
    view! {
        <h3 class="label">"Now"</h3>
        <div class="drill-now" aria-live="polite">
            <p class="next-title">{name}</p>
            <p>{say}</p>
        </div>
        <p class="soft">{format!("{}{time}", place(happened, drill.steps.len()))}</p>
        {earlier}
        {next(drill, happened, back)}
    }
    .into_any()
}

fn place(happened: usize, steps: usize) -> String {
    match steps {
        0 => "This drill has no steps.".to_owned(),
        steps => format!("Step {} of {}", amount(happened), amount(steps)),
    }
}

/// When a step happened, as the end of a line.
fn since(step: &DrillStep) -> String {
    match step.when {
        DrillWhen::Happened(Some(at)) => format!(", {} after the beginning", seconds(whole_seconds(at))),
        _ => String::new(),
    }
}

/// The next step, when it comes, and the button for who does not want to wait.
fn next(drill: &DrillState, happened: usize, back: &str) -> AnyView {
    let Some(step) = drill.steps.get(happened) else {
        let words = "That was the last step. Go on by hand, or start again.";
        return view! { <p class="soft">{(!drill.steps.is_empty()).then_some(words)}</p> }.into_any();
    };
    let (when, button) = match step.when {
        DrillWhen::Due(at) => {
            // Rounded up: "in 0 s" would look as if it were late.
            let left = at.saturating_sub(drill.now_ms).saturating_add(999);
            (format!("in {}", seconds(whole_seconds(left))), "Next step now")
        }
        DrillWhen::OnEvent => ("when the cluster or somebody does what it waits for".to_owned(), "Next step now"),
        _ => ("when you say so".to_owned(), "Next step"),
    };
    let later = drill.steps.len().saturating_sub(happened + 1);
    let more = (later > 0).then(|| format!(" Then {} more.", amount(later)));
    let words = view! {
        <p>
            <span class="label">"Next: "</span>
            <strong>{step.name.clone()}</strong>
            {format!(", {when}.")}
            <span class="soft">{more}</span>
        </p>
    };
    if drill.only_read {
        return words.into_any();
    }
    view! {
        <form class="drill-next" method="post" action="/drill" on:submit=on_press(None)>
            <input type="hidden" name="back" value=back.to_owned()/>
            {words}
            <button type="submit" class="main-button" name="do" value="next">{button}</button>
        </form>
    }
    .into_any()
}

fn switches(drill: &DrillState, back: &str) -> AnyView {
    let total = drill.node_count.max(drill.nodes.len());
    let rows: Vec<AnyView> = drill.nodes.iter().map(|node| switch(node, (!drill.only_read).then_some(back))).collect();
    let more = (total > rows.len()).then(|| {
        view! {
            <p class="soft">
                {format!("The first {} of {}. The others: unstuck drill ctl stop ID", amount(rows.len()), amount(total))}
            </p>
        }
    });
    let list = view! {
        <ul class="switches">{rows}</ul>
        {more}
    };
    let title = "Switches of the cluster";
    if total > MANY_NODES {
        view! {
            <h3 class="label">{title}</h3>
            <details>
                <summary>{count(total, "node")}</summary>
                {list}
            </details>
        }
        .into_any()
    } else {
        view! {
            <h3 class="label">{title}</h3>
            {list}
        }
        .into_any()
    }
}

/// One node: how it is, and what can be done to it as it is, on a page with the address `back`; `None`: nothing can.
fn switch(node: &DrillNode, back: Option<&str>) -> AnyView {
    use Pressed::{CutOff, Pause, Reconnect, Resume, Start, Stop};
    let what = if node.is_broker { "broker" } else { "controller" };
    let name = format!("{what} {}", node.id);
    let (tone, words, can): (_, _, &[Pressed]) = match (node.state, node.is_broker) {
        (DrillNodeState::Running, true) => ("s-working", "runs", &[Stop, Pause, CutOff]),
        (DrillNodeState::Running, false) => ("s-working", "runs", &[Stop]),
        (DrillNodeState::Starting, _) => ("s-recovering", "is starting", &[Stop]),
        (DrillNodeState::Stopped, _) => ("s-stuck", "is stopped", &[Start]),
        (DrillNodeState::Paused, _) => ("s-risk", "is paused: it hangs", &[Resume, Stop]),
        (DrillNodeState::CutOff, _) => ("s-risk", "is cut off from the others", &[Reconnect, Stop]),
    };
    let unnoticed = node.is_broker && node.registered && !matches!(node.state, DrillNodeState::Running);
    let expelled = node.is_broker && !node.registered && matches!(node.state, DrillNodeState::Running);
    let note = match (unnoticed, expelled) {
        (true, _) if node.state != DrillNodeState::Starting => ", the controller has not noticed yet",
        (_, true) => ", the controller does not count on it",
        _ => "",
    };
    let controller = (node.is_controller && node.is_broker).then_some(" (controller)");
    let active = (node.is_controller && !node.is_broker).then_some(" (active)");
    let buttons: Vec<AnyView> = can
        .iter()
        .map(|pressed| {
            let rest = format!(" {name}");
            let class = if matches!(pressed, Start | Resume | Reconnect) { "main-button" } else { "small-button" };
            // "Start broker 1" is said in full, as stories say it; of three buttons in a row the first word is enough.
            let rest_class = if matches!(pressed, Start) { "" } else { "visually-hidden" };
            view! {
                <button type="submit" class=class name="do" value=pressed.word()>
                    {pressed.label()}
                    <span class=rest_class>{rest}</span>
                </button>
            }
            .into_any()
        })
        .collect();
    let node_id = node.id;
    let form = back.map(|back| {
        view! {
            <form method="post" action="/drill" on:submit=on_press(Some(node_id))>
                <input type="hidden" name="back" value=back.to_owned()/>
                <input type="hidden" name="node" value=node_id/>
                {buttons}
            </form>
        }
    });
    view! {
        <li>
            <p>
                <span class=format!("dot {tone}") aria-hidden="true"></span>
                <strong>{name}</strong>
                {controller}
                {active}
                {format!(" {words}{note}")}
            </p>
            {form}
        </li>
    }
    .into_any()
}

/// Kafka's own tools work against a drill, and heal it (or make it worse) as they would a cluster.
fn tools(drill: &DrillState) -> Option<AnyView> {
    if drill.bootstrap.is_empty() {
        return None;
    }
    let servers = drill.bootstrap.iter().take(3).cloned().collect::<Vec<_>>().join(",");
    let body = view! {
        <details>
            <summary>"Try Kafka’s own tools on it"</summary>
            {command(format!("--bootstrap-server {servers}"), "Command")}
        </details>
    };
    Some(body.into_any())
}

fn whole_seconds(milliseconds: u64) -> i64 {
    i64::try_from(milliseconds / 1_000).unwrap_or(i64::MAX)
}
