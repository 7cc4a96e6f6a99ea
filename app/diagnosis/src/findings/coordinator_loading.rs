//! `coordinator-loading`: the leader is reading the partition and serves its groups when it is done.
//!
//! Catalogue row 21; error 14. One thread loads one partition after the other, so a large one delays the rest.

use super::{Context, Rule, cause, finding, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::verdict::Cause;

const SLUG: &str = "coordinator-loading";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "The leader is reading the partition and serves its groups when it is done",
        severity: "error; the verdict turns from recovering to unknown after 10 min",
        opens: "The coordinator answers 14.",
        closes: "It serves.",
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let select = cause(|cause| match cause {
        Cause::Loading { leader } => Some(*leader),
        _ => None,
    });
    context
        .group_by(select)
        .into_iter()
        .map(|(leader, partitions)| {
            let mut finding =
                finding(SLUG, Severity::Error, format!("Broker {leader} is loading {}.", context.reach(&partitions)));
            let since = partitions
                .iter()
                .filter_map(|partition| context.facts.snapshot.brokers.get(&leader)?.canaries.get(partition))
                .map(|canary| canary.same_since)
                .min()
                .unwrap_or(context.facts.now);
            finding.evidence.push(seen_(format!(
                "Asked as coordinator, broker {leader} has answered 14 (COORDINATOR_LOAD_IN_PROGRESS) since {}.",
                crate::time::clock(since)
            )));
            finding.outlook =
                Some("It serves when it has read the partition. How long that takes depends on its size.".to_owned());
            finding.remedies.push(step("Wait", "Restarting the broker begins the loading anew."));
            finding.brokers = vec![leader];
            finding.partitions = partitions;
            finding
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::report::{Shard, Status};
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn loading_is_recovering() {
        let sample = Sample::kraft(3, 3, 1).canary(1, 0, 14);
        let report = sample.report();
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [error] Broker 1 is loading partition 0 of __consumer_offsets.
          outlook: It serves when it has read the partition. How long that takes depends on its size.
          seen: Asked as coordinator, broker 1 has answered 14 (COORDINATOR_LOAD_IN_PROGRESS) since 12:00:00 UTC.
          -> Wait: Restarting the broker begins the loading anew.
        ");
        assert_eq!((report.partitions[0].status, report.partitions[0].shard), (Status::Recovering, Shard::Loading));
    }

    #[test]
    fn another_brokers_answer_does_not_count() {
        let sample = Sample::kraft(3, 3, 1).canary(2, 0, 14);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn no_answer_is_not_loading() {
        let report = Sample::kraft(3, 3, 1).no_canary(1, 0).report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
        assert_eq!(report.partitions[0].status, Status::Unknown);
    }
}
