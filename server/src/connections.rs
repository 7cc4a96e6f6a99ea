//! Connections: how many there are, what each may take, and their end.
//!
//! HTTP/1.1 only. A client that is slow is given up rather than waited for: at the handshake, at the head of a request
//! (also between two requests), and at taking what it asked for. How long a body may take is seen to by the guard around
//! each request. A stream of events lasts: it sends something every few seconds, so it is never at a standstill.

mod patient;
#[cfg(test)]
mod tests;
pub(crate) mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::access::Peer;
use patient::Patient;
use tls::Tls;

/// What one server takes upon itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How many connections there are at once; more wait to be accepted.
    pub(crate) connections: usize,
    /// How long a TLS handshake may take.
    pub(crate) handshake: Duration,
    /// How long the head of a request may take, and how long a connection may be idle between two of them.
    pub(crate) head: Duration,
    /// How large the head of a request may be, in bytes. The longest address is 64 KiB.
    pub(crate) head_bytes: usize,
    /// How long a client may take nothing of an answer.
    pub(crate) standstill: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1_024,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(15),
            head_bytes: 128 * 1024,
            standstill: Duration::from_secs(30),
        }
    }
}

/// How long after a failure that is not one client's (no file descriptors, say) the next one is accepted.
const PAUSE: Duration = Duration::from_secs(1);

/// Answers on `listener` until `stop` is cancelled. Connections end by themselves then: await `connections` as long as
/// that is worth it.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Router,
    tls: Option<Arc<Tls>>,
    limits: Limits,
    connections: &TaskTracker,
    stop: &CancellationToken,
) {
    let places = Arc::new(Semaphore::new(limits.connections));
    loop {
        let accepted = async {
            // Never closed.
            let place = Arc::clone(&places).acquire_owned().await.ok()?;
            Some((place, listener.accept().await))
        };
        let (place, stream, from) = tokio::select! {
            () = stop.cancelled() => return,
            accepted = accepted => match accepted {
                Some((place, Ok((stream, from)))) => (place, stream, from),
                // The client went away before it was let in.
                Some((_, Err(error))) if of_the_client(&error) => continue,
                Some((_, Err(error))) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                None => return,
            },
        };
        let (app, tls, stop) = (app.clone(), tls.clone(), stop.clone());
        connections.spawn(async move {
            connection(stream, from, app, tls, limits, &stop).await;
            drop(place);
        });
    }
}

fn of_the_client(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn connection(
    stream: TcpStream,
    from: SocketAddr,
    app: Router,
    tls: Option<Arc<Tls>>,
    limits: Limits,
    stop: &CancellationToken,
) {
    // Small answers must not wait for the acknowledgement of earlier ones.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let Some(tls) = tls else { return answer(stream, from, app, limits, stop).await };
    let handshake = tokio::time::timeout(limits.handshake, tls.acceptor().accept(stream));
    let handshake = tokio::select! {
        () = stop.cancelled() => return,
        handshake = handshake => handshake,
    };
    match handshake {
        Ok(Ok(stream)) => answer(stream, from, app, limits, stop).await,
        Ok(Err(error)) => tracing::debug!(%from, %error, "no TLS handshake"),
        Err(_) => tracing::debug!(%from, "no TLS handshake in time"),
    }
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    from: SocketAddr,
    app: Router,
    limits: Limits,
    stop: &CancellationToken,
) {
    let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(from));
        app.clone().oneshot(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(limits.head_bytes)
        .serve_connection(TokioIo::new(Patient::new(stream, limits.standstill)), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%from, %error, "a connection ended early");
    }
}
