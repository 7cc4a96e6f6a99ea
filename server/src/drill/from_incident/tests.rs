use std::sync::Arc;
use std::time::Duration;

use unstuck_diagnosis::history::{Book, Frozen, Incident, Moment};
use unstuck_drill::scenario::shipped;

use super::*;
use crate::incidents::archive;

/// Plays a drill that is built in as Unstuck would see it, and exports the first incident of it.
pub(in crate::drill) fn archive_of(name: &str, steps: usize) -> Archive {
    let scenario = Arc::new(shipped::find(name).expect("it is built in"));
    simulated(async {
        let watching = Watching::begin(name, Arc::clone(&scenario));
        let (mut book, mut names) = (Book::default(), 0);
        let mut incident: Option<Incident> = None;
        let mut documents = std::collections::BTreeMap::new();
        let mut findings = Vec::new();
        let mut seconds = 0;
        let mut step = 0;
        // A minute at each step, and then until it has settled.
        while seconds < 1_800 && incident.as_ref().is_none_or(|incident| incident.closed.is_none()) {
            if seconds % 60 == 20 && step < steps {
                watching.next_step().await;
                step += 1;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            seconds += 1;
            let published = watching.newest();
            let changes = book.step(&published.report, &mut || {
                names += 1;
                format!("{names:032x}")
            });
            for record in changes.findings {
                findings.retain(|known: &unstuck_diagnosis::history::FindingRecord| known.id != record.id);
                findings.push(record);
            }
            for changed in changes.incidents {
                if incident.as_ref().is_none_or(|known| known.id == changed.id) {
                    incident = Some(changed);
                }
            }
            for (id, moment) in changes.moments {
                if incident.as_ref().is_some_and(|known| known.id == id) {
                    documents.insert(moment, Frozen::of(&published, "1.2.3"));
                }
            }
        }
        watching.end().await;
        let incident = incident.expect("an incident");
        let findings = findings.into_iter().filter(|one| one.incident.as_ref() == Some(&incident.id)).collect();
        Archive {
            kind: archive::KIND.to_owned(),
            format: archive::FORMAT,
            written_by: "1.2.3".to_owned(),
            pseudonyms: false,
            incident,
            findings,
            events: Vec::new(),
            notes: Vec::new(),
            documents,
        }
    })
}

/// The scenario of a drill's incident, held against itself and against what was said.
fn told_again(name: &str, steps: usize) -> String {
    let archive = archive_of(name, steps);
    let worst = archive.documents.get(&Moment::Worst).or(archive.documents.get(&Moment::Opening)).expect("a moment");
    let said = Said::of(&worst.published());
    let text = scenario_of(&archive).expect("a scenario");
    let scenario = read(&text, "incident.toml").unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let expected = scenario.step.iter().flat_map(|step| &step.expect).next();
    let expected = expected.unwrap_or_else(|| panic!("{said:?} is not expected:\n{text}"));
    assert_eq!(expected.worst.as_deref(), Some(said.worst.slug()), "{text}");
    assert_eq!(expected.findings.first(), said.first.as_ref(), "{text}");
    let outcome = check("incident", Arc::new(scenario));
    assert!(outcome.is_as_expected(), "{outcome:?}\n{text}");
    text
}

#[test]
fn a_lost_broker_becomes_a_scenario_with_its_recovery() {
    let text = told_again("broker-lost", 2);
    assert!(text.contains("{ stop = 1 }") && text.contains("{ start = 1 }"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_hung_broker_becomes_a_scenario() {
    let text = told_again("hung-broker", 3);
    assert!(text.contains("hang") || text.contains("pause"), "{text}");
}

#[test]
fn the_founding_incidents_become_scenarios() {
    for (name, steps) in [("founding-incident-2", 2), ("founding-incident-3", 2)] {
        told_again(name, steps);
    }
}

#[test]
fn what_happens_to_partitions_and_to_the_topic_is_told_too() {
    told_again("log-dir-failed", 2);
    let text = told_again("offsets-topic-missing", 2);
    assert!(text.contains("delete-topic"), "{text}");
}

#[test]
fn what_was_not_kept_cannot_be_told() {
    let mut archive = archive_of("broker-lost", 1);
    archive.documents.clear();
    let failure = scenario_of(&archive).expect_err("nothing is kept");
    assert_eq!(failure.code, 64);
    insta::assert_snapshot!(failure.message);
}

/// Whatever names the cluster had, the file is one that can be read.
#[test]
fn hostile_names_stay_where_they_are() {
    let mut archive = archive_of("broker-lost", 1);
    archive.incident.title = "\"]\n[cluster]\nmode = 'x' \u{1b}[2J \\".to_owned();
    archive.incident.cluster = "\"\"\"'''".to_owned();
    let text = scenario_of(&archive).expect("a scenario");
    let scenario = read(&text, "incident.toml").unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    assert_eq!(scenario.title, archive.incident.title);
}
