//! The TOML file, read by hand rather than by serde, so that each error names its line and the nearest known key.

mod access;

use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use unstuck_kafka::ClusterConfig;

use super::origin::Origins;
use super::security::{self, Draft, Given};
use super::store::InFile;
use super::{BrokerAddresses, Clusters, ConfigError, Environment, address, check_cluster_name, did_you_mean};

const TOP_KEYS: [&str; 4] = ["access", "clusters", "listen", "store"];
const STORE_KEYS: [&str; 4] = ["incident_settles_after_s", "keep_groups_days", "keep_history_days", "place"];
const CLUSTER_KEYS: [&str; 8] = [
    "bootstrap_servers",
    "broker_addresses",
    "canary_prefix",
    "command_config",
    "properties",
    "request_timeout_ms",
    "sasl",
    "tls",
];
/// Below that every broker looks silent; above it a dead one is noticed too late to be of use.
const REQUEST_TIMEOUT_MS: std::ops::RangeInclusive<i64> = 50..=60_000;
/// How long an incident may have to be calm, in seconds: from what a rolling restart takes to a day.
const SETTLING_S: std::ops::RangeInclusive<u64> = 5..=86_400;
/// For how many days things may be kept.
const DAYS: std::ops::RangeInclusive<u64> = 1..=3_650;
/// Longest canary prefix, in bytes: the made-up id has to stay a short one.
const CANARY_PREFIX_BYTES: usize = 200;

type Value<'a, 'i> = &'a Spanned<DeValue<'i>>;

/// Reads the file's text; `name` is how messages call the file. Variables are those that the file names.
pub(super) fn parse(text: &str, name: &str, environment: &Environment) -> Result<Clusters, ConfigError> {
    let source = Source { text, name };
    let document = DeTable::parse(text).map_err(|error| {
        ConfigError::new(
            format!("{}: {}", source.place(error.span().map_or(0, |span| span.start)), error.message()),
            "The file is not valid TOML.",
            "Strings stand in double quotes; docs/configuration.md has an example.",
        )
    })?;
    let mut read = Clusters::default();
    let mut tables = None;
    for (key, value) in document.get_ref() {
        match key.get_ref().as_ref() {
            "listen" => {
                let text = source.string(value, "listen", "\"127.0.0.1:8080\"")?;
                let place = format!("{}: listen", source.place_of(value));
                read.listen = Some((address::parse_listen(text, &place)?, place));
            }
            "access" => read.access = source.access(value)?,
            "store" => read.store = source.store(value)?,
            "clusters" => tables = Some(source.table(value, "clusters")?),
            unknown => return Err(source.unknown_key(key, unknown, &TOP_KEYS, "the file")),
        }
    }
    for (key, value) in tables.into_iter().flatten() {
        let cluster = key.get_ref().as_ref();
        check_cluster_name(cluster, &format!("{}: the cluster name", source.place(key.span().start)))?;
        let (read_cluster, origins) = source.cluster(cluster, value, environment)?;
        read.clusters.push(read_cluster);
        read.origins.insert(cluster.to_owned(), origins);
    }
    if read.clusters.is_empty() {
        return Err(ConfigError::new(
            format!("{name} describes no cluster"),
            "Unstuck has to know at least one broker to ask.",
            "Add a table such as:  [clusters.production]  with  bootstrap_servers = [\"kafka-1:9092\"]",
        ));
    }
    Ok(read)
}

/// A whole number from 0.
fn number(value: Value<'_, '_>) -> Option<u64> {
    let number = value.get_ref().as_integer()?;
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// The file, for errors.
pub(super) struct Source<'a> {
    text: &'a str,
    name: &'a str,
}

impl Source<'_> {
    fn place(&self, at: usize) -> String {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        format!("{} line {}", self.name, before.iter().filter(|byte| **byte == b'\n').count() + 1)
    }

    pub(super) fn place_of<T>(&self, value: &Spanned<T>) -> String {
        self.place(value.span().start)
    }

    pub(super) fn unknown_key<T>(&self, at: &Spanned<T>, key: &str, known: &[&str], table: &str) -> ConfigError {
        ConfigError::new(
            format!("{}: unknown key `{key}` in {table}", self.place_of(at)),
            "A misspelt setting would be ignored silently, so it is refused.",
            did_you_mean(key, known.iter().copied()).unwrap_or_else(|| format!("Known keys: {}.", known.join(", "))),
        )
    }

    pub(super) fn wrong_type(&self, value: Value<'_, '_>, key: &str, example: &str) -> ConfigError {
        ConfigError::new(
            format!("{}: `{key}` cannot be {} {}", self.place_of(value), article(value), value.get_ref().type_str()),
            "The value is of another kind than this setting has.",
            format!("For example: {key} = {example}"),
        )
    }

    pub(super) fn string<'v>(&self, value: Value<'v, '_>, key: &str, example: &str) -> Result<&'v str, ConfigError> {
        value.get_ref().as_str().ok_or_else(|| self.wrong_type(value, key, example))
    }

    pub(super) fn table<'v, 'i>(&self, value: Value<'v, 'i>, key: &str) -> Result<&'v DeTable<'i>, ConfigError> {
        value.get_ref().as_table().ok_or_else(|| self.wrong_type(value, key, "{ … }"))
    }

    fn store(&self, value: Value<'_, '_>) -> Result<InFile, ConfigError> {
        let mut store = InFile::default();
        for (key, value) in self.table(value, "store")? {
            match key.get_ref().as_ref() {
                "place" => {
                    let place = self.string(value, "place", "\"/var/lib/unstuck/unstuck.db\"")?;
                    store.place = Some((place.to_owned(), format!("{}: place", self.place_of(value))));
                }
                "keep_groups_days" => store.groups = Some(self.days(value, "keep_groups_days")?),
                "keep_history_days" => store.history = Some(self.days(value, "keep_history_days")?),
                "incident_settles_after_s" => store.settling = Some(self.seconds(value, "incident_settles_after_s")?),
                unknown => return Err(self.unknown_key(key, unknown, &STORE_KEYS, "[store]")),
            }
        }
        Ok(store)
    }

    fn seconds(&self, value: Value<'_, '_>, key: &str) -> Result<Duration, ConfigError> {
        let seconds = number(value).filter(|seconds| SETTLING_S.contains(seconds)).map(Duration::from_secs);
        seconds.ok_or_else(|| {
            ConfigError::new(
                format!("{}: {key} cannot be used", self.place_of(value)),
                "It is how long an incident has to be calm until it is over, in seconds.",
                format!("Use a whole number from {} to {}; 300 is the default.", SETTLING_S.start(), SETTLING_S.end()),
            )
        })
    }

    fn days(&self, value: Value<'_, '_>, key: &str) -> Result<Duration, ConfigError> {
        number(value).filter(|days| DAYS.contains(days)).map(|days| Duration::from_secs(days * 86_400)).ok_or_else(
            || {
                ConfigError::new(
                    format!("{}: {key} cannot be used", self.place_of(value)),
                    "It is for how many days is kept what is over.",
                    format!("Use a whole number from {} to {}; 400 is the default.", DAYS.start(), DAYS.end()),
                )
            },
        )
    }

    fn cluster(
        &self,
        name: &str,
        value: Value<'_, '_>,
        environment: &Environment,
    ) -> Result<(ClusterConfig, Origins), ConfigError> {
        let place = format!("clusters.{name}");
        let table = self.table(value, &place)?;
        let mut cluster = ClusterConfig::new(name.to_owned(), Vec::new());
        let mut draft = Draft::default();
        let mut bootstrap_of_client = None;
        for (key, value) in table {
            let at = self.place_of(value);
            match key.get_ref().as_ref() {
                "bootstrap_servers" => {
                    cluster.bootstrap = self.bootstrap(value)?;
                    draft.origins.setting("bootstrap_servers", cluster.bootstrap.join(","), at);
                }
                "broker_addresses" => {
                    cluster.broker_addresses = self.broker_addresses(value)?;
                    draft.origins.setting("broker_addresses", super::shown(&cluster.broker_addresses), at);
                }
                "tls" => security::read_tls(self, value, &place, environment, &mut draft)?,
                "sasl" => security::read_sasl(self, value, &place, environment, &mut draft)?,
                "command_config" => {
                    let path = self.string(value, "command_config", "\"/etc/kafka/client.properties\"")?;
                    draft.origins.setting("command_config", path, at);
                    bootstrap_of_client = security::read_client_properties(path.as_ref(), environment, &mut draft)?;
                }
                "properties" => {
                    for (key, value) in self.table(value, "properties")? {
                        let place = format!("{}: properties", self.place_of(key));
                        let text = match value.get_ref() {
                            DeValue::Integer(number) => number.as_str().to_owned(),
                            DeValue::Boolean(flag) => flag.to_string(),
                            _ => self.string(value, key.get_ref(), "\"SASL_SSL\"")?.to_owned(),
                        };
                        let properties = &mut cluster.properties;
                        security::take_librdkafka(key.get_ref(), &text, &place, Given::InFile, &mut draft, properties)?;
                    }
                }
                "canary_prefix" => {
                    let prefix = self.string(value, "canary_prefix", "\"unstuck-canary\"")?;
                    if prefix.is_empty() || prefix.len() > CANARY_PREFIX_BYTES || prefix.chars().any(char::is_control) {
                        return Err(ConfigError::new(
                            format!("{}: canary_prefix cannot be {prefix:?}", self.place_of(value)),
                            "Made-up group ids begin with it; they show up in an authorizer's log.",
                            format!("Use 1 to {CANARY_PREFIX_BYTES} visible characters, for example: unstuck-canary"),
                        ));
                    }
                    cluster.canary_prefix = prefix.to_owned();
                    draft.origins.setting("canary_prefix", prefix, at);
                }
                "request_timeout_ms" => {
                    cluster.request_timeout = self.request_timeout(value)?;
                    draft.origins.setting("request_timeout_ms", cluster.request_timeout.as_millis().to_string(), at);
                }
                unknown => return Err(self.unknown_key(key, unknown, &CLUSTER_KEYS, &format!("[{place}]"))),
            }
        }
        super::bootstrap_of_client(&mut cluster, bootstrap_of_client, &mut draft.origins)?;
        if cluster.bootstrap.is_empty() {
            return Err(ConfigError::new(
                format!("{}: [{place}] has no bootstrap_servers", self.place_of(value)),
                "Unstuck has to know at least one broker to ask.",
                "Add, for example: bootstrap_servers = [\"kafka-1:9092\", \"kafka-2:9092\"]",
            ));
        }
        let (security, origins) = draft.finish(name, &cluster.bootstrap, environment)?;
        cluster.security = security;
        Ok((cluster, origins))
    }

    fn request_timeout(&self, value: Value<'_, '_>) -> Result<Duration, ConfigError> {
        let number = value.get_ref().as_integer();
        let millis = number.and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok());
        match millis {
            Some(millis) if REQUEST_TIMEOUT_MS.contains(&millis) => Ok(Duration::from_millis(millis.unsigned_abs())),
            _ => Err(ConfigError::new(
                format!("{}: request_timeout_ms cannot be used", self.place_of(value)),
                "It is how long one request to one broker may take, in milliseconds.",
                "Use a whole number from 50 to 60000; 1000 is the default.",
            )),
        }
    }

    /// A list of addresses, or one comma-separated string as Kafka's clients have it.
    fn bootstrap(&self, value: Value<'_, '_>) -> Result<Vec<String>, ConfigError> {
        const EXAMPLE: &str = "[\"kafka-1:9092\", \"kafka-2:9092\"]";
        let place = format!("{}: bootstrap_servers", self.place_of(value));
        let joined = match value.get_ref().as_array() {
            Some(list) => {
                let texts = list.iter().map(|one| self.string(one, "bootstrap_servers", EXAMPLE));
                texts.collect::<Result<Vec<_>, _>>()?.join(",")
            }
            None => self.string(value, "bootstrap_servers", EXAMPLE)?.to_owned(),
        };
        address::parse_bootstrap_list(&joined, &place)
    }

    fn broker_addresses(&self, value: Value<'_, '_>) -> Result<BrokerAddresses, ConfigError> {
        const EXAMPLE: &str = "{ \"2\" = \"localhost:19092\" }";
        let mut addresses = BrokerAddresses::new();
        for (key, value) in
            value.get_ref().as_table().ok_or_else(|| self.wrong_type(value, "broker_addresses", EXAMPLE))?
        {
            let place = format!("{}: broker_addresses", self.place_of(key));
            let broker = address::parse_broker_id(key.get_ref()).ok_or_else(|| {
                ConfigError::new(
                    format!("{place}: {:?} is not a broker id", key.get_ref()),
                    "Keys are the ids of brokers (broker.id or node.id): whole numbers from 0.",
                    format!("For example: broker_addresses = {EXAMPLE}"),
                )
            })?;
            let text = self.string(value, "broker_addresses", EXAMPLE)?;
            addresses.insert(broker, address::check(text, &place)?);
        }
        Ok(addresses)
    }
}

fn article(value: Value<'_, '_>) -> &'static str {
    match value.get_ref() {
        DeValue::Integer(_) | DeValue::Array(_) => "an",
        _ => "a",
    }
}
