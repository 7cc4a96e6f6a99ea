//! The login of a `client.properties`: mechanism, `sasl.jaas.config`, tokens.

use std::path::PathBuf;

use super::super::jaas::{self, Module};
use super::{Field, Mechanism, Placed, RETRIEVERS, Settings, Value, code, endpoint, path};
use crate::config::ConfigError;
use unstuck_kafka::security::Secret;

/// What gets tokens in Kafka itself (its older and newer name), and in Amazon's library.
const KAFKAS: [&str; 2] = [
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
];
const AMAZONS: &str = "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler";
const AMAZONS_CLIENT: &str = "software.amazon.msk.auth.iam.IAMClientCallbackHandler";

/// The login modules that are understood.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Scram,
    OAuthBearer,
    Kerberos,
    Amazons,
}

impl Kind {
    fn of(class: &str) -> Option<Self> {
        Some(match class {
            "org.apache.kafka.common.security.plain.PlainLoginModule" => Self::Plain,
            "org.apache.kafka.common.security.scram.ScramLoginModule" => Self::Scram,
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule" => Self::OAuthBearer,
            "com.sun.security.auth.module.Krb5LoginModule" => Self::Kerberos,
            "software.amazon.msk.auth.iam.IAMLoginModule" => Self::Amazons,
            _ => return None,
        })
    }

    fn fits(self, mechanism: Mechanism) -> bool {
        match self {
            Self::Plain => mechanism == Mechanism::Plain,
            Self::Scram => matches!(mechanism, Mechanism::Scram256 | Mechanism::Scram512),
            Self::OAuthBearer => mechanism == Mechanism::OAuthBearer,
            Self::Kerberos => mechanism == Mechanism::Gssapi,
            Self::Amazons => mechanism == Mechanism::MskIam,
        }
    }
}

/// Takes all that is about the login.
pub(super) fn take(settings: &mut Settings<'_>) -> Result<(), ConfigError> {
    let mechanism = match settings.take("sasl.mechanism") {
        Some(Placed { value, place }) => Some(Placed { value: Mechanism::parse(&value, &place)?, place }),
        None => None,
    };
    let amazons_tokens = handlers(settings)?;
    if let Some(Placed { value: text, place }) = settings.take("sasl.jaas.config") {
        let module = jaas::parse(&text, &place)?;
        let kind = Kind::of(&module.class).ok_or_else(|| {
            ConfigError::new(
                format!("{place} names a login module that Unstuck does not know"),
                "It knows those of Kafka (PlainLoginModule, ScramLoginModule, OAuthBearerLoginModule), of Java for \
                 Kerberos (Krb5LoginModule) and of Amazon (IAMLoginModule).",
                "Correct the class, or describe the login in [clusters.NAME.sasl].",
            )
        })?;
        if let Some(mechanism) = mechanism.as_ref().filter(|mechanism| !kind.fits(mechanism.value)) {
            return Err(ConfigError::new(
                format!("{} and the login module of sasl.jaas.config do not go together", mechanism.place),
                format!("The mechanism is {}; the module on {place} is of another one.", mechanism.value.name()),
                "Correct the one that is wrong: PlainLoginModule is for PLAIN, ScramLoginModule for SCRAM-SHA-….",
            ));
        }
        if mechanism.is_none() && kind == Kind::Kerberos {
            // Kafka's default.
            settings.draft.set(Field::Mechanism, Value::Mechanism(Mechanism::Gssapi), place.clone())?;
        }
        options(settings, kind, module, &place)?;
    }
    if let Some(Placed { value, place }) = mechanism {
        let value = if amazons_tokens { Mechanism::MskIam } else { value };
        settings.draft.set(Field::Mechanism, Value::Mechanism(value), place)?;
    }
    tokens(settings)?;
    settings.text("sasl.kerberos.service.name", Field::Service)
}

/// Classes that do the login: known ones are what we do anyway. Whether tokens are Amazon's.
fn handlers(settings: &mut Settings<'_>) -> Result<bool, ConfigError> {
    let mut amazons = false;
    if let Some(Placed { value, place }) = settings.take("sasl.login.callback.handler.class") {
        amazons = value == AMAZONS;
        if !amazons && !KAFKAS.contains(&value.as_str()) {
            return Err(code(&place));
        }
    }
    if let Some(Placed { value, place }) = settings.take("sasl.client.callback.handler.class")
        && value != AMAZONS_CLIENT
    {
        return Err(code(&place));
    }
    if let Some(Placed { value, place }) = settings.take("sasl.oauthbearer.jwt.retriever.class") {
        let class = value.strip_prefix("org.apache.kafka.common.security.oauthbearer.");
        if !class.is_some_and(|class| RETRIEVERS.contains(&class)) {
            return Err(code(&place));
        }
    }
    Ok(amazons)
}

fn options(settings: &mut Settings<'_>, kind: Kind, module: Module, place: &str) -> Result<(), ConfigError> {
    let kerberos = |wanted: &str| module.options.iter().any(|(name, value)| name == wanted && value == "true");
    let use_keytab = kerberos("useKeyTab");
    for (name, value) in &module.options {
        let at = format!("{place}, {name}");
        let (text, secret) = (Value::Text(value.clone()), Value::Secret(Secret::value(value.clone())));
        match (kind, name.as_str()) {
            (Kind::Plain | Kind::Scram, "username") => settings.draft.set(Field::Username, text, at)?,
            (Kind::Plain | Kind::Scram, "password") => settings.draft.set(Field::Password, secret, at)?,
            (Kind::Scram, "tokenauth") if value == "true" => {
                return Err(ConfigError::new(
                    format!("{place}: tokenauth cannot be used"),
                    "Delegation tokens end after some days, so they do not suit a program that keeps looking.",
                    "Use a user of its own for Unstuck.",
                ));
            }
            (Kind::Scram, "tokenauth") => {}
            (Kind::OAuthBearer, "clientId") => settings.draft.set(Field::ClientId, text, at)?,
            (Kind::OAuthBearer, "clientSecret") => settings.draft.set(Field::ClientSecret, secret, at)?,
            (Kind::OAuthBearer, "scope") => settings.draft.set(Field::Scope, text, at)?,
            (Kind::Kerberos, "principal") => settings.draft.set(Field::Principal, text, at)?,
            (Kind::Kerberos, "serviceName") => settings.draft.set(Field::Service, text, at)?,
            (Kind::Kerberos, "keyTab") if use_keytab => {
                settings.draft.set(Field::Keytab, Value::File(path(value, place)?), at)?;
            }
            (Kind::Kerberos, "useKeyTab" | "useTicketCache" | "storeKey") | (Kind::Amazons, "awsDebugCreds") => {}
            (Kind::Kerberos, _) => {
                settings.draft.origins.ignore("an option of Krb5LoginModule", place, "the Kerberos library decides it");
            }
            (Kind::Amazons, "awsProfileName") => {
                return Err(ConfigError::new(
                    format!("{place}: awsProfileName cannot be used"),
                    "Credentials of AWS are looked for as its own programs do.",
                    "Start Unstuck with the variable AWS_PROFILE instead.",
                ));
            }
            _ => {
                return Err(ConfigError::new(
                    format!("{place} has an option that Unstuck cannot do"),
                    "Without it somebody else would log in, or nobody. Understood are username and password, clientId, \
                     clientSecret and scope, and what Krb5LoginModule needs for a keytab.",
                    "Take the option out, or describe the login in [clusters.NAME.sasl].",
                ));
            }
        }
    }
    Ok(())
}

fn tokens(settings: &mut Settings<'_>) -> Result<(), ConfigError> {
    if let Some(Placed { value, place }) = settings.take("sasl.oauthbearer.token.endpoint.url") {
        match value.strip_prefix("file://") {
            Some(file) => {
                let file: PathBuf = path(file, &place)?;
                settings.draft.set(Field::Token, Value::Secret(Secret::File(file)), place)?;
            }
            None => settings.draft.set(Field::TokenEndpoint, Value::Text(endpoint(&value, &place)?), place)?,
        }
    }
    settings.text("sasl.oauthbearer.client.credentials.client.id", Field::ClientId)?;
    settings.secret("sasl.oauthbearer.client.credentials.client.secret", Field::ClientSecret)?;
    settings.text("sasl.oauthbearer.scope", Field::Scope)?;
    let assertion = settings.entries.keys().find(|key| key.starts_with("sasl.oauthbearer.assertion.")).cloned();
    if let Some(Placed { place, .. }) = assertion.and_then(|key| settings.take(&key)) {
        return Err(ConfigError::new(
            format!("{place} cannot be used"),
            "Unstuck gets tokens from a file, or as a client with a secret (client_credentials).",
            "Have another program renew the token in a file, and use token_file in [clusters.NAME.sasl].",
        ));
    }
    Ok(())
}
