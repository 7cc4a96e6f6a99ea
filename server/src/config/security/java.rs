//! A `client.properties` as Kafka's own tools take it with `--command-config`.

mod login;
mod providers;

use std::collections::BTreeMap;
use std::path::Path;

use unstuck_kafka::security::{Material, Secret};

use super::librdkafka::verify_host;
use super::stores::{self, Kind};
use super::{Draft, Field, Mechanism, Value, endpoint, java_properties, names, path};
use crate::config::origin::Placed;
use crate::config::{ConfigError, Environment};

/// Code of somebody else's, which only Java could run.
const CODE: [&str; 3] = ["sasl.login.class", "security.providers", "ssl.engine.factory.class"];
/// What reads tokens in Kafka itself: as a client with a secret, or from a file.
const RETRIEVERS: [&str; 3] = ["ClientCredentialsJwtRetriever", "DefaultJwtRetriever", "FileJwtRetriever"];

/// Reads the file into the draft, and returns its `bootstrap.servers`.
///
/// # Errors
/// It cannot be read, has an unknown setting, or one that cannot be used.
pub(in crate::config) fn read(
    file: &Path,
    environment: &Environment,
    draft: &mut Draft,
) -> Result<Option<Placed<String>>, ConfigError> {
    let name = file.display().to_string();
    let bytes = std::fs::read(file).map_err(|error| {
        ConfigError::new(
            format!("cannot read the client configuration {name}: {error}"),
            "It is the file that Kafka's tools take as --command-config.",
            "Check the path and its permissions.",
        )
    })?;
    take(&bytes, &name, environment, draft)
}

/// The same for its content.
pub(super) fn take(
    bytes: &[u8],
    name: &str,
    environment: &Environment,
    draft: &mut Draft,
) -> Result<Option<Placed<String>>, ConfigError> {
    if !bytes.is_ascii() {
        draft.origins.warn(format!(
            "{name} has characters that are not ASCII. Java reads the file as ISO-8859-1, and so does Unstuck: in UTF-8 \
             they become others. Write them as \\uXXXX."
        ));
    }
    let mut settings = Settings { name, draft, entries: BTreeMap::new() };
    for entry in java_properties::parse(bytes, name)? {
        if let Some((line, _)) = settings.entries.insert(entry.key.clone(), (entry.line, entry.value)) {
            let because = format!("it is set again on line {}", entry.line);
            settings.ignore_at(&entry.key, line, &because)?;
        }
    }
    providers::resolve(&mut settings, environment)?;
    let bootstrap = settings.take("bootstrap.servers");
    let protocol = settings.take("security.protocol");
    let (mut tls, mut login) = (true, true);
    if let Some(Placed { value, place }) = protocol {
        settings.draft.set_protocol(&value, &place)?;
        let upper = value.to_ascii_uppercase();
        (tls, login) = (upper.contains("SSL"), upper.contains("SASL"));
    }
    if !tls {
        settings.ignore_all("ssl.", "connections are not encrypted, as security.protocol says");
    }
    if !login {
        settings.ignore_all("sasl.", "there is no login, as security.protocol says");
    }
    settings.truststore()?;
    settings.keystore()?;
    // Empty is a value here: it switches the check off.
    if let Some((line, value)) = settings.entries.remove("ssl.endpoint.identification.algorithm") {
        let place = settings.place(line, "ssl.endpoint.identification.algorithm");
        let value = verify_host(&value, &place)?;
        settings.draft.set(Field::VerifyHost, value, place)?;
    }
    login::take(&mut settings)?;
    for name in CODE {
        if let Some(Placed { place, .. }) = settings.take(name) {
            return Err(code(&place));
        }
    }
    settings.rest()?;
    Ok(bootstrap)
}

fn code(place: &str) -> ConfigError {
    ConfigError::new(
        format!("{place} names a class that Unstuck does not know"),
        "It is code for Java, which Unstuck cannot run.",
        "Describe the login in [clusters.NAME.sasl] instead, for example with a token_file that another program renews.",
    )
}

/// The settings of a file that were not taken yet.
struct Settings<'a> {
    /// The file.
    name: &'a str,
    draft: &'a mut Draft,
    /// Value and line by name.
    entries: BTreeMap<String, (usize, String)>,
}

impl Settings<'_> {
    fn place(&self, line: usize, key: &str) -> String {
        format!("{} line {line}: {key}", self.name)
    }

    /// A setting that is given and not empty.
    fn take(&mut self, key: &str) -> Option<Placed<String>> {
        let (line, value) = self.entries.remove(key)?;
        let place = self.place(line, key);
        (!value.is_empty()).then_some(Placed { value, place })
    }

    fn text(&mut self, from: &str, to: Field) -> Result<(), ConfigError> {
        let Some(Placed { value, place }) = self.take(from) else { return Ok(()) };
        self.draft.set(to, Value::Text(value), place)
    }

    fn secret(&mut self, from: &str, to: Field) -> Result<(), ConfigError> {
        let Some(Placed { value, place }) = self.take(from) else { return Ok(()) };
        self.draft.set(to, Value::Secret(Secret::value(value)), place)
    }

    /// Tells that a setting has no effect.
    fn ignore_at(&mut self, key: &str, line: usize, because: &str) -> Result<(), ConfigError> {
        let place = format!("{} line {line}", self.name);
        if !known(key) {
            return Err(names::unknown(key, &place, "a client of Kafka", names::java()));
        }
        self.draft.origins.ignore(key, place, because);
        Ok(())
    }

    fn ignore_all(&mut self, prefix: &str, because: &str) {
        let all: Vec<String> =
            self.entries.keys().filter(|key| key.starts_with(prefix) && known(key)).cloned().collect();
        for key in all {
            if let Some((line, _)) = self.entries.remove(&key) {
                self.draft.origins.ignore(key, format!("{} line {line}", self.name), because);
            }
        }
    }

    fn truststore(&mut self) -> Result<(), ConfigError> {
        let (kind, kind_place) = self.kind("ssl.truststore.type")?;
        let password = self.take("ssl.truststore.password").map(|placed| Secret::value(placed.value));
        if let Some(Placed { value, place }) = self.take("ssl.truststore.certificates") {
            pem_alone(kind, &place, &kind_place)?;
            self.draft.set(Field::Ca, Value::Material(Material::Inline(Secret::value(value))), place)?;
        }
        let Some(Placed { value, place }) = self.take("ssl.truststore.location") else { return Ok(()) };
        let file = path(&value, &place)?;
        let material = match stores::really(kind, &file) {
            Kind::Pem => Material::File(file),
            Kind::Pkcs12 => stores::certificates(&file, password.as_ref(), &place)?,
            Kind::Jks => return Err(stores::jks_truststore(&file, &place)),
        };
        self.draft.set(Field::Ca, Value::Material(material), place)
    }

    fn keystore(&mut self) -> Result<(), ConfigError> {
        let (kind, kind_place) = self.kind("ssl.keystore.type")?;
        let (store_password, key_password) = (self.take("ssl.keystore.password"), self.take("ssl.key.password"));
        let (chain, key) = (self.take("ssl.keystore.certificate.chain"), self.take("ssl.keystore.key"));
        for (part, to) in [(chain, Field::Certificate), (key, Field::PrivateKey)] {
            if let Some(Placed { value, place }) = part {
                pem_alone(kind, &place, &kind_place)?;
                self.draft.set(to, Value::Material(Material::Inline(Secret::value(value))), place)?;
            }
        }
        let mut password = key_password;
        if let Some(Placed { value, place }) = self.take("ssl.keystore.location") {
            let file = path(&value, &place)?;
            match stores::really(kind, &file) {
                Kind::Pem => {
                    // Key and certificates stand in one file.
                    self.draft.set(Field::Certificate, Value::Material(Material::File(file.clone())), place.clone())?;
                    self.draft.set(Field::PrivateKey, Value::Material(Material::File(file)), place)?;
                }
                Kind::Pkcs12 => {
                    self.draft.set(Field::Pkcs12, Value::File(file), place)?;
                    // The key in it has the same password.
                    password = store_password;
                }
                Kind::Jks => return Err(stores::jks_keystore(&file, &place)),
            }
        }
        let Some(Placed { value, place }) = password else { return Ok(()) };
        self.draft.set(Field::KeyPassword, Value::Secret(Secret::value(value)), place)
    }

    fn kind(&mut self, key: &str) -> Result<(Kind, String), ConfigError> {
        let declared = self.take(key);
        let place = declared.as_ref().map_or_else(|| self.name.to_owned(), |declared| declared.place.clone());
        Ok((stores::kind(declared.as_ref().map(|declared| declared.value.as_str()), &place)?, place))
    }

    /// What looking does not need is told; what no client knows is refused.
    fn rest(&mut self) -> Result<(), ConfigError> {
        for (key, (line, _)) in std::mem::take(&mut self.entries) {
            let because = match key.as_str() {
                "client.id" => "Unstuck always calls itself `unstuck`, so that brokers' logs and quotas show who asks",
                _ if key.starts_with("ssl.") => "what OpenSSL does by itself is used",
                _ if key.starts_with("sasl.") => "when to log in again is known from the broker and the token",
                _ => "looking does not need it",
            };
            self.ignore_at(&key, line, because)?;
        }
        Ok(())
    }
}

fn known(key: &str) -> bool {
    // The parameters of providers and reporters have names of their own.
    key.starts_with("config.providers")
        || key.starts_with("metrics.context.")
        || names::java().any(|known| known == key)
}

fn pem_alone(kind: Kind, place: &str, kind_place: &str) -> Result<(), ConfigError> {
    if kind == Kind::Pem {
        return Ok(());
    }
    Err(ConfigError::new(
        format!("{place} goes together with the type PEM alone"),
        format!("{kind_place} says another type, or none, and Kafka takes JKS then."),
        "Set ssl.truststore.type=PEM (ssl.keystore.type=PEM).",
    ))
}
