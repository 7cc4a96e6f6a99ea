//! How long to wait before the next attempt.

use std::time::Duration;

use unstuck_diagnosis::snapshot::Why;

/// Doubling pauses, at first so short that a refused connection is noticed well within a second.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    next: Duration,
}

const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);

impl Backoff {
    pub(super) fn new() -> Self {
        Self { next: FIRST }
    }

    /// Begins anew, after a success.
    pub(super) fn reset(&mut self) {
        self.next = FIRST;
    }

    /// The pause after one more failure.
    pub(super) fn pause(&mut self, why: &Why) -> Duration {
        let pause = self.next;
        self.next = (self.next * 2).min(LONGEST);
        match why {
            // Each attempt may count against an account, and writes a line into the broker's log.
            Why::AuthenticationRequired => Duration::from_secs(30),
            // These change by somebody's hand only; meanwhile each attempt leaves a line in a foreign log.
            Why::SpeaksHttp | Why::SpeaksTls | Why::SpeaksPlaintext | Why::OtherBroker(_) | Why::OtherCluster(_) => {
                Duration::from_secs(5)
            }
            // Refused logins and TLS handshakes have their pause in crate `security`, for all connections together; until
            // it is over nothing is sent, and another secret or certificate is noticed at once.
            // Somebody accepts and hangs up; we may have asked in TLS as well, which leaves a line in a log.
            Why::Closed if pause == LONGEST => Duration::from_secs(5),
            _ => pause,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_at_first_then_once_a_second() {
        let mut backoff = Backoff::new();
        let pauses: Vec<_> = (0..8).map(|_| backoff.pause(&Why::Refused).as_millis()).collect();
        assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1000, 1000]);
        backoff.reset();
        assert_eq!(backoff.pause(&Why::Refused).as_millis(), 20);
    }

    #[test]
    fn accounts_are_not_locked_by_our_attempts() {
        assert!(Backoff::new().pause(&Why::AuthenticationRequired) >= Duration::from_secs(30));
    }
}
