//! `reconciling-stuck`: a group of the new protocol does not reach its target. Catalogue row 41.

use super::{GroupContext, GroupRule};
use crate::findings::{finding, likely, seen_, step};
use crate::handbook::Entry;
use crate::rebalance::{Rebalance, rebalance};
use crate::report::{Finding, Risk, Severity};
use crate::{time, words};

const SLUG: &str = "reconciling-stuck";

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "Members of a new-protocol group do not take over their partitions",
        severity: "info while it may take that long, then error",
        means: "In the new protocol (KIP-848) the coordinator computes a target for each member (Assigning), and members move \
                there one by one (Reconciling): each gives up partitions first, then others get them. A member that does not \
                give up what it has, because it hangs in its processing or in a rebalance listener, holds up those that wait \
                for these partitions; the rest goes on.",
        opens: "The coordinator is fine, and the group is listed as Assigning or Reconciling. Until the members' rebalance \
                time-out is over the verdict is recovering; past it, it is an error. The group's details name the members \
                that are behind.",
        closes: "The group is Stable, or Empty.",
        not_told: "Members' own time-outs are not told, so the bound is assumed. Below 4.0 the protocol is a preview.",
        clients_see: "The member that is behind: \"consumer poll timeout has expired\", or a listener that does not return.",
        way_out: "Wait until the bound; then restart the members that are behind.",
        never: "",
        twins: &[("group-rebalancing", "the same in classic groups, where everybody waits")],
        shadows: &[],
        versions: "3.7 and later (KIP-848; streams groups 4.1, KIP-1071)",
        sources: &["KIP-848", "ConsumerGroupDescribeResponse.json"],
    }],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let Some(seen) = context.seen.filter(|_| context.coordinator_fine()) else { return Vec::new() };
    let Some(state @ ("Assigning" | "Reconciling")) = context.state() else { return Vec::new() };
    let id = context.id();
    let judged = rebalance(seen, context.settings(), context.report.observed_at);
    let (mut finding, past) = match judged {
        Rebalance::Past { since, .. } => {
            let long = time::span(time::millis_between(since, context.report.observed_at));
            let sentence = format!("{id} has been {state} for {long}: a member does not take over its partitions.");
            (finding(SLUG, Severity::Error, sentence), true)
        }
        Rebalance::Within { .. } | Rebalance::No => {
            (finding(SLUG, Severity::Info, format!("{id} is moving partitions between its members ({state}).")), false)
        }
        Rebalance::Loop { .. } => return Vec::new(),
    };
    if let Some(since) = context.listed_since(state) {
        finding.evidence.push(seen_(format!("It has been {state} {since}.")));
    }
    if let Rebalance::Within { by, .. } = &judged {
        finding.outlook = Some(format!("It should be Stable {}.", crate::findings::by(by)));
    }
    let behind = context.detail.map(|detail| {
        let behind = detail.members.iter().filter(|member| member.behind(detail.group_epoch));
        behind.map(crate::detail::GroupMember::named).collect::<Vec<_>>()
    });
    match behind.as_deref() {
        None => finding.evidence.push(likely("Which member is behind is in the group's details.".to_owned())),
        Some([]) => finding.evidence.push(likely("No member of those that are shown is behind.".to_owned())),
        Some(names) => {
            let verb = if names.len() == 1 { "has" } else { "have" };
            let list = words::list(names);
            finding.evidence.push(seen_(format!("{list} {verb} not taken over what the coordinator wants.")));
        }
    }
    if past {
        let who = match behind.as_deref() {
            Some([one]) => format!("Restart the member {one}"),
            _ => "Restart the members that are behind".to_owned(),
        };
        finding.remedies.push(
            step(
                who,
                "It holds partitions that others wait for. Take a thread dump of it first: it shows where it hangs.",
            )
            .danger(Risk::Pause, "Its partitions move to other members."),
        );
        finding.remedies.push(context.look());
    } else {
        finding.remedies.push(step("Wait", "Members that are done go on consuming meanwhile."));
    }
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Made, detail, group, history, slugs, told, told_inside};
    use crate::detail::{Assigned, GroupTrace};
    use crate::report::Status;

    fn behind() -> Made {
        detail("Reconciling")
            .member("a", "10.0.0.7", &[0, 1])
            .last_member(|one| {
                one.epoch = Some(4);
                one.target = Some(vec![Assigned { topic: "orders".to_owned(), partitions: vec![0] }]);
            })
            .member("b", "10.0.0.8", &[])
            .last_member(|one| one.epoch = Some(5))
            .with(|made| (made.group_type, made.group_epoch) = (Some("consumer".to_owned()), Some(5)))
    }

    #[test]
    fn one_member_holds_up_the_others() {
        let sample = history("my-group", &[("Stable", 0), ("Reconciling", 30)], 600);
        insta::assert_snapshot!(told(&sample, "my-group", super::SLUG), @"
        [error] my-group has been Reconciling for 9 min: a member does not take over its partitions.
          seen: It has been Reconciling since 12:00:30 UTC.
          likely: Which member is behind is in the group's details.
          -> Restart the members that are behind: It holds partitions that others wait for. Take a thread dump of it first: it shows where it hangs.
             ! Its partitions move to other members.
          -> Look at its members and offsets with Kafka's own tool: It shows which members there are, on which hosts, and how far each partition is behind.
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group my-group --members --verbose
        ");
        insta::assert_snapshot!(told_inside(&sample, &GroupTrace::default(), &behind(), super::SLUG), @"
        [error] my-group has been Reconciling for 9 min: a member does not take over its partitions.
          seen: It has been Reconciling since 12:00:30 UTC.
          seen: a at 10.0.0.7 has not taken over what the coordinator wants.
          -> Restart the member a at 10.0.0.7: It holds partitions that others wait for. Take a thread dump of it first: it shows where it hangs.
             ! Its partitions move to other members.
          -> Look at its members and offsets with Kafka's own tool: It shows which members there are, on which hosts, and how far each partition is behind.
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group my-group --members --verbose
        ");
    }

    #[test]
    fn in_time_it_is_recovering() {
        let sample = history("my-group", &[("Stable", 0), ("Reconciling", 30)], 45);
        assert_eq!(sample.lookup("my-group").verdict.status, Status::Recovering);
        insta::assert_snapshot!(told(&sample, "my-group", super::SLUG), @"
        [info] my-group is moving partitions between its members (Reconciling).
          outlook: It should be Stable by 12:05:33 UTC (assumed: the time-out could not be read).
          seen: It has been Reconciling since 12:00:30 UTC.
          likely: Which member is behind is in the group's details.
          -> Wait: Members that are done go on consuming meanwhile.
        ");
    }

    #[test]
    fn stable_is_done() {
        assert!(slugs(&group("Stable"), "my-group").is_empty());
    }

    #[test]
    fn without_its_coordinator_nothing_is_said() {
        assert!(slugs(&group("Reconciling").canary(1, 12, 14), "my-group").is_empty());
    }
}
