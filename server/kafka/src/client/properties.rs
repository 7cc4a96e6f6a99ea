//! What librdkafka is told of a cluster: its properties, made from what the configuration says about TLS and login.
//!
//! Files and secrets are read here, each time a client is made, so that librdkafka gets their content and a client that
//! was refused is made anew with what they hold then. Its names: librdkafka's CONFIGURATION.md.

use std::collections::BTreeMap;
use std::path::Path;

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use secrecy::ExposeSecret;
use unstuck_security::{Identity, Material, Sasl, Secret, Security, Tls, Unreadable, kerberos_built_in};

use crate::ClusterConfig;
use crate::probe::CLIENT_ID;

/// Properties that are ours to set, or that would make a group member of us.
const OURS: [&str; 5] =
    ["bootstrap.servers", "metadata.broker.list", "client.id", "group.id", "allow.auto.create.topics"];
/// Where librdkafka looks for the certificates that this machine trusts: its OpenSSL is compiled in and does not know.
const OF_THIS_MACHINE: &str = "probe";

/// Why a client cannot be made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unusable {
    /// It may be readable later.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Only another build can.
    #[error(transparent)]
    NotBuiltIn(#[from] unstuck_security::Unusable),
}

/// The properties of one client, and which of their values may be shown to nobody.
#[derive(Default)]
pub(super) struct Properties {
    values: BTreeMap<String, String>,
    secrets: Vec<String>,
    /// What is in files that librdkafka reads itself.
    files: Vec<Vec<u8>>,
    /// Whether the client logs in.
    pub(super) logs_in: bool,
}

impl Properties {
    /// What `config` means to librdkafka; reads the files that it names.
    pub(super) fn of(config: &ClusterConfig) -> Result<Self, Unusable> {
        let mut made = Self::default();
        for (name, value) in &config.properties {
            if !OURS.contains(&name.as_str()) {
                made.set(name, value);
            }
        }
        // What the table sets itself about security stands only where nothing else is said about it.
        if config.security != Security::default() {
            made.set("security.protocol", &config.security.protocol().to_ascii_lowercase());
        }
        if let Some(tls) = &config.security.tls {
            made.tls(tls)?;
        }
        if let Some(sasl) = &config.security.sasl {
            made.sasl(sasl)?;
        }
        let protocol = made.values.get("security.protocol").map(|protocol| protocol.to_ascii_lowercase());
        made.logs_in = protocol.is_some_and(|protocol| protocol.starts_with("sasl"));
        made.set("bootstrap.servers", &config.bootstrap.join(","));
        made.set("client.id", CLIENT_ID);
        made.set("allow.auto.create.topics", "false");
        // librdkafka logs in again at each connection: slowly enough that a refusal is noticed before the next attempt.
        made.unless_set("reconnect.backoff.ms", if made.logs_in { "1000" } else { "100" });
        made.unless_set("reconnect.backoff.max.ms", "1000");
        Ok(made)
    }

    fn tls(&mut self, tls: &Tls) -> Result<(), Unreadable> {
        match &tls.ca {
            Some(ca) => self.material("ssl.ca.pem", ca)?,
            None => self.set("ssl.ca.location", OF_THIS_MACHINE),
        }
        self.set("ssl.endpoint.identification.algorithm", if tls.verify_host { "https" } else { "none" });
        match &tls.identity {
            None => {}
            Some(Identity::Pem { certificates, key, password }) => {
                self.material("ssl.certificate.pem", certificates)?;
                self.material("ssl.key.pem", key)?;
                self.secret("ssl.key.password", password.as_ref())?;
            }
            Some(Identity::Pkcs12 { file, password }) => {
                self.file(file)?;
                self.set("ssl.keystore.location", &file.display().to_string());
                self.secret("ssl.keystore.password", password.as_ref())?;
            }
        }
        Ok(())
    }

    fn sasl(&mut self, sasl: &Sasl) -> Result<(), Unusable> {
        self.set("sasl.mechanism", sasl.mechanism());
        match sasl {
            Sasl::Plain { username, password } | Sasl::Scram { username, password, .. } => {
                self.set("sasl.username", username);
                self.secret("sasl.password", Some(password))?;
            }
            // The token is asked for when librdkafka wants one.
            Sasl::OAuthBearer(_) | Sasl::MskIam { .. } => {}
            Sasl::Gssapi { service, principal, keytab } => {
                kerberos_built_in()?;
                self.set("sasl.kerberos.service.name", service);
                if let Some(principal) = principal {
                    self.set("sasl.kerberos.principal", principal);
                }
                if let Some(keytab) = keytab {
                    self.file(keytab)?;
                }
                // We see to tickets ourselves: librdkafka would have a shell run kinit every minute.
                self.set("sasl.kerberos.min.time.before.relogin", "0");
            }
        }
        Ok(())
    }

    /// Keeps in mind what is in a file that only its path is told of.
    fn file(&mut self, file: &Path) -> Result<(), Unreadable> {
        let why = |error: std::io::Error| Unreadable { path: file.to_owned(), why: error.to_string() };
        self.files.push(std::fs::read(file).map_err(why)?);
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
    }

    fn unless_set(&mut self, name: &str, value: &str) {
        self.values.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }

    fn secret(&mut self, name: &str, secret: Option<&Secret>) -> Result<(), Unreadable> {
        if let Some(secret) = secret {
            let value = secret.read()?;
            self.set(name, value.expose_secret());
            self.secrets.push(value.expose_secret().to_owned());
        }
        Ok(())
    }

    fn material(&mut self, name: &str, material: &Material) -> Result<(), Unreadable> {
        let secret = match material {
            Material::File(path) => Secret::File(path.clone()),
            Material::Inline(secret) => secret.clone(),
        };
        self.secret(name, Some(&secret))
    }

    /// Whether a client that is made now would be told something else.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.values == other.values && self.files == other.files
    }

    /// For rdkafka.
    pub(super) fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        for (name, value) in &self.values {
            config.set(name, value);
        }
        config
    }

    /// A text of librdkafka without the secrets that it was told.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // In the table of properties may be passwords, too.
        let told = self.values.iter().filter(|(name, _)| name.contains("password") || name.contains("secret"));
        let secrets = self.secrets.iter().chain(told.map(|(_, value)| value));
        for secret in secrets.filter(|secret| !secret.is_empty()) {
            text = text.replace(secret.as_str(), "***");
        }
        text
    }

    /// Why no client could be made. The error's own words show the value that was refused.
    pub(super) fn words(&self, error: &KafkaError) -> String {
        match error {
            KafkaError::ClientConfig(_, why, name, _) => self.without_secrets(&format!("{name}: {why}")),
            other => self.without_secrets(&other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use rdkafka::consumer::BaseConsumer;
    use unstuck_security::{ScramHash, TokenSource};

    use super::*;

    fn cluster(security: Security) -> ClusterConfig {
        ClusterConfig { security, ..ClusterConfig::new("test", vec!["a:9092".to_owned(), "b:9092".to_owned()]) }
    }

    /// The properties that security adds, one a line.
    fn told(security: Security) -> String {
        let plain = Properties::of(&cluster(Security::default())).expect("nothing to read");
        let made = Properties::of(&cluster(security)).expect("nothing that cannot be read");
        let added = made.values.iter().filter(|(name, value)| plain.values.get(*name) != Some(value));
        added.map(|(name, value)| format!("{name}={value}\n")).collect()
    }

    fn scram() -> Sasl {
        Sasl::Scram {
            hash: ScramHash::Sha512,
            username: "unstuck".to_owned(),
            password: Secret::value("correct horse"),
        }
    }

    #[test]
    fn without_security_librdkafka_is_told_nothing_about_it() {
        let made = Properties::of(&cluster(Security::default())).expect("nothing to read");
        let told: String = made.values.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        assert_eq!(
            told,
            "allow.auto.create.topics=false\nbootstrap.servers=a:9092,b:9092\nclient.id=unstuck\n\
             reconnect.backoff.max.ms=1000\nreconnect.backoff.ms=100\n"
        );
        assert!(!made.logs_in);
    }

    #[test]
    fn a_login_over_tls_is_told_as_librdkafka_calls_it() {
        assert_eq!(
            told(Security { tls: Some(Tls::default()), sasl: Some(scram()) }),
            "reconnect.backoff.ms=1000\nsasl.mechanism=SCRAM-SHA-512\nsasl.password=correct horse\n\
             sasl.username=unstuck\nsecurity.protocol=sasl_ssl\nssl.ca.location=probe\n\
             ssl.endpoint.identification.algorithm=https\n"
        );
        let tokens = Sasl::OAuthBearer(TokenSource::Token(Secret::value("t")));
        assert_eq!(
            told(Security { tls: None, sasl: Some(tokens) }),
            "reconnect.backoff.ms=1000\nsasl.mechanism=OAUTHBEARER\nsecurity.protocol=sasl_plaintext\n"
        );
    }

    #[test]
    fn certificates_are_read_from_their_files_and_may_stand_in_one() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("client.pem");
        std::fs::write(&file, "first")?;
        let identity = Identity::Pem {
            certificates: Material::File(file.clone()),
            key: Material::File(file.clone()),
            password: Some(Secret::value("open sesame")),
        };
        let tls =
            Tls { ca: Some(Material::Inline(Secret::value("own CA"))), identity: Some(identity), verify_host: false };
        let security = Security { tls: Some(tls), sasl: None };
        assert_eq!(
            told(security.clone()),
            "security.protocol=ssl\nssl.ca.pem=own CA\nssl.certificate.pem=first\n\
             ssl.endpoint.identification.algorithm=none\nssl.key.password=open sesame\nssl.key.pem=first\n"
        );
        let of = || Properties::of(&cluster(security.clone()));
        let before = of().expect("readable");
        assert!(before.same(&of().expect("readable")));
        std::fs::write(&file, "second")?;
        assert!(!before.same(&of().expect("readable")), "a renewed certificate makes another client");
        std::fs::remove_file(&file)?;
        assert!(of().is_err_and(|error| error.to_string().contains("client.pem cannot be read")));
        Ok(())
    }

    #[test]
    fn a_pkcs12_file_is_a_keystore() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("client.p12");
        std::fs::write(&file, "first")?;
        let identity = Identity::Pkcs12 { file: file.clone(), password: Some(Secret::value("open")) };
        let tls = Tls { identity: Some(identity), ..Tls::default() };
        let security = Security { tls: Some(tls), sasl: None };
        let told = told(security.clone());
        let keystore = format!("ssl.keystore.location={}\nssl.keystore.password=open\n", file.display());
        assert!(told.contains(&keystore), "{told}");
        let of = || Properties::of(&cluster(security.clone())).expect("readable");
        let before = of();
        std::fs::write(&file, "second")?;
        assert!(!before.same(&of()));
        Ok(())
    }

    fn kerberos(keytab: &Path) -> Security {
        let (principal, keytab) = (Some("unstuck@EXAMPLE.COM".to_owned()), Some(keytab.to_owned()));
        let sasl = Sasl::Gssapi { service: "kafka".to_owned(), principal, keytab };
        Security { tls: None, sasl: Some(sasl) }
    }

    #[cfg(not(feature = "kerberos"))]
    #[test]
    fn without_kerberos_it_is_said_which_build_has_it() {
        let refused = Properties::of(&cluster(kerberos(Path::new("/nowhere")))).err();
        assert!(matches!(&refused, Some(error @ Unusable::NotBuiltIn(_)) if error.to_string().contains("KERBEROS=1")));
    }

    #[cfg(feature = "kerberos")]
    #[test]
    fn with_kerberos_librdkafka_runs_no_kinit() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let keytab = folder.path().join("unstuck.keytab");
        assert!(matches!(Properties::of(&cluster(kerberos(&keytab))).err(), Some(Unusable::Unreadable(_))));
        std::fs::write(&keytab, "first")?;
        assert_eq!(
            told(kerberos(&keytab)),
            "reconnect.backoff.ms=1000\nsasl.kerberos.min.time.before.relogin=0\n\
             sasl.kerberos.principal=unstuck@EXAMPLE.COM\nsasl.kerberos.service.name=kafka\nsasl.mechanism=GSSAPI\n\
             security.protocol=sasl_plaintext\n"
        );
        let made = Properties::of(&cluster(kerberos(&keytab))).expect("readable");
        assert!(made.config().create::<BaseConsumer>().is_ok(), "librdkafka has GSSAPI");
        std::fs::write(&keytab, "second")?;
        assert!(!made.same(&Properties::of(&cluster(kerberos(&keytab))).expect("readable")));
        Ok(())
    }

    #[test]
    fn properties_override_nothing_of_security() {
        let mut config = cluster(Security { tls: Some(Tls::default()), sasl: Some(scram()) });
        for (name, value) in [
            ("security.protocol", "plaintext"),
            ("sasl.password", "other"),
            ("group.id", "orders"),
            ("client.id", "me"),
            ("socket.keepalive.enable", "true"),
        ] {
            config.properties.insert(name.to_owned(), value.to_owned());
        }
        let made = Properties::of(&config).expect("nothing to read");
        let of = |name: &str| made.values.get(name).map(String::as_str);
        assert_eq!(of("security.protocol"), Some("sasl_ssl"));
        assert_eq!(of("sasl.password"), Some("correct horse"));
        assert_eq!(of("client.id"), Some("unstuck"));
        assert_eq!(of("group.id"), None);
        assert_eq!(of("socket.keepalive.enable"), Some("true"));
    }

    #[test]
    fn what_librdkafka_says_shows_no_secret() {
        let tls = Tls {
            identity: Some(Identity::Pem {
                certificates: Material::Inline(Secret::value("no certificate")),
                key: Material::Inline(Secret::value("no key")),
                password: None,
            }),
            ..Tls::default()
        };
        let mut config = cluster(Security { tls: Some(tls), sasl: Some(scram()) });
        let made = Properties::of(&config).expect("nothing to read");
        let refused = made.config().create::<BaseConsumer>().err().map(|error| made.words(&error)).unwrap_or_default();
        assert!(refused.contains("ssl.certificate.pem"), "{refused}");
        assert!(!refused.contains("no certificate") && !refused.contains("no key"), "{refused}");
        assert_eq!(made.without_secrets("unstuck:correct horse was refused"), "unstuck:*** was refused");

        config.security = Security::default();
        config.properties.insert("sasl.password".to_owned(), "in the table".to_owned());
        config.properties.insert("fetch.min.bytes".to_owned(), "x".to_owned());
        let made = Properties::of(&config).expect("nothing to read");
        assert_eq!(made.without_secrets("in the table?"), "***?");
        let refused = made.config().create::<BaseConsumer>().err().map(|error| made.words(&error)).unwrap_or_default();
        assert!(refused.starts_with("fetch.min.bytes: "), "{refused}");
    }
}
