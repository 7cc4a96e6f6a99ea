//! `isr-below-min`: too few in-sync replicas, so the coordinator refuses commits.
//!
//! Catalogue rows 12 and 13. To clients it looks just like a missing coordinator (error 15). Up to 3.6 the raw
//! `min.insync.replicas` counts, from 3.7 on it is capped by the replication factor (KAFKA-15583).

use super::{Context, Rule, by, capital, finding, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity, Status};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId, words};

const SLUG: &str = "isr-below-min";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Too few in-sync replicas, so the coordinator refuses commits",
        severity: "outage, or error while a replica may catch up",
        opens: "Fewer live in-sync replicas than the effective `min.insync.replicas`.",
        closes: "Enough are in sync.",
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let groups = context.group_by(|verdict| match &verdict.cause {
        Cause::BelowMinIsr { live, min, joining } => {
            Some((*live, *min, joining.clone(), verdict.status == Status::Stuck))
        }
        _ => None,
    });
    groups
        .into_iter()
        .map(|((live, min, joining, stuck), partitions)| explain(context, live, min, &joining, stuck, partitions))
        .collect()
}

fn explain(
    context: &Context<'_, '_>,
    live: usize,
    min: usize,
    joining: &[BrokerId],
    stuck: bool,
    partitions: Vec<PartitionId>,
) -> Finding {
    let reach = context.reach(&partitions);
    let mut finding = finding(
        SLUG,
        if stuck { Severity::Outage } else { Severity::Error },
        format!(
            "Commits are not accepted on {reach}: {} in sync, and min.insync.replicas asks for {min}.",
            words::count(live, "live replica")
        ),
    );
    let lost: Vec<_> = missing(context, &partitions);
    if let Some(seen) = partitions.first().and_then(|partition| context.facts.partitions.get(partition)) {
        finding.evidence.push(seen_(format!(
            "Partition {}: replicas {}, ISR {}.",
            partitions.first().copied().unwrap_or_default(),
            words::ids(&seen.newest.replicas),
            words::ids(&seen.newest.isr)
        )));
    }
    for &broker in &lost {
        finding.evidence.push(seen_(format!("{}: {}.", capital(&context.broker(broker)), context.trouble(broker))));
    }
    let bound = partitions
        .iter()
        .filter_map(|partition| context.verdicts.get(partition)?.expected_by.as_ref())
        .max_by_key(|bound| bound.at);
    finding.outlook = Some(match (bound, joining) {
        (Some(bound), []) => {
            format!("Not known yet whether the silent replica is lost: Unstuck says more {}.", by(bound))
        }
        (Some(bound), joining) => {
            format!("{} should catch up and join the ISR {}.", capital(&words::brokers(joining)), by(bound))
        }
        (None, _) => "It will not heal by itself: a follower has to come back and catch up.".to_owned(),
    });
    let back = if lost.is_empty() {
        "Bring the missing followers back".to_owned()
    } else {
        format!("Bring {} back", words::brokers(&lost))
    };
    finding
        .remedies
        .push(step(back, "Commits are accepted again as soon as enough replicas are in sync. Nothing is lost."));
    if stuck {
        finding.remedies.push(Remedy {
            title: "Meanwhile: ask for fewer in-sync replicas".to_owned(),
            why: "Commits are accepted at once. Take the setting away again when the followers are back.".to_owned(),
            command: Some(format!(
                "kafka-configs.sh --bootstrap-server {} --entity-type topics --entity-name __consumer_offsets --alter \
                 --add-config min.insync.replicas={}",
                context.bootstrap(),
                live.max(1)
            )),
            danger: Some("Until then the crash of one more broker loses commits.".to_owned()),
            ..Remedy::default()
        });
    }
    finding.brokers = lost;
    finding.partitions = partitions;
    finding
}

/// Replicas of these partitions whose brokers do not answer.
fn missing(context: &Context<'_, '_>, partitions: &[PartitionId]) -> Vec<BrokerId> {
    let seen = partitions.iter().filter_map(|partition| context.facts.partitions.get(partition));
    let mut missing: Vec<_> = seen
        .flat_map(|seen| seen.newest.replicas.iter().copied())
        .filter(|id| !context.facts.answering.contains(id))
        .collect();
    missing.sort_unstable();
    missing.dedup();
    missing
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn commits_are_refused() {
        let sample = Sample::kraft(3, 1, 3).min_isr(3).isr(0, &[1, 2]).gone(3);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] Commits are not accepted on partition 0 of __consumer_offsets: 2 live replicas in sync, and min.insync.replicas asks for 3.
          outlook: It will not heal by itself: a follower has to come back and catch up.
          seen: Partition 0: replicas [1, 2, 3], ISR [1, 2].
          seen: Broker 3 (127.0.0.1:9003): connection refused.
          -> Bring broker 3 back: Commits are accepted again as soon as enough replicas are in sync. Nothing is lost.
          -> Meanwhile: ask for fewer in-sync replicas: Commits are accepted at once. Take the setting away again when the followers are back.
             $ kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --alter --add-config min.insync.replicas=2
             ! Until then the crash of one more broker loses commits.
        ");
    }

    #[test]
    fn a_follower_that_lives_may_catch_up() {
        let sample = Sample::kraft(3, 1, 3).min_isr(3).isr(0, &[1, 2]);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] Commits are not accepted on partition 0 of __consumer_offsets: 2 live replicas in sync, and min.insync.replicas asks for 3.
          outlook: Broker 3 should catch up and join the ISR by 12:00:34 UTC.
          seen: Partition 0: replicas [1, 2, 3], ISR [1, 2].
          -> Bring the missing followers back: Commits are accepted again as soon as enough replicas are in sync. Nothing is lost.
        ");
    }

    #[test]
    fn a_silent_follower_is_not_lost_yet() {
        let sample = Sample::kraft(3, 1, 3).min_isr(3).hung(3, 4);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] Commits are not accepted on partition 0 of __consumer_offsets: 2 live replicas in sync, and min.insync.replicas asks for 3.
          outlook: Not known yet whether the silent replica is lost: Unstuck says more by 12:00:13 UTC.
          seen: Partition 0: replicas [1, 2, 3], ISR [1, 2, 3].
          seen: Broker 3 (127.0.0.1:9003): accepts connections, but does not answer.
          -> Bring broker 3 back: Commits are accepted again as soon as enough replicas are in sync. Nothing is lost.
        ");
    }

    #[test]
    fn more_than_the_replication_factor_counts_up_to_3_6_only() {
        let old = Sample::zookeeper(3, 1, 1).release("3.6").min_isr(2);
        assert!(slugs(&old.report()).contains(&super::SLUG.to_owned()));
        let new = Sample::kraft(3, 1, 1).release("3.7").min_isr(2);
        assert!(!slugs(&new.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn an_unknown_min_isr_is_no_finding_and_not_verified() {
        let report = Sample::kraft(3, 1, 3).no_configs().report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
        assert!(!report.partitions[0].writes_verified);
    }
}
