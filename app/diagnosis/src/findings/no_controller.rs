//! `no-controller`: nobody can elect leaders or change ISRs.
//!
//! Catalogue row 5. KRaft: DescribeQuorum names no leader, or most voters are down. ZooKeeper: the controller that the
//! brokers name does not answer, for longer than a session time-out. (In KRaft the controller id in metadata is a
//! random live broker, so it is never looked at.)

use super::{Context, Rule, finding, seen_, step};
use crate::facts::Controller;
use crate::handbook::Entry;
use crate::report::{Finding, Severity};

const SLUG: &str = "no-controller";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Nobody can elect leaders or change ISRs",
        severity: "outage",
        opens: "The quorum has had no leader for 5 s or has lost its majority, or nobody could be asked for 45 s; ZooKeeper: the controller is gone past a session time-out.",
        closes: "There is one.",
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let Controller::Gone(why) = &context.facts.controller else { return Vec::new() };
    let kraft = context.facts.kraft != Some(false);
    let mut finding = finding(
        SLUG,
        Severity::Outage,
        if kraft {
            "The cluster has no controller: the KRaft quorum is lost.".to_owned()
        } else {
            "The cluster has no controller.".to_owned()
        },
    );
    finding.outlook =
        Some("Every leader that is lost from now on stays lost, and every ISR stays as it is.".to_owned());
    finding.evidence.push(seen_(format!("{}.", super::capital(why))));
    finding.remedies.push(if kraft {
        let mut step = step(
            "Start enough controllers for a majority",
            "Do not restart brokers meanwhile: what they lead would be lost until there is a controller.",
        );
        step.command =
            Some(format!("kafka-metadata-quorum.sh --bootstrap-server {} describe --status", context.bootstrap()));
        step
    } else {
        step(
            "Look at ZooKeeper, then at the brokers' connections to it",
            "A controller is elected as soon as a broker reaches ZooKeeper. Do not restart brokers meanwhile.",
        )
    });
    vec![finding]
}

#[cfg(test)]
mod tests {
    use crate::report::Status;
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn two_of_three_voters_are_down() {
        insta::assert_snapshot!(text(&Sample::kraft(3, 3, 1).gone(1).gone(2).report(), super::SLUG), @"
        [outage] The cluster has no controller: the KRaft quorum is lost.
          outlook: Every leader that is lost from now on stays lost, and every ISR stays as it is.
          seen: 2 of 3 quorum voters do not answer.
          -> Start enough controllers for a majority: Do not restart brokers meanwhile: what they lead would be lost until there is a controller.
             $ kafka-metadata-quorum.sh --bootstrap-server 127.0.0.1:9003 describe --status
        ");
    }

    #[test]
    fn nobody_names_a_quorum_leader() {
        let sample = Sample::kraft(3, 3, 1).no_quorum_leader().later(10);
        let report = sample.report();
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [outage] The cluster has no controller: the KRaft quorum is lost.
          outlook: Every leader that is lost from now on stays lost, and every ISR stays as it is.
          seen: No broker could name a quorum leader since 12:00:00 UTC.
          -> Start enough controllers for a majority: Do not restart brokers meanwhile: what they lead would be lost until there is a controller.
             $ kafka-metadata-quorum.sh --bootstrap-server 127.0.0.1:9001 describe --status
        ");
        assert!(report.partitions.iter().all(|partition| partition.status == Status::AtRisk));
    }

    #[test]
    fn the_voters_are_remembered_when_the_survivor_cannot_tell_them_any_more() {
        let sample = Sample::kraft(3, 3, 1).gone(1).gone(2).quorum_silent();
        assert!(slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn silence_alone_needs_long() {
        let sample = Sample::kraft(3, 3, 3).quorum_silent();
        let early = sample.clone().later(30).report();
        assert!(!slugs(&early).contains(&super::SLUG.to_owned()));
        assert!(!early.partitions[0].writes_verified);
        assert!(slugs(&sample.later(50).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn zookeeper_names_a_controller_that_is_gone() {
        let sample = Sample::zookeeper(3, 3, 3).controller(1).gone(1).later(60);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] The cluster has no controller.
          outlook: Every leader that is lost from now on stays lost, and every ISR stays as it is.
          seen: The controller that brokers name, broker 1, does not answer.
          -> Look at ZooKeeper, then at the brokers' connections to it: A controller is elected as soon as a broker reaches ZooKeeper. Do not restart brokers meanwhile.
        ");
    }

    #[test]
    fn silent_voters_are_lost_only_past_the_session_timeout() {
        let early = Sample::kraft(3, 3, 1).hung(1, 0).hung(2, 4);
        assert!(!slugs(&early.report()).contains(&super::SLUG.to_owned()));
        assert!(slugs(&early.later(20).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn one_of_three_voters_is_not_enough() {
        assert!(!slugs(&Sample::kraft(3, 3, 1).gone(1).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn not_permitted_to_ask_is_no_finding_and_not_verified() {
        let report = Sample::kraft(3, 3, 3).quorum_denied().report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
        assert!(!report.partitions[0].writes_verified);
    }
}
