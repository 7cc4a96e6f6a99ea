//! Each test that `docs/security.md` names exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Names of functions in the sources below a folder.
fn functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            functions(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&entry).expect("a source file");
            let mut test = false;
            for line in source.lines().map(str::trim) {
                if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                    test = true;
                } else if let Some((_, rest)) = line.split_once("fn ").filter(|_| test) {
                    found.insert(rest.split('(').next().unwrap_or_default().to_owned());
                    test = false;
                }
            }
        }
    }
}

#[test]
fn every_test_that_the_checklist_names_exists() {
    let server = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tests = BTreeSet::new();
    functions(&server.join("src"), &mut tests);
    let text = fs::read_to_string(server.join("../docs/security.md")).expect("docs/security.md");
    let checklist = text.split_once("## Checklist").expect("the checklist").1;
    // Between backticks, long and of several words: a test.
    let named = checklist.split('`').skip(1).step_by(2).filter(|word| {
        word.matches('_').count() >= 3
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    });
    let named: BTreeSet<&str> = named.collect();
    assert!(named.len() > 30, "{named:?}");
    let missing: Vec<&&str> = named.iter().filter(|name| !tests.contains(**name)).collect();
    assert!(missing.is_empty(), "docs/security.md names tests that are not there: {missing:?}");
}
