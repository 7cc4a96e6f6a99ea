//! `log-dir-failed`: replicas are offline although their broker lives: one of its log directories has failed.
//!
//! Catalogue row 17 (KIP-112). A broker with several directories gives up the failed one and goes on. Seen as offline
//! replicas of a broker that the same answer lists as live, for 5 s, or as error 56 in DescribeLogDirs. Closes when they
//! are online again.

use std::collections::{BTreeMap, BTreeSet};

use super::{Context, Rule, finding, not_seen, seen_};
use crate::commands::Election;
use crate::handbook::Entry;
use crate::report::{Avoid, Evidence, Finding, Remedy, Risk, Severity};
use crate::snapshot::{LogDir, Observed};
use crate::verdict::Cause;
use crate::{BrokerId, OFFSETS_TOPIC, PartitionId, words};

const SLUG: &str = "log-dir-failed";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A log directory of a broker has failed: its replicas there are offline, although the broker lives",
        severity: "outage where partitions have no leader by it, otherwise error",
        means: "A broker with more than one log directory survives an I/O error: it gives up the directory, takes the \
                replicas on it offline, and goes on with the others. It answers, and is listed as live, so everything that \
                only looks for dead brokers sees nothing. A replica on the failed directory cannot lead, whatever the ISR \
                says; with one replica, its partitions are lost until the directory is back.",
        opens: "Metadata names a replica as offline and its broker as live, for 5 s; or the broker itself answers 56 \
                (KAFKA_STORAGE_ERROR) for a directory.",
        closes: "No replica is offline on a live broker, and no directory tells an error. A broker takes a directory back \
                 only when it is restarted.",
        not_told: "Without DESCRIBE on CLUSTER, which directory it is. Why it failed is in the broker's log only. Brokers \
                   below 1.0 stop altogether.",
        clients_see: "Groups on leaderless partitions: no coordinator can be found. On others, a short rebalance when \
                      leadership moves. The broker's log: \"Stopping serving logs in dir\".",
        way_out: "Repair or replace the disk, then restart the broker. Partitions with other replicas in sync go on \
                  meanwhile; move the lost replicas to other brokers if the disk takes long.",
        never: "Do not run an election on these partitions: with no other replica in sync it is refused (83), and if \
                unclean elections are allowed it loses offsets. Do not format the directory before you know that it holds \
                no last copy.",
        twins: &[
            ("no-leader-no-live-replica", "There the broker is down; here it answers, and its disk has failed."),
            ("no-leader-live-replica", "There the replica could lead and nobody elects it; here it cannot."),
        ],
        shadows: &["no-leader-no-live-replica"],
        versions: "1.0 and newer (KIP-112); KRaft 3.7 and newer (KIP-858)",
        sources: &["KIP-112", "KIP-113", "KIP-858", "core/.../log/LogManager.scala (handleLogDirFailure)"],
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let mut by_broker: BTreeMap<BrokerId, Vec<PartitionId>> = BTreeMap::new();
    for (&partition, seen) in &context.facts.partitions {
        for &broker in &seen.failed_dirs {
            by_broker.entry(broker).or_default().push(partition);
        }
    }
    for &broker in &context.facts.answering {
        if !failed(context, broker).is_empty() {
            by_broker.entry(broker).or_default();
        }
    }
    by_broker.into_iter().map(|(broker, partitions)| explain(context, broker, partitions)).collect()
}

fn failed<'a>(context: &'a Context<'_, '_>, broker: BrokerId) -> Vec<&'a LogDir> {
    let dirs = context.facts.snapshot.brokers.get(&broker).and_then(|sight| sight.log_dirs.known());
    dirs.iter().flat_map(|dirs| &dirs.dirs).filter(|dir| dir.error != 0).collect()
}

fn explain(context: &Context<'_, '_>, broker: BrokerId, partitions: Vec<PartitionId>) -> Finding {
    let lost: Vec<PartitionId> = partitions
        .iter()
        .copied()
        .filter(|id| context.verdicts.get(id).is_some_and(|verdict| blamed(&verdict.cause, broker)))
        .collect();
    let dirs = failed(context, broker);
    let paths: Vec<_> = dirs.iter().map(|dir| dir.path.as_str()).collect();
    let what = match paths.as_slice() {
        [] => "A log directory".to_owned(),
        [one] => format!("Log directory {one}"),
        many => format!("Log directories {}", words::list(many)),
    };
    let has = if paths.len() > 1 { "have" } else { "has" };
    let sentence = if !lost.is_empty() {
        format!(
            "{what} of broker {broker} {has} failed: {} without leader, although the broker is alive.",
            are(context, &lost)
        )
    } else if partitions.is_empty() {
        format!("{what} of broker {broker} {has} failed. No replica of {OFFSETS_TOPIC} is known to be on it.")
    } else {
        format!(
            "{what} of broker {broker} {has} failed: its replica of {} is offline, although the broker is alive.",
            context.reach(&partitions)
        )
    };
    let mut finding = finding(SLUG, if lost.is_empty() { Severity::Error } else { Severity::Outage }, sentence);
    finding.outlook = Some(if lost.is_empty() {
        "Other replicas lead. The broker takes the directory back only when it is restarted.".to_owned()
    } else {
        "It will not heal by itself: the broker takes the directory back only when it is restarted.".to_owned()
    });
    finding.evidence = evidence(context, broker, &partitions, &dirs);
    finding.avoid.push(Avoid {
        what: "Do not format or empty the directory yet".to_owned(),
        why: "It may hold the last copy of partitions, of other topics too.".to_owned(),
    });
    finding.remedies = remedies(context, broker, &paths, &lost);
    finding.brokers = vec![broker];
    finding.partitions = partitions;
    finding
}

fn are(context: &Context<'_, '_>, partitions: &[PartitionId]) -> String {
    format!("{} {}", context.reach(partitions), if partitions.len() == 1 { "is" } else { "are" })
}

fn blamed(cause: &Cause, broker: BrokerId) -> bool {
    matches!(cause, Cause::NoLeaderDirFailed { brokers } if brokers.contains(&broker))
}

fn evidence(
    context: &Context<'_, '_>,
    broker: BrokerId,
    partitions: &[PartitionId],
    dirs: &[&LogDir],
) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    if !partitions.is_empty() {
        evidence.push(seen_(format!(
            "Metadata lists broker {broker} as live, and its replica of {} {} as offline.",
            if partitions.len() == 1 { "partition" } else { "partitions" },
            words::list(partitions)
        )));
    }
    for dir in dirs {
        evidence.push(seen_(format!(
            "Asked for its log directories, broker {broker} answers {} ({}) for {}.",
            dir.error,
            crate::snapshot::error_name(dir.error),
            dir.path
        )));
    }
    let sight = context.facts.snapshot.brokers.get(&broker);
    match sight.map(|sight| &sight.log_dirs) {
        Some(Observed::Unavailable(unavailable)) => {
            evidence.push(not_seen(format!("Which directory it is: {}.", unavailable.why)));
        }
        Some(Observed::Known(_)) if dirs.is_empty() => {
            evidence.push(not_seen("Which directory it is: the broker names none as failed.".to_owned()));
        }
        Some(Observed::NotAsked) | None => {
            evidence.push(not_seen("Which directory it is: not asked yet.".to_owned()));
        }
        Some(Observed::Known(_)) => {}
    }
    evidence
}

fn remedies(context: &Context<'_, '_>, broker: BrokerId, paths: &[&str], lost: &[PartitionId]) -> Vec<Remedy> {
    let dirs = if paths.is_empty() { "the directory".to_owned() } else { words::list(paths) };
    let commands = context.commands();
    let mut remedies = vec![
        Remedy::new(
            format!("Find out what happened to {dirs} on broker {broker}"),
            "Its log and the kernel's say whether the disk is full, unmounted, or broken.",
        )
        .looks(commands.log_dirs(&[broker], OFFSETS_TOPIC)),
        super::restart::restart(
            context,
            broker,
            format!("Bring {dirs} back, then restart broker {broker}"),
            "Its replicas there come online with all their data, and lead again where nobody else can.",
        ),
    ];
    let views = || lost.iter().filter_map(|id| context.facts.partitions.get(id));
    let others: BTreeSet<BrokerId> = views()
        .flat_map(|seen| seen.newest.replicas.iter().copied().filter(|&id| context.facts.electable_for(seen, id)))
        .collect();
    if !others.is_empty()
        && let Some(command) = commands.elect_each(Election::Unclean, OFFSETS_TOPIC, lost)
    {
        let others: Vec<_> = others.into_iter().collect();
        remedies.push(
            Remedy::new(
                "Only if the disk is lost: elect a replica that was not in sync",
                format!("Makes {} leader.", words::brokers(&others)),
            )
            .command(command, "A replica that lacks the last commits leads the partition.")
            .danger(Risk::Loses, "Loses committed offsets: those groups read again or skip, as auto.offset.reset says.")
            .given("the data on the disk is lost for good", None)
            .verify("The partition has a leader, and its groups have a coordinator.")
            .undo("Cannot be undone."),
        );
    } else if !lost.is_empty() {
        remedies.push(
            Remedy::new(
                format!("Only if the disk is lost: replace it, and restart broker {broker} with an empty directory"),
                "It makes the replicas anew, empty, and may lead with them. KRaft may want an unclean election in addition.",
            )
            .danger(Risk::Loses, "Loses the committed offsets of these groups, and all data of which this was the only copy.")
            .given("the data on the disk is lost for good", None)
            .verify("The partitions have a leader; then set the groups' positions by time.")
            .undo("Cannot be undone."),
        );
    }
    remedies
}

#[cfg(test)]
mod tests {
    use crate::report::Status;
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn the_only_replica_is_on_a_failed_disk() {
        let sample = Sample::kraft(3, 6, 1).later(2).no_leader(0, &[1]).offline_replica(0, 1).log_dir_error(1, 56);
        let report = sample.later(10).report();
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [outage] Log directory /var/lib/kafka of broker 1 has failed: partition 0 of __consumer_offsets is without leader, although the broker is alive.
          outlook: It will not heal by itself: the broker takes the directory back only when it is restarted.
          seen: Metadata lists broker 1 as live, and its replica of partition 0 as offline.
          seen: Asked for its log directories, broker 1 answers 56 (KAFKA_STORAGE_ERROR) for /var/lib/kafka.
          -> Find out what happened to /var/lib/kafka on broker 1: Its log and the kernel's say whether the disk is full, unmounted, or broken.
             $ kafka-log-dirs.sh --bootstrap-server 127.0.0.1:9001 --describe --broker-list 1 --topic-list __consumer_offsets
          -> Bring /var/lib/kafka back, then restart broker 1: Its replicas there come online with all their data, and lead again where nobody else can.
             if (not met): broker 1 is not the last in-sync replica of any partition of __consumer_offsets (it is of 0 and 3)
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 1 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
          -> Only if the disk is lost: replace it, and restart broker 1 with an empty directory: It makes the replicas anew, empty, and may lead with them. KRaft may want an unclean election in addition.
             if (not known): the data on the disk is lost for good
             ! (loses data) Loses the committed offsets of these groups, and all data of which this was the only copy.
             verify: The partitions have a leader; then set the groups' positions by time.
             undo: Cannot be undone.
          avoid: Do not format or empty the directory yet: It may hold the last copy of partitions, of other topics too.
        ");
        assert_eq!(report.partitions[0].status, Status::Stuck);
        assert!(!report.partitions[0].sentence.contains("in sync"), "{}", report.partitions[0].sentence);
        assert!(!slugs(&report).contains(&"no-leader-live-replica".to_owned()));
    }

    #[test]
    fn others_lead_and_the_directory_is_not_told() {
        let sample = Sample::kraft(3, 3, 3).isr(0, &[1, 3]).offline_replica(0, 2).log_dirs_denied().later(10);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] A log directory of broker 2 has failed: its replica of partition 0 of __consumer_offsets is offline, although the broker is alive.
          outlook: Other replicas lead. The broker takes the directory back only when it is restarted.
          seen: Metadata lists broker 2 as live, and its replica of partition 0 as offline.
          not seen: Which directory it is: needs DESCRIBE on CLUSTER.
          -> Find out what happened to the directory on broker 2: Its log and the kernel's say whether the disk is full, unmounted, or broken.
             $ kafka-log-dirs.sh --bootstrap-server 127.0.0.1:9001 --describe --broker-list 2 --topic-list __consumer_offsets
          -> Bring the directory back, then restart broker 2: Its replicas there come online with all their data, and lead again where nobody else can.
             if (met): broker 2 is not the last in-sync replica of any partition of __consumer_offsets
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 2 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
          avoid: Do not format or empty the directory yet: It may hold the last copy of partitions, of other topics too.
        ");
    }

    #[test]
    fn a_broker_that_has_just_started_has_its_replicas_offline_for_a_moment() {
        let sample = Sample::kraft(3, 6, 1).later(2).no_leader(0, &[1]).offline_replica(0, 1).later(1);
        let report = sample.report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
        assert_eq!(report.partitions[0].status, Status::Recovering);
    }

    #[test]
    fn replicas_of_a_dead_broker_are_another_matter() {
        let sample = Sample::kraft(3, 6, 1).gone(1).leaderless_after(1).offline_replica(0, 1).later(10);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
