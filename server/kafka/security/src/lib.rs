//! How a cluster is entered: TLS and SASL, described once and used by both eyes.
//!
//! [`Security`] is what the configuration says. Nothing in it prints a secret: [`Secret`] shows as `***`. What it becomes
//! for the probe: [`Security::dialer`] wraps connections into TLS, [`Security::login`] logs in, [`Security::check`] tells
//! before anybody connects whether certificates, keys and secrets can be used.
//! [`Tokens`] are those of OAUTHBEARER, [`Tickets`] those of Kerberos.

mod gate;
#[cfg_attr(not(feature = "kerberos"), path = "no_kerberos.rs")]
mod kerberos;
mod material;
mod model;
mod sasl;
mod secret;
#[cfg(test)]
mod testing;
mod ticket_error;
mod tls;
mod tokens;

use std::sync::Arc;

use unstuck_wire::{Dial, Login};

pub use kerberos::{Tickets, kerberos_built_in};
pub use material::Unusable;
pub use model::{Identity, Material, Sasl, ScramHash, Security, Tls, TokenSource};
pub use secret::{Secret, Unreadable};
pub use ticket_error::TicketError;
pub use tokens::{Token, TokenError, Tokens};

impl Security {
    /// Opens connections as this cluster wants them: in TLS over those of `inner`, or as they are.
    #[must_use]
    pub fn dialer(&self, inner: Arc<dyn Dial>) -> Arc<dyn Dial> {
        match &self.tls {
            Some(tls) => Arc::new(tls::SecureDial::new(inner, tls.clone())),
            None => inner,
        }
    }

    /// The login, if there is one, with the [`Tokens`] or [`Tickets`] of this cluster. All connections to the cluster have
    /// to share it: it knows when another attempt may be made.
    #[must_use]
    pub fn login(&self, tokens: Option<Tokens>, tickets: Option<Tickets>) -> Option<Arc<dyn Login>> {
        let sasl = self.sasl.clone()?;
        Some(Arc::new(sasl::SaslLogin::new(sasl, tokens, tickets)))
    }
}
