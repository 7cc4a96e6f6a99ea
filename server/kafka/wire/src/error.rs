//! What can go wrong between us and a broker.

use kacrab_protocol::ProtocolError;

/// Why a request was not answered. Each variant is a different thing for an operator to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The host name has no address here; the text is the resolver's.
    #[error("the host name cannot be resolved ({0})")]
    NameNotFound(String),
    /// The host refuses connections on this port.
    #[error("connection refused")]
    Refused,
    /// No route, network or host unreachable; the text is the operating system's.
    #[error("unreachable ({0})")]
    Unreachable(String),
    /// The connection attempt was not answered in time.
    #[error("the connection attempt timed out")]
    ConnectTimeout,
    /// The connection stands, but the request was not answered in time.
    #[error("no answer in time")]
    Silent,
    /// The peer closed the connection.
    #[error("the connection was closed")]
    Closed,
    /// The peer answered ApiVersions and closed the connection on the first other request:
    /// what a SASL listener does to a client that does not authenticate.
    #[error("the connection was closed after ApiVersions")]
    ClosedAfterApiVersions,
    /// The peer answers in HTTP.
    #[error("speaks HTTP, not Kafka")]
    SpeaksHttp,
    /// The peer answers in TLS.
    #[error("speaks TLS, not plaintext Kafka")]
    SpeaksTls,
    /// The answer is not a valid Kafka answer; the text says what is wrong with it.
    #[error("malformed answer ({0})")]
    Malformed(String),
    /// The broker offers the request in no version that we speak; the API's name.
    #[error("the broker offers {0} in no version that we speak")]
    TooOld(&'static str),
    /// A string of the request does not fit the protocol (32,767 bytes); its length in bytes. Nothing was sent.
    #[error("a string of {0} bytes does not fit the protocol (at most 32,767)")]
    StringTooLong(usize),
    /// The request cannot be written in the negotiated version; the codec's words. Nothing was sent.
    #[error("the request cannot be written ({0})")]
    Unwritable(String),
}

impl WireError {
    /// A decoding failure of the codec.
    pub(crate) fn malformed(error: &ProtocolError) -> Self {
        Self::Malformed(error.to_string())
    }

    /// What a failed read or write on a connection that stood means.
    pub(crate) fn from_stream(error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            // The kernel gave up on retransmission: the peer's host is gone without a word.
            ErrorKind::TimedOut => Self::Silent,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
                Self::Unreachable(plain(error))
            }
            _ => Self::Closed,
        }
    }

    /// What a failed connection attempt means.
    pub(crate) fn from_connect(error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::ConnectionRefused => Self::Refused,
            ErrorKind::TimedOut => Self::ConnectTimeout,
            // Accepted by a proxy or firewall and reset at once.
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => Self::Closed,
            _ => Self::Unreachable(plain(error)),
        }
    }
}

/// The operating system's words without Rust's `(os error N)`.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
