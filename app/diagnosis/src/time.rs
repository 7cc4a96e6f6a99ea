//! Arithmetic on timestamps, and how times and durations are written for people.

use jiff::{SignedDuration, Timestamp};

/// `milliseconds` after `from`; the end of time where that does not fit.
pub(crate) fn after(from: Timestamp, milliseconds: i64) -> Timestamp {
    from.checked_add(SignedDuration::from_millis(milliseconds)).unwrap_or(Timestamp::MAX)
}

/// Milliseconds from `earlier` to `later`; negative if they are the other way round.
pub(crate) fn millis_between(earlier: Timestamp, later: Timestamp) -> i64 {
    later.as_millisecond().saturating_sub(earlier.as_millisecond())
}

/// The time of day as on-call people compare it with their logs: `15:48:31 UTC`.
#[must_use]
pub fn clock(at: Timestamp) -> String {
    let seconds = at.as_second().rem_euclid(86_400);
    format!("{:02}:{:02}:{:02} UTC", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// A day and the time of day, for times that may be days away: `2026-12-06 12:00 UTC`.
#[must_use]
pub fn date(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// A time for somebody who reads it at `now`: the time of day, or with its day where that is not the same night.
#[must_use]
pub fn at(at: Timestamp, now: Timestamp) -> String {
    if millis_between(at, now).abs() < 43_200_000 { clock(at) } else { date(at) }
}

/// A time as Kafka's tools take it: `2026-11-29T12:00:00.000`, in UTC.
pub(crate) fn for_tools(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.000").to_string()
}

/// A duration in words, rounded down: `4 s`, `2 min`, `3 h 20 min`, `5 days`.
#[must_use]
pub fn span(milliseconds: i64) -> String {
    let seconds = milliseconds.max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => match seconds / 60 % 60 {
            0 => format!("{} h", seconds / 3_600),
            minutes => format!("{} h {minutes} min", seconds / 3_600),
        },
        _ => match seconds / 86_400 {
            1 => "1 day".to_owned(),
            days => format!("{days} days"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_another_day_have_the_day() {
        let now: Timestamp = "2026-11-29T03:00:00Z".parse().expect("a timestamp");
        assert_eq!(at(after(now, -18_000_000), now), "22:00:00 UTC", "the same night");
        assert_eq!(at(after(now, -50_000_000), now), "2026-11-28 13:06 UTC");
    }

    #[test]
    fn writes_times_and_spans() {
        let at: Timestamp = "2026-11-29T15:48:31.006Z".parse().expect("a timestamp");
        assert_eq!(clock(at), "15:48:31 UTC");
        let spans: Vec<_> =
            [-5, 900, 4_200, 61_000, 3_600_000, 12_000_000, 86_400_000, 200_000_000].into_iter().map(span).collect();
        assert_eq!(spans, ["0 s", "0 s", "4 s", "1 min", "1 h", "3 h 20 min", "1 day", "2 days"]);
    }
}
