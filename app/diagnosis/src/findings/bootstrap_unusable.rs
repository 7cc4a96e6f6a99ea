//! `bootstrap-unusable`: an address of the bootstrap list does not lead to this cluster.
//!
//! Wrong host, closed port, a web server, TLS or a login that does not work, another cluster: each with what to do. It says
//! nothing about the cluster itself, so it is never an outage.

use super::{Context, Rule, finding, keeps_out, seen_};
use crate::handbook::Entry;
use crate::report::{Finding, Remedy, Severity};
use crate::snapshot::Why;

const SLUG: &str = "bootstrap-unusable";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A bootstrap address does not lead to this cluster",
        severity: "warning; error if no address works, or one leads to another cluster",
        means: "A bootstrap address is only the way in: it is asked once which brokers there are. One that does not work says \
                nothing about the cluster, so it is never an outage; but clients that have only this one in their \
                configuration cannot start. Each obstacle has its own words: a wrong name, a closed port, a web server, TLS or a \
                login that does not work, another cluster.",
        opens: "A bootstrap address does not lead to the cluster, and is not the address of a broker that other findings \
                are about.",
        closes: "It does.",
        not_told: "If no address works, nothing at all is known about the cluster: every verdict is `unknown`. It may well \
                   be our own network.",
        clients_see: "Java: \"Bootstrap broker ... disconnected\" or \"Couldn't resolve server ... from \
                      bootstrap.servers\". A client with several addresses starts all the same.",
        way_out: "Correct the address in the configuration: each obstacle is said with what to do about it.",
        never: "",
        twins: &[(
            "broker-not-reachable",
            "there it is an address that a broker advertises, not one of the configuration",
        )],
        shadows: &[],
        versions: "all",
        sources: &["bootstrap.servers", "KIP-602 (all addresses of a name are tried)"],
    }],
    check,
};

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let bootstrap = &context.facts.snapshot.bootstrap;
    let all = bootstrap.values().all(|sight| sight.answer.known().is_none());
    let unusable = bootstrap.iter().filter_map(|(address, sight)| Some((address, sight.answer.unavailable()?)));
    unusable
        .filter(|(address, unavailable)| !is_known_broker(context, address) || misleads(&unavailable.why))
        .map(|(address, unavailable)| explain(address, &unavailable.why, all))
        .collect()
}

/// The address of a broker that was seen: what is wrong with that broker is told elsewhere.
fn is_known_broker(context: &Context<'_, '_>, address: &str) -> bool {
    context.facts.snapshot.brokers.values().any(|sight| {
        sight.address.as_deref() == Some(address)
            && (sight.contact.first_answer.is_some() || sight.contact.trouble.is_some())
    })
}

fn misleads(why: &Why) -> bool {
    matches!(why, Why::OtherCluster(_))
}

fn explain(address: &str, why: &Why, all: bool) -> Finding {
    let severity = if all || misleads(why) { Severity::Error } else { Severity::Warning };
    let mut finding = finding(SLUG, severity, format!("The bootstrap address {address} is of no use: {why}."));
    finding.evidence.push(seen_(format!("{address}: {why}.")));
    finding.remedies.push(advice(address, why));
    finding
}

fn advice(address: &str, why: &Why) -> Remedy {
    if let Some(remedy) = keeps_out::advice(address, why) {
        return remedy;
    }
    match why {
        Why::NameNotFound(_) => Remedy::new(
            "Check the host name",
            format!("{address} has no address here. Inside containers or another network names differ."),
        ),
        Why::Refused => Remedy::new(
            "Check the port, and whether the broker runs",
            format!("The host of {address} answers, and nothing listens on that port."),
        ),
        Why::Unreachable(_) | Why::ConnectTimeout => {
            Remedy::new("Check the address, the route and the firewall", format!("No answer at all from {address}."))
        }
        Why::SpeaksHttp => {
            Remedy::new("Check the port", format!("{address} is a web server. A Kafka listener often has port 9092."))
        }
        Why::OtherCluster(_) => Remedy::new(
            "Give the other cluster an entry of its own",
            format!(
                "{address} belongs to another cluster than the first address that answered; Unstuck does not mix them."
            ),
        ),
        Why::Silent => {
            Remedy::new("Look at the process behind it", format!("{address} accepts connections and answers nothing."))
        }
        Why::Closed => Remedy::new(
            "Check what listens there",
            format!(
                "{address} accepts connections and closes them: often a load balancer without a live broker, or a TLS listener."
            ),
        ),
        _ => Remedy::new("Check what listens there", format!("What {address} answers is not the Kafka protocol.")),
    }
}

#[cfg(test)]
mod tests {
    use crate::report::Status;
    use crate::sample::{Sample, slugs};
    use crate::snapshot::Why;

    #[test]
    fn every_obstacle_says_what_to_do_and_none_is_stuck() {
        let whys = [
            Why::NameNotFound("no such host".to_owned()),
            Why::Refused,
            Why::Unreachable("no route to host".to_owned()),
            Why::ConnectTimeout,
            Why::SpeaksHttp,
            Why::SpeaksTls,
            Why::AuthenticationRequired,
            Why::OtherCluster("abc".to_owned()),
            Why::Silent,
            Why::Closed,
            Why::Malformed("4 bytes missing".to_owned()),
        ];
        let mut told = String::new();
        for why in whys {
            let report = Sample::empty().bootstrap("kafka:9092", why).report();
            assert_eq!(report.headline.status, Status::Unknown, "{:?}", report.headline);
            let finding = report.findings.iter().find(|finding| finding.slug == super::SLUG).expect("a finding");
            let remedy = finding.remedies.first().expect("a remedy");
            told += &format!("{} -> {}. {}\n", finding.sentence, remedy.title, remedy.why);
        }
        insta::assert_snapshot!(told, @"
        The bootstrap address kafka:9092 is of no use: the host name cannot be resolved (no such host). -> Check the host name. kafka:9092 has no address here. Inside containers or another network names differ.
        The bootstrap address kafka:9092 is of no use: connection refused. -> Check the port, and whether the broker runs. The host of kafka:9092 answers, and nothing listens on that port.
        The bootstrap address kafka:9092 is of no use: unreachable (no route to host). -> Check the address, the route and the firewall. No answer at all from kafka:9092.
        The bootstrap address kafka:9092 is of no use: the connection attempt timed out. -> Check the address, the route and the firewall. No answer at all from kafka:9092.
        The bootstrap address kafka:9092 is of no use: speaks HTTP, not Kafka. -> Check the port. kafka:9092 is a web server. A Kafka listener often has port 9092.
        The bootstrap address kafka:9092 is of no use: speaks TLS, not plaintext Kafka. -> Have Unstuck speak TLS. kafka:9092 is a TLS listener, and `tls` is not set for this cluster. Else use a plaintext listener.
        The bootstrap address kafka:9092 is of no use: closes the connection unless the client logs in (a SASL listener). -> Give Unstuck a login. kafka:9092 wants SASL, and `sasl` is not set for this cluster. Else use a listener without a login.
        The bootstrap address kafka:9092 is of no use: belongs to another cluster (abc). -> Give the other cluster an entry of its own. kafka:9092 belongs to another cluster than the first address that answered; Unstuck does not mix them.
        The bootstrap address kafka:9092 is of no use: accepts connections, but does not answer. -> Look at the process behind it. kafka:9092 accepts connections and answers nothing.
        The bootstrap address kafka:9092 is of no use: accepts connections, then closes them. -> Check what listens there. kafka:9092 accepts connections and closes them: often a load balancer without a live broker, or a TLS listener.
        The bootstrap address kafka:9092 is of no use: malformed answer (4 bytes missing). -> Check what listens there. What kafka:9092 answers is not the Kafka protocol.
        ");
    }

    #[test]
    fn a_known_broker_that_is_down_is_told_once() {
        let sample = Sample::kraft(3, 3, 3).bootstrap("127.0.0.1:9001", Why::Refused).gone(1);
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn another_cluster_is_told_even_if_all_else_is_well() {
        let sample = Sample::kraft(3, 3, 3).bootstrap("other:9092", Why::OtherCluster("abc".to_owned()));
        assert!(slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
