//! Where it listens, if it cannot.

use super::{EXIT_UNAVAILABLE, Failure};

/// An address cannot be listened on: why, and which one could be.
pub(crate) fn cannot_listen(address: std::net::SocketAddr, error: &std::io::Error) -> Failure {
    let (meaning, remedy) = match error.kind() {
        std::io::ErrorKind::AddrInUse => (
            "Another program (perhaps another Unstuck) listens there.",
            format!(
                "End that one, or take another port: --listen {}:{}",
                address.ip(),
                address.port().wrapping_add(1).max(1024)
            ),
        ),
        std::io::ErrorKind::PermissionDenied => {
            ("Ports below 1024 need a special right.", format!("Take a higher port: --listen {}:8080", address.ip()))
        }
        std::io::ErrorKind::AddrNotAvailable => (
            "No network interface of this machine has this address.",
            "Use 127.0.0.1 (this machine only) or 0.0.0.0 (every interface).".to_owned(),
        ),
        _ => ("Pages and API have no place to be served from.", "Try another --listen IP:PORT.".to_owned()),
    };
    Failure { code: EXIT_UNAVAILABLE, message: format!("cannot listen on {address}: {error}\n  {meaning}\n  {remedy}") }
}
