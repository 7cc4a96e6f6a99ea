//! Where each setting came from: for `unstuck config check`, and for errors that name both of two places.

use serde::Serialize;

/// A value, and where it stands: file and line, option, or variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed<T> {
    /// The value.
    pub(super) value: T,
    /// Where it stands.
    pub(super) place: String,
}

/// A setting as it is shown: a secret is `***`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Its name in our own file, such as `tls.ca`.
    pub name: String,
    /// Its value, without secrets.
    pub value: String,
    /// Where it stands.
    pub place: String,
}

/// A setting that has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// Its name, as it was given.
    pub name: String,
    /// Where it stands.
    pub place: String,
    /// Why it has no effect.
    pub because: String,
}

/// What is told about a configuration besides what it says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Origins {
    /// The settings that count and are not defaults.
    pub settings: Vec<Setting>,
    /// What has no effect.
    pub ignored: Vec<Ignored>,
    /// What is allowed, and should be known. Each is a sentence.
    pub warnings: Vec<String>,
}

impl Origins {
    pub(super) fn setting(&mut self, name: impl Into<String>, value: impl Into<String>, place: impl Into<String>) {
        self.settings.push(Setting { name: name.into(), value: value.into(), place: place.into() });
    }

    pub(super) fn ignore(&mut self, name: impl Into<String>, place: impl Into<String>, because: impl Into<String>) {
        self.ignored.push(Ignored { name: name.into(), place: place.into(), because: because.into() });
    }

    /// Adds a warning, once.
    pub(crate) fn warn(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if !self.warnings.contains(&sentence) {
            self.warnings.push(sentence);
        }
    }
}
