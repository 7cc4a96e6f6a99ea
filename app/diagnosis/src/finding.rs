//! A finding: what is wrong, how firmly that stands, and the way out. The rules that make them are in `findings/`.

use serde::{Deserialize, Serialize};

pub use crate::remedy::{Avoid, Met, Precondition, Remedy, RemedyFile, Risk};
use crate::{BrokerId, PartitionId};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Will hurt at the next failure.
    Warning,
    /// Something does not work, or may not.
    Error,
    /// Groups stand still.
    Outage,
}

impl Severity {
    /// The word in the API.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Outage => "outage",
        }
    }
}

/// Something wrong (or worth knowing), with its evidence and the way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's stable name, such as `no-leader-no-live-replica`.
    pub slug: String,
    /// How bad.
    pub severity: Severity,
    /// One sentence: what is wrong, and for whom.
    pub sentence: String,
    /// What will happen by itself, if anything.
    pub outlook: Option<String>,
    /// Why Unstuck says so.
    pub evidence: Vec<Evidence>,
    /// The way out, safest first.
    pub remedies: Vec<Remedy>,
    /// What not to do.
    #[serde(default)]
    pub avoid: Vec<Avoid>,
    /// The slug of the finding that this one merely follows from, if that one is open too.
    #[serde(default)]
    pub follows_from: Option<String>,
    /// Offsets partitions concerned.
    pub partitions: Vec<PartitionId>,
    /// Brokers concerned.
    pub brokers: Vec<BrokerId>,
}

/// How firmly a piece of evidence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// Observed.
    Seen,
    /// Concluded from what was observed.
    Likely,
    /// Could not be looked at.
    NotSeen,
}

impl Strength {
    /// The words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::Likely => "likely",
            Self::NotSeen => "not seen",
        }
    }
}

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// How firmly it stands.
    pub strength: Strength,
    /// In words.
    pub text: String,
}
