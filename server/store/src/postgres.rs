//! A store in a PostgreSQL database.
//!
//! Connections are tried before they are used, so that a restart of the server is noticed and mended by the next
//! operation. After a failure that a connection may remember (it was told to be read-only), new ones are made. What the server is asked to bound itself to: how long it waits for locks, how long a statement takes, and how
//! long a transaction whose client was lost keeps its locks.

use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions, Executor, Row};
use tokio::sync::OnceCell;

use crate::database::{Backend, For};
use crate::error::{Fault, Kind, Place, StoreError};
use crate::migrations::migrate;
use crate::sql::Transaction;

/// How long a connection may take, with trying again while the server refuses.
const CONNECT: Duration = Duration::from_secs(5);
const CONNECTIONS: u32 = 4;

/// Said to the server on each new connection. Locks are waited for as long as SQLite waits for another process.
const SETTINGS: &str = "SET synchronous_commit = on; SET lock_timeout = '5s'; SET statement_timeout = '60s'; \
                        SET idle_in_transaction_session_timeout = '30s'; SET client_min_messages = warning";

/// A database of a PostgreSQL server, and the connections to it.
#[derive(Debug)]
pub(crate) struct PostgresDatabase {
    place: Place,
    pool: PgPool,
    migrated: OnceCell<()>,
    /// Connections made before this time are not used any more.
    outdated: Arc<Mutex<Option<Instant>>>,
}

impl PostgresDatabase {
    /// The database of this URL; connections are made when they are needed.
    pub(crate) fn new(url: &str) -> Result<Self, StoreError> {
        // What is wrong with the URL is not repeated: it may quote the password.
        let refused = || {
            let sentence = "The URL of PostgreSQL is none: it has to look like \
                            postgres://user:password@host:5432/database, with special characters of the password as %XX.";
            StoreError::new(Kind::Other, sentence.to_owned())
        };
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(refused());
        }
        let options = PgConnectOptions::from_str(url).map_err(|_| refused())?;
        let options = options.application_name("unstuck").disable_statement_logging();
        let host = match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        };
        let user = options.get_username().to_owned();
        let database = options.get_database().unwrap_or(&user).to_owned();
        let outdated = Arc::new(Mutex::new(None::<Instant>));
        let before = outdated.clone();
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(CONNECT)
            .after_connect(|connection, _| Box::pin(async move { connection.execute(SETTINGS).await.map(drop) }))
            .before_acquire(move |_, met| {
                let outdated = *before.lock().unwrap_or_else(PoisonError::into_inner);
                Box::pin(async move { Ok(outdated.is_none_or(|at| at.elapsed() > met.age)) })
            })
            .connect_lazy_with(options);
        Ok(Self { place: Place::Server { host, database, user }, pool, migrated: OnceCell::new(), outdated })
    }

    async fn migrate(&self) -> Result<(), Fault> {
        let mut transaction = Transaction::Postgres(self.pool.begin().await?);
        migrate(&mut transaction).await?;
        Ok(transaction.commit().await?)
    }
}

#[async_trait]
impl Backend for PostgresDatabase {
    fn place(&self) -> &Place {
        &self.place
    }

    async fn begin(&self, purpose: For) -> Result<Transaction, Fault> {
        self.migrated.get_or_try_init(|| self.migrate()).await?;
        Ok(Transaction::Postgres(match purpose {
            For::Writing => self.pool.begin().await?,
            For::Reading => self.pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?,
        }))
    }

    async fn failed(&self, fault: &Fault) {
        if matches!(fault, Fault::Sql(_)) {
            *self.outdated.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }

    // Autovacuum does.
    async fn tidy(&self) -> Result<(), Fault> {
        Ok(())
    }

    async fn bytes(&self) -> Result<u64, Fault> {
        self.migrated.get_or_try_init(|| self.migrate()).await?;
        let sizes = "SELECT CAST(COALESCE(SUM(pg_total_relation_size(relid)), 0) AS BIGINT) \
                     FROM pg_catalog.pg_statio_user_tables WHERE schemaname = current_schema()";
        let bytes: i64 = sqlx::query(sizes).fetch_one(&self.pool).await?.try_get(0)?;
        Ok(u64::try_from(bytes).unwrap_or(0))
    }
}
