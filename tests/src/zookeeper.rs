//! ZooKeeper mode: what to write before ZooKeeper and the brokers start, and where ZooKeeper is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::cluster::{Cluster, Node, Options, Plan, common_settings, listeners, write_settings};
use crate::ports::{BrokerPorts, free_port};
use crate::secured;

pub(crate) fn plan(folder: &Path, options: &Options, ports: &BTreeMap<i32, BrokerPorts>) -> Result<Plan> {
    let port = free_port()?;
    let address = format!("127.0.0.1:{port}/kafka");
    let zookeeper_folder = folder.join("zookeeper");
    let data = zookeeper_folder.join("data");
    fs::create_dir_all(&data)?;
    let path = zookeeper_folder.join("zoo.cfg");
    // A tick of 500 ms allows session time-outs from 1 s on.
    fs::write(
        &path,
        format!(
            "dataDir={}\nclientPort={port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n\
             4lw.commands.whitelist=*\ntickTime=500\n",
            data.display()
        ),
    )?;
    let zookeeper = Node {
        folder: zookeeper_folder,
        main_class: "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        heap_mb: 128,
        settings: path,
        log_settings: None,
        process: None,
    };

    let mut brokers = BTreeMap::new();
    for (&id, &broker_ports) in ports {
        let node_folder = folder.join(format!("broker-{id}"));
        fs::create_dir_all(&node_folder)?;
        let mut settings = common_settings(options);
        settings.extend(listeners(options, broker_ports, &node_folder)?);
        if options.secured {
            secured::add(&mut settings, broker_ports, folder)?;
        }
        let mut set = |name: &str, value: String| settings.insert(name.to_owned(), value);
        set("broker.id", id.to_string());
        set("zookeeper.connect", address.clone());
        set("zookeeper.session.timeout.ms", options.session_timeout.as_millis().to_string());
        set("log.dirs", node_folder.join("data").display().to_string());
        settings.extend(options.properties.clone());
        let path = node_folder.join("server.properties");
        write_settings(&path, &settings)?;
        let node = Node {
            folder: node_folder,
            main_class: "kafka.Kafka",
            heap_mb: 384,
            settings: path,
            log_settings: None,
            process: None,
        };
        brokers.insert(id, node);
    }
    Ok(Plan { brokers, others: vec![zookeeper], zookeeper: Some(address) })
}

impl Cluster {
    /// Where its brokers find ZooKeeper: `host:port/chroot`.
    ///
    /// # Errors
    /// If it has none.
    pub fn zookeeper_address(&self) -> Result<&str> {
        self.zookeeper.as_deref().context("a cluster in KRaft mode has no ZooKeeper")
    }
}
