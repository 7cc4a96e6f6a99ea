//! The pages of Unstuck: rendered on the server, complete without JavaScript, live with it.
//!
//! Feature `ssr` is what the server renders with; it gives an `Arc<dyn Source>` as context. Feature `hydrate` is what
//! runs in the browser. A page asks for its model with a server function (`fetch`), shows it (`page`, `part`),
//! and asks again when an event says that there is news (`live`). No page waits for Kafka to show a verdict.

#![expect(
    unreachable_pub,
    reason = "leptos' component macro makes structs of properties public, in private modules too"
)]

mod app;
mod fetch;
mod live;
mod model;
mod page;
mod part;
#[cfg(feature = "ssr")]
mod shell;
#[cfg(feature = "ssr")]
mod source;
#[cfg(all(test, feature = "ssr"))]
mod tests;
mod text;
#[cfg(feature = "ssr")]
mod written;

pub use app::App;
pub use model::{DrillNode, DrillNodeState, DrillState, DrillStep, DrillWhen};
#[cfg(feature = "ssr")]
pub use shell::{AfterPage, Stylesheet, shell};
#[cfg(feature = "ssr")]
pub use source::{Answer, History, IncidentView, Now, Source, Visitor};
#[cfg(feature = "ssr")]
pub use written::export::{incident_html, incident_markdown};

/// Brings the server's page to life in the browser. Called by the script that the shell inserts.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(App);
}

/// The partition that a group id hashes to, -1 if `partitions` is not positive: the same function as on the server,
/// so that it can be proven in WebAssembly too.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
#[must_use]
pub fn place(group: &str, partitions: i32) -> i32 {
    unstuck_diagnosis::placement::partition_for(&unstuck_diagnosis::GroupId::from(group), partitions).unwrap_or(-1)
}
