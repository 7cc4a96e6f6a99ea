//! Drills for these tests, and what stands between a drill and whoever looks at it.

pub(crate) mod facts;
pub(crate) mod relay;

use std::sync::Arc;

use unstuck_diagnosis::snapshot::Snapshot;
use unstuck_drill::scenario::{Scenario, read};
use unstuck_drill::serve::{Drill, Listen};

/// A scenario from what is particular about it.
pub(crate) fn scenario(text: &str) -> Arc<Scenario> {
    let whole = format!("title = \"a drill of a test\"\nstory = \"see the test\"\n{text}");
    Arc::new(read(&whole, "test").unwrap_or_else(|error| panic!("{error}\n{whole}")))
}

/// Serves a scenario on free ports.
pub(crate) fn loopback(text: &str) -> Drill {
    let listen = Listen::Loopback { host: "127.0.0.1".to_owned(), ports: None };
    Drill::start("test", scenario(text), &listen).expect("free ports")
}

/// Whether a broker answers everything, serves the offsets partitions that it leads, and no other ones.
pub(crate) fn serves(snapshot: &Snapshot, id: i32) -> bool {
    let Some(sight) = snapshot.brokers.get(&id) else { return false };
    let topic = sight.metadata.known().and_then(|view| view.offsets_topic.as_ref());
    topic.is_some_and(|topic| {
        topic.partitions.len() == sight.canaries.len()
            && topic.partitions.iter().all(|(number, partition)| {
                let code = sight.canaries.get(number).map(|canary| canary.code);
                if partition.leader == Some(id) { matches!(code, Some(0 | 69)) } else { code == Some(16) }
            })
    }) && sight.contact.trouble.is_none()
        && sight.coordinators.known().is_some()
        && sight.groups.known().is_some_and(|listing| listing.code == 0)
}
