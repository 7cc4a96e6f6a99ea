//! A cluster that is entered with TLS and a login: its listeners, its accounts, and what a client is configured with.
//!
//! The plaintext listener stays for the harness itself; with [`Options::authorizer`](crate::cluster::Options::authorizer)
//! whoever comes in there has no rights.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use openssl::base64::encode_block;

use crate::certificates::Authority;
use crate::cluster::Cluster;
use crate::ports::BrokerPorts;
use crate::shell::Shell;

const PLAIN: &str = "org.apache.kafka.common.security.plain.PlainLoginModule required";
const SCRAM: &str = "org.apache.kafka.common.security.scram.ScramLoginModule required";
const OAUTH: &str = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required";
/// After how many milliseconds a login has to be renewed (KIP-368).
pub const REAUTHENTICATION_MS: u32 = 8_000;

/// An account of the cluster. Its name is its principal, however it logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: &'static str,
    /// Its password, which must never be seen anywhere.
    pub password: &'static str,
}

/// Those that the cluster knows.
pub const ACCOUNTS: [Account; 3] = [
    Account { name: "unstuck-nothing", password: "nothing-Zq7wKx1p" },
    Account { name: "unstuck-prefixed", password: "prefixed-Vb3nYt8m" },
    Account { name: "unstuck-smallest", password: "smallest-Hd5rPj2c" },
];

/// How an account logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// SASL_SSL with SCRAM-SHA-512.
    Scram512,
    /// SASL_SSL with SCRAM-SHA-256.
    Scram256,
    /// SASL_SSL with PLAIN.
    PlainTls,
    /// SASL_SSL with OAUTHBEARER, by an unsecured JWS (RFC 7515), which Kafka takes for tests.
    OAuthBearer,
    /// SSL with a client certificate.
    MutualTls,
    /// SASL_PLAINTEXT with PLAIN.
    Plain,
}

impl Way {
    /// Its name in test results, which is a cluster name for Unstuck too.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scram512 => "scram-sha-512",
            Self::Scram256 => "scram-sha-256",
            Self::PlainTls => "plain-over-tls",
            Self::OAuthBearer => "oauthbearer",
            Self::MutualTls => "mutual-tls",
            Self::Plain => "plain",
        }
    }
}

/// The host that the certificate of the listener [`Trap::OtherHost`] is for.
pub const OTHER_HOST: &str = "kafka-1.example";

/// The files of a client's certificate that has expired begin so, in the folder `certificates` of the cluster.
pub const EXPIRED_CLIENT: &str = "expired-client";

/// A listener with TLS alone whose certificate is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// The certificate is for [`OTHER_HOST`].
    OtherHost,
    /// The certificate has expired.
    Expired,
}

/// Adds the listeners with their certificates and users.
pub(crate) fn add(settings: &mut BTreeMap<String, String>, ports: BrokerPorts, folder: &Path) -> Result<()> {
    let certificates = folder.join("certificates");
    let mut listeners = String::new();
    for (name, port) in [
        ("SECURE", ports.sasl_ssl),
        ("MUTUAL", ports.mutual_tls),
        ("LOGIN", ports.sasl_plaintext),
        ("OTHERS", ports.other_host),
        ("EXPIRED", ports.expired),
    ] {
        write!(listeners, ",{name}://127.0.0.1:{port}")?;
    }
    for (name, more) in [
        ("listeners", listeners.as_str()),
        ("advertised.listeners", listeners.as_str()),
        ("listener.security.protocol.map", ",SECURE:SASL_SSL,MUTUAL:SSL,LOGIN:SASL_PLAINTEXT,OTHERS:SSL,EXPIRED:SSL"),
    ] {
        settings.entry(name.to_owned()).or_default().push_str(more);
    }
    let mut set = |name: &str, value: &str| settings.insert(format!("listener.name.{name}"), value.to_owned());
    let users =
        ACCOUNTS.iter().fold(PLAIN.to_owned(), |users, one| format!("{users} user_{}=\"{}\"", one.name, one.password))
            + ";";
    set("secure.sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER");
    set("secure.connections.max.reauth.ms", &REAUTHENTICATION_MS.to_string());
    set("secure.plain.sasl.jaas.config", &users);
    set("secure.scram-sha-256.sasl.jaas.config", &format!("{SCRAM};"));
    set("secure.scram-sha-512.sasl.jaas.config", &format!("{SCRAM};"));
    set("secure.oauthbearer.sasl.jaas.config", &format!("{OAUTH} unsecuredLoginStringClaim_sub=\"broker\";"));
    set("login.sasl.enabled.mechanisms", "PLAIN");
    set("login.plain.sasl.jaas.config", &users);
    for (listener, certificate) in
        [("secure", "broker"), ("mutual", "broker"), ("others", "other-host"), ("expired", "expired")]
    {
        let store = certificates.join(format!("{certificate}-both.pem"));
        set(&format!("{listener}.ssl.keystore.type"), "PEM");
        set(&format!("{listener}.ssl.keystore.location"), &store.display().to_string());
    }
    set("mutual.ssl.client.auth", "required");
    set("mutual.ssl.truststore.type", "PEM");
    set("mutual.ssl.truststore.location", &certificates.join("ca.pem").display().to_string());
    set("mutual.ssl.principal.mapping.rules", "RULE:^CN=(.*)$/$1/,DEFAULT");
    Ok(())
}

/// Makes the certificates of a cluster, before its brokers start.
pub(crate) fn prepare(folder: &Path) -> Result<()> {
    let authority = Authority::new(&folder.join("certificates"))?;
    authority.sign("broker")?;
    authority.sign_for("other-host", OTHER_HOST)?;
    authority.sign_expired("expired")?;
    authority.sign_expired(EXPIRED_CLIENT)?;
    for account in ACCOUNTS {
        authority.sign(account.name)?;
    }
    Ok(())
}

impl Cluster {
    /// Where clients come in that way, at all brokers, comma-separated.
    #[must_use]
    pub fn secured_bootstrap(&self, way: Way) -> String {
        let port = |broker: i32| {
            let ports = self.ports(broker);
            match way {
                Way::MutualTls => ports.mutual_tls,
                Way::Plain => ports.sasl_plaintext,
                Way::Scram512 | Way::Scram256 | Way::PlainTls | Way::OAuthBearer => ports.sasl_ssl,
            }
        };
        let each = self.broker_ids().into_iter().map(|broker| format!("127.0.0.1:{}", port(broker)));
        each.collect::<Vec<_>>().join(",")
    }

    /// The same for a listener that nobody should enter.
    #[must_use]
    pub fn trap(&self, trap: Trap) -> String {
        let port = |broker: i32| match trap {
            Trap::OtherHost => self.ports(broker).other_host,
            Trap::Expired => self.ports(broker).expired,
        };
        let each = self.broker_ids().into_iter().map(|broker| format!("127.0.0.1:{}", port(broker)));
        each.collect::<Vec<_>>().join(",")
    }

    /// The file with the certificate that brokers' certificates lead to.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.folder().join("certificates/ca.pem")
    }

    /// `client.properties` of an account, as Kafka's tools take them; for OAUTHBEARER there is
    /// [`token_file`](Self::token_file).
    #[must_use]
    pub fn client_properties(&self, way: Way, account: Account) -> String {
        let Account { name, password } = account;
        let login = |module: &str| format!("sasl.jaas.config={module} username=\"{name}\" password=\"{password}\";\n");
        let trust = format!("ssl.truststore.type=PEM\nssl.truststore.location={}\n", self.authority().display());
        match way {
            Way::Plain => format!("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n{}", login(PLAIN)),
            Way::PlainTls => format!("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n{}{trust}", login(PLAIN)),
            Way::Scram256 | Way::Scram512 => {
                let mechanism = if way == Way::Scram256 { "SCRAM-SHA-256" } else { "SCRAM-SHA-512" };
                format!("security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\n{}{trust}", login(SCRAM))
            }
            Way::OAuthBearer => format!("security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n{trust}"),
            Way::MutualTls => {
                let own = self.folder().join(format!("certificates/{name}-both.pem"));
                format!(
                    "security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location={}\n{trust}",
                    own.display()
                )
            }
        }
    }

    /// Writes a token that says who somebody is, valid for an hour.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn token_file(&self, account: Account) -> Result<PathBuf> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let part = |text: String| encode_block(text.as_bytes()).replace('+', "-").replace('/', "_").replace('=', "");
        let claims = format!(r#"{{"sub":"{}","iat":{now},"exp":{}}}"#, account.name, now + 3_600);
        let path = self.folder().join(format!("{}.jwt", account.name));
        let token = format!("{}.{}.", part(r#"{"alg":"none"}"#.to_owned()), part(claims));
        fs::write(&path, token).with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }

    /// Makes the accounts known to SCRAM.
    ///
    /// # Errors
    /// A command fails.
    pub async fn make_scram_accounts(&self, admin: &Shell) -> Result<()> {
        for Account { name, password } in ACCOUNTS {
            // One at a time: a request may change a user once (DuplicateResourceException).
            for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512"] {
                let add = format!("--add-config '{mechanism}=[password={password}]'");
                let command = format!(
                    "kafka-configs.sh --bootstrap-server {} --alter {add} --entity-type users --entity-name {name}",
                    self.address(1)
                );
                admin.succeed(&command).await?;
            }
        }
        Ok(())
    }
}
