//! Clusters that several tests use one after another, and what they all ask.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use tokio::sync::{Mutex, MutexGuard};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::lookup::GroupLookup;
use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::report::Status;
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::jars::{Release, workspace_folder};

/// A cluster that is started for the first test that asks for it, and lent to one test at a time.
pub(super) struct Shared {
    cluster: Mutex<Option<Cluster>>,
}

impl Shared {
    const fn new() -> Self {
        Self { cluster: Mutex::const_new(None) }
    }

    /// The cluster, all brokers running, whatever the test before left behind.
    async fn lend(&self, release: Release, options: Options) -> Result<Lent<'_>> {
        let mut cluster = self.cluster.lock().await;
        match cluster.as_ref() {
            Some(running) => {
                running.heal().await?;
                running.lead_as_preferred().await;
            }
            None => {
                let started = Cluster::start(release, options).await?;
                started.make_offsets_topic().await?;
                started.create_topic("orders", 3, 3).await?;
                *cluster = Some(started);
            }
        }
        Ok(Lent(cluster))
    }
}

/// A shared cluster, for one test.
pub(super) struct Lent<'a>(MutexGuard<'a, Option<Cluster>>);

impl std::ops::Deref for Lent<'_> {
    type Target = Cluster;
    fn deref(&self) -> &Cluster {
        self.0.as_ref().expect("it was started before it was lent")
    }
}

/// Three combined KRaft nodes of 4.1.1, offsets topic with RF 3 and min ISR 2, topic `orders` with RF 3, all group types.
pub(super) async fn kraft_rf3() -> Result<Lent<'static>> {
    static CLUSTER: Shared = Shared::new();
    let options = Options { min_insync_replicas: 2, share_and_streams: true, ..Options::default() };
    CLUSTER.lend(Release::V4_1_1, options).await
}

/// Three brokers of 3.9.1 with ZooKeeper, offsets topic with RF 3 and min ISR 2, topic `orders` with RF 3.
pub(super) async fn zookeeper_rf3() -> Result<Lent<'static>> {
    static CLUSTER: Shared = Shared::new();
    CLUSTER.lend(Release::V3_9_1, Options { min_insync_replicas: 2, ..Options::default() }).await
}

/// The shared cluster of this release.
pub(super) async fn rf3(release: Release) -> Result<Lent<'static>> {
    match release {
        Release::V4_1_1 => kraft_rf3().await,
        Release::V3_9_1 => zookeeper_rf3().await,
        Release::V2_8_2 => anyhow::bail!("no tests share a cluster of 2.8.2"),
    }
}

/// Whether commits and lookups of a group with this verdict go through.
pub(super) fn works(status: Status) -> bool {
    matches!(status, Status::Working | Status::AtRisk | Status::LookAtGroup)
}

/// The leaders of partitions, as `kafka-topics.sh --describe` tells them.
pub(super) fn leaders_in(described: &str) -> BTreeMap<i32, i32> {
    let number =
        |line: &str, word: &str| -> Option<i32> { line.split_once(word)?.1.split_whitespace().next()?.parse().ok() };
    described.lines().filter_map(|line| Some((number(line, "Partition: ")?, number(line, "Leader: ")?))).collect()
}

/// A group whose name begins with `orders-`, on a partition of `__consumer_offsets` with a leader that is wanted.
pub(super) fn group_on(leaders: &BTreeMap<i32, i32>, wanted: impl Fn(i32) -> bool) -> Result<GroupId> {
    let count = i32::try_from(leaders.len())?;
    let mut ids = (0..1_000).map(|n| GroupId::from(format!("orders-{n}").as_str()));
    let on = |id: &GroupId| partition_for(id, count).and_then(|partition| leaders.get(&partition).copied());
    ids.find(|id| on(id).is_some_and(&wanted)).context("no such group")
}

/// Adds rows to the table of who sees what, which `make test` prints.
pub(super) fn add_to_matrix(name: &str, rows: &str) -> Result<()> {
    let folder = workspace_folder().join("target/matrix");
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join(name), rows)?)
}

/// Group and status of each answer, for messages.
pub(super) fn statuses(results: &[GroupLookup]) -> Vec<(String, Status)> {
    results.iter().map(|result| (result.group.to_string(), result.verdict.status)).collect()
}

/// An id for a URL's query.
pub(super) fn percent_encoded(id: &GroupId) -> String {
    id.as_str().bytes().map(|byte| format!("%{byte:02X}")).collect()
}
