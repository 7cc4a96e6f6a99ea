//! Scenario files as somebody's mistakes, or somebody's malice, would write them: shipped ones that were edited. None may
//! panic, what is refused says why, and none may take much memory.

use std::path::{Path, PathBuf};

use unstuck_drill::scenario::{read, shipped};
use unstuck_fuzzing::{Edits, PeakAlloc, edited, kept, measured};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What reading a file may allocate at once: it is at most 64 KiB long, and its numbers are not lengths of anything.
const MOST: usize = 128 << 20;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn written(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (scenario, allocated) = measured(|| read(&text, "fuzz.toml"));
    assert!(allocated <= MOST, "{what}: {allocated} bytes for {}", text.len());
    if let Err(errors) = scenario {
        assert!(!errors.problems.is_empty(), "{what}: refused without a reason");
        assert!(errors.to_string().contains("fuzz.toml"), "{what}: {errors}");
    }
}

#[test]
fn files_that_broke_something_are_read_or_refused() {
    for (name, bytes) in kept(corpus()).expect("the corpus") {
        written(&name, &bytes);
    }
}

#[test]
fn edited_files_are_read_or_refused() {
    let mut good: Vec<Vec<u8>> =
        shipped::names().iter().filter_map(|name| shipped::text(name)).map(String::into_bytes).collect();
    assert!(good.len() > 10, "{} shipped scenarios", good.len());
    good.extend(kept(corpus()).expect("the corpus").into_iter().map(|(_, bytes)| bytes));
    bolero::check!().with_type::<Edits>().for_each(|edits| written("edited", &edited(&good, edits)));
}
