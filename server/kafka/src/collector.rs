//! Puts together what the probe and the client's eye see, and publishes it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::task::TaskTracker;
use unstuck_diagnosis::lookup::GroupDetail;
use unstuck_diagnosis::snapshot::{BrokerSight, Observed, Snapshot};
use unstuck_diagnosis::transactional::TransactionDetail;
use unstuck_diagnosis::{BrokerId, GroupId};

use crate::shared::{Shared, partition_count, speaks_for_controller};
use crate::{ClusterConfig, DetailError, Surroundings, client, detail, probe};

/// Changes within this time are published together.
const COALESCE: Duration = Duration::from_millis(10);
/// The longest time between two snapshots.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Looks at one cluster until it is shut down.
#[derive(Debug)]
pub struct Collector {
    shared: Arc<Shared>,
    snapshots: watch::Receiver<Arc<Snapshot>>,
    tasks: TaskTracker,
}

impl Collector {
    /// Starts to look; spawns its tasks on the current tokio runtime.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn start(config: ClusterConfig) -> Self {
        Self::start_with(config, Surroundings::default())
    }

    /// As [`start`](Self::start), in other surroundings than the real ones: for drills and their checks.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn start_with(config: ClusterConfig, surroundings: Surroundings) -> Self {
        let shared = Arc::new(Shared::new(config, surroundings));
        let (sender, snapshots) = watch::channel(Arc::new(shared.snapshot()));
        let tasks = TaskTracker::new();
        tasks.spawn(probe::supervise(Arc::clone(&shared), tasks.clone()));
        tasks.spawn(publish(Arc::clone(&shared), sender));
        client::start(Arc::clone(&shared), &tasks);
        Self { shared, snapshots, tasks }
    }

    /// The newest snapshot: a new one at once when facts that matter change, and at least once a second.
    #[must_use]
    pub fn snapshots(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshots.clone()
    }

    /// Whether the first look is complete: every way in and every broker there is has been tried, and every fact about
    /// it is known or unavailable. What the client sees is waited for only if no broker answers the probe.
    #[must_use]
    pub fn settled(snapshot: &Snapshot) -> bool {
        let ways_tried = snapshot.bootstrap.values().all(|sight| asked(&sight.answer));
        let answering = snapshot.brokers.values().any(|sight| sight.metadata.known().is_some());
        ways_tried
            && (answering || asked(&snapshot.client))
            && snapshot.brokers.iter().all(|(id, sight)| settled(snapshot, *id, sight))
    }

    /// Takes every look at once instead of waiting for its turn.
    pub fn look_now(&self) {
        self.shared.nudge_all();
    }

    /// Members and committed offsets of one group, asked from its coordinator now. Offsets whose end no partition
    /// leader told in time come without end and lag.
    ///
    /// # Errors
    /// If the coordinator cannot be reached, does not answer within `deadline`, or refuses.
    pub async fn group_detail(
        &self,
        group: &GroupId,
        coordinator: BrokerId,
        deadline: Duration,
    ) -> Result<GroupDetail, DetailError> {
        detail::fetch(&self.shared, group, coordinator, deadline).await
    }

    /// How the transaction of one transactional id stands, asked from its coordinator now.
    ///
    /// # Errors
    /// If the coordinator cannot be reached, is below 3.0, does not answer within `deadline`, or refuses.
    pub async fn transaction_detail(
        &self,
        id: &GroupId,
        coordinator: BrokerId,
        deadline: Duration,
    ) -> Result<TransactionDetail, DetailError> {
        detail::transaction::fetch(&self.shared, id, coordinator, deadline).await
    }

    /// Stops to look, and closes all connections of the probe. The client's own thread ends within seconds by itself.
    pub async fn shutdown(self) {
        self.shared.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}

fn asked<T>(fact: &Observed<T>) -> bool {
    !matches!(fact, Observed::NotAsked)
}

fn settled(snapshot: &Snapshot, id: BrokerId, sight: &BrokerSight) -> bool {
    if sight.contact.trouble.is_some() || sight.address.is_none() {
        return true;
    }
    let brokers = || snapshot.brokers.iter().map(|(id, sight)| (*id, sight));
    let sees_partitions = sight.metadata.known().is_some_and(|view| partition_count(view).is_some());
    asked(&sight.metadata)
        && asked(&sight.groups)
        && asked(&sight.configs)
        && asked(&sight.topic_configs)
        && asked(&sight.coordinators)
        && asked(&sight.describe_cluster_permitted)
        && asked(&sight.state_topic_configs)
        && asked(&sight.log_dirs)
        && asked(&sight.open_transactions)
        && asked(&sight.producers)
        && (asked(&sight.reassignments) || !speaks_for_controller(brokers(), id))
        && (sight.kraft != Some(true) || asked(&sight.quorum))
        && (!sees_partitions || !sight.canaries.is_empty() || sight.canaries_unanswered_since.is_some())
}

async fn publish(shared: Arc<Shared>, sender: watch::Sender<Arc<Snapshot>>) {
    let mut heartbeat = interval(HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = shared.stop.cancelled() => return,
            () = shared.changed.notified() => sleep(COALESCE).await,
            _ = heartbeat.tick() => {}
        }
        heartbeat.reset();
        sender.send_replace(Arc::new(shared.snapshot()));
    }
}
