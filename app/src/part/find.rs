//! The box to paste a group id into: first on every page, and always at hand.

use leptos::html::Input;
use leptos::prelude::*;
use web_sys::wasm_bindgen::JsCast;

use crate::text::find_href;

/// The box of one cluster.
#[component]
pub(crate) fn ClusterFindBox(
    /// The cluster.
    cluster: Memo<String>,
    /// Whether a transactional id is what is looked for here.
    #[prop(optional)]
    transactional: bool,
) -> impl IntoView {
    move || view! { <FindBox clusters=vec![cluster.get()] transactional/> }
}

/// The box. A plain form, sent by POST: an id may be longer than an address, and works without JavaScript.
/// With several clusters there is a button for each.
#[component]
pub(crate) fn FindBox(
    /// The clusters to look in.
    clusters: Vec<String>,
    /// Whether a transactional id is chosen at first.
    #[prop(optional)]
    transactional: bool,
) -> impl IntoView {
    let input = NodeRef::<Input>::new();
    Effect::new(move |_| {
        let Some(input) = input.get() else { return };
        // Not if somebody is already somewhere else on the page.
        let idle =
            document().active_element().is_none_or(|element| element.tag_name() == "BODY" || element.tag_name() == "A");
        if idle {
            focus(&input);
        }
        let keys = window_event_listener(leptos::ev::keydown, move |key| {
            let plain = !key.ctrl_key() && !key.meta_key() && !key.alt_key();
            let typing = key
                .target()
                .and_then(|target| target.dyn_into::<web_sys::Element>().ok())
                .is_some_and(|element| ["INPUT", "TEXTAREA", "SELECT"].contains(&element.tag_name().as_str()));
            if key.key() == "/" && plain && !typing {
                key.prevent_default();
                focus(&input);
                input.select();
            }
        });
        on_cleanup(move || keys.remove());
    });
    let action = clusters.first().map(|cluster| find_href(cluster));
    let buttons = if clusters.len() > 1 {
        let each = clusters.iter().map(|cluster| {
            view! { <button type="submit" formaction=find_href(cluster)>{format!("Look in {cluster}")}</button> }
        });
        each.collect_view().into_any()
    } else {
        view! { <button type="submit">"Look up"</button> }.into_any()
    };
    view! {
        <form class="find" method="post" action=action role="search" autocomplete="off">
            <label class="visually-hidden" for="group">"Group id or transactional id"</label>
            <div class="find-field">
                <input
                    node_ref=input
                    id="group"
                    name="group"
                    type="text"
                    class="mono"
                    placeholder="Paste a consumer group id"
                    autofocus=true
                    autocapitalize="none"
                    autocomplete="off"
                    spellcheck="false"
                    dir="auto"
                />
                <kbd class="js-only" aria-hidden="true">"/"</kbd>
            </div>
            <label class="visually-hidden" for="kind">"What it is"</label>
            <select id="kind" name="kind" class="find-kind">
                <option value="group">"group id"</option>
                <option value="transactional" selected=transactional>"transactional id"</option>
            </select>
            {buttons}
        </form>
    }
}

/// Moves the focus without moving the page.
fn focus(input: &web_sys::HtmlInputElement) {
    let options = web_sys::FocusOptions::new();
    options.set_prevent_scroll(true);
    let _ = input.focus_with_options(&options);
}
