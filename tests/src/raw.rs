//! A few requests of the Kafka protocol, encoded by hand.
//!
//! The tests make groups, join them and commit offsets with this, and not with the crates under test: what judges Unstuck
//! must not share its mistakes. Only versions without tagged fields, except for StreamsGroupHeartbeat, which has no other.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// API keys used here.
mod api {
    pub(super) const OFFSET_COMMIT: i16 = 8;
    pub(super) const FIND_COORDINATOR: i16 = 10;
    pub(super) const JOIN_GROUP: i16 = 11;
    pub(super) const HEARTBEAT: i16 = 12;
    pub(super) const SYNC_GROUP: i16 = 14;
    pub(super) const DESCRIBE_GROUPS: i16 = 15;
    pub(super) const INIT_PRODUCER_ID: i16 = 22;
    pub(super) const TXN_OFFSET_COMMIT: i16 = 28;
    pub(super) const STREAMS_GROUP_HEARTBEAT: i16 = 88;
}

/// A request body under construction, or an answer being read.
#[derive(Debug, Default)]
struct Bytes {
    bytes: Vec<u8>,
    at: usize,
}

impl Bytes {
    fn i8(&mut self, value: i8) -> &mut Self {
        self.bytes.extend(value.to_be_bytes());
        self
    }
    fn i16(&mut self, value: i16) -> &mut Self {
        self.bytes.extend(value.to_be_bytes());
        self
    }
    fn i32(&mut self, value: i32) -> &mut Self {
        self.bytes.extend(value.to_be_bytes());
        self
    }
    fn i64(&mut self, value: i64) -> &mut Self {
        self.bytes.extend(value.to_be_bytes());
        self
    }
    fn string(&mut self, value: &str) -> &mut Self {
        // The protocol's own limit: callers pass ids of at most 32,767 bytes.
        self.i16(i16::try_from(value.len()).unwrap_or(i16::MAX));
        self.bytes.extend(value.as_bytes());
        self
    }
    fn null_string(&mut self) -> &mut Self {
        self.i16(-1)
    }
    fn blob(&mut self, value: &[u8]) -> &mut Self {
        self.i32(i32::try_from(value.len()).unwrap_or(i32::MAX));
        self.bytes.extend(value);
        self
    }
    /// An unsigned LEB128 number, the length prefix (plus one) of compact strings and arrays.
    fn varint(&mut self, mut value: usize) -> &mut Self {
        while value >= 0x80 {
            self.bytes.push(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
            value >>= 7;
        }
        self.bytes.push(u8::try_from(value).unwrap_or(0));
        self
    }
    fn compact_string(&mut self, value: &str) -> &mut Self {
        self.varint(value.len() + 1);
        self.bytes.extend(value.as_bytes());
        self
    }
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let slice = self.bytes.get(self.at..self.at + N).context("the answer is too short")?;
        self.at += N;
        Ok(slice.try_into()?)
    }
    fn read_i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.take()?))
    }
    fn read_i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.take()?))
    }
    fn read_i64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.take()?))
    }
    fn read_string(&mut self) -> Result<String> {
        let length = usize::try_from(self.read_i16()?.max(0))?;
        let slice = self.bytes.get(self.at..self.at + length).context("the answer is too short")?;
        self.at += length;
        Ok(String::from_utf8_lossy(slice).into_owned())
    }
}

/// A connection to one broker.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    correlation: i32,
}

impl Connection {
    /// Connects to `host:port`; every later call has the same time limit.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn open(address: &str, timeout: Duration) -> Result<Self> {
        let socket: SocketAddr = address.parse().with_context(|| format!("{address} is no address"))?;
        let stream =
            TcpStream::connect_timeout(&socket, timeout).with_context(|| format!("connecting to {address}"))?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, correlation: 0 })
    }

    fn send(&mut self, key: i16, version: i16, tagged: bool, body: &Bytes) -> Result<()> {
        self.correlation += 1;
        let mut frame = Bytes::default();
        frame.i16(key).i16(version).i32(self.correlation).string("unstuck-tests");
        if tagged {
            frame.varint(0);
        }
        frame.bytes.extend(&body.bytes);
        let mut framed = Bytes::default();
        framed.blob(&frame.bytes);
        self.stream.write_all(&framed.bytes)?;
        Ok(())
    }

    fn receive(&mut self) -> Result<Bytes> {
        let mut size = [0; 4];
        self.stream.read_exact(&mut size)?;
        let size = usize::try_from(i32::from_be_bytes(size))?;
        ensure!(size < 1 << 24, "an answer of {size} bytes");
        let mut answer = Bytes { bytes: vec![0; size], at: 0 };
        self.stream.read_exact(&mut answer.bytes)?;
        answer.read_i32()?;
        Ok(answer)
    }

    fn call(&mut self, key: i16, version: i16, body: &Bytes) -> Result<Bytes> {
        self.send(key, version, false, body)?;
        self.receive()
    }

    /// Whom the broker names as coordinator of a group: its id, or the error code. Creates the offsets topic if it is missing.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn find_coordinator(&mut self, group: &str) -> Result<Result<i32, i16>> {
        self.find(group, 0)
    }

    /// The same for a transactional id. Creates the topic of transactions' state if it is missing.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn find_transaction_coordinator(&mut self, transactional_id: &str) -> Result<Result<i32, i16>> {
        self.find(transactional_id, 1)
    }

    fn find(&mut self, key: &str, kind: i8) -> Result<Result<i32, i16>> {
        let mut body = Bytes::default();
        body.string(key).i8(kind);
        let mut answer = self.call(api::FIND_COORDINATOR, 2, &body)?;
        answer.read_i32()?;
        let code = answer.read_i16()?;
        answer.read_string()?;
        let id = answer.read_i32()?;
        Ok(if code == 0 { Ok(id) } else { Err(code) })
    }

    /// Commits an offset as a consumer that is no member ("simple consumer"): makes the group if there is none.
    fn send_commit(&mut self, group: &str, topic: &str, offset: i64) -> Result<()> {
        let mut body = Bytes::default();
        body.string(group).i32(-1).string("").i64(-1);
        body.i32(1).string(topic).i32(1).i32(0).i64(offset).null_string();
        self.send(api::OFFSET_COMMIT, 2, false, &body)
    }

    fn receive_commit(&mut self) -> Result<i16> {
        let mut answer = self.receive()?;
        ensure!(answer.read_i32()? == 1, "one topic was committed");
        answer.read_string()?;
        ensure!(answer.read_i32()? == 1, "one partition was committed");
        answer.read_i32()?;
        answer.read_i16()
    }

    /// Commits an offset for partition 0 of a topic, as a consumer that is no member. The error code; 0 is success.
    ///
    /// # Errors
    /// If the broker does not answer in time.
    pub fn commit(&mut self, group: &str, topic: &str, offset: i64) -> Result<i16> {
        self.send_commit(group, topic, offset)?;
        self.receive_commit()
    }

    /// Commits for many groups, several at a time in flight; the ids that failed, with the code.
    ///
    /// # Errors
    /// If the broker does not answer in time.
    pub fn commit_many<'a>(&mut self, groups: &[&'a str], topic: &str) -> Result<Vec<(&'a str, i16)>> {
        let mut failed = Vec::new();
        for batch in groups.chunks(64) {
            for group in batch {
                self.send_commit(group, topic, 1)?;
            }
            for group in batch {
                let code = self.receive_commit()?;
                if code != 0 {
                    failed.push((*group, code));
                }
            }
        }
        Ok(failed)
    }

    /// Describes groups that do not exist: the error code of each by its id, in any order. 0 says that this broker
    /// coordinates such a group now. It creates nothing.
    ///
    /// # Errors
    /// If the broker does not answer in time, or if one of them exists.
    pub fn describe_missing(&mut self, groups: &[&str]) -> Result<Vec<(String, i16)>> {
        let mut body = Bytes::default();
        body.i32(i32::try_from(groups.len())?);
        for group in groups {
            body.string(group);
        }
        let mut answer = self.call(api::DESCRIBE_GROUPS, 0, &body)?;
        ensure!(usize::try_from(answer.read_i32()?)? == groups.len(), "an answer for each group");
        let codes = groups.iter().map(|_| {
            let (code, group, state) = (answer.read_i16()?, answer.read_string()?, answer.read_string()?);
            answer.read_string()?;
            answer.read_string()?;
            ensure!(answer.read_i32()? == 0 && (code != 0 || state == "Dead"), "{group} exists: {state}");
            Ok((group, code))
        });
        codes.collect()
    }

    /// Joins a classic group as its only member, with any protocol type, and syncs. The member id and generation.
    ///
    /// # Errors
    /// If the broker refuses or does not answer.
    pub fn join(&mut self, group: &str, protocol_type: &str) -> Result<(String, i32)> {
        let mut body = Bytes::default();
        body.string(group).i32(10_000).i32(10_000).string("").string(protocol_type);
        body.i32(1).string("default").blob(b"\0\0");
        let mut answer = self.call(api::JOIN_GROUP, 2, &body)?;
        answer.read_i32()?;
        let code = answer.read_i16()?;
        ensure!(code == 0, "JoinGroup of {group} was answered with error {code}");
        let generation = answer.read_i32()?;
        answer.read_string()?;
        answer.read_string()?;
        let member = answer.read_string()?;

        let mut body = Bytes::default();
        body.string(group).i32(generation).string(&member);
        body.i32(1).string(&member).blob(b"\0\0");
        let mut answer = self.call(api::SYNC_GROUP, 1, &body)?;
        answer.read_i32()?;
        let code = answer.read_i16()?;
        ensure!(code == 0, "SyncGroup of {group} was answered with error {code}");
        Ok((member, generation))
    }

    /// A heartbeat of a member of a classic group; the error code.
    ///
    /// # Errors
    /// If the broker does not answer.
    pub fn heartbeat(&mut self, group: &str, member: &str, generation: i32) -> Result<i16> {
        let mut body = Bytes::default();
        body.string(group).i32(generation).string(member);
        let mut answer = self.call(api::HEARTBEAT, 1, &body)?;
        answer.read_i32()?;
        answer.read_i16()
    }

    /// A producer id and epoch for a transactional id, from its transaction coordinator, or the error code.
    ///
    /// # Errors
    /// If the broker does not answer.
    pub fn init_producer_id(&mut self, transactional_id: &str, timeout_ms: i32) -> Result<Result<(i64, i16), i16>> {
        let mut body = Bytes::default();
        body.string(transactional_id).i32(timeout_ms);
        let mut answer = self.call(api::INIT_PRODUCER_ID, 1, &body)?;
        answer.read_i32()?;
        let code = answer.read_i16()?;
        let producer = (answer.read_i64()?, answer.read_i16()?);
        Ok(if code == 0 { Ok(producer) } else { Err(code) })
    }

    /// Commits an offset for partition 0 of a topic inside of a transaction, without telling the transaction coordinator
    /// (AddOffsetsToTxn) before: nobody will end it. The error code; 0 is success.
    ///
    /// # Errors
    /// If the broker does not answer.
    pub fn commit_in_a_transaction_of_nobody(
        &mut self,
        transactional_id: &str,
        producer: (i64, i16),
        group: &str,
        (topic, offset): (&str, i64),
    ) -> Result<i16> {
        let mut body = Bytes::default();
        body.string(transactional_id).string(group).i64(producer.0).i16(producer.1);
        body.i32(1).string(topic).i32(1).i32(0).i64(offset).null_string();
        let mut answer = self.call(api::TXN_OFFSET_COMMIT, 0, &body)?;
        answer.read_i32()?;
        ensure!(answer.read_i32()? == 1, "one topic was committed");
        answer.read_string()?;
        ensure!(answer.read_i32()? == 1, "one partition was committed");
        answer.read_i32()?;
        answer.read_i16()
    }

    /// A heartbeat of the only member of a streams group (KIP-1071) with one subtopology that reads `topic`.
    /// Epoch 0 joins. The new member epoch.
    ///
    /// # Errors
    /// If the broker refuses or does not answer.
    pub fn streams_heartbeat(&mut self, group: &str, member: &str, epoch: i32, topic: &str) -> Result<i32> {
        let mut body = Bytes::default();
        body.compact_string(group).compact_string(member).i32(epoch).i32(0);
        body.varint(0).varint(0);
        if epoch == 0 {
            body.i32(10_000);
            // The topology: epoch 1, one subtopology with one source topic and nothing else.
            body.i8(1).i32(1).varint(2);
            body.compact_string("0").varint(2).compact_string(topic).varint(1).varint(1).varint(1).varint(1).varint(1);
            body.varint(0).varint(0);
            // No tasks yet, a process id, no endpoint, no tags.
            body.varint(1).varint(1).varint(1).compact_string("process").i8(-1).varint(1);
        } else {
            body.i32(-1).i8(-1);
            body.varint(0).varint(0).varint(0).varint(0).i8(-1).varint(0);
        }
        body.varint(0).varint(0).i8(0).varint(0);
        self.send(api::STREAMS_GROUP_HEARTBEAT, 0, true, &body)?;
        let mut answer = self.receive()?;
        answer.take::<1>()?;
        answer.read_i32()?;
        let code = answer.read_i16()?;
        let message_length = usize::from(answer.take::<1>()?[0]).saturating_sub(1);
        let message = answer.bytes.get(answer.at..answer.at + message_length).unwrap_or_default();
        if code != 0 {
            bail!("StreamsGroupHeartbeat: error {code}, {}", String::from_utf8_lossy(message));
        }
        answer.at += message_length;
        let member_length = usize::from(answer.take::<1>()?[0]).saturating_sub(1);
        answer.at += member_length;
        answer.read_i32()
    }
}
