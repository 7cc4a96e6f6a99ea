//! `canaries-denied`: we may not ask coordinators about groups, so whether they serve cannot be told.
//!
//! Error 30 for our made-up ids (`verdict-rules`). A leader that lists a group of the partition proves it anyway.

use super::{Context, Rule, cause, finding, not_seen};
use crate::PartitionId;
use crate::commands::Resource;
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity};
use crate::verdict::Cause;

const SLUG: &str = "canaries-denied";
/// What made-up groups begin with unless it is configured.
const PREFIX: &str = "unstuck-canary";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Unstuck may not ask coordinators, so whether they serve is not known",
        severity: "error",
        means: "To see whether a coordinator serves, Unstuck describes a made-up group for each partition: no such group \
                exists or comes into being, and the answer tells whether the partition is served, loading or not served. \
                This account may not describe groups of that name, so brokers answer 30, which says nothing about the \
                coordinator. The verdict is `unknown`, never \"working\".",
        opens: "The coordinator answers 30 (GROUP_AUTHORIZATION_FAILED), and the leader lists no group of the partition that \
                could stand in.",
        closes: "The account may ask; or a listed group proves that the partition is loaded.",
        not_told: "Whether the coordinators serve.",
        clients_see: "Nothing: it is Unstuck's account that lacks the right, not theirs.",
        way_out: "Permit DESCRIBE on groups whose ids begin with `unstuck-canary`. Below 2.0, which has no ACLs on prefixes, \
                  permit DESCRIBE on all groups, or configure a prefix of your own.",
        never: "",
        twins: &[
            ("groups-not-listed", "there listings may be filtered; coordinators can be asked all the same"),
            ("coordinator-failed", "there the coordinator itself says that it does not serve"),
        ],
        shadows: &[],
        versions: "all with an authorizer; ACLs on prefixes from 2.0 on (KIP-290)",
        sources: &["KIP-290 (ACLs on prefixes)", "KafkaApis.scala (DescribeGroups needs DESCRIBE on the group)"],
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
            let commands = context.commands();
            let prefix = denied_prefix(context, &partitions).unwrap_or(PREFIX);
            let groups = [Resource::GroupPrefix(prefix)];
            finding.remedies.push(
                Remedy::new(
                    "Let Unstuck describe its own made-up groups",
                    format!(
                        "It needs DESCRIBE on group ids that begin with {prefix}. No such group exists or is made."
                    ),
                )
                .command(
                    commands.acl(&["Describe"], &groups),
                    "Permits Unstuck's account to describe groups of that name, and nothing else.",
                )
                .verify("Unstuck says whether the coordinators serve, ten minutes later at most.")
                .undo(format!("`{}`", commands.remove_acl(&["Describe"], &groups))),
            );
            finding.partitions = partitions;
            finding
        })
        .collect()
}

/// What the ids begin with that were denied: the prefix can be configured.
fn denied_prefix<'a>(context: &'a Context<'_, '_>, partitions: &[PartitionId]) -> Option<&'a str> {
    let canaries = context.facts.snapshot.brokers.values().flat_map(|sight| &sight.canaries);
    let denied = canaries.filter(|(partition, canary)| canary.code == 30 && partitions.contains(partition));
    denied.map(|(_, canary)| crate::rights::prefix_of(&canary.group)).next()
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
          -> Let Unstuck describe its own made-up groups: It needs DESCRIBE on group ids that begin with unstuck-canary. No such group exists or is made.
             if (not known): User:UNSTUCK is replaced by the principal that Unstuck logs in as
             if (not known): whoever runs it may change ACLs (ALTER on CLUSTER); --command-config names their login
             $ kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --add --allow-principal User:UNSTUCK --operation Describe --group unstuck-canary --resource-pattern-type prefixed
             changes: Permits Unstuck's account to describe groups of that name, and nothing else.
             verify: Unstuck says whether the coordinators serve, ten minutes later at most.
             undo: `kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --remove --force --allow-principal User:UNSTUCK --operation Describe --group unstuck-canary --resource-pattern-type prefixed`
        ");
        assert_eq!((report.partitions[0].status, report.partitions[0].shard), (Status::Unknown, Shard::Denied));
    }

    #[test]
    fn the_prefix_is_the_one_that_was_denied() {
        let mut sample = Sample::kraft(3, 3, 3).canary(1, 0, 30);
        for canary in sample.snapshot.brokers.values_mut().flat_map(|sight| sight.canaries.values_mut()) {
            canary.group.0 = canary.group.0.replace("unstuck-canary", "team-7.unstuck");
        }
        let told = text(&sample.report(), super::SLUG);
        assert!(told.contains("--group team-7.unstuck --resource-pattern-type prefixed"), "{told}");
        assert!(told.contains("begin with team-7.unstuck."), "{told}");
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
