//! `partition-count-config-differs`: brokers are set to another partition count than the offsets topic has.
//!
//! Catalogue row 25. Harmless while the topic exists and all brokers started after it was made; it decides what a new
//! topic would have, and what a broker uses that starts while the topic is absent. Drift itself is `placement-drift`.

use std::collections::BTreeMap;

use super::{Context, Rule, capital, finding, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, PlacementProof, Severity, TopicPresence};
use crate::{BrokerId, OFFSETS_TOPIC, words};

const SLUG: &str = "partition-count-config-differs";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "`offsets.topic.num.partitions` of brokers differs from the partitions that `__consumer_offsets` has",
        severity: "info; warning where brokers differ and the topic does not exist yet",
        means: "A broker reads the partition count of the topic once, at its start, and uses its own setting only if the \
                topic does not exist then. So a setting that differs does no harm until the topic is deleted and made \
                anew. Where brokers differ among themselves before the topic exists, each keeps its own count until it is \
                restarted, and they place groups differently.",
        opens: "A broker that answers tells another `offsets.topic.num.partitions` than the topic has, and FindCoordinator \
                shows no drift; or brokers tell different values while the topic does not exist.",
        closes: "The settings fit.",
        not_told: "Without DESCRIBE_CONFIGS on CLUSTER the settings are not known, and nothing is said.",
        way_out: "Set it in server.properties of every broker to what the topic has; it counts from the next restart on.",
        never: "Do not change the number of partitions of the topic to fit the setting: groups would look for their offsets \
                on other partitions.",
        twins: &[("placement-drift", "The same difference in effect: brokers do place groups with another count.")],
        versions: "0.9 and newer; on 0.8.2 the setting itself is used",
        sources: &["KAFKA-7771", "group-coordinator/.../GroupCoordinatorService.java (startup)"],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let mut told: BTreeMap<i32, Vec<BrokerId>> = BTreeMap::new();
    for (&id, sight) in facts.snapshot.brokers.iter().filter(|(id, _)| facts.answering.contains(id)) {
        if let Some(count) = sight.configs.known().and_then(|configs| configs.offsets_topic_num_partitions) {
            told.entry(count).or_default().push(id);
        }
    }
    match (facts.presence, facts.partition_count(), context.proof) {
        (TopicPresence::Present, Some(count), PlacementProof::Certain { .. } | PlacementProof::Unproven { .. }) => {
            let differing: BTreeMap<_, _> = told.into_iter().filter(|(other, _)| *other != count).collect();
            if differing.is_empty() { Vec::new() } else { vec![harmless(count, &differing)] }
        }
        (TopicPresence::Absent, ..) if told.len() > 1 => vec![before_it_exists(&told)],
        _ => Vec::new(),
    }
}

fn said(told: &BTreeMap<i32, Vec<BrokerId>>) -> Vec<crate::report::Evidence> {
    let words = |(count, brokers): (&i32, &Vec<BrokerId>)| {
        let verb = if brokers.len() == 1 { "has" } else { "have" };
        seen_(format!("{} {verb} offsets.topic.num.partitions={count}.", capital(&words::brokers(brokers))))
    };
    told.iter().map(words).collect()
}

fn harmless(count: i32, differing: &BTreeMap<i32, Vec<BrokerId>>) -> Finding {
    let brokers: Vec<_> = differing.values().flatten().copied().collect();
    let mut finding = finding(
        SLUG,
        Severity::Info,
        format!(
            "{OFFSETS_TOPIC} has {count} partitions, and {} set to another number: harmless while the topic exists.",
            if brokers.len() == 1 {
                format!("broker {} is", words::list(&brokers))
            } else {
                format!("{} are", words::brokers(&brokers))
            }
        ),
    );
    finding.outlook = Some("It would count if the topic were ever made anew.".to_owned());
    finding.evidence = said(differing);
    finding.remedies.push(step(
        format!("Set offsets.topic.num.partitions={count} in server.properties"),
        "It counts from the next restart of the broker on. No hurry.",
    ));
    finding.brokers = brokers;
    finding
}

fn before_it_exists(told: &BTreeMap<i32, Vec<BrokerId>>) -> Finding {
    let mut finding = finding(
        SLUG,
        Severity::Warning,
        format!(
            "Brokers are set to different partition counts for {OFFSETS_TOPIC}, which does not exist yet: they will place \
             groups differently."
        ),
    );
    finding.outlook = Some(
        "The broker that the first consumer asks decides how many partitions there are; the others keep their own count \
         until they are restarted."
            .to_owned(),
    );
    finding.evidence = said(told);
    finding.remedies.push(step(
        "Set the same offsets.topic.num.partitions on all brokers, and restart them, before the first consumer comes",
        "50 is Kafka's default. Afterwards it can only be had by restarting all brokers once more.",
    ));
    finding.brokers = told.values().flatten().copied().collect();
    finding
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn the_setting_is_another_and_nobody_uses_it() {
        let sample = Sample::kraft(3, 6, 3).offsets_topic_num_partitions(2, 50);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [info] __consumer_offsets has 6 partitions, and broker 2 is set to another number: harmless while the topic exists.
          outlook: It would count if the topic were ever made anew.
          seen: Broker 2 has offsets.topic.num.partitions=50.
          -> Set offsets.topic.num.partitions=6 in server.properties: It counts from the next restart of the broker on. No hurry.
        ");
    }

    #[test]
    fn before_the_topic_exists_it_matters() {
        let sample = Sample::kraft(3, 0, 3).absent().offsets_topic_num_partitions(2, 60);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [warning] Brokers are set to different partition counts for __consumer_offsets, which does not exist yet: they will place groups differently.
          outlook: The broker that the first consumer asks decides how many partitions there are; the others keep their own count until they are restarted.
          seen: Brokers 1 and 3 have offsets.topic.num.partitions=50.
          seen: Broker 2 has offsets.topic.num.partitions=60.
          -> Set the same offsets.topic.num.partitions on all brokers, and restart them, before the first consumer comes: 50 is Kafka's default. Afterwards it can only be had by restarting all brokers once more.
        ");
    }

    #[test]
    fn equal_settings_are_fine() {
        assert!(!slugs(&Sample::kraft(3, 6, 3).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn drift_is_told_by_its_own_rule() {
        let sample = Sample::kraft(3, 60, 3).coordinators_use(50).later(20);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn settings_that_nobody_tells_are_not_known() {
        let sample = Sample::kraft(3, 6, 3).offsets_topic_num_partitions(2, 50).no_configs();
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
