//! PostgreSQL in trouble: what is said, and that recording goes on when it is over.

use std::error::Error;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use unstuck_diagnosis::GroupId;

use super::made::seen;
use super::migrations::outside;
use super::place::shared;
use super::place::{Place, new_database, postgres, token};
use crate::postgres_server::Server;
use crate::{Batch, Kind, Store, StoreError, Where, open};

fn groups(count: i64) -> Batch {
    let groups = (0..count).map(|n| (GroupId(format!("group-{n}")), seen(n))).collect();
    Batch { groups, ..Batch::default() }
}

/// The words, without what differs from run to run.
fn said(error: &StoreError, server: &Server) -> String {
    let text = error.to_string().replace(&server.port().to_string(), "5432");
    let words = text.split(' ').map(|word| {
        let end =
            word.trim_start_matches(|c: char| c != '_').trim_start_matches(|c: char| c == '_' || c.is_ascii_digit());
        if word.starts_with("test_") { format!("unstuck{end}") } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Everything that may reach a log.
fn everything(error: &StoreError) -> String {
    let source = error.source().map(ToString::to_string);
    format!("{error} {error:?} {source:?}")
}

async fn write_when_back(store: &dyn Store, held: i64, batch: &Batch) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match store.write("prod", held, batch).await {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() > deadline => return Err(error).context("it does not go on by itself"),
            Err(_) => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_and_started_again() -> Result<()> {
    // Of its own: the others use the shared one.
    let Some(server) = Server::start()? else { return Ok(()) };
    let store = open(&Where::Postgres(new_database(&server).await?)).await?;
    let held = token(&*store, "prod", "test").await?;
    store.write("prod", held, &groups(5)).await?;
    server.stop()?;
    let error = store.write("prod", held, &groups(6)).await.expect_err("it is stopped");
    assert_eq!(error.kind(), Kind::Unreachable);
    insta::assert_snapshot!(said(&error, &server), @"The database unstuck of PostgreSQL at 127.0.0.1:5432 cannot be reached. Is PostgreSQL running there, and is the way open? What is seen meanwhile is recorded when it is back, by itself.");
    assert!(!everything(&error).contains("secret"), "{error:?}");
    server.start_again()?;
    write_when_back(&*store, held, &groups(7)).await?;
    assert_eq!(store.restore("prod").await?.context("a record")?.groups.len(), 7);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_in_the_middle_of_batches() -> Result<()> {
    let Some(server) = Server::start()? else { return Ok(()) };
    let store = open(&Where::Postgres(new_database(&server).await?)).await?;
    let held = token(&*store, "prod", "test").await?;
    store.write("prod", held, &groups(1)).await?;
    let writing = tokio::spawn({
        let store = store.clone();
        async move {
            loop {
                if let Err(error) = store.write("prod", held, &groups(3_000)).await {
                    return error;
                }
            }
        }
    });
    server.stop()?;
    let error = writing.await?;
    assert_eq!(error.kind(), Kind::Unreachable, "{}", everything(&error));
    server.start_again()?;
    write_when_back(&*store, held, &groups(3_000)).await?;
    assert_eq!(store.restore("prod").await?.context("a record")?.groups.len(), 3_000);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_come_in() -> Result<()> {
    let Some(server) = shared() else { return Ok(()) };
    let url = new_database(server).await?;
    let missing = server.url("missing");
    let stranger = url.replace("postgres:secret", "stranger:secret");
    // Without TLS there, or with a certificate that nobody knows.
    let tls = format!("{url}?sslmode=verify-full");
    let mut texts = Vec::new();
    for url in [missing, stranger, tls] {
        let error = open(&Where::Postgres(url)).await.expect_err("refused");
        assert_eq!(error.kind(), Kind::Unreachable);
        assert!(!everything(&error).contains("secret"), "{error:?}");
        texts.push(said(&error, server));
    }
    let mut admin = PgConnection::connect(&url).await?;
    admin.execute("CREATE ROLE reader LOGIN PASSWORD 'secret'").await?;
    admin.close().await?;
    let error = open(&Where::Postgres(url.replace("postgres:secret", "reader:secret"))).await.expect_err("refused");
    assert_eq!(error.kind(), Kind::ReadOnly);
    texts.push(said(&error, server));
    insta::assert_snapshot!(texts.join("\n"), @"
    PostgreSQL at 127.0.0.1:5432 has no database missing. Make it: CREATE DATABASE missing OWNER postgres.
    PostgreSQL at 127.0.0.1:5432 does not let the user stranger in: check user and password in the URL, and pg_hba.conf there.
    PostgreSQL at 127.0.0.1:5432 cannot be trusted or does not speak TLS: check its certificate against sslmode and sslrootcert in the URL.
    The user reader may not make or write tables in the database unstuck of PostgreSQL at 127.0.0.1:5432. Make that user the owner of the database: ALTER DATABASE unstuck OWNER TO reader.
    ");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tls() -> Result<()> {
    let Some(server) = shared() else { return Ok(()) };
    let Some(certificate) = server.certificate() else { return Ok(()) };
    let url = new_database(server).await?;
    let with_tls = format!("{url}?sslmode=verify-full&sslrootcert={}", certificate.display());
    let store = open(&Where::Postgres(with_tls)).await?;
    let held = token(&*store, "prod", "test").await?;
    store.write("prod", held, &groups(500)).await?;
    assert_eq!(store.restore("prod").await?.context("a record")?.groups.len(), 500);
    let mut admin = PgConnection::connect(&format!("{url}?sslmode=disable")).await?;
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                     WHERE application_name = 'unstuck' AND datname = current_database()";
    assert!(sqlx::query_scalar::<_, bool>(encrypted).fetch_one(&mut admin).await?);
    admin.close().await?;
    Ok(())
}

#[tokio::test]
async fn urls_that_are_none() -> Result<()> {
    for url in ["unstuck.db", "mysql://u:secret@h/d", "postgres://u:sec#ret@h:port/d", "postgres://[secret"] {
        let error = open(&Where::Postgres(url.to_owned())).await.expect_err("no URL");
        assert_eq!(error.kind(), Kind::Other, "{url}");
        assert!(!everything(&error).contains("sec#") && !everything(&error).contains("secret"), "{error:?}");
        insta::allow_duplicates! { insta::assert_snapshot!(error.to_string(), @"The URL of PostgreSQL is none: it has to look like postgres://user:password@host:5432/database, with special characters of the password as %XX."); }
    }
    assert_eq!(format!("{:?}", Where::Postgres("postgres://u:secret@h/d".to_owned())), "Postgres(…)");
    let error = open(&Where::Postgres("postgres://u:secret@127.0.0.1:1/d".to_owned())).await.expect_err("nobody there");
    assert!(!everything(&error).contains("secret"), "{error:?}");
    Ok(())
}

/// Makes every change of groups fail as PostgreSQL does with this code.
async fn fails_with(place: &Place, code: &str) -> Result<()> {
    let statement = format!(
        "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END $$; \
         CREATE TRIGGER fails BEFORE INSERT ON known_groups EXECUTE FUNCTION fails()"
    );
    outside(place, &statement).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_and_a_read_only_database() -> Result<()> {
    let (Some(server), Some(place)) = (shared(), postgres().await?) else { return Ok(()) };
    let held = place.token("prod").await?;
    let mut texts = Vec::new();
    for (code, kind) in [("53100", Kind::Full), ("57P01", Kind::Unreachable), ("XX001", Kind::Corrupt)] {
        fails_with(&place, code).await?;
        let error = place.store.write("prod", held, &groups(5)).await.expect_err("it fails");
        assert_eq!(error.kind(), kind);
        texts.push(said(&error, server));
        assert_eq!(place.store.restore("prod").await?, None, "nothing of it was written");
        outside(&place, "DROP FUNCTION fails CASCADE").await?;
    }
    let database = match &place.at {
        Where::Postgres(url) => url.rsplit('/').next().context("a name")?.to_owned(),
        Where::Sqlite(_) => unreachable!("a PostgreSQL database"),
    };
    let read_only = |on: bool| format!("ALTER DATABASE {database} SET default_transaction_read_only = {on}");
    let mut admin = PgConnection::connect(&server.url("postgres")).await?;
    admin.execute(AssertSqlSafe(read_only(true))).await?;
    let store = open(&place.at).await.context("reading is enough to open it")?;
    let error = store.write("prod", held, &groups(5)).await.expect_err("read-only");
    assert_eq!(error.kind(), Kind::ReadOnly);
    texts.push(said(&error, server));
    // Sessions that were there keep what they were told; end them.
    let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'");
    admin.execute(AssertSqlSafe(end)).await?;
    let error = place.store.write("prod", held, &groups(5)).await.expect_err("read-only");
    assert_eq!(error.kind(), Kind::ReadOnly, "{}", everything(&error));
    admin.execute(AssertSqlSafe(read_only(false))).await?;
    admin.close().await?;
    place.store.write("prod", held, &groups(5)).await.context("by itself, on a new connection")?;
    insta::assert_snapshot!(texts.join("\n"), @"
    Nothing more can be recorded: the disk of PostgreSQL at 127.0.0.1:5432 is full. Free some space there; recording then goes on by itself.
    PostgreSQL at 127.0.0.1:5432 is starting or shutting down, or ended the connection. What is seen meanwhile is recorded when it is back, by itself.
    The database unstuck of PostgreSQL at 127.0.0.1:5432 is damaged: see PostgreSQL's log, and restore it from a backup.
    Nothing can be recorded: the database unstuck of PostgreSQL at 127.0.0.1:5432 may only be read. Is that a standby? Name the primary, or end the read-only mode; recording then goes on by itself.
    ");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn locked_by_another_program() -> Result<()> {
    let (Some(server), Some(place)) = (shared(), postgres().await?) else { return Ok(()) };
    let held = place.token("prod").await?;
    let Where::Postgres(url) = &place.at else { unreachable!("a PostgreSQL database") };
    let mut other = PgConnection::connect(url).await?;
    other.execute("BEGIN").await?;
    other.execute("SELECT * FROM leases FOR UPDATE").await?;
    let error = place.store.write("prod", held, &groups(5)).await.expect_err("locked");
    assert_eq!(error.kind(), Kind::Locked);
    insta::assert_snapshot!(said(&error, server), @"Nothing can be recorded: something has kept rows of the database unstuck of PostgreSQL at 127.0.0.1:5432 locked for long. If that is no other Unstuck, end it (pg_stat_activity names it); recording then goes on by itself.");
    other.execute("COMMIT").await?;
    place.store.write("prod", held, &groups(5)).await?;
    Ok(())
}
