//! Small pieces of sentences: lists, counts, plurals.

use std::fmt::Display;

/// `broker 1`, `brokers 1 and 3`, `brokers 1, 2 and 3`; `no broker` for none.
pub(crate) fn brokers<'a>(ids: impl IntoIterator<Item = &'a i32>) -> String {
    named("broker", ids)
}

/// How many numbers a list names before it says "and n more".
const LISTED: usize = 12;

fn named<'a>(noun: &str, ids: impl IntoIterator<Item = &'a i32>) -> String {
    let ids: Vec<_> = ids.into_iter().collect();
    match ids.as_slice() {
        [] => format!("no {noun}"),
        [one] => format!("{noun} {one}"),
        many => format!("{noun}s {}", list(many)),
    }
}

/// `1`, `1 and 2`, `1, 2 and 3`; long lists end in `and n more`.
pub(crate) fn list<T: Display>(items: &[T]) -> String {
    let shown: Vec<_> = items.iter().take(LISTED).map(ToString::to_string).collect();
    let rest = items.len() - shown.len();
    match (shown.as_slice(), rest) {
        ([], _) => "none".to_owned(),
        ([one], 0) => one.clone(),
        ([head @ .., last], 0) => format!("{} and {last}", head.join(", ")),
        (shown, rest) => format!("{} and {rest} more", shown.join(", ")),
    }
}

/// `[1, 2]`, as Kafka's own tools print replica lists.
pub(crate) fn ids(ids: &[i32]) -> String {
    let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
    format!("[{}]", ids.join(", "))
}

/// `1 group`, `2 groups`, `no groups`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    match n {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        n => format!("{} {noun}s", thousands(n)),
    }
}

/// `1,204`.
pub(crate) fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Bytes as people say them: `3.2 GB`, `410 MB`, `5 MB`, `0 bytes`; in decimal units, as `--throttle` counts. What no
/// amount of bytes can be, such as -1, is none.
pub(crate) fn size(bytes: impl TryInto<u64>) -> String {
    let bytes = bytes.try_into().unwrap_or(0);
    let units = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let Some(&(unit, name)) = units.iter().find(|(unit, _)| bytes >= *unit) else { return format!("{bytes} bytes") };
    let tenths = bytes / (unit / 10);
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole} {name}"),
        (whole, _) if whole >= 100 => format!("{whole} {name}"),
        (whole, tenth) => format!("{whole}.{tenth} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_like_sentences() {
        assert_eq!(brokers(&[]), "no broker");
        assert_eq!(brokers(&[1]), "broker 1");
        assert_eq!(brokers(&[1, 2, 3]), "brokers 1, 2 and 3");
        let many: Vec<i32> = (0..17).collect();
        assert_eq!(brokers(&many), "brokers 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 5 more");
        assert_eq!(count(0, "group"), "no groups");
        assert_eq!(count(1, "group"), "1 group");
        assert_eq!(count(1_204, "group"), "1,204 groups");
        assert_eq!(
            (size(12), size(3_250_000_000_u64), size(410_000_000)),
            ("12 bytes".into(), "3.2 GB".into(), "410 MB".into())
        );
        assert_eq!((size(5_000_000), size(12_340_000), size(-1)), ("5 MB".into(), "12.3 MB".into(), "0 bytes".into()));
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000_000), "1,000,000");
    }
}
