//! Questions that a broker refuses to this account, and when to ask them again. Each refusal is a line in the broker's
//! authorizer log (`kafka.authorizer.logger`), and rights change by somebody's hand only.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;
use unstuck_diagnosis::snapshot::Why;

/// The first pause: whoever grants a right sees soon that it helps. Each further refusal doubles it.
const FIRST: Duration = Duration::from_secs(30);

/// The questions of one kind to one broker that were refused.
#[derive(Debug)]
pub(super) struct Refused<Q> {
    longest: Duration,
    held: BTreeMap<Q, Held>,
}

#[derive(Debug)]
struct Held {
    why: Why,
    pause: Duration,
    until: Instant,
}

impl<Q: Ord> Refused<Q> {
    /// None yet. `longest` is the longest pause.
    pub(super) fn new(longest: Duration) -> Self {
        Self { longest, held: BTreeMap::new() }
    }

    /// Why this is not to be asked now: what it was refused for. Whoever does not ask says this again, because what was
    /// known may have been lost meanwhile for a reason that is over, such as a moment of silence.
    pub(super) fn why(&self, question: &Q) -> Option<&Why> {
        self.held.get(question).filter(|held| Instant::now() < held.until).map(|held| &held.why)
    }

    /// Takes note of how a question that was asked ended: why the fact is not known, if it is not.
    pub(super) fn asked(&mut self, question: Q, told: Option<Why>) {
        self.rests(question, told, FIRST);
    }

    /// The same for a question about many made-up ids, whose refusal is a line for each of them: the longest pause at once.
    pub(super) fn asked_for_many(&mut self, question: Q, told: Option<Why>) {
        self.rests(question, told, self.longest);
    }

    fn rests(&mut self, question: Q, told: Option<Why>, first: Duration) {
        match told {
            Some(why @ Why::NotPermitted(_)) => {
                let before = self.held.get(&question).map(|held| held.pause);
                let pause = before.map_or(first, |before| before * 2).min(self.longest);
                self.held.insert(question, Held { why, pause, until: Instant::now() + pause });
            }
            _ => drop(self.held.remove(&question)),
        }
    }

    /// Everything may be asked: the broker is another process now, or somebody wants to know.
    pub(super) fn forget(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn denied() -> Option<Why> {
        Some(Why::NotPermitted("DESCRIBE on CLUSTER".to_owned()))
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_refused_rests_longer_each_time_up_to_ten_minutes() {
        let mut refused = Refused::new(600 * SECOND);
        assert_eq!(refused.why(&1), None);
        for pause in [30, 60, 120, 240, 480, 600, 600] {
            refused.asked(1, denied());
            advance(pause * SECOND - Duration::from_millis(1)).await;
            assert_eq!(refused.why(&1), denied().as_ref(), "{pause}");
            advance(Duration::from_millis(1)).await;
            assert_eq!(refused.why(&1), None, "{pause}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_right_that_was_granted_or_another_failure_ends_it() {
        for told in [None, Some(Why::Silent)] {
            let mut refused = Refused::new(600 * SECOND);
            refused.asked(1, denied());
            refused.asked(1, denied());
            refused.asked(1, told);
            assert_eq!(refused.why(&1), None);
            refused.asked(1, denied());
            advance(30 * SECOND).await;
            assert_eq!(refused.why(&1), None, "it begins anew");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_question_stands_for_itself_until_all_are_forgotten() {
        let mut refused = Refused::new(600 * SECOND);
        refused.asked(1, denied());
        refused.asked_for_many(2, denied());
        advance(31 * SECOND).await;
        assert_eq!((refused.why(&1), refused.why(&2)), (None, denied().as_ref()));
        refused.forget();
        assert_eq!(refused.why(&2), None);
    }
}
