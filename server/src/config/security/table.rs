//! `tls` and `sasl` of `[clusters.NAME]` in our own file.

use toml::Spanned;
use toml::de::DeValue;
use unstuck_kafka::security::Secret;

use super::{Draft, Field, Mechanism, Value, endpoint, path};
use crate::config::file::Source;
use crate::config::{ConfigError, Environment};

const TLS_KEYS: [&str; 8] =
    ["ca", "certificate", "key", "key_password", "key_password_env", "key_password_file", "pkcs12", "verify_host"];
const SASL_KEYS: [&str; 17] = [
    "ca",
    "client_id",
    "client_secret",
    "client_secret_env",
    "client_secret_file",
    "keytab",
    "mechanism",
    "password",
    "password_env",
    "password_file",
    "principal",
    "region",
    "scope",
    "service",
    "token_endpoint",
    "token_file",
    "username",
];

type Toml<'a, 'i> = &'a Spanned<DeValue<'i>>;

/// `tls = true`, `tls = false`, or a table.
pub(in crate::config) fn tls(
    source: &Source<'_>,
    value: Toml<'_, '_>,
    table: &str,
    environment: &Environment,
    draft: &mut Draft,
) -> Result<(), ConfigError> {
    let place = format!("{}: tls", source.place_of(value));
    if let Some(flag) = value.get_ref().as_bool() {
        return draft.set(Field::Tls, Value::Flag(flag), place);
    }
    let entries = value.get_ref().as_table().ok_or_else(|| source.wrong_type(value, "tls", "true"))?;
    draft.set(Field::Tls, Value::Flag(true), place)?;
    for (key, value) in entries {
        let name = key.get_ref().as_ref();
        let place = format!("{}: {name}", source.place_of(value));
        let text = || source.string(value, name, "\"/etc/unstuck/kafka.pem\"");
        match name {
            "ca" => draft.set_material(Field::Ca, text()?, &place)?,
            "certificate" => draft.set_material(Field::Certificate, text()?, &place)?,
            "key" => draft.set_material(Field::PrivateKey, text()?, &place)?,
            "pkcs12" => draft.set(Field::Pkcs12, Value::File(path(text()?, &place)?), place)?,
            "key_password" | "key_password_file" | "key_password_env" => {
                draft.set(Field::KeyPassword, secret(source, name, value, environment)?, place)?;
            }
            "verify_host" => {
                let flag = value.get_ref().as_bool().ok_or_else(|| source.wrong_type(value, name, "false"))?;
                draft.set(Field::VerifyHost, Value::Flag(flag), place)?;
            }
            unknown => return Err(source.unknown_key(key, unknown, &TLS_KEYS, &format!("[{table}.tls]"))),
        }
    }
    Ok(())
}

/// The table of the login.
pub(in crate::config) fn sasl(
    source: &Source<'_>,
    value: Toml<'_, '_>,
    table: &str,
    environment: &Environment,
    draft: &mut Draft,
) -> Result<(), ConfigError> {
    const EXAMPLE: &str = "{ mechanism = \"SCRAM-SHA-512\", username = \"unstuck\", password_file = \"…\" }";
    let place = format!("{}: sasl", source.place_of(value));
    let entries = value.get_ref().as_table().ok_or_else(|| source.wrong_type(value, "sasl", EXAMPLE))?;
    draft.set(Field::Login, Value::Flag(true), place)?;
    // A login without a word about TLS is one without TLS, unless another place says more.
    for (key, value) in entries {
        let name = key.get_ref().as_ref();
        let place = format!("{}: {name}", source.place_of(value));
        let text = || source.string(value, name, "\"…\"");
        let (to, value) = match name {
            "mechanism" => (Field::Mechanism, Value::Mechanism(Mechanism::parse(text()?, &place)?)),
            "username" => (Field::Username, Value::Text(text()?.to_owned())),
            "client_id" => (Field::ClientId, Value::Text(text()?.to_owned())),
            "scope" => (Field::Scope, Value::Text(text()?.to_owned())),
            "region" => (Field::Region, Value::Text(text()?.to_owned())),
            "service" => (Field::Service, Value::Text(text()?.to_owned())),
            "principal" => (Field::Principal, Value::Text(text()?.to_owned())),
            "keytab" => (Field::Keytab, Value::File(path(text()?, &place)?)),
            "token_file" => (Field::Token, Value::Secret(Secret::File(path(text()?, &place)?))),
            "token_endpoint" => (Field::TokenEndpoint, Value::Text(endpoint(text()?, &place)?)),
            "ca" => {
                draft.set_material(Field::TokenCa, text()?, &place)?;
                continue;
            }
            "password" | "password_file" | "password_env" => {
                (Field::Password, secret(source, name, value, environment)?)
            }
            "client_secret" | "client_secret_file" | "client_secret_env" => {
                (Field::ClientSecret, secret(source, name, value, environment)?)
            }
            unknown => return Err(source.unknown_key(key, unknown, &SASL_KEYS, &format!("[{table}.sasl]"))),
        };
        draft.set(to, value, place)?;
    }
    Ok(())
}

/// A secret: as it is, in the file `…_file`, or in the variable `…_env`.
fn secret(
    source: &Source<'_>,
    name: &str,
    value: Toml<'_, '_>,
    environment: &Environment,
) -> Result<Value, ConfigError> {
    let place = || format!("{}: {name}", source.place_of(value));
    let text = source.string(value, name, "\"…\"")?;
    let empty = |what: &str| {
        Err(ConfigError::new(
            format!("{} {what}", place()),
            "An empty password or secret is never right.",
            "Give the secret in a file (…_file) or a variable (…_env).",
        ))
    };
    if name.ends_with("_file") {
        return Ok(Value::Secret(Secret::File(path(text, &place())?)));
    }
    if name.ends_with("_env") {
        // Not repeated unless it looks like the name of one: it may be the password itself.
        let like_a_name =
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        return match environment.get(text) {
            Some(secret) => Ok(Value::Secret(Secret::value(secret))),
            None if like_a_name => empty(&format!("names the variable {text}, which is not set")),
            None => empty("names a variable that is not set"),
        };
    }
    if text.is_empty() { empty("is empty") } else { Ok(Value::Secret(Secret::value(text))) }
}
