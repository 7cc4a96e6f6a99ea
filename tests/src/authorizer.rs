//! A cluster whose brokers ask who somebody is before they answer: what to write into the settings, and how admins log in.
//!
//! The plaintext listener stays, and whoever comes in there is `User:ANONYMOUS`, who has no rights at first. Admins,
//! brokers and controllers log in at listeners of their own, as a super user.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::cluster::{BrokerPorts, Cluster};

/// The super user. It protects nothing: the cluster ends with the test.
const ADMIN: &str = "admin";
const MODULE: &str = "org.apache.kafka.common.security.plain.PlainLoginModule required";

/// Who comes in without a login.
pub const ANONYMOUS: &str = "User:ANONYMOUS";

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
