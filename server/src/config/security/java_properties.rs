//! The format of `java.util.Properties` (its `load(InputStream)`, which Kafka's tools use): continuation lines, escapes,
//! ISO-8859-1. Written here because the crate for it has had no release for years, and because no part of a file with
//! passwords may get into an error.

use crate::config::ConfigError;

/// One setting.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The line that it begins on, from 1.
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) value: String,
}

/// The settings, in the order of the file. `name` is what errors call the file.
pub(super) fn parse(bytes: &[u8], name: &str) -> Result<Vec<Entry>, ConfigError> {
    // Each byte is a character of ISO-8859-1.
    let text: Vec<char> = bytes.iter().copied().map(char::from).collect();
    logical_lines(&text).into_iter().map(|(line, text)| entry(line, &text, name)).collect()
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{c}')
}

/// Lines with what continues them, without comments and blank ones, by the number of the first.
fn logical_lines(text: &[char]) -> Vec<(usize, Vec<char>)> {
    let mut lines: Vec<(usize, Vec<char>)> = Vec::new();
    let (mut at, mut number, mut goes_on) = (0, 0, false);
    while at < text.len() {
        let end = text[at..].iter().position(|c| matches!(c, '\n' | '\r')).map_or(text.len(), |n| at + n);
        let natural = &text[at..end];
        at = if text[end..].starts_with(&['\r', '\n']) { end + 2 } else { end + 1 };
        number += 1;
        let begin = natural.iter().position(|c| !is_space(*c)).unwrap_or(natural.len());
        let natural = &natural[begin..];
        if !goes_on && (natural.is_empty() || matches!(natural[0], '#' | '!')) {
            continue;
        }
        // An even number of backslashes are escaped backslashes.
        let continued = natural.iter().rev().take_while(|c| **c == '\\').count() % 2 == 1;
        let kept = &natural[..natural.len() - usize::from(continued)];
        match lines.last_mut() {
            Some((_, line)) if goes_on => line.extend(kept),
            _ => lines.push((number, kept.to_vec())),
        }
        goes_on = continued;
    }
    lines
}

fn entry(line: usize, text: &[char], name: &str) -> Result<Entry, ConfigError> {
    let mut end = 0;
    while end < text.len() && !is_space(text[end]) && !matches!(text[end], '=' | ':') {
        end += if text[end] == '\\' { 2 } else { 1 };
    }
    let end = end.min(text.len());
    let (key, mut rest) = text.split_at(end);
    rest = without_spaces(rest);
    if let ['=' | ':', after @ ..] = rest {
        rest = without_spaces(after);
    }
    let read = |text| {
        unescape(text).ok_or_else(|| {
            ConfigError::new(
                format!("{name} line {line}: a \\u is not followed by four hexadecimal digits, or is half a character"),
                "Java refuses the file too: \\u begins a character that is given by its number.",
                "A backslash is written \\\\, and ü is \\u00fc.",
            )
        })
    };
    Ok(Entry { line, key: read(key)?, value: read(rest)? })
}

fn without_spaces(text: &[char]) -> &[char] {
    &text[text.iter().position(|c| !is_space(*c)).unwrap_or(text.len())..]
}

fn unescape(text: &[char]) -> Option<String> {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied();
    let mut buffer = [0; 2];
    while let Some(c) = rest.next() {
        let c = match c {
            // A backslash at the end of the file means nothing.
            '\\' => match rest.next() {
                None => break,
                Some('u') => {
                    let mut unit: u32 = 0;
                    for _ in 0..4 {
                        unit = unit * 16 + rest.next()?.to_digit(16)?;
                    }
                    units.push(u16::try_from(unit).ok()?);
                    continue;
                }
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\u{c}',
                Some(other) => other,
            },
            other => other,
        };
        units.extend_from_slice(c.encode_utf16(&mut buffer));
    }
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(usize, String, String)> {
        let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).expect("ISO-8859-1")).collect();
        let entries = parse(&bytes, "x").expect("good properties");
        entries.into_iter().map(|entry| (entry.line, entry.key, entry.value)).collect()
    }

    /// Each as `java.util.Properties` of Java 17 reads it.
    #[test]
    fn files_are_read_as_java_reads_them() {
        type Read = &'static [(usize, &'static str, &'static str)];
        let cases: [(&str, Read); 12] = [
            ("a=b\nc:d\ne f\n", &[(1, "a", "b"), (2, "c", "d"), (3, "e", "f")]),
            ("  a = b  \n", &[(1, "a", "b  ")]),
            ("# c\n! d\n\n \t\na=b", &[(5, "a", "b")]),
            ("a=b \\\n    c\\\n# d\ne=f", &[(1, "a", "b c# d"), (4, "e", "f")]),
            ("a=b\\\\\nc=d", &[(1, "a", "b\\"), (2, "c", "d")]),
            ("a\\=b\\ c=d", &[(1, "a=b c", "d")]),
            ("a=\\u00fc\\t\\q\\\"", &[(1, "a", "ü\tq\"")]),
            ("a=\\ud83d\\ude00", &[(1, "a", "😀")]),
            ("a=ü\r\nb=c\rd", &[(1, "a", "ü"), (2, "b", "c"), (3, "d", "")]),
            ("a", &[(1, "a", "")]),
            ("a==b", &[(1, "a", "=b")]),
            ("a=b\\", &[(1, "a", "b")]),
        ];
        for (text, expected) in cases {
            let expected: Vec<_> =
                expected.iter().map(|(line, key, value)| (*line, (*key).to_owned(), (*value).to_owned())).collect();
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_bad_escape_is_refused_and_not_repeated() {
        for text in ["a=b\nsecret=x\\u12", "a=b\nsecret=x\\uzzzz", "a=b\nsecret=\\ud83d!"] {
            let error = parse(text.as_bytes(), "client.properties").map(|_| ()).expect_err("refused").to_string();
            assert!(error.starts_with("client.properties line 2: a \\u is not followed"), "{error}");
        }
    }
}
