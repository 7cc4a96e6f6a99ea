//! `leader-silent`: the leader's broker accepts connections and answers nothing.
//!
//! Catalogue row 20: a long garbage collection, a dead disk, a paused process. Soft evidence: opens after two
//! deadlines of silence as `recovering`, stuck past the session time-out. Closes with its next answer or another leader.

use super::{Context, Rule, capital, cause, finding, likely, seen_, step, then_restart};
use crate::handbook::Entry;
use crate::report::{Finding, Severity, Status};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId};

const SLUG: &str = "leader-silent";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "The leader's broker accepts connections and answers nothing",
        severity: "error, outage past the session time-out",
        opens: "A leader's broker accepts connections and has not answered for two deadlines.",
        closes: "It answers, or another leads.",
        ..Entry::BLANK
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
        None => "The session time-out has passed. It will not heal by itself unless the process wakes up.".to_owned(),
    });
    if bound.is_some() {
        finding.remedies.push(step("Wait", "It is not known yet whether the broker is lost or only slow."));
    } else {
        finding.remedies.push(step(
            format!("Look at the process of broker {leader}"),
            "A thread dump (jstack) and its disks tell why it hangs. Take them before a restart.",
        ));
        finding.remedies.push(then_restart(leader));
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
        ");
    }

    #[test]
    fn past_the_session_timeout_it_hangs() {
        insta::assert_snapshot!(text(&Sample::kraft(3, 6, 1).hung(1, 30).report(), super::SLUG), @"
        [outage] Broker 1 (127.0.0.1:9001) hangs: it coordinates 2 of 6 partitions of __consumer_offsets.
          outlook: The session time-out has passed. It will not heal by itself unless the process wakes up.
          seen: Broker 1 (127.0.0.1:9001): accepts connections, but does not answer, since 12:00:00 UTC.
          likely: A long garbage collection, a stopped process, or a disk that does not answer.
          -> Look at the process of broker 1: A thread dump (jstack) and its disks tell why it hangs. Take them before a restart.
          -> Then restart broker 1: Its partitions get another leader where an in-sync replica lives, or come back with it.
             ! The thread dump is lost with the process.
        ");
    }

    #[test]
    fn one_late_answer_says_nothing() {
        assert!(!slugs(&Sample::kraft(3, 6, 1).hung(1, 1).report()).contains(&super::SLUG.to_owned()));
    }
}
