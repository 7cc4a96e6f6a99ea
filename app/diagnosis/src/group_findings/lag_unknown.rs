//! `lag-unknown`: offsets or the ends of logs could not be looked at, so nothing is known about lag.

use super::{GroupContext, GroupRule};
use crate::findings::{finding, not_seen, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::words;

const SLUG: &str = "lag-unknown";

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "How far the group is behind could not be looked at",
        severity: "info",
        means: "The lag of a partition is the end of its log less the committed offset. One of the two could not be had in \
                time: so nothing is said about whether the group keeps up.",
        opens: "The coordinator refused the committed offsets or did not tell them in time, or leaders did not tell the ends \
                of logs.",
        closes: "All are known.",
        not_told: "The lag.",
        clients_see: "",
        way_out: "Give Unstuck DESCRIBE on the topics and on the group; see whether the named brokers answer.",
        never: "",
        twins: &[("group-data-partition-without-leader", "then there is no leader that could tell the end")],
        shadows: &[],
        versions: "all; offsets of all topics can be asked for from 0.10.2 on (OffsetFetch v2)",
        sources: &["OffsetFetch (api key 9)", "ListOffsets (api key 2)"],
    }],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let Some(detail) = context.detail else { return Vec::new() };
    let id = context.id();
    let (sentence, evidence) = match &detail.offsets {
        Err(why) => (format!("The committed offsets of {id} are not known, so neither is its lag."), why.clone()),
        Ok(offsets) => {
            let unknown: Vec<String> = offsets
                .iter()
                .filter(|one| one.end.is_none() && !one.without_leader)
                .map(|one| format!("{}-{}", crate::visible(&one.topic), one.partition))
                .collect();
            if unknown.is_empty() {
                return Vec::new();
            }
            (
                format!("The lag of {id} is not known for {}.", words::count(unknown.len(), "partition")),
                format!(
                    "No leader told the end of {} in time, or the account may not see the topic",
                    words::list(&unknown)
                ),
            )
        }
    };
    let mut finding = finding(SLUG, Severity::Info, sentence);
    finding.evidence.push(not_seen(format!("{evidence}.")));
    finding.remedies.push(
        step("Ask with Kafka's own tool", "It asks with the rights of whoever runs it, and waits longer.")
            .looks(context.commands().describe_group(context.raw_id())),
    );
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, group, inside_slugs, told_inside};
    use crate::detail::GroupTrace;

    #[test]
    fn what_nobody_told_is_named() {
        let look = detail("Stable").offset("orders", 0, 5, 9).last_offset(|one| (one.end, one.lag) = (None, None));
        insta::assert_snapshot!(told_inside(&group("Stable"), &GroupTrace::default(), &look, super::SLUG), @"
        [info] The lag of my-group is not known for 1 partition.
          not seen: No leader told the end of orders-0 in time, or the account may not see the topic.
          -> Ask with Kafka's own tool: It asks with the rights of whoever runs it, and waits longer.
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group my-group
        ");
        let look =
            detail("Stable").with(|made| made.offsets = Err("answered error 30 (GROUP_AUTHORIZATION_FAILED)".into()));
        insta::assert_snapshot!(told_inside(&group("Stable"), &GroupTrace::default(), &look, super::SLUG), @"
        [info] The committed offsets of my-group are not known, so neither is its lag.
          not seen: answered error 30 (GROUP_AUTHORIZATION_FAILED).
          -> Ask with Kafka's own tool: It asks with the rights of whoever runs it, and waits longer.
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group my-group
        ");
    }

    #[test]
    fn known_lag_is_known() {
        assert!(inside_slugs(&detail("Stable").offset("orders", 0, 5, 9)).is_empty());
    }

    #[test]
    fn without_details_nothing_is_said() {
        assert!(super::super::testing::slugs(&group("Stable"), "my-group").is_empty());
    }
}
