//! An independent witness of who serves which coordinator, many times a second: what Unstuck says is held against it.
//!
//! It asks each broker the way that Unstuck does (groups that do not exist, one for each partition), but with the tests'
//! own encoding and connections, and without any conclusion.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use unstuck_diagnosis::{BrokerId, PartitionId};

use crate::cluster::Cluster;
use crate::groups::ids_on_every_partition;
use crate::raw::Connection;

/// Each broker is asked again so long after it was asked last, or at once if it took longer.
const EVERY: Duration = Duration::from_millis(50);
/// A broker that does not answer for so long is asked again, over another connection.
const PATIENCE: Duration = Duration::from_secs(1);
/// A broker of which fewer looks than this ended in a stretch was not looked at closely enough to judge by.
const CLOSELY: usize = 3;

/// One question to one broker, and what came of it.
#[derive(Clone, Debug)]
pub struct Look {
    /// Whom.
    pub broker: BrokerId,
    /// When it was sent.
    pub began: Timestamp,
    /// When it was answered, refused or given up.
    pub ended: Timestamp,
    /// The partitions whose groups it coordinates; `None` if it did not answer.
    pub serves: Option<BTreeSet<PartitionId>>,
}

/// Asks all brokers of a cluster until it is dropped or stopped.
#[derive(Debug)]
pub struct Observer {
    stop: Arc<AtomicBool>,
    looks: Arc<Mutex<Vec<Look>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Observer {
    /// Starts to look at the offsets topic, which has so many partitions.
    #[must_use]
    pub fn start(cluster: &Cluster, partitions: i32) -> Self {
        let mut observer = Self { stop: Arc::default(), looks: Arc::default(), threads: Vec::new() };
        for broker in cluster.broker_ids() {
            let (stop, looks) = (Arc::clone(&observer.stop), Arc::clone(&observer.looks));
            let address = cluster.address(broker);
            observer.threads.push(std::thread::spawn(move || ask(broker, &address, partitions, &stop, &looks)));
        }
        observer
    }

    /// Ends, and returns what was seen.
    #[must_use]
    pub fn stop(mut self) -> Observed {
        self.end();
        let mut looks = std::mem::take(&mut *self.looks.lock().unwrap_or_else(PoisonError::into_inner));
        looks.sort_by_key(|look| look.ended);
        Observed { looks }
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _panicked = thread.join();
        }
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.end();
    }
}

fn ask(broker: BrokerId, address: &str, partitions: i32, stop: &AtomicBool, looks: &Mutex<Vec<Look>>) {
    let ids = ids_on_every_partition("observer", partitions);
    let of_group: BTreeMap<&str, PartitionId> = ids.iter().map(|(partition, id)| (id.as_str(), *partition)).collect();
    let groups: Vec<&str> = of_group.keys().copied().collect();
    let mut connection = None;
    while !stop.load(Ordering::Relaxed) {
        let began = Timestamp::now();
        let codes = look(&mut connection, address, &groups);
        let serves = codes.ok().map(|codes| {
            let served = codes.iter().filter(|(_, code)| *code == 0);
            served.filter_map(|(group, _)| of_group.get(group.as_str()).copied()).collect()
        });
        if serves.is_none() {
            connection = None;
        }
        let ended = Timestamp::now();
        looks.lock().unwrap_or_else(PoisonError::into_inner).push(Look { broker, began, ended, serves });
        let took = Duration::try_from(ended.duration_since(began)).unwrap_or_default();
        std::thread::sleep(EVERY.saturating_sub(took));
    }
}

fn look(connection: &mut Option<Connection>, address: &str, groups: &[&str]) -> Result<Vec<(String, i16)>> {
    let open = match connection {
        Some(open) => open,
        None => connection.insert(Connection::open(address, PATIENCE)?),
    };
    open.describe_missing(groups)
}

/// Who served a partition in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// At least one answer said so.
    Somebody,
    /// Each broker was asked several times, or hung all the time, and none said so.
    Nobody,
    /// It was not looked at closely enough.
    NotKnown,
}

/// What was seen.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Ordered by their end.
    looks: Vec<Look>,
}

impl Observed {
    /// Whether anybody served a partition at some time between two moments. A look that was under way at either of them counts.
    #[must_use]
    pub fn served(&self, brokers: &[BrokerId], partition: PartitionId, from: Timestamp, to: Timestamp) -> Served {
        let first = self.looks.partition_point(|look| look.ended < from);
        let within: Vec<&Look> = self.looks[first..]
            .iter()
            // No look takes longer than opening a connection and waiting for an answer.
            .take_while(|look| look.ended <= to + 2 * PATIENCE)
            .filter(|look| look.began <= to)
            .collect();
        if within.iter().any(|look| look.serves.as_ref().is_some_and(|serves| serves.contains(&partition))) {
            return Served::Somebody;
        }
        let closely = brokers.iter().all(|broker| {
            let mut of_broker = within.iter().filter(|look| look.broker == *broker);
            let hung = of_broker.clone().any(|look| look.began <= from && look.ended >= to);
            hung || of_broker.by_ref().filter(|look| look.began >= from && look.ended <= to).count() >= CLOSELY
        });
        if closely { Served::Nobody } else { Served::NotKnown }
    }

    /// How many looks were taken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.looks.len()
    }

    /// Whether none was taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.looks.is_empty()
    }

    /// The longest stretch in which nobody served a partition, and which.
    #[must_use]
    pub fn longest_gap(&self, partitions: i32) -> Option<(PartitionId, Timestamp, Timestamp)> {
        let gaps = (0..partitions).flat_map(|partition| {
            let serving =
                self.looks.iter().filter(move |look| look.serves.as_ref().is_some_and(|all| all.contains(&partition)));
            let ends: Vec<Timestamp> = serving.map(|look| look.ended).collect();
            let pairs: Vec<_> = ends.windows(2).map(|pair| (partition, pair[0], pair[1])).collect();
            pairs
        });
        gaps.max_by_key(|(_, from, to)| to.duration_since(*from))
    }
}
