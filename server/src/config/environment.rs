//! Environment variables, read through a value, so that tests need not change the process's own.

use std::collections::BTreeMap;

/// Names of variables that are not only ours.
const SHARED: [&str; 4] = ["HOME", "NO_COLOR", "TERM", "XDG_STATE_HOME"];

/// The variables that Unstuck reads: those whose names begin with `UNSTUCK_`, and a few that everybody knows.
#[derive(Clone, Debug, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The variables of this process. One that is not UTF-8 counts as not set.
    #[must_use]
    pub fn of_process() -> Self {
        let read = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            let ours = name.starts_with("UNSTUCK_") || SHARED.contains(&name.as_str());
            if ours { Some((name, value.into_string().ok()?)) } else { None }
        });
        Self(read.collect())
    }

    /// A variable's value; `None` if it is not set or empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).filter(|value| !value.is_empty()).cloned()
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(pairs: [(&str, &str); N]) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}
