//! How a cluster is entered, gathered from all places that may say it: our own file, a `client.properties` of Kafka's
//! Java clients, and properties of librdkafka.
//!
//! Each place is read into the same [`Draft`], under our own names; what two of them say differently is an error that
//! names both. [`Draft::finish`] then makes a [`Security`] of it, or says what is missing. No value that may be a secret
//! is repeated in an error.

mod finish;
mod jaas;
mod java;
mod java_properties;
mod librdkafka;
mod names;
mod stores;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;

use unstuck_kafka::security::{Material, Secret};

use super::ConfigError;
use super::origin::{Origins, Placed};

pub(super) use java::read as read_client_properties;
pub(super) use librdkafka::{Given, take as take_librdkafka};
pub(super) use table::{sasl as read_sasl, tls as read_tls};

/// What can be said about how a cluster is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    /// Whether connections are encrypted.
    Tls,
    Ca,
    Certificate,
    PrivateKey,
    Pkcs12,
    KeyPassword,
    VerifyHost,
    /// Whether there is a login.
    Login,
    Mechanism,
    Username,
    Password,
    Token,
    TokenEndpoint,
    ClientId,
    ClientSecret,
    Scope,
    TokenCa,
    Region,
    Service,
    Principal,
    Keytab,
}

impl Field {
    /// Its name below `[clusters.NAME]` of our own file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tls => "tls",
            Self::Ca => "tls.ca",
            Self::Certificate => "tls.certificate",
            Self::PrivateKey => "tls.key",
            Self::Pkcs12 => "tls.pkcs12",
            Self::KeyPassword => "tls.key_password",
            Self::VerifyHost => "tls.verify_host",
            Self::Login => "sasl",
            Self::Mechanism => "sasl.mechanism",
            Self::Username => "sasl.username",
            Self::Password => "sasl.password",
            Self::Token => "sasl.token_file",
            Self::TokenEndpoint => "sasl.token_endpoint",
            Self::ClientId => "sasl.client_id",
            Self::ClientSecret => "sasl.client_secret",
            Self::Scope => "sasl.scope",
            Self::TokenCa => "sasl.ca",
            Self::Region => "sasl.region",
            Self::Service => "sasl.service",
            Self::Principal => "sasl.principal",
            Self::Keytab => "sasl.keytab",
        }
    }

    /// Whether it is about TLS; else it is about the login.
    fn of_tls(self) -> bool {
        self < Self::Login
    }
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Flag(bool),
    Text(String),
    Secret(Secret),
    Material(Material),
    File(PathBuf),
    Mechanism(Mechanism),
}

impl Value {
    /// As it may be shown.
    fn shown(&self) -> String {
        match self {
            Self::Flag(flag) => flag.to_string(),
            Self::Text(text) => text.clone(),
            Self::Secret(secret) => secret.to_string(),
            Self::Material(Material::File(path)) | Self::File(path) => path.display().to_string(),
            Self::Material(Material::Inline(_)) => "PEM, as given".to_owned(),
            Self::Mechanism(mechanism) => mechanism.name().to_owned(),
        }
    }
}

/// The mechanisms that can be configured. `AWS_MSK_IAM` is what Amazon's library for Java calls its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mechanism {
    Plain,
    Scram256,
    Scram512,
    OAuthBearer,
    MskIam,
    Gssapi,
}

impl Mechanism {
    pub(super) const ALL: [Self; 6] =
        [Self::Plain, Self::Scram256, Self::Scram512, Self::OAuthBearer, Self::MskIam, Self::Gssapi];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::Scram256 => "SCRAM-SHA-256",
            Self::Scram512 => "SCRAM-SHA-512",
            Self::OAuthBearer => "OAUTHBEARER",
            Self::MskIam => "AWS_MSK_IAM",
            Self::Gssapi => "GSSAPI",
        }
    }

    /// The mechanism of that name. The error does not repeat what stands there.
    fn parse(text: &str, place: &str) -> Result<Self, ConfigError> {
        let text = text.trim();
        Self::ALL.into_iter().find(|known| known.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            ConfigError::new(
                format!("{place} is not a mechanism that Unstuck can log in with"),
                format!("It can with {}.", names.join(", ")),
                super::did_you_mean(text, names)
                    .unwrap_or_else(|| "Name the one that your other clients have as sasl.mechanism.".to_owned()),
            )
        })
    }
}

/// What the places said so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    entries: BTreeMap<Field, Placed<Value>>,
    /// What is told about it.
    pub(super) origins: Origins,
}

impl Draft {
    /// Adds what stands at `place`.
    ///
    /// # Errors
    /// Another place says something else.
    pub(super) fn set(&mut self, key: Field, value: Value, place: impl Into<String>) -> Result<(), ConfigError> {
        let place = place.into();
        match self.entries.get(&key) {
            Some(before) if before.value == value => Ok(()),
            Some(before) => Err(ConfigError::new(
                format!("{} and {place} contradict each other", before.place),
                format!("Both say what {} is, and not the same.", key.name()),
                "Leave one of them out.",
            )),
            None => {
                self.entries.insert(key, Placed { value, place });
                Ok(())
            }
        }
    }

    /// Adds what Kafka's `security.protocol` says.
    fn set_protocol(&mut self, text: &str, place: &str) -> Result<(), ConfigError> {
        const KNOWN: [&str; 4] = ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"];
        let upper = text.trim().to_ascii_uppercase();
        let (tls, login) = match upper.as_str() {
            "PLAINTEXT" => (false, false),
            "SSL" => (true, false),
            "SASL_PLAINTEXT" => (false, true),
            "SASL_SSL" => (true, true),
            _ => {
                return Err(ConfigError::new(
                    format!("{place} is no security protocol"),
                    "It says whether connections are encrypted (SSL), and whether there is a login (SASL).",
                    super::did_you_mean(&upper, KNOWN).unwrap_or_else(|| format!("Use one of {}.", KNOWN.join(", "))),
                ));
            }
        };
        self.set(Field::Tls, Value::Flag(tls), place)?;
        self.set(Field::Login, Value::Flag(login), place)
    }

    /// Adds certificates or a key: PEM as it is, or the path of a file.
    fn set_material(&mut self, key: Field, text: &str, place: &str) -> Result<(), ConfigError> {
        self.set(key, Value::Material(material(text, place)?), place)
    }
}

/// PEM as it is, where it begins like PEM; else the path of a file.
fn material(text: &str, place: &str) -> Result<Material, ConfigError> {
    if text.trim_start().starts_with("-----BEGIN") {
        return Ok(Material::Inline(Secret::value(text)));
    }
    Ok(Material::File(path(text, place)?))
}

/// The path of a file.
fn path(text: &str, place: &str) -> Result<PathBuf, ConfigError> {
    // What has several lines, or none, is no path; it may be a key, so it is not repeated.
    if text.is_empty() || text.contains(['\n', '\r', '\0']) {
        return Err(ConfigError::new(
            format!("{place} is not the path of a file"),
            "It is empty, or has several lines.",
            "Give the path of a file, or PEM that begins with -----BEGIN where certificates or a key are wanted.",
        ));
    }
    Ok(PathBuf::from(text))
}

/// A yes or no, as properties have it.
fn flag(text: &str, place: &str) -> Result<bool, ConfigError> {
    match text.trim() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(ConfigError::new(
            format!("{place} is neither true nor false"),
            "It is switched on or off.",
            "Write true or false.",
        )),
    }
}

/// An address for tokens: `https`, or `http` on this machine; without a password in it.
fn endpoint(text: &str, place: &str) -> Result<String, ConfigError> {
    let wrong = |meaning: &str| {
        Err(ConfigError::new(
            format!("{place} is not an address that tokens can be asked from"),
            meaning,
            "For example: https://login.example.com/oauth2/token",
        ))
    };
    let Some((scheme, rest)) = text.split_once("://") else { return wrong("It has no scheme such as https://.") };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return wrong("A name and a password do not belong into it: there are client_id and client_secret_file.");
    }
    match scheme {
        _ if authority.is_empty() => wrong("It names no host."),
        "https" => Ok(text.to_owned()),
        "http" if finish::is_loopback(authority) => Ok(text.to_owned()),
        "http" => wrong("Over http:// the client's secret would be readable on the network."),
        _ => wrong("Tokens are asked for over https."),
    }
}
