//! The configuration: from the command line, environment variables and a TOML file, in this order of precedence.
//!
//! Every refusal says what failed, what that means, and what to do. Nothing is ignored silently: an unknown key is an
//! error that names the nearest known one.

mod access;
mod address;
mod environment;
mod file;
mod origin;
mod security;
mod store;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use unstuck_diagnosis::BrokerId;
use unstuck_kafka::ClusterConfig;

pub use access::{AccessConfig, AccessInFile, AccessOptions, Mode, TlsFiles};
pub use environment::Environment;
use origin::Placed;
pub use origin::{Ignored, Origins, Setting};
use security::{Draft, Given};
pub use store::StoreConfig;

/// Where `unstuck serve` listens if nothing else is said: loopback only, because pages are open to whoever reaches them.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:8080";
/// The name of a cluster that was given by `--bootstrap-servers` alone.
pub const DEFAULT_CLUSTER_NAME: &str = "kafka";

/// What `unstuck serve` runs with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The clusters to look at, at least one, by name, each name once.
    pub clusters: Vec<ClusterConfig>,
    /// Where is kept what outlives a restart; `None`: nothing is.
    pub store: Option<StoreConfig>,
    /// Who may come in.
    pub access: AccessConfig,
    /// What is told about each cluster's configuration, by its name.
    pub origins: BTreeMap<String, Origins>,
    /// Where the settings of the server itself were said.
    pub places: Places,
}

/// Where the settings of the server itself were said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Of `listen`.
    pub listen: String,
    /// Of the store's place.
    pub store: String,
    /// What counts of the access, each with its place.
    pub access: Vec<Setting>,
}

/// A configuration that cannot be used. `Display` is three lines for people: what failed, what it means, what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{failed}\n  {meaning}\n  {remedy}")]
pub struct ConfigError {
    /// What failed, with the place: option, variable, or file and line.
    pub failed: String,
    /// What that means.
    pub meaning: String,
    /// What to do about it.
    pub remedy: String,
}

impl ConfigError {
    fn new(failed: impl Into<String>, meaning: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { failed: failed.into(), meaning: meaning.into(), remedy: remedy.into() }
    }
}

/// How the command line describes clusters; `None` and empty mean "not given".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterOptions {
    /// `--bootstrap-servers`, comma-separated.
    pub bootstrap_servers: Option<String>,
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--command-config`.
    pub command_config: Option<PathBuf>,
    /// `--cluster-name`, or `--cluster` of `lookup`.
    pub cluster_name: Option<String>,
    /// `--broker-address ID=HOST:PORT`, each.
    pub broker_addresses: Vec<String>,
    /// `--property KEY=VALUE`, each.
    pub properties: Vec<String>,
}

/// Clusters, and what else the file said.
#[derive(Debug, Default)]
pub struct Clusters {
    /// The clusters, by name, at least one.
    pub clusters: Vec<ClusterConfig>,
    /// What is told about each, by its name.
    pub origins: BTreeMap<String, Origins>,
    /// `listen` of the file, and where it stands.
    pub listen: Option<(SocketAddr, String)>,
    /// `[store]` of the file.
    pub store: store::InFile,
    /// `[access]` of the file.
    pub access: AccessInFile,
}

/// Reads the configuration of `unstuck serve`.
///
/// # Errors
/// Anything missing, contradictory, misspelt or malformed.
pub fn for_serve(
    options: &ClusterOptions,
    listen: Option<&str>,
    store: Option<&str>,
    access: &AccessOptions,
    environment: &Environment,
) -> Result<Config, ConfigError> {
    let clusters = clusters(options, environment)?;
    let at = |text: &str, place: &str| Ok((address::parse_listen(text, place)?, place.to_owned()));
    let (listen, listen_place) = match (listen, environment.get("UNSTUCK_LISTEN")) {
        (Some(text), _) => at(text, "--listen")?,
        (None, Some(text)) => at(&text, "UNSTUCK_LISTEN")?,
        (None, None) => match clusters.listen {
            Some(listen) => listen,
            None => at(DEFAULT_LISTEN, "the default")?,
        },
    };
    let store_place = store::place(store, &clusters.store, environment);
    let store = store::choose(store, &clusters.store, environment)?;
    let options = access;
    let access = access::choose(options, &clusters.access, environment, listen)?;
    let told = access::settings(&access, options, &clusters.access, environment);
    let places = Places { listen: listen_place, store: store_place, access: told };
    Ok(Config { listen, clusters: clusters.clusters, store, access, origins: clusters.origins, places })
}

/// Where `unstuck serve` keeps things: as the option, the environment or the file say. `None`: nowhere.
///
/// # Errors
/// It is no place, or the file cannot be used.
pub(crate) fn store(
    option: Option<&str>,
    file: Option<&std::path::Path>,
    environment: &Environment,
) -> Result<Option<StoreConfig>, ConfigError> {
    let in_file = match file {
        Some(path) => from_file(&ClusterOptions::default(), path, environment)?.store,
        None => store::InFile::default(),
    };
    store::choose(option, &in_file, environment)
}

/// Who may come in to what listens here and has no file: drills and recordings.
///
/// # Errors
/// Something is missing, or it can be reached from other machines and nothing is said.
pub(crate) fn access(
    options: &AccessOptions,
    environment: &Environment,
    listen: SocketAddr,
) -> Result<AccessConfig, ConfigError> {
    access::choose(options, &AccessInFile::default(), environment, listen)
}

/// An address to listen on, given as the option or variable `place`.
///
/// # Errors
/// It is none.
pub(crate) fn listen_address(text: &str, place: &str) -> Result<SocketAddr, ConfigError> {
    address::parse_listen(text, place)
}

/// Reads which clusters to look at.
///
/// # Errors
/// Anything missing, contradictory, misspelt or malformed.
pub fn clusters(options: &ClusterOptions, environment: &Environment) -> Result<Clusters, ConfigError> {
    if options.bootstrap_servers.is_some() && options.config.is_some() {
        return Err(ConfigError::new(
            "both --bootstrap-servers and --config are given",
            "The clusters are described either on the command line or in a file.",
            "Leave one of them out, or add the cluster to the file.",
        ));
    }
    // The command line wins as a whole: a variable set for the machine must not contradict what was typed.
    if let Some(path) = &options.config {
        return from_file(options, path, environment);
    }
    if let Some(bootstrap) = &options.bootstrap_servers {
        return from_options(options, Some((bootstrap, "--bootstrap-servers")), environment);
    }
    if options.command_config.is_some() {
        return from_options(options, None, environment);
    }
    let variables = ["UNSTUCK_CONFIG", "UNSTUCK_BOOTSTRAP_SERVERS", "UNSTUCK_COMMAND_CONFIG"];
    let [file, bootstrap, client] = variables.map(|name| environment.get(name));
    match (file, bootstrap, client) {
        (Some(_), Some(_), _) => Err(ConfigError::new(
            "both UNSTUCK_CONFIG and UNSTUCK_BOOTSTRAP_SERVERS are set",
            "The clusters are described either by variables or in a file.",
            "Unset one of them, or say on the command line which one is meant.",
        )),
        (Some(_), None, Some(_)) => Err(ConfigError::new(
            "both UNSTUCK_CONFIG and UNSTUCK_COMMAND_CONFIG are set",
            "The file may describe several clusters, so it would not be clear which one the login is for.",
            "Unset one of them; in the file it is command_config = \"…\" of the cluster's table.",
        )),
        (Some(path), None, None) => from_file(options, &PathBuf::from(path), environment),
        (None, Some(bootstrap), _) => {
            from_options(options, Some((&bootstrap, "UNSTUCK_BOOTSTRAP_SERVERS")), environment)
        }
        (None, None, Some(_)) => from_options(options, None, environment),
        (None, None, None) => Err(ConfigError::new(
            "no Kafka cluster is named",
            "Unstuck has to know at least one broker to ask.",
            "Add --bootstrap-servers HOST:PORT (what your consumers have as bootstrap.servers), \
             or --config FILE for several clusters. To try it without Kafka: unstuck drill broker-lost",
        )),
    }
}

fn from_file(
    options: &ClusterOptions,
    path: &std::path::Path,
    environment: &Environment,
) -> Result<Clusters, ConfigError> {
    for (given, option) in [
        (!options.broker_addresses.is_empty(), "--broker-address"),
        (!options.properties.is_empty(), "--property"),
        (options.command_config.is_some(), "--command-config"),
    ] {
        if given {
            return Err(ConfigError::new(
                format!("{option} does not go together with a configuration file"),
                "The file may describe several clusters, so it would not be clear which one is meant.",
                "Write it into the cluster's table in the file.",
            ));
        }
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        ConfigError::new(
            format!("cannot read the configuration file {}: {error}", path.display()),
            "Without it there is no cluster to look at.",
            "Check the path and its permissions; docs/configuration.md has an example.",
        )
    })?;
    let mut read = file::parse(&text, &path.display().to_string(), environment)?;
    if let Some(wanted) = &options.cluster_name {
        let names: Vec<String> = read.clusters.iter().map(|cluster| cluster.name.clone()).collect();
        read.clusters.retain(|cluster| cluster.name == *wanted);
        read.origins.retain(|cluster, _| cluster == wanted);
        if read.clusters.is_empty() {
            return Err(ConfigError::new(
                format!("{} has no cluster named {wanted:?}", path.display()),
                format!("It describes: {}.", names.join(", ")),
                did_you_mean(wanted, names.iter().map(String::as_str))
                    .unwrap_or_else(|| "Name one of these, or leave the name out.".to_owned()),
            ));
        }
    }
    Ok(read)
}

fn from_options(
    options: &ClusterOptions,
    bootstrap: Option<(&str, &str)>,
    environment: &Environment,
) -> Result<Clusters, ConfigError> {
    let (name, name_place) = match (&options.cluster_name, environment.get("UNSTUCK_CLUSTER_NAME")) {
        (Some(name), _) => (name.clone(), "the command line"),
        (None, Some(name)) => (name, "UNSTUCK_CLUSTER_NAME"),
        (None, None) => (DEFAULT_CLUSTER_NAME.to_owned(), "the default"),
    };
    check_cluster_name(&name, "the cluster name")?;
    let mut cluster = ClusterConfig::new(name.clone(), Vec::new());
    let mut draft = Draft::default();
    draft.origins.setting("name", &name, name_place);
    if let Some((bootstrap, origin)) = bootstrap {
        cluster.bootstrap = address::parse_bootstrap_list(bootstrap, origin)?;
        draft.origins.setting("bootstrap_servers", cluster.bootstrap.join(","), origin);
    }
    let (overrides, origin) = if options.broker_addresses.is_empty() {
        let listed = environment.get("UNSTUCK_BROKER_ADDRESSES").unwrap_or_default();
        let listed = listed.split(',').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect();
        (listed, "UNSTUCK_BROKER_ADDRESSES")
    } else {
        (options.broker_addresses.clone(), "--broker-address")
    };
    for text in overrides {
        let (broker, address) = address::parse_override(&text)?;
        if cluster.broker_addresses.insert(broker, address).is_some() {
            return Err(ConfigError::new(
                format!("--broker-address names broker {broker} twice"),
                "Unstuck would not know which of the addresses is meant.",
                "Leave one of them out.",
            ));
        }
    }
    if !cluster.broker_addresses.is_empty() {
        draft.origins.setting("broker_addresses", shown(&cluster.broker_addresses), origin);
    }
    let client = match (&options.command_config, environment.get("UNSTUCK_COMMAND_CONFIG")) {
        (Some(path), _) => Some((path.clone(), "--command-config")),
        (None, Some(path)) => Some((PathBuf::from(path), "UNSTUCK_COMMAND_CONFIG")),
        (None, None) => None,
    };
    let mut of_client = None;
    if let Some((path, origin)) = &client {
        draft.origins.setting("command_config", path.display().to_string(), *origin);
        of_client = security::read_client_properties(path, environment, &mut draft)?;
    }
    for text in &options.properties {
        let Some((key, value)) = text.split_once('=') else {
            return Err(ConfigError::new(
                "--property has no `=`",
                "A librdkafka property is given as KEY=VALUE.",
                "For example: --property security.protocol=SASL_SSL",
            ));
        };
        let properties = &mut cluster.properties;
        security::take_librdkafka(key, value, "--property", Given::OnCommandLine, &mut draft, properties)?;
    }
    bootstrap_of_client(&mut cluster, of_client, &mut draft.origins)?;
    if let (Some((path, _)), []) = (&client, cluster.bootstrap.as_slice()) {
        return Err(ConfigError::new(
            format!("{} has no bootstrap.servers, and no --bootstrap-servers is given", path.display()),
            "Unstuck has to know at least one broker to ask.",
            "Add --bootstrap-servers HOST:PORT, as Kafka's own tools want it too.",
        ));
    }
    let (security, origins) = draft.finish(&name, &cluster.bootstrap, environment)?;
    cluster.security = security;
    Ok(Clusters { clusters: vec![cluster], origins: BTreeMap::from([(name, origins)]), ..Clusters::default() })
}

/// `bootstrap.servers` of a client's configuration counts where none are given otherwise.
fn bootstrap_of_client(
    cluster: &mut ClusterConfig,
    of_client: Option<Placed<String>>,
    origins: &mut Origins,
) -> Result<(), ConfigError> {
    let Some(Placed { value, place }) = of_client else { return Ok(()) };
    if cluster.bootstrap.is_empty() {
        cluster.bootstrap = address::parse_bootstrap_list(&value, &place)?;
        origins.setting("bootstrap_servers", cluster.bootstrap.join(","), place);
    } else {
        origins.ignore("bootstrap.servers", place, "other bootstrap servers are given");
    }
    Ok(())
}

/// Overrides of addresses, as they are shown.
fn shown(addresses: &BrokerAddresses) -> String {
    let each: Vec<String> = addresses.iter().map(|(broker, address)| format!("{broker}={address}")).collect();
    each.join(",")
}

/// A name goes into page addresses and log lines, so it is kept to what needs no escaping there.
fn check_cluster_name(name: &str, place: &str) -> Result<(), ConfigError> {
    let fits = (1..=64).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && !matches!(name, "." | "..");
    if fits {
        return Ok(());
    }
    Err(ConfigError::new(
        format!("{place} {name:?} cannot be used"),
        "It becomes part of page addresses such as /c/NAME.",
        "Use 1 to 64 of the characters a-z, A-Z, 0-9, `-`, `_` and `.`; for example: production-eu",
    ))
}

/// Refuses librdkafka properties that Unstuck sets itself or that would make looking change the cluster.
fn check_property(key: &str, place: &str) -> Result<(), ConfigError> {
    let meaning = match key {
        "bootstrap.servers" | "metadata.broker.list" => "The bootstrap servers have a setting of their own.",
        "group.id" | "group.instance.id" => {
            "Unstuck never joins a group: with a group id, merely looking could create __consumer_offsets."
        }
        "client.id" => "Unstuck always calls itself `unstuck`, so that brokers' logs and quotas show who asks.",
        "" => "A librdkafka property has a name.",
        _ => return Ok(()),
    };
    Err(ConfigError::new(format!("{place}: the property {key:?} cannot be set"), meaning, "Leave it out."))
}

/// `Did you mean …?`, if one of the known words is near enough to be what was meant.
fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let nearest = known.into_iter().map(|candidate| (edit_distance(word, candidate), candidate)).min()?;
    let enough = word.chars().count().max(nearest.1.chars().count()) / 2;
    (nearest.0 <= enough).then(|| format!("Did you mean `{}`?", nearest.1))
}

/// Levenshtein's distance, in characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Overrides of advertised addresses, by broker.
type BrokerAddresses = BTreeMap<BrokerId, String>;

#[cfg(test)]
mod tests;
