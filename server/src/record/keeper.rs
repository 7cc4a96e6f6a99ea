//! The store of this run, opened as soon as that is possible, and how recording stands.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use unstuck_store::{Kind, Retention, Store, StoreError};

use crate::config::StoreConfig;

/// How long between two tries to open the store.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// How recording a cluster stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Recording {
    /// It has not begun yet.
    #[default]
    Beginning,
    /// What is seen is being remembered.
    Recording,
    /// Another server records this cluster.
    Elsewhere,
    /// Nothing can be written.
    Failing {
        /// Since when.
        since: Timestamp,
        /// Why: what failed, what it means, what to do.
        because: String,
        /// How many events had to be dropped, as too many waited to be written.
        dropped: usize,
    },
}

/// How recording stands, and under which name the cluster is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingOf {
    /// The cluster's name in the configuration; with its id, if another cluster was kept under that name before.
    pub key: String,
    /// How it stands.
    pub recording: Recording,
}

impl Recording {
    /// The sentence for pages, if what is seen is not being remembered.
    #[must_use]
    pub fn not_remembered(&self, now: Timestamp) -> Option<String> {
        let Self::Failing { since, because, dropped } = self else { return None };
        let since = unstuck_diagnosis::time::at(*since, now);
        let dropped = match dropped {
            0 => "Verdicts do not depend on it. What happens meanwhile waits in memory, and is lost if Unstuck ends before."
                .to_owned(),
            n => format!("{n} older events that waited to be written were dropped."),
        };
        Some(format!("Not being remembered since {since}, because of trouble with the store. {because} {dropped}"))
    }
}

/// The store, and how long it keeps.
#[derive(Debug)]
pub struct Keeper {
    store: watch::Receiver<Option<Arc<dyn Store>>>,
    trouble: Mutex<Option<(Timestamp, String)>>,
    /// How long is kept what is over.
    pub(super) retention: Retention,
    /// How long an incident has to be calm until it is over, in milliseconds.
    pub(super) settling_ms: i64,
    /// Names this run of this process among those that share the store.
    pub(super) holder: String,
}

impl Keeper {
    /// Opens the store, and goes on trying in the background where that fails.
    ///
    /// # Errors
    /// Only what trying again cannot mend: a newer Unstuck wrote it.
    pub async fn open(
        config: StoreConfig,
        tasks: &TaskTracker,
        shutdown: &CancellationToken,
    ) -> Result<Arc<Self>, StoreError> {
        let StoreConfig { place, retention, settling } = config;
        let settling_ms = i64::try_from(settling.as_millis()).unwrap_or(i64::MAX);
        let (sender, store) = watch::channel(None);
        let holder = super::unguessable();
        let keeper = Arc::new(Self { store, trouble: Mutex::default(), retention, settling_ms, holder });
        match unstuck_store::open(&place).await {
            Ok(store) => {
                sender.send_replace(Some(store));
            }
            Err(error) if error.kind() == Kind::Newer => return Err(error),
            Err(error) => {
                keeper.failed(&error);
                let (keeper, shutdown) = (Arc::clone(&keeper), shutdown.clone());
                tasks.spawn(async move {
                    loop {
                        tokio::select! {
                            () = shutdown.cancelled() => return,
                            () = tokio::time::sleep(TRY_AGAIN) => {}
                        }
                        match unstuck_store::open(&place).await {
                            Ok(store) => {
                                tracing::info!("the store can be used now");
                                sender.send_replace(Some(store));
                                // The receivers live as long as this one.
                                return;
                            }
                            Err(error) => keeper.failed(&error),
                        }
                    }
                });
            }
        }
        Ok(keeper)
    }

    fn failed(&self, error: &StoreError) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let since = trouble.as_ref().map_or_else(Timestamp::now, |(since, _)| *since);
        let because = error.to_string();
        if trouble.as_ref().is_none_or(|(_, before)| *before != because) {
            tracing::error!("what is seen cannot be remembered: {because}");
        }
        *trouble = Some((since, because));
    }

    /// The store, if it could be opened.
    ///
    /// # Errors
    /// Why it could not be.
    pub fn store(&self) -> Result<Arc<dyn Store>, String> {
        if let Some(store) = self.store.borrow().as_ref() {
            return Ok(Arc::clone(store));
        }
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        Err(trouble.as_ref().map_or_else(|| "it is not open yet".to_owned(), |(_, because)| because.clone()))
    }

    /// Since when it cannot be opened, and why.
    pub(super) fn trouble(&self) -> Option<(Timestamp, String)> {
        if self.store.borrow().is_some() {
            return None;
        }
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the store can be used.
    pub(super) async fn ready(&self) -> Arc<dyn Store> {
        let mut store = self.store.clone();
        loop {
            if let Some(store) = store.borrow_and_update().as_ref() {
                return Arc::clone(store);
            }
            if store.changed().await.is_err() {
                // Whoever tries to open it has ended, and so will this task.
                std::future::pending::<()>().await;
            }
        }
    }
}
