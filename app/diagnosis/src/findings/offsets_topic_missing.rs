//! `offsets-topic-missing`: there is no `__consumer_offsets`, so no group has a coordinator.
//!
//! Catalogue rows 7 and 8. Never seen before: information, for the first consumer creates it, unless the replication
//! factor it asks for is larger than the number of live brokers. Seen before: an outage, the offsets are gone.
//! "Not listed" alone proves nothing: without DESCRIBE on the topic it is hidden (error 3 from DescribeConfigs proves).

use super::create_offsets_topic::{Partitions, REPLICAS, create_or_agree, live, partitions_told, wanted_factor};
use super::{Context, Rule, finding, not_seen, seen_, step};
use crate::commands::{Reset, Resource, TOPIC};
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Risk, Severity, TopicPresence};
use crate::{OFFSETS_TOPIC, words};

const SLUG: &str = "offsets-topic-missing";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "No `__consumer_offsets`: no group has a coordinator",
        severity: "info on a fresh cluster; error if it cannot be created, or is hidden; outage if it was there before",
        means: "Groups and their committed offsets live in this internal topic. On a fresh cluster it does not exist until \
                the first consumer asks for its coordinator: that is no fault. If it asks for more replicas than there are \
                live brokers, its creation fails every time and the first consumer waits for ever. If it was there and is \
                gone, somebody deleted it, and all committed offsets of all groups with it. And if our account may not see \
                it, brokers leave it out of their answers without an error, which looks just the same.",
        opens: "Every broker that answers proves it absent (DescribeConfigs answers 3; for 5 s, if it was there before), or \
                none lists it and it may be hidden.",
        closes: "It is listed.",
        not_told: "Error 29 (TOPIC_AUTHORIZATION_FAILED) comes before and after the topic exists, so it proves nothing: \
                   then Unstuck says that it cannot tell. Who deleted it is in the controller's log only.",
        clients_see: "Java and librdkafka wait without a word; sarama says \"Offset's topic has not yet been created\", for \
                      once rightly. After a deletion, groups begin anew where `auto.offset.reset` says: with `latest` they \
                      skip what they had not read, with `earliest` they read all again.",
        way_out: "Fresh cluster: nothing to do; whoever wants three replicas whatever the brokers are set to creates it \
                  before the first consumer comes. Cannot be created: start brokers until there are enough, or create it \
                  with fewer replicas and raise them later. Gone: find what deleted it and stop that first; create it anew \
                  with the number of partitions that it had and three replicas; then set each group back by time while it \
                  is stopped. Hidden: permit DESCRIBE on the topic.",
        never: "Do not create it with another number of partitions than every broker has as \
                `offsets.topic.num.partitions`: brokers would look for groups on other partitions. Do not set `offsets.topic.replication.factor` to 1 on a cluster that matters, to get past the error: the \
                setting counts when the topic is created and stays with it, and every lost broker then takes its groups \
                with it.",
        twins: &[("groups-not-listed", "there the topic is there, and some groups cannot be listed")],
        shadows: &[],
        versions: "all; up to 0.10.2 it was created with fewer replicas where too few brokers lived (KIP-115)",
        sources: &[
            "KIP-115, KAFKA-3959 (the replication factor is enforced, 0.11)",
            "KAFKA-19274 (coordinators keep serving a topic that was deleted)",
            "AutoTopicCreationManager.scala, ConfigHelper.scala",
        ],
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    match context.facts.presence {
        TopicPresence::Absent => vec![absent(context)],
        TopicPresence::Vanished => vec![vanished(context)],
        TopicPresence::MaybeHidden => vec![hidden(context)],
        TopicPresence::Present | TopicPresence::Unknown => Vec::new(),
    }
}

fn absent(context: &Context<'_, '_>) -> Finding {
    let live = live(context);
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
            finding.remedies.push(
                Remedy::new(
                    format!("Start more brokers, until {factor} are live"),
                    "Then the first consumer creates the topic.",
                )
                .verify("Unstuck shows the topic a few seconds after the first consumer has asked."),
            );
            // Better than a smaller setting, which has to be rolled out and stays when the brokers are there: the factor
            // in the command is for this topic alone, counts at once, and can be raised by a reassignment later.
            if live > 0 {
                finding.remedies.push(create_or_agree(
                    context,
                    &format!(
                        "If groups have to work before {factor} brokers are live: create it now with {}",
                        words::count(live.min(REPLICAS), "replica")
                    ),
                    "The setting binds brokers that create the topic by themselves, not this command. Unstuck makes the \
                     plan for more replicas as soon as more brokers are live.",
                    None,
                ));
            }
            finding.remedies.push(
                Remedy::new(
                    "On a test cluster only: set offsets.topic.replication.factor to the number of brokers",
                    "In server.properties of every broker, then restart them.",
                )
                .danger(
                    Risk::Exposes,
                    "The topic keeps that factor for good. With factor 1 every group of a lost broker stands still.",
                )
                .verify("Unstuck shows the topic a few seconds after the first consumer has asked.")
                .undo("Raise the factor of the topic by a reassignment later; the setting alone changes nothing then."),
            );
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
            if let Partitions::Same { .. } = partitions_told(context) {
                finding.remedies.push(step(
                    "Let the first consumer create it",
                    match factor {
                        Some(factor) if factor < REPLICAS => format!(
                            "That needs no help. But it gets {} only, as the brokers' setting says.",
                            words::count(factor, "replica")
                        ),
                        _ => "That needs no help.".to_owned(),
                    },
                ));
            }
            if live > 0 {
                finding.remedies.push(create_or_agree(
                    context,
                    "Or create it now, before the first consumer comes",
                    "It is there when the first consumer comes, with the replicas that the command names.",
                    None,
                ));
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
    let topic = context.facts.memory.offsets_topic.as_ref();
    if let Some(topic) = topic {
        finding.evidence.push(seen_(format!(
            "It had {} and was last seen at {}.",
            words::count(usize::try_from(topic.partition_count).unwrap_or_default(), "partition"),
            crate::time::clock(topic.last_seen)
        )));
    }
    finding.evidence.push(seen_("DescribeConfigs answers 3 (UNKNOWN_TOPIC_OR_PARTITION).".to_owned()));
    finding.outlook =
        Some("The next consumer creates it anew, empty: groups start where auto.offset.reset says.".to_owned());
    let commands = context.commands();
    finding.remedies.push(
        Remedy::new(
            "Find out what deleted it, and stop that first",
            "An operator or a script that deletes it once does so again. The controller's log names the moment.",
        )
        .verify("Nothing runs any more that deletes topics by a pattern."),
    );
    if let Some(had) = topic.map(|topic| topic.partition_count).filter(|&had| had > 0)
        && live(context) > 0
    {
        let by_themselves = matches!(partitions_told(context), Partitions::Same { count, .. } if count == Some(had))
            && wanted_factor(context).is_some_and(|factor| factor <= live(context));
        if by_themselves {
            finding.remedies.push(step(
                "Then let the next consumer create it anew",
                format!("The brokers' settings give it {had} partitions again, as it had."),
            ));
        }
        finding.remedies.push(create_or_agree(
            context,
            &format!(
                "{} create it anew with the {had} partitions that it had",
                if by_themselves { "Or" } else { "Then" }
            ),
            "Brokers that have run since before it was gone still count with that number. It is empty: nothing brings the \
             offsets back.",
            Some(had),
        ));
    }
    if context.facts.kraft == Some(true) {
        finding.remedies.push(
            Remedy::new(
                "If it is there again and groups act strangely: restart the brokers, one after the other",
                "Coordinators of Kafka 3.7 to 4.0 may go on with the groups of the deleted topic (KAFKA-19274).",
            )
            .danger(Risk::Pause, "Groups rebalance as their coordinators move.")
            .verify("Each broker answers again, and Unstuck says that the coordinators work."),
        );
    }
    let groups = &context.facts.memory.groups.by_id;
    let Some(group) = groups.keys().next() else { return finding };
    let seen = context.facts.memory.offsets_topic.as_ref().map_or(context.facts.now, |topic| topic.last_seen);
    let time = crate::time::for_tools(seen);
    let title = match groups.len() {
        1 => "Then set the group's position by time, while it is stopped".to_owned(),
        many => {
            format!("Then set the position of each of the {} by time, while it is stopped", words::count(many, "group"))
        }
    };
    finding.remedies.push(
        Remedy::new(title, format!("The topic was last seen at {}.", crate::time::clock(seen)))
            .command(
                commands.reset_offsets(&group.0, Some(TOPIC), Reset::ToDatetime(&time)),
                "The group's committed offsets of that topic, to the first record of that time or later.",
            )
            .given("the group has no members: its consumers are stopped", None)
            .danger(Risk::Exposes, "Records around that time are read twice or skipped.")
            .verify(format!("`{}` shows the positions.", commands.describe_group(&group.0)))
            .undo("Set another time, while the group is still stopped."),
    );
    finding
}

fn hidden(context: &Context<'_, '_>) -> Finding {
    let mut finding = finding(
        SLUG,
        Severity::Error,
        "__consumer_offsets is not listed to us. Whether it exists cannot be told.".to_owned(),
    );
    finding
        .evidence
        .push(not_seen("The topic: without DESCRIBE on it, brokers leave it out without an error.".to_owned()));
    let commands = context.commands();
    let (operations, topic) = (["Describe", "DescribeConfigs"], [Resource::Topic(OFFSETS_TOPIC)]);
    finding.remedies.push(
        Remedy::new("Let Unstuck see the topic", "It needs DESCRIBE and DESCRIBE_CONFIGS on __consumer_offsets.")
            .command(
                commands.acl(&operations, &topic),
                "Permits Unstuck's account to see the topic's partitions and settings. It may still not read it.",
            )
            .verify("Unstuck shows the topic, or proves that it does not exist.")
            .undo(format!("`{}`", commands.remove_acl(&operations, &topic))),
    );
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
          -> Let the first consumer create it: That needs no help.
          -> Or create it now, before the first consumer comes: It is there when the first consumer comes, with the replicas that the command names.
             if (met): every broker has offsets.topic.num.partitions=50
             if (met): 3 brokers are live
             $ kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --create --topic __consumer_offsets --partitions 50 --replication-factor 3 --config cleanup.policy=compact --config compression.type=producer --config segment.bytes=104857600
             changes: Creates the topic, empty, with 50 partitions and 3 replicas each.
             verify: `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __consumer_offsets` shows 50 partitions with 3 replicas each, and Unstuck names a coordinator for every group.
             undo: Do not delete it again: once groups have committed, that deletes the committed offsets of all of them. The number of partitions stays; replicas are added by a reassignment.
        ");
    }

    #[test]
    fn it_cannot_be_created_with_too_few_brokers() {
        insta::assert_snapshot!(text(&Sample::kraft(1, 0, 1).absent().report(), super::SLUG), @"
        [error] __consumer_offsets does not exist and cannot be created: offsets.topic.replication.factor is 3, and 1 broker is live.
          outlook: The first consumer will hang, and its client will log nothing.
          seen: DescribeConfigs answers 3 (UNKNOWN_TOPIC_OR_PARTITION), and no broker lists a group.
          -> Start more brokers, until 3 are live: Then the first consumer creates the topic.
             verify: Unstuck shows the topic a few seconds after the first consumer has asked.
          -> If groups have to work before 3 brokers are live: create it now with 1 replica: The setting binds brokers that create the topic by themselves, not this command. Unstuck makes the plan for more replicas as soon as more brokers are live.
             if (met): every broker has offsets.topic.num.partitions=50
             if (met): a broker is live
             $ kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --create --topic __consumer_offsets --partitions 50 --replication-factor 1 --config cleanup.policy=compact --config compression.type=producer --config segment.bytes=104857600
             changes: Creates the topic, empty, with 50 partitions and 1 replica each.
             ! (less safe while it lasts) With 1 replica every group of a lost broker stands still until that broker is back, and its committed offsets are lost with its disk. It stays so until replicas are added.
             verify: `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __consumer_offsets` shows 50 partitions with 1 replica each, and Unstuck names a coordinator for every group.
             undo: Do not delete it again: once groups have committed, that deletes the committed offsets of all of them. The number of partitions stays; replicas are added by a reassignment.
          -> On a test cluster only: set offsets.topic.replication.factor to the number of brokers: In server.properties of every broker, then restart them.
             ! (less safe while it lasts) The topic keeps that factor for good. With factor 1 every group of a lost broker stands still.
             verify: Unstuck shows the topic a few seconds after the first consumer has asked.
             undo: Raise the factor of the topic by a reassignment later; the setting alone changes nothing then.
        ");
    }

    #[test]
    fn gone_after_it_was_there() {
        insta::assert_snapshot!(text(&Sample::kraft(3, 50, 3).later(60).absent().later(10).report(), super::SLUG), @"
        [outage] __consumer_offsets is gone: no group has a coordinator, and all committed offsets are lost.
          outlook: The next consumer creates it anew, empty: groups start where auto.offset.reset says.
          seen: It had 50 partitions and was last seen at 12:01:00 UTC.
          seen: DescribeConfigs answers 3 (UNKNOWN_TOPIC_OR_PARTITION).
          -> Find out what deleted it, and stop that first: An operator or a script that deletes it once does so again. The controller's log names the moment.
             verify: Nothing runs any more that deletes topics by a pattern.
          -> Then let the next consumer create it anew: The brokers' settings give it 50 partitions again, as it had.
          -> Or create it anew with the 50 partitions that it had: Brokers that have run since before it was gone still count with that number. It is empty: nothing brings the offsets back.
             if (met): every broker counts with 50 partitions: it has run since before the topic was gone, or has offsets.topic.num.partitions=50
             if (met): 3 brokers are live
             $ kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --create --topic __consumer_offsets --partitions 50 --replication-factor 3 --config cleanup.policy=compact --config compression.type=producer --config segment.bytes=104857600
             changes: Creates the topic, empty, with 50 partitions and 3 replicas each.
             verify: `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __consumer_offsets` shows 50 partitions with 3 replicas each, and Unstuck names a coordinator for every group.
             undo: Do not delete it again: once groups have committed, that deletes the committed offsets of all of them. The number of partitions stays; replicas are added by a reassignment.
          -> If it is there again and groups act strangely: restart the brokers, one after the other: Coordinators of Kafka 3.7 to 4.0 may go on with the groups of the deleted topic (KAFKA-19274).
             ! (groups may pause for a moment) Groups rebalance as their coordinators move.
             verify: Each broker answers again, and Unstuck says that the coordinators work.
        ");
    }

    #[test]
    fn brokers_that_ask_for_one_replica_are_no_reason_to_have_one() {
        let sample = Sample::kraft(3, 0, 3).absent().configs(|configs| {
            (configs.offsets_topic_replication_factor, configs.offsets_topic_num_partitions) = (Some(1), Some(10));
        });
        let told = text(&sample.report(), super::SLUG);
        assert!(told.contains("it gets 1 replica only"), "{told}");
        assert!(told.contains("--partitions 10 --replication-factor 3 "), "{told}");
        let told = text(&Sample::kraft(5, 0, 3).absent().configs(five).report(), super::SLUG);
        assert!(told.contains("--replication-factor 5 "), "not fewer than the brokers ask for: {told}");
    }

    fn five(configs: &mut crate::snapshot::BrokerConfigs) {
        configs.offsets_topic_replication_factor = Some(5);
    }

    #[test]
    fn with_two_brokers_it_gets_two_replicas() {
        let told = text(&Sample::kraft(2, 0, 2).absent().report(), super::SLUG);
        assert!(told.contains("create it now with 2 replicas"), "{told}");
        assert!(told.contains("--replication-factor 2 "), "{told}");
        assert!(told.contains("With 2 replicas a broker that is lost"), "{told}");
    }

    #[test]
    fn where_brokers_differ_no_number_is_offered() {
        let told = text(&Sample::kraft(3, 0, 3).absent().offsets_topic_num_partitions(2, 10).report(), super::SLUG);
        assert!(!told.contains("--create") && !told.contains("Let the first consumer"), "{told}");
        insta::assert_snapshot!(told, @"
        [info] No consumer group has used this cluster yet: __consumer_offsets does not exist.
          outlook: The first consumer creates it, with replication factor 3.
          seen: DescribeConfigs answers 3 (UNKNOWN_TOPIC_OR_PARTITION), and no broker lists a group.
          -> First give all brokers the same offsets.topic.num.partitions, and restart them: It is 10 on broker 2 and 50 on brokers 1 and 3. Whatever number the topic got, some of them would look for groups on other partitions.
        ");
    }

    #[test]
    fn where_no_broker_tells_the_default_is_taken_and_said_to_be_open() {
        let told = text(
            &Sample::kraft(3, 0, 3)
                .absent()
                .configs(|configs| {
                    configs.offsets_topic_num_partitions = None;
                })
                .report(),
            super::SLUG,
        );
        assert!(told.contains("if (not known): every broker has offsets.topic.num.partitions=50"), "{told}");
        // The same where one of them does not answer us.
        let sample = Sample::kraft(3, 0, 3).absent().never_reached(3);
        let told = text(&sample.report(), super::SLUG);
        assert!(told.contains("if (not known): every broker has offsets.topic.num.partitions=50"), "{told}");
        assert!(told.contains("--replication-factor 3 "), "{told}");
    }

    #[test]
    fn what_vanished_is_made_anew_as_it_was_whatever_brokers_are_set_to() {
        let sample = Sample::kraft(3, 50, 3).later(60).absent().offsets_topic_num_partitions(2, 10).later(10);
        let told = text(&sample.report(), super::SLUG);
        assert!(told.contains("Then create it anew with the 50 partitions"), "{told}");
        assert!(told.contains("--partitions 50 --replication-factor 3 "), "{told}");
        assert!(told.contains("if (not known): every broker counts with 50 partitions"), "{told}");
        assert!(!told.contains("let the next consumer"), "they would not give it as many: {told}");
    }

    #[test]
    fn old_releases_create_it_through_zookeeper() {
        let told = text(&Sample::zookeeper(3, 0, 3).release("2.1").absent().report(), super::SLUG);
        assert!(told.contains("$ kafka-topics.sh --zookeeper ZOOKEEPER:2181 --create"), "{told}");
        assert!(told.contains("ZOOKEEPER:2181 is replaced by"), "{told}");
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
          -> Let Unstuck see the topic: It needs DESCRIBE and DESCRIBE_CONFIGS on __consumer_offsets.
             if (not known): User:UNSTUCK is replaced by the principal that Unstuck logs in as
             if (not known): whoever runs it may change ACLs (ALTER on CLUSTER); --command-config names their login
             $ kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --add --allow-principal User:UNSTUCK --operation Describe --operation DescribeConfigs --topic __consumer_offsets
             changes: Permits Unstuck's account to see the topic's partitions and settings. It may still not read it.
             verify: Unstuck shows the topic, or proves that it does not exist.
             undo: `kafka-acls.sh --bootstrap-server 127.0.0.1:9001 --remove --force --allow-principal User:UNSTUCK --operation Describe --operation DescribeConfigs --topic __consumer_offsets`
        ");
    }

    #[test]
    fn not_when_it_is_there() {
        assert!(!slugs(&Sample::kraft(3, 3, 3).report()).contains(&super::SLUG.to_owned()));
    }
}
