//! Unstuck's own door: who may read its pages and API, and who may write what people write about incidents.
//!
//! ```text
//! request ──→ Host known? ──→ who is it? (token, session, the proxy's header) ──→ may they? (needs.rs) ──→ handler
//! ```
//!
//! Every request passes `door::admit`, which looks the route up in one table (`needs`). What is not in the table needs
//! the most, so a route that somebody forgets is closed rather than open.

pub(crate) mod arguments;
pub(crate) mod attempts;
#[cfg(test)]
mod checklist;
pub(crate) mod command;
pub(crate) mod credentials;
pub(crate) mod door;
pub(crate) mod login;
pub(crate) mod needs;
pub(crate) mod oidc;
pub(crate) mod proxy;
pub(crate) mod sessions;
#[cfg(test)]
mod tests;
pub(crate) mod tokens;

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

pub use door::Door;
pub use oidc::OidcConfig;
pub use proxy::ProxyHeader;

/// What somebody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads everything.
    Viewer,
    /// Also writes notes, takes incidents over, makes links, and presses the buttons of drills and recordings.
    Editor,
}

impl Role {
    /// The word in settings and pages.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
        }
    }

    /// The role that a word names.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Viewer, Self::Editor].into_iter().find(|role| role.word() == word)
    }
}

/// Whom a request comes from, as far as the door asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    /// The name of the token, or of the person; `None` where nobody has to say.
    pub(crate) name: Option<String>,
    /// What they may do.
    pub(crate) role: Role,
    /// Whether a session says so, which can be ended.
    pub(crate) session: bool,
}

impl Who {
    /// Whoever comes through a door that is open.
    pub(crate) fn anybody() -> Self {
        Self { name: None, role: Role::Editor, session: false }
    }
}

/// The other end of a connection: a client, or a proxy in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer(pub(crate) SocketAddr);

impl Peer {
    /// Its address, of which an IPv4 client has one alone, also where IPv6 carries it (`::ffff:192.0.2.1`).
    pub(crate) fn ip(self) -> IpAddr {
        self.0.ip().to_canonical()
    }
}
