//! The settings that Kafka's own clients and librdkafka know, so that a misspelt one is not taken for one of them.

use crate::config::{ConfigError, did_you_mean};

/// Every property of librdkafka 2.12.1 that is given as text (its CONFIGURATION.md).
const LIBRDKAFKA: &str = include_str!("../data/librdkafka.txt");
/// `configNames()` of the consumer, producer and admin client of Kafka 2.8.2, 3.9.1 and 4.1.1; then a few that other
/// programs have in the same file.
const JAVA: &str = include_str!("../data/java-clients.txt");

/// The properties of librdkafka.
pub(super) fn librdkafka() -> impl Iterator<Item = &'static str> + Clone {
    lines(LIBRDKAFKA)
}

/// The settings of Kafka's Java clients.
pub(super) fn java() -> impl Iterator<Item = &'static str> + Clone {
    lines(JAVA)
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> + Clone {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The refusal of a name that nobody knows. It repeats the name only if it is near a known one and begins like one: what
/// stands where a name should be may be half a password.
pub(super) fn unknown(
    name: &str,
    place: &str,
    whose: &str,
    known: impl Iterator<Item = &'static str> + Clone,
) -> ConfigError {
    let near = did_you_mean(name, known.clone());
    let begin = |name: &str| name.split_once('.').map(|(begin, _)| begin.to_owned());
    let begins_like_one =
        begin(name).is_some_and(|first| known.clone().any(|known| begin(known).as_ref() == Some(&first)));
    let like_a_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    let failed = if near.is_some() && begins_like_one && like_a_name {
        format!("{place}: {whose} has no setting `{name}`")
    } else {
        format!("{place}: {whose} has no setting of this name")
    };
    ConfigError::new(
        failed,
        "A misspelt setting would be ignored silently, so it is refused.",
        near.unwrap_or_else(|| "Correct it, or take it out.".to_owned()),
    )
}
