//! The command line of drills.

use std::time::Duration;

use clap::{Args, Subcommand};
use unstuck_drill::scenario::value::Time;

use super::{check, ctl, from_incident, list, serve, truth};
use crate::access::arguments::{AccessArgs, LoginArgs};
use crate::cli::{Failure, LogArgs, block_on, seconds};
use crate::config::Environment;
use crate::incident_command::StoreArgs;
use crate::logs;

pub(crate) const DRILL_HELP: &str = "\
Examples:
  unstuck drill                            which scenarios there are
  unstuck drill broker-lost                then open http://127.0.0.1:8080
  unstuck drill ./ours.toml                a scenario of your own (docs/scenarios.md)
  unstuck drill broker-lost --headless     only the brokers; prints where they listen, on one line
  unstuck drill ctl next                   the next step of the drill that runs
  unstuck drill ctl stop 1                 kills broker 1 of it
  unstuck drill --check ./ours.toml        whether Unstuck says what the scenario expects
  unstuck drill --from-incident incident.json --out last-night.toml     an outage, for training

Brokers listen on 127.0.0.1 alone. Kafka's own tools can be used on them, and heal them or make it worse.";

pub(crate) const DIAGNOSE_HELP: &str = "\
Examples:
  unstuck diagnose broker-lost
  unstuck diagnose broker-lost --step 'broker 1 dies' --group orders
  unstuck diagnose ./ours.toml --json | jq .headline
  unstuck diagnose seen.json.gz --group orders                 a snapshot
  unstuck diagnose incident.json                               what would be said now?
  unstuck diagnose incident.json --step opening --as-said      what was said then

A file is explained without a cluster, by today's rules. A line tells what was said then, if that
was something else.

Exit code: as of lookup, by the worst of what was looked at.";

const CTL_HELP: &str = "\
Examples:
  unstuck drill ctl status
  unstuck drill ctl next
  unstuck drill ctl stop 1 2
  unstuck drill ctl jump 10m
  unstuck drill ctl apply '{\"elect\": {\"type\": \"unclean\"}}'     any action of docs/scenarios.md
  unstuck drill ctl --url http://127.0.0.1:9999 restart

Exit code:
  0  done
  1  the drill refused: it has no such broker, no next step, …
  64 bad usage
  69 no drill answers there";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DrillArgs {
    #[command(subcommand)]
    command: Option<DrillCommand>,
    /// A scenario by its name, or the path of a file of your own; without one, those that are built in are listed
    #[arg(value_name = "NAME|FILE")]
    scenarios: Vec<String>,
    /// Play scenarios in simulated time (all that are built in, if none is named), and say what is not as they expect
    #[arg(long, conflicts_with_all = ["listen", "ports", "headless"])]
    check: bool,
    /// Play the public cases in simulated time (all of them, if no scenario is named), and print how Unstuck does
    #[arg(long, conflicts_with_all = ["check", "listen", "ports", "headless"])]
    truth: bool,
    /// Where to serve pages and API; port 0 takes a free one [default: 127.0.0.1:8080; with --headless 127.0.0.1:0]
    #[arg(short, long, value_name = "IP:PORT", requires = "scenarios")]
    pub(super) listen: Option<String>,
    #[command(flatten)]
    pub(super) access: AccessArgs,
    /// The port of the first broker; the others follow [default: free ones]
    #[arg(long, value_name = "FIRST", requires = "scenarios", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) ports: Option<u16>,
    /// Serve only the brokers, and what `unstuck drill ctl` needs; print the bootstrap servers on one line
    #[arg(long, requires = "scenarios")]
    pub(super) headless: bool,
    /// Turn an incident into a scenario, and print it: an exported file, or the id of one that is kept
    #[arg(long, value_name = "ID|FILE", conflicts_with_all = ["scenarios", "check", "truth", "listen", "ports", "headless"])]
    from_incident: Option<String>,
    /// Write the scenario into this file instead
    #[arg(long, value_name = "FILE", requires = "from_incident")]
    out: Option<std::path::PathBuf>,
    /// Overwrite a file that is there already
    #[arg(long, requires = "from_incident")]
    force: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    pub(super) log: LogArgs,
}

#[derive(Debug, Subcommand)]
enum DrillCommand {
    /// Steer the drill that runs: the next step, stop a broker, start it again, …
    #[command(after_help = CTL_HELP)]
    Ctl(CtlArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CtlArgs {
    /// Where the drill runs; it printed that when it began
    #[arg(short, long, global = true, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub(super) url: String,
    #[command(flatten)]
    pub(super) login: LoginArgs,
    /// Print what the API answers, as JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
    #[command(subcommand)]
    pub(super) wish: Wish,
}

/// What the drill shall do.
#[derive(Debug, Subcommand)]
pub(crate) enum Wish {
    /// Say how it is going
    Status,
    /// Let the next step happen now
    Next,
    /// Kill brokers, as kill -9 does
    Stop(Nodes),
    /// Start brokers that are stopped
    Start(Nodes),
    /// Let brokers hang
    Pause(Nodes),
    /// Let brokers that hang go on
    Resume(Nodes),
    /// Cut brokers off from the controller and the others; clients still reach them
    CutOff(Nodes),
    /// End that
    Reconnect(Nodes),
    /// Start again from the beginning
    Restart,
    /// Move the drill's clock ahead; all that is due until then happens
    Jump {
        /// By how much, such as 30s, 10m or 1h 30m
        #[arg(value_name = "TIME")]
        by: Time,
    },
    /// Do one action of the scenario language
    Apply {
        /// The action as JSON, such as '{"stop": 1}'
        #[arg(value_name = "JSON")]
        action: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Nodes {
    /// Ids of brokers
    #[arg(required = true, value_name = "ID")]
    pub(super) ids: Vec<i32>,
}

pub(crate) fn run(arguments: DrillArgs, environment: &Environment) -> Result<u8, Failure> {
    if let Some(incident) = &arguments.from_incident {
        logs::begin(arguments.log.log_level.as_deref(), "error", environment)?;
        return from_incident::run(incident, arguments.out.as_deref(), arguments.force, &arguments.store, environment);
    }
    if arguments.store.store.is_some() || arguments.store.config.is_some() {
        return Err(Failure::usage(
            "--store and --config go with --from-incident\n  They say where the incident is kept.\n  Leave them out",
        ));
    }
    if arguments.access.any() && (arguments.check || arguments.truth || arguments.scenarios.is_empty()) {
        return Err(Failure::usage(
            "options about access go with a drill that is served\n  Nothing listens otherwise.\n  Leave them out",
        ));
    }
    match (&arguments.command, arguments.scenarios.as_slice()) {
        (Some(DrillCommand::Ctl(arguments)), _) => block_on(ctl::run(arguments, environment)),
        (None, scenarios) if arguments.check => check::run(scenarios),
        (None, scenarios) if arguments.truth => truth::run(scenarios),
        (None, []) => list::run(),
        (None, [scenario]) => block_on(serve::run(scenario, &arguments, environment)),
        (None, [first, ..]) => Err(Failure::usage(format!(
            "several scenarios are named\n  One drill is served at a time.\n  \
             Name one, as in: unstuck drill {first}; or check them all with --check"
        ))),
    }
}

/// What to diagnose.
#[derive(Debug, Args)]
pub(crate) struct DiagnoseArgs {
    /// A scenario by its name, or the path of one of your own (.toml); or a snapshot, a recording, an exported incident;
    /// `-` is one of these on standard input
    #[arg(value_name = "NAME|FILE")]
    pub(crate) scenario: String,
    /// Until which step the scenario is played; of an incident opening, worst or closing; of a recording the number of
    /// the moment [default: the worst]
    #[arg(long, value_name = "NAME")]
    pub(crate) step: Option<String>,
    /// A group to look up; repeatable. Without one the whole report is printed
    #[arg(short, long = "group", value_name = "ID")]
    pub(crate) groups: Vec<String>,
    /// Print what the API answers, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Of a file: print what was said then, instead of what today's rules say
    #[arg(long, conflicts_with = "simulated")]
    pub(crate) as_said: bool,
    /// Look in simulated time and without sockets or librdkafka: what takes minutes takes a blink
    #[arg(long)]
    pub(crate) simulated: bool,
    /// How long to look before answering with what is known by then, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}
