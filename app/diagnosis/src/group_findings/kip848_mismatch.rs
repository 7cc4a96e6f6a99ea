//! `kip848-mismatch`: old tools do not know the group, or members of both protocols are in it. Catalogue rows 42 and 43.

use super::{GroupContext, GroupRule};
use crate::findings::{finding, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::words;

const SLUG: &str = "kip848-mismatch";

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "The group is of a newer type than some clients or tools know",
        severity: "info",
        means: "Groups of the new consumer protocol (KIP-848), share groups and streams groups are described by requests of \
                their own. Tools that know only classic groups ask with DescribeGroups, and are told that such a group is \
                Dead although it lives. Classic members may be in a consumer group while it is migrated; members of an \
                unfitting kind are refused with 23 or 69, and with 35 where a broker has the protocol switched off.",
        opens: "The group's details show that it is a consumer, share or streams group.",
        closes: "It is of the classic type.",
        not_told: "Which members are refused is in their own logs: 110 FENCED_MEMBER_EPOCH, 111 UNRELEASED_INSTANCE_ID, 112 \
                   UNSUPPORTED_ASSIGNOR, 113 STALE_MEMBER_EPOCH.",
        clients_see: "kafka-consumer-groups.sh below 3.7 and monitoring built on it: state Dead, no members.",
        way_out: "Use tools of 4.0 or later. If members are refused, compare `group.protocol` of all instances, \
                  `group.coordinator.rebalance.protocols` and `group.consumer.migration.policy` of the brokers.",
        never: "",
        twins: &[("mixed-protocols", "then clients of different kinds use one classic id")],
        shadows: &[],
        versions: "3.7 and later; general availability in 4.0",
        sources: &["KIP-848", "KIP-932", "KIP-1071", "KIP-1043"],
    }],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let Some(detail) = context.detail.filter(|detail| detail.state.is_some()) else { return Vec::new() };
    let Some(kind @ ("consumer" | "share" | "streams")) = context.group_type() else { return Vec::new() };
    let id = context.id();
    let classic = detail.members.iter().filter(|member| member.classic == Some(true)).count();
    let new = detail.members.len() - classic;
    let mut finding = if classic > 0 && new > 0 {
        finding(
            SLUG,
            Severity::Info,
            format!("{id} has members of both protocols, {classic} classic and {new} new: it is being migrated."),
        )
    } else {
        finding(
            SLUG,
            Severity::Info,
            format!("{id} is a {kind} group: tools that know only classic groups show it as Dead, although it lives."),
        )
    };
    finding.evidence.push(seen_(format!(
        "Broker {} describes it as a {kind} group, state {}, with {}.",
        detail.answered_by,
        detail.state.as_deref().unwrap_or("not told"),
        words::count(detail.member_count, "member")
    )));
    finding.remedies.push(
        step(
            "Use Kafka's tools of 4.0 or later for it",
            "Older ones ask with DescribeGroups, which knows classic groups only.",
        )
        .looks(context.commands().describe_state(context.raw_id())),
    );
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, group, inside_slugs, told_inside};
    use crate::detail::GroupTrace;

    #[test]
    fn a_new_group_lives_whatever_old_tools_say() {
        let look =
            detail("Stable").member("a", "10.0.0.7", &[0]).with(|made| made.group_type = Some("consumer".to_owned()));
        insta::assert_snapshot!(told_inside(&group("Stable"), &GroupTrace::default(), &look, super::SLUG), @"
        [info] my-group is a consumer group: tools that know only classic groups show it as Dead, although it lives.
          seen: Broker 1 describes it as a consumer group, state Stable, with 1 member.
          -> Use Kafka's tools of 4.0 or later for it: Older ones ask with DescribeGroups, which knows classic groups only.
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group my-group --state
        ");
        let look = look.member("b", "10.0.0.8", &[1]).last_member(|member| member.classic = Some(true));
        let told = told_inside(&group("Stable"), &GroupTrace::default(), &look, super::SLUG);
        insta::assert_snapshot!(told.lines().next().unwrap_or_default(), @"[info] my-group has members of both protocols, 1 classic and 1 new: it is being migrated.");
    }

    #[test]
    fn classic_is_classic() {
        assert!(inside_slugs(&detail("Stable")).is_empty());
    }

    #[test]
    fn a_group_that_the_coordinator_does_not_know_has_no_type() {
        let look = detail("Stable").with(|made| (made.state, made.group_type) = (None, Some("consumer".to_owned())));
        assert!(inside_slugs(&look).is_empty());
    }
}
