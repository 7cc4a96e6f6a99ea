//! What Unstuck must never say, in any scenario and at any moment: that a group is not there which could not be looked
//! for, and a way out that loses something without its danger.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use unstuck_diagnosis::lookup::GroupLookup;
use unstuck_diagnosis::report::{Finding, Remedy, Risk};
use unstuck_diagnosis::{GroupId, OFFSETS_TOPIC, Published};
use unstuck_drill::scenario::Scenario;
use unstuck_drill::serve::Drill;

/// How many groups of a scenario are looked up each time.
const MOST_GROUPS: usize = 12;

/// For how long something must have been so before Unstuck is held to it: nobody sees at once that a broker died.
const GRACE: Duration = Duration::from_secs(30);

/// Words that deny that a group is there.
const DENIALS: [&str; 8] = [
    "is not known",
    "does not exist",
    "no such group",
    "not there",
    "there is no group",
    "check the spelling",
    "never existed",
    "nobody uses this id",
];

/// Findings that deny it.
const DENYING: [&str; 1] = ["group-unknown"];

/// Parts of commands, and of the words around them, that give something up.
const LOSSY: [&str; 10] = [
    "--election-type unclean",
    "unclean.leader.election.enable=true",
    "min.insync.replicas=",
    "--delete",
    "deleteall",
    "rmr ",
    "delete /",
    "--reset-offsets",
    " abort --topic",
    "rm -r",
];

/// What is kept an eye on while a scenario is played.
pub(super) struct Promises {
    groups: Vec<GroupId>,
    /// Since when a group could not be denied: it is there, or nobody could be asked.
    undeniable: BTreeMap<GroupId, Timestamp>,
    broken: BTreeSet<String>,
}

impl Promises {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let expected = scenario.expect.iter().chain(scenario.step.iter().flat_map(|step| &step.expect));
        let mut groups: Vec<String> = scenario.truth.iter().filter_map(|truth| truth.group.clone()).collect();
        groups.extend(expected.flat_map(|expect| expect.group.keys().cloned()));
        groups.extend(scenario.group.iter().map(|group| group.id.replace("{n}", "1")));
        // One that no scenario has.
        groups.push("a-group-that-nobody-has".to_owned());
        let mut seen = BTreeSet::new();
        groups.retain(|group| seen.insert(group.clone()));
        groups.truncate(MOST_GROUPS);
        let groups = groups.iter().map(|group| GroupId::from(group.as_str())).collect();
        Self { groups, undeniable: BTreeMap::new(), broken: BTreeSet::new() }
    }

    /// Looks at what is said now.
    pub(super) fn look(&mut self, published: &Published, drill: &Drill) {
        let now = published.report.observed_at;
        for finding in &published.report.findings {
            self.remedies(finding);
        }
        let deniable: Vec<bool> = drill.with(|world| {
            let deniable = |group: &GroupId| !world.holds_group(&group.0) && world.tells_of_group(&group.0);
            self.groups.iter().map(deniable).collect()
        });
        for (group, deniable) in self.groups.clone().into_iter().zip(deniable) {
            if deniable {
                self.undeniable.remove(&group);
                continue;
            }
            let since = *self.undeniable.entry(group.clone()).or_insert(now);
            let lookup = published.lookup_one(&group);
            for finding in lookup.all_findings() {
                self.remedies(finding);
            }
            let lasts = now.duration_since(since).unsigned_abs() >= GRACE;
            if let Some(denial) = denial(&lookup).filter(|_| lasts) {
                self.broken.insert(format!("it denies a group that could not be looked for: {denial}"));
            }
        }
    }

    fn remedies(&mut self, finding: &Finding) {
        for remedy in finding.remedies.iter().filter(|remedy| remedy.danger.is_none()) {
            let (slug, title) = (&finding.slug, &remedy.title);
            if let Some(part) = lossy(remedy) {
                self.broken.insert(format!("{slug} offers `{title}` (`{part}`) without its danger"));
            } else if remedy.risk >= Risk::Exposes {
                self.broken
                    .insert(format!("{slug} offers `{title}`, which {}, without its danger", remedy.risk.words()));
            }
        }
        if let [first, others @ ..] = finding.remedies.as_slice()
            && first.risk == Risk::Loses
            && others.iter().any(|other| other.risk < Risk::Loses)
        {
            let (slug, title) = (&finding.slug, &first.title);
            self.broken.insert(format!("{slug} offers `{title}` first, which loses data, before one that does not"));
        }
    }

    /// What was said against the promises so far.
    pub(super) fn broken(&self) -> Vec<String> {
        self.broken.iter().cloned().collect()
    }
}

/// The words that deny a group, if there are any.
pub(super) fn denial(lookup: &GroupLookup) -> Option<String> {
    let denies = |said: &str| DENIALS.iter().any(|denial| said.contains(denial));
    let mut of_group = lookup.group_findings.iter();
    if let Some(finding) = of_group.find(|one| DENYING.contains(&one.slug.as_str()) || denies(&one.sentence)) {
        return Some(finding.sentence.clone());
    }
    let said = [Some(&lookup.verdict.sentence), lookup.verdict.outlook.as_ref(), Some(&lookup.known.sentence)];
    said.into_iter()
        .flatten()
        .find(|said| {
            let of_group = said.replace(&format!("{OFFSETS_TOPIC} does not exist"), "");
            DENIALS.iter().any(|denial| of_group.contains(denial))
        })
        .cloned()
}

/// What a remedy gives up, as the part of its command that says so.
fn lossy(remedy: &Remedy) -> Option<&'static str> {
    let command = remedy.command.as_deref().unwrap_or_default();
    LOSSY.into_iter().find(|part| command.contains(part))
}

#[cfg(test)]
mod tests {
    use unstuck_diagnosis::sample::Sample;

    use super::*;

    fn remedy(command: &str) -> Remedy {
        Remedy { title: "x".to_owned(), command: Some(command.to_owned()), ..Remedy::default() }
    }

    #[test]
    fn what_gives_something_up_is_known_by_its_command() {
        assert!(lossy(&remedy("kafka-leader-election.sh --election-type unclean --topic t")).is_some());
        assert!(lossy(&remedy("kafka-configs.sh --alter --add-config min.insync.replicas=1")).is_some());
        assert!(lossy(&remedy("kafka-transactions.sh --bootstrap-server b:1 abort --topic t")).is_some());
        assert!(lossy(&remedy("kafka-leader-election.sh --election-type preferred --topic t")).is_none());
        assert!(lossy(&remedy("kafka-topics.sh --describe --topic __consumer_offsets")).is_none());
    }

    #[test]
    fn a_denial_is_of_a_group_not_of_the_topic() {
        assert!(denial(&Sample::kraft(3, 50, 3).lookup("nobody")).is_some());
        assert_eq!(denial(&Sample::kraft(3, 50, 3).cluster_not_permitted().lookup("nobody")), None);
        assert_eq!(denial(&Sample::kraft(1, 0, 1).absent().lookup("orders")), None);
    }
}
