//! What must be said of a scenario.

use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::{OFFSETS_TOPIC, slugs};

use super::Check;
use crate::scenario::model::Expect;
use crate::scenario::places::join;
use crate::scenario::problem::{did_you_mean, list};
use crate::scenario::value::Partitions;

impl Check<'_> {
    pub(super) fn expect(&mut self, path: &str, expect: &Expect) {
        self.time(format!("{path}.after"), expect.after);
        if let Some(worst) = &expect.worst {
            self.status(&format!("{path}.worst"), worst);
        }
        for (group, status) in &expect.group {
            self.status(&join(&format!("{path}.group"), group), status);
        }
        for (key, status) in &expect.partition {
            let path = join(&format!("{path}.partition"), key);
            match key.parse::<Partitions>() {
                Ok(partitions) => self.partitions(&path, OFFSETS_TOPIC, &partitions),
                Err(wrong) => self.wrong(&path, wrong),
            }
            self.status(&path, status);
        }
        for (nth, status) in expect.never.iter().enumerate() {
            self.status(&format!("{path}.never[{nth}]"), status);
        }
        for (nth, slug) in expect.findings.iter().enumerate() {
            self.slug(&format!("{path}.findings[{nth}]"), slug);
        }
        for (nth, slug) in expect.no_findings.iter().enumerate().filter(|(_, slug)| *slug != "*") {
            let path = format!("{path}.no-findings[{nth}]");
            self.slug(&path, slug);
            if expect.findings.contains(slug) {
                self.wrong(path, format!("`{slug}` cannot be open and not open: it is in `findings` too"));
            }
        }
        for (nth, text) in expect.never_says.iter().enumerate().filter(|(_, text)| expect.says.contains(text)) {
            self.wrong(format!("{path}.never-says[{nth}]"), format!("`{text}` is in `says` too"));
        }
    }

    pub(super) fn status(&mut self, path: &str, word: &str) {
        if Status::from_slug(word).is_none() {
            let known = Status::WORST_FIRST.map(Status::slug);
            let nearest = did_you_mean(word, known);
            self.wrong(path, format!("`{word}` is no verdict{nearest} (verdicts: {})", list(known)));
        }
    }

    fn slug(&mut self, path: &str, slug: &str) {
        let known: Vec<&str> = slugs().collect();
        if !known.contains(&slug) {
            let nearest = did_you_mean(slug, known.iter().copied());
            self.wrong(path, format!("there is no finding `{slug}`{nearest} (findings: {})", list(known)));
        }
    }
}
