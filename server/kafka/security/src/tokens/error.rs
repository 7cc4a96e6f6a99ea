//! Why there is no token, each a sentence.

use jiff::Timestamp;

use crate::Unreadable;

/// Why there is no token. `Display` is a sentence without its full stop; neither a secret nor a token is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// A file with the token, the client's secret or certificates cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// What should be a token holds what no bearer token may hold (RFC 6750, section 2.1), or is too long.
    #[error("{place} is no bearer token: {why}")]
    NotAToken {
        /// Where it came from.
        place: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The token's `exp` is in the past. Brokers would refuse it.
    #[error("{place} expired at {at}, says this machine's clock: it has to be renewed, or one of the clocks is wrong")]
    Expired {
        /// Where it came from.
        place: String,
        /// When it expired, in whole seconds.
        at: Timestamp,
    },
    /// The endpoint's address or certificates cannot be used at all.
    #[error("the token endpoint {endpoint} cannot be asked: {why}")]
    Unusable {
        /// Its address.
        endpoint: String,
        /// Why.
        why: String,
    },
    /// There is no connection to the endpoint.
    #[error("the token endpoint {endpoint} cannot be reached: {why}")]
    Unreachable {
        /// Its address.
        endpoint: String,
        /// The operating system's words.
        why: String,
    },
    /// The endpoint took the request and did not answer it in time, or broke off.
    #[error("the token endpoint {endpoint} gave no answer: {why}")]
    NoAnswer {
        /// Its address.
        endpoint: String,
        /// In which way.
        why: String,
    },
    /// TLS with the endpoint failed.
    #[error("TLS with the token endpoint {endpoint} failed: {why}")]
    Tls {
        /// Its address.
        endpoint: String,
        /// What the TLS library says.
        why: String,
    },
    /// The endpoint answered with an error.
    #[error("the token endpoint {endpoint} answered {status}{}", said(error.as_deref(), description.as_deref()))]
    Refused {
        /// Its address.
        endpoint: String,
        /// The status of HTTP.
        status: u16,
        /// The answer's `error` (RFC 6749, section 5.2).
        error: Option<String>,
        /// The answer's `error_description`.
        description: Option<String>,
    },
    /// The endpoint's answer has no token in it.
    #[error("the token endpoint {endpoint} answered without a token: {why}")]
    NoToken {
        /// Its address.
        endpoint: String,
        /// What was missing.
        why: &'static str,
    },
    /// There are no credentials of AWS, or they could not be had.
    #[error("no credentials of AWS to sign a token with: {why}")]
    Aws {
        /// What the places where they are looked for say.
        why: String,
    },
    /// The program is about to end.
    #[error("no token is fetched any more, because the program ends")]
    Ending,
}

impl TokenError {
    /// Whether nobody was asked, because there was no connection: then asking again soon does no harm.
    pub(super) fn not_connected(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}

/// What an endpoint said about its refusal, and which setting that is about.
fn said(error: Option<&str>, description: Option<&str>) -> String {
    let said = match (error, description) {
        (None, None) => return String::new(),
        (Some(text), None) | (None, Some(text)) => format!(": {text}"),
        (Some(error), Some(description)) => format!(": {error} ({description})"),
    };
    // RFC 6749, section 5.2.
    let look_at = match error {
        Some("invalid_client") => "; look at the client id and its secret",
        Some("invalid_scope") => "; look at the scope",
        Some("unauthorized_client" | "unsupported_grant_type") => {
            "; the client needs the grant client_credentials there"
        }
        _ => "",
    };
    said + look_at
}
