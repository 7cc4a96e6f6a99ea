//! `commits-wait`: a follower in the ISR is gone, so commits wait until the leader may drop it.
//!
//! Seen on real brokers: while a follower was stopped, commits failed for about 9 s although leader, ISR and
//! coordinator looked healthy; and for as long as the KRaft quorum was lost, because then nobody can shrink the ISR.

use super::{Context, Rule, by, capital, finding, seen_, step};
use crate::facts::Controller;
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId, words};

const SLUG: &str = "commits-wait";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A follower in the ISR is gone, so commits wait until the leader may drop it",
        severity: "error, outage where nobody can change the ISR",
        opens: "A member of the ISR is down.",
        closes: "It is back, or out of the ISR.",
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let groups = context.group_by(|verdict| match &verdict.cause {
        Cause::CommitsWait { members } => Some((members.clone(), false)),
        Cause::CommitsBlocked { members } => Some((members.clone(), true)),
        _ => None,
    });
    groups.into_iter().map(|((members, blocked), partitions)| explain(context, members, blocked, partitions)).collect()
}

fn explain(context: &Context<'_, '_>, members: Vec<BrokerId>, blocked: bool, partitions: Vec<PartitionId>) -> Finding {
    let who = words::brokers(&members);
    let reach = context.reach(&partitions);
    let verb = if members.len() == 1 { "is" } else { "are" };
    let (severity, sentence) = if blocked {
        (
            Severity::Outage,
            format!("Commits are blocked on {reach}: {who} {verb} down and cannot be taken out of the ISR."),
        )
    } else {
        (Severity::Error, format!("Commits wait on {reach}: {who} {verb} down and still in the ISR."))
    };
    let mut finding = finding(SLUG, severity, sentence);
    for &broker in &members {
        finding.evidence.push(seen_(format!(
            "{}: {}, since {}.",
            capital(&context.broker(broker)),
            context.trouble(broker),
            crate::time::clock(context.facts.silent_since(broker))
        )));
    }
    let bound = partitions
        .iter()
        .filter_map(|partition| context.verdicts.get(partition)?.expected_by.as_ref())
        .max_by_key(|bound| bound.at);
    finding.outlook = match (bound, &context.facts.controller) {
        (Some(bound), _) => Some(format!("The leader may go on without it {}.", by(bound))),
        (None, Controller::Gone(why)) => {
            Some(format!("It will not heal by itself: {why}, so nobody can change the ISR."))
        }
        (None, _) => Some("It should have been taken out of the ISR by now.".to_owned()),
    };
    finding.remedies.push(if blocked {
        step(
            format!("Start {who}"),
            "Commits go on when they answer, or when a controller can take them out of the ISR.",
        )
    } else {
        step("Wait", "It needs no help. Start the broker again when you know why it stopped.")
    });
    finding.brokers = members;
    finding.partitions = partitions;
    finding
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn commits_wait_for_a_lost_follower() {
        let sample = Sample::kraft(4, 1, 3).gone(3);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [error] Commits wait on partition 0 of __consumer_offsets: broker 3 is down and still in the ISR.
          outlook: The leader may go on without it by 12:00:34 UTC.
          seen: Broker 3 (127.0.0.1:9003): connection refused, since 12:00:00 UTC.
          -> Wait: It needs no help. Start the broker again when you know why it stopped.
        ");
    }

    #[test]
    fn without_a_quorum_for_ever() {
        let sample = Sample::kraft(3, 1, 3).gone(2).gone(3);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [outage] Commits are blocked on partition 0 of __consumer_offsets: brokers 2 and 3 are down and cannot be taken out of the ISR.
          outlook: It will not heal by itself: 2 of 3 quorum voters do not answer, so nobody can change the ISR.
          seen: Broker 2 (127.0.0.1:9002): connection refused, since 12:00:00 UTC.
          seen: Broker 3 (127.0.0.1:9003): connection refused, since 12:00:00 UTC.
          -> Start brokers 2 and 3: Commits go on when they answer, or when a controller can take them out of the ISR.
        ");
    }

    #[test]
    fn not_once_it_left_the_isr() {
        let sample = Sample::kraft(4, 1, 3).isr(0, &[1, 2]).gone(3);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn a_follower_never_reached_leaves_writes_unverified() {
        let report = Sample::kraft(3, 1, 3).never_reached(3).report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
        assert!(!report.partitions[0].writes_verified);
    }
}
