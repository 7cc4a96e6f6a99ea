//! The collector in simulated time: an incident of ten minutes in much less than ten seconds, the same each time.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, timeout_at};
use unstuck_diagnosis::snapshot::{BrokerSight, Snapshot, Trouble, Why};
use unstuck_drill::serve::Drill;
use unstuck_kafka::{ClusterConfig, Collector, Surroundings};

use crate::support::relay::{Relay, Requests};
use crate::support::{scenario, serves};
use crate::{ID, OLD, WITH_TOPIC};

pub(crate) const BASE: Timestamp = Timestamp::UNIX_EPOCH;
const SECOND: Duration = Duration::from_secs(1);
const TEN_MINUTES: Duration = Duration::from_secs(600);
/// When things happen: between two looks, so that the first look that meets the change is the next one.
const FIRST: Duration = Duration::from_millis(120_500);
const SECOND_STEP: Duration = Duration::from_millis(300_500);
const THIRD: Duration = Duration::from_millis(420_500);
const LOOK_EVERY: Duration = Duration::from_secs(9);

/// A broker that hangs, answers again, and dies.
const INCIDENT: [&str; 3] = ["{ pause = 7 }", "{ resume = 7 }", "{ stop = 7 }"];

/// A broker whose coordinator alone hangs for a while.
const COORDINATOR_HANGS: [&str; 2] =
    [r#"{ fault = { name = "hangs", apis = ["DescribeGroups"], do = "hang" } }"#, r#"{ end-fault = "hangs" }"#];

/// A broker of three that dies and comes back.
const DIES_AND_RETURNS: [&str; 2] = ["{ stop = 2 }", "{ start = 2 }"];

/// A broker of three that hangs and goes on.
const HANGS: [&str; 2] = ["{ pause = 2 }", "{ resume = 2 }"];

const OF_THREE: &str = r#"
[topic.__consumer_offsets]
partitions = 6
replication-factor = 3
[topic.orders]
partitions = 3
replication-factor = 2
[[group]]
id = "billing-{n}"
count = 4
members = 2
offsets = { orders = 5 }
"#;

fn one() -> String {
    format!("{OLD}{WITH_TOPIC}")
}

fn three_with_kraft() -> String {
    format!(
        "[cluster]\nmode = \"kraft\"\nrelease = \"4.1.1\"\nbrokers = [1, 2, 3]\ncontrollers = [100]\n\
         id = \"three-with-kraft-00000\"{OF_THREE}"
    )
}

fn three_with_zookeeper() -> String {
    format!(
        "[cluster]\nmode = \"zookeeper\"\nrelease = \"2.3.1\"\nbrokers = [1, 2, 3]\n\
         id = \"three-with-zookeeper-0\"{OF_THREE}"
    )
}

/// The scenario with one step at each of the three times.
fn with_steps(cluster: &str, actions: &[&str]) -> String {
    let mut text = cluster.to_owned();
    let mut before = Duration::ZERO;
    for (nth, (action, at)) in actions.iter().zip([FIRST, SECOND_STEP, THIRD]).enumerate() {
        let after = (at - before).as_millis();
        before = at;
        text += &format!("[[step]]\nname = \"{nth}\"\nsay = \"-\"\nafter = \"{after}ms\"\ndo = [{action}]\n");
    }
    text
}

/// All snapshots of ten simulated minutes, and what was sent. Every nine seconds somebody wants to look at once.
fn watch(cluster: &str, actions: &[&str]) -> (Vec<Snapshot>, Arc<Requests>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let began = Instant::now();
        let drill = Drill::in_memory("test", scenario(&with_steps(cluster, actions)));
        let requests = Arc::new(Requests::default());
        let relay = Relay::new(&drill, Arc::clone(&requests));
        let mut ways = vec!["127.0.0.1:1".to_owned()];
        ways.extend(drill.bootstrap());
        let config = ClusterConfig::new("simulated", ways);
        let collector = Collector::start_with(config, Surroundings::simulated(relay, BASE));
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
        drill.shutdown().await;
        (seen, requests)
    })
}

fn sight(snapshot: &Snapshot) -> &BrokerSight {
    &snapshot.brokers[&ID]
}

fn all_serve(snapshot: &Snapshot) -> bool {
    snapshot.brokers.len() == 3 && snapshot.brokers.keys().all(|id| serves(snapshot, *id))
}

/// The snapshots of this part of the ten minutes: one a second at least.
fn between(seen: &[Snapshot], from: Duration, to: Duration) -> impl Iterator<Item = &Snapshot> {
    let part: Vec<&Snapshot> =
        seen.iter().filter(|snapshot| (BASE + from..BASE + to).contains(&snapshot.taken_at)).collect();
    // The heartbeat, and a little later than it.
    assert!(part.len() * 10 / 9 >= usize::try_from((to - from).as_secs()).expect("short"), "{}", part.len());
    part.into_iter()
}

#[test]
fn ten_minutes_pass_at_once_and_every_change_is_seen_when_it_happens() {
    let (hangs, answers_again, dies) = (FIRST, SECOND_STEP, THIRD);
    let real = std::time::Instant::now();
    let (seen, _) = watch(&one(), &INCIDENT);
    let took = real.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    let last = seen.last().expect("many");
    assert!(last.taken_at >= BASE + TEN_MINUTES - LOOK_EVERY, "{}", last.taken_at);

    // While it is well, nothing else is seen, on either eye.
    for snapshot in between(&seen, SECOND, hangs) {
        assert!(crate::works(snapshot) && snapshot.client.known().is_some(), "{snapshot:#?}");
        assert!(Collector::settled(snapshot));
    }
    // The look after it began to hang is the first one unanswered.
    let silence = Duration::from_secs(121);
    for snapshot in between(&seen, silence + SECOND + Duration::from_millis(20), answers_again) {
        let trouble = sight(snapshot).contact.trouble.as_ref().expect("silent");
        assert_eq!((&trouble.why, trouble.since), (&Why::Silent, BASE + silence), "{}", snapshot.taken_at);
    }
    for snapshot in between(&seen, hangs + 10 * SECOND, answers_again) {
        let lost = snapshot.client.unavailable().expect("the client waits in vain");
        assert_eq!(lost.why, Why::Client("OperationTimedOut (Local: Timed out)".to_owned()));
    }
    for snapshot in between(&seen, answers_again + 5 * SECOND, dies) {
        assert!(crate::works(snapshot) && snapshot.client.known().is_some(), "{snapshot:#?}");
    }
    // Its connections end, and a new one is refused.
    for snapshot in between(&seen, dies + Duration::from_millis(100), TEN_MINUTES) {
        let Trouble { why, since, .. } = sight(snapshot).contact.trouble.as_ref().expect("refused");
        assert_eq!(*why, Why::Refused);
        assert!((BASE + dies..BASE + dies + Duration::from_millis(100)).contains(since), "{since}");
    }
    let lost = last.client.unavailable().expect("the client finds nobody");
    assert_eq!(lost.why, Why::Client("BrokerTransportFailure (Local: Broker transport failure)".to_owned()));
}

#[test]
fn two_runs_see_the_same() {
    for (cluster, actions) in [
        (one(), INCIDENT.as_slice()),
        (one(), &COORDINATOR_HANGS),
        (three_with_kraft(), &DIES_AND_RETURNS),
        (three_with_zookeeper(), &DIES_AND_RETURNS),
    ] {
        let ((one, _), (two, _)) = (watch(&cluster, actions), watch(&cluster, actions));
        assert_eq!(one.len(), two.len(), "{cluster}");
        for (at, (one, two)) in one.iter().zip(&two).enumerate() {
            assert_eq!(one, two, "snapshot {at} of {cluster}");
        }
    }
}

#[test]
fn of_three_brokers_one_dies_and_comes_back() {
    let (dies, returns) = (FIRST, SECOND_STEP);
    for cluster in [three_with_kraft(), three_with_zookeeper()] {
        let (seen, _) = watch(&cluster, &DIES_AND_RETURNS);
        for snapshot in between(&seen, 5 * SECOND, dies) {
            assert!(all_serve(snapshot), "{snapshot:#?}");
        }
        for snapshot in between(&seen, dies + 2 * SECOND, returns) {
            let trouble = snapshot.brokers[&2].contact.trouble.as_ref().expect("refused");
            assert_eq!(trouble.why, Why::Refused);
        }
        // The session times out, and others are elected.
        for snapshot in between(&seen, dies + 30 * SECOND, returns) {
            assert!([1, 3].into_iter().all(|id| serves(snapshot, id)), "{snapshot:#?}");
            let view = snapshot.brokers[&1].metadata.known().expect("told");
            assert_eq!(view.brokers.keys().copied().collect::<Vec<_>>(), [1, 3]);
            let topic = view.offsets_topic.as_ref().expect("there");
            assert!(topic.partitions.values().all(|one| matches!(one.leader, Some(1 | 3)) && one.isr.len() == 2));
        }
        for snapshot in between(&seen, returns + 30 * SECOND, TEN_MINUTES) {
            assert!(all_serve(snapshot), "{snapshot:#?}");
        }
    }
}

#[test]
fn of_three_brokers_one_hangs() {
    let (hangs, goes_on) = (FIRST, SECOND_STEP);
    let (seen, _) = watch(&three_with_kraft(), &HANGS);
    let silence = Duration::from_secs(121);
    for snapshot in between(&seen, silence + SECOND + Duration::from_millis(20), goes_on) {
        let trouble = snapshot.brokers[&2].contact.trouble.as_ref().expect("silent");
        // A look of somebody else's may be the first one unanswered.
        assert_eq!(trouble.why, Why::Silent, "{}", snapshot.taken_at);
        assert!((BASE + hangs..=BASE + silence).contains(&trouble.since), "{}", trouble.since);
    }
    for snapshot in &seen {
        let others = snapshot.brokers.iter().filter(|(id, _)| **id != 2);
        for (id, sight) in others {
            assert_eq!(sight.contact.trouble, None, "broker {id} at {}", snapshot.taken_at);
        }
    }
    // Its session ends, and its partitions are served by others.
    for snapshot in between(&seen, hangs + 30 * SECOND, goes_on) {
        assert!([1, 3].into_iter().all(|id| serves(snapshot, id)), "{snapshot:#?}");
        // The client finds a broker that answers.
        assert_eq!(snapshot.client.known().expect("seen").brokers, [1, 3], "{}", snapshot.taken_at);
    }
    for snapshot in between(&seen, goes_on + 30 * SECOND, TEN_MINUTES) {
        assert!(all_serve(snapshot), "{snapshot:#?}");
    }
}

#[test]
fn a_coordinator_that_hangs_alone_is_told_from_a_broker_that_does() {
    let (hangs, answers_again) = (FIRST, SECOND_STEP);
    let (seen, requests) = watch(&one(), &COORDINATOR_HANGS);
    // Healthy canaries are asked every 15 s, and one deadline later it shows.
    let noticed = hangs + 17 * SECOND;
    let sign = between(&seen, noticed, answers_again).find_map(|snapshot| sight(snapshot).canaries_unanswered_since);
    let since = sign.expect("it was noticed");
    assert!((BASE + hangs..BASE + noticed).contains(&since), "{since}");
    for snapshot in between(&seen, noticed, answers_again) {
        let sight = sight(snapshot);
        assert_eq!((&sight.contact.trouble, sight.canaries_unanswered_since), (&None, Some(since)));
        let age = snapshot.taken_at.duration_since(sight.metadata.known().expect("told").at);
        assert!(age.unsigned_abs() <= 3 * SECOND, "metadata does not wait behind canaries: {age}");
    }
    for snapshot in between(&seen, answers_again + 5 * SECOND, TEN_MINUTES) {
        assert!(crate::works(snapshot) && sight(snapshot).canaries_unanswered_since.is_none(), "{snapshot:#?}");
    }
    // Each request may hold a thread of the broker.
    let well = 600 / 15 + 5;
    assert!(requests.count("DescribeGroups") < well + 7, "{}", requests.count("DescribeGroups"));
}
