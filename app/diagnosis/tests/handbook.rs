//! `docs/findings.md` is the handbook, written by `UPDATE_HANDBOOK=1 cargo test -p unstuck-diagnosis handbook`.

use std::path::PathBuf;

#[test]
fn handbook_and_document_agree() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings.md");
    let wanted = unstuck_diagnosis::handbook::document();
    if std::env::var_os("UPDATE_HANDBOOK").is_some() {
        std::fs::write(&file, &wanted).expect("docs/findings.md can be written");
    }
    let written = std::fs::read_to_string(&file).expect("docs/findings.md is there");
    assert!(written == wanted, "docs/findings.md is not what the rules say: run `make docs` and commit it");
}
