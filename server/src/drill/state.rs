//! How a drill is going, as the pages want it.

use unstuck_app::{DrillNode, DrillNodeState, DrillState, DrillStep, DrillWhen};
use unstuck_drill::serve::Drill;
use unstuck_drill::world::{NodeStatus, StepState, StepStatus};

/// The state of a drill for its panel.
pub(crate) fn state(drill: &Drill) -> DrillState {
    // Read first: what happens meanwhile is told once more, rather than not at all.
    let change = change(drill);
    let status = drill.status();
    DrillState {
        change,
        title: status.title,
        story: status.story,
        source: status.source,
        now_ms: status.now_ms,
        bootstrap: status.bootstrap,
        steps: status.steps.into_iter().map(step).collect(),
        node_count: status.nodes.len(),
        nodes: status.nodes.into_iter().map(node).collect(),
        only_read: false,
    }
}

/// Another number than before if something happened.
pub(crate) fn change(drill: &Drill) -> u64 {
    *drill.changes().borrow()
}

fn step(step: StepStatus) -> DrillStep {
    let when = match (step.state, step.at_ms) {
        (StepState::Happened, at) => DrillWhen::Happened(at),
        (StepState::Due, Some(at)) => DrillWhen::Due(at),
        (StepState::OnEvent, _) => DrillWhen::OnEvent,
        (StepState::ByHand, _) | (StepState::Due, None) => DrillWhen::ByHand,
        (StepState::Later, _) => DrillWhen::Later,
    };
    DrillStep { name: step.name, say: step.say, when }
}

fn node(node: NodeStatus) -> DrillNode {
    let state = match node.state.as_str() {
        _ if node.starting => DrillNodeState::Starting,
        "stopped" => DrillNodeState::Stopped,
        "paused" => DrillNodeState::Paused,
        "cut-off" => DrillNodeState::CutOff,
        _ => DrillNodeState::Running,
    };
    DrillNode {
        id: node.id,
        is_broker: node.is_broker,
        is_controller: node.is_controller,
        state,
        registered: node.registered,
    }
}
