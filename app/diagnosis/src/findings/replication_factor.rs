//! `replication-factor-1` and `replication-factor-low`: too few copies of the offsets topic.
//!
//! Catalogue rows 9 and 10; founding incident 3. The shipped server.properties sets factor 1. Compared with the
//! *registered* brokers, not the live ones, or the warning would vanish exactly when two of three are down:
//! RF < min(3, registered). A single broker gets a note only.

use super::{Context, Rule, finding, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Risk, Severity};
use crate::words;

pub(super) const RULE: Rule = Rule {
    entries: &[
        Entry {
            slug: "replication-factor-1",
            title: "`__consumer_offsets` has one copy: each broker that stops takes its groups with it",
            severity: "warning; info with a single broker",
            means: "Each partition of `__consumer_offsets` lies on one broker only. When that broker stops, the groups of its \
                    partitions stand still until it is back, and if its disk is lost, so are their committed offsets. The \
                    replication factor of the data topics does not help: coordinators live on this topic. It often comes \
                    from the `server.properties` that Kafka ships, which sets `offsets.topic.replication.factor=1` for a \
                    first try, or from a topic that was created while one broker was up (0.10.2 and older).",
            opens: "A partition has one replica, and more than one broker is registered. Registered counts, not live: or the \
                    warning would vanish exactly when two of three brokers are down.",
            closes: "Every partition has min(3, registered brokers) replicas.",
            not_told: "Brokers that are registered and lead or hold nothing count as soon as somebody has told of them. On a \
                       cluster with a single broker this is a note only: there is nowhere to copy to.",
            clients_see: "Nothing, until a broker stops.",
            way_out: "Raise the factor by a reassignment while all brokers are up: copies are added, nothing is moved away, no \
                      group stops. Then set `offsets.topic.replication.factor=3` on every broker, for the next time the \
                      topic is created; the setting changes nothing for a topic that exists.",
            never: "Do not delete the topic to have it created anew with three replicas, as some guides advise: that throws \
                    away every committed offset, which a reassignment keeps. Do not give `--throttle` while a broker that \
                    is to be copied from is down: the command fails. A reassignment cannot rescue a partition that has no \
                    leader: start its broker first.",
            twins: &[
                ("replication-factor-low", "there two copies are left: one failure is survived, the second is not"),
                ("no-leader-no-live-replica", "what it becomes when the broker stops"),
            ],
            shadows: &[],
            versions: "all; enforced at creation from 0.11 on (KIP-115)",
            sources: &[
                "KIP-115, KAFKA-3959 (the replication factor is enforced, 0.11)",
                "config/server.properties as shipped (offsets.topic.replication.factor=1)",
                "KIP-455 (reassignments)",
            ],
        },
        Entry {
            slug: "replication-factor-low",
            title: "`__consumer_offsets` has fewer copies than the brokers allow",
            severity: "warning",
            means: "With two copies one failure is survived and the second is not; while one broker is down for maintenance, \
                    the failure of the other stops the groups. And with `min.insync.replicas=2` a single stopped broker \
                    already stops all commits. Three copies survive two failures, and maintenance during one. More than \
                    three are rarely worth their cost; as many as there are brokers are never needed.",
            opens: "A partition has fewer replicas than min(3, registered brokers), and none has only one.",
            closes: "Every partition has min(3, registered brokers) replicas.",
            not_told: "Brokers that nobody has told of do not count.",
            clients_see: "Nothing, until brokers stop.",
            way_out: "Raise the factor by a reassignment while all brokers are up, and set `offsets.topic.replication.factor` \
                      for the next time the topic is created.",
            never: "Do not delete the topic to have it created anew: a reassignment keeps all committed offsets.",
            twins: &[("replication-factor-1", "there a single failure is enough")],
            shadows: &[],
            versions: "all",
            sources: &["KIP-455 (reassignments)", "offsets.topic.replication.factor (3 by default since 0.11)"],
        },
    ],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let factors = || facts.partitions.values().map(|seen| seen.newest.replicas.len());
    let Some(least) = factors().min() else { return Vec::new() };
    let registered = facts.registered.len();
    let wanted = registered.min(3);
    if registered == 1 && least == 1 {
        return vec![single(context)];
    }
    if least >= wanted {
        return Vec::new();
    }
    let partitions: Vec<_> = facts
        .partitions
        .iter()
        .filter(|(_, seen)| seen.newest.replicas.len() < wanted)
        .map(|(&partition, _)| partition)
        .collect();
    let groups = context.group_count(&partitions);
    let mut finding = if least == 1 {
        finding(
            "replication-factor-1",
            Severity::Warning,
            format!(
                "__consumer_offsets has replication factor 1: each broker that stops takes its groups with it{}.",
                if groups == 0 { String::new() } else { format!(" ({} in all)", words::count(groups, "group")) }
            ),
        )
    } else {
        finding(
            "replication-factor-low",
            Severity::Warning,
            format!("__consumer_offsets has replication factor {least}; {wanted} would survive two failures."),
        )
    };
    finding.evidence.push(seen_(format!(
        "{} of {} partitions have fewer than {wanted} replicas; {} are registered.",
        partitions.len(),
        facts.partitions.len(),
        words::count(registered, "broker")
    )));
    finding.evidence.push(seen_(
        "The replication factor of your data topics does not protect groups: coordinators live on this topic."
            .to_owned(),
    ));
    finding.remedies = remedies(context, wanted);
    finding.partitions = partitions;
    vec![finding]
}

fn single(context: &Context<'_, '_>) -> Finding {
    let mut finding = finding(
        "replication-factor-1",
        Severity::Info,
        "This cluster has one broker: when it stops, every group stops.".to_owned(),
    );
    finding.evidence.push(seen_(format!(
        "{} of __consumer_offsets, replication factor 1.",
        words::count(context.facts.partitions.len(), "partition")
    )));
    finding
}

fn remedies(context: &Context<'_, '_>, wanted: usize) -> Vec<Remedy> {
    let topic = "{\"version\":1,\"topics\":[{\"topic\":\"__consumer_offsets\"}]}";
    let brokers: Vec<_> = context.facts.registered.iter().map(ToString::to_string).collect();
    vec![
        Remedy {
            title: format!("Raise it to {wanted} by a reassignment, while all brokers are up"),
            why: format!(
                "Copies the partitions, moves nothing away, and stops no group. Put {topic} into topics.json; the command \
                 prints the present replicas: add brokers to each list until it has {wanted}, keep the first, save as \
                 raise.json, and run it again with --execute --reassignment-json-file raise.json."
            ),
            command: Some(format!(
                "kafka-reassign-partitions.sh --bootstrap-server {} --topics-to-move-json-file topics.json \
                 --broker-list {} --generate",
                context.bootstrap(),
                brokers.join(",")
            )),
            risk: Risk::Pause,
            danger: Some(
                "Copying costs network and disk: use --throttle on a busy cluster. It cannot rescue a partition \
                          without a leader."
                    .to_owned(),
            ),
            ..Remedy::default()
        },
        step(
            format!("Set offsets.topic.replication.factor={wanted} in server.properties of every broker"),
            "Counts only when the topic is created. It changes nothing for a topic that exists.",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn one_copy_on_three_brokers() {
        let sample = Sample::kraft(3, 6, 1).group_on(0, "orders");
        insta::assert_snapshot!(text(&sample.report(), "replication-factor-1"), @r#"
        [warning] __consumer_offsets has replication factor 1: each broker that stops takes its groups with it (1 group in all).
          seen: 6 of 6 partitions have fewer than 3 replicas; 3 brokers are registered.
          seen: The replication factor of your data topics does not protect groups: coordinators live on this topic.
          -> Raise it to 3 by a reassignment, while all brokers are up: Copies the partitions, moves nothing away, and stops no group. Put {"version":1,"topics":[{"topic":"__consumer_offsets"}]} into topics.json; the command prints the present replicas: add brokers to each list until it has 3, keep the first, save as raise.json, and run it again with --execute --reassignment-json-file raise.json.
             $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --topics-to-move-json-file topics.json --broker-list 1,2,3 --generate
             ! (groups may pause for a moment) Copying costs network and disk: use --throttle on a busy cluster. It cannot rescue a partition without a leader.
          -> Set offsets.topic.replication.factor=3 in server.properties of every broker: Counts only when the topic is created. It changes nothing for a topic that exists.
        "#);
    }

    #[test]
    fn two_copies_on_three_brokers() {
        insta::assert_snapshot!(text(&Sample::kraft(3, 6, 2).report(), "replication-factor-low"), @r#"
        [warning] __consumer_offsets has replication factor 2; 3 would survive two failures.
          seen: 6 of 6 partitions have fewer than 3 replicas; 3 brokers are registered.
          seen: The replication factor of your data topics does not protect groups: coordinators live on this topic.
          -> Raise it to 3 by a reassignment, while all brokers are up: Copies the partitions, moves nothing away, and stops no group. Put {"version":1,"topics":[{"topic":"__consumer_offsets"}]} into topics.json; the command prints the present replicas: add brokers to each list until it has 3, keep the first, save as raise.json, and run it again with --execute --reassignment-json-file raise.json.
             $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --topics-to-move-json-file topics.json --broker-list 1,2,3 --generate
             ! (groups may pause for a moment) Copying costs network and disk: use --throttle on a busy cluster. It cannot rescue a partition without a leader.
          -> Set offsets.topic.replication.factor=3 in server.properties of every broker: Counts only when the topic is created. It changes nothing for a topic that exists.
        "#);
    }

    #[test]
    fn the_warning_stays_when_two_of_three_are_down() {
        let report = Sample::kraft(3, 6, 1).gone(1).gone(2).report();
        assert!(slugs(&report).contains(&"replication-factor-1".to_owned()));
        assert_eq!(report.offsets_topic.wanted_replication_factor, 3);
        assert!(report.offsets_topic.warning.is_some());
    }

    #[test]
    fn two_brokers_with_two_copies_are_not_alarming() {
        let report = Sample::kraft(2, 6, 2).report();
        assert!(!slugs(&report).iter().any(|slug| slug.starts_with("replication-factor")));
        assert_eq!(report.offsets_topic.warning, None);
    }

    #[test]
    fn a_single_broker_gets_a_note() {
        insta::assert_snapshot!(text(&Sample::kraft(1, 6, 1).report(), "replication-factor-1"), @"
        [info] This cluster has one broker: when it stops, every group stops.
          seen: 6 partitions of __consumer_offsets, replication factor 1.
        ");
    }

    #[test]
    fn unknown_partitions_are_no_finding() {
        assert!(!slugs(&Sample::empty().report()).iter().any(|slug| slug.starts_with("replication-factor")));
    }
}
