//! A drill: a cluster that fails on purpose. Told by the server, for the banner on every page and the panel on the
//! dashboard.

use serde::{Deserialize, Serialize};

/// How a drill is going.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrillState {
    /// Counts what happened in the drill; compare with `!=` only.
    pub change: u64,
    /// What goes wrong, in one line.
    pub title: String,
    /// What happens and why.
    pub story: String,
    /// Where the incident was reported, in public.
    pub source: Option<String>,
    /// How long the drill has been going, in milliseconds.
    pub now_ms: u64,
    /// Where its brokers can be reached, each `host:port`.
    pub bootstrap: Vec<String>,
    /// The timeline, in its order.
    pub steps: Vec<DrillStep>,
    /// Brokers, and controllers that are none, by id.
    pub nodes: Vec<DrillNode>,
    /// How many nodes there are in all.
    pub node_count: usize,
    /// Whether whoever looks may only read: then there is nothing to press.
    #[serde(default)]
    pub only_read: bool,
}

/// One step of the timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrillStep {
    /// Its name.
    pub name: String,
    /// What the trainee is told when it happens.
    pub say: String,
    /// When it happened, or will.
    pub when: DrillWhen,
}

/// When a step happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DrillWhen {
    /// It has happened: so many milliseconds after the beginning, where that is known.
    Happened(Option<u64>),
    /// It is the next one, and comes by itself: so many milliseconds after the beginning.
    Due(u64),
    /// It is the next one, and comes when somebody says so.
    ByHand,
    /// It is the next one, and comes with something that happens to the cluster.
    OnEvent,
    /// Others come before it.
    Later,
}

/// One node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrillNode {
    /// Its id.
    pub id: i32,
    /// Whether it is a broker; else it is a controller only.
    pub is_broker: bool,
    /// Whether it is the active controller.
    pub is_controller: bool,
    /// How it is.
    pub state: DrillNodeState,
    /// Whether the controller holds it for alive.
    pub registered: bool,
}

/// How a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DrillNodeState {
    /// It runs.
    Running,
    /// It was started, and is not there yet.
    Starting,
    /// It does not run.
    Stopped,
    /// It hangs.
    Paused,
    /// It is cut off from the controller and the other brokers; clients reach it.
    CutOff,
}

impl DrillState {
    /// How many nodes a page lists at most.
    #[cfg(feature = "ssr")]
    const NODES_CAP: usize = 100;

    /// As much of it as a page shows.
    #[cfg(feature = "ssr")]
    pub(crate) fn capped(mut self) -> Self {
        self.nodes.truncate(Self::NODES_CAP);
        self
    }

    /// How many steps have happened.
    pub(crate) fn happened(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step.when, DrillWhen::Happened(_))).count()
    }
}
