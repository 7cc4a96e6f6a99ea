//! What is true of a public case, and what a perfect diagnosis would say of it.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::value::Time;

/// A scenario that is a case of which people told in public: what Unstuck should say of it. `unstuck drill --truth`
/// plays all of them and compares; `docs/truth.md` tells how it is judged.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Truth {
    /// The case, such as `C07`. Each has one scenario.
    pub case: String,
    /// The step after which is looked at. Before any step if it is not said.
    #[serde(default)]
    pub step: Option<String>,
    /// How long after that step (or the beginning) is looked at. `60s` if not said.
    #[serde(default)]
    pub at: Option<Time>,
    /// The group that the report is about. Without one, the cluster is looked at as a whole.
    #[serde(default)]
    pub group: Option<String>,
    /// The right verdict on the group, or on the cluster.
    pub verdict: String,
    /// Weaker verdicts that are right as well: the cause is not determined, or this release does not tell enough.
    #[serde(default)]
    pub or: Vec<String>,
    /// The right verdicts on other groups, by id.
    #[serde(default)]
    pub others: BTreeMap<String, String>,
    /// The findings that must be open, by slug: first the cause itself, then what belongs to it.
    #[serde(default)]
    pub cause: Vec<String>,
    /// Texts that the remedies must contain.
    #[serde(default)]
    pub remedy: Vec<String>,
    /// Texts that must be said somewhere.
    #[serde(default)]
    pub says: Vec<String>,
    /// Texts that would be certain and wrong.
    #[serde(default)]
    pub must_not_say: Vec<String>,
    /// Whether what can be seen from outside determines the cause. `true` if not said; where it does not, an honest
    /// `unknown` is as right as the verdict.
    #[serde(default = "yes")]
    pub determined: bool,
    /// Facts that the scenario assumes because the report does not tell them.
    #[serde(default)]
    pub assumed: Vec<String>,
}

fn yes() -> bool {
    true
}

impl Truth {
    /// How long after the step (or the beginning) is looked at: 60 s if it is not said.
    #[must_use]
    pub fn looked_at(&self) -> Time {
        self.at.unwrap_or(Time(Duration::from_secs(60)))
    }
}
