//! The frame of every page, and the routes.

use leptos::prelude::*;
use leptos_meta::provide_meta_context;
use leptos_router::components::{Route, Router, Routes};
use leptos_router::hooks::use_location;
use leptos_router::{SsrMode, path};

use crate::live::{Live, LiveMark, OldBanner};
use crate::page::{
    BrokerPage, ClusterPage, GroupPage, NoRoute, OverviewPage, PartitionPage, TransactionalPage, WrittenPage,
};
use crate::part::{DrillBanner, copy_on_click};
use crate::text::{cluster_href, path_segment};

/// The whole app. Expects an `Arc<dyn Source>` as context when rendered on the server.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    Live::provide();
    Effect::new(|_| {
        if let Some(root) = document().document_element() {
            let _ = root.set_attribute("data-hydrated", "");
            // Browsers lend the clipboard to secure pages only.
            if window().is_secure_context() {
                let _ = root.set_attribute("data-copy", "");
                copy_on_click();
            }
        }
    });
    view! {
        <Router>
            <a class="skip" href="#main">"Skip to the verdict"</a>
            <Masthead/>
            <DrillBanner/>
            <OldBanner/>
            <main id="main" tabindex="-1">
                <Routes fallback=NoRoute>
                    <Route path=path!("/") view=OverviewPage ssr=SsrMode::Async/>
                    <Route path=path!("/c/:cluster") view=ClusterPage ssr=SsrMode::Async/>
                    <Route path=path!("/c/:cluster/g") view=GroupPage ssr=SsrMode::Async/>
                    <Route path=path!("/c/:cluster/t") view=TransactionalPage ssr=SsrMode::Async/>
                    <Route path=path!("/c/:cluster/p/:partition") view=PartitionPage ssr=SsrMode::Async/>
                    <Route path=path!("/c/:cluster/b/:broker") view=BrokerPage ssr=SsrMode::Async/>
                    <Route path=path!("/c/:cluster/plans/:plan") view=WrittenPage ssr=SsrMode::Async/>
                    <Route path=path!("/c/:cluster/incidents") view=WrittenPage ssr=SsrMode::Async/>
                    <Route path=path!("/c/:cluster/history") view=WrittenPage ssr=SsrMode::Async/>
                    <Route path=path!("/incidents") view=WrittenPage ssr=SsrMode::Async/>
                    <Route path=path!("/i/:id") view=WrittenPage ssr=SsrMode::Async/>
                    <Route path=path!("/docs/findings") view=WrittenPage ssr=SsrMode::Async/>
                    <Route path=path!("/docs/findings/:slug") view=WrittenPage ssr=SsrMode::Async/>
                </Routes>
            </main>
        </Router>
    }
}

/// Name, cluster, and whether the page is live.
#[component]
fn Masthead() -> impl IntoView {
    let path = use_location().pathname;
    let cluster = Memo::new(move |_| path.with(|path| path.strip_prefix("/c/").map(path_segment)));
    view! {
        <header class="masthead">
            <nav aria-label="Main">
                <a class="brand" href="/">"Unstuck"</a>
                {move || {
                    cluster
                        .get()
                        .map(|name| view! { <a class="cluster-name" href=cluster_href(&name)>{name.clone()}</a> })
                }}
            </nav>
            <LiveMark/>
        </header>
    }
}
