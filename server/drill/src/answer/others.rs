//! Requests that hardly anybody sends, and by which a release is known: AddPartitionsToTxn (key 24, version 4 marks 3.6)
//! and ListConfigResources (74, version 1 marks 4.1).

use unstuck_wire::schema::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use unstuck_wire::schema::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResult, AddPartitionsToTxnTopicResult,
};
use unstuck_wire::schema::list_config_resources_response::ConfigResource;
use unstuck_wire::schema::{AddPartitionsToTxnResponseData, ListConfigResourcesResponseData};

use super::words::{code, text};
use super::{Answer, Question, read, say};
use crate::world::World;

/// Nobody coordinates transactions here: no broker is the right one.
pub(super) fn add_partitions_to_txn(_world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, AddPartitionsToTxnRequestData);
    let error = question.forced.unwrap_or(code::NOT_COORDINATOR);
    let refused = |topics: &[AddPartitionsToTxnTopic]| -> Vec<AddPartitionsToTxnTopicResult> {
        let of_partition = |number: &i32| AddPartitionsToTxnPartitionResult {
            partition_index: *number,
            partition_error_code: error,
            ..AddPartitionsToTxnPartitionResult::default()
        };
        let of_topic = |topic: &AddPartitionsToTxnTopic| AddPartitionsToTxnTopicResult {
            name: topic.name.clone(),
            results_by_partition: topic.partitions.iter().map(of_partition).collect(),
            ..AddPartitionsToTxnTopicResult::default()
        };
        topics.iter().map(of_topic).collect()
    };
    let mut answer = AddPartitionsToTxnResponseData::default();
    if question.asked.version >= 4 {
        answer.results_by_transaction = request
            .transactions
            .iter()
            .map(|transaction| AddPartitionsToTxnResult {
                transactional_id: transaction.transactional_id.clone(),
                topic_results: refused(&transaction.topics),
                ..AddPartitionsToTxnResult::default()
            })
            .collect();
    } else {
        answer.results_by_topic_v3_and_below = refused(&request.v3_and_below_topics);
    }
    say!(question, answer)
}

/// Whatever can have settings: topics and brokers, of the types that are asked for (KIP-1142). Nobody has subscribed to
/// client metrics, and no group has settings of its own.
pub(super) fn list_config_resources(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, ListConfigResourcesRequestData);
    let mut answer = ListConfigResourcesResponseData::default();
    let error = question.forced.or_else(|| world.acl().cluster_hidden.then_some(code::CLUSTER_DENIED));
    if let Some(error) = error {
        return say!(question, answer.with_error_code(error));
    }
    let Some(node) = world.node(question.broker) else { return Answer::Close };
    if question.asked.version >= 1 {
        let wanted = |kind: i8| request.resource_types.is_empty() || request.resource_types.contains(&kind);
        let resource = |name: &str, kind: i8| ConfigResource {
            resource_name: text(name),
            resource_type: kind,
            ..ConfigResource::default()
        };
        if wanted(2) {
            let topics = node.seen().topics.keys().filter(|name| world.may_describe_topic(name));
            answer.config_resources.extend(topics.map(|name| resource(name, 2)));
        }
        for kind in [4, 8].into_iter().filter(|kind| wanted(*kind)) {
            answer.config_resources.extend(node.seen().brokers.keys().map(|id| resource(&id.to_string(), kind)));
        }
    }
    say!(question, answer)
}
