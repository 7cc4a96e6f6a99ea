//! Answers to administrative requests and to members of groups, asked of worlds without any socket.

mod members;
mod remedies;
mod versions;

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use unstuck_wire::serve::Asked;

use super::{Answer, Question, answer};
use crate::scenario::action::Action;
use crate::scenario::read;
use crate::world::World;

/// A world from what a scenario says below its head.
fn world(mode: &str, release: &str, rest: &str) -> World {
    let head = format!(
        "title = \"t\"\nstory = \"s\"\n[cluster]\nmode = \"{mode}\"\nrelease = \"{release}\"\nbrokers = [1, 2, 3]\n"
    );
    World::new("test", Arc::new(read(&(head + rest), "test").expect("a scenario")))
}

/// Two topics, a group with a commit, and one without members.
fn shop(mode: &str, release: &str, replicas: &str) -> World {
    let rest = format!(
        r#"
[topic.__consumer_offsets]
partitions = 1
replicas = {replicas}
[topic.one]
partitions = 3
replication-factor = 1
[topic.three]
partitions = 3
replication-factor = 3
[[group]]
id = "live"
members = 2
offsets = {{ one = 5 }}
[[group]]
id = "idle"
offsets = {{ one = 5 }}
"#
    );
    let mut world = world(mode, release, &rest);
    pass(&mut world, 100);
    world
}

fn pass(world: &mut World, milliseconds: u64) {
    world.advance(world.now() + Duration::from_millis(milliseconds));
}

fn does(world: &mut World, action: Action) {
    world.apply(&action).expect("can be done");
}

/// One request, as a connection sends it.
#[derive(Clone, Debug)]
struct Request {
    broker: i32,
    api: i16,
    version: i16,
    body: Bytes,
    correlation: i32,
}

impl Request {
    /// What becomes of it when it has waited so long.
    fn once(&self, world: &mut World, waited: Duration) -> Answer {
        let asked = Asked {
            api: self.api,
            version: self.version,
            correlation: self.correlation,
            client_id: Some("rec".to_owned()),
            body: self.body.clone(),
        };
        let question =
            Question { broker: self.broker, asked: &asked, forced: None, waited, connection: 1, host: "/127.0.0.1" };
        answer(world, &question)
    }

    /// Its answer, however long it takes, and how long it took.
    fn at_last(&self, world: &mut World) -> (Bytes, Duration) {
        let begun = world.now();
        for _ in 0..1000 {
            let waited = world.now() - begun;
            match self.once(world, waited) {
                Answer::Body(body, late) => return (body.freeze(), waited + late),
                Answer::Wait(time) => world.advance(world.now() + time),
                Answer::Close => panic!("closed: {self:?}"),
            }
        }
        panic!("no answer to {self:?}");
    }
}

/// A request in the codec's type.
macro_rules! request {
    ($broker:expr, $api:expr, $version:expr, $request:expr) => {{
        let mut body = bytes::BytesMut::new();
        $request.write(&mut body, $version).expect("a request that this version can say");
        $crate::answer::admin_tests::Request {
            broker: $broker,
            api: $api,
            version: $version,
            body: body.freeze(),
            correlation: $crate::answer::admin_tests::next_correlation(),
        }
    }};
}

/// The answer's type, from its body, to the last byte.
macro_rules! told {
    ($request:expr, $body:expr, $response:ident) => {{
        let (mut body, version, api) = ($body, $request.version, $request.api);
        let answer = unstuck_wire::schema::$response::read(&mut body, version)
            .unwrap_or_else(|error| panic!("api {api} version {version}: {error}"));
        assert!(body.is_empty(), "api {api} version {version}: {} bytes left over", body.len());
        answer
    }};
}

/// Asks and reads, however long it takes.
macro_rules! ask {
    ($world:expr, $broker:expr, $api:expr, $version:expr, $request:expr, $response:ident) => {{
        let request = $crate::answer::admin_tests::request!($broker, $api, $version, $request);
        let (body, _) = request.at_last($world);
        $crate::answer::admin_tests::told!(request, body, $response)
    }};
}

use {ask, request, told};

/// Another number for each request, as a connection counts them.
fn next_correlation() -> i32 {
    static NEXT: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(1);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// Text of an optional message.
fn plain(message: Option<&unstuck_wire::schema::KafkaString>) -> Option<String> {
    message.map(ToString::to_string)
}

/// No bytes.
fn empty() -> BytesMut {
    BytesMut::new()
}
