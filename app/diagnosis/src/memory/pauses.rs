//! When nobody looked: what changed meanwhile began at a time that nobody can tell exactly.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Memory;
use crate::time::{after, millis_between};

/// From how many milliseconds between two looks on that is a pause, and not just a slow look.
pub const PAUSE_MS: i64 = 15_000;
/// How many milliseconds after a pause first looks may still be incomplete.
const RESUMED_MS: i64 = 15_000;
/// How many pauses are remembered.
const PAUSES_CAP: usize = 20;

/// A time in which nobody looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// The last look before.
    pub from: Timestamp,
    /// The first look after.
    pub to: Timestamp,
}

impl Memory {
    pub(super) fn learn_pause(&mut self, now: Timestamp) {
        if millis_between(self.looked_until, now) >= PAUSE_MS {
            self.pauses.push(Pause { from: self.looked_until, to: now });
            let excess = self.pauses.len().saturating_sub(PAUSES_CAP);
            self.pauses.drain(..excess);
        }
        self.looked_until = self.looked_until.max(now);
    }

    /// Whether looks may still be incomplete because a pause has only just ended.
    pub(super) fn resuming(&self, now: Timestamp) -> bool {
        self.pauses.last().is_some_and(|pause| millis_between(pause.to, now) < RESUMED_MS)
    }

    /// When it was last looked before something that was seen at `since`, if nobody looked right before: it began at some
    /// time between the two.
    #[must_use]
    pub fn unseen_before(&self, since: Timestamp) -> Option<Timestamp> {
        let pause = self.pauses.iter().rfind(|pause| pause.to <= since)?;
        (since < after(pause.to, RESUMED_MS)).then_some(pause.from)
    }
}
