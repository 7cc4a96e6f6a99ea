//! Facts that may be missing, the reasons why, and the names of Kafka's error codes.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::BrokerId;

/// A remote fact: known, unavailable for a reason, or not asked for (yet).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observed<T> {
    /// The fact, as observed.
    Known(T),
    /// Asked for in vain.
    Unavailable(Unavailable),
    /// Not asked for (yet).
    #[default]
    NotAsked,
}

impl<T> Observed<T> {
    /// The fact, if known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(fact) => Some(fact),
            Self::Unavailable(_) | Self::NotAsked => None,
        }
    }

    /// Why it is not known, if it was asked for in vain.
    pub fn unavailable(&self) -> Option<&Unavailable> {
        match self {
            Self::Unavailable(unavailable) => Some(unavailable),
            Self::Known(_) | Self::NotAsked => None,
        }
    }
}

/// Why a fact could not be observed, and since when that is so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unavailable {
    /// The reason of the latest attempt.
    pub why: Why,
    /// When the fact was first asked for in vain, with no success since.
    pub since: Timestamp,
}

/// Reasons why something could not be observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "detail")]
pub enum Why {
    /// The host name has no address here. The text is the resolver's.
    NameNotFound(String),
    /// The host refuses connections on this port.
    Refused,
    /// No route, network or host unreachable. The text is the operating system's.
    Unreachable(String),
    /// The connection attempt was not answered in time.
    ConnectTimeout,
    /// The connection stands, but a request was not answered in time.
    Silent,
    /// The connection is accepted, then closed without an answer, on every attempt.
    Closed,
    /// It accepts, answers ApiVersions, then closes: what a SASL listener does to a client without credentials.
    AuthenticationRequired,
    /// It answers, but in HTTP.
    SpeaksHttp,
    /// It answers, but in TLS (or wants TLS): a TLS listener.
    SpeaksTls,
    /// It answers without TLS, and TLS was to be spoken.
    SpeaksPlaintext,
    /// It ended the TLS handshake with an alert; the alert in words.
    TlsRefused(String),
    /// The TLS handshake failed for another reason; the library's words.
    TlsFailed(String),
    /// Its certificate does not lead to one that is trusted. Whose it is, and who issued it.
    CertificateNotTrusted(String),
    /// A certificate of its own is not valid now. Which one, and until or from when it is.
    CertificateExpired(String),
    /// Its certificate is for other hosts.
    CertificateForOthers {
        /// The host that it should be for.
        host: String,
        /// The names that it has.
        names: Vec<String>,
    },
    /// The login was refused. The broker's words.
    LoginRefused(String),
    /// The listener does not offer the mechanism of the login.
    MechanismNotOffered {
        /// The mechanism.
        mechanism: String,
        /// The mechanisms that it offers.
        offered: Vec<String>,
    },
    /// Nobody logs in on this listener, and a login was to be made.
    NoLoginHere,
    /// It did not prove that it knows the password, or does not follow the mechanism. What was wrong.
    BrokerNotProven(String),
    /// There is no token to log in with. The words of whoever should give one.
    NoToken(String),
    /// There is no ticket of Kerberos to log in with. The words of the Kerberos library, and which settings to look at.
    NoTicket(String),
    /// A certificate, key or secret of ours cannot be used. Names the setting and the file.
    SettingUnusable(String),
    /// An answer that is not a valid Kafka answer. The text says what was wrong with it.
    Malformed(String),
    /// Another broker, or none we expect, answers at this address. The id that answered.
    OtherBroker(BrokerId),
    /// The address belongs to another cluster; its id.
    OtherCluster(String),
    /// The broker's release does not offer this request in a version that we speak; the API's name.
    TooOld(String),
    /// The account lacks a right; the ACL that would show the fact, as `OPERATION on RESOURCE`.
    NotPermitted(String),
    /// The broker answered with an error code.
    ErrorCode(i16),
    /// The offsets topic is not there, so there is nothing to ask.
    NoOffsetsTopic,
    /// The client library's own words.
    Client(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameNotFound(text) => write!(f, "the host name cannot be resolved ({text})"),
            Self::Refused => f.write_str("connection refused"),
            Self::Unreachable(text) => write!(f, "unreachable ({text})"),
            Self::ConnectTimeout => f.write_str("the connection attempt timed out"),
            Self::Silent => f.write_str("accepts connections, but does not answer"),
            Self::Closed => f.write_str("accepts connections, then closes them"),
            Self::AuthenticationRequired => {
                f.write_str("closes the connection unless the client logs in (a SASL listener)")
            }
            Self::SpeaksHttp => f.write_str("speaks HTTP, not Kafka"),
            Self::SpeaksTls => f.write_str("speaks TLS, not plaintext Kafka"),
            Self::SpeaksPlaintext => f.write_str("speaks plaintext, not TLS"),
            Self::TlsRefused(text) => write!(f, "refuses our TLS handshake ({text})"),
            Self::TlsFailed(text) => write!(f, "the TLS handshake fails ({text})"),
            Self::CertificateNotTrusted(text) => write!(f, "its certificate is not trusted ({text})"),
            Self::CertificateExpired(text) => write!(f, "its certificate is not valid now ({text})"),
            Self::CertificateForOthers { host, names } => {
                write!(f, "its certificate is not for {host}, but for {}", some(names))
            }
            Self::LoginRefused(text) => write!(f, "refuses the login ({text})"),
            Self::MechanismNotOffered { mechanism, offered } => {
                write!(f, "does not offer the login {mechanism}, but {}", some(offered))
            }
            Self::NoLoginHere => f.write_str("takes no login (a listener without SASL)"),
            Self::BrokerNotProven(text) => write!(f, "does not prove that it knows the password ({text})"),
            Self::NoToken(text) => write!(f, "there is no token to log in with ({text})"),
            Self::NoTicket(text) => write!(f, "there is no Kerberos ticket to log in with ({text})"),
            Self::SettingUnusable(text) => write!(f, "a setting cannot be used: {text}"),
            Self::Malformed(text) => write!(f, "malformed answer ({text})"),
            Self::OtherBroker(id) => write!(f, "broker {id} answers at this address"),
            Self::OtherCluster(id) => write!(f, "belongs to another cluster ({id})"),
            Self::TooOld(api) => write!(f, "broker too old for {api}"),
            Self::NotPermitted(acl) => write!(f, "needs {acl}"),
            Self::ErrorCode(code) => write!(f, "answered error {code} ({})", error_name(*code)),
            Self::NoOffsetsTopic => f.write_str("__consumer_offsets does not exist"),
            Self::Client(text) => f.write_str(text),
        }
    }
}

fn some(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl Why {
    /// Whether TLS or the login keep us out: the broker runs, and what it does cannot be seen.
    #[must_use]
    pub fn keeps_out(&self) -> bool {
        match self {
            Self::AuthenticationRequired
            | Self::SpeaksTls
            | Self::SpeaksPlaintext
            | Self::TlsRefused(_)
            | Self::TlsFailed(_)
            | Self::CertificateNotTrusted(_)
            | Self::CertificateExpired(_)
            | Self::CertificateForOthers { .. }
            | Self::LoginRefused(_)
            | Self::MechanismNotOffered { .. }
            | Self::NoLoginHere
            | Self::BrokerNotProven(_)
            | Self::NoToken(_)
            | Self::NoTicket(_)
            | Self::SettingUnusable(_) => true,
            Self::NameNotFound(_)
            | Self::Refused
            | Self::Unreachable(_)
            | Self::ConnectTimeout
            | Self::Silent
            | Self::Closed
            | Self::SpeaksHttp
            | Self::Malformed(_)
            | Self::OtherBroker(_)
            | Self::OtherCluster(_)
            | Self::TooOld(_)
            | Self::NotPermitted(_)
            | Self::ErrorCode(_)
            | Self::NoOffsetsTopic
            | Self::Client(_) => false,
        }
    }
}

/// The name of a Kafka error code (clients `Errors.java`), for the codes that matter here.
#[must_use]
pub fn error_name(code: i16) -> &'static str {
    match code {
        -1 => "UNKNOWN_SERVER_ERROR",
        0 => "NONE",
        3 => "UNKNOWN_TOPIC_OR_PARTITION",
        5 => "LEADER_NOT_AVAILABLE",
        6 => "NOT_LEADER_OR_FOLLOWER",
        7 => "REQUEST_TIMED_OUT",
        9 => "REPLICA_NOT_AVAILABLE",
        10 => "MESSAGE_TOO_LARGE",
        14 => "COORDINATOR_LOAD_IN_PROGRESS",
        15 => "COORDINATOR_NOT_AVAILABLE",
        16 => "NOT_COORDINATOR",
        19 => "NOT_ENOUGH_REPLICAS",
        23 => "INCONSISTENT_GROUP_PROTOCOL",
        24 => "INVALID_GROUP_ID",
        25 => "UNKNOWN_MEMBER_ID",
        26 => "INVALID_SESSION_TIMEOUT",
        27 => "REBALANCE_IN_PROGRESS",
        28 => "INVALID_COMMIT_OFFSET_SIZE",
        29 => "TOPIC_AUTHORIZATION_FAILED",
        30 => "GROUP_AUTHORIZATION_FAILED",
        31 => "CLUSTER_AUTHORIZATION_FAILED",
        33 => "UNSUPPORTED_SASL_MECHANISM",
        34 => "ILLEGAL_SASL_STATE",
        35 => "UNSUPPORTED_VERSION",
        38 => "INVALID_REPLICATION_FACTOR",
        41 => "NOT_CONTROLLER",
        42 => "INVALID_REQUEST",
        53 => "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        56 => "KAFKA_STORAGE_ERROR",
        58 => "SASL_AUTHENTICATION_FAILED",
        69 => "GROUP_ID_NOT_FOUND",
        72 => "LISTENER_NOT_FOUND",
        74 => "FENCED_LEADER_EPOCH",
        75 => "UNKNOWN_LEADER_EPOCH",
        80 => "PREFERRED_LEADER_NOT_AVAILABLE",
        81 => "GROUP_MAX_SIZE_REACHED",
        82 => "FENCED_INSTANCE_ID",
        83 => "ELIGIBLE_LEADERS_NOT_AVAILABLE",
        84 => "ELECTION_NOT_NEEDED",
        88 => "UNSTABLE_OFFSET_COMMIT",
        105 => "TRANSACTIONAL_ID_NOT_FOUND",
        110 => "FENCED_MEMBER_EPOCH",
        111 => "UNRELEASED_INSTANCE_ID",
        112 => "UNSUPPORTED_ASSIGNOR",
        113 => "STALE_MEMBER_EPOCH",
        _ => "see Kafka's Errors.java",
    }
}
