//! Settings of a broker and of `__consumer_offsets` and its like, by DescribeConfigs; also how a broker proves who it is.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use unstuck_diagnosis::BrokerId;
use unstuck_diagnosis::snapshot::{BrokerConfigs, TopicConfigs, Why};
use unstuck_wire::messages::configs::{DescribeConfigsAnswer, DescribeConfigsRequest, Resource};
use unstuck_wire::{Connection, WireError};

use crate::Clock;

const BROKER_SETTINGS: [&str; 15] = [
    "offsets.topic.num.partitions",
    "offsets.topic.replication.factor",
    "broker.session.timeout.ms",
    "zookeeper.session.timeout.ms",
    "replica.lag.time.max.ms",
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "auto.leader.rebalance.enable",
    "offsets.retention.minutes",
    "group.initial.rebalance.delay.ms",
    "transaction.max.timeout.ms",
    "group.max.size",
    "default.replication.factor",
    "transaction.state.log.num.partitions",
    "transaction.state.log.replication.factor",
];
const TOPIC_SETTINGS: [&str; 4] =
    ["min.insync.replicas", "cleanup.policy", "unclean.leader.election.enable", "segment.bytes"];

/// Asks the broker for its own settings by its id. The inner error says why it did not tell;
/// [`Why::OtherBroker`] that another broker answers here.
pub(super) async fn broker(
    clock: Clock,
    connection: &mut Connection,
    id: BrokerId,
    deadline: Duration,
) -> Result<Result<BrokerConfigs, Why>, WireError> {
    let answer = match ask(connection, Resource::Broker(id), &BROKER_SETTINGS, deadline).await? {
        Ok(answer) => answer,
        Err(why) => return Ok(Err(why)),
    };
    Ok(match answer.error {
        0 => Ok(BrokerConfigs {
            at: clock.now(),
            offsets_topic_num_partitions: value(&answer.values, BROKER_SETTINGS[0]),
            offsets_topic_replication_factor: value(&answer.values, BROKER_SETTINGS[1]),
            broker_session_timeout_ms: value(&answer.values, BROKER_SETTINGS[2]),
            zookeeper_session_timeout_ms: value(&answer.values, BROKER_SETTINGS[3]),
            replica_lag_time_max_ms: value(&answer.values, BROKER_SETTINGS[4]),
            min_insync_replicas: value(&answer.values, BROKER_SETTINGS[5]),
            unclean_leader_election: value(&answer.values, BROKER_SETTINGS[6]),
            auto_leader_rebalance: value(&answer.values, BROKER_SETTINGS[7]),
            offsets_retention_minutes: value(&answer.values, BROKER_SETTINGS[8]),
            group_initial_rebalance_delay_ms: value(&answer.values, BROKER_SETTINGS[9]),
            transaction_max_timeout_ms: value(&answer.values, BROKER_SETTINGS[10]),
            group_max_size: value(&answer.values, BROKER_SETTINGS[11]),
            default_replication_factor: value(&answer.values, BROKER_SETTINGS[12]),
            transaction_state_num_partitions: value(&answer.values, BROKER_SETTINGS[13]),
            transaction_state_replication_factor: value(&answer.values, BROKER_SETTINGS[14]),
        }),
        31 => Err(Why::NotPermitted("DESCRIBE_CONFIGS on CLUSTER".to_owned())),
        42 => Err(other_broker(id, answer.message.as_deref()).map_or(Why::ErrorCode(42), Why::OtherBroker)),
        code => Err(Why::ErrorCode(code)),
    })
}

/// Asks for the settings of `__consumer_offsets` or another state topic: the one question about it that is safe while it
/// may not exist (from Kafka 2.0 on). `Ok(Ok(None))` is the proof that it does not.
pub(super) async fn topic(
    connection: &mut Connection,
    topic: &str,
    deadline: Duration,
) -> Result<Result<Option<TopicConfigs>, Why>, WireError> {
    let resource = Resource::Topic(topic.to_owned());
    let answer = match ask(connection, resource, &TOPIC_SETTINGS, deadline).await? {
        Ok(answer) => answer,
        Err(why) => return Ok(Err(why)),
    };
    Ok(match answer.error {
        0 => Ok(Some(topic_configs(&answer))),
        3 => Ok(None),
        29 => Err(Why::NotPermitted(format!("DESCRIBE_CONFIGS on TOPIC {topic}"))),
        code => Err(Why::ErrorCode(code)),
    })
}

fn topic_configs(answer: &DescribeConfigsAnswer) -> TopicConfigs {
    TopicConfigs {
        min_insync_replicas: value(&answer.values, TOPIC_SETTINGS[0]),
        min_insync_is_override: answer.own.get(TOPIC_SETTINGS[0]).copied(),
        cleanup_policy: answer.values.get(TOPIC_SETTINGS[1]).cloned(),
        unclean_leader_election: value(&answer.values, TOPIC_SETTINGS[2]),
        segment_bytes: value(&answer.values, TOPIC_SETTINGS[3]),
    }
}

async fn ask(
    connection: &mut Connection,
    resource: Resource,
    names: &[&str],
    deadline: Duration,
) -> Result<Result<DescribeConfigsAnswer, Why>, WireError> {
    let request = DescribeConfigsRequest { resource, names: names.iter().map(|name| (*name).to_owned()).collect() };
    match connection.call(&request, deadline).await {
        Ok(answered) => Ok(Ok(answered.answer)),
        Err(WireError::TooOld(api)) => Ok(Err(Why::TooOld(api.to_owned()))),
        Err(error) => Err(error),
    }
}

fn value<T: FromStr>(values: &BTreeMap<String, String>, name: &str) -> Option<T> {
    values.get(name)?.parse().ok()
}

/// The broker that answered, from the text of error 42: "Unexpected broker id, expected 1 or empty string, but
/// received 2" (`ConfigHelper`), the only place that tells it. `None` if the text is another one.
fn other_broker(asked: BrokerId, message: Option<&str>) -> Option<BrokerId> {
    let text = message?;
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse::<BrokerId>().ok());
    text.contains("broker id").then(|| numbers.into_iter().find(|id| *id != asked)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_42_names_the_broker_that_answered() {
        let text = "Unexpected broker id, expected 1 or empty string, but received 2";
        assert_eq!(other_broker(2, Some(text)), Some(1));
        assert_eq!(other_broker(2, Some("Invalid request")), None);
        assert_eq!(other_broker(2, None), None);
    }
}
