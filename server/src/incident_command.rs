//! `unstuck incident`: incidents that were kept, in the terminal. From the store itself, or from a running server.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use reqwest::StatusCode;
use serde::de::DeserializeOwned;
use unstuck_diagnosis::history::IncidentId;
use unstuck_diagnosis::visible;
use unstuck_store::{IncidentFile, Kind, Store, StoreError, Where};

use crate::access::arguments::LoginArgs;
use crate::api::IncidentList;
use crate::cli::{EXIT_SOFTWARE, EXIT_UNAVAILABLE, Failure, LogArgs};
use crate::config::{self, Environment};
use crate::incidents::PAGE;
use crate::incidents::archive::{self, ArchiveError};
use crate::kept::{self, Piece};
use crate::lookup::{base_url, end_of_output, json, words};
use crate::problem::Problem;
use crate::{assets, logs, text};

mod told;

/// The exit code if there is no such incident, or already one.
const EXIT_NOT_SO: u8 = 1;
/// How long a server may take to answer.
const ANSWER: Duration = Duration::from_secs(30);

pub(crate) const HELP: &str = "\
Examples:
  unstuck incident list
  unstuck incident show 3f2a…
  unstuck incident export 3f2a… --pseudonyms --out for-the-ticket.json
  unstuck incident export 3f2a… --server http://unstuck.example:8080
  unstuck incident import incident.json
  unstuck diagnose incident.json                  what would be said now?
  unstuck drill --from-incident incident.json     the same outage, for training

Exit code:
  0  done
  1  there is no such incident, or already one with this id
  64 bad usage, or a file that cannot be used
  69 the store or the server cannot be reached";

#[derive(Debug, Args)]
pub(crate) struct IncidentArgs {
    #[command(subcommand)]
    pub(crate) command: IncidentCommand,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum IncidentCommand {
    /// List them: the open ones, then the newest
    List {
        /// Those of one cluster
        #[arg(long, value_name = "NAME")]
        cluster: Option<String>,
        /// Print what the API answers, as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        from: From,
    },
    /// Print what is kept of one
    Show {
        /// Its id: the last part of its link
        #[arg(value_name = "ID")]
        id: String,
        /// Print what the API answers, as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        from: From,
    },
    /// Take one out as a file
    Export {
        /// Its id: the last part of its link
        #[arg(value_name = "ID")]
        id: String,
        /// Where to write; `-` is standard output [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Overwrite a file that is there already
        #[arg(long)]
        force: bool,
        /// Give groups, clients and hosts made-up names; those of groups live on the same partitions
        #[arg(long)]
        pseudonyms: bool,
        /// `json` can be taken in again; `md` (a draft for the post-mortem) and `html` are for people
        #[arg(long, value_name = "FORMAT", default_value = "json", value_parser = ["json", "md", "html"])]
        format: String,
        #[command(flatten)]
        from: From,
    },
    /// Take one in that another Unstuck exported, and print the path of its page
    Import {
        /// The exported file (JSON)
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        log: LogArgs,
    },
}

/// Which store.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Where it is kept: a file, or postgres://… [default: as for serve]
    #[arg(long, value_name = "PLACE")]
    pub(crate) store: Option<String>,
    /// The TOML file of `unstuck serve`, whose [store] is meant
    #[arg(short, long, value_name = "FILE", conflicts_with = "store")]
    pub(crate) config: Option<PathBuf>,
}

/// Where incidents come from.
#[derive(Debug, Args)]
pub(crate) struct From {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Ask a running `unstuck serve` instead
    #[arg(short, long, value_name = "URL", conflicts_with_all = ["store", "config"])]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

pub(crate) async fn run(command: IncidentCommand, environment: Environment) -> Result<u8, Failure> {
    let log = match &command {
        IncidentCommand::List { from, .. }
        | IncidentCommand::Show { from, .. }
        | IncidentCommand::Export { from, .. } => &from.log,
        IncidentCommand::Import { log, .. } => log,
    };
    logs::begin(log.log_level.as_deref(), "error", &environment)?;
    let output = match command {
        IncidentCommand::List { cluster, json: as_json, from } => {
            let list = list(&from, cluster.as_deref(), &environment).await?;
            if as_json { json(&list)? + "\n" } else { told::list(&list) }
        }
        IncidentCommand::Show { id, json: as_json, from } => {
            let file = show(&from, &id, &environment).await?;
            if as_json { json(&file)? + "\n" } else { told::incident(&file) }
        }
        IncidentCommand::Export { id, out, force, pseudonyms, format, from } => {
            let bytes = export(&from, &id, pseudonyms, &format, &environment).await?;
            let path = out.unwrap_or_else(|| PathBuf::from("-"));
            return write(&path, force, &bytes);
        }
        IncidentCommand::Import { file, store, .. } => import(&file, &store, &environment).await? + "\n",
    };
    end_of_output(std::io::stdout().lock().write_all(output.as_bytes()))?;
    Ok(0)
}

/// Writes a text file, or to standard output.
pub(crate) fn write(path: &Path, force: bool, bytes: &[u8]) -> Result<u8, Failure> {
    if path == Path::new("-") {
        end_of_output(std::io::stdout().lock().write_all(bytes))?;
        return Ok(0);
    }
    let mut file = kept::open(path, force)?;
    end_of_output(file.write_all(bytes).and_then(|()| file.flush()))?;
    end_of_output(writeln!(std::io::stdout(), "{}", path.display()))?;
    Ok(0)
}

/// Opens the store that is meant. `new` may be made; what is only read must be there.
pub(crate) async fn open(
    arguments: &StoreArgs,
    new: bool,
    environment: &Environment,
) -> Result<Arc<dyn Store>, Failure> {
    let config = config::store(arguments.store.as_deref(), arguments.config.as_deref(), environment)?;
    let Some(config) = config else {
        return Err(Failure::usage(
            "nothing is kept: the store is `none`\n  Incidents are kept in a SQLite file, or in PostgreSQL.\n  \
             Name the place with --store",
        ));
    };
    if let Where::Sqlite(path) = &config.place
        && !new
        && !path.exists()
    {
        return Err(Failure::usage(format!(
            "{} is not there\n  Nothing was kept at this place yet.\n  Name the place that `unstuck serve` keeps in with \
             --store, or ask it with --server",
            path.display()
        )));
    }
    unstuck_store::open(&config.place).await.map_err(|error| of_store(&error))
}

fn of_store(error: &StoreError) -> Failure {
    Failure { code: EXIT_UNAVAILABLE, message: error.to_string() }
}

fn unknown(id: &str) -> Failure {
    Failure {
        code: EXIT_NOT_SO,
        message: format!(
            "there is no incident {}\n  It was never kept here, or long enough.\n  `unstuck incident list` names those \
             that are",
            visible(id)
        ),
    }
}

async fn list(from: &From, cluster: Option<&str>, environment: &Environment) -> Result<IncidentList, Failure> {
    if let Some(server) = &from.server {
        let query: Vec<(&str, &str)> = cluster.iter().map(|cluster| ("cluster", *cluster)).collect();
        let asked = Asked::of(server, &from.login, environment)?;
        return parsed(server, &asked.fetch("api/v1/incidents", &query).await?.0);
    }
    let store = open(&from.store, false, environment).await?;
    let incidents = store.incidents(cluster, None, PAGE).await.map_err(|error| of_store(&error))?;
    Ok(IncidentList::of(incidents))
}

async fn show(from: &From, id: &str, environment: &Environment) -> Result<IncidentFile, Failure> {
    if let Some(server) = &from.server {
        let asked = Asked::of(server, &from.login, environment)?;
        return parsed(server, &asked.found(&format!("api/v1/incidents/{}", in_path(id)?), &[], id).await?);
    }
    let store = open(&from.store, false, environment).await?;
    let file = store.incident(&IncidentId(id.to_owned())).await.map_err(|error| of_store(&error))?;
    file.ok_or_else(|| unknown(id))
}

async fn export(
    from: &From,
    id: &str,
    pseudonyms: bool,
    format: &str,
    environment: &Environment,
) -> Result<Vec<u8>, Failure> {
    if let Some(server) = &from.server {
        let flag = if pseudonyms { "true" } else { "false" };
        let path = format!("i/{}/export.{format}", in_path(id)?);
        return Asked::of(server, &from.login, environment)?.found(&path, &[("pseudonyms", flag)], id).await;
    }
    let archive = exported(&from.store, id, pseudonyms, environment).await?;
    Ok(match format {
        "md" => unstuck_app::incident_markdown(&archive.view()).into_bytes(),
        "html" => unstuck_app::incident_html(&archive.view(), &assets::stylesheet()).into_bytes(),
        _ => (json(&archive)? + "\n").into_bytes(),
    })
}

/// An incident out of a store.
pub(crate) async fn exported(
    arguments: &StoreArgs,
    id: &str,
    pseudonyms: bool,
    environment: &Environment,
) -> Result<archive::Archive, Failure> {
    let store = open(arguments, false, environment).await?;
    match archive::export(&*store, &IncidentId(id.to_owned()), pseudonyms).await {
        Ok(Some(archive)) => Ok(archive),
        Ok(None) => Err(unknown(id)),
        Err(error) => Err(of_archive(&error)),
    }
}

fn of_archive(error: &ArchiveError) -> Failure {
    match error {
        ArchiveError::Store(error) => of_store(error),
        other => Failure { code: EXIT_SOFTWARE, message: format!("what was kept cannot be used: {other}") },
    }
}

async fn import(file: &Path, store: &StoreArgs, environment: &Environment) -> Result<String, Failure> {
    let kept = kept::read_file(file)?;
    let [Piece::Incident(archive)] = kept.pieces.as_slice() else {
        return Err(Failure::usage(format!(
            "{}: it is a snapshot or a recording, and no incident\n  Only an incident has a link, findings and notes.\n  \
             Show it with: unstuck serve --replay FILE",
            file.display()
        )));
    };
    let id = &archive.incident.id.0;
    let fits = (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !fits {
        return Err(Failure::usage(format!(
            "{}: its id \"{}\" cannot be part of a link\n  Unstuck makes ids of letters and digits.\n  Export the incident \
             again from where it comes from",
            file.display(),
            visible(id)
        )));
    }
    let store = open(store, true, environment).await?;
    match archive::import(&*store, archive).await {
        Ok(()) => Ok(format!("/i/{id}")),
        Err(ArchiveError::Store(error)) if error.kind() == Kind::Exists => Err(Failure {
            code: EXIT_NOT_SO,
            message: format!(
                "incident {id} is kept there already\n  What is kept, with its notes, is not overwritten.\n  Open it at \
                 /i/{id}"
            ),
        }),
        Err(error) => Err(of_archive(&error)),
    }
}

/// An id as part of a path.
fn in_path(id: &str) -> Result<&str, Failure> {
    let fits = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if fits { Ok(id) } else { Err(unknown(id)) }
}

fn parsed<T: DeserializeOwned>(server: &str, body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|_| no_unstuck(server, "another kind of answer"))
}

fn no_unstuck(server: &str, got: &str) -> Failure {
    Failure {
        code: EXIT_UNAVAILABLE,
        message: format!(
            "{server} does not answer as this Unstuck does (got {got})\n  It may be another version, or something else.\n  \
             Check the address; it is the one that opens Unstuck's pages"
        ),
    }
}

/// A running server that is asked.
struct Asked<'a> {
    /// As typed, for messages.
    named: &'a str,
    client: reqwest::Client,
}

impl<'a> Asked<'a> {
    fn of(named: &'a str, login: &LoginArgs, environment: &Environment) -> Result<Self, Failure> {
        let client = login.log_in(reqwest::Client::builder().timeout(ANSWER), environment)?.build();
        let client = client.map_err(|error| cannot_ask(named, &words(&error)))?;
        Ok(Self { named, client })
    }

    /// What it answers about an incident that has to be there.
    async fn found(&self, path: &str, query: &[(&str, &str)], id: &str) -> Result<Vec<u8>, Failure> {
        match self.fetch(path, query).await? {
            (body, StatusCode::OK) => Ok(body),
            _ => Err(unknown(id)),
        }
    }

    /// What it answers; also that there is nothing of this name.
    async fn fetch(&self, path: &str, query: &[(&str, &str)]) -> Result<(Vec<u8>, StatusCode), Failure> {
        let cannot = |error: reqwest::Error| cannot_ask(self.named, &words(&error));
        let base = base_url("--server", self.named, "unstuck serve")?;
        let mut url = base.join(path).map_err(|error| cannot_ask(self.named, &error.to_string()))?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let response = self.client.get(url).send().await.map_err(cannot)?;
        let status = response.status();
        let body = response.bytes().await.map_err(cannot)?.to_vec();
        if status == StatusCode::OK {
            return Ok((body, status));
        }
        match serde_json::from_slice::<Problem>(&body) {
            Ok(_) if status == StatusCode::NOT_FOUND => Ok((body, status)),
            Ok(problem) => Err(Failure {
                code: EXIT_UNAVAILABLE,
                message: format!("{}: {}\n  {}", self.named, visible(&problem.detail), visible(&problem.advice)),
            }),
            Err(_) => Err(no_unstuck(self.named, &format!("status {}", status.as_u16()))),
        }
    }
}

fn cannot_ask(server: &str, why: &str) -> Failure {
    Failure {
        code: EXIT_UNAVAILABLE,
        message: format!(
            "{server} cannot be asked: {why}\n  So nothing is known of its incidents.\n  Check the address, or read its \
             store with --store"
        ),
    }
}

/// A time as the terminal shows it.
fn at(time: jiff::Timestamp) -> String {
    text::time(time)
}

#[cfg(test)]
mod tests;
