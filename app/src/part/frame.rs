//! The frame of a page about one thing of a cluster: a broker, a partition.

use jiff::Timestamp;
use leptos::prelude::*;
use leptos_meta::Meta;
use unstuck_diagnosis::report::{Bound, Status};

use super::{PageTitle, SinceLine};
use crate::model::Masthead;
use crate::text::status_class;

/// What stands above the columns.
pub(crate) struct Frame {
    /// What the window is called, without the program.
    pub(crate) title: String,
    /// How it stands.
    pub(crate) status: Status,
    /// The largest sentence.
    pub(crate) sentence: String,
    /// What supports it.
    pub(crate) detail: Option<String>,
    /// Since when it stands so.
    pub(crate) since: Option<Timestamp>,
    /// When it was last seen to stand otherwise, where nobody looked in between.
    pub(crate) since_after: Option<Timestamp>,
    /// By when it should be over.
    pub(crate) expected_by: Option<Bound>,
}

/// The sentence, then truth on the left and context on the right.
pub(crate) fn framed(
    head: Masthead,
    frame: Frame,
    main: impl IntoView + 'static,
    side: impl IntoView + 'static,
) -> AnyView {
    let Frame { title, status, sentence, detail, since, since_after, expected_by } = frame;
    let description = match &detail {
        Some(detail) => format!("{}. {detail}", sentence.trim_end_matches('.')),
        None => sentence.clone(),
    };
    view! {
        <PageTitle text=format!("{title} · {} · Unstuck", head.cluster)/>
        <Meta name="description" content=description/>
        <section class=format!("headline {}", status_class(status))>
            <h1 aria-live="polite">{sentence}</h1>
            <p class="detail">{detail}</p>
            <SinceLine head status since after=since_after expected_by/>
        </section>
        <div class="columns">
            <div class="main-col">{main}</div>
            <div class="side-col">{side}</div>
        </div>
    }
    .into_any()
}
