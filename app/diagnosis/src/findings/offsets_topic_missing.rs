//! `offsets-topic-missing`: there is no `__consumer_offsets`, so no group has a coordinator.
//!
//! Catalogue rows 7 and 8. Never seen before: information, for the first consumer creates it, unless the replication
//! factor it asks for is larger than the number of live brokers. Seen before: an outage, the offsets are gone.
//! "Not listed" alone proves nothing: without DESCRIBE on the topic it is hidden (error 3 from DescribeConfigs proves).

use super::{Context, Rule, finding, not_seen, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity, TopicPresence};
use crate::words;

const SLUG: &str = "offsets-topic-missing";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "There is no `__consumer_offsets`, so no group has a coordinator",
        severity: "info on a fresh cluster; error if it cannot be created, or is hidden; outage if it was there before",
        opens: "Every broker that answers proves it absent (for 5 s, if it was there before), or none lists it.",
        closes: "It is listed.",
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    match context.facts.presence {
        TopicPresence::Absent => vec![absent(context)],
        TopicPresence::Vanished => vec![vanished(context)],
        TopicPresence::MaybeHidden => vec![hidden()],
        TopicPresence::Present | TopicPresence::Unknown => Vec::new(),
    }
}

/// The largest `offsets.topic.replication.factor` among the brokers: whichever is asked first creates the topic.
fn wanted_factor(context: &Context<'_, '_>) -> Option<usize> {
    let brokers = context.facts.answering.iter().filter_map(|id| context.facts.snapshot.brokers.get(id));
    let factors = brokers.filter_map(|sight| sight.configs.known()?.offsets_topic_replication_factor);
    factors.max().and_then(|factor| usize::try_from(factor).ok())
}

fn absent(context: &Context<'_, '_>) -> Finding {
    let live = context.facts.answering.union(&context.facts.listed_live).count();
    let proof =
        seen_("DescribeConfigs answers 3 (UNKNOWN_TOPIC_OR_PARTITION), and no broker lists a group.".to_owned());
    match wanted_factor(context) {
        Some(factor) if factor > live => {
            let mut finding = finding(
                SLUG,
                Severity::Error,
                format!(
                    "__consumer_offsets does not exist and cannot be created: offsets.topic.replication.factor is \
                     {factor}, and {} {} live.",
                    words::count(live, "broker"),
                    if live == 1 { "is" } else { "are" }
                ),
            );
            finding.outlook = Some("The first consumer will hang, and its client will log nothing.".to_owned());
            finding.evidence.push(proof);
            finding.remedies.push(step(
                format!("Start more brokers, until {factor} are live"),
                "Then the first consumer creates the topic.",
            ));
            finding.remedies.push(Remedy {
                title: "On a test cluster only: set offsets.topic.replication.factor to the number of brokers"
                    .to_owned(),
                why: "In server.properties of every broker, then restart them.".to_owned(),
                command: None,
                danger: Some("With factor 1 every group of a lost broker stands still.".to_owned()),
                ..Remedy::default()
            });
            finding
        }
        factor => {
            let mut finding = finding(
                SLUG,
                Severity::Info,
                "No consumer group has used this cluster yet: __consumer_offsets does not exist.".to_owned(),
            );
            finding.outlook = Some(match factor {
                Some(factor) => format!("The first consumer creates it, with replication factor {factor}."),
                None => "The first consumer creates it.".to_owned(),
            });
            finding.evidence.push(proof);
            if factor.is_none() {
                finding.evidence.push(not_seen("offsets.topic.replication.factor: no broker told it.".to_owned()));
            }
            finding
        }
    }
}

fn vanished(context: &Context<'_, '_>) -> Finding {
    let mut finding = finding(
        SLUG,
        Severity::Outage,
        "__consumer_offsets is gone: no group has a coordinator, and all committed offsets are lost.".to_owned(),
    );
    if let Some(topic) = &context.facts.memory.offsets_topic {
        finding.evidence.push(seen_(format!(
            "It had {} and was last seen at {}.",
            words::count(usize::try_from(topic.partition_count).unwrap_or_default(), "partition"),
            crate::time::clock(topic.last_seen)
        )));
    }
    finding.evidence.push(seen_("DescribeConfigs answers 3 (UNKNOWN_TOPIC_OR_PARTITION).".to_owned()));
    finding.outlook =
        Some("The next consumer creates it anew, empty: groups start where auto.offset.reset says.".to_owned());
    finding.remedies.push(step(
        "Find out what deleted it, and stop that first",
        "An operator or a script that deletes it once does so again.",
    ));
    finding.remedies.push(Remedy {
        title: "Then set each group's position by time, while the group is stopped".to_owned(),
        why: "Use the time at which the topic was last seen.".to_owned(),
        command: Some(format!(
            "kafka-consumer-groups.sh --bootstrap-server {} --group GROUP --topic TOPIC --reset-offsets --to-datetime \
             TIME --dry-run",
            context.bootstrap()
        )),
        danger: Some(
            "With --execute instead of --dry-run it writes positions: some records are read again or skipped."
                .to_owned(),
        ),
        ..Remedy::default()
    });
    finding
}

fn hidden() -> Finding {
    let mut finding = finding(
        SLUG,
        Severity::Error,
        "__consumer_offsets is not listed to us. Whether it exists cannot be told.".to_owned(),
    );
    finding
        .evidence
        .push(not_seen("The topic: without DESCRIBE on it, brokers leave it out without an error.".to_owned()));
    finding.remedies.push(Remedy {
        title: "Let Unstuck see the topic".to_owned(),
        why: "Grants its account DESCRIBE and DESCRIBE_CONFIGS on __consumer_offsets.".to_owned(),
        command: Some(
            "kafka-acls.sh --bootstrap-server BOOTSTRAP --add --allow-principal User:UNSTUCK --operation Describe \
             --operation DescribeConfigs --topic __consumer_offsets"
                .to_owned(),
        ),
        danger: None,
        ..Remedy::default()
    });
    finding
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn a_fresh_cluster_is_no_outage() {
        insta::assert_snapshot!(text(&Sample::kraft(3, 0, 3).absent().report(), super::SLUG), @"
        [info] No consumer group has used this cluster yet: __consumer_offsets does not exist.
          outlook: The first consumer creates it, with replication factor 3.
          seen: DescribeConfigs answers 3 (UNKNOWN_TOPIC_OR_PARTITION), and no broker lists a group.
        ");
    }

    #[test]
    fn it_cannot_be_created_with_too_few_brokers() {
        insta::assert_snapshot!(text(&Sample::kraft(1, 0, 1).absent().report(), super::SLUG), @"
        [error] __consumer_offsets does not exist and cannot be created: offsets.topic.replication.factor is 3, and 1 broker is live.
          outlook: The first consumer will hang, and its client will log nothing.
          seen: DescribeConfigs answers 3 (UNKNOWN_TOPIC_OR_PARTITION), and no broker lists a group.
          -> Start more brokers, until 3 are live: Then the first consumer creates the topic.
          -> On a test cluster only: set offsets.topic.replication.factor to the number of brokers: In server.properties of every broker, then restart them.
             ! With factor 1 every group of a lost broker stands still.
        ");
    }

    #[test]
    fn gone_after_it_was_there() {
        insta::assert_snapshot!(text(&Sample::kraft(3, 50, 3).later(60).absent().later(10).report(), super::SLUG), @"
        [outage] __consumer_offsets is gone: no group has a coordinator, and all committed offsets are lost.
          outlook: The next consumer creates it anew, empty: groups start where auto.offset.reset says.
          seen: It had 50 partitions and was last seen at 12:01:00 UTC.
          seen: DescribeConfigs answers 3 (UNKNOWN_TOPIC_OR_PARTITION).
          -> Find out what deleted it, and stop that first: An operator or a script that deletes it once does so again.
          -> Then set each group's position by time, while the group is stopped: Use the time at which the topic was last seen.
             if (not known): TOPIC is replaced by a topic that the group reads, once for each of them
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --group GROUP --topic TOPIC --reset-offsets --to-datetime TIME --dry-run
             ! With --execute instead of --dry-run it writes positions: some records are read again or skipped.
        ");
    }

    #[test]
    fn one_sample_does_not_prove_it_gone() {
        let report = Sample::kraft(3, 50, 3).later(60).absent().report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
        assert_eq!(report.headline.status, crate::report::Status::Unknown);
    }

    #[test]
    fn brokers_that_others_list_count_as_live() {
        let report = Sample::kraft(3, 0, 3).absent().never_reached(2).never_reached(3).report();
        assert_eq!(report.headline.status, crate::report::Status::Working, "{:?}", report.headline);
    }

    #[test]
    fn not_listed_is_not_absent() {
        insta::assert_snapshot!(text(&Sample::kraft(3, 0, 3).hidden().report(), super::SLUG), @"
        [error] __consumer_offsets is not listed to us. Whether it exists cannot be told.
          not seen: The topic: without DESCRIBE on it, brokers leave it out without an error.
          -> Let Unstuck see the topic: Grants its account DESCRIBE and DESCRIBE_CONFIGS on __consumer_offsets.
             if (not known): User:UNSTUCK is replaced by the principal that Unstuck logs in as
             $ kafka-acls.sh --bootstrap-server BOOTSTRAP --add --allow-principal User:UNSTUCK --operation Describe --operation DescribeConfigs --topic __consumer_offsets
        ");
    }

    #[test]
    fn not_when_it_is_there() {
        assert!(!slugs(&Sample::kraft(3, 3, 3).report()).contains(&super::SLUG.to_owned()));
    }
}
