//! Tables: a caption for those who cannot see the heading above, a head for each column, and room to scroll.

use leptos::prelude::*;

/// The head of a column.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    words: &'static str,
    class: &'static str,
}

impl Head {
    /// Of words.
    pub(crate) fn text(words: &'static str) -> Self {
        Self { words, class: "" }
    }

    /// Of numbers.
    pub(crate) fn number(words: &'static str) -> Self {
        Self { words, class: "num" }
    }
}

/// A table whose rows become blocks where there is no room side by side: each cell names its column (`data-label`).
pub(crate) fn table(caption: &str, heads: Vec<Head>, rows: impl IntoView + 'static) -> AnyView {
    let caption = caption.to_owned();
    let heads = heads.into_iter().map(|head| view! { <th scope="col" class=head.class>{head.words}</th> });
    view! {
        <div class="table-scroll">
            <table class="stacks">
                <caption class="visually-hidden">{caption}</caption>
                <thead><tr>{heads.collect_view()}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}
