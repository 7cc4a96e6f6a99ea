//! `unstuck config check`: what the configuration says, where each value comes from, and whether the files that it names
//! can be used. Connects to nothing, and prints no secret.

mod files;
mod text;

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use serde::Serialize;
use unstuck_kafka::ClusterConfig;
use unstuck_store::Where;

use crate::access::Door;
use crate::access::arguments::AccessArgs;
use crate::cli::{ClusterArgs, EXIT_SOFTWARE, EXIT_USAGE, Failure};
use crate::config::{self, Clusters, Config, Environment, Origins, Setting};
use files::Certificate;

pub(crate) const HELP: &str = "\
Examples:
  unstuck config check --config unstuck.toml
  unstuck config check -b kafka:9093 --command-config client.properties
  unstuck config check --config unstuck.toml --json | jq '.clusters[].warnings'

Takes the options of `unstuck serve`, and its variables. Secrets are shown as ***. A running `unstuck serve` reads its
configuration again on SIGHUP.

Exit code:
  0  it can be used
  64 it cannot, or a file that it names cannot be read";

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print the effective configuration without secrets, and read the files that it names. Connects to nothing.
    #[command(after_help = HELP)]
    Check(CheckArgs),
}

#[derive(Debug, Args)]
struct CheckArgs {
    #[command(flatten)]
    cluster_args: ClusterArgs,
    /// What to call the cluster [default: kafka]; with --config: check only this one
    #[arg(long, value_name = "NAME")]
    cluster_name: Option<String>,
    /// Where `unstuck serve` would listen
    #[arg(short, long, value_name = "IP:PORT")]
    listen: Option<String>,
    /// Where `unstuck serve` would keep what was seen
    #[arg(long, value_name = "PLACE")]
    store: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct Checked {
    /// Whether it can be used.
    usable: bool,
    /// `listen`, `store`, and who may come in.
    server: Vec<Setting>,
    /// What of that cannot be used: three lines each.
    wrong: Vec<String>,
    /// The clusters by name.
    clusters: BTreeMap<String, CheckedCluster>,
}

/// What is printed about a cluster.
#[derive(Debug, Serialize)]
struct CheckedCluster {
    /// Kafka's name of the combination of TLS and login.
    security_protocol: &'static str,
    /// The mechanism of the login.
    #[serde(skip_serializing_if = "Option::is_none")]
    mechanism: Option<&'static str>,
    #[serde(flatten)]
    origins: Origins,
    /// The certificates in files and in the configuration.
    certificates: Vec<Certificate>,
    /// What cannot be used: three lines each.
    wrong: Vec<String>,
}

pub(crate) fn run(arguments: &ConfigArgs, environment: &Environment) -> Result<u8, Failure> {
    let ConfigCommand::Check(arguments) = &arguments.command;
    let options = arguments.cluster_args.options(arguments.cluster_name.as_ref());
    let (listen, store) = (arguments.listen.as_deref(), arguments.store.as_deref());
    let config = config::for_serve(&options, listen, store, &arguments.access.options(), environment)?;
    let checked = check(&config);
    let text = if arguments.json {
        serde_json::to_string_pretty(&checked).map_err(|error| Failure {
            code: EXIT_SOFTWARE,
            message: format!("it cannot be written as JSON: {error}"),
        })? + "\n"
    } else {
        text::text(&checked)
    };
    crate::lookup::end_of_output(std::io::Write::write_all(&mut std::io::stdout().lock(), text.as_bytes()))?;
    Ok(if checked.usable { 0 } else { EXIT_USAGE })
}

fn check(config: &Config) -> Checked {
    let store = match config.store.as_ref().map(|store| &store.place) {
        None => "none".to_owned(),
        Some(Where::Sqlite(path)) => path.display().to_string(),
        // It may have a password.
        Some(Where::Postgres(_)) => "a PostgreSQL database".to_owned(),
    };
    let server = [("listen", config.listen.to_string(), &config.places.listen), ("store", store, &config.places.store)];
    let server = server.map(|(name, value, place)| Setting { name: name.to_owned(), value, place: place.clone() });
    let server = server.into_iter().chain(config.places.access.iter().cloned()).collect();
    // Opened as the server opens it, but nobody comes through.
    let wrong: Vec<String> = Door::new(&config.access).err().map(|error| error.to_string()).into_iter().collect();
    let mut clusters = BTreeMap::new();
    for cluster in &config.clusters {
        let origins = config.origins.get(&cluster.name).cloned().unwrap_or_default();
        let security = &cluster.security;
        let mut checked = CheckedCluster {
            security_protocol: security.protocol(),
            mechanism: security.sasl.as_ref().map(unstuck_kafka::security::Sasl::mechanism),
            origins,
            certificates: Vec::new(),
            wrong: Vec::new(),
        };
        files::check(security, &mut checked);
        clusters.insert(cluster.name.clone(), checked);
    }
    let usable = wrong.is_empty() && clusters.values().all(|cluster| cluster.wrong.is_empty());
    Checked { usable, server, wrong, clusters }
}

/// The clusters of a command that ends soon, after saying on standard error what should be known of them.
pub(crate) fn warned(clusters: Clusters) -> Vec<ClusterConfig> {
    for (cluster, origins) in &clusters.origins {
        for warning in &origins.warnings {
            eprintln!("warning: {cluster}: {warning}");
        }
    }
    clusters.clusters
}

/// Logs what should be known of a configuration that is used from now on, and what of it has no effect.
pub(crate) fn log(config: &Config) {
    for (cluster, origins) in &config.origins {
        for warning in &origins.warnings {
            tracing::warn!(cluster, "{warning}");
        }
        if !origins.ignored.is_empty() {
            let names: Vec<&str> = origins.ignored.iter().map(|ignored| ignored.name.as_str()).collect();
            tracing::info!(
                cluster,
                settings = names.join(","),
                "these settings have no effect; `unstuck config check` says why"
            );
        }
    }
}

#[cfg(test)]
mod tests;
