//! Requests and their answers as plain types: what Unstuck asks and reads, nothing more.

use bytes::{Bytes, BytesMut};

use crate::{Api, WireError};

pub mod api_versions;
pub mod cluster;
pub mod configs;
pub mod coordinator;
pub mod groups;
pub mod logs;
pub mod metadata;
pub mod offsets;
pub mod sasl;
pub mod transactions;

/// A request: how it is written, and how its answer is read, in each spoken version.
pub trait Request {
    /// The answer.
    type Answer;
    /// Which request it is.
    const API: Api;

    /// Writes the body.
    ///
    /// # Errors
    /// [`WireError::StringTooLong`], or [`WireError::Unwritable`] in a version that cannot say this.
    fn encode(&self, version: i16, out: &mut BytesMut) -> Result<(), WireError>;

    /// Reads the body of the answer. Anything that is not one is an error, whatever the bytes.
    ///
    /// # Errors
    /// [`WireError::Malformed`].
    fn decode(&self, version: i16, body: &mut Bytes) -> Result<Decoded<Self::Answer>, WireError>;
}

/// A decoded answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<A> {
    /// The answer.
    pub answer: A,
    /// Its `throttle_time_ms`; 0 where the version has none.
    pub throttle_ms: i32,
}

fn unwritable(error: kacrab_protocol::ProtocolError) -> WireError {
    WireError::Unwritable(error.to_string())
}

fn malformed(error: kacrab_protocol::ProtocolError) -> WireError {
    WireError::malformed(&error)
}
