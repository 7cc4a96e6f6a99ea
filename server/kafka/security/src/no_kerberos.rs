//! Kerberos in a build without it: there are no tickets, and whoever wants one is told how to get a build that has them.

use std::convert::Infallible;

use unstuck_wire::WireError;

use crate::material::{MECHANISM, unusable};
use crate::sasl::Mechanism;
use crate::{Sasl, TicketError, Unusable};

const MISSING: &str = "GSSAPI: this build has no Kerberos. Build Unstuck with `make build KERBEROS=1`; what has to be \
                       installed for it is in docs/configuration.md";

/// Whether this build has Kerberos.
///
/// # Errors
/// In this build always.
pub fn kerberos_built_in() -> Result<(), Unusable> {
    Err(unusable(MECHANISM, MISSING))
}

/// Where tickets come from. There are none in this build.
#[derive(Clone, Debug)]
pub struct Tickets(Infallible);

impl Tickets {
    /// The tickets of a login: none.
    #[must_use]
    pub fn of(_: &Sasl) -> Option<Self> {
        None
    }

    /// Never called, because there are no tickets.
    ///
    /// # Errors
    /// None.
    #[expect(clippy::unused_async, reason = "it is async where there are tickets")]
    pub async fn ready(&self) -> Result<(), TicketError> {
        match self.0 {}
    }

    #[expect(clippy::unused_async, reason = "it is async where there are tickets")]
    pub(crate) async fn negotiate(&self, _: &str) -> Result<Negotiation, TicketError> {
        match self.0 {}
    }

    pub(crate) fn number(&self) -> u64 {
        match self.0 {}
    }
}

/// A login under way, of which there is none.
pub(crate) struct Negotiation(Infallible);

impl Mechanism for Negotiation {
    fn next(&mut self, _: Option<&[u8]>) -> Result<Option<Vec<u8>>, WireError> {
        match self.0 {}
    }

    fn words(&self, _: &str) -> String {
        match self.0 {}
    }
}
