//! Rebalances: since when one runs, by when it should be over, and whether one follows the other.

use jiff::{SignedDuration, Timestamp};

use crate::memory::SeenGroup;
use crate::report::{Bound, GroupSettings};
use crate::time;

/// Default of the consumers' `max.poll.interval.ms`, which is a group's rebalance time-out. Brokers do not tell it.
const CONSUMER_TIMEOUT_MS: i64 = 300_000;
/// Default of Connect's `rebalance.timeout.ms`.
const CONNECT_TIMEOUT_MS: i64 = 60_000;
/// So many rebalances begun within [`LOOP_WITHIN`] are a loop.
const LOOP_COUNT: usize = 3;
/// A loop counts as lasting for at least so long after its last round: listings are 15 s apart.
const LOOP_LEAST: SignedDuration = SignedDuration::from_secs(90);
pub(crate) const LOOP_WITHIN: SignedDuration = SignedDuration::from_mins(10);

/// Whether a group is rebalancing, judged by the states that were listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rebalance {
    /// It is not.
    No,
    /// It is, and that is normal until a time.
    Within { since: Timestamp, by: Bound },
    /// It is, for longer than the slowest member may take.
    Past { since: Timestamp, by: Bound },
    /// One rebalance follows the other: so many began since a time.
    Loop { times: usize, since: Timestamp },
}

/// Whether members are moving partitions in this state; nobody is served fully meanwhile.
pub(crate) fn moves(state: &str) -> bool {
    matches!(state, "PreparingRebalance" | "CompletingRebalance" | "AwaitingSync" | "Assigning" | "Reconciling")
}

/// Whether a rebalance begins with this state.
fn begins(state: &str) -> bool {
    matches!(state, "PreparingRebalance" | "Assigning" | "Reconciling")
}

/// How long the slowest member may take: what Kafka's own clients have unless they are told otherwise.
pub(crate) fn timeout_ms(protocol_type: &str) -> i64 {
    if protocol_type == "connect" { CONNECT_TIMEOUT_MS } else { CONSUMER_TIMEOUT_MS }
}

/// Judges the states of a group.
pub(crate) fn rebalance(seen: &SeenGroup, settings: &GroupSettings, now: Timestamp) -> Rebalance {
    let states = seen.states();
    if let Some((times, since)) = loops(&states, now) {
        return Rebalance::Loop { times, since };
    }
    let running = states.iter().rev().take_while(|(state, _)| moves(state)).last();
    let Some((_, since)) = running.copied() else { return Rebalance::No };
    let longest = timeout_ms(&seen.protocol_type) + settings.initial_rebalance_delay_ms;
    let by = Bound { at: time::after(since, longest), assumed: true };
    if now < by.at { Rebalance::Within { since, by } } else { Rebalance::Past { since, by } }
}

/// How many rebalances began of late, and since when, if that is too many.
fn loops(states: &[(&str, Timestamp)], now: Timestamp) -> Option<(usize, Timestamp)> {
    let begun: Vec<Timestamp> = states
        .windows(2)
        .filter_map(|pair| match pair {
            [(before, _), (state, at)] => (begins(state) && !begins(before)).then_some(*at),
            _ => None,
        })
        .filter(|at| now.duration_since(*at) <= LOOP_WITHIN)
        .collect();
    let (since, last) = (begun.first().copied()?, begun.last().copied()?);
    // A loop is over when twice its usual time has passed without another round.
    let usual = last.duration_since(since) / i32::try_from(begun.len().max(2) - 1).unwrap_or(i32::MAX);
    if now.duration_since(last) > (usual * 2).max(LOOP_LEAST) {
        return None;
    }
    (begun.len() >= LOOP_COUNT).then_some((begun.len(), since))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group_findings::testing::history;

    fn judged(states: &[(&str, i64)], now: i64) -> Rebalance {
        let sample = history("my-group", states, now);
        let published = sample.published();
        let seen = published.memory.groups.by_id.get(&"my-group".into()).expect("seen").clone();
        rebalance(&seen, &published.report.group_settings, published.report.observed_at)
    }

    #[test]
    fn a_rebalance_has_its_time() {
        assert_eq!(judged(&[("Stable", 0)], 60), Rebalance::No);
        assert!(matches!(judged(&[("Stable", 0), ("PreparingRebalance", 30)], 60), Rebalance::Within { .. }));
        assert!(matches!(judged(&[("Stable", 0), ("PreparingRebalance", 30)], 500), Rebalance::Past { .. }));
        let completing = judged(&[("PreparingRebalance", 0), ("CompletingRebalance", 200)], 310);
        assert!(matches!(completing, Rebalance::Past { .. }), "from the beginning of the whole: {completing:?}");
    }

    #[test]
    fn one_after_the_other_is_a_loop_while_it_lasts() {
        let states = [
            ("Stable", 0),
            ("PreparingRebalance", 30),
            ("Stable", 60),
            ("PreparingRebalance", 90),
            ("CompletingRebalance", 100),
            ("PreparingRebalance", 120),
            ("Stable", 130),
        ];
        assert!(matches!(judged(&states, 140), Rebalance::Loop { times: 3, .. }));
        assert_eq!(judged(&states, 1_200), Rebalance::No, "long ago");
    }
}
