//! `coordinator-loading`: the leader is reading the partition and serves its groups when it is done.
//!
//! Catalogue row 21; error 14. One thread loads one partition after the other, so a large one delays the rest.

use super::{Context, Rule, cause, finding, likely, seen_};
use crate::handbook::Entry;
use crate::report::{Avoid, Evidence, Finding, Remedy, Severity};
use crate::verdict::Cause;
use crate::{BrokerId, OFFSETS_TOPIC, PartitionId};

const SLUG: &str = "coordinator-loading";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "The coordinator is still reading its partition",
        severity: "error; the verdict turns from recovering to unknown after 10 min",
        means: "A broker that becomes leader of a partition of `__consumer_offsets` reads all of it into memory before it \
                serves any group on it. Usually that takes less than a second, since compaction keeps the partition small. \
                It takes minutes where compaction has died or is held up by an open transaction, so that the partition \
                has grown to gigabytes; and one thread reads one partition after the other, so that the rest waits in a \
                queue behind the large one.",
        opens: "The leader answers 14 (COORDINATOR_LOAD_IN_PROGRESS) for its own partition; or 16 (NOT_COORDINATOR) while its \
                listing of groups tells 14.",
        closes: "It serves.",
        not_told: "How far it has come: no broker tells. Below 2.0 a loading coordinator answers 16 like one that does not \
                   serve, and a classic one does so for partitions that still wait in the queue.",
        clients_see: "Java: \"JoinGroup failed: Coordinator ... is loading the group\"; librdkafka: \"Broker: Coordinator \
                      load in progress\"; sarama: \"The broker is still loading offsets after a leader change\". \
                      Heartbeats are answered meanwhile without being looked at.",
        way_out: "Wait. If it takes long, look at the size of the partition on disk: more than a gigabyte is not normal. Then \
                  find out why it is not compacted: the log cleaner's log, its thread, or a hanging transaction.",
        never: "Do not restart the broker: it begins anew, and so does the queue behind it. Do not delete segments by hand.",
        twins: &[
            ("coordinator-failed", "there the load has failed or never began, and waiting does not help"),
            ("coordinator-silent", "there the coordinator says nothing at all"),
        ],
        shadows: &["groups-not-listed"],
        versions: "all; KAFKA-9065 (loads for ever, fixed in 2.4.1 and 2.5)",
        sources: &[
            "KAFKA-9065",
            "KAFKA-5413 and KAFKA-8335 (log cleaner stops)",
            "GroupMetadataManager.scala, CoordinatorLoaderImpl (one loading thread per broker)",
        ],
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let select = cause(|cause| match cause {
        Cause::Loading { leader } => Some(*leader),
        _ => None,
    });
    context
        .group_by(select)
        .into_iter()
        .map(|(leader, partitions)| {
            let mut finding =
                finding(SLUG, Severity::Error, format!("Broker {leader} is loading {}.", context.reach(&partitions)));
            finding.evidence = evidence(context, leader, &partitions);
            let sizes = super::partition_large::sizes(context);
            let held: Vec<i64> = partitions.iter().filter_map(|id| sizes.get(id)?.get(&leader).copied()).collect();
            let them = if partitions.len() == 1 { "the partition" } else { "the partitions, one after the other" };
            finding.outlook = Some(if held.len() == partitions.len() {
                let bytes: i64 = held.iter().sum();
                format!("It serves when it has read {them}: {}.", crate::words::size(bytes))
            } else {
                format!(
                    "It serves when it has read {them}. How long that takes depends on the size, which no broker told."
                )
            });
            finding.remedies.push(
                Remedy::new("Wait", "Restarting the broker begins the loading anew.")
                    .verify("Unstuck says that the coordinator serves."),
            );
            let why = "More than a gigabyte for a partition is not normal: compaction has stopped or is held up.";
            finding.remedies.push(
                Remedy::new("If it takes minutes: look at the size of the partitions", why)
                    .looks(context.commands().log_dirs(&[leader], OFFSETS_TOPIC)),
            );
            finding.avoid.push(Avoid {
                what: format!("Do not restart broker {leader}"),
                why: "It would read the partition from the beginning, and those that wait behind it too.".to_owned(),
            });
            finding.brokers = vec![leader];
            finding.partitions = partitions;
            finding
        })
        .collect()
}

/// What the coordinator itself answers: 14, or 16 where only its listing tells that it is loading something.
fn evidence(context: &Context<'_, '_>, leader: BrokerId, partitions: &[PartitionId]) -> Vec<Evidence> {
    let canaries = context.facts.snapshot.brokers.get(&leader).map(|sight| &sight.canaries);
    let since = |code: i16| {
        let of = partitions.iter().filter_map(|partition| canaries?.get(partition));
        of.filter(|canary| canary.code == code).map(|canary| canary.same_since).min().map(crate::time::clock)
    };
    let mut evidence = Vec::new();
    evidence.extend(since(14).map(|since| {
        seen_(format!(
            "Asked as coordinator, broker {leader} has answered 14 (COORDINATOR_LOAD_IN_PROGRESS) since {since}."
        ))
    }));
    if let Some(since) = since(16) {
        evidence.push(seen_(format!(
            "Asked as coordinator, broker {leader} has answered 16 (NOT_COORDINATOR) since {since}, and its listing of \
             groups tells 14 (COORDINATOR_LOAD_IN_PROGRESS)."
        )));
        evidence.push(likely(
            "It is loading, or the partition waits in its queue: releases below 2.0 say 16 of the first, and those up to \
             3.9 of the second."
                .to_owned(),
        ));
    }
    evidence
}

#[cfg(test)]
mod tests {
    use crate::report::{Shard, Status};
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn loading_is_recovering() {
        let sample = Sample::kraft(3, 3, 1).canary(1, 0, 14);
        let report = sample.report();
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [error] Broker 1 is loading partition 0 of __consumer_offsets.
          outlook: It serves when it has read the partition: 1 MB.
          seen: Asked as coordinator, broker 1 has answered 14 (COORDINATOR_LOAD_IN_PROGRESS) since 12:00:00 UTC.
          -> Wait: Restarting the broker begins the loading anew.
             verify: Unstuck says that the coordinator serves.
          -> If it takes minutes: look at the size of the partitions: More than a gigabyte for a partition is not normal: compaction has stopped or is held up.
             $ kafka-log-dirs.sh --bootstrap-server 127.0.0.1:9001 --describe --broker-list 1 --topic-list __consumer_offsets
          avoid: Do not restart broker 1: It would read the partition from the beginning, and those that wait behind it too.
        ");
        assert_eq!((report.partitions[0].status, report.partitions[0].shard), (Status::Recovering, Shard::Loading));
    }

    #[test]
    fn an_old_or_a_waiting_coordinator_denies_while_its_listing_tells() {
        let report = Sample::zookeeper(3, 3, 1).release("1.0").canary(1, 0, 16).listing_code(1, 14).report();
        insta::assert_snapshot!(text(&report, super::SLUG).lines().skip(2).take(2).collect::<Vec<_>>().join("\n"), @"
        seen: Asked as coordinator, broker 1 has answered 16 (NOT_COORDINATOR) since 12:00:00 UTC, and its listing of groups tells 14 (COORDINATOR_LOAD_IN_PROGRESS).
        likely: It is loading, or the partition waits in its queue: releases below 2.0 say 16 of the first, and those up to 3.9 of the second.
        ");
        assert_eq!((report.partitions[0].status, report.partitions[0].shard), (Status::Recovering, Shard::Loading));
        let silent = Sample::zookeeper(3, 3, 1).release("1.0").canary(1, 0, 16).report();
        assert!(!slugs(&silent).contains(&super::SLUG.to_owned()), "a listing without an error tells of no loading");
    }

    #[test]
    fn another_brokers_answer_does_not_count() {
        let sample = Sample::kraft(3, 3, 1).canary(2, 0, 14);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn no_answer_is_not_loading() {
        let report = Sample::kraft(3, 3, 1).no_canary(1, 0).report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
        assert_eq!(report.partitions[0].status, Status::Unknown);
    }
}
