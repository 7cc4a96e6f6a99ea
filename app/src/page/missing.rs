//! What to say when there is no such page.

use leptos::prelude::*;

use super::Response;
use crate::live::{LoadAgain, use_live};
use crate::model::Missing;
use crate::part::PageTitle;

/// No route has this address.
#[component]
pub(crate) fn NoRoute() -> impl IntoView {
    Response::take().missing(false);
    let live = use_live();
    Effect::new(move |_| live.follow(None));
    show(Missing {
        heading: "There is no page at this address".to_owned(),
        sentence: "Group pages look like /c/CLUSTER/g?group=ID, partition pages like /c/CLUSTER/p/12, \
                   broker pages like /c/CLUSTER/b/1."
            .to_owned(),
        links: vec![("all clusters".to_owned(), "/".to_owned())],
        ..Missing::default()
    })
}

/// Something that the page is about does not exist.
pub(super) fn show(missing: Missing) -> AnyView {
    let links = missing.links.into_iter().map(|(label, href)| view! { <li><a href=href>{label}</a></li> });
    view! {
        <PageTitle text=format!("{} · Unstuck", missing.heading)/>
        <section class="headline s-unknown">
            <h1 aria-live="polite">{missing.heading}</h1>
            <p class="detail">{missing.sentence}</p>
        </section>
        <ul class="exists">{links.collect_view()}</ul>
    }
    .into_any()
}

/// The model could not be fetched.
pub(super) fn failed(error: &ServerFnError) -> AnyView {
    // The door stands before what answers pages, and says it in this way.
    let (heading, sentence, again) = match error {
        ServerFnError::MiddlewareError(refusal) => ("Unstuck refuses to answer", refusal.clone(), true),
        _ => ("Unstuck did not answer", format!("{error}. The page tries again by itself."), false),
    };
    view! {
        <PageTitle text="No answer · Unstuck".to_owned()/>
        <section class="headline s-unknown">
            <h1 aria-live="polite">{heading}</h1>
            <p class="detail">{sentence}</p>
            {again.then(|| view! { <p><LoadAgain/></p> })}
        </section>
    }
    .into_any()
}
