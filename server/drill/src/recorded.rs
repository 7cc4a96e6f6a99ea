//! What real brokers of each release were seen to offer and to have as settings: recorded, not remembered.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::scenario::model::{Mode, Release};

/// A setting as DescribeConfigs told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedConfig {
    /// Its value; `None` for null.
    pub value: Option<String>,
    /// Whether it needs a restart.
    pub read_only: bool,
    /// Whether its value is kept secret.
    pub sensitive: bool,
    /// The type, as a code of DescribeConfigs version 3 on; 0 if the release did not tell.
    pub kind: i8,
}

/// A feature (KIP-584): its name, and lowest and highest level.
pub type Feature = (String, i16, i16);

/// What was recorded of a release in one mode.
#[derive(Debug, Default)]
pub struct Recorded {
    /// API key → lowest and highest version.
    pub versions: BTreeMap<i16, (i16, i16)>,
    /// Features that are supported.
    pub supported: Vec<Feature>,
    /// Features that are in force.
    pub finalized: Vec<Feature>,
    /// The epoch of those; -1 if none was told.
    pub finalized_epoch: i64,
    /// Settings of a broker.
    pub broker_configs: BTreeMap<String, RecordedConfig>,
    /// Settings of a topic that was made without any.
    pub topic_configs: BTreeMap<String, RecordedConfig>,
}

macro_rules! recordings {
    ($(($release:ident, $mode:ident, $name:literal)),* $(,)?) => {
        static RECORDINGS: LazyLock<Vec<((Release, Mode), Recorded)>> = LazyLock::new(|| vec![$((
            (Release::$release, Mode::$mode),
            Recorded::read(
                include_str!(concat!("../data/api-versions/", $name, ".tsv")),
                include_str!(concat!("../data/api-versions/", $name, ".features.tsv")),
                include_str!(concat!("../data/broker-configs/", $name, ".tsv")),
                include_str!(concat!("../data/topic-configs/", $name, ".tsv")),
            ),
        )),*]);
    };
}

recordings![
    (V1_0, Zookeeper, "1.0.2-zookeeper"),
    (V2_3, Zookeeper, "2.3.1-zookeeper"),
    (V2_8, Zookeeper, "2.8.2-zookeeper"),
    (V3_6, Zookeeper, "3.6.2-zookeeper"),
    (V3_6, Kraft, "3.6.2-kraft"),
    (V3_9, Zookeeper, "3.9.1-zookeeper"),
    (V3_9, Kraft, "3.9.1-kraft"),
    (V4_1, Kraft, "4.1.1-kraft-share-streams"),
];

/// What was recorded of a release in a mode; in the other mode, if only that one was.
#[must_use]
pub fn recorded(release: Release, mode: Mode) -> &'static Recorded {
    let exact = RECORDINGS.iter().find(|(key, _)| *key == (release, mode));
    let any = || RECORDINGS.iter().find(|((one, _), _)| *one == release);
    exact.or_else(any).map(|(_, recorded)| recorded).expect("each release was recorded in one mode at least")
}

impl Recorded {
    fn read(versions: &str, features: &str, broker_configs: &str, topic_configs: &str) -> Self {
        let mut read = Self { finalized_epoch: -1, ..Self::default() };
        for row in rows(versions) {
            let number = |at: usize| row.get(at).and_then(|text| text.parse().ok());
            if let (Some(key), Some(min), Some(max)) = (number(0), number(2), number(3)) {
                read.versions.insert(key, (min, max));
            }
        }
        for row in rows(features) {
            let number = |at: usize| row.get(at).and_then(|text| text.parse().ok());
            match (row.first().copied(), row.get(1), number(2), number(3)) {
                (Some("finalized_epoch"), Some(epoch), ..) => {
                    read.finalized_epoch = epoch.parse().unwrap_or(-1);
                }
                (Some("supported"), Some(name), Some(min), Some(max)) => {
                    read.supported.push(((*name).to_owned(), min, max));
                }
                (Some("finalized"), Some(name), Some(min), Some(max)) => {
                    read.finalized.push(((*name).to_owned(), min, max));
                }
                _ => {}
            }
        }
        read.broker_configs = configs(broker_configs);
        read.topic_configs = configs(topic_configs);
        read
    }
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(|line| line.split('\t').collect())
}

fn configs(text: &str) -> BTreeMap<String, RecordedConfig> {
    rows(text)
        .filter_map(|row| {
            let [name, value, _source, read_only, sensitive, kind] = row[..] else { return None };
            // What depends on the machine is filled in, or left out, by whoever answers.
            let value = (value != "{null}").then(|| value.to_owned());
            let config = RecordedConfig {
                value,
                read_only: read_only == "true",
                sensitive: sensitive == "true",
                kind: config_type(kind),
            };
            Some((name.to_owned(), config))
        })
        .collect()
}

/// `DescribeConfigsResponse.ConfigType`.
fn config_type(name: &str) -> i8 {
    match name {
        "BOOLEAN" => 1,
        "STRING" => 2,
        "INT" => 3,
        "SHORT" => 4,
        "LONG" => 5,
        "DOUBLE" => 6,
        "LIST" => 7,
        "CLASS" => 8,
        "PASSWORD" => 9,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recording_is_read() {
        for ((release, mode), recorded) in RECORDINGS.iter() {
            assert!(recorded.versions.len() > 30, "{release:?} {mode:?}");
            assert!(recorded.broker_configs.len() > 100, "{release:?} {mode:?}");
            assert!(recorded.topic_configs.contains_key("min.insync.replicas"), "{release:?} {mode:?}");
        }
        assert_eq!(recorded(Release::V1_0, Mode::Zookeeper).versions[&3], (0, 5));
        assert!(recorded(Release::V4_1, Mode::Kraft).finalized.iter().any(|(name, ..)| name == "metadata.version"));
        let config = &recorded(Release::V4_1, Mode::Kraft).broker_configs["broker.session.timeout.ms"];
        assert_eq!(config.value.as_deref(), Some("9000"));
    }
}
