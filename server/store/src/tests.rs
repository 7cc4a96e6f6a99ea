//! What the store promises, on both databases, and what it says when something fails.

mod conformance;
mod faults;
mod generated;
mod incidents;
mod killed;
mod leases;
mod made;
mod migrations;
mod place;
mod postgres_faults;
mod retention;
mod words;

/// Runs each of these functions as a test on SQLite and as one on PostgreSQL.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() -> anyhow::Result<()> {
                super::$name(&crate::tests::place::sqlite().await?).await
            })*
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() -> anyhow::Result<()> {
                match crate::tests::place::postgres().await? {
                    Some(place) => super::$name(&place).await,
                    None => Ok(()),
                }
            })*
        }
    };
}
use on_both;
