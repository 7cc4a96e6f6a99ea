//! CreateTopics, CreatePartitions and DeleteTopics.

use std::collections::BTreeMap;

use unstuck_wire::schema::create_partitions_request::CreatePartitionsTopic;
use unstuck_wire::schema::create_partitions_response::CreatePartitionsTopicResult;
use unstuck_wire::schema::create_topics_request::CreatableTopic;
use unstuck_wire::schema::create_topics_response::{CreatableTopicConfigs, CreatableTopicResult};
use unstuck_wire::schema::delete_topics_response::DeletableTopicResult;
use unstuck_wire::schema::{
    CreatePartitionsResponseData, CreateTopicsResponseData, DeleteTopicsResponseData, KafkaUuid,
};

use super::admin::ruled;
use super::words::code::{
    DELETION_DISABLED, INVALID_ASSIGNMENT, INVALID_CONFIG, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR,
    INVALID_TOPIC, NOT_CONTROLLER, POLICY_VIOLATION, TOPIC_DENIED, TOPIC_EXISTS, UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
};
use super::words::{text, uuid, words};
use super::{Answer, Question, read, say};
use crate::recorded::recorded;
use crate::scenario::model::{Mode, Release};
use crate::world::World;

/// The most partitions that are made at once (`ReplicationControlManager.MAX_PARTITIONS_PER_BATCH`).
const MOST_AT_ONCE: usize = 10_000;

/// A code and its words, where it has any.
type Wrong = (i16, Option<String>);

/// Makes topics.
pub(super) fn create(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, CreateTopicsRequestData);
    let refused = match ruled(world, question) {
        Ok(()) => None,
        Err(Ok(later)) => return later,
        // Seen with ZooKeeper: an empty text and not none, from 2.3 on.
        Err(Err(NOT_CONTROLLER)) => {
            Some((NOT_CONTROLLER, (release(world, question) > Release::V1_0).then(String::new)))
        }
        Err(Err(code)) => Some((code, Some(words(code).to_owned()))),
    };
    let topics = request
        .topics
        .iter()
        .map(|topic| {
            let name = topic.name.as_str();
            let made = match &refused {
                Some(wrong) => Err(wrong.clone()),
                None => create_one(world, question, topic, request.validate_only),
            };
            let failed = |(error_code, message): Wrong| CreatableTopicResult {
                name: topic.name.clone(),
                error_code,
                error_message: message.as_deref().map(text),
                num_partitions: -1,
                replication_factor: -1,
                configs: Some(Vec::new()),
                ..Default::default()
            };
            let (count, factor) = match made {
                Ok(shape) => shape,
                Err(wrong) => return failed(wrong),
            };
            CreatableTopicResult {
                name: topic.name.clone(),
                topic_id: uuid(crate::world::id_of(name)),
                num_partitions: i32::try_from(count).unwrap_or(i32::MAX),
                replication_factor: i16::try_from(factor).unwrap_or(i16::MAX),
                configs: Some(configs_of(world, question, topic)),
                ..Default::default()
            }
        })
        .collect();
    say!(question, CreateTopicsResponseData { topics, ..Default::default() })
}

fn release(world: &World, question: &Question<'_>) -> Release {
    world.node(question.broker).map_or_else(|| world.release(), |node| node.release)
}

/// Makes a topic, or sees whether it could be made; gives the number of partitions and replicas.
fn create_one(
    world: &mut World,
    question: &Question<'_>,
    topic: &CreatableTopic,
    validate_only: bool,
) -> Result<(usize, usize), Wrong> {
    let name = topic.name.as_str();
    let legal = |name: &str| {
        let fine = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '_' | '-');
        !name.is_empty() && name.len() < 250 && name != "." && name != ".." && name.chars().all(fine)
    };
    if !legal(name) {
        return Err((INVALID_TOPIC, Some(format!("Topic name is invalid: '{name}'"))));
    }
    if world.topics().contains_key(name) {
        return Err((TOPIC_EXISTS, Some(format!("Topic '{name}' already exists."))));
    }
    let configs: BTreeMap<String, String> =
        topic.configs.iter().filter_map(|one| Some((one.name.to_string(), one.value.as_ref()?.to_string()))).collect();
    let known = &recorded(release(world, question), world.mode()).topic_configs;
    if let Some(name) = configs.keys().find(|name| !known.contains_key(*name)) {
        return Err((INVALID_CONFIG, Some(format!("Unknown topic config name: {name}"))));
    }
    if !topic.assignments.is_empty() {
        let mut by_number: Vec<_> = topic.assignments.iter().collect();
        by_number.sort_by_key(|one| one.partition_index);
        let whole = (0..).zip(&by_number).all(|(number, one)| one.partition_index == number);
        if !whole {
            return Err((
                INVALID_ASSIGNMENT,
                Some("partitions should be a consecutive 0-based integer sequence".to_owned()),
            ));
        }
        let replicas: Vec<Vec<i32>> = by_number.iter().map(|one| one.broker_ids.clone()).collect();
        let factor = replicas.first().map_or(0, Vec::len);
        if !validate_only {
            world.create_topic_on(name, &replicas, configs).map_err(|code| (code, None))?;
        }
        return Ok((replicas.len(), factor));
    }
    let number = |config: &str| world.node(question.broker).and_then(|node| node.number(config)).unwrap_or(1);
    // -1 is "as the broker is set" (KIP-464, from version 4 on).
    let count = if topic.num_partitions == -1 { number("num.partitions") } else { i64::from(topic.num_partitions) };
    let factor = match topic.replication_factor {
        -1 => number("default.replication.factor"),
        factor => i64::from(factor),
    };
    let count = usize::try_from(count).ok().filter(|count| *count > 0);
    let count = count.ok_or((
        INVALID_PARTITIONS,
        Some("Number of partitions was set to an invalid non-positive value.".to_owned()),
    ))?;
    if count > MOST_AT_ONCE {
        return Err(too_many_at_once());
    }
    let factor = usize::try_from(factor).unwrap_or(0);
    if factor == 0 {
        let words = "Replication factor must be larger than 0, or -1 to use the default value.";
        return Err((INVALID_REPLICATION_FACTOR, Some(words.to_owned())));
    }
    if !world.can_place(factor) {
        return Err((INVALID_REPLICATION_FACTOR, Some(too_many(world, factor))));
    }
    if !validate_only {
        let partitions = i32::try_from(count).unwrap_or(i32::MAX);
        world.create_topic(name, partitions, factor, configs).map_err(|code| (code, None))?;
    }
    Ok((count, factor))
}

fn too_many_at_once() -> Wrong {
    (POLICY_VIOLATION, Some("Excessively large number of partitions per request.".to_owned()))
}

fn too_many(world: &World, factor: usize) -> String {
    if world.mode() == Mode::Kraft {
        let brokers = world.brokers().count();
        format!(
            "Unable to replicate the partition {factor} time(s): The target replication factor of {factor} cannot be \
             reached because only {brokers} broker(s) are registered."
        )
    } else {
        let live = world.brokers().filter(|node| node.registered).count();
        format!("Replication factor: {factor} larger than available brokers: {live}.")
    }
}

fn configs_of(world: &World, question: &Question<'_>, topic: &CreatableTopic) -> Vec<CreatableTopicConfigs> {
    let Some(node) = world.node(question.broker) else { return Vec::new() };
    let set: BTreeMap<String, String> =
        topic.configs.iter().filter_map(|one| Some((one.name.to_string(), one.value.as_ref()?.to_string()))).collect();
    let like = crate::world::Topic { id: [0; 16], internal: false, configs: set, partitions: Vec::new() };
    recorded(node.release, world.mode())
        .topic_configs
        .keys()
        .map(|name| {
            let (value, source) = world.topic_config(node, &like, name);
            CreatableTopicConfigs {
                name: text(name),
                value: value.as_deref().map(text),
                config_source: source,
                ..Default::default()
            }
        })
        .collect()
}

/// Adds partitions to topics.
pub(super) fn grow(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, CreatePartitionsRequestData);
    let refused = match ruled(world, question) {
        Ok(()) => None,
        Err(Ok(later)) => return later,
        Err(Err(NOT_CONTROLLER)) => Some((NOT_CONTROLLER, None)),
        Err(Err(code)) => Some((code, Some(words(code).to_owned()))),
    };
    let results = request
        .topics
        .iter()
        .map(|topic| {
            let grown = match &refused {
                Some(wrong) => Err(wrong.clone()),
                None => grow_one(world, topic, request.validate_only),
            };
            let (error_code, message) = grown.err().unwrap_or_default();
            CreatePartitionsTopicResult {
                name: topic.name.clone(),
                error_code,
                error_message: message.as_deref().map(text),
                ..Default::default()
            }
        })
        .collect();
    say!(question, CreatePartitionsResponseData { results, ..Default::default() })
}

fn grow_one(world: &mut World, topic: &CreatePartitionsTopic, validate_only: bool) -> Result<(), Wrong> {
    let name = topic.name.as_str();
    let kraft = world.mode() == Mode::Kraft;
    if !world.may_describe_topic(name) {
        return Err((TOPIC_DENIED, Some(words(TOPIC_DENIED).to_owned())));
    }
    let missing = || (UNKNOWN_TOPIC_OR_PARTITION, (!kraft).then(|| format!("The topic '{name}' does not exist.")));
    let found = world.topics().get(name).ok_or_else(missing)?;
    let has = i32::try_from(found.partitions.len()).unwrap_or(i32::MAX);
    let factor = found.partitions.first().map_or(1, |partition| partition.replicas.len());
    let wanted = topic.count;
    if wanted <= has {
        let words = match (wanted == has, kraft) {
            (true, true) => format!("Topic already has {has} partition(s)."),
            (true, false) => format!("Topic already has {has} partitions."),
            (false, true) => {
                format!("The topic {name} currently has {has} partition(s); {wanted} would not be an increase.")
            }
            (false, false) => {
                format!("Topic currently has {has} partitions, which is higher than the requested {wanted}.")
            }
        };
        return Err((INVALID_PARTITIONS, Some(words)));
    }
    if usize::try_from(wanted - has).unwrap_or(usize::MAX) > MOST_AT_ONCE {
        return Err(too_many_at_once());
    }
    if let Some(assignments) = &topic.assignments {
        let replicas: Vec<Vec<i32>> = assignments.iter().map(|one| one.broker_ids.clone()).collect();
        let more = usize::try_from(wanted - has).unwrap_or(0);
        if replicas.len() != more {
            let words = format!(
                "Attempted to add {more} additional partition(s), but only {} assignment(s) were specified.",
                replicas.len()
            );
            return Err((INVALID_ASSIGNMENT, Some(words)));
        }
        if !validate_only {
            world.add_partitions_on(name, &replicas).map_err(|code| (code, None))?;
        }
        return Ok(());
    }
    if !world.can_place(factor) {
        return Err((INVALID_REPLICATION_FACTOR, Some(too_many(world, factor))));
    }
    if !validate_only {
        world.add_partitions(name, wanted).map_err(|code| (code, None))?;
    }
    Ok(())
}

/// Deletes topics, by name or (from version 6 on) by id.
pub(super) fn delete(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, DeleteTopicsRequestData);
    let refused = match ruled(world, question) {
        Ok(()) => None,
        Err(Ok(later)) => return later,
        Err(Err(code)) => Some(code),
    };
    let by_name = request.topic_names.into_iter().map(|name| (Some(name), KafkaUuid::ZERO));
    let asked = request.topics.into_iter().map(|topic| (topic.name, topic.topic_id));
    let responses = by_name
        .chain(asked)
        .map(|(name, id)| {
            let found = match &name {
                Some(name) => world.topics().get_key_value(name.as_str()),
                None => world.topics().iter().find(|(_, topic)| uuid(topic.id) == id),
            }
            .map(|(name, topic)| (name.clone(), topic.id));
            let error_code = match (&refused, &found) {
                (Some(code), _) => *code,
                (None, _) if name.as_ref().is_some_and(|name| !world.may_describe_topic(name.as_str())) => TOPIC_DENIED,
                (None, Some((name, _))) if !world.may_describe_topic(name) => TOPIC_DENIED,
                (None, None) if name.is_none() => UNKNOWN_TOPIC_ID,
                (None, None) => UNKNOWN_TOPIC_OR_PARTITION,
                (None, Some(_)) if deletion_disabled(world, question) => DELETION_DISABLED,
                (None, Some((name, _))) => world.delete_topic(name).err().unwrap_or(0),
            };
            let kraft = world.mode() == Mode::Kraft;
            // A name is not told to whoever may not see it; ZooKeeper's controller has forgotten the id by then.
            let hidden = error_code == TOPIC_DENIED;
            let told = name.clone().or_else(|| found.as_ref().filter(|_| !hidden).map(|(name, _)| text(name)));
            DeletableTopicResult {
                name: told,
                topic_id: match found {
                    Some((_, found)) if kraft && error_code == 0 => uuid(found),
                    _ => id,
                },
                error_code,
                error_message: (error_code != 0 && kraft && question.asked.version >= 5)
                    .then(|| text(words(error_code))),
                ..Default::default()
            }
        })
        .collect();
    say!(question, DeleteTopicsResponseData { responses, ..Default::default() })
}

fn deletion_disabled(world: &World, question: &Question<'_>) -> bool {
    question.asked.version >= 3
        && world.node(question.broker).and_then(|node| node.config("delete.topic.enable")).as_deref() == Some("false")
}
