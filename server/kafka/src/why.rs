//! From failures to facts: why something could not be observed.

use jiff::Timestamp;
use unstuck_diagnosis::snapshot::{Observed, Unavailable, Why};
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
