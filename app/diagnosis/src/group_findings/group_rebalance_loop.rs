//! `group-rebalance-loop`: one rebalance follows the other. Catalogue rows 29 and 35.

use std::collections::BTreeSet;

use super::{GroupContext, GroupRule};
use crate::findings::{finding, likely, seen_, step};
use crate::handbook::Entry;
use crate::rebalance::{LOOP_WITHIN, Rebalance, rebalance};
use crate::report::{Finding, Severity};
use crate::time;

const SLUG: &str = "group-rebalance-loop";

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "One rebalance follows the other",
        severity: "error",
        means: "Members come and go all the time, so the group hardly consumes. The usual causes: processing takes longer \
                between two polls than `max.poll.interval.ms`, so the consumer leaves and joins again; the process is \
                restarted over and over; members are added or removed by an autoscaler or a deployment; the member that \
                leads the group fails to make the assignment, or the assignment is too large to be written; two Kafka \
                Connect clusters have the same `group.id`, so that their workers push each other out.",
        opens: "Listings show at least three rebalances begun within 10 minutes; or the members of the group were replaced \
                by others at each of several looks at its details.",
        closes: "None began for 90 seconds, or for twice the usual time between two of them where that is longer; and members stay.",
        not_told: "Rebalances shorter than the time between two listings (about 15 s) are not seen, so there may be more. \
                   Brokers do not tell why a member left; DescribeGroups does not tell the generation.",
        clients_see: "Java: \"consumer poll timeout has expired. This means the time between subsequent calls to poll() was \
                      longer than the configured max.poll.interval.ms\". librdkafka: \"Application maximum poll interval \
                      (300000ms) exceeded by …ms\". Commits fail with 22 ILLEGAL_GENERATION or 25 UNKNOWN_MEMBER_ID.",
        way_out: "Read the members' logs for the lines above. Raise max.poll.interval.ms or lower max.poll.records where \
                  processing is slow; find out why processes restart; use static members (group.instance.id) so that a \
                  restart makes no rebalance, and the cooperative assignor or the new protocol (KIP-848), which do not stop \
                  everybody. Kafka Connect: see that no other Connect cluster has the same group.id.",
        never: "",
        twins: &[
            ("group-rebalancing", "then one rebalance does not end"),
            (
                "isr-below-min",
                "then each rebalance fails because the coordinator cannot write its result: look there first",
            ),
        ],
        shadows: &["group-rebalancing", "static-member-gone", "members-without-partitions"],
        versions: "all",
        sources: &["KIP-62", "KIP-345", "KIP-429", "KIP-848"],
    }],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    if !context.coordinator_fine() {
        return Vec::new();
    }
    let id = context.id();
    let looped = context.seen.map(|seen| rebalance(seen, context.settings(), context.report.observed_at));
    let mut finding = if let (Some(Rebalance::Loop { times, since }), Some(seen)) = (looped, context.seen) {
        let long = time::span(time::millis_between(since, context.report.observed_at));
        let mut finding = finding(
            SLUG,
            Severity::Error,
            format!("{id} rebalances again and again: {times} times within {long}, so it hardly consumes."),
        );
        let states: Vec<_> =
            seen.states().iter().map(|(state, at)| format!("{state} at {}", time::clock(*at))).collect();
        finding.evidence.push(seen_(format!("Its states as listed: {}.", states.join(", "))));
        finding
    } else if let Some(looks) = replaced(context) {
        let mut finding = finding(
            SLUG,
            Severity::Error,
            format!("The members of {id} are replaced again and again, so it hardly consumes."),
        );
        finding.evidence.push(seen_(format!(
            "At each of {looks} looks within {} it had other members than before.",
            time::span(LOOP_WITHIN.as_millis().try_into().unwrap_or(i64::MAX))
        )));
        finding
    } else {
        return Vec::new();
    };
    // Connect's workers have another time-out and no polls, and share their id by a setting that is easily copied.
    if context.protocol_type() == "connect" {
        finding.evidence.push(likely(
            "Workers of two Connect clusters have the same group.id, or a worker is restarted again and again."
                .to_owned(),
        ));
        finding.remedies.push(step(
            format!("Look which workers have group.id={id}: those of two Connect clusters must not share it"),
            "It is in each worker's properties, beside config.storage.topic, offset.storage.topic and \
             status.storage.topic. Workers with other topics, or of another release, belong to another cluster: give that \
             one a group.id of its own.",
        ));
    } else {
        finding.evidence.push(likely(
            "Members leave because processing takes longer than max.poll.interval.ms, or because they are restarted."
                .to_owned(),
        ));
        finding.remedies.push(step(
            "Read the members' logs for \"poll timeout\" or \"maximum poll interval\"",
            "Then processing takes too long between two polls: raise max.poll.interval.ms, or lower max.poll.records.",
        ));
    }
    finding.remedies.push(step(
        "See whether the processes restart (crash loop, autoscaler, deployment)",
        "Each start and each stop is a rebalance. With group.instance.id a restart within session.timeout.ms makes none \
         (2.3 and later).",
    ));
    finding.remedies.push(context.look());
    vec![finding]
}

/// At how many looks in a row, two at least, no member of the look before was there any more. Static members keep their
/// place under new ids, so they do not count.
fn replaced(context: &GroupContext<'_>) -> Option<usize> {
    let detail = context.detail?;
    let dynamic = |members: &mut dyn Iterator<Item = (&String, bool)>| -> BTreeSet<String> {
        members.filter(|(_, fixed)| !fixed).map(|(id, _)| id.clone()).collect()
    };
    let now = dynamic(&mut detail.members.iter().map(|one| (&one.member_id, one.instance_id.is_some())));
    let mut looks: Vec<BTreeSet<String>> = context
        .trace
        .samples()
        .iter()
        .filter(|sample| sample.at < detail.at && detail.at.duration_since(sample.at) <= LOOP_WITHIN)
        .map(|sample| dynamic(&mut sample.members.iter().map(|(id, (instance, _))| (id, instance.is_some()))))
        .collect();
    looks.push(now);
    let changes = looks.windows(2).rev().take_while(|pair| match pair {
        [before, after] => !before.is_empty() && !after.is_empty() && before.is_disjoint(after),
        _ => false,
    });
    let changes = changes.count();
    (changes >= 3).then_some(changes + 1)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, group, history, inside, slugs, told, told_inside, trace};
    use crate::detail::GroupTrace;
    use crate::report::Status;

    fn flapping(now: i64) -> crate::sample::Sample {
        let states = [
            ("Stable", 0),
            ("PreparingRebalance", 30),
            ("Stable", 60),
            ("PreparingRebalance", 90),
            ("Stable", 105),
            ("PreparingRebalance", 135),
        ];
        history("my-group", &states, now)
    }

    #[test]
    fn it_never_comes_to_rest() {
        insta::assert_snapshot!(told(&flapping(150), "my-group", super::SLUG), @r#"
        [error] my-group rebalances again and again: 3 times within 1 min, so it hardly consumes.
          seen: Its states as listed: Stable at 12:00:00 UTC, PreparingRebalance at 12:00:30 UTC, Stable at 12:01:00 UTC, PreparingRebalance at 12:01:30 UTC, Stable at 12:01:45 UTC, PreparingRebalance at 12:02:15 UTC.
          likely: Members leave because processing takes longer than max.poll.interval.ms, or because they are restarted.
          -> Read the members' logs for "poll timeout" or "maximum poll interval": Then processing takes too long between two polls: raise max.poll.interval.ms, or lower max.poll.records.
          -> See whether the processes restart (crash loop, autoscaler, deployment): Each start and each stop is a rebalance. With group.instance.id a restart within session.timeout.ms makes none (2.3 and later).
          -> Look at its members and offsets with Kafka's own tool: It shows which members there are, on which hosts, and how far each partition is behind.
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group my-group --members --verbose
        "#);
        let lookup = flapping(150).lookup("my-group");
        assert_eq!(lookup.verdict.status, Status::LookAtGroup, "a loop does not heal by itself");
        insta::assert_snapshot!(lookup.verdict.sentence, @"my-group: its coordinator is fine, look at the group: it has begun to rebalance 3 times in 1 min (state PreparingRebalance).");
    }

    #[test]
    fn members_that_are_others_each_time() {
        let looks: Vec<_> =
            (0..4).map(|n| detail("Stable").at(n * 20).member(&format!("client-{n}"), "10.0.0.7", &[0])).collect();
        let told = told_inside(&group("Stable"), &trace(&looks[..3]), &looks[3], super::SLUG);
        insta::assert_snapshot!(told.lines().take(2).collect::<Vec<_>>().join("\n"), @"
        [error] The members of my-group are replaced again and again, so it hardly consumes.
          seen: At each of 4 looks within 10 min it had other members than before.
        ");
    }

    #[test]
    fn workers_of_connect_share_an_id() {
        let looks: Vec<_> = (0..4)
            .map(|n| {
                let look = detail("Stable").at(n * 20).member(&format!("worker-{n}"), "10.0.0.7", &[]);
                look.with(|made| made.protocol_type = Some("connect".to_owned()))
            })
            .collect();
        let told = told_inside(&group("Stable"), &trace(&looks[..3]), &looks[3], super::SLUG);
        insta::assert_snapshot!(told, @"
        [error] The members of my-group are replaced again and again, so it hardly consumes.
          seen: At each of 4 looks within 10 min it had other members than before.
          likely: Workers of two Connect clusters have the same group.id, or a worker is restarted again and again.
          -> Look which workers have group.id=my-group: those of two Connect clusters must not share it: It is in each worker's properties, beside config.storage.topic, offset.storage.topic and status.storage.topic. Workers with other topics, or of another release, belong to another cluster: give that one a group.id of its own.
          -> See whether the processes restart (crash loop, autoscaler, deployment): Each start and each stop is a rebalance. With group.instance.id a restart within session.timeout.ms makes none (2.3 and later).
          -> Look at its members and offsets with Kafka's own tool: It shows which members there are, on which hosts, and how far each partition is behind.
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group my-group --members --verbose
        ");
    }

    #[test]
    fn one_rebalance_is_none() {
        let sample = history("my-group", &[("Stable", 0), ("PreparingRebalance", 30), ("Stable", 60)], 90);
        assert!(slugs(&sample, "my-group").is_empty());
        let look = detail("Stable").member("client", "10.0.0.7", &[0]);
        let later = look.clone().at(60);
        assert!(inside(&group("Stable"), &trace([&look, &look.clone().at(20)]), &later).is_empty());
    }

    #[test]
    fn without_earlier_looks_nothing_is_said() {
        let look = detail("Stable").member("client", "10.0.0.7", &[0]);
        assert!(inside(&group("Stable"), &GroupTrace::default(), &look).is_empty());
    }
}
