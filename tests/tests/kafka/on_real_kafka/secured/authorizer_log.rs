//! What the brokers' authorizer writes about Unstuck while all is well: a line for each question that is denied.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use unstuck_tests::authorizer::Denied;
use unstuck_tests::cluster::Cluster;

/// How many seconds the lines are counted for, at least; to measure how many there are in an hour.
const SECONDS: &str = "UNSTUCK_AUTHORIZER_SECONDS";

/// See [`SECONDS`].
pub(super) fn stretch() -> Duration {
    Duration::from_secs(std::env::var(SECONDS).ok().and_then(|told| told.parse().ok()).unwrap_or(0))
}

/// The lines of a stretch of time.
pub(super) struct Log {
    began: Instant,
    before: BTreeMap<Denied, usize>,
}

fn counted(cluster: &Cluster) -> Result<BTreeMap<Denied, usize>> {
    let mut counted = BTreeMap::new();
    for line in cluster.denied()? {
        *counted.entry(line).or_default() += 1;
    }
    Ok(counted)
}

impl Log {
    pub(super) fn begin(cluster: &Cluster) -> Result<Self> {
        Ok(Self { began: Instant::now(), before: counted(cluster)? })
    }

    pub(super) fn holds_little(self, cluster: &Cluster, looking: usize) -> Result<()> {
        let after = counted(cluster)?;
        let took = self.began.elapsed();
        let mut text = String::new();
        for (line, count) in &after {
            let new = count - self.before.get(line).copied().unwrap_or(0);
            let hourly = new as f64 * 3600.0 / took.as_secs_f64() / looking as f64;
            writeln!(text, "{} {} {} {}: first {}, then {new}, {hourly:.0} an hour", line.principal, line.request, line.operation, line.resource, count - new)?;
        }
        println!("{took:?}\n{text}");
        ensure!(!after.is_empty());
        Ok(())
    }
}
