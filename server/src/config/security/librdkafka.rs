//! Properties of librdkafka: those about TLS and the login become the cluster's security, so that both eyes use them;
//! the others are for the client's eye alone.

use std::collections::BTreeMap;

use unstuck_kafka::security::Secret;

use super::{Draft, Field, Mechanism, Value, endpoint, flag, names, path};
use crate::config::ConfigError;

/// How a property was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) enum Given {
    /// In a file.
    InFile,
    /// On the command line, where other users of the machine can read it.
    OnCommandLine,
}

/// Adds one property to the draft or, if it is not about security, to `properties`. `place` is where it stands.
///
/// # Errors
/// It is unknown, cannot be set, or contradicts something else.
pub(in crate::config) fn take(
    name: &str,
    value: &str,
    place: &str,
    given: Given,
    draft: &mut Draft,
    properties: &mut BTreeMap<String, String>,
) -> Result<(), ConfigError> {
    let at = format!("{place}: {name}");
    let text = || Value::Text(value.to_owned());
    let secret = |draft: &mut Draft, key: Field| {
        if given == Given::OnCommandLine {
            draft.origins.warn(format!(
                "{name} is given on the command line: other users of this machine can read it (ps). Use a file or a \
                 variable: password_file, key_password_env, client_secret_file … in docs/configuration.md."
            ));
        }
        draft.set(key, Value::Secret(Secret::value(value)), &at)
    };
    match name {
        "security.protocol" => draft.set_protocol(value, &at),
        "sasl.mechanism" | "sasl.mechanisms" => {
            draft.set(Field::Mechanism, Value::Mechanism(Mechanism::parse(value, &at)?), &at)
        }
        "sasl.username" => draft.set(Field::Username, text(), &at),
        "sasl.password" => secret(draft, Field::Password),
        // librdkafka's word for what the machine trusts.
        "ssl.ca.location" if value == "probe" => Ok(()),
        "ssl.ca.location" | "ssl.ca.pem" => draft.set_material(Field::Ca, value, &at),
        "ssl.certificate.location" | "ssl.certificate.pem" => draft.set_material(Field::Certificate, value, &at),
        "ssl.key.location" => draft.set_material(Field::PrivateKey, value, &at),
        "ssl.key.pem" => {
            if given == Given::OnCommandLine {
                draft.origins.warn(
                    "ssl.key.pem is given on the command line: other users of this machine can read it (ps). Use \
                     ssl.key.location.",
                );
            }
            draft.set_material(Field::PrivateKey, value, &at)
        }
        "ssl.key.password" | "ssl.keystore.password" => secret(draft, Field::KeyPassword),
        "ssl.keystore.location" => draft.set(Field::Pkcs12, Value::File(path(value, &at)?), &at),
        "ssl.endpoint.identification.algorithm" => draft.set(Field::VerifyHost, verify_host(value, &at)?, &at),
        "enable.ssl.certificate.verification" if flag(value, &at)? => Ok(()),
        "sasl.oauthbearer.method" => match value {
            "oidc" => Ok(()),
            _ => Err(refused(
                &at,
                "Tokens that nobody signed are for tests of librdkafka.",
                "Set it to oidc, or use token_file in [clusters.NAME.sasl].",
            )),
        },
        "sasl.oauthbearer.client.id" | "sasl.oauthbearer.client.credentials.client.id" => {
            draft.set(Field::ClientId, text(), &at)
        }
        "sasl.oauthbearer.client.secret" | "sasl.oauthbearer.client.credentials.client.secret" => {
            secret(draft, Field::ClientSecret)
        }
        "sasl.oauthbearer.scope" => draft.set(Field::Scope, text(), &at),
        "sasl.oauthbearer.token.endpoint.url" => {
            draft.set(Field::TokenEndpoint, Value::Text(endpoint(value, &at)?), &at)
        }
        "https.ca.location" if value == "probe" => Ok(()),
        "https.ca.location" | "https.ca.pem" => draft.set_material(Field::TokenCa, value, &at),
        "sasl.oauthbearer.grant.type" if value == "client_credentials" => Ok(()),
        "sasl.oauthbearer.metadata.authentication.type" if value == "none" => Ok(()),
        "enable.sasl.oauthbearer.unsecure.jwt" if !flag(value, &at)? => Ok(()),
        "sasl.kerberos.service.name" => draft.set(Field::Service, text(), &at),
        "sasl.kerberos.principal" => draft.set(Field::Principal, text(), &at),
        "sasl.kerberos.keytab" => draft.set(Field::Keytab, Value::File(path(value, &at)?), &at),
        "sasl.kerberos.kinit.cmd" | "sasl.kerberos.min.time.before.relogin" => {
            draft.origins.ignore(name, place, "Unstuck gets and renews tickets itself, without a shell");
            Ok(())
        }
        "enable.ssl.certificate.verification" => Err(refused(
            &at,
            "Without it whoever answers is taken for a broker, and gets the password. Unstuck always checks certificates.",
            "Set ssl.ca.location to the certificates that your brokers' certificates lead to.",
        )),
        "enable.sasl.oauthbearer.unsecure.jwt" | "sasl.oauthbearer.config" => Err(refused(
            &at,
            "Tokens that nobody signed are for tests of librdkafka.",
            "Leave it out, and use token_file in [clusters.NAME.sasl].",
        )),
        _ if name.starts_with("sasl.oauthbearer.") && names::librdkafka().any(|known| known == name) => Err(refused(
            &at,
            "Unstuck gets tokens from a file, or as a client with a secret (client_credentials).",
            "Have another program renew the token in a file, and use token_file in [clusters.NAME.sasl].",
        )),
        _ => {
            crate::config::check_property(name, place)?;
            if !names::librdkafka().any(|known| known == name) {
                return Err(names::unknown(name, place, "librdkafka", names::librdkafka()));
            }
            draft.origins.setting(format!("properties.{name}"), value, place);
            properties.insert(name.to_owned(), value.to_owned());
            Ok(())
        }
    }
}

/// What `ssl.endpoint.identification.algorithm` says; empty for Java, `none` for librdkafka.
pub(super) fn verify_host(value: &str, place: &str) -> Result<Value, ConfigError> {
    match value.trim().to_ascii_lowercase().as_str() {
        "https" => Ok(Value::Flag(true)),
        "" | "none" => Ok(Value::Flag(false)),
        _ => Err(refused(
            place,
            "It says whether a broker's certificate has to name its host.",
            "Use https, or nothing (none for librdkafka) to do without.",
        )),
    }
}

fn refused(at: &str, meaning: &str, remedy: &str) -> ConfigError {
    ConfigError::new(format!("{at} cannot be set like that"), meaning, remedy)
}
