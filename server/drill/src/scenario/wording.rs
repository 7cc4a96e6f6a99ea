//! serde's messages in the words of whoever writes a scenario, who knows of TOML, and nothing of Rust.

use super::problem::{did_you_mean, list};

/// What serde says, said so that it names what is allowed.
pub(super) fn in_words(message: &str) -> String {
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let (written, allowed) = words(rest);
        return format!("there is no key `{written}` here{}", choice(written, &allowed));
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let (written, allowed) = words(rest);
        return format!("`{written}` is not known here{}", choice(written, &allowed));
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        return format!("{rest} is missing");
    }
    if message.starts_with("wanted exactly 1 element") {
        return "expected a table with exactly one key, such as `{ stop = 1 }`: give each thing that is done a table of \
                its own"
            .to_owned();
    }
    if message == "wanted string or table" {
        return "expected a word in quotes, or a table with one key".to_owned();
    }
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    match rest.and_then(|rest| rest.split_once(", expected ")) {
        Some(("unit variant", _)) => "this word needs a value: write a table such as `{ stop = 1 }`".to_owned(),
        Some((_, "unit variant")) => "this word takes no value: write it alone, in quotes".to_owned(),
        Some((found, expected)) => format!("expected {}, found {}", self::expected(expected), self::found(found)),
        None => message.to_owned(),
    }
}

/// The word written, and those that are allowed, of "`a`, expected one of `b`, `c`".
fn words(rest: &str) -> (&str, Vec<&str>) {
    let mut quoted = rest.split('`').skip(1).step_by(2);
    (quoted.next().unwrap_or(rest), quoted.collect())
}

/// `; did you mean X? Allowed: …`
fn choice(written: &str, allowed: &[&str]) -> String {
    match did_you_mean(written, allowed.iter().copied()).as_str() {
        "" => format!("; allowed: {}", list(allowed)),
        nearest => format!("{nearest} Allowed: {}", list(allowed)),
    }
}

fn expected(what: &str) -> &str {
    match what {
        "i16" => "a whole number from -32768 to 32767",
        "i32" => "a whole number from -2147483648 to 2147483647",
        "i64" => "a whole number",
        "u32" | "usize" => "a whole number, 0 or more",
        "a string" => "text in quotes",
        "a boolean" => "`true` or `false`",
        "a sequence" => "a list (`[1, 2]`, or `[[name]]` for tables)",
        "a map" => "a table",
        what if what.starts_with("struct ") => "a table",
        what => what,
    }
}

fn found(what: &str) -> String {
    match what {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        what => match what.split_once([' ', '`']) {
            Some(("integer" | "boolean", value)) => value.trim_matches('`').to_owned(),
            Some(("string", value)) => format!("the text {value}"),
            Some(("floating", value)) => value.trim_start_matches("point ").trim_matches('`').to_owned(),
            _ => what.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn messages_name_what_is_allowed() {
        for (serde, words) in [
            (
                "unknown field `leder`, expected one of `leader`, `isr`",
                "there is no key `leder` here; did you mean `leader`? Allowed: leader, isr",
            ),
            (
                "unknown variant `x`, expected `serving` or `loading`",
                "`x` is not known here; allowed: serving, loading",
            ),
            ("missing field `say`", "`say` is missing"),
            (
                "invalid type: integer `7`, expected a sequence",
                "expected a list (`[1, 2]`, or `[[name]]` for tables), found 7",
            ),
            ("invalid type: string \"x, y\", expected i64", "expected a whole number, found the text \"x, y\""),
            ("invalid value: integer `-1`, expected usize", "expected a whole number, 0 or more, found -1"),
            ("invalid type: floating point `1.5`, expected a string", "expected text in quotes, found 1.5"),
            ("invalid type: map, expected a boolean", "expected `true` or `false`, found a table"),
            (
                "invalid type: unit variant, expected newtype variant",
                "this word needs a value: write a table such as `{ stop = 1 }`",
            ),
            ("`3` is not a time", "`3` is not a time"),
        ] {
            assert_eq!(in_words(serde), words);
        }
    }
}
