//! Where is kept what outlives a restart, and for how long.

use std::path::{Path, PathBuf};
use std::time::Duration;

use unstuck_diagnosis::history::SETTLING_MS;
use unstuck_store::{Retention, Where};

use super::{ConfigError, Environment};

/// How long is kept what is over: a year, and some weeks in which somebody may still ask.
const KEEP: Duration = Duration::from_secs(400 * 86_400);
/// How long an incident has to be calm until it is over.
const SETTLING: Duration = Duration::from_millis(SETTLING_MS.unsigned_abs());
/// What is said where nothing shall be kept.
const NONE: &str = "none";

/// Where is kept what outlives a restart, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// Where.
    pub place: Where,
    /// For how long.
    pub retention: Retention,
    /// How long an incident has to be calm until it is over.
    pub settling: Duration,
}

impl StoreConfig {
    /// In this SQLite file, as long as by default.
    #[must_use]
    pub fn file(path: PathBuf) -> Self {
        Self { place: Where::Sqlite(path), retention: Retention { groups: KEEP, history: KEEP }, settling: SETTLING }
    }
}

/// `[store]` of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InFile {
    /// `place`, and where it stands.
    pub(super) place: Option<(String, String)>,
    /// `keep_groups_days`.
    pub(super) groups: Option<Duration>,
    /// `keep_history_days`.
    pub(super) history: Option<Duration>,
    /// `incident_settles_after_s`.
    pub(super) settling: Option<Duration>,
}

/// Where the place of the store was said.
pub(super) fn place(option: Option<&str>, file: &InFile, environment: &Environment) -> String {
    match (option, environment.get("UNSTUCK_STORE"), &file.place) {
        (Some(_), _, _) => "--store".to_owned(),
        (None, Some(_), _) => "UNSTUCK_STORE".to_owned(),
        (None, None, Some((_, place))) => place.clone(),
        (None, None, None) => "the default".to_owned(),
    }
}

/// What the command line, the environment, or the file say, in this order; else a file in the user's state folder.
pub(super) fn choose(
    option: Option<&str>,
    file: &InFile,
    environment: &Environment,
) -> Result<Option<StoreConfig>, ConfigError> {
    let variable = environment.get("UNSTUCK_STORE");
    let told = match (option, &variable, &file.place) {
        (Some(text), _, _) => Some((text, "--store")),
        (None, Some(text), _) => Some((text.as_str(), "UNSTUCK_STORE")),
        (None, None, Some((text, place))) => Some((text.as_str(), place.as_str())),
        (None, None, None) => None,
    };
    let place = match told {
        Some((text, place)) => parse(text, place)?,
        None => Some(Where::Sqlite(by_default(environment))),
    };
    let retention = Retention { groups: file.groups.unwrap_or(KEEP), history: file.history.unwrap_or(KEEP) };
    let settling = file.settling.unwrap_or(SETTLING);
    Ok(place.map(|place| StoreConfig { place, retention, settling }))
}

fn parse(text: &str, place: &str) -> Result<Option<Where>, ConfigError> {
    if text == NONE {
        return Ok(None);
    }
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return Ok(Some(Where::Postgres(text.to_owned())));
    }
    // The text is not repeated: it may be an address with a password, written wrong.
    if text.is_empty() || text.contains("://") {
        return Err(ConfigError::new(
            format!("{place} is no place to keep things"),
            "What was seen is kept in a SQLite file, or in PostgreSQL.",
            "Give the path of a file, a URL that begins with postgres://, or none to keep nothing.",
        ));
    }
    Ok(Some(Where::Sqlite(PathBuf::from(text))))
}

/// Where programs of a user keep their state (XDG base directories), or the folder that Unstuck was started in.
fn by_default(environment: &Environment) -> PathBuf {
    let state = environment.get("XDG_STATE_HOME").filter(|path| Path::new(path).is_absolute()).map(PathBuf::from);
    let state = state.or_else(|| Some(Path::new(&environment.get("HOME")?).join(".local/state")));
    state.map_or_else(|| PathBuf::from("unstuck.db"), |state| state.join("unstuck/unstuck.db"))
}
