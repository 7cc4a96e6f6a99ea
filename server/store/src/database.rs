//! A store in a database, whichever it is.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use unstuck_diagnosis::history::{Acknowledged, Event, FindingRecord, Incident, IncidentId, Moment, Note, Subject};

use crate::error::{Fault, Place, StoreError};
use crate::kept::{Batch, Document, Dropped, FindingsWanted, IncidentFile, Lease, Restored, Retention};
use crate::operations;
use crate::sql::Transaction;
use crate::store::Store;

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    /// It changes something.
    Writing,
    /// It sees one state, however long it takes.
    Reading,
}

/// What differs between the databases: connections, transactions, size.
#[async_trait]
pub(crate) trait Backend: Send + Sync + Debug {
    /// Which it is, for people.
    fn place(&self) -> &Place;

    /// Begins a transaction, on a new connection if need be; the tables are up to date.
    async fn begin(&self, purpose: For) -> Result<Transaction, Fault>;

    /// Something failed: what may be broken by it is not used again.
    async fn failed(&self, fault: &Fault);

    /// Gives space back after rows were dropped.
    async fn tidy(&self) -> Result<(), Fault>;

    /// How large it is on disk.
    async fn bytes(&self) -> Result<u64, Fault>;
}

/// The store in a database.
#[derive(Debug)]
pub(crate) struct Database<B> {
    pub(crate) backend: B,
}

impl<B: Backend> Database<B> {
    /// Opens it, which brings its tables up to date.
    pub(crate) async fn open(backend: B) -> Result<Self, StoreError> {
        let database = Self { backend };
        let transaction = database.begin(For::Reading).await?;
        database.end(transaction, Ok(())).await?;
        Ok(database)
    }

    /// The error for people, once what broke has been put aside.
    async fn error(&self, fault: Fault) -> StoreError {
        self.backend.failed(&fault).await;
        self.backend.place().error(fault)
    }

    pub(crate) async fn begin(&self, purpose: For) -> Result<Transaction, StoreError> {
        match self.backend.begin(purpose).await {
            Ok(transaction) => Ok(transaction),
            Err(fault) => Err(self.error(fault).await),
        }
    }

    /// Makes it so if all went well; else nothing has happened.
    pub(crate) async fn end<T>(&self, transaction: Transaction, done: Result<T, Fault>) -> Result<T, StoreError> {
        let done = match done {
            Ok(value) => transaction.commit().await.map(|()| value).map_err(Fault::from),
            Err(fault) => {
                drop(transaction);
                Err(fault)
            }
        };
        match done {
            Ok(value) => Ok(value),
            Err(fault) => Err(self.error(fault).await),
        }
    }
}

#[async_trait]
impl<B: Backend> Store for Database<B> {
    async fn restore(&self, cluster: &str) -> Result<Option<Restored>, StoreError> {
        let mut transaction = self.begin(For::Reading).await?;
        let done = operations::restore(&mut transaction, cluster).await;
        self.end(transaction, done).await
    }

    async fn take_lease(&self, cluster: &str, holder: &str, ttl: Duration) -> Result<Lease, StoreError> {
        let mut transaction = self.begin(For::Writing).await?;
        let done = operations::take_lease(&mut transaction, cluster, holder, ttl).await;
        self.end(transaction, done).await
    }

    async fn release_lease(&self, cluster: &str, holder: &str) -> Result<(), StoreError> {
        let mut transaction = self.begin(For::Writing).await?;
        let done = operations::release_lease(&mut transaction, cluster, holder).await;
        self.end(transaction, done).await
    }

    async fn write(&self, cluster: &str, token: i64, batch: &Batch) -> Result<(), StoreError> {
        let mut transaction = self.begin(For::Writing).await?;
        let done = operations::write(&mut transaction, cluster, token, batch).await;
        self.end(transaction, done).await
    }

    async fn events(
        &self,
        cluster: &str,
        subjects: &[Subject],
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<Event>, StoreError> {
        let mut transaction = self.begin(For::Reading).await?;
        let done = operations::events(&mut transaction, cluster, subjects, before, limit).await;
        self.end(transaction, done).await
    }

    async fn findings(
        &self,
        cluster: &str,
        wanted: &FindingsWanted,
        limit: u32,
    ) -> Result<Vec<FindingRecord>, StoreError> {
        let mut transaction = self.begin(For::Reading).await?;
        let done = operations::findings(&mut transaction, cluster, wanted, limit).await;
        self.end(transaction, done).await
    }

    async fn incidents(
        &self,
        cluster: Option<&str>,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<Incident>, StoreError> {
        let mut transaction = self.begin(For::Reading).await?;
        let done = operations::incidents(&mut transaction, cluster, before, limit).await;
        self.end(transaction, done).await
    }

    async fn incident(&self, id: &IncidentId) -> Result<Option<IncidentFile>, StoreError> {
        let mut transaction = self.begin(For::Reading).await?;
        let done = operations::incident(&mut transaction, id).await;
        self.end(transaction, done).await
    }

    async fn document(&self, id: &IncidentId, moment: Moment) -> Result<Option<Document>, StoreError> {
        let mut transaction = self.begin(For::Reading).await?;
        let done = operations::document(&mut transaction, id, moment).await;
        self.end(transaction, done).await
    }

    async fn put_incident(
        &self,
        cluster: &str,
        incident: &Incident,
        findings: &[FindingRecord],
        events: &[Event],
        documents: &[Document],
        notes: &[Note],
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin(For::Writing).await?;
        let done =
            operations::put_incident(&mut transaction, cluster, incident, findings, events, documents, notes).await;
        self.end(transaction, done).await
    }

    async fn add_note(&self, id: &IncidentId, by: &str, text: &str, at: Timestamp) -> Result<Note, StoreError> {
        let mut transaction = self.begin(For::Writing).await?;
        let done = operations::add_note(&mut transaction, id, by, text, at).await;
        self.end(transaction, done).await
    }

    async fn acknowledge(&self, id: &IncidentId, acknowledged: Option<&Acknowledged>) -> Result<(), StoreError> {
        let mut transaction = self.begin(For::Writing).await?;
        let done = operations::acknowledge(&mut transaction, id, acknowledged).await;
        self.end(transaction, done).await
    }

    async fn retain(&self, cluster: &str, keep: &Retention, now: Timestamp) -> Result<Dropped, StoreError> {
        let mut transaction = self.begin(For::Writing).await?;
        let done = operations::retain(&mut transaction, cluster, keep, now).await;
        let dropped = self.end(transaction, done).await?;
        if !dropped.is_nothing()
            && let Err(fault) = self.backend.tidy().await
        {
            let error = self.error(fault).await;
            tracing::warn!(%error, "what was dropped is dropped, but its space was not given back");
        }
        Ok(dropped)
    }

    async fn dropped_until(&self, cluster: &str) -> Result<Option<Timestamp>, StoreError> {
        let mut transaction = self.begin(For::Reading).await?;
        let done = operations::dropped_until(&mut transaction, cluster).await;
        self.end(transaction, done).await
    }

    async fn bytes(&self) -> Result<u64, StoreError> {
        match self.backend.bytes().await {
            Ok(bytes) => Ok(bytes),
            Err(fault) => Err(self.error(fault).await),
        }
    }
}
