//! One look at one cluster, for commands that need everything once.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, timeout, timeout_at};
use unstuck_diagnosis::memory::Memory;
use unstuck_diagnosis::{Published, Seq};
use unstuck_kafka::{ClusterConfig, Collector};

use crate::cli::Failure;
use crate::lookup::leads_nowhere;
use crate::poller;

/// How long connections may take to be closed in order.
const ENDING: Duration = Duration::from_millis(100);

/// A cluster that was looked at, and whoever can ask it more.
pub(crate) struct Look {
    pub(crate) collector: Collector,
    pub(crate) published: Published,
}

impl Look {
    /// Looks until every fact is known or unavailable, but no longer than `longest`.
    ///
    /// # Errors
    /// No broker answered; the text says why, for each way in.
    pub(crate) async fn at(cluster: ClusterConfig, longest: Duration) -> Result<Self, Failure> {
        let collector = Collector::start(cluster);
        let deadline = Instant::now() + longest;
        let mut snapshots = collector.snapshots();
        let mut memory = Memory::new(Timestamp::now());
        let mut n = 0;
        let published = loop {
            let snapshot = Arc::clone(&snapshots.borrow_and_update());
            let seq = Seq { boot: String::new(), n };
            let published = poller::next_value(seq, Arc::clone(&snapshot), memory, Timestamp::now());
            if Collector::settled(&snapshot) || leads_nowhere(&snapshot) {
                break published;
            }
            match timeout_at(deadline, snapshots.changed()).await {
                Ok(Ok(())) => (memory, n) = (published.memory, n + 1),
                Ok(Err(_)) | Err(_) => break published,
            }
        };
        let look = Self { collector, published };
        if look.published.snapshot.brokers.values().any(|sight| sight.metadata.known().is_some()) {
            return Ok(look);
        }
        let published = look.end().await;
        let why = published.report.bootstrap.iter().map(|way| format!("{}: {}", way.address, way.sentence));
        Err(Failure {
            code: 3,
            message: format!(
                "no broker could be looked at\n  {}\n  Check the address with `unstuck lookup`",
                why.collect::<Vec<_>>().join("\n  ")
            ),
        })
    }

    /// Closes the connections, and gives what was seen.
    pub(crate) async fn end(self) -> Published {
        let _ = timeout(ENDING, self.collector.shutdown()).await;
        self.published
    }
}

/// The only cluster that is described; `because` says why there may be no more than one.
///
/// # Errors
/// There are several.
pub(crate) fn only(mut clusters: Vec<ClusterConfig>, because: &str) -> Result<ClusterConfig, Failure> {
    let names: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
    match (clusters.pop(), names.len()) {
        (Some(cluster), 1) => Ok(cluster),
        _ => Err(Failure::usage(format!(
            "the configuration describes several clusters: {}\n  {because}\n  Name it with --cluster NAME",
            names.join(", ")
        ))),
    }
}
