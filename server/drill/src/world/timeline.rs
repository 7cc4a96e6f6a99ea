//! The timeline: steps that happen by time, by event, or when somebody says "next". Always in their order.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Timer, World};
use crate::scenario::action::{Action, Elect};
use crate::scenario::model::{BrokerState, Event, Step};

/// How far the timeline is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Timeline {
    /// When each step that has happened did.
    pub(super) happened: Vec<Duration>,
    /// Whether an event is being handled: what a step does may be an event itself.
    handling: bool,
    /// Topics that have missed a leader since the last step.
    pub(super) missed: BTreeSet<String>,
}

impl World {
    /// The next step, with its number.
    #[must_use]
    pub fn next_step(&self) -> Option<(usize, &Step)> {
        let number = self.timeline.happened.len();
        self.scenario.step.get(number).map(|step| (number, step))
    }

    /// When a step happened.
    #[must_use]
    pub fn happened(&self, step: usize) -> Option<Duration> {
        self.timeline.happened.get(step).copied()
    }

    /// Lets the next step happen now, whatever it waits for. `false` if there is none.
    #[expect(clippy::should_implement_trait, reason = "the timeline's word; a world is no iterator")]
    pub fn next(&mut self) -> bool {
        let number = self.timeline.happened.len();
        if number >= self.scenario.step.len() {
            return false;
        }
        self.step_happens(number);
        true
    }

    /// For whoever plays a scenario alone: brings about what the next step waits for, as far as it is clear how (a
    /// broker that starts or stops, an election); else lets it happen. A broker takes a while to start, and the step
    /// comes with it. `false` if there is no step left.
    pub fn play_on(&mut self) -> bool {
        let Some((number, step)) = self.next_step() else { return false };
        let done = match step.on.clone() {
            Some(Event::BrokerStarted(id)) => {
                let stopped = self.nodes.get(&id).is_some_and(|node| node.state == BrokerState::Stopped);
                stopped && self.apply(&Action::Start(id)).is_ok()
            }
            Some(Event::BrokerStopped(id)) => self.apply(&Action::Stop(id)).is_ok() && self.happened(number).is_some(),
            Some(Event::Election) => {
                self.apply(&Action::Elect(Elect::default())).is_ok() && self.happened(number).is_some()
            }
            _ => false,
        };
        done || self.next()
    }

    /// Somebody does something to the cluster. If that is all that the next step by hand would do, it is that step.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn act(&mut self, action: &Action) -> Result<(), String> {
        let foreseen = self.next_step().is_some_and(|(_, step)| {
            step.after.is_none() && step.on.is_none() && step.r#do.as_slice() == std::slice::from_ref(action)
        });
        if foreseen {
            self.next();
            return Ok(());
        }
        self.apply(action)
    }

    /// Sets the clock of the step that comes next.
    pub(super) fn await_next_step(&mut self) {
        let next = self.next_step().and_then(|(number, step)| step.after.map(|time| (number, time.0)));
        if let Some((number, delay)) = next {
            self.after(delay, Timer::Step(number));
        }
    }

    pub(super) fn step_due(&mut self, number: usize) {
        if self.timeline.happened.len() == number {
            self.step_happens(number);
        }
    }

    fn step_happens(&mut self, number: usize) {
        let scenario = std::sync::Arc::clone(&self.scenario);
        let Some(step) = scenario.step.get(number) else { return };
        self.timeline.happened.push(self.now);
        self.timeline.missed.clear();
        // Who missed a leader before still does.
        self.note_missing_leaders();
        self.changed();
        let handling = std::mem::replace(&mut self.timeline.handling, true);
        for action in &step.r#do {
            if let Err(why) = self.apply(action) {
                // The file was checked; what can still fail here is a matter of state, such as an election without a
                // controller, and as harmless as it would be in reality.
                tracing::info!(scenario = self.name, step = step.name, "{why}");
            }
        }
        self.timeline.handling = handling;
        self.await_next_step();
    }

    /// Something happened that the next step may wait for.
    pub(super) fn event(&mut self, event: &Event) {
        if self.timeline.handling {
            return;
        }
        let Some((number, step)) = self.next_step() else { return };
        let awaited = match (&step.on, event) {
            (Some(Event::ConfigChanged(wanted)), Event::ConfigChanged(topic)) => wanted == "*" || wanted == topic,
            (Some(wanted), event) => wanted == event,
            (None, _) => false,
        };
        if awaited {
            self.step_happens(number);
        }
    }
}
