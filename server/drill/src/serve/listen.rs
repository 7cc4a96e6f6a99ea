//! A broker's TCP port: kept as long as the drill lasts, and listened on only while the broker lets in.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpSocket};

use super::connection;
use super::shared::Shared;
use crate::world::Reachable;

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
    loop {
        let door = *doors.borrow_and_update();
        if !door.lets_in() {
            listener = None;
        } else if listener.is_none() {
            match port.listen() {
                Ok(open) => listener = Some(open),
                // The port is held, so only a lack of file descriptors or the like.
                Err(error) => tracing::warn!(broker, port = port.number(), "cannot listen: {error}"),
            }
        }
        let accepted = async {
            match &listener {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
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
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
            },
        }
    }
}
