//! `unclean-election-enabled`: a failover may put a replica in charge that lacks commits.
//!
//! Part of catalogue row 34: the warning before the fact.

use super::{Context, Rule, finding, likely, seen_};
use crate::OFFSETS_TOPIC;
use crate::handbook::Entry;
use crate::report::{Evidence, Finding, Remedy, Severity};

const SLUG: &str = "unclean-election-enabled";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Unclean elections are on: a failover may lose commits without a word",
        severity: "warning",
        means: "If every in-sync replica of a partition is down, Kafka then makes a replica the leader that had fallen \
            behind. Groups go on, but from older offsets: what was committed since is gone, and records are read twice. \
            Groups that are new are gone altogether. Nothing tells the operator except a jump of the leader epoch.",
        opens: "`unclean.leader.election.enable` is true for `__consumer_offsets`, by its own setting or the brokers' \
            default.",
        closes: "It is false.",
        not_told: "In KRaft the controllers decide, by their own default where the topic has none; a controller that is no \
            broker is not asked. Where nobody tells the setting nothing is said.",
        clients_see: "Records that are processed again after a failover; committed offsets that jump back.",
        way_out: "Give the topic `unclean.leader.election.enable=false` of its own. Then a partition without an in-sync \
            replica waits for one, and a human decides.",
        twins: &[("offsets-may-be-lost", "such an election seems to have happened already")],
        versions: "all; the default was true below 0.11 (KIP-106)",
        sources: &["KIP-106", "KIP-966"],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    if facts.partitions.is_empty() {
        return Vec::new();
    }
    let evidence = match own(context) {
        Some((_, false)) => return Vec::new(),
        Some((broker, true)) => {
            seen_(format!("Broker {broker} tells unclean.leader.election.enable=true for __consumer_offsets."))
        }
        None => match default_of_brokers(context) {
            Some(evidence) => evidence,
            None => return Vec::new(),
        },
    };
    let commands = context.commands();
    let mut finding = finding(
        SLUG,
        Severity::Warning,
        "__consumer_offsets may elect a leader that is not in sync: the failover that needs it loses committed offsets."
            .to_owned(),
    );
    finding.evidence.push(evidence);
    finding.remedies.push(
        Remedy::new(
            "Forbid unclean elections for this topic",
            "A partition without an in-sync replica then waits for one instead of going on with older offsets: groups stand \
             still until somebody brings one back, or decides to lose it.",
        )
        .command(
            commands.set_topic(OFFSETS_TOPIC, "unclean.leader.election.enable=false"),
            "the topic's own setting, at once and without a restart",
        )
        .given("no partition waits for an unclean election right now", leaders(context))
        .verify(format!(
            "`{}` shows unclean.leader.election.enable=false, and this finding closes",
            commands.describe_settings(OFFSETS_TOPIC)
        ))
        .undo(format!("`{}`", commands.unset_topic(OFFSETS_TOPIC, "unclean.leader.election.enable"))),
    );
    vec![finding]
}

fn leaders(context: &Context<'_, '_>) -> bool {
    context.facts.partitions.values().all(|seen| seen.newest.leader.is_some())
}

/// The topic's effective setting, by a broker that answers.
fn own(context: &Context<'_, '_>) -> Option<(i32, bool)> {
    let facts = context.facts;
    facts.answering.iter().find_map(|id| {
        let configs = facts.snapshot.brokers.get(id)?.topic_configs.known()?.as_ref()?;
        Some((*id, configs.unclean_leader_election?))
    })
}

fn default_of_brokers(context: &Context<'_, '_>) -> Option<Evidence> {
    let facts = context.facts;
    let broker = facts.answering.iter().find(|id| {
        let configs = facts.snapshot.brokers.get(id).and_then(|sight| sight.configs.known());
        configs.is_some_and(|configs| configs.unclean_leader_election == Some(true))
    })?;
    Some(likely(format!(
        "Broker {broker} has unclean.leader.election.enable=true as its default; the topic's own setting could not be read."
    )))
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn it_is_on() {
        let sample = Sample::kraft(3, 3, 3).topic_configs(|configs| configs.unclean_leader_election = Some(true));
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [warning] __consumer_offsets may elect a leader that is not in sync: the failover that needs it loses committed offsets.
          seen: Broker 1 tells unclean.leader.election.enable=true for __consumer_offsets.
          -> Forbid unclean elections for this topic: A partition without an in-sync replica then waits for one instead of going on with older offsets: groups stand still until somebody brings one back, or decides to lose it.
             if (met): no partition waits for an unclean election right now
             $ kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --alter --add-config unclean.leader.election.enable=false
             changes: the topic's own setting, at once and without a restart
             verify: `kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --describe` shows unclean.leader.election.enable=false, and this finding closes
             undo: `kafka-configs.sh --bootstrap-server 127.0.0.1:9001 --entity-type topics --entity-name __consumer_offsets --alter --delete-config unclean.leader.election.enable`
        ");
    }

    #[test]
    fn it_is_off_by_the_topic_whatever_the_default_is() {
        let sample = Sample::kraft(3, 3, 3)
            .configs(|configs| configs.unclean_leader_election = Some(true))
            .topic_configs(|configs| configs.unclean_leader_election = Some(false));
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn where_the_topic_does_not_tell_the_default_is_likely() {
        let sample = Sample::kraft(3, 3, 3)
            .configs(|configs| configs.unclean_leader_election = Some(true))
            .topic_configs(|configs| configs.unclean_leader_election = None);
        assert!(text(&sample.report(), super::SLUG).contains("likely: Broker 1 has"));
        assert!(!slugs(&Sample::kraft(3, 3, 3).no_configs().report()).contains(&super::SLUG.to_owned()));
    }
}
