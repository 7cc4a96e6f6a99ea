//! SaslHandshake and SaslAuthenticate (KIP-43, KIP-152, KIP-368).

use std::fmt;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::generated::{
    SaslAuthenticateRequestData, SaslAuthenticateResponseData, SaslHandshakeRequestData, SaslHandshakeResponseData,
};

use super::{Decoded, Request, malformed, unwritable};
use crate::decode::{owned, text};
use crate::{Api, WireError};

/// Names the mechanism that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaslHandshakeRequest {
    /// The mechanism's name, such as `SCRAM-SHA-512`.
    pub mechanism: String,
}

/// Whether the listener takes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaslHandshakeAnswer {
    /// Error code: 33 if the mechanism is not offered, 34 if nobody logs in on this listener.
    pub error: i16,
    /// The mechanisms that are offered.
    pub mechanisms: Vec<String>,
}

impl Request for SaslHandshakeRequest {
    type Answer = SaslHandshakeAnswer;
    const API: Api = Api::SaslHandshake;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        SaslHandshakeRequestData::default()
            .with_mechanism(text(&self.mechanism)?)
            .write(out, version)
            .map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let answer = SaslHandshakeResponseData::read(body, version).map_err(malformed)?;
        let mechanisms = answer.mechanisms.iter().map(owned).collect();
        Ok(Decoded { answer: SaslHandshakeAnswer { error: answer.error_code, mechanisms }, throttle_ms: 0 })
    }
}

/// What the mechanism says. `Debug` shows its length only.
#[derive(Clone, PartialEq, Eq)]
pub struct SaslAuthenticateRequest {
    /// The mechanism's bytes; with PLAIN the password is among them.
    pub said: Bytes,
}

impl fmt::Debug for SaslAuthenticateRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SaslAuthenticateRequest({} bytes)", self.said.len())
    }
}

/// What the broker says to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaslAuthenticateAnswer {
    /// Error code: 58 if the login is refused.
    pub error: i16,
    /// The broker's words about it.
    pub message: Option<String>,
    /// The mechanism's bytes.
    pub said: Bytes,
    /// For how long the login counts (version 1 on, KIP-368); zero: as long as the connection stands.
    pub session: Duration,
}

impl Request for SaslAuthenticateRequest {
    type Answer = SaslAuthenticateAnswer;
    const API: Api = Api::SaslAuthenticate;

    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError> {
        SaslAuthenticateRequestData::default()
            .with_auth_bytes(self.said.clone())
            .write(out, version)
            .map_err(unwritable)
    }

    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError> {
        let answer = SaslAuthenticateResponseData::read(body, version).map_err(malformed)?;
        let answer = SaslAuthenticateAnswer {
            error: answer.error_code,
            message: answer.error_message.as_ref().map(owned),
            said: answer.auth_bytes,
            session: u64::try_from(answer.session_lifetime_ms).map_or(Duration::ZERO, Duration::from_millis),
        };
        Ok(Decoded { answer, throttle_ms: 0 })
    }
}
