//! `data-partition-without-leader`: partitions of other topics have no leader; producers and consumers of them fail.
//!
//! Founding incident 1, catalogue row 46. Comes free with all-topics metadata.

use super::{Context, Rule, finding, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::words;

const SLUG: &str = "data-partition-without-leader";
/// How many partitions the evidence names.
const NAMED: usize = 5;

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Partitions of other topics have no leader; producers and consumers of them fail",
        severity: "error",
        opens: "A partition of another topic has no leader.",
        closes: "All have one.",
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let Some(view) = context.facts.snapshot.client.known() else { return Vec::new() };
    if view.leaderless_count == 0 {
        return Vec::new();
    }
    let mut finding = finding(
        SLUG,
        Severity::Error,
        format!(
            "{} of other topics {} no leader: nobody can write to or read from {}.",
            words::count(view.leaderless_count, "partition"),
            if view.leaderless_count == 1 { "has" } else { "have" },
            if view.leaderless_count == 1 { "it" } else { "them" },
        ),
    );
    for partition in view.leaderless.iter().take(NAMED) {
        finding.evidence.push(seen_(format!(
            "{}-{}: replicas {}, ISR {}.",
            crate::visible(&partition.topic),
            partition.partition,
            words::ids(&partition.replicas),
            words::ids(&partition.isr)
        )));
    }
    let mut missing: Vec<_> = view
        .leaderless
        .iter()
        .flat_map(|partition| &partition.replicas)
        .copied()
        .filter(|id| !view.brokers.contains(id))
        .collect();
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        finding.remedies.push(step("Look at the brokers of these replicas", "They are live and yet none leads."));
    } else {
        finding.outlook = Some(format!("It will not heal by itself before {} is back.", one_of(&missing)));
        finding.remedies.push(step(
            format!("Start {}", words::brokers(&missing)),
            "The replicas there lead again by themselves. Anything else accepts the loss of what only they hold.",
        ));
    }
    finding.brokers = missing;
    vec![finding]
}

fn one_of(brokers: &[i32]) -> String {
    match brokers {
        [one] => format!("broker {one}"),
        many => format!("one of {}", words::brokers(many)),
    }
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn they_are_named_with_the_missing_brokers() {
        let sample = Sample::kraft(3, 3, 3).leaderless_data("logs", 101, &[1]).gone(1);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] 1 partition of other topics has no leader: nobody can write to or read from it.
          outlook: It will not heal by itself before broker 1 is back.
          seen: logs-101: replicas [1], ISR [1].
          -> Start broker 1: The replicas there lead again by themselves. Anything else accepts the loss of what only they hold.
          follows from leader-lost
        ");
    }

    #[test]
    fn none_is_no_finding() {
        assert!(!slugs(&Sample::kraft(3, 3, 3).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn not_looked_is_said_not_guessed() {
        let report = Sample::kraft(3, 3, 3).no_client().report();
        assert_eq!(report.data_partitions.without_leader, None);
        assert!(report.could_not_observe.iter().any(|could_not| could_not.what.contains("other topics")));
    }
}
