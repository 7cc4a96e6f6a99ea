//! What can fail, said for whoever has to mend it.

use std::error::Error;
use std::fmt;

use crate::migrations::NEWEST;

/// What kind of failure it is, for what the program does about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The database or the file cannot be reached or opened, or its disk fails.
    Unreachable,
    /// There is no room for more.
    Full,
    /// It may only be read.
    ReadOnly,
    /// Another process keeps it from being written. Trying again helps.
    Locked,
    /// It is damaged, or is something else.
    Corrupt,
    /// It was written by a newer version of Unstuck.
    Newer,
    /// Somebody else records, or the file was replaced: take the lease anew, and restore before going on.
    NotHolder,
    /// There is one with this name already.
    Exists,
    /// There is none with this name.
    NotFound,
    /// Something else; the source tells what.
    Other,
}

/// Why something could not be kept or read. Its text says what failed, what that means and what to do; it never
/// contains a password.
#[derive(Debug)]
pub struct StoreError {
    kind: Kind,
    sentence: String,
    source: Option<sqlx::Error>,
}

impl StoreError {
    pub(crate) fn new(kind: Kind, sentence: String) -> Self {
        Self { kind, sentence, source: None }
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

/// What stops an operation, before it is said of which database.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The database said so.
    Sql(sqlx::Error),
    /// A document of this table does not read as what it should be.
    Unreadable(&'static str, serde_json::Error),
    /// The batch came with an old token.
    NotHolder,
    /// An incident with this id is there.
    Exists(String),
    /// No incident with this id is there.
    NotFound(String),
    /// The tables are of a newer version.
    Newer(i64),
    /// The tables are of another program.
    Foreign,
    /// The folder or the file could not be made or opened.
    Folder(std::io::Error),
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

/// Which database it is, in words: the path of the file, or host, port and name; never with a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A file.
    File(String),
    /// A database of a server.
    Server {
        /// Host and port, or the folder of the socket.
        host: String,
        /// The database.
        database: String,
        /// Who logs in.
        user: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.write_str(path),
            Self::Server { host, database, .. } => write!(f, "the database {database} of PostgreSQL at {host}"),
        }
    }
}

/// What is said when the database cannot be reached now, but may be later.
const RESUMES: &str = "What is seen meanwhile is recorded when it is back, by itself.";

impl Place {
    /// The error for people.
    pub(crate) fn error(&self, fault: Fault) -> StoreError {
        let (kind, sentence) = match &fault {
            Fault::Sql(error) => self.sql(error),
            Fault::Unreadable(table, error) => (
                Kind::Corrupt,
                format!(
                    "A row of {table} in {self} cannot be read ({error}): it is damaged, was changed by hand, or a newer \
                     Unstuck wrote it. Put a backup in its place."
                ),
            ),
            Fault::NotHolder => (
                Kind::NotHolder,
                format!(
                    "Nothing was recorded in {self}: another Unstuck records this cluster now, or the database was \
                     replaced. The lease has to be taken again."
                ),
            ),
            Fault::Exists(id) => {
                (Kind::Exists, format!("There is an incident {id} in {self} already: it was left as it is."))
            }
            Fault::NotFound(id) => (
                Kind::NotFound,
                format!("There is no incident {id} in {self}: the link is wrong, or it was dropped as too old."),
            ),
            Fault::Newer(version) => (
                Kind::Newer,
                format!(
                    "The tables in {self} are of version {version}, and this Unstuck knows them up to {NEWEST}: a newer \
                     Unstuck has written them. Start that one, or go back to a backup from before it."
                ),
            ),
            Fault::Foreign => (
                Kind::Corrupt,
                format!(
                    "The tables in {self} are of another program. Name a file or a database that Unstuck has for itself."
                ),
            ),
            Fault::Folder(error) => (
                Kind::Unreachable,
                format!(
                    "{self} cannot be opened: {error}. Unstuck's user has to be allowed to make and to write the folder \
                     and the file."
                ),
            ),
        };
        // A server's place is named by a phrase, not by a path.
        let sentence = match sentence.strip_prefix("the ") {
            Some(rest) => format!("The {rest}"),
            None => sentence,
        };
        let source = match fault {
            Fault::Sql(error) => Some(error),
            _ => None,
        };
        StoreError { kind, sentence, source }
    }

    fn sql(&self, error: &sqlx::Error) -> (Kind, String) {
        let code = error.as_database_error().and_then(|error| error.code());
        match (self, code.as_deref(), error) {
            (Self::File(_), Some(code), _) => self.sqlite(code.parse::<i32>().unwrap_or(0)),
            (Self::File(_), None, sqlx::Error::PoolTimedOut) => self.sqlite(SQLITE_BUSY),
            (Self::Server { .. }, Some(code), _) => self.postgres(code),
            (Self::Server { host, .. }, None, error) if is_distrust(error) => (
                Kind::Unreachable,
                format!(
                    "PostgreSQL at {host} cannot be trusted or does not speak TLS: check its certificate against sslmode \
                     and sslrootcert in the URL."
                ),
            ),
            (Self::Server { .. }, None, error) if is_connection(error) => (
                Kind::Unreachable,
                format!("{self} cannot be reached. Is PostgreSQL running there, and is the way open? {RESUMES}"),
            ),
            _ => self.other(),
        }
    }

    /// By SQLite's primary result code, which is the lower byte of the extended one (sqlite.org/rescode.html).
    pub(crate) fn sqlite(&self, extended: i32) -> (Kind, String) {
        match extended & 0xff {
            SQLITE_BUSY | 6 => (
                Kind::Locked,
                format!(
                    "Nothing can be recorded: another process has been writing {self} for long. If that is no other Unstuck, \
                     end it (a copy being made, an open sqlite3); recording then goes on by itself."
                ),
            ),
            8 => (
                Kind::ReadOnly,
                format!(
                    "Nothing can be recorded: {self} may only be read. Let Unstuck's user write the file and its folder; \
                     recording then goes on by itself."
                ),
            ),
            10 => (
                Kind::Unreachable,
                format!(
                    "{self} cannot be read or written: its disk fails. Look into the kernel's log and at the mount. {RESUMES}"
                ),
            ),
            11 => (
                Kind::Corrupt,
                format!(
                    "{self} is damaged. Move it away together with its -wal and -shm files, and put a backup in its place; \
                     without one, a new file is begun."
                ),
            ),
            13 => (
                Kind::Full,
                format!(
                    "Nothing more can be recorded: the disk or the quota that {self} is on is full. Free some space; \
                     recording then goes on by itself."
                ),
            ),
            14 => (
                Kind::Unreachable,
                format!(
                    "{self} cannot be opened. Its folder has to be there, and Unstuck's user has to be allowed to write both. \
                     {RESUMES}"
                ),
            ),
            26 => (
                Kind::Corrupt,
                format!(
                    "{self} is not a SQLite database, or its beginning is damaged. Name another file, or move it away and \
                     put a backup in its place; without one, a new file is begun."
                ),
            ),
            _ => self.other(),
        }
    }

    /// By SQLSTATE (PostgreSQL's appendix "Error Codes").
    fn postgres(&self, code: &str) -> (Kind, String) {
        let Self::Server { host, database, user } = self else { return self.other() };
        match code {
            "53100" => (
                Kind::Full,
                format!(
                    "Nothing more can be recorded: the disk of PostgreSQL at {host} is full. Free some space there; recording \
                     then goes on by itself."
                ),
            ),
            "25006" => (
                Kind::ReadOnly,
                format!(
                    "Nothing can be recorded: {self} may only be read. Is that a standby? Name the primary, or end the \
                     read-only mode; recording then goes on by itself."
                ),
            ),
            "42501" => (
                Kind::ReadOnly,
                format!(
                    "The user {user} may not make or write tables in {self}. Make that user the owner of the database: ALTER \
                     DATABASE {database} OWNER TO {user}."
                ),
            ),
            "3D000" => (
                Kind::Unreachable,
                format!(
                    "PostgreSQL at {host} has no database {database}. Make it: CREATE DATABASE {database} OWNER {user}."
                ),
            ),
            "53300" => (
                Kind::Unreachable,
                format!(
                    "PostgreSQL at {host} takes no more connections: raise max_connections, or end some. {RESUMES}"
                ),
            ),
            "55P03" | "40P01" | "40001" | "57014" => (
                Kind::Locked,
                format!(
                    "Nothing can be recorded: something has kept rows of {self} locked for long. If that is no other Unstuck, \
                     end it (pg_stat_activity names it); recording then goes on by itself."
                ),
            ),
            "XX001" | "XX002" => {
                (Kind::Corrupt, format!("{self} is damaged: see PostgreSQL's log, and restore it from a backup."))
            }
            _ if code.starts_with("28") => (
                Kind::Unreachable,
                format!(
                    "PostgreSQL at {host} does not let the user {user} in: check user and password in the URL, and \
                     pg_hba.conf there."
                ),
            ),
            _ if code.starts_with("57P0") || code.starts_with("08") => (
                Kind::Unreachable,
                format!("PostgreSQL at {host} is starting or shutting down, or ended the connection. {RESUMES}"),
            ),
            _ => self.other(),
        }
    }

    fn other(&self) -> (Kind, String) {
        (Kind::Other, format!("Something unexpected failed in {self}; it is tried again with what is seen next."))
    }
}

/// Another connection writes.
const SQLITE_BUSY: i32 = 5;

fn is_connection(error: &sqlx::Error) -> bool {
    use sqlx::Error::{Io, PoolClosed, PoolTimedOut, Protocol, WorkerCrashed};
    matches!(error, Io(_) | PoolTimedOut | PoolClosed | Protocol(_) | WorkerCrashed)
}

/// TLS was refused, or what came was none. rustls says so in an I/O error, as invalid data.
fn is_distrust(error: &sqlx::Error) -> bool {
    use sqlx::Error::{Io, Tls};
    matches!(error, Tls(_)) || matches!(error, Io(error) if error.kind() == std::io::ErrorKind::InvalidData)
}
