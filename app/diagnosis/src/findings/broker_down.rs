//! `broker-down`: a broker does not answer, and no coordinator depends on it.
//!
//! Says so beside the verdicts, because the reserve is gone. Where coordinators do depend on it, the rules about
//! their partitions speak instead.

use super::{Context, Rule, capital, finding, seen_};
use crate::BrokerId;
use crate::handbook::Entry;
use crate::report::{Avoid, BrokerState, Finding, Severity};
use crate::verdict::Cause;

const SLUG: &str = "broker-down";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A broker is down, and no coordinator depends on it",
        severity: "warning",
        means: "All groups have a coordinator that works, because this broker led none of them, or because the elections are \
                over. But the reserve is gone: the next failure meets one replica less. This is the moment to bring it \
                back without a hurry.",
        opens: "A broker is gone, hangs, or is in replica lists without being live, and no verdict on a coordinator already \
                names it.",
        closes: "It answers.",
        not_told: "An id that stands in replica lists only may be a broker that was retired or got another id: no broker \
                   knows its address, and it will never come back. Partitions of other topics are another finding.",
        clients_see: "Nothing, but for reconnects.",
        way_out: "Start it when you know why it stopped. Its replicas catch up by themselves and rejoin the ISR; leadership \
                  comes back by the automatic balancing, or by a preferred election.",
        never: "Do not stop another broker for maintenance meanwhile.",
        twins: &[
            ("leader-lost", "there coordinators depend on it right now"),
            ("broker-not-reachable", "there the cluster lists it as live"),
        ],
        shadows: &["groups-not-listed", "data-partition-without-leader"],
        versions: "all",
        sources: &["auto.leader.rebalance.enable (every 300 s, at 10 % imbalance)"],
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    facts
        .states
        .iter()
        .filter(|(id, state)| match state {
            BrokerState::Gone | BrokerState::Hung | BrokerState::NotLive => !blamed(context, **id),
            _ => false,
        })
        .map(|(&id, &state)| explain(context, id, state))
        .collect()
}

/// Whether some partition's verdict already names the broker.
fn blamed(context: &Context<'_, '_>, broker: BrokerId) -> bool {
    context.verdicts.values().any(|verdict| match &verdict.cause {
        Cause::LeaderGone { leader, .. }
        | Cause::LeaderGoneTooFewLeft { leader, .. }
        | Cause::LeaderHung { leader }
        | Cause::LeaderNotReachable { leader } => *leader == broker,
        Cause::NoLeaderNoCandidate { eligible } => eligible.contains(&broker),
        Cause::CommitsWait { members } | Cause::CommitsBlocked { members } => members.contains(&broker),
        Cause::BelowMinIsr { .. } => true,
        _ => false,
    })
}

fn explain(context: &Context<'_, '_>, broker: BrokerId, state: BrokerState) -> Finding {
    let name = capital(&context.broker(broker));
    let known = context.facts.snapshot.brokers.get(&broker).is_some_and(|sight| sight.address.is_some());
    let mut finding = finding(
        SLUG,
        Severity::Warning,
        match state {
            BrokerState::Hung => format!("{name} does not answer. No coordinator depends on it now."),
            BrokerState::NotLive if !known => {
                format!(
                    "{name} is in replica lists, and no broker knows its address. No coordinator depends on it now."
                )
            }
            _ => format!("{name} is down. No coordinator depends on it now."),
        },
    );
    if known {
        finding.evidence.push(seen_(format!(
            "{name}: {}, since {}.",
            context.trouble(broker),
            crate::time::clock(context.facts.silent_since(broker))
        )));
    }
    let mut start = context.start(&[broker], true, "Until then the next failure meets fewer replicas.");
    start.title += " when you know why it stopped";
    finding.remedies.push(start);
    finding.avoid.push(Avoid {
        what: "Do not stop another broker meanwhile".to_owned(),
        why: "What both of them hold would be down to one replica, or none.".to_owned(),
    });
    finding.brokers = vec![broker];
    finding
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};

    #[test]
    fn a_broker_without_coordinators_is_down() {
        let sample = Sample::kraft(4, 3, 1).gone(4);
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [warning] Broker 4 (127.0.0.1:9004) is down. No coordinator depends on it now.
          seen: Broker 4 (127.0.0.1:9004): connection refused, since 12:00:00 UTC.
          -> Start broker 4 when you know why it stopped: Until then the next failure meets fewer replicas.
             if (not known): its log directories are still there
             verify: Unstuck shows broker 4 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9004` answers.
          avoid: Do not stop another broker meanwhile: What both of them hold would be down to one replica, or none.
        ");
    }

    #[test]
    fn told_once_where_partitions_depend_on_it() {
        assert!(!slugs(&Sample::kraft(3, 6, 1).gone(1).report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn a_broker_that_we_cannot_reach_is_not_called_down() {
        assert!(!slugs(&Sample::kraft(4, 3, 1).never_reached(4).report()).contains(&super::SLUG.to_owned()));
    }
}
