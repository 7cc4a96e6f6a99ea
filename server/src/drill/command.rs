//! The command line of drills.

use clap::{Args, Subcommand};
use unstuck_drill::scenario::value::Time;

use super::{ctl, list, serve};
use crate::cli::{Failure, LogArgs};
use crate::config::Environment;

pub(crate) const DRILL_HELP: &str = "\
Examples:
  unstuck drill                            which scenarios there are
  unstuck drill broker-lost                then open http://127.0.0.1:8080
  unstuck drill ./ours.toml                a scenario of your own (docs/scenarios.md)
  unstuck drill broker-lost --headless     only the brokers; prints where they listen, on one line
  unstuck drill ctl next                   the next step of the drill that runs
  unstuck drill ctl stop 1                 kills broker 1 of it

Brokers listen on 127.0.0.1 alone. Kafka's own tools can be used on them, and heal them or make it worse.";

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
    scenario: Option<String>,
    /// Where to serve pages and API; port 0 takes a free one [default: 127.0.0.1:8080; with --headless 127.0.0.1:0]
    #[arg(short, long, value_name = "IP:PORT", requires = "scenario")]
    pub(super) listen: Option<String>,
    /// The port of the first broker; the others follow [default: free ones]
    #[arg(long, value_name = "FIRST", requires = "scenario", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) ports: Option<u16>,
    /// Serve only the brokers, and what `unstuck drill ctl` needs; print the bootstrap servers on one line
    #[arg(long, requires = "scenario")]
    pub(super) headless: bool,
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

pub(crate) async fn run(arguments: DrillArgs, environment: Environment) -> Result<u8, Failure> {
    match (&arguments.command, &arguments.scenario) {
        (Some(DrillCommand::Ctl(arguments)), _) => ctl::run(arguments).await,
        (None, Some(scenario)) => serve::run(scenario, &arguments, &environment).await,
        (None, None) => list::run(),
    }
}
