//! Times for people who read a page later than what it tells of.

use jiff::Timestamp;
use unstuck_diagnosis::history::Since;
use unstuck_diagnosis::time::clock;

/// From how many milliseconds without a look on it is said between which two looks something began.
const UNCERTAIN_MS: i64 = 15_000;
/// Within how many milliseconds a time needs no day: the same night.
const SAME_NIGHT_MS: i64 = 43_200_000;

/// A time to the second, for somebody who thinks of `near`: with its day where that is not the same night.
pub(crate) fn when(at: Timestamp, near: Timestamp) -> String {
    let apart = at.as_millisecond().saturating_sub(near.as_millisecond());
    if apart.abs() < SAME_NIGHT_MS { clock(at) } else { format!("{} {}", at.strftime("%Y-%m-%d"), clock(at)) }
}

/// A time with its day, always.
pub(crate) fn day_and_time(at: Timestamp) -> String {
    format!("{} {}", at.strftime("%Y-%m-%d"), clock(at))
}

/// `15:40:10 and 15:48:02 UTC`: two times of which the zone is said once.
pub(crate) fn pair(from: Timestamp, to: Timestamp, near: Timestamp) -> String {
    format!("{} and {}", when(from, near).trim_end_matches(" UTC"), when(to, near))
}

/// `at 15:48:02 UTC`, or between which two looks, where nobody looked for long.
pub(crate) fn began(since: Since, near: Timestamp) -> String {
    match uncertain(since) {
        Some(after) => format!("between {}", pair(after, since.at, near)),
        None => format!("at {}", when(since.at, near)),
    }
}

/// `since 15:48:02 UTC`, or since some time between two looks.
pub(crate) fn since(since: Since, near: Timestamp) -> String {
    match uncertain(since) {
        Some(after) => format!("since some time between {}", pair(after, since.at, near)),
        None => format!("since {}", when(since.at, near)),
    }
}

/// The last look before, if it was so long ago that it has to be said.
fn uncertain(since: Since) -> Option<Timestamp> {
    since.after.filter(|after| since.at.as_millisecond().saturating_sub(after.as_millisecond()) > UNCERTAIN_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a literal timestamp")
    }

    #[test]
    fn where_nobody_looked_two_times_are_said() {
        let (seen, near) = (at("2026-11-29T15:48:02Z"), at("2026-11-29T16:00:00Z"));
        let since_of = |after| Since { at: seen, after };
        assert_eq!(began(since_of(None), near), "at 15:48:02 UTC");
        assert_eq!(began(since_of(Some(at("2026-11-29T15:47:50Z"))), near), "at 15:48:02 UTC");
        let long = since_of(Some(at("2026-11-29T15:40:10Z")));
        assert_eq!(began(long, near), "between 15:40:10 and 15:48:02 UTC");
        assert_eq!(since(long, near), "since some time between 15:40:10 and 15:48:02 UTC");
        let later = at("2026-12-06T09:00:00Z");
        assert_eq!(began(long, later), "between 2026-11-29 15:40:10 and 2026-11-29 15:48:02 UTC");
        assert_eq!(began(since_of(None), later), "at 2026-11-29 15:48:02 UTC");
    }
}
