//! `unstuck doctor`: what the account may do on a cluster, by the answers that it gets. Nothing is created.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use clap::Args;
use futures::future::join_all;
use serde::Serialize;
use unstuck_diagnosis::permissions::{FEATURES, Inside, Permission, Permit, permissions};
use unstuck_diagnosis::{GroupId, Published};
use unstuck_kafka::{Collector, DetailError};

use crate::cli::{ClusterArgs, Failure, LogArgs, seconds};
use crate::config::{self, ClusterOptions, Environment};
use crate::lookup::{end_of_output, json};
use crate::one_look::{Look, only};
use crate::{config_check, logs};

/// A right is missing without which there is no verdict on groups.
const EXIT_MISSING: u8 = 1;
/// How many of the listed groups are looked at from inside.
const LOOKED_INTO: usize = 5;
/// How long a coordinator is waited for.
const DEADLINE: Duration = Duration::from_secs(3);
/// GROUP_AUTHORIZATION_FAILED of Kafka's `Errors.java`.
const GROUP_DENIED: i16 = 30;

/// What `unstuck doctor --help` ends with.
pub(crate) const HELP: &str = "\
Examples:
  unstuck doctor -b localhost:9092
  unstuck doctor --config unstuck.toml --cluster production
  unstuck doctor -b localhost:9092 --json | jq -r '.permissions[] | select(.permit == \"missing\") | .command'

What is printed as permitted was seen to be answered. docs/permissions.md has the smallest set of rights.

Exit code:
  0  verdicts on groups have the rights that they need
  1  they do not, or nobody can tell
  3  it was not possible to look
  64 bad usage or configuration";

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) cluster_args: ClusterArgs,
    /// Which cluster, where the file knows several
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// Print the table as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// How long to look before answering with what is known by then, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

impl DoctorArgs {
    pub(crate) fn options(&self) -> ClusterOptions {
        self.cluster_args.options(self.cluster.as_ref())
    }
}

/// What is printed with `--json`.
#[derive(Serialize)]
struct Answer<'a> {
    cluster: &'a str,
    permissions: &'a [Permission],
}

pub(crate) async fn run(arguments: DoctorArgs, environment: Environment) -> Result<u8, Failure> {
    logs::begin(arguments.log.log_level.as_deref(), "error", &environment)?;
    let clusters = config_check::warned(config::clusters(&arguments.options(), &environment)?);
    let cluster = only(clusters, "Rights are those of one account on one cluster.")?;
    let look = Look::at(cluster, arguments.timeout).await?;
    let inside = look_inside(&look.collector, &look.published).await;
    let published = look.end().await;
    let found = permissions(&published.snapshot, &published.memory, &inside);
    let cluster = &published.snapshot.cluster;
    let output =
        if arguments.json { json(&Answer { cluster, permissions: &found })? + "\n" } else { text(cluster, &found) };
    end_of_output(std::io::stdout().lock().write_all(output.as_bytes()))?;
    Ok(if verdicts_lack(&found) { EXIT_MISSING } else { 0 })
}

/// Asks the coordinators of some listed groups about them.
async fn look_inside(collector: &Collector, published: &Published) -> Inside {
    let listed = published.snapshot.brokers.iter().flat_map(|(id, sight)| {
        let groups = sight.groups.known().into_iter().flat_map(|listing| listing.groups.keys());
        groups.map(|group| (*id, group))
    });
    let each = listed.take(LOOKED_INTO).map(async |(broker, group): (i32, &GroupId)| {
        (group.clone(), collector.group_detail(group, broker, DEADLINE).await)
    });
    let mut inside = Inside::default();
    for (group, told) in join_all(each).await {
        match told {
            Ok(_) => inside.described.push(group),
            Err(DetailError::Code { code: GROUP_DENIED, .. }) => inside.denied.push(group),
            // It moved, or its coordinator did not answer: that says nothing about rights.
            Err(_) => {}
        }
    }
    inside
}

/// Whether a right is missing, or not proven, that a verdict needs.
fn verdicts_lack(found: &[Permission]) -> bool {
    FEATURES.iter().zip(found).any(|(feature, one)| feature.smallest && one.permit != Permit::Permitted)
}

fn text(cluster: &str, found: &[Permission]) -> String {
    let mut out =
        format!("What this account may do on cluster {cluster}, by the answers that it got. Nothing was created.\n");
    for one in found {
        let word = match one.permit {
            Permit::Permitted => "permitted",
            Permit::Missing => "missing",
            Permit::NotTold => "not told",
        };
        let _ = write!(out, "\n{word:<9}  {}\n           {}. {}\n", one.looks_at, one.right, one.sentence);
        if one.permit == Permit::Permitted {
            continue;
        }
        let _ = writeln!(out, "           Without it: {}", one.without);
        if let Some(command) = &one.command {
            let _ = writeln!(out, "           {command}");
        }
    }
    out.push('\n');
    out.push_str(if verdicts_lack(found) {
        "Verdicts on groups need the first two. User:UNSTUCK stands for the principal of this account.\n"
    } else {
        "Verdicts on groups have what they need. docs/permissions.md has what each further right adds.\n"
    });
    out
}

#[cfg(test)]
mod tests;
