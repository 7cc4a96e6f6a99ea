//! `groups-not-listed`: some groups cannot be listed, so a group that is not listed may still exist.
//!
//! Groups on a lost coordinator vanish from every listing without an error (trap 7); ACLs filter listings without an
//! error (KIP-231, 2.1 and later).

use super::{Context, Rule, finding, not_seen, seen_};
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity};

const SLUG: &str = "groups-not-listed";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Some groups cannot be listed, so a group that is not listed may still exist",
        severity: "info",
        opens: "A broker could not list its groups, or listings may be filtered by ACLs.",
        closes: "All list, and DESCRIBE on CLUSTER is proven.",
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let missing = crate::groups::missing_listings(context.facts);
    let filtered = crate::groups::may_be_filtered(context.facts);
    if context.facts.snapshot.brokers.is_empty() || (missing.is_empty() && !filtered) {
        return Vec::new();
    }
    let mut finding = finding(
        SLUG,
        Severity::Info,
        "The list of groups is not complete: a group that is not in it may still exist.".to_owned(),
    );
    for (broker, why) in &missing {
        finding.evidence.push(not_seen(format!("Groups on {}: {why}.", context.broker(*broker))));
    }
    if filtered {
        finding.evidence.push(seen_("No broker proves the account's right to see all groups.".to_owned()));
        finding.remedies.push(Remedy {
            title: "Let Unstuck see all groups".to_owned(),
            why: "Without DESCRIBE on CLUSTER, brokers leave out groups without an error.".to_owned(),
            command: Some(
                "kafka-acls.sh --bootstrap-server BOOTSTRAP --add --allow-principal User:UNSTUCK --operation Describe \
                 --cluster"
                    .to_owned(),
            ),
            danger: None,
            ..Remedy::default()
        });
    }
    finding.brokers = missing.into_iter().map(|(broker, _)| broker).collect();
    vec![finding]
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn a_broker_that_is_down_lists_nothing() {
        insta::assert_snapshot!(text(&Sample::kraft(3, 3, 3).gone(1).report(), super::SLUG), @"
        [info] The list of groups is not complete: a group that is not in it may still exist.
          not seen: Groups on broker 1 (127.0.0.1:9001): connection refused.
          follows from leader-lost
        ");
    }

    #[test]
    fn a_listing_without_the_proven_right_may_be_filtered() {
        let report = Sample::kraft(3, 3, 3).cluster_not_permitted().report();
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [info] The list of groups is not complete: a group that is not in it may still exist.
          seen: No broker proves the account's right to see all groups.
          -> Let Unstuck see all groups: Without DESCRIBE on CLUSTER, brokers leave out groups without an error.
             if (not known): User:UNSTUCK is replaced by the principal that Unstuck logs in as
             $ kafka-acls.sh --bootstrap-server BOOTSTRAP --add --allow-principal User:UNSTUCK --operation Describe --cluster
        ");
        assert!(!report.groups.complete);
    }

    #[test]
    fn complete_is_complete() {
        let report = Sample::kraft(3, 3, 3).report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
        assert!(report.groups.complete);
    }
}
