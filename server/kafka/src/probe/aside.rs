//! A coordinator that leaves canaries unanswered while its broker answers the rest, as one does that waits for a lock
//! or a disk: the connection is put aside, so that metadata does not wait behind the canaries, and nothing is asked of
//! the coordinator meanwhile.

use std::time::Duration;

use tokio::time::Instant;
use unstuck_wire::{Connection, WireError};

/// How long to wait for an answer that is owed before asking anew: doubles each time, because each request may hold one
/// of the broker's request handler threads (`num.io.threads`, 8 by default).
const FIRST_PATIENCE: Duration = Duration::from_secs(5);
const LONGEST_PATIENCE: Duration = Duration::from_secs(60);

/// The connection put aside, if there is one.
#[derive(Debug, Default)]
pub(super) struct Aside {
    waiting: Option<(Connection, Instant)>,
    /// How long the last one waited; zero after an answer.
    patience: Duration,
}

/// How canaries stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owed {
    /// No answer is owed, or there is no more use in waiting for it: ask.
    Nothing,
    /// The answer has just come, late: ask.
    CameLate,
    /// The answer is still owed: do not ask.
    Still,
}

impl Aside {
    /// Puts a connection aside that waits for canaries.
    pub(super) fn put(&mut self, connection: Connection) {
        self.patience = (self.patience * 2).clamp(FIRST_PATIENCE, LONGEST_PATIENCE);
        self.waiting = Some((connection, Instant::now() + self.patience));
    }

    /// Looks whether the answer came; does not wait for it.
    pub(super) async fn look(&mut self) -> Owed {
        let Some((connection, until)) = &mut self.waiting else { return Owed::Nothing };
        let owed = match connection.late_answer(Duration::ZERO).await {
            Ok(()) => Owed::CameLate,
            Err(WireError::Silent) if Instant::now() < *until => Owed::Still,
            Err(_) => Owed::Nothing,
        };
        if owed != Owed::Still {
            self.waiting = None;
        }
        owed
    }

    /// Canaries were answered in time.
    pub(super) fn answered(&mut self) {
        self.patience = Duration::ZERO;
    }
}
