//! DescribeConfigs (key 32): settings of topics and of the broker that is asked, as recorded of its release and as the
//! scenario or somebody since has set them.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use unstuck_wire::schema::describe_configs_request::DescribeConfigsResource;
use unstuck_wire::schema::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use unstuck_wire::schema::{DescribeConfigsResponseData, KafkaString};

use super::words::{code, message, text};
use super::{Answer, Question, read, say};
use crate::recorded::{RecordedConfig, recorded};
use crate::scenario::model::{Mode, Release};
use crate::world::{Node, Topic, World, broker_synonym};

/// `ConfigResource.Type`.
const TOPIC: i8 = 2;
const BROKER: i8 = 4;

/// `DescribeConfigsResponse.ConfigSource`.
const OF_TOPIC: i8 = 1;
const DYNAMIC_DEFAULT: i8 = 3;
const STATIC: i8 = 4;
const DEFAULT: i8 = 5;

pub(super) fn answer(world: &mut World, question: &Question<'_>) -> Answer {
    if question.asked.version == 0 {
        return version_0(world, question);
    }
    let request = read!(question, DescribeConfigsRequestData);
    let results = request.resources.iter().map(|resource| {
        let mut result = described(world, question, resource);
        if !request.include_synonyms {
            result.configs.iter_mut().for_each(|config| config.synonyms.clear());
        }
        result
    });
    say!(question, DescribeConfigsResponseData::default().with_results(results.collect()))
}

fn described(world: &World, question: &Question<'_>, resource: &DescribeConfigsResource) -> DescribeConfigsResult {
    let mut result = DescribeConfigsResult {
        resource_type: resource.resource_type,
        resource_name: resource.resource_name.clone(),
        ..DescribeConfigsResult::default()
    };
    let found = match (question.forced, world.node(question.broker)) {
        (Some(error), _) => Err((error, message(error))),
        (None, Some(node)) => settings(world, node, resource.resource_type, resource.resource_name.as_str()),
        (None, None) => Err((-1, message(-1))),
    };
    match found {
        Err((error, words)) => (result.error_code, result.error_message) = (error, words),
        Ok(mut configs) => {
            if let Some(keys) = resource.configuration_keys.as_ref().filter(|keys| !keys.is_empty()) {
                configs.retain(|config| keys.contains(&config.name));
            }
            let node = world.node(question.broker);
            result.error_message = node.filter(|node| node.release >= Release::V2_8).map(|_| text(""));
            result.configs = configs;
        }
    }
    result
}

type Settings = Result<Vec<DescribeConfigsResourceResult>, (i16, Option<KafkaString>)>;

fn settings(world: &World, node: &Node, kind: i8, name: &str) -> Settings {
    match kind {
        TOPIC if !world.may_describe_topic(name) => Err((code::TOPIC_DENIED, message(code::TOPIC_DENIED))),
        TOPIC => match node.seen().topics.get(name) {
            Some(topic) => Ok(of_topic(world, node, topic)),
            // Below 2.0 a topic that is not there has all defaults (KAFKA-6288).
            None if node.release == Release::V1_0 => {
                let none = Topic { id: [0; 16], internal: false, configs: Default::default(), partitions: Vec::new() };
                Ok(of_topic(world, node, &none))
            }
            None => Err((code::UNKNOWN_TOPIC_OR_PARTITION, (node.release >= Release::V2_8).then(|| text("")))),
        },
        BROKER if world.acl().cluster_hidden => Err((code::CLUSTER_DENIED, message(code::CLUSTER_DENIED))),
        BROKER if name.is_empty() && node.release > Release::V1_0 => Ok(cluster_defaults(world, node)),
        BROKER => match name.parse::<i32>() {
            Ok(id) if id == node.id => Ok(of_broker(world, node)),
            Ok(_) => Err((code::INVALID_REQUEST, Some(text(&wrong_id(node, name))))),
            Err(_) => {
                Err((code::INVALID_REQUEST, Some(text(&format!("Broker id must be an integer, but it is: {name}")))))
            }
        },
        _ => Err((code::INVALID_REQUEST, message(code::INVALID_REQUEST))),
    }
}

/// What brokers say to somebody who asks one of them about another.
fn wrong_id(node: &Node, name: &str) -> String {
    let own = node.id;
    match node.release {
        Release::V1_0 => format!("Unexpected broker id, expected {own}, but received {name}"),
        Release::V2_3 => format!(
            "Unexpected broker id, expected {own} or empty string, but received \
             ConfigResource(type=BROKER, name='{name}').name"
        ),
        _ => format!("Unexpected broker id, expected {own} or empty string, but received {name}"),
    }
}

/// One setting.
fn setting(
    name: &str,
    value: Option<String>,
    source: i8,
    recorded: Option<&RecordedConfig>,
) -> DescribeConfigsResourceResult {
    let sensitive = recorded.is_some_and(|one| one.sensitive);
    DescribeConfigsResourceResult {
        name: text(name),
        value: value.filter(|_| !sensitive).as_deref().map(text),
        read_only: recorded.is_some_and(|one| one.read_only),
        config_source: source,
        is_sensitive: sensitive,
        // What nobody recorded somebody made up: text.
        config_type: recorded.map_or(2, |one| one.kind),
        ..DescribeConfigsResourceResult::default()
    }
}

fn synonym(name: &str, value: Option<&str>, source: i8) -> DescribeConfigsSynonym {
    DescribeConfigsSynonym { name: text(name), value: value.map(text), source, ..DescribeConfigsSynonym::default() }
}

/// Settings that were made for all brokers at run time: with eligible leader replicas, the least number of in-sync ones
/// (seen on 4.1.1).
fn cluster_defaults(world: &World, node: &Node) -> Vec<DescribeConfigsResourceResult> {
    let recorded = &recorded(world.release(), world.mode()).broker_configs;
    let mut set = node.dynamic_configs(true).clone();
    if world.keeps_elr() {
        let name = "min.insync.replicas";
        set.entry(name.to_owned()).or_insert_with(|| set_on_all(world, name).unwrap_or_else(|| "1".to_owned()));
    }
    set.into_iter()
        .map(|(name, value)| {
            let mut one = setting(&name, Some(value.clone()), DYNAMIC_DEFAULT, recorded.get(&name));
            one.synonyms.push(synonym(&name, Some(&value), DYNAMIC_DEFAULT));
            one
        })
        .collect()
}

fn set_on_all(world: &World, name: &str) -> Option<String> {
    world.scenario().cluster.configs.get(name).map(ToString::to_string)
}

fn of_topic(world: &World, node: &Node, topic: &Topic) -> Vec<DescribeConfigsResourceResult> {
    let recorded = recorded(node.release, world.mode());
    let mut names: Vec<&String> = recorded.topic_configs.keys().collect();
    names.extend(topic.configs.keys().filter(|name| !recorded.topic_configs.contains_key(*name)));
    names
        .into_iter()
        .map(|name| {
            let (value, source) = world.topic_config(node, topic, name);
            let elr = world.keeps_elr() && name == "min.insync.replicas";
            let source = if elr && source != OF_TOPIC { DYNAMIC_DEFAULT } else { source };
            let mut one = setting(name, value.clone(), source, recorded.topic_configs.get(name));
            let above = broker_synonym(name);
            // Some have the same name on both.
            let above = if recorded.broker_configs.contains_key(&above) { above } else { name.clone() };
            if source == OF_TOPIC {
                one.synonyms.push(synonym(name, value.as_deref(), OF_TOPIC));
            }
            if elr {
                let set = set_on_all(world, name).unwrap_or_else(|| "1".to_owned());
                one.synonyms.push(synonym(&above, Some(&set), DYNAMIC_DEFAULT));
            }
            if let Some(set) = node.configs.get(&above) {
                one.synonyms.push(synonym(&above, Some(set), node.config_source(&above)));
            }
            let (above, default) = match (name.as_str(), recorded.broker_configs.get(&above)) {
                // What is written in hours stands behind milliseconds, and is told only where those are set
                // (`ConfigHelper.configSynonyms` drops what comes before the name itself).
                ("retention.ms" | "segment.ms", _) if !node.configs.contains_key(&above) => (above, None),
                ("retention.ms", _) => ("log.retention.hours".to_owned(), Some("168")),
                ("segment.ms", _) => ("log.roll.hours".to_owned(), Some("168")),
                (_, default) => (above, default.and_then(|one| one.value.as_deref())),
            };
            if default.is_some() {
                one.synonyms.push(synonym(&above, default, DEFAULT));
            }
            one
        })
        .collect()
}

fn of_broker(world: &World, node: &Node) -> Vec<DescribeConfigsResourceResult> {
    let recorded = recorded(node.release, world.mode());
    let mut names: Vec<&String> = recorded.broker_configs.keys().collect();
    names.extend(node.configs.keys().filter(|name| !recorded.broker_configs.contains_key(*name)));
    names
        .into_iter()
        .map(|name| {
            let known = recorded.broker_configs.get(name);
            let default = known.and_then(|one| one.value.clone()).filter(|value| !value.contains('{'));
            let elr = world.keeps_elr() && name == "min.insync.replicas";
            let (value, source) = match (node.configs.get(name), of_machine(world, node, name)) {
                (Some(set), _) => {
                    let source = node.config_source(name);
                    (Some(set.clone()), if elr && source == STATIC { DYNAMIC_DEFAULT } else { source })
                }
                (None, Some(own)) => (Some(own), STATIC),
                (None, None) if elr => (default.clone(), DYNAMIC_DEFAULT),
                (None, None) => (default.clone(), DEFAULT),
            };
            let mut one = setting(name, value.clone(), source, known);
            if source != DEFAULT && value.is_some() {
                one.synonyms.push(synonym(name, value.as_deref(), source));
            }
            if elr && source == DYNAMIC_DEFAULT && node.configs.contains_key(name) && node.config_source(name) == STATIC
            {
                one.synonyms.push(synonym(name, value.as_deref(), STATIC));
            }
            if default.is_some() && (source == DEFAULT || node.configs.contains_key(name) || elr) {
                one.synonyms.push(synonym(name, default.as_deref(), DEFAULT));
            }
            one
        })
        .collect()
}

/// What depends on the broker itself and not on its release.
fn of_machine(world: &World, node: &Node, name: &str) -> Option<String> {
    let (host, port) = &node.advertised;
    Some(match name {
        "broker.id" | "node.id" => node.id.to_string(),
        "listeners" => format!("PLAINTEXT://{host}:{port}"),
        "log.dirs" => node.log_dirs.join(","),
        "broker.rack" => node.rack.clone()?,
        "zookeeper.connect" if world.mode() == Mode::Zookeeper => "zookeeper:2181".to_owned(),
        "process.roles" if world.mode() == Mode::Kraft => {
            if world.voters().contains(&node.id) { "broker,controller" } else { "broker" }.to_owned()
        }
        "controller.quorum.voters" if world.mode() == Mode::Kraft => {
            let voters: Vec<String> = world.voters().iter().map(|id| format!("{id}@controller-{id}:9093")).collect();
            voters.join(",")
        }
        _ => return None,
    })
}

/// Version 0, which the codec does not write: "is default" stands for the source, and there are no synonyms. All that
/// 1.0 offers.
fn version_0(world: &World, question: &Question<'_>) -> Answer {
    let Some(resources) = read_version_0(&mut question.asked.body.clone()) else { return Answer::Close };
    let release = world.node(question.broker).map_or(world.release(), |node| node.release);
    let mut body = BytesMut::new();
    body.put_i32(0);
    put_count(&mut body, resources.len());
    for resource in &resources {
        let result = described(world, question, resource);
        body.put_i16(result.error_code);
        put_text(&mut body, result.error_message.as_ref());
        body.put_i8(result.resource_type);
        put_text(&mut body, Some(&result.resource_name));
        put_count(&mut body, result.configs.len());
        for config in &result.configs {
            put_text(&mut body, Some(&config.name));
            put_text(&mut body, config.value.as_ref());
            // 1.0 can change nothing of a broker while it runs; from 2.8 on nothing is said to be a default (seen).
            let fixed = config.read_only || (release == Release::V1_0 && resource.resource_type == BROKER);
            body.put_u8(u8::from(fixed));
            body.put_u8(u8::from(config.config_source == DEFAULT && release < Release::V2_8));
            body.put_u8(u8::from(config.is_sensitive));
        }
    }
    Answer::Body(body, std::time::Duration::ZERO)
}

fn put_count(body: &mut BytesMut, count: usize) {
    body.put_i32(i32::try_from(count).unwrap_or(i32::MAX));
}

fn put_text(body: &mut BytesMut, text: Option<&KafkaString>) {
    match text.and_then(|text| Some((text, i16::try_from(text.len()).ok()?))) {
        Some((text, length)) => {
            body.put_i16(length);
            body.put_slice(text.as_bytes());
        }
        None => body.put_i16(-1),
    }
}

fn read_version_0(body: &mut Bytes) -> Option<Vec<DescribeConfigsResource>> {
    let resources = (0..read_count(body)?)
        .map(|_| {
            let resource_type = body.try_get_i8().ok()?;
            let resource_name = read_text(body)?;
            let keys = match read_count(body) {
                Some(count) => Some((0..count).map(|_| read_text(body)).collect::<Option<Vec<_>>>()?),
                None => None,
            };
            Some(
                DescribeConfigsResource::default()
                    .with_resource_type(resource_type)
                    .with_resource_name(resource_name)
                    .with_configuration_keys(keys),
            )
        })
        .collect::<Option<Vec<_>>>()?;
    body.is_empty().then_some(resources)
}

/// A count that fits what is left; `None` for null and for what does not.
fn read_count(body: &mut Bytes) -> Option<usize> {
    usize::try_from(body.try_get_i32().ok()?).ok().filter(|count| *count <= body.len())
}

fn read_text(body: &mut Bytes) -> Option<KafkaString> {
    let length = usize::try_from(body.try_get_i16().ok()?).ok().filter(|length| *length <= body.len())?;
    KafkaString::new(body.split_to(length)).ok()
}
