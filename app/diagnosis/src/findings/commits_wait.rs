//! `commits-wait`: a follower in the ISR is gone, so commits wait until the leader may drop it.
//!
//! Seen on real brokers: while a follower was stopped, commits failed for about 9 s although leader, ISR and
//! coordinator looked healthy; and for as long as the KRaft quorum was lost, because then nobody can shrink the ISR.

use super::ways_out::never_restart_the_others;
use super::{Context, Rule, by, capital, finding, seen_};
use crate::facts::Controller;
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId, words};

const SLUG: &str = "commits-wait";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Commits wait for a follower that is gone",
        severity: "error, outage where nobody can change the ISR",
        means: "A commit counts when every in-sync replica has it. A follower died and is still in the ISR, so the leader \
                waits for it: until `replica.lag.time.max.ms` has passed, or the follower's session has ended, and the \
                controller takes it out. For these seconds nobody can commit, although leader, ISR and coordinator look \
                perfectly well. Without a controller nobody can change the ISR, and the wait never ends.",
        opens: "A member of the ISR is down, and enough replicas would remain without it.",
        closes: "It is back, or out of the ISR.",
        not_told: "A follower that was never reached from here, or that is only late, opens nothing: then the verdict says \
                   that commits are \"not verified\". If `replica.lag.time.max.ms` could not be read, the bound is marked \
                   as assumed.",
        clients_see: "Commits fail with a time-out after `offsets.commit.timeout.ms` (5 s); with the new coordinator \
                      everything that follows on the same partition waits behind them, heartbeats included. After some \
                      seconds all is well again, and nobody knows why.",
        way_out: "Wait: it needs no help while there is a controller. If the bound has passed, or nobody can elect, start \
                  the broker, or bring the controllers back.",
        never: "Do not restart the leader: it is not the cause, and its partitions would wait for an election as well.",
        twins: &[
            ("isr-below-min", "there too few would remain, so commits are refused until a follower is back"),
            ("no-controller", "why the wait does not end"),
        ],
        shadows: &["broker-down", "groups-not-listed"],
        versions: "all",
        sources: &[
            "replica.lag.time.max.ms (30 s since 2.5, 10 s before)",
            "Partition.scala (maybeShrinkIsr)",
            "KIP-497",
        ],
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
    let gone = matches!(context.facts.controller, Controller::Gone(_));
    finding.remedies.push(if blocked {
        let why = "Commits go on when they answer, or when a controller can take them out of the ISR.";
        context.start(&members, true, why)
    } else {
        let why = "It needs no help. Start the broker again when you know why it stopped.";
        Remedy::new("Wait", why).verify(format!("The ISR of these partitions no longer has {who}."))
    });
    if let (true, Some(command)) = (blocked && gone, context.commands().quorum_status()) {
        let why = "With a controller the ISR shrinks by itself, and commits go on.";
        finding.remedies.push(
            Remedy::new("Or start enough controllers for a majority", why)
                .looks(command)
                .verify("It names a leader of the quorum."),
        );
    }
    if blocked {
        let why = "they are what is left, and while the ISR cannot change, whatever they lead would be lost as well.";
        finding.avoid.push(never_restart_the_others(why));
    }
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
             verify: The ISR of these partitions no longer has broker 3.
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
             if (not known): their log directories are still there
             verify: Unstuck shows brokers 2 and 3 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9002` answers.
          -> Or start enough controllers for a majority: With a controller the ISR shrinks by itself, and commits go on.
             $ kafka-metadata-quorum.sh --bootstrap-server 127.0.0.1:9001 describe --status
             verify: It names a leader of the quorum.
          avoid: Do not restart the brokers that still work: They are what is left, and while the ISR cannot change, whatever they lead would be lost as well.
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
