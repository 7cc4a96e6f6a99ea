//! Addresses as people write them.

use std::net::SocketAddr;

use unstuck_diagnosis::BrokerId;

use super::ConfigError;

/// `a:9092,b:9092` → the addresses, each once, in the order given.
pub(super) fn parse_bootstrap_list(text: &str, place: &str) -> Result<Vec<String>, ConfigError> {
    let mut addresses = Vec::new();
    for one in text.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        let address = check(one, place)?;
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(ConfigError::new(
            format!("{place} names no broker"),
            "Unstuck has to know at least one broker to ask.",
            "Give what your consumers have as bootstrap.servers, for example: localhost:9092",
        ));
    }
    Ok(addresses)
}

/// `2=host:port` → broker 2 is looked for at `host:port`.
pub(super) fn parse_override(text: &str) -> Result<(BrokerId, String), ConfigError> {
    let wrong = || {
        ConfigError::new(
            format!("--broker-address {text:?} is not of the form ID=HOST:PORT"),
            "It says where a broker is reached from here, if not at the address that it advertises.",
            "For example: --broker-address 2=localhost:19092",
        )
    };
    let (id, address) = text.split_once('=').ok_or_else(wrong)?;
    let id = parse_broker_id(id.trim()).ok_or_else(wrong)?;
    Ok((id, check(address.trim(), "--broker-address")?))
}

/// A broker's id: 0 or more.
pub(super) fn parse_broker_id(text: &str) -> Option<BrokerId> {
    text.parse().ok().filter(|id| *id >= 0)
}

/// Checks `host:port` and returns it. IPv6 addresses stand in brackets.
pub(super) fn check(text: &str, place: &str) -> Result<String, ConfigError> {
    let fail = |meaning: &str, remedy: String| {
        Err(ConfigError::new(format!("{place}: {text:?} is not an address of a broker"), meaning, remedy))
    };
    if let Some((scheme, rest)) = text.split_once("://") {
        return fail(
            &format!("The prefix {scheme}:// is not part of the address."),
            format!("Write it without: {}", rest.trim_end_matches('/')),
        );
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, '/' | '@' | '?' | '#' | '"' | '\'')) {
        return fail(
            "It contains a character that no host name has.",
            "Write HOST:PORT, for example: localhost:9092".into(),
        );
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            Some((host, rest)) if host.parse::<std::net::Ipv6Addr>().is_ok() => (host, rest.strip_prefix(':')),
            _ => return fail("What stands in brackets is not an IPv6 address.", "For example: [::1]:9092".into()),
        },
        None => match text.rsplit_once(':') {
            Some((host, _)) if host.contains(':') => {
                return fail(
                    "An IPv6 address needs brackets, so that the port can be told apart.",
                    "For example: [::1]:9092".into(),
                );
            }
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.is_empty() {
        return fail("The host is missing before the colon.", "Write HOST:PORT, for example: localhost:9092".into());
    }
    let Some(port) = port else {
        return fail("The port is missing.", format!("Kafka's usual one is 9092: {text}:9092"));
    };
    match port.parse::<u16>() {
        Ok(1..) => Ok(text.to_owned()),
        Ok(0) | Err(_) => fail(&format!("{port:?} is not a port: 1 to 65535."), format!("For example: {host}:9092")),
    }
}

/// Where to listen: `IP:PORT`; `localhost` is understood too.
pub(super) fn parse_listen(text: &str, place: &str) -> Result<SocketAddr, ConfigError> {
    let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numeric.as_deref().unwrap_or(text).parse().map_err(|_| {
        ConfigError::new(
            format!("{place}: cannot listen on {text:?}"),
            "It has to be the numeric address of a network interface of this machine, and a port.",
            "For example 127.0.0.1:8080 (this machine only), 0.0.0.0:8080 or [::]:8080 (whoever can reach this machine).",
        )
    })
}
