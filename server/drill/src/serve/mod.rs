//! The cluster on the network: each broker on a port of its own, or all of them in memory for simulated time. What is
//! true, and when what happens, is the [`World`]'s; here are the clock and the bytes.

mod by_hand;
mod connection;
mod listen;
mod memory;
mod shared;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use unstuck_wire::Dial;

use self::shared::Shared;
use crate::scenario::Scenario;
use crate::scenario::action::Action;
use crate::world::{Status, World};

/// The farthest jump: longer ones only keep a cluster busy with its own clock.
const FARTHEST_JUMP: Duration = Duration::from_secs(30 * 86_400);

/// Where brokers listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Each broker on its own TCP port.
    Loopback {
        /// The host to bind, by address or name, such as `127.0.0.1`. Brokers advertise it as it is written here.
        host: String,
        /// The port of the first broker; the others follow in the order of their ids. `None`: free ones.
        ports: Option<u16>,
    },
}

/// A cluster that is being served. Dropping it ends everything: connections, listeners, the clock.
#[derive(Debug)]
pub struct Drill {
    shared: Arc<Shared>,
}

impl Drill {
    /// Serves a scenario over TCP. To be called inside of a tokio runtime; when it returns, brokers accept.
    ///
    /// # Errors
    /// A host without an address, or a port that cannot be bound.
    pub fn start(name: &str, scenario: Arc<Scenario>, listen: &Listen) -> io::Result<Self> {
        let Listen::Loopback { host, ports } = listen;
        let address = address_of(host)?;
        let brokers = scenario.cluster.brokers.clone();
        let mut held = Vec::new();
        let mut places = Vec::new();
        for (nth, broker) in brokers.iter().enumerate() {
            let port = match ports {
                Some(first) => u16::try_from(usize::from(*first) + nth)
                    .map_err(|_| io::Error::other(format!("broker {broker} would need a port above 65535")))?,
                None => 0,
            };
            let port = listen::HeldPort::bind(address, port)?;
            places.push((*broker, host.clone(), port.number()));
            held.push((*broker, port));
        }
        let shared = Shared::new(name, scenario, places);
        for (broker, port) in held {
            // Before anybody is told that the drill runs, so that nobody is refused who comes at once.
            let listener = if shared.door(broker).borrow().lets_in() { Some(port.listen()?) } else { None };
            shared.tasks.spawn(listen::serve(Arc::clone(&shared), broker, port, listener));
        }
        shared.tasks.spawn(shared::run(Arc::clone(&shared)));
        Ok(Self { shared })
    }

    /// Serves a scenario in memory: brokers advertise `broker-ID.drill:9092` and are reached by [`dialer`](Self::dialer)
    /// alone. To be called inside of a tokio runtime; no real input or output, so that it runs in simulated time.
    #[must_use]
    pub fn in_memory(name: &str, scenario: Arc<Scenario>) -> Self {
        let places = scenario.cluster.brokers.iter().map(|id| (*id, format!("broker-{id}.drill"), 9092)).collect();
        let shared = Shared::new(name, scenario, places);
        shared.tasks.spawn(shared::run(Arc::clone(&shared)));
        Self { shared }
    }

    /// Opens connections to the brokers in memory, also of a drill that is served over TCP. An address that is nobody's
    /// is refused if it is this machine's or numeric, and else a name that cannot be resolved.
    #[must_use]
    pub fn dialer(&self) -> Arc<dyn Dial> {
        Arc::new(memory::Dialer::new(Arc::clone(&self.shared)))
    }

    /// Where brokers are served, each `host:port`, whatever they advertise.
    #[must_use]
    pub fn bootstrap(&self) -> Vec<String> {
        self.shared
            .places
            .iter()
            .map(|(_, host, port)| unstuck_wire::messages::metadata::host_port(host, i32::from(*port)))
            .collect()
    }

    /// How the drill is going.
    #[must_use]
    pub fn status(&self) -> Status {
        let mut status = self.shared.with(|world| world.status());
        status.bootstrap = self.bootstrap();
        status
    }

    /// Somebody does something to the cluster by hand. It is held to the rules of scenario files first; and if it is all
    /// that the next step by hand would do, it is that step.
    ///
    /// # Errors
    /// In words: what does not fit the cluster as it is now, or cannot be done to it.
    pub fn act(&self, action: &Action) -> Result<(), String> {
        self.shared.with(|world| {
            by_hand::check(world, action)?;
            world.act(action)
        })
    }

    /// Lets the next step happen now. `false` if there is none.
    pub fn next(&self) -> bool {
        self.shared.with(World::next)
    }

    /// As [`World::play_on`].
    pub fn play_on(&self) -> bool {
        self.shared.with(World::play_on)
    }

    /// Plays the scenario from its beginning, on the same ports. Connections are reset.
    pub fn restart(&self) {
        self.shared.restart();
    }

    /// Moves scenario time ahead; everything that is due until then happens, each at its own time. Others get at the
    /// drill in between. A restart meanwhile ends it, and so does dropping the future: time stands where it came to.
    ///
    /// # Errors
    /// In words, if it is farther than 30 days.
    pub async fn jump(&self, by: Duration) -> Result<(), String> {
        if by > FARTHEST_JUMP {
            return Err("a jump is at most 30d long".to_owned());
        }
        self.shared.jump(by).await;
        Ok(())
    }

    /// Looks at the cluster, or changes it, as it is now. Everything else of the drill waits meanwhile, so `look` must not
    /// call the drill itself.
    pub fn with<R>(&self, look: impl FnOnce(&mut World) -> R) -> R {
        self.shared.with(look)
    }

    /// A number that goes up with each change that an answer or [`status`](Self::status) could show.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes()
    }

    /// Waits until the drill ends: by [`shutdown`](Self::shutdown), or by itself, which is a defect that has been logged.
    pub async fn ended(&self) {
        self.shared.stop.cancelled().await;
    }

    /// Ends everything and waits until it has ended.
    pub async fn shutdown(&self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }
}

impl Drop for Drill {
    fn drop(&mut self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
    }
}

fn address_of(host: &str) -> io::Result<IpAddr> {
    if let Ok(address) = host.parse() {
        return Ok(address);
    }
    let mut found: Vec<IpAddr> = (host, 0).to_socket_addrs()?.map(|address| address.ip()).collect();
    // `localhost` is often two addresses, and clients begin with either: the older one is everywhere.
    found.sort_by_key(IpAddr::is_ipv6);
    found.first().copied().ok_or_else(|| io::Error::other(format!("{host} has no address")))
}
