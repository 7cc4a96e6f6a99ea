//! `unstuck drill --check`: a scenario is its own test. Plays each of them in simulated time, and compares what Unstuck
//! says with what the scenario expects.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::{GroupId, Published};
use unstuck_drill::scenario::Scenario;
use unstuck_drill::scenario::model::Expect;
use unstuck_drill::scenario::shipped;
use unstuck_drill::scenario::truth::Truth;
use unstuck_drill::scenario::value::{Partitions, Time};

use super::truth::{Judged, judge};
use super::watching::{Watching, simulated};
use crate::cli::Failure;

/// How long whoever plays by hand looks at a step of which nothing is expected.
pub(super) const A_LOOK: Duration = Duration::from_secs(5);

/// How long before a step that comes by itself a look at the one before it ends.
const MOMENT: Duration = Duration::from_millis(1);

/// The exit code if a scenario is not as it expects.
const DIFFERS: u8 = 1;

/// What became of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// How many expectations were looked at.
    pub(super) expectations: usize,
    /// How much scenario time was played.
    pub(super) played: Duration,
    /// What was not as expected, in words.
    pub(super) differences: Vec<String>,
    /// What was said that must never be said.
    pub(super) broken_promises: Vec<String>,
    /// How Unstuck did, if the scenario is a public case.
    pub(super) judged: Option<Judged>,
}

impl Outcome {
    pub(super) fn is_as_expected(&self) -> bool {
        self.differences.is_empty() && self.broken_promises.is_empty()
    }
}

/// Checks scenarios by name or path; all that are built in, if none is named.
pub(crate) fn run(names: &[String]) -> Result<u8, Failure> {
    let names = if names.is_empty() { shipped::names() } else { names.to_vec() };
    let mut scenarios = Vec::new();
    for name in &names {
        let named = shipped::load(name).map_err(|error| Failure::usage(error.to_string()))?;
        scenarios.push((named.name, Arc::new(named.scenario)));
    }
    let outcomes = check_all(&scenarios);
    let mut text = String::new();
    let width = outcomes.keys().map(String::len).max().unwrap_or_default();
    for (name, outcome) in &outcomes {
        let word = if outcome.is_as_expected() { "ok    " } else { "DIFFERS" };
        let _ = writeln!(
            text,
            "{word:7} {name:width$}  {} expectations, {} of scenario time",
            outcome.expectations,
            Time(Duration::from_secs(outcome.played.as_secs())),
        );
        for difference in outcome.differences.iter().chain(&outcome.broken_promises) {
            let _ = writeln!(text, "        {}", difference.replace('\n', "\n        "));
        }
    }
    let differing = outcomes.values().filter(|outcome| !outcome.is_as_expected()).count();
    if differing > 0 {
        let _ = writeln!(text, "\n{differing} of {} scenarios are not as they expect", outcomes.len());
    }
    crate::lookup::end_of_output(std::io::Write::write_all(&mut std::io::stdout().lock(), text.as_bytes()))?;
    Ok(if differing > 0 { DIFFERS } else { 0 })
}

/// Checks scenarios, as many at once as there are processors.
pub(super) fn check_all(scenarios: &[(String, Arc<Scenario>)]) -> BTreeMap<String, Outcome> {
    // The largest first, so that not one of them is played alone at the end.
    let mut scenarios: Vec<_> = scenarios.iter().collect();
    scenarios.sort_by_key(|(_, scenario)| {
        std::cmp::Reverse(scenario.group.iter().map(|group| group.count.unwrap_or(1)).sum::<u32>())
    });
    let next = std::sync::atomic::AtomicUsize::new(0);
    let outcomes = std::sync::Mutex::new(BTreeMap::new());
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((name, scenario)) =
                    scenarios.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    let outcome = check(name, Arc::clone(scenario));
                    outcomes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(name.clone(), outcome);
                }
            });
        }
    });
    outcomes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Plays one scenario to its end.
pub(super) fn check(name: &str, scenario: Arc<Scenario>) -> Outcome {
    simulated(async {
        let watching = Watching::begin(name, Arc::clone(&scenario));
        if let Some(group) = scenario.truth.as_ref().and_then(|truth| truth.group.as_deref()) {
            watching.open_page(group);
        }
        let begun = Instant::now();
        let mut outcome = Outcome::default();
        // A step that comes by itself would be missed by a longer look at the one before it.
        let idle = |nth: usize| {
            let after = scenario.step.get(nth).and_then(|next| next.after);
            after.map_or(A_LOOK, |Time(after)| after.saturating_sub(MOMENT).min(A_LOOK))
        };
        let truth = |step: Option<&String>| scenario.truth.as_ref().filter(|truth| truth.step.as_ref() == step);
        if scenario.expect.is_empty() && truth(None).is_none() {
            sleep_until(begun + idle(0)).await;
        }
        look("the beginning", &scenario.expect, truth(None), begun, &watching, &mut outcome).await;
        for (nth, step) in scenario.step.iter().enumerate() {
            watching.forget_verdicts();
            let Some(happened) = watching.next_step().await else { break };
            let place = format!("step `{}`", step.name);
            if step.expect.is_empty() && truth(Some(&step.name)).is_none() {
                sleep_until(happened + idle(nth + 1)).await;
            }
            look(&place, &step.expect, truth(Some(&step.name)), happened, &watching, &mut outcome).await;
        }
        outcome.played = begun.elapsed();
        outcome.broken_promises = watching.broken_promises();
        watching.end().await;
        outcome
    })
}

/// Looks at the expectations of one step, each at its time.
async fn look(
    place: &str,
    expectations: &[Expect],
    truth: Option<&Truth>,
    from: Instant,
    watching: &Watching,
    outcome: &mut Outcome,
) {
    let mut moments: Vec<(Time, Moment<'_>)> =
        expectations.iter().map(|expect| (expect.looked_at(), Moment::Expect(expect))).collect();
    moments.extend(truth.map(|truth| (truth.looked_at(), Moment::Truth(truth))));
    moments.sort_by_key(|(after, _)| *after);
    for (Time(after), moment) in moments {
        // Scenarios whose next step comes before that are refused when they are read.
        sleep_until(from + after).await;
        match moment {
            Moment::Truth(truth) => outcome.judged = Some(judge(truth, watching)),
            Moment::Expect(expect) => {
                outcome.expectations += 1;
                for difference in differences(expect, watching) {
                    outcome.differences.push(format!("{place}, after {}: {difference}", Time(after)));
                }
            }
        }
    }
}

/// What is compared at a moment.
enum Moment<'a> {
    Expect(&'a Expect),
    Truth(&'a Truth),
}

/// What is not as expected, now.
fn differences(expect: &Expect, watching: &Watching) -> Vec<String> {
    let published = watching.newest();
    let report = &published.report;
    let mut found = Vec::new();
    if let Some(wanted) = &expect.worst {
        let status = worst(&published);
        if status.slug() != wanted {
            found.push(format!("the worst verdict is {}, not {wanted}: {}", status.slug(), report.headline.sentence));
        }
    }
    let groups: Vec<GroupId> = expect.group.keys().map(|id| GroupId::from(id.as_str())).collect();
    let lookup = published.lookup(&groups);
    for (result, (group, wanted)) in lookup.results.iter().zip(&expect.group) {
        if result.verdict.status.slug() != wanted {
            found.push(format!(
                "group {group} is {}, not {wanted}: {}",
                result.verdict.status.slug(),
                result.verdict.sentence
            ));
        }
    }
    for (which, wanted) in &expect.partition {
        let Ok(which) = which.parse::<Partitions>() else { continue };
        let other = report.partitions.iter().find(|one| which.contains(one.partition) && one.status.slug() != wanted);
        if let Some(other) = other {
            found.push(format!(
                "partition {} is {}, not {wanted}: {}",
                other.partition,
                other.status.slug(),
                other.sentence
            ));
        } else if !report.partitions.iter().any(|one| which.contains(one.partition)) {
            found.push(format!("no partition is known, so none is {wanted}"));
        }
    }
    let open: Vec<&str> = report.findings.iter().map(|finding| finding.slug.as_str()).collect();
    for wanted in &expect.findings {
        if !open.contains(&wanted.as_str()) {
            found.push(format!("finding {wanted} is not open; open: {}", listed(&open)));
        }
    }
    for forbidden in &expect.no_findings {
        let unexpected: Vec<&str> = match forbidden.as_str() {
            "*" => open.iter().copied().filter(|slug| !expect.findings.iter().any(|wanted| wanted == slug)).collect(),
            slug => open.iter().copied().filter(|one| *one == slug).collect(),
        };
        if !unexpected.is_empty() {
            found.push(format!("finding {} is open", listed(&unexpected)));
        }
    }
    if !expect.says.is_empty() || !expect.never_says.is_empty() {
        let said = texts(&(report, &lookup));
        let says = |text: &String| said.iter().any(|one| one.contains(text.as_str()));
        found.extend(expect.says.iter().filter(|text| !says(text)).map(|text| format!("nothing says \"{text}\"")));
        found.extend(expect.never_says.iter().filter(|text| says(text)).map(|text| format!("it says \"{text}\"")));
    }
    for forbidden in &expect.never {
        if let Some((partition, at)) = Status::from_slug(forbidden).and_then(|status| watching.had(status)) {
            let at = Time(Duration::from_millis(u64::try_from(at.as_millis()).unwrap_or(u64::MAX)));
            found.push(format!("partition {partition} was {forbidden}, {at} after the beginning"));
        }
    }
    found
}

/// The worst verdict on a coordinator; of the cluster where no coordinator is known.
pub(crate) fn worst(published: &Published) -> Status {
    let report = &published.report;
    report.partitions.iter().map(|one| one.status).max().unwrap_or(report.headline.status)
}

fn listed(slugs: &[&str]) -> String {
    if slugs.is_empty() { "none".to_owned() } else { slugs.join(", ") }
}

/// Every text in a value.
pub(super) fn texts(value: &impl serde::Serialize) -> Vec<String> {
    fn collect(value: serde_json::Value, into: &mut Vec<String>) {
        match value {
            serde_json::Value::String(text) => into.push(text),
            serde_json::Value::Array(items) => items.into_iter().for_each(|item| collect(item, into)),
            serde_json::Value::Object(fields) => fields.into_iter().for_each(|(_, item)| collect(item, into)),
            _ => {}
        }
    }
    let mut into = Vec::new();
    // A report is always JSON: its maps have text keys.
    collect(serde_json::to_value(value).unwrap_or_default(), &mut into);
    into
}

#[cfg(test)]
mod tests;
