//! Real Kafka clusters on 127.0.0.1, which die with the test process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::eye::Eye;
use crate::jars::{Release, java_that_logs, run_class};
use crate::kerberos::Acceptor;
use crate::ports::BrokerPorts;
use crate::tether::Tethered;
use crate::wait::wait_for;
use crate::{kraft, secured, zookeeper};

/// What a test cluster should be like.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many brokers. They have the ids 1, 2, …
    pub brokers: i32,
    /// `offsets.topic.replication.factor`.
    pub offsets_replication_factor: i32,
    /// `offsets.topic.num.partitions`.
    pub offsets_partitions: i32,
    /// `min.insync.replicas` of the brokers, which the offsets topic inherits.
    pub min_insync_replicas: i32,
    /// `broker.session.timeout.ms`, or `zookeeper.session.timeout.ms`. Kafka's own defaults are 9 and 18 s.
    pub session_timeout: Duration,
    /// Whether the KRaft controller is a process of its own, so that brokers can die without the quorum.
    pub separate_controller: bool,
    /// Whether share groups and streams groups are allowed.
    pub share_and_streams: bool,
    /// Whether there are listeners that want a login and TLS, and one whose advertised address leads nowhere.
    pub odd_listeners: bool,
    /// Whether brokers ask for rights ([`authorizer`](crate::authorizer)); in KRaft mode only.
    pub authorizer: bool,
    /// Whether there are listeners with TLS and logins, and accounts ([`secured`]).
    pub secured: bool,
    /// Whether there is a listener that takes tickets of Kerberos; in KRaft mode only.
    pub kerberos: Option<Acceptor>,
    /// More broker settings.
    pub properties: BTreeMap<String, String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            brokers: 3,
            offsets_replication_factor: 3,
            offsets_partitions: 50,
            min_insync_replicas: 1,
            session_timeout: Duration::from_secs(2),
            separate_controller: false,
            share_and_streams: false,
            odd_listeners: false,
            authorizer: false,
            secured: false,
            kerberos: None,
            properties: BTreeMap::new(),
        }
    }
}

impl Options {
    /// Adds a broker setting.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.properties.insert(name.to_owned(), value.to_string());
        self
    }
}

/// A process of the cluster: a broker, a controller, or ZooKeeper.
#[derive(Debug)]
pub(crate) struct Node {
    /// Its folder, with its settings, data and log.
    pub(crate) folder: PathBuf,
    /// Its main class.
    pub(crate) main_class: &'static str,
    /// Its heap, in megabytes.
    pub(crate) heap_mb: u32,
    /// Its settings file.
    pub(crate) settings: PathBuf,
    /// Log settings of its own ([`java_that_logs`]).
    pub(crate) log_settings: Option<PathBuf>,
    /// The running process, if it runs.
    pub(crate) process: Option<Tethered>,
}

impl Node {
    fn start(&mut self, release: Release, options: &Options) -> Result<()> {
        let mut command = java_that_logs(release, self.heap_mb, self.main_class, self.log_settings.as_deref())?;
        command.arg(&self.settings).envs(options.kerberos.as_ref().map(Acceptor::of_java));
        // Whichever process is the last to be killed with us removes the folder of the whole cluster.
        self.process = Some(Tethered::start(&command, &self.log(), self.folder.parent())?);
        Ok(())
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log.txt")
    }
}

/// A running cluster. Its processes end when it is dropped, or when this process ends, however that happens.
#[derive(Debug)]
pub struct Cluster {
    release: Release,
    options: Options,
    ports: BTreeMap<i32, BrokerPorts>,
    /// Brokers by id.
    brokers: Mutex<BTreeMap<i32, Node>>,
    /// A separate controller, or ZooKeeper. Dropped after the brokers.
    others: Mutex<Vec<Node>>,
    /// Where the brokers find ZooKeeper, with the chroot.
    pub(crate) zookeeper: Option<String>,
    // The last field: the folder goes when all processes are gone.
    _folder: TempDir,
}

impl Cluster {
    /// Starts Kafka 4.1.1 in KRaft mode and waits until all brokers are in every broker's metadata.
    ///
    /// # Errors
    /// If Kafka cannot be fetched or does not start.
    pub async fn kraft(options: Options) -> Result<Self> {
        Self::start(Release::V4_1_1, options).await
    }

    /// Starts Kafka 3.9.1 with ZooKeeper and waits until all brokers are in every broker's metadata.
    ///
    /// # Errors
    /// If Kafka cannot be fetched or does not start.
    pub async fn zookeeper(options: Options) -> Result<Self> {
        Self::start(Release::V3_9_1, options).await
    }

    /// Starts the given release in the mode that belongs to it.
    ///
    /// # Errors
    /// If Kafka cannot be fetched or does not start.
    pub async fn start(release: Release, options: Options) -> Result<Self> {
        // Another process may take a port between our look and the broker's start.
        const ATTEMPTS: u32 = 3;
        let mut attempt = 1;
        loop {
            match Self::start_once(release, options.clone()).await {
                Err(error) if attempt < ATTEMPTS && format!("{error:#}").contains("in use") => attempt += 1,
                other => return other,
            }
        }
    }

    async fn start_once(release: Release, options: Options) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("unstuck-kafka-").tempdir()?;
        let ports =
            (1..=options.brokers).map(|id| Ok((id, BrokerPorts::free()?))).collect::<Result<BTreeMap<_, _>>>()?;
        if options.secured {
            secured::prepare(folder.path())?;
        }
        let plan = match release {
            Release::V4_1_1 => kraft::plan(folder.path(), &options, &ports)?,
            Release::V3_9_1 | Release::V2_8_2 => zookeeper::plan(folder.path(), &options, &ports)?,
        };
        let cluster = Self {
            release,
            options,
            ports,
            brokers: Mutex::new(plan.brokers),
            others: Mutex::new(plan.others),
            zookeeper: plan.zookeeper,
            _folder: folder,
        };
        for node in lock(&cluster.others).iter_mut().chain(lock(&cluster.brokers).values_mut()) {
            node.start(release, &cluster.options)?;
        }
        let all: Vec<i32> = cluster.ports.keys().copied().collect();
        for broker in &all {
            cluster.wait_until_sees(*broker, &all).await?;
        }
        Ok(cluster)
    }

    /// The release it runs.
    #[must_use]
    pub fn release(&self) -> Release {
        self.release
    }

    /// What it was started with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Ids of all brokers, running or not.
    #[must_use]
    pub fn broker_ids(&self) -> Vec<i32> {
        self.ports.keys().copied().collect()
    }

    /// A broker's ports.
    ///
    /// # Panics
    /// If there is no such broker.
    #[must_use]
    pub fn ports(&self, broker: i32) -> BrokerPorts {
        *self.ports.get(&broker).expect("a broker of this cluster")
    }

    /// A broker's plaintext address.
    ///
    /// # Panics
    /// If there is no such broker.
    #[must_use]
    pub fn address(&self, broker: i32) -> String {
        format!("127.0.0.1:{}", self.ports(broker).plaintext)
    }

    /// All plaintext addresses.
    #[must_use]
    pub fn addresses(&self) -> Vec<String> {
        self.ports.keys().map(|id| self.address(*id)).collect()
    }

    /// All plaintext addresses, comma-separated.
    #[must_use]
    pub fn bootstrap(&self) -> String {
        self.addresses().join(",")
    }

    /// Addresses of the brokers that run, comma-separated.
    #[must_use]
    pub fn running_bootstrap(&self) -> String {
        let brokers = lock(&self.brokers);
        let running = brokers.iter().filter(|(_, node)| node.process.as_ref().is_some_and(Tethered::is_running));
        running.map(|(id, _)| self.address(*id)).collect::<Vec<_>>().join(",")
    }

    /// Kills a broker with SIGKILL and waits until the process is gone.
    ///
    /// # Errors
    /// If it does not run.
    pub fn kill(&self, broker: i32) -> Result<()> {
        let process = self.take_process(broker)?;
        process.signal("KILL")?;
        process.end();
        Ok(())
    }

    /// Asks a broker to shut down in order (SIGTERM) and waits until the process is gone.
    ///
    /// # Errors
    /// If it does not run, or does not end within 60 s.
    pub async fn stop(&self, broker: i32) -> Result<()> {
        let process = self.take_process(broker)?;
        process.signal("TERM")?;
        let began = Instant::now();
        while process.is_running() {
            if began.elapsed() > Duration::from_secs(60) {
                bail!("broker {broker} did not shut down within 60 s");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        process.end();
        Ok(())
    }

    /// Stops a broker in its tracks (SIGSTOP): its connections stay open, nothing answers.
    ///
    /// # Errors
    /// If it does not run.
    pub fn pause(&self, broker: i32) -> Result<()> {
        self.signal(broker, "STOP")
    }

    /// Lets a paused broker go on (SIGCONT).
    ///
    /// # Errors
    /// If it does not run.
    pub fn resume(&self, broker: i32) -> Result<()> {
        self.signal(broker, "CONT")
    }

    /// Starts a broker that was killed or stopped, without waiting for it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn restart(&self, broker: i32) -> Result<()> {
        let mut brokers = lock(&self.brokers);
        let node = brokers.get_mut(&broker).context("no such broker")?;
        if node.process.is_none() {
            node.start(self.release, &self.options)?;
        }
        Ok(())
    }

    /// Starts a broker and waits until every running broker lists it as live.
    ///
    /// # Errors
    /// If it does not come up.
    pub async fn restart_and_wait(&self, broker: i32) -> Result<()> {
        self.restart(broker)?;
        let running: Vec<i32> = lock(&self.brokers)
            .iter()
            .filter(|(_, node)| node.process.as_ref().is_some_and(Tethered::is_running))
            .map(|(id, _)| *id)
            .collect();
        for id in &running {
            self.wait_until_sees(*id, &running).await?;
        }
        Ok(())
    }

    /// Brings every broker back, whatever a test did to it: paused ones go on, dead ones start, and all see each other.
    ///
    /// # Errors
    /// If one does not come up.
    pub async fn heal(&self) -> Result<()> {
        for broker in self.broker_ids() {
            let runs = lock(&self.brokers).get_mut(&broker).is_some_and(|node| {
                let runs = node.process.as_ref().is_some_and(Tethered::is_running);
                if !runs && let Some(dead) = node.process.take() {
                    dead.end();
                }
                runs
            });
            if runs { self.resume(broker)? } else { self.restart(broker)? }
        }
        let all = self.broker_ids();
        for broker in &all {
            self.wait_until_sees(*broker, &all).await?;
        }
        Ok(())
    }

    /// Lets the first replica of every partition lead, as the controller does by itself only every five minutes.
    ///
    /// With the short sessions of these brokers a loaded machine is enough to make one lose its leaderships.
    pub async fn lead_as_preferred(&self) {
        wait_for("every preferred replica to lead", async || {
            let args = ["--election-type", "preferred", "--all-topic-partitions"];
            self.run_class("org.apache.kafka.tools.LeaderElectionCommand", &args).map(drop)
        })
        .await;
    }

    /// The process id of a broker, if it runs.
    #[must_use]
    pub fn pid(&self, broker: i32) -> Option<u32> {
        lock(&self.brokers).get(&broker).and_then(|node| node.process.as_ref()).map(Tethered::pid)
    }

    /// Runs one of Kafka's own command-line classes with `--bootstrap-server` of the running brokers.
    ///
    /// # Errors
    /// If it fails; the text has its output.
    pub fn run_class(&self, main_class: &str, args: &[&str]) -> Result<String> {
        let bootstrap = self.running_bootstrap();
        let mut all = vec!["--bootstrap-server", bootstrap.as_str()];
        all.extend(args);
        run_class(self.release, main_class, &all)
    }

    /// A folder for files of this cluster, removed with it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self._folder.path()
    }

    fn signal(&self, broker: i32, name: &str) -> Result<()> {
        let brokers = lock(&self.brokers);
        let process = brokers.get(&broker).and_then(|node| node.process.as_ref());
        process.with_context(|| format!("broker {broker} does not run"))?.signal(name)
    }

    fn take_process(&self, broker: i32) -> Result<Tethered> {
        let mut brokers = lock(&self.brokers);
        let process = brokers.get_mut(&broker).and_then(|node| node.process.take());
        process.with_context(|| format!("broker {broker} does not run"))
    }

    async fn wait_until_sees(&self, broker: i32, expected: &[i32]) -> Result<()> {
        let began = Instant::now();
        let eye = Eye::new(&self.address(broker))?;
        loop {
            let state = match eye.brokers(Duration::from_millis(500)) {
                Ok(seen) if expected.iter().all(|id| seen.contains(id)) => return Ok(()),
                Ok(seen) => format!("broker {broker} sees brokers {seen:?}"),
                Err(error) => format!("broker {broker}: {error:#}"),
            };
            for id in expected {
                if let Some(log) = self.log_of_ended(*id) {
                    bail!("broker {id} ended while starting:\n{log}");
                }
            }
            if began.elapsed() > Duration::from_secs(90) {
                let logs = expected.iter().map(|id| format!("broker {id}:\n{}\n", self.log_tail(*id)));
                bail!("the cluster did not come up within 90 s; {state}\n{}", logs.collect::<String>());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn log_of_ended(&self, broker: i32) -> Option<String> {
        let ended = lock(&self.brokers).get(&broker)?.process.as_ref().is_none_or(|process| !process.is_running());
        ended.then(|| self.log_tail(broker))
    }

    /// The last lines that a broker logged.
    #[must_use]
    pub fn log_tail(&self, broker: i32) -> String {
        let log = lock(&self.brokers).get(&broker).map(Node::log);
        let text = log.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

/// What is to be started.
pub(crate) struct Plan {
    pub(crate) brokers: BTreeMap<i32, Node>,
    pub(crate) others: Vec<Node>,
    pub(crate) zookeeper: Option<String>,
}

/// Settings that both modes share.
pub(crate) fn common_settings(options: &Options) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let mut set = |name: &str, value: String| settings.insert(name.to_owned(), value);
    set("offsets.topic.replication.factor", options.offsets_replication_factor.to_string());
    set("offsets.topic.num.partitions", options.offsets_partitions.to_string());
    set("min.insync.replicas", options.min_insync_replicas.to_string());
    set("group.initial.rebalance.delay.ms", "0".to_owned());
    set("transaction.state.log.replication.factor", "1".to_owned());
    set("transaction.state.log.min.isr", "1".to_owned());
    set("default.replication.factor", "1".to_owned());
    // Segments are preallocated sparsely but mapped: small ones keep three brokers on one disk light.
    set("log.index.size.max.bytes", "65536".to_owned());
    set("log.cleaner.dedupe.buffer.size", "2097152".to_owned());
    set("offsets.topic.segment.bytes", "1048576".to_owned());
    settings
}

/// The listeners of a broker beside the controller's: settings `listeners`, `advertised.listeners`, and the protocol map.
pub(crate) fn listeners(options: &Options, ports: BrokerPorts, folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut settings = BTreeMap::new();
    let mut listeners = vec![format!("PLAINTEXT://127.0.0.1:{}", ports.plaintext)];
    let mut advertised = listeners.clone();
    let mut protocols = vec!["PLAINTEXT:PLAINTEXT"];
    if options.odd_listeners {
        for (name, port) in [("LOGIN", ports.sasl), ("TLS", ports.tls)] {
            listeners.push(format!("{name}://127.0.0.1:{port}"));
            advertised.push(format!("{name}://127.0.0.1:{port}"));
        }
        listeners.push(format!("NOWHERE://127.0.0.1:{}", ports.nowhere));
        advertised.push(format!("NOWHERE://127.0.0.1:{}", ports.closed));
        protocols.extend(["LOGIN:SASL_PLAINTEXT", "TLS:SSL", "NOWHERE:PLAINTEXT"]);
        let mut set = |name: &str, value: String| settings.insert(name.to_owned(), value);
        set("sasl.enabled.mechanisms", "PLAIN".to_owned());
        set(
            "listener.name.login.plain.sasl.jaas.config",
            "org.apache.kafka.common.security.plain.PlainLoginModule required user_alice=\"alice-secret\";".to_owned(),
        );
        set("ssl.keystore.location", key_store(folder)?.display().to_string());
        set("ssl.keystore.password", KEY_STORE_PASSWORD.to_owned());
        set("ssl.key.password", KEY_STORE_PASSWORD.to_owned());
    }
    settings.insert("listeners".to_owned(), listeners.join(","));
    settings.insert("advertised.listeners".to_owned(), advertised.join(","));
    settings.insert("listener.security.protocol.map".to_owned(), protocols.join(","));
    Ok(settings)
}

/// Of the key store that is made for one test run; it protects nothing.
const KEY_STORE_PASSWORD: &str = "unstuck-tests";

fn key_store(folder: &Path) -> Result<PathBuf> {
    let store = folder.join("keystore.jks");
    let mut keytool = std::process::Command::new("keytool");
    keytool.args(["-genkeypair", "-alias", "broker", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "2"]);
    keytool.args(["-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1", "-storepass", KEY_STORE_PASSWORD]);
    keytool.args(["-keypass", KEY_STORE_PASSWORD, "-keystore"]).arg(&store);
    let output = keytool.output().context("starting keytool, which comes with Java")?;
    anyhow::ensure!(output.status.success(), "keytool failed: {}", String::from_utf8_lossy(&output.stdout));
    Ok(store)
}

/// Writes a settings file.
pub(crate) fn write_settings(path: &Path, settings: &BTreeMap<String, String>) -> Result<()> {
    let text: String = settings.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A test that failed while holding it leaves nothing half done behind.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
