//! `canaries-denied`: we may not ask coordinators about groups, so whether they serve cannot be told.
//!
//! Error 30 for our made-up ids (`verdict-rules`). A leader that lists a group of the partition proves it anyway.

use super::{Context, Rule, cause, finding, not_seen};
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity};
use crate::rights;
use crate::verdict::Cause;

const SLUG: &str = "canaries-denied";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "We may not ask coordinators about groups, so whether they serve cannot be told",
        severity: "error",
        opens: "The account may not describe the made-up groups, and no listed group stands in.",
        closes: "It may.",
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let select = cause(|cause| match cause {
        Cause::Denied { .. } => Some(()),
        _ => None,
    });
    context
        .group_by(select)
        .into_values()
        .map(|partitions| {
            let mut finding = finding(
                SLUG,
                Severity::Error,
                format!("Unstuck may not ask whether coordinators serve {}.", context.reach(&partitions)),
            );
            finding
                .evidence
                .push(not_seen("The coordinator's own answer: error 30 (GROUP_AUTHORIZATION_FAILED).".to_owned()));
            let right = "DESCRIBE on GROUP unstuck-canary*";
            let remedy = Remedy::new(
                "Let Unstuck describe its own made-up groups",
                "Grants DESCRIBE on group ids that begin with unstuck-canary. No such group exists or is made.",
            );
            finding.remedies.push(match rights::command(&context.commands(), right) {
                Some(command) => remedy.command(command, "One ACL is added."),
                None => remedy,
            });
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
    fn denied_is_unknown_never_healthy() {
        let report = Sample::kraft(3, 3, 3).canary(1, 0, 30).report();
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [error] Unstuck may not ask whether coordinators serve partition 0 of __consumer_offsets.
          not seen: The coordinator's own answer: error 30 (GROUP_AUTHORIZATION_FAILED).
          -> Let Unstuck describe its own made-up groups: Grants DESCRIBE on group ids that begin with unstuck-canary. No such group exists or is made.
             if (not known): User:UNSTUCK is replaced by the principal that Unstuck logs in as
             $ kafka-acls.sh --bootstrap-server BOOTSTRAP --add --allow-principal User:UNSTUCK --operation Describe --group unstuck-canary --resource-pattern-type prefixed
        ");
        assert_eq!((report.partitions[0].status, report.partitions[0].shard), (Status::Unknown, Shard::Denied));
    }

    #[test]
    fn a_listed_group_proves_it_anyway() {
        let sample = Sample::kraft(3, 3, 3).canary(1, 0, 30).group_on(0, "orders");
        assert_eq!(sample.report().partitions[0].status, Status::Working);
    }

    #[test]
    fn not_when_answered() {
        assert!(!slugs(&Sample::kraft(3, 3, 3).report()).contains(&super::SLUG.to_owned()));
    }
}
