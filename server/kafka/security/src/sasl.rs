//! The login: SASL's mechanisms by `rsasl`, and Kerberos by the library of the machine, as [`unstuck_wire`] carries them.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use rsasl::callback::{Context, Request, SessionCallback, SessionData};
use rsasl::config::SASLConfig;
use rsasl::mechname::Mechname;
use rsasl::prelude::{SASLClient, Session, SessionError, State};
use rsasl::property::{AuthId, OAuthBearerToken, Password};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;
use unstuck_wire::{Beginning, Conversation, Login, Peer, WireError};

use crate::gate::Gate;
use crate::material::{MECHANISM, PASSWORD, TOKEN, secret};
use crate::{Sasl, Tickets, TokenSource, Tokens, kerberos_built_in};

/// How often SCRAM may have a password hashed. Fewer rounds than Kafka's own least (`ScramMechanism`) make guessing easy
/// for whoever listens; more than this only keep us busy.
const ITERATIONS: std::ops::RangeInclusive<u32> = 4_096..=1_000_000;
/// How a client takes note of an error in OAUTHBEARER, so that the server may end the login (RFC 7628 section 3.2.3).
const ERROR_SEEN: u8 = 1;

/// Logs in to one cluster.
pub(crate) struct SaslLogin {
    sasl: Sasl,
    tokens: Option<Tokens>,
    tickets: Option<Tickets>,
    gate: Arc<Gate>,
    /// Numbers for secrets, which tell nothing about them.
    numbers: RandomState,
}

impl SaslLogin {
    pub(crate) fn new(sasl: Sasl, tokens: Option<Tokens>, tickets: Option<Tickets>) -> Self {
        Self { tokens, tickets, sasl, gate: Arc::default(), numbers: RandomState::new() }
    }

    /// A number that changes with the secret; that of tokens which are fetched does not.
    fn number(&self) -> Result<u64, WireError> {
        let unusable = |error: crate::Unusable| WireError::Unusable(error.to_string());
        let secret = match &self.sasl {
            Sasl::Plain { password, .. } | Sasl::Scram { password, .. } => {
                secret(PASSWORD, password).map_err(unusable)?
            }
            Sasl::OAuthBearer(TokenSource::Token(token)) => secret(TOKEN, token).map_err(unusable)?,
            Sasl::OAuthBearer(TokenSource::ClientCredentials { .. }) | Sasl::MskIam { .. } => return Ok(0),
            Sasl::Gssapi { .. } => return Ok(self.tickets.as_ref().map_or(0, Tickets::number)),
        };
        Ok(self.numbers.hash_one(secret.expose_secret()))
    }

    async fn credentials(&self, peer: &Peer) -> Result<Credentials, WireError> {
        let unusable = |error: crate::Unusable| WireError::Unusable(error.to_string());
        match &self.sasl {
            Sasl::Plain { username, password } | Sasl::Scram { username, password, .. } => Ok(Credentials {
                username: Some(username.clone()),
                secret: secret(PASSWORD, password).map_err(unusable)?,
            }),
            Sasl::OAuthBearer(_) | Sasl::MskIam { .. } => {
                let Some(tokens) = &self.tokens else {
                    return Err(WireError::Unusable(format!("{MECHANISM}: this build has no tokens of AWS")));
                };
                let token = tokens.token(&peer.host).await.map_err(|error| WireError::NoToken(error.to_string()))?;
                Ok(Credentials { username: None, secret: token.value })
            }
            // They have tickets instead.
            Sasl::Gssapi { .. } => Err(WireError::Unusable(format!("{MECHANISM}: GSSAPI has no secret"))),
        }
    }

    async fn mechanism(&self, peer: &Peer) -> Result<Box<dyn Mechanism>, WireError> {
        if let Some(tickets) = &self.tickets {
            let negotiation = tickets.negotiate(&peer.host).await;
            return Ok(Box::new(negotiation.map_err(|error| WireError::NoTicket(error.to_string()))?));
        }
        let credentials = self.credentials(peer).await?;
        Ok(Box::new(Spoken {
            secret: credentials.secret.clone(),
            session: session(self.sasl.mechanism(), credentials)?,
            bearer: matches!(self.sasl, Sasl::OAuthBearer(_) | Sasl::MskIam { .. }),
            round: 0,
            through: false,
        }))
    }
}

impl fmt::Debug for SaslLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaslLogin").field("mechanism", &self.sasl.mechanism()).finish_non_exhaustive()
    }
}

impl Login for SaslLogin {
    fn mechanism(&self) -> &str {
        self.sasl.mechanism()
    }

    fn worth(&self, peer: &Peer) -> Result<(), WireError> {
        if let Sasl::Gssapi { .. } = self.sasl {
            kerberos_built_in().map_err(|error| WireError::Unusable(error.to_string()))?;
        }
        self.gate.open(&peer.address, self.number()?)
    }

    fn begin<'a>(&'a self, peer: &'a Peer) -> Beginning<'a> {
        Box::pin(async move {
            let begun = Instant::now();
            let mechanism = self.mechanism(peer).await;
            let number = self.number()?;
            if let Err(error) = &mechanism {
                self.gate.ended(&peer.address, number, begun, Err(error));
            }
            let mechanism = mechanism?;
            let turn = self.gate.turn(&peer.address, number).await?;
            let conversation = Attempt {
                mechanism,
                gate: Arc::clone(&self.gate),
                address: peer.address.clone(),
                number,
                begun: Instant::now(),
                turn,
            };
            let conversation: Box<dyn Conversation> = Box::new(conversation);
            Ok(conversation)
        })
    }
}

/// What is logged in with.
struct Credentials {
    username: Option<String>,
    secret: SecretString,
}

impl SessionCallback for Credentials {
    fn callback(&self, _: &SessionData, _: &Context<'_>, request: &mut Request<'_>) -> Result<(), SessionError> {
        let secret = self.secret.expose_secret();
        match &self.username {
            Some(username) => request.satisfy::<AuthId>(username)?.satisfy::<Password>(secret.as_bytes())?,
            None => request.satisfy::<OAuthBearerToken>(secret)?,
        };
        Ok(())
    }
}

fn session(mechanism: &str, credentials: Credentials) -> Result<Session, WireError> {
    let unknown = |error: &dyn fmt::Display| WireError::Unusable(format!("{MECHANISM}: {mechanism}: {error}"));
    let config = SASLConfig::builder().with_defaults().with_callback(credentials).map_err(|error| unknown(&error))?;
    let name = Mechname::parse(mechanism.as_bytes()).map_err(|error| unknown(&error))?;
    SASLClient::new(config).start_suggested(&[name]).map_err(|error| unknown(&error))
}

/// What a mechanism says.
pub(crate) trait Mechanism: Send {
    /// As [`Conversation::next`].
    fn next(&mut self, said: Option<&[u8]>) -> Result<Option<Vec<u8>>, WireError>;

    /// As [`Conversation::words`].
    fn words(&self, text: &str) -> String;
}

/// One login.
struct Attempt {
    mechanism: Box<dyn Mechanism>,
    gate: Arc<Gate>,
    address: String,
    number: u64,
    begun: Instant,
    /// Kept while others wait for the end of this login.
    turn: Option<OwnedMutexGuard<()>>,
}

impl Conversation for Attempt {
    fn next(&mut self, said: Option<&[u8]>) -> Result<Option<Vec<u8>>, WireError> {
        self.mechanism.next(said)
    }

    fn words(&self, text: &str) -> String {
        self.mechanism.words(text)
    }

    fn stalled(&mut self) {
        self.turn = None;
    }

    fn ended(&mut self, end: Result<(), &WireError>) {
        self.gate.ended(&self.address, self.number, self.begun, end);
        self.turn = None;
    }
}

/// A mechanism of `rsasl`.
struct Spoken {
    session: Session,
    /// So that a broker's words can be kept clear of it.
    secret: SecretString,
    /// Whether the mechanism is OAUTHBEARER.
    bearer: bool,
    round: u32,
    through: bool,
}

impl Mechanism for Spoken {
    fn next(&mut self, said: Option<&[u8]>) -> Result<Option<Vec<u8>>, WireError> {
        if self.through {
            return match said {
                Some([]) | None => Ok(None),
                Some(_) => Err(WireError::PeerNotProven("it says more than the mechanism has".to_owned())),
            };
        }
        let said = said.filter(|_| self.round > 0);
        if self.bearer && self.round > 0 {
            self.through = true;
            // Anything but an empty answer is an error. The broker's words about it follow.
            return Ok(said.is_some_and(|said| !said.is_empty()).then(|| vec![ERROR_SEEN]));
        }
        match self.round {
            0 => {}
            1 => bounded(said.unwrap_or_default())?,
            _ => attributes(said.unwrap_or_default(), 1)?,
        }
        self.round += 1;
        let mut saying = Vec::new();
        let state = self.session.step(said, &mut saying).map_err(|error| unproven(&error))?;
        self.through = state.is_finished();
        let speaks = match state {
            State::Running => true,
            State::Finished(sent) => matches!(sent, rsasl::prelude::MessageSent::Yes),
        };
        Ok(speaks.then_some(saying))
    }

    fn words(&self, text: &str) -> String {
        text.replace(self.secret.expose_secret(), "***")
    }
}

fn unproven(error: &SessionError) -> WireError {
    match error {
        SessionError::MutualAuthenticationFailed => WireError::PeerNotProven("its signature is wrong".to_owned()),
        other => WireError::PeerNotProven(other.to_string()),
    }
}

/// Whether SCRAM's answer has so many attributes (`v=…`). `rsasl` 2.3.1 panics at one that is shorter than its name.
fn attributes(said: &[u8], count: usize) -> Result<(), WireError> {
    let named = said.split(|byte| *byte == b',').take(count).filter(|part| part.get(1) == Some(&b'='));
    if named.count() == count {
        return Ok(());
    }
    Err(WireError::PeerNotProven("what it says is no answer of SCRAM".to_owned()))
}

/// Whether SCRAM's first answer (`r=…,s=…,i=4096`) asks for a sensible number of iterations.
fn bounded(said: &[u8]) -> Result<(), WireError> {
    attributes(said, 3)?;
    let text = String::from_utf8_lossy(said);
    let Some(iterations) = text.split(',').nth(2).and_then(|part| part.strip_prefix("i=")) else {
        return Err(WireError::PeerNotProven("what it says is no answer of SCRAM".to_owned()));
    };
    match iterations.parse::<u32>() {
        Ok(count) if ITERATIONS.contains(&count) => Ok(()),
        Ok(count) => Err(WireError::PeerNotProven(format!("it wants the password hashed {count} times"))),
        Err(_) => Err(WireError::PeerNotProven("it does not say how often the password is to be hashed".to_owned())),
    }
}

#[cfg(test)]
mod tests;
