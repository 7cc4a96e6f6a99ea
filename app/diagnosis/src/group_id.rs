//! Consumer group ids, and Kafka's hash of them.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The longest group id that fits the protocol: 32,767 bytes of UTF-8
/// (a `STRING` has an `INT16` length; clients `Type.java`).
pub const MAX_GROUP_ID_BYTES: usize = 32_767;

/// A consumer group id exactly as a broker would hash it: no trimming, no case folding, any characters.
/// The empty id is a legal one (an offset commit of a simple consumer can make it).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupId(pub String);

impl GroupId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Java's `String.hashCode` of this id.
    #[must_use]
    pub fn java_hash(&self) -> i32 {
        java_hash(&self.0)
    }

    /// A short name for ids that do not fit a URL: the first 32 hexadecimal digits of the SHA-256 of its UTF-8.
    #[must_use]
    pub fn digest(&self) -> String {
        Sha256::digest(self.0.as_bytes()).iter().take(16).fold(String::new(), |mut hex, byte| {
            hex.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
            hex.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
            hex
        })
    }

    /// Whether a page link must name it by [`digest`](Self::digest): above 2,000 bytes of UTF-8
    /// (browsers, proxies and chat programs cut longer URLs; the HTTP server refuses 65,534 characters).
    #[must_use]
    pub fn needs_digest(&self) -> bool {
        self.0.len() > 2_000
    }

    /// The id for people: invisible characters made visible, long ids cut in the middle. See [`visible`].
    #[must_use]
    pub fn visible(&self) -> String {
        visible(&self.0)
    }
}

impl From<&str> for GroupId {
    fn from(id: &str) -> Self {
        Self(id.to_owned())
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.visible())
    }
}

/// Java's `String.hashCode`: `h = 31 * h + unit` over UTF-16 code units, in wrapping 32-bit arithmetic.
/// A character outside the Basic Multilingual Plane counts as its two surrogates.
#[must_use]
pub fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// Longest text that [`visible`] returns uncut, in characters.
const VISIBLE_CHARS: usize = 200;

/// Text from a cluster, made safe and honest for people: control, invisible and direction-changing characters
/// become `\u{…}` escapes, leading and trailing spaces become `␠`, the empty text becomes `(empty id)`,
/// and a text of more than 200 characters is cut in the middle with its length said.
/// The result never breaks a terminal or a log line, and two different short ids never look the same
/// because of a character nobody can see.
#[must_use]
pub fn visible(text: &str) -> String {
    if text.is_empty() {
        return "(empty id)".to_owned();
    }
    let count = text.chars().count();
    if count > VISIBLE_CHARS {
        let head: String = text.chars().take(VISIBLE_CHARS * 3 / 4).collect();
        let tail: String = text.chars().skip(count - VISIBLE_CHARS / 4).collect();
        return format!("{}…{} ({count} characters)", escape(&head), escape(&tail));
    }
    escape(text)
}

fn escape(text: &str) -> String {
    let body_start = text.len() - text.trim_start_matches(' ').len();
    let body_end = text.trim_end_matches(' ').len();
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if c == ' ' && (at < body_start || at >= body_end) {
            out.push('␠');
        } else if is_invisible(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Characters that leave no mark, move the cursor, or change the direction of what follows.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_utf16_units_as_java_does() {
        assert_eq!(java_hash(""), 0);
        assert_eq!(java_hash("test"), 3_556_498);
        assert_eq!(java_hash("my-group"), -1_906_497_762);
        assert_eq!(java_hash("\u{1F600}-group"), -1_198_440_043);
        assert_eq!(java_hash("group-\u{4E2D}\u{6587}"), 506_956_552);
        for id in ["polygenelubricants", "GydZG_", "DESIGNING WORKHOUSES"] {
            assert_eq!(java_hash(id), i32::MIN, "{id}");
        }
    }

    #[test]
    fn shows_what_cannot_be_seen() {
        let cases = [
            ("", "(empty id)"),
            ("orders", "orders"),
            ("orders ", "orders␠"),
            ("two words", "two words"),
            ("  a", "␠␠a"),
            ("a\u{200b}b", "a\\u{200b}b"),
            ("a\tb\n\u{1b}[31m", "a\\u{9}b\\u{a}\\u{1b}[31m"),
            ("\u{202e}gnp", "\\u{202e}gnp"),
            ("\u{5e9}\u{5dc}\u{5d5}\u{5dd}", "\u{5e9}\u{5dc}\u{5d5}\u{5dd}"),
            ("<script>", "<script>"),
            ("\u{1F600}", "\u{1F600}"),
        ];
        for (id, shown) in cases {
            assert_eq!(visible(id), shown, "{id:?}");
        }
    }

    #[test]
    fn a_long_id_is_cut_in_the_middle_with_its_length() {
        let shown = visible(&"é".repeat(32_767 / 2));
        assert!(shown.chars().count() < 240, "{shown}");
        assert!(shown.ends_with("(16383 characters)"), "{shown}");
    }
}
