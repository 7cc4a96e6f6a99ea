//! `placement-drift` and `placement-foreign`: groups do not live where the hash of the present partition count says.
//!
//! Catalogue rows 24 and 25 (KAFKA-7771, KIP-895): brokers freeze the partition count at their start. Anything that
//! another count does not explain is another implementation, a proxy or a tenant prefix.

use super::{Context, Rule, finding, seen_};
use crate::handbook::Entry;
use crate::report::{Avoid, Finding, PlacementProof, Remedy, Risk, Severity};

pub(super) const RULE: Rule = Rule {
    entries: &[
        Entry {
            slug: "placement-drift",
            title: "Brokers place groups with another partition count than the topic has",
            severity: "error",
            means: "A group's partition is the hash of its id modulo the number of partitions of `__consumer_offsets`. Each \
                    broker reads that number once, when it starts, and never again. Somebody added partitions, or brokers \
                    started with different settings before the topic existed. Now brokers may send one group to two \
                    coordinators. And each broker that restarts changes to the new number: groups whose partition changes \
                    find no committed offsets there and start where `auto.offset.reset` says.",
            opens: "For more than 10 s FindCoordinator answers fit another partition count for every id that was tried, and \
                    not the topic's own; at once, where a broker's `offsets.topic.num.partitions` explains them.",
            closes: "They fit the topic's count.",
            not_told: "For groups whose partition differs between the counts the verdict is withheld (`unknown`): either \
                       partition may be the right one, depending on the broker that is asked.",
            clients_see: "Nothing, until a broker restarts. Then some groups read everything again, or skip to the end, \
                          though nobody touched them.",
            way_out: "Stop the consumers in a quiet hour, export the committed offsets of every group, restart *all* brokers \
                      one after the other, set the exported offsets again, start the consumers. Half a restart is the \
                      worst state.",
            never: "Do not add partitions to `__consumer_offsets`, ever: Kafka does not support it and does not refuse it. \
                    Do not restart a single broker while the counts differ, not even for another reason, before the \
                    offsets are saved. Partitions cannot be taken away again.",
            twins: &[
                ("placement-foreign", "there no partition count at all explains the answers"),
                ("coordinator-failed", "there the broker agrees on the partition and still does not serve it"),
            ],
            shadows: &["coordinator-failed"],
            versions: "all (KAFKA-7771, KIP-895, KAFKA-19423: never implemented)",
            sources: &[
                "GroupMetadataManager.scala, GroupCoordinatorService.java (the count is read once at start)",
                "KAFKA-7771, KAFKA-14418, KAFKA-19423, KIP-895",
            ],
        },
        Entry {
            slug: "placement-foreign",
            title: "This cluster does not place groups as Kafka does",
            severity: "error",
            means: "The coordinators that the cluster names for known ids fit no partition count at all. Then something other \
                    than Apache Kafka's own hash decides: another implementation of the protocol, a proxy in between, or a \
                    service that puts a tenant's prefix before every group id. Unstuck then shows no partition for any \
                    group, since it would be a wrong one, and asks for the coordinator instead of computing it.",
            opens: "FindCoordinator answers contradict every partition count, for more than 10 s or from the start.",
            closes: "They fit.",
            not_told: "Which of these it is cannot be told from the answers. All that rests on the hash is withheld.",
            clients_see: "Nothing: clients ask, they do not compute.",
            way_out: "Ask whoever runs the service. Verdicts on brokers and on other topics hold all the same.",
            never: "",
            twins: &[("placement-drift", "there another partition count explains every answer")],
            shadows: &[],
            versions: "none of Apache Kafka; Redpanda, Confluent Cloud, Event Hubs, WarpStream and proxies may be such",
            sources: &["Utils.abs and String.hashCode over the group id, in every release that has the topic"],
        },
    ],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    match context.proof {
        PlacementProof::Drift { brokers, sentence, partition_count } => {
            let mut finding = finding("placement-drift", Severity::Error, sentence.clone());
            finding.evidence.push(seen_(
                "FindCoordinator answers fit the older count for every id that was tried, and not the present one."
                    .to_owned(),
            ));
            finding.outlook = Some(
                "As brokers restart they change to the new count, and groups look for their offsets on other partitions."
                    .to_owned(),
            );
            let commands = context.commands();
            finding.remedies.push(
                Remedy::new(
                    "Keep the committed offsets of all groups, before any broker restarts",
                    "Groups whose partition changes find no offsets there and start where auto.offset.reset says.",
                )
                .looks(commands.save_all_offsets())
                .verify("offsets-before.txt has a part for each group."),
            );
            finding.remedies.push(
                Remedy::new(
                    "In a quiet hour: stop all consumers, and export the offsets of every group",
                    "Only a group without members can be exported and set again.",
                )
                .looks(commands.export_all_offsets())
                .given("all consumers are stopped", None)
                .danger(Risk::Pause, "Nothing is consumed while the consumers are stopped.")
                .verify("There is a file offsets-GROUP.csv for each group, and none of them is empty."),
            );
            finding.remedies.push(
                Remedy::new(
                    "Then restart all brokers promptly, one after the other, and set the exported offsets again",
                    format!("Afterwards every broker uses {partition_count} partitions. The command is for after the last restart."),
                )
                .command(commands.import_all_offsets(), "The committed offsets of every group, to what was exported.")
                .given("the offsets of every group were exported", None)
                .given("all consumers are stopped", None)
                .danger(
                    Risk::Loses,
                    "Groups whose partition changes have lost their offsets until this command has run. Between the first \
                     and the last restart two brokers may both serve the same group.",
                )
                .verify(format!("`{}` shows each group with the offsets of before.", commands.describe_all_groups()))
                .undo("Impossible: partitions cannot be taken away. The exported files hold the positions."),
            );
            finding.avoid.push(Avoid {
                what: "Do not restart a single broker now, and do not add more partitions".to_owned(),
                why: "From its restart on it looks for some groups on other partitions than the rest of the cluster does."
                    .to_owned(),
            });
            finding.brokers = brokers.keys().copied().collect();
            vec![finding]
        }
        PlacementProof::Foreign { sentence } => {
            let mut finding = finding("placement-foreign", Severity::Error, sentence.clone());
            finding.evidence.push(seen_("FindCoordinator answers fit no partition count.".to_owned()));
            finding.outlook = Some("It stays so: it is how this cluster works, and no fault by itself.".to_owned());
            vec![finding]
        }
        PlacementProof::Certain { .. }
        | PlacementProof::Contradicted { .. }
        | PlacementProof::Unproven { .. }
        | PlacementProof::NoTopic => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::report::{PlacementProof, Status};
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn brokers_use_the_count_of_their_start() {
        let sample = Sample::kraft(3, 60, 3).coordinators_use(50).later(20);
        let report = sample.report();
        insta::assert_snapshot!(text(&report, "placement-drift"), @r#"
        [error] __consumer_offsets has 60 partitions, but brokers place groups with the count that they read at their start: broker 1 uses 50, broker 2 uses 50 and broker 3 uses 50. Until every broker has been restarted, a group can live on either partition.
          outlook: As brokers restart they change to the new count, and groups look for their offsets on other partitions.
          seen: FindCoordinator answers fit the older count for every id that was tried, and not the present one.
          -> Keep the committed offsets of all groups, before any broker restarts: Groups whose partition changes find no offsets there and start where auto.offset.reset says.
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --list | while IFS= read -r group; do kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group "$group" </dev/null; done > offsets-before.txt
             verify: offsets-before.txt has a part for each group.
          -> In a quiet hour: stop all consumers, and export the offsets of every group: Only a group without members can be exported and set again.
             if (not known): all consumers are stopped
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --list | while IFS= read -r group; do kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --group "$group" --all-topics --reset-offsets --to-current --dry-run --export > "offsets-$group.csv" </dev/null; done
             ! (groups may pause for a moment) Nothing is consumed while the consumers are stopped.
             verify: There is a file offsets-GROUP.csv for each group, and none of them is empty.
          -> Then restart all brokers promptly, one after the other, and set the exported offsets again: Afterwards every broker uses 60 partitions. The command is for after the last restart.
             if (not known): the offsets of every group were exported
             if (not known): all consumers are stopped
             $ for file in offsets-*.csv; do group=${file#offsets-}; kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --group "${group%.csv}" --reset-offsets --from-file "$file" --execute; done
             changes: The committed offsets of every group, to what was exported.
             ! (loses data) Groups whose partition changes have lost their offsets until this command has run. Between the first and the last restart two brokers may both serve the same group.
             verify: `kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --list | while IFS= read -r group; do kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group "$group" </dev/null; done` shows each group with the offsets of before.
             undo: Impossible: partitions cannot be taken away. The exported files hold the positions.
          avoid: Do not restart a single broker now, and do not add more partitions: From its restart on it looks for some groups on other partitions than the rest of the cluster does.
        "#);
        let moved = sample.lookup("my-group");
        assert_eq!(moved.verdict.status, Status::Unknown, "12 of 50, 42 of 60: {moved:?}");
    }

    #[test]
    fn another_implementation_is_named_and_nothing_is_guessed() {
        let sample = Sample::kraft(3, 50, 3).coordinators_are(2).later(20);
        insta::assert_snapshot!(text(&sample.report(), "placement-foreign"), @r#"
        [error] This cluster does not place groups as Kafka does (a proxy, a tenant prefix, or another implementation), so no partition is shown. For "unstuck-canary-proof-0" it names broker 2.
          outlook: It stays so: it is how this cluster works, and no fault by itself.
          seen: FindCoordinator answers fit no partition count.
        "#);
        let lookup = sample.lookup("my-group");
        assert_eq!((lookup.verdict.status, lookup.placement), (Status::Unknown, None));
    }

    #[test]
    fn one_contradiction_after_a_proof_is_no_proof() {
        let report = Sample::kraft(3, 50, 3).later(20).coordinators_are(2).report();
        assert!(matches!(report.placement, PlacementProof::Unproven { .. }), "{:?}", report.placement);
    }

    #[test]
    fn contradicted_from_the_start_no_partition_is_shown() {
        let mut sample = Sample::kraft(3, 50, 3).coordinators_are(2);
        sample.memory = crate::memory::Memory::new(sample.now());
        assert!(slugs(&sample.report()).iter().all(|slug| !slug.starts_with("placement")), "nothing is explained yet");
        let lookup = sample.lookup("my-group");
        assert_eq!((lookup.verdict.status, lookup.placement), (Status::Unknown, None));
    }

    #[test]
    fn a_setting_that_explains_the_answers_needs_no_second_look() {
        let report = Sample::kraft(3, 60, 3).coordinators_use(50).report();
        assert!(matches!(report.placement, PlacementProof::Drift { .. }), "{:?}", report.placement);
    }

    #[test]
    fn agreement_is_certain() {
        let report = Sample::kraft(3, 50, 3).report();
        assert_eq!(report.placement, PlacementProof::Certain { partition_count: 50 });
        assert!(!slugs(&report).iter().any(|slug| slug.starts_with("placement")));
    }
}
