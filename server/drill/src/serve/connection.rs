//! One connection to one broker: requests are answered one after another, as Kafka does (it mutes a channel while it
//! works on a request of it).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;
use unstuck_wire::serve::{self, Asked};

use super::shared::{Door, Shared};
use crate::answer::{self, Answer, Question};
use crate::scenario::action::FaultKind;
use crate::scenario::apis::api_name;
use crate::world::{Met, Reachable};

/// How much is read ahead of the request that is worked on: enough to notice that the peer has gone, no more.
const AHEAD: usize = 1 << 20;

/// A stream that can be torn.
pub(super) trait Torn: AsyncRead + AsyncWrite + Send + Unpin {
    /// Lets the peer see a reset instead of an end, where the two differ.
    fn tear(&self) {}
}

impl Torn for TcpStream {
    fn tear(&self) {
        let _: io::Result<()> = self.set_zero_linger();
    }
}

impl Torn for DuplexStream {}

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// The peer has gone.
    Gone,
    /// It is closed in an orderly way.
    Closed,
    /// It is reset.
    Reset,
}

/// Serves a connection until either side has enough of it.
pub(super) async fn serve<S: Torn>(shared: Arc<Shared>, broker: i32, life: u64, host: String, stream: S) {
    let stop = shared.stop.clone();
    let doors = shared.door(broker);
    let changes = shared.changes();
    let number = shared.number();
    let mut connection =
        Connection { shared, broker, life, host, number, doors, changes, received: BytesMut::new(), stream };
    let over = tokio::select! {
        biased;
        () = stop.cancelled() => Over::Reset,
        over = connection.run() => over,
    };
    tracing::trace!(broker, number, ?over, "a connection is over");
    match over {
        Over::Reset => connection.stream.tear(),
        Over::Closed => drop(connection.stream.shutdown().await),
        Over::Gone => {}
    }
}

struct Connection<S> {
    shared: Arc<Shared>,
    broker: i32,
    /// The life of the broker that it was opened in.
    life: u64,
    host: String,
    number: u64,
    doors: watch::Receiver<Door>,
    changes: watch::Receiver<u64>,
    received: BytesMut,
    stream: S,
}

impl<S: Torn> Connection<S> {
    async fn run(&mut self) -> Over {
        loop {
            match self.step().await {
                Ok(()) => {}
                Err(over) => return over,
            }
        }
    }

    /// Answers one request.
    async fn step(&mut self) -> Result<(), Over> {
        let asked = self.request().await?;
        let api = api_name(asked.api).unwrap_or("");
        let met = self.met(api).await?;
        if met.kind == Some(FaultKind::Reset) {
            return Err(Over::Reset);
        }
        self.pause(met.delay).await?;
        let forced = (met.kind == Some(FaultKind::Error)).then_some(met.code);
        let body = self.answer(&asked, forced).await?;
        let frame = serve::answer_frame(&asked, &body).map_err(|error| {
            tracing::error!(api, "an answer does not fit a frame: {error}");
            Over::Closed
        })?;
        match met.kind {
            Some(FaultKind::HalfAnswer) => {
                self.send(&frame.slice(..frame.len() / 2)).await?;
                self.wait(std::future::pending()).await
            }
            Some(FaultKind::CloseAfterHeader) => {
                self.send(&frame.slice(..frame.len().min(8))).await?;
                Err(Over::Closed)
            }
            Some(FaultKind::Garbage) => {
                let mut garbage = BytesMut::from(frame.as_ref());
                // Whatever is read of it: lengths far beyond the end.
                garbage[8..].fill(0x7f);
                self.send(&garbage.freeze()).await
            }
            _ => self.send(&frame).await,
        }
    }

    /// The next request, once the broker takes it up.
    async fn request(&mut self) -> Result<Asked, Over> {
        loop {
            self.running().await?;
            match serve::next_request(&mut self.received) {
                Ok(Some(asked)) => return Ok(asked),
                Ok(None) => {}
                Err(error) => {
                    tracing::debug!(broker = self.broker, "no request: {error}");
                    return Err(Over::Closed);
                }
            }
            tokio::select! {
                biased;
                changed = self.doors.changed() => if changed.is_err() { return Err(Over::Reset) },
                read = self.stream.read_buf(&mut self.received) => match read {
                    Ok(0) | Err(_) => return Err(Over::Gone),
                    Ok(_) => {}
                },
            }
        }
    }

    /// What happens to the request; not before a hang has ended that meets it.
    async fn met(&mut self, api: &str) -> Result<Met, Over> {
        loop {
            self.changes.mark_unchanged();
            let met = self.shared.with(|world| world.met(self.broker, api));
            if met.kind != Some(FaultKind::Hang) {
                return Ok(met);
            }
            self.changed(None).await?;
        }
    }

    async fn answer(&mut self, asked: &Asked, forced: Option<i16>) -> Result<Bytes, Over> {
        let since = Instant::now();
        loop {
            self.running().await?;
            self.changes.mark_unchanged();
            let question = Question {
                broker: self.broker,
                asked,
                forced,
                waited: since.elapsed(),
                connection: self.number,
                host: &self.host,
            };
            let answer = self.shared.with(|world| answer::answer(world, &question));
            match answer {
                Answer::Body(body, delay) => {
                    self.pause(delay).await?;
                    return Ok(body.freeze());
                }
                Answer::Wait(longest) => self.changed(Some(longest)).await?,
                Answer::Close => {
                    let (broker, api, version) = (self.broker, asked.api, asked.version);
                    tracing::debug!(broker, api, version, "not answered: the connection is closed");
                    return Err(Over::Closed);
                }
            }
        }
    }

    async fn send(&mut self, bytes: &Bytes) -> Result<(), Over> {
        self.running().await?;
        let Self { stream, doors, life, .. } = self;
        // A peer that does not read must not keep a broker alive that stops.
        tokio::select! {
            biased;
            _ = doors.wait_for(|door| door.life != *life) => Err(Over::Reset),
            sent = stream.write_all(bytes) => sent.map_err(|_| Over::Gone),
        }
    }

    /// Waits until the broker does anything at all; ends if it has gone since the connection was opened.
    async fn running(&mut self) -> Result<(), Over> {
        loop {
            let door = *self.doors.borrow_and_update();
            if door.life != self.life {
                return Err(Over::Reset);
            }
            if door.reachable != Reachable::Hangs {
                return Ok(());
            }
            let mut doors = self.doors.clone();
            self.wait(async move { drop(doors.changed().await) }).await?;
        }
    }

    /// Waits until the world has changed, or for so long.
    async fn changed(&mut self, longest: Option<Duration>) -> Result<(), Over> {
        let mut changes = self.changes.clone();
        let change = async move {
            match longest {
                Some(longest) => drop(tokio::time::timeout(longest, changes.changed()).await),
                None => drop(changes.changed().await),
            }
        };
        self.wait(change).await
    }

    async fn pause(&mut self, time: Duration) -> Result<(), Over> {
        if time.is_zero() {
            return Ok(());
        }
        self.wait(tokio::time::sleep(time)).await
    }

    /// Waits for something, but not longer than the peer and the broker last.
    async fn wait(&mut self, what: impl Future<Output = ()>) -> Result<(), Over> {
        let mut what = std::pin::pin!(what);
        let life = self.life;
        loop {
            let room = self.received.len() < AHEAD;
            let Self { stream, doors, received, .. } = self;
            tokio::select! {
                biased;
                _ = doors.wait_for(|door| door.life != life) => return Err(Over::Reset),
                () = &mut what => return Ok(()),
                read = stream.read_buf(received), if room => match read {
                    Ok(0) | Err(_) => return Err(Over::Gone),
                    Ok(_) => {}
                },
            }
        }
    }
}
