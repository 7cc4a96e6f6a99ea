//! `leader-flapping`: leadership of a coordinator's partition goes back and forth.
//!
//! Public cases: a broker that flaps between ZooKeeper sessions; commits that fail with 14 from time to time. Opens after
//! three new leaders within ten minutes while no broker restarted, or six whatever happened; closes when that is over.

use super::{Context, Rule, finding, likely, not_seen, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::time::{clock, millis_between};
use crate::{BrokerId, PartitionId, words};

const SLUG: &str = "leader-flapping";
const WINDOW_MS: i64 = 600_000;
/// Within this time a broker that was down explains new leaders: back, in sync, preferred again.
const RESTART_MS: i64 = 900_000;
const OFTEN: usize = 3;
/// More than a rolling restart with preferred elections between its steps makes.
const TOO_OFTEN: usize = 6;

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "Leadership of coordinators' partitions goes back and forth",
        severity: "warning",
        means: "With every new leader another broker loads the partition from its beginning, answers 14 or 16 meanwhile, and \
                the members of its groups find their coordinator anew. Once is an event; again and again is a broker that \
                drops out and comes back: sessions that expire in long pauses, a network that flaps, a process that \
                crashes in a loop.",
        opens: "Three new leaders of a partition within ten minutes while no broker of its replicas was down, or six \
                whatever happened: a rolling restart makes fewer.",
        closes: "Fewer than that within the last ten minutes.",
        not_told: "Changes from before Unstuck began looking, and those that came and went between two looks (1 s).",
        clients_see: "Commits that fail from time to time with COORDINATOR_LOAD_IN_PROGRESS (14) or NOT_COORDINATOR (16); \
                      rebalances without a reason on the client's side.",
        way_out: "Find the broker that drops out, and why: garbage collection, disk, network to ZooKeeper or the \
                  controllers. Clients only need to try again.",
        never: "Do not raise time-outs of clients for it: it hides the flapping, and the loads remain.",
        twins: &[("coordinator-loading", "One load that takes long."), ("leader-lost", "One leader that is gone now.")],
        versions: "all",
        sources: &["zookeeper.session.timeout.ms, broker.session.timeout.ms, auto.leader.rebalance.enable (settings)"],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let changes = |partition: &PartitionId| {
        let times = facts.memory.partitions.get(partition).map(|memory| memory.leader_changes.as_slice());
        times.unwrap_or_default().iter().filter(|&&at| millis_between(at, facts.now) <= WINDOW_MS).count()
    };
    let restarted = |id: &BrokerId| {
        facts.memory.brokers_gone.get(id).is_some_and(|&at| millis_between(at, facts.now) <= RESTART_MS)
    };
    let flapping: Vec<_> = facts
        .partitions
        .iter()
        .map(|(id, seen)| (*id, changes(id), seen.newest.replicas.iter().any(restarted)))
        .filter(|(_, count, restarts)| *count >= if *restarts { TOO_OFTEN } else { OFTEN })
        .collect();
    let most = flapping.iter().max_by_key(|(_, count, _)| *count).copied();
    most.map(|(partition, count, _)| explain(context, partition, count, flapping.iter().map(|(id, ..)| *id).collect()))
        .into_iter()
        .collect()
}

fn explain(context: &Context<'_, '_>, worst: PartitionId, count: usize, partitions: Vec<PartitionId>) -> Finding {
    let facts = context.facts;
    let times = if partitions.len() == 1 { format!("{count} times") } else { format!("up to {count} times") };
    let mut finding = finding(
        SLUG,
        Severity::Warning,
        format!(
            "Leadership of {} changed {times} within ten minutes: its groups lose their coordinator again and again.",
            context.reach(&partitions)
        ),
    );
    finding.outlook =
        Some("Each new leader loads the partition anew; commits fail meanwhile, and are tried again.".to_owned());
    let changes = facts.memory.partitions.get(&worst).map(|memory| memory.leader_changes.clone()).unwrap_or_default();
    finding.evidence.push(seen_(format!(
        "Partition {worst} had a new leader at {}.",
        words::list(&changes.iter().map(|&at| clock(at)).collect::<Vec<_>>())
    )));
    let back: Vec<_> =
        facts.memory.relisted.iter().filter(|(_, at)| millis_between(**at, facts.now) <= WINDOW_MS).collect();
    for &(broker, at) in &back {
        finding
            .evidence
            .push(seen_(format!("Broker {broker} was not listed as live, and came back at {}.", clock(*at))));
    }
    let suspects: Vec<BrokerId> = back.iter().map(|(broker, _)| **broker).collect();
    if suspects.is_empty() {
        finding.evidence.push(not_seen("Why: no broker was seen to drop out meanwhile.".to_owned()));
    } else {
        finding.evidence.push(likely(format!(
            "{} drops out of the cluster and comes back: sessions that expire, or a process that crashes.",
            super::capital(&words::brokers(&suspects))
        )));
    }
    let who = if suspects.is_empty() { "the controller".to_owned() } else { words::brokers(&suspects) };
    let session = if facts.kraft == Some(false) { "ZooKeeper session" } else { "session with the controllers" };
    finding.remedies.push(step(
        format!("Look at the log of {who} around these times"),
        format!("It says whether a {session} expired, and whether garbage collection or a disk made it pause."),
    ));
    finding.remedies.push(step(
        "If pauses cannot be avoided soon: raise the session time-out of the brokers",
        "A pause shorter than that changes no leader. The price: a broker that is lost is noticed that much later.",
    ));
    finding.brokers = suspects;
    finding.partitions = partitions;
    finding
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    fn moved(sample: Sample, leader: i32, epoch: i32) -> Sample {
        let sample = sample.view(1, 0, Some(leader), epoch).view(2, 0, Some(leader), epoch);
        sample.view(3, 0, Some(leader), epoch).later(30)
    }

    #[test]
    fn back_and_forth_without_a_restart() {
        let sample = moved(moved(moved(Sample::kraft(3, 3, 3).later(1), 2, 6), 1, 7), 2, 8);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [warning] Leadership of partition 0 of __consumer_offsets changed 3 times within ten minutes: its groups lose their coordinator again and again.
          outlook: Each new leader loads the partition anew; commits fail meanwhile, and are tried again.
          seen: Partition 0 had a new leader at 12:00:01 UTC, 12:00:31 UTC and 12:01:01 UTC.
          not seen: Why: no broker was seen to drop out meanwhile.
          -> Look at the log of the controller around these times: It says whether a session with the controllers expired, and whether garbage collection or a disk made it pause.
          -> If pauses cannot be avoided soon: raise the session time-out of the brokers: A pause shorter than that changes no leader. The price: a broker that is lost is noticed that much later.
        ");
        assert!(!slugs(&sample.later(700).report()).contains(&super::SLUG.to_owned()), "closes");
    }

    #[test]
    fn a_new_epoch_of_the_same_leader_is_no_change() {
        let sample = moved(moved(moved(Sample::zookeeper(3, 3, 3).later(1), 1, 6), 1, 7), 1, 8);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn a_restart_explains_some() {
        let mut sample = Sample::kraft(3, 3, 3).later(1).gone(2).later(1);
        if let Some(sight) = sample.snapshot.brokers.get_mut(&2) {
            sight.contact.trouble = None;
        }
        let sample = moved(moved(moved(sample.later(1), 2, 6), 1, 7), 2, 8);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn what_was_not_watched_cannot_be_told() {
        let sample = moved(Sample::kraft(3, 3, 3), 2, 60);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
