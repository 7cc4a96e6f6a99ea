//! What asking for tokens led to so far, and what follows from it. No clock: the time is given.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use super::{Token, TokenError};

/// How long a failure is told again before the source is asked anew.
const AFTER_FAILURE: Duration = Duration::from_secs(30);
/// The first pause where there was no connection and never a token; it doubles up to [`AFTER_FAILURE`].
const NOT_CONNECTED: Duration = Duration::from_secs(1);
/// How long a token is used that does not say how long it is good.
const UNTOLD_LIFE: SignedDuration = SignedDuration::from_mins(5);
/// A token is not given out any more this long before it ends: the login still has to reach the broker.
const TOO_LATE: SignedDuration = SignedDuration::from_secs(5);

/// What is known.
#[derive(Debug, Default)]
pub(super) struct Known {
    held: Option<Held>,
    failure: Option<Failure>,
}

#[derive(Debug)]
struct Held {
    token: Token,
    /// From when on another one is asked for.
    renew: Timestamp,
}

#[derive(Debug)]
struct Failure {
    error: TokenError,
    /// What was asked with: another secret need not wait.
    with: Option<SecretString>,
    pause: Duration,
    again: Instant,
}

/// How the last token stands.
#[derive(Debug)]
pub(super) enum Standing {
    /// It is used.
    Fresh(Token),
    /// It can be used; another one is asked for.
    Old(Token),
    /// There is none, or it ended.
    Nothing,
}

impl Known {
    /// How the last token stands at `now`.
    pub(super) fn at(&self, now: Timestamp) -> Standing {
        match &self.held {
            Some(held) if now < held.renew => Standing::Fresh(held.token.clone()),
            Some(held)
                if held
                    .token
                    .expires
                    .is_some_and(|end| now < end.saturating_sub(TOO_LATE).unwrap_or(Timestamp::MIN)) =>
            {
                Standing::Old(held.token.clone())
            }
            _ => Standing::Nothing,
        }
    }

    /// The last failure, if the source was asked with the same a moment ago.
    pub(super) fn failing(&self, with: Option<&SecretString>, now: Instant) -> Option<TokenError> {
        let same = |before: &Failure| {
            before.with.as_ref().map(ExposeSecret::expose_secret) == with.map(ExposeSecret::expose_secret)
        };
        self.failure
            .as_ref()
            .filter(|failure| now < failure.again && same(failure))
            .map(|failure| failure.error.clone())
    }

    /// Takes note of a token that was asked for at `asked`.
    pub(super) fn got(&mut self, token: Token, asked: Timestamp) {
        let life = token.expires.map_or(UNTOLD_LIFE, |end| end.duration_since(asked) * 4 / 5);
        let renew = asked.checked_add(life).unwrap_or(Timestamp::MAX);
        *self = Self { held: Some(Held { token, renew }), failure: None };
    }

    /// Takes note of a failure.
    pub(super) fn failed(&mut self, error: TokenError, with: Option<SecretString>, now: Instant) {
        let before = self.failure.as_ref().filter(|before| before.error.not_connected());
        let pause = match before {
            _ if self.held.is_some() || !error.not_connected() => AFTER_FAILURE,
            None => NOT_CONNECTED,
            Some(before) => (before.pause * 2).min(AFTER_FAILURE),
        };
        self.failure = Some(Failure { error, with, pause, again: now + pause });
    }
}
