//! Kerberos for tests: a KDC of their own on a loopback port, and brokers that take its tickets.
//!
//! It needs MIT's programs (Debian: `krb5-kdc`, `krb5-admin-server`, `krb5-user`). They run in a folder of their own, with their own
//! settings; those of the machine are neither read nor changed.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::cluster::Cluster;
use crate::ports::{BrokerPorts, free_port};
use crate::tether::Tethered;
use crate::wait::wait_for;

/// The realm of all tests.
pub const REALM: &str = "UNSTUCK.TEST";
/// Whom brokers are, at the host that they advertise.
const BROKER: &str = "kafka/localhost";
/// After how many milliseconds a login has to be renewed (KIP-368).
pub const REAUTHENTICATION_MS: u32 = 6_000;

/// A running KDC. It ends when it is dropped, or when this process ends.
#[derive(Debug)]
pub struct Kdc {
    process: Tethered,
    folder: TempDir,
}

/// What brokers need to take tickets.
#[derive(Clone, Debug)]
pub struct Acceptor {
    /// `krb5.conf`.
    settings: PathBuf,
    keytab: PathBuf,
}

impl Kdc {
    /// Starts it, with the principal of the brokers.
    ///
    /// # Errors
    /// If its programs are missing, or it does not start.
    pub async fn start() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("unstuck-kdc-").tempdir()?;
        let (at, port) = (folder.path(), free_port()?);
        let own = at.display();
        fs::write(
            at.join("krb5.conf"),
            format!(
                "[libdefaults]\n default_realm = {REALM}\n dns_lookup_realm = false\n dns_lookup_kdc = false\n \
                 dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n\
                 [realms]\n {REALM} = {{\n kdc = 127.0.0.1:{port}\n }}\n"
            ),
        )?;
        fs::write(
            at.join("kdc.conf"),
            format!(
                "[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n\
                 [realms]\n {REALM} = {{\n database_name = {own}/principals\n key_stash_file = {own}/stash\n \
                 acl_file = {own}/acl\n }}\n\
                 [logging]\n kdc = FILE:{own}/kdc.log\n admin_server = FILE:{own}/admin.log\n default = FILE:{own}/krb5.log\n"
            ),
        )?;
        run(tool(at, "kdb5_util").args(["create", "-s", "-r", REALM, "-P", "of-this-test-alone"]))?;
        let mut kdc = tool(at, "krb5kdc");
        kdc.args(["-n", "-P"]).arg(at.join("pid"));
        let process = Tethered::start(&kdc, &at.join("kdc.out"), Some(at))?;
        let kdc = Self { process, folder };
        kdc.add(BROKER)?;
        wait_for("the KDC to listen", async || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                .map(drop)
                .map_err(|error| format!("{error}; running: {}; {}", kdc.process.is_running(), kdc.log()))
        })
        .await;
        Ok(kdc)
    }

    fn log(&self) -> String {
        ["kdc.out", "kdc.log"]
            .map(|name| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default())
            .concat()
    }

    /// Its folder, for files of the test.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Adds a principal with a random key. Who asks for its tickets has to prove that it has the key.
    ///
    /// # Errors
    /// If it is there already.
    pub fn add(&self, principal: &str) -> Result<()> {
        self.administer(&format!("addprinc -randkey +requires_preauth {principal}"))
    }

    /// Removes a principal. Keytabs with its key are of no more use.
    ///
    /// # Errors
    /// If it is not there.
    pub fn remove(&self, principal: &str) -> Result<()> {
        self.administer(&format!("delprinc -force {principal}"))
    }

    /// Gives a principal another key. Keytabs with the old one are of no more use.
    ///
    /// # Errors
    /// If there is no such principal.
    pub fn change_key(&self, principal: &str) -> Result<()> {
        self.administer(&format!("cpw -randkey {principal}"))
    }

    /// A file with the key of a principal.
    ///
    /// # Errors
    /// If there is no such principal.
    pub fn keytab(&self, principal: &str) -> Result<PathBuf> {
        let path = self.folder().join(format!("{}.keytab", principal.replace('/', "-")));
        self.administer(&format!("ktadd -norandkey -k {} {principal}", path.display()))?;
        Ok(path)
    }

    /// Puts a ticket for the principal of a keytab into a credentials cache, as `kinit` does.
    ///
    /// # Errors
    /// If the KDC refuses it.
    pub fn ticket(&self, principal: &str, keytab: &Path, cache: &str) -> Result<()> {
        let mut kinit = tool(self.folder(), "kinit");
        run(kinit.args(["-k", "-t"]).arg(keytab).arg(principal).env("KRB5CCNAME", cache)).map(drop)
    }

    /// Whose tickets are in a credentials cache, as `klist` tells.
    ///
    /// # Errors
    /// If there is none.
    pub fn owner(&self, cache: &str) -> Result<String> {
        let told = run(tool(self.folder(), "klist").env("KRB5CCNAME", cache))?;
        let line = told.lines().find_map(|line| line.strip_prefix("Default principal: "));
        Ok(line.context("a principal")?.to_owned())
    }

    /// What a program needs in its environment to use this KDC and that cache.
    #[must_use]
    pub fn environment(&self, cache: &str) -> Vec<(&'static str, String)> {
        let settings = self.folder().join("krb5.conf").display().to_string();
        vec![("KRB5_CONFIG", settings), ("KRB5CCNAME", cache.to_owned())]
    }

    /// What brokers need.
    ///
    /// # Errors
    /// If their keytab cannot be written.
    pub fn acceptor(&self) -> Result<Acceptor> {
        Ok(Acceptor { settings: self.folder().join("krb5.conf"), keytab: self.keytab(BROKER)? })
    }

    fn administer(&self, command: &str) -> Result<()> {
        // It ends with 0 whatever came of it.
        let told = run(tool(self.folder(), "kadmin.local").args(["-r", REALM, "-q", command]))?;
        let failed = ["unable to", "does not exist", "already exists", "Cannot", "failed"];
        ensure!(!failed.iter().any(|word| told.contains(word)), "{command}: {told}");
        Ok(())
    }
}

impl Acceptor {
    /// Adds a listener on which tickets are taken. It advertises a name, because tickets are for names.
    pub(crate) fn add(&self, settings: &mut BTreeMap<String, String>, ports: BrokerPorts) {
        let port = ports.kerberos;
        for (name, more) in [
            ("listeners", format!(",KERBEROS://127.0.0.1:{port}")),
            ("advertised.listeners", format!(",KERBEROS://localhost:{port}")),
            ("listener.security.protocol.map", ",KERBEROS:SASL_PLAINTEXT".to_owned()),
        ] {
            settings.entry(name.to_owned()).or_default().push_str(&more);
        }
        let login = format!(
            "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab=\"{}\" \
             principal=\"{BROKER}@{REALM}\";",
            self.keytab.display()
        );
        let mut set = |name: &str, value: &str| settings.insert(name.to_owned(), value.to_owned());
        set("sasl.kerberos.service.name", "kafka");
        set("listener.name.kerberos.sasl.enabled.mechanisms", "GSSAPI");
        set("listener.name.kerberos.gssapi.sasl.jaas.config", &login);
        set("listener.name.kerberos.connections.max.reauth.ms", &REAUTHENTICATION_MS.to_string());
    }

    /// What the Java of a broker has to be told in its environment.
    pub(crate) fn of_java(&self) -> (&'static str, String) {
        ("JDK_JAVA_OPTIONS", format!("-Djava.security.krb5.conf={}", self.settings.display()))
    }
}

impl Cluster {
    /// Where clients come in with tickets, at all brokers, comma-separated.
    #[must_use]
    pub fn kerberos_bootstrap(&self) -> String {
        let each = self.broker_ids().into_iter().map(|broker| format!("localhost:{}", self.ports(broker).kerberos));
        each.collect::<Vec<_>>().join(",")
    }
}

/// One of MIT's programs, with the settings in `folder`.
fn tool(folder: &Path, name: &str) -> Command {
    let mut command = Command::new(name);
    // Those of administrators are not on everybody's path.
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/usr/local/sbin")).env("LC_ALL", "C");
    command.env("KRB5_CONFIG", folder.join("krb5.conf")).env("KRB5_KDC_PROFILE", folder.join("kdc.conf"));
    command.current_dir(folder);
    command
}

fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let missing = || format!("{name} cannot be run (Debian: apt-get install krb5-kdc krb5-admin-server krb5-user)");
    let ended = command.output().with_context(missing)?;
    let told = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    ensure!(ended.status.success(), "{name}: {told}");
    Ok(told)
}
