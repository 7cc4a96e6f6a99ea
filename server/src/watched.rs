//! The clusters that are being looked at, and what was published about each last: what pages, API and live events read.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::watch;
use unstuck_app::{DrillState, History, IncidentView, Source};
use unstuck_diagnosis::history::{Incident, IncidentId, Moment, Subject};
use unstuck_diagnosis::lookup::GroupDetail;
use unstuck_diagnosis::transactional::TransactionDetail;
use unstuck_diagnosis::{BrokerId, GroupId, Published};
use unstuck_drill::serve::Drill;
use unstuck_store::Store;

use crate::drill;
use crate::incidents;
use crate::problem::Problem;
use crate::record::{Keeper, Recording, RecordingOf};
use crate::replay::Player;
use crate::traces::Traces;

/// What is said where nothing outlives a restart.
const NOTHING_KEPT: &str = "Unstuck was started with --store none: it keeps neither history nor incidents.";
/// How many ids that do not fit a URL are remembered for their page links.
const LONG_IDS: usize = 256;

/// Asks a group's coordinator for members and offsets, with a deadline of its own.
pub type AskDetail = Arc<dyn Fn(GroupId, BrokerId) -> BoxFuture<'static, Result<GroupDetail, String>> + Send + Sync>;

/// Asks a transactional id's coordinator how its transaction stands, with a deadline of its own.
pub type AskTransaction =
    Arc<dyn Fn(GroupId, BrokerId) -> BoxFuture<'static, Result<TransactionDetail, String>> + Send + Sync>;

/// One cluster that is being looked at.
#[derive(Clone)]
pub struct WatchedCluster {
    /// What was published last.
    pub published: watch::Receiver<Arc<Published>>,
    /// Whether a first look was complete: every broker tried, every fact known or unavailable.
    pub settled: Arc<AtomicBool>,
    /// How details of one group are asked for.
    pub ask_detail: AskDetail,
    /// How a transaction is asked for.
    pub ask_transaction: AskTransaction,
    /// How recording stands; `None` if nothing is recorded.
    pub recording: Option<watch::Receiver<RecordingOf>>,
}

/// All clusters of this run, by name. They come and go when the configuration is read again.
pub struct Watched {
    clusters: RwLock<BTreeMap<String, WatchedCluster>>,
    /// Clusters that were looked at once, and until when.
    ended: Mutex<BTreeMap<String, Timestamp>>,
    /// Another number whenever a cluster has come or gone.
    generation: watch::Sender<u64>,
    /// Pasted ids that do not fit a URL, newest last.
    long_ids: Mutex<VecDeque<GroupId>>,
    drill: Option<Arc<Drill>>,
    /// Earlier looks at the inside of groups.
    traces: Traces,
    /// What outlives a restart.
    keeper: Option<Arc<Keeper>>,
    /// The recording that is shown, if no cluster is looked at.
    replay: Option<Arc<Player>>,
}

impl Watched {
    /// The clusters by name.
    #[must_use]
    pub fn new(clusters: BTreeMap<String, WatchedCluster>) -> Self {
        Self {
            clusters: RwLock::new(clusters),
            ended: Mutex::default(),
            generation: watch::Sender::new(0),
            long_ids: Mutex::default(),
            drill: None,
            traces: Traces::default(),
            keeper: None,
            replay: None,
        }
    }

    /// With the drill that the only cluster is: pages say so, and have its switches.
    #[must_use]
    pub fn with_drill(mut self, drill: Arc<Drill>) -> Self {
        self.drill = Some(drill);
        self
    }

    /// With the recording that is shown: pages say so, and have its buttons.
    #[must_use]
    pub(crate) fn with_replay(mut self, player: Arc<Player>) -> Self {
        self.replay = Some(player);
        self
    }

    /// The recording that is shown, if one is.
    pub(crate) fn replay(&self) -> Option<&Arc<Player>> {
        self.replay.as_ref()
    }

    /// What outlives a restart, if anything does.
    pub(crate) fn keeper(&self) -> Option<&Arc<Keeper>> {
        self.keeper.as_ref()
    }

    /// What is known of a cluster here, at this moment.
    fn get(&self, cluster: &str) -> Option<WatchedCluster> {
        self.clusters.read().unwrap_or_else(PoisonError::into_inner).get(cluster).cloned()
    }

    /// All of them, at this moment.
    fn all(&self) -> BTreeMap<String, WatchedCluster> {
        self.clusters.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins to show a cluster.
    pub(crate) fn begin(&self, cluster: String, watched: WatchedCluster) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).remove(&cluster);
        self.clusters.write().unwrap_or_else(PoisonError::into_inner).insert(cluster, watched);
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// No longer shows a cluster; its pages say so.
    pub(crate) fn end(&self, cluster: &str, at: Timestamp) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).insert(cluster.to_owned(), at);
        self.clusters.write().unwrap_or_else(PoisonError::into_inner).remove(cluster);
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Changes whenever a cluster has come or gone.
    pub(crate) fn generation(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// The problem that there is no such cluster, or no longer.
    pub(crate) fn unknown(&self, cluster: &str) -> Problem {
        Problem::unknown_cluster(cluster, &self.names(), self.no_longer(cluster).as_deref())
    }

    /// Under which name a cluster is kept.
    pub(crate) fn kept_as(&self, cluster: &str) -> Option<String> {
        let recording = self.get(cluster)?.recording?;
        let key = recording.borrow().key.clone();
        Some(key)
    }

    /// How recording a cluster stands; `None` if nothing is recorded.
    pub(crate) fn recording(&self, cluster: &str) -> Option<Recording> {
        let recording = self.get(cluster)?.recording?;
        let now = recording.borrow().recording.clone();
        Some(now)
    }

    /// With what outlives a restart: history and incidents can be read.
    #[must_use]
    pub fn with_keeper(mut self, keeper: Option<Arc<Keeper>>) -> Self {
        self.keeper = keeper;
        self
    }

    fn store(&self) -> Result<Arc<dyn Store>, String> {
        self.keeper.as_ref().ok_or_else(|| NOTHING_KEPT.to_owned())?.store()
    }

    /// The drill, if the only cluster is one.
    #[must_use]
    pub fn drill(&self) -> Option<&Arc<Drill>> {
        self.drill.as_ref()
    }

    /// The names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.all().into_keys().collect()
    }

    /// What was published last about a cluster.
    #[must_use]
    pub fn newest(&self, cluster: &str) -> Option<Arc<Published>> {
        self.get(cluster).map(|watched| Arc::clone(&watched.published.borrow()))
    }

    /// Receivers of what is published from now on, by cluster name.
    #[must_use]
    pub fn receivers(&self) -> BTreeMap<String, watch::Receiver<Arc<Published>>> {
        self.all().into_iter().map(|(name, watched)| (name, watched.published)).collect()
    }

    /// Clusters whose first look is not complete yet.
    #[must_use]
    pub fn not_settled(&self) -> Vec<String> {
        let waiting = self.all().into_iter().filter(|(_, watched)| !watched.settled.load(Ordering::Relaxed));
        waiting.map(|(name, _)| name).collect()
    }

    /// Remembers an id that does not fit a URL, so that its digest leads back to it. The oldest ones make room.
    pub fn remember_long_id(&self, group: GroupId) {
        let mut ids = self.long_ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.retain(|known| *known != group);
        if ids.len() == LONG_IDS {
            ids.pop_front();
        }
        ids.push_back(group);
    }
}

impl Source for Watched {
    fn clusters(&self) -> Vec<Arc<Published>> {
        self.all().values().map(|watched| Arc::clone(&watched.published.borrow())).collect()
    }

    fn published(&self, cluster: &str) -> Option<Arc<Published>> {
        self.newest(cluster)
    }

    fn no_longer(&self, cluster: &str) -> Option<String> {
        let at = *self.ended.lock().unwrap_or_else(PoisonError::into_inner).get(cluster)?;
        let at = unstuck_diagnosis::time::at(at, Timestamp::now());
        Some(format!("It was taken out of the configuration, and not looked at since {at}."))
    }

    fn drill(&self) -> Option<DrillState> {
        self.drill.as_deref().map(drill::state::state)
    }

    fn group_by_digest(&self, cluster: &str, digest: &str) -> Option<GroupId> {
        let matches = |id: &&GroupId| id.needs_digest() && id.digest() == digest;
        let pasted = self.long_ids.lock().unwrap_or_else(PoisonError::into_inner).iter().find(matches).cloned();
        // A link may outlive the paste (and the process): any group that was ever listed is found by its digest too.
        pasted.or_else(|| self.newest(cluster)?.memory.groups.by_id.keys().find(matches).cloned())
    }

    fn group_detail(&self, cluster: &str, group: &GroupId) -> BoxFuture<'_, Result<GroupDetail, String>> {
        let Some(watched) = self.get(cluster) else {
            return futures::future::ready(Err(format!("there is no cluster named {cluster}"))).boxed();
        };
        let newest = Arc::clone(&watched.published.borrow());
        let lookup = newest.lookup_one(group);
        match lookup.coordinator.as_ref().and_then(|coordinator| coordinator.leader) {
            Some(leader) => {
                let asked = (watched.ask_detail)(group.clone(), leader);
                async move {
                    let mut detail = asked.await?;
                    self.traces.complete(&newest, &lookup, &mut detail);
                    Ok(detail)
                }
                .boxed()
            }
            None => futures::future::ready(Err("there is no coordinator to ask".to_owned())).boxed(),
        }
    }

    fn transaction_detail(&self, cluster: &str, id: &GroupId) -> BoxFuture<'_, Result<TransactionDetail, String>> {
        let Some(watched) = self.get(cluster) else {
            return futures::future::ready(Err(format!("there is no cluster named {cluster}"))).boxed();
        };
        let newest = Arc::clone(&watched.published.borrow());
        let mut answers = newest.lookup_transactional(std::slice::from_ref(id)).results;
        match answers.pop().and_then(|answer| answer.coordinator?.leader) {
            Some(leader) => (watched.ask_transaction)(id.clone(), leader),
            None => futures::future::ready(Err("there is no coordinator to ask".to_owned())).boxed(),
        }
    }

    fn keeps(&self) -> bool {
        self.keeper.is_some()
    }

    fn not_remembered(&self, cluster: &str) -> Option<String> {
        self.recording(cluster)?.not_remembered(Timestamp::now())
    }

    fn history(
        &self,
        cluster: &str,
        subjects: &[Subject],
        before: Option<Timestamp>,
    ) -> BoxFuture<'_, Result<History, String>> {
        let (key, subjects) = (self.kept_as(cluster), subjects.to_vec());
        async move {
            let key = key.ok_or_else(|| NOTHING_KEPT.to_owned())?;
            let store = self.store()?;
            incidents::history(&*store, &key, &subjects, before).await.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn incidents(
        &self,
        cluster: Option<&str>,
        before: Option<Timestamp>,
    ) -> BoxFuture<'_, Result<Vec<Incident>, String>> {
        let key = cluster.map(|cluster| self.kept_as(cluster).unwrap_or_else(|| cluster.to_owned()));
        async move {
            let listed = self.store()?.incidents(key.as_deref(), before, incidents::PAGE).await;
            listed.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn incident(&self, id: &str, moment: Option<Moment>) -> BoxFuture<'_, Result<Option<IncidentView>, String>> {
        let id = IncidentId(id.to_owned());
        async move {
            let store = self.store()?;
            let now = |cluster: &str| self.newest(cluster);
            incidents::view(&*store, &id, moment, now).await.map_err(|error| error.to_string())
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clusters, healthy};

    fn watched() -> Watched {
        let long = "é".repeat(3_000);
        Watched::new(clusters([healthy("kafka", &["orders", &long])]))
    }

    #[test]
    fn a_long_id_is_found_by_its_digest_whether_pasted_or_listed() {
        let watched = watched();
        let listed = GroupId("é".repeat(3_000));
        assert_eq!(watched.group_by_digest("kafka", &listed.digest()), Some(listed));
        let pasted = GroupId("x".repeat(5_000));
        assert_eq!(watched.group_by_digest("kafka", &pasted.digest()), None);
        watched.remember_long_id(pasted.clone());
        assert_eq!(watched.group_by_digest("kafka", &pasted.digest()), Some(pasted));
        assert_eq!(
            watched.group_by_digest("kafka", &GroupId::from("orders").digest()),
            None,
            "short ids have links of their own"
        );
    }

    #[test]
    fn pasted_long_ids_do_not_pile_up() {
        let watched = watched();
        let id = |n: usize| GroupId(format!("{n:->3000}"));
        for n in 0..=LONG_IDS {
            watched.remember_long_id(id(n));
        }
        assert_eq!(watched.group_by_digest("kafka", &id(0).digest()), None);
        assert_eq!(watched.group_by_digest("kafka", &id(1).digest()), Some(id(1)));
    }
}
