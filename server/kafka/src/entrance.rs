//! How the probe enters a cluster: each connection in TLS and logged in, as the configuration says.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use unstuck_diagnosis::BrokerId;
use unstuck_diagnosis::snapshot::Why;
use unstuck_security::{Security, Tickets, Tokens};
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
    pub(crate) fn new(
        security: &Security,
        tokens: Option<Tokens>,
        tickets: Option<Tickets>,
        surroundings: &Surroundings,
    ) -> Self {
        let plain = Arc::clone(&surroundings.dialer);
        Self {
            dialer: security.dialer(Arc::clone(&plain)),
            plain,
            login: security.login(tokens, tickets),
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::time::Instant;
    use unstuck_wire::messages::metadata::BrokerAddress;
    use unstuck_wire::{Dial, Dialing};

    use super::*;
    use crate::ClusterConfig;

    /// Refuses everybody, and remembers whom it was to reach, and as whom.
    #[derive(Default)]
    struct Asked(Mutex<Vec<(String, String)>>);

    impl Dial for Asked {
        fn dial<'a>(&'a self, _: &'a str, _: Instant) -> Dialing<'a> {
            Box::pin(async { Err(WireError::Refused) })
        }

        fn dial_as<'a>(&'a self, address: &'a str, host: &'a str, until: Instant) -> Dialing<'a> {
            self.0.lock().expect("no panic").push((address.to_owned(), host.to_owned()));
            self.dial(address, until)
        }
    }

    #[tokio::test]
    async fn a_broker_behind_a_tunnel_has_to_be_the_host_that_it_advertises() {
        let asked = Arc::new(Asked::default());
        let mut config = ClusterConfig::new("test", vec!["way-in.example:9093".to_owned()]);
        config.broker_addresses.insert(1, "127.0.0.1:19093".to_owned());
        let dialer: Arc<dyn Dial> = Arc::<Asked>::clone(&asked);
        let shared = Shared::new(config, Surroundings { dialer, ..Surroundings::default() });
        let told = |address: &str| BrokerAddress { address: address.to_owned(), rack: None };
        shared.learn(&[(1, told("kafka-1.example:9093")), (2, told("[fd00::2]:9093"))].into());
        let deadline = Duration::from_secs(10);
        for id in [1, 2] {
            let address = shared.address(id).expect("an address");
            let refused = shared.connect_broker(id, &address, deadline).await.err();
            assert_eq!(refused, Some(WireError::Refused));
        }
        shared.connect("way-in.example:9093", deadline).await.err();
        let wanted = [
            ("127.0.0.1:19093", "kafka-1.example"),
            ("[fd00::2]:9093", "fd00::2"),
            ("way-in.example:9093", "way-in.example"),
        ];
        let wanted = wanted.map(|(address, host)| (address.to_owned(), host.to_owned()));
        assert_eq!(*asked.0.lock().expect("no panic"), wanted);
    }
}
