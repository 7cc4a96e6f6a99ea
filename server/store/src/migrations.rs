//! Forward only: each file in `migrations/` is applied once, in its order, when the store is opened.

use crate::error::Fault;
use crate::sql::{Dialect, Transaction, values};

/// Every migration there is, oldest first. Never change one that was released: add another.
const MIGRATIONS: [&str; 1] = [include_str!("../migrations/0001_history.sql")];

/// The version of the tables that this program knows.
pub(crate) const NEWEST: usize = MIGRATIONS.len();

/// Any number that no other program locks: "unstuck" as letters of a telephone.
const LOCK: i64 = 867_8825;

/// Brings the tables up to date, in the transaction given. Whether anything was to be done.
pub(crate) async fn migrate(transaction: &mut Transaction) -> Result<bool, Fault> {
    let dialect = transaction.dialect();
    let tables = match dialect {
        Dialect::Sqlite => "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
        Dialect::Postgres => {
            // Two that start at once; let go when the transaction ends.
            transaction.rows("SELECT pg_advisory_xact_lock($1) IS NULL", values![LOCK]).await?;
            "SELECT CAST(tablename AS TEXT) FROM pg_catalog.pg_tables WHERE schemaname = current_schema()"
        }
    };
    let mut names = Vec::new();
    for row in transaction.rows(tables, []).await? {
        names.push(row.text(0)?);
    }
    if names.iter().any(|name| name == "unstuck_schema") {
        // There.
    } else if names.is_empty() {
        transaction.run("CREATE TABLE unstuck_schema (version BIGINT NOT NULL)", []).await?;
        transaction.run("INSERT INTO unstuck_schema (version) VALUES (0)", []).await?;
    } else {
        return Err(Fault::Foreign);
    }
    let rows = transaction.rows("SELECT version FROM unstuck_schema", []).await?;
    let version = rows.first().map_or(Ok(0), |row| row.number(0))?;
    let done = usize::try_from(version).unwrap_or(0);
    if done > NEWEST {
        return Err(Fault::Newer(version));
    }
    for migration in MIGRATIONS.iter().skip(done) {
        for statement in statements(migration) {
            transaction.run(&dialect.translate(&statement), []).await?;
        }
    }
    let newest = i64::try_from(NEWEST).unwrap_or(i64::MAX);
    if version != newest {
        transaction.run("UPDATE unstuck_schema SET version = $1", values![newest]).await?;
    }
    Ok(version != newest)
}

/// The statements of a file, without its comments: PostgreSQL prepares one at a time.
fn statements(migration: &str) -> impl Iterator<Item = String> {
    let lines: Vec<&str> = migration.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    let text = lines.join("\n");
    let statements: Vec<String> =
        text.split(';').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect();
    statements.into_iter()
}
