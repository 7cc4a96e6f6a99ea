//! `coordinator-silent`: the leader's broker answers metadata, and nothing that goes to its coordinator.
//!
//! Soft evidence, as for a leader that is silent altogether: opens after two deadlines as `recovering`, stuck past the
//! session time-out. But the broker goes on sending heartbeats, so nobody elects another leader. Closes with the
//! coordinator's next answer or another leader. One request asks for all partitions of a broker: which of them it waits
//! for cannot be told.

use super::ways_out::then_restart;
use super::{Context, Rule, capital, cause, finding, likely, not_seen, seen_};
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity, Status};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId};

const SLUG: &str = "coordinator-silent";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A coordinator is silent, although its broker answers",
        severity: "error, outage past the session time-out",
        means: "The broker answers metadata at once, and leaves everything that goes to its group coordinator unanswered. \
                A thread of the coordinator waits: for a lock, for the log of `__consumer_offsets`, for a disk. To the \
                cluster the broker looks well, since heartbeats and replication have threads of their own, so nobody \
                elects another leader, and its groups stand still until somebody does something. Dashboards that watch \
                broker processes stay green.",
        opens: "A leader's broker answers Metadata, and has left DescribeGroups unanswered for two deadlines. \
                `recovering` for as long as a session time-out and a margin, then `stuck`.",
        closes: "Its coordinator answers, or another broker leads.",
        not_told: "One request asks for all partitions of a broker, so it cannot be told whether all of them wait or only \
                   some. What the coordinator waits for cannot be seen from outside.",
        clients_see: "FindCoordinator answers at once with the right broker; JoinGroup, Heartbeat and OffsetCommit to it run \
                      into `request.timeout.ms`. Java: \"Group coordinator ... is unavailable or invalid\", then \
                      \"Discovered group coordinator\" with the same broker, again and again.",
        way_out: "Wait until the bound. Then take a thread dump (`jstack`) and look at the disks. Move the leadership of \
                  its partitions to another in-sync replica, which leaves the broker running for whoever looks for the \
                  cause; or restart the broker.",
        never: "Do not restart before the thread dump is taken: it is the only trace of the cause.",
        twins: &[
            ("leader-silent", "there the broker answers nothing at all, metadata neither"),
            ("coordinator-failed", "there the coordinator answers, with 16: I do not serve this"),
            ("coordinator-loading", "there the coordinator answers, with 14: I am still reading"),
        ],
        shadows: &["groups-not-listed"],
        versions: "all",
        sources: &["GroupCoordinator (up to 3.9), CoordinatorRuntime.java (3.7 and newer)"],
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let select = cause(|cause| match cause {
        Cause::CoordinatorSilent { leader } => Some(*leader),
        _ => None,
    });
    context.group_by(select).into_iter().map(|(leader, partitions)| explain(context, leader, partitions)).collect()
}

fn explain(context: &Context<'_, '_>, leader: BrokerId, partitions: Vec<PartitionId>) -> Finding {
    let verdicts = || partitions.iter().filter_map(|partition| context.verdicts.get(partition));
    let stuck = verdicts().any(|verdict| verdict.status == Status::Stuck);
    let sight = context.facts.snapshot.brokers.get(&leader);
    let since = sight.and_then(|sight| sight.canaries_unanswered_since).unwrap_or(context.facts.now);
    let name = capital(&context.broker(leader));
    let reach = context.reach(&partitions);
    let mut finding = finding(
        SLUG,
        if stuck { Severity::Outage } else { Severity::Error },
        if stuck {
            format!("{name} answers, but its coordinator hangs: it coordinates {reach}.")
        } else {
            format!("{name} answers, but its coordinator does not: it coordinates {reach}.")
        },
    );
    finding.evidence.push(seen_(format!(
        "Broker {leader} answers Metadata, and has not answered DescribeGroups since {}.",
        crate::time::clock(since)
    )));
    finding.evidence.push(likely("A thread of the coordinator that waits for a lock or a disk.".to_owned()));
    if partitions.len() > 1 {
        finding.evidence.push(not_seen(
            "Whether all of these partitions wait, or only some: one request asks for all of them.".to_owned(),
        ));
    }
    let bound = verdicts().filter_map(|verdict| verdict.expected_by.as_ref()).max_by_key(|bound| bound.at);
    finding.outlook = Some(match bound {
        Some(bound) => format!("A short wait would be over {}. Then Unstuck says more.", super::by(bound)),
        None => "The cluster does not notice it: the broker goes on sending heartbeats, so nobody elects another \
                 leader."
            .to_owned(),
    });
    if bound.is_some() {
        finding
            .remedies
            .push(Remedy::new("Wait", "It is not known yet whether the coordinator hangs or is only slow."));
    } else {
        finding.remedies.push(Remedy::new(
            format!("Take a thread dump (jstack) of broker {leader}, and look at its disks"),
            "They tell what the coordinator waits for. Take the dump before a restart.",
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
    use crate::report::Status;
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn first_it_is_only_silent() {
        let report = Sample::kraft(3, 6, 1).canaries_unanswered(1, 4).report();
        assert_eq!(report.partitions[0].status, Status::Recovering);
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [error] Broker 1 (127.0.0.1:9001) answers, but its coordinator does not: it coordinates 2 of 6 partitions of __consumer_offsets.
          outlook: A short wait would be over by 12:00:13 UTC. Then Unstuck says more.
          seen: Broker 1 answers Metadata, and has not answered DescribeGroups since 12:00:00 UTC.
          likely: A thread of the coordinator that waits for a lock or a disk.
          not seen: Whether all of these partitions wait, or only some: one request asks for all of them.
          -> Wait: It is not known yet whether the coordinator hangs or is only slow.
        ");
    }

    #[test]
    fn past_the_session_timeout_it_hangs() {
        let report = Sample::kraft(3, 6, 1).canaries_unanswered(1, 30).report();
        assert_eq!(report.partitions[0].status, Status::Stuck);
        assert_eq!(report.partitions[1].status, Status::AtRisk, "others go on");
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [outage] Broker 1 (127.0.0.1:9001) answers, but its coordinator hangs: it coordinates 2 of 6 partitions of __consumer_offsets.
          outlook: The cluster does not notice it: the broker goes on sending heartbeats, so nobody elects another leader.
          seen: Broker 1 answers Metadata, and has not answered DescribeGroups since 12:00:00 UTC.
          likely: A thread of the coordinator that waits for a lock or a disk.
          not seen: Whether all of these partitions wait, or only some: one request asks for all of them.
          -> Take a thread dump (jstack) of broker 1, and look at its disks: They tell what the coordinator waits for. Take the dump before a restart.
          -> Then restart broker 1: Its partitions get another leader where an in-sync replica lives, or come back with it. The thread dump is lost with the process.
             if (not met): broker 1 is not the last in-sync replica of any partition of __consumer_offsets (it is of 0 and 3)
             if (not known): nor of any other topic: no line of `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe` has it alone as Isr
             ! (groups may pause for a moment) What it leads moves or stops until it is back, and its groups rebalance.
             verify: Broker 1 answers, is in the ISR of its partitions again, and this finding is gone.
             undo: Cannot be undone, and need not be: leaders come back by a preferred election.
        ");
    }

    #[test]
    fn one_late_answer_says_nothing() {
        let report = Sample::kraft(3, 6, 1).canaries_unanswered(1, 1).report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn a_broker_that_is_silent_altogether_is_told_by_another_rule() {
        let report = Sample::kraft(3, 6, 1).canaries_unanswered(1, 4).hung(1, 30).report();
        let slugs = slugs(&report);
        assert!(slugs.contains(&"leader-silent".to_owned()) && !slugs.contains(&super::SLUG.to_owned()), "{slugs:?}");
    }
}
