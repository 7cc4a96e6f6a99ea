//! What is said, where no database is needed to hear it.

use crate::error::{Fault, Place};

#[test]
fn what_both_databases_have_in_common() {
    let file = Place::File("/var/lib/unstuck/unstuck.db".to_owned());
    let server = Place::Server {
        host: "db.example.com:5432".to_owned(),
        database: "unstuck".to_owned(),
        user: "unstuck".to_owned(),
    };
    let mut texts = Vec::new();
    for place in [file, server] {
        let damaged = serde_json::from_str::<u8>("{").expect_err("no number");
        let faults = [
            Fault::Newer(99),
            Fault::Foreign,
            Fault::NotHolder,
            Fault::Exists("i1".to_owned()),
            Fault::NotFound("i1".to_owned()),
            Fault::Unreadable("findings", damaged),
            Fault::Sql(sqlx::Error::RowNotFound),
        ];
        texts.extend(faults.map(|fault| place.error(fault)).map(|error| format!("{:?}: {error}", error.kind())));
    }
    insta::assert_snapshot!(texts.join("\n"), @"
    Newer: The tables in /var/lib/unstuck/unstuck.db are of version 99, and this Unstuck knows them up to 1: a newer Unstuck has written them. Start that one, or go back to a backup from before it.
    Corrupt: The tables in /var/lib/unstuck/unstuck.db are of another program. Name a file or a database that Unstuck has for itself.
    NotHolder: Nothing was recorded in /var/lib/unstuck/unstuck.db: another Unstuck records this cluster now, or the database was replaced. The lease has to be taken again.
    Exists: There is an incident i1 in /var/lib/unstuck/unstuck.db already: it was left as it is.
    NotFound: There is no incident i1 in /var/lib/unstuck/unstuck.db: the link is wrong, or it was dropped as too old.
    Corrupt: A row of findings in /var/lib/unstuck/unstuck.db cannot be read (invalid type: map, expected u8 at line 1 column 0): it is damaged, was changed by hand, or a newer Unstuck wrote it. Put a backup in its place.
    Other: Something unexpected failed in /var/lib/unstuck/unstuck.db; it is tried again with what is seen next.
    Newer: The tables in the database unstuck of PostgreSQL at db.example.com:5432 are of version 99, and this Unstuck knows them up to 1: a newer Unstuck has written them. Start that one, or go back to a backup from before it.
    Corrupt: The tables in the database unstuck of PostgreSQL at db.example.com:5432 are of another program. Name a file or a database that Unstuck has for itself.
    NotHolder: Nothing was recorded in the database unstuck of PostgreSQL at db.example.com:5432: another Unstuck records this cluster now, or the database was replaced. The lease has to be taken again.
    Exists: There is an incident i1 in the database unstuck of PostgreSQL at db.example.com:5432 already: it was left as it is.
    NotFound: There is no incident i1 in the database unstuck of PostgreSQL at db.example.com:5432: the link is wrong, or it was dropped as too old.
    Corrupt: A row of findings in the database unstuck of PostgreSQL at db.example.com:5432 cannot be read (invalid type: map, expected u8 at line 1 column 0): it is damaged, was changed by hand, or a newer Unstuck wrote it. Put a backup in its place.
    Other: Something unexpected failed in the database unstuck of PostgreSQL at db.example.com:5432; it is tried again with what is seen next.
    ");
}

#[test]
fn what_the_disk_of_a_file_says() {
    let place = Place::File("/var/lib/unstuck/unstuck.db".to_owned());
    let folder = Fault::Folder(std::io::Error::from(std::io::ErrorKind::PermissionDenied));
    let sentence = place.error(folder).to_string();
    insta::assert_snapshot!(sentence, @"/var/lib/unstuck/unstuck.db cannot be opened: permission denied. Unstuck's user has to be allowed to make and to write the folder and the file.");
    // Extended codes count as what they extend: SQLITE_IOERR_FSYNC, SQLITE_READONLY_DBMOVED, SQLITE_LOCKED_SHAREDCACHE.
    let kinds = [1_034, 1_032, 262].map(|code| place.sqlite(code).0);
    insta::assert_snapshot!(format!("{kinds:?}"), @"[Unreachable, ReadOnly, Locked]");
    insta::assert_snapshot!(place.sqlite(1_034).1, @"/var/lib/unstuck/unstuck.db cannot be read or written: its disk fails. Look into the kernel's log and at the mount. What is seen meanwhile is recorded when it is back, by itself.");
}
