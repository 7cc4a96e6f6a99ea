//! Tokens of OAUTHBEARER (KIP-255, RFC 7628): where they come from, how long they are kept, and how often they are asked
//! for.
//!
//! - A file is read before each login.
//! - Tokens for Amazon MSK are signed here, with credentials that are found as programs of AWS find them.
//! - An endpoint is asked when four fifths of a token's life are over, once for all who wait. While the old token is good
//!   it is given out, also when the endpoint fails.
//! - A failure is told again for 30 s before the endpoint is asked anew, so that no account is locked and no endpoint
//!   flooded. Only where there was no connection at all, and never a token, is it asked sooner: after 1 s, 2 s, … 30 s.
//!   With another secret it is asked at once.

mod endpoint;
mod error;
mod jwt;
mod known;
mod msk;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::OwnedMutexGuard;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use self::endpoint::Endpoint;
pub use self::error::TokenError;
use self::known::{Known, Standing};
use self::msk::Msk;
use crate::{Sasl, Secret, TokenSource};

/// The longest token that is taken, in bytes. Those of AWS are some 2 KiB long, JWTs with many groups a few more.
const LONGEST: usize = 64 * 1024;

/// A bearer token.
#[derive(Clone, Debug)]
pub struct Token {
    /// What is sent to the broker.
    pub value: SecretString,
    /// Whom it names, if that can be read (the claim `sub` of a JWT). The broker decides whom it takes us for.
    pub principal: Option<String>,
    /// When it ends, if that is known.
    pub expires: Option<Timestamp>,
}

/// Where the tokens of one cluster come from. There should be one for all connections of a cluster, so that they share
/// what it gets; a clone is another handle of the same.
#[derive(Clone, Debug)]
pub struct Tokens {
    kept: Arc<Kept>,
}

#[derive(Debug)]
struct Kept {
    source: Source,
    /// Held by whoever asks the source.
    asking: Arc<tokio::sync::Mutex<()>>,
    known: Mutex<Known>,
}

#[derive(Debug)]
enum Source {
    /// Somebody else renews it.
    Given(Secret),
    Endpoint(Endpoint),
    Msk(Msk),
}

impl Tokens {
    /// The tokens of a login; `None` for mechanisms without.
    #[must_use]
    pub fn of(sasl: &Sasl) -> Option<Self> {
        match sasl {
            Sasl::OAuthBearer(source) => Some(Self::new(source)),
            Sasl::MskIam { region } => Some(Self::from(Source::Msk(Msk::new(region)))),
            _ => None,
        }
    }

    /// The tokens of a source.
    #[must_use]
    pub fn new(source: &TokenSource) -> Self {
        Self::from(match source {
            TokenSource::Token(secret) => Source::Given(secret.clone()),
            TokenSource::ClientCredentials { endpoint, client_id, client_secret, scope, ca } => {
                Source::Endpoint(Endpoint {
                    url: endpoint.clone(),
                    client_id: client_id.clone(),
                    client_secret: client_secret.clone(),
                    scope: scope.clone(),
                    ca: ca.clone(),
                })
            }
        })
    }

    fn from(source: Source) -> Self {
        Self { kept: Arc::new(Kept { source, asking: Arc::default(), known: Mutex::default() }) }
    }

    /// A token for a login at `host`, which is named in the log only: tokens are good for all brokers of a cluster.
    ///
    /// It may take as long as the endpoint does, up to 10 s. Whoever stops waiting loses nothing: the next call gets what
    /// the endpoint answered meanwhile. Needs a runtime of tokio with its timer and I/O.
    ///
    /// # Errors
    /// There is none: see [`TokenError`]. The same failure may be told again for up to 30 s without anybody being asked.
    pub async fn token(&self, host: &str) -> Result<Token, TokenError> {
        let had = match &self.kept.source {
            Source::Given(secret) => given(secret).await,
            Source::Endpoint(_) | Source::Msk(_) => self.kept_or_asked().await,
        };
        match &had {
            Ok(token) => tracing::trace!(host, expires = ?token.expires, "a token for a login"),
            Err(error) => tracing::debug!(host, "no token for a login: {error}"),
        }
        had
    }

    async fn kept_or_asked(&self) -> Result<Token, TokenError> {
        let standing = self.kept.known().at(Timestamp::now());
        match standing {
            Standing::Fresh(token) => Ok(token),
            Standing::Old(token) => {
                // Nobody waits for the new one, and one who asks is enough.
                if let Ok(asking) = Arc::clone(&self.kept.asking).try_lock_owned() {
                    let kept = Arc::clone(&self.kept);
                    drop(tokio::spawn(async move { kept.ask(asking).await }));
                }
                Ok(token)
            }
            Standing::Nothing => {
                // A task of its own: a login whose deadline passes must not cancel what others wait for.
                let kept = Arc::clone(&self.kept);
                let asked = tokio::spawn(async move {
                    let asking = Arc::clone(&kept.asking).lock_owned().await;
                    kept.ask(asking).await
                });
                asked.await.unwrap_or(Err(TokenError::Ending))
            }
        }
    }
}

impl Kept {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the source, unless somebody else did so meanwhile, or it failed a moment ago.
    async fn ask(&self, _asking: OwnedMutexGuard<()>) -> Result<Token, TokenError> {
        let standing = self.known().at(Timestamp::now());
        if let Standing::Fresh(token) = standing {
            return Ok(token);
        }
        let with = self.source.secret().await?;
        if let Some(error) = self.known().failing(with.as_ref(), Instant::now()) {
            return Err(error);
        }
        let begun = Timestamp::now();
        let answer = match &self.source {
            Source::Given(secret) => given(secret).await,
            Source::Endpoint(endpoint) => endpoint.ask(with.as_ref()).await,
            Source::Msk(msk) => msk.ask().await,
        };
        match answer {
            Ok(token) => {
                self.known().got(token.clone(), begun);
                Ok(token)
            }
            Err(error) => {
                // Once for each time it is asked; logins that hear it again do not log it again.
                tracing::warn!("{error}");
                self.known().failed(error.clone(), with, Instant::now());
                Err(error)
            }
        }
    }
}

impl Source {
    /// The secret that the source is asked with, if there is one.
    async fn secret(&self) -> Result<Option<SecretString>, TokenError> {
        match self {
            Self::Given(_) | Self::Msk(_) => Ok(None),
            Self::Endpoint(endpoint) => read(&endpoint.client_secret).await.map(Some),
        }
    }
}

/// Reads a secret without holding up the other tasks of this thread.
async fn read(secret: &Secret) -> Result<SecretString, TokenError> {
    let secret = secret.clone();
    Ok(spawn_blocking(move || secret.read()).await.map_err(|_| TokenError::Ending)??)
}

/// The token that stands in a file, or in the configuration.
async fn given(secret: &Secret) -> Result<Token, TokenError> {
    let value = read(secret).await?;
    let place = match secret {
        Secret::Value(_) => "the token that was given".to_owned(),
        Secret::File(path) => format!("the token in {}", path.display()),
    };
    token(value, &place, None, Timestamp::now())
}

/// Takes what should be a token. `life` is how long it is good, if its source says so.
fn token(
    value: SecretString,
    place: &str,
    life: Option<jiff::SignedDuration>,
    now: Timestamp,
) -> Result<Token, TokenError> {
    let text = value.expose_secret();
    let not = |why| Err(TokenError::NotAToken { place: place.to_owned(), why });
    if text.len() > LONGEST {
        return not("it is longer than 64 KiB");
    }
    // RFC 6750, section 2.1. A byte 1 would end the field of the login's message (RFC 7628, section 3.1).
    let body = text.trim_end_matches('=');
    if body.is_empty() || !body.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte)) {
        return not("it holds other characters than letters, digits and - . _ ~ + / =");
    }
    let claims = jwt::claims(text);
    let told = life.and_then(|life| now.checked_add(life).ok());
    let expires = claims.expires.into_iter().chain(told).min();
    if let Some(at) = expires.filter(|at| *at <= now) {
        return Err(TokenError::Expired { place: place.to_owned(), at });
    }
    Ok(Token { principal: claims.subject, expires, value })
}
