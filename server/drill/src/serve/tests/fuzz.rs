//! Whatever bytes arrive, brokers answer or hang up, and go on.

use bytes::{BufMut, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use unstuck_wire::serve::spoken;

use super::{DEADLINE, greet, loopback, metadata, scenario};
use crate::answer::{Answer, Question, answer};
use crate::serve::Drill;
use crate::world::World;

/// The same numbers in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).expect("small")).expect("small")
    }

    fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[3]
    }
}

/// Requests that real tools sent to real brokers, with the key and version of each.
fn recorded() -> Vec<(i16, i16, Vec<u8>)> {
    let files = [include_str!("../../../data/recorded/1.0.2.tsv"), include_str!("../../../data/recorded/4.1.1.tsv")];
    let lines = files.iter().flat_map(|file| file.lines()).filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let hex = if columns[3] == "-" { "" } else { columns[3] };
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
            let bytes = (0..hex.len()).step_by(2).map(byte).collect();
            (columns[0].parse().expect("a key"), columns[1].parse().expect("a version"), bytes)
        })
        .collect()
}

fn question(world: &mut World, api: i16, version: i16, body: &[u8]) -> Answer {
    let body = bytes::Bytes::copy_from_slice(body);
    let asked = unstuck_wire::serve::Asked { api, version, correlation: 1, client_id: None, body };
    let waited = DEADLINE;
    answer(world, &Question { broker: 1, asked: &asked, forced: None, waited, connection: 1, host: "/127.0.0.1" })
}

#[test]
fn any_byte_changed_in_a_request_is_answered_or_closed() {
    let mut numbers = Numbers(0x0dd_ba11);
    let first = World::new("test", scenario(""));
    let (mut answered, mut closed) = (0, 0);
    for (api, version, request) in recorded() {
        for at in 0..request.len() {
            for flip in [0xff, 1 << numbers.below(8)] {
                let mut changed = request.clone();
                changed[at] ^= flip;
                // Each from the beginning: what one request creates must not make the next one slow.
                match question(&mut first.clone(), api, version, &changed) {
                    Answer::Body(..) | Answer::Wait(_) => answered += 1,
                    Answer::Close => closed += 1,
                }
            }
        }
        for cut in 0..request.len() {
            question(&mut first.clone(), api, version, &request[..cut]);
        }
    }
    assert!(answered > 1000 && closed > 1000, "{answered} answered, {closed} closed");
}

#[test]
fn any_bytes_in_any_request_are_answered_or_closed() {
    let mut numbers = Numbers(0x0fac_e0ff);
    let mut world = World::new("test", scenario(""));
    for api in -1..95 {
        let (lowest, highest) = spoken(api).unwrap_or((0, 1));
        for version in lowest - 1..=highest + 1 {
            for _ in 0..40 {
                let length = numbers.below(40);
                // Small numbers too: they are the lengths that fit.
                let mask = [0xff, 0x03][numbers.below(2)];
                let body: Vec<u8> = (0..length).map(|_| numbers.byte() & mask).collect();
                question(&mut world, api, version, &body);
            }
        }
    }
}

#[tokio::test]
async fn frames_of_any_bytes_end_or_are_answered_and_brokers_go_on() {
    let drill = loopback("");
    let mut numbers = Numbers(0x5eed);
    for round in 0..200 {
        let mut stream = super::stream(&drill, round % 3).await;
        let mut bytes = BytesMut::new();
        let length = numbers.below(200);
        if round % 4 > 0 {
            bytes.put_i32(i32::try_from(length).expect("short"));
        }
        bytes.extend((0..length).map(|_| numbers.byte()));
        // It may be closed while we still write.
        let _: std::io::Result<()> = stream.write_all(&bytes).await;
        let _: std::io::Result<()> = stream.shutdown().await;
        let mut rest = Vec::new();
        // Ends in any case: closed, reset, or at our end of file.
        let ended = timeout(DEADLINE, stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "round {round} hangs");
    }
    for nth in 0..3 {
        metadata(&mut greet(&drill, nth).await.expect("a broker"), DEADLINE).await.expect("an answer");
    }
    let left = drill.shared.tasks.len();
    assert!(left <= 4 + 3, "{left} tasks are left over");
}

#[tokio::test]
async fn requests_with_changed_bytes_over_a_stream() {
    let drill = Drill::in_memory("test", scenario(""));
    let mut numbers = Numbers(0xabcd);
    for (api, version, body) in recorded().into_iter().step_by(3) {
        let mut frame = super::request(api, version, &body).to_vec();
        let at = 4 + numbers.below(frame.len() - 4);
        frame[at] ^= 1 << numbers.below(8);
        let until = tokio::time::Instant::now() + DEADLINE;
        let mut stream = drill.dialer().dial("broker-1.drill:9092", until).await.expect("a connection");
        let _: std::io::Result<()> = stream.write_all(&frame).await;
        // Whoever ends its side is done with, answered or not.
        let _: std::io::Result<()> = stream.shutdown().await;
        let mut rest = Vec::new();
        assert!(timeout(DEADLINE, stream.read_to_end(&mut rest)).await.is_ok(), "api {api} version {version} hangs");
    }
    drill.shutdown().await;
}
