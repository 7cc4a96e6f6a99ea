use std::time::Duration;

use unstuck_app::Source;
use unstuck_diagnosis::Published;
use unstuck_diagnosis::report::Status;
use unstuck_drill::scenario::shipped;
use unstuck_drill::serve::{Drill, Listen};

use super::*;
use crate::config::Places;

/// A cluster of three brokers with groups, to which nothing happens.
fn drill() -> Drill {
    let mut scenario = shipped::find("broker-lost").expect("it is shipped");
    scenario.step.clear();
    let listen = Listen::Loopback { host: "127.0.0.1".to_owned(), ports: None };
    Drill::start("test", Arc::new(scenario), &listen).expect("free ports")
}

fn config(clusters: &[ClusterConfig]) -> Config {
    let places = Places { listen: "a test".to_owned(), store: "a test".to_owned(), access: Vec::new() };
    let listen = "127.0.0.1:0".parse().expect("an address");
    Config {
        listen,
        clusters: clusters.to_vec(),
        store: None,
        access: AccessConfig::open(),
        origins: BTreeMap::new(),
        places,
    }
}

async fn until(watched: &Watched, cluster: &str, wanted: impl Fn(&Published) -> bool) -> Arc<Published> {
    let mut published = watched.receivers().remove(cluster).expect("it is looked at");
    let waited = tokio::time::timeout(Duration::from_secs(60), published.wait_for(|one| wanted(one))).await;
    Arc::clone(&waited.expect("in time").expect("it goes on"))
}

/// The cluster is known, and so are its groups. (It has one copy of everything, so it is at risk at best.)
fn works(published: &Published) -> bool {
    let status = published.report.headline.status;
    matches!(status, Status::Working | Status::AtRisk) && !published.memory.groups.by_id.is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_change_come_and_go_without_losing_what_is_known() {
    let drill = drill();
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let watched = Arc::new(Watched::new(BTreeMap::new()));
    let first = ClusterConfig::new("first", drill.bootstrap());
    let mut lookings =
        Lookings::begin(config(std::slice::from_ref(&first)), &watched, tasks.clone(), stop.clone(), None);
    let before = until(&watched, "first", works).await;

    // Another deadline: another collector. What is published meanwhile knows the groups and never turns unknown.
    let mut values = watched.receivers().remove("first").expect("it is looked at");
    let changed = ClusterConfig { request_timeout: Duration::from_secs(2), ..first.clone() };
    let second = ClusterConfig::new("second", drill.bootstrap());
    lookings.apply(config(&[changed.clone(), second.clone()]));
    assert_eq!(watched.names(), ["first", "second"]);
    until(&watched, "second", works).await;
    let looked_since = jiff::Timestamp::now();
    loop {
        let value = Arc::clone(&values.borrow_and_update());
        assert!(works(&value), "{:?}", value.report.headline);
        assert_eq!(value.seq.boot, before.seq.boot);
        if value.seq.n > before.seq.n && value.snapshot.taken_at > looked_since {
            break;
        }
        let next = tokio::time::timeout(Duration::from_secs(60), values.changed()).await;
        next.expect("in time").expect("it goes on");
    }

    // An unchanged cluster is left alone; one that is gone says so.
    lookings.apply(config(std::slice::from_ref(&second)));
    assert_eq!(watched.names(), ["second"]);
    let sentence = watched.no_longer("first").expect("it was looked at");
    assert!(sentence.starts_with("It was taken out of the configuration, and not looked at since "), "{sentence}");
    let problem = serde_json::to_string(&watched.unknown("first")).expect("JSON");
    assert!(problem.contains("taken out of the configuration"), "{problem}");
    let ended = async { while values.changed().await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("its collector ends");

    lookings.apply(config(&[changed, second]));
    assert_eq!(watched.no_longer("first"), None);
    until(&watched, "first", works).await;
    stop.cancel();
    tasks.close();
    tokio::time::timeout(Duration::from_secs(60), tasks.wait()).await.expect("all tasks end");
    drill.shutdown().await;
}

#[test]
fn what_differs_is_named_without_values() {
    let before = ClusterConfig::new("a", vec!["a:9092".to_owned()]);
    let mut after = before.clone();
    assert_eq!(differing(&before, &after), Vec::<&str>::new());
    after.security.tls = Some(unstuck_kafka::security::Tls::default());
    after.canary_prefix = "b".to_owned();
    assert_eq!(differing(&before, &after), ["tls", "canary_prefix"]);
}
