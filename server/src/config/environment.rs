//! Environment variables, read through a value, so that tests need not change the process's own.

use std::collections::BTreeMap;
use std::fmt;

/// The variables of this process, or those of a test. They are read when they are asked for, and never listed.
#[derive(Clone)]
pub enum Environment {
    /// Those of this process.
    OfProcess,
    /// These.
    Given(BTreeMap<String, String>),
}

impl Environment {
    /// The variables of this process. One that is not UTF-8 counts as not set.
    #[must_use]
    pub fn of_process() -> Self {
        Self::OfProcess
    }

    /// A variable's value; `None` if it is not set or empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        let value = match self {
            // `var` refuses names that cannot be one.
            Self::OfProcess => std::env::var(name).ok(),
            Self::Given(variables) => variables.get(name).cloned(),
        };
        value.filter(|value| !value.is_empty())
    }
}

impl Default for Environment {
    fn default() -> Self {
        Self::Given(BTreeMap::new())
    }
}

/// Variables may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OfProcess => "the variables of this process",
            Self::Given(_) => "given variables",
        })
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(pairs: [(&str, &str); N]) -> Self {
        Self::Given(pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}
