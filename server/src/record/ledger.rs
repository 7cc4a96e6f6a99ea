//! What is new since the store was written last.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use unstuck_diagnosis::history::{Book, Chronicle, FORMAT, Frozen};
use unstuck_diagnosis::memory::{SeenGroup, SeenGroups};
use unstuck_diagnosis::{GroupId, Published};
use unstuck_store::{Batch, Restored};

use super::document::{Known, document, pack};
use super::pending::Pending;

/// How often what is known is written although nothing happened, so that the record tells until when it was looked.
const QUIET: SignedDuration = SignedDuration::from_secs(10);

/// The record of one cluster, as far as it is written and as it should be.
pub(super) struct Ledger {
    book: Book,
    chronicle: Chronicle,
    pub(super) pending: Pending,
    /// The groups as the store has them, but for when they were listed last.
    groups: Arc<SeenGroups>,
    latest: Option<Arc<Published>>,
    /// What the last batch was made of.
    written_at: Option<Timestamp>,
}

/// A batch, and what the ledger needs to know once it is written.
pub(super) struct Unwritten {
    pub(super) batch: Batch,
    groups: Arc<SeenGroups>,
}

impl Ledger {
    /// Goes on where the store ends.
    pub(super) fn of(restored: Option<Restored>, known: Option<Known>, settling_ms: i64) -> Self {
        let Some(restored) = restored else {
            return Self {
                book: Book::default().settling_after(settling_ms),
                chronicle: Chronicle::default(),
                pending: Pending::default(),
                groups: Arc::default(),
                latest: None,
                written_at: None,
            };
        };
        let groups = SeenGroups {
            by_id: restored.groups.into_iter().collect(),
            gone: restored.gone.into_iter().collect(),
            members: restored.members.into_iter().collect(),
            ..SeenGroups::default()
        };
        Self {
            book: Book::of(restored.open_findings, restored.open_incidents, Some(restored.looked_until))
                .settling_after(settling_ms),
            chronicle: known.map(|known| known.chronicle).unwrap_or_default(),
            pending: Pending::default(),
            groups: Arc::new(groups),
            latest: None,
            written_at: None,
        }
    }

    /// Takes in what was published.
    pub(super) fn step(&mut self, published: &Arc<Published>) {
        self.pending.happened(self.chronicle.step(&published.report, &published.memory));
        let changes = self.book.step(&published.report, &mut super::unguessable);
        let mut documents = Vec::new();
        if !changes.moments.is_empty() {
            let frozen = Frozen::of(published, env!("CARGO_PKG_VERSION"));
            let kept = changes.moments.into_iter().filter_map(|(incident, moment)| document(incident, moment, &frozen));
            documents.extend(kept);
        }
        self.pending.take(changes.findings, changes.incidents, documents);
        self.latest = Some(Arc::clone(published));
    }

    /// What is to be written now, if anything is.
    pub(super) fn unwritten(&mut self) -> Option<Unwritten> {
        let latest = self.latest.as_ref()?;
        let at = latest.report.observed_at;
        let groups = Arc::clone(&latest.memory.groups);
        let quiet = self.written_at.is_some_and(|written| at.duration_since(written) < QUIET);
        let mut batch = Batch { watching_since: latest.memory.watching_since, looked_until: at, ..Batch::default() };
        if !Arc::ptr_eq(&groups, &self.groups) {
            batch.groups = changed(&self.groups, &groups);
            let news = groups.gone.iter().filter(|(id, gone)| self.groups.gone.get(*id) != Some(*gone));
            batch.gone = news.map(|(id, gone)| (id.clone(), gone.clone())).collect();
            let news = groups.members.iter().filter(|(id, seen)| self.groups.members.get(*id) != Some(*seen));
            batch.members = news.map(|(id, seen)| (id.clone(), seen.clone())).collect();
        }
        let same_groups = batch.groups.is_empty() && batch.gone.is_empty() && batch.members.is_empty();
        if same_groups {
            // Listed again, and nothing else: they need not be compared again each time.
            self.groups = Arc::clone(&groups);
        }
        if same_groups && self.pending.is_empty() && quiet {
            return None;
        }
        self.pending.fill(&mut batch);
        let known = Known {
            format: FORMAT,
            cluster_id: latest.report.cluster_id.clone(),
            memory: latest.memory.without_groups(),
            chronicle: self.chronicle.clone(),
        };
        match pack(&known) {
            Ok(bytes) => batch.memory = Some(bytes),
            Err(error) => tracing::error!(%error, "a defect in Unstuck: what is known cannot be written"),
        }
        Some(Unwritten { batch, groups })
    }

    /// A batch is in the store.
    pub(super) fn written(&mut self, unwritten: &Unwritten) {
        self.pending.written(&unwritten.batch);
        self.groups = Arc::clone(&unwritten.groups);
        self.written_at = Some(unwritten.batch.looked_until);
    }
}

/// Groups that are new or differ in more than when they were listed last, which the times of the listings tell.
fn changed(before: &SeenGroups, after: &SeenGroups) -> Vec<(GroupId, SeenGroup)> {
    let same = |one: &SeenGroup, other: &SeenGroup| {
        one.listed_by == other.listed_by
            && one.state == other.state
            && one.state_since == other.state_since
            && one.group_type == other.group_type
            && one.protocol_type == other.protocol_type
            && one.last_listed_by == other.last_listed_by
            && one.first_seen == other.first_seen
            && one.earlier == other.earlier
            && one.other_protocol_type == other.other_protocol_type
            // Only remembered: nothing else tells when it was listed.
            && (!other.listed_by.is_empty() || one.last_seen == other.last_seen)
    };
    let news = after.by_id.iter().filter(|(id, group)| !before.by_id.get(*id).is_some_and(|old| same(old, group)));
    news.map(|(id, group)| (id.clone(), group.clone())).collect()
}

#[cfg(test)]
mod tests;
