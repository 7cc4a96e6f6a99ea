//! Tables of another version, or of another program.

use anyhow::Result;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};

use super::on_both;
use super::place::Place;
use crate::{Kind, Where, open};

on_both!(newer_tables_are_refused, opened_by_many_at_once, tables_of_another_program_are_refused);

/// What somebody else does to the database.
pub(super) async fn outside(place: &Place, statement: &str) -> Result<()> {
    match &place.at {
        Where::Sqlite(path) => {
            let mut connection = SqliteConnection::connect(&format!("sqlite://{}", path.display())).await?;
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
            connection.close().await?;
        }
        Where::Postgres(url) => {
            let mut connection = PgConnection::connect(url).await?;
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
            connection.close().await?;
        }
    }
    Ok(())
}

async fn newer_tables_are_refused(place: &Place) -> Result<()> {
    outside(place, "UPDATE unstuck_schema SET version = 99").await?;
    let error = open(&place.at).await.expect_err("refused");
    assert_eq!(error.kind(), Kind::Newer);
    assert!(error.to_string().contains("of version 99"), "{error}");
    assert!(error.to_string().contains("a newer Unstuck has written them"), "{error}");
    outside(place, "UPDATE unstuck_schema SET version = 1").await?;
    open(&place.at).await?;
    Ok(())
}

async fn opened_by_many_at_once(place: &Place) -> Result<()> {
    match &place.at {
        Where::Sqlite(path) => std::fs::remove_file(path)?,
        Where::Postgres(_) => outside(place, "DROP SCHEMA public CASCADE; CREATE SCHEMA public").await?,
    }
    let tasks: Vec<_> = (0..6)
        .map(|_| {
            tokio::spawn({
                let at = place.at.clone();
                async move { open(&at).await }
            })
        })
        .collect();
    for task in tasks {
        task.await??.restore("prod").await?;
    }
    Ok(())
}

async fn tables_of_another_program_are_refused(place: &Place) -> Result<()> {
    outside(place, "ALTER TABLE unstuck_schema RENAME TO something").await?;
    let error = open(&place.at).await.expect_err("refused");
    assert_eq!(error.kind(), Kind::Corrupt);
    assert!(error.to_string().contains("of another program"), "{error}");
    Ok(())
}
