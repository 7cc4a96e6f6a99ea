//! `broker-not-reachable`: the cluster lists a broker as live, and we cannot reach or use it from here.
//!
//! Catalogue row 19: an advertised address for another network (containers, NAT, tunnels). A broker never reached from
//! here is not a dead broker, so what it coordinates is `unknown`, never `stuck`.

use super::{Context, Rule, capital, finding, keeps_out, not_seen, seen_};
use crate::handbook::Entry;
use crate::report::{BrokerState, Finding, Remedy, Severity};
use crate::snapshot::Why;
use crate::{BrokerId, words};

const SLUG: &str = "broker-not-reachable";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A broker that the cluster calls live cannot be used from here",
        severity: "error",
        means: "A client is told one address per broker and has to reach each of them itself; a bootstrap address that works \
                says nothing about the rest. Here the cluster lists a broker as live, and Unstuck cannot reach it at the \
                address that it advertises, or what answers there is not of use: TLS or a login that does not work, a web \
                server, another broker. Clients in the same network as Unstuck will fare the same. Other clients may not notice.",
        opens: "The cluster lists a broker as live that was never reached, or cannot be used, from here; or one that answered \
                before and is still listed long after it should have been dropped, while there is a controller.",
        closes: "It answers.",
        not_told: "Whether the broker works for others. A broker never reached from here is not called dead: what it \
                   coordinates is `unknown`, never `stuck`.",
        clients_see: "Java: \"Discovered group coordinator ...\" and then \"Connection to node ... could not be \
                      established\", again and again, although the first connection worked. Often after a move into \
                      containers: `advertised.listeners` names localhost, a container or an inner address.",
        way_out: "If only Unstuck is in the wrong network: tell it an address that works from here (`--broker-address`). If \
                  clients have the same trouble: correct `advertised.listeners` of the broker, DNS, or the firewall.",
        never: "Do not take it for a dead broker and elect around it: it has the data, and others may reach it.",
        twins: &[
            ("leader-lost", "there the broker answered before, and refuses now"),
            ("bootstrap-unusable", "there it is an address of the configuration, not one that a broker advertises"),
        ],
        shadows: &["groups-not-listed", "broker-down"],
        versions: "all",
        sources: &["advertised.listeners", "KIP-103 (separate listeners for inner and outer clients)"],
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let unreachable = facts.states.iter().filter(|(id, state)| match state {
        BrokerState::NeverReached | BrokerState::Unreadable => true,
        _ => facts.unreachable_from_here(**id),
    });
    unreachable.map(|(&broker, _)| explain(context, broker)).collect()
}

fn explain(context: &Context<'_, '_>, broker: BrokerId) -> Finding {
    let facts = context.facts;
    let partitions: Vec<_> = facts
        .partitions
        .iter()
        .filter(|(_, seen)| seen.newest.leader == Some(broker))
        .map(|(&partition, _)| partition)
        .collect();
    let trouble = facts.snapshot.brokers.get(&broker).and_then(|sight| sight.contact.trouble.as_ref());
    let mut finding = finding(
        SLUG,
        Severity::Error,
        format!("Unstuck cannot use {} from here: {}.", context.broker(broker), context.trouble(broker)),
    );
    if facts.listed_live.contains(&broker) {
        let who = if facts.answering.is_empty() { "A bootstrap address lists" } else { "Other brokers list" };
        finding.evidence.push(seen_(format!("{who} it as live.")));
    }
    if !partitions.is_empty() {
        finding.evidence.push(not_seen(format!("Whether it serves {}.", context.reach(&partitions))));
    }
    finding.remedies = trouble.map(|trouble| remedies(context, broker, &trouble.why)).unwrap_or_default();
    finding.brokers = vec![broker];
    finding.partitions = partitions;
    finding
}

fn remedies(context: &Context<'_, '_>, broker: BrokerId, why: &Why) -> Vec<Remedy> {
    let address = context.facts.snapshot.brokers.get(&broker).and_then(|sight| sight.address.clone());
    let address = address.unwrap_or_else(|| "its address".to_owned());
    if let Some(remedy) = keeps_out::advice(&address, why) {
        return vec![remedy];
    }
    match why {
        Why::SpeaksHttp => {
            vec![Remedy::new(
                format!("Check the port: {address} is a web server"),
                "A Kafka listener often has port 9092.",
            )]
        }
        Why::OtherBroker(other) => vec![override_address(
            broker,
            &format!(
                "{} answers at {address}. Give broker {broker} an address of its own.",
                capital(&words::brokers(&[*other]))
            ),
        )],
        _ => vec![
            override_address(
                broker,
                "Its advertised address may be meant for another network (containers, NAT, a tunnel): tell Unstuck where \
                 it is from here.",
            ),
            Remedy::new(
                format!("If clients cannot reach {address} either: correct advertised.listeners of broker {broker}"),
                "Clients of its groups would hang just as Unstuck does.",
            ),
        ],
    }
}

fn override_address(broker: BrokerId, why: &str) -> Remedy {
    Remedy::new(format!("Start Unstuck with an address for broker {broker} that works from here"), why)
        .looks(format!("unstuck serve … --broker-address {broker}=HOST:PORT"))
        .given(format!("HOST:PORT leads to broker {broker} from here"), None)
        .verify(format!("Unstuck shows broker {broker} as answering. It checks that it is the right one."))
}

#[cfg(test)]
mod tests {
    use crate::report::Status;
    use crate::sample::{Sample, slugs, text};
    use crate::snapshot::Why;

    #[test]
    fn an_advertised_address_that_does_not_work_from_here() {
        let report = Sample::kraft(3, 6, 1).never_reached(1).report();
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [error] Unstuck cannot use broker 1 (127.0.0.1:9001) from here: the connection attempt timed out.
          seen: Other brokers list it as live.
          not seen: Whether it serves 2 of 6 partitions of __consumer_offsets.
          -> Start Unstuck with an address for broker 1 that works from here: Its advertised address may be meant for another network (containers, NAT, a tunnel): tell Unstuck where it is from here.
             if (not known): HOST:PORT leads to broker 1 from here
             $ unstuck serve … --broker-address 1=HOST:PORT
             verify: Unstuck shows broker 1 as answering. It checks that it is the right one.
          -> If clients cannot reach 127.0.0.1:9001 either: correct advertised.listeners of broker 1: Clients of its groups would hang just as Unstuck does.
        ");
        assert_eq!(report.partitions[0].status, Status::Unknown);
    }

    #[test]
    fn a_way_in_whose_brokers_advertise_addresses_that_lead_nowhere() {
        let report = Sample::kraft(1, 6, 1).never_reached(1).report();
        assert_eq!(report.headline.status, Status::Unknown);
        insta::assert_snapshot!(text(&report, super::SLUG), @"
        [error] Unstuck cannot use broker 1 (127.0.0.1:9001) from here: the connection attempt timed out.
          seen: A bootstrap address lists it as live.
          -> Start Unstuck with an address for broker 1 that works from here: Its advertised address may be meant for another network (containers, NAT, a tunnel): tell Unstuck where it is from here.
             if (not known): HOST:PORT leads to broker 1 from here
             $ unstuck serve … --broker-address 1=HOST:PORT
             verify: Unstuck shows broker 1 as answering. It checks that it is the right one.
          -> If clients cannot reach 127.0.0.1:9001 either: correct advertised.listeners of broker 1: Clients of its groups would hang just as Unstuck does.
        ");
    }

    #[test]
    fn a_tunnel_that_broke_is_not_a_dead_broker() {
        for why in [Why::ConnectTimeout, Why::Closed, Why::NameNotFound("gone".to_owned()), Why::Refused] {
            let report = Sample::kraft(3, 6, 1).trouble(1, why.clone()).later(90).report();
            assert_eq!(report.partitions[0].status, Status::Unknown, "{why:?}");
            assert!(slugs(&report).contains(&super::SLUG.to_owned()), "{why:?}");
        }
    }

    #[test]
    fn still_unknown_after_a_long_time() {
        let report = Sample::kraft(3, 6, 1).never_reached(1).later(300).report();
        assert_eq!(report.partitions[0].status, Status::Unknown);
    }

    #[test]
    fn each_obstacle_has_its_own_advice() {
        for (why, advice) in [
            (Why::AuthenticationRequired, "wants SASL"),
            (Why::SpeaksTls, "is a TLS listener"),
            (Why::SpeaksHttp, "is a web server"),
            (Why::OtherBroker(3), "Broker 3 answers at"),
        ] {
            let report = Sample::kraft(3, 6, 1).trouble(1, why).report();
            let text = text(&report, super::SLUG);
            assert!(text.contains(advice), "{text}");
        }
    }

    #[test]
    fn not_when_it_answers() {
        assert!(!slugs(&Sample::kraft(3, 6, 1).report()).contains(&super::SLUG.to_owned()));
    }
}
