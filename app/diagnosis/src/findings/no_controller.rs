//! `no-controller`: nobody can elect leaders or change ISRs.
//!
//! Catalogue row 5. KRaft: DescribeQuorum names no leader, or most voters are down. ZooKeeper: the controller that the
//! brokers name does not answer, for longer than a session time-out. (In KRaft the controller id in metadata is a
//! random live broker, so it is never looked at.)

use super::ways_out::never_restart_the_others;
use super::{Context, Rule, finding, seen_};
use crate::facts::Controller;
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity};

const SLUG: &str = "no-controller";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "No controller: nobody can elect leaders or change ISRs",
        severity: "outage",
        means: "The controller elects leaders, takes lost replicas out of ISRs and creates topics. Without one the cluster \
                stays as it is: what works goes on working, and what fails from now on stays failed. In KRaft mode the \
                controllers are a quorum that needs a majority of its voters; in ZooKeeper mode one broker is elected \
                through ZooKeeper.",
        opens: "KRaft: the quorum has had no leader for 5 s, or half of its voters are known to be lost, or nobody could be \
                asked for 45 s. ZooKeeper: the controller that brokers name is gone for longer than a session time-out.",
        closes: "There is a controller.",
        not_told: "Controllers that are no brokers are not looked at: only what brokers tell about the quorum counts. Where \
                   DescribeQuorum is not permitted, or the release has none (below 3.3), whether there is a controller is \
                   not known, and commits are \"not verified\". In KRaft mode the controller id in metadata is a random \
                   live broker and proves nothing.",
        clients_see: "Nothing at first. Then whatever needs an election waits without a word, new topics are not created, \
                      and commits hang as soon as a follower is lost.",
        way_out: "KRaft: start enough controllers for a majority of the voters; `kafka-metadata-quorum.sh` shows who is \
                  missing. ZooKeeper: look at ZooKeeper itself, then at the brokers' connections to it; a controller is \
                  elected as soon as a broker reaches it. Leaders that were lost meanwhile are elected then by themselves.",
        never: "Do not restart brokers that still work: whatever they lead is lost until there is a controller. Do not \
                format a controller's directory anew while a majority can still be brought back: it holds the metadata of \
                the whole cluster.",
        twins: &[
            ("no-leader-live-replica", "there a controller exists and did not elect"),
            ("commits-wait", "what is felt first: an ISR that nobody shrinks"),
        ],
        shadows: &[],
        versions: "all; DescribeQuorum from 3.3 on (KIP-836)",
        sources: &["KIP-595 and KIP-631 (the quorum and its controllers)", "KIP-836 (kafka-metadata-quorum.sh, 3.3)"],
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
    let commands = context.commands();
    finding.remedies.push(if kraft {
        let why = "A quorum needs more than half of its voters. Leaders lost meanwhile are elected then by themselves.";
        let start = Remedy::new("Start enough controllers for a majority", why);
        match commands.quorum_status() {
            Some(command) => start.looks(command).verify("It names a leader of the quorum, and this finding is gone."),
            None => start.verify("This finding is gone."),
        }
    } else {
        let why = "A controller is elected as soon as a broker reaches ZooKeeper.";
        let look = Remedy::new("Look at ZooKeeper, then at the brokers' connections to it", why);
        match commands.zookeeper("ls /brokers/ids") {
            Some(command) => look.looks(command).verify("It lists the brokers that live, and this finding is gone."),
            None => look.verify("This finding is gone."),
        }
    });
    finding.avoid.push(never_restart_the_others("what they lead would be lost until there is a controller."));
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
          -> Start enough controllers for a majority: A quorum needs more than half of its voters. Leaders lost meanwhile are elected then by themselves.
             $ kafka-metadata-quorum.sh --bootstrap-server 127.0.0.1:9003 describe --status
             verify: It names a leader of the quorum, and this finding is gone.
          avoid: Do not restart the brokers that still work: What they lead would be lost until there is a controller.
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
          -> Start enough controllers for a majority: A quorum needs more than half of its voters. Leaders lost meanwhile are elected then by themselves.
             $ kafka-metadata-quorum.sh --bootstrap-server 127.0.0.1:9001 describe --status
             verify: It names a leader of the quorum, and this finding is gone.
          avoid: Do not restart the brokers that still work: What they lead would be lost until there is a controller.
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
          -> Look at ZooKeeper, then at the brokers' connections to it: A controller is elected as soon as a broker reaches ZooKeeper.
             if (not known): ZOOKEEPER:2181 is replaced by the address that the brokers have as zookeeper.connect
             $ zookeeper-shell.sh ZOOKEEPER:2181 ls /brokers/ids
             verify: It lists the brokers that live, and this finding is gone.
          avoid: Do not restart the brokers that still work: What they lead would be lost until there is a controller.
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
