//! `cleanup-policy`: the offsets topic deletes old records instead of compacting them.
//!
//! Catalogue row 36. (`__share_group_state` deletes on purpose; this is about `__consumer_offsets` only.)

use super::{Context, Rule, finding, seen_};
use crate::handbook::Entry;
use crate::report::{Avoid, Finding, Remedy, Severity};
use crate::{OFFSETS_TOPIC, words};

const SLUG: &str = "cleanup-policy";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "The offsets topic deletes old records: committed offsets vanish at the next load",
        severity: "error",
        means: "Kafka creates `__consumer_offsets` with `cleanup.policy=compact`: the last commit of each group and \
            partition is kept for ever. With `delete` in the policy, segments older than `retention.ms` are thrown away, \
            with the last commits of groups that have not committed since. Their coordinator still has them in memory, so \
            nothing shows until it moves or restarts and reads the log: then these groups start at `auto.offset.reset`.",
        opens: "`cleanup.policy` of `__consumer_offsets` contains `delete`.",
        closes: "It is `compact`.",
        not_told: "Where no broker tells the topic's settings nothing is said. What has been deleted already cannot be seen \
            from outside.",
        clients_see: "Nothing at first; after the next restart of a coordinator, groups that read everything again or skip \
            to the end.",
        way_out: "Keep the committed offsets of the groups first, while coordinators have them in memory. Then set \
            `cleanup.policy=compact`. Groups that commit often write their offsets anew by themselves.",
        never: "Do not restart brokers and do not move leaders before the policy is `compact` and the groups have committed \
            again: each load reads only what is left.",
        twins: &[("offsets-may-be-lost", "an election may have lost commits; here the log deletes them by itself")],
        sources: &["GroupCoordinator.groupMetadataTopicConfigs: the topic is created with cleanup.policy=compact"],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let told = facts.answering.iter().find_map(|id| {
        let configs = facts.snapshot.brokers.get(id)?.topic_configs.known()?.as_ref()?;
        Some((*id, configs.cleanup_policy.clone()?))
    });
    let Some((broker, policy)) = told.filter(|(_, policy)| policy.split(',').any(|part| part.trim() == "delete"))
    else {
        return Vec::new();
    };
    let all: Vec<_> = facts.partitions.keys().copied().collect();
    let groups = context.group_count(&all);
    let groups = if groups == 0 { "groups".to_owned() } else { words::count(groups, "known group") };
    let policy = crate::visible(&policy);
    let mut finding = finding(
        SLUG,
        Severity::Error,
        format!(
            "__consumer_offsets deletes old records (cleanup.policy={policy}): committed offsets of {groups} may vanish when \
             a coordinator moves or restarts."
        ),
    );
    finding
        .evidence
        .push(seen_(format!("Broker {broker} tells cleanup.policy={policy}; Kafka creates it with compact.")));
    finding.outlook = Some(
        "Coordinators still have the offsets in memory; what is older than retention.ms is gone from the log."
            .to_owned(),
    );
    finding.remedies = vec![compact(context, &policy)];
    finding.avoid.push(Avoid {
        what: "Do not restart brokers or move leaders before the policy is compact and groups have committed again"
            .to_owned(),
        why: "A coordinator that loads its partition reads only what is left.".to_owned(),
    });
    finding.partitions = all;
    vec![finding]
}

fn compact(context: &Context<'_, '_>, before: &str) -> Remedy {
    let commands = context.commands();
    Remedy::new(
        "Let it compact again",
        "Nothing more is deleted then. What has been deleted stays so; groups that still run write their offsets anew.",
    )
    .command(
        commands.set_topic(OFFSETS_TOPIC, "cleanup.policy=compact"),
        "the topic's cleanup.policy, at once and without a restart",
    )
    .given("offsets of groups that do not run now are kept elsewhere, should they be needed", None)
    .verify(format!(
        "`{}` shows cleanup.policy=compact, and this finding closes",
        commands.describe_settings(OFFSETS_TOPIC)
    ))
    .undo(format!("`{}`, though nothing speaks for it", commands.set_topic(OFFSETS_TOPIC, &set_to(before))))
}

/// Lists are given in brackets to kafka-configs.sh.
fn set_to(policy: &str) -> String {
    if policy.contains(',') { format!("cleanup.policy=[{policy}]") } else { format!("cleanup.policy={policy}") }
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};
    use crate::snapshot::Why;

    #[test]
    fn it_deletes() {
        let sample = Sample::kraft(3, 3, 3).cleanup_policy("compact,delete").group_on(0, "orders");
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] __consumer_offsets deletes old records (cleanup.policy=compact,delete): committed offsets of 1 known group may vanish when a coordinator moves or restarts.
          outlook: Coordinators still have the offsets in memory; what is older than retention.ms is gone from the log.
          seen: Broker 1 tells cleanup.policy=compact,delete; Kafka creates it with compact.
          -> Let it compact again: Nothing more is deleted then. What has been deleted stays so; groups that still run write their offsets anew.
             if (not known): offsets of groups that do not run now are kept elsewhere, should they be needed
             $ kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --alter --add-config cleanup.policy=compact
             changes: the topic's cleanup.policy, at once and without a restart
             verify: `kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --describe` shows cleanup.policy=compact, and this finding closes
             undo: `kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --alter --add-config 'cleanup.policy=[compact,delete]'`, though nothing speaks for it
          avoid: Do not restart brokers or move leaders before the policy is compact and groups have committed again: A coordinator that loads its partition reads only what is left.
        ");
    }

    #[test]
    fn it_compacts() {
        assert!(!slugs(&Sample::kraft(3, 3, 3).cleanup_policy("compact").report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn not_told_is_no_finding_and_said() {
        let report = Sample::kraft(3, 3, 3).no_configs().trouble(1, Why::Silent).report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
        assert!(report.could_not_observe.iter().any(|gap| gap.what.contains("settings of __consumer_offsets")));
    }
}
