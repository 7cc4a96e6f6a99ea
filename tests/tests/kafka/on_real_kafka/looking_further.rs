//! Disks, reassignments and transactions of real brokers, as the snapshot has them.

use std::time::Duration;

use anyhow::{Context, Result};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseProducer, Producer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::snapshot::{BrokerSight, TRANSACTION_STATE};
use unstuck_diagnosis::{GroupId, OFFSETS_TOPIC};
use unstuck_kafka::Collector;
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::drills::Watched;
use unstuck_tests::jars::Release;
use unstuck_tests::tools::{Tool, Tools};

const PARTITIONS: i32 = 6;
const GROUP: &str = "copier";
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn on_4_1_with_kraft() -> Result<()> {
    on(Release::V4_1_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn on_3_9_with_zookeeper() -> Result<()> {
    on(Release::V3_9_1).await
}

async fn on(release: Release) -> Result<()> {
    let options = Options {
        offsets_partitions: PARTITIONS,
        offsets_replication_factor: 2,
        // Kafka's tool does not reassign to a broker that is not listed: one that was killed stays so for a while.
        session_timeout: Duration::from_secs(60),
        ..Options::default()
    };
    let options = options.with("transaction.state.log.num.partitions", 4);
    let cluster = Cluster::start(release, options).await?;
    cluster.make_offsets_topic().await?;
    cluster.create_topic("orders", 3, 1).await?;
    let watched = Watched::start(cluster.addresses());
    watched
        .until("a look at everything", |now| {
            let settled = Collector::settled(&now.snapshot) && now.snapshot.brokers.len() == 3;
            let quiet = now.snapshot.brokers.values().all(|sight| sight.transaction_canaries.is_empty());
            if settled && quiet { Ok(()) } else { Err("not settled") }
        })
        .await;
    disks(&watched);
    transactions(&cluster, &watched).await?;
    if release == Release::V4_1_1 {
        reassignment(&cluster, &watched).await?;
    }
    Ok(())
}

fn sights(watched: &Watched) -> Vec<(i32, BrokerSight)> {
    watched.now().snapshot.brokers.iter().map(|(id, sight)| (*id, sight.clone())).collect()
}

fn disks(watched: &Watched) {
    for (id, sight) in sights(watched) {
        let told = sight.log_dirs.known().expect("log directories");
        assert!(!told.dirs.is_empty() && told.dirs.iter().all(|dir| dir.error == 0), "broker {id}: {told:?}");
        assert!(told.dirs.iter().all(|dir| dir.usable_bytes > Some(0) && dir.usable_bytes < dir.total_bytes));
        let topic = sight.metadata.known().and_then(|view| view.offsets_topic.clone()).expect("the topic");
        let held: Vec<i32> =
            topic.partitions.iter().filter(|(_, one)| one.replicas.contains(&id)).map(|(number, _)| *number).collect();
        assert_eq!(told.offsets.keys().copied().collect::<Vec<_>>(), held, "broker {id}");
    }
}

/// A transaction that has committed offsets and does not end, and its end.
async fn transactions(cluster: &Cluster, watched: &Watched) -> Result<()> {
    let bootstrap = cluster.bootstrap();
    let producer = tokio::task::spawn_blocking(move || {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", bootstrap);
        let producer: BaseProducer = config.clone().set("transactional.id", "copier-1").create()?;
        producer.init_transactions(PATIENCE)?;
        producer.begin_transaction()?;
        let consumer: BaseConsumer = config.set("group.id", GROUP).create()?;
        let group = consumer.group_metadata().context("a group")?;
        let mut offsets = TopicPartitionList::new();
        offsets.add_partition_offset("orders", 0, Offset::Offset(7))?;
        producer.send_offsets_to_transaction(&offsets, &group, PATIENCE)?;
        anyhow::Ok(producer)
    })
    .await??;

    let partition = partition_for(&GroupId::from(GROUP), PARTITIONS).context("a partition")?;
    watched
        .until("transaction coordinators and the open transaction to be seen", |now| {
            watched.look_now();
            for (id, sight) in &now.snapshot.brokers {
                let view = sight.metadata.known().ok_or("no metadata")?;
                let topic = view.state_topics.get(TRANSACTION_STATE).ok_or("no __transaction_state")?;
                for (number, one) in &topic.partitions {
                    let canary = sight.transaction_canaries.get(number).ok_or("no canary")?;
                    let wanted = if one.leader == Some(*id) { 105 } else { 16 };
                    if canary.code != wanted {
                        return Err("another code");
                    }
                }
                if topic.partitions.len() != 4 || sight.open_transactions.known().is_none() {
                    return Err("not four partitions, or no listing");
                }
            }
            let view = now.snapshot.brokers[&1].metadata.known().and_then(|view| view.offsets_topic.as_ref());
            let leader = view.and_then(|topic| topic.partitions[&partition].leader).ok_or("no leader")?;
            let producers = now.snapshot.brokers[&leader].producers.known().ok_or("no producers")?;
            let open = producers.get(&partition).and_then(|open| open.first()).ok_or("none open")?;
            if open.txn_start_offset < 0 || open.last_timestamp.is_none() { Err("no start") } else { Ok(()) }
        })
        .await;
    // The broker makes this topic with a min.insync.replicas of its own. Settings are asked for less often than leaders, so
    // the topic may be seen before them.
    watched
        .until("the settings of the transaction topic to be told", |now| {
            watched.look_now();
            let told = now.snapshot.brokers.values().filter_map(|sight| sight.state_topic_configs.known());
            let configs = told.filter_map(|configs| configs.get(TRANSACTION_STATE)).next().ok_or("none told")?;
            if configs.min_insync_is_override == Some(true) { Ok(()) } else { Err("no override") }
        })
        .await;

    tokio::task::spawn_blocking(move || producer.abort_transaction(PATIENCE)).await??;
    watched
        .until("no transaction to be open", |now| {
            watched.look_now();
            let none = |sight: &BrokerSight| sight.producers.known().is_some_and(std::collections::BTreeMap::is_empty);
            if now.snapshot.brokers.values().all(none) { Ok(()) } else { Err("some are") }
        })
        .await;
    Ok(())
}

/// A reassignment that cannot end, because the new replica is down.
async fn reassignment(cluster: &Cluster, watched: &Watched) -> Result<()> {
    let topic = sights(watched).remove(0).1.metadata.known().and_then(|view| view.offsets_topic.clone());
    let partitions = topic.context("the topic")?.partitions;
    let (number, _) = partitions.iter().find(|(_, one)| !one.replicas.contains(&3)).context("one not on broker 3")?;
    cluster.kill(3)?;
    let file = cluster.folder().join("to-a-broker-that-is-down.json");
    let plan = format!(
        "{{\"version\":1,\"partitions\":[{{\"topic\":\"{OFFSETS_TOPIC}\",\"partition\":{number},\"replicas\":[1,3]}}]}}"
    );
    std::fs::write(&file, plan)?;
    let path = file.to_str().context("a path")?;
    let tools = Tools::of(cluster.release());
    let args = ["--reassignment-json-file", path, "--execute"];
    tools.succeed(Tool::ReassignPartitions, &cluster.address(1), &args).await?;
    watched
        .until("the reassignment to be told by broker 1 alone", |now| {
            let running = now.snapshot.brokers[&1].reassignments.known().and_then(|running| running.get(number));
            let running = running.ok_or("none")?;
            let others =
                now.snapshot.brokers.iter().any(|(id, sight)| *id != 1 && sight.reassignments.known().is_some());
            if running.adding == [3] && running.removing == [2] && !others { Ok(()) } else { Err("another one") }
        })
        .await;
    Ok(())
}
