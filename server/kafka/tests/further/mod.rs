//! What is looked at further: disks, reassignments, transactions, as drills have them, in simulated time.

mod costs;

use std::sync::Arc;
use std::time::Duration;

use unstuck_diagnosis::snapshot::{BrokerSight, Observed, Snapshot, TRANSACTION_STATE, Why};
use unstuck_drill::serve::Drill;
use unstuck_kafka::{ClusterConfig, Collector, Surroundings};

use crate::simulated::BASE;
use crate::support::relay::{Relay, Requests};
use crate::support::scenario;
use crate::wait;

const KRAFT: &str = "[cluster]\nmode = \"kraft\"\nrelease = \"4.1.1\"\nbrokers = [1, 2, 3]\ncontrollers = [100]\n";
const ZOOKEEPER: &str = "[cluster]\nmode = \"zookeeper\"\nrelease = \"3.9.1\"\nbrokers = [1, 2, 3]\ncontroller = 2\n";
const TOPIC: &str = r#"
[topic.__consumer_offsets]
partitions = 6
replication-factor = 2
[[group]]
id = "orders"
members = 1
"#;
const TRANSACTIONS: &str = r#"
[topic.__transaction_state]
partitions = 6
replication-factor = 3
configs = { "min.insync.replicas" = 2 }
"#;

const A_MINUTE: Duration = Duration::from_secs(60);

/// What happens after ten seconds.
fn then(action: &str) -> String {
    format!("[[step]]\nname = \"then\"\nsay = \"-\"\nafter = \"10s\"\ndo = [{action}]\n")
}

/// Looks at a drill in simulated time.
fn look(text: &str, at: impl AsyncFnOnce(Arc<Collector>, Arc<Requests>)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let drill = Drill::in_memory("test", scenario(text));
        let requests = Arc::new(Requests::default());
        let relay = Relay::new(&drill, Arc::clone(&requests));
        let surroundings = Surroundings::simulated(relay, BASE);
        let collector = Arc::new(Collector::start_with(ClusterConfig::new("test", drill.bootstrap()), surroundings));
        at(Arc::clone(&collector), requests).await;
        Arc::into_inner(collector).expect("the only one left").shutdown().await;
        drill.shutdown().await;
    });
}

fn all(snapshot: &Snapshot, holds: impl Fn(i32, &BrokerSight) -> bool) -> bool {
    snapshot.brokers.len() == 3 && snapshot.brokers.iter().all(|(id, sight)| holds(*id, sight))
}

fn why<T>(fact: &Observed<T>) -> Option<&Why> {
    fact.unavailable().map(|lost| &lost.why)
}

#[test]
fn a_failed_log_directory_is_told_with_its_error() {
    let dirs = "[broker.2]\nlog-dirs = [\"/data1/kafka\", \"/data2/kafka\"]\n";
    let text = format!("{KRAFT}{dirs}{TOPIC}{}", then("{ fail-log-dir = { broker = 2, partitions = 1 } }"));
    look(&text, async |collector, _| {
        let before = wait(&collector, "a settled snapshot", Collector::settled).await;
        for sight in before.brokers.values() {
            let told = sight.log_dirs.known().expect("told");
            assert!(told.dirs.iter().all(|dir| dir.error == 0 && dir.usable_bytes < dir.total_bytes), "{told:?}");
            assert_eq!(told.offsets.len(), 4, "6 partitions with 2 replicas on 3 brokers");
            assert_eq!(told.bytes, told.offsets.values().map(|replica| replica.bytes).sum::<i64>());
        }
        let failed = |sight: &BrokerSight| {
            let told = sight.log_dirs.known()?;
            Some(told.dirs.iter().filter(|dir| dir.error == 56).map(|dir| dir.path.clone()).collect::<Vec<_>>())
        };
        let after = wait(&collector, "the error", |snapshot| {
            snapshot.brokers.get(&2).and_then(failed).is_some_and(|dirs| dirs == ["/data2/kafka"])
        })
        .await;
        assert!(!after.brokers[&2].log_dirs.known().expect("told").offsets.contains_key(&1), "its size is not told");
        assert_eq!(failed(&after.brokers[&1]), Some(Vec::new()));
    });
}

#[test]
fn a_running_reassignment_is_told_by_the_one_broker_that_is_asked() {
    // To a broker that is down: it does not end.
    let text = |cluster: &str| {
        let action = "{ stop = 3 }, { reassign = { partitions = 0, replicas = [1, 3] } }";
        let partition = "[[topic.__consumer_offsets.partition]]\nid = 0\nreplicas = [1, 2]\n";
        format!("{cluster}{TOPIC}{partition}{}", then(action))
    };
    for (cluster, speaks) in [(KRAFT, 1), (ZOOKEEPER, 2)] {
        look(&text(cluster), async |collector, _| {
            let before = wait(&collector, "a settled snapshot", Collector::settled).await;
            for (id, sight) in &before.brokers {
                let running = sight.reassignments.known().map(std::collections::BTreeMap::len);
                assert_eq!(running, (*id == speaks).then_some(0), "{id}: {:?}", sight.reassignments);
            }
            let after = wait(&collector, "the reassignment", |snapshot| {
                snapshot.brokers[&speaks].reassignments.known().is_some_and(|running| !running.is_empty())
            })
            .await;
            let running = after.brokers[&speaks].reassignments.known().expect("told");
            assert_eq!(running.keys().collect::<Vec<_>>(), [&0]);
            assert_eq!((&running[&0].adding, &running[&0].removing), (&vec![3], &vec![2]));
            assert!(after.brokers.iter().all(|(id, sight)| *id == speaks || sight.reassignments.known().is_none()));
        });
    }
}

#[test]
fn who_is_asked_for_reassignments_goes_and_another_broker_takes_its_turn() {
    look(&format!("{KRAFT}{TOPIC}{}", then("{ stop = 1 }")), async |collector, _| {
        wait(&collector, "broker 1 to tell", |snapshot| {
            all(snapshot, |id, sight| sight.reassignments.known().is_some() == (id == 1))
        })
        .await;
        wait(&collector, "broker 2 to tell", |snapshot| {
            all(snapshot, |id, sight| sight.reassignments.known().is_some() == (id == 2))
                && why(&snapshot.brokers[&1].reassignments) == Some(&Why::Refused)
        })
        .await;
    });
}

#[test]
fn transaction_coordinators_are_touched_and_the_new_one_after_an_election() {
    let serves = |id: i32, sight: &BrokerSight| {
        let topic = sight.metadata.known().and_then(|view| view.state_topics.get(TRANSACTION_STATE));
        topic.is_some_and(|topic| {
            topic.partitions.len() == 6
                && topic.partitions.iter().all(|(number, one)| {
                    let wanted = if one.leader == Some(id) { 105 } else { 16 };
                    sight.transaction_canaries.get(number).is_some_and(|canary| canary.code == wanted)
                })
        })
    };
    look(&format!("{KRAFT}{TOPIC}{TRANSACTIONS}{}", then("{ shut-down = 3 }")), async |collector, _| {
        let before = wait(&collector, "all to serve", |snapshot| all(snapshot, serves)).await;
        for sight in before.brokers.values() {
            let configs = &sight.state_topic_configs.known().expect("told")[TRANSACTION_STATE];
            assert_eq!((configs.min_insync_replicas, configs.min_insync_is_override), (Some(2), Some(true)));
            let transactions = sight.open_transactions.known().expect("told");
            assert_eq!((transactions.ongoing, transactions.open_for_ms), (0, 60_000));
            assert_eq!(sight.producers.known().map(std::collections::BTreeMap::len), Some(0));
        }
        let listed = |snapshot: &Snapshot| Some(snapshot.client.known()?.state_topics.clone());
        assert_eq!(listed(&before), Some(vec![TRANSACTION_STATE.to_owned()]));
        wait(&collector, "the others to serve", |snapshot| {
            let led_by_3 = |sight: &BrokerSight| {
                let topic = sight.metadata.known().and_then(|view| view.state_topics.get(TRANSACTION_STATE));
                topic.is_none_or(|topic| topic.partitions.values().any(|one| one.leader == Some(3)))
            };
            snapshot
                .brokers
                .iter()
                .filter(|(id, _)| **id != 3)
                .all(|(id, sight)| serves(*id, sight) && !led_by_3(sight))
        })
        .await;
    });
}

#[test]
fn without_its_topic_no_transaction_coordinator_is_asked() {
    for cluster in [KRAFT, ZOOKEEPER] {
        look(&format!("{cluster}{TOPIC}"), async |collector, requests| {
            let snapshot = wait(&collector, "a settled snapshot", Collector::settled).await;
            tokio::time::sleep(2 * A_MINUTE).await;
            assert_eq!(requests.count("DescribeTransactions"), 0);
            assert!(all(&snapshot, |_, sight| {
                sight.transaction_canaries.is_empty()
                    && sight.metadata.known().is_some_and(|view| view.state_topics.is_empty())
                    && sight.state_topic_configs.known().is_some_and(std::collections::BTreeMap::is_empty)
            }));
        });
    }
}

#[test]
fn a_missing_right_is_named() {
    let acl = "[acl]\ncluster-hidden = true\nhidden-topics = [\"__consumer_offsets\"]\n";
    look(&format!("{KRAFT}{TOPIC}{acl}"), async |collector, _| {
        let snapshot = wait(&collector, "a settled snapshot", Collector::settled).await;
        let cluster = Why::NotPermitted("DESCRIBE on CLUSTER".to_owned());
        assert!(all(&snapshot, |_, sight| why(&sight.log_dirs) == Some(&cluster)));
    });
}

/// Each refusal is a line in the authorizer's log.
#[test]
fn what_is_refused_is_asked_more_and_more_rarely_until_it_is_granted() {
    let acl = "[acl]\ncluster-hidden = true\ngroups-hidden = true\n";
    let granted = "[[step]]\nname = \"granted\"\nsay = \"-\"\nafter = \"1h\"\ndo = [{ acl = {} }]\n";
    look(&format!("{KRAFT}{TOPIC}{acl}{granted}"), async |collector, requests| {
        wait(&collector, "a settled snapshot", Collector::settled).await;
        tokio::time::sleep(59 * A_MINUTE).await;
        // After 0, 30, 90, 210, 450 and 930 s, and every ten minutes from then on; canaries' placement every ten minutes.
        for (api, each) in [("DescribeLogDirs", 10), ("DescribeQuorum", 10), ("FindCoordinator", 6)] {
            let seen = requests.count(api);
            assert!((3 * each..=3 * each + 3).contains(&seen), "{api}: {seen}");
        }
        let snapshot = Arc::clone(&collector.snapshots().borrow());
        let cluster = Why::NotPermitted("DESCRIBE on CLUSTER".to_owned());
        assert!(all(&snapshot, |_, sight| {
            why(&sight.log_dirs) == Some(&cluster)
                && why(&sight.quorum) == Some(&cluster)
                && sight.describe_cluster_permitted.known() == Some(&false)
                && sight.metadata.known().is_some_and(|view| snapshot.taken_at.duration_since(view.at).as_secs() < 5)
        }));
        tokio::time::sleep(11 * A_MINUTE).await;
        wait(&collector, "everything to be told", |snapshot| {
            all(snapshot, |_, sight| {
                sight.log_dirs.known().is_some()
                    && sight.quorum.known().is_some()
                    && sight.describe_cluster_permitted.known() == Some(&true)
                    && sight.coordinators.known().is_some_and(|told| told.answers.values().any(Result::is_ok))
            })
        })
        .await;
    });
}

#[test]
fn a_question_that_hangs_loses_its_own_fact_alone_and_is_asked_less_often() {
    let hang = "{ fault = { name = \"disk\", brokers = [2], apis = [\"DescribeLogDirs\"], do = \"hang\" } }";
    look(&format!("{KRAFT}{TOPIC}{TRANSACTIONS}{}", then(hang)), async |collector, requests| {
        wait(&collector, "a settled snapshot", Collector::settled).await;
        tokio::time::sleep(A_MINUTE).await;
        let asked = requests.count("DescribeLogDirs");
        let snapshot = wait(&collector, "silence", |snapshot| {
            snapshot.brokers.get(&2).is_some_and(|sight| why(&sight.log_dirs) == Some(&Why::Silent))
        })
        .await;
        assert!(all(&snapshot, |id, sight| {
            sight.contact.trouble.is_none()
                && sight.open_transactions.known().is_some()
                && sight.producers.known().is_some()
                && sight.groups.known().is_some()
                && (id == 2 || sight.log_dirs.known().is_some())
        }));
        let before = snapshot.brokers[&2].open_transactions.known().expect("told").at;
        tokio::time::sleep(10 * A_MINUTE).await;
        wait(&collector, "other facts to be asked for", |snapshot| {
            snapshot.brokers[&2].open_transactions.known().is_some_and(|told| told.at > before)
        })
        .await;
        // Once a minute at the two others; at this one after 1, 2 and 4 minutes.
        let seen = requests.count("DescribeLogDirs") - asked;
        assert!((22..=28).contains(&seen), "{seen}");
    });
}
