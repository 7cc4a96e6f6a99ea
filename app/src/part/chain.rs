//! The chain from a group id to its coordinator's answer, as a client's code walks it.

use leptos::prelude::*;
use unstuck_diagnosis::GroupId;

use super::group_id;
use crate::model::{Link, LinkState};

/// The links in order; the line is broken in front of the one that does not hold.
pub(crate) fn chain(links: Vec<Link>, group: &GroupId) -> AnyView {
    let items = links.into_iter().enumerate().map(|(at, link)| {
        let (class, words) = match link.state {
            LinkState::Good => ("good", "good"),
            LinkState::Waiting => ("waiting", "waiting"),
            LinkState::Bad => ("bad", "broken"),
            LinkState::Unknown => ("unknown", "unknown"),
            LinkState::NotReached => ("not-reached", "not reached"),
        };
        let value = if at == 0 { group_id(group) } else { view! { {link.value} }.into_any() };
        let notes = link.notes.into_iter().map(|note| view! { <span class="link-note">{note}</span> });
        view! {
            <li class=format!("link {class}")>
                <span class="link-title">{link.title}</span>
                <span class="link-value">{value}</span>
                {notes.collect_view()}
                <span class="link-state">{words}</span>
            </li>
        }
    });
    view! {
        <section class="chain-area" aria-label="From the group id to its coordinator">
            <ol class="chain">{items.collect_view()}</ol>
        </section>
    }
    .into_any()
}
