//! The client's eye: the cluster as an ordinary client sees it, which asks whoever answers for all topics.

mod librdkafka;
mod properties;
mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio_util::task::TaskTracker;
use unstuck_diagnosis::snapshot::{
    ClientView, DataPartition, LEADERLESS_CAP, LeaderlessPartition, ONLY_IN_SYNC_CAP, STATE_TOPICS, Why,
};
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
        only_in_sync_on: BTreeMap::new(),
    };
    view.brokers.sort_unstable();
    for topic in topics {
        view.topic_count += 1;
        view.partition_count += topic.partitions.len();
        if topic.name == OFFSETS_TOPIC {
            view.offsets_topic_partitions = Some(topic.partitions.len());
            continue;
        }
        let state = STATE_TOPICS.contains(&topic.name);
        if state {
            view.state_topics.push(topic.name.to_owned());
        }
        for partition in topic.partitions {
            match partition.leader {
                None => {
                    view.leaderless_count += 1;
                    view.leaderless.push(LeaderlessPartition {
                        topic: topic.name.to_owned(),
                        partition: partition.number,
                        replicas: partition.replicas.to_vec(),
                        isr: partition.isr.to_vec(),
                    });
                }
                Some(leader) if partition.isr == [leader] => {
                    let only = view.only_in_sync_on.entry(leader).or_default();
                    let single = partition.replicas == [leader];
                    only.count += 1;
                    only.single_replica += usize::from(single);
                    only.state += usize::from(state);
                    only.state_single_replica += usize::from(state && single);
                    only.named.push(DataPartition { topic: topic.name.to_owned(), partition: partition.number });
                    // The names of a cluster with a million such partitions are not kept until all are counted.
                    if only.named.len() >= 2 * ONLY_IN_SYNC_CAP {
                        first(&mut only.named);
                    }
                }
                Some(_) => {}
            }
        }
    }
    view.state_topics.sort_unstable();
    view.only_in_sync_on.values_mut().for_each(|only| first(&mut only.named));
    view.leaderless.sort_unstable();
    view.leaderless.truncate(LEADERLESS_CAP);
    view
}

fn first(named: &mut Vec<DataPartition>) {
    let last = |one: &DataPartition| STATE_TOPICS.contains(&one.topic.as_str());
    named.sort_unstable_by(|a, b| (last(a), a).cmp(&(last(b), b)));
    named.truncate(ONLY_IN_SYNC_CAP);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn partition<'a>(number: i32, leader: i32, replicas: &'a [i32], isr: &'a [i32]) -> Partition<'a> {
        Partition { number, leader: (leader >= 0).then_some(leader), replicas, isr }
    }

    #[test]
    fn what_one_broker_alone_holds_in_sync_is_counted_and_named() {
        let logs: Vec<_> = (0..120).rev().map(|number| partition(number, 1, &[1], &[1])).collect();
        let orders = vec![
            partition(0, 1, &[1, 2], &[1]),
            partition(1, 2, &[2, 1], &[2, 1]),
            partition(2, -1, &[3], &[3]),
            partition(3, 2, &[2], &[2]),
        ];
        let offsets = vec![partition(0, 1, &[1], &[1])];
        let state = vec![partition(0, 2, &[2], &[2]), partition(1, 2, &[2, 1], &[2])];
        let topics = [("__transaction_state", state), ("logs", logs), ("orders", orders), (OFFSETS_TOPIC, offsets)];
        let topics = topics.into_iter().map(|(name, partitions)| Topic { name, partitions: partitions.into_iter() });
        let view = view(Timestamp::UNIX_EPOCH, [2, 1].into_iter(), topics);
        let only = &view.only_in_sync_on[&1];
        assert_eq!((only.count, only.single_replica, only.named.len()), (121, 120, ONLY_IN_SYNC_CAP));
        assert_eq!((only.named[0].topic.as_str(), only.named[0].partition), ("logs", 0));
        assert_eq!(only.named[ONLY_IN_SYNC_CAP - 1].partition, 49);
        let only = &view.only_in_sync_on[&2];
        assert_eq!((only.count, only.single_replica, only.state, only.state_single_replica), (3, 2, 2, 1));
        assert_eq!(only.named[0].topic, "orders", "what is not of coordinators is named first");
        assert_eq!(view.leaderless_count, 1, "what has no leader is no such partition");
        assert_eq!(view.only_in_sync_on.keys().copied().collect::<Vec<_>>(), [1, 2]);
    }
}
