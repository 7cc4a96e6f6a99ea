//! Founding incident 2: no leader, although an in-sync replica is alive, since ZooKeeper and the controller's memory
//! disagree. Staged on brokers of 3.9.1, and healed with the commands that the report offers.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::report::{Finding, Risk, Status};
use unstuck_diagnosis::{BrokerId, GroupId, OFFSETS_TOPIC, PartitionId};
use unstuck_tests::cluster::Cluster;
use unstuck_tests::drills::Watched;
use unstuck_tests::groups::ids_on_every_partition;
use unstuck_tests::remedies::open;
use unstuck_tests::shell::Shell;

use super::shared::works;
use super::zookeeper_tools::{PARTITIONS, described, described_as_shown, started, tools};

const SLUG: &str = "no-leader-live-replica";

/// A partition whose state in ZooKeeper is made to disagree with the controller's memory.
struct Staged<'a> {
    cluster: &'a Cluster,
    watched: &'a Watched,
    partition: PartitionId,
    /// The group that is coordinated there.
    group: GroupId,
    /// Its leader and preferred replica, which lives on.
    stays: BrokerId,
    /// Its other replica, which ZooKeeper names as leader, and which dies.
    dies: BrokerId,
}

#[tokio::test(flavor = "multi_thread")]
async fn no_leader_although_an_in_sync_replica_is_alive() -> Result<()> {
    let cluster = started(2).await?;
    let zookeeper = cluster.zookeeper_address()?;
    let first = controller(zookeeper).await?;
    let topic = cluster.offsets_topic()?;
    let (&partition, placed) = topic
        .iter()
        .find(|(_, one)| !one.replicas.contains(&first))
        .with_context(|| format!("broker {first} has a replica of each partition: {topic:?}"))?;
    let stays = placed.leader.context("it has a leader")?;
    let dies = *placed.replicas.iter().find(|id| **id != stays).context("a second replica")?;
    let by_partition = ids_on_every_partition("incident-2", PARTITIONS);
    let ids: Vec<GroupId> = by_partition.values().cloned().collect();
    cluster.commit_for(&ids, "orders").await?;
    let watched = Watched::start(cluster.addresses());
    watched.until_worst(Status::Working).await;
    let group = by_partition[&partition].clone();
    let staged = Staged { cluster: &cluster, watched: &watched, partition, group, stays, dies };

    // The first remedy: safe, and enough.
    let finding = staged.break_it(14).await?;
    let shell = Shell::of(cluster.release())?;
    shell.look_first(&finding).await?;
    let remedy = finding.remedies.iter().find(|remedy| remedy.mutates()).context("a remedy")?;
    let command = remedy.command.as_deref().context("a command")?;
    ensure!(command.contains("kafka-leader-election.sh") && command.contains("--election-type preferred"), "{command}");
    ensure!(remedy.risk < Risk::Loses, "{remedy:#?}");
    let ran = shell.succeed(command).await?;
    ensure!(ran.printed.contains("Successfully completed leader election"), "{}", ran.all());
    staged.is_healed().await?;
    cluster.commit_for(&ids, "orders").await?;

    // The same again, and the remedy for clusters that refuse elections.
    cluster.restart_and_wait(dies).await?;
    cluster.wait_until_in_sync().await;
    let finding = staged.break_it(40).await?;
    let mut commands = finding.remedies.iter().filter_map(|remedy| remedy.command.as_deref());
    let command = commands.find(|command| command.starts_with("zookeeper-shell")).context("such a remedy")?;
    // As the remedy says: the chroot goes before the path.
    let (address, chroot) = zookeeper.split_once('/').context("a chroot")?;
    ensure!(command.contains("ZOOKEEPER:2181") && command.contains(" /controller"), "the remedy is now: {command}");
    let shell = shell.with("ZOOKEEPER:2181", address).with(" /controller", format!(" /{chroot}/controller"));
    shell.succeed(command).await?;
    staged.is_healed().await?;
    cluster.commit_for(&ids, "orders").await?;
    described_as_shown(&watched, zookeeper, |placed| placed.0.is_some()).await;
    Ok(())
}

impl Staged<'_> {
    /// Makes ZooKeeper name the other replica as leader, kills that one, and waits until the report says what is wrong.
    async fn break_it(&self, epoch: i32) -> Result<Finding> {
        let Self { cluster, watched, partition, group, stays, dies } = self;
        let zookeeper = cluster.zookeeper_address()?;
        watched
            .until("all groups to work, led by the replica that stays", |now| {
                let led = now.report.partition(*partition).is_some_and(|one| one.leader == Some(*stays));
                let wrong = now.report.partitions.iter().find(|one| !works(one.status));
                if led && wrong.is_none() { Ok(()) } else { Err(format!("{led} {wrong:?}")) }
            })
            .await;
        let state = format!("/brokers/topics/{OFFSETS_TOPIC}/partitions/{partition}/state");
        let value = format!(
            r#"{{"controller_epoch":1,"leader":{dies},"version":1,"leader_epoch":{epoch},"isr":[{dies},{stays}]}}"#
        );
        tools().zookeeper_shell(zookeeper, &["set", &state, &value]).await?;
        // The controller has not noticed, and neither has anybody else.
        watched.look_now();
        watched
            .until("the group to be served as before", |now| {
                let one = now.report.partition(*partition).ok_or("no such partition")?;
                if works(one.status) && one.leader == Some(*stays) { Ok(()) } else { Err("it is not") }
            })
            .await;
        cluster.kill(*dies)?;
        let finding = watched
            .until("only this group to be stuck, although a replica is alive and in sync", |now| {
                let said = now.report.partition(*partition).ok_or("no such partition")?;
                let mut others = now.report.partitions.iter().filter(|one| one.partition != *partition);
                let others_work = others.all(|one| works(one.status));
                let as_staged = said.leader.is_none() && said.isr == [*stays] && said.status == Status::Stuck;
                // Nobody can find it, yet it goes on serving whoever is still connected.
                let serves = said.served_by == [*stays];
                let finding =
                    open(now, SLUG).filter(|finding| as_staged && serves && finding.partitions == [*partition]);
                let finding = finding.filter(|_| others_work).cloned();
                finding.ok_or_else(|| format!("others work: {others_work}, {said:#?}"))
            })
            .await;
        let shown = described(zookeeper).await?;
        ensure!(shown[partition].0.is_none() && shown[partition].2 == BTreeSet::from([*stays]), "{shown:?}");
        let refused = cluster.try_commit(group, "orders", Duration::from_secs(10))?;
        ensure!(refused == 15, "FindCoordinator answered {refused}, not 15 COORDINATOR_NOT_AVAILABLE");

        // Who says what, and who still serves it, is part of the evidence.
        let evidence: String = finding.evidence.iter().map(|one| format!("{}\n", one.text)).collect();
        let mut alive = cluster.broker_ids();
        alive.retain(|id| id != dies);
        let views = format!("Brokers {} and {} say: no leader", alive[0], alive[1]);
        let serves = format!("Broker {stays} still serves it");
        ensure!(evidence.contains(&views) && evidence.contains(&serves), "{evidence}");
        ensure!(finding.sentence.contains("alive and in sync"), "{}", finding.sentence);
        let served = watched.until_open("served-but-not-found").await;
        ensure!(served.brokers.contains(stays) && served.partitions == [*partition], "{served:#?}");
        Ok(finding)
    }

    /// The finding has closed, and the replica that was alive all the time leads.
    async fn is_healed(&self) -> Result<()> {
        self.watched
            .until("the group to be served by the replica that was alive all the time", |now| {
                let said = now.report.partition(self.partition).ok_or("no such partition")?;
                let others_work = now.report.partitions.iter().all(|one| works(one.status));
                let closed = open(now, SLUG).is_none() && open(now, "served-but-not-found").is_none();
                let healed = others_work && closed && said.leader == Some(self.stays);
                if healed { Ok(()) } else { Err(format!("closed: {closed}, {said:#?}")) }
            })
            .await;
        Ok(())
    }
}

/// The controller, as ZooKeeper has it.
async fn controller(zookeeper: &str) -> Result<BrokerId> {
    let printed = tools().zookeeper_shell(zookeeper, &["get", "/controller"]).await?;
    let node = printed.lines().find(|line| line.starts_with('{')).with_context(|| format!("no node in: {printed}"))?;
    let node: serde_json::Value = serde_json::from_str(node)?;
    Ok(i32::try_from(node["brokerid"].as_i64().context("a broker's id")?)?)
}
