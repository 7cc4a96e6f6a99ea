//! What a login says (SASL), for whoever knows how.

use std::pin::Pin;

use crate::WireError;

/// Whom a login is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Where it was connected to, `host:port`.
    pub address: String,
    /// The host that it is known by: the one that it advertises.
    pub host: String,
}

/// A conversation about to begin.
pub type Beginning<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn Conversation>, WireError>> + Send + 'a>>;

/// How to log in, for all connections to one cluster.
pub trait Login: Send + Sync {
    /// The mechanism's name on the wire.
    fn mechanism(&self) -> &str;

    /// Whether a connection to that peer is worth a try now.
    ///
    /// # Errors
    /// What the last login ended with, while it is too early for another one.
    fn worth(&self, peer: &Peer) -> Result<(), WireError>;

    /// Begins a conversation. May wait: for a token, or for another connection's login.
    ///
    /// # Errors
    /// As [`worth`](Self::worth); [`WireError::Unusable`], [`WireError::NoToken`] or [`WireError::NoTicket`] if there is
    /// nothing to log in with.
    fn begin<'a>(&'a self, peer: &'a Peer) -> Beginning<'a>;
}

/// One login under way.
pub trait Conversation: Send {
    /// What to say next, given what the peer said to the last; nothing once the mechanism is through. May take a while:
    /// passwords are hashed on purpose slowly.
    ///
    /// # Errors
    /// [`WireError::PeerNotProven`] if the peer does not follow the mechanism, or fails its proof.
    fn next(&mut self, said: Option<&[u8]>) -> Result<Option<Vec<u8>>, WireError>;

    /// A text of the peer's as it may be shown: without what must not be.
    fn words(&self, text: &str) -> String;

    /// The peer leaves us without an answer for now; others need not wait for this one.
    fn stalled(&mut self);

    /// How it ended.
    fn ended(&mut self, end: Result<(), &WireError>);
}
