//! ElectLeaders (KIP-183, KIP-460).

use std::collections::BTreeMap;

use unstuck_wire::schema::ElectLeadersResponseData;
use unstuck_wire::schema::elect_leaders_response::{PartitionResult, ReplicaElectionResult};

use super::admin::allowed_and_ruled;
use super::words::code::{
    ELECTION_NOT_NEEDED, ELIGIBLE_LEADERS_NOT_AVAILABLE, NOT_CONTROLLER, PREFERRED_LEADER_NOT_AVAILABLE,
};
use super::words::{text, words};
use super::{Answer, Question, read, say};
use crate::scenario::action::ElectionType;
use crate::scenario::model::{Mode, Release};
use crate::world::{ElectionOutcome, World};

/// Runs an election. Without a list of partitions all are meant, and those that need none are not mentioned.
pub(super) fn elect_leaders(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, ElectLeadersRequestData);
    // Before KIP-460 (2.4) a partition that needs no election is fine, and always mentioned (seen on 2.3.1).
    let old = world.node(question.broker).is_some_and(|node| node.release < Release::V2_8);
    let all = request.topic_partitions.is_none();
    let wanted: Vec<(String, Vec<i32>)> = match request.topic_partitions {
        Some(topics) => topics.into_iter().map(|one| (one.topic.as_str().to_owned(), one.partitions)).collect(),
        None => world
            .topics()
            .iter()
            .map(|(name, topic)| (name.clone(), (0..).take(topic.partitions.len()).collect()))
            .collect(),
    };
    let kind = if request.election_type == 1 { ElectionType::Unclean } else { ElectionType::Preferred };
    let mut top = 0;
    let mut results: BTreeMap<String, Vec<PartitionResult>> = BTreeMap::new();
    match allowed_and_ruled(world, question) {
        Ok(()) => {
            for (topic, numbers) in &wanted {
                let outcomes = world.elect(topic, numbers, kind).unwrap_or_default();
                for (number, outcome) in outcomes {
                    let outcome = match outcome {
                        ElectionOutcome::NotNeeded if old => ElectionOutcome::Elected,
                        ElectionOutcome::NotNeeded if all => continue,
                        outcome => outcome,
                    };
                    results.entry(topic.clone()).or_default().push(result(world, topic, number, kind, outcome));
                }
            }
        }
        Err(Ok(later)) => return later,
        Err(Err(code)) => {
            // 41 comes with each partition, what concerns the whole request at the top as well (from version 1 on).
            top = if code == NOT_CONTROLLER || question.asked.version == 0 { 0 } else { code };
            for (topic, numbers) in wanted {
                let refused = |number| PartitionResult { partition_id: number, error_code: code, ..Default::default() };
                results.entry(topic).or_default().extend(numbers.into_iter().map(refused));
            }
        }
    }
    let replica_election_results = results
        .into_iter()
        .map(|(topic, partition_result)| ReplicaElectionResult {
            topic: text(&topic),
            partition_result,
            ..Default::default()
        })
        .collect();
    let answer = ElectLeadersResponseData { error_code: top, replica_election_results, ..Default::default() };
    say!(question, answer)
}

fn result(world: &World, topic: &str, number: i32, kind: ElectionType, outcome: ElectionOutcome) -> PartitionResult {
    let error_code = match (outcome, kind) {
        (ElectionOutcome::Elected, _) => 0,
        (ElectionOutcome::NotNeeded, _) => ELECTION_NOT_NEEDED,
        (ElectionOutcome::NoneEligible, ElectionType::Preferred) => PREFERRED_LEADER_NOT_AVAILABLE,
        (ElectionOutcome::NoneEligible, ElectionType::Unclean) => ELIGIBLE_LEADERS_NOT_AVAILABLE,
        (ElectionOutcome::Unknown, _) => 3,
    };
    let message = match (error_code, world.mode()) {
        (0, _) => None,
        (3, Mode::Zookeeper) => Some("The partition does not exist.".to_owned()),
        (3, Mode::Kraft) if world.topics().contains_key(topic) => {
            Some(format!("No such partition as {topic}-{number}"))
        }
        (3, Mode::Kraft) => Some(format!("No such topic as {topic}")),
        (PREFERRED_LEADER_NOT_AVAILABLE, Mode::Zookeeper) => Some(format!(
            "Failed to elect leader for partition {topic}-{number} under strategy \
             PreferredReplicaPartitionLeaderElectionStrategy"
        )),
        (ELIGIBLE_LEADERS_NOT_AVAILABLE, Mode::Zookeeper) => Some(format!(
            "Failed to elect leader for partition {topic}-{number} under strategy \
             OfflinePartitionLeaderElectionStrategy(true)"
        )),
        (code, _) => Some(words(code).to_owned()),
    };
    PartitionResult {
        partition_id: number,
        error_code,
        error_message: message.as_deref().map(text),
        ..Default::default()
    }
}
