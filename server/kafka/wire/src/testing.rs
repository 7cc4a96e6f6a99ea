//! Listeners for tests: peers that answer, lie, hang or hang up.

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::{Connection, WireError};

/// Generous: what is awaited comes at once or never.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);

/// Serves each connection on a port of its own by `serve`; gives the address.
pub(crate) async fn listen<F, S>(serve: S) -> String
where
    F: Future<Output = Option<()>> + Send,
    S: Fn(Peer) -> F + Send + Copy + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move { serve(Peer { stream }).await });
        }
    });
    address
}

/// Connects and shakes hands.
pub(crate) async fn greet(address: &str, deadline: Duration) -> Result<Connection, WireError> {
    let mut connection = Connection::connect(address, "test", DEADLINE).await?;
    connection.handshake(deadline).await?;
    Ok(connection)
}

/// The other end of a connection.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
}

/// A request as the peer sees it.
pub(crate) struct Asked {
    pub(crate) api: i16,
    pub(crate) version: i16,
    pub(crate) correlation: i32,
    /// The rest of the header, and the body.
    pub(crate) rest: Bytes,
}

impl Peer {
    /// The next request.
    pub(crate) async fn asked(&mut self) -> Option<Asked> {
        let length = self.stream.read_i32().await.ok()?;
        let mut frame = vec![0; usize::try_from(length).ok().filter(|length| *length < 1 << 20)?];
        self.stream.read_exact(&mut frame).await.ok()?;
        let mut frame = Bytes::from(frame);
        let (api, version, correlation) = (frame.get_i16(), frame.get_i16(), frame.get_i32());
        Some(Asked { api, version, correlation, rest: frame })
    }

    /// Answers with these bytes behind the correlation id.
    pub(crate) async fn answer(&mut self, correlation: i32, body: &[u8]) -> Option<()> {
        let mut frame = BytesMut::new();
        frame.put_i32(i32::try_from(body.len()).ok()? + 4);
        frame.put_i32(correlation);
        frame.put_slice(body);
        self.raw(&frame).await
    }

    /// Sends bytes as they are.
    pub(crate) async fn raw(&mut self, bytes: &[u8]) -> Option<()> {
        self.stream.write_all(bytes).await.ok()
    }

    /// Answers ApiVersions with one api: ListGroups in version 0.
    pub(crate) async fn offer_list_groups(&mut self) -> Option<()> {
        let asked = self.asked().await?;
        assert_eq!((asked.api, asked.version), (18, 3));
        // Error 0, one api (compact array), throttle 0, no tags.
        self.answer(asked.correlation, &[0, 0, 2, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await
    }

    /// Says nothing more, and keeps the connection open until the other side ends it.
    pub(crate) async fn hang(&mut self) -> Option<()> {
        let mut rest = [0; 1024];
        while self.stream.read(&mut rest).await.ok()? > 0 {}
        Some(())
    }
}
