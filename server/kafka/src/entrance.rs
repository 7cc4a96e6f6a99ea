//! How the probe enters a cluster: each connection in TLS and logged in, as the configuration says.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use unstuck_diagnosis::BrokerId;
use unstuck_diagnosis::snapshot::Why;
use unstuck_security::{Security, Tokens};
use unstuck_wire::{Connection, Dial, Login, Peer, WireError, host_of, speaks_tls};

use crate::Surroundings;
use crate::probe::CLIENT_ID;
use crate::shared::Shared;
use crate::why::why;

/// What all connections to one cluster are opened with.
pub(crate) struct Entrance {
    /// In TLS, where that is spoken.
    dialer: Arc<dyn Dial>,
    /// As it is.
    plain: Arc<dyn Dial>,
    login: Option<Arc<dyn Login>>,
    tls: bool,
}

impl Entrance {
    pub(crate) fn new(security: &Security, tokens: Option<Tokens>, surroundings: &Surroundings) -> Self {
        let plain = Arc::clone(&surroundings.dialer);
        Self {
            dialer: security.dialer(Arc::clone(&plain)),
            plain,
            login: security.login(tokens),
            tls: security.tls.is_some(),
        }
    }

    async fn open(&self, address: &str, host: &str, deadline: Duration) -> Result<Connection, WireError> {
        let peer = Peer { address: address.to_owned(), host: host.to_owned() };
        Connection::enter(self.dialer.as_ref(), peer, self.login.clone(), CLIENT_ID, deadline).await
    }

    /// The reason for a failure, where another way of asking tells more: a listener closes a connection without a word if
    /// it is spoken to in plaintext instead of TLS, and the other way round. Each of these questions leaves a line in a log,
    /// so ask only where nothing has worked.
    pub(crate) async fn explain(&self, error: &WireError, address: &str, deadline: Duration) -> Why {
        match error {
            WireError::Closed if !self.tls && speaks_tls(self.plain.as_ref(), address, deadline).await => {
                Why::SpeaksTls
            }
            WireError::Closed | WireError::NotTls if self.tls => match self.in_plaintext(address, deadline).await {
                Ok(()) => Why::SpeaksPlaintext,
                Err(WireError::SpeaksHttp) => Why::SpeaksHttp,
                Err(_) => why(error),
            },
            _ => why(error),
        }
    }

    async fn in_plaintext(&self, address: &str, deadline: Duration) -> Result<(), WireError> {
        let mut connection = Connection::connect_by(self.plain.as_ref(), address, CLIENT_ID, deadline).await?;
        connection.handshake(deadline).await
    }
}

impl fmt::Debug for Entrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entrance").field("tls", &self.tls).field("logs_in", &self.login.is_some()).finish()
    }
}

impl Shared {
    /// Opens a connection to an address of the configuration. Nothing is sent yet.
    pub(crate) async fn connect(&self, address: &str, deadline: Duration) -> Result<Connection, WireError> {
        self.entrance.open(address, host_of(address), deadline).await
    }

    /// Opens a connection to a broker. Wherever it is looked for, it has to prove that it is the host that it advertises.
    pub(crate) async fn connect_broker(
        &self,
        id: BrokerId,
        address: &str,
        deadline: Duration,
    ) -> Result<Connection, WireError> {
        let advertised = self.read(id, |sight| sight.overridden_from.clone());
        let advertised = advertised.as_deref().unwrap_or(address);
        self.entrance.open(address, host_of(advertised), deadline).await
    }
}
