//! AlterConfigs and IncrementalAlterConfigs (KIP-133, KIP-339), for topics and brokers.

use std::collections::BTreeMap;

use unstuck_wire::schema::{
    AlterConfigsResponseData, IncrementalAlterConfigsResponseData, alter_configs_response,
    incremental_alter_configs_response,
};

use super::admin::ruled;
use super::words::code::{
    CLUSTER_DENIED, INVALID_CONFIG, INVALID_REQUEST, TIMED_OUT, TOPIC_DENIED, UNKNOWN_TOPIC_OR_PARTITION,
};
use super::words::{text, words};
use super::{Answer, Question, read, say};
use crate::recorded::{RecordedConfig, recorded};
use crate::scenario::model::{Mode, Release};
use crate::world::{Rule, World};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;

/// What a setting becomes; `None`: it is taken back.
type Change = (String, Option<String>);
/// A code and its words.
type Wrong = (i16, String);

/// What is to be done with the settings of one resource.
struct Wanted {
    kind: i8,
    name: String,
    /// `AlterConfigs`: whatever is not named is taken back.
    replaces: bool,
    /// Name, operation (0 set, 1 delete, 2 append, 3 subtract), value.
    operations: Vec<(String, i8, Option<String>)>,
}

/// Changes settings one by one.
pub(super) fn incremental(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, IncrementalAlterConfigsRequestData);
    let mut responses = Vec::new();
    for resource in request.resources {
        let wanted = Wanted {
            kind: resource.resource_type,
            name: resource.resource_name.as_str().to_owned(),
            replaces: false,
            operations: resource
                .configs
                .iter()
                .map(|one| (one.name.to_string(), one.config_operation, one.value.as_ref().map(ToString::to_string)))
                .collect(),
        };
        let (error_code, error_message) = match alter(world, question, &wanted, request.validate_only) {
            Done::Later(later) => return later,
            Done::Yes => (0, None),
            Done::No((code, words)) => (code, Some(text(&words))),
        };
        responses.push(incremental_alter_configs_response::AlterConfigsResourceResponse {
            error_code,
            error_message,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name,
            ..Default::default()
        });
    }
    say!(question, IncrementalAlterConfigsResponseData { responses, ..Default::default() })
}

/// Replaces all settings.
pub(super) fn replacing(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, AlterConfigsRequestData);
    let mut responses = Vec::new();
    for resource in request.resources {
        let wanted = Wanted {
            kind: resource.resource_type,
            name: resource.resource_name.as_str().to_owned(),
            replaces: true,
            operations: resource
                .configs
                .iter()
                .map(|one| (one.name.to_string(), 0, one.value.as_ref().map(ToString::to_string)))
                .collect(),
        };
        let (error_code, error_message) = match alter(world, question, &wanted, request.validate_only) {
            Done::Later(later) => return later,
            Done::Yes => (0, None),
            Done::No((code, words)) => (code, Some(text(&words))),
        };
        responses.push(alter_configs_response::AlterConfigsResourceResponse {
            error_code,
            error_message,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name,
            ..Default::default()
        });
    }
    say!(question, AlterConfigsResponseData { responses, ..Default::default() })
}

enum Done {
    Yes,
    No(Wrong),
    Later(Answer),
}

fn alter(world: &mut World, question: &Question<'_>, wanted: &Wanted, validate_only: bool) -> Done {
    if let Some(code) = question.forced {
        return Done::No((code, words(code).to_owned()));
    }
    let denied = match wanted.kind {
        TOPIC if !world.may_describe_topic(&wanted.name) => Some(TOPIC_DENIED),
        BROKER if world.acl().cluster_hidden => Some(CLUSTER_DENIED),
        _ => None,
    };
    if let Some(code) = denied {
        return Done::No((code, words(code).to_owned()));
    }
    // With ZooKeeper any broker writes settings there itself; with KRaft the controller does.
    if world.mode() == Mode::Kraft && world.rule(question.broker) == Rule::Hangs {
        return match ruled(world, question) {
            Err(Ok(later)) => Done::Later(later),
            _ => Done::No((TIMED_OUT, words(TIMED_OUT).to_owned())),
        };
    }
    let changes = match wanted.kind {
        TOPIC => of_topic(world, question, wanted),
        BROKER => of_broker(world, question, wanted),
        other => Err((INVALID_REQUEST, format!("Unknown resource type {other}"))),
    };
    let changes = match changes {
        Ok(changes) => changes,
        Err(wrong) => return Done::No(wrong),
    };
    if validate_only {
        return Done::Yes;
    }
    let applied = match wanted.kind {
        TOPIC => world.configure_topic(&wanted.name, &changes),
        _ => world.configure_broker(wanted.name.parse().ok(), &changes),
    };
    match applied {
        Ok(()) => Done::Yes,
        // What is left to refuse: `min.insync.replicas` of brokers with eligible leader replicas.
        Err(why) => Done::No((INVALID_CONFIG, why)),
    }
}

fn of_topic(world: &World, question: &Question<'_>, wanted: &Wanted) -> Result<Vec<Change>, Wrong> {
    let release = release(world, question);
    let Some(topic) = world.topics().get(&wanted.name) else {
        return Err(match (world.mode(), release < Release::V2_8) {
            (Mode::Zookeeper, true) => (-1, format!("Topic \"{}\" does not exist.", wanted.name)),
            _ => (UNKNOWN_TOPIC_OR_PARTITION, format!("The topic '{}' does not exist.", wanted.name)),
        });
    };
    let known = &recorded(release, world.mode()).topic_configs;
    let unknown = wanted.operations.iter().find(|(name, ..)| !known.contains_key(name));
    if let Some((name, ..)) = unknown {
        return Err((INVALID_CONFIG, format!("Unknown topic config name: {name}")));
    }
    let default = |name: &str| {
        world.node(question.broker).and_then(|node| world.topic_config(node, topic, name).0).unwrap_or_default()
    };
    let changes = changes(wanted, &topic.configs, &default, known)?;
    check(world, release, wanted, &changes, known)?;
    Ok(changes)
}

fn of_broker(world: &World, question: &Question<'_>, wanted: &Wanted) -> Result<Vec<Change>, Wrong> {
    let release = release(world, question);
    let id: Option<i32> = match wanted.name.as_str() {
        "" => None,
        text => Some(
            text.parse().map_err(|_| (INVALID_REQUEST, format!("Broker id must be an integer, but it is: {text}")))?,
        ),
    };
    if let Some(id) = id.filter(|id| *id != question.broker) {
        let broker = question.broker;
        return Err((
            INVALID_REQUEST,
            format!("Unexpected broker id, expected {broker} or empty string, but received {id}"),
        ));
    }
    let known = &recorded(release, world.mode()).broker_configs;
    let fixed: Vec<&str> = wanted
        .operations
        .iter()
        .map(|(name, ..)| name.as_str())
        .filter(|name| known.get(*name).is_some_and(|config| config.read_only) && !throttle(name))
        .collect();
    if !fixed.is_empty() {
        let words = format!("Cannot update these configs dynamically: Set({})", fixed.join(", "));
        let prefix = if release < Release::V3_6 {
            format!("Invalid config value for resource ConfigResource(type=BROKER, name='{}'): ", wanted.name)
        } else {
            String::new()
        };
        return Err((INVALID_REQUEST, prefix + &words));
    }
    let Some(node) = world.node(question.broker) else { return Err((INVALID_REQUEST, String::new())) };
    let default = |name: &str| node.config(name).unwrap_or_default();
    let set = node.dynamic_configs(id.is_none());
    let mut changes = changes(wanted, set, &default, known)?;
    // Taking back what was never set while brokers ran changes nothing; least of all the properties file.
    changes.retain(|(name, value)| value.is_some() || set.contains_key(name));
    check(world, release, wanted, &changes, known)?;
    Ok(changes)
}

/// Settings that `kafka-reassign-partitions` sets and takes back; DescribeConfigs tells them only where they are set.
fn throttle(name: &str) -> bool {
    matches!(
        name,
        "leader.replication.throttled.rate"
            | "follower.replication.throttled.rate"
            | "replica.alter.log.dirs.io.max.bytes.per.second"
    )
}

fn release(world: &World, question: &Question<'_>) -> Release {
    world.node(question.broker).map_or_else(|| world.release(), |node| node.release)
}

/// What settings become.
fn changes(
    wanted: &Wanted,
    set: &BTreeMap<String, String>,
    default: &dyn Fn(&str) -> String,
    known: &BTreeMap<String, RecordedConfig>,
) -> Result<Vec<Change>, Wrong> {
    let mut changes: Vec<Change> = Vec::new();
    for (name, operation, value) in &wanted.operations {
        let null = || (INVALID_CONFIG, format!("Null value not supported for : {name}"));
        let list = || -> Vec<String> {
            let now = set.get(name).cloned().unwrap_or_else(|| default(name));
            now.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect()
        };
        let is_list = known.get(name).is_none_or(|config| matches!(config.kind, 0 | 7));
        if *operation >= 2 && !is_list {
            let verb = if *operation == 2 { "APPEND" } else { "SUBTRACT" };
            return Err((INVALID_CONFIG, format!("Can't {verb} to key {name} because its type is not LIST.")));
        }
        let becomes = match operation {
            0 => Some(value.clone().ok_or_else(null)?),
            1 => None,
            2 => {
                let mut list = list();
                let more = value.clone().ok_or_else(null)?;
                for one in more.split(',').filter(|one| !one.is_empty()) {
                    if !list.iter().any(|other| other == one) {
                        list.push(one.to_owned());
                    }
                }
                Some(list.join(","))
            }
            3 => {
                let less = value.clone().ok_or_else(null)?;
                let list: Vec<String> = list().into_iter().filter(|one| !less.split(',').any(|o| o == one)).collect();
                Some(list.join(","))
            }
            other => return Err((INVALID_REQUEST, format!("Unknown operation type {other}"))),
        };
        changes.push((name.clone(), becomes));
    }
    if wanted.replaces {
        let named = |name: &String| wanted.operations.iter().any(|(other, ..)| other == name);
        changes.extend(set.keys().filter(|name| !named(name)).map(|name| (name.clone(), None)));
    }
    Ok(changes)
}

/// Whether values are of the type of their setting (`ConfigDef.parseType`).
fn check(
    world: &World,
    release: Release,
    wanted: &Wanted,
    changes: &[Change],
    known: &BTreeMap<String, RecordedConfig>,
) -> Result<(), Wrong> {
    // Old releases did not tell types; they have hardly changed since.
    let newest = recorded(Release::V4_1, Mode::Kraft);
    let newest = if wanted.kind == TOPIC { &newest.topic_configs } else { &newest.broker_configs };
    for (name, value) in changes {
        let Some(value) = value else { continue };
        let kind = known.get(name).map(|config| config.kind).filter(|kind| *kind != 0);
        let kind = kind.or_else(|| newest.get(name).map(|config| config.kind));
        let kind = if throttle(name) { Some(5) } else { kind };
        let wrong = match kind {
            Some(1) => (!matches!(value.to_ascii_lowercase().as_str(), "true" | "false"))
                .then_some("Expected value to be either true or false"),
            Some(3) => value.trim().parse::<i32>().err().map(|_| "Not a number of type INT"),
            Some(4) => value.trim().parse::<i16>().err().map(|_| "Not a number of type SHORT"),
            Some(5) => value.trim().parse::<i64>().err().map(|_| "Not a number of type LONG"),
            Some(6) => value.trim().parse::<f64>().err().map(|_| "Not a number of type DOUBLE"),
            _ => None,
        };
        let too_small = name == "min.insync.replicas" && value.trim().parse::<i32>().is_ok_and(|number| number < 1);
        let wrong = wrong.or_else(|| too_small.then_some("Value must be at least 1"));
        if let Some(wrong) = wrong {
            let words = format!("Invalid value {value} for configuration {name}: {wrong}");
            if world.mode() == Mode::Kraft {
                return Err((INVALID_CONFIG, words));
            }
            let kind = if wanted.kind == TOPIC { "TOPIC" } else { "BROKER" };
            let resource = format!("ConfigResource(type={kind}, name='{}')", wanted.name);
            let code = if release >= Release::V3_6 { INVALID_CONFIG } else { INVALID_REQUEST };
            return Err((code, format!("Invalid config value for resource {resource}: {words}")));
        }
    }
    Ok(())
}
