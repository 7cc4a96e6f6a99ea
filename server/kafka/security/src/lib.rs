//! How a cluster is entered: TLS and SASL, described once and used by both eyes.
//!
//! [`Security`] is what the configuration says. Nothing in it prints a secret: [`Secret`] shows as `***`.
//! [`Tokens`] are those of OAUTHBEARER.

mod model;
mod secret;
mod tokens;

pub use model::{Identity, Material, Sasl, ScramHash, Security, Tls, TokenSource};
pub use secret::{Secret, Unreadable};
pub use tokens::{Token, TokenError, Tokens};
