//! How a drill is going, for panels and commands.

use serde::{Deserialize, Serialize};

use super::World;
use crate::scenario::model::{BrokerState, Mode};

/// How a drill is going.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The scenario's name.
    pub name: String,
    /// What goes wrong, in one line.
    pub title: String,
    /// What happens and why.
    pub story: String,
    /// A public report of the incident.
    pub source: Option<String>,
    /// Scenario time in milliseconds.
    pub now_ms: u64,
    /// Where brokers can be reached, each `host:port`.
    pub bootstrap: Vec<String>,
    /// The timeline.
    pub steps: Vec<StepStatus>,
    /// Brokers and controllers.
    pub nodes: Vec<NodeStatus>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepStatus {
    /// Its name.
    pub name: String,
    /// What the trainee is told.
    pub say: String,
    /// Where it stands.
    pub state: StepState,
    /// When it happened, or is due, in milliseconds of scenario time. `None`: it waits for somebody or something.
    pub at_ms: Option<u64>,
}

/// Where a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepState {
    /// It has happened.
    Happened,
    /// The next one; comes by itself.
    Due,
    /// The next one; comes when somebody says so.
    ByHand,
    /// The next one; comes with an event.
    OnEvent,
    /// Later.
    Later,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Its id.
    pub id: i32,
    /// Whether clients can ask it.
    pub is_broker: bool,
    /// Whether it is the active controller.
    pub is_controller: bool,
    /// How it is: `running`, `stopped`, `paused`, `cut-off`.
    pub state: String,
    /// Whether it starts and is not there yet.
    pub starting: bool,
    /// Whether the controller holds it for alive.
    pub registered: bool,
}

impl World {
    /// How the drill is going.
    #[must_use]
    pub fn status(&self) -> Status {
        let milliseconds = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let next = self.timeline.happened.len();
        let begun = self.timeline.happened.last().copied().unwrap_or_default();
        let steps = self
            .scenario
            .step
            .iter()
            .enumerate()
            .map(|(number, step)| {
                let due = step.after.map(|time| milliseconds(begun + time.0));
                let (state, at_ms) = match number {
                    number if number < next => (StepState::Happened, self.happened(number).map(milliseconds)),
                    number if number > next => (StepState::Later, None),
                    _ if due.is_some() => (StepState::Due, due),
                    _ if step.on.is_some() => (StepState::OnEvent, None),
                    _ => (StepState::ByHand, None),
                };
                StepStatus { name: step.name.clone(), say: step.say.clone(), state, at_ms }
            })
            .collect();
        let nodes = self
            .nodes
            .values()
            .map(|node| NodeStatus {
                id: node.id,
                is_broker: node.is_broker,
                is_controller: self.controller == Some(node.id),
                state: match node.state {
                    BrokerState::Running => "running",
                    BrokerState::Stopped => "stopped",
                    BrokerState::Paused => "paused",
                    BrokerState::CutOff => "cut-off",
                }
                .to_owned(),
                starting: node.is_broker && node.state == BrokerState::Running && !node.up,
                registered: node.registered || (!node.is_broker && self.mode() == Mode::Kraft),
            })
            .collect();
        Status {
            name: self.name.clone(),
            title: self.scenario.title.clone(),
            story: self.scenario.story.clone(),
            source: self.scenario.source.clone(),
            now_ms: milliseconds(self.now),
            bootstrap: Vec::new(),
            steps,
            nodes,
        }
    }
}
