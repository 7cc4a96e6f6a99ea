//! `mixed-protocols`: different kinds of clients use one id. Catalogue row 44.

use super::{GroupContext, GroupRule};
use crate::findings::{finding, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};

const SLUG: &str = "mixed-protocols";

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "Different kinds of clients use the same id",
        severity: "error",
        means: "A classic group has one protocol type: `consumer`, `connect`, or what a registry or another framework calls \
                its own. While members of one kind are in it, clients of another kind with the same id are refused with 23 \
                INCONSISTENT_GROUP_PROTOCOL. Whoever comes first after a pause keeps the others out.",
        opens: "Listings of this run showed the id with two different protocol types.",
        closes: "Unstuck has begun anew, or the group is gone.",
        not_told: "Clients that are refused are not seen anywhere but in their own logs. Consumers whose assignors have none \
                   in common are refused with the same code, and are not seen either.",
        clients_see: "Java: InconsistentGroupProtocolException \"The group member's supported protocols are incompatible \
                      with those of existing members\". librdkafka: \"Broker: Inconsistent group protocol\".",
        way_out: "Give each application an id of its own: the group.id of Connect workers is not that of a sink connector \
                  (connect-NAME) nor of any consumer.",
        never: "",
        twins: &[("kip848-mismatch", "then the group is of the new protocol")],
        shadows: &[],
        versions: "all",
        sources: &["JoinGroup (api key 11), error 23"],
    }],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let Some((seen, other)) = context.seen.and_then(|seen| Some((seen, seen.other_protocol_type.as_deref()?))) else {
        return Vec::new();
    };
    if context.detail.is_some() || !context.coordinator_fine() || seen.protocol_type == other {
        return Vec::new();
    }
    let id = context.id();
    let now = crate::visible(&seen.protocol_type);
    let other = crate::visible(other);
    let mut finding = finding(
        SLUG,
        Severity::Error,
        format!("Two kinds of clients use the id {id}, {now} and {other}: one keeps the other out."),
    );
    finding
        .evidence
        .push(seen_(format!("The group is listed with the protocol type {now}, and was with {other} before.")));
    finding.remedies.push(step(
        "Give one of the two applications another group.id",
        "Clients of another protocol type than the members have are refused with 23 (INCONSISTENT_GROUP_PROTOCOL).",
    ));
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{group, listed, slugs, told};
    use crate::snapshot::ListedGroup;

    fn connect() -> ListedGroup {
        ListedGroup { protocol_type: "connect".to_owned(), ..listed("Stable", "classic") }
    }

    #[test]
    fn connect_and_a_consumer_take_turns() {
        let sample = group("Stable").later(15).lists("my-group".into(), connect());
        insta::assert_snapshot!(told(&sample, "my-group", super::SLUG), @"
        [error] Two kinds of clients use the id my-group, connect and consumer: one keeps the other out.
          seen: The group is listed with the protocol type connect, and was with consumer before.
          -> Give one of the two applications another group.id: Clients of another protocol type than the members have are refused with 23 (INCONSISTENT_GROUP_PROTOCOL).
        ");
    }

    #[test]
    fn one_kind_is_fine() {
        let sample = group("Stable").lists("other".into(), connect());
        assert!(slugs(&sample, "my-group").is_empty());
        let paused = ListedGroup { protocol_type: String::new(), ..listed("Empty", "classic") };
        let back = group("Stable").later(15).lists("my-group".into(), paused).later(15);
        assert!(slugs(&back.lists("my-group".into(), listed("Stable", "classic")), "my-group").is_empty());
    }

    #[test]
    fn what_was_not_listed_is_not_known() {
        assert!(slugs(&crate::sample::Sample::kraft(3, 50, 1).gone(1), "my-group").is_empty());
    }
}
