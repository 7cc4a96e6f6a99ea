//! `broker-counts-itself-out`: a broker answers, and counts no live broker, not even itself.
//!
//! Public case: "alive brokers 0, required 1" looks like "alive 1, required 3" and needs the opposite advice: it is a fault
//! of listeners or registration, not of the replication factor. Opens after 10 s, closes when a broker is listed.

use super::{Context, Rule, capital, finding, likely, seen_, step};
use crate::handbook::Entry;
use crate::report::{Avoid, Finding, Severity};
use crate::time::{clock, millis_between};

const SLUG: &str = "broker-counts-itself-out";
/// How long a broker that has just started may list nobody.
const SETTLED_MS: i64 = 10_000;

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A broker answers, and counts no live broker, not even itself",
        severity: "error",
        means: "A broker lists the brokers that are registered and have the listener that the client came by. If it lists \
                none, its own registration did not succeed, or not for this listener: its session with ZooKeeper or the \
                controllers, the names of its listeners, or (KRaft) it is fenced because it cannot catch up. No topic can be \
                created, and no coordinator found.",
        opens: "Everything that answers, bootstrap addresses included, lists no live broker at all, for 10 s.",
        closes: "A broker is listed.",
        not_told: "Why it is not registered: its own log says so.",
        clients_see: "The broker's log: \"Number of alive brokers '0' does not meet the required replication factor '1'\". \
                      Clients: COORDINATOR_NOT_AVAILABLE, LEADER_NOT_AVAILABLE.",
        way_out: "Compare listeners, advertised.listeners and inter.broker.listener.name; see whether ZooKeeper or the \
                  controllers are reached. Then restart the broker.",
        never: "Do not lower a replication factor for it: 1 is not met by 0 either.",
        twins: &[("offsets-topic-missing", "Brokers are alive, and fewer than the replication factor asks for.")],
        versions: "all",
        sources: &["core/.../server/metadata/KRaftMetadataCache.scala (getAliveBrokers)"],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let lasting = facts.memory.counts_none_since.filter(|&since| millis_between(since, facts.now) >= SETTLED_MS);
    let Some(since) = lasting else { return Vec::new() };
    let mut finding = finding(
        SLUG,
        Severity::Error,
        "A broker answers, and counts no live broker, not even itself: no coordinator can be found.".to_owned(),
    );
    finding.outlook = Some("It stays so until the broker is registered, with the listener that we use.".to_owned());
    let ways = facts.snapshot.bootstrap.iter().filter_map(|(address, sight)| Some((address, sight.answer.known()?)));
    for (address, _) in ways.filter(|(_, answer)| answer.broker_count == 0) {
        finding.evidence.push(seen_(format!("{address} answers and lists 0 live brokers, since {}.", clock(since))));
    }
    for &id in &facts.answering {
        finding.evidence.push(seen_(format!("{} lists 0 live brokers.", capital(&context.broker(id)))));
    }
    finding.evidence.push(likely(
        "A fault of its registration or its listeners; the replication factor has nothing to do with it.".to_owned(),
    ));
    finding.avoid.push(Avoid {
        what: "Do not lower a replication factor".to_owned(),
        why: "With 0 live brokers not even 1 is met.".to_owned(),
    });
    finding.remedies.push(step(
        "Compare listeners, advertised.listeners and inter.broker.listener.name in server.properties",
        "The listener that clients use must be among those that the broker advertises.",
    ));
    finding.remedies.push(step(
        "Look in the broker's log whether it has registered",
        match facts.kraft {
            Some(true) => {
                "It says whether the controllers accepted it, and whether it is fenced because it cannot catch up."
            }
            Some(false) => {
                "It says whether its session with ZooKeeper stands, and whether its id was already taken there."
            }
            None => "It says whether ZooKeeper, or the controllers in KRaft mode, accepted it.",
        },
    ));
    finding.brokers = facts.answering.iter().copied().collect();
    vec![finding]
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};
    use crate::snapshot::{BootstrapAnswer, BootstrapSight, Observed};

    fn none() -> Sample {
        let mut sample = Sample::empty();
        let answer = BootstrapAnswer { at: sample.now(), cluster_id: None, broker_count: 0, brokers: Vec::new() };
        let sight = BootstrapSight { answer: Observed::Known(answer) };
        sample.snapshot.bootstrap.insert("kafka:9092".to_owned(), sight);
        sample
    }

    #[test]
    fn zero_alive_is_not_a_matter_of_the_replication_factor() {
        let report = none().later(1).later(15).report();
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [error] A broker answers, and counts no live broker, not even itself: no coordinator can be found.
          outlook: It stays so until the broker is registered, with the listener that we use.
          seen: kafka:9092 answers and lists 0 live brokers, since 12:00:00 UTC.
          likely: A fault of its registration or its listeners; the replication factor has nothing to do with it.
          -> Compare listeners, advertised.listeners and inter.broker.listener.name in server.properties: The listener that clients use must be among those that the broker advertises.
          -> Look in the broker's log whether it has registered: It says whether ZooKeeper, or the controllers in KRaft mode, accepted it.
          avoid: Do not lower a replication factor: With 0 live brokers not even 1 is met.
        ");
        assert_eq!(report.headline.sentence, "A broker answers, and counts no live broker");
    }

    #[test]
    fn a_broker_that_has_just_started_lists_nobody_for_a_moment() {
        assert!(!slugs(&none().later(1).later(3).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn not_where_a_broker_is_listed() {
        assert!(!slugs(&Sample::kraft(1, 3, 1).later(60).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn where_nothing_answers_nothing_can_be_told() {
        let sample = Sample::empty().bootstrap("kafka:9092", crate::snapshot::Why::Refused).later(1).later(60);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
