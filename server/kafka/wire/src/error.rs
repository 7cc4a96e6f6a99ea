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
    /// The peer answers our TLS with something else.
    #[error("does not speak TLS")]
    NotTls,
    /// The peer ended the TLS handshake with an alert; the alert in words.
    #[error("refuses our TLS handshake ({0})")]
    TlsRefused(String),
    /// The TLS handshake failed for another reason; the library's words.
    #[error("the TLS handshake fails ({0})")]
    TlsFailed(String),
    /// The peer's certificate does not lead to one that is trusted; whose it is and who issued it.
    #[error("its certificate is not trusted ({0})")]
    CertificateNotTrusted(String),
    /// A certificate of the peer is not valid now; which one, and until or from when it is.
    #[error("its certificate is not valid now ({0})")]
    CertificateExpired(String),
    /// The peer's certificate is for other hosts.
    #[error("its certificate is not for {host}, but for {}", names.join(", "))]
    CertificateForOthers {
        /// The host that it should be for.
        host: String,
        /// The names that it has.
        names: Vec<String>,
    },
    /// The login was refused; the peer's words.
    #[error("refuses the login ({0})")]
    LoginRefused(String),
    /// The listener does not offer the mechanism.
    #[error("does not offer {mechanism}, but {}", offered.join(", "))]
    MechanismNotOffered {
        /// The mechanism that we have.
        mechanism: String,
        /// The mechanisms that it offers.
        offered: Vec<String>,
    },
    /// Nobody logs in on this listener, and we were to.
    #[error("takes no login")]
    NoLoginHere,
    /// The peer did not prove that it knows the password, or does not follow the mechanism; what was wrong.
    #[error("does not prove that it knows the password ({0})")]
    PeerNotProven(String),
    /// There is no token to log in with; the words of whoever should give one. Nothing was sent.
    #[error("there is no token to log in with ({0})")]
    NoToken(String),
    /// There is no ticket of Kerberos to log in with; the words of the Kerberos library, and which settings to look at.
    /// Nothing was sent.
    #[error("there is no Kerberos ticket to log in with ({0})")]
    NoTicket(String),
    /// A certificate, key or secret cannot be used; names the setting and the file. Nothing was sent.
    #[error("{0}")]
    Unusable(String),
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

    /// What a failed read or write on a connection that stood means. A [`Stream`](crate::Stream) that knows better than
    /// the operating system wraps a `WireError` into its error.
    #[must_use]
    pub fn from_stream(error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        if let Some(known) = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            return known.clone();
        }
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
