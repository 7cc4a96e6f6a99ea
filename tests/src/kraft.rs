//! KRaft mode: what to write before a node starts.
//!
//! Kafka's own formatting starts a JVM for each node. All that it leaves behind is `meta.properties` (three ids) and a
//! checkpoint with the feature levels, which is the same for every node: so one folder is formatted once per release and
//! set of features, kept in the cache, and copied.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cluster::{Node, Options, Plan, common_settings, listeners, write_settings};
use crate::jars::{Release, cache_folder, run_class};
use crate::ports::{BrokerPorts, free_port};
use crate::{authorizer, secured};

/// Node id of a separate controller.
const CONTROLLER_ID: i32 = 100;
const CLUSTER_IDS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(crate) fn plan(folder: &Path, options: &Options, ports: &BTreeMap<i32, BrokerPorts>) -> Result<Plan> {
    let checkpoint = checkpoint(options.share_and_streams)?;
    let seed = ports.values().map(|ports| u64::from(ports.plaintext)).fold(1, |seed, port| seed * 31 + port);
    let cluster_id = id_from(seed);
    let separate_port = options.separate_controller.then(free_port).transpose()?;
    let voters = match separate_port {
        Some(port) => format!("{CONTROLLER_ID}@127.0.0.1:{port}"),
        None => {
            let each = ports.iter().map(|(id, ports)| format!("{id}@127.0.0.1:{}", ports.controller));
            each.collect::<Vec<_>>().join(",")
        }
    };

    let mut brokers = BTreeMap::new();
    for (&id, &broker_ports) in ports {
        let node_folder = folder.join(format!("broker-{id}"));
        fs::create_dir_all(&node_folder)?;
        let mut settings = common_settings(options);
        settings.extend(listeners(options, broker_ports, &node_folder)?);
        if separate_port.is_none() {
            let listeners = settings.entry("listeners".to_owned()).or_default();
            listeners.push_str(&format!(",CONTROLLER://127.0.0.1:{}", broker_ports.controller));
        }
        let controller = if options.authorizer { "SASL_PLAINTEXT" } else { "PLAINTEXT" };
        let protocols = settings.entry("listener.security.protocol.map".to_owned()).or_default();
        protocols.push_str(&format!(",CONTROLLER:{controller}"));
        if options.authorizer {
            authorizer::add(&mut settings, broker_ports);
        }
        if options.secured {
            secured::add(&mut settings, broker_ports, folder)?;
        }
        if let Some(acceptor) = &options.kerberos {
            acceptor.add(&mut settings, broker_ports);
        }
        let roles = if separate_port.is_none() { "broker,controller" } else { "broker" };
        settings.insert("process.roles".to_owned(), roles.to_owned());
        brokers.insert(id, node(node_folder, id, settings, &voters, options, &cluster_id, &checkpoint, 384)?);
    }

    let mut others = Vec::new();
    if let Some(port) = separate_port {
        let node_folder = folder.join("controller");
        fs::create_dir_all(&node_folder)?;
        let mut settings = common_settings(options);
        settings.insert("process.roles".to_owned(), "controller".to_owned());
        settings.insert("listeners".to_owned(), format!("CONTROLLER://127.0.0.1:{port}"));
        settings.insert("listener.security.protocol.map".to_owned(), "CONTROLLER:PLAINTEXT".to_owned());
        others.push(node(node_folder, CONTROLLER_ID, settings, &voters, options, &cluster_id, &checkpoint, 192)?);
    }
    Ok(Plan { brokers, others, zookeeper: None })
}

#[expect(clippy::too_many_arguments, reason = "one call for brokers and one for the controller, all values differ")]
fn node(
    folder: PathBuf,
    id: i32,
    mut settings: BTreeMap<String, String>,
    voters: &str,
    options: &Options,
    cluster_id: &str,
    checkpoint: &Path,
    heap_mb: u32,
) -> Result<Node> {
    let data = folder.join("data");
    fs::create_dir_all(&data)?;
    let mut set = |name: &str, value: String| settings.insert(name.to_owned(), value);
    set("node.id", id.to_string());
    set("controller.quorum.voters", voters.to_owned());
    set("controller.listener.names", "CONTROLLER".to_owned());
    set("broker.session.timeout.ms", options.session_timeout.as_millis().to_string());
    set("broker.heartbeat.interval.ms", (options.session_timeout.as_millis() / 5).to_string());
    set("log.dirs", data.display().to_string());
    if options.share_and_streams {
        set("unstable.api.versions.enable", "true".to_owned());
        set("unstable.feature.versions.enable", "true".to_owned());
        set("group.coordinator.rebalance.protocols", "classic,consumer,share,streams".to_owned());
        set("share.coordinator.state.topic.replication.factor", "1".to_owned());
        set("share.coordinator.state.topic.min.isr", "1".to_owned());
        set("share.coordinator.state.topic.num.partitions", "3".to_owned());
    }
    settings.extend(options.properties.clone());

    fs::copy(checkpoint, data.join("bootstrap.checkpoint")).context("copying the bootstrap checkpoint")?;
    let directory_id = id_from(u64::from(id.unsigned_abs()) * 7_919 + cluster_id.bytes().map(u64::from).sum::<u64>());
    fs::write(
        data.join("meta.properties"),
        format!("version=1\ncluster.id={cluster_id}\nnode.id={id}\ndirectory.id={directory_id}\n"),
    )?;
    let path = folder.join("server.properties");
    write_settings(&path, &settings)?;
    let log_settings = options.authorizer.then(|| authorizer::log_settings(&folder)).transpose()?;
    Ok(Node { folder, main_class: "kafka.Kafka", heap_mb, settings: path, log_settings, process: None })
}

/// 22 characters that Kafka reads as a UUID (128 bits in URL-safe base64; the last character carries two bits only).
fn id_from(seed: u64) -> String {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 58
    };
    let mut id = String::from("U");
    for _ in 0..20 {
        id.push(char::from(CLUSTER_IDS[usize::try_from(next()).unwrap_or(0)]));
    }
    id.push(char::from(CLUSTER_IDS[usize::try_from(next() & 0b11_0000).unwrap_or(0)]));
    id
}

/// The feature levels as Kafka's own formatting writes them, from the cache.
fn checkpoint(share_and_streams: bool) -> Result<PathBuf> {
    let release = Release::V4_1_1;
    let flavour = if share_and_streams { "share-streams" } else { "default" };
    let cached = cache_folder().join(format!("{}-{flavour}.checkpoint", release.version()));
    if cached.is_file() {
        return Ok(cached);
    }
    release.folder()?;
    let lock = File::create(cache_folder().join("checkpoint.lock"))?;
    lock.lock().context("waiting for another process that formats")?;
    if cached.is_file() {
        return Ok(cached);
    }
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let settings = folder.path().join("server.properties");
    fs::write(
        &settings,
        format!(
            "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:9093\n\
             listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\ncontroller.listener.names=CONTROLLER\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n\
             unstable.feature.versions.enable={share_and_streams}\nlog.dirs={}\n",
            data.display()
        ),
    )?;
    let path = settings.display().to_string();
    let cluster_id = id_from(1);
    let mut args = vec!["format", "-t", cluster_id.as_str(), "-c", path.as_str()];
    if share_and_streams {
        args.extend(["--feature", "share.version=1", "--feature", "streams.version=1"]);
    }
    run_class(release, "kafka.tools.StorageTool", &args)?;
    let partial = cached.with_extension("partial");
    fs::copy(data.join("bootstrap.checkpoint"), &partial).context("reading what formatting wrote")?;
    fs::rename(&partial, &cached)?;
    Ok(cached)
}
