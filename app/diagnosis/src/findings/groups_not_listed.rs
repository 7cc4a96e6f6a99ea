//! `groups-not-listed`: some groups cannot be listed, so a group that is not listed may still exist.
//!
//! Groups on a lost coordinator vanish from every listing without an error (trap 7); ACLs filter listings without an
//! error (KIP-231, 2.1 and later).

use super::{Context, Rule, finding, not_seen, seen_};
use crate::commands::Resource;
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity};

const SLUG: &str = "groups-not-listed";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "The list of groups is not complete",
        severity: "info",
        means: "Each broker lists only the groups that it coordinates. Groups whose coordinator is lost are listed by nobody, \
                without an error: they look as if they had never been. And without DESCRIBE on CLUSTER brokers leave out \
                groups that the account may not see, again without an error. So a group that is not in the list may still \
                exist, and Unstuck never says that it does not while this is open.",
        opens: "A broker could not list its groups; or none proves that this account may see all of them.",
        closes: "All brokers list, and DESCRIBE on CLUSTER is proven.",
        not_told: "How many groups are missing. Those that were listed before are remembered and still shown.",
        clients_see: "`kafka-consumer-groups.sh --list` shows fewer groups than there are, and says nothing about it.",
        way_out: "Repair the coordinators first: their groups come back into the list by themselves. Permit DESCRIBE on \
                  CLUSTER where the right is what is missing.",
        never: "Do not take a group for deleted because it is not listed, and do not create it anew under the same id with \
                other offsets.",
        twins: &[("canaries-denied", "there it is the made-up groups that the account may not describe")],
        shadows: &[],
        versions: "all; filtered without an error from 2.1 on (KIP-231), refused with error 31 before",
        sources: &["KIP-231, KAFKA-5638 (listings filtered by ACLs)", "GroupCoordinatorService.java (listGroups)"],
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
        let commands = context.commands();
        finding.remedies.push(
            Remedy::new(
                "Let Unstuck see all groups",
                "Without DESCRIBE on CLUSTER, brokers leave out groups without an error.",
            )
            .command(
                commands.acl(&["Describe"], &[Resource::Cluster]),
                "Permits Unstuck's account to list all groups and to describe the cluster.",
            )
            .verify("This finding is gone, but for brokers that do not answer.")
            .undo(format!("`{}`", commands.remove_acl(&["Describe"], &[Resource::Cluster]))),
        );
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
             if (not known): whoever runs it may change ACLs (ALTER on CLUSTER); --command-config names their login
             $ kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --add --allow-principal User:UNSTUCK --operation Describe --cluster
             changes: Permits Unstuck's account to list all groups and to describe the cluster.
             verify: This finding is gone, but for brokers that do not answer.
             undo: `kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --remove --force --allow-principal User:UNSTUCK --operation Describe --cluster`
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
