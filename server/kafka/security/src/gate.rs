//! When a login may be tried. Each refused one counts against an account and may lock it, so all connections to a cluster
//! share one gate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;
use unstuck_wire::WireError;

/// The pause after a refusal, with the same secret.
pub(crate) const PAUSE: Duration = Duration::from_secs(30);
/// Logins in a row that a peer may end by closing the connection before that counts as a refusal. A broker that goes down
/// does it as well, but not again and again.
const CLOSED: u32 = 3;

/// The logins of one cluster. Addresses are `host:port`; a secret is known by a number that changes with it.
///
/// - After a refusal nobody tries that address for half a minute.
/// - Where no address has taken the secret yet, one refused login counts for all addresses, and one connection tries at a
///   time: a wrong password is tried once, not once for each connection to each broker.
/// - Another secret may be tried at once.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    addresses: Mutex<HashMap<String, Standing>>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// How an address took the last login.
#[derive(Clone, Debug)]
struct Standing {
    secret: u64,
    at: Instant,
    /// Why it was refused; `None` if it was accepted.
    refused: Option<WireError>,
    /// Logins that it ended by closing the connection, one after the other.
    closed: u32,
}

impl Standing {
    fn accepted(&self, secret: u64) -> bool {
        self.secret == secret && self.refused.is_none() && self.closed == 0
    }

    fn refusal(&self, secret: u64) -> Option<&WireError> {
        self.refused.as_ref().filter(|_| self.secret == secret && self.at.elapsed() < PAUSE)
    }
}

/// Whether a refusal says something about the account, rather than about this listener.
fn of_the_account(error: &WireError) -> bool {
    matches!(error, WireError::LoginRefused(_))
}

impl Gate {
    fn with<R>(&self, work: impl FnOnce(&mut HashMap<String, Standing>) -> R) -> R {
        work(&mut self.addresses.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a login there may be tried now.
    ///
    /// # Errors
    /// The refusal, while it is too early for another attempt.
    pub(crate) fn open(&self, address: &str, secret: u64) -> Result<(), WireError> {
        self.with(|addresses| {
            if let Some(refusal) = addresses.get(address).and_then(|standing| standing.refusal(secret)) {
                return Err(refusal.clone());
            }
            if addresses.values().any(|standing| standing.accepted(secret)) {
                return Ok(());
            }
            let mut elsewhere = addresses.values().filter_map(|standing| standing.refusal(secret));
            elsewhere.find(|refusal| of_the_account(refusal)).map_or(Ok(()), |refusal| Err(refusal.clone()))
        })
    }

    /// Waits until a login there may be tried. What is given back is to be dropped when its end is known.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) async fn turn(&self, address: &str, secret: u64) -> Result<Option<OwnedMutexGuard<()>>, WireError> {
        self.open(address, secret)?;
        if self.taken(secret) {
            return Ok(None);
        }
        let turn = Arc::clone(&self.turn).lock_owned().await;
        self.open(address, secret)?;
        Ok((!self.taken(secret)).then_some(turn))
    }

    fn taken(&self, secret: u64) -> bool {
        self.with(|addresses| addresses.values().any(|standing| standing.accepted(secret)))
    }

    /// A login that had `begun` then ended there.
    pub(crate) fn ended(&self, address: &str, secret: u64, begun: Instant, end: Result<(), &WireError>) {
        self.with(|addresses| {
            let before = addresses.get(address).filter(|before| before.secret == secret);
            let (refused, closed) = match end {
                Ok(()) => (None, 0),
                Err(WireError::Closed) => {
                    // Several connections that end at once are one end: each of the logins had begun before it.
                    let again = before.is_none_or(|before| before.closed == 0 || before.at < begun);
                    let closed = before.map_or(0, |before| before.closed) + u32::from(again);
                    if !again || before.is_some_and(|before| before.refusal(secret).is_some()) {
                        return;
                    }
                    let words = "it closes the connection in the middle, again and again";
                    ((closed >= CLOSED).then(|| WireError::LoginRefused(words.to_owned())), closed)
                }
                Err(
                    error @ (WireError::LoginRefused(_)
                    | WireError::MechanismNotOffered { .. }
                    | WireError::NoLoginHere
                    | WireError::NoTicket(_)
                    | WireError::PeerNotProven(_)
                    | WireError::TooOld(_)),
                ) => (Some(error.clone()), 0),
                // The way there failed, not the login.
                Err(_) => return,
            };
            addresses.insert(address.to_owned(), Standing { secret, at: Instant::now(), refused, closed });
        });
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn refusal() -> WireError {
        WireError::LoginRefused("no".to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn a_wrong_password_is_tried_once_in_half_a_minute_wherever() {
        let gate = Gate::default();
        let turn = gate.turn("a:1", 1).await.expect("the first");
        assert!(turn.is_some());
        gate.ended("a:1", 1, Instant::now(), Err(&refusal()));
        drop(turn);
        for address in ["a:1", "b:1"] {
            assert_eq!(gate.open(address, 1), Err(refusal()), "{address}");
            assert_eq!(gate.turn(address, 1).await.err(), Some(refusal()), "{address}");
        }
        assert_eq!(gate.open("a:1", 2), Ok(()), "another password");
        advance(PAUSE).await;
        assert_eq!(gate.open("b:1", 1), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_wait_for_the_first_login_are_refused_with_it() {
        let gate = Arc::new(Gate::default());
        let first = gate.turn("a:1", 1).await.expect("the first");
        let waiting = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.turn("b:1", 1).await.map(drop) }
        });
        tokio::task::yield_now().await;
        gate.ended("a:1", 1, Instant::now(), Err(&refusal()));
        drop(first);
        assert_eq!(waiting.await.expect("no panic"), Err(refusal()));
    }

    #[tokio::test(start_paused = true)]
    async fn one_broker_that_refuses_what_others_take_stands_alone() {
        let gate = Gate::default();
        gate.ended("a:1", 1, Instant::now(), Ok(()));
        gate.ended("b:1", 1, Instant::now(), Err(&refusal()));
        assert_eq!(gate.open("b:1", 1), Err(refusal()));
        assert_eq!(gate.open("a:1", 1), Ok(()));
        assert!(gate.turn("c:1", 1).await.expect("open").is_none(), "nobody waits for another");
        gate.ended("a:1", 1, Instant::now(), Err(&refusal()));
        assert_eq!(gate.open("c:1", 1), Err(refusal()), "now nobody takes it");
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_that_takes_no_login_says_nothing_about_the_account() {
        let gate = Gate::default();
        gate.ended("a:1", 1, Instant::now(), Err(&WireError::NoLoginHere));
        assert_eq!(gate.open("a:1", 1), Err(WireError::NoLoginHere));
        assert_eq!(gate.open("b:1", 1), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn closing_again_and_again_in_the_middle_is_a_refusal() {
        let gate = Gate::default();
        for _ in 0..CLOSED {
            assert_eq!(gate.open("a:1", 1), Ok(()));
            advance(Duration::from_millis(20)).await;
            gate.ended("a:1", 1, Instant::now(), Err(&WireError::Closed));
        }
        assert!(matches!(gate.open("a:1", 1), Err(WireError::LoginRefused(_))));
        advance(PAUSE).await;
        assert_eq!(gate.open("a:1", 1), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_broker_that_dies_under_many_logins_refuses_none() {
        let gate = Gate::default();
        gate.ended("a:1", 1, Instant::now(), Ok(()));
        advance(Duration::from_secs(1)).await;
        let begun = Instant::now();
        advance(Duration::from_secs(1)).await;
        for _ in 0..10 {
            gate.ended("a:1", 1, begun, Err(&WireError::Closed));
            advance(Duration::from_millis(1)).await;
        }
        assert_eq!(gate.open("a:1", 1), Ok(()));
    }
}
