//! Reading scenario files, with errors that say where, what is wrong, and what is allowed.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use super::check;
use super::model::Scenario;
use super::places::{Places, join};
use super::problem::{Problem, ScenarioErrors};
use super::wording::in_words;

/// So many unknown keys and the like are told of at once; more are the same mistake over and over.
const MOST_PROBLEMS: usize = 20;

/// How serde begins to say that a key is missing.
const MISSING: &str = "missing field ";

/// Reads a scenario; `name` is what errors call the file.
///
/// # Errors
///
/// All that can be found at once: what is no TOML; else each key, type or word that no scenario has; else each value
/// that does not fit the others.
pub fn read(text: &str, name: &str) -> Result<Scenario, ScenarioErrors> {
    let fail = |mut problems: Vec<Problem>| {
        problems.sort();
        problems.dedup();
        ScenarioErrors { name: name.to_owned(), problems }
    };
    let (table, errors) = DeTable::parse_recoverable(text);
    let places = Places::of(text, table.get_ref());
    if !errors.is_empty() {
        return Err(fail(errors.iter().map(|error| of_text(error, text, &places)).collect()));
    }
    let scenario = deserialize(table, text, &places).map_err(fail)?;
    let problems = check::problems(&scenario);
    if problems.is_empty() {
        return Ok(scenario);
    }
    let at = |(path, wrong): (String, String)| Problem {
        line: Some(places.line_of(text, &path)),
        column: None,
        path,
        wrong,
    };
    Err(fail(problems.into_iter().map(at).collect()))
}

/// serde stops at the first error. So what it complains of is taken out, and it is asked again.
fn deserialize(mut table: Spanned<DeTable<'_>>, text: &str, places: &Places) -> Result<Scenario, Vec<Problem>> {
    let mut problems: Vec<Problem> = Vec::new();
    let mut taken: Vec<String> = Vec::new();
    loop {
        let error = match Scenario::deserialize(toml::Deserializer::from(table.clone())) {
            Ok(scenario) if problems.is_empty() => return Ok(scenario),
            Ok(_) => return Err(problems),
            Err(error) => error,
        };
        let problem = of_value(&error, &table.span(), text, places);
        let path = problem.path.clone();
        // What is missing because it was taken out has been told of already.
        let follows = match error.message().strip_prefix(MISSING) {
            Some(name) => taken.contains(&join(&path, name.trim_matches('`'))),
            None => error.message().ends_with("found 0 elements") && taken.iter().any(|taken| taken.starts_with(&path)),
        };
        if !follows {
            problems.push(problem);
        }
        if problems.len() >= MOST_PROBLEMS || !places.take_out(table.get_mut(), &path) {
            return Err(problems);
        }
        taken.push(path);
    }
}

/// Reads the scenario in a file.
///
/// # Errors
///
/// As [`read`]; and a file that cannot be read.
pub fn read_file(path: &Path) -> Result<Scenario, ScenarioErrors> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => read(&text, &name),
        Err(error) => {
            let wrong = format!("cannot be read: {error}");
            Err(ScenarioErrors {
                name,
                problems: vec![Problem { line: None, column: None, path: String::new(), wrong }],
            })
        }
    }
}

/// A text that is no TOML.
fn of_text(error: &toml::de::Error, text: &str, places: &Places) -> Problem {
    let position = error.span().map(|span| places.position(text, span.start));
    Problem {
        line: position.map(|(line, _)| line),
        column: position.map(|(_, column)| column),
        path: String::new(),
        wrong: format!("this is no TOML: {}", error.message()),
    }
}

/// A value that no scenario has.
///
/// Where a key is missing, serde points at the table that lacks it: at `all` for the top of the file.
fn of_value(error: &toml::de::Error, all: &Range<usize>, text: &str, places: &Places) -> Problem {
    let span = error.span();
    let missing = error.message().starts_with(MISSING);
    let path_at = |span: &Range<usize>| match missing {
        true if span == all => "",
        true => places.table_at(span),
        false => places.path_at(span),
    };
    let position = span.as_ref().map(|span| places.position(text, span.start));
    Problem {
        line: position.map(|(line, _)| line),
        column: position.map(|(_, column)| column),
        path: span.as_ref().map(path_at).unwrap_or_default().to_owned(),
        wrong: in_words(error.message()),
    }
}

#[cfg(test)]
mod tests;
