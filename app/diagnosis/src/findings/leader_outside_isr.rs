//! `leader-outside-isr`: a leader that is no member of its own ISR: a state that no broker writes.
//!
//! Somebody wrote partition states into ZooKeeper by hand. Opens with the state, closes when leader and ISR fit.

use super::{Context, Rule, cause, finding, not_seen, seen_};
use crate::commands::Election;
use crate::handbook::Entry;
use crate::report::{Avoid, Finding, Remedy, Risk, Severity};
use crate::verdict::Cause;
use crate::{BrokerId, OFFSETS_TOPIC, PartitionId, words};

const SLUG: &str = "leader-outside-isr";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "The leader of a coordinator's partition is not in its own ISR",
        severity: "error; the verdict is unknown, never working",
        means: "A leader is in sync with itself by definition, so Kafka never records a leader outside of the ISR. Where it \
                is so, the state was written by hand (or by a broken tool). The leader may serve reads; whether commits are \
                ever acknowledged depends on replicas that are said to be in sync with a log that they do not have.",
        opens: "The leader that brokers name is not among the in-sync replicas that they name.",
        closes: "It is.",
        not_told: "What the log of the leader lacks. Compare the offsets of a group that you know before you trust it.",
        clients_see: "Groups may work, start from old offsets, or find none at all; commits may time out.",
        way_out: "Bring back a broker of the ISR: an election then finds a true leader. If none of them will ever come \
                  back, elect uncleanly, so that controller, leader and ISR agree again, and set the offsets of the groups \
                  by time.",
        never: "Never write partition states into ZooKeeper by hand: the controller goes on from its own memory, and leader \
                epochs that go backwards make followers cut their logs.",
        twins: &[(
            "broker-ids-unknown",
            "The ISR names brokers that nobody knows: often the reason why somebody wrote a \
                                         state by hand.",
        )],
        versions: "with ZooKeeper",
        sources: &["core/.../controller/PartitionStateMachine.scala", "KIP-101 (leader epochs)"],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let outside = context.group_by(cause(|cause| match cause {
        Cause::LeaderOutsideIsr { leader } => Some(*leader),
        _ => None,
    }));
    outside.into_iter().map(|(leader, partitions)| explain(context, leader, partitions)).collect()
}

fn explain(context: &Context<'_, '_>, leader: BrokerId, partitions: Vec<PartitionId>) -> Finding {
    let mut finding = finding(
        SLUG,
        Severity::Error,
        format!(
            "Broker {leader} leads {} without being in sync: that state contradicts itself, and is not to be trusted.",
            context.reach(&partitions)
        ),
    );
    finding.outlook =
        Some("It stays so until there is an election. Kafka itself never writes such a state.".to_owned());
    let views = || partitions.iter().filter_map(|id| Some((*id, context.facts.partitions.get(id)?)));
    let mut members: Vec<BrokerId> = views().flat_map(|(_, seen)| seen.newest.isr.iter().copied()).collect();
    members.sort_unstable();
    members.dedup();
    if let Some((first, seen)) = views().next() {
        finding.evidence.push(seen_(format!(
            "Partition {first}: leader {leader}, ISR {}, replicas {}.",
            words::ids(&seen.newest.isr),
            words::ids(&seen.newest.replicas)
        )));
    }
    if views().any(|(_, seen)| !seen.newest.replicas.contains(&leader)) {
        finding.evidence.push(seen_(format!("Broker {leader} is not even a replica of it.")));
    }
    let fell =
        partitions.iter().find_map(|id| Some((id, context.facts.memory.partitions.get(id)?.epoch_fell.as_ref()?)));
    finding.evidence.extend(fell.map(|(partition, fell)| {
        seen_(format!(
            "The leader epoch of partition {partition} went backwards at {}, from {} to {}: Kafka only counts up.",
            crate::time::clock(fell.at),
            fell.from,
            fell.to
        ))
    }));
    finding.evidence.push(not_seen(format!("Which commits the log of broker {leader} lacks.")));
    finding.avoid.push(Avoid {
        what: "Do not write partition states into ZooKeeper by hand".to_owned(),
        why: "The controller does not read them, and leader epochs that go backwards make replicas cut their logs."
            .to_owned(),
    });
    finding.remedies = remedies(context, leader, &members, &partitions);
    finding.brokers = vec![leader];
    finding.partitions = partitions;
    finding
}

fn remedies(
    context: &Context<'_, '_>,
    leader: BrokerId,
    members: &[BrokerId],
    partitions: &[PartitionId],
) -> Vec<Remedy> {
    let who = words::brokers(members);
    let alive = members.iter().any(|&id| context.facts.electable(id));
    let commands = context.commands();
    let mut remedies = Vec::new();
    if !alive {
        remedies.push(
            Remedy::new(
                format!("Start {who}"),
                "What was committed last is there. When it is back, the controller can elect a true leader.",
            )
            .verify("The ISR contains the leader."),
        );
    }
    remedies.extend(commands.zookeeper("delete /controller").map(|command| {
        Remedy::new(
            "Make ZooKeeper choose a new controller",
            "A new controller reads the states anew, and elects where the leader cannot lead.",
        )
        .command(command, "Another broker becomes controller; no data changes.")
        .danger(Risk::Pause, "No elections for some seconds.")
        .given(format!("{who} is alive, so that an election finds a replica in sync"), alive)
        .verify("Leader and ISR fit, under a higher epoch.")
        .undo("Needs none: any broker can be controller.")
    }));
    remedies.extend(commands.elect_each(Election::Unclean, OFFSETS_TOPIC, partitions).map(|command| {
        Remedy::new(
            format!("Only if {who} will never come back: have a leader elected all the same"),
            "Leader, ISR and epoch fit again.",
        )
        .command(command, "A live replica leads, and the ISR is that replica.")
        .danger(Risk::Loses, format!("Loses every commit that broker {leader} does not have."))
        .given(format!("{who} and its disk are lost for good"), None)
        .verify("Leader and ISR fit; then compare the committed offsets of a group that you know.")
        .undo("Cannot be undone.")
    }));
    remedies
}

#[cfg(test)]
mod tests {
    use crate::report::Status;
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn a_state_written_by_hand_is_never_working() {
        let sample = Sample::zookeeper(3, 3, 2).later(2).isr(0, &[2]).epoch(0, 0).served_now(0);
        let report = sample.later(1).report();
        assert_eq!(report.partitions[0].status, Status::Unknown);
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [error] Broker 1 leads partition 0 of __consumer_offsets without being in sync: that state contradicts itself, and is not to be trusted.
          outlook: It stays so until there is an election. Kafka itself never writes such a state.
          seen: Partition 0: leader 1, ISR [2], replicas [1, 2].
          seen: The leader epoch of partition 0 went backwards at 12:00:02 UTC, from 5 to 0: Kafka only counts up.
          not seen: Which commits the log of broker 1 lacks.
          -> Make ZooKeeper choose a new controller: A new controller reads the states anew, and elects where the leader cannot lead.
             if (met): broker 2 is alive, so that an election finds a replica in sync
             if (not known): ZOOKEEPER:2181 is replaced by the address that the brokers have as zookeeper.connect
             $ zookeeper-shell.sh ZOOKEEPER:2181 delete /controller
             changes: Another broker becomes controller; no data changes.
             ! (groups may pause for a moment) No elections for some seconds.
             verify: Leader and ISR fit, under a higher epoch.
             undo: Needs none: any broker can be controller.
          -> Only if broker 2 will never come back: have a leader elected all the same: Leader, ISR and epoch fit again.
             if (not known): broker 2 and its disk are lost for good
             $ kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type unclean --topic __consumer_offsets --partition 0
             changes: A live replica leads, and the ISR is that replica.
             ! (loses data) Loses every commit that broker 1 does not have.
             verify: Leader and ISR fit; then compare the committed offsets of a group that you know.
             undo: Cannot be undone.
          avoid: Do not write partition states into ZooKeeper by hand: The controller does not read them, and leader epochs that go backwards make replicas cut their logs.
        ");
    }

    #[test]
    fn a_leader_in_its_isr_is_as_it_should_be() {
        let report = Sample::zookeeper(3, 3, 2).isr(0, &[1]).report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn an_isr_that_nobody_tells_is_no_contradiction() {
        let report = Sample::zookeeper(3, 3, 2).isr(0, &[]).report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
    }
}
