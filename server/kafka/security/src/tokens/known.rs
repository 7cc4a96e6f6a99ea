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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + seconds).expect("a moment")
    }

    fn token(expires: Option<i64>) -> Token {
        Token { value: SecretString::from("t".to_owned()), principal: None, expires: expires.map(at) }
    }

    fn standing(known: &Known, seconds: i64) -> &'static str {
        match known.at(at(seconds)) {
            Standing::Fresh(_) => "fresh",
            Standing::Old(_) => "old",
            Standing::Nothing => "nothing",
        }
    }

    #[test]
    fn a_token_is_renewed_after_four_fifths_of_its_life() {
        let mut known = Known::default();
        assert_eq!(standing(&known, 0), "nothing");
        known.got(token(Some(1000)), at(0));
        let stands = [0, 799, 800, 994, 995, 2000].map(|seconds| standing(&known, seconds));
        assert_eq!(stands, ["fresh", "fresh", "old", "old", "nothing", "nothing"]);
        known.got(token(None), at(0));
        assert_eq!([299, 300].map(|seconds| standing(&known, seconds)), ["fresh", "nothing"]);
    }

    fn refused() -> TokenError {
        TokenError::Refused { endpoint: "e".to_owned(), status: 401, error: None, description: None }
    }

    fn unreachable() -> TokenError {
        TokenError::Unreachable { endpoint: "e".to_owned(), why: "refused".to_owned() }
    }

    #[test]
    fn a_refusal_is_told_for_half_a_minute_unless_the_secret_changes() {
        let secret = |text: &str| Some(SecretString::from(text.to_owned()));
        let (one, other) = (secret("one"), secret("other"));
        let now = Instant::now();
        let mut known = Known::default();
        known.failed(refused(), one.clone(), now);
        assert_eq!(known.failing(one.as_ref(), now + Duration::from_secs(29)), Some(refused()));
        assert_eq!(known.failing(one.as_ref(), now + AFTER_FAILURE), None);
        assert_eq!(known.failing(other.as_ref(), now), None);
        known.got(token(Some(1000)), at(0));
        assert_eq!(known.failing(one.as_ref(), now), None);
    }

    #[test]
    fn without_a_connection_it_is_asked_sooner_until_there_was_a_token() {
        let now = Instant::now();
        let mut known = Known::default();
        for pause in [1, 2, 4, 8, 16, 30, 30] {
            known.failed(unreachable(), None, now);
            let just_before = now + Duration::from_millis(1000 * pause - 1);
            assert!(known.failing(None, just_before).is_some(), "{pause}");
            assert!(known.failing(None, now + Duration::from_secs(pause)).is_none(), "{pause}");
        }
        known.got(token(Some(1000)), at(0));
        known.failed(unreachable(), None, now);
        assert!(known.failing(None, now + Duration::from_secs(29)).is_some());
    }
}
