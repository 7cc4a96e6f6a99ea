//! What outlives a restart: written while looking, and read again when looking begins.
//!
//! ```text
//! poller ── Published ──→ ledger (what is new?) ──→ pending ──→ store
//!    ↑                                                            │
//!    └── inbox ←── what was known before ←── restored ────────────┘
//! ```
//!
//! Diagnosing never waits for the store. While nothing can be written, what happened is kept in memory, and the pages say
//! since when and why. Of several servers that share a store one records each cluster: the one with the lease.

mod document;
mod inbox;
mod keeper;
mod ledger;
mod pending;
mod recorder;
#[cfg(test)]
mod tests;

pub(crate) use document::document;
pub use document::{DocumentError, read_frozen, write_frozen};
pub(crate) use inbox::{Inbox, News};
pub use keeper::{Keeper, Recording, RecordingOf};
pub(crate) use recorder::record;

/// A name that nobody can guess: 128 random bits.
#[must_use]
pub fn unguessable() -> String {
    let mut bytes = [0_u8; 16];
    // The operating system's generator does not fail once the machine has started; a clock would be no secret.
    if getrandom::fill(&mut bytes).is_err() {
        tracing::error!("the operating system gives no random numbers; names of incidents can be guessed");
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
