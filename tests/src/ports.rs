//! Free ports on 127.0.0.1, below the range from which the system takes ports of outgoing connections.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Result, bail};

const FIRST: u32 = 23_000;
const COUNT: u32 = 9_000;

/// A port that was free a moment ago and that this process has not handed out before. Another process may still take
/// it first, so whoever listens there must be ready to try again with another.
///
/// # Errors
/// If none of 9,000 ports is free.
pub fn free_port() -> Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    for _ in 0..COUNT {
        // Processes begin at different places, so that two of them seldom meet.
        let offset = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id().wrapping_mul(101)) % COUNT;
        let port = u16::try_from(FIRST + offset)?;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port from {FIRST} to {}", FIRST + COUNT - 1)
}

/// Ports of one broker.
#[derive(Clone, Copy, Debug)]
pub struct BrokerPorts {
    /// The ordinary plaintext listener.
    pub plaintext: u16,
    /// The KRaft controller listener, in combined nodes.
    pub controller: u16,
    /// With [`Options::odd_listeners`](crate::cluster::Options::odd_listeners) or [`Options::authorizer`](crate::cluster::Options::authorizer): wants a SASL login.
    pub sasl: u16,
    /// With [`Options::odd_listeners`](crate::cluster::Options::odd_listeners): TLS.
    pub tls: u16,
    /// With [`Options::odd_listeners`](crate::cluster::Options::odd_listeners): plaintext, but the address that it advertises is a closed port.
    pub nowhere: u16,
    /// The closed port that it advertises.
    pub closed: u16,
    /// With [`Options::secured`](crate::cluster::Options::secured): TLS and a login.
    pub sasl_ssl: u16,
    /// With [`Options::secured`](crate::cluster::Options::secured): TLS with client certificates.
    pub mutual_tls: u16,
    /// With [`Options::secured`](crate::cluster::Options::secured): a login without TLS.
    pub sasl_plaintext: u16,
    /// With [`Options::secured`](crate::cluster::Options::secured): TLS with a certificate that is for another host.
    pub other_host: u16,
    /// With [`Options::secured`](crate::cluster::Options::secured): TLS with a certificate that has expired.
    pub expired: u16,
    /// With [`Options::kerberos`](crate::cluster::Options::kerberos): a login with a ticket.
    pub kerberos: u16,
}

impl BrokerPorts {
    pub(crate) fn free() -> Result<Self> {
        Ok(Self {
            plaintext: free_port()?,
            controller: free_port()?,
            sasl: free_port()?,
            tls: free_port()?,
            nowhere: free_port()?,
            closed: free_port()?,
            sasl_ssl: free_port()?,
            mutual_tls: free_port()?,
            sasl_plaintext: free_port()?,
            other_host: free_port()?,
            expired: free_port()?,
            kerberos: free_port()?,
        })
    }
}
