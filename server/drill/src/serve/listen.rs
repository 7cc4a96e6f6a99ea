//! A broker's TCP port: kept as long as the drill lasts, and listened on only while the broker lets in.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};

use super::connection;
use super::shared::Shared;
use crate::world::Reachable;

/// After how long it is tried again, where the system could not listen or accept.
const AGAIN: Duration = Duration::from_millis(50);

/// A port that is bound and not listened on: connections to it are refused, and nobody else gets it. Listeners are
/// further sockets on it (`SO_REUSEPORT`), so that it is never free in between.
#[derive(Debug)]
pub(super) struct HeldPort {
    address: SocketAddr,
    /// Only to be held.
    _socket: TcpSocket,
}

impl HeldPort {
    pub(super) fn bind(host: IpAddr, port: u16) -> io::Result<Self> {
        if port != 0 {
            // Sharing a port must not mean to share it with another drill.
            drop(std::net::TcpListener::bind(SocketAddr::new(host, port)).map_err(|error| {
                io::Error::new(error.kind(), format!("port {port} on {host} cannot be bound: {error}"))
            })?);
        }
        // Without `SO_REUSEADDR`, or whoever binds with it would get a port that nobody listens on.
        let socket = socket(SocketAddr::new(host, port), false)?;
        Ok(Self { address: socket.local_addr()?, _socket: socket })
    }

    pub(super) fn number(&self) -> u16 {
        self.address.port()
    }

    pub(super) fn listen(&self) -> io::Result<TcpListener> {
        // With it, so that old connections do not keep the port from the next drill.
        socket(self.address, true)?.listen(1024)
    }
}

fn socket(address: SocketAddr, reuse: bool) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(reuse)?;
    #[cfg(unix)]
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Accepts connections to a broker whenever it lets in.
pub(super) async fn serve(shared: Arc<Shared>, broker: i32, port: HeldPort, listener: Option<TcpListener>) {
    let stop = shared.stop.clone();
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = accept(&shared, broker, &port, listener) => {}
    }
}

async fn accept(shared: &Arc<Shared>, broker: i32, port: &HeldPort, mut listener: Option<TcpListener>) {
    let mut doors = shared.door(broker);
    let mut failed = false;
    loop {
        let door = *doors.borrow_and_update();
        if !door.lets_in() {
            listener = None;
        } else if listener.is_none() {
            match port.listen() {
                Ok(open) => {
                    failed = false;
                    listener = Some(open);
                }
                // The port is held, so only a lack of file descriptors or the like. Told once.
                Err(error) if !failed => {
                    failed = true;
                    tracing::warn!(broker, port = port.number(), "cannot listen, and is trying again: {error}");
                }
                Err(_) => {}
            }
        }
        let accepted = async {
            match &listener {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        let again = async {
            if door.lets_in() && listener.is_none() {
                tokio::time::sleep(AGAIN).await;
            } else {
                std::future::pending().await
            }
        };
        tokio::select! {
            biased;
            () = again => {}
            changed = doors.changed() => if changed.is_err() { return },
            accepted = accepted => match accepted {
                Ok((stream, peer)) if door.reachable != Reachable::Closed => {
                    // Small requests and answers: waiting to fill a segment would only add delay.
                    let _: io::Result<()> = stream.set_nodelay(true);
                    let host = format!("/{}", peer.ip());
                    shared.tasks.spawn(connection::serve(Arc::clone(shared), broker, door.life, host, stream));
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(broker, "cannot accept: {error}");
                    tokio::time::sleep(AGAIN).await;
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::read;

    const DEADLINE: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_broker_that_cannot_listen_tries_again() {
        let text = "title = \"t\"\nstory = \"s\"\n[cluster]\nmode = \"kraft\"\nrelease = \"4.1.1\"\nbrokers = [1]\n";
        let scenario = Arc::new(read(text, "test").expect("a scenario"));
        // Somebody else has the port that is listened on.
        let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = taken.local_addr().expect("an address");
        let held =
            HeldPort { address, _socket: socket("127.0.0.1:0".parse().expect("an address"), false).expect("one") };
        assert!(held.listen().is_err());
        let shared = Shared::new("test", scenario, vec![(1, "127.0.0.1".to_owned(), address.port())]);
        let serving = serve(Arc::clone(&shared), 1, held, None);
        let connecting = async {
            // It has failed by now: it is polled first.
            drop(taken);
            let connects = async {
                while tokio::net::TcpStream::connect(address).await.is_err() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(DEADLINE, connects).await.expect("it listens");
            shared.stop.cancel();
        };
        tokio::join!(biased; serving, connecting);
    }
}
