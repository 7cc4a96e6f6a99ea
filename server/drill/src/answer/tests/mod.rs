//! Answers, asked of worlds without any socket.

mod odd_clusters;
mod recorded;
mod situations;
mod versions;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use unstuck_wire::serve::Asked;

use super::{Answer, Question, answer};
use crate::scenario::read;
use crate::world::World;

/// A world from the text of a scenario, with addresses.
fn world(text: &str) -> World {
    let scenario = read(text, "test").expect("a scenario");
    let brokers = scenario.cluster.brokers.clone();
    let mut world = World::new("test", Arc::new(scenario));
    for id in brokers {
        world.listens_on(id, "127.0.0.1", u16::try_from(9000 + id).expect("a port"));
    }
    world
}

/// The head of a scenario.
fn cluster(mode: &str, release: &str) -> String {
    format!(
        "title = \"t\"\nstory = \"s\"\n[cluster]\nmode = \"{mode}\"\nrelease = \"{release}\"\nbrokers = [1, 2, 3]\n"
    )
}

/// What a broker answers to a request, or what else becomes of it.
fn asked(world: &mut World, broker: i32, api: i16, version: i16, body: Bytes, forced: Option<i16>) -> Answer {
    let asked = Asked { api, version, correlation: 7, client_id: Some("test".to_owned()), body };
    let waited = Duration::from_secs(3600);
    answer(world, &Question { broker, asked: &asked, forced, waited, connection: 1, host: "/127.0.0.1" })
}

/// The body of the answer.
fn body(world: &mut World, broker: i32, api: i16, version: i16, request: Bytes) -> Bytes {
    match asked(world, broker, api, version, request, None) {
        Answer::Body(body, _) => body.freeze(),
        other => panic!("api {api} version {version}: {other:?}"),
    }
}

/// Asks in codec types and reads the answer to its last byte.
macro_rules! ask {
    ($world:expr, $broker:expr, $api:expr, $version:expr, $request:expr, $response:ident) => {{
        let mut request = bytes::BytesMut::new();
        $request.write(&mut request, $version).expect("a request that this version can say");
        let mut body = $crate::answer::tests::body($world, $broker, $api, $version, request.freeze());
        let answer = unstuck_wire::schema::$response::read(&mut body, $version)
            .unwrap_or_else(|error| panic!("api {} version {}: {error}", $api, $version));
        assert!(body.is_empty(), "api {} version {}: {} bytes left over", $api, $version, body.len());
        answer
    }};
}

use ask;
