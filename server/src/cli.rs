//! The command line.
//!
//! Exit codes: `lookup` tells the worst verdict (0 to 3); 64 is bad usage or configuration; see `docs/configuration.md`.

mod listen;

pub(crate) use listen::cannot_listen;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use tokio_util::sync::CancellationToken;

use crate::access::Door;
use crate::access::arguments::{AccessArgs, LoginArgs};
use crate::access::command::{self as token, TokenArgs};
use crate::config::{self, ClusterOptions, Environment};
use crate::doctor::{self, DoctorArgs};
pub(crate) use crate::drill::command::DiagnoseArgs;
use crate::drill::command::{self as drill, DIAGNOSE_HELP, DRILL_HELP, DrillArgs};
use crate::incident_command::IncidentArgs;
use crate::{config_check, explain, incident_command, kept, logs, lookup, place, plan, reload, replay, serving};

/// Bad usage or bad configuration (`EX_USAGE`).
pub const EXIT_USAGE: u8 = 64;
/// The address cannot be listened on (`EX_UNAVAILABLE`).
pub const EXIT_UNAVAILABLE: u8 = 69;
/// Unstuck itself failed (`EX_SOFTWARE`).
pub const EXIT_SOFTWARE: u8 = 70;

const AFTER_HELP: &str = "\
Try it:
  unstuck lookup --bootstrap-servers localhost:9092 my-group     one answer, in the terminal
  unstuck serve  --bootstrap-servers localhost:9092              then open http://127.0.0.1:8080
  unstuck drill  broker-lost                                     without any Kafka, to try it

Looking never changes a cluster. Every option has its words in `unstuck COMMAND --help`.";

#[derive(Debug, Parser)]
#[command(name = "unstuck", version, after_help = AFTER_HELP, max_term_width = 100, arg_required_else_help = true)]
/// Tells why a Kafka consumer group hangs: whether its coordinator works, why not, who else is hit, and what to do.
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Look groups up and answer in the terminal: works, is stuck and why, and what to do next.
    #[command(after_help = LOOKUP_HELP)]
    Lookup(LookupArgs),
    /// Keep looking at one or several clusters, and answer in the browser and as JSON.
    #[command(after_help = SERVE_HELP)]
    Serve(ServeArgs),
    /// Work out a reassignment of __consumer_offsets: more copies, none on one broker, or spread. Changes nothing itself.
    #[command(after_help = PLAN_HELP)]
    Plan(PlanArgs),
    /// Try Unstuck without Kafka: a cluster that fails on purpose, and the app that looks at it.
    #[command(after_help = DRILL_HELP)]
    Drill(DrillArgs),
    /// Write what can be observed of a cluster into a file, once or again and again: to explain it elsewhere, or later.
    #[command(after_help = SNAPSHOT_HELP)]
    Snapshot(SnapshotArgs),
    /// Print what Unstuck says about a snapshot, a recording, an exported incident, or a step of a drill.
    #[command(after_help = DIAGNOSE_HELP)]
    Diagnose(DiagnoseArgs),
    /// List incidents that were kept, print one, take one out as a file, or take one in.
    #[command(after_help = incident_command::HELP)]
    Incident(IncidentArgs),
    /// Tell what the account may do on a cluster, what is missing, and the command that grants it. Creates nothing.
    #[command(after_help = doctor::HELP)]
    Doctor(DoctorArgs),
    /// Check a configuration without connecting, and print what counts, where it was said, and what has no effect.
    #[command(after_help = config_check::HELP)]
    Config(config_check::ConfigArgs),
    /// Make tokens for those who may read or write, where Unstuck can be reached from other machines.
    #[command(after_help = token::HELP)]
    Token(TokenArgs),
    /// Work out, offline, on which partition of __consumer_offsets a group lives, showing each step.
    #[command(after_help = PLACE_HELP)]
    Place(PlaceArgs),
    /// Print, offline, what a finding means, when it opens and closes, and the way out.
    #[command(after_help = EXPLAIN_HELP)]
    Explain(ExplainArgs),
}

const LOOKUP_HELP: &str = "\
Examples:
  unstuck lookup --bootstrap-servers localhost:9092 my-group
  unstuck lookup --server http://unstuck.example:8080 --cluster production my-group other-group
  kafka-consumer-groups.sh … --list | unstuck lookup -b localhost:9092 -
  unstuck lookup -b localhost:9092 --json my-group | jq '.results[].verdict'
  unstuck lookup -b localhost:9092 --detail my-group             members, offsets and lag too
  unstuck lookup -b localhost:9092 --transactional-id my-app

Exit code, by the worst of the groups:
  0  working, or the coordinator is fine and the cause is in the group
  1  at risk (works, but one more failure stops it), or recovering
  2  stuck
  3  unknown, or it was not possible to look
  64 bad usage or configuration";

const SERVE_HELP: &str = "\
Examples:
  unstuck serve --bootstrap-servers a:9092,b:9092
  unstuck serve --config unstuck.toml --listen 0.0.0.0:8080 --access token --tokens-file /etc/unstuck/tokens
  unstuck serve -b kafka:9093 --command-config client.properties
  unstuck serve --replay seen.json.gz                a recording, without any cluster

SIGHUP reads the configuration again; nothing that is known is lost. `unstuck config check` says beforehand whether it is good.

Without --access there is no login, so Unstuck then listens on this machine alone.

Variables, for what is not given as an option:
  UNSTUCK_BOOTSTRAP_SERVERS  UNSTUCK_CONFIG  UNSTUCK_CLUSTER_NAME  UNSTUCK_LISTEN  UNSTUCK_LOG
  UNSTUCK_BROKER_ADDRESSES (2=host:port,3=host:port)  UNSTUCK_COMMAND_CONFIG  UNSTUCK_STORE
  UNSTUCK_ACCESS  UNSTUCK_TOKENS_FILE  UNSTUCK_PUBLIC_URL";

const SNAPSHOT_HELP: &str = "\
Examples:
  unstuck snapshot -b localhost:9092                              unstuck-kafka-20260101-021500.json.gz
  unstuck snapshot -b localhost:9092 --pseudonyms --out for-the-ticket.json.gz
  unstuck snapshot -b localhost:9092 --every 10 --for 30          a recording; Ctrl-C ends it earlier
  unstuck snapshot -b localhost:9092 --out - | ssh laptop 'cat > seen.json.gz'

Then, without the cluster:
  unstuck diagnose seen.json.gz --group my-group
  unstuck serve --replay seen.json.gz

The file holds names of groups, topics, brokers and hosts; no messages, committed offsets or
passwords. With --pseudonyms groups, clients and hosts have made-up names, others in each file.

Exit code:
  0  written
  3  written, but no broker answered
  64 bad usage or configuration, or the file is there already";

const PLAN_HELP: &str = "\
Examples:
  unstuck plan raise    -b localhost:9092              more copies; present leaders stay
  unstuck plan evacuate -b localhost:9092 --broker 2   before broker 2 is stopped for long, or taken away
  unstuck plan spread   -b localhost:9092 --out .      writes spread.json and rollback.json here

The files are for kafka-reassign-partitions.sh; the command that reads them is printed too. Unstuck never runs it.

Exit code:
  0  a plan was made
  1  there is nothing to do, or a plan would be wrong now: the reason is printed
  3  it was not possible to look
  64 bad usage or configuration";

const PLACE_HELP: &str = "\
Examples:
  unstuck place my-group                     for 50 partitions, Kafka's default
  unstuck place my-group --partitions 60
  unstuck place --json my-group other-group

The count has to be the actual one of the topic; `unstuck lookup` reads it from the cluster.";

const EXPLAIN_HELP: &str = "\
Examples:
  unstuck explain                            lists all findings
  unstuck explain no-leader-live-replica

`unstuck serve` has the same at /docs/findings.";

#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    /// Brokers to begin with, as your consumers have them in bootstrap.servers: HOST:PORT,HOST:PORT
    #[arg(short, long, value_name = "LIST")]
    pub(crate) bootstrap_servers: Option<String>,
    /// A TOML file that describes one or several clusters (docs/configuration.md)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<std::path::PathBuf>,
    /// TLS and login as Kafka's own tools take them: a client.properties (docs/configuration.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) command_config: Option<std::path::PathBuf>,
    /// Reach a broker here instead of at the address it advertises (containers, tunnels); repeatable
    #[arg(long = "broker-address", value_name = "ID=HOST:PORT")]
    pub(crate) broker_addresses: Vec<String>,
    /// A librdkafka property: TLS and login for both eyes, others for the look through a client's; repeatable
    #[arg(short = 'X', long = "property", value_name = "KEY=VALUE")]
    pub(crate) properties: Vec<String>,
}

impl ClusterArgs {
    pub(crate) fn options(&self, cluster_name: Option<&String>) -> ClusterOptions {
        ClusterOptions {
            bootstrap_servers: self.bootstrap_servers.clone(),
            config: self.config.clone(),
            command_config: self.command_config.clone(),
            cluster_name: cluster_name.cloned(),
            broker_addresses: self.broker_addresses.clone(),
            properties: self.properties.clone(),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct LookupArgs {
    #[command(flatten)]
    pub(crate) cluster_args: ClusterArgs,
    /// Ask a running `unstuck serve` instead of the brokers; it also knows since when, and which groups it has seen
    #[arg(short, long, value_name = "URL", conflicts_with_all = ["bootstrap_servers", "config", "command_config", "broker_addresses", "properties"])]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// Which cluster, where the server or the file knows several
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// Print what the API answers, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// How long to look before answering with what is known by then, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) log: LogArgs,
    /// Look a transactional id up instead of groups: whether its transaction coordinator serves; repeatable
    #[arg(long = "transactional-id", value_name = "ID", conflicts_with = "groups")]
    pub(crate) transactional_ids: Vec<String>,
    /// Also ask coordinators for members, offsets and lag (for the first 20 groups), or for the transaction itself
    #[arg(long, conflicts_with = "server")]
    pub(crate) detail: bool,
    /// Group ids, exactly as configured in group.id; `-` reads one per line from standard input
    #[arg(required_unless_present = "transactional_ids", value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SnapshotArgs {
    #[command(flatten)]
    pub(crate) cluster_args: ClusterArgs,
    /// Which cluster, where the file knows several; else what to call it [default: kafka]
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// Where to write; `-` is standard output [default: unstuck-CLUSTER-YYYYMMDD-HHMMSS.json.gz, in UTC]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<std::path::PathBuf>,
    /// Overwrite a file that is there already
    #[arg(long)]
    pub(crate) force: bool,
    /// Give groups, clients and hosts made-up names; those of groups live on the same partitions
    #[arg(long)]
    pub(crate) pseudonyms: bool,
    /// Go on, and add what is seen every so many seconds to the same file
    #[arg(long, value_name = "SECONDS", value_parser = every)]
    pub(crate) every: Option<Duration>,
    /// With --every: for how many minutes; without it until Ctrl-C
    #[arg(long = "for", value_name = "MINUTES", requires = "every", value_parser = minutes)]
    pub(crate) minutes: Option<Duration>,
    /// How long the first look may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// What to reach: `raise` the number of copies, the same with leaders spread, `evacuate` a broker, or `spread`
    #[arg(value_name = "PLAN", value_parser = clap::builder::PossibleValuesParser::new(unstuck_diagnosis::plan::Wish::SLUGS))]
    pub(crate) plan: String,
    /// The broker to evacuate
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(i32).range(0..))]
    pub(crate) broker: Option<i32>,
    /// Write the files into this folder instead of printing them; files that are there already are not overwritten
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<std::path::PathBuf>,
    #[command(flatten)]
    pub(crate) cluster_args: ClusterArgs,
    /// Ask a running `unstuck serve` instead of the brokers
    #[arg(short, long, value_name = "URL", conflicts_with_all = ["bootstrap_servers", "config", "command_config", "broker_addresses", "properties"])]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// Which cluster, where the server or the file knows several
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// Print the plan as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// How long to look before planning with what is known by then, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) cluster_args: ClusterArgs,
    /// What to call the cluster in pages and addresses [default: kafka]; with --config: serve only this one
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster_name: Option<String>,
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(short, long, value_name = "IP:PORT")]
    pub(crate) listen: Option<String>,
    /// Where to keep what was seen: a file, postgres://…, or none [default: unstuck/unstuck.db in the state folder of the user]
    #[arg(long, value_name = "PLACE")]
    pub(crate) store: Option<String>,
    /// Show recordings, snapshots or exported incidents instead of a cluster; no cluster is looked at
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["bootstrap_servers", "config", "command_config", "broker_addresses", "properties", "cluster_name", "store"])]
    pub(crate) replay: Vec<std::path::PathBuf>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// How many partitions __consumer_offsets has
    #[arg(short, long, default_value_t = 50, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) partitions: i32,
    /// Print a JSON list
    #[arg(long)]
    pub(crate) json: bool,
    /// Group ids; `-` reads one per line from standard input
    #[arg(required = true, value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The finding's name, as reports have it; without one, all are listed
    #[arg(value_name = "FINDING")]
    pub(crate) finding: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// What to log to standard error: error, warn, info, debug, trace, or per module as in info,unstuck_kafka=debug
    /// [default: info for serve, else error]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
}

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is needed, such as 5 or 0.5".to_owned())?;
    if (0.05..=600.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("between 0.05 and 600 seconds are possible".to_owned())
    }
}

/// How often to look again: a tenth of a second to a day.
fn every(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is needed, such as 10".to_owned())?;
    if (0.1..=86_400.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("between 0.1 and 86400 seconds are possible".to_owned())
    }
}

/// How long to go on: up to a week.
fn minutes(text: &str) -> Result<Duration, String> {
    let minutes: f64 = text.parse().map_err(|_| "a number of minutes is needed, such as 30 or 0.5".to_owned())?;
    if (0.01..=10_080.0).contains(&minutes) {
        Ok(Duration::from_secs_f64(minutes * 60.0))
    } else {
        Err("between 0.01 and 10080 minutes are possible".to_owned())
    }
}

/// Runs the program on these arguments (the first one is its own name).
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe is no reason to panic.
            let _ = error.print();
            return if error.exit_code() == 0 { ExitCode::SUCCESS } else { ExitCode::from(EXIT_USAGE) };
        }
    };
    let environment = Environment::of_process();
    let outcome = match cli.command {
        Command::Place(arguments) => place::run(&arguments),
        Command::Config(arguments) => config_check::run(&arguments, &environment),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Token(arguments) => token::run(&arguments),
        Command::Lookup(arguments) => block_on(lookup::run(arguments, environment)),
        Command::Doctor(arguments) => block_on(doctor::run(arguments, environment)),
        Command::Plan(arguments) => block_on(plan::run(arguments, environment)),
        Command::Serve(arguments) => block_on(serve(arguments, environment)),
        Command::Snapshot(arguments) => block_on(kept::snapshot(arguments, environment)),
        Command::Incident(IncidentArgs { command }) => block_on(incident_command::run(command, environment)),
        Command::Diagnose(arguments) => crate::drill::diagnose::run(&arguments, &environment),
        Command::Drill(arguments) => drill::run(arguments, &environment),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("error: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}

/// Why a command ended without doing what it is for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) code: u8,
    /// What failed, what it means, what to do: a line each.
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: EXIT_USAGE, message: message.into() }
    }
}

impl From<config::ConfigError> for Failure {
    fn from(error: config::ConfigError) -> Self {
        Self::usage(error.to_string())
    }
}

/// Runs a command to its end, on threads of its own.
pub(crate) fn block_on<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    // reqwest comes without a TLS provider of its own. An error says that one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| Failure {
        code: EXIT_SOFTWARE,
        message: format!("the program cannot start its threads: {error}"),
    })?;
    let outcome = runtime.block_on(command);
    // Threads that still talk to a silent broker must not delay the end.
    runtime.shutdown_timeout(Duration::from_millis(100));
    outcome
}

async fn serve(arguments: ServeArgs, environment: Environment) -> Result<u8, Failure> {
    logs::begin(arguments.log.log_level.as_deref(), "info", &environment)?;
    if !arguments.replay.is_empty() {
        return replay::run(&arguments.replay, arguments.listen.as_deref(), &arguments.access, &environment).await;
    }
    let options = arguments.cluster_args.options(arguments.cluster_name.as_ref());
    let (listen, store) = (arguments.listen.as_deref(), arguments.store.as_deref());
    let config = config::for_serve(&options, listen, store, &arguments.access.options(), &environment)?;
    let door = Door::new(&config.access)?;
    let listener =
        tokio::net::TcpListener::bind(config.listen).await.map_err(|error| cannot_listen(config.listen, &error))?;
    let address = listener.local_addr().map_err(|error| cannot_listen(config.listen, &error))?;
    let shutdown = CancellationToken::new();
    end_on_signal(&shutdown)?;
    let (listen, store, access) = (arguments.listen.clone(), arguments.store.clone(), arguments.access.options());
    let again = reload::on_signal(shutdown.clone(), move || {
        config::for_serve(&options, listen.as_deref(), store.as_deref(), &access, &environment)
    })?;
    config_check::log(&config);
    let names: Vec<&str> = config.clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    tracing::info!(clusters = names.join(","), "looking");
    if std::io::stderr().is_terminal() {
        eprintln!("\n  Unstuck is at {}://{address}   (Ctrl-C ends it)\n", door.scheme());
    } else {
        tracing::info!(url = format!("{}://{address}", door.scheme()), "listening");
    }
    door.warn(address);
    serving::serve_changing(config, door, listener, shutdown, Some(again)).await.map_err(|error| match &error {
        serving::ServeError::Io(_) => Failure { code: EXIT_SOFTWARE, message: error.to_string() },
        serving::ServeError::Store(_) => Failure { code: EXIT_UNAVAILABLE, message: error.to_string() },
    })?;
    tracing::info!("ended");
    Ok(0)
}

/// Cancels the token at SIGTERM or SIGINT; a second signal ends the process at once, as if it were not handled.
pub(crate) fn end_on_signal(shutdown: &CancellationToken) -> Result<(), Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed =
        |error: std::io::Error| Failure { code: EXIT_SOFTWARE, message: format!("signals cannot be handled: {error}") };
    let (mut term, mut interrupt) =
        (signal(SignalKind::terminate()).map_err(failed)?, signal(SignalKind::interrupt()).map_err(failed)?);
    let shutdown = shutdown.clone();
    tokio::spawn(async move {
        for _ in 0..2 {
            tokio::select! {
                _ = term.recv() => {}
                _ = interrupt.recv() => {}
            }
            if shutdown.is_cancelled() {
                std::process::exit(i32::from(EXIT_SOFTWARE));
            }
            tracing::info!("ending");
            shutdown.cancel();
        }
    });
    Ok(())
}

impl PlanArgs {
    pub(crate) fn options(&self) -> ClusterOptions {
        self.cluster_args.options(self.cluster.as_ref())
    }
}

impl SnapshotArgs {
    pub(crate) fn options(&self) -> ClusterOptions {
        self.cluster_args.options(self.cluster.as_ref())
    }
}

impl LookupArgs {
    pub(crate) fn options(&self) -> ClusterOptions {
        self.cluster_args.options(self.cluster.as_ref())
    }
}

#[cfg(test)]
mod tests;
