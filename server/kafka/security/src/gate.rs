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
    /// Ends in the middle of a login, in a row: some peers close instead of refusing.
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
            let elsewhere = addresses.values().filter_map(|standing| standing.refusal(secret));
            elsewhere.filter(|refusal| of_the_account(refusal)).next().map_or(Ok(()), |refusal| Err(refusal.clone()))
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

    /// A login ended there.
    pub(crate) fn ended(&self, address: &str, secret: u64, end: Result<(), &WireError>) {
        self.with(|addresses| {
            let closed = addresses.get(address).filter(|before| before.secret == secret).map_or(0, |before| before.closed);
            let (refused, closed) = match end {
                Ok(()) => (None, 0),
                Err(WireError::Closed) if closed == 0 => {
                    // Once may be chance, such as a broker that is just going down; what was said before stands.
                    if let Some(before) = addresses.get_mut(address).filter(|before| before.secret == secret) {
                        before.closed = 1;
                        return;
                    }
                    (None, 1)
                }
                Err(WireError::Closed) => {
                    (Some(WireError::LoginRefused("it closed the connection in the middle, twice".to_owned())), 0)
                }
                Err(error @ (WireError::LoginRefused(_)
                | WireError::MechanismNotOffered { .. }
                | WireError::NoLoginHere
                | WireError::PeerNotProven(_)
                | WireError::TooOld(_))) => (Some(error.clone()), 0),
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
        gate.ended("a:1", 1, Err(&refusal()));
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
        gate.ended("a:1", 1, Err(&refusal()));
        drop(first);
        assert_eq!(waiting.await.expect("no panic"), Err(refusal()));
    }

    #[tokio::test(start_paused = true)]
    async fn one_broker_that_refuses_what_others_take_stands_alone() {
        let gate = Gate::default();
        gate.ended("a:1", 1, Ok(()));
        gate.ended("b:1", 1, Err(&refusal()));
        assert_eq!(gate.open("b:1", 1), Err(refusal()));
        assert_eq!(gate.open("a:1", 1), Ok(()));
        assert!(gate.turn("c:1", 1).await.expect("open").is_none(), "nobody waits for another");
        gate.ended("a:1", 1, Err(&refusal()));
        assert_eq!(gate.open("c:1", 1), Err(refusal()), "now nobody takes it");
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_that_takes_no_login_says_nothing_about_the_account() {
        let gate = Gate::default();
        gate.ended("a:1", 1, Err(&WireError::NoLoginHere));
        assert_eq!(gate.open("a:1", 1), Err(WireError::NoLoginHere));
        assert_eq!(gate.open("b:1", 1), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn closing_twice_in_the_middle_is_a_refusal() {
        let gate = Gate::default();
        gate.ended("a:1", 1, Err(&WireError::Closed));
        assert_eq!(gate.open("a:1", 1), Ok(()));
        gate.ended("a:1", 1, Err(&WireError::Closed));
        assert!(matches!(gate.open("a:1", 1), Err(WireError::LoginRefused(_))));
        advance(PAUSE).await;
        gate.ended("a:1", 1, Ok(()));
        gate.ended("a:1", 1, Err(&WireError::Closed));
        assert_eq!(gate.open("a:1", 1), Ok(()), "a broker that goes down");
    }
}
