//! `group-id-typo` and `group-id-twin`: another known id looks the same. Catalogue row 32.

use super::{GroupContext, GroupRule};
use crate::findings::{finding, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::words;

const SLUG: &str = "group-id-typo";
const TWIN: &str = "group-id-twin";

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[
        Entry {
            slug: SLUG,
            title: "The group is not known, but one whose id looks alike is",
            severity: "warning",
            means: "Kafka takes group ids as they are: upper and lower case, spaces at the ends, invisible characters and \
                    look-alikes count, and each other id lives on a partition of its own. So the group that was asked for \
                    is another one than the group that was meant, with another coordinator.",
            opens: "No listing has the id, and a known id differs from it in case, spaces, invisible characters, Unicode's \
                    compatibility forms (NFKC), or by at most two edits (one below 8 characters, none below 4).",
            closes: "A listing has the id, or no known id looks like it.",
            not_told: "Which of the two ids is meant.",
            clients_see: "",
            way_out: "Look up the id that is meant. If the consumers are configured with the wrong one, correct group.id.",
            never: "",
            twins: &[("group-unknown", "then no known id looks like it")],
            shadows: &[],
            versions: "all",
            sources: &["Type.java (no check of characters)", "Unicode Standard Annex 15"],
        },
        Entry {
            slug: TWIN,
            title: "Two known groups have ids that look the same",
            severity: "info",
            means: "Two groups whose ids differ only in case, spaces, invisible characters or compatibility forms are two \
                    groups: each reads everything by itself, on its own coordinator. Often one of them is a mistake, and \
                    consumers of the same application are split between them.",
            opens: "The group is known, and so is another id that differs in nothing that people easily see.",
            closes: "One of them is gone.",
            not_told: "Whether that is on purpose.",
            clients_see: "Records are processed twice: once by each group.",
            way_out: "Compare the group.id of all instances of the application.",
            never: "",
            twins: &[],
            shadows: &[],
            versions: "all",
            sources: &["Type.java (no check of characters)"],
        },
    ],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let near = &context.lookup.near;
    if near.is_empty() || context.detail.is_some() {
        return Vec::new();
    }
    let id = context.id();
    let known = context.seen.is_some();
    let others: Vec<String> = near.iter().map(|one| one.group.visible()).collect();
    let (slug, severity, sentence) = if known {
        let sentence = format!("Another group has an id that looks the same as {id}: {}.", words::list(&others));
        (TWIN, Severity::Info, sentence)
    } else {
        let verb = if others.len() == 1 { "is" } else { "are" };
        // A group on a coordinator that does not serve is in no listing, whether it exists or not.
        let told = context.coordinator_fine() && context.report.groups.complete;
        let alike = words::list(&others);
        let sentence = if told {
            format!("{id} is not known, but {alike} {verb}: is that what is meant?")
        } else {
            let looks = if others.len() == 1 { "looks" } else { "look" };
            format!("{id} could not be looked for, and {alike} {looks} like it: is that what is meant?")
        };
        (SLUG, Severity::Warning, sentence)
    };
    let mut finding = finding(slug, severity, sentence);
    let place = |partition: Option<i32>| {
        partition.map_or_else(|| "its partition is not certain".to_owned(), |number| format!("on partition {number}"))
    };
    let asked = context.lookup.placement.as_ref().map(|placement| placement.partition);
    finding.evidence.push(seen_(format!("{id}: {}.", place(asked))));
    for one in near {
        finding.evidence.push(seen_(format!(
            "{}: {}, {}.",
            one.group.visible(),
            one.difference.words(),
            place(one.partition)
        )));
    }
    finding.remedies.push(if known {
        step("Compare the group.id of all instances", "Instances with different ids do not share the work.")
    } else {
        step("Look up the other id", "Each id has its own partition and its own coordinator.")
    });
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{group, listed, slugs, told};
    use crate::sample::Sample;

    #[test]
    fn a_known_id_looks_like_it() {
        let sample = Sample::kraft(3, 50, 3)
            .lists("Orders-Service ".into(), listed("Stable", "classic"))
            .lists("order-service".into(), listed("Stable", "classic"));
        insta::assert_snapshot!(told(&sample, "orders-service", super::SLUG), @"
        [warning] orders-service is not known, but Orders-Service␠ and order-service are: is that what is meant?
          seen: orders-service: on partition 17.
          seen: Orders-Service␠: differs in spaces, on partition 45.
          seen: order-service: differs in one or two characters, on partition 26.
          -> Look up the other id: Each id has its own partition and its own coordinator.
        ");
        assert_eq!(slugs(&sample, "orders-service"), [super::SLUG, "group-unknown"]);
    }

    #[test]
    fn two_that_exist_are_twins() {
        let sample = group("Stable").lists("My-Group".into(), listed("Stable", "classic"));
        insta::assert_snapshot!(told(&sample, "my-group", super::TWIN), @"
        [info] Another group has an id that looks the same as my-group: My-Group.
          seen: my-group: on partition 12.
          seen: My-Group: differs in upper and lower case, on partition 6.
          -> Compare the group.id of all instances: Instances with different ids do not share the work.
        ");
        let numbers = group("Stable").lists("my-group2".into(), listed("Stable", "classic"));
        assert!(slugs(&numbers, "my-group").is_empty(), "another id is no typo of one that exists");
    }

    #[test]
    fn another_id_is_another_id() {
        assert_eq!(slugs(&group("Stable"), "billing"), ["group-unknown"]);
    }

    #[test]
    fn it_is_said_whatever_else_could_not_be_told() {
        let sample = group("Stable").cluster_not_permitted();
        assert_eq!(slugs(&sample, "my-gruop"), [super::SLUG, "group-not-seen"]);
        let lost =
            Sample::kraft(3, 50, 1).lists("my-group".into(), listed("Stable", "classic")).gone(1).gone(2).gone(3);
        assert_eq!(slugs(&lost, "MY-GROUP"), [super::SLUG]);
        let sentence = told(&lost, "MY-GROUP", super::SLUG);
        assert!(sentence.contains("MY-GROUP could not be looked for, and my-group looks like it"), "{sentence}");
    }
}
