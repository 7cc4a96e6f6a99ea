//! Remedies carried out as reports offer them, on real brokers of 4.1.1, one after the other on one cluster: what was
//! found is gone afterwards.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::plan::{Plan, Wish};
use unstuck_diagnosis::report::{Risk, Status};
use unstuck_diagnosis::{BrokerId, GroupId, OFFSETS_TOPIC, PartitionId};
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::drills::Watched;
use unstuck_tests::groups::ids_on_every_partition;
use unstuck_tests::remedies::open;
use unstuck_tests::shell::Shell;
use unstuck_tests::tools::{Ran, Tool, Tools};
use unstuck_tests::wait::wait_for;

use super::shared::works;

/// Partitions of the offsets topic.
const PARTITIONS: i32 = 12;

/// A cluster, who looks at it, and where commands are run.
struct Scene {
    cluster: Cluster,
    watched: Watched,
    shell: Shell,
    /// One group on each partition.
    ids: Vec<GroupId>,
}

#[tokio::test(flavor = "multi_thread")]
async fn each_closes_what_it_was_offered_for() -> Result<()> {
    // A controller of its own, so that two brokers can be dead; and no elections but those that are asked for.
    let options = Options { offsets_partitions: PARTITIONS, separate_controller: true, ..Options::default() };
    // Small fetches, so that a throttle bites.
    let options = options.with("auto.leader.rebalance.enable", false).with("replica.fetch.max.bytes", 1024);
    let cluster = Cluster::kraft(options).await?;
    cluster.make_offsets_topic().await?;
    cluster.create_topic("orders", 1, 3).await?;
    let ids: Vec<GroupId> = ids_on_every_partition("remedies", PARTITIONS).into_values().collect();
    cluster.commit_for(&ids, "orders").await?;
    let watched = Watched::start(cluster.addresses());
    watched.until_worst(Status::Working).await;
    let shell = Shell::of(cluster.release())?;
    let scene = Scene { cluster, watched, shell, ids };
    scene.settings_are_put_right().await.context("settings")?;
    scene.fewer_in_sync_replicas_are_asked_for().await.context("min.insync.replicas")?;
    scene.a_broker_is_emptied_before_it_is_stopped().await.context("evacuation")?;
    scene.a_reassignment_is_cancelled().await.context("cancelling")?;
    scene.a_replica_that_was_not_in_sync_is_elected().await.context("unclean election")?;
    scene.leaders_are_spread_again().await.context("preferred election")?;
    Ok(())
}

impl Scene {
    /// One of Kafka's tools, to bring the cluster into a state.
    async fn tool(&self, tool: Tool, args: &[&str]) -> Result<()> {
        Tools::of(self.cluster.release()).succeed(tool, &self.cluster.running_bootstrap(), args).await?;
        Ok(())
    }

    async fn set(&self, setting: &str) -> Result<()> {
        let args = ["--alter", "--entity-type", "topics", "--entity-name", OFFSETS_TOPIC, "--add-config", setting];
        self.tool(Tool::Configs, &args).await
    }

    /// All groups work, and their commits go through.
    async fn all_work(&self) -> Result<()> {
        self.watched
            .until("all coordinators to work", |now| {
                let wrong = now.report.partitions.iter().find(|one| !works(one.status));
                wrong.map_or(Ok(()), |one| Err(format!("{}: {:?}", one.partition, one.status)))
            })
            .await;
        self.cluster.commit_for(&self.ids, "orders").await
    }

    async fn until_isr(&self, wanted: &[BrokerId]) {
        wait_for(format!("the ISR of all partitions to be {wanted:?}"), async || {
            let topic = self.cluster.offsets_topic().map_err(|error| format!("{error:#}"))?;
            let other = topic.values().find(|one| {
                let mut isr = one.isr.clone();
                isr.sort_unstable();
                isr != wanted
            });
            other.map_or(Ok(()), |other| Err(format!("{other:?}")))
        })
        .await;
    }

    /// A setting of the topic is warned of, set as offered, and the warning is gone; then the setting is taken away.
    async fn put_right(&self, wrong: &str, slug: &str, right: &str) -> Result<()> {
        self.set(wrong).await?;
        let offered = self.watched.offered(slug, &["kafka-configs.sh", right]).await;
        self.shell.look_first(&offered.finding).await?;
        self.shell.carry_out(&offered.remedy).await?;
        self.watched.until_closed(slug).await;
        self.shell.undo(&offered.remedy, "kafka-configs.sh").await?;
        Ok(())
    }

    async fn settings_are_put_right(&self) -> Result<()> {
        self.put_right("cleanup.policy=delete", "cleanup-policy", "cleanup.policy=compact").await?;
        self.set("cleanup.policy=compact").await?;
        let unclean = "unclean.leader.election.enable";
        let (wrong, right) = (format!("{unclean}=true"), format!("{unclean}=false"));
        self.put_right(&wrong, "unclean-election-enabled", &right).await?;
        self.put_right("min.insync.replicas=3", "min-isr-without-headroom", "min.insync.replicas=2").await
    }

    /// Three must be in sync and two are: fewer are asked for, until the third is back.
    async fn fewer_in_sync_replicas_are_asked_for(&self) -> Result<()> {
        self.set("min.insync.replicas=3").await?;
        self.cluster.kill(3)?;
        let lower = self.watched.offered("isr-below-min", &["kafka-configs.sh", "min.insync.replicas="]).await.remedy;
        ensure!(lower.danger.is_some() && lower.risk >= Risk::Exposes, "{lower:#?}");
        self.shell.carry_out(&lower).await?;
        self.watched.until_closed("isr-below-min").await;
        self.all_work().await?;

        self.cluster.restart_and_wait(3).await?;
        self.cluster.wait_until_in_sync().await;
        self.shell.undo(&lower, "kafka-configs.sh").await?;
        self.set("min.insync.replicas=1").await?;
        self.all_work().await
    }

    /// What a broker holds moves to others, and back.
    async fn a_broker_is_emptied_before_it_is_stopped(&self) -> Result<()> {
        let emptied = 3;
        // With two replicas there is somewhere to move to.
        let two = (0..PARTITIONS).map(|n| (n, vec![n % 3 + 1, (n + 1) % 3 + 1]));
        self.reassign(two.collect(), &["--execute"]).await?;
        self.until_placed(|replicas| replicas.len() == 2).await;
        let plan = self.plan(Wish::Evacuate(emptied)).await;
        self.shell.carry_out(&plan.remedy).await?;
        self.shell.verify(&plan.remedy, |ran| completed(ran) == plan.changes.len()).await?;
        self.until_placed(|replicas| !replicas.contains(&emptied) && replicas.len() == 2).await;

        // Nobody notices that it stops.
        self.watched.forget();
        self.cluster.stop(emptied).await?;
        self.all_work().await?;
        ensure!(!self.watched.seen().contains(&Status::Recovering), "{:?}", self.watched.seen());
        self.cluster.restart_and_wait(emptied).await?;

        self.shell.undo(&plan.remedy, "rollback.json").await?;
        self.watched
            .until("the replicas to be where they were", |now| {
                let wrong = plan.changes.iter().find(|change| {
                    now.report.partition(change.partition).is_none_or(|one| one.replicas != change.from)
                });
                wrong.map_or(Ok(()), |wrong| Err(format!("{wrong:?}")))
            })
            .await;
        self.cluster.wait_until_in_sync().await;
        self.all_work().await
    }

    /// A copy that does not get on is called off.
    async fn a_reassignment_is_cancelled(&self) -> Result<()> {
        // More than one fetch in each partition, and a byte a second to copy it.
        let many: Vec<GroupId> = (0..600).map(|n| GroupId(format!("filling-{n}"))).collect();
        self.cluster.commit_for(&many, "orders").await?;
        let plan = self.plan(Wish::Raise).await;
        let slow = || plan.changes.iter().map(|change| (change.partition, change.to.clone())).collect();
        self.reassign(slow(), &["--execute", "--throttle", "1"]).await?;
        self.shell.save_files(&plan.remedy)?;
        self.until_placed(|replicas| replicas.len() == 3).await;
        self.shell.undo(&plan.remedy, "--cancel").await?;
        self.until_placed(|replicas| replicas.len() == 2).await;

        // The same, as is offered when a broker that is to get replicas is down.
        self.reassign(slow(), &["--execute", "--throttle", "1"]).await?;
        self.until_placed(|replicas| replicas.len() == 3).await;
        self.cluster.kill(3)?;
        let cancel = self.watched.offered("reassignment-running", &["--cancel"]).await;
        self.shell.look_first(&cancel.finding).await?;
        self.shell.save_files(&cancel.remedy)?;
        // The tool ends with an error, since it cannot take a throttle from a broker that is down; the moves are cancelled.
        let ran = self.shell.run(cancel.remedy.command.as_deref().unwrap_or_default()).await?;
        ensure!(ran.printed.contains("Successfully cancelled"), "{}", ran.all());
        self.watched.until_closed("reassignment-running").await;
        self.cluster.restart_and_wait(3).await?;

        // And done at once, without the throttle that was left behind.
        self.shell.carry_out(&plan.remedy).await?;
        self.shell.verify(&plan.remedy, |ran| completed(ran) == plan.changes.len()).await?;
        self.until_placed(|replicas| replicas.len() == 3).await;
        self.cluster.wait_until_in_sync().await;
        self.all_work().await
    }

    /// The plan for the offsets topic, once there is one.
    async fn plan(&self, wish: Wish) -> Plan {
        let what = format!("a plan to {}", wish.slug());
        self.watched.until(what, |now| now.plan(wish).map_err(|refused| refused.why)).await
    }

    /// Gives partitions of the offsets topic these replicas, to bring the cluster into a state.
    async fn reassign(&self, replicas: BTreeMap<PartitionId, Vec<BrokerId>>, how: &[&str]) -> Result<()> {
        let entries = replicas.iter().map(|(partition, replicas)| {
            serde_json::json!({ "topic": OFFSETS_TOPIC, "partition": partition, "replicas": replicas })
        });
        let plan = serde_json::json!({ "version": 1, "partitions": entries.collect::<Vec<_>>() });
        let path = self.cluster.folder().join("staged.json");
        std::fs::write(&path, plan.to_string())?;
        let path = path.display().to_string();
        self.tool(Tool::ReassignPartitions, &[&["--reassignment-json-file", path.as_str()], how].concat()).await
    }

    /// Waits until Unstuck sees all partitions on replicas like these.
    async fn until_placed(&self, like: impl Fn(&[BrokerId]) -> bool) {
        self.watched
            .until("all replicas to be where they are wanted", |now| {
                let wrong = now.report.partitions.iter().find(|one| !like(&one.replicas));
                wrong.map_or(Ok(()), |one| Err(format!("{}: {:?}", one.partition, one.replicas)))
            })
            .await;
    }

    /// Only one replica was in sync, and its broker is gone: whoever lives leads, and what only the lost one had is lost.
    async fn a_replica_that_was_not_in_sync_is_elected(&self) -> Result<()> {
        let (lost, behind) = (1, [2, 3]);
        for broker in behind {
            self.cluster.kill(broker)?;
        }
        self.until_isr(&[lost]).await;
        self.cluster.commit_for(&self.ids, "orders").await?;
        self.cluster.kill(lost)?;
        self.cluster.restart(behind[0])?;
        let slug = "no-leader-no-live-replica";
        let elect = self.watched.offered(slug, &["--election-type unclean"]).await;
        let first = elect.finding.remedies.iter().find(|remedy| remedy.title.starts_with("Start"));
        ensure!(first.is_some_and(|first| first.risk < elect.remedy.risk), "the harmless way: {:#?}", elect.finding);
        ensure!(elect.remedy.risk == Risk::Loses && elect.remedy.danger.is_some(), "{:#?}", elect.remedy);
        self.watched
            .until("it to be offered for all partitions", |now| {
                let partitions = open(now, slug).map_or(0, |finding| finding.partitions.len());
                if partitions == self.ids.len() { Ok(()) } else { Err(partitions) }
            })
            .await;
        let elect = self.watched.offered(slug, &["--election-type unclean"]).await;
        self.shell.look_first(&elect.finding).await?;
        self.shell.carry_out(&elect.remedy).await?;
        self.watched.until_closed(slug).await;
        self.all_work().await?;
        // Said afterwards, too, with what is left to do.
        let lost_offsets = self.watched.offered("offsets-may-be-lost", &["--to-datetime"]).await;
        self.cluster.heal().await?;
        self.cluster.wait_until_in_sync().await;
        self.all_work().await?;
        // The groups are at 1, and the topic has no records: by time they are at 0.
        let group = self.ids[0].as_str();
        let shell = Shell::of(self.cluster.release())?.with("GROUP", group);
        shell.carry_out(&lost_offsets.remedy).await?;
        shell.verify(&lost_offsets.remedy, |ran| ran.rows(&[group, "orders", "0", "0"]).len() == 1).await?;
        self.all_work().await
    }

    /// Whoever was there when the others were not leads everything, until the preferred leaders lead again.
    async fn leaders_are_spread_again(&self) -> Result<()> {
        // Somebody who has not seen the leaders move takes them for settled.
        let watched = Watched::start(self.cluster.addresses());
        let skewed = watched.offered("leader-skew", &["--election-type preferred"]).await;
        self.shell.carry_out(&skewed.remedy).await?;
        watched
            .until("every broker to lead its share", |now| {
                let leads = |id| now.report.partitions.iter().filter(|one| one.leader == Some(id)).count();
                let leads = [leads(1), leads(2), leads(3)];
                let closed = open(now, "leader-skew").is_none();
                if closed && leads.iter().all(|count| *count <= 6) {
                    Ok(())
                } else {
                    Err(format!("{closed} {leads:?}"))
                }
            })
            .await;
        self.all_work().await
    }
}

/// How many partitions a verified reassignment calls complete.
pub(super) fn completed(ran: &Ran) -> usize {
    ran.printed.lines().filter(|line| line.contains("is complete")).count()
}
