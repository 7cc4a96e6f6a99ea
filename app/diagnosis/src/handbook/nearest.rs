//! Which chapter somebody may have meant who wrote a name that none has.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{Entry, handbook};

/// How much of a name is compared: no slug is longer.
const LONGEST: usize = 80;
/// How many chapters are offered.
const OFFERED: usize = 5;

/// The chapters nearest to a name, nearest first: those that share words with it, and those that differ by few letters.
#[must_use]
pub fn nearest(name: &str) -> Vec<&'static Entry> {
    let name: String = name.to_lowercase().chars().take(LONGEST).collect();
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        words.filter(|word| word.len() > 1 && word != "no").collect()
    };
    let asked = words(&name);
    let mut entries = handbook();
    entries.sort_by_key(|entry| {
        let shared = asked.intersection(&words(entry.slug)).count();
        (Reverse(shared), distance(&name, entry.slug))
    });
    entries.truncate(OFFERED);
    entries
}

/// How many letters must be put in, taken out or exchanged to make one text of the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, letter) in a.chars().enumerate() {
        let mut left = at + 1;
        let mut next = vec![left];
        for ((&other, &above), &corner) in b.iter().zip(row.iter().skip(1)).zip(row.iter()) {
            let same = usize::from(other != letter);
            left = (left + 1).min(above + 1).min(corner + same);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted() {
        for (a, b, letters) in
            [("", "", 0), ("isr", "isr", 0), ("isr", "ist", 1), ("", "abc", 3), ("leader", "laeder", 2)]
        {
            assert_eq!(distance(a, b), letters, "{a} {b}");
        }
    }

    #[test]
    fn a_misspelt_slug_finds_its_chapter() {
        for (asked, meant) in [
            ("leader-los", "leader-lost"),
            ("no_leader_no_live_replica", "no-leader-no-live-replica"),
            ("ISR-below-min", "isr-below-min"),
            ("isr", "isr-below-min"),
        ] {
            let offered: Vec<_> = nearest(asked).iter().map(|entry| entry.slug).collect();
            assert_eq!(offered.first(), Some(&meant), "{asked}: {offered:?}");
        }
        assert_eq!(nearest(&"x".repeat(100_000)).len(), OFFERED);
    }
}
