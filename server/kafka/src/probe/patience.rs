//! How long a connection may owe an answer. Mostly that is worth waiting for, because a fresh connection would wait
//! behind the same lock or the same controller; but an answer that got lost on the way never comes.

use std::time::Duration;

use tokio::time::Instant;

/// Doubles each time, because each request may hold one of the broker's request handler threads (`num.io.threads`,
/// 8 by default) as long as nobody answers it.
const FIRST: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// Patience with one kind of question to one broker, over all connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    lasts: Duration,
    silent_since: Option<Instant>,
}

impl Patience {
    pub(super) fn new() -> Self {
        Self { lasts: FIRST, silent_since: None }
    }

    /// The broker answered.
    pub(super) fn answered(&mut self) {
        *self = Self::new();
    }

    /// The connection is a new one.
    pub(super) fn begins(&mut self) {
        self.silent_since = None;
    }

    /// The broker was silent once more. True if the connection is to be given up.
    pub(super) fn ends(&mut self) -> bool {
        let over = self.silent_since.get_or_insert_with(Instant::now).elapsed() > self.lasts;
        if over {
            self.lasts = (self.lasts * 2).min(LONGEST);
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_connection_is_given_more_time_until_there_is_an_answer() {
        let second = Duration::from_secs(1);
        let mut patience = Patience::new();
        for lasts in [60, 120, 240, 480, 960, 1800, 1800] {
            patience.begins();
            assert!(!patience.ends());
            advance(lasts * second).await;
            assert!(!patience.ends(), "{lasts}");
            advance(second).await;
            assert!(patience.ends(), "{lasts}");
        }
        patience.answered();
        assert!(!patience.ends());
        advance(61 * second).await;
        assert!(patience.ends());
    }
}
