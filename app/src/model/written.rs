//! A page that the server writes, and that does not change while it is read: a chapter of the handbook, a plan, an
//! incident, history. Neither its texts, nor what draws them, nor what its address means travel in the script.

use serde::{Deserialize, Serialize};

/// The page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Written {
    /// What the window is called, without the program.
    pub(crate) title: String,
    /// The page above it: label and address.
    pub(crate) up: Option<(String, String)>,
    /// The style class of the heading: how bad it is.
    pub(crate) tone: String,
    /// The largest sentence.
    pub(crate) heading: String,
    /// What stands below it.
    pub(crate) detail: String,
    /// What search engines and chats are told besides the heading: names and contents of meta elements.
    pub(crate) meta: Vec<(String, String)>,
    /// The rest, as HTML that the server wrote.
    pub(crate) html: String,
}
