//! `offsets-expired`: committed offsets that were there are gone. Catalogue row 37.

use super::{GroupContext, GroupRule};
use crate::findings::{finding, likely, seen_, step};
use crate::handbook::Entry;
use crate::report::{Avoid, Finding, Severity};
use crate::{time, words};

const SLUG: &str = "offsets-expired";

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "Committed offsets that were there are gone",
        severity: "error",
        means: "The group had committed offsets, or was known, and its coordinator has none any more. They expired after \
                `offsets.retention.minutes` without members, were deleted (kafka-consumer-groups.sh --delete), or were lost \
                with the coordinator's partition. Consumers that start now begin where `auto.offset.reset` says: at the end \
                (records are skipped) or at the beginning (all are read again).",
        opens: "Unstuck listed the group earlier in this run, and its coordinator lists all groups and no longer knows it; or \
                an earlier look at the group showed committed offsets and the coordinator tells none now.",
        closes: "Offsets are committed again.",
        not_told: "Why they are gone is not told by any broker. What happened before Unstuck began to look is not known: then \
                   the group is `group-unknown`.",
        clients_see: "Java: \"Resetting offset for partition … to position …\", or NoOffsetForPartitionException with \
                      auto.offset.reset=none.",
        way_out: "Before consumers start: set the offsets by time. Raise offsets.retention.minutes for groups that pause \
                  longer than it.",
        never: "Do not start the consumers before the offsets are set: what they commit then hides where the group was. Do \
                not set offsets that are still there.",
        twins: &[
            ("group-empty", "then nobody is there, and the offsets still are"),
            ("group-unknown", "then Unstuck never saw the group"),
        ],
        shadows: &["group-unknown"],
        versions: "all; 1 day below 2.0, and counted from each commit below 2.1; KAFKA-13636 deleted offsets of groups with \
                   members (fixed in 2.8.2, 3.0.1, 3.1.1, 3.2.0)",
        sources: &["KIP-186", "KIP-211", "KAFKA-13636"],
    }],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    match context.detail {
        None => gone(context).into_iter().collect(),
        Some(_) => lost(context).into_iter().collect(),
    }
}

/// The whole group is gone.
fn gone(context: &GroupContext<'_>) -> Option<Finding> {
    let gone = context.memory.groups.gone.get(&context.lookup.group)?;
    if context.seen.is_some() || !context.coordinator_fine() {
        return None;
    }
    let id = context.id();
    let last = time::date(gone.last_seen);
    let mut finding = finding(
        SLUG,
        Severity::Error,
        format!("{id} is gone, and its committed offsets with it: it expired, or was deleted."),
    );
    let state = gone.state.as_deref().unwrap_or("not told");
    let since = gone.state_since.map(|since| format!(" since {}", time::date(since))).unwrap_or_default();
    finding.evidence.push(seen_(format!("It was last listed at {last}, state {state}{since}.")));
    finding.evidence.push(seen_("Its coordinator has listed all its groups since, without it.".to_owned()));
    say_how_long(context, &mut finding, gone.state.as_deref());
    finding.remedies.push(before_they_start());
    finding.remedies.push(keep_longer(context));
    finding.remedies.push(context.reset_by_time(Some("TOPIC"), gone.last_seen));
    finding.avoid.push(Avoid {
        what: "Do not start its consumers before its offsets are set".to_owned(),
        why: "They begin where auto.offset.reset says, and what they commit then hides where the group was.".to_owned(),
    });
    Some(finding)
}

/// The group is there, and its offsets are not.
fn lost(context: &GroupContext<'_>) -> Option<Finding> {
    let detail = context.detail?;
    let offsets = detail.offsets.as_ref().ok()?;
    let earlier =
        context.trace.samples().iter().rev().find(|sample| sample.at < detail.at && !sample.offsets.is_empty())?;
    let there = |key: &(String, i32)| offsets.iter().any(|one| one.topic == key.0 && one.partition == key.1);
    let missing: Vec<&(String, i32)> = earlier.offsets.keys().filter(|key| !there(key)).collect();
    // Lists are capped: what lies beyond is not missing.
    let (first, _) = missing.first()?;
    if detail.committed_count > offsets.len() {
        return None;
    }
    let names: Vec<String> =
        missing.iter().map(|(topic, number)| format!("{}-{number}", crate::visible(topic))).collect();
    let id = context.id();
    let mut finding = finding(
        SLUG,
        Severity::Error,
        format!(
            "{} of {id} {} gone: {}.",
            words::count(missing.len(), "committed offset"),
            if missing.len() == 1 { "is" } else { "are" },
            words::list(&names)
        ),
    );
    finding.evidence.push(seen_(format!(
        "They were told at {}, and are not at {}.",
        time::clock(earlier.at),
        time::clock(detail.at)
    )));
    say_how_long(context, &mut finding, detail.state.as_deref());
    finding.remedies.push(before_they_start());
    finding.remedies.push(keep_longer(context));
    let mut numbers = missing.iter().filter(|(topic, _)| topic == first).map(|(_, number)| number.to_string());
    // The tool takes partitions as `topic:0,1`. Those that have their offsets are left out of it.
    let which = match offsets.iter().any(|one| one.topic == *first) {
        true => format!("{first}:{}", numbers.by_ref().collect::<Vec<_>>().join(",")),
        false => first.clone(),
    };
    finding.remedies.push(context.reset_by_time(Some(&which), earlier.at));
    finding.avoid.push(Avoid {
        what: "Do not set offsets that are still there".to_owned(),
        why: "Only these are gone. Partitions that have theirs would read records again, or skip some.".to_owned(),
    });
    Some(finding)
}

fn say_how_long(context: &GroupContext<'_>, finding: &mut Finding, state: Option<&str>) {
    let settings = context.settings();
    let kept = time::span(settings.offsets_retention_minutes.saturating_mul(60_000));
    let assumed = if settings.offsets_retention_assumed { " (assumed: Kafka's default)" } else { "" };
    finding.evidence.push(likely(match (state, settings.offsets_expire_by_commit) {
        (_, true) => format!("Offsets are kept for {kept}{assumed} after each commit, then deleted."),
        (Some("Empty"), false) => format!("Offsets of a group without members are kept for {kept}{assumed}, then deleted."),
        (_, false) => format!(
            "Offsets expire {kept}{assumed} after the last member left; this group had members, so somebody deleted them, \
             or the coordinator lost them."
        ),
    }));
}

fn before_they_start() -> crate::report::Remedy {
    step(
        "Keep its consumers stopped until the offsets are set",
        "They would begin where auto.offset.reset says, and skip records or read all of them again.",
    )
}

fn keep_longer(context: &GroupContext<'_>) -> crate::report::Remedy {
    let settings = context.settings();
    let now = settings.offsets_retention_minutes;
    let assumed = if settings.offsets_retention_assumed { ", assumed" } else { "" };
    step(
        format!("For the next time, raise offsets.retention.minutes (now {now}{assumed}) above the longest pause"),
        "In server.properties of every broker; it counts from their restart on, and brings no offset back.",
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, group, inside, listed, slugs, told, told_inside, trace};
    use crate::detail::GroupTrace;
    use crate::sample::Sample;

    fn expired() -> Sample {
        let partition = crate::placement::partition_for(&"my-group".into(), 50).unwrap_or_default();
        group("Empty").later(600).listing_code(partition % 3 + 1, 0).later(1)
    }

    #[test]
    fn it_was_there_and_is_gone() {
        assert_eq!(slugs(&expired(), "my-group"), [super::SLUG, "group-unknown"]);
        insta::assert_snapshot!(told(&expired(), "my-group", super::SLUG), @"
        [error] my-group is gone, and its committed offsets with it: it expired, or was deleted.
          seen: It was last listed at 2026-11-29 12:00 UTC, state Empty.
          seen: Its coordinator has listed all its groups since, without it.
          likely: Offsets of a group without members are kept for 7 days, then deleted.
          -> Keep its consumers stopped until the offsets are set: They would begin where auto.offset.reset says, and skip records or read all of them again.
          -> For the next time, raise offsets.retention.minutes (now 10080) above the longest pause: In server.properties of every broker; it counts from their restart on, and brings no offset back.
          -> Set its offsets back to a time when it still worked: Its consumers then read from there. The time in the command is when Unstuck last saw it work: put in the right one. The tool reads it as UTC.
             if (not known): the group has no members (the tool refuses otherwise)
             if (not known): TOPIC is replaced by a topic that the group reads, once for each of them
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --group my-group --topic TOPIC --reset-offsets --to-datetime 2026-11-29T12:00:00.000 --execute
             changes: The committed offsets of TOPIC.
             ! (loses data) Records behind the new offsets are read again, and records before them are skipped.
             verify: kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group my-group
             undo: Only if the offsets were saved before: kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --group my-group --all-topics --reset-offsets --to-current --dry-run --export > offsets-before.csv Then --reset-offsets --from-file offsets-before.csv sets them again.
          avoid: Do not start its consumers before its offsets are set: They begin where auto.offset.reset says, and what they commit then hides where the group was.
        ");
        assert_eq!(expired().lookup("my-group").group_findings[1].follows_from.as_deref(), Some(super::SLUG));
    }

    #[test]
    fn offsets_that_an_earlier_look_showed() {
        let trace = trace([&detail("Stable").offset("orders", 0, 5, 5).offset("orders", 1, 6, 6)]);
        let now = detail("Stable").at(60).offset("orders", 1, 6, 6);
        let told = told_inside(&group("Stable"), &trace, &now, super::SLUG);
        insta::assert_snapshot!(told.lines().take(3).collect::<Vec<_>>().join("\n"), @"
        [error] 1 committed offset of my-group is gone: orders-0.
          seen: They were told at 12:00:00 UTC, and are not at 12:01:00 UTC.
          likely: Offsets expire 7 days after the last member left; this group had members, so somebody deleted them, or the coordinator lost them.
        ");
    }

    #[test]
    fn a_group_that_is_there_has_not_expired() {
        assert!(slugs(&expired().lists("my-group".into(), listed("Stable", "classic")), "my-group").is_empty());
        let look = detail("Stable").offset("orders", 0, 5, 5);
        assert!(inside(&group("Stable"), &trace([&look]), &look.clone().at(60)).is_empty());
    }

    #[test]
    fn one_that_was_never_seen_is_unknown() {
        assert_eq!(slugs(&Sample::kraft(3, 50, 3), "my-group"), ["group-unknown"]);
        assert!(inside(&group("Stable"), &GroupTrace::default(), &detail("Stable")).is_empty());
    }
}
