//! A SQLite file in trouble: what is said, and that recording goes on when it is over.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sqlx::{Connection, Executor, SqliteConnection};
use tempfile::TempDir;
use unstuck_diagnosis::GroupId;

use super::made::{at, seen};
use super::place::token;
use crate::database::{Database, For};
use crate::sqlite::SqliteFile;
use crate::{Batch, Kind, Store, StoreError, Where, open};

/// A store in a folder of its own.
struct Trouble {
    folder: TempDir,
    store: Database<SqliteFile>,
}

impl Trouble {
    async fn new() -> Result<Self> {
        let folder = TempDir::new()?;
        let store = Database::open(SqliteFile::new(&folder.path().join("unstuck.db"))).await?;
        Ok(Self { folder, store })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("unstuck.db")
    }

    /// Tells the one connection that writes something.
    async fn tell_writer(&self, pragma: &str) -> Result<()> {
        let mut transaction = self.store.begin(For::Writing).await?;
        transaction.rows(pragma, []).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Another program at the same file.
    async fn outside(&self) -> Result<SqliteConnection> {
        Ok(SqliteConnection::connect(&format!("sqlite://{}", self.path().display())).await?)
    }

    async fn groups(&self) -> Result<usize> {
        Ok(self.store.restore("prod").await?.context("a record")?.groups.len())
    }

    fn said(&self, error: &StoreError) -> String {
        said(error, self.folder.path())
    }
}

fn said(error: &StoreError, folder: &Path) -> String {
    error.to_string().replace(&folder.display().to_string(), "/var/lib/unstuck")
}

fn groups(count: i64) -> Batch {
    let groups = (0..count).map(|n| (GroupId(format!("group-{n}")), seen(n))).collect();
    Batch { looked_until: at(count), groups, ..Batch::default() }
}

#[tokio::test]
async fn a_full_disk() -> Result<()> {
    let trouble = Trouble::new().await?;
    let held = token(&trouble.store, "prod", "test").await?;
    trouble.store.write("prod", held, &groups(5)).await?;
    trouble.tell_writer("PRAGMA max_page_count = 60").await?;
    for _ in 0..3 {
        let error = trouble.store.write("prod", held, &groups(5_000)).await.expect_err("no room");
        assert_eq!(error.kind(), Kind::Full);
        insta::allow_duplicates! { insta::assert_snapshot!(trouble.said(&error), @"Nothing more can be recorded: the disk or the quota that /var/lib/unstuck/unstuck.db is on is full. Free some space; recording then goes on by itself."); }
        assert_eq!(trouble.groups().await?, 5, "nothing of it was written");
    }
    trouble.store.write("prod", held, &groups(6)).await.context("what fits is still written")?;
    trouble.tell_writer("PRAGMA max_page_count = 100000").await?;
    trouble.store.write("prod", held, &groups(5_000)).await?;
    assert_eq!(trouble.groups().await?, 5_000);
    Ok(())
}

#[tokio::test]
async fn a_file_that_may_only_be_read() -> Result<()> {
    let trouble = Trouble::new().await?;
    let held = token(&trouble.store, "prod", "test").await?;
    // Root may write what is read-only, so SQLite is told to say what it says then.
    trouble.tell_writer("PRAGMA query_only = 1").await?;
    let error = trouble.store.write("prod", held, &groups(5)).await.expect_err("read-only");
    assert_eq!(error.kind(), Kind::ReadOnly);
    insta::assert_snapshot!(trouble.said(&error), @"Nothing can be recorded: /var/lib/unstuck/unstuck.db may only be read. Let Unstuck's user write the file and its folder; recording then goes on by itself.");
    trouble.store.write("prod", held, &groups(5)).await.context("by itself, on a new connection")?;
    assert_eq!(trouble.groups().await?, 5);
    Ok(())
}

#[tokio::test]
async fn locked_by_another_program() -> Result<()> {
    let trouble = Trouble::new().await?;
    let held = token(&trouble.store, "prod", "test").await?;
    trouble.tell_writer("PRAGMA busy_timeout = 100").await?;
    let mut other = trouble.outside().await?;
    other.execute("BEGIN IMMEDIATE").await?;
    let error = trouble.store.write("prod", held, &groups(5)).await.expect_err("locked");
    assert_eq!(error.kind(), Kind::Locked);
    insta::assert_snapshot!(trouble.said(&error), @"Nothing can be recorded: another process has been writing /var/lib/unstuck/unstuck.db for long. If that is no other Unstuck, end it (a copy being made, an open sqlite3); recording then goes on by itself.");
    assert_eq!(trouble.store.restore("prod").await?, None, "reading does not wait");
    other.execute("COMMIT").await?;
    trouble.store.write("prod", held, &groups(5)).await?;
    Ok(())
}

#[tokio::test]
async fn damaged_and_a_backup_put_in_its_place() -> Result<()> {
    let trouble = Trouble::new().await?;
    let held = token(&trouble.store, "prod", "test").await?;
    trouble.store.write("prod", held, &groups(2_000)).await?;
    let backup = trouble.folder.path().join("backup.db");
    let mut other = trouble.outside().await?;
    other.execute(sqlx::AssertSqlSafe(format!("VACUUM INTO '{}'", backup.display()))).await?;
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)").await?;
    other.close().await?;
    // Everything behind the first page is noise.
    let mut bytes = std::fs::read(trouble.path())?;
    bytes.iter_mut().skip(4_096).for_each(|byte| *byte = 0x5a);
    std::fs::write(trouble.path(), bytes)?;

    let again = open(&Where::Sqlite(trouble.path())).await;
    let error = match again {
        Ok(store) => store.restore("prod").await.expect_err("damaged"),
        Err(error) => error,
    };
    assert_eq!(error.kind(), Kind::Corrupt);
    insta::assert_snapshot!(trouble.said(&error), @"/var/lib/unstuck/unstuck.db is damaged. Move it away together with its -wal and -shm files, and put a backup in its place; without one, a new file is begun.");

    std::fs::rename(&backup, trouble.path())?;
    let error = trouble.store.write("prod", held, &groups(3)).await.expect_err("another file");
    assert_eq!(error.kind(), Kind::NotHolder);
    assert_eq!(trouble.groups().await?, 2_000);
    let new = token(&trouble.store, "prod", "test").await?;
    assert!(new > held);
    trouble.store.write("prod", new, &groups(2_001)).await?;
    assert_eq!(trouble.groups().await?, 2_001);
    sound(&trouble).await
}

async fn sound(trouble: &Trouble) -> Result<()> {
    let mut other = trouble.outside().await?;
    let verdict: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut other).await?;
    assert_eq!(verdict, "ok");
    other.close().await?;
    Ok(())
}

#[tokio::test]
async fn replaced_by_a_backup_while_in_use() -> Result<()> {
    let trouble = Trouble::new().await?;
    let held = token(&trouble.store, "prod", "test").await?;
    trouble.store.write("prod", held, &groups(10)).await?;
    let backup = trouble.folder.path().join("backup.db");
    let mut other = trouble.outside().await?;
    other.execute(sqlx::AssertSqlSafe(format!("VACUUM INTO '{}'", backup.display()))).await?;
    other.close().await?;
    // These are in the WAL, which must not be taken for the backup's.
    for count in 11..40 {
        trouble.store.write("prod", held, &groups(count)).await?;
    }
    std::fs::rename(&backup, trouble.path())?;
    let error = trouble.store.write("prod", held, &groups(50)).await.expect_err("another file");
    assert_eq!(error.kind(), Kind::NotHolder);
    insta::assert_snapshot!(trouble.said(&error), @"Nothing was recorded in /var/lib/unstuck/unstuck.db: another Unstuck records this cluster now, or the database was replaced. The lease has to be taken again.");
    assert_eq!(trouble.groups().await?, 10, "as in the backup");
    let new = token(&trouble.store, "prod", "test").await?;
    trouble.store.write("prod", new, &groups(50)).await?;
    assert_eq!(trouble.groups().await?, 50);
    sound(&trouble).await
}

#[tokio::test]
async fn deleted_while_in_use() -> Result<()> {
    let trouble = Trouble::new().await?;
    let held = token(&trouble.store, "prod", "test").await?;
    trouble.store.write("prod", held, &groups(10)).await?;
    std::fs::remove_dir_all(trouble.folder.path())?;
    let error = trouble.store.write("prod", held, &groups(11)).await.expect_err("another file");
    assert_eq!(error.kind(), Kind::NotHolder);
    assert_eq!(trouble.store.restore("prod").await?, None, "a new file");
    let new = token(&trouble.store, "prod", "test").await?;
    trouble.store.write("prod", new, &groups(11)).await?;
    assert_eq!(trouble.groups().await?, 11);
    sound(&trouble).await
}

#[tokio::test]
async fn files_that_are_none() -> Result<()> {
    let folder = TempDir::new()?;
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "Not a database, but longer than the hundred bytes of a header of one. ".repeat(90))?;
    let error = open(&Where::Sqlite(text.clone())).await.expect_err("not a database");
    assert_eq!(error.kind(), Kind::Corrupt);
    insta::assert_snapshot!(said(&error, folder.path()), @"/var/lib/unstuck/notes.txt is not a SQLite database, or its beginning is damaged. Name another file, or move it away and put a backup in its place; without one, a new file is begun.");
    assert!(std::fs::read_to_string(&text)?.starts_with("Not a database"), "it was left as it is");

    let error = open(&Where::Sqlite(text.join("unstuck.db"))).await.expect_err("no folder");
    assert_eq!(error.kind(), Kind::Unreachable);
    insta::assert_snapshot!(said(&error, folder.path()), @"/var/lib/unstuck/notes.txt/unstuck.db cannot be opened: File exists (os error 17). Unstuck's user has to be allowed to make and to write the folder and the file.");

    let error = open(&Where::Sqlite(folder.path().to_owned())).await.expect_err("a folder");
    assert_eq!(error.kind(), Kind::Unreachable);
    insta::assert_snapshot!(said(&error, folder.path()), @"/var/lib/unstuck cannot be opened. Its folder has to be there, and Unstuck's user has to be allowed to write both. What is seen meanwhile is recorded when it is back, by itself.");
    Ok(())
}
