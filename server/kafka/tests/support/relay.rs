//! Connections to a drill that pass a place where requests are counted, or bytes changed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use unstuck_drill::serve::Drill;
use unstuck_wire::serve::{Asked, api_name, next_request};
use unstuck_wire::{Dial, Dialing, Stream};

/// How many bytes may be under way in each direction.
const IN_FLIGHT: usize = 64 << 10;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// To the broker.
    Asking,
    /// From the broker.
    Answering,
}

/// Looks at what passes, or changes it.
pub(crate) trait Meddle: Send + Sync + 'static {
    /// These bytes pass, on the connection with this number.
    fn pass(&self, connection: u64, way: Way, bytes: &mut [u8]);
}

/// Passes connections on to a drill.
pub(crate) struct Relay<M> {
    drill: Arc<dyn Dial>,
    meddler: Arc<M>,
    opened: AtomicU64,
    connections: Mutex<CancellationToken>,
}

impl<M: Meddle> Relay<M> {
    /// In front of this drill.
    pub(crate) fn new(drill: &Drill, meddler: Arc<M>) -> Arc<Self> {
        Arc::new(Self { drill: drill.dialer(), meddler, opened: AtomicU64::new(0), connections: Mutex::default() })
    }

    /// Accepts connections to one broker also over TCP, until the test's runtime ends.
    pub(crate) fn accept(self: &Arc<Self>, listener: TcpListener, address: String) {
        let relay = Arc::clone(self);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if let Ok(far) = relay.drill.dial(&address, Instant::now()).await {
                    relay.join(stream, far);
                }
            }
        });
    }

    /// Ends all connections, as somebody between the two may.
    pub(crate) fn hang_up(&self) {
        std::mem::take(&mut *self.connections.lock().expect("no panic")).cancel();
    }

    fn join(&self, near: impl Stream + 'static, far: Box<dyn Stream>) {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let meddler = Arc::clone(&self.meddler);
        let until = self.connections.lock().expect("no panic").clone();
        let (from_near, to_near) = tokio::io::split(near);
        let (from_far, to_far) = tokio::io::split(far);
        tokio::spawn(until.run_until_cancelled_owned(async move {
            // Either side's end is the end of both.
            tokio::select! {
                biased;
                _ = pass(meddler.as_ref(), number, Way::Asking, from_near, to_far) => {}
                _ = pass(meddler.as_ref(), number, Way::Answering, from_far, to_near) => {}
            }
        }));
    }
}

impl<M: Meddle> Dial for Relay<M> {
    fn dial<'a>(&'a self, address: &'a str, until: Instant) -> Dialing<'a> {
        Box::pin(async move {
            let far = self.drill.dial(address, until).await?;
            let (near, theirs) = tokio::io::duplex(IN_FLIGHT);
            self.join(theirs, far);
            let stream: Box<dyn Stream> = Box::new(near);
            Ok(stream)
        })
    }
}

async fn pass(
    meddler: &impl Meddle,
    number: u64,
    way: Way,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) -> Option<()> {
    let mut bytes = BytesMut::with_capacity(IN_FLIGHT);
    while from.read_buf(&mut bytes).await.ok()? > 0 {
        meddler.pass(number, way, &mut bytes);
        to.write_all(&bytes).await.ok()?;
        bytes.clear();
    }
    Some(())
}

/// All requests that passed.
#[derive(Default)]
pub(crate) struct Requests {
    log: watch::Sender<Vec<Asked>>,
    /// The beginnings of requests that have not passed as a whole, by connection.
    begun: Mutex<BTreeMap<u64, BytesMut>>,
}

impl Meddle for Requests {
    fn pass(&self, connection: u64, way: Way, bytes: &mut [u8]) {
        if way == Way::Answering {
            return;
        }
        let mut begun = self.begun.lock().expect("no panic");
        let received = begun.entry(connection).or_default();
        received.extend_from_slice(bytes);
        while let Some(asked) = next_request(received).expect("a request") {
            self.log.send_modify(|log| log.push(asked));
        }
    }
}

impl Requests {
    /// How many requests passed, by Kafka's name of the API.
    pub(crate) fn count(&self, api: &str) -> usize {
        count(&self.log.borrow(), api)
    }

    /// How many Metadata requests named a topic.
    pub(crate) fn named_topics(&self) -> usize {
        let log = self.log.borrow();
        let metadata = log.iter().filter(|asked| api_name(asked.api).as_deref() == Some("Metadata"));
        let named = metadata.filter(|asked| {
            assert!(asked.version < 9, "the list of names is compact from version 9 on: {asked:?}");
            asked.body.clone().get_i32() > 0
        });
        named.count()
    }

    /// Waits until so many passed.
    pub(crate) async fn at_least(&self, api: &str, times: usize) {
        let mut log = self.log.subscribe();
        let wanted = log.wait_for(|log| count(log, api) >= times);
        tokio::time::timeout(Duration::from_secs(30), wanted).await.expect("asked in time").expect("the log is there");
    }
}

fn count(log: &[Asked], api: &str) -> usize {
    log.iter().filter(|asked| api_name(asked.api).as_deref() == Some(api)).count()
}
