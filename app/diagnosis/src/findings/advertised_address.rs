//! `advertised-address-looks-wrong`: brokers advertise addresses that clients elsewhere cannot use.
//!
//! Catalogue row 19: localhost, 0.0.0.0, a container's id, a name without a domain, a name that does not resolve. Unstuck
//! may reach such a broker (it runs beside it, or has an override) while clients do not. Quiet where we ourselves came by
//! a loopback address: laptops and drills.

use std::collections::BTreeMap;

use super::{Context, Rule, capital, finding, likely, not_seen, seen_, step};
use crate::handbook::Entry;
use crate::report::{Finding, Severity};
use crate::snapshot::{BrokerSight, Why};
use crate::{BrokerId, words};

const SLUG: &str = "advertised-address-looks-wrong";

pub(super) const RULE: Rule = Rule {
    entries: &[Entry {
        slug: SLUG,
        title: "A broker advertises an address that clients elsewhere cannot use",
        severity: "warning; info for a host name without a domain",
        means: "The bootstrap address is only the way in: for everything else a client connects to the address that each \
                broker advertises. An address that works beside the broker only (localhost, the name of a container, a name \
                of another network) makes clients find their coordinator and fail to reach it, for ever, with a cluster \
                that is healthy.",
        opens: "An advertised host is a loopback address while we came by another one, is 0.0.0.0, looks like the id of a \
                container, cannot be resolved from here, or has no domain although the bootstrap address is a full name or \
                an IP address.",
        closes: "The broker advertises another address.",
        not_told: "Whether clients can use it: they may sit where it works. Unstuck sees it from its own place only.",
        clients_see: "Java loops over \"Discovered group coordinator\" and \"Group coordinator is unavailable\"; others fail \
                      with a name that cannot be resolved, or with a refused connection to localhost.",
        way_out: "Set advertised.listeners of the broker to an address that clients can resolve and reach, and restart it. \
                  Clients on two networks need two listeners.",
        never: "Do not mend it with entries in the hosts file of single clients: the next one hangs again.",
        twins: &[
            (
                "broker-not-reachable",
                "The address does not work for Unstuck either: then what the broker coordinates is \
                                      unknown.",
            ),
            ("listener-missing", "The broker has no address at all on this listener."),
        ],
        versions: "all",
        sources: &["advertised.listeners (broker setting)"],
        ..Entry::BLANK
    }],
    check,
};

/// What is odd about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Odd {
    Unspecified,
    Loopback,
    Unresolvable,
    Container,
    NoDomain,
}

fn check(context: &Context<'_, '_>) -> Vec<Finding> {
    let facts = context.facts;
    let ways: Vec<&str> = facts.snapshot.bootstrap.keys().map(|address| host(address)).collect();
    let mut odd: BTreeMap<Odd, Vec<(BrokerId, String)>> = BTreeMap::new();
    for (&id, sight) in &facts.snapshot.brokers {
        let Some(address) = sight.overridden_from.as_ref().or(sight.address.as_ref()) else { continue };
        if let Some(kind) = judge(sight, host(address), &ways) {
            odd.entry(kind).or_default().push((id, address.clone()));
        }
    }
    odd.into_iter().map(|(kind, brokers)| explain(kind, &brokers)).collect()
}

/// The host of `host:port`; brackets of IPv6 addresses are left out.
fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<core::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_name(host: &str) -> bool {
    host.parse::<core::net::IpAddr>().is_err()
}

fn has_domain(host: &str) -> bool {
    !is_name(host) || host.trim_end_matches('.').contains('.')
}

/// The id of a container, as Docker sets it as host name: 12 hexadecimal digits.
fn is_container_id(host: &str) -> bool {
    host.len() == 12 && host.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn judge(sight: &BrokerSight, host: &str, ways: &[&str]) -> Option<Odd> {
    let unspecified = host.parse::<core::net::IpAddr>().is_ok_and(|address| address.is_unspecified());
    let elsewhere = !ways.is_empty() && !ways.iter().any(|way| is_loopback(way));
    let trouble = sight.contact.trouble.as_ref().map(|trouble| &trouble.why);
    if unspecified {
        Some(Odd::Unspecified)
    } else if is_loopback(host) {
        elsewhere.then_some(Odd::Loopback)
    } else if is_container_id(host) {
        Some(Odd::Container)
    } else if matches!(trouble, Some(Why::NameNotFound(_))) && sight.overridden_from.is_none() {
        Some(Odd::Unresolvable)
    } else if !has_domain(host) {
        (elsewhere && ways.iter().all(|way| has_domain(way))).then_some(Odd::NoDomain)
    } else {
        None
    }
}

fn explain(kind: Odd, brokers: &[(BrokerId, String)]) -> Finding {
    let ids: Vec<_> = brokers.iter().map(|(id, _)| *id).collect();
    let who = capital(&words::brokers(&ids));
    let (advertises, one) = if ids.len() == 1 { ("advertises", true) } else { ("advertise", false) };
    let an = |what: &str| if one { format!("a {what}") } else { format!("{what}es") };
    let sentence = match kind {
        Odd::Unspecified => format!("{who} {advertises} 0.0.0.0, which is no address that a client can connect to."),
        Odd::Loopback => {
            format!("{who} {advertises} {}: clients on other machines connect to themselves.", an("loopback address"))
        }
        Odd::Unresolvable => format!("{who} {advertises} a host name that cannot be resolved from here."),
        Odd::Container => {
            format!("{who} {advertises} what looks like the id of a container: nobody outside of it can resolve that.")
        }
        Odd::NoDomain => {
            format!("{who} {advertises} a host name without a domain: clients of other networks may not resolve it.")
        }
    };
    let severity = if kind == Odd::NoDomain { Severity::Info } else { Severity::Warning };
    let mut finding = finding(SLUG, severity, sentence);
    finding.outlook = Some(
        "Clients find their coordinator and fail to reach it, if they sit where that address does not work.".to_owned(),
    );
    for (id, address) in brokers {
        finding.evidence.push(seen_(format!("Broker {id} advertises {}.", crate::visible(address))));
    }
    if kind == Odd::Container {
        finding
            .evidence
            .push(likely("A container's host name is its id where none is set, and changes each time.".to_owned()));
    }
    finding.evidence.push(not_seen("Whether clients can use it: that depends on where they are.".to_owned()));
    let brokers = words::brokers(&ids);
    finding.remedies.push(step(
        format!("Set advertised.listeners of {brokers} to an address that clients can resolve and reach"),
        "Then restart. Clients on two networks (inside and outside of containers, say) need two listeners.",
    ));
    finding.brokers = ids;
    finding
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sample, slugs, text};
    use crate::snapshot::Why;

    /// Reached by this address instead of the loopback one.
    fn by(sample: Sample, way: &str) -> Sample {
        let mut sample = sample;
        if let Some((_, sight)) = sample.snapshot.bootstrap.pop_first() {
            sample.snapshot.bootstrap.insert(way.to_owned(), sight);
        }
        sample
    }

    #[test]
    fn every_odd_address() {
        let sample = by(Sample::kraft(3, 6, 3), "kafka.example.com:9092");
        let sample = sample.address(1, "localhost:9092").address(2, "5f1c2d9e8a7b:9092").address(3, "kafka-3:9092");
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [warning] Broker 1 advertises a loopback address: clients on other machines connect to themselves.
          outlook: Clients find their coordinator and fail to reach it, if they sit where that address does not work.
          seen: Broker 1 advertises localhost:9092.
          not seen: Whether clients can use it: that depends on where they are.
          -> Set advertised.listeners of broker 1 to an address that clients can resolve and reach: Then restart. Clients on two networks (inside and outside of containers, say) need two listeners.
        [warning] Broker 2 advertises what looks like the id of a container: nobody outside of it can resolve that.
          outlook: Clients find their coordinator and fail to reach it, if they sit where that address does not work.
          seen: Broker 2 advertises 5f1c2d9e8a7b:9092.
          likely: A container's host name is its id where none is set, and changes each time.
          not seen: Whether clients can use it: that depends on where they are.
          -> Set advertised.listeners of broker 2 to an address that clients can resolve and reach: Then restart. Clients on two networks (inside and outside of containers, say) need two listeners.
        [info] Broker 3 advertises a host name without a domain: clients of other networks may not resolve it.
          outlook: Clients find their coordinator and fail to reach it, if they sit where that address does not work.
          seen: Broker 3 advertises kafka-3:9092.
          not seen: Whether clients can use it: that depends on where they are.
          -> Set advertised.listeners of broker 3 to an address that clients can resolve and reach: Then restart. Clients on two networks (inside and outside of containers, say) need two listeners.
        ");
    }

    #[test]
    fn a_name_that_does_not_resolve() {
        let sample = Sample::kraft(3, 6, 3).address(1, "kafka-1.internal:9092");
        let sample = sample.trouble(1, Why::NameNotFound("no such host".to_owned()));
        insta::assert_snapshot!(text(&sample.report(), super::SLUG), @"
        [warning] Broker 1 advertises a host name that cannot be resolved from here.
          outlook: Clients find their coordinator and fail to reach it, if they sit where that address does not work.
          seen: Broker 1 advertises kafka-1.internal:9092.
          not seen: Whether clients can use it: that depends on where they are.
          -> Set advertised.listeners of broker 1 to an address that clients can resolve and reach: Then restart. Clients on two networks (inside and outside of containers, say) need two listeners.
        ");
    }

    #[test]
    fn laptops_and_drills_are_quiet() {
        assert!(!slugs(&Sample::kraft(3, 6, 3).report()).contains(&super::SLUG.to_owned()));
        let names =
            by(Sample::kraft(3, 6, 3), "kafka:9092").address(1, "kafka:9092").address(2, "kafka2.example.com:9092");
        let names = names.address(3, "10.0.0.3:9092");
        assert!(!slugs(&names.report()).contains(&super::SLUG.to_owned()));
    }

    #[test]
    fn without_a_way_in_nothing_can_be_compared() {
        let mut sample = Sample::kraft(3, 6, 3);
        sample.snapshot.bootstrap.clear();
        assert!(!slugs(&sample.report()).contains(&super::SLUG.to_owned()));
    }
}
