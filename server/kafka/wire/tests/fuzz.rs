//! Answers as a broken or hostile broker would send them: real ones that were edited, read as every answer in every version.
//! None may panic, and none may take much more memory than it is long.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use unstuck_fuzzing::{Edits, PeakAlloc, edited, kept, measured};

mod everything;

use everything::read_as_everything;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Bytes that may be allocated at once for each byte of an answer. An element of an array takes a byte on the wire at
/// least, and becomes a struct.
const PER_BYTE: usize = 256;
/// What may be allocated besides: the windows of `decode.rs`, and what the threads of the tests take.
const BESIDES: usize = 6 << 20;

fn folder(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

/// The answers of real brokers of five releases, as the drills have recorded them.
fn recorded() -> io::Result<Vec<Vec<u8>>> {
    let mut answers = Vec::new();
    for release in fs::read_dir(folder("../../drill/data/recorded"))? {
        let text = fs::read_to_string(release?.path())?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        answers.extend(lines.filter_map(|line| unhex(line.rsplit('\t').next()?)));
    }
    Ok(answers)
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|digit| u8::try_from(digit.to_digit(16)?).ok()).collect();
    Some(digits?.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn read(what: &str, bytes: Vec<u8>) {
    let length = bytes.len();
    let bytes = Bytes::from(bytes);
    let (_, allocated) = measured(|| read_as_everything(&bytes));
    assert!(allocated <= length * PER_BYTE + BESIDES, "{what}: {allocated} bytes for {length}");
}

#[test]
fn answers_that_broke_something_are_read_or_refused() {
    for (name, bytes) in kept(folder("tests/corpus")).expect("the corpus") {
        read(&name, bytes);
    }
}

#[test]
fn edited_answers_are_read_or_refused() {
    let mut good = recorded().expect("recorded answers");
    assert!(good.len() > 200, "{} recorded answers", good.len());
    good.extend(kept(folder("tests/corpus")).expect("the corpus").into_iter().map(|(_, bytes)| bytes));
    bolero::check!().with_type::<Edits>().for_each(|edits| read("edited", edited(&good, edits)));
}
