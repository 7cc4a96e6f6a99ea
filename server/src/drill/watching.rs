//! Watching a drill in simulated time: Unstuck's own collector over in-memory connections, with a clock that jumps from
//! one moment at which something happens to the next. Ten minutes take a blink, and are the same each time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use unstuck_diagnosis::lookup::GroupLookup;
use unstuck_diagnosis::memory::Memory;
use unstuck_diagnosis::report::{Finding, Status};
use unstuck_diagnosis::{GroupId, PartitionId, Published, Seq};
use unstuck_drill::scenario::Scenario;
use unstuck_drill::serve::Drill;
use unstuck_kafka::{ClusterConfig, Collector, Surroundings};

use super::promises::Promises;
use crate::poller;
use crate::traces::Traces;

/// When simulated time begins. Any moment would do; a fixed one makes reports the same each time.
const BEGINNING: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// How long an event that was brought about may take to come, in scenario time.
const EVENT: Duration = Duration::from_secs(60);

/// How often somebody looks who keeps the page of a group open, and how long that may take.
const PAGE: Duration = Duration::from_secs(20);
const DETAIL_DEADLINE: Duration = Duration::from_secs(3);

/// A drill that is being watched in simulated time. Lives in the runtime of [`simulated`] only.
pub(super) struct Watching {
    drill: Rc<Drill>,
    seen: Rc<RefCell<Seen>>,
    collector: Rc<Collector>,
    /// Whoever keeps the page of a group open.
    reader: RefCell<Option<JoinHandle<()>>>,
}

/// What was seen so far.
struct Seen {
    newest: Published,
    /// Every verdict on a coordinator since the last [`Watching::forget_verdicts`]: the first partition, and when.
    verdicts: BTreeMap<Status, (PartitionId, Timestamp)>,
    promises: Promises,
    /// What the inside of the group tells whose page is open, as of the last look.
    inside: Vec<Finding>,
}

/// Runs something in simulated time.
///
/// # Panics
/// If the system has no means for a runtime.
pub(super) fn simulated<T>(task: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without I/O needs nothing of the system");
    tokio::task::LocalSet::new().block_on(&runtime, task)
}

impl Watching {
    /// Begins to watch a scenario at its beginning.
    pub(super) fn begin(name: &str, scenario: Arc<Scenario>) -> Self {
        let promises = Promises::of(&scenario);
        let drill = Rc::new(Drill::in_memory(name, scenario));
        let config = ClusterConfig::new(name, drill.bootstrap());
        let collector = Collector::start_with(config, Surroundings::simulated(drill.dialer(), BEGINNING));
        let mut snapshots = collector.snapshots();
        let first = Arc::clone(&snapshots.borrow_and_update());
        let seq = |n| Seq { boot: "simulated".to_owned(), n };
        let memory = Memory::new(first.taken_at);
        let newest = poller::next_value(seq(0), Arc::clone(&first), memory, first.taken_at);
        let seen = Rc::new(RefCell::new(Seen { newest, verdicts: BTreeMap::new(), promises, inside: Vec::new() }));
        let (seeing, looked_at) = (Rc::clone(&seen), Rc::clone(&drill));
        tokio::task::spawn_local(async move {
            while snapshots.changed().await.is_ok() {
                let snapshot = Arc::clone(&snapshots.borrow_and_update());
                let seen = &mut *seeing.borrow_mut();
                let (n, now) = (seen.newest.seq.n + 1, snapshot.taken_at);
                // Moved, not copied: it may hold a hundred thousand groups.
                let memory = std::mem::replace(&mut seen.newest.memory, Memory::new(now));
                seen.newest = poller::next_value(seq(n), snapshot, memory, now);
                let verdicts: Vec<_> =
                    seen.newest.report.partitions.iter().map(|report| (report.status, report.partition)).collect();
                for (status, partition) in verdicts {
                    seen.verdicts.entry(status).or_insert((partition, now));
                }
                seen.promises.look(&seen.newest, &looked_at);
            }
        });
        Self { drill, seen, collector: Rc::new(collector), reader: RefCell::default() }
    }

    /// Keeps the page of a group open from now on: its inside is looked at every now and then.
    pub(super) fn open_page(&self, group: &str) {
        let group = GroupId::from(group);
        let (seen, collector) = (Rc::clone(&self.seen), Rc::clone(&self.collector));
        let reader = tokio::task::spawn_local(async move {
            let traces = Traces::default();
            loop {
                tokio::time::sleep(PAGE).await;
                let published = seen.borrow().newest.clone();
                let lookup = published.lookup_one(&group);
                let leader = lookup.coordinator.as_ref().and_then(|coordinator| coordinator.leader);
                let asked = match leader {
                    Some(leader) => collector.group_detail(&group, leader, DETAIL_DEADLINE).await.ok(),
                    None => None,
                };
                let inside = asked.map(|mut detail| {
                    traces.complete(&published, &lookup, &mut detail);
                    detail.findings
                });
                seen.borrow_mut().inside = inside.unwrap_or_default();
            }
        });
        *self.reader.borrow_mut() = Some(reader);
    }

    /// What the inside of the group told whose page is open.
    pub(super) fn inside(&self) -> Vec<Finding> {
        self.seen.borrow().inside.clone()
    }

    /// What Unstuck says now.
    pub(super) fn newest(&self) -> Published {
        self.seen.borrow().newest.clone()
    }

    /// What Unstuck says of a group now.
    pub(super) fn lookup(&self, group: &str) -> GroupLookup {
        self.seen.borrow().newest.lookup_one(&GroupId::from(group))
    }

    /// What was said so far that must never be said.
    pub(super) fn broken_promises(&self) -> Vec<String> {
        self.seen.borrow().promises.broken()
    }

    /// Whether a coordinator has had this verdict: which one, and how long after the beginning.
    pub(super) fn had(&self, status: Status) -> Option<(PartitionId, Duration)> {
        let (partition, at) = *self.seen.borrow().verdicts.get(&status)?;
        Some((partition, at.duration_since(BEGINNING).unsigned_abs()))
    }

    /// Begins anew to note verdicts.
    pub(super) fn forget_verdicts(&self) {
        self.seen.borrow_mut().verdicts.clear();
    }

    /// Lets the next step happen: when its time has come, when what it waits for has been brought about, or else now.
    /// Returns the moment; `None` if there is no step left.
    pub(super) async fn next_step(&self) -> Option<Instant> {
        let (number, by_time) =
            self.drill.with(|world| world.next_step().map(|(number, step)| (number, step.after.is_some())))?;
        let mut changes = self.drill.changes();
        let patience = if by_time {
            None
        } else {
            self.drill.play_on();
            Some(Instant::now() + EVENT)
        };
        while self.drill.with(|world| world.happened(number).is_none()) {
            match patience {
                None => changes.changed().await.ok()?,
                Some(until) => {
                    if tokio::time::timeout_at(until, changes.changed()).await.is_err() {
                        self.drill.next();
                    }
                }
            }
        }
        Some(Instant::now())
    }

    /// Ends it all.
    pub(super) async fn end(self) {
        if let Some(reader) = self.reader.into_inner() {
            reader.abort();
            // That it was ended is what it says.
            let _ended = reader.await;
        }
        if let Some(collector) = Rc::into_inner(self.collector) {
            collector.shutdown().await;
        }
        self.drill.shutdown().await;
    }
}
