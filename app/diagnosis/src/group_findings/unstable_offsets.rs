//! `unstable-offsets`: a transaction holds offsets of the group back. Catalogue row 33.

use super::{GroupContext, GroupRule};
use crate::findings::{finding, likely, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::{time, words};

const SLUG: &str = "unstable-offsets";
/// Shorter ones are how such applications work.
const LONG_MS: i64 = 60_000;

pub(super) const RULE: GroupRule = GroupRule {
    entries: &[Entry {
        slug: SLUG,
        title: "A transaction that is still open holds committed offsets back",
        severity: "info, warning if it lasts for a minute",
        means: "A producer has sent offsets of this group within a transaction (sendOffsetsToTransaction), and the \
                transaction has not ended. Until it does, the coordinator answers 88 UNSTABLE_OFFSET_COMMIT to members that \
                want stable offsets, so a member that takes over such a partition cannot begin. Applications that consume, \
                process and produce do this all the time, for moments. One that lasts hangs: its producer is gone, and \
                nobody ends it.",
        opens: "The coordinator answers 88 for a partition of the group when asked for stable offsets.",
        closes: "It does not any more.",
        not_told: "Brokers below 2.5 cannot be asked for stable offsets. Whose transaction it is, is told by the transaction \
                   coordinator only.",
        clients_see: "Java: \"Offset commits are pending for partitions …; the fetch will be retried\"; a TimeoutException \
                      \"Timeout … expired before the last committed offset for partitions … could be determined\".",
        way_out: "Wait: a transaction ends after `transaction.timeout.ms` of its producer, at most \
                  `transaction.max.timeout.ms` (15 minutes unless set). Past that it hangs: find it with \
                  kafka-transactions.sh find-hanging, and abort it.",
        never: "Do not abort a transaction whose producer lives: it will fail, and what it processed is processed again.",
        twins: &[("lag-stands-still", "then offsets do not move, for whatever reason")],
        shadows: &[],
        versions: "2.5 and later (KIP-447)",
        sources: &["KIP-447", "KIP-664"],
    }],
    check,
};

fn check(context: &GroupContext<'_>) -> Vec<Finding> {
    let Some(detail) = context.detail else { return Vec::new() };
    let held: Vec<(String, i32)> = detail
        .offsets
        .iter()
        .flatten()
        .filter(|one| one.unstable)
        .map(|one| (one.topic.clone(), one.partition))
        .collect();
    if held.is_empty() {
        return Vec::new();
    }
    // Held back at each look in a row, the present one included.
    let since = context
        .trace
        .samples()
        .iter()
        .rev()
        .filter(|sample| sample.at < detail.at)
        .take_while(|sample| held.iter().any(|one| sample.unstable.contains(one)))
        .map(|sample| sample.at)
        .last();
    let lasted = since.map_or(0, |since| time::millis_between(since, detail.at));
    let names: Vec<String> = held.iter().map(|(topic, number)| format!("{}-{number}", crate::visible(topic))).collect();
    let id = context.id();
    let severity = if lasted >= LONG_MS { Severity::Warning } else { Severity::Info };
    let mut finding = finding(
        SLUG,
        severity,
        format!("A transaction that is still open holds back committed offsets of {id}: {}.", words::list(&names)),
    );
    finding.evidence.push(seen_(format!(
        "Asked for stable offsets, broker {} answered 88 (UNSTABLE_OFFSET_COMMIT) at {}.",
        detail.answered_by,
        time::clock(detail.at)
    )));
    let longest = context.settings().transaction_max_timeout_ms;
    if let Some(since) = since {
        finding.evidence.push(seen_(format!(
            "So it was at each look since {} ({}).",
            time::clock(since),
            time::span(lasted)
        )));
    } else {
        finding
            .evidence
            .push(likely("Applications that consume, process and produce have this for moments.".to_owned()));
    }
    finding.outlook = Some(format!(
        "A transaction ends by itself after its producer's transaction.timeout.ms, at most {}.",
        time::span(longest)
    ));
    finding
        .remedies
        .push(step("Wait until the transaction has timed out", "Then it is aborted, and the offsets before it count."));
    if severity == Severity::Warning {
        let commands = context.commands();
        if let Some(look) = commands.find_hanging(detail.answered_by, longest) {
            finding.remedies.push(
                step(
                    "See whether it hangs",
                    "It names hanging transactions on the partitions that this broker leads. It only looks; aborting one \
                     discards its pending offsets.",
                )
                .looks(look)
                .given("the transaction is older than the longest time-out", (lasted > longest).then_some(true)),
            );
        }
    }
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Made, detail, group, inside_slugs, told_inside, trace};
    use crate::detail::GroupTrace;

    fn look(seconds: i64) -> Made {
        detail("Stable").at(seconds).offset("orders", 0, 5, 5).last_offset(|one| one.unstable = true)
    }

    #[test]
    fn held_back_for_long() {
        let trace = trace([&look(0), &look(20), &look(40)]);
        insta::assert_snapshot!(told_inside(&group("Stable"), &trace, &look(100), super::SLUG), @"
        [warning] A transaction that is still open holds back committed offsets of my-group: orders-0.
          outlook: A transaction ends by itself after its producer's transaction.timeout.ms, at most 15 min.
          seen: Asked for stable offsets, broker 1 answered 88 (UNSTABLE_OFFSET_COMMIT) at 12:01:40 UTC.
          seen: So it was at each look since 12:00:00 UTC (1 min).
          -> Wait until the transaction has timed out: Then it is aborted, and the offsets before it count.
          -> See whether it hangs: It names hanging transactions on the partitions that this broker leads. It only looks; aborting one discards its pending offsets.
             if (not known): the transaction is older than the longest time-out
             $ kafka-transactions.sh --bootstrap-server 127.0.0.1:9001 find-hanging --broker-id 1
        ");
    }

    #[test]
    fn for_a_moment_it_is_normal() {
        let told = told_inside(&group("Stable"), &GroupTrace::default(), &look(0), super::SLUG);
        insta::assert_snapshot!(told.lines().next().unwrap_or_default(), @"[info] A transaction that is still open holds back committed offsets of my-group: orders-0.");
    }

    #[test]
    fn stable_is_stable() {
        assert!(inside_slugs(&detail("Stable").offset("orders", 0, 5, 5)).is_empty());
    }

    #[test]
    fn unknown_offsets_are_not_unstable() {
        let look = detail("Stable").with(|made| made.offsets = Err("no answer".to_owned()));
        assert_eq!(inside_slugs(&look), ["lag-unknown"]);
    }
}
