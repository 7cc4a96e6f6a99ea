//! `topic-flaps`: the offsets topic was there, was gone, and is there again: something deletes it.
//!
//! Opens when it is back after it was proven gone for 5 s, or when all leader epochs are 0 again between two looks.
//! Closes ten minutes after the last time.

use super::{Context, Rule, finding, not_seen, seen_};
use crate::commands::{Reset, TOPIC};
use crate::handbook::Entry;
use crate::report::{Avoid, Finding, Remedy, Risk, Severity};
use crate::time::{clock, millis_between};
use crate::{OFFSETS_TOPIC, words};

const SLUG: &str = "topic-flaps";
/// For how long after it was made anew that is worth saying.
const WINDOW_MS: i64 = 600_000;

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "`__consumer_offsets` was deleted and made anew: something deletes it",
        severity: "error",
        means: "A consumer that looks for its coordinator makes the topic anew when it is missing, empty, so a deletion heals \
                by itself within seconds and leaves all groups without their offsets. What deleted it once, an operator \
                that synchronises topics, a script, a clean-up job, does so again.",
        opens: "The topic is there again after every broker that answers proved it absent for 5 s; or the leader epochs of \
                all its partitions are back at 0 between two looks.",
        closes: "Ten minutes after it was last made anew.",
        not_told: "Who deleted it: Kafka does not tell. The log of the controller has the time, an authorizer's log the \
                   principal.",
        clients_see: "Groups rebalance, then start where auto.offset.reset says: records are read again or skipped.",
        way_out: "Stop what deletes it before anything else. Then set the positions of the groups by time.",
        never: "Do not restart brokers: they do as they are told. Do not repair offsets while the deleting goes on.",
        twins: &[
            ("offsets-topic-missing", "The topic is gone now."),
            ("offsets-may-be-lost", "Single partitions lost offsets with their leader."),
        ],
        shadows: &["offsets-may-be-lost", "leader-flapping"],
        versions: "all",
        sources: &["core/.../server/AutoTopicCreationManager.scala"],
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let times: Vec<_> =
        facts.memory.topic_recreated.iter().copied().filter(|&at| millis_between(at, facts.now) <= WINDOW_MS).collect();
    let Some(&last) = times.last() else { return Vec::new() };
    let mut finding = finding(
        SLUG,
        Severity::Error,
        match times.len() {
            1 => format!(
                "{OFFSETS_TOPIC} was deleted and made anew at {}: groups lost their committed offsets.",
                clock(last)
            ),
            n => format!(
                "{OFFSETS_TOPIC} was deleted and made anew {n} times, last at {}: something deletes it.",
                clock(last)
            ),
        },
    );
    finding.outlook =
        Some("What deleted it once will do so again. Groups start where auto.offset.reset says.".to_owned());
    finding.evidence.push(seen_(format!(
        "It was there before, and is there again with {}, made anew at {}.",
        words::count(facts.partitions.len(), "partition"),
        words::list(&times.iter().map(|&at| clock(at)).collect::<Vec<_>>())
    )));
    finding.evidence.push(not_seen(
        "Who deleted it: the log of the controller tells when, an authorizer's log tells who.".to_owned(),
    ));
    finding.avoid.push(Avoid {
        what: "Do not look for the cause at the brokers".to_owned(),
        why: "They do as they are told. Look at operators, scripts and clean-up jobs.".to_owned(),
    });
    finding.remedies.push(
        Remedy::new(
            "Stop what deletes it",
            "An operator that synchronises topics, a script or a clean-up job: exclude internal topics from it.",
        )
        .verify("The topic stays: this finding closes ten minutes after it was last made anew."),
    );
    let group = facts.memory.groups.by_id.iter().find(|(_, group)| group.last_seen < last);
    let time = crate::time::for_tools(group.map_or(last, |(_, group)| group.last_seen));
    let name = group.map_or("GROUP", |(id, _)| id.0.as_str());
    finding.remedies.push(
        Remedy::new(
            "Then set each group's position by time, while the group is stopped",
            "The time at which the topic was last seen. Once per group.",
        )
        .command(
            context.commands().reset_offsets(name, Some(TOPIC), Reset::ToDatetime(&time)),
            "Writes the committed offsets of the group.",
        )
        .danger(Risk::Loses, "Some records are read again or skipped.")
        .given("nothing deletes the topic any more", None)
        .given("the group has no members meanwhile", None)
        .verify(context.commands().describe_group(name))
        .undo("Set other positions the same way; those from before are gone with the topic."),
    );
    finding.partitions = facts.partitions.keys().copied().collect();
    vec![finding]
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn gone_and_back() {
        let there = Sample::kraft(3, 2, 3).group_on(0, "orders").later(60);
        let gone = there.clone().absent().later(1).later(10);
        let mut back = there.epoch(0, 0).epoch(1, 0);
        back.snapshot.taken_at = gone.now();
        back.memory = gone.memory;
        insta::assert_snapshot!(text(&back.later(5).report(), super::SLUG), @"
        [error] __consumer_offsets was deleted and made anew at 12:01:11 UTC: groups lost their committed offsets.
          outlook: What deleted it once will do so again. Groups start where auto.offset.reset says.
          seen: It was there before, and is there again with 2 partitions, made anew at 12:01:11 UTC.
          not seen: Who deleted it: the log of the controller tells when, an authorizer's log tells who.
          -> Stop what deletes it: An operator that synchronises topics, a script or a clean-up job: exclude internal topics from it.
             verify: The topic stays: this finding closes ten minutes after it was last made anew.
          -> Then set each group's position by time, while the group is stopped: The time at which the topic was last seen. Once per group.
             if (not known): nothing deletes the topic any more
             if (not known): the group has no members meanwhile
             if (not known): TOPIC is replaced by a topic that the group reads, once for each of them
             $ kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --group orders-2 --topic TOPIC --reset-offsets --to-datetime 2026-11-29T12:00:00.000 --execute
             changes: Writes the committed offsets of the group.
             ! (loses data) Some records are read again or skipped.
             verify: kafka-consumer-groups.sh --bootstrap-server 127.0.0.1:9001 --describe --group orders-2
             undo: Set other positions the same way; those from before are gone with the topic.
          avoid: Do not look for the cause at the brokers: They do as they are told. Look at operators, scripts and clean-up jobs.
        ");
    }

    #[test]
    fn made_anew_between_two_looks() {
        let sample = Sample::kraft(3, 2, 3).later(60).epoch(0, 0).epoch(1, 0).later(1);
        assert!(slugs(&sample.report()).contains(&super::SLUG.to_owned()));
        assert!(!slugs(&sample.later(700).report()).contains(&super::SLUG.to_owned()), "closes after ten minutes");
    }

    #[test]
    fn one_look_without_it_proves_nothing() {
        let there = Sample::kraft(3, 2, 3).later(60);
        let gone = there.clone().absent().later(1);
        let mut back = there;
        back.snapshot.taken_at = gone.now();
        back.memory = gone.memory;
        assert!(!slugs(&back.later(1).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn a_topic_that_comes_to_be_is_no_flap() {
        let absent = Sample::kraft(3, 0, 3).absent().later(60);
        let mut there = Sample::kraft(3, 2, 3).epoch(0, 0).epoch(1, 0);
        there.snapshot.taken_at = absent.now();
        there.memory = absent.memory;
        assert!(!slugs(&there.later(1).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn a_topic_that_could_not_be_looked_at_is_no_flap() {
        let there = Sample::kraft(3, 2, 3).later(60);
        let hidden = there.clone().hidden().later(1).later(30);
        let mut back = there;
        back.snapshot.taken_at = hidden.now();
        back.memory = hidden.memory;
        assert!(!slugs(&back.later(1).report()).contains(&super::SLUG.to_owned()));
    }
}
