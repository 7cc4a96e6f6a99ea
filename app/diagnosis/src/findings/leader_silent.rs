//! `leader-silent`: the leader's broker accepts connections and answers nothing.
//!
//! Catalogue row 20: a long garbage collection, a dead disk, a paused process. Soft evidence: opens after two
//! deadlines of silence as `recovering`, stuck past the session time-out. Closes with its next answer or another leader.

use super::ways_out::then_restart;
use super::{Context, Rule, capital, cause, finding, likely, seen_};
use crate::facts::Controller;
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity, Status};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId};

const SLUG: &str = "leader-silent";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A coordinator's broker accepts connections and answers nothing",
        severity: "error, outage past the session time-out",
        means: "The port is open, because the operating system accepts connections for the process; but the process does \
                not answer. A long garbage collection, a stopped or swapped-out process, a disk that does not return, or \
                request threads that wait for each other. If it also sends no heartbeats, the cluster drops it after the \
                session time-out and elects other leaders. If the heartbeats go on, nobody elects anybody, and its groups \
                stand still for as long as it hangs.",
        opens: "A leader's broker accepts connections and has not answered for two deadlines. `recovering` until the \
                session time-out and a margin have passed, then `stuck`.",
        closes: "It answers, or another broker leads.",
        not_told: "Silence is soft evidence: a slow broker and a dead one look the same for some seconds, so Unstuck waits \
                   before it says that the broker hangs. Why it hangs cannot be seen from outside. While it is silent, \
                   groups on it cannot be listed.",
        clients_see: "Requests run into `request.timeout.ms` (30 s in Java) instead of failing at once: \"Disconnecting \
                      from node 1 due to request timeout\". Members miss heartbeats and are thrown out when the \
                      coordinator wakes up, so a rebalance follows.",
        way_out: "Wait until the bound: a pause ends by itself. After it take a thread dump and look at the disks first, \
                  since a restart destroys the evidence. Then move the leadership to another in-sync replica if there is \
                  one, or restart the process; `kill -9` if it does not stop.",
        never: "Do not restart it before the bound: you would turn a pause of seconds into a load of minutes.",
        twins: &[
            ("coordinator-silent", "there the broker answers metadata, and only its coordinator is silent"),
            ("leader-lost", "there the connection is refused: the process is gone"),
            ("broker-not-reachable", "there connections time out or fail, and the cluster keeps listing it as live"),
        ],
        shadows: &["broker-down", "coordinator-silent", "groups-not-listed"],
        versions: "all",
        sources: &[
            "broker.session.timeout.ms, zookeeper.session.timeout.ms",
            "KIP-631 (heartbeats of brokers in KRaft)",
        ],
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let select = cause(|cause| match cause {
        Cause::LeaderHung { leader } => Some(*leader),
        _ => None,
    });
    context.group_by(select).into_iter().map(|(leader, partitions)| explain(context, leader, partitions)).collect()
}

fn explain(context: &Context<'_, '_>, leader: BrokerId, partitions: Vec<PartitionId>) -> Finding {
    let verdicts = || partitions.iter().filter_map(|partition| context.verdicts.get(partition));
    let stuck = verdicts().any(|verdict| verdict.status == Status::Stuck);
    let since = context.facts.silent_since(leader);
    let reach = context.reach(&partitions);
    let mut finding = finding(
        SLUG,
        if stuck { Severity::Outage } else { Severity::Error },
        if stuck {
            format!("{} hangs: it coordinates {reach}.", capital(&context.broker(leader)))
        } else {
            format!("{} does not answer: it coordinates {reach}.", capital(&context.broker(leader)))
        },
    );
    finding.evidence.push(seen_(format!(
        "{}: {}, since {}.",
        capital(&context.broker(leader)),
        context.trouble(leader),
        crate::time::clock(since)
    )));
    finding
        .evidence
        .push(likely("A long garbage collection, a stopped process, or a disk that does not answer.".to_owned()));
    let bound = verdicts().filter_map(|verdict| verdict.expected_by.as_ref()).max_by_key(|bound| bound.at);
    finding.outlook = Some(match bound {
        Some(bound) => {
            format!("It answers again, or the cluster drops it, {}. Then Unstuck says more.", super::by(bound))
        }
        None => match &context.facts.controller {
            Controller::Gone(why) => format!("Nobody can elect another leader: {why}."),
            _ => format!(
                "It should have answered, or been dropped, {}. It will not heal by itself unless the process wakes up.",
                super::by(&context.facts.election_bound(since))
            ),
        },
    });
    if bound.is_some() {
        finding.remedies.push(
            Remedy::new("Wait", "It is not known yet whether the broker is lost or only slow.")
                .verify(context.is_back(&[leader])),
        );
    } else {
        finding.remedies.push(Remedy::new(
            format!("Look at the process of broker {leader}"),
            "A thread dump (jstack) and its disks tell why it hangs. Take them before a restart.",
        ));
        let title = "Move the leadership to another in-sync replica";
        finding.remedies.extend(context.move_leadership(leader, &partitions, title));
        finding.remedies.push(then_restart(context, leader));
    }
    finding.brokers = vec![leader];
    finding.partitions = partitions;
    finding
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn first_it_is_only_silent() {
        insta::assert_snapshot!(text(&Sample::kraft(3, 6, 1).hung(1, 4).report(), super::SLUG), @"
        [error] Broker 1 (127.0.0.1:9001) does not answer: it coordinates 2 of 6 partitions of __consumer_offsets.
          outlook: It answers again, or the cluster drops it, by 12:00:13 UTC. Then Unstuck says more.
          seen: Broker 1 (127.0.0.1:9001): accepts connections, but does not answer, since 12:00:00 UTC.
          likely: A long garbage collection, a stopped process, or a disk that does not answer.
          -> Wait: It is not known yet whether the broker is lost or only slow.
             verify: Unstuck shows broker 1 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9001` answers.
        ");
    }

    #[test]
    fn past_the_session_timeout_it_hangs() {
        insta::assert_snapshot!(text(&Sample::kraft(3, 6, 1).hung(1, 30).report(), super::SLUG), @"
        [outage] Broker 1 (127.0.0.1:9001) hangs: it coordinates 2 of 6 partitions of __consumer_offsets.
          outlook: It should have answered, or been dropped, by 12:00:13 UTC. It will not heal by itself unless the process wakes up.
          seen: Broker 1 (127.0.0.1:9001): accepts connections, but does not answer, since 12:00:00 UTC.
          likely: A long garbage collection, a stopped process, or a disk that does not answer.
          -> Look at the process of broker 1: A thread dump (jstack) and its disks tell why it hangs. Take them before a restart.
          -> Then restart broker 1: Its partitions get another leader where an in-sync replica lives, or come back with it. The thread dump is lost with the process.
             if (not met): broker 1 is not the last in-sync replica of any partition of __consumer_offsets (it is of 0 and 3)
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9002 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 1 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
        ");
    }

    #[test]
    fn one_late_answer_says_nothing() {
        assert!(!slugs(&Sample::kraft(3, 6, 1).hung(1, 1).report()).contains(&super::SLUG.to_owned()));
    }
}
