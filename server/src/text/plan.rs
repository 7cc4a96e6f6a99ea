//! A plan for a terminal: what it reaches, how to carry it out, and its files.

use std::fmt::Write;

use unstuck_diagnosis::plan::{Plan, Refusal};

use super::{Lines, remedy};

/// The plan; its files are printed unless they were written somewhere.
pub(crate) fn plan(plan: &Plan, written: Option<&[String]>) -> String {
    let mut lines = Lines { text: format!("{}\n", plan.remedy.title) };
    plan.sentences.iter().for_each(|sentence| lines.add(sentence));
    let mut step = plan.remedy.clone();
    // Said above, and below.
    step.why = String::new();
    step.files = Vec::new();
    remedy::step(&mut lines, "Run", &step);
    if let Some(then) = &plan.then {
        remedy::step(&mut lines, "Next", then);
    }
    match written {
        Some(paths) => paths.iter().for_each(|path| lines.add(&format!("Written: {path}"))),
        None => {
            for file in &plan.remedy.files {
                let _ = write!(lines.text, "\n{} ({}):\n{}", file.name, file.what, file.content);
            }
        }
    }
    lines.text
}

/// Why there is none.
pub(crate) fn refusal(refusal: &Refusal) -> String {
    let mut lines = Lines { text: "No plan\n".to_owned() };
    lines.add(&refusal.why);
    lines.add(&refusal.advice);
    lines.text
}
