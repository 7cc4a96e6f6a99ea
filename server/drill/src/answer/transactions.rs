//! DescribeProducers, ListTransactions and DescribeTransactions (KIP-664). The only transactions of a drill are those
//! that a scenario left open on a partition; no coordinator knows of them any more, which is what makes them hang.

use unstuck_wire::schema::describe_producers_response::{PartitionResponse, ProducerState, TopicResponse};
use unstuck_wire::schema::describe_transactions_response::TransactionState;
use unstuck_wire::schema::{
    DescribeProducersResponseData, DescribeTransactionsResponseData, ListTransactionsResponseData,
};

use super::quorum::BEGINNING;
use super::words::code::{
    INVALID_REQUEST, NOT_LEADER, TOPIC_DENIED, TRANSACTIONAL_ID_NOT_FOUND, UNKNOWN_TOPIC_OR_PARTITION,
};
use super::words::{text, words};
use super::{Answer, Question, read, say};
use crate::scenario::model::OpenTransaction;
use crate::world::World;

const STATES: [&str; 8] = [
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
];

/// Who has a transaction open; each replica says so, leader or not, others that they do not lead (`activeProducerState`).
pub(super) fn describe_producers(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, DescribeProducersRequestData);
    let Some(node) = world.node(question.broker) else { return Answer::Close };
    let topics = request
        .topics
        .into_iter()
        .map(|topic| {
            let name = topic.name.as_str();
            let partitions = topic
                .partition_indexes
                .iter()
                .map(|number| {
                    let error_code = match (question.forced, node.seen().partition(name, *number)) {
                        (Some(code), _) => code,
                        (None, _) if !world.may_describe_topic(name) => TOPIC_DENIED,
                        (None, None) => UNKNOWN_TOPIC_OR_PARTITION,
                        (None, Some(partition)) if !partition.replicas.contains(&question.broker) => NOT_LEADER,
                        (None, Some(_)) => 0,
                    };
                    let open = node.seen().partition(name, *number).filter(|_| error_code == 0);
                    let open = open.and_then(|partition| partition.open_transaction);
                    PartitionResponse {
                        active_producers: open.iter().map(producer).collect(),
                        partition_index: *number,
                        error_code,
                        error_message: (!matches!(error_code, 0 | NOT_LEADER)).then(|| text(words(error_code))),
                        ..Default::default()
                    }
                })
                .collect();
            TopicResponse { name: topic.name, partitions, ..Default::default() }
        })
        .collect();
    say!(question, DescribeProducersResponseData { topics, ..Default::default() })
}

/// A producer that has not been heard of since it began its transaction.
fn producer(open: &OpenTransaction) -> ProducerState {
    ProducerState {
        producer_id: open.producer_id,
        producer_epoch: 0,
        last_sequence: 0,
        last_timestamp: BEGINNING - i64::try_from(open.age.0.as_millis()).unwrap_or(0),
        coordinator_epoch: -1,
        current_txn_start_offset: open.start,
        ..Default::default()
    }
}

/// There are none.
pub(super) fn list(_: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, ListTransactionsRequestData);
    let unknown = request.state_filters.into_iter().filter(|state| !STATES.contains(&state.as_str())).collect();
    let answer = ListTransactionsResponseData {
        error_code: question.forced.unwrap_or_default(),
        unknown_state_filters: unknown,
        ..Default::default()
    };
    say!(question, answer)
}

/// The coordinator of an id says that it has no such transaction (105), which proves that it serves; others say 16.
pub(super) fn describe(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, DescribeTransactionsRequestData);
    let states = request
        .transactional_ids
        .into_iter()
        .map(|id| {
            let error_code = match world.serves_transactions(question.broker, id.as_str()) {
                _ if question.forced.is_some() => question.forced.unwrap_or_default(),
                _ if id.is_empty() => INVALID_REQUEST,
                Ok(()) => TRANSACTIONAL_ID_NOT_FOUND,
                Err(code) => code,
            };
            // Kafka's own class leaves all other fields at zero, not at -1.
            TransactionState { error_code, transactional_id: id, ..zeros() }
        })
        .collect();
    say!(question, DescribeTransactionsResponseData { transaction_states: states, ..Default::default() })
}

fn zeros() -> TransactionState {
    TransactionState {
        transaction_timeout_ms: 0,
        transaction_start_time_ms: 0,
        producer_id: 0,
        producer_epoch: 0,
        ..Default::default()
    }
}
