//! `members-without-partitions`: there are more members than partitions.

use super::{GroupContext, GroupRule};
use crate::findings::{finding, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::words;

const SLUG: &str = "members-without-partitions";

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "Some members have no partition",
        severity: "info",
        means: "A partition is read by one member of a group at a time. Members beyond the number of partitions have \
                nothing to do, whatever the load: they wait to take over. If there are partitions enough, members subscribe \
                to different topics, or the assignor leaves some out.",
        opens: "The group is Stable, the assignment of every member can be read, and some have none.",
        closes: "All have some.",
        not_told: "Assignments of frameworks with a protocol of their own (Connect) cannot be read. In a share group \
                   partitions are shared, so this does not apply.",
        clients_see: "The member polls and gets nothing.",
        way_out: "Run fewer members, or give the topic more partitions (that changes which partition a key goes to).",
        never: "",
        twins: &[],
        shadows: &[],
        versions: "all",
        sources: &["ConsumerProtocolAssignment.json"],
    }],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let Some(detail) = context.detail.filter(|detail| detail.state.as_deref() == Some("Stable")) else {
        return Vec::new();
    };
    let (Some(idle @ 1..), Some(partitions)) = (detail.idle_members, detail.assigned_partitions) else {
        return Vec::new();
    };
    if context.group_type() == Some("share") {
        return Vec::new();
    }
    let id = context.id();
    let members = detail.member_count;
    let verb = if idle == 1 { "has" } else { "have" };
    let mut finding = finding(
        SLUG,
        Severity::Info,
        format!("{idle} of the {} of {id} {verb} no partition and nothing to do.", words::count(members, "member")),
    );
    finding.evidence.push(seen_(format!(
        "{} and {} are assigned.",
        words::count(members, "member"),
        words::count(partitions, "partition")
    )));
    finding.remedies.push(if members > partitions {
        step("Run fewer members, if they are not there to take over", "A partition is read by one member at a time.")
    } else {
        step("Compare what the members subscribe to", "There are partitions enough, so some members want other topics.")
    });
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, group, inside_slugs, told_inside};
    use crate::detail::GroupTrace;

    #[test]
    fn one_too_many() {
        let look = detail("Stable").member("a", "10.0.0.7", &[0]).member("b", "10.0.0.8", &[]);
        insta::assert_snapshot!(told_inside(&group("Stable"), &GroupTrace::default(), &look, super::SLUG), @"
        [info] 1 of the 2 members of my-group has no partition and nothing to do.
          seen: 2 members and 1 partition are assigned.
          -> Run fewer members, if they are not there to take over: A partition is read by one member at a time.
        ");
    }

    #[test]
    fn everybody_has_some() {
        assert!(inside_slugs(&detail("Stable").member("a", "10.0.0.7", &[0])).is_empty());
        assert!(inside_slugs(&detail("PreparingRebalance").member("a", "10.0.0.7", &[])).is_empty());
    }

    #[test]
    fn assignments_that_cannot_be_read_tell_nothing() {
        let look = detail("Stable").member("a", "10.0.0.7", &[]).with(|made| made.idle_members = None);
        assert!(inside_slugs(&look).is_empty());
    }
}
