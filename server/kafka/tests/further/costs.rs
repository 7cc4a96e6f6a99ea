//! What looking costs: the same however many groups there are, but for their listing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use unstuck_drill::serve::Drill;
use unstuck_kafka::{ClusterConfig, Collector, Surroundings};
use unstuck_wire::serve::api_name;

use super::{KRAFT, TRANSACTIONS};
use crate::simulated::BASE;
use crate::support::relay::{Meddle, Relay, Way};
use crate::support::scenario;
use crate::wait;

const FIVE_MINUTES: Duration = Duration::from_secs(300);

/// Requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cost {
    requests: usize,
    asked_bytes: usize,
    answered_bytes: usize,
}

#[derive(Default)]
struct Traffic(Mutex<(BTreeMap<String, Cost>, BTreeMap<u64, Open>)>);

/// A connection: what has not passed as a whole, each way, and whose answers are owed.
#[derive(Default)]
struct Open {
    asking: BytesMut,
    answering: BytesMut,
    owed: VecDeque<String>,
}

impl Meddle for Traffic {
    fn pass(&self, connection: u64, way: Way, bytes: &mut [u8]) {
        let mut state = self.0.lock().expect("no panic");
        let (costs, open) = &mut *state;
        let open = open.entry(connection).or_default();
        if way == Way::Answering {
            open.answering.extend_from_slice(bytes);
            while let Some(frame) = frame(&mut open.answering) {
                let api = open.owed.pop_front().expect("an answer to a request");
                costs.entry(api).or_default().answered_bytes += frame.len();
            }
        } else {
            open.asking.extend_from_slice(bytes);
            while let Some(mut frame) = frame(&mut open.asking) {
                let length = frame.len();
                let api = api_name(frame.get_i16()).expect("a request").to_string();
                let cost = costs.entry(api.clone()).or_default();
                cost.requests += 1;
                cost.asked_bytes += length;
                open.owed.push_back(api);
            }
        }
    }
}

/// The next whole frame, with its length.
fn frame(received: &mut BytesMut) -> Option<BytesMut> {
    let length = usize::try_from(i32::from_be_bytes(received.get(..4)?.try_into().ok()?)).ok()?;
    if received.len() < 4 + length {
        return None;
    }
    received.advance(4);
    Some(received.split_to(length))
}

/// What five minutes of looking at three brokers cost with so many groups.
fn costs(groups: usize) -> BTreeMap<String, Cost> {
    let topic = "[topic.__consumer_offsets]\npartitions = 50\nreplication-factor = 3\n";
    let group = format!("[[group]]\nid = \"group-{{n}}\"\ncount = {groups}\nmembers = 1\n");
    let text = format!("{KRAFT}{topic}{TRANSACTIONS}{group}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let drill = Drill::in_memory("test", scenario(&text));
        let traffic = Arc::new(Traffic::default());
        let surroundings = Surroundings::simulated(Relay::new(&drill, Arc::clone(&traffic)), BASE);
        let collector = Collector::start_with(ClusterConfig::new("test", drill.bootstrap()), surroundings);
        wait(&collector, "a settled snapshot", Collector::settled).await;
        tokio::time::sleep(FIVE_MINUTES).await;
        collector.shutdown().await;
        drill.shutdown().await;
        traffic.0.lock().expect("no panic").0.clone()
    })
}

#[test]
fn only_the_listing_grows_with_the_groups() {
    let (few, many) = (costs(10), costs(2_000));
    for (api, cost) in &few {
        let (requests, answer) = (cost.requests, cost.answered_bytes / cost.requests);
        println!("{api}: {requests} requests of {} bytes, answers of {answer} bytes", cost.asked_bytes / requests);
        let grown = many.get(api).copied().unwrap_or_default();
        assert_eq!(grown.requests, cost.requests, "{api}");
        if api != "ListGroups" {
            assert_eq!(&grown, cost, "{api}");
        }
    }
    assert!(many["ListGroups"].answered_bytes > 50 * few["ListGroups"].answered_bytes / 10);
    assert_eq!(few.len(), many.len(), "{:?}", many.keys());
}
