//! When nobody looked: what changed meanwhile began at a time that nobody can tell exactly.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Memory;
use crate::time::{after, millis_between};

/// From how many milliseconds between two looks on that is a pause, and not just a slow look.
pub const PAUSE_MS: i64 = 15_000;
/// How many milliseconds after a pause first looks may still be incomplete.
const RESUMED_MS: i64 = 15_000;
/// How many milliseconds after looking began what was learnt is worth less than what an earlier run knew.
const BEGINNING_MS: i64 = 30_000;
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
    /// Takes in what an earlier run knew. Right after looking began it goes on where that one ended, with a pause in between;
    /// later, when the record could not be read in time, only groups and brokers are taken over.
    pub fn recall(&mut self, earlier: Self) {
        if millis_between(self.watching_since, self.looked_until) < BEGINNING_MS {
            let members = self.groups.members.clone();
            let begun = self.watching_since;
            *self = earlier;
            // However short it was: first looks are incomplete again.
            self.pause(Pause { from: self.looked_until, to: begun.max(self.looked_until) });
            for (group, seen) in members {
                self.see_members(&group, seen);
            }
            return;
        }
        let pause = Pause { from: earlier.looked_until, to: self.watching_since };
        if millis_between(pause.from, pause.to) >= PAUSE_MS {
            self.pauses.insert(0, pause);
        }
        self.watching_since = self.watching_since.min(earlier.watching_since);
        for (id, seen) in earlier.brokers_seen {
            let first_seen = seen.first_seen;
            let kept = self.brokers_seen.entry(id).or_insert(seen);
            kept.first_seen = kept.first_seen.min(first_seen);
        }
        self.recall_groups(&earlier.groups);
    }

    pub(super) fn learn_pause(&mut self, now: Timestamp) {
        if millis_between(self.looked_until, now) >= PAUSE_MS {
            self.pause(Pause { from: self.looked_until, to: now });
        }
        self.looked_until = self.looked_until.max(now);
    }

    fn pause(&mut self, pause: Pause) {
        self.looked_until = pause.to;
        self.pauses.push(pause);
        let excess = self.pauses.len().saturating_sub(PAUSES_CAP);
        self.pauses.drain(..excess);
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
