//! The client's eye: the cluster as an ordinary client sees it, which asks whoever answers for all topics.

mod librdkafka;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio_util::task::TaskTracker;
use unstuck_diagnosis::snapshot::{ClientView, LEADERLESS_CAP, LeaderlessPartition, STATE_TOPICS, Why};
use unstuck_diagnosis::{BrokerId, OFFSETS_TOPIC};

use crate::ClientEye;
use crate::shared::Shared;

/// How long a metadata request may take. The thread of librdkafka notices a stop only after it.
const METADATA_DEADLINE: Duration = Duration::from_secs(3);

/// Starts to look.
pub(crate) fn start(shared: Arc<Shared>, tasks: &TaskTracker) {
    match shared.surroundings.client_eye {
        ClientEye::Librdkafka => librdkafka::start(shared),
        ClientEye::Wire => {
            tasks.spawn(async move {
                let stop = shared.stop.clone();
                stop.run_until_cancelled(wire::watch(&shared)).await;
            });
        }
    }
}

/// A topic as either eye tells it.
struct Topic<'a, P> {
    name: &'a str,
    partitions: P,
}

struct Partition<'a> {
    number: i32,
    leader: Option<BrokerId>,
    replicas: &'a [BrokerId],
    isr: &'a [BrokerId],
}

/// What is kept of an answer about all topics.
fn view<'a, P: ExactSizeIterator<Item = Partition<'a>>>(
    at: Timestamp,
    brokers: impl Iterator<Item = BrokerId>,
    topics: impl Iterator<Item = Topic<'a, P>>,
) -> ClientView {
    let mut view = ClientView {
        at,
        brokers: brokers.collect(),
        topic_count: 0,
        partition_count: 0,
        leaderless_count: 0,
        leaderless: Vec::new(),
        offsets_topic_partitions: None,
        state_topics: Vec::new(),
    };
    view.brokers.sort_unstable();
    for topic in topics {
        view.topic_count += 1;
        view.partition_count += topic.partitions.len();
        if topic.name == OFFSETS_TOPIC {
            view.offsets_topic_partitions = Some(topic.partitions.len());
            continue;
        }
        if STATE_TOPICS.contains(&topic.name) {
            view.state_topics.push(topic.name.to_owned());
        }
        for partition in topic.partitions.filter(|partition| partition.leader.is_none()) {
            view.leaderless_count += 1;
            view.leaderless.push(LeaderlessPartition {
                topic: topic.name.to_owned(),
                partition: partition.number,
                replicas: partition.replicas.to_vec(),
                isr: partition.isr.to_vec(),
            });
        }
    }
    view.state_topics.sort_unstable();
    view.leaderless.sort_unstable();
    view.leaderless.truncate(LEADERLESS_CAP);
    view
}

/// Publishes what the client saw, or its words about why it sees nothing; logs when that begins and ends.
fn publish(shared: &Shared, seen: Result<ClientView, String>, failing: &mut Option<String>) {
    let cluster = &shared.config.name;
    let failure = seen.as_ref().err().cloned();
    if failure != *failing {
        match &failure {
            Some(text) => tracing::warn!(cluster, "client: {text}"),
            None => tracing::info!(cluster, "client: answers again"),
        }
        *failing = failure;
    }
    shared.client(seen.map_err(Why::Client));
}
