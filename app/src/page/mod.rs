//! The pages, one file each, and what they have in common: a model that is fetched again on news.

mod broker;
mod cluster;
mod group;
mod missing;
mod overview;
mod partition;
mod transactional;
mod written;

use std::future::Future;

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use broker::BrokerPage;
pub(crate) use cluster::ClusterPage;
pub(crate) use group::GroupPage;
pub(crate) use missing::NoRoute;
pub(crate) use overview::OverviewPage;
pub(crate) use partition::PartitionPage;
pub(crate) use transactional::TransactionalPage;
pub(crate) use written::WrittenPage;

use crate::live::use_live;
use crate::model::{Found, Seqs};

/// What a page's question answers.
type Fetched<T> = Result<Found<T>, ServerFnError>;

/// A parameter of the route, empty if it has none of this name.
fn param(name: &'static str) -> Memo<String> {
    let params = use_params_map();
    Memo::new(move |_| params.with(|params| params.get(name).unwrap_or_default()))
}

/// Shows the model that `fetch` gives for `key`, and fetches it again when there is news.
///
/// A fetch that fails while a model of the same key is on the screen leaves it there: the mark in the head of the
/// page says how old it is.
fn live_page<K, T, F>(
    key: Memo<K>,
    fetch: impl Fn(K) -> F + Copy + Send + Sync + 'static,
    seqs: fn(&T) -> Seqs,
    show: fn(T) -> AnyView,
) -> impl IntoView
where
    K: Clone + PartialEq + Send + Sync + 'static,
    T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
    F: Future<Output = Fetched<T>> + Send + 'static,
{
    let live = use_live();
    let shown = StoredValue::new(None::<(K, Found<T>)>);
    let model = Resource::new(
        move || (key.get(), live.tick()),
        move |(key, _)| async move {
            match fetch(key.clone()).await {
                Ok(found) => {
                    let _ = shown.try_set_value(Some((key, found.clone())));
                    Ok(found)
                }
                Err(error) => {
                    let kept = shown.try_get_value().flatten().filter(|(of, _)| *of == key);
                    kept.map(|(_, found)| found).ok_or(error)
                }
            }
        },
    );
    Effect::new(move |_| match model.get() {
        None => {}
        Some(Ok(Found::Here(model))) => live.landed(seqs(&model)),
        Some(Ok(Found::Missing(missing))) => live.landed(missing.seqs),
        Some(Err(_)) => live.failed(),
    });
    on_cleanup(move || live.left());
    view! {
        <Transition fallback=|| view! { <p class="wait">"Looking…"</p> }>
            {move || answer(model, show)}
        </Transition>
    }
}

/// What a page shows once its model is there, with the HTTP status that goes with it.
fn answer<T>(model: Resource<Fetched<T>>, show: fn(T) -> AnyView) -> impl IntoView
where
    T: Clone + Send + Sync + Serialize + DeserializeOwned + 'static,
{
    let response = Response::take();
    Suspend::new(async move {
        match model.await {
            Ok(Found::Here(model)) => show(model),
            Ok(Found::Missing(what)) => {
                response.missing(what.unreadable);
                missing::show(what)
            }
            Err(error) => {
                response.failed();
                missing::failed(&error)
            }
        }
    })
}

/// The HTTP answer that is being made, on the server; nothing in the browser.
#[derive(Clone)]
struct Response {
    #[cfg(feature = "ssr")]
    options: Option<leptos_axum::ResponseOptions>,
}

impl Response {
    fn take() -> Self {
        Self {
            #[cfg(feature = "ssr")]
            options: use_context(),
        }
    }

    /// There is no such thing, or nobody can say whether there is.
    fn missing(&self, unreadable: bool) {
        let _ = unreadable;
        #[cfg(feature = "ssr")]
        self.set(if unreadable { http::StatusCode::SERVICE_UNAVAILABLE } else { http::StatusCode::NOT_FOUND });
    }

    fn failed(&self) {
        #[cfg(feature = "ssr")]
        self.set(http::StatusCode::INTERNAL_SERVER_ERROR);
    }

    #[cfg(feature = "ssr")]
    fn set(&self, status: http::StatusCode) {
        if let Some(options) = &self.options {
            options.set_status(status);
        }
    }
}
