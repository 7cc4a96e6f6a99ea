//! One task per cluster: newest snapshot → memory → diagnosis → one published value.

use std::hash::{BuildHasher, RandomState};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use unstuck_diagnosis::memory::Memory;
use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::snapshot::Snapshot;
use unstuck_diagnosis::{GroupId, Input, Published, Seq, diagnose};
use unstuck_kafka::{ClusterConfig, Collector};

use crate::record::{Inbox, Keeper, Recording, RecordingOf, record};
use crate::watched::WatchedCluster;

/// How long a group's members and offsets may take; the verdict never waits for them.
const DETAIL_DEADLINE: Duration = Duration::from_secs(3);
/// Pause before a cluster's task begins again after a panic.
const PAUSE_AFTER_PANIC: Duration = Duration::from_secs(1);
/// How long a collector may take to end its tasks.
const COLLECTOR_SHUTDOWN: Duration = Duration::from_millis(300);

/// How long a new look may take to begin, after the configuration of a cluster changed, before what it shows is published
/// although it is incomplete.
const BEGINNING: Duration = Duration::from_secs(15);

/// The collector that looks now. Weak: a request under way must not keep it from ending.
type Current = Arc<Mutex<Weak<Collector>>>;

/// A name of this run that no other run has; see [`Seq`].
#[must_use]
pub fn boot_id() -> String {
    // RandomState is keyed by the operating system's randomness; nothing secret hangs on it.
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

/// Starts looking at a cluster, and recording what is seen if there is a keeper. The first value is there at once: a report that says that nothing was seen yet.
/// Ends its task (tracked by `tasks`) when `shutdown` is cancelled.
pub fn watch_cluster(
    config: ClusterConfig,
    boot: &str,
    tasks: &TaskTracker,
    shutdown: &CancellationToken,
    keeper: Option<&Arc<Keeper>>,
) -> WatchedCluster {
    let (_never, config) = watch::channel(config);
    watch_changing(config, boot, tasks, shutdown, keeper)
}

/// The same for a cluster whose configuration may change. Another collector looks then; what is known stays, and what the
/// old one saw is published until the new one has looked once.
pub(crate) fn watch_changing(
    mut configs: watch::Receiver<ClusterConfig>,
    boot: &str,
    tasks: &TaskTracker,
    shutdown: &CancellationToken,
    keeper: Option<&Arc<Keeper>>,
) -> WatchedCluster {
    let config = configs.borrow_and_update().clone();
    let cluster = config.name.clone();
    let inbox = Inbox::default();
    let collector = Arc::new(Collector::start(config));
    let mut snapshots = collector.snapshots();
    let first = Arc::clone(&snapshots.borrow_and_update());
    let seq = Seq { boot: boot.to_owned(), n: 0 };
    let begun = next_value(seq, Arc::clone(&first), Memory::new(first.taken_at), Timestamp::now());
    let (publish, published) = watch::channel(Arc::new(begun));
    let settled = Arc::new(AtomicBool::new(Collector::settled(&first)));
    let current: Current = Arc::new(Mutex::new(Arc::downgrade(&collector)));
    let (for_groups, for_transactions) = (Arc::clone(&current), Arc::clone(&current));
    let for_members = inbox.clone();
    let ask_detail = Arc::new(move |group: GroupId, coordinator| {
        let (collector, inbox) = (now(&for_groups), for_members.clone());
        async move {
            let collector = collector.ok_or("Unstuck no longer looks at this cluster")?;
            let asked = collector.group_detail(&group, coordinator, DETAIL_DEADLINE).await;
            let detail = asked.map_err(|error| error.to_string())?;
            inbox.put_members(group, &detail);
            Ok(detail)
        }
        .boxed()
    });
    let ask_transaction = Arc::new(move |id, coordinator| {
        let collector = now(&for_transactions);
        async move {
            let collector = collector.ok_or("Unstuck no longer looks at this cluster")?;
            let asked = collector.transaction_detail(&id, coordinator, DETAIL_DEADLINE).await;
            asked.map_err(|error| error.to_string())
        }
        .boxed()
    });
    let recording = keeper.map(|keeper| {
        let (status, recording) = watch::channel(RecordingOf { key: cluster.clone(), recording: Recording::default() });
        let settled = Arc::clone(&settled);
        tasks.spawn(record(
            Arc::clone(keeper),
            cluster,
            published.clone(),
            settled,
            inbox.clone(),
            status,
            shutdown.clone(),
        ));
        recording
    });
    let (shutdown, watched_settled) = (shutdown.clone(), Arc::clone(&settled));
    tasks.spawn(async move {
        let mut collector = collector;
        loop {
            let config = tokio::select! {
                () = shutdown.cancelled() => break,
                () = publish_for_ever(&mut snapshots, &publish, &settled, &inbox) => break,
                config = changed(&mut configs) => config,
            };
            let next = Arc::new(Collector::start(config));
            let mut seen = next.snapshots();
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = publish_for_ever(&mut snapshots, &publish, &settled, &inbox) => {}
                _ = tokio::time::timeout(BEGINNING, looked_once(&mut seen)) => {}
            }
            *current.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&next);
            end(std::mem::replace(&mut collector, next)).await;
            settled.store(Collector::settled(&seen.borrow()), Ordering::Relaxed);
            snapshots = seen;
            snapshots.mark_changed();
        }
        end(collector).await;
        // Open pages ask again, and are told what became of the cluster.
        publish.send_modify(|last| {
            let Published { seq, snapshot, report, memory } = (**last).clone();
            *last = Arc::new(Published { seq: Seq { n: seq.n + 1, ..seq }, snapshot, report, memory });
        });
    });
    WatchedCluster { published, settled: watched_settled, ask_detail, ask_transaction, recording }
}

/// The collector that looks now; `None` when looking has ended.
fn now(current: &Current) -> Option<Arc<Collector>> {
    current.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
}

/// Waits for another configuration.
async fn changed(configs: &mut watch::Receiver<ClusterConfig>) -> ClusterConfig {
    if configs.changed().await.is_err() {
        // It is the last one.
        std::future::pending::<()>().await;
    }
    configs.borrow_and_update().clone()
}

/// Waits until a collector has tried every broker.
async fn looked_once(snapshots: &mut watch::Receiver<Arc<Snapshot>>) {
    while !Collector::settled(&snapshots.borrow_and_update()) {
        if snapshots.changed().await.is_err() {
            return;
        }
    }
}

/// Ends a collector, unless a request under way still has it: it ends with that.
async fn end(collector: Arc<Collector>) {
    if let Some(collector) = Arc::into_inner(collector)
        && tokio::time::timeout(COLLECTOR_SHUTDOWN, collector.shutdown()).await.is_err()
    {
        tracing::debug!("a collector did not end in time");
    }
}

/// Publishes until the collector ends. A panic is logged, and looking goes on from what was published last:
/// a defect met in one cluster must neither silence the others nor this one for ever.
async fn publish_for_ever(
    snapshots: &mut watch::Receiver<Arc<Snapshot>>,
    publish: &watch::Sender<Arc<Published>>,
    settled: &AtomicBool,
    inbox: &Inbox,
) {
    loop {
        let round = AssertUnwindSafe(publish_each(snapshots, publish, settled, inbox)).catch_unwind().await;
        let cluster = publish.borrow().report.cluster.clone();
        match round {
            Ok(()) => {
                tracing::error!(cluster, "the collector ended; what is shown of this cluster is no longer renewed");
                return;
            }
            Err(panic) => {
                let what = panic_text(panic.as_ref());
                tracing::error!(cluster, panic = what, "a defect in Unstuck: diagnosing failed; trying again");
                tokio::time::sleep(PAUSE_AFTER_PANIC).await;
            }
        }
    }
}

async fn publish_each(
    snapshots: &mut watch::Receiver<Arc<Snapshot>>,
    publish: &watch::Sender<Arc<Published>>,
    settled: &AtomicBool,
    inbox: &Inbox,
) {
    while snapshots.changed().await.is_ok() {
        let snapshot = Arc::clone(&snapshots.borrow_and_update());
        let last = Arc::clone(&publish.borrow());
        if *snapshot == *last.snapshot {
            continue;
        }
        if !settled.load(Ordering::Relaxed) && Collector::settled(&snapshot) {
            settled.store(true, Ordering::Relaxed);
        }
        let seq = Seq { boot: last.seq.boot.clone(), n: last.seq.n + 1 };
        let mut memory = last.memory.clone();
        inbox.empty_into(&mut memory);
        let next = next_value(seq, snapshot, memory, Timestamp::now());
        log_change(last.report.headline.status, &next);
        publish.send_replace(Arc::new(next));
    }
}

/// What follows, at `now`, from a snapshot and what was seen before.
#[must_use]
pub fn next_value(seq: Seq, snapshot: Arc<Snapshot>, mut memory: Memory, now: Timestamp) -> Published {
    memory.learn(&snapshot);
    let report = diagnose(&Input { snapshot: &snapshot, memory: &memory, now });
    memory.note(&report);
    Published { seq, snapshot, report, memory }
}

fn log_change(before: Status, next: &Published) {
    let headline = &next.report.headline;
    if headline.status == before {
        return;
    }
    let (cluster, status) = (&next.report.cluster, headline.status.slug());
    if headline.status >= Status::Unknown {
        tracing::warn!(cluster, status, was = before.slug(), "{}", headline.sentence);
    } else {
        tracing::info!(cluster, status, was = before.slug(), "{}", headline.sentence);
    }
}

/// The text of a panic, as far as it has one.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&'static str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no text)")
}
