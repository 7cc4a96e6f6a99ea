//! Topics and consumer groups on a test cluster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::{GroupId, OFFSETS_TOPIC, PartitionId};

use crate::cluster::Cluster;
use crate::eye::{Eye, PartitionSeen};
use crate::raw::Connection;
use crate::wait::wait_for;

/// How long one request of the tests may take.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

impl Cluster {
    /// The cluster as an ordinary client sees it.
    ///
    /// # Errors
    /// If the client library refuses the addresses.
    pub fn eye(&self) -> Result<Eye> {
        Eye::new(&self.running_bootstrap())
    }

    /// The offsets topic as an ordinary client sees it now; empty if it is not there.
    ///
    /// # Errors
    /// If no broker answers.
    pub fn offsets_topic(&self) -> Result<BTreeMap<PartitionId, PartitionSeen>> {
        self.eye()?.partitions(OFFSETS_TOPIC, REQUEST_TIMEOUT)
    }

    /// Makes the offsets topic (as the first consumer would) and waits until all its partitions have a leader and full ISR
    /// on every running broker.
    ///
    /// # Errors
    /// If no broker answers.
    pub async fn make_offsets_topic(&self) -> Result<()> {
        let addresses: Vec<String> = self.running_bootstrap().split(',').map(str::to_owned).collect();
        let first = addresses.first().context("no broker runs")?.clone();
        wait_for("the first FindCoordinator to be answered with a coordinator", async || {
            Connection::open(&first, REQUEST_TIMEOUT)?
                .find_coordinator("unstuck-tests")?
                .map_err(|code| anyhow::anyhow!("error {code}"))
        })
        .await;
        for address in &addresses {
            let eye = Eye::new(address)?;
            wait_for("every offsets partition to have a leader and all replicas in sync", async || {
                let seen = eye.partitions(OFFSETS_TOPIC, REQUEST_TIMEOUT).map_err(|error| format!("{error:#}"))?;
                let complete = !seen.is_empty()
                    && seen.values().all(|one| one.leader.is_some() && one.isr.len() == one.replicas.len());
                if complete { Ok(()) } else { Err(format!("{seen:?}")) }
            })
            .await;
        }
        Ok(())
    }

    /// Waits until all replicas of all offsets partitions are in sync.
    pub async fn wait_until_in_sync(&self) {
        wait_for("all offsets replicas to be in sync", async || {
            let topic = self.offsets_topic().map_err(|error| format!("{error:#}"))?;
            let behind = topic.values().filter(|partition| partition.isr.len() < partition.replicas.len()).count();
            if behind == 0 && !topic.is_empty() { Ok(()) } else { Err(format!("{behind} partitions are not in sync")) }
        })
        .await;
    }

    fn admin(&self) -> Result<AdminClient<DefaultClientContext>> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", self.running_bootstrap()).set("log_level", "0");
        config.create().context("creating an admin client")
    }

    /// Creates a topic and waits until it has leaders.
    ///
    /// # Errors
    /// If the cluster refuses.
    pub async fn create_topic(&self, name: &str, partitions: i32, replication_factor: i32) -> Result<()> {
        self.create(NewTopic::new(name, partitions, TopicReplication::Fixed(replication_factor))).await
    }

    /// Creates a topic whose partitions have these replicas, and waits until it has leaders.
    ///
    /// # Errors
    /// If the cluster refuses.
    pub async fn create_topic_on(&self, name: &str, replicas: &[Vec<i32>], settings: &[(&str, &str)]) -> Result<()> {
        let partitions = i32::try_from(replicas.len())?;
        let replicas: Vec<&[i32]> = replicas.iter().map(Vec::as_slice).collect();
        let topic = NewTopic::new(name, partitions, TopicReplication::Variable(&replicas));
        self.create(settings.iter().fold(topic, |topic, (name, value)| topic.set(name, value))).await
    }

    async fn create(&self, topic: NewTopic<'_>) -> Result<()> {
        let name = topic.name;
        let results = self.admin()?.create_topics([&topic], &AdminOptions::new()).await?;
        for result in results {
            result.map_err(|(topic, code)| anyhow::anyhow!("creating {topic}: {code}"))?;
        }
        let addresses = self.running_bootstrap();
        for address in addresses.split(',') {
            let eye = Eye::new(address)?;
            wait_for(format!("topic {name} to have leaders"), async || {
                let seen = eye.partitions(name, REQUEST_TIMEOUT).map_err(|error| format!("{error:#}"))?;
                let complete = !seen.is_empty() && seen.values().all(|one| one.leader.is_some());
                if complete { Ok(()) } else { Err(format!("{seen:?}")) }
            })
            .await;
        }
        Ok(())
    }

    /// Raises the number of partitions of a topic.
    ///
    /// # Errors
    /// If the cluster refuses.
    pub async fn add_partitions(&self, topic: &str, new_count: usize) -> Result<()> {
        let results =
            self.admin()?.create_partitions([&NewPartitions::new(topic, new_count)], &AdminOptions::new()).await?;
        for result in results {
            result.map_err(|(topic, code)| anyhow::anyhow!("adding partitions to {topic}: {code}"))?;
        }
        Ok(())
    }

    /// Makes groups by committing an offset for each, as simple consumers do; thousands take a second or two.
    /// The offsets topic must be there with leaders for all the groups' partitions, and `topic` too.
    ///
    /// # Errors
    /// If a coordinator refuses for good or does not answer.
    pub async fn commit_for(&self, groups: &[GroupId], topic: &str) -> Result<()> {
        let mut left: Vec<&GroupId> = groups.iter().collect();
        let mut last = String::new();
        for _ in 0..100 {
            let seen = self.offsets_topic()?;
            let count = i32::try_from(seen.len())?;
            let mut by_leader: BTreeMap<i32, Vec<&str>> = BTreeMap::new();
            for group in &left {
                let partition = partition_for(group, count).context("the offsets topic has no partitions")?;
                let leader = seen.get(&partition).and_then(|one| one.leader);
                by_leader.entry(leader.unwrap_or(-1)).or_default().push(group.as_str());
            }
            let mut failed = Vec::new();
            for (leader, ids) in by_leader {
                if leader < 0 {
                    failed.extend(ids.into_iter().map(|id| (id, -1)));
                    continue;
                }
                failed.extend(commit_side_by_side(&self.address(leader), &ids, topic)?);
            }
            if failed.is_empty() {
                return Ok(());
            }
            last = format!("{} groups, first {:?}", failed.len(), failed[0]);
            left.retain(|group| failed.iter().any(|(id, _)| *id == group.as_str()));
            // Coordinators are still loading: ask again.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::bail!("commits were refused again and again: {last}")
    }

    /// Commits an offset for one group at the coordinator that the running brokers name, once. The error code; 0 is success.
    ///
    /// # Errors
    /// If there is no coordinator or it does not answer in time.
    pub fn try_commit(&self, group: &GroupId, topic: &str, timeout: Duration) -> Result<i16> {
        let running = self.running_bootstrap();
        let any = running.split(',').next().context("no broker runs")?;
        let found = Connection::open(any, timeout)?.find_coordinator(group.as_str())?;
        match found {
            Ok(leader) => Connection::open(&self.address(leader), timeout)?.commit(group.as_str(), topic, 1),
            Err(code) => Ok(code),
        }
    }
}

/// A broker works on one request of a connection at a time, and a commit waits for its replicas: several connections
/// make thousands of groups quick.
fn commit_side_by_side<'a>(address: &str, ids: &[&'a str], topic: &str) -> Result<Vec<(&'a str, i16)>> {
    const CONNECTIONS: usize = 24;
    let share = ids.len().div_ceil(CONNECTIONS).max(1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = ids
            .chunks(share)
            .map(|chunk| scope.spawn(move || Connection::open(address, REQUEST_TIMEOUT)?.commit_many(chunk, topic)))
            .collect();
        let mut failed = Vec::new();
        for thread in threads {
            failed.extend(thread.join().map_err(|_| anyhow::anyhow!("a committing thread panicked"))??);
        }
        Ok(failed)
    })
}

/// One group id for each partition, made up as `prefix-N`.
#[must_use]
pub fn ids_on_every_partition(prefix: &str, partitions: i32) -> BTreeMap<PartitionId, GroupId> {
    let mut ids = BTreeMap::new();
    let wanted = usize::try_from(partitions).unwrap_or(0);
    let mut n = 0_u64;
    while ids.len() < wanted {
        let id = GroupId(format!("{prefix}-{n}"));
        if let Some(partition) = partition_for(&id, partitions) {
            ids.entry(partition).or_insert(id);
        }
        n += 1;
    }
    ids
}

/// A member of a group that stays until it is dropped.
#[derive(Debug)]
pub struct Member {
    leave: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Member {
    /// Joins a classic group of any protocol type, such as `connect`, as its only member.
    ///
    /// # Errors
    /// If the coordinator refuses.
    pub fn classic(cluster: &Cluster, group: &str, protocol_type: &str) -> Result<Self> {
        let mut connection = coordinator(cluster, group)?;
        let (member, generation) = connection.join(group, protocol_type)?;
        let group = group.to_owned();
        Ok(Self::beat(move || connection.heartbeat(&group, &member, generation).map(|_| ())))
    }

    /// Joins a streams group (KIP-1071) that reads `topic`. It speaks the protocol only: no Kafka Streams program runs.
    ///
    /// # Errors
    /// If the coordinator refuses.
    pub fn streams(cluster: &Cluster, group: &str, topic: &str) -> Result<Self> {
        let mut connection = coordinator(cluster, group)?;
        let member = "c3RyZWFtcy1tZW1iZXI";
        let mut epoch = connection.streams_heartbeat(group, member, 0, topic)?;
        ensure!(epoch > 0, "the streams group did not take its member: epoch {epoch}");
        let (group, topic) = (group.to_owned(), topic.to_owned());
        Ok(Self::beat(move || {
            epoch = connection.streams_heartbeat(&group, member, epoch, &topic)?;
            Ok(())
        }))
    }

    fn beat(mut heartbeat: impl FnMut() -> Result<()> + Send + 'static) -> Self {
        let leave = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&leave);
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) && heartbeat().is_ok() {
                std::thread::park_timeout(Duration::from_secs(1));
            }
        });
        Self { leave, thread: Some(thread) }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.leave.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _panicked = thread.join();
        }
    }
}

fn coordinator(cluster: &Cluster, group: &str) -> Result<Connection> {
    let running = cluster.running_bootstrap();
    let any = running.split(',').next().context("no broker runs")?;
    let id = Connection::open(any, REQUEST_TIMEOUT)?
        .find_coordinator(group)?
        .map_err(|code| anyhow::anyhow!("FindCoordinator of {group}: error {code}"))?;
    Connection::open(&cluster.address(id), REQUEST_TIMEOUT)
}
