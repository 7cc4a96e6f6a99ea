//! The login of one connection: SaslHandshake, SaslAuthenticate, and the same again before the session ends (KIP-368).

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, timeout};

use super::Connection;
use crate::messages::sasl::{SaslAuthenticateAnswer, SaslAuthenticateRequest, SaslHandshakeRequest};
use crate::{Api, Conversation, Login, Peer, WireError};

/// How long a login may take to begin: a token may have to be fetched, and other logins may have to end first.
const BEGINNING: Duration = Duration::from_secs(15);
/// How soon another attempt is made to begin a login again, while the session lasts.
const AGAIN: Duration = Duration::from_secs(5);
/// A broker takes no second login within a second after the first (KIP-368, `SaslServerAuthenticator`).
const SOONEST: Duration = Duration::from_millis(1_100);
/// Rounds of SaslAuthenticate. SCRAM takes two, GSSAPI three; a peer that wants more leads us on.
const ROUNDS: u32 = 10;

/// Longest text of a peer's that is passed on, in characters.
const LONGEST_WORDS: usize = 300;

/// Who logs in, and how far that has come.
pub(super) struct Session {
    login: Arc<dyn Login>,
    peer: Peer,
    talk: Option<Talk>,
    /// When the login has to be repeated, once it was through.
    entered: Option<Entered>,
    /// The login failed: nothing follows on this connection.
    failed: Option<WireError>,
}

/// A login under way.
struct Talk {
    conversation: Option<Box<dyn Conversation>>,
    /// What is said now; nothing yet while the mechanism is named.
    saying: Option<Bytes>,
    /// Whether the request was written, so that only its answer is owed.
    sent: bool,
    rounds: u32,
}

/// For how long a login counts; `None`: as long as the connection stands.
#[derive(Clone, Copy, Debug)]
struct Entered {
    renew: Option<Instant>,
    ends: Option<Instant>,
}

impl Entered {
    fn after(session: Duration) -> Self {
        if session.is_zero() {
            return Self { renew: None, ends: None };
        }
        let now = Instant::now();
        // 80 to 90 %, so that connections that were made together do not log in together.
        let percent = 80 + u32::try_from(std::hash::RandomState::new().build_hasher().finish() % 11).unwrap_or(5);
        Self { renew: Some(now + (session * percent / 100).max(SOONEST)), ends: Some(now + session) }
    }

    fn due(&self) -> bool {
        self.renew.is_some_and(|at| at <= Instant::now())
    }
}

impl Session {
    pub(super) fn new(login: Arc<dyn Login>, peer: Peer) -> Self {
        Self { login, peer, talk: None, entered: None, failed: None }
    }

    /// Begins a conversation. While the last login still counts, a token that is late is no harm yet.
    async fn begin(&mut self) -> Result<Option<Talk>, WireError> {
        let begun = timeout(BEGINNING, self.login.begin(&self.peer));
        let begun = begun.await.unwrap_or_else(|_| Err(WireError::NoToken("nothing came in time".to_owned())));
        match (begun, &mut self.entered) {
            (Ok(conversation), _) => {
                Ok(Some(Talk { conversation: Some(conversation), saying: None, sent: false, rounds: 0 }))
            }
            (Err(WireError::NoToken(_) | WireError::NoTicket(_) | WireError::Unusable(_)), Some(entered))
                if entered.ends.is_some_and(|end| Instant::now() + AGAIN < end) =>
            {
                entered.renew = Some(Instant::now() + AGAIN);
                Ok(None)
            }
            (Err(error), _) => Err(error),
        }
    }
}

impl Connection {
    /// Logs in where that is to be done and is not, or has to be repeated.
    pub(super) async fn log_in(&mut self, deadline: Duration) -> Result<(), WireError> {
        if !self.logs_in {
            return Ok(());
        }
        // Gone if an earlier login was dropped half-way.
        let Some(mut session) = self.session.take() else { return Err(WireError::Closed) };
        let result = self.enter_session(&mut session, deadline).await;
        self.session = Some(session);
        result
    }

    async fn enter_session(&mut self, session: &mut Session, deadline: Duration) -> Result<(), WireError> {
        if let Some(error) = &session.failed {
            return Err(error.clone());
        }
        if session.talk.is_none() {
            if session.entered.is_some_and(|entered| !entered.due()) {
                return Ok(());
            }
            match session.begin().await {
                Ok(Some(talk)) => session.talk = Some(talk),
                Ok(None) => return Ok(()),
                Err(error) => {
                    session.failed = Some(error.clone());
                    return Err(error);
                }
            }
        }
        let Some(talk) = &mut session.talk else { return Ok(()) };
        let lasts = self.talk(talk, session.login.mechanism(), deadline).await;
        let conversation = talk.conversation.as_mut();
        match lasts {
            Ok(lasts) => {
                if let Some(conversation) = conversation {
                    conversation.ended(Ok(()));
                }
                session.talk = None;
                session.entered = Some(Entered::after(lasts));
                Ok(())
            }
            Err(WireError::Silent) => {
                if let Some(conversation) = conversation {
                    conversation.stalled();
                }
                Err(WireError::Silent)
            }
            Err(error) => {
                if let Some(conversation) = conversation {
                    conversation.ended(Err(&error));
                }
                session.talk = None;
                session.failed = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Goes on with a login until it is through; for how long it counts then.
    async fn talk(&mut self, talk: &mut Talk, mechanism: &str, deadline: Duration) -> Result<Duration, WireError> {
        if talk.saying.is_none() {
            self.name_mechanism(talk, mechanism, deadline).await?;
            let first = next(talk, None).await?;
            talk.saying = Some(first.ok_or_else(|| WireError::PeerNotProven("nothing to say".to_owned()))?);
            talk.sent = false;
        }
        loop {
            let Some(said) = talk.saying.clone() else { return Err(WireError::Closed) };
            let Some(version) = self.versions.common(Api::SaslAuthenticate) else {
                return Err(WireError::TooOld(Api::SaslAuthenticate.name()));
            };
            let until = Instant::now() + deadline;
            let request = SaslAuthenticateRequest { said };
            let (answer, _) = self.exchange(&request, version, until, &mut talk.sent).await?;
            if answer.error != 0 {
                return Err(refused(talk, &answer));
            }
            talk.rounds += 1;
            match next(talk, Some(answer.said)).await? {
                None => return Ok(answer.session),
                Some(_) if talk.rounds >= ROUNDS => {
                    return Err(WireError::PeerNotProven(format!("no end after {ROUNDS} rounds")));
                }
                Some(more) => (talk.saying, talk.sent) = (Some(more), false),
            }
        }
    }

    async fn name_mechanism(&mut self, talk: &mut Talk, mechanism: &str, deadline: Duration) -> Result<(), WireError> {
        let until = Instant::now() + deadline;
        let version = match self.versions.common(Api::SaslHandshake) {
            Some(version) => version,
            None if self.versions.offers(Api::SaslHandshake) => {
                return Err(WireError::TooOld(Api::SaslHandshake.name()));
            }
            None => return Err(WireError::NoLoginHere),
        };
        let request = SaslHandshakeRequest { mechanism: mechanism.to_owned() };
        let (answer, _) = self.exchange(&request, version, until, &mut talk.sent).await?;
        match answer.error {
            0 => Ok(()),
            33 => {
                let offered = answer.mechanisms.iter().take(20).map(|name| shown(name)).collect();
                Err(WireError::MechanismNotOffered { mechanism: mechanism.to_owned(), offered })
            }
            // What a listener without SASL says (KafkaApis.handleSaslHandshakeRequest).
            34 => Err(WireError::NoLoginHere),
            code => Err(WireError::LoginRefused(format!("SaslHandshake answered error {code}"))),
        }
    }
}

/// What the conversation says next. On a thread for what takes long: a password is hashed thousands of times.
async fn next(talk: &mut Talk, said: Option<Bytes>) -> Result<Option<Bytes>, WireError> {
    let Some(mut conversation) = talk.conversation.take() else { return Err(WireError::Closed) };
    let thought = tokio::task::spawn_blocking(move || {
        let next = conversation.next(said.as_deref());
        (conversation, next)
    });
    let (conversation, next) =
        thought.await.map_err(|_| WireError::PeerNotProven("the login ended in the middle".to_owned()))?;
    talk.conversation = Some(conversation);
    Ok(next?.map(Bytes::from))
}

fn refused(talk: &Talk, answer: &SaslAuthenticateAnswer) -> WireError {
    let words = answer.message.as_deref().filter(|words| !words.is_empty());
    let words = words.map_or_else(|| format!("error {}", answer.error), str::to_owned);
    let words = talk.conversation.as_ref().map_or_else(|| words.clone(), |conversation| conversation.words(&words));
    WireError::LoginRefused(shown(&words))
}

/// A foreign text on one line and of bounded length.
fn shown(text: &str) -> String {
    let line: String = text.chars().map(|one| if one.is_control() { ' ' } else { one }).take(LONGEST_WORDS).collect();
    line.trim().to_owned()
}

#[cfg(test)]
mod tests;
