//! The scenarios that are built in, each a file in `scenarios/`, and those in files of your own.

use std::path::Path;

use rust_embed::RustEmbed;

use super::model::Scenario;
use super::problem::{ScenarioErrors, did_you_mean};
use super::read::{read, read_file};

#[derive(RustEmbed)]
#[folder = "scenarios"]
struct Files;

/// A scenario with the name that it goes by.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The file's name without `.toml`.
    pub name: String,
    /// What it says.
    pub scenario: Scenario,
}

/// Why a scenario cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No scenario of this name is built in.
    #[error("there is no drill `{}`{nearest}{}", name.escape_debug(), how(nearest))]
    Unknown {
        /// What was asked for.
        name: String,
        /// `; did you mean …?`, or nothing.
        nearest: String,
    },
    /// Its file is wrong, or cannot be read.
    #[error(transparent)]
    Wrong(#[from] ScenarioErrors),
}

/// Where to look for the name that was meant, if none is near it.
fn how(nearest: &str) -> &'static str {
    if nearest.is_empty() {
        ": `unstuck drill` lists them; one of your own is given as a path, with a / in it or .toml at its end"
    } else {
        " `unstuck drill` lists them."
    }
}

/// The folder of public cases that teach nothing which a drill does not show better: they are played to measure, and by
/// their path, and not listed.
const CASES: &str = "cases/";

/// The names of all scenarios that are built in as drills, alphabetically.
#[must_use]
pub fn names() -> Vec<String> {
    all_names().into_iter().filter(|name| !name.starts_with(CASES)).collect()
}

/// The names of all files, drills or not.
fn all_names() -> Vec<String> {
    let mut names: Vec<String> =
        Files::iter().filter_map(|file| Some(file.strip_suffix(".toml")?.to_owned())).collect();
    names.sort();
    names
}

/// The text of a scenario that is built in.
#[must_use]
pub fn text(name: &str) -> Option<String> {
    let file = Files::get(&format!("{name}.toml"))?;
    String::from_utf8(file.data.into_owned()).ok()
}

/// All drills that are built in, by name; one that cannot be read with what is wrong with it (which tests exclude).
#[must_use]
pub fn shipped() -> Vec<(String, Result<Scenario, ScenarioErrors>)> {
    everything().into_iter().filter(|(name, _)| !name.starts_with(CASES)).collect()
}

/// All scenarios that are built in: drills, and public cases that are no drill (`cases/NAME`).
#[must_use]
pub fn everything() -> Vec<(String, Result<Scenario, ScenarioErrors>)> {
    let with_scenario = |name: String| {
        let scenario = read(&text(&name)?, &format!("{name}.toml"));
        Some((name, scenario))
    };
    all_names().into_iter().filter_map(with_scenario).collect()
}

/// The scenario of this name that is built in.
///
/// # Errors
///
/// There is none, or it is wrong.
pub fn find(name: &str) -> Result<Scenario, LoadError> {
    match text(name) {
        Some(text) => Ok(read(&text, &format!("{name}.toml"))?),
        None => {
            let nearest = did_you_mean(name, names().iter().map(String::as_str));
            Err(LoadError::Unknown { name: name.to_owned(), nearest })
        }
    }
}

/// A scenario by its name, or by the path of its file: whatever has a `/` in it or ends with `.toml` is a path.
///
/// # Errors
///
/// There is none, it cannot be read, or it is wrong.
pub fn load(name_or_path: &str) -> Result<Named, LoadError> {
    let path = Path::new(name_or_path);
    let is_file = path.extension().is_some_and(|extension| extension == "toml");
    if !is_file && !name_or_path.contains(['/', std::path::MAIN_SEPARATOR]) {
        return Ok(Named { name: name_or_path.to_owned(), scenario: find(name_or_path)? });
    }
    let name = path.file_stem().map_or_else(|| name_or_path.to_owned(), |stem| stem.to_string_lossy().into_owned());
    Ok(Named { name, scenario: read_file(path)? })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The first line of each file, by which editors complete and check keys (Taplo, Even Better TOML).
    const SCHEMA_LINE: &str = "../scenario.schema.json\n";

    #[test]
    fn each_shipped_scenario_reads() {
        let shipped = everything();
        assert!(shipped.iter().any(|(name, _)| name == "broker-lost"), "the one that `make run` shows");
        let wrong: Vec<String> =
            shipped.iter().filter_map(|(_, scenario)| Some(scenario.as_ref().err()?.to_string())).collect();
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    #[test]
    fn each_shipped_scenario_names_its_schema() {
        let line = |name: &str| format!("#:schema {}{SCHEMA_LINE}", if name.starts_with(CASES) { "../" } else { "" });
        let without: Vec<String> =
            all_names().into_iter().filter(|name| !text(name).expect("it is there").starts_with(&line(name))).collect();
        assert!(without.is_empty(), "must begin with `#:schema ` and the path of the schema: {without:?}");
    }

    /// Numbers of the public cases, and where there is a gap between them.
    #[test]
    fn each_public_case_has_one_scenario() {
        let mut cases: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, scenario) in everything() {
            let Some(truth) = scenario.expect("each reads").truth else { continue };
            cases.entry(truth.case).or_default().push(name);
        }
        let twice: Vec<_> = cases.iter().filter(|(_, names)| names.len() > 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
        assert_eq!(cases.len(), 64, "{:?}", cases.keys());
        let without: Vec<String> = everything()
            .into_iter()
            .filter(|(name, scenario)| {
                name.starts_with(CASES) && scenario.as_ref().is_ok_and(|scenario| scenario.truth.is_none())
            })
            .map(|(name, _)| name)
            .collect();
        assert!(without.is_empty(), "only what is measured is there: {without:?}");
    }

    #[test]
    fn a_name_is_found_or_a_near_one_is_suggested() {
        assert!(find("broker-lost").is_ok());
        let error = find("broker-lots").expect_err("no such drill").to_string();
        let near = "there is no drill `broker-lots`; did you mean `broker-lost`? `unstuck drill` lists them.";
        assert_eq!(error, near);
        let far =
            ": `unstuck drill` lists them; one of your own is given as a path, with a / in it or .toml at its end";
        for name in ["something else", "", "."] {
            let error = find(name).expect_err("no such drill").to_string();
            assert_eq!(error, format!("there is no drill `{name}`{far}"));
        }
        assert!(find("../scenarios/broker-lost").is_err());
        assert!(find("").is_err());
    }

    #[test]
    fn what_looks_like_a_path_is_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/broker-lost.toml");
        let loaded = load(path).expect("the file is there");
        assert_eq!(loaded, load("broker-lost").expect("built in"));
        assert_eq!(loaded.name, "broker-lost");
        let error = load("broker-lost.toml").expect_err("no such file here").to_string();
        assert!(error.starts_with("broker-lost.toml: cannot be read"), "{error}");
        assert!(load("./broker-lost").is_err());
    }
}
