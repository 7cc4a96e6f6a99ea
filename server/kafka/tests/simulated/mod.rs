//! The collector in simulated time: an incident of ten minutes in much less than ten seconds, the same each time.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep_until, timeout_at};
use unstuck_diagnosis::snapshot::{BrokerSight, Snapshot, Trouble, Why};
use unstuck_kafka::{ClusterConfig, Collector, Surroundings};

use crate::scripted::{self, Behaviour, Broker};

const BASE: Timestamp = Timestamp::UNIX_EPOCH;
const TEN_MINUTES: Duration = Duration::from_secs(600);
/// Between two looks, so that the first look that meets the change is the next one.
const HANGS: Duration = Duration::from_millis(120_500);
const ANSWERS_AGAIN: Duration = Duration::from_millis(300_500);
const LOOK_EVERY: Duration = Duration::from_secs(9);
const DIES: Duration = Duration::from_millis(420_500);

/// What the broker does, and when.
type Script = &'static [(Duration, Option<fn() -> Behaviour>)];

/// A broker that hangs, answers again, and dies.
const INCIDENT: Script = &[
    (HANGS, Some(|| Behaviour { hangs: true, ..Behaviour::default() })),
    (ANSWERS_AGAIN, Some(Behaviour::default)),
    (DIES, None),
];

/// A broker whose coordinator alone hangs for a while.
const COORDINATOR_HANGS: Script = &[
    (HANGS, Some(|| Behaviour { hangs_on: Some(15), ..Behaviour::default() })),
    (ANSWERS_AGAIN, Some(Behaviour::default)),
];

/// All snapshots of ten simulated minutes, and the broker. Every nine seconds somebody wants to look at once.
fn watch(script: Script) -> (Vec<Snapshot>, Arc<Broker>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let began = Instant::now();
        let broker = Arc::new(Broker::in_memory(9092, Behaviour::default()));
        let config = ClusterConfig::new("simulated", vec!["127.0.0.1:1".to_owned(), broker.address.clone()]);
        let collector = Collector::start_with(config, Surroundings::simulated(Arc::clone(&broker) as Arc<_>, BASE));
        let scripted = Arc::clone(&broker);
        tokio::spawn(async move {
            for (at, behaviour) in script {
                sleep_until(began + *at).await;
                match behaviour {
                    Some(behaviour) => scripted.behave(behaviour()),
                    None => scripted.stop(),
                }
            }
        });
        let mut snapshots = collector.snapshots();
        let mut seen = vec![Snapshot::clone(&snapshots.borrow_and_update())];
        let mut look_at = began + LOOK_EVERY;
        while look_at <= began + TEN_MINUTES {
            match timeout_at(look_at, snapshots.changed()).await {
                Ok(changed) => {
                    changed.expect("the collector runs");
                    seen.push(Snapshot::clone(&snapshots.borrow_and_update()));
                }
                Err(_) => {
                    collector.look_now();
                    look_at += LOOK_EVERY;
                }
            }
        }
        collector.shutdown().await;
        (seen, broker)
    })
}

fn sight(snapshot: &Snapshot) -> &BrokerSight {
    &snapshot.brokers[&scripted::ID]
}

/// The snapshots of this part of the ten minutes.
fn between(seen: &[Snapshot], from: Duration, to: Duration) -> impl Iterator<Item = &Snapshot> {
    seen.iter().filter(move |snapshot| (BASE + from..BASE + to).contains(&snapshot.taken_at))
}

#[test]
fn ten_minutes_pass_at_once_and_every_change_is_seen_when_it_happens() {
    let real = std::time::Instant::now();
    let (seen, _) = watch(INCIDENT);
    let took = real.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    let last = seen.last().expect("many");
    assert!(last.taken_at >= BASE + TEN_MINUTES - LOOK_EVERY, "{}", last.taken_at);

    let second = Duration::from_secs(1);
    // While it is well, nothing else is seen, on either eye.
    for snapshot in between(&seen, second, HANGS) {
        assert!(crate::works(snapshot) && snapshot.client.known().is_some(), "{snapshot:#?}");
        assert!(Collector::settled(snapshot));
    }
    // The look after it began to hang is the first one unanswered.
    let silence = Duration::from_secs(121);
    for snapshot in between(&seen, silence + second + Duration::from_millis(20), ANSWERS_AGAIN) {
        let trouble = sight(snapshot).contact.trouble.as_ref().expect("silent");
        assert_eq!((&trouble.why, trouble.since), (&Why::Silent, BASE + silence), "{}", snapshot.taken_at);
    }
    for snapshot in between(&seen, HANGS + 10 * second, ANSWERS_AGAIN) {
        let lost = snapshot.client.unavailable().expect("the client waits in vain");
        assert_eq!(lost.why, Why::Client("OperationTimedOut (Local: Timed out)".to_owned()));
    }
    for snapshot in between(&seen, ANSWERS_AGAIN + 5 * second, DIES) {
        assert!(crate::works(snapshot) && snapshot.client.known().is_some(), "{snapshot:#?}");
    }
    // Its connections end, and a new one is refused.
    for snapshot in between(&seen, DIES + Duration::from_millis(100), TEN_MINUTES) {
        let Trouble { why, since, .. } = sight(snapshot).contact.trouble.as_ref().expect("refused");
        assert_eq!(*why, Why::Refused);
        assert!((BASE + DIES..BASE + DIES + Duration::from_millis(100)).contains(since), "{since}");
    }
    let lost = last.client.unavailable().expect("the client finds nobody");
    assert_eq!(lost.why, Why::Client("BrokerTransportFailure (Local: Broker transport failure)".to_owned()));
}

#[test]
fn two_runs_see_the_same() {
    for script in [INCIDENT, COORDINATOR_HANGS] {
        let ((one, _), (two, _)) = (watch(script), watch(script));
        assert_eq!(one.len(), two.len());
        for (at, (one, two)) in one.iter().zip(&two).enumerate() {
            assert_eq!(format!("{one:#?}"), format!("{two:#?}"), "snapshot {at}");
        }
    }
}

#[test]
fn a_coordinator_that_hangs_alone_is_told_from_a_broker_that_does() {
    let (seen, broker) = watch(COORDINATOR_HANGS);
    let second = Duration::from_secs(1);
    // Healthy canaries are asked every 15 s, and one deadline later it shows.
    let noticed = HANGS + 17 * second;
    let sign = between(&seen, noticed, ANSWERS_AGAIN).find_map(|snapshot| sight(snapshot).canaries_unanswered_since);
    let since = sign.expect("it was noticed");
    assert!((BASE + HANGS..BASE + noticed).contains(&since), "{since}");
    for snapshot in between(&seen, noticed, ANSWERS_AGAIN) {
        let sight = sight(snapshot);
        assert_eq!((&sight.contact.trouble, sight.canaries_unanswered_since), (&None, Some(since)));
        let age = snapshot.taken_at.duration_since(sight.metadata.known().expect("told").at);
        assert!(age.unsigned_abs() <= 3 * second, "metadata does not wait behind canaries: {age}");
    }
    for snapshot in between(&seen, ANSWERS_AGAIN + 5 * second, TEN_MINUTES) {
        assert!(crate::works(snapshot) && sight(snapshot).canaries_unanswered_since.is_none(), "{snapshot:#?}");
    }
    // Each request may hold a thread of the broker.
    let well = 600 / 15 + 5;
    assert!(broker.count("DescribeGroups") < well + 7, "{}", broker.count("DescribeGroups"));
}
