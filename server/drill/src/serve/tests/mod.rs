//! Drills as clients meet them.

mod by_hand;
mod faults;
mod fuzz;
mod simulated;
mod tcp;

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use unstuck_wire::messages::groups::ListGroupsRequest;
use unstuck_wire::messages::metadata::{Keep, MetadataAnswer, MetadataRequest, Topics};
use unstuck_wire::{Connection, Dial, Stream, WireError};

use super::{Drill, Listen};
use crate::scenario::{Scenario, read};

/// Generous: what is awaited comes at once or never.
const DEADLINE: Duration = Duration::from_secs(20);

fn scenario(more: &str) -> Arc<Scenario> {
    let text = format!(
        r#"
title = "t"
story = "s"
[cluster]
mode = "kraft"
release = "4.1.1"
brokers = [1, 2, 3]
controllers = [100]
[topic.__consumer_offsets]
partitions = 6
[topic.orders]
partitions = 3
[[group]]
id = "billing-{{n}}"
count = 12
members = 2
offsets = {{ orders = 5 }}
{more}"#
    );
    Arc::new(read(&text, "test").expect("a scenario"))
}

fn loopback(more: &str) -> Drill {
    let listen = Listen::Loopback { host: "127.0.0.1".to_owned(), ports: None };
    Drill::start("test", scenario(more), &listen).expect("free ports")
}

/// Connects to a broker by its place in the bootstrap list, and shakes hands.
async fn greet(drill: &Drill, nth: usize) -> Result<Connection, WireError> {
    let mut connection = Connection::connect(&drill.bootstrap()[nth], "test", DEADLINE).await?;
    connection.handshake(DEADLINE).await?;
    Ok(connection)
}

/// All topics as a broker sees them.
async fn metadata(connection: &mut Connection, deadline: Duration) -> Result<MetadataAnswer, WireError> {
    let request = MetadataRequest { topics: Topics::All, keep: Keep::All, cluster_operations: false };
    connection.call(&request, deadline).await.map(|answered| answered.answer)
}

/// How many groups a broker lists.
async fn groups(connection: &mut Connection) -> Result<usize, WireError> {
    connection.call(&ListGroupsRequest, DEADLINE).await.map(|answered| answered.answer.groups.len())
}

/// A request of ApiVersions in version 0.
fn hello() -> Bytes {
    request(18, 0, &[])
}

/// A request in a version without tags in its header.
fn request(api: i16, version: i16, body: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_i32(i32::try_from(body.len() + 12).expect("short"));
    frame.put_i16(api);
    frame.put_i16(version);
    frame.put_i32(7);
    frame.put_i16(2);
    frame.put_slice(b"me");
    frame.put_slice(body);
    frame.freeze()
}

/// A bare stream to a broker.
async fn stream(drill: &Drill, nth: usize) -> Box<dyn Stream> {
    let deadline = tokio::time::Instant::now() + DEADLINE;
    unstuck_wire::Tcp.dial(&drill.bootstrap()[nth], deadline).await.expect("a connection")
}

/// Writes, and reads until the other side ends it or has sent so many bytes.
async fn exchange(stream: &mut Box<dyn Stream>, bytes: &[u8], most: usize) -> Vec<u8> {
    // The other side may hang up on what it has read so far.
    let _: std::io::Result<()> = stream.write_all(bytes).await;
    let mut answer = vec![0; most];
    let mut length = 0;
    while length < most {
        match stream.read(&mut answer[length..]).await {
            Ok(0) | Err(_) => break,
            Ok(more) => length += more,
        }
    }
    answer.truncate(length);
    answer
}
