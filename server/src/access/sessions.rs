//! Who is logged in with a browser. In memory: a restart logs everybody out.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderMap;

use super::Role;
use super::credentials::{self, Hash};

/// How long a session lasts, whatever happens in it.
pub(crate) const LIFETIME: Duration = Duration::from_secs(12 * 3_600);
/// How many there are at most; the oldest ones make room.
const MOST: usize = 10_000;
/// The cookie, where everything travels by TLS. Browsers take a cookie of such a name from this host alone.
const SECURE_COOKIE: &str = "__Host-unstuck";
/// The cookie elsewhere: browsers refuse the other name without TLS.
const PLAIN_COOKIE: &str = "unstuck-session";

/// The cookie of a login that is under way at an identity provider.
const SECURE_LOGIN: &str = "__Host-unstuck-login";
/// The same without TLS.
const PLAIN_LOGIN: &str = "unstuck-login";

/// How somebody came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// With a token of this hash. Whether it still holds is asked at each request.
    Token(Hash),
    /// As somebody whom an identity provider named.
    Person {
        /// Their name.
        name: String,
        /// What they may do.
        role: Role,
    },
}

#[derive(Debug)]
struct Session {
    origin: Origin,
    ends: Instant,
}

/// The sessions, by the hash of their id.
#[derive(Debug)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<[u8; 32], Session>>,
    secure: bool,
    lifetime: Duration,
}

impl Sessions {
    /// None yet; `secure` where everything travels by TLS.
    pub(crate) fn new(secure: bool) -> Self {
        Self { open: Mutex::default(), secure, lifetime: LIFETIME }
    }

    /// Begins one, and gives the header that hands it to the browser.
    ///
    /// # Errors
    /// The operating system gives no random numbers.
    pub(crate) fn begin(&self, origin: Origin, now: Instant) -> Result<String, getrandom::Error> {
        let id = credentials::random()?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MOST {
            open.retain(|_, session| session.ends > now);
        }
        while open.len() >= MOST {
            let Some(oldest) = open.iter().min_by_key(|(_, session)| session.ends).map(|(key, _)| *key) else { break };
            open.remove(&oldest);
        }
        open.insert(Hash::of(&id).bytes(), Session { origin, ends: now + self.lifetime });
        Ok(self.cookie(&id, self.lifetime))
    }

    /// The one that a request belongs to, if it is still open.
    pub(crate) fn of(&self, headers: &HeaderMap, now: Instant) -> Option<Origin> {
        let key = self.key(headers)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let session = open.get(&key)?;
        if session.ends <= now {
            open.remove(&key);
            return None;
        }
        Some(session.origin.clone())
    }

    /// Ends the one that a request belongs to, and gives the header that takes it from the browser.
    pub(crate) fn end(&self, headers: &HeaderMap) -> String {
        if let Some(key) = self.key(headers) {
            self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        }
        self.cookie("", Duration::ZERO)
    }

    /// The header that hands the state of a login under way to the browser, or takes it away again.
    pub(crate) fn login_cookie(&self, state: &str, age: Duration) -> String {
        self.named_cookie(self.login_name(), state, age)
    }

    /// The state of the login that is under way in the browser.
    pub(crate) fn login_state<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        cookie(headers, self.login_name()).filter(|state| !state.is_empty())
    }

    fn login_name(&self) -> &'static str {
        if self.secure { SECURE_LOGIN } else { PLAIN_LOGIN }
    }

    /// Found by the hash of the id, so how long it takes tells nothing of an id.
    fn key(&self, headers: &HeaderMap) -> Option<[u8; 32]> {
        Some(Hash::of(cookie(headers, self.name())?).bytes())
    }

    fn name(&self) -> &'static str {
        if self.secure { SECURE_COOKIE } else { PLAIN_COOKIE }
    }

    /// `Lax`: links to incidents come from chats. What changes something asks for the same origin besides.
    fn cookie(&self, value: &str, age: Duration) -> String {
        self.named_cookie(self.name(), value, age)
    }

    fn named_cookie(&self, name: &str, value: &str, age: Duration) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        format!("{name}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Lax{secure}", age.as_secs())
    }
}

/// A cookie's value.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(http::header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada() -> Origin {
        Origin::Token(Hash::of("a token"))
    }

    fn sent_back(set: &str) -> HeaderMap {
        let pair = set.split(';').next().expect("a pair");
        [(http::header::COOKIE, format!("theme=dark; {pair}").parse().expect("a header"))].into_iter().collect()
    }

    #[test]
    fn a_session_lasts_until_its_end_or_until_it_is_ended() {
        let (sessions, now) = (Sessions::new(true), Instant::now());
        let set = sessions.begin(ada(), now).expect("random");
        assert!(set.starts_with("__Host-unstuck="), "{set}");
        assert!(set.ends_with("; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure"), "{set}");
        let headers = sent_back(&set);
        assert_eq!(sessions.of(&headers, now), Some(ada()));
        assert_eq!(sessions.of(&headers, now + LIFETIME), None, "over");
        let headers = sent_back(&sessions.begin(ada(), now).expect("random"));
        let taken = sessions.end(&headers);
        assert!(taken.starts_with("__Host-unstuck=; Path=/; Max-Age=0"), "{taken}");
        assert_eq!(sessions.of(&headers, now), None, "ended here, not only in the browser");
        assert_eq!(sessions.of(&sent_back("__Host-unstuck=guessed"), now), None);
        assert_eq!(sessions.of(&HeaderMap::new(), now), None);
    }

    #[test]
    fn without_tls_the_cookie_has_a_name_that_browsers_accept() {
        let set = Sessions::new(false).begin(ada(), Instant::now()).expect("random");
        assert!(set.starts_with("unstuck-session=") && !set.contains("Secure"), "{set}");
    }

    #[test]
    fn sessions_do_not_pile_up() {
        let (mut sessions, now) = (Sessions::new(true), Instant::now());
        sessions.lifetime = Duration::from_secs(60);
        let first = sent_back(&sessions.begin(ada(), now).expect("random"));
        for _ in 0..MOST {
            sessions.begin(ada(), now + Duration::from_secs(1)).expect("random");
        }
        assert_eq!(sessions.open.lock().expect("no panic").len(), MOST);
        assert_eq!(sessions.of(&first, now), None, "the oldest one made room");
    }
}
