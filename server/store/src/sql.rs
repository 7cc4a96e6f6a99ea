//! One way to speak to both databases: statements are written once, with `$1`, `$2`, … for their values.

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Postgres, Row as _, Sqlite};

/// What differs between the two in the statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

impl Dialect {
    /// The database's clock, in milliseconds since 1970.
    pub(crate) fn now(self) -> &'static str {
        match self {
            Self::Sqlite => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
            Self::Postgres => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
        }
    }

    /// Keeps the rows that were read as they are until the transaction ends. SQLite has one writer anyway.
    pub(crate) fn lock(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR UPDATE",
        }
    }

    /// A statement of a migration: its words for types that the two name differently are filled in.
    pub(crate) fn translate(self, statement: &str) -> String {
        let (bytes, numbered, clustered) = match self {
            Self::Sqlite => ("BLOB", "INTEGER PRIMARY KEY", "WITHOUT ROWID"),
            Self::Postgres => ("BYTEA", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", ""),
        };
        statement.replace("{bytes}", bytes).replace("{numbered}", numbered).replace("{clustered}", clustered)
    }
}

/// A value that goes into a statement.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A number, a time in milliseconds, or a truth value.
    Number(Option<i64>),
    /// Text without NUL, which PostgreSQL cannot keep: names that we made, slugs, JSON (which escapes it).
    Text(Option<String>),
    /// Anything.
    Bytes(Option<Vec<u8>>),
}

impl Value {
    fn has_nul(&self) -> bool {
        matches!(self, Self::Text(Some(text)) if text.contains('\0'))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(Some(bytes.to_vec()))
    }
}

/// Values of different types: `values![cluster, 3, text]`.
macro_rules! values {
    ($($value:expr),* $(,)?) => { [$($crate::sql::Value::from($value)),*] };
}
pub(crate) use values;

/// How many rows go into one statement. Few different lengths, so that prepared statements are used again.
const CHUNKS: [usize; 3] = [250, 25, 1];

/// A transaction. Dropped without [`commit`](Self::commit), nothing has happened.
pub(crate) enum Transaction {
    /// In SQLite.
    Sqlite(sqlx::Transaction<'static, Sqlite>),
    /// In PostgreSQL.
    Postgres(sqlx::Transaction<'static, Postgres>),
}

fn for_sqlite(sql: &str, values: Vec<Value>) -> Query<'static, Sqlite, SqliteArguments> {
    let query = sqlx::query(AssertSqlSafe(sql));
    values.into_iter().fold(query, |query, value| match value {
        Value::Number(number) => query.bind(number),
        Value::Text(text) => query.bind(text),
        Value::Bytes(bytes) => query.bind(bytes),
    })
}

fn for_postgres(sql: &str, values: Vec<Value>) -> Query<'static, Postgres, PgArguments> {
    let query = sqlx::query(AssertSqlSafe(sql));
    values.into_iter().fold(query, |query, value| match value {
        Value::Number(number) => query.bind(number),
        Value::Text(text) => query.bind(text),
        Value::Bytes(bytes) => query.bind(bytes),
    })
}

impl Transaction {
    /// Which database it is in.
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Changes something; how many rows it changed.
    pub(crate) async fn run(&mut self, sql: &str, values: impl Into<Vec<Value>>) -> Result<u64, sqlx::Error> {
        let values = values.into();
        if values.iter().any(Value::has_nul) {
            return Err(sqlx::Error::InvalidArgument("a name with a NUL character cannot be kept".to_owned()));
        }
        Ok(match self {
            Self::Sqlite(transaction) => for_sqlite(sql, values).execute(&mut **transaction).await?.rows_affected(),
            Self::Postgres(transaction) => for_postgres(sql, values).execute(&mut **transaction).await?.rows_affected(),
        })
    }

    /// Asks for rows, or changes something that tells rows (`RETURNING`).
    pub(crate) async fn rows(&mut self, sql: &str, values: impl Into<Vec<Value>>) -> Result<Vec<Row>, sqlx::Error> {
        let values = values.into();
        if values.iter().any(Value::has_nul) {
            // No such name can have been kept.
            return Ok(Vec::new());
        }
        Ok(match self {
            Self::Sqlite(transaction) => {
                let rows = for_sqlite(sql, values).fetch_all(&mut **transaction).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Self::Postgres(transaction) => {
                let rows = for_postgres(sql, values).fetch_all(&mut **transaction).await?;
                rows.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    /// Inserts rows, many with one statement. `on_conflict` is what stands behind `ON CONFLICT`. No two rows may have the
    /// same key: PostgreSQL refuses to change a row twice in one statement.
    pub(crate) async fn insert<const N: usize>(
        &mut self,
        table: &str,
        columns: [&str; N],
        on_conflict: &str,
        rows: Vec<[Value; N]>,
    ) -> Result<u64, sqlx::Error> {
        let head = format!("INSERT INTO {table} ({}) VALUES ", columns.join(", "));
        let (mut rows, mut changed) = (rows.into_iter(), 0);
        for size in CHUNKS {
            let tuples: Vec<String> = (0..size).map(|row| format!("({})", places(row * N, N))).collect();
            let sql = format!("{head}{} ON CONFLICT {on_conflict}", tuples.join(", "));
            while rows.len() >= size {
                let values: Vec<Value> = rows.by_ref().take(size).flatten().collect();
                changed += self.run(&sql, values).await?;
            }
        }
        Ok(changed)
    }

    /// Deletes the rows of a cluster that have one of these keys.
    pub(crate) async fn delete(
        &mut self,
        table: &str,
        cluster: i64,
        column: &str,
        keys: &[String],
    ) -> Result<(), sqlx::Error> {
        let mut keys = keys.iter().cloned().map(Value::from);
        for size in CHUNKS {
            let sql = format!("DELETE FROM {table} WHERE cluster = $1 AND {column} IN ({})", places(1, size));
            while keys.len() >= size {
                let values: Vec<Value> =
                    std::iter::once(Value::from(cluster)).chain(keys.by_ref().take(size)).collect();
                self.run(&sql, values).await?;
            }
        }
        Ok(())
    }

    /// Makes it so, durably.
    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(transaction) => transaction.commit().await,
            Self::Postgres(transaction) => transaction.commit().await,
        }
    }
}

/// `$4, $5, $6` for three values after the first three.
pub(crate) fn places(after: usize, count: usize) -> String {
    (1..=count).map(|n| format!("${}", after + n)).collect::<Vec<_>>().join(", ")
}

/// A row that was read; columns count from 0.
pub(crate) enum Row {
    /// Of SQLite.
    Sqlite(SqliteRow),
    /// Of PostgreSQL.
    Postgres(PgRow),
}

/// Reads a column of either database as a Rust type.
macro_rules! column {
    ($name:ident, $type:ty, $what:literal) => {
        #[doc = $what]
        pub(crate) fn $name(&self, column: usize) -> Result<$type, sqlx::Error> {
            match self {
                Self::Sqlite(row) => row.try_get(column),
                Self::Postgres(row) => row.try_get(column),
            }
        }
    };
}

impl Row {
    column!(number, i64, "A number.");
    column!(optional_number, Option<i64>, "A number, if there is one.");
    column!(text, String, "Text.");
    column!(optional_text, Option<String>, "Text, if there is some.");
    column!(bytes, Vec<u8>, "Bytes.");
}
