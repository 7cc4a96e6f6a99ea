//! `listener-missing`: the leader lives, but not on the listener that we use.
//!
//! Catalogue row 18: partition error 72 (LISTENER_NOT_FOUND) in metadata of 2.4 and newer. Older releases say 72 of any
//! leader that is not alive, so it proves nothing there. Opens after 10 s, closes when the error is gone.

use super::{Context, Rule, capital, cause, finding, likely, not_seen, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity, Status};
use crate::verdict::Cause;
use crate::{BrokerId, PartitionId, words};

const SLUG: &str = "listener-missing";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "The leader lives, but does not have the listener that clients of this address use",
        severity: "outage for clients of this listener; error for the first 10 s",
        means: "A broker tells each client the addresses of the listener that the client came by. A leader that was started \
                without that listener cannot be named to it, so metadata says \"no leader\" with error 72, and \
                FindCoordinator answers 15. Clients on other listeners, and the brokers among themselves, see nothing.",
        opens: "Brokers of 2.4 or newer answer 72 (LISTENER_NOT_FOUND) for a partition, for 10 s.",
        closes: "They name a leader.",
        not_told: "Which broker leads: its name is hidden with its address. The last leader that was seen is told. Whether \
                   clients of other listeners work cannot be seen from this one.",
        clients_see: "Java: \"N partitions have leader brokers without a matching listener\". Consumers hang as with a lost \
                      coordinator.",
        way_out: "Give the leader the same listeners and advertised.listeners as the others, and restart it. Clients can use \
                  another listener meanwhile.",
        never: "Do not run elections, and restart no other broker: the leader is fine.",
        twins: &[
            ("no-leader-live-replica", "Error 5: nobody leads at all."),
            ("broker-not-reachable", "The listener is there, and its address does not work from here."),
        ],
        versions: "2.4 and newer; before, 72 is said of dead leaders too",
        sources: &["KIP-226", "core/.../server/metadata/KRaftMetadataCache.scala (getPartitionMetadata)"],
        ..Entry::BLANK
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let missing = context.group_by(cause(|cause| match cause {
        Cause::ListenerMissing { last_leader } => Some(*last_leader),
        _ => None,
    }));
    missing.into_iter().map(|(leader, partitions)| explain(context, leader, partitions)).collect()
}

fn explain(context: &Context<'_, '_>, last_leader: Option<BrokerId>, partitions: Vec<PartitionId>) -> Finding {
    let reach = context.reach(&partitions);
    let stuck =
        partitions.iter().filter_map(|id| context.verdicts.get(id)).any(|verdict| verdict.status == Status::Stuck);
    let mut finding = finding(
        SLUG,
        if stuck { Severity::Outage } else { Severity::Error },
        format!("The leader of {reach} lives, but not on the listener that we use: clients of this listener hang."),
    );
    finding.outlook = Some("It stays so until the leader has the listener, or another one leads.".to_owned());
    let who: Vec<BrokerId> = context.facts.answering.iter().copied().collect();
    finding.evidence.push(seen_(format!(
        "{} {} 72 (LISTENER_NOT_FOUND): there is a leader, without an address on this listener.",
        capital(&words::brokers(&who)),
        if who.len() == 1 { "answers" } else { "answer" }
    )));
    match last_leader {
        Some(leader) => finding.evidence.push(likely(format!("Broker {leader} was the last leader that was seen."))),
        None => finding.evidence.push(not_seen("Which broker leads: its name is hidden with its address.".to_owned())),
    }
    let leader = last_leader.map_or_else(|| "the leader".to_owned(), |leader| format!("broker {leader}"));
    finding.remedies.push(step(
        format!("Give {leader} the same listeners and advertised.listeners as the other brokers, and restart it"),
        "The listeners of all brokers must have the same names. Compare server.properties of the brokers.",
    ));
    finding.remedies.push(step(
        "Until then: let clients use a listener that all brokers have",
        "The coordinator itself serves; it only has no address here.",
    ));
    finding.brokers = last_leader.into_iter().collect();
    finding.partitions = partitions;
    finding
}

#[cfg(test)]
mod tests {
    use crate::report::Status;
    use crate::sample::{Sample, slugs, text};

    fn hidden(sample: Sample) -> Sample {
        let sample = sample.no_leader(0, &[1, 2, 3]);
        sample.partition_error(1, 0, 72).partition_error(2, 0, 72).partition_error(3, 0, 72)
    }

    #[test]
    fn the_leader_has_no_address_on_this_listener() {
        let report = hidden(Sample::kraft(3, 3, 3).later(2)).later(20).report();
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [outage] The leader of partition 0 of __consumer_offsets lives, but not on the listener that we use: clients of this listener hang.
          outlook: It stays so until the leader has the listener, or another one leads.
          seen: Brokers 1, 2 and 3 answer 72 (LISTENER_NOT_FOUND): there is a leader, without an address on this listener.
          likely: Broker 1 was the last leader that was seen.
          -> Give broker 1 the same listeners and advertised.listeners as the other brokers, and restart it: The listeners of all brokers must have the same names. Compare server.properties of the brokers.
          -> Until then: let clients use a listener that all brokers have: The coordinator itself serves; it only has no address here.
        ");
        assert_eq!(report.partitions[0].status, Status::Stuck);
        assert!(!slugs(&report).contains(&"no-leader-live-replica".to_owned()));
    }

    #[test]
    fn no_leader_with_error_5_is_another_matter() {
        let report = Sample::kraft(3, 3, 3).no_leader(0, &[1, 2, 3]).later(20).report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn old_brokers_say_72_of_dead_leaders_so_nothing_can_be_told() {
        let report = hidden(Sample::zookeeper(3, 3, 3).release("2.3").later(2)).later(20).report();
        assert!(!slugs(&report).contains(&super::SLUG.to_owned()));
    }
}
