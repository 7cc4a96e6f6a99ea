//! Opening a connection, and telling apart why it cannot be opened.

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use crate::WireError;
use crate::error::plain;

/// Two directions of bytes, such as a TCP connection or one end of an in-memory pipe.
///
/// Whatever has to be exchanged before the first byte, as in TLS, is exchanged while it is flushed: so a peer that leaves
/// that unanswered is told from one that cannot be connected to, and may be waited for again.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A connection attempt under way.
pub type Dialing<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn Stream>, WireError>> + Send + 'a>>;

/// Opens connections. [`Tcp`] is the real one; the checks of drills hand in one that leads to scripted brokers in
/// memory, so that a long incident can be watched in simulated time.
pub trait Dial: Send + Sync {
    /// Connects to `host:port`. The caller waits until `until` and takes an attempt that is not through by then for
    /// [`WireError::ConnectTimeout`], so an implementation may ignore the deadline, and may never complete.
    ///
    /// # Errors
    /// Why there is no connection: [`WireError::NameNotFound`], [`WireError::Refused`], [`WireError::Unreachable`],
    /// [`WireError::ConnectTimeout`], or [`WireError::Closed`] for one that was reset at once.
    fn dial<'a>(&'a self, address: &'a str, until: Instant) -> Dialing<'a>;

    /// As [`dial`](Self::dial), to a peer that has to prove that it is `host`, where proofs are given (TLS). That is not
    /// the host of `address` where a tunnel leads to the peer.
    ///
    /// # Errors
    /// As [`dial`](Self::dial), and [`WireError::Unusable`] if certificates or keys of ours cannot be used.
    fn dial_as<'a>(&'a self, address: &'a str, host: &'a str, until: Instant) -> Dialing<'a> {
        // No proofs are given without TLS.
        let _ = host;
        self.dial(address, until)
    }
}

/// The host of `host:port`, without the brackets of an IPv6 address.
#[must_use]
pub fn host_of(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Connections over TCP: each address of the name is tried in turn within the deadline.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp;

impl Dial for Tcp {
    fn dial<'a>(&'a self, address: &'a str, until: Instant) -> Dialing<'a> {
        Box::pin(async move {
            let stream: Box<dyn Stream> = Box::new(tcp(address, until).await?);
            Ok(stream)
        })
    }
}

/// Connects through `dialer`, and waits no longer than until then.
pub(crate) async fn dial(
    dialer: &dyn Dial,
    address: &str,
    host: &str,
    until: Instant,
) -> Result<Box<dyn Stream>, WireError> {
    timeout_at(until, dialer.dial_as(address, host, until)).await.unwrap_or(Err(WireError::ConnectTimeout))
}

async fn tcp(address: &str, until: Instant) -> Result<TcpStream, WireError> {
    let resolved: Vec<SocketAddr> = match timeout_at(until, tokio::net::lookup_host(address)).await {
        Ok(Ok(found)) => found.collect(),
        Ok(Err(error)) => return Err(WireError::NameNotFound(plain(&error))),
        Err(_) => return Err(WireError::NameNotFound("the resolver did not answer in time".to_owned())),
    };
    let mut worst = WireError::NameNotFound("the name has no address".to_owned());
    for (at, target) in resolved.iter().enumerate() {
        let left = until.saturating_duration_since(Instant::now());
        // A black hole among several addresses must not eat the time of the others.
        let share = left / u32::try_from(resolved.len() - at).unwrap_or(1);
        let failure = match timeout(share, TcpStream::connect(target)).await {
            Ok(Ok(stream)) => {
                // Small requests and answers: waiting to fill a segment would only add delay.
                let _: std::io::Result<()> = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => WireError::from_connect(&error),
            Err(_) => WireError::ConnectTimeout,
        };
        if rank(&failure) > rank(&worst) {
            worst = failure;
        }
    }
    Err(worst)
}

/// Which failure says most when several addresses of one name fail differently (`localhost` is often two addresses,
/// of which one always refuses).
fn rank(failure: &WireError) -> u8 {
    match failure {
        WireError::ConnectTimeout => 4,
        WireError::Closed => 3,
        WireError::Refused => 2,
        WireError::Unreachable(_) => 1,
        _ => 0,
    }
}

/// A TLS 1.2 ClientHello without extensions: a TLS server answers it with a ServerHello or an alert, never with silence.
const CLIENT_HELLO: &[u8] = &[
    0x16, 0x03, 0x01, 0x00, 0x37, // handshake record, 55 bytes
    0x01, 0x00, 0x00, 0x33, // ClientHello, 51 bytes
    0x03, 0x03, // TLS 1.2
    0x75, 0x6e, 0x73, 0x74, 0x75, 0x63, 0x6b, 0x20, 0x61, 0x73, 0x6b, 0x73, 0x3a, 0x20, 0x69, 0x73, // "random"
    0x20, 0x74, 0x68, 0x69, 0x73, 0x20, 0x61, 0x20, 0x54, 0x4c, 0x53, 0x20, 0x70, 0x6f, 0x72, 0x74, //
    0x00, // no session
    0x00, 0x0c, 0xc0, 0x2f, 0xc0, 0x30, 0xc0, 0x2b, 0x00, 0x9c, 0x00, 0x2f, 0x00, 0x35, // six cipher suites
    0x01, 0x00, // no compression
];

/// Whether the address answers a TLS handshake.
///
/// Many TLS listeners, Kafka's among them, close a plaintext connection without a word; this tells them apart from
/// listeners that close for another reason. A plaintext Kafka listener takes it for an oversized frame, logs a warning
/// and closes the connection, so ask only where plaintext has failed.
pub async fn speaks_tls(dialer: &dyn Dial, address: &str, deadline: Duration) -> bool {
    let until = Instant::now() + deadline;
    let asked = async {
        let mut stream = dial(dialer, address, host_of(address), until).await.ok()?;
        stream.write_all(CLIENT_HELLO).await.ok()?;
        let mut head = [0_u8; 2];
        stream.read_exact(&mut head).await.ok()?;
        Some(is_tls(&head))
    };
    timeout_at(until, asked).await.ok().flatten().unwrap_or(false)
}

/// Whether bytes begin a TLS record: an alert (0x15) or a handshake (0x16) of any version 3.x.
pub(crate) fn is_tls(head: &[u8]) -> bool {
    matches!(head, [0x15 | 0x16, 0x03, ..])
}

/// Whether bytes begin an HTTP answer, or the bare HTML that some servers send for what they take for HTTP 0.9.
pub(crate) fn is_http(head: &[u8]) -> bool {
    [b"HTTP".as_slice(), b"<!DO", b"<!do", b"<htm", b"<HTM", b"<?xm"].iter().any(|start| head.starts_with(start))
}
