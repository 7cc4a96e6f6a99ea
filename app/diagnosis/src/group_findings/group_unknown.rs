//! `group-unknown` and `group-not-seen`: no listing has the group. Catalogue row 31.
//!
//! "Does not exist" is said only if every broker listed its groups without an error, the account is proven to see all of
//! them, and the group's own coordinator serves (section 6.3: never otherwise).

use super::{GroupContext, GroupRule};
use crate::findings::{finding, likely, not_seen, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::{time, words};

const SLUG: &str = "group-unknown";
const NOT_SEEN: &str = "group-not-seen";

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[
        Entry {
            slug: SLUG,
            title: "No broker knows the group",
            severity: "warning",
            means: "A coordinator knows a group as long as it has members or committed offsets. This one is known to none: \
                    no consumer with exactly this id has joined or committed yet, or the group was deleted, or all its \
                    offsets have expired. The next consumer that joins with this id makes it anew, and begins where \
                    `auto.offset.reset` says.",
            opens: "Every broker listed its groups without an error, DESCRIBE on CLUSTER is proven, the group's own \
                    coordinator serves, and no listing has the id.",
            closes: "A listing has it.",
            not_told: "Whether the group ever existed, unless Unstuck has seen it. If any broker could not list its groups, \
                       `group-not-seen` is said instead.",
            clients_see: "`kafka-consumer-groups.sh --describe`: \"Consumer group '…' does not exist.\" Below 4.0, \
                          DescribeGroups answers with the state Dead and no error.",
            way_out: "Check the id letter by letter (ids that look alike are listed), and whether this is the cluster that \
                      the consumers use. If the group expired, start its consumers and set their offsets by time.",
            never: "",
            twins: &[
                ("group-id-typo", "then a group whose id looks the same exists"),
                ("group-not-seen", "then something could not be looked at, so the group may exist"),
                ("offsets-expired", "then Unstuck has seen it before it went"),
            ],
            shadows: &[],
            versions: "all",
            sources: &["KIP-1043", "GroupCoordinator.scala / GroupMetadataManager.java"],
        },
        Entry {
            slug: NOT_SEEN,
            title: "No listing has the group, but listings are not complete",
            severity: "info",
            means: "Groups on a coordinator that does not answer are in no listing, without any error; and brokers leave \
                    out groups that the account may not see. So a group that was not seen may still exist.",
            opens: "No listing has the id, its own coordinator serves, and some listing is missing or may be filtered.",
            closes: "A listing has it, or all listings are complete (then it is `group-unknown`).",
            not_told: "Whether the group exists.",
            clients_see: "",
            way_out: "Let Unstuck see all groups, or look at the group's details: its own coordinator is asked for them.",
            never: "",
            twins: &[("group-unknown", "then it is proven that no broker knows it")],
            shadows: &[],
            versions: "all; listings are filtered from 2.1 on (KIP-231)",
            sources: &["KIP-231"],
        },
    ],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let known_inside = context.detail.is_some_and(|detail| detail.state.is_some() || detail.committed_count > 0);
    if !context.coordinator_fine() || context.seen.is_some() || known_inside {
        return Vec::new();
    }
    let id = context.id();
    let Some(why) = &context.report.groups.incomplete_because else {
        return vec![unknown(context, &id)];
    };
    let mut finding = finding(NOT_SEEN, Severity::Info, format!("{id} was not seen in any listing, but it may exist."));
    finding.evidence.push(not_seen(format!("The listings are not complete: {why}.")));
    finding.remedies.push(
        step(
            "Ask its coordinator for it",
            "Kafka's own tool asks the coordinator itself, with the rights of whoever runs it.",
        )
        .looks(context.commands().describe_state(context.raw_id())),
    );
    vec![finding]
}

fn unknown(context: &GroupContext<'_>, id: &str) -> Finding {
    let mut finding =
        finding(SLUG, Severity::Warning, format!("No broker knows {id}: nobody has joined or committed with this id."));
    let listings = &context.memory.groups.listings;
    let brokers: Vec<_> = listings.keys().copied().collect();
    if let Some(oldest) = listings.values().min() {
        finding.evidence.push(seen_(format!(
            "{} listed all groups without an error, at {} or later, and the account may see all of them.",
            crate::findings::capital(&words::brokers(&brokers)),
            time::clock(*oldest)
        )));
    }
    if let Some((coordinator, placement)) = context.lookup.coordinator.as_ref().zip(context.lookup.placement.as_ref())
        && let Some(leader) = coordinator.leader
    {
        finding.evidence.push(seen_(format!(
            "Broker {leader} leads partition {} of __consumer_offsets, where this id would live, and serves it.",
            placement.partition
        )));
    }
    if context.memory.groups.gone.contains_key(&context.lookup.group) {
        return finding;
    }
    finding.evidence.push(likely(
        "The id is mistyped, or belongs to another cluster, or the group's offsets have expired.".to_owned(),
    ));
    finding.remedies.push(
        step("Compare the id with the groups there are", "Ids are case-sensitive, and spaces count.")
            .looks(context.commands().list_groups()),
    );
    finding.remedies.push(step(
        "Check that the consumers use this cluster",
        "Their bootstrap.servers may lead to another one, where their group lives.",
    ));
    finding
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, group, inside_slugs, slugs, told};
    use crate::sample::Sample;

    #[test]
    fn it_is_proven_that_nobody_knows_it() {
        insta::assert_snapshot!(told(&Sample::kraft(3, 50, 3), "my-group", super::SLUG), @"
        [warning] No broker knows my-group: nobody has joined or committed with this id.
          seen: Brokers 1, 2 and 3 listed all groups without an error, at 12:00:00 UTC or later, and the account may see all of them.
          seen: Broker 1 leads partition 12 of __consumer_offsets, where this id would live, and serves it.
          likely: The id is mistyped, or belongs to another cluster, or the group's offsets have expired.
          -> Compare the id with the groups there are: Ids are case-sensitive, and spaces count.
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --list
          -> Check that the consumers use this cluster: Their bootstrap.servers may lead to another one, where their group lives.
        ");
    }

    #[test]
    fn a_known_one_is_known() {
        assert!(slugs(&group("Stable"), "my-group").is_empty());
        assert!(inside_slugs(&detail("Stable")).is_empty());
    }

    #[test]
    fn what_could_not_be_listed_may_exist() {
        insta::assert_snapshot!(told(&Sample::kraft(3, 50, 3).cluster_not_permitted(), "my-group", super::NOT_SEEN), @"
        [info] my-group was not seen in any listing, but it may exist.
          not seen: The listings are not complete: the account may not see all groups (needs DESCRIBE on CLUSTER).
          -> Ask its coordinator for it: Kafka's own tool asks the coordinator itself, with the rights of whoever runs it.
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group my-group --state
        ");
        let gone = Sample::kraft(3, 50, 3).gone(2).later(30);
        assert!(!slugs(&gone, "my-group").contains(&super::SLUG.to_owned()));
        assert!(slugs(&Sample::kraft(3, 50, 1).gone(1), "my-group").is_empty(), "its own coordinator is lost");
    }
}
