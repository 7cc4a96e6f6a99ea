//! `coordinator-failed`: the leader is healthy and says, for long, that it does not serve the partition.
//!
//! Catalogue rows 23 and 26: loading failed (KAFKA-19862, KAFKA-19716), or never began. Soft evidence: only after 60 s
//! under the same leader epoch, with no listing in progress and no drift of the partition count. Classic coordinators
//! (3.9 and older) answer "no error" after a failed load: that failure cannot be seen from outside.

use super::{Context, Rule, finding, likely, seen_};
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId, words};

const SLUG: &str = "coordinator-failed";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "The leader is healthy and says, for long, that it does not serve the partition",
        severity: "error, outage after 60 s",
        opens: "The leader says that it does not serve, under the same epoch.",
        closes: "It serves, or another leads.",
        ..Entry::BLANK
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
    let mut remedies = Vec::new();
    let other_replicas = partitions.iter().all(|partition| {
        context.facts.partitions.get(partition).is_some_and(|seen| seen.newest.isr.iter().any(|&id| id != leader))
    });
    if other_replicas {
        let reorder: Vec<_> =
            partitions.iter().filter_map(|&partition| reordered(context, leader, partition)).collect();
        remedies.push(Remedy {
            title: "Move the leadership to another in-sync replica".to_owned(),
            why: format!(
                "A new leader loads the partition anew. Save the text between the quotes as move.json, then elect: \
                 '{{\"version\":1,\"partitions\":[{}]}}'. Afterwards run kafka-leader-election.sh --election-type preferred.",
                reorder.join(",")
            ),
            command: Some(format!(
                "kafka-reassign-partitions.sh --bootstrap-server {} --reassignment-json-file move.json --execute",
                context.bootstrap()
            )),
            danger: None, ..Remedy::default() });
    }
    remedies.push(Remedy {
        title: format!("Restart broker {leader}"),
        why: "It loads its partitions anew.".to_owned(),
        command: None,
        danger: Some("Everything else that it leads moves or stops meanwhile.".to_owned()),
        ..Remedy::default()
    });
    remedies
}

/// The replicas of a partition with the present leader moved to the end.
fn reordered(context: &Context<'_, '_>, leader: BrokerId, partition: PartitionId) -> Option<String> {
    let view = context.facts.partitions.get(&partition)?.newest;
    let mut replicas: Vec<_> = view.isr.iter().copied().filter(|&id| id != leader).collect();
    replicas.extend(view.replicas.iter().copied().filter(|&id| id != leader && !view.isr.contains(&id)));
    replicas.push(leader);
    Some(format!(
        "{{\"topic\":\"__consumer_offsets\",\"partition\":{partition},\"replicas\":{}}}",
        words::ids(&replicas).replace(' ', "")
    ))
}

#[cfg(test)]
mod tests {
    use crate::report::Status;
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn not_coordinator_for_more_than_a_minute() {
        let sample = Sample::kraft(3, 3, 3).canary(1, 0, 16).later(70);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @r#"
        [outage] Broker 1 leads partition 0 of __consumer_offsets, but its coordinator does not serve.
          outlook: It will not heal by itself: the partition needs a new leader epoch.
          seen: Asked as coordinator, broker 1 has answered 16 (NOT_COORDINATOR) since 12:00:00 UTC, under the same leader epoch.
          likely: Loading the partition failed; the broker's log says why.
          -> Move the leadership to another in-sync replica: A new leader loads the partition anew. Save the text between the quotes as move.json, then elect: '{"version":1,"partitions":[{"topic":"__consumer_offsets","partition":0,"replicas":[2,3,1]}]}'. Afterwards run kafka-leader-election.sh --election-type preferred.
             $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file move.json --execute
          -> Restart broker 1: It loads its partitions anew.
             ! Everything else that it leads moves or stops meanwhile.
        "#);
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
