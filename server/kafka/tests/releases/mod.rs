//! Each release, seen the same over TCP with librdkafka as the client and in simulated time without it.

use std::collections::BTreeMap;

use unstuck_diagnosis::snapshot::{Observed, Snapshot};
use unstuck_drill::serve::Drill;
use unstuck_kafka::{ClusterConfig, Collector, Surroundings};

use crate::simulated::BASE;
use crate::support::facts::{Facts, differences, facts};
use crate::support::{loopback, scenario, serves};
use crate::wait;

/// With what differs from release to release: epochs, settings, listings with and without state and type, quorum, ELR.
const CLUSTER: &str = r#"
[broker.1]
rack = "a"
[broker.2]
rack = "b"
[topic.__consumer_offsets]
partitions = 6
replication-factor = 2
configs = { "min.insync.replicas" = 1 }
[topic.orders]
partitions = 3
replication-factor = 1
[topic.payments]
partitions = 2
[[topic.payments.partition]]
id = 1
replicas = [2]
leader = -1
[[group]]
id = "billing-{n}"
count = 3
members = 2
offsets = { orders = 5 }
[[group]]
id = "connect"
type = "connect"
members = 1
[[group]]
id = "simple"
type = "simple"
offsets = { orders = 5 }
"#;

/// Everything was asked, and answered.
fn complete(snapshot: &Snapshot) -> bool {
    Collector::settled(snapshot)
        && snapshot.bootstrap.values().all(|way| way.answer.known().is_some())
        && snapshot.client.known().is_some()
        && snapshot.brokers.len() == 2
        && snapshot.brokers.keys().all(|id| serves(snapshot, *id))
        // Asked once more after the first look.
        && snapshot.brokers.values().all(|sight| sight.kraft == Some(false) || sight.quorum != Observed::NotAsked)
}

async fn look(drill: &Drill, surroundings: Surroundings) -> Facts {
    let collector = Collector::start_with(ClusterConfig::new("test", drill.bootstrap()), surroundings);
    let snapshot = wait(&collector, "everything", complete).await;
    collector.shutdown().await;
    let addresses: BTreeMap<String, i32> = drill.bootstrap().into_iter().zip([1, 2]).collect();
    drill.shutdown().await;
    facts(&snapshot, &addresses)
}

#[test]
fn each_release_looks_the_same_to_either_client() {
    for (release, mode) in [
        ("1.0.2", "zookeeper"),
        ("2.3.1", "zookeeper"),
        ("2.8.2", "zookeeper"),
        ("3.6.2", "kraft"),
        ("3.6.2", "zookeeper"),
        ("3.9.1", "kraft"),
        ("3.9.1", "zookeeper"),
        ("4.1.1", "kraft"),
    ] {
        let text = format!(
            "[cluster]\nid = \"a-release-000000000000\"\nmode = \"{mode}\"\nrelease = \"{release}\"\n\
             brokers = [1, 2]{CLUSTER}"
        );
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let real =
            runtime.expect("a runtime").block_on(async { look(&loopback(&text), Surroundings::default()).await });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let simulated = runtime.expect("a runtime").block_on(async {
            let drill = Drill::in_memory("test", scenario(&text));
            let surroundings = Surroundings::simulated(drill.dialer(), BASE);
            look(&drill, surroundings).await
        });
        let told = differences(&real, &simulated);
        assert!(told.is_empty(), "{release} ({mode}) over TCP (-) and simulated (+):\n{told}");
        assert!(real.len() > 150, "{} facts", real.len());
    }
}
