//! A page that the server writes, and that does not change while it is read: a chapter of the handbook, a plan, an
//! incident, history. Neither its texts nor what draws them travel in the script.

use serde::{Deserialize, Serialize};

use super::GroupKey;

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
    /// An incident, then and now.
    Incident {
        /// Its name.
        id: String,
        /// The word for the moment to show.
        moment: Option<String>,
    },
    /// The incidents of a cluster, or of all.
    Incidents {
        /// The cluster.
        cluster: Option<String>,
        /// Only those before this time, in milliseconds.
        before: Option<String>,
    },
    /// What happened to something.
    History {
        /// The cluster.
        cluster: String,
        /// To what.
        about: About,
        /// Only what happened before this time, in milliseconds.
        before: Option<String>,
    },
}

/// What history is about, as an address names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum About {
    /// The cluster as a whole.
    Cluster,
    /// A partition of the offsets topic.
    Partition(String),
    /// A broker.
    Broker(String),
    /// A group.
    Group(GroupKey),
}

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
