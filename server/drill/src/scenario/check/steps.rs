//! The timeline.

use std::collections::BTreeSet;

use super::Check;
use crate::scenario::action::Action;
use crate::scenario::model::{Event, Expect, Step};

impl Check<'_> {
    pub(super) fn steps(&mut self) {
        let scenario = self.scenario;
        self.in_time("", &scenario.expect, scenario.step.first());
        let mut names = BTreeSet::new();
        let mut faults: Vec<&str> = scenario.fault.iter().filter_map(|fault| fault.name.as_deref()).collect();
        for (nth, step) in scenario.step.iter().enumerate() {
            let path = format!("step[{nth}]");
            for (key, text) in [("name", &step.name), ("say", &step.say)] {
                if text.trim().is_empty() {
                    self.wrong(format!("{path}.{key}"), "it is empty");
                }
            }
            if !names.insert(step.name.as_str()) {
                self.wrong(format!("{path}.name"), format!("there is a step `{}` already", step.name));
            }
            if step.after.is_some() && step.on.is_some() {
                self.wrong(
                    format!("{path}.on"),
                    "a step waits for a time (`after`) or for an event (`on`), not for both",
                );
            }
            self.time(format!("{path}.after"), step.after);
            if let Some(event) = &step.on {
                self.event(&format!("{path}.on"), event);
            }
            for (nth, action) in step.r#do.iter().enumerate() {
                if let Action::Fault(fault) = action {
                    faults.extend(fault.name.as_deref());
                }
                self.action(&format!("{path}.do[{nth}]"), action, &faults);
            }
            for (nth, expect) in step.expect.iter().enumerate() {
                self.expect(&format!("{path}.expect[{nth}]"), expect);
            }
            self.in_time(&format!("{path}."), &step.expect, scenario.step.get(nth + 1));
        }
    }

    /// What is looked at only after the next step came would be blamed on the wrong step.
    fn in_time(&mut self, above: &str, expect: &[Expect], next: Option<&Step>) {
        let Some((next, after)) = next.and_then(|next| Some((next, next.after?))) else { return };
        for (nth, late) in expect.iter().enumerate().filter(|(_, expect)| expect.looked_at() >= after) {
            let (at, name) = (late.looked_at(), &next.name);
            let what = format!("it is looked at {at} after this, but step `{name}` comes {after} after it already");
            self.wrong(format!("{above}expect[{nth}].after"), what);
        }
    }

    fn event(&mut self, path: &str, event: &Event) {
        match event {
            Event::Election | Event::Reassignment => {}
            Event::ConfigChanged(topic) if topic == "*" => {}
            Event::ConfigChanged(topic) => self.topic_name(&format!("{path}.config-changed"), topic),
            Event::LeadersBack(topic) => self.topic_name(&format!("{path}.leaders-back"), topic),
            Event::BrokerStarted(id) => self.node(&format!("{path}.broker-started"), *id),
            Event::BrokerStopped(id) => self.node(&format!("{path}.broker-stopped"), *id),
        }
    }
}
