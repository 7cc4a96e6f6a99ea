//! The slugs that findings can have, for whoever must know them before any is found (the expectations of drills).

/// Each slug, alphabetically. A new one is added here; [`finding`](super::finding) insists on that in tests.
const SLUGS: [&str; 22] = [
    "bootstrap-unusable",
    "broker-down",
    "broker-not-reachable",
    "brokers-disagree",
    "canaries-denied",
    "commits-wait",
    "coordinator-failed",
    "coordinator-loading",
    "coordinator-silent",
    "data-partition-without-leader",
    "groups-not-listed",
    "isr-below-min",
    "leader-lost",
    "leader-silent",
    "no-controller",
    "no-leader-live-replica",
    "no-leader-no-live-replica",
    "offsets-topic-missing",
    "placement-drift",
    "placement-foreign",
    "replication-factor-1",
    "replication-factor-low",
];

/// The slugs that findings can have, alphabetically. What each means: `docs/findings.md`.
pub fn slugs() -> impl Iterator<Item = &'static str> {
    SLUGS.into_iter()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::SLUGS;

    /// The first column of the table in `docs/findings.md`; two slugs of one rule stand in one row.
    #[test]
    fn each_slug_is_documented() {
        let document = include_str!("../../../../docs/findings.md");
        let rows = document.lines().filter(|line| line.starts_with("| `"));
        let documented: BTreeSet<&str> =
            rows.flat_map(|row| row.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2)).collect();
        assert_eq!(documented, BTreeSet::from(SLUGS));
        assert!(SLUGS.is_sorted());
    }
}
