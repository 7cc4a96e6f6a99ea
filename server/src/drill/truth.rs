//! `unstuck drill --truth`: how right Unstuck is. Plays the scenarios that are public cases, and compares what it says
//! with what a perfect diagnosis would say. How it is judged: `docs/truth.md`.

mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use unstuck_diagnosis::report::{Finding, Status, Strength};
use unstuck_drill::scenario::Scenario;
use unstuck_drill::scenario::shipped;
use unstuck_drill::scenario::truth::Truth;

use super::check::{Outcome, check_all, texts, worst};
use super::watching::Watching;
use crate::cli::{EXIT_SOFTWARE, Failure};

/// How many of a hundred cases must be right, of those whose state determines the cause.
const GOAL_PERCENT: usize = 95;

/// The exit code if the goal is missed.
const MISSED: u8 = 1;

/// How right an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Judgement {
    /// Verdict, cause and remedy.
    Right,
    /// The right verdict; of cause or remedy something lacks.
    Partly,
    /// It says that it does not know, and what it would have to see.
    HonestlyUnknown,
    /// The verdict contradicts the truth, or something certain was said that is not so.
    Wrong,
}

impl Judgement {
    fn words(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Partly => "partly",
            Self::HonestlyUnknown => "honestly unknown",
            Self::Wrong => "wrong",
        }
    }
}

/// A case, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) judgement: Judgement,
    /// What was said, in short.
    said: String,
    /// What lacks, or is wrong.
    because: Vec<String>,
}

/// Judges public cases by name or path; all that there are, if none is named.
pub(crate) fn run(names: &[String]) -> Result<u8, Failure> {
    let scenarios = if names.is_empty() { cases()? } else { named(names)? };
    let results = results(&scenarios);
    let text = table::table(&results);
    crate::lookup::end_of_output(std::io::Write::write_all(&mut std::io::stdout().lock(), text.as_bytes()))?;
    Ok(if Score::of(&results).reached() { 0 } else { MISSED })
}

fn named(names: &[String]) -> Result<Vec<Case>, Failure> {
    let mut scenarios = Vec::new();
    for name in names {
        let named = shipped::load(name).map_err(|error| Failure::usage(error.to_string()))?;
        if named.scenario.truth.is_none() {
            return Err(Failure::usage(format!(
                "{name} is no public case\n  It says nothing of the truth.\n  Add a [truth] (docs/scenarios.md)"
            )));
        }
        scenarios.push((named.name, Arc::new(named.scenario)));
    }
    Ok(scenarios)
}

/// A scenario with its name.
type Case = (String, Arc<Scenario>);

/// All scenarios that are public cases.
fn cases() -> Result<Vec<Case>, Failure> {
    let broken = |error: unstuck_drill::scenario::ScenarioErrors| Failure {
        code: EXIT_SOFTWARE,
        message: format!("a scenario that is built in cannot be read\n  This is a defect in Unstuck.\n  {error}"),
    };
    let mut cases = Vec::new();
    for (name, scenario) in shipped::everything() {
        let scenario = scenario.map_err(broken)?;
        if scenario.truth.is_some() {
            cases.push((name, Arc::new(scenario)));
        }
    }
    Ok(cases)
}

/// A case with its judgement.
struct Measured {
    title: String,
    truth: Truth,
    judged: Judged,
}

/// Plays and judges cases; sorted by their numbers.
fn results(scenarios: &[Case]) -> Vec<Measured> {
    let mut outcomes = check_all(scenarios);
    let mut results = BTreeMap::new();
    for (name, scenario) in scenarios {
        let (Some(truth), Some(outcome)) = (&scenario.truth, outcomes.remove(name)) else { continue };
        let judged = with_promises(outcome);
        results.insert(truth.case.clone(), Measured { title: scenario.title.clone(), truth: truth.clone(), judged });
    }
    results.into_values().collect()
}

/// What must never be said is wrong, at whatever moment it was said.
fn with_promises(outcome: Outcome) -> Judged {
    let never = Judged {
        judgement: Judgement::Wrong,
        said: String::new(),
        because: vec!["the moment to look never came".to_owned()],
    };
    let mut judged = outcome.judged.unwrap_or(never);
    if !outcome.broken_promises.is_empty() {
        judged.judgement = Judgement::Wrong;
        judged.because.extend(outcome.broken_promises);
    }
    judged
}

/// Compares what Unstuck says now with the truth.
pub(super) fn judge(truth: &Truth, watching: &Watching) -> Judged {
    let published = watching.newest();
    let report = &published.report;
    let lookup = truth.group.as_deref().map(|group| watching.lookup(group));
    let status = lookup.as_ref().map_or_else(|| worst(&published), |lookup| lookup.verdict.status);
    // What is shown: of the group first.
    let inside = watching.inside();
    let own: Vec<&Finding> = match &lookup {
        Some(lookup) => lookup.all_findings().into_iter().chain(&inside).collect(),
        None => report.findings.iter().collect(),
    };
    let mut shown = own.clone();
    shown.extend(report.findings.iter().filter(|finding| own.iter().all(|one| one.slug != finding.slug)));

    let said = texts(&(report, &lookup, &inside));
    let wrong: Vec<String> = truth
        .must_not_say
        .iter()
        .filter(|text| said.iter().any(|one| one.contains(text.as_str())))
        .map(|text| format!("it says \"{text}\""))
        .collect();
    let mut lacks = causes(truth, &own, &shown);
    let ways = shown.iter().flat_map(|finding| &finding.remedies);
    let ways: Vec<String> = ways.flat_map(texts).collect();
    for wanted in truth.remedy.iter().filter(|wanted| !ways.iter().any(|way| way.contains(wanted.as_str()))) {
        lacks.push(format!("no remedy says \"{wanted}\""));
    }
    for wanted in truth.says.iter().filter(|wanted| !said.iter().any(|one| one.contains(wanted.as_str()))) {
        lacks.push(format!("nothing says \"{wanted}\""));
    }
    let mut others_wrong = Vec::new();
    for (group, wanted) in &truth.others {
        let status = watching.lookup(group).verdict.status;
        if status.slug() != wanted {
            others_wrong.push(format!("{group} is {}, not {wanted}", status.slug()));
        }
    }
    let gap_named = lookup.as_ref().is_some_and(|lookup| !lookup.could_not_observe.is_empty())
        || !report.could_not_observe.is_empty()
        || shown.iter().flat_map(|finding| &finding.evidence).any(|evidence| evidence.strength == Strength::NotSeen)
        || lookup.as_ref().map_or(&report.headline.sentence, |lookup| &lookup.verdict.sentence).contains("because");
    let as_wanted = status.slug() == truth.verdict || truth.or.iter().any(|word| word == status.slug());
    let (judgement, because) = if !wrong.is_empty() || !others_wrong.is_empty() {
        (Judgement::Wrong, wrong.into_iter().chain(others_wrong).collect())
    } else if as_wanted && lacks.is_empty() {
        (Judgement::Right, Vec::new())
    } else if as_wanted {
        (Judgement::Partly, lacks)
    } else if status == Status::Unknown && gap_named {
        (Judgement::HonestlyUnknown, Vec::new())
    } else if status == Status::Unknown {
        (Judgement::Partly, vec!["it does not say why it does not know".to_owned()])
    } else {
        let sentence = lookup.as_ref().map_or(&report.headline.sentence, |lookup| &lookup.verdict.sentence);
        (Judgement::Wrong, vec![format!("it says: {sentence}")])
    };
    Judged { judgement, said: table::said(status, &shown, truth), because }
}

/// What lacks of the causes. The first is the main one: it is of the group, and nothing worse stands before it.
fn causes(truth: &Truth, own: &[&Finding], shown: &[&Finding]) -> Vec<String> {
    let mut lacks = Vec::new();
    let known: Vec<&str> = unstuck_diagnosis::slugs().collect();
    for (nth, slug) in truth.cause.iter().enumerate() {
        if !known.contains(&slug.as_str()) {
            lacks.push(format!("there is no finding {slug}"));
            continue;
        }
        let Some(finding) = shown.iter().find(|finding| finding.slug == *slug) else {
            lacks.push(format!("{slug} is not open"));
            continue;
        };
        if nth > 0 {
            continue;
        }
        if !own.iter().any(|one| one.slug == *slug) {
            lacks.push(format!("{slug} is not shown with the group"));
        }
        if let Some(worse) = own.iter().find(|one| one.severity > finding.severity) {
            lacks.push(format!("{} stands before {slug}", worse.slug));
        }
    }
    lacks
}

/// How many cases are how right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Score {
    right: usize,
    partly: usize,
    honestly_unknown: usize,
    wrong: usize,
    /// Those whose state determines the cause, and the right ones of them.
    determined: usize,
    determined_right: usize,
}

impl Score {
    fn of(results: &[Measured]) -> Self {
        let mut score = Self::default();
        for result in results {
            let judgement = result.judged.judgement;
            match judgement {
                Judgement::Right => score.right += 1,
                Judgement::Partly => score.partly += 1,
                Judgement::HonestlyUnknown => score.honestly_unknown += 1,
                Judgement::Wrong => score.wrong += 1,
            }
            if result.truth.determined {
                score.determined += 1;
                score.determined_right += usize::from(judgement == Judgement::Right);
            }
        }
        score
    }

    /// Of a hundred cases whose state determines the cause, how many are right.
    fn percent(self) -> usize {
        (self.determined_right * 100).checked_div(self.determined).unwrap_or(100)
    }

    fn reached(self) -> bool {
        self.wrong == 0 && self.percent() >= GOAL_PERCENT
    }
}
