//! DescribeCluster (key 60).

use unstuck_wire::schema::DescribeClusterResponseData;
use unstuck_wire::schema::describe_cluster_response::DescribeClusterBroker;

use super::metadata::controller;
use super::words::{cluster_operations, code, text};
use super::{Answer, Question, read, say};
use crate::scenario::model::Mode;
use crate::world::World;

pub(super) fn answer(world: &mut World, question: &Question<'_>) -> Answer {
    let request = read!(question, DescribeClusterRequestData);
    let version = question.asked.version;
    let mut answer = DescribeClusterResponseData::default();
    if version >= 1 && request.endpoint_type != 1 {
        // Brokers answer for brokers, controllers for controllers (KIP-919).
        let (error, words) = if request.endpoint_type == 2 {
            (
                code::MISMATCHED_ENDPOINT_TYPE,
                "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
            )
        } else {
            (code::UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type")
        };
        answer.error_code = error;
        answer.error_message = Some(text(words));
        return say!(question, answer);
    }
    if let Some(error) = question.forced {
        return say!(question, answer.with_error_code(error));
    }
    answer.controller_id = controller(world, question.broker);
    answer.cluster_id = text(world.cluster_id());
    if request.include_cluster_authorized_operations {
        answer.cluster_authorized_operations = cluster_operations(world);
    }
    let Some(node) = world.node(question.broker) else { return Answer::Close };
    answer.brokers = node
        .seen()
        .brokers
        .iter()
        .map(|(id, endpoint)| DescribeClusterBroker {
            broker_id: *id,
            host: text(&endpoint.host),
            port: i32::from(endpoint.port),
            rack: endpoint.rack.as_deref().map(text),
            ..DescribeClusterBroker::default()
        })
        .collect();
    if version >= 2 && request.include_fenced_brokers && world.mode() == Mode::Kraft {
        let fenced = world.brokers().filter(|one| !node.seen().brokers.contains_key(&one.id));
        answer.brokers.extend(fenced.map(|one| DescribeClusterBroker {
            broker_id: one.id,
            host: text(&one.advertised.0),
            port: i32::from(one.advertised.1),
            rack: one.rack.as_deref().map(text),
            is_fenced: true,
            ..DescribeClusterBroker::default()
        }));
        answer.brokers.sort_by_key(|one| one.broker_id);
    }
    say!(question, answer)
}
