//! The collector against a scripted broker of an old release: what is sent, and what the snapshot says.

mod scripted;
mod simulated;

use std::sync::Arc;
use std::time::Duration;

use scripted::{Behaviour, Broker};
use tokio::time::timeout;
use unstuck_diagnosis::snapshot::{BrokerSight, Observed, Snapshot, Why};
use unstuck_kafka::{Cadence, ClusterConfig, Collector};

/// Generous: what is awaited comes soon or never.
const PATIENCE: Duration = Duration::from_secs(30);

fn config(bootstrap: &[&str]) -> ClusterConfig {
    let mut config = ClusterConfig::new("test", bootstrap.iter().map(|one| (*one).to_owned()).collect());
    config.request_timeout = Duration::from_millis(500);
    config.cadence = Cadence {
        metadata: Duration::from_millis(50),
        canaries: Duration::from_millis(200),
        wide: Duration::from_millis(300),
        ..Cadence::default()
    };
    config
}

/// Waits for a snapshot that fulfils the condition; shows the last one if none comes.
async fn wait(collector: &Collector, what: &str, condition: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
    let mut snapshots = collector.snapshots();
    let found = timeout(PATIENCE, async {
        loop {
            let snapshot = Arc::clone(&snapshots.borrow_and_update());
            if condition(&snapshot) {
                return snapshot;
            }
            snapshots.changed().await.expect("the collector runs");
        }
    })
    .await;
    found.unwrap_or_else(|_| panic!("waited for {what}; last seen: {:#?}", *snapshots.borrow()))
}

fn broker(snapshot: &Snapshot) -> Option<&BrokerSight> {
    snapshot.brokers.get(&scripted::ID)
}

fn trouble(snapshot: &Snapshot) -> Option<&Why> {
    Some(&broker(snapshot)?.contact.trouble.as_ref()?.why)
}

fn works(snapshot: &Snapshot) -> bool {
    broker(snapshot).is_some_and(|sight| {
        sight.contact.trouble.is_none()
            && sight.canaries.len() == 4
            && sight.canaries.values().all(|canary| canary.code == 0)
            && sight.coordinators.known().is_some()
    })
}

#[tokio::test]
async fn without_the_offsets_topic_nothing_is_named_and_nothing_goes_to_a_coordinator() {
    let fake = Broker::start(Behaviour { topic: false, ..Behaviour::default() }).await;
    let collector = Collector::start(config(&[&fake.address]));
    wait(&collector, "a settled snapshot", Collector::settled).await;
    fake.asked_at_least("Metadata", 5).await;
    let snapshot = wait(&collector, "no offsets topic", |snapshot| {
        broker(snapshot).is_some_and(|sight| {
            sight.metadata.known().is_some_and(|view| view.offsets_topic.is_none())
                && sight.coordinators.unavailable().is_some_and(|lost| lost.why == Why::NoOffsetsTopic)
        })
    })
    .await;
    assert!(broker(&snapshot).expect("there").canaries.is_empty());
    assert_eq!(fake.count("FindCoordinator") + fake.count("DescribeGroups"), 0);
    assert_eq!(fake.named_topics(), 0);

    // Somebody's first consumer creates it: from then on it is looked at, and still never named to an old broker.
    fake.behave(Behaviour::default());
    wait(&collector, "canaries", works).await;
    assert_eq!(fake.named_topics(), 0, "up to 2.7 naming it would create it");
    collector.shutdown().await;
}

#[tokio::test]
async fn what_an_old_release_cannot_tell_is_said() {
    let fake = Broker::start(Behaviour::default()).await;
    let collector = Collector::start(config(&[&fake.address]));
    let snapshot = wait(&collector, "a settled snapshot", Collector::settled).await;
    let sight = broker(&snapshot).expect("there");
    let too_old = |api: &str| Some(Why::TooOld(api.to_owned()));
    assert_eq!(sight.configs.unavailable().map(|lost| lost.why.clone()), too_old("DescribeConfigs"));
    assert_eq!(sight.describe_cluster_permitted.unavailable().map(|lost| lost.why.clone()), too_old("DescribeCluster"));
    assert_eq!(sight.kraft, Some(false));
    assert_eq!((&sight.quorum, &sight.elr), (&Observed::NotAsked, &Observed::NotAsked));
    let listing = sight.groups.known().expect("listed");
    assert_eq!(listing.groups.keys().map(|group| group.0.as_str()).collect::<Vec<_>>(), ["orders"]);
    let named = &sight.coordinators.known().expect("asked").answers;
    assert_eq!(named.values().collect::<Vec<_>>(), [&Ok(scripted::ID); 3], "one id per request, so only three");
    collector.shutdown().await;
}

#[tokio::test]
async fn a_broker_that_goes_and_comes_back() {
    let fake = Broker::start(Behaviour::default()).await;
    let collector = Collector::start(config(&[&fake.address]));
    wait(&collector, "a working broker", works).await;

    fake.stop();
    let snapshot = wait(&collector, "refused", |snapshot| trouble(snapshot) == Some(&Why::Refused)).await;
    let sight = broker(&snapshot).expect("there");
    assert!(sight.metadata.known().is_some(), "its last view stays known");
    assert!(sight.groups.known().is_none(), "its listing does not");
    assert!(sight.contact.last_answer < sight.contact.trouble.as_ref().map(|trouble| trouble.since));

    fake.resume().await;
    wait(&collector, "a working broker again", |snapshot| {
        works(snapshot) && broker(snapshot).is_some_and(|sight| sight.groups.known().is_some())
    })
    .await;
    collector.shutdown().await;
}

#[tokio::test]
async fn a_hung_broker_is_silent_since_the_unanswered_request() {
    let fake = Broker::start(Behaviour::default()).await;
    let collector = Collector::start(config(&[&fake.address]));
    wait(&collector, "a working broker", works).await;
    fake.behave(Behaviour { hangs: true, ..Behaviour::default() });
    let snapshot = wait(&collector, "silence", |snapshot| trouble(snapshot) == Some(&Why::Silent)).await;
    let silent = broker(&snapshot).and_then(|sight| sight.contact.trouble.clone()).expect("silent");
    let deadline = Duration::from_millis(500);
    assert!(snapshot.taken_at.duration_since(silent.since).unsigned_abs() >= deadline, "{silent:?}");
    wait(&collector, "more attempts", |snapshot| {
        broker(snapshot).and_then(|sight| sight.contact.trouble.as_ref()).is_some_and(|trouble| {
            trouble.why == Why::Silent && trouble.attempts > silent.attempts + 2 && trouble.since == silent.since
        })
    })
    .await;
    fake.behave(Behaviour::default());
    wait(&collector, "answers again", works).await;
    collector.shutdown().await;
}

#[tokio::test]
async fn a_connection_that_merely_ends_is_no_trouble() {
    let fake = Broker::start(Behaviour::default()).await;
    let collector = Collector::start(config(&[&fake.address]));
    wait(&collector, "a working broker", works).await;
    let mut snapshots = collector.snapshots();
    let watcher = tokio::spawn(async move {
        while snapshots.changed().await.is_ok() {
            let snapshot = Arc::clone(&snapshots.borrow_and_update());
            assert_eq!(trouble(&snapshot), None);
        }
    });
    for _ in 0..3 {
        let asked = fake.count("Metadata");
        fake.hang_up();
        fake.asked_at_least("Metadata", asked + 3).await;
    }
    collector.shutdown().await;
    watcher.await.expect("no trouble was seen");
}

#[tokio::test]
async fn nonsense_is_a_malformed_answer_and_hides_nothing_else() {
    let fake = Broker::start(Behaviour { nonsense: Some(3), ..Behaviour::default() }).await;
    let collector = Collector::start(config(&[&fake.address]));
    let snapshot = wait(&collector, "malformed", |snapshot| {
        snapshot
            .bootstrap
            .values()
            .any(|sight| sight.answer.unavailable().is_some_and(|lost| matches!(lost.why, Why::Malformed(_))))
    })
    .await;
    assert!(snapshot.brokers.is_empty());
    fake.behave(Behaviour::default());
    wait(&collector, "a working broker", works).await;
    fake.behave(Behaviour { nonsense: Some(15), ..Behaviour::default() });
    wait(&collector, "malformed", |snapshot| matches!(trouble(snapshot), Some(Why::Malformed(_)))).await;
    collector.shutdown().await;
}

#[tokio::test]
async fn an_address_override_is_used_and_the_advertised_one_is_kept() {
    let fake = Broker::start(Behaviour { advertised_port: Some(1), ..Behaviour::default() }).await;
    let mut config = config(&[&fake.address]);
    config.broker_addresses = [(scripted::ID, fake.address.clone())].into();
    let collector = Collector::start(config);
    let snapshot = wait(&collector, "a working broker", works).await;
    let sight = broker(&snapshot).expect("there");
    assert_eq!(sight.address.as_deref(), Some(fake.address.as_str()));
    assert_eq!(sight.overridden_from.as_deref(), Some("127.0.0.1:1"));
    collector.shutdown().await;
}

#[tokio::test]
async fn an_advertised_address_that_cannot_be_reached_is_trouble_without_a_first_answer() {
    let fake = Broker::start(Behaviour { advertised_port: Some(1), ..Behaviour::default() }).await;
    let collector = Collector::start(config(&[&fake.address]));
    let snapshot = wait(&collector, "refused", |snapshot| trouble(snapshot) == Some(&Why::Refused)).await;
    let sight = broker(&snapshot).expect("there");
    assert_eq!(sight.contact.first_answer, None);
    assert!(snapshot.bootstrap.values().all(|way| way.answer.known().is_some()), "the way in works");
    collector.shutdown().await;
}

#[tokio::test]
async fn each_way_in_is_judged_by_itself() {
    let fake = Broker::start(Behaviour::default()).await;
    let collector = Collector::start(config(&[&fake.address, "127.0.0.1:1", "no-such-host.invalid:9092"]));
    let snapshot = wait(&collector, "a working broker and all ways tried", |snapshot| {
        works(snapshot) && Collector::settled(snapshot)
    })
    .await;
    let why = |address: &str| snapshot.bootstrap[address].answer.unavailable().map(|lost| lost.why.clone());
    assert_eq!(why(&fake.address), None);
    assert_eq!(why("127.0.0.1:1"), Some(Why::Refused));
    assert!(matches!(why("no-such-host.invalid:9092"), Some(Why::NameNotFound(_))));
    collector.shutdown().await;
}
