//! `group-rebalancing`: a rebalance runs, within its time or past it. Catalogue rows 28 and 29.

use super::{GroupContext, GroupRule};
use crate::findings::{finding, likely, seen_, step};
use crate::handbook::Entry;
use crate::rebalance::{Rebalance, rebalance, timeout_ms};
use crate::report::{Finding, Risk, Severity};
use crate::time;

const SLUG: &str = "group-rebalancing";

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "The group is rebalancing, and nobody consumes meanwhile",
        severity: "info while it may take that long, then error",
        means: "Somebody joined or left, so all members of a classic group must join again (PreparingRebalance), and then \
                get their partitions from the member that leads the group (CompletingRebalance, called AwaitingSync before \
                1.1). Members that assign eagerly stop consuming until that is over. The coordinator waits for the slowest \
                member, at most as long as the largest rebalance time-out among them (`max.poll.interval.ms`, 5 minutes \
                unless set; `rebalance.timeout.ms`, 1 minute, with Connect). The first rebalance of an empty group waits \
                `group.initial.rebalance.delay.ms` (3 s) for further members.",
        opens: "The coordinator is fine, and the group is listed in one of these states. Until the time is over the verdict \
                is recovering, and the bound is shown; past it, it is an error.",
        closes: "The group is listed in another state.",
        not_told: "Which member is missing is in the group's details, as far as the coordinator tells. The members' own \
                   time-outs are not told, so the bound is assumed. A rebalance between two listings is not seen.",
        clients_see: "Java: \"(Re-)joining group\", \"Request joining group due to: …\"; and of the one that is late: \
                      \"consumer poll timeout has expired\".",
        way_out: "Wait until the bound. Past it, find the member that does not join again (it hangs in its processing, or \
                  its poll loop is slow), and restart it. The last way out is to stop all members, wait until the group is \
                  Empty, and start them again.",
        never: "",
        twins: &[
            ("group-rebalance-loop", "then one rebalance follows the other"),
            ("isr-below-min", "then rebalances cannot end because the coordinator cannot write the result"),
        ],
        shadows: &[],
        versions: "classic groups; KAFKA-9752 (fixed in 2.5.0) and KAFKA-8896 (2.2.2, 2.3.1, 2.4.0) let groups hang",
        sources: &["KIP-62", "KIP-134", "KAFKA-9752", "KAFKA-8896"],
    }],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let Some(seen) = context.seen.filter(|_| context.coordinator_fine()) else { return Vec::new() };
    let state = context.state().unwrap_or_default();
    if !matches!(state, "PreparingRebalance" | "CompletingRebalance" | "AwaitingSync")
        || seen.state.as_deref() != Some(state)
    {
        return Vec::new();
    }
    let (since, by, past) = match rebalance(seen, context.settings(), context.report.observed_at) {
        Rebalance::Within { since, by } => (since, by, false),
        Rebalance::Past { since, by } => (since, by, true),
        Rebalance::No | Rebalance::Loop { .. } => return Vec::new(),
    };
    let id = context.id();
    let long = time::span(time::millis_between(since, context.report.observed_at));
    let mut finding = if past {
        finding(
            SLUG,
            Severity::Error,
            format!(
                "{id} has been rebalancing for {long}: a member does not join again, and nobody consumes meanwhile."
            ),
        )
    } else {
        finding(SLUG, Severity::Info, format!("{id} is rebalancing: its members are joining again."))
    };
    finding
        .evidence
        .push(seen_(format!("Its state is {state}; the rebalance began at {} or before.", time::clock(since))));
    let timeout = time::span(timeout_ms(context.protocol_type()));
    finding.evidence.push(likely(format!(
        "The coordinator waits for the slowest member {timeout} (assumed: it is the largest rebalance time-out among the \
         members, which brokers do not tell)."
    )));
    if let Some(detail) = context.detail {
        let named: Vec<String> = detail.members.iter().take(5).map(crate::detail::GroupMember::named).collect();
        finding.evidence.push(seen_(format!(
            "{} now: {}.",
            crate::words::count(detail.member_count, "member"),
            crate::words::list(&named)
        )));
    }
    if past {
        finding.outlook = Some(format!("It should have been over by {}.", time::clock(by.at)));
        finding.remedies.push(context.look());
        finding.remedies.push(
            step(
                "Restart the member that does not join again",
                "It hangs in its processing, or needs longer between two polls than max.poll.interval.ms. Take a thread dump \
                 of it first: it shows where.",
            )
            .danger(Risk::Pause, "Its partitions move to other members, and back when it is there again."),
        );
        finding.remedies.push(
            step(
                "If none stands out, stop all members, wait until the group is Empty, then start them",
                "The next rebalance then begins with nobody to wait for.",
            )
            .danger(Risk::Pause, "The group does not consume until they are back; its offsets stay."),
        );
    } else {
        finding.outlook = Some(format!("It ends when every member has joined again, {}.", crate::findings::by(&by)));
        finding.remedies.push(step("Wait", "Restarting members begins the rebalance anew."));
    }
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{group, history, slugs, told};
    use crate::report::Status;

    #[test]
    fn within_its_time_it_is_recovering() {
        let sample = history("my-group", &[("Stable", 0), ("PreparingRebalance", 30)], 60);
        insta::assert_snapshot!(told(&sample, "my-group", super::SLUG), @"
        [info] my-group is rebalancing: its members are joining again.
          outlook: It ends when every member has joined again, by 12:05:33 UTC (assumed: the time-out could not be read).
          seen: Its state is PreparingRebalance; the rebalance began at 12:00:30 UTC or before.
          likely: The coordinator waits for the slowest member 5 min (assumed: it is the largest rebalance time-out among the members, which brokers do not tell).
          -> Wait: Restarting members begins the rebalance anew.
        ");
        let verdict = sample.lookup("my-group").verdict;
        assert_eq!((verdict.status, verdict.expected_by.map(|by| by.assumed)), (Status::Recovering, Some(true)));
    }

    #[test]
    fn past_its_time_a_member_is_missing() {
        let sample = history("my-group", &[("Stable", 0), ("PreparingRebalance", 30)], 600);
        insta::assert_snapshot!(told(&sample, "my-group", super::SLUG), @"
        [error] my-group has been rebalancing for 9 min: a member does not join again, and nobody consumes meanwhile.
          outlook: It should have been over by 12:05:33 UTC.
          seen: Its state is PreparingRebalance; the rebalance began at 12:00:30 UTC or before.
          likely: The coordinator waits for the slowest member 5 min (assumed: it is the largest rebalance time-out among the members, which brokers do not tell).
          -> Look at its members and offsets with Kafka's own tool: It shows which members there are, on which hosts, and how far each partition is behind.
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group my-group --members --verbose
          -> Restart the member that does not join again: It hangs in its processing, or needs longer between two polls than max.poll.interval.ms. Take a thread dump of it first: it shows where.
             ! Its partitions move to other members, and back when it is there again.
          -> If none stands out, stop all members, wait until the group is Empty, then start them: The next rebalance then begins with nobody to wait for.
             ! The group does not consume until they are back; its offsets stay.
        ");
        assert_eq!(sample.lookup("my-group").verdict.status, Status::LookAtGroup);
    }

    #[test]
    fn a_stable_group_does_not() {
        assert!(slugs(&group("Stable"), "my-group").is_empty());
    }

    #[test]
    fn without_its_coordinator_nothing_is_said() {
        assert!(slugs(&group("PreparingRebalance").canary(1, 12, 14), "my-group").is_empty());
    }
}
