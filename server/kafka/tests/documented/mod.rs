//! `docs/looking.md` names each request that can be sent, and no other one.

use std::collections::BTreeSet;

use unstuck_wire::Api;

const DOCUMENT: &str = include_str!("../../../../docs/looking.md");

#[test]
fn the_document_names_every_request_and_no_other_one() {
    let rows = DOCUMENT.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let (name, key) = (cells.next()?.trim_matches('`'), cells.next()?.parse::<i16>().ok()?);
        Some((name.to_owned(), key))
    });
    let documented: BTreeSet<_> = rows.collect();
    let sent: BTreeSet<_> = Api::ALL.iter().map(|api| (api.name().to_owned(), api.key())).collect();
    assert_eq!(documented, sent);
}
