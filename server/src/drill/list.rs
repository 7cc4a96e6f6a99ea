//! `unstuck drill`: which scenarios are built in.

use std::fmt::Write as _;
use std::io::Write as _;

use unstuck_drill::scenario::Scenario;
use unstuck_drill::scenario::shipped::shipped;

use crate::cli::Failure;
use crate::lookup::end_of_output;

/// A heading, and which scenarios stand below it: the first that fits.
type Heading = (&'static str, fn(&str, &Scenario) -> bool);

const HEADINGS: [Heading; 5] = [
    ("To begin with", |name, _| name == "broker-lost"),
    ("Three incidents, step by step as they happened", |name, _| name.starts_with("founding-incident")),
    ("Healthy clusters", |name, _| name.starts_with("healthy")),
    ("Incidents that were reported in public", |_, scenario| scenario.source.is_some()),
    ("One trouble each", |_, _| true),
];

pub(super) fn run() -> Result<u8, Failure> {
    let broken = |error: unstuck_drill::scenario::ScenarioErrors| Failure {
        code: crate::cli::EXIT_SOFTWARE,
        message: format!("a scenario that is built in cannot be read\n  This is a defect in Unstuck.\n  {error}"),
    };
    let read = |(name, scenario): (String, Result<Scenario, _>)| Ok((name, scenario.map_err(broken)?));
    let scenarios: Vec<(String, Scenario)> = shipped().into_iter().map(read).collect::<Result<_, Failure>>()?;
    let text = listed(&scenarios);
    end_of_output(std::io::stdout().lock().write_all(text.as_bytes()))?;
    Ok(0)
}

pub(super) fn listed(scenarios: &[(String, Scenario)]) -> String {
    let width = scenarios.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (heading, _) in HEADINGS {
        let below: Vec<_> = scenarios.iter().filter(|(name, scenario)| heading_of(name, scenario) == heading).collect();
        if below.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{heading}");
        for (name, scenario) in below {
            let _ = writeln!(text, "  {name:width$}  {}", scenario.title);
        }
        text.push('\n');
    }
    text.push_str("Run one with: unstuck drill NAME\n");
    text
}

fn heading_of(name: &str, scenario: &Scenario) -> &'static str {
    HEADINGS.into_iter().find(|(_, fits)| fits(name, scenario)).map_or("", |(heading, _)| heading)
}
