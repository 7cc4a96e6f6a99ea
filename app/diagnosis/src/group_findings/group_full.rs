//! `group-full`: no further member may join. Catalogue row 44.

use super::{GroupContext, GroupRule};
use crate::findings::{finding, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::words;

const SLUG: &str = "group-full";

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "The group has as many members as it may have",
        severity: "error",
        means: "The brokers' `group.max.size` limits how many members a group may have. This one has reached it: every \
                further consumer is refused with 81 GROUP_MAX_SIZE_REACHED and does not consume.",
        opens: "The group has at least `group.max.size` members.",
        closes: "It has fewer.",
        not_told: "Whether anybody wants to join. The setting is not told without DESCRIBE_CONFIGS on CLUSTER.",
        clients_see: "Java: GroupMaxSizeReachedException \"Consumer group … has reached its maximum capacity of … members\". \
                      librdkafka: \"Broker: Consumer group has reached maximum size\".",
        way_out: "Run fewer consumers: more than there are partitions have nothing to do anyway. Or raise group.max.size, \
                  which each broker reads when it starts.",
        never: "",
        twins: &[("members-without-partitions", "then there are more members than partitions")],
        shadows: &[],
        versions: "2.2 and later (KIP-389); group.consumer.max.size for groups of the new protocol is another setting",
        sources: &["KIP-389"],
    }],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let (Some(detail), Some(limit)) = (context.detail, context.settings().group_max_size) else { return Vec::new() };
    let classic = detail.group_type.as_deref().is_none_or(|kind| kind == "classic");
    if !classic || usize::try_from(limit).is_ok_and(|limit| detail.member_count < limit) || limit <= 0 {
        return Vec::new();
    }
    let id = context.id();
    let mut finding = finding(
        SLUG,
        Severity::Error,
        format!("{id} is full: it has {}, and no further one is let in.", words::count(detail.member_count, "member")),
    );
    finding.evidence.push(seen_(format!("group.max.size is {limit} on the brokers.")));
    finding.remedies.push(step(
        "Run fewer consumers in this group",
        "Those that cannot join do nothing but ask again; members beyond the number of partitions are idle.",
    ));
    finding.remedies.push(step(
        "Or raise group.max.size on each broker and restart one after the other",
        "Brokers read it when they start.",
    ));
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, group, inside, told_inside};
    use crate::detail::GroupTrace;
    use crate::sample::Sample;

    fn limited(limit: Option<i32>) -> Sample {
        group("Stable").configs(|configs| configs.group_max_size = limit)
    }

    #[test]
    fn nobody_else_gets_in() {
        let look = detail("Stable").member("a", "10.0.0.7", &[0]).member("b", "10.0.0.8", &[1]);
        insta::assert_snapshot!(told_inside(&limited(Some(2)), &GroupTrace::default(), &look, super::SLUG), @"
        [error] my-group is full: it has 2 members, and no further one is let in.
          seen: group.max.size is 2 on the brokers.
          -> Run fewer consumers in this group: Those that cannot join do nothing but ask again; members beyond the number of partitions are idle.
          -> Or raise group.max.size on each broker and restart one after the other: Brokers read it when they start.
        ");
    }

    #[test]
    fn there_is_room() {
        let look = detail("Stable").member("a", "10.0.0.7", &[0]);
        assert!(inside(&limited(Some(2)), &GroupTrace::default(), &look).is_empty());
    }

    #[test]
    fn an_unknown_limit_is_none() {
        let look = detail("Stable").member("a", "10.0.0.7", &[0]);
        assert!(inside(&limited(None), &GroupTrace::default(), &look).is_empty());
    }
}
