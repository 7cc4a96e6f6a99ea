//! The Kafka protocol on a socket: frames, correlation, version negotiation, and plain types for the few requests that
//! Unstuck sends. The only crate that names the protocol codec.
//!
//! Where a connection has a [`Login`], it logs in by itself (SaslHandshake, SaslAuthenticate), sends nothing but
//! ApiVersions before, and logs in again before the session's end. What is said is not its business.
//!
//! Whatever bytes a peer sends, the result is an answer or a [`WireError`]: a hostile length is refused before anything
//! is allocated for it, and an answer is decoded in windows, so that memory is bounded by what arrived.

mod api;
mod connection;
mod decode;
mod dial;
mod error;
mod login;
pub mod messages;
mod release;
pub mod schema;
pub mod serve;
#[cfg(test)]
mod testing;

pub use api::{Api, VersionTable};
pub use connection::{Answered, Connection};
pub use dial::{Dial, Dialing, Stream, Tcp, host_of, speaks_tls};
pub use error::WireError;
pub use login::{Beginning, Conversation, Login, Peer};
pub use messages::{Decoded, Request};
pub use release::{Release, release_of};
