//! `static-member-gone`: a static member seems to be away, and its partitions wait for it. Catalogue row 40.

use super::{GroupContext, GroupRule};
use crate::detail::CommittedOffset;
use crate::findings::{finding, likely, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::{time, words};

const SLUG: &str = "static-member-gone";
const LONG_ENOUGH_MS: i64 = 60_000;

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "A static member seems to be gone, and its partitions wait for it",
        severity: "warning",
        means: "A static member (group.instance.id) does not leave the group when it stops: that is what it is for. Until its \
                `session.timeout.ms` is over, which is often set to many minutes for static members, its partitions stay \
                assigned to it and nobody reads them. The group is Stable all the while.",
        opens: "The group is Stable, other members go on, and no partition of a static member has moved for 60 s although \
                records are written to them.",
        closes: "It commits again, or its partitions are with another member.",
        not_told: "Whether the process runs: a member that hangs looks the same. Brokers do not tell session time-outs. It \
                   takes two looks at the group at least a minute apart.",
        clients_see: "Nothing: the process is not there.",
        way_out: "Start it again under the same instance id: it gets its partitions back without a rebalance. If it will not \
                  come back, remove it from the group (Admin API removeMembersFromConsumerGroup; there is no command for \
                  it), or wait for its session time-out.",
        never: "",
        twins: &[
            ("lag-stands-still", "then a member is there and does not get on"),
            ("static-member-fenced", "then two processes use one instance id"),
        ],
        shadows: &["lag-stands-still"],
        versions: "2.3 and later (KIP-345)",
        sources: &["KIP-345"],
    }],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let Some((detail, before)) = context.detail.and_then(|detail| Some((detail, detail.compared_with?))) else {
        return Vec::new();
    };
    let long = time::millis_between(before, detail.at);
    let moving = detail.offsets.iter().flatten().any(CommittedOffset::moves);
    if long < LONG_ENOUGH_MS || detail.state.as_deref() != Some("Stable") || !moving {
        return Vec::new();
    }
    let mut found = Vec::new();
    for member in &detail.members {
        let (Some(instance), Some(assignment)) = (&member.instance_id, &member.assignment) else { continue };
        let own = |one: &&CommittedOffset| {
            assignment.iter().any(|topic| topic.topic == one.topic && topic.partitions.contains(&one.partition))
        };
        let offsets: Vec<&CommittedOffset> = detail.offsets.iter().flatten().filter(own).collect();
        let still: Vec<String> = offsets
            .iter()
            .filter(|one| one.stands_still())
            .map(|one| format!("{}-{}", crate::visible(&one.topic), one.partition))
            .collect();
        if still.is_empty() || offsets.iter().any(|one| one.moves()) {
            continue;
        }
        let id = context.id();
        let instance = crate::visible(instance);
        let mut finding = finding(
            SLUG,
            Severity::Warning,
            format!("The static member {instance} of {id} seems to be gone: its partitions wait for it."),
        );
        finding.evidence.push(seen_(format!(
            "Nothing was committed on {} for {}, although records were written; other members went on.",
            words::list(&still),
            time::span(long)
        )));
        finding
            .evidence
            .push(seen_(format!("It last joined from {}.", crate::visible(member.host.trim_start_matches('/')))));
        finding
            .evidence
            .push(likely("Its process is not running, or hangs; the coordinator keeps its place.".to_owned()));
        finding.remedies.push(step(
            format!("Start the process with group.instance.id {instance} again"),
            "It gets its partitions back at once, without a rebalance.",
        ));
        finding.remedies.push(step(
            "If it will not come back, remove it from the group or wait for its session.timeout.ms",
            "Removing is done with the Admin API (removeMembersFromConsumerGroup, KIP-345); there is no command for it.",
        ));
        found.push(finding);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Made, detail, group, inside, told_inside, trace};
    use crate::detail::GroupTrace;

    fn look(seconds: i64, first: (i64, i64), second: (i64, i64)) -> Made {
        detail("Stable")
            .at(seconds)
            .instance("worker-1", "a", "10.0.0.7", &[0])
            .instance("worker-2", "b", "10.0.0.8", &[1])
            .offset("orders", 0, first.0, first.1)
            .offset("orders", 1, second.0, second.1)
    }

    #[test]
    fn its_place_is_kept() {
        let trace = trace([&look(0, (5, 5), (5, 5))]);
        let now = look(70, (5, 30), (31, 31)).after(&trace);
        insta::assert_snapshot!(told_inside(&group("Stable"), &trace, &now, super::SLUG), @"
        [warning] The static member worker-1 of my-group seems to be gone: its partitions wait for it.
          seen: Nothing was committed on orders-0 for 1 min, although records were written; other members went on.
          seen: It last joined from 10.0.0.7.
          likely: Its process is not running, or hangs; the coordinator keeps its place.
          -> Start the process with group.instance.id worker-1 again: It gets its partitions back at once, without a rebalance.
          -> If it will not come back, remove it from the group or wait for its session.timeout.ms: Removing is done with the Admin API (removeMembersFromConsumerGroup, KIP-345); there is no command for it.
        ");
        let lag = inside(&group("Stable"), &trace, &now).pop().expect("lag stands still too");
        assert_eq!((lag.slug.as_str(), lag.follows_from.as_deref()), ("lag-stands-still", Some(super::SLUG)));
    }

    #[test]
    fn who_goes_on_is_there() {
        let trace = trace([&look(0, (5, 5), (5, 5))]);
        assert!(inside(&group("Stable"), &trace, &look(70, (6, 30), (31, 31)).after(&trace)).is_empty());
    }

    #[test]
    fn one_look_tells_nothing() {
        assert!(inside(&group("Stable"), &GroupTrace::default(), &look(0, (5, 30), (5, 5))).is_empty());
    }
}
