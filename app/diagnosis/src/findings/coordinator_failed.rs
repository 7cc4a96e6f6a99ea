//! `coordinator-failed`: the leader is healthy and says, for long, that it does not serve the partition.
//!
//! Catalogue rows 23 and 26: loading failed (KAFKA-19862, KAFKA-19716), or never began. Soft evidence: only after 60 s
//! under the same leader epoch, with no listing in progress and no drift of the partition count. Classic coordinators
//! (3.9 and older) answer "no error" after a failed load: that failure cannot be seen from outside.

use super::restart::restart;
use super::{Context, Rule, finding, likely, seen_};
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId};

const SLUG: &str = "coordinator-failed";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "The leader lives, but its coordinator does not serve the partition",
        severity: "error, outage after 60 s",
        means: "Every broker agrees who leads the partition, that broker is well, and yet it answers \"not coordinator\" \
                when asked for a group on it. Becoming the coordinator is more than becoming the leader: the broker reads \
                the whole partition into memory first. If that load failed (the new coordinator, 3.7 and newer: \
                KAFKA-19862, KAFKA-19716) or never began, the partition stays unserved until its leader epoch changes. The \
                groups on it vanish from every listing without an error.",
        opens: "The leader answers 15 or 16 for its own partition under the same leader epoch. `recovering` for 60 s, then \
                `stuck`, unless it is still loading others or brokers use another partition count.",
        closes: "It serves, or another broker leads.",
        not_told: "A classic coordinator (3.9 and older) whose load failed answers as if all were well, with groups or \
                   offsets missing: that cannot be seen from outside (its log has \"Error loading offsets from\"). Why the \
                   load failed is in the broker's log only. Below 2.0 the same answer also means \"still loading\".",
        clients_see: "FindCoordinator names the broker, the broker says it is not the coordinator, and so round and round. \
                      Java: \"This is not the correct coordinator\"; librdkafka: \"Broker: Not coordinator\"; sarama: \
                      \"Request was for a consumer group that is not coordinated by this broker\".",
        way_out: "Give the partition a new leader epoch, so that it is loaded anew. Without a restart: put another in-sync \
                  replica first in the assignment and run a preferred election. Or restart the broker. Then find the \
                  cause in the log before it comes again, and upgrade where it is one of the known faults.",
        never: "Do not restart it again and again: each start reads all its partitions from the beginning, and a damaged \
                log fails each time.",
        twins: &[
            ("coordinator-loading", "there it says 14, still loading: wait"),
            ("placement-drift", "there the broker uses another partition count and rightly says no"),
            ("coordinator-silent", "there it says nothing at all"),
        ],
        shadows: &["groups-not-listed"],
        versions: "all; a failed load shows like this with the new coordinator (3.7 and newer) only",
        sources: &[
            "KAFKA-19862 (a load fails while the log is compacted, 4.0 and 4.1)",
            "KAFKA-19716 (memory grows while loading)",
            "KAFKA-9065 (endless loading, fixed in 2.4.1 and 2.5)",
            "CoordinatorRuntime.java (state FAILED)",
        ],
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let groups = context.group_by(|verdict| match verdict.cause {
        Cause::NotServed { leader, failed, code } => Some((leader, failed, code)),
        _ => None,
    });
    groups
        .into_iter()
        .map(|((leader, failed, code), partitions)| explain(context, leader, failed, code, partitions))
        .collect()
}

fn explain(
    context: &Context<'_, '_>,
    leader: BrokerId,
    failed: bool,
    code: i16,
    partitions: Vec<PartitionId>,
) -> Finding {
    let reach = context.reach(&partitions);
    let name = crate::snapshot::error_name(code);
    let since = partitions
        .iter()
        .filter_map(|partition| context.facts.snapshot.brokers.get(&leader)?.canaries.get(partition))
        .map(|canary| canary.same_since)
        .min()
        .unwrap_or(context.facts.now);
    let sentence = if failed {
        format!("Broker {leader} leads {reach}, but its coordinator does not serve.")
    } else {
        format!("Broker {leader} leads {reach}, and its coordinator does not serve yet.")
    };
    let mut finding = finding(SLUG, if failed { Severity::Outage } else { Severity::Error }, sentence);
    finding.evidence.push(seen_(format!(
        "Asked as coordinator, broker {leader} has answered {code} ({name}) since {}, under the same leader epoch.",
        crate::time::clock(since)
    )));
    if failed {
        finding.evidence.push(likely("Loading the partition failed; the broker's log says why.".to_owned()));
        finding.outlook = Some("It will not heal by itself: the partition needs a new leader epoch.".to_owned());
        finding.remedies = remedies(context, leader, &partitions);
    } else {
        finding.outlook = Some("It should serve within a minute of its election. If not, Unstuck says so.".to_owned());
    }
    finding.brokers = vec![leader];
    finding.partitions = partitions;
    finding
}

fn remedies(context: &Context<'_, '_>, leader: BrokerId, partitions: &[PartitionId]) -> Vec<Remedy> {
    let mut remedies = vec![Remedy::new(
        format!("Look at the log of broker {leader} for the partition's name"),
        "It says why the load failed. A damaged log fails on every start; a fault of the release may not.",
    )];
    let title = "Move the leadership to another in-sync replica";
    remedies.extend(context.move_leadership(leader, partitions, title));
    remedies.push(restart(context, leader, format!("Restart broker {leader}"), "It loads its partitions anew."));
    remedies
}

#[cfg(test)]
mod tests {
    use crate::report::Status;
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn not_coordinator_for_more_than_a_minute() {
        let sample = Sample::kraft(3, 3, 3).canary(1, 0, 16).later(70);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] Broker 1 leads partition 0 of __consumer_offsets, but its coordinator does not serve.
          outlook: It will not heal by itself: the partition needs a new leader epoch.
          seen: Asked as coordinator, broker 1 has answered 16 (NOT_COORDINATOR) since 12:00:00 UTC, under the same leader epoch.
          likely: Loading the partition failed; the broker's log says why.
          -> Look at the log of broker 1 for the partition's name: It says why the load failed. A damaged log fails on every start; a fault of the release may not.
          -> Move the leadership to another in-sync replica: Only the order of the replicas changes: nothing is copied. The new leader reads the partition and serves its groups, which rebalance.
             if (met): each of these partitions has another live in-sync replica
             file move.json: the replicas with the present leader last
             file move-back.json: the replicas as they are now
             $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file move.json --execute && kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type preferred --topic __consumer_offsets --partition 0
             changes: The order of replicas and the leader of 1 partition of __consumer_offsets.
             ! (groups may pause for a moment) Their groups wait for some seconds: the time of an election and of loading.
             verify: `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __consumer_offsets` shows the new leader. If it does not yet, run the second half of the command again.
             undo: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file move-back.json --execute && kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type preferred --topic __consumer_offsets --partition 0`
          -> Restart broker 1: It loads its partitions anew.
             if (met): broker 1 is not the last in-sync replica of any partition of __consumer_offsets
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 1 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
        ");
    }

    #[test]
    fn for_seconds_it_is_only_recovering() {
        let sample = Sample::kraft(3, 3, 1).canary(1, 0, 16).later(5);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] Broker 1 leads partition 0 of __consumer_offsets, and its coordinator does not serve yet.
          outlook: It should serve within a minute of its election. If not, Unstuck says so.
          seen: Asked as coordinator, broker 1 has answered 16 (NOT_COORDINATOR) since 12:00:00 UTC, under the same leader epoch.
        ");
        assert_eq!(sample.report().partitions[0].status, Status::Recovering);
    }

    #[test]
    fn not_while_the_broker_loads_others() {
        let sample = Sample::kraft(3, 3, 3).canary(1, 0, 16).listing_code(1, 14).later(70);
        assert_eq!(sample.report().partitions[0].status, Status::Recovering);
    }

    #[test]
    fn not_for_an_answer_under_an_older_leadership() {
        let sample = Sample::kraft(3, 3, 3).canary(1, 0, 16).later(70).epoch(0, 9);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
