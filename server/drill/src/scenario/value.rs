//! The small values of a scenario file: times, sizes, and sets of partitions.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A time such as `20s`, `250ms`, `1m 30s` or `2d`: scenario time, counted from its beginning or from a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Duration);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a time: write a number with ms, s, m, h or d, such as `20s` or `1m 30s`");
        let mut total = Duration::ZERO;
        let mut rest = text.trim();
        if rest.is_empty() {
            return Err(wrong());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
            let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
            rest = &rest[digits..];
            let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let milliseconds = match &rest[..letters] {
                "ms" => 1,
                "s" => 1_000,
                "m" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return Err(wrong()),
            };
            let part = Duration::from_millis(number.checked_mul(milliseconds).ok_or_else(wrong)?);
            total = total.checked_add(part).ok_or_else(wrong)?;
            rest = rest[letters..].trim_start();
        }
        Ok(Self(total))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = self.0.as_millis();
        if milliseconds == 0 {
            return f.write_str("0s");
        }
        let mut rest = milliseconds;
        let mut first = true;
        for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
            let count = rest / size;
            rest %= size;
            if count > 0 {
                write!(f, "{}{count}{unit}", if first { "" } else { " " })?;
                first = false;
            }
        }
        Ok(())
    }
}

/// A size such as `80 MiB`, `2 GiB`, `500 kB`, or a plain number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a size: write bytes as a number, or with kB, MB, GB, KiB, MiB or GiB");
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
        let unit: u64 = match text[digits..].trim() {
            "" | "B" => 1,
            "kB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return Err(wrong()),
        };
        number.checked_mul(unit).map(Self).ok_or_else(wrong)
    }
}

/// The most partitions that a topic of a scenario may have: so that a slip of the pen does not fill the memory.
pub const MOST_PARTITIONS: i32 = 100_000;

/// Which partitions: a number, a list of numbers, or text such as `0-9, 12` or `all`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Partitions {
    /// Each partition of the topic.
    #[default]
    All,
    /// These, ascending.
    These(Vec<i32>),
}

impl Partitions {
    /// The numbers meant, of a topic with so many partitions. Numbers beyond the topic are left out.
    #[must_use]
    pub fn of(&self, count: i32) -> Vec<i32> {
        match self {
            Self::All => (0..count).collect(),
            Self::These(numbers) => numbers.iter().copied().filter(|number| (0..count).contains(number)).collect(),
        }
    }

    /// Whether a partition is meant.
    #[must_use]
    pub fn contains(&self, partition: i32) -> bool {
        match self {
            Self::All => true,
            Self::These(numbers) => numbers.contains(&partition),
        }
    }

    /// The highest number named.
    #[must_use]
    pub fn highest(&self) -> Option<i32> {
        match self {
            Self::All => None,
            Self::These(numbers) => numbers.iter().copied().max(),
        }
    }
}

impl FromStr for Partitions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` names no partitions: write `all`, `3`, or ranges such as `0-9, 12`");
        if text.trim() == "all" {
            return Ok(Self::All);
        }
        let mut numbers = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let from: i32 = from.trim().parse().map_err(|_| wrong())?;
            let to: i32 = to.trim().parse().map_err(|_| wrong())?;
            if from > to || to >= MOST_PARTITIONS {
                return Err(wrong());
            }
            numbers.extend(from..=to);
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(Self::These(numbers))
    }
}

/// A value that is written as text, or, where `number` and `list` say so, as a number or a list of numbers.
///
/// Not an untagged enum: its error would say nothing about what is allowed.
struct Written {
    what: &'static str,
    number: bool,
    list: bool,
}

impl<'de> de::Visitor<'de> for Written {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<String, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<String, E> {
        if self.number { Ok(number.to_string()) } else { Err(E::invalid_type(de::Unexpected::Signed(number), &self)) }
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<String, A::Error> {
        if !self.list {
            return Err(de::Error::invalid_type(de::Unexpected::Seq, &self));
        }
        let mut numbers = Vec::new();
        while let Some(number) = items.next_element::<u32>()? {
            numbers.push(number.to_string());
        }
        Ok(numbers.join(","))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written { what: "a time such as `20s`", number: false, list: false };
        deserializer.deserialize_any(written)?.parse().map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written { what: "a size such as `80 MiB`", number: true, list: false };
        deserializer.deserialize_any(written)?.parse().map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Partitions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let what = "partitions: `3`, `[1, 2]`, `\"0-9, 12\"` or `\"all\"`";
        deserializer.deserialize_any(Written { what, number: true, list: true })?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A time such as `20s`, `250ms`, `1m 30s` or `2d`.",
            "type": "string",
            "pattern": r"^\s*(\d+(ms|s|m|h|d)\s*)+$"
        })
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A size such as `80 MiB`, `2 GiB`, `500 kB`, or a number of bytes.",
            "type": ["string", "integer"],
            "minimum": 0,
            "pattern": r"^\s*\d+\s*(B|kB|MB|GB|KiB|MiB|GiB)?\s*$"
        })
    }
}

impl JsonSchema for Partitions {
    fn schema_name() -> Cow<'static, str> {
        "Partitions".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Partitions: `3`, `[1, 2]`, `\"0-9, 12\"` or `\"all\"`.",
            "type": ["string", "integer", "array"],
            "minimum": 0,
            "items": { "type": "integer", "minimum": 0 },
            "pattern": r"^\s*(all|\d+(\s*-\s*\d+)?(\s*,\s*\d+(\s*-\s*\d+)?)*)\s*$"
        })
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for (text, milliseconds) in
            [("20s", 20_000), ("250ms", 250), ("1m 30s", 90_000), ("2d", 172_800_000), ("0s", 0)]
        {
            let time: Time = text.parse().expect(text);
            assert_eq!(time.0, Duration::from_millis(milliseconds));
            assert_eq!(time.to_string(), text);
        }
        for text in ["", "20", "s", "20 s", "-1s", "1y"] {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [("80 MiB", 80 << 20), ("12", 12), ("3kB", 3_000), ("2 GB", 2_000_000_000)] {
            assert_eq!(text.parse(), Ok(Size(bytes)));
        }
        assert!("many".parse::<Size>().is_err());
        assert!("99999999999 GiB".parse::<Size>().is_err());
    }

    #[test]
    fn json_is_read_as_toml_is() {
        assert_eq!(serde_json::from_str::<Partitions>("[1, 0]").expect("a list"), Partitions::These(vec![0, 1]));
        assert_eq!(serde_json::from_str::<Partitions>("3").expect("a number"), Partitions::These(vec![3]));
        assert_eq!(serde_json::from_str::<Size>("12").expect("a number"), Size(12));
        assert!(serde_json::from_str::<Time>("12").is_err());
        assert!(serde_json::from_str::<Partitions>("18446744073709551615").is_err());
        let group = r#"{ "id": "a", "members": 2, "offsets": { "orders": [5] } }"#;
        assert!(serde_json::from_str::<crate::scenario::model::Group>(group).is_ok());
    }

    #[test]
    fn partitions_are_read() {
        assert_eq!("all".parse(), Ok(Partitions::All));
        assert_eq!("0-2, 7".parse(), Ok(Partitions::These(vec![0, 1, 2, 7])));
        for text in ["", "a", "5-2", "1,,2", "0-99999999"] {
            assert!(text.parse::<Partitions>().is_err(), "{text}");
        }
        assert_eq!(Partitions::These(vec![1, 9]).of(5), [1]);
        assert_eq!(Partitions::All.of(2), [0, 1]);
    }
}
