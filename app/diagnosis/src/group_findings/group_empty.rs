//! `group-empty`: the group has no members, and its offsets do not stay for ever. Catalogue row 30.

use super::{GroupContext, GroupRule};
use crate::findings::{finding, likely, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::time;

const SLUG: &str = "group-empty";

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "The group has no members",
        severity: "warning",
        means: "The coordinator serves the group, and nobody is in it: no consumer with this group.id is connected, or \
                each of them fails before it has joined. Nothing is consumed. From the moment at which the last member \
                left, the coordinator counts `offsets.retention.minutes`; when that has passed, it deletes the committed \
                offsets, and consumers that come back later begin where `auto.offset.reset` says.",
        opens: "The coordinator is fine, and the group is listed (or described) as Empty although it is not one of a \
                simple consumer, which is always Empty.",
        closes: "A member has joined.",
        not_told: "Whether consumers are running and cannot join is in their logs only. Listings of brokers below 2.6 do \
                   not tell the state: there it comes with the group's details.",
        clients_see: "Nothing, if none runs. Consumers that run and cannot join log why: an authorization error, a wrong \
                      address, an exception in the application.",
        way_out: "Start the consumers. If they run, read their logs, and compare group.id and bootstrap.servers with what \
                  is shown here: a process that uses another id is in another group.",
        never: "",
        twins: &[
            ("group-unknown", "then the coordinator does not know the group at all"),
            ("group-id-typo", "then the consumers may be in a group whose id looks the same"),
        ],
        shadows: &[],
        versions: "all; the retention is 1 day below 2.0 (KIP-186), and counts from each commit below 2.1 (KIP-211)",
        sources: &["KIP-186", "KIP-211", "GroupMetadataManager.scala / OffsetMetadataManager.java"],
    }],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let simple =
        context.seen.is_some_and(|seen| seen.protocol_type.is_empty() && seen.group_type.as_deref() != Some("share"));
    if !context.coordinator_fine() || context.state() != Some("Empty") || simple {
        return Vec::new();
    }
    let id = context.id();
    let mut finding = finding(
        SLUG,
        Severity::Warning,
        format!("{id} has no members: none of its consumers is connected, so nothing is consumed."),
    );
    if let Some(since) = context.listed_since("Empty") {
        finding.evidence.push(seen_(format!("It has been Empty {since}.")));
    }
    if let Some(detail) = context.detail {
        finding.evidence.push(seen_(format!(
            "Broker {}, its coordinator, answered at {}: state Empty, no members.",
            detail.answered_by,
            time::clock(detail.at)
        )));
    }
    finding.outlook = Some(outlook(context));
    finding.evidence.push(likely("The consumers are stopped, or cannot join: their logs tell.".to_owned()));
    finding.remedies.push(step(
        "Start its consumers",
        "Each member that joins takes over partitions and goes on at the committed offsets.",
    ));
    finding.remedies.push(step(
        "If they run, compare their group.id and bootstrap.servers with this page",
        "A consumer with another id, even one that looks the same, is in another group; one with other addresses is in \
         another cluster.",
    ));
    finding.remedies.push(context.look());
    vec![finding]
}

/// What becomes of the offsets.
fn outlook(context: &GroupContext<'_>) -> String {
    let settings = context.settings();
    let retention_ms = settings.offsets_retention_minutes.saturating_mul(60_000);
    let kept = time::span(retention_ms);
    let assumed =
        if settings.offsets_retention_assumed { "assumed: Kafka's default" } else { "offsets.retention.minutes" };
    if settings.offsets_expire_by_commit {
        return format!("Each of its committed offsets is deleted {kept} after it was committed ({assumed}).");
    }
    let empty = context.seen.filter(|seen| seen.state.as_deref() == Some("Empty"));
    match empty.map(|seen| (seen.state_since, seen.first_seen)) {
        Some((Some(since), _)) => format!(
            "Its committed offsets are deleted when it has been empty for {kept} ({assumed}): not before {}.",
            time::date(time::after(since, retention_ms))
        ),
        Some((None, first)) => format!(
            "Its committed offsets are deleted when it has been empty for {kept} ({assumed}): by {} at the latest, as it \
             was empty already when Unstuck first saw it.",
            time::date(time::after(first, retention_ms))
        ),
        None => format!("Its committed offsets are deleted when it has been empty for {kept} ({assumed})."),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, group, history, inside_slugs, listed, slugs, told};
    use crate::sample::Sample;
    use crate::snapshot::ListedGroup;

    #[test]
    fn nobody_is_there() {
        insta::assert_snapshot!(told(&history("my-group", &[("Stable", 0), ("Empty", 30)], 60), "my-group", super::SLUG), @"
        [warning] my-group has no members: none of its consumers is connected, so nothing is consumed.
          outlook: Its committed offsets are deleted when it has been empty for 7 days (offsets.retention.minutes): not before 2026-12-06 12:00 UTC.
          seen: It has been Empty since 12:00:30 UTC.
          likely: The consumers are stopped, or cannot join: their logs tell.
          -> Start its consumers: Each member that joins takes over partitions and goes on at the committed offsets.
          -> If they run, compare their group.id and bootstrap.servers with this page: A consumer with another id, even one that looks the same, is in another group; one with other addresses is in another cluster.
          -> Look at its members and offsets with Kafka's own tool: It shows which members there are, on which hosts, and how far each partition is behind.
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group my-group --members --verbose
        ");
        insta::assert_snapshot!(told(&group("Empty"), "my-group", super::SLUG).lines().nth(1).unwrap_or_default(), @"  outlook: Its committed offsets are deleted when it has been empty for 7 days (offsets.retention.minutes): by 2026-12-06 12:00 UTC at the latest, as it was empty already when Unstuck first saw it.");
    }

    #[test]
    fn old_releases_forget_sooner() {
        let sample = group("Empty").release("1.1").configs(|configs| configs.offsets_retention_minutes = None);
        insta::assert_snapshot!(told(&sample, "my-group", super::SLUG).lines().nth(1).unwrap_or_default(), @"  outlook: Each of its committed offsets is deleted 1 day after it was committed (assumed: Kafka's default).");
    }

    #[test]
    fn members_or_a_simple_consumer_are_no_such_thing() {
        assert!(slugs(&group("Stable"), "my-group").is_empty());
        let simple = ListedGroup { protocol_type: String::new(), ..listed("Empty", "classic") };
        assert!(slugs(&Sample::kraft(3, 50, 3).lists("my-group".into(), simple), "my-group").is_empty());
    }

    #[test]
    fn a_listing_without_states_leaves_it_to_the_details() {
        let listed = ListedGroup { state: None, ..listed("", "classic") };
        let sample = Sample::kraft(3, 50, 3).lists("my-group".into(), listed);
        assert!(slugs(&sample, "my-group").is_empty());
        assert!(sample.lookup("my-group").verdict.sentence.contains("not in listings"));
        assert_eq!(inside_slugs(&detail("Empty")), [super::SLUG]);
    }
}
