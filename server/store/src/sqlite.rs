//! A store in a SQLite file.
//!
//! One connection writes, a few read. In WAL mode they do not wait for each other; `synchronous=FULL` has each commit on
//! disk before it is acknowledged. A failure that may have broken the connections drops them, and the next operation opens
//! the file anew. So does a file that is not the one that was opened any more (deleted, or a backup put in its place):
//! its leases are ended, so that what is written next begins with a new lease and with `restore`. The WAL of the file that
//! was there before goes, since SQLite would take it for a part of the new one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::ConnectOptions;
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::database::{Backend, For};
use crate::error::{Fault, Place};
use crate::migrations::migrate;
use crate::operations::break_leases;
use crate::sql::Transaction;

/// How long another process may keep the file locked before that is an error.
const BUSY: Duration = Duration::from_secs(5);
/// How often an empty file is tried that another process makes a database of, for which SQLite does not wait.
const RETRY: Duration = Duration::from_millis(50);
/// How large the WAL stays at most when it is empty again.
const WAL_BYTES: &str = "8388608";
/// How many can read at once.
const READERS: u32 = 3;

/// A SQLite file, and the connections to it.
#[derive(Debug)]
pub(crate) struct SqliteFile {
    path: PathBuf,
    place: Place,
    open: Mutex<State>,
}

/// Whether there are connections.
#[derive(Debug)]
enum State {
    /// Not yet, or not any more; with the file that was open before, if one was.
    Closed(Option<Files>),
    /// There are.
    Open(Arc<Connections>),
}

#[derive(Debug)]
struct Connections {
    writer: SqlitePool,
    readers: SqlitePool,
    files: Files,
}

/// Which files they are connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Files {
    database: Option<Identity>,
    wal: Option<Identity>,
}

/// Which file it is, whatever its name: device and inode.
type Identity = (u64, u64);

#[cfg(unix)]
async fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let metadata = tokio::fs::metadata(path).await.ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Elsewhere an open file cannot be replaced.
#[cfg(not(unix))]
async fn identity(path: &Path) -> Option<Identity> {
    tokio::fs::metadata(path).await.ok().map(|_| (0, 0))
}

impl SqliteFile {
    /// The file at this path; it is opened when it is needed.
    pub(crate) fn new(path: &Path) -> Self {
        let place = Place::File(path.display().to_string());
        Self { path: path.to_owned(), place, open: Mutex::new(State::Closed(None)) }
    }

    /// The connections; made anew if there are none, or if the file is another one than theirs.
    async fn connections(&self) -> Result<Arc<Connections>, Fault> {
        let mut state = self.open.lock().await;
        let now = identity(&self.path).await;
        if let State::Open(connections) = &*state {
            if connections.files.database == now && now.is_some() {
                return Ok(connections.clone());
            }
            state.close().await;
        }
        if let State::Closed(Some(before)) = &*state
            && before.database != now
        {
            tracing::warn!(file = %self.place, "the file of the store was deleted or replaced: it is opened anew");
            self.remove_wal_of(*before).await.map_err(Fault::Folder)?;
        }
        let connections = Arc::new(self.connect_when_made(&state).await?);
        *state = State::Open(connections.clone());
        Ok(connections)
    }

    async fn remove_wal_of(&self, before: Files) -> std::io::Result<()> {
        let wal = self.beside("-wal");
        if before.wal.is_some() && identity(&wal).await == before.wal {
            tokio::fs::remove_file(&wal).await?;
            let shared = self.beside("-shm");
            if tokio::fs::try_exists(&shared).await? {
                tokio::fs::remove_file(&shared).await?;
            }
        }
        Ok(())
    }

    /// The path with an ending: SQLite's own files stand beside the database.
    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ending);
        name.into()
    }

    async fn connect_when_made(&self, state: &State) -> Result<Connections, Fault> {
        let State::Closed(before) = state else { return Err(sqlx::Error::PoolClosed.into()) };
        let deadline = Instant::now() + BUSY;
        loop {
            match self.connect(*before).await {
                Err(Fault::Sql(error)) if code_of(&error) == Some(5) && Instant::now() < deadline => {
                    tokio::time::sleep(RETRY).await;
                }
                other => return other,
            }
        }
    }

    async fn connect(&self, before: Option<Files>) -> Result<Connections, Fault> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            tokio::fs::create_dir_all(folder).await.map_err(Fault::Folder)?;
        }
        let options = SqliteConnectOptions::new()
            .filename(&self.path)
            .create_if_missing(true)
            .auto_vacuum(SqliteAutoVacuum::Incremental)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY)
            .pragma("journal_size_limit", WAL_BYTES)
            .disable_statement_logging();
        // Waiting for one's own writer is no error of the file, so it is given more time than other processes.
        let pool = SqlitePoolOptions::new().acquire_timeout(BUSY * 4).max_lifetime(None).idle_timeout(None);
        let writer = pool.clone().max_connections(1).connect_with(options.clone()).await?;
        let readers = pool.max_connections(READERS).connect_lazy_with(options.pragma("query_only", "ON"));
        let mut transaction = Transaction::Sqlite(writer.begin_with("BEGIN IMMEDIATE").await?);
        migrate(&mut transaction).await?;
        let database = identity(&self.path).await;
        if before.is_some_and(|before| before.database != database) {
            break_leases(&mut transaction).await?;
        }
        transaction.commit().await?;
        let files = Files { database, wal: identity(&self.beside("-wal")).await };
        Ok(Connections { writer, readers, files })
    }
}

impl State {
    /// Closes the connections, if there are any; one that is in use for long closes when it is given back.
    async fn close(&mut self) {
        if let Self::Open(connections) = self {
            let (connections, files) = (connections.clone(), connections.files);
            let closing = async move {
                connections.readers.close().await;
                connections.writer.close().await;
            };
            if tokio::time::timeout(BUSY, closing).await.is_err() {
                tracing::warn!("connections to the store are still in use");
            }
            *self = Self::Closed(Some(files));
        }
    }
}

impl Connections {
    async fn begin(&self, purpose: For) -> Result<Transaction, Fault> {
        Ok(Transaction::Sqlite(match purpose {
            // At once, not at the first change: a transaction that has read cannot wait for another writer.
            For::Writing => self.writer.begin_with("BEGIN IMMEDIATE").await?,
            For::Reading => self.readers.begin_with("BEGIN").await?,
        }))
    }
}

fn code_of(error: &sqlx::Error) -> Option<i32> {
    let code = error.as_database_error()?.code()?.parse::<i32>().ok()?;
    // The lower byte is the primary code.
    Some(code & 0xff)
}

/// Whether connections may be broken by this, or hold on to a state that has been mended outside.
fn breaks(fault: &Fault) -> bool {
    let Fault::Sql(error) = fault else { return false };
    // READONLY, IOERR, CORRUPT, CANTOPEN, NOTADB; or the thread that talks to SQLite is gone.
    code_of(error).map_or(matches!(error, sqlx::Error::WorkerCrashed | sqlx::Error::PoolClosed), |code| {
        matches!(code, 8 | 10 | 11 | 14 | 26)
    })
}

#[async_trait]
impl Backend for SqliteFile {
    fn place(&self) -> &Place {
        &self.place
    }

    async fn begin(&self, purpose: For) -> Result<Transaction, Fault> {
        self.connections().await?.begin(purpose).await
    }

    async fn failed(&self, fault: &Fault) {
        if breaks(fault) {
            self.open.lock().await.close().await;
        }
    }

    async fn tidy(&self) -> Result<(), Fault> {
        let connections = self.connections().await?;
        sqlx::query("PRAGMA incremental_vacuum").fetch_all(&connections.writer).await?;
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_all(&connections.writer).await?;
        Ok(())
    }

    async fn bytes(&self) -> Result<u64, Fault> {
        let mut bytes = 0;
        for ending in ["", "-wal", "-shm"] {
            match tokio::fs::metadata(self.beside(ending)).await {
                Ok(metadata) => bytes += metadata.len(),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(Fault::Folder(error)),
            }
        }
        Ok(bytes)
    }
}
