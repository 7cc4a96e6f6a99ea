//! A page that the server writes, and that does not change while it is read: a chapter of the handbook, a plan. Neither
//! its texts nor what draws them travel in the script.

use serde::{Deserialize, Serialize};

/// Which page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum WrittenKey {
    /// The chapter of this slug; all findings if it is empty.
    Handbook(String),
    /// A plan for the offsets topic of a cluster, as its address names it.
    Plan {
        /// The cluster.
        cluster: String,
        /// The word.
        plan: String,
        /// The broker that it is about, if any.
        broker: Option<String>,
    },
}

/// The page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Written {
    /// What the window is called, without the program.
    pub(crate) title: String,
    /// The page above it: label and address.
    pub(crate) up: Option<(String, String)>,
    /// The largest sentence.
    pub(crate) heading: String,
    /// What stands below it.
    pub(crate) detail: String,
    /// The rest, as HTML that the server wrote.
    pub(crate) html: String,
}
