//! What a look adds to the record, and that the record leads back to what was known.

use std::sync::Arc;

use unstuck_diagnosis::Published;
use unstuck_diagnosis::history::{Happened, Moment, SETTLING_MS, Subject};
use unstuck_diagnosis::sample::Sample;
use unstuck_diagnosis::snapshot::Observed;
use unstuck_store::{Batch, Restored};

use super::super::document::{Known, read_frozen, unpack};
use super::Ledger;

fn published(sample: &Sample) -> Arc<Published> {
    Arc::new(sample.published())
}

/// Takes in a look and writes what it added, as if the store had taken it.
fn write(ledger: &mut Ledger, sample: &Sample) -> Option<Batch> {
    ledger.step(&published(sample));
    let unwritten = ledger.unwritten()?;
    ledger.written(&unwritten);
    Some(unwritten.batch)
}

fn many(count: usize) -> Sample {
    (0..count)
        .fold(Sample::kraft(3, 6, 1), |sample, n| sample.group_on(i32::try_from(n % 6).unwrap_or(0), &format!("g{n}")))
}

/// Every broker has listed its groups again just now.
fn listed_again(mut sample: Sample) -> Sample {
    let now = sample.now();
    for sight in sample.snapshot.brokers.values_mut() {
        if let Observed::Known(listing) = &mut sight.groups {
            Arc::make_mut(listing).at = now;
        }
    }
    sample
}

#[test]
fn groups_that_did_not_change_are_written_once() {
    let mut ledger = Ledger::of(None, None, SETTLING_MS);
    let sample = many(40).later(1);
    assert_eq!(write(&mut ledger, &sample).map(|batch| batch.groups.len()), Some(40));
    // All of them were listed again: their time is in the document.
    let again = listed_again(sample.later(12));
    let batch = write(&mut ledger, &again).expect("looked for long enough to say so");
    assert_eq!((batch.groups.len(), batch.events.len()), (0, 0), "{:#?}", batch.events);
    assert!(batch.memory.is_some());
    assert_eq!(batch.looked_until, again.now());
}

#[test]
fn nothing_is_written_while_nothing_happens() {
    let mut ledger = Ledger::of(None, None, SETTLING_MS);
    let sample = many(3).later(1);
    assert!(write(&mut ledger, &sample).is_some());
    assert_eq!(write(&mut ledger, &sample.later(1)), None);
}

#[test]
fn an_outage_is_written_with_its_moment() {
    let mut ledger = Ledger::of(None, None, SETTLING_MS);
    let sample = many(12).later(1);
    write(&mut ledger, &sample);
    let dead = sample.later(1).gone(1).leaderless_after(1);
    let batch = write(&mut ledger, &dead).expect("news");
    assert_eq!(batch.incidents.len(), 1);
    let [document] = &batch.documents[..] else { panic!("{:#?}", batch.documents.len()) };
    assert_eq!((document.moment, &document.incident), (Moment::Opening, &batch.incidents[0].id));
    let frozen = read_frozen(&document.bytes).expect("what was written just now");
    assert_eq!(frozen.report, published(&dead).report, "word for word");
    assert_eq!(frozen.diagnosed_again().report.headline, frozen.report.headline);
    // Groups of the dead broker changed: nobody lists them.
    assert_eq!(batch.groups.len(), 4);
    let vanished = |what: &Happened| matches!(what, Happened::GroupsVanished { .. });
    assert!(batch.events.iter().any(|event| vanished(&event.what) && event.subject == Subject::Partition(0)));
}

#[test]
fn what_could_not_be_written_waits() {
    let mut ledger = Ledger::of(None, None, SETTLING_MS);
    let sample = many(3).later(1);
    write(&mut ledger, &sample);
    let dead = sample.later(1).gone(1).leaderless_after(1);
    ledger.step(&published(&dead));
    let lost = ledger.unwritten().expect("news").batch;
    // The store did not take it, and the cluster went on.
    ledger.step(&published(&dead.later(1)));
    let later = ledger.unwritten().expect("the same news").batch;
    assert_eq!((later.events, later.findings, later.incidents), (lost.events, lost.findings, lost.incidents));
}

#[test]
fn a_record_leads_back_to_what_was_known() {
    let mut ledger = Ledger::of(None, None, SETTLING_MS);
    let sample = many(9).later(1);
    let batch = write(&mut ledger, &sample).expect("news");
    let known: Known = unpack(batch.memory.as_deref().expect("a document")).expect("what was written just now");
    let groups = batch.groups.clone();
    let memory = known.memory.clone().with_groups(batch.groups, [], []);
    let mut expected = sample.memory.clone();
    for group in Arc::make_mut(&mut expected.groups).by_id.values_mut() {
        group.listed_by.clear();
    }
    assert_eq!(memory.groups.by_id, expected.groups.by_id);
    assert_eq!(memory.partitions, expected.partitions);

    // Whoever goes on with it has nothing new to tell, and writes no group again.
    let restored = Restored {
        watching_since: batch.watching_since,
        looked_until: batch.looked_until,
        memory: batch.memory,
        groups,
        gone: Vec::new(),
        members: Vec::new(),
        open_findings: batch.findings,
        open_incidents: batch.incidents,
    };
    let mut next = Ledger::of(Some(restored), Some(known), SETTLING_MS);
    let batch = write(&mut next, &sample.later(2)).expect("the first look is always written");
    assert_eq!((batch.groups.len(), batch.events.len(), batch.findings.len()), (0, 0, 0), "{batch:#?}");
}
