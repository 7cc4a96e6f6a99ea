//! What is said of a public case.

use super::Check;
use crate::scenario::places::join;
use crate::scenario::problem::{did_you_mean, list};
use crate::scenario::truth::Truth;

impl Check<'_> {
    pub(super) fn truth(&mut self, truth: &Truth) {
        let scenario = self.scenario;
        let number = truth.case.strip_prefix('C').unwrap_or_default();
        if number.len() != 2 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            self.wrong("truth.case", format!("`{}` is no case: they are C01, C02, …", truth.case));
        }
        self.time("truth.at".to_owned(), truth.at);
        let next = match &truth.step {
            None => scenario.step.first(),
            Some(name) => match scenario.step.iter().position(|step| step.name == *name) {
                Some(nth) => scenario.step.get(nth + 1),
                None => {
                    let names = || scenario.step.iter().map(|step| step.name.as_str());
                    let nearest = did_you_mean(name, names());
                    let what = format!("there is no step `{name}`{nearest} (steps: {})", list(names()));
                    return self.wrong("truth.step", what);
                }
            },
        };
        let at = truth.looked_at();
        if let Some((next, after)) = next.and_then(|next| Some((next, next.after?)))
            && at >= after
        {
            let what = format!("it is looked at {at} after this, but step `{}` comes {after} after it", next.name);
            self.wrong("truth.at", what);
        }
        self.status("truth.verdict", &truth.verdict);
        for (nth, word) in truth.or.iter().enumerate() {
            self.status(&format!("truth.or[{nth}]"), word);
        }
        if truth.or.contains(&truth.verdict) {
            self.wrong("truth.or", format!("`{}` is the verdict already", truth.verdict));
        }
        for (group, word) in &truth.others {
            self.status(&join("truth.others", group), word);
        }
        for (nth, text) in truth.must_not_say.iter().enumerate().filter(|(_, text)| truth.says.contains(text)) {
            self.wrong(format!("truth.must-not-say[{nth}]"), format!("`{text}` is in `says` too"));
        }
    }
}
