//! How often an address may try a wrong token.
//!
//! A token has 256 random bits and cannot be guessed, so this protects the log and the processor rather than the secret.
//! That is why a *right* token is let in at any time: whoever shares an address with somebody who tries around (behind a
//! proxy that is everybody) is not locked out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many wrong tokens in a row are answered as such.
const AT_ONCE: u32 = 10;
/// After how long one more is.
const EACH: Duration = Duration::from_secs(6);
/// Of how many addresses is known how often they tried.
const ADDRESSES: usize = 10_000;

/// Wrong tokens, by the address they came from.
#[derive(Debug, Default)]
pub(crate) struct Attempts(Mutex<HashMap<IpAddr, Instant>>);

impl Attempts {
    /// Notes a wrong token; `Err` with the time to wait if there were too many.
    ///
    /// Kept is one time for each address: when all its attempts are paid off.
    pub(crate) fn wrong(&self, from: Option<IpAddr>, now: Instant) -> Result<(), Duration> {
        let key = from.map_or(IpAddr::from([0, 0, 0, 0]), network);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= ADDRESSES && !known.contains_key(&key) {
            known.retain(|_, paid_off| *paid_off > now);
            if known.len() >= ADDRESSES {
                // Forgetting somebody is better than keeping newcomers out.
                known.clear();
            }
        }
        let paid_off = known.get(&key).copied().filter(|at| *at > now).unwrap_or(now);
        let due = paid_off + EACH;
        let most = EACH * AT_ONCE;
        if due - now > most {
            return Err(due - now - most);
        }
        known.insert(key, due);
        Ok(())
    }
}

/// One client may have a whole /64 of IPv6 addresses.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_tries_around_has_to_wait_and_others_do_not() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        let (bad, other) = (Some(IpAddr::from([192, 0, 2, 1])), Some(IpAddr::from([192, 0, 2, 2])));
        for _ in 0..AT_ONCE {
            attempts.wrong(bad, now).expect("the first ones are answered");
        }
        assert_eq!(attempts.wrong(bad, now), Err(EACH));
        attempts.wrong(other, now).expect("another address");
        attempts.wrong(bad, now + EACH).expect("one more after a while");
        attempts.wrong(bad, now + EACH).expect_err("but only one");
    }

    #[test]
    fn a_client_with_many_ipv6_addresses_is_one() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        let at = |last: u16| Some(IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, last]));
        for last in 0..10 {
            attempts.wrong(at(last), now).expect("the first ones are answered");
        }
        attempts.wrong(at(99), now).expect_err("the same network");
    }

    #[test]
    fn addresses_do_not_pile_up() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for n in 0..u32::try_from(ADDRESSES).expect("a small number") + 10 {
            attempts.wrong(Some(IpAddr::from(n.to_be_bytes())), now).expect("the first one");
        }
        assert!(attempts.0.lock().expect("no panic").len() <= ADDRESSES);
    }
}
