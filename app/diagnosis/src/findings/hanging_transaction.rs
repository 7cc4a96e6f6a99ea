//! `hanging-transaction`: a transaction that committed offsets was never ended.
//!
//! Catalogue row 33 (KIP-664). No transaction may stay open longer than `transaction.max.timeout.ms`; a producer that has
//! written nothing for longer and still has one open on a partition hangs. Closes when it is ended.

use super::{Context, Rule, by, finding, likely, not_seen, seen_};
use crate::handbook::Entry;
use crate::report::{Avoid, Bound, Evidence, Finding, Remedy, Risk, Severity};
use crate::snapshot::OpenProducer;
use crate::time::{after, clock, millis_between};
use crate::{BrokerId, OFFSETS_TOPIC, PartitionId};

const SLUG: &str = "hanging-transaction";
/// Kafka's default of `transaction.max.timeout.ms`.
const MAX_TIMEOUT_MS: i64 = 900_000;
/// How long the coordinator may take to end a transaction whose time is over.
const MARGIN_MS: i64 = 60_000;

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A transaction on `__consumer_offsets` was never ended",
        severity: "error",
        means: "An application that consumes, processes and produces exactly once commits its offsets inside of a \
                transaction. If the marker that ends it never arrives (a bug of older releases, or a partition that was \
                offline at the wrong moment), the transaction stays open on the partition for ever. Offsets in it are \
                neither valid nor void: who asks for them is told to wait. And compaction does not go beyond it.",
        opens: "A producer has a transaction open on a partition of the topic, and has written nothing for longer than \
                `transaction.max.timeout.ms` and a minute.",
        closes: "The transaction is ended or aborted.",
        not_told: "Which group it belongs to. Below 2.8, or without READ on the topic, leaders do not tell their producers. \
                   Where the setting could not be read, 15 minutes are assumed.",
        clients_see: "Consumers with read_committed and exactly-once applications: UNSTABLE_OFFSET_COMMIT (88), \
                      \"Timeout expired before the last committed offset could be determined\". The partition grows.",
        way_out: "Let kafka-transactions.sh confirm that it hangs, then abort it there. The application commits its offsets \
                  again with the next transaction.",
        never: "Do not abort a transaction whose producer is alive and within its time-out: it ends it by itself.",
        twins: &[("partition-large", "What it leads to when it lasts.")],
        shadows: &["partition-large"],
        versions: "0.11 and newer; seen on 2.8 and newer, the tool is there from 3.0 on (KIP-664)",
        sources: &["KIP-664", "KIP-890", "core/.../log/LogCleanerManager.scala (last stable offset)"],
    }],
    check,
};

fn max_timeout(context: &Context<'_, '_>) -> (i64, bool) {
    let told = context.facts.snapshot.brokers.values();
    let told = told.filter_map(|sight| sight.configs.known()?.transaction_max_timeout_ms).max();
    (told.unwrap_or(MAX_TIMEOUT_MS), told.is_none())
}

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let (timeout, assumed) = max_timeout(context);
    let mut found = Vec::new();
    for (&broker, sight) in facts.snapshot.brokers.iter().filter(|(id, _)| facts.answering.contains(id)) {
        for (&partition, producers) in sight.producers.known().into_iter().flatten() {
            let leads = facts.partitions.get(&partition).is_some_and(|seen| seen.newest.leader == Some(broker));
            let hanging = producers.iter().filter_map(|producer| Some((producer, producer.last_timestamp?)));
            let oldest = hanging
                .filter(|(_, last)| millis_between(*last, facts.now) > timeout.saturating_add(MARGIN_MS))
                .min_by_key(|(_, last)| *last);
            if let Some((producer, last)) = oldest.filter(|_| leads) {
                let due = Bound { at: after(last, timeout), assumed };
                found.push(explain(context, broker, partition, producer, &due));
            }
        }
    }
    found
}

fn explain(
    context: &Context<'_, '_>,
    leader: BrokerId,
    partition: PartitionId,
    producer: &OpenProducer,
    due: &Bound,
) -> Finding {
    let id = producer.producer_id;
    let since = producer.last_timestamp.unwrap_or(context.facts.now);
    let mut finding = finding(
        SLUG,
        Severity::Error,
        format!(
            "A transaction of producer {id} on partition {partition} of {OFFSETS_TOPIC} was never ended: who asks for offsets \
             in it waits, and compaction stands still."
        ),
    );
    finding.outlook = Some(format!("It should have been ended {}. It will not end by itself.", by(due)));
    finding.evidence.push(seen_(format!(
        "Its leader, broker {leader}, tells: open since offset {}, nothing written since {} ({} ago).",
        producer.txn_start_offset,
        clock(since),
        crate::time::span(millis_between(since, context.facts.now))
    )));
    finding.evidence.extend(coordinator_says(context, id));
    finding.evidence.push(not_seen("Which group it belongs to.".to_owned()));
    finding.remedies = remedies(context, leader, partition, producer);
    finding.avoid.push(Avoid {
        what: "Do not abort a transaction whose producer is alive and within its time-out".to_owned(),
        why: "It ends it by itself, and aborting makes it read and write the same records again.".to_owned(),
    });
    finding.partitions = vec![partition];
    finding.brokers = vec![leader];
    finding
}

/// Whether a transaction coordinator still holds it for ongoing.
fn coordinator_says(context: &Context<'_, '_>, producer: i64) -> Option<Evidence> {
    let brokers = context.facts.answering.iter().filter_map(|id| context.facts.snapshot.brokers.get(id));
    let told: Vec<_> = brokers.map(|sight| sight.open_transactions.known()).collect();
    let named = told.iter().flatten().flat_map(|open| &open.oldest).find(|open| open.producer_id == producer);
    if let Some(open) = named {
        let id = crate::visible(&open.transactional_id);
        return Some(seen_(format!("A transaction coordinator holds it for ongoing, of transactional id \"{id}\".")));
    }
    let all = !told.is_empty() && told.iter().all(|open| open.is_some_and(|open| open.ongoing <= open.oldest.len()));
    Some(if all {
        likely("No transaction coordinator names it among its ongoing ones: nobody will end it.".to_owned())
    } else {
        not_seen("Whether a transaction coordinator still holds it for ongoing.".to_owned())
    })
}

fn remedies(
    context: &Context<'_, '_>,
    leader: BrokerId,
    partition: PartitionId,
    producer: &OpenProducer,
) -> Vec<Remedy> {
    let commands = context.commands();
    let confirm = "Let Kafka's own tool confirm that it hangs";
    let why = "It compares the partitions with the transaction coordinators.";
    let mut remedies = Vec::new();
    remedies.push(match commands.find_hanging(leader, max_timeout(context).0) {
        Some(command) => Remedy::new(confirm, why).looks(command),
        None => Remedy::new(
            "Use kafka-transactions.sh of Kafka 3.0 or newer",
            "Older releases have no tool that ends such a transaction; it needs brokers of 3.0 or newer too.",
        ),
    });
    remedies.extend(commands.abort_transaction(OFFSETS_TOPIC, partition, producer.txn_start_offset).map(|command| {
        Remedy::new("Abort it on this partition", "Offsets in it become void, and those from before count again.")
            .command(command, format!("Writes an abort marker for producer {} to the partition.", producer.producer_id))
            .danger(
                Risk::Loses,
                "Aborts the offsets in it: if the transaction did end elsewhere, that application reads these records again.",
            )
            .given("the tool above lists it as hanging", None)
            .given("its producer does not run any more, or has begun other transactions since", None)
            .verify(
                commands
                    .describe_producers(OFFSETS_TOPIC, partition)
                    .unwrap_or_else(|| "No transaction is open on the partition.".to_owned()),
            )
            .undo("Cannot be undone.")
    }));
    remedies
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};
    use crate::snapshot::Why;

    #[test]
    fn open_for_longer_than_any_may_be() {
        let sample = Sample::kraft(3, 6, 3).producer_open(0, 4_711, 7_200);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] A transaction of producer 4711 on partition 0 of __consumer_offsets was never ended: who asks for offsets in it waits, and compaction stands still.
          outlook: It should have been ended by 10:15:00 UTC. It will not end by itself.
          seen: Its leader, broker 1, tells: open since offset 100, nothing written since 10:00:00 UTC (2 h ago).
          likely: No transaction coordinator names it among its ongoing ones: nobody will end it.
          not seen: Which group it belongs to.
          -> Let Kafka's own tool confirm that it hangs: It compares the partitions with the transaction coordinators.
             $ kafka-transactions.sh --bootstrap-server 127.0.0.1:9001 find-hanging --broker-id 1
          -> Abort it on this partition: Offsets in it become void, and those from before count again.
             if (not known): the tool above lists it as hanging
             if (not known): its producer does not run any more, or has begun other transactions since
             $ kafka-transactions.sh --bootstrap-server 127.0.0.1:9001 abort --topic __consumer_offsets --partition 0 --start-offset 100
             changes: Writes an abort marker for producer 4711 to the partition.
             ! (loses data) Aborts the offsets in it: if the transaction did end elsewhere, that application reads these records again.
             verify: kafka-transactions.sh --bootstrap-server 127.0.0.1:9001 describe-producers --topic __consumer_offsets --partition 0
             undo: Cannot be undone.
          avoid: Do not abort a transaction whose producer is alive and within its time-out: It ends it by itself, and aborting makes it read and write the same records again.
        ");
    }

    #[test]
    fn the_setting_is_assumed_where_nobody_tells_it() {
        let sample = Sample::kraft(3, 6, 3).producer_open(0, 4_711, 7_200).open_transaction(2, "billing-1", 4_711);
        insta::assert_snapshot!(text(&sample.no_configs().report(), super::SLUG), @r#"
        [error] A transaction of producer 4711 on partition 0 of __consumer_offsets was never ended: who asks for offsets in it waits, and compaction stands still.
          outlook: It should have been ended by 10:15:00 UTC (assumed: the time-out could not be read). It will not end by itself.
          seen: Its leader, broker 1, tells: open since offset 100, nothing written since 10:00:00 UTC (2 h ago).
          seen: A transaction coordinator holds it for ongoing, of transactional id "billing-1".
          not seen: Which group it belongs to.
          -> Let Kafka's own tool confirm that it hangs: It compares the partitions with the transaction coordinators.
             $ kafka-transactions.sh --bootstrap-server 127.0.0.1:9001 find-hanging --broker-id 1
          -> Abort it on this partition: Offsets in it become void, and those from before count again.
             if (not known): the tool above lists it as hanging
             if (not known): its producer does not run any more, or has begun other transactions since
             $ kafka-transactions.sh --bootstrap-server 127.0.0.1:9001 abort --topic __consumer_offsets --partition 0 --start-offset 100
             changes: Writes an abort marker for producer 4711 to the partition.
             ! (loses data) Aborts the offsets in it: if the transaction did end elsewhere, that application reads these records again.
             verify: kafka-transactions.sh --bootstrap-server 127.0.0.1:9001 describe-producers --topic __consumer_offsets --partition 0
             undo: Cannot be undone.
          avoid: Do not abort a transaction whose producer is alive and within its time-out: It ends it by itself, and aborting makes it read and write the same records again.
        "#);
    }

    #[test]
    fn within_its_time_a_transaction_is_none() {
        let sample = Sample::kraft(3, 6, 3).producer_open(0, 4_711, 600);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn producers_that_nobody_tells_are_not_known() {
        let sample = Sample::kraft(3, 6, 3).producer_open(0, 4_711, 7_200);
        let sample = sample.no_producers(Why::NotPermitted("READ on TOPIC __consumer_offsets".to_owned()));
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
