//! A store of its own for each test.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgPoolOptions;
use tempfile::TempDir;

use crate::postgres_server::Server;
use crate::{Lease, Store, Where, open};

/// Where a test's store is.
pub(super) struct Place {
    pub(super) at: Where,
    pub(super) store: Arc<dyn Store>,
    _folder: Option<TempDir>,
}

impl Place {
    /// The same store as another process opens it.
    pub(super) async fn again(&self) -> Result<Arc<dyn Store>> {
        Ok(open(&self.at).await?)
    }

    /// Takes the lease of a cluster; its token.
    pub(super) async fn token(&self, cluster: &str) -> Result<i64> {
        token(&*self.store, cluster, "test").await
    }
}

/// Takes the lease of a cluster; its token.
pub(super) async fn token(store: &dyn Store, cluster: &str, holder: &str) -> Result<i64> {
    match store.take_lease(cluster, holder, Duration::from_secs(600)).await? {
        Lease::Held { token, .. } => Ok(token),
        other => bail!("the lease is not free: {other:?}"),
    }
}

/// A new SQLite file, in a folder that is not there yet.
pub(super) async fn sqlite() -> Result<Place> {
    let folder = TempDir::new()?;
    let at = Where::Sqlite(folder.path().join("made/by/it/unstuck.db"));
    Ok(Place { store: open(&at).await?, at, _folder: Some(folder) })
}

/// A new PostgreSQL database; `None` if the machine has no PostgreSQL.
pub(super) async fn postgres() -> Result<Option<Place>> {
    let Some(server) = shared() else { return Ok(None) };
    let at = Where::Postgres(new_database(server).await?);
    let store = open(&at).await.context("opening a new database")?;
    Ok(Some(Place { store, at, _folder: None }))
}

/// Makes a database; its URL.
pub(super) async fn new_database(server: &Server) -> Result<String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(Duration::from_secs(60));
    let pool = pool.connect(&server.url("postgres")).await.context("waiting for PostgreSQL")?;
    sqlx::query(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&pool).await?;
    pool.close().await;
    Ok(server.url(&name))
}

/// The server of all tests of this process; `None`, and said so, if the machine has none.
pub(super) fn shared() -> Option<&'static Server> {
    static SHARED: OnceLock<Option<Server>> = OnceLock::new();
    SHARED.get_or_init(|| Server::start().expect("PostgreSQL is there, but does not start")).as_ref()
}
