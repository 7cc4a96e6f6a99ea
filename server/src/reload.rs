//! The configuration read again while Unstuck runs (SIGHUP): clusters come, go and change; nothing that is known is lost.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use unstuck_kafka::ClusterConfig;

use crate::cli::{EXIT_SOFTWARE, Failure};
use crate::config::{AccessConfig, Config, ConfigError, StoreConfig};
use crate::config_check;
use crate::poller;
use crate::record::Keeper;
use crate::watched::Watched;

/// When the configuration is read again, and how.
pub(crate) struct Again {
    /// Something comes when it is to be read.
    asked: mpsc::Receiver<()>,
    /// Reads it.
    read: Box<dyn Fn() -> Result<Config, ConfigError> + Send>,
}

/// Asks for the configuration to be read again at each SIGHUP. Where the signal comes because the terminal was closed that
/// Unstuck was started from, it ends instead, as other programs do.
///
/// # Errors
/// The signal cannot be handled.
pub(crate) fn on_signal(
    shutdown: CancellationToken,
    read: impl Fn() -> Result<Config, ConfigError> + Send + 'static,
) -> Result<Again, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed =
        |error: std::io::Error| Failure { code: EXIT_SOFTWARE, message: format!("signals cannot be handled: {error}") };
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    let (ask, asked) = mpsc::channel(1);
    let on_terminal = std::io::stderr().is_terminal();
    tokio::spawn(async move {
        // One that waits is enough: what is read then is the newest.
        while hangup.recv().await.is_some() && !ask.is_closed() {
            if on_terminal && !std::io::stderr().is_terminal() {
                shutdown.cancel();
                return;
            }
            let _ = ask.try_send(());
        }
    });
    Ok(Again { asked, read: Box::new(read) })
}

/// A cluster that is looked at.
struct Looking {
    config: watch::Sender<ClusterConfig>,
    stop: CancellationToken,
}

/// All clusters that are looked at, as the configuration said last.
pub(crate) struct Lookings {
    /// What cannot change without a restart.
    listen: std::net::SocketAddr,
    store: Option<StoreConfig>,
    access: AccessConfig,
    boot: String,
    tasks: TaskTracker,
    stop: CancellationToken,
    keeper: Option<Arc<Keeper>>,
    watched: Arc<Watched>,
    clusters: BTreeMap<String, Looking>,
}

impl Lookings {
    /// Begins to look at what is configured; `watched` shows it.
    pub(crate) fn begin(
        config: Config,
        watched: &Arc<Watched>,
        tasks: TaskTracker,
        stop: CancellationToken,
        keeper: Option<Arc<Keeper>>,
    ) -> Self {
        let Config { listen, clusters, store, access, .. } = config;
        let (boot, watched) = (poller::boot_id(), Arc::clone(watched));
        let mut lookings =
            Self { listen, store, access, boot, tasks, stop, keeper, watched, clusters: BTreeMap::new() };
        for cluster in clusters {
            lookings.start(cluster);
        }
        lookings
    }

    /// Reads the configuration whenever that is asked for, until `stop`.
    pub(crate) async fn follow(mut self, mut again: Again, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                asked = again.asked.recv() => if asked.is_none() {
                    return;
                }
            }
            match (again.read)() {
                Ok(config) => self.apply(config),
                Err(error) => {
                    tracing::error!("the configuration cannot be used; the earlier one goes on. {error}");
                }
            }
        }
    }

    fn start(&mut self, cluster: ClusterConfig) {
        let name = cluster.name.clone();
        let (config, configs) = watch::channel(cluster);
        let stop = self.stop.child_token();
        let watched = poller::watch_changing(configs, &self.boot, &self.tasks, &stop, self.keeper.as_ref());
        self.watched.begin(name.clone(), watched);
        self.clusters.insert(name, Looking { config, stop });
    }

    /// Names of settings are logged, never values.
    fn apply(&mut self, config: Config) {
        config_check::log(&config);
        let Config { listen, clusters, store, access, .. } = config;
        let fixed =
            [("listen", listen != self.listen), ("store", store != self.store), ("access", access != self.access)];
        for (setting, differs) in fixed {
            if differs {
                tracing::warn!(setting, "it has changed in the configuration, and counts after a restart only");
            }
        }
        let mut told = false;
        let gone: Vec<String> = self
            .clusters
            .keys()
            .filter(|name| clusters.iter().all(|cluster| cluster.name != **name))
            .cloned()
            .collect();
        for cluster in gone {
            if let Some(looking) = self.clusters.remove(&cluster) {
                tracing::info!(cluster, "it is no longer in the configuration, and not looked at any more");
                self.watched.end(&cluster, Timestamp::now());
                looking.stop.cancel();
                told = true;
            }
        }
        for cluster in clusters {
            let Some(looking) = self.clusters.get(&cluster.name) else {
                tracing::info!(cluster = cluster.name, "it is new in the configuration, and looked at from now on");
                self.start(cluster);
                told = true;
                continue;
            };
            let settings = differing(&looking.config.borrow(), &cluster);
            if !settings.is_empty() {
                tracing::info!(
                    cluster = cluster.name,
                    settings = settings.join(","),
                    "its configuration has changed; what is known of it stays"
                );
                looking.config.send_replace(cluster);
                told = true;
            }
        }
        if !told {
            tracing::info!("the configuration was read again; no cluster has changed");
        }
    }
}

/// The names of the settings that differ.
fn differing(before: &ClusterConfig, after: &ClusterConfig) -> Vec<&'static str> {
    let pairs = [
        ("bootstrap_servers", before.bootstrap != after.bootstrap),
        ("broker_addresses", before.broker_addresses != after.broker_addresses),
        ("tls", before.security.tls != after.security.tls),
        ("sasl", before.security.sasl != after.security.sasl),
        ("properties", before.properties != after.properties),
        ("canary_prefix", before.canary_prefix != after.canary_prefix),
        ("request_timeout_ms", before.request_timeout != after.request_timeout),
    ];
    pairs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests;
