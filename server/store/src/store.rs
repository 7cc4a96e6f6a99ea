//! What can be asked of a store.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use unstuck_diagnosis::history::{Acknowledged, Event, FindingRecord, Incident, IncidentId, Moment, Note, Subject};

use crate::error::StoreError;
use crate::kept::{Batch, Document, Dropped, FindingsWanted, IncidentFile, Lease, Restored, Retention};

/// What outlives a restart. Clusters go by their names in the configuration.
///
/// Each method is one transaction: it happens as a whole or not at all, and what was answered with `Ok` survives a loss
/// of power. Every method may fail with a [`StoreError`]; the same store works again when the cause is over.
#[async_trait]
pub trait Store: Send + Sync + Debug {
    /// What is known of a cluster from before; `None` if nothing was recorded.
    async fn restore(&self, cluster: &str) -> Result<Option<Restored>, StoreError>;

    /// Takes the right to record a cluster, or renews it. `holder` names one process and one start of it, so that no two
    /// have the same name.
    async fn take_lease(&self, cluster: &str, holder: &str, ttl: Duration) -> Result<Lease, StoreError>;

    /// Gives the lease back, so that the next one need not wait. Does nothing if somebody else has it.
    async fn release_lease(&self, cluster: &str, holder: &str) -> Result<(), StoreError>;

    /// Records what a look changed. Refused with [`Kind::NotHolder`](crate::Kind::NotHolder) if the token is not the
    /// newest. If an answer was lost, write the same batch again.
    async fn write(&self, cluster: &str, token: i64, batch: &Batch) -> Result<(), StoreError>;

    /// Events of these subjects (none named: of all), newest first, before a time. Those of one millisecond come
    /// together, so there may be more than `limit`; go on with the time of the last one.
    async fn events(
        &self,
        cluster: &str,
        subjects: &[Subject],
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<Event>, StoreError>;

    /// The newest findings of a kind, newest first.
    async fn findings(
        &self,
        cluster: &str,
        wanted: &FindingsWanted,
        limit: u32,
    ) -> Result<Vec<FindingRecord>, StoreError>;

    /// Incidents of one cluster or of all: without `before` all that are open, then `limit` others, newest first; with it
    /// only others. Those of one millisecond come together, so there may be more.
    async fn incidents(
        &self,
        cluster: Option<&str>,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<Incident>, StoreError>;

    /// Everything about an incident but its documents.
    async fn incident(&self, id: &IncidentId) -> Result<Option<IncidentFile>, StoreError>;

    /// What was seen at a moment of an incident.
    async fn document(&self, id: &IncidentId, moment: Moment) -> Result<Option<Document>, StoreError>;

    /// Keeps an incident that was made by hand or imported, among those of `cluster`. What comes with it is kept with it,
    /// apart from what is recorded of that cluster; notes are numbered anew. Needs no lease. Refused with
    /// [`Kind::Exists`](crate::Kind::Exists) if there is one with this id.
    async fn put_incident(
        &self,
        cluster: &str,
        incident: &Incident,
        findings: &[FindingRecord],
        events: &[Event],
        documents: &[Document],
        notes: &[Note],
    ) -> Result<(), StoreError>;

    /// Adds a note to an incident.
    async fn add_note(&self, id: &IncidentId, by: &str, text: &str, at: Timestamp) -> Result<Note, StoreError>;

    /// Says who looks after an incident, or that nobody does.
    async fn acknowledge(&self, id: &IncidentId, acknowledged: Option<&Acknowledged>) -> Result<(), StoreError>;

    /// Drops what is older than wanted. What is open or listed is never dropped, nor are events since the oldest open
    /// incident opened. Imported incidents age from their end, or their opening, whatever their cluster.
    async fn retain(&self, cluster: &str, keep: &Retention, now: Timestamp) -> Result<Dropped, StoreError>;

    /// Before which time history was dropped; `None` if all is there since looking began.
    async fn dropped_until(&self, cluster: &str) -> Result<Option<Timestamp>, StoreError>;

    /// How large it is on disk, in bytes, with what is only needed while it runs.
    async fn bytes(&self) -> Result<u64, StoreError>;
}
