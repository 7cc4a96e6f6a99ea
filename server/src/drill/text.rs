//! How a drill is going, for a terminal. What a scenario or a server wrote cannot move the cursor.

use std::fmt::Write;

use unstuck_diagnosis::visible;
use unstuck_drill::world::{NodeStatus, Status, StepState, StepStatus};

/// How wide stories are set.
const WIDTH: usize = 96;

/// Everything: what has happened, what comes next, how the brokers are.
pub(super) fn told(status: &Status) -> String {
    let mut text = format!("{}: {}\n", visible(&status.name), visible(&status.title));
    let happened = status.steps.iter().filter(|step| step.state == StepState::Happened).count();
    let _ = writeln!(text, "  {} after the beginning, step {happened} of {}", time(status.now_ms), status.steps.len());
    for step in status.steps.iter().take(happened) {
        let at = step.at_ms.map(|at| format!(" (at {})", time(at))).unwrap_or_default();
        let _ = writeln!(text, "  ✓ {}{at}", visible(&step.name));
    }
    if let Some(step) = happened.checked_sub(1).and_then(|last| status.steps.get(last)) {
        text.push_str(&wrapped(&step.say, "    "));
    }
    match next_words(status) {
        Some(next) => {
            let _ = writeln!(text, "  → {next}");
        }
        None if !status.steps.is_empty() => text.push_str("  That was the last step.\n"),
        None => {}
    }
    for node in &status.nodes {
        let _ = writeln!(text, "  {}", node_words(node));
    }
    let servers: Vec<String> = status.bootstrap.iter().map(|server| visible(server)).collect();
    let _ = writeln!(text, "  bootstrap servers {}", servers.join(","));
    text
}

/// The next step, and when it comes; `None` if there is none.
pub(super) fn next_words(status: &Status) -> Option<String> {
    let next = |step: &&StepStatus| matches!(step.state, StepState::Due | StepState::ByHand | StepState::OnEvent);
    let step = status.steps.iter().find(next)?;
    let when = match (step.state, step.at_ms) {
        (StepState::Due, Some(at)) => format!("in {}", time(at.saturating_sub(status.now_ms).saturating_add(999))),
        (StepState::OnEvent, _) => "when the cluster or somebody does what it waits for".to_owned(),
        _ => "when you say so".to_owned(),
    };
    Some(format!("{}, {when}", visible(&step.name)))
}

fn node_words(node: &NodeStatus) -> String {
    let what = if node.is_broker { "broker" } else { "controller" };
    let state = if node.starting { "starting" } else { &node.state };
    let role = match (node.is_controller, node.is_broker) {
        (true, true) => ", controller",
        (true, false) => ", active",
        _ => "",
    };
    let note = if node.is_broker && !node.registered && node.state == "running" && !node.starting {
        ", not counted on by the controller"
    } else {
        ""
    };
    format!("{what} {} {}{role}{note}", node.id, visible(state))
}

/// Milliseconds as `14 s`, `2 min 5 s`, `3 h 5 min`.
fn time(milliseconds: u64) -> String {
    match milliseconds / 1_000 {
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// Lines of at most [`WIDTH`] characters behind `indent`; longer words stand alone.
pub(super) fn wrapped(text: &str, indent: &str) -> String {
    let mut out = String::new();
    for paragraph in text.trim_end().lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace().map(visible) {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
                let _ = writeln!(out, "{indent}{line}");
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        let _ = writeln!(out, "{}", format!("{indent}{line}").trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stories_are_wrapped_and_cannot_move_the_cursor() {
        let story = format!("{} end\n\n\u{1b}[2Jnext", "word ".repeat(30));
        let told = wrapped(&story, "  ");
        assert!(told.lines().all(|line| line.chars().count() <= WIDTH + 2), "{told}");
        assert!(told.contains("end\n\n  ") && !told.contains('\u{1b}'), "{told}");
    }

    #[test]
    fn times_are_said_in_units_that_matter() {
        for (milliseconds, words) in [(999, "0 s"), (20_000, "20 s"), (125_000, "2 min 5 s"), (11_100_000, "3 h 5 min")]
        {
            assert_eq!(time(milliseconds), words);
        }
    }
}
