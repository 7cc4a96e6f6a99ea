//! Ids that look alike: the same but for case, spaces or invisible characters, or a typo away.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::GroupId;

/// How many ids that look alike are named.
pub(crate) const NEAR_CAP: usize = 5;
/// The most edits that still count as a typo.
const EDITS: usize = 2;

/// What is kept of a known id, so that those that look like another one are found among hundreds of thousands without
/// comparing texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// A hash of the id without what people do not see (see [`fold`]).
    folded: u64,
    /// Which characters are in the folded id: one of 64 bits for each. One edit changes at most two bits.
    bag: u64,
    /// How many characters the folded id has.
    length: u32,
}

impl Mark {
    /// The mark of an id.
    pub(crate) fn of(id: &str) -> Self {
        let folded = fold(id);
        let mut hasher = Fnv::default();
        folded.hash(&mut hasher);
        let bag = folded.chars().fold(0, |bag, c| bag | 1 << (u32::from(c) % 64));
        let length = u32::try_from(folded.chars().count()).unwrap_or(u32::MAX);
        Self { folded: hasher.finish(), bag, length }
    }

    /// Whether this may be the same but for what people do not see.
    fn may_be_twin(&self, other: &Self) -> bool {
        self.folded == other.folded
    }

    /// Whether so few edits may lead from one to the other: never false where they do.
    fn may_be_near(&self, other: &Self, edits: usize) -> bool {
        self.length.abs_diff(other.length) as usize <= edits
            && (self.bag ^ other.bag).count_ones() as usize <= 2 * edits
    }
}

/// FNV-1a: the same in every process, as pure functions have to be.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// How a known id differs from the one that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// In upper and lower case only.
    Case,
    /// In spaces at its ends, or doubled ones.
    Spaces,
    /// In characters that nobody sees.
    Invisible,
    /// In characters that look the same and are others (Unicode's compatibility forms).
    Lookalike,
    /// By one or two characters.
    Typo,
}

impl Difference {
    /// In words: what it differs in.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Case => "differs in upper and lower case",
            Self::Spaces => "differs in spaces",
            Self::Invisible => "differs in characters that cannot be seen",
            Self::Lookalike => "differs in characters that look the same",
            Self::Typo => "differs in one or two characters",
        }
    }
}

/// The id as people see it: compatibility forms resolved (NFKC), invisible characters gone, spaces trimmed and single,
/// lower case.
fn fold(id: &str) -> String {
    if id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return id.to_ascii_lowercase();
    }
    let normal: String = id.nfkc().filter(|c| !invisible(*c)).flat_map(char::to_lowercase).collect();
    normal.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Characters without a shape. Spaces have one: a gap.
fn invisible(c: char) -> bool {
    (c.is_control() && !c.is_whitespace())
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

fn difference(asked: &str, known: &str) -> Difference {
    let spaces = |id: &str| id.split_whitespace().collect::<Vec<_>>().join(" ");
    let seen = |id: &str| id.chars().filter(|c| !invisible(*c)).collect::<String>();
    let (asked_lower, known_lower) = (asked.to_lowercase(), known.to_lowercase());
    if asked_lower == known_lower {
        Difference::Case
    } else if spaces(&asked_lower) == spaces(&known_lower) {
        Difference::Spaces
    } else if spaces(&seen(&asked_lower)) == spaces(&seen(&known_lower)) {
        Difference::Invisible
    } else {
        Difference::Lookalike
    }
}

/// Known ids that look like `asked`, the most alike first, at most [`NEAR_CAP`]; and how many texts were compared.
/// `typos`: whether a few edits count too. They do not for an id that exists: `orders-1` is no mistyped `orders-2`.
pub(crate) fn near<'a>(
    asked: &GroupId,
    known: impl Iterator<Item = (&'a GroupId, Mark)>,
    typos: bool,
) -> (Vec<(&'a GroupId, Difference)>, usize) {
    let mark = Mark::of(asked.as_str());
    let folded: Vec<char> = fold(asked.as_str()).chars().collect();
    // In a short id every other one is only two edits away.
    let edits = if typos { (folded.len() / 4).min(EDITS) } else { 0 };
    let mut compared = 0;
    let mut found: Vec<(usize, bool, &GroupId, Difference)> = Vec::new();
    for (id, other) in known {
        if id == asked {
            continue;
        }
        if mark.may_be_twin(&other) {
            compared += 1;
            found.push((0, false, id, difference(asked.as_str(), id.as_str())));
        } else if edits > 0 && mark.may_be_near(&other, edits) && found.len() < NEAR_CAP * 20 {
            compared += 1;
            let theirs: Vec<char> = fold(id.as_str()).chars().collect();
            if let Some(distance) = distance(&folded, &theirs, edits) {
                found.push((distance, without_digits(&folded) == without_digits(&theirs), id, Difference::Typo));
            }
        }
    }
    // Numbered ids are a family, so a number that differs is the least likely typo.
    found.sort_by_key(|(distance, numbers_only, id, difference)| (*numbers_only, *distance, *difference, *id));
    (found.into_iter().take(NEAR_CAP).map(|(_, _, id, difference)| (id, difference)).collect(), compared)
}

fn without_digits(text: &[char]) -> String {
    text.iter().filter(|c| !c.is_ascii_digit()).collect()
}

/// How many insertions, deletions, replacements and swaps of neighbours lead from one to the other (optimal string
/// alignment), if it is not more than `most`.
fn distance(one: &[char], other: &[char], most: usize) -> Option<usize> {
    if one.len().abs_diff(other.len()) > most {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, a) in one.iter().enumerate() {
        let mut this = vec![row + 1];
        for (column, b) in other.iter().enumerate() {
            let at = |line: &[usize], place: usize| line.get(place).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&last, column) + usize::from(a != b);
            let mut best = replaced.min(at(&last, column + 1) + 1).min(at(&this, column) + 1);
            let swapped = row > 0
                && column > 0
                && one.get(row - 1) == Some(b)
                && other.get(column - 1) == Some(a)
                && !before.is_empty();
            if swapped {
                best = best.min(at(&before, column - 1) + 1);
            }
            this.push(best);
        }
        if this.iter().min().is_some_and(|least| *least > most) {
            return None;
        }
        before = std::mem::replace(&mut last, this);
    }
    last.last().copied().filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(asked: &str, known: &[&str], typos: bool) -> Vec<(String, Difference)> {
        let known: Vec<GroupId> = known.iter().map(|id| GroupId::from(*id)).collect();
        let marked = known.iter().map(|id| (id, Mark::of(id.as_str())));
        near(&GroupId::from(asked), marked, typos).0.into_iter().map(|(id, how)| (id.0.clone(), how)).collect()
    }

    #[test]
    fn twins_of_every_kind() {
        let cases = [
            ("orders-service", "Orders-Service", Difference::Case),
            ("orders", "orders ", Difference::Spaces),
            ("my orders", "my  orders", Difference::Spaces),
            ("orders", "\torders\n", Difference::Spaces),
            ("orders", "or\u{200b}ders", Difference::Invisible),
            ("orders", "\u{feff}orders", Difference::Invisible),
            ("orders", "\u{ff4f}rders", Difference::Lookalike),
            ("orders\u{a0}a", "orders a", Difference::Spaces),
            ("caf\u{e9}", "cafe\u{301}", Difference::Lookalike),
        ];
        for (asked, known, how) in cases {
            for typos in [true, false] {
                assert_eq!(found(asked, &[known], typos), [(known.to_owned(), how)], "{asked:?} {known:?}");
            }
            assert_eq!(found(known, &[asked], false).len(), 1, "and the other way round: {known:?} {asked:?}");
        }
    }

    #[test]
    fn typos_up_to_two_edits() {
        let known = ["payments", "payment-service", "billing", "payemnts", "pamyents2"];
        let ids: Vec<_> = found("payments", &known[1..], true).into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, ["payemnts", "pamyents2"]);
        assert!(found("payments", &known[1..], false).is_empty());
        assert!(found("abc", &["abd", "ab"], true).is_empty(), "short ids are all alike");
        assert_eq!(found("abcd", &["abce"], true).len(), 1);
    }

    #[test]
    fn numbers_come_last() {
        let ids: Vec<_> =
            found("orders-17", &["orders-18", "orders-16", "order-17"], true).into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, ["order-17", "orders-16", "orders-18"]);
    }

    #[test]
    fn a_hundred_thousand_ids_are_hardly_looked_at() {
        let words = ["orders", "billing", "shipping", "audit", "search", "mail", "fraud", "stock", "users", "reports"];
        let known: Vec<GroupId> = (0..100_000)
            .map(|n: usize| GroupId(format!("{}-{}-{:05}", words[n % 10], words[n / 10 % 10], n / 100)))
            .collect();
        let marked: Vec<_> = known.iter().map(|id| (id, Mark::of(id.as_str()))).collect();
        let (found, compared) = near(&"order-billing-zz".into(), marked.iter().copied(), true);
        assert!(found.is_empty());
        assert!(compared < 2_000, "{compared} of 100,000 texts were compared");
        let (found, compared) = near(&"ORDERS-billing-00042".into(), marked.iter().copied(), false);
        assert_eq!((found.len(), compared), (1, 1));
    }

    proptest::proptest! {
        #[test]
        fn the_filter_never_hides_what_is_near(one in "[a-d -]{0,12}", at in 0_usize..12, to in "[a-d]{0,2}") {
            let mut chars: Vec<char> = one.chars().collect();
            let at = at.min(chars.len());
            let cut = (at + 1).min(chars.len());
            chars.splice(at..cut, to.chars());
            let other: String = chars.into_iter().collect();
            let (a, b): (Vec<char>, Vec<char>) = (fold(&one).chars().collect(), fold(&other).chars().collect());
            if let Some(edits) = distance(&a, &b, EDITS) {
                proptest::prop_assert!(Mark::of(&one).may_be_near(&Mark::of(&other), edits));
                proptest::prop_assert_eq!(distance(&b, &a, EDITS), Some(edits));
            }
        }
    }
}
