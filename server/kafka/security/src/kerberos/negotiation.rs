//! What a login by GSSAPI says (RFC 4752, section 3.1): tokens until both sides know each other, then an answer to the
//! security layers that the broker offers. Kafka offers none: whatever is to be hidden goes through TLS.

use libgssapi::context::{ClientCtx, CtxFlags, SecurityContext};
use libgssapi::credential::Cred;
use libgssapi::error::Error;
use libgssapi::name::Name;
use libgssapi::oid::{GSS_MECH_KRB5, GSS_NT_HOSTBASED_SERVICE};
use unstuck_wire::WireError;

use super::words;
use crate::sasl::Mechanism;

/// The layer "none", as it is offered and chosen.
const NO_LAYER: u8 = 1;

/// One login under way.
pub(crate) struct Negotiation {
    context: ClientCtx,
    stage: Stage,
}

enum Stage {
    /// The first token, which was made from the ticket.
    First(Vec<u8>),
    /// Tokens go to and fro.
    Tokens,
    /// The broker has proven who it is, and offers layers next.
    Offer,
    Through,
}

impl Negotiation {
    /// Gets a ticket for `target` (`service@host`), which asks the KDC, and makes the first token of it.
    ///
    /// The broker has to prove itself too. No right to act as us is handed on (no delegation).
    pub(super) fn begin(credentials: Cred, target: &str) -> Result<Self, Error> {
        let target = Name::new(target.as_bytes(), Some(GSS_NT_HOSTBASED_SERVICE))?;
        let flags = CtxFlags::GSS_C_MUTUAL_FLAG
            | CtxFlags::GSS_C_REPLAY_FLAG
            | CtxFlags::GSS_C_SEQUENCE_FLAG
            | CtxFlags::GSS_C_INTEG_FLAG;
        let mut context = ClientCtx::new(Some(credentials), target, flags, Some(GSS_MECH_KRB5));
        let first = context.step(None, None)?.map(|token| token.to_vec()).unwrap_or_default();
        Ok(Self { context, stage: Stage::First(first) })
    }

    fn token(&mut self, said: &[u8]) -> Result<Vec<u8>, WireError> {
        let token = self.context.step(Some(said), None).map_err(|error| unproven(&error))?;
        let token = token.map(|token| token.to_vec()).unwrap_or_default();
        self.stage = Stage::Tokens;
        if self.context.is_complete() {
            let proven = self.context.flags().map_err(|error| unproven(&error))?;
            if !proven.contains(CtxFlags::GSS_C_MUTUAL_FLAG) {
                return Err(WireError::PeerNotProven("Kerberos: it does not say who it is".to_owned()));
            }
            self.stage = Stage::Offer;
        }
        // Nothing is a message too: it asks for the offer.
        Ok(token)
    }

    fn choose(&mut self, said: &[u8]) -> Result<Vec<u8>, WireError> {
        let offer = self.context.unwrap(said).map_err(|error| unproven(&error))?;
        match *offer {
            [layers, _, _, _] if layers & NO_LAYER != 0 => {}
            [_, _, _, _] => {
                let words = "Kerberos: it wants a security layer, which Kafka does not have";
                return Err(WireError::PeerNotProven(words.to_owned()));
            }
            _ => return Err(WireError::PeerNotProven("Kerberos: it offers no security layers".to_owned())),
        }
        // No layer, so no message in it either; no other name than that of the ticket.
        let chosen = self.context.wrap(false, &[NO_LAYER, 0, 0, 0]).map_err(|error| unproven(&error))?;
        self.stage = Stage::Through;
        Ok(chosen.to_vec())
    }
}

impl Mechanism for Negotiation {
    fn next(&mut self, said: Option<&[u8]>) -> Result<Option<Vec<u8>>, WireError> {
        let heard = said.unwrap_or_default();
        match std::mem::replace(&mut self.stage, Stage::Tokens) {
            Stage::First(token) => Ok(Some(token)),
            Stage::Tokens => self.token(heard).map(Some),
            Stage::Offer => self.choose(heard).map(Some),
            Stage::Through => {
                self.stage = Stage::Through;
                if heard.is_empty() {
                    return Ok(None);
                }
                Err(WireError::PeerNotProven("it says more than the mechanism has".to_owned()))
            }
        }
    }

    fn words(&self, text: &str) -> String {
        text.to_owned()
    }
}

fn unproven(error: &Error) -> WireError {
    WireError::PeerNotProven(format!("Kerberos: {}", words(error)))
}
