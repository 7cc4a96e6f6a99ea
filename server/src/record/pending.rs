//! What happened and is not written yet.

use unstuck_diagnosis::history::{Event, FindingRecord, Incident};
use unstuck_store::{Batch, Document};

/// How many events wait at most; of more, the oldest are dropped, and that is said.
const EVENTS_CAP: usize = 20_000;

/// Events, findings, incidents and documents that wait to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pending {
    events: Vec<Event>,
    findings: Vec<FindingRecord>,
    incidents: Vec<Incident>,
    documents: Vec<Document>,
    /// How many events were dropped.
    pub(super) dropped: usize,
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.findings.is_empty() && self.incidents.is_empty() && self.documents.is_empty()
    }

    pub(super) fn happened(&mut self, events: Vec<Event>) {
        self.events.extend(events);
        let surplus = self.events.len().saturating_sub(EVENTS_CAP);
        self.events.drain(..surplus);
        self.dropped += surplus;
    }

    /// A later state of the same finding, incident or moment takes the place of the one before.
    pub(super) fn take(&mut self, findings: Vec<FindingRecord>, incidents: Vec<Incident>, documents: Vec<Document>) {
        for finding in findings {
            self.findings.retain(|before| before.id != finding.id);
            self.findings.push(finding);
        }
        for incident in incidents {
            self.incidents.retain(|before| before.id != incident.id);
            self.incidents.push(incident);
        }
        for document in documents {
            self.documents.retain(|old| (&old.incident, old.moment) != (&document.incident, document.moment));
            self.documents.push(document);
        }
    }

    /// Copies what waits into a batch. It goes on waiting until [`written`](Self::written).
    pub(super) fn fill(&self, batch: &mut Batch) {
        batch.events.clone_from(&self.events);
        batch.findings.clone_from(&self.findings);
        batch.incidents.clone_from(&self.incidents);
        batch.documents.clone_from(&self.documents);
    }

    /// Forgets what a batch had, since it is written.
    pub(super) fn written(&mut self, batch: &Batch) {
        // They stand first, but for those that had to go meanwhile.
        if let Some(last) = batch.events.last()
            && let Some(at) = self.events.iter().rposition(|event| event == last)
        {
            self.events.drain(..=at);
        }
        self.findings.retain(|one| !batch.findings.contains(one));
        self.incidents.retain(|one| !batch.incidents.contains(one));
        self.documents.retain(|one| !batch.documents.contains(one));
        self.dropped = 0;
    }
}
