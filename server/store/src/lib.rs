//! What outlives a restart: what is known of clusters, what happened to them, and incidents with their notes and
//! documents. In a SQLite file by default, in PostgreSQL by configuration. `docs/store.md` tells operators about it.
//!
//! [`open`] gives a [`Store`]. Both databases are driven by the same statements:
//!
//! ```text
//! Store (trait) ── Database<B> ── operations/   each operation once, inside a transaction
//!                     │              └ sql.rs    statements and values for either database
//!                     └ Backend: sqlite.rs, postgres.rs   connections, transactions, size; what differs
//! ```
//!
//! What a database says when something fails becomes a [`StoreError`] with a [`Kind`] in `error.rs` alone. After any
//! failure the same [`Store`] works again by itself once its cause is over: connections are made anew.
//!
//! # Adding a table
//!
//! 1. A file `migrations/0002_….sql` with `CREATE TABLE`, and its line in `migrations.rs`. Never change a migration that
//!    was released. Numbers and times are `BIGINT` (milliseconds), names that we made and JSON are `TEXT`, everything
//!    that people or Kafka name is `{bytes}` or inside JSON: PostgreSQL's text cannot hold NUL. Statements end with `;`,
//!    which stands nowhere else.
//! 2. Its types in `kept.rs`: a field of [`Batch`] if looks write it, of [`Restored`] if it is needed to go on.
//! 3. A file in `operations/`, with statements that both databases take, and a call of it in `batch.rs` or a method of
//!    [`Store`]. Rows that a batch writes are upserts: a batch may be written twice, when an answer was lost.
//! 4. What drops it when it is old, in `operations/retention.rs`.
//! 5. A round trip in `tests/conformance.rs`, which runs on both databases.

mod database;
mod error;
mod kept;
mod migrations;
mod operations;
mod postgres;
#[cfg(any(test, feature = "postgres-server"))]
pub mod postgres_server;
mod sql;
mod sqlite;
mod store;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

pub use error::{Kind, StoreError};
pub use kept::{
    Batch, Document, Dropped, FindingsWanted, INCIDENT_EVENTS_CAP, IncidentFile, Lease, Restored, Retention,
};
pub use store::Store;

use database::Database;

/// Where the store is.
#[derive(Clone, PartialEq, Eq)]
pub enum Where {
    /// A SQLite file, made with its folder if it is not there. Not on a network file system: SQLite's WAL needs memory
    /// that its processes share.
    Sqlite(PathBuf),
    /// A PostgreSQL database, by its URL: `postgres://user:password@host:5432/database?sslmode=verify-full`.
    Postgres(String),
}

impl fmt::Debug for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => f.debug_tuple("Sqlite").field(path).finish(),
            // It may have a password.
            Self::Postgres(_) => f.write_str("Postgres(…)"),
        }
    }
}

/// Opens the store and brings its tables up to date.
///
/// # Errors
///
/// It cannot be opened, or a newer Unstuck wrote it.
pub async fn open(place: &Where) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match place {
        Where::Sqlite(path) => Arc::new(Database::open(sqlite::SqliteFile::new(path)).await?),
        Where::Postgres(url) => Arc::new(Database::open(postgres::PostgresDatabase::new(url)?).await?),
    })
}
