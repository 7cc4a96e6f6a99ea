//! `placement-drift` and `placement-foreign`: groups do not live where the hash of the present partition count says.
//!
//! Catalogue rows 24 and 25 (KAFKA-7771, KIP-895): brokers freeze the partition count at their start. Anything that
//! another count does not explain is another implementation, a proxy or a tenant prefix.

use super::{Context, Rule, finding, seen_};
use crate::handbook::Entry;
use crate::report::{Finding, PlacementProof, Remedy, Severity};

pub(super) const RULE: Rule = Rule {
    entries: &[
        Entry {
            slug: "placement-drift",
            title: "Groups do not live where the hash of the present partition count says",
            severity: "error",
            opens: "FindCoordinator answers fit another partition count for more than 10 s.",
            closes: "They fit the topic's count.",
            ..Entry::BLANK
        },
        Entry {
            slug: "placement-foreign",
            title: "Groups do not live where the hash of the present partition count says",
            severity: "error",
            opens: "FindCoordinator answers fit no partition count.",
            closes: "They fit.",
            ..Entry::BLANK
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
            finding.remedies.push(Remedy {
                title: "Save the committed offsets of all groups before any broker restarts".to_owned(),
                why: "Groups whose partition changes find no offsets there and start where auto.offset.reset says."
                    .to_owned(),
                command: Some(format!(
                    "kafka-consumer-groups.sh --bootstrap-server {} --describe --all-groups --offsets > offsets.txt",
                    context.bootstrap()
                )),
                danger: None,
                ..Remedy::default()
            });
            finding.remedies.push(Remedy {
                title: "Then restart all brokers promptly, one after the other".to_owned(),
                why: format!(
                    "Afterwards every broker uses {partition_count} partitions. Set the saved offsets for each group while \
                     its consumers are stopped: kafka-consumer-groups.sh --reset-offsets --to-offset, by topic and partition."
                ),
                command: None,
                danger: Some(
                    "Between the first and the last restart two brokers may both serve the same group.".to_owned(),
                ), ..Remedy::default() });
            finding.brokers = brokers.keys().copied().collect();
            vec![finding]
        }
        PlacementProof::Foreign { sentence } => {
            let mut finding = finding("placement-foreign", Severity::Error, sentence.clone());
            finding.evidence.push(seen_("FindCoordinator answers fit no partition count.".to_owned()));
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
        insta::assert_snapshot!(text(&report, "placement-drift"), @"
        [error] __consumer_offsets has 60 partitions, but brokers place groups with the count that they read at their start: broker 1 uses 50, broker 2 uses 50 and broker 3 uses 50. Until every broker has been restarted, a group can live on either partition.
          outlook: As brokers restart they change to the new count, and groups look for their offsets on other partitions.
          seen: FindCoordinator answers fit the older count for every id that was tried, and not the present one.
          -> Save the committed offsets of all groups before any broker restarts: Groups whose partition changes find no offsets there and start where auto.offset.reset says.
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --all-groups --offsets > offsets.txt
          -> Then restart all brokers promptly, one after the other: Afterwards every broker uses 60 partitions. Set the saved offsets for each group while its consumers are stopped: kafka-consumer-groups.sh --reset-offsets --to-offset, by topic and partition.
             ! Between the first and the last restart two brokers may both serve the same group.
        ");
        let moved = sample.lookup("my-group");
        assert_eq!(moved.verdict.status, Status::Unknown, "12 of 50, 42 of 60: {moved:?}");
    }

    #[test]
    fn another_implementation_is_named_and_nothing_is_guessed() {
        let sample = Sample::kraft(3, 50, 3).coordinators_are(2).later(20);
        insta::assert_snapshot!(text(&sample.report(), "placement-foreign"), @r#"
        [error] This cluster does not place groups as Kafka does (a proxy, a tenant prefix, or another implementation), so no partition is shown. For "unstuck-canary-proof-0" it names broker 2.
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
