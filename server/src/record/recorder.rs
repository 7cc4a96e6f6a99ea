//! One task per cluster that records what is published, if this server is the one that records.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use unstuck_diagnosis::Published;
use unstuck_store::{Kind, Lease, Restored, Store, StoreError};

use super::document::{Known, unpack};
use super::ledger::{Ledger, Unwritten};
use super::{Inbox, Keeper, News, Recording, RecordingOf};

/// How long a lease is good for: a server that died is taken over from after that.
const LEASE: Duration = Duration::from_secs(8);
/// How often it is renewed.
const RENEW: Duration = Duration::from_secs(2);
/// How long between two tries after a failure.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// Writes come no closer than this: what changes meanwhile goes into the next one.
const BETWEEN_WRITES: Duration = Duration::from_millis(250);
/// How often what is too old is dropped, and when first.
const DROP_EVERY: Duration = Duration::from_secs(3_600);
const DROP_FIRST: Duration = Duration::from_secs(60);
/// How long the last write may take when Unstuck ends.
const LAST_WRITE: Duration = Duration::from_millis(300);

/// Records one cluster until `shutdown`.
pub(crate) async fn record(
    keeper: Arc<Keeper>,
    cluster: String,
    published: watch::Receiver<Arc<Published>>,
    settled: Arc<AtomicBool>,
    inbox: Inbox,
    status: watch::Sender<RecordingOf>,
    shutdown: CancellationToken,
) {
    let recorder = Recorder { keeper, name: cluster.clone(), key: cluster, published, settled, inbox, status };
    recorder.run(&shutdown).await;
}

struct Recorder {
    keeper: Arc<Keeper>,
    /// The cluster's name in the configuration.
    name: String,
    /// Under which name it is kept: another cluster behind the same name is kept apart.
    key: String,
    published: watch::Receiver<Arc<Published>>,
    settled: Arc<AtomicBool>,
    inbox: Inbox,
    status: watch::Sender<RecordingOf>,
}

/// Why recording ended for now.
enum Lost {
    /// Unstuck ends.
    Ended,
    /// Somebody else records, or may.
    Lease,
    /// The cluster behind the name is another one than the record is about.
    AnotherCluster(String),
}

type Io = BoxFuture<'static, Done>;

/// What was done with the store.
enum Done {
    Renewed(Result<Lease, StoreError>),
    Written(Box<Unwritten>, Result<(), StoreError>),
    Dropped(Result<(), StoreError>),
}

impl Recorder {
    async fn run(mut self, shutdown: &CancellationToken) {
        let mut recalled = false;
        while let Some((store, token, ledger, about)) = shutdown.run_until_cancelled(self.begin(&mut recalled)).await {
            match self.hold(&store, token, ledger, about, shutdown).await {
                Lost::Ended => return,
                Lost::Lease => {}
                Lost::AnotherCluster(id) => {
                    tracing::warn!(
                        cluster = self.name,
                        id,
                        "this is another cluster than the one that was recorded under its name; it is recorded apart"
                    );
                    self.key = format!("{} ({id})", self.name);
                    self.status.send_modify(|status| status.key.clone_from(&self.key));
                    self.inbox.put(News::AnotherCluster);
                    recalled = false;
                }
            }
        }
    }

    /// Waits until this server is the one that records, and reads where to go on.
    async fn begin(&self, recalled: &mut bool) -> (Arc<dyn Store>, i64, Ledger, Option<String>) {
        let store = self.opened().await;
        // What was known before is wanted whoever records. Mostly it is this one, and what is read once serves for both.
        let mut token = self.lease(&*store).await;
        let (mut restored, mut known) = self.restored(&*store).await;
        if !std::mem::replace(recalled, true)
            && let (Some(restored), Some(known)) = (&restored, &known)
        {
            self.recall(restored, known);
        }
        let token = loop {
            if let Some(token) = token {
                break token;
            }
            tokio::time::sleep(TRY_AGAIN).await;
            token = self.lease(&*store).await;
            if token.is_some() {
                // Another one has recorded meanwhile.
                (restored, known) = self.restored(&*store).await;
            }
        };
        let about = known.as_ref().and_then(|known| known.cluster_id.clone());
        (store, token, Ledger::of(restored, known, self.keeper.settling_ms), about)
    }

    /// Waits for the store, and tells meanwhile why it cannot be used.
    async fn opened(&self) -> Arc<dyn Store> {
        loop {
            tokio::select! {
                store = self.keeper.ready() => return store,
                () = tokio::time::sleep(Duration::from_millis(200)) => {}
            }
            if let Some((since, because)) = self.keeper.trouble() {
                self.status.send_modify(|status| status.recording = Recording::Failing { since, because, dropped: 0 });
            }
        }
    }

    /// What the store has about the cluster.
    async fn restored(&self, store: &dyn Store) -> (Option<Restored>, Option<Known>) {
        loop {
            match store.restore(&self.key).await {
                Ok(None) => return (None, None),
                Ok(Some(restored)) => {
                    let known = restored.memory.as_deref().map(unpack::<Known>);
                    let known = known.and_then(|known| {
                        known
                            .inspect_err(|error| {
                                tracing::error!(cluster = self.name, %error, "what was known before cannot be read");
                            })
                            .ok()
                    });
                    return (Some(restored), known);
                }
                Err(error) => self.failing(&error, 0),
            }
            tokio::time::sleep(TRY_AGAIN).await;
        }
    }

    fn recall(&self, restored: &Restored, known: &Known) {
        let groups = restored.groups.len();
        let Restored { groups: rows, gone, members, .. } = restored.clone();
        let memory = known.memory.clone().with_groups(rows, gone, members);
        tracing::info!(cluster = self.name, groups, until = %restored.looked_until, "knows what was seen before");
        self.inbox.put(News::Recalled(Box::new(memory)));
    }

    fn failing(&self, error: &StoreError, dropped: usize) {
        let because = error.to_string();
        self.status.send_if_modified(|status| {
            let status = &mut status.recording;
            let since = match status {
                Recording::Failing { since, .. } => *since,
                _ => {
                    tracing::error!(cluster = self.name, "what is seen cannot be remembered: {because}");
                    Timestamp::now()
                }
            };
            let failing = Recording::Failing { since, because: because.clone(), dropped };
            let changed = *status != failing;
            *status = failing;
            changed
        });
    }

    fn say(&self, now: Recording) {
        self.status.send_if_modified(|status| {
            let status = &mut status.recording;
            let changed = *status != now;
            if changed && matches!(status, Recording::Failing { .. }) {
                tracing::info!(cluster = self.name, "what is seen is being remembered again");
            }
            *status = now;
            changed
        });
    }

    /// The token of the lease, if this server is the one that records; says so if not.
    async fn lease(&self, store: &dyn Store) -> Option<i64> {
        match store.take_lease(&self.key, &self.keeper.holder, LEASE).await {
            Ok(Lease::Held { token, .. }) => return Some(token),
            Ok(Lease::HeldBy { .. }) => self.say(Recording::Elsewhere),
            Err(error) => self.failing(&error, 0),
        }
        None
    }

    /// Records until the lease is lost.
    async fn hold(
        &mut self,
        store: &Arc<dyn Store>,
        token: i64,
        mut ledger: Ledger,
        mut about: Option<String>,
        shutdown: &CancellationToken,
    ) -> Lost {
        let begun = Instant::now();
        let (mut renew, mut write, mut drop_old) = (begun + RENEW, begun, begun + DROP_FIRST);
        let mut io: Option<Io> = None;
        // What is there already is news for whoever begins to record.
        self.published.mark_changed();
        loop {
            if io.is_none() {
                io = self.next_io(store, token, &mut ledger, &mut renew, &mut write, &mut drop_old);
            }
            let wake = renew.min(write.max(Instant::now() + BETWEEN_WRITES));
            tokio::select! {
                biased;
                () = shutdown.cancelled() => {
                    self.end(store, token, &mut ledger).await;
                    return Lost::Ended;
                }
                done = async { match io.as_mut() { Some(io) => io.await, None => std::future::pending().await } } => {
                    io = None;
                    match done {
                        Done::Renewed(Ok(Lease::Held { token: now, .. })) if now == token => {}
                        Done::Renewed(Ok(_)) => return Lost::Lease,
                        Done::Written(unwritten, Ok(())) => {
                            ledger.written(&unwritten);
                            self.say(Recording::Recording);
                        }
                        Done::Written(_, Err(error)) if error.kind() == Kind::NotHolder => return Lost::Lease,
                        Done::Renewed(Err(error)) | Done::Written(_, Err(error)) => {
                            self.failing(&error, ledger.pending.dropped);
                            write = Instant::now() + TRY_AGAIN;
                        }
                        Done::Dropped(Ok(())) => {}
                        Done::Dropped(Err(error)) => tracing::warn!(%error, "what is old could not be dropped"),
                    }
                }
                changed = self.published.changed() => {
                    if changed.is_err() {
                        return Lost::Ended;
                    }
                    let published = Arc::clone(&self.published.borrow_and_update());
                    // First looks are incomplete: what they lack is not gone.
                    if !self.settled.load(Ordering::Relaxed) {
                        continue;
                    }
                    match (&about, &published.report.cluster_id) {
                        (Some(about), Some(id)) if about != id => return Lost::AnotherCluster(id.clone()),
                        (None, Some(id)) => about = Some(id.clone()),
                        _ => {}
                    }
                    ledger.step(&published);
                }
                () = tokio::time::sleep_until(wake), if io.is_none() => {}
            }
        }
    }

    fn next_io(
        &self,
        store: &Arc<dyn Store>,
        token: i64,
        ledger: &mut Ledger,
        renew: &mut Instant,
        write: &mut Instant,
        drop_old: &mut Instant,
    ) -> Option<Io> {
        let now = Instant::now();
        let (store, key) = (Arc::clone(store), self.key.clone());
        if now >= *renew {
            *renew = now + RENEW;
            let holder = self.keeper.holder.clone();
            return Some(async move { Done::Renewed(store.take_lease(&key, &holder, LEASE).await) }.boxed());
        }
        if now >= *write
            && let Some(unwritten) = ledger.unwritten()
        {
            *write = now + BETWEEN_WRITES;
            return Some(
                async move {
                    let written = store.write(&key, token, &unwritten.batch).await;
                    Done::Written(Box::new(unwritten), written)
                }
                .boxed(),
            );
        }
        if now >= *drop_old {
            *drop_old = now + DROP_EVERY;
            let retention = self.keeper.retention;
            return Some(
                async move {
                    let dropped = store.retain(&key, &retention, Timestamp::now()).await;
                    Done::Dropped(dropped.map(|dropped| {
                        if !dropped.is_nothing() {
                            tracing::info!(?dropped, "dropped what was kept long enough");
                        }
                    }))
                }
                .boxed(),
            );
        }
        None
    }

    /// Writes what waits, and lets the next server record at once.
    async fn end(&self, store: &Arc<dyn Store>, token: i64, ledger: &mut Ledger) {
        let last = async {
            if let Some(unwritten) = ledger.unwritten()
                && let Err(error) = store.write(&self.key, token, &unwritten.batch).await
            {
                tracing::error!(%error, "what was seen last could not be written");
            }
            if let Err(error) = store.release_lease(&self.key, &self.keeper.holder).await {
                tracing::debug!(%error, "the lease could not be given back; it ends by itself");
            }
        };
        if tokio::time::timeout(LAST_WRITE, last).await.is_err() {
            tracing::warn!("what was seen last could not be written in time");
        }
    }
}
