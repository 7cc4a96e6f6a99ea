//! Real consumers, as applications run them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::cluster::Cluster;
use crate::jars::{Release, java};
use crate::tether::Tethered;

/// A consumer of librdkafka that reads a topic and commits every record, until it is dropped.
#[derive(Debug)]
pub struct RustConsumer {
    stop: Arc<AtomicBool>,
    committed: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl RustConsumer {
    /// Starts one. `protocol` is `classic` or `consumer` (KIP-848).
    ///
    /// # Errors
    /// If the client library refuses the settings.
    pub fn start(cluster: &Cluster, group: &str, topic: &str, protocol: &str) -> Result<Self> {
        Self::start_at(&cluster.bootstrap(), group, topic, protocol)
    }

    /// As [`start`](Self::start), by bootstrap addresses.
    ///
    /// # Errors
    /// If the client library refuses the settings.
    pub fn start_at(bootstrap: &str, group: &str, topic: &str, protocol: &str) -> Result<Self> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", bootstrap).set("group.id", group).set("group.protocol", protocol);
        config.set("auto.offset.reset", "earliest").set("enable.auto.commit", "false").set("log_level", "0");
        config.set("reconnect.backoff.max.ms", "500");
        let consumer: BaseConsumer = config.create().context("creating a consumer")?;
        consumer.subscribe(&[topic])?;
        let stop = Arc::new(AtomicBool::new(false));
        let committed = Arc::new(AtomicU64::new(0));
        let (told, counted) = (Arc::clone(&stop), Arc::clone(&committed));
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) else { continue };
                if consumer.commit_message(&message, CommitMode::Sync).is_ok() {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Ok(Self { stop, committed, thread: Some(thread) })
    }

    /// How many records it has read and committed.
    #[must_use]
    pub fn committed(&self) -> u64 {
        self.committed.load(Ordering::Relaxed)
    }
}

impl Drop for RustConsumer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// A producer that writes a record to partition 0 of a topic again and again, until it is dropped.
#[derive(Debug)]
pub struct RustProducer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl RustProducer {
    /// Starts one.
    ///
    /// # Errors
    /// If the client library refuses the settings.
    pub fn start(cluster: &Cluster, topic: &str, every: Duration) -> Result<Self> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", cluster.bootstrap()).set("log_level", "0");
        config.set("reconnect.backoff.max.ms", "500");
        let producer: BaseProducer = config.create().context("creating a producer")?;
        let stop = Arc::new(AtomicBool::new(false));
        let (told, topic) = (Arc::clone(&stop), topic.to_owned());
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                // A full queue drops a record; nobody counts them.
                let _full = producer.send(BaseRecord::<(), str>::to(&topic).partition(0).payload("record"));
                producer.poll(every);
            }
        });
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for RustProducer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// Kafka's own console consumer, running until it is dropped.
///
/// # Errors
/// If Java cannot be started.
pub fn console_consumer(cluster: &Cluster, group: &str, topic: &str, protocol: &str) -> Result<Tethered> {
    console_consumer_at(cluster.release(), &cluster.bootstrap(), &log_file(cluster.folder()), group, topic, protocol)
}

/// As [`console_consumer`], by release and bootstrap addresses. What it prints goes to a file.
///
/// # Errors
/// If Java cannot be started.
pub fn console_consumer_at(
    release: Release,
    bootstrap: &str,
    log: &Path,
    group: &str,
    topic: &str,
    protocol: &str,
) -> Result<Tethered> {
    let protocol = format!("group.protocol={protocol}");
    let main_class = "org.apache.kafka.tools.consumer.ConsoleConsumer";
    console(
        release,
        bootstrap,
        log,
        main_class,
        &["--group", group, "--topic", topic, "--consumer-property", &protocol],
    )
}

/// Kafka's own console consumer for share groups (KIP-932), running until it is dropped.
///
/// # Errors
/// If Java cannot be started.
pub fn console_share_consumer(cluster: &Cluster, group: &str, topic: &str) -> Result<Tethered> {
    let main_class = "org.apache.kafka.tools.consumer.ConsoleShareConsumer";
    let log = log_file(cluster.folder());
    console(cluster.release(), &cluster.bootstrap(), &log, main_class, &["--group", group, "--topic", topic])
}

fn console(release: Release, bootstrap: &str, log: &Path, main_class: &str, args: &[&str]) -> Result<Tethered> {
    let mut command = java(release, 128, main_class)?;
    command.args(["--bootstrap-server", bootstrap]).args(args);
    Tethered::start(&command, log, None)
}

fn log_file(folder: &Path) -> std::path::PathBuf {
    folder.join("consumers.txt")
}

/// Writes records to partition 0 of a topic.
///
/// # Errors
/// If the cluster does not take them within 30 s.
pub fn produce(cluster: &Cluster, topic: &str, count: u32) -> Result<()> {
    produce_to(cluster, topic, 0, count)
}

/// Writes records to a partition of a topic.
///
/// # Errors
/// If the cluster does not take them within 30 s.
pub fn produce_to(cluster: &Cluster, topic: &str, partition: i32, count: u32) -> Result<()> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", cluster.running_bootstrap()).set("log_level", "0");
    let producer: BaseProducer = config.create().context("creating a producer")?;
    for n in 0..count {
        let text = n.to_string();
        let record = BaseRecord::<(), str>::to(topic).partition(partition).payload(&text);
        producer.send(record).map_err(|(error, _)| error).context("queueing a record")?;
    }
    producer.flush(Duration::from_secs(30)).context("writing records")
}
