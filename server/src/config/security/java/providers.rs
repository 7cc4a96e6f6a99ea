//! `${env:NAME}`, `${file:PATH:KEY}` and `${directory:PATH:FILE}`: Kafka's own providers of values (KIP-297, KIP-421).

use std::collections::BTreeMap;
use std::path::Path;

use super::super::java_properties;
use super::Settings;
use crate::config::{ConfigError, Environment};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Provider {
    Env,
    File,
    Directory,
}

impl Provider {
    fn of(class: &str) -> Option<Self> {
        Some(match class {
            "org.apache.kafka.common.config.provider.EnvVarConfigProvider" => Self::Env,
            "org.apache.kafka.common.config.provider.FileConfigProvider" => Self::File,
            "org.apache.kafka.common.config.provider.DirectoryConfigProvider" => Self::Directory,
            _ => return None,
        })
    }
}

/// Puts what they refer to in the place of references. As in Kafka, `config.providers` has to name them.
pub(super) fn resolve(settings: &mut Settings<'_>, environment: &Environment) -> Result<(), ConfigError> {
    let mut providers = BTreeMap::new();
    if let Some(names) = settings.take("config.providers") {
        for name in names.value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let class = settings.take(&format!("config.providers.{name}.class"));
            let provider = class.as_ref().and_then(|class| Provider::of(&class.value)).ok_or_else(|| {
                ConfigError::new(
                    format!("{} names a provider without a class, or of one that Unstuck does not know", names.place),
                    "It knows Kafka's own: EnvVarConfigProvider, FileConfigProvider and DirectoryConfigProvider.",
                    "Give the values otherwise: password_file and password_env in [clusters.NAME.sasl].",
                )
            })?;
            providers.insert(name.to_owned(), provider);
        }
    }
    let keys: Vec<String> = settings.entries.keys().cloned().collect();
    for key in keys {
        let Some((line, value)) = settings.entries.get(&key).cloned() else { continue };
        if value.contains("${") {
            let place = format!("{} line {line}", settings.name);
            let resolved = one(&value, &providers, environment, &place)?;
            settings.entries.insert(key, (line, resolved));
        }
    }
    Ok(())
}

fn one(
    value: &str,
    providers: &BTreeMap<String, Provider>,
    environment: &Environment,
    place: &str,
) -> Result<String, ConfigError> {
    let (mut resolved, mut rest) = (String::new(), value);
    while let Some(begin) = rest.find("${") {
        let Some(end) = rest[begin..].find('}').map(|n| begin + n) else { break };
        let reference = &rest[begin + 2..end];
        resolved.push_str(&rest[..begin]);
        // Anything else that looks like it is kept as it is, as Kafka does.
        match reference.split_once(':') {
            None => resolved.push_str(&rest[begin..=end]),
            Some((provider, what)) => {
                let provider = providers.get(provider).ok_or_else(|| {
                    ConfigError::new(
                        format!("{place} refers to a value by ${{…}}, and config.providers does not name the provider"),
                        "Kafka's clients would take the reference itself for the value.",
                        "For variables: config.providers=env, config.providers.env.class=\
                         org.apache.kafka.common.config.provider.EnvVarConfigProvider, then ${env:NAME}",
                    )
                })?;
                resolved.push_str(&look_up(*provider, what, environment).map_err(|what| {
                    ConfigError::new(
                        format!("{place}: {what}"),
                        "The setting refers to it by ${…}.",
                        "Set it, or correct the reference.",
                    )
                })?);
            }
        }
        rest = &rest[end + 1..];
    }
    resolved.push_str(rest);
    Ok(resolved)
}

fn look_up(provider: Provider, what: &str, environment: &Environment) -> Result<String, String> {
    if provider == Provider::Env {
        // The path of the environment is empty: ${env:NAME} or ${env::NAME}.
        let name = what.trim_start_matches(':');
        return environment.get(name).ok_or_else(|| format!("the variable {name} is not set"));
    }
    let Some((path, key)) = what.rsplit_once(':') else {
        return Err("a reference to a file has two parts, ${file:PATH:KEY}".to_owned());
    };
    if provider == Provider::Directory {
        let file = Path::new(path).join(key);
        return std::fs::read_to_string(&file).map_err(|error| format!("cannot read {}: {error}", file.display()));
    }
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let entries = java_properties::parse(&bytes, path).map_err(|error| error.failed)?;
    let found = entries.into_iter().rev().find(|entry| entry.key == key);
    found.map(|entry| entry.value).ok_or_else(|| format!("{path} has no such key"))
}
