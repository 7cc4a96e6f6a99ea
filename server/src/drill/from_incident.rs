//! `unstuck drill --from-incident`: last night's outage as next week's training.
//!
//! What was seen is turned into a scenario, and the scenario is played: which way of telling it makes Unstuck say the
//! same again, and after how long, is found out and not guessed. What cannot be told stands in the file as a comment.

mod rebuild;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use unstuck_diagnosis::Published;
use unstuck_diagnosis::history::{Frozen, Moment};
use unstuck_diagnosis::report::Status;
use unstuck_drill::scenario::value::Time;
use unstuck_drill::scenario::{Scenario, read};

use super::check::{self, check};
use super::watching::{Watching, simulated};
use crate::cli::{EXIT_SOFTWARE, Failure, block_on};
use crate::config::Environment;
use crate::incident_command::{self, StoreArgs};
use crate::incidents::archive::Archive;
use crate::kept::{self, Piece};
use rebuild::{Rebuilt, Way};

/// When it is looked, counted from what happens: evidence that takes longer is not waited for.
const LOOKS: [u64; 13] = [3, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600];
/// How long all is well before anything happens.
const WELL: Duration = Duration::from_secs(20);

/// Writes the scenario of an incident.
pub(super) fn run(
    incident: &str,
    out: Option<&Path>,
    force: bool,
    store: &StoreArgs,
    environment: &Environment,
) -> Result<u8, Failure> {
    let archive = load(incident, store, environment)?;
    let text = scenario_of(&archive)?;
    let path = out.map_or_else(|| PathBuf::from("-"), Path::to_owned);
    incident_command::write(&path, force, text.as_bytes())
}

/// An exported file, or an incident of the store.
fn load(incident: &str, store: &StoreArgs, environment: &Environment) -> Result<Archive, Failure> {
    let path = Path::new(incident);
    if path.exists() || incident.contains(['/', '.']) {
        let mut kept = kept::read_file(path)?;
        return match (kept.pieces.pop(), kept.pieces.len()) {
            (Some(Piece::Incident(archive)), 0) => Ok(*archive),
            _ => Err(Failure::usage(format!(
                "{incident}: it is a snapshot or a recording, and no incident\n  Only an incident says which moment was \
                 the worst.\n  Export one with: unstuck incident export ID"
            ))),
        };
    }
    block_on(incident_command::exported(store, incident, false, environment))
}

/// The scenario of an incident, as the text of a file that `unstuck drill --check` accepts.
pub(super) fn scenario_of(archive: &Archive) -> Result<String, Failure> {
    let worst = [Moment::Worst, Moment::Opening].into_iter().find_map(|moment| archive.documents.get(&moment));
    let Some(worst) = worst else {
        return Err(Failure::usage(
            "nothing is kept of what was seen in this incident\n  A scenario is made of that.\n  Choose another incident",
        ));
    };
    let rebuilt = Rebuilt::of(archive, worst);
    if rebuilt.brokers.is_empty() {
        return Err(Failure::usage(
            "no broker was ever seen in this incident\n  A scenario is a cluster with brokers.\n  Choose another incident",
        ));
    }
    let wanted = Said::of(&worst.published());
    let mut best: Option<Played> = None;
    let mut tried = Vec::new();
    for way in Way::ALL {
        let text = rebuilt.text(way, &Expected::default());
        if tried.contains(&text) {
            continue;
        }
        let Ok(scenario) = read(&text, "incident.toml") else {
            // The language knows this release or this state otherwise; another way of telling it may do.
            tried.push(text);
            continue;
        };
        tried.push(text);
        let played = play(way, scenario, &wanted, rebuilt.over(), rebuilt.steps(way));
        let better = best.as_ref().is_none_or(|best| played.alike > best.alike);
        let same = played.alike == Alike::Same;
        if better {
            best = Some(played);
        }
        if same {
            break;
        }
    }
    let Some(best) = best else {
        let text = rebuilt.text(Way::ALL[0], &Expected::default());
        let why = read(&text, "incident.toml").err().map_or_else(String::new, |errors| errors.to_string());
        return Err(Failure {
            code: EXIT_SOFTWARE,
            message: format!("this incident cannot be told as a scenario:\n{why}"),
        });
    };
    let mut expected = best.expected(&wanted);
    // The file is held against itself, as whoever gets it will do.
    for _ in 0..2 {
        let text = rebuilt.text(best.way, &expected);
        let scenario = read(&text, "incident.toml").map_err(|errors| Failure {
            code: EXIT_SOFTWARE,
            message: format!("a defect in Unstuck: the scenario it wrote cannot be read:\n{errors}"),
        })?;
        let outcome = check("incident", Arc::new(scenario));
        if outcome.is_as_expected() {
            return Ok(text);
        }
        expected = Expected { notes: expected.notes, ..Expected::default() };
        expected.notes.extend(outcome.differences);
    }
    Ok(rebuilt.text(best.way, &expected))
}

/// What was said of a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    worst: Status,
    first: Option<String>,
    slugs: Vec<String>,
}

impl Said {
    fn of(published: &Published) -> Self {
        let slugs: Vec<String> = published.report.findings.iter().map(|finding| finding.slug.clone()).collect();
        Self { worst: check::worst(published), first: slugs.first().cloned(), slugs }
    }

    fn alike(&self, other: &Self) -> Alike {
        match (self.worst == other.worst, self.first == other.first) {
            (true, true) => Alike::Same,
            (true, false) if self.first.as_ref().is_some_and(|slug| other.slugs.contains(slug)) => Alike::Named,
            (true, false) => Alike::Status,
            (false, _) => Alike::Nothing,
        }
    }
}

/// How much of what was said is said again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Alike {
    /// Neither verdict nor finding.
    Nothing,
    /// The verdict.
    Status,
    /// The verdict, and the finding among others.
    Named,
    /// The verdict, and the same finding first.
    Same,
}

/// What a file expects of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Expected {
    /// After what happened: when, the verdict, and the finding.
    pub(super) at_worst: Option<(Time, Status, Option<String>)>,
    /// After it was over: when, and the verdict.
    pub(super) at_closing: Option<(Time, Status)>,
    /// What is not so.
    pub(super) notes: Vec<String>,
}

/// How a scenario went.
struct Played {
    way: Way,
    alike: Alike,
    /// When it was most alike.
    after: Duration,
    /// When all was as at the closing moment, if it was.
    over: Option<(Duration, Status)>,
    /// The closing moment was never reached.
    not_over: Option<Status>,
}

impl Played {
    fn expected(&self, wanted: &Said) -> Expected {
        let mut expected = Expected::default();
        let slug = wanted.first.clone();
        match self.alike {
            Alike::Same | Alike::Named => expected.at_worst = Some((Time(self.after), wanted.worst, slug)),
            Alike::Status => {
                expected.at_worst = Some((Time(self.after), wanted.worst, None));
                if let Some(slug) = slug {
                    expected
                        .notes
                        .push(format!("The finding {slug} was open then; this scenario does not bring it about."));
                }
            }
            Alike::Nothing => expected.notes.push(format!(
                "The worst verdict was {} then{}; this scenario does not bring it about.",
                wanted.worst.slug(),
                slug.map_or_else(String::new, |slug| format!(", with the finding {slug}"))
            )),
        }
        expected.at_closing = self.over.map(|(after, status)| (Time(after), status));
        if let Some(status) = self.not_over {
            expected.notes.push(format!("In the end the worst verdict was {}; here it is another one.", status.slug()));
        }
        expected
    }
}

/// Plays a scenario: when it says what was said, and when it is over.
fn play(way: Way, scenario: Scenario, wanted: &Said, over: Option<&Frozen>, steps: usize) -> Played {
    simulated(async {
        let watching = Watching::begin("incident", Arc::new(scenario));
        let mut happened = Instant::now();
        for _ in 0..steps {
            happened = watching.next_step().await.unwrap_or(happened);
        }
        let (mut alike, mut after) = (Alike::Nothing, Duration::from_secs(LOOKS[0]));
        for look in LOOKS.map(Duration::from_secs) {
            sleep_until(happened + look).await;
            let now = wanted.alike(&Said::of(&watching.newest()));
            if now > alike {
                (alike, after) = (now, look);
            }
            if alike == Alike::Same {
                break;
            }
        }
        let mut played = Played { way, alike, after, over: None, not_over: None };
        if let Some(over) = over
            && let Some(happened) = watching.next_step().await
        {
            let status = check::worst(&over.published());
            for look in LOOKS.map(Duration::from_secs) {
                sleep_until(happened + look).await;
                if check::worst(&watching.newest()) == status {
                    played.over = Some((look, status));
                    break;
                }
            }
            played.not_over = played.over.is_none().then_some(status);
        }
        watching.end().await;
        played
    })
}

#[cfg(test)]
mod tests;
