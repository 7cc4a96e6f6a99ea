//! The collector looking at drills: what is sent, and what the snapshot says.

mod documented;
mod flipped;
mod further;
mod releases;
mod simulated;
mod support;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::timeout;
use unstuck_diagnosis::snapshot::{BrokerSight, Observed, Snapshot, Why};
use unstuck_drill::scenario::action::{Action, Fault, FaultKind};
use unstuck_drill::serve::Drill;
use unstuck_kafka::{Cadence, ClusterConfig, Collector};
use unstuck_wire::Connection;
use unstuck_wire::messages::coordinator::FindCoordinatorRequest;

use support::relay::{Relay, Requests};
use support::{loopback, scenario, serves};

/// Generous: what is awaited comes soon or never.
const PATIENCE: Duration = Duration::from_secs(30);
/// The only broker of most drills here.
const ID: i32 = 7;
/// A cluster of the oldest release.
const OLD: &str = r#"
[cluster]
mode = "zookeeper"
release = "1.0.2"
brokers = [7]
configs = { "offsets.topic.num.partitions" = 4, "offsets.topic.replication.factor" = 1 }
"#;
const WITH_TOPIC: &str = r#"
[topic.__consumer_offsets]
partitions = 4
[[group]]
id = "orders"
members = 1
"#;
/// An address at which nobody is.
const ELSEWHERE: &str = "[broker.7]\nadvertised = \"127.0.0.1:1\"";

/// A drill whose broker is reached over TCP through a relay only, which counts everything that is sent.
struct Counted {
    drill: Drill,
    relay: Arc<Relay<Requests>>,
    requests: Arc<Requests>,
    address: String,
}

impl Counted {
    async fn start(more: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound").to_string();
        let drill = Drill::in_memory("test", scenario(&format!("{OLD}{more}[broker.7]\nadvertised = \"{address}\"")));
        let requests = Arc::new(Requests::default());
        let relay = Relay::new(&drill, Arc::clone(&requests));
        relay.accept(listener, drill.bootstrap()[0].clone());
        Self { drill, relay, requests, address }
    }
}

fn old(more: &str) -> Drill {
    loopback(&format!("{OLD}{WITH_TOPIC}{more}"))
}

fn config(bootstrap: Vec<String>) -> ClusterConfig {
    let mut config = ClusterConfig::new("test", bootstrap);
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
    snapshot.brokers.get(&ID)
}

fn trouble(snapshot: &Snapshot) -> Option<&Why> {
    Some(&broker(snapshot)?.contact.trouble.as_ref()?.why)
}

fn works(snapshot: &Snapshot) -> bool {
    serves(snapshot, ID) && broker(snapshot).is_some_and(|sight| sight.canaries.len() == 4)
}

/// What one API is answered with is nonsense.
fn nonsense(api: &str) -> Fault {
    let (name, apis) = (Some("nonsense".to_owned()), vec![api.to_owned()]);
    Fault { name, apis, r#do: FaultKind::Garbage, ..Fault::default() }
}

#[tokio::test]
async fn without_the_offsets_topic_nothing_is_named_and_nothing_goes_to_a_coordinator() {
    let Counted { drill, requests, address, .. } = Counted::start("").await;
    let collector = Collector::start(config(vec![address]));
    wait(&collector, "a settled snapshot", Collector::settled).await;
    requests.at_least("Metadata", 5).await;
    let snapshot = wait(&collector, "no offsets topic", |snapshot| {
        broker(snapshot).is_some_and(|sight| {
            sight.metadata.known().is_some_and(|view| view.offsets_topic.is_none())
                && sight.coordinators.unavailable().is_some_and(|lost| lost.why == Why::NoOffsetsTopic)
        })
    })
    .await;
    assert!(broker(&snapshot).expect("there").canaries.is_empty());
    assert_eq!(requests.count("FindCoordinator") + requests.count("DescribeGroups"), 0);
    assert_eq!(requests.named_topics(), 0);

    // Somebody's first consumer creates it: from then on it is looked at, and still never named to an old broker.
    let dialer = drill.dialer();
    let consumer = Connection::connect_by(dialer.as_ref(), &drill.bootstrap()[0], "consumer", PATIENCE).await;
    let mut consumer = consumer.expect("a connection");
    consumer.handshake(PATIENCE).await.expect("API versions");
    let find = FindCoordinatorRequest { groups: vec!["orders".to_owned()] };
    consumer.call(&find, PATIENCE).await.expect("an answer");
    wait(&collector, "canaries", works).await;
    assert_eq!(requests.named_topics(), 0, "up to 2.7 naming it would create it");
    collector.shutdown().await;
}

#[tokio::test]
async fn what_an_old_release_cannot_tell_is_said() {
    let drill = old("");
    let collector = Collector::start(config(drill.bootstrap()));
    let snapshot = wait(&collector, "a settled snapshot", Collector::settled).await;
    let sight = broker(&snapshot).expect("there");
    let too_old = |api: &str| Some(Why::TooOld(api.to_owned()));
    // 1.0 has version 0 only, which we do not speak.
    assert_eq!(sight.configs.unavailable().map(|lost| lost.why.clone()), too_old("DescribeConfigs"));
    assert_eq!(sight.describe_cluster_permitted.unavailable().map(|lost| lost.why.clone()), too_old("DescribeCluster"));
    assert_eq!((sight.release.as_deref(), sight.kraft), (Some("1.0"), Some(false)));
    assert_eq!((&sight.quorum, &sight.elr), (&Observed::NotAsked, &Observed::NotAsked));
    assert_eq!(sight.log_dirs.unavailable().map(|lost| lost.why.clone()), too_old("DescribeLogDirs"));
    assert_eq!(sight.producers.unavailable().map(|lost| lost.why.clone()), too_old("DescribeProducers"));
    assert_eq!(sight.open_transactions.unavailable().map(|lost| lost.why.clone()), too_old("ListTransactions"));
    let listing = sight.groups.known().expect("listed");
    assert_eq!(listing.groups.keys().map(|group| group.0.as_str()).collect::<Vec<_>>(), ["orders"]);
    let named = &sight.coordinators.known().expect("asked").answers;
    assert_eq!(named.values().collect::<Vec<_>>(), [&Ok(ID); 3], "one id per request, so only three");
    collector.shutdown().await;
}

#[tokio::test]
async fn a_broker_that_goes_and_comes_back() {
    let drill = old("");
    let collector = Collector::start(config(drill.bootstrap()));
    wait(&collector, "a working broker", works).await;

    drill.act(&Action::Stop(ID)).expect("the broker");
    let snapshot = wait(&collector, "refused", |snapshot| trouble(snapshot) == Some(&Why::Refused)).await;
    let sight = broker(&snapshot).expect("there");
    assert!(sight.metadata.known().is_some(), "its last view stays known");
    assert!(sight.groups.known().is_none(), "its listing does not");
    assert!(sight.contact.last_answer < sight.contact.trouble.as_ref().map(|trouble| trouble.since));

    drill.act(&Action::Start(ID)).expect("the broker");
    wait(&collector, "a working broker again", works).await;
    collector.shutdown().await;
}

#[tokio::test]
async fn a_hung_broker_is_silent_since_the_unanswered_request() {
    let drill = old("");
    let collector = Collector::start(config(drill.bootstrap()));
    wait(&collector, "a working broker", works).await;
    drill.act(&Action::Pause(ID)).expect("the broker");
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
    drill.act(&Action::Resume(ID)).expect("the broker");
    wait(&collector, "answers again", works).await;
    collector.shutdown().await;
}

#[tokio::test]
async fn a_connection_that_merely_ends_is_no_trouble() {
    // A drill's own ways to end connections end more than them.
    let Counted { drill, relay, requests, address } = Counted::start(WITH_TOPIC).await;
    let collector = Collector::start(config(vec![address]));
    wait(&collector, "a working broker", works).await;
    let mut snapshots = collector.snapshots();
    let watcher = tokio::spawn(async move {
        while snapshots.changed().await.is_ok() {
            let snapshot = Arc::clone(&snapshots.borrow_and_update());
            assert_eq!(trouble(&snapshot), None);
        }
    });
    for _ in 0..3 {
        let asked = requests.count("Metadata");
        relay.hang_up();
        requests.at_least("Metadata", asked + 3).await;
    }
    collector.shutdown().await;
    watcher.await.expect("no trouble was seen");
    drill.shutdown().await;
}

#[tokio::test]
async fn nonsense_is_a_malformed_answer_and_hides_nothing_else() {
    let drill = old("");
    drill.act(&Action::Fault(nonsense("Metadata"))).expect("a fault");
    let collector = Collector::start(config(drill.bootstrap()));
    let snapshot = wait(&collector, "malformed", |snapshot| {
        snapshot
            .bootstrap
            .values()
            .any(|sight| sight.answer.unavailable().is_some_and(|lost| matches!(lost.why, Why::Malformed(_))))
    })
    .await;
    assert!(snapshot.brokers.is_empty());
    drill.act(&Action::EndFault("nonsense".to_owned())).expect("it was there");
    wait(&collector, "a working broker", works).await;
    drill.act(&Action::Fault(nonsense("DescribeGroups"))).expect("a fault");
    wait(&collector, "malformed", |snapshot| matches!(trouble(snapshot), Some(Why::Malformed(_)))).await;
    collector.shutdown().await;
}

#[tokio::test]
async fn an_address_override_is_used_and_the_advertised_one_is_kept() {
    let drill = old(ELSEWHERE);
    let address = drill.bootstrap()[0].clone();
    let mut config = config(drill.bootstrap());
    config.broker_addresses = [(ID, address.clone())].into();
    let collector = Collector::start(config);
    let snapshot = wait(&collector, "a working broker", works).await;
    let sight = broker(&snapshot).expect("there");
    assert_eq!(sight.address.as_deref(), Some(address.as_str()));
    assert_eq!(sight.overridden_from.as_deref(), Some("127.0.0.1:1"));
    collector.shutdown().await;
}

#[tokio::test]
async fn an_advertised_address_that_cannot_be_reached_is_trouble_without_a_first_answer() {
    let drill = old(ELSEWHERE);
    let collector = Collector::start(config(drill.bootstrap()));
    let snapshot = wait(&collector, "refused", |snapshot| trouble(snapshot) == Some(&Why::Refused)).await;
    let sight = broker(&snapshot).expect("there");
    assert_eq!(sight.contact.first_answer, None);
    assert!(snapshot.bootstrap.values().all(|way| way.answer.known().is_some()), "the way in works");
    collector.shutdown().await;
}

#[tokio::test]
async fn each_way_in_is_judged_by_itself() {
    let drill = old("");
    let mut ways = drill.bootstrap();
    ways.extend(["127.0.0.1:1".to_owned(), "no-such-host.invalid:9092".to_owned()]);
    let collector = Collector::start(config(ways.clone()));
    let snapshot = wait(&collector, "a working broker and all ways tried", |snapshot| {
        works(snapshot) && Collector::settled(snapshot)
    })
    .await;
    let why = |address: &str| snapshot.bootstrap[address].answer.unavailable().map(|lost| lost.why.clone());
    assert_eq!(why(&ways[0]), None);
    assert_eq!(why("127.0.0.1:1"), Some(Why::Refused));
    assert!(matches!(why("no-such-host.invalid:9092"), Some(Why::NameNotFound(_))));
    collector.shutdown().await;
}
