//! What the fuzz tests of all crates share: how good input is made bad, the inputs that were found once, and how much
//! memory reading one takes.
//!
//! The tests themselves are called `fuzz` in each crate and are driven by `bolero`, which needs no other toolchain.
//! `docs/development.md` says how to run them longer.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The allocator that counts: a fuzz test that bounds memory installs it with `#[global_allocator]`.
pub use peak_alloc::PeakAlloc;

/// The largest input that edits make, in bytes.
const LARGEST: usize = 64 << 10;

/// Which good input is taken, and what is done to it: the kind of an edit, where, and how much. Chosen by the fuzzer.
pub type Edits = (u16, Vec<(u8, u32, u8)>);

/// What readers stumble over: as numbers of the wire, as their varints, and as text.
const EXTREMES: [&[u8]; 22] = [
    &[0x7f, 0xff, 0xff, 0xff],
    &[0xff, 0xff, 0xff, 0xff],
    &[0x80, 0, 0, 0],
    &[0x7f, 0xff],
    &[0xff, 0xff],
    &[0, 0, 0, 0],
    &[0xff, 0xff, 0xff, 0xff, 0x07],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
    &[0xc0, 0x80],
    b"2147483647",
    b"-2147483648",
    b"99999999999999999999",
    b"1e999",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":",
    b"\"\"\"",
    b"\0",
    b"\n",
    "\u{202e}\u{feff}\u{10ffff}".as_bytes(),
    b"= { a = { a = { a = ",
    b"%00%ff%2e%2e%2f",
];

/// A good input that was edited. Equal edits of equal inputs give the same.
#[must_use]
pub fn edited(good: &[Vec<u8>], (which, edits): &Edits) -> Vec<u8> {
    let pick = |number: usize| good.get(number % good.len().max(1)).cloned().unwrap_or_default();
    let mut bytes = pick(usize::from(*which));
    for (kind, place, amount) in edits {
        let amount = usize::from(*amount);
        let at = usize::try_from(*place).unwrap_or(usize::MAX) % (bytes.len() + 1);
        let end = (at + amount).min(bytes.len());
        let extreme = EXTREMES.get(amount % EXTREMES.len()).copied().unwrap_or_default();
        match kind % 8 {
            0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = amount.to_le_bytes()[0]),
            1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << (amount % 8)),
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let piece = bytes[at..end].repeat(amount % 64);
                drop(bytes.splice(at..at, piece));
            }
            5 => drop(bytes.splice(at..at, extreme.iter().copied())),
            6 => {
                let end = (at + extreme.len()).min(bytes.len());
                drop(bytes.splice(at..end, extreme.iter().copied()));
            }
            _ => {
                let other = pick(amount);
                let from = at.min(other.len());
                drop(bytes.splice(at.., other[from..].iter().copied()));
            }
        }
        bytes.truncate(LARGEST);
    }
    bytes
}

/// The inputs in a folder of the repository, by name. Whoever finds one that breaks something leaves it there.
///
/// # Errors
/// The folder or a file in it cannot be read.
pub fn kept(folder: impl AsRef<Path>) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        kept.push((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), fs::read(&path)?));
    }
    kept.sort();
    Ok(kept)
}

static MEASURING: Mutex<()> = Mutex::new(());

/// Does the work; tells how many bytes more than before were allocated at once meanwhile. What other threads allocate
/// counts, too, so give bounds some room. Needs [`PeakAlloc`] as the allocator.
pub fn measured<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    PeakAlloc.reset_peak_usage();
    let before = PeakAlloc.current_usage();
    let result = work();
    (result, PeakAlloc.peak_usage().saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_the_same_each_time_and_stay_small() {
        let good = [b"good input".to_vec(), b"another".to_vec()];
        let edits: Edits = (3, (0..200).map(|number| (number, u32::from(number) * 7919, number)).collect());
        let once = edited(&good, &edits);
        assert_eq!(once, edited(&good, &edits));
        assert!(once.len() <= LARGEST);
        assert_eq!(edited(&good, &(0, Vec::new())), good[0]);
        assert_eq!(edited(&[], &(0, vec![(5, 0, 0)])), EXTREMES[0]);
    }
}
