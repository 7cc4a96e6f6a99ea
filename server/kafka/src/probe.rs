//! The probe's eye: asks each broker separately what it believes, with a deadline for each request.
//!
//! Four kept-open connections per broker, so that no question waits behind another kind: the cheap look with the
//! canaries ([`broker`]), the wide look whose answers can be large ([`wide`]), and DescribeQuorum ([`quorum`]), which
//! brokers forward to the controller and leave unanswered while there is none. A fourth one for what is asked rarely, and may
//! hang on a disk or a coordinator ([`further`]). A fifth one stands while a coordinator leaves canaries unanswered
//! ([`aside`]).
//!
//! Nothing here is left to chance, every `select!` is biased: in simulated time equal runs see equal things.

mod aside;
mod backoff;
mod bootstrap;
mod broker;
mod configs;
mod due;
mod further;
mod patience;
mod quorum;
mod refused;
mod wide;

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio_util::task::TaskTracker;
use unstuck_wire::{Api, Connection};

use crate::shared::Shared;

/// How we name ourselves to brokers.
pub(crate) const CLIENT_ID: &str = "unstuck";

/// Whether topics may be named to this broker: from version 10 of Metadata on (Kafka 2.8) brokers honour
/// `allow_auto_topic_creation=false` for internal topics. Below, naming `__consumer_offsets` would create it.
pub(crate) fn names_safely(connection: &Connection) -> bool {
    connection.version(Api::Metadata).is_some_and(|version| version >= 10)
}

/// Starts a task per bootstrap address, and tasks for each broker as it is discovered; returns when told to stop.
pub(crate) async fn supervise(shared: Arc<Shared>, tasks: TaskTracker) {
    for address in shared.config.bootstrap.clone() {
        let shared = Arc::clone(&shared);
        tasks.spawn(async move {
            let stop = shared.stop.clone();
            stop.run_until_cancelled(bootstrap::watch(&shared, &address)).await;
        });
    }
    let mut started = BTreeSet::new();
    loop {
        for (id, nudges) in shared.brokers() {
            if !started.insert(id) {
                continue;
            }
            let (one, two, three) = (Arc::clone(&shared), Arc::clone(&shared), Arc::clone(&shared));
            let (for_wide, for_quorum) = (Arc::clone(&nudges), Arc::clone(&nudges));
            let (four, for_further) = (Arc::clone(&shared), Arc::clone(&nudges));
            tasks.spawn(async move {
                let stop = one.stop.clone();
                stop.run_until_cancelled(broker::watch(&one, id, &nudges)).await;
            });
            tasks.spawn(async move {
                let stop = two.stop.clone();
                stop.run_until_cancelled(wide::watch(&two, id, &for_wide)).await;
            });
            tasks.spawn(async move {
                let stop = three.stop.clone();
                stop.run_until_cancelled(quorum::watch(&three, id, &for_quorum)).await;
            });
            tasks.spawn(async move {
                let stop = four.stop.clone();
                stop.run_until_cancelled(further::watch(&four, id, &for_further)).await;
            });
        }
        tokio::select! {
            biased;
            () = shared.stop.cancelled() => return,
            () = shared.discovered.notified() => {}
        }
    }
}
