//! A cluster whose brokers ask who somebody is before they answer: what to write into the settings, and how admins log in.
//!
//! The plaintext listener stays, and whoever comes in there is `User:ANONYMOUS`, who has no rights at first. Admins,
//! brokers and controllers log in at listeners of their own, as a super user.
//!
//! What is denied is a line in a file beside the broker's data, as the logger `kafka.authorizer.logger` writes it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cluster::Cluster;
use crate::jars::LOG_WARNINGS;
use crate::ports::BrokerPorts;

/// The super user. It protects nothing: the cluster ends with the test.
const ADMIN: &str = "admin";
const MODULE: &str = "org.apache.kafka.common.security.plain.PlainLoginModule required";

/// Who comes in without a login.
pub const ANONYMOUS: &str = "User:ANONYMOUS";

/// Where a node writes what its authorizer says, in its folder.
const LOG: &str = "authorizer.log";

/// Log settings with which a node writes what its authorizer denies into a file of its own.
pub(crate) fn log_settings(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("log4j.properties");
    let log = folder.join(LOG);
    let text = format!(
        "{LOG_WARNINGS}log4j.logger.kafka.authorizer.logger=INFO, authorizer
log4j.additivity.kafka.authorizer.logger=false
log4j.appender.authorizer=org.apache.log4j.FileAppender
log4j.appender.authorizer.File={}
log4j.appender.authorizer.layout=org.apache.log4j.PatternLayout
log4j.appender.authorizer.layout.ConversionPattern=%m%n
",
        log.display()
    );
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}

/// A line about something that was denied.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Denied {
    /// Who wanted it, such as `User:unstuck`.
    pub principal: String,
    /// What they wanted to do, such as `DESCRIBE`.
    pub operation: String,
    /// With what, such as `Cluster:LITERAL:kafka-cluster`.
    pub resource: String,
    /// The request in which they asked, such as `DescribeLogDirs`.
    pub request: String,
}

impl Denied {
    /// As `StandardAuthorizerData` puts it; `None` if the line is about something else.
    fn read(line: &str) -> Option<Self> {
        let after = |words: &str| Some(line.split_once(words)?.1.split(' ').next()?.to_owned());
        line.contains(" is Denied ").then_some(())?;
        Some(Self {
            principal: after("Principal = ")?,
            operation: after(" operation = ")?,
            resource: after(" on resource = ")?,
            request: after(" for request = ")?,
        })
    }
}

/// Adds the authorizer, and the listener for admins and brokers. The controllers' listener asks for a login too.
pub(crate) fn add(settings: &mut BTreeMap<String, String>, ports: BrokerPorts) {
    let listener = format!(",ADMIN://127.0.0.1:{}", ports.sasl);
    for (name, more) in [
        ("listeners", listener.as_str()),
        ("advertised.listeners", listener.as_str()),
        ("listener.security.protocol.map", ",ADMIN:SASL_PLAINTEXT"),
    ] {
        settings.entry(name.to_owned()).or_default().push_str(more);
    }
    let mut set = |name: &str, value: &str| settings.insert(name.to_owned(), value.to_owned());
    set("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer");
    set("super.users", &format!("User:{ADMIN}"));
    set("inter.broker.listener.name", "ADMIN");
    set("sasl.enabled.mechanisms", "PLAIN");
    set("sasl.mechanism.inter.broker.protocol", "PLAIN");
    set("sasl.mechanism.controller.protocol", "PLAIN");
    for listener in ["admin", "controller"] {
        let login = format!("{MODULE} username=\"{ADMIN}\" password=\"{ADMIN}\" user_{ADMIN}=\"{ADMIN}\";");
        set(&format!("listener.name.{listener}.plain.sasl.jaas.config"), &login);
    }
}

impl Cluster {
    /// Where admins log in at a broker, with [`Options::authorizer`](crate::cluster::Options::authorizer).
    #[must_use]
    pub fn admin_address(&self, broker: i32) -> String {
        format!("127.0.0.1:{}", self.ports(broker).sasl)
    }

    /// Everything that was denied so far, broker after broker, in the order of each broker's log.
    ///
    /// # Errors
    /// If a log cannot be read, or a line of it not understood.
    pub fn denied(&self) -> Result<Vec<Denied>> {
        let mut denied = Vec::new();
        for broker in self.broker_ids() {
            let path = self.folder().join(format!("broker-{broker}")).join(LOG);
            let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            // The last line may be being written.
            let whole = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
            for line in whole.lines() {
                denied.push(Denied::read(line).with_context(|| format!("a line of broker {broker}: {line}"))?);
            }
        }
        Ok(denied)
    }

    /// Writes the file that tools take as `--command-config` to log in as an admin.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn admin_config(&self) -> Result<PathBuf> {
        let path = self.folder().join("admin.properties");
        let login = format!("sasl.jaas.config={MODULE} username=\"{ADMIN}\" password=\"{ADMIN}\";");
        let text = format!("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n{login}\n");
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }
}
