//! From failures to facts: why something could not be observed.

use jiff::Timestamp;
use unstuck_diagnosis::snapshot::{BrokerSight, Observed, Unavailable, Why};
use unstuck_wire::WireError;

/// What a failure of the wire means to the reader of a snapshot.
pub(crate) fn why(error: &WireError) -> Why {
    match error {
        WireError::NameNotFound(text) => Why::NameNotFound(text.clone()),
        WireError::Refused => Why::Refused,
        WireError::Unreachable(text) => Why::Unreachable(text.clone()),
        WireError::ConnectTimeout => Why::ConnectTimeout,
        WireError::Silent => Why::Silent,
        WireError::Closed => Why::Closed,
        WireError::ClosedAfterApiVersions => Why::AuthenticationRequired,
        WireError::SpeaksHttp => Why::SpeaksHttp,
        WireError::SpeaksTls => Why::SpeaksTls,
        WireError::NotTls => Why::SpeaksPlaintext,
        WireError::TlsRefused(text) => Why::TlsRefused(text.clone()),
        WireError::TlsFailed(text) => Why::TlsFailed(text.clone()),
        WireError::CertificateNotTrusted(text) => Why::CertificateNotTrusted(text.clone()),
        WireError::CertificateExpired(text) => Why::CertificateExpired(text.clone()),
        WireError::CertificateForOthers { host, names } => {
            Why::CertificateForOthers { host: host.clone(), names: names.clone() }
        }
        WireError::LoginRefused(text) => Why::LoginRefused(text.clone()),
        WireError::MechanismNotOffered { mechanism, offered } => {
            Why::MechanismNotOffered { mechanism: mechanism.clone(), offered: offered.clone() }
        }
        WireError::NoLoginHere => Why::NoLoginHere,
        WireError::PeerNotProven(text) => Why::BrokerNotProven(text.clone()),
        WireError::NoToken(text) => Why::NoToken(text.clone()),
        WireError::NoTicket(text) => Why::NoTicket(text.clone()),
        WireError::Unusable(text) => Why::SettingUnusable(text.clone()),
        WireError::Malformed(text) => Why::Malformed(text.clone()),
        WireError::TooOld(api) => Why::TooOld((*api).to_owned()),
        WireError::StringTooLong(_) | WireError::Unwritable(_) => Why::Client(error.to_string()),
    }
}

/// Marks a fact as unavailable; the time since when survives repeated failures.
pub(crate) fn lose<T>(fact: &mut Observed<T>, why: Why, now: Timestamp) {
    let since = fact.unavailable().map_or(now, |unavailable| unavailable.since);
    *fact = Observed::Unavailable(Unavailable { why, since });
}

/// Marks a fact as unavailable, as [`lose`] does; true if that, or the reason, is news.
pub(crate) fn miss<T>(fact: &mut Observed<T>, why: &Why, now: Timestamp) -> bool {
    let news = fact.unavailable().is_none_or(|before| before.why != *why);
    lose(fact, why.clone(), now);
    news
}

/// A broker does not answer. What was told stays told for metadata, canaries and settings, which carry their time.
/// A listing, the quorum and the like speak of this moment and of this broker alone: without it they are not known.
pub(crate) fn lose_the_moment(sight: &mut BrokerSight, why: &Why, now: Timestamp) {
    fn unknown<T>(fact: &mut Observed<T>, why: &Why, now: Timestamp) {
        if fact.known().is_none() {
            lose(fact, why.clone(), now);
        }
    }
    fn asked<T: PartialEq>(fact: &mut Observed<T>, why: &Why, now: Timestamp) {
        if *fact != Observed::NotAsked {
            lose(fact, why.clone(), now);
        }
    }
    unknown(&mut sight.metadata, why, now);
    unknown(&mut sight.configs, why, now);
    unknown(&mut sight.topic_configs, why, now);
    unknown(&mut sight.state_topic_configs, why, now);
    unknown(&mut sight.describe_cluster_permitted, why, now);
    lose(&mut sight.groups, why.clone(), now);
    lose(&mut sight.coordinators, why.clone(), now);
    asked(&mut sight.quorum, why, now);
    asked(&mut sight.elr, why, now);
    asked(&mut sight.log_dirs, why, now);
    asked(&mut sight.reassignments, why, now);
    asked(&mut sight.open_transactions, why, now);
    asked(&mut sight.producers, why, now);
}
