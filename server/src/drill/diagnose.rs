//! `unstuck diagnose`: what Unstuck says about a scenario, at a step of it. Over TCP, with librdkafka and the probe, as
//! at a real cluster; or in simulated time, where evidence that takes minutes takes a blink.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep_until, timeout_at};
use unstuck_diagnosis::memory::Memory;
use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::{GroupId, Published, Seq};
use unstuck_drill::scenario::model::{Expect, Scenario, Step};
use unstuck_drill::scenario::shipped;
use unstuck_drill::serve::{Drill, Listen};
use unstuck_kafka::{ClusterConfig, Collector};

use super::check::A_LOOK;
use super::watching::{Watching, simulated};
use crate::cli::{DiagnoseArgs, EXIT_SOFTWARE, EXIT_UNAVAILABLE, Failure};
use crate::config::Environment;
use crate::lookup::{end_of_output, json};
use crate::{kept, logs, poller, text};

/// How long the beginning is looked at before anything happens: as long as the first look takes, but no longer.
const FIRST_LOOK: Duration = Duration::from_secs(10);
/// How long a verdict must stand still before it is told.
const STANDS: Duration = Duration::from_millis(1_200);
/// How long an event that was brought about may take to come, in scenario time.
const EVENT: Duration = Duration::from_secs(2);

pub(crate) fn run(arguments: &DiagnoseArgs, environment: &Environment) -> Result<u8, Failure> {
    logs::begin(arguments.log.log_level.as_deref(), "error", environment)?;
    let groups: Vec<GroupId> = arguments.groups.iter().map(|group| GroupId::from(group.as_str())).collect();
    if is_kept(&arguments.scenario) {
        let kept = kept::read_file(Path::new(&arguments.scenario))?;
        let wanted = kept::Wanted {
            groups: &groups,
            moment: arguments.step.as_deref(),
            as_said: arguments.as_said,
            json: arguments.json,
            colours: text::in_colours(environment),
        };
        let (output, status) = kept::explain(&arguments.scenario, &kept, &wanted)?;
        end_of_output(std::io::Write::write_all(&mut std::io::stdout().lock(), output.as_bytes()))?;
        return Ok(status.exit_code());
    }
    if arguments.as_said {
        return Err(Failure::usage(
            "--as-said is about a file in which was kept what was said\n  A scenario is diagnosed now.\n  Leave it out",
        ));
    }
    let named = shipped::load(&arguments.scenario).map_err(|error| Failure::usage(error.to_string()))?;
    let (name, scenario) = (named.name, Arc::new(named.scenario));
    let until = match &arguments.step {
        Some(step) => Some(number_of(&scenario, step)?),
        None => worst_step(&scenario),
    };
    let published = if arguments.simulated {
        simulated(in_simulated_time(&name, Arc::clone(&scenario), until))
    } else {
        crate::cli::block_on(over_tcp(&name, Arc::clone(&scenario), until, arguments.timeout))?
    };
    let lookup = published.lookup(&groups);
    let status = if groups.is_empty() { super::check::worst(&published) } else { lookup.worst() };
    let output = if arguments.json {
        let answer = if groups.is_empty() { json(&published.report)? } else { json(&lookup)? };
        answer + "\n"
    } else {
        let colours = text::in_colours(environment);
        let answer =
            if groups.is_empty() { text::report(&published.report, colours) } else { text::lookup(&lookup, colours) };
        heading(&scenario, until) + &answer
    };
    end_of_output(std::io::Write::write_all(&mut std::io::stdout().lock(), output.as_bytes()))?;
    Ok(status.exit_code())
}

/// Whether a file in which was kept what was seen is meant, and no scenario: by what is in it, as far as it is there.
fn is_kept(name: &str) -> bool {
    if name == "-" {
        return true;
    }
    let (path, scenario) = (Path::new(name), shipped::names().iter().any(|known| known == name));
    if scenario || path.extension().is_some_and(|extension| extension == "toml") {
        return false;
    }
    let Ok(mut file) = std::fs::File::open(path).and_then(|file| file.metadata().map(|about| (file, about))) else {
        // What is not there is called by its name.
        return [".json", ".gz"].iter().any(|ending| name.ends_with(ending));
    };
    if !file.1.is_file() {
        return false;
    }
    let mut beginning = [0; 512];
    let read = std::io::Read::read(&mut file.0, &mut beginning).unwrap_or_default();
    let beginning = beginning.get(..read).unwrap_or_default();
    // A scenario is text, and no JSON. Text may be cut within a character here.
    let text = std::str::from_utf8(beginning).map_or_else(|error| error.error_len().is_none(), |_| true);
    let plain = beginning.trim_ascii_start();
    !text || beginning.contains(&0) || plain.is_empty() || plain.starts_with(b"{")
}

/// Where in the story we are.
fn heading(scenario: &Scenario, until: Option<usize>) -> String {
    let mut text = format!("{}\n", scenario.title);
    let place = match until.and_then(|number| scenario.step.get(number).map(|step| (number, step))) {
        Some((number, step)) => format!("step {} of {}: {}", number + 1, scenario.step.len(), step.name),
        None => "the beginning".to_owned(),
    };
    let _ = writeln!(text, "{place}\n");
    text
}

fn number_of(scenario: &Scenario, name: &str) -> Result<usize, Failure> {
    let names = || scenario.step.iter().map(|step| format!("`{}`", step.name)).collect::<Vec<_>>().join(", ");
    scenario.step.iter().position(|step| step.name == name).ok_or_else(|| {
        let (meaning, remedy) = if scenario.step.is_empty() {
            ("This scenario has no steps: it stays as it begins.".to_owned(), "Leave --step out.")
        } else {
            (format!("Its steps are: {}.", names()), "Name one of these, or leave --step out.")
        };
        Failure::usage(format!("there is no step `{name}`\n  {meaning}\n  {remedy}"))
    })
}

/// The first step of which the scenario expects the worst; `None` if that is its beginning.
fn worst_step(scenario: &Scenario) -> Option<usize> {
    let worst = |expectations: &[Expect]| {
        let words = expectations
            .iter()
            .flat_map(|expect| expect.worst.iter().chain(expect.group.values()).chain(expect.partition.values()));
        words.filter_map(|word| Status::from_slug(word)).max().unwrap_or(Status::Working)
    };
    let mut found = (worst(&scenario.expect), None);
    for (number, step) in scenario.step.iter().enumerate() {
        let status = worst(&step.expect);
        if status > found.0 {
            found = (status, Some(number));
        }
    }
    found.1
}

/// The last time after a step at which its scenario looks.
fn last_look(expectations: &[Expect]) -> Duration {
    expectations.iter().map(|expect| expect.looked_at().0).max().unwrap_or(A_LOOK)
}

async fn in_simulated_time(name: &str, scenario: Arc<Scenario>, until: Option<usize>) -> Published {
    let watching = Watching::begin(name, Arc::clone(&scenario));
    let mut looked_at = Instant::now() + last_look(&scenario.expect);
    for step in scenario.step.iter().take(until.map_or(0, |number| number + 1)) {
        if step.after.is_none() {
            sleep_until(looked_at).await;
        }
        let Some(happened) = watching.next_step().await else { break };
        looked_at = happened + last_look(&step.expect);
    }
    sleep_until(looked_at).await;
    let published = watching.newest();
    watching.end().await;
    published
}

/// Begins to look at the beginning, so that groups are known; then lets everything happen at once that happens until
/// the step, and looks until the verdict stands still.
async fn over_tcp(
    name: &str,
    scenario: Arc<Scenario>,
    until: Option<usize>,
    timeout: Duration,
) -> Result<Published, Failure> {
    let free_ports = Listen::Loopback { host: "127.0.0.1".to_owned(), ports: None };
    let drill = Drill::start(name, Arc::clone(&scenario), &free_ports).map_err(|error| Failure {
        code: EXIT_UNAVAILABLE,
        message: format!(
            "the drill's brokers cannot listen on 127.0.0.1: {error}\n  Each broker takes a free port.\n  \
             See whether this machine has any left (ulimit -n, ip_local_port_range)"
        ),
    })?;
    let collector = Collector::start(ClusterConfig::new(name, drill.bootstrap()));
    let mut watch = Watch { collector: &collector, published: None };
    watch.until(Instant::now() + FIRST_LOOK, |published, _| Collector::settled(&published.snapshot)).await;
    let mut looked = last_look(&scenario.expect);
    let steps: &[Step] = scenario.step.get(..until.map_or(0, |number| number + 1)).unwrap_or_default();
    for step in steps {
        match step.after {
            Some(time) => jump(&drill, time.0).await?,
            None => {
                jump(&drill, looked).await?;
                let number = drill.with(|world| world.next_step().map(|(number, _)| number));
                drill.play_on();
                // A broker that starts takes a while; its step comes with it.
                jump(&drill, EVENT).await?;
                if number.is_some_and(|number| drill.with(|world| world.happened(number).is_none())) {
                    drill.next();
                }
            }
        }
        looked = last_look(&step.expect);
    }
    jump(&drill, looked).await?;
    collector.look_now();
    let end = Instant::now() + timeout;
    watch
        .until(end, |published, stands| {
            Collector::settled(&published.snapshot)
                && stands >= STANDS
                && !matches!(super::check::worst(published), Status::Unknown | Status::Recovering)
        })
        .await;
    let published = watch.published.take();
    let _ = tokio::time::timeout(Duration::from_millis(300), collector.shutdown()).await;
    drill.shutdown().await;
    published.ok_or_else(|| Failure {
        code: EXIT_SOFTWARE,
        message: "nothing was seen of the drill\n  This is a defect in Unstuck.\n  Please report it".to_owned(),
    })
}

async fn jump(drill: &Drill, by: Duration) -> Result<(), Failure> {
    drill.jump(by).await.map_err(|why| Failure::usage(format!("the scenario cannot be played: {why}")))
}

/// Follows what is published.
struct Watch<'a> {
    collector: &'a Collector,
    published: Option<Published>,
}

impl Watch<'_> {
    /// Until a condition holds or the time is over. The condition is told how long the headline has stood still.
    async fn until(&mut self, end: Instant, condition: impl Fn(&Published, Duration) -> bool) {
        let mut snapshots = self.collector.snapshots();
        snapshots.mark_changed();
        let mut still_since = Instant::now();
        while let Ok(Ok(())) = timeout_at(end, snapshots.changed()).await {
            let snapshot = Arc::clone(&snapshots.borrow_and_update());
            let last = self.published.take();
            let (n, sentence) = last
                .as_ref()
                .map_or((0, String::new()), |last| (last.seq.n + 1, last.report.headline.sentence.clone()));
            let memory = last.map_or_else(|| Memory::new(snapshot.taken_at), |last: Published| last.memory);
            let next = poller::next_value(Seq { boot: String::new(), n }, snapshot, memory, Timestamp::now());
            if next.report.headline.sentence != sentence {
                still_since = Instant::now();
            }
            let done = condition(&next, still_since.elapsed());
            self.published = Some(next);
            if done {
                return;
            }
        }
    }
}
