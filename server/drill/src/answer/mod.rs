//! Answers: one file per API turns a request into the answer that the asked broker would give, in the version that was
//! asked and as its release gives it. What is true is the [`World`]'s; how it is said is here.

mod admin;
mod alter_configs;
mod api_versions;
mod cluster;
mod describe_configs;
mod describe_groups;
mod describe_new_groups;
mod elections;
mod find_coordinator;
mod list_groups;
mod log_dirs;
mod logs;
mod members;
mod membership;
mod metadata;
mod offset_fetch;
mod offsets;
mod others;
mod quorum;
mod reassignments;
mod topic_partitions;
mod topics;
mod transactions;
pub(crate) mod words;

use std::time::Duration;

use bytes::BytesMut;
use unstuck_wire::serve::{self, Asked};

use crate::recorded::recorded;
use crate::world::{Node, World};

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// This body, after so long.
    Body(BytesMut, Duration),
    /// Not yet: ask again when the world has changed, or after so long at the latest.
    Wait(Duration),
    /// The connection is closed: what Kafka does with what it cannot read.
    Close,
}

/// A request that is being answered.
#[derive(Debug)]
pub struct Question<'a> {
    /// The broker that is asked.
    pub broker: i32,
    /// The request.
    pub asked: &'a Asked,
    /// The error code that a fault wants in the answer.
    pub forced: Option<i16>,
    /// How long the asker has waited already, since [`Answer::Wait`].
    pub waited: Duration,
    /// A number of the connection that it came on.
    pub connection: u64,
    /// The host that it came from, as Kafka shows it (`/127.0.0.1`).
    pub host: &'a str,
}

/// Reads the request of this type, or closes the connection.
macro_rules! read {
    ($question:expr, $type:ident) => {
        match unstuck_wire::schema::$type::read(&mut $question.asked.body.clone(), $question.asked.version) {
            Ok(request) => request,
            Err(error) => {
                tracing::debug!(broker = $question.broker, "unreadable {}: {error}", stringify!($type));
                return $crate::answer::Answer::Close;
            }
        }
    };
}

/// Writes the answer; what the version cannot say is a defect of ours, shown in the log.
macro_rules! say {
    ($question:expr, $answer:expr) => {{
        let mut body = bytes::BytesMut::new();
        match $answer.write(&mut body, $question.asked.version) {
            Ok(()) => $crate::answer::Answer::Body(body, std::time::Duration::ZERO),
            Err(error) => {
                tracing::error!(
                    api = $question.asked.api,
                    version = $question.asked.version,
                    "an answer cannot be written: {error}"
                );
                $crate::answer::Answer::Close
            }
        }
    }};
}

pub(crate) use {read, say};

/// The lowest and highest version of each API that a broker offers: those recorded of its release, as far as there is an
/// answer to them here.
pub fn offered(world: &World, node: &Node) -> Vec<(i16, (i16, i16))> {
    let keys = recorded(node.release, world.mode()).versions.keys();
    keys.filter_map(|key| Some((*key, offered_of(world, node, *key)?))).collect()
}

/// The same for one API; `None` if the broker does not offer it.
fn offered_of(world: &World, node: &Node, key: i16) -> Option<(i16, i16)> {
    handler(key)?;
    let (min, max) = *recorded(node.release, world.mode()).versions.get(&key)?;
    let (lowest, highest) = serve::spoken(key)?;
    // Version 0 of DescribeConfigs is written by hand: it is all that 1.0 offers.
    let lowest = if key == 32 { 0 } else { lowest };
    let range = (min.max(lowest), max.min(highest));
    (range.0 <= range.1).then_some(range)
}

type Handler = fn(&mut World, &Question<'_>) -> Answer;

/// Who answers an API.
fn handler(api: i16) -> Option<Handler> {
    Some(match api {
        1 => logs::fetch,
        2 => logs::list_offsets,
        3 => metadata::answer,
        9 => offset_fetch::answer,
        10 => find_coordinator::answer,
        15 => describe_groups::answer,
        16 => list_groups::answer,
        18 => api_versions::answer,
        23 => logs::offset_for_leader_epoch,
        24 => others::add_partitions_to_txn,
        32 => describe_configs::answer,
        60 => cluster::answer,
        69 => describe_new_groups::consumer,
        74 => others::list_config_resources,
        77 => describe_new_groups::share_group,
        89 => describe_new_groups::streams,
        8 => offsets::commit,
        11 => membership::join,
        12 => membership::heartbeat,
        13 => membership::leave,
        14 => membership::sync,
        19 => topics::create,
        20 => topics::delete,
        33 => alter_configs::replacing,
        35 => log_dirs::describe,
        37 => topics::grow,
        42 => offsets::delete_groups,
        43 => elections::elect_leaders,
        44 => alter_configs::incremental,
        45 => reassignments::alter,
        46 => reassignments::list,
        47 => offsets::delete,
        55 => quorum::describe,
        61 => transactions::describe_producers,
        65 => transactions::describe,
        66 => transactions::list,
        75 => topic_partitions::describe,
        _ => return None,
    })
}

/// Answers a request as the broker would.
pub fn answer(world: &mut World, question: &Question<'_>) -> Answer {
    let asked = question.asked;
    let Some(node) = world.node(question.broker) else { return Answer::Close };
    let range = offered_of(world, node, asked.api);
    match (handler(asked.api), range) {
        // ApiVersions answers in version 0 to a version that it does not know (KIP-511): its handler's business.
        (Some(handler), _) if asked.api == 18 => handler(world, question),
        (Some(handler), Some((min, max))) if (min..=max).contains(&asked.version) => handler(world, question),
        // `RequestContext.parseRequest` throws on an unsupported version, which closes the connection.
        _ => Answer::Close,
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod admin_tests;
