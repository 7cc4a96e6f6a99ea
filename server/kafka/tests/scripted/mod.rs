//! A broker of an old release, as far as the collector asks it, which misbehaves on demand. Its answers are written by
//! hand in the oldest layouts, so that these tests need no codec.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use unstuck_wire::{Dial, Dialing, Stream, WireError};

/// Its id.
pub(crate) const ID: i32 = 7;
/// How many partitions `__consumer_offsets` has.
const PARTITIONS: i32 = 4;

/// What it does.
#[derive(Clone, Debug)]
pub(crate) struct Behaviour {
    /// Whether `__consumer_offsets` exists.
    pub(crate) topic: bool,
    /// Reads requests and answers none.
    pub(crate) hangs: bool,
    /// The api key of the requests that it reads and does not answer.
    pub(crate) hangs_on: Option<i16>,
    /// The api key that it answers with nonsense.
    pub(crate) nonsense: Option<i16>,
    /// The port that it advertises instead of its own.
    pub(crate) advertised_port: Option<i32>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self { topic: true, hangs: false, hangs_on: None, nonsense: None, advertised_port: None }
    }
}

/// A scripted broker on a port of its own.
pub(crate) struct Broker {
    /// Where it listens.
    pub(crate) address: String,
    script: Arc<Script>,
    listening: Mutex<CancellationToken>,
}

struct Script {
    port: u16,
    behaviour: Mutex<Behaviour>,
    /// Wakes those who hang in the order in which they came, which a `watch` would not: simulated runs are to be equal.
    behaves: Notify,
    /// Api keys of all requests, and whether a Metadata request named topics.
    log: watch::Sender<Vec<(i16, bool)>>,
    connections: Mutex<CancellationToken>,
}

impl Broker {
    /// Starts to listen.
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let broker = Self::in_memory(listener.local_addr().expect("bound").port(), behaviour);
        let listening = broker.listening.lock().expect("no panic").clone();
        tokio::spawn(listening.run_until_cancelled_owned(accept(Arc::clone(&broker.script), listener)));
        broker
    }

    /// A broker without a port, which is reached by dialing it.
    pub(crate) fn in_memory(port: u16, behaviour: Behaviour) -> Self {
        let script = Arc::new(Script {
            port,
            behaviour: Mutex::new(behaviour),
            behaves: Notify::new(),
            log: watch::Sender::new(Vec::new()),
            connections: Mutex::new(CancellationToken::new()),
        });
        Self { address: format!("127.0.0.1:{port}"), script, listening: Mutex::default() }
    }

    /// Behaves differently from now on.
    pub(crate) fn behave(&self, behaviour: Behaviour) {
        *self.script.behaviour.lock().expect("no panic") = behaviour;
        self.script.behaves.notify_waiters();
    }

    /// Ends all connections.
    pub(crate) fn hang_up(&self) {
        std::mem::take(&mut *self.script.connections.lock().expect("no panic")).cancel();
    }

    /// Dies: closes the port, ends all connections.
    pub(crate) fn stop(&self) {
        self.listening.lock().expect("no panic").cancel();
        self.hang_up();
    }

    /// Comes back on the same port.
    pub(crate) async fn resume(&self) {
        let listener = loop {
            // The listener of before may need a moment to go.
            match TcpListener::bind(("127.0.0.1", self.script.port)).await {
                Ok(listener) => break listener,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let listening = CancellationToken::new();
        tokio::spawn(listening.clone().run_until_cancelled_owned(accept(Arc::clone(&self.script), listener)));
        *self.listening.lock().expect("no panic") = listening;
    }

    /// How often it was asked for this.
    pub(crate) fn count(&self, api: &str) -> usize {
        self.script.log.borrow().iter().filter(|(key, _)| *key == key_of(api)).count()
    }

    /// How many Metadata requests named a topic.
    pub(crate) fn named_topics(&self) -> usize {
        self.script.log.borrow().iter().filter(|(_, named)| *named).count()
    }

    /// Waits until it was asked for this so often.
    pub(crate) async fn asked_at_least(&self, api: &str, times: usize) {
        let mut log = self.script.log.subscribe();
        let wanted = log.wait_for(|log| log.iter().filter(|(key, _)| *key == key_of(api)).count() >= times);
        tokio::time::timeout(Duration::from_secs(30), wanted).await.expect("asked in time").expect("the log is there");
    }
}

fn key_of(api: &str) -> i16 {
    match api {
        "Metadata" => 3,
        "FindCoordinator" => 10,
        "DescribeGroups" => 15,
        other => panic!("{other}"),
    }
}

async fn accept(script: Arc<Script>, listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        let script = Arc::clone(&script);
        let until = script.connections.lock().expect("no panic").clone();
        tokio::spawn(async move { until.run_until_cancelled(serve(&script, stream)).await });
    }
}

/// Small, so that a broker that does not read takes part of a request only.
const IN_FLIGHT: usize = 256;

impl Dial for Broker {
    fn dial<'a>(&'a self, address: &'a str, _until: Instant) -> Dialing<'a> {
        Box::pin(async move {
            if address != self.address || self.listening.lock().expect("no panic").is_cancelled() {
                return Err(WireError::Refused);
            }
            let (ours, theirs) = tokio::io::duplex(IN_FLIGHT);
            let (script, until) = (Arc::clone(&self.script), self.script.connections.lock().expect("no panic").clone());
            tokio::spawn(async move { until.run_until_cancelled(serve(&script, theirs)).await });
            let stream: Box<dyn Stream> = Box::new(ours);
            Ok(stream)
        })
    }
}

async fn serve(script: &Script, mut stream: impl Stream) -> Option<()> {
    loop {
        let length = stream.read_i32().await.ok()?;
        let mut frame = vec![0; usize::try_from(length).ok()?];
        stream.read_exact(&mut frame).await.ok()?;
        let mut request = Reader(&frame);
        let (key, version, correlation) = (request.i16(), request.i16(), request.i32());
        request.text();
        let named = key == 3 && version < 9 && Reader(request.0).i32() > 0;
        script.log.send_modify(|log| log.push((key, named)));
        let behaviour = script.behaviour_once_it_answers(key).await;
        let mut answer = Writer::default();
        answer.i32(correlation);
        if behaviour.nonsense == Some(key) {
            answer.i32(i32::MAX).i32(i32::MAX);
        } else {
            script.answer(&behaviour, key, version, &mut request, &mut answer);
        }
        stream.write_i32(i32::try_from(answer.0.len()).ok()?).await.ok()?;
        stream.write_all(&answer.0).await.ok()?;
    }
}

impl Script {
    async fn behaviour_once_it_answers(&self, key: i16) -> Behaviour {
        loop {
            let change = self.behaves.notified();
            let now = self.behaviour.lock().expect("no panic").clone();
            if !now.hangs && now.hangs_on != Some(key) {
                return now;
            }
            change.await;
        }
    }

    fn answer(&self, behaviour: &Behaviour, key: i16, version: i16, request: &mut Reader<'_>, out: &mut Writer) {
        match key {
            // Knows ApiVersions 0 only, and offers what a broker of 1.0 does.
            18 if version > 0 => {
                out.i16(35).i32(0);
            }
            18 => {
                let offered = [(18, 0), (3, 1), (10, 0), (15, 0), (16, 0), (32, 0)];
                out.i16(0).i32(i32::try_from(offered.len()).expect("few"));
                for (key, highest) in offered {
                    out.i16(key).i16(0).i16(highest);
                }
            }
            3 => {
                // One live broker without rack; it is the controller.
                out.i32(1).i32(ID).text("127.0.0.1");
                out.i32(behaviour.advertised_port.unwrap_or(i32::from(self.port))).i16(-1).i32(ID);
                let all = request.i32() < 0;
                if all && behaviour.topic {
                    out.i32(1).i16(0).text("__consumer_offsets").i8(1).i32(PARTITIONS);
                    for partition in 0..PARTITIONS {
                        out.i16(0).i32(partition).i32(ID).i32(1).i32(ID).i32(1).i32(ID);
                    }
                } else {
                    out.i32(0);
                }
            }
            10 => {
                out.i16(0).i32(ID).text("127.0.0.1").i32(i32::from(self.port));
            }
            15 => {
                let count = request.i32();
                out.i32(count);
                for _ in 0..count {
                    out.i16(0).text(&request.text()).text("Dead").text("").text("").i32(0);
                }
            }
            16 => {
                out.i16(0).i32(1).text("orders").text("consumer");
            }
            other => panic!("nobody should ask for {other}"),
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_first_chunk::<N>().expect("a whole request");
        self.0 = rest;
        *head
    }

    fn i16(&mut self) -> i16 {
        i16::from_be_bytes(self.take())
    }

    fn i32(&mut self) -> i32 {
        i32::from_be_bytes(self.take())
    }

    fn text(&mut self) -> String {
        let length = usize::try_from(self.i16()).expect("not null");
        let (head, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(head).into_owned()
    }
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn i8(&mut self, value: i8) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn i16(&mut self, value: i16) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn i32(&mut self, value: i32) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.i16(i16::try_from(text.len()).expect("short"));
        self.0.extend(text.as_bytes());
        self
    }
}
