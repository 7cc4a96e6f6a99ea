//! A way out: data only. Unstuck never executes one.

use serde::{Deserialize, Serialize};

/// A way out, with everything that whoever runs it at night has to know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remedy {
    /// What to do, as a short imperative: `Start broker 1`.
    pub title: String,
    /// Why it helps.
    pub why: String,
    /// The command for the shell, with real values filled in, correct for the cluster's release and mode.
    pub command: Option<String>,
    /// What the command changes in the cluster; `None` where there is no command, or it only looks.
    #[serde(default)]
    pub changes: Option<String>,
    /// What must hold for it to help or to be safe, and whether it does, as far as seen.
    #[serde(default)]
    pub preconditions: Vec<Precondition>,
    /// How much it may cost.
    #[serde(default)]
    pub risk: Risk,
    /// What it may cost, in one sentence; `None` if nothing.
    pub danger: Option<String>,
    /// How to see that it worked: a sentence, or a command that only looks.
    #[serde(default)]
    pub verify: Option<String>,
    /// How to take it back: a sentence or a command; says so where that is impossible.
    #[serde(default)]
    pub undo: Option<String>,
    /// Files that the command reads, ready to use.
    #[serde(default)]
    pub files: Vec<RemedyFile>,
}

/// How much a remedy may cost at worst. Ordered from none to most, which is the order in which remedies are offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Nothing: it only looks, or nothing can be lost by it.
    #[default]
    None,
    /// Groups pause for moments: a rebalance, a coordinator that moves, load on disks and network.
    Pause,
    /// Nothing is lost now, but the next failure would lose something while it lasts.
    Exposes,
    /// Committed offsets (or records) may be or are lost.
    Loses,
}

impl Risk {
    /// The words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::None => "nothing is lost",
            Self::Pause => "groups may pause for a moment",
            Self::Exposes => "less safe while it lasts",
            Self::Loses => "loses data",
        }
    }
}

/// What must hold before a remedy is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Precondition {
    /// In words, as a fact: `broker 2 is in sync and answers`.
    pub text: String,
    /// Whether it holds.
    pub state: Met,
}

/// Whether a precondition holds, as far as Unstuck can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Met {
    /// Seen to hold.
    Met,
    /// Seen not to hold.
    NotMet,
    /// Cannot be seen from here: whoever runs the command must look.
    NotKnown,
}

impl Met {
    /// The words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not met",
            Self::NotKnown => "not known",
        }
    }
}

impl From<bool> for Met {
    fn from(holds: bool) -> Self {
        if holds { Self::Met } else { Self::NotMet }
    }
}

impl From<Option<bool>> for Met {
    fn from(holds: Option<bool>) -> Self {
        holds.map_or(Self::NotKnown, Self::from)
    }
}

/// A file that a command reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RemedyFile {
    /// Its name as the command has it: `raise.json`.
    pub name: String,
    /// What is in it, in a few words.
    pub what: String,
    /// Its content, to be saved as it is.
    pub content: String,
}

/// What not to do, and why: advice that is often found, and hurts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Avoid {
    /// What not to do: `Do not delete __consumer_offsets`.
    pub what: String,
    /// Why not.
    pub why: String,
}

impl Remedy {
    /// Something to do by hand, without a command, at no cost.
    #[must_use]
    pub fn new(title: impl Into<String>, why: impl Into<String>) -> Self {
        Self { title: title.into(), why: why.into(), ..Self::default() }
    }

    /// The command that only looks.
    #[must_use]
    pub fn looks(self, command: impl Into<String>) -> Self {
        Self { command: Some(command.into()), ..self }
    }

    /// The command, and what it changes.
    #[must_use]
    pub fn command(self, command: impl Into<String>, changes: impl Into<String>) -> Self {
        Self { command: Some(command.into()), changes: Some(changes.into()), ..self }
    }

    /// What it may cost.
    #[must_use]
    pub fn danger(self, risk: Risk, danger: impl Into<String>) -> Self {
        Self { risk, danger: Some(danger.into()), ..self }
    }

    /// What must hold, and whether it does.
    #[must_use]
    pub fn given(mut self, text: impl Into<String>, state: impl Into<Met>) -> Self {
        self.preconditions.push(Precondition { text: text.into(), state: state.into() });
        self
    }

    /// How to see that it worked.
    #[must_use]
    pub fn verify(self, verify: impl Into<String>) -> Self {
        Self { verify: Some(verify.into()), ..self }
    }

    /// How to take it back.
    #[must_use]
    pub fn undo(self, undo: impl Into<String>) -> Self {
        Self { undo: Some(undo.into()), ..self }
    }

    /// A file that the command reads.
    #[must_use]
    pub fn file(mut self, name: impl Into<String>, what: impl Into<String>, content: impl Into<String>) -> Self {
        self.files.push(RemedyFile { name: name.into(), what: what.into(), content: content.into() });
        self
    }

    /// Whether the command changes something, rather than looking only.
    #[must_use]
    pub fn mutates(&self) -> bool {
        self.command.is_some() && self.changes.is_some()
    }
}
