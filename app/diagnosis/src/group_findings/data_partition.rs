//! `group-data-partition-without-leader`: what the group reads has no leader. Catalogue row 46; founding incident 1.

use super::{GroupContext, GroupRule};
use crate::findings::{finding, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::words;

const SLUG: &str = "group-data-partition-without-leader";

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "A partition that the group reads has no leader",
        severity: "error",
        means: "The group and its coordinator are fine. But a partition that is assigned to its members, or that they have \
                committed offsets for, has no leader: nobody can read or write it until it has one. Members wait at that \
                partition and go on with the others; some clients hold up everything.",
        opens: "The coordinator's own metadata, asked together with the group's details, names no leader for a partition of \
                the group.",
        closes: "Each has a leader.",
        not_told: "Partitions beyond the first 200 are not looked at. Where metadata could not be had, the ends of the logs \
                   are missing too, and that is said.",
        clients_see: "Java: \"Received unknown topic or partition error\" or LEADER_NOT_AVAILABLE warnings for that \
                      partition; producers: TimeoutException.",
        way_out: "The same as for any partition without a leader: start the broker of an in-sync replica. See the finding \
                  `data-partition-without-leader` of the cluster, which names the replicas.",
        never: "",
        twins: &[
            ("lag-stands-still", "then the partition has a leader, and the group does not get past a record"),
            ("data-partition-without-leader", "the same, told about the cluster as a whole"),
        ],
        shadows: &["lag-stands-still", "lag-unknown"],
        versions: "all",
        sources: &["Metadata (api key 3), error 5 LEADER_NOT_AVAILABLE"],
    }],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let Some(detail) = context.detail else { return Vec::new() };
    let committed = detail.offsets.iter().flatten().filter(|one| one.without_leader);
    let named: Vec<String> = committed
        .map(|one| (&one.topic, one.partition))
        .chain(detail.uncommitted.iter().filter(|one| one.without_leader).map(|one| (&one.topic, one.partition)))
        .map(|(topic, partition)| format!("{}-{partition}", crate::visible(topic)))
        .collect();
    if named.is_empty() {
        return Vec::new();
    }
    let id = context.id();
    let verb = if named.len() == 1 { "has" } else { "have" };
    let mut finding = finding(
        SLUG,
        Severity::Error,
        format!(
            "{id} cannot go on at {}: {} {verb} no leader. The group and its coordinator are fine.",
            words::count(named.len(), "partition"),
            words::list(&named)
        ),
    );
    finding.evidence.push(seen_(format!(
        "Broker {} names no leader for {}.",
        detail.answered_by,
        if named.len() == 1 { "it" } else { "them" }
    )));
    for one in &context.report.data_partitions.named {
        let name = format!("{}-{}", crate::visible(&one.topic), one.partition);
        if named.contains(&name) {
            let isr = if one.isr.is_empty() { String::new() } else { format!(", ISR {}", words::ids(&one.isr)) };
            finding.evidence.push(seen_(format!("{name}: replicas {}{isr}.", words::ids(&one.replicas))));
        }
    }
    finding.remedies.push(
        step(
            "Start the brokers that hold its in-sync replicas",
            "A partition gets a leader as soon as a member of its ISR is back; nothing is lost.",
        )
        .looks(context.commands().describe_unavailable()),
    );
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, group, inside_slugs, told_inside};
    use crate::detail::GroupTrace;

    #[test]
    fn the_data_is_what_is_lost() {
        let look = detail("Stable")
            .member("client", "10.0.0.7", &[0, 1])
            .offset("orders", 0, 10, 10)
            .last_offset(|one| (one.end, one.lag, one.leader, one.without_leader) = (None, None, None, true))
            .uncommitted("orders", 1, true);
        let sample = group("Stable").leaderless_data("orders", 0, &[2]);
        insta::assert_snapshot!(told_inside(&sample, &GroupTrace::default(), &look, super::SLUG), @"
        [error] my-group cannot go on at 2 partitions: orders-0 and orders-1 have no leader. The group and its coordinator are fine.
          seen: Broker 1 names no leader for them.
          seen: orders-0: replicas [2], ISR [2].
          -> Start the brokers that hold its in-sync replicas: A partition gets a leader as soon as a member of its ISR is back; nothing is lost.
             $ kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --unavailable-partitions
        ");
        assert_eq!(inside_slugs(&look), [super::SLUG]);
    }

    #[test]
    fn with_leaders_there_is_nothing_to_say() {
        assert!(inside_slugs(&detail("Stable").member("client", "a", &[0]).offset("orders", 0, 10, 10)).is_empty());
    }

    #[test]
    fn an_unknown_leader_is_no_lost_one() {
        let look = detail("Stable").member("client", "a", &[0]).offset("orders", 0, 10, 10);
        let look = look.last_offset(|one| (one.end, one.lag, one.leader) = (None, None, None));
        assert_eq!(inside_slugs(&look), ["lag-unknown"]);
    }
}
