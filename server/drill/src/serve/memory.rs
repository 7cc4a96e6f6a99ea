//! Connections in memory.

use std::net::IpAddr;
use std::sync::Arc;

use tokio::time::Instant;
use unstuck_wire::{Dial, Dialing, Stream, WireError};

use super::connection;
use super::shared::Shared;
use crate::world::Reachable;

/// How many bytes may be under way in each direction.
const PIPE: usize = 256 << 10;

pub(super) struct Dialer {
    shared: Arc<Shared>,
}

impl Dialer {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    fn open(&self, address: &str) -> Result<Box<dyn Stream>, WireError> {
        let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
        let host = host.trim_matches(['[', ']']);
        let found = self.shared.places.iter().find(|(_, name, at)| name == host && port.parse() == Ok(*at));
        let Some((broker, ..)) = found else {
            let known = self.shared.places.iter().any(|(_, name, _)| name == host);
            return Err(if known || host == "localhost" || host.parse::<IpAddr>().is_ok() {
                WireError::Refused
            } else {
                WireError::NameNotFound("failed to lookup address information: Name or service not known".to_owned())
            });
        };
        let door = *self.shared.door(*broker).borrow();
        if door.reachable == Reachable::Refused || self.shared.stop.is_cancelled() {
            return Err(WireError::Refused);
        }
        let (near, far) = tokio::io::duplex(PIPE);
        if door.reachable != Reachable::Closed {
            let host = "/127.0.0.1".to_owned();
            self.shared.tasks.spawn(connection::serve(Arc::clone(&self.shared), *broker, door.life, host, far));
        }
        Ok(Box::new(near))
    }
}

impl Dial for Dialer {
    fn dial<'a>(&'a self, address: &'a str, _until: Instant) -> Dialing<'a> {
        Box::pin(async move { self.open(address) })
    }
}
