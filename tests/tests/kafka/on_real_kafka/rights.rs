//! Rights that a report asks for, granted as it offers them, on a real broker of 4.1.1 with an authorizer: Unstuck comes in
//! without any, and sees more with each.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::report::{CouldNotObserve, Status, TopicPresence};
use unstuck_kafka::{Cadence, ClusterConfig};
use unstuck_tests::authorizer::ANONYMOUS;
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::drills::Watched;
use unstuck_tests::raw::Connection;
use unstuck_tests::shell::Shell;
use unstuck_tests::wait::wait_for;

const PARTITIONS: i32 = 3;
const GROUP: &str = "payments";
const TRANSACTIONAL_ID: &str = "payments-1";

/// A cluster, an admin's shell, and who looks at the cluster without a login.
struct Scene {
    cluster: Cluster,
    admin: Shell,
    watched: Watched,
}

#[tokio::test(flavor = "multi_thread")]
async fn each_right_lets_unstuck_see_what_it_was_asked_for() -> Result<()> {
    let options = Options {
        brokers: 1,
        offsets_replication_factor: 1,
        offsets_partitions: PARTITIONS,
        authorizer: true,
        ..Options::default()
    };
    let cluster = Cluster::kraft(options.with("transaction.state.log.num.partitions", 2)).await?;
    // Commands name the address that Unstuck comes in at; admins come in at another.
    let admin = Shell::logged_in(cluster.release(), &cluster.admin_config()?)?
        .with(&cluster.address(1), cluster.admin_address(1))
        .with("User:UNSTUCK", ANONYMOUS);
    use_the_cluster(&cluster, &admin).await?;
    let before = what_there_is(&cluster, &admin).await?;

    let mut config = ClusterConfig::new("watched", cluster.addresses());
    config.cadence = Cadence {
        metadata: Duration::from_millis(250),
        canaries: Duration::from_secs(1),
        denied_canaries: Duration::from_secs(2),
        wide: Duration::from_secs(1),
        log_dirs: Duration::from_secs(2),
        reassignments: Duration::from_secs(2),
        transactions: Duration::from_secs(2),
        ..Cadence::default()
    };
    let scene = Scene { watched: Watched::start_with(config, |_| ()), cluster, admin };
    scene.the_topic_is_shown().await.context("the hidden topic")?;
    scene.coordinators_may_be_asked().await.context("canaries")?;
    scene.what_could_not_be_observed_is().await.context("what could not be observed")?;
    scene.all_groups_are_listed().await.context("groups")?;
    let after = what_there_is(&scene.cluster, &scene.admin).await?;
    ensure!(before == after, "looking left something behind: before {before:?}, after {after:?}");
    Ok(())
}

/// Makes a group with a committed offset, and a transactional id, so that the topics of coordinators are there.
async fn use_the_cluster(cluster: &Cluster, admin: &Shell) -> Result<()> {
    let at = format!("--bootstrap-server {}", cluster.address(1));
    admin.succeed(&format!("kafka-topics.sh {at} --create --topic orders --partitions 1")).await?;
    let commit = format!("--group {GROUP} --topic orders --reset-offsets --to-earliest --execute");
    admin.succeed(&format!("kafka-consumer-groups.sh {at} {commit}")).await?;
    // Without rights of its own nobody makes the topic of transactions: an application gets them for a moment.
    let rights = format!("--allow-principal {ANONYMOUS} --operation Write --transactional-id {TRANSACTIONAL_ID}");
    admin.succeed(&format!("kafka-acls.sh {at} --add {rights}")).await?;
    wait_for("a transactional id to be known", async || {
        let mut connection = Connection::open(&cluster.address(1), Duration::from_secs(10))?;
        let found = connection.find_transaction_coordinator(TRANSACTIONAL_ID)?;
        found.map_err(|code| anyhow::anyhow!("FindCoordinator: error {code}"))?;
        let made = connection.init_producer_id(TRANSACTIONAL_ID, 1_000)?;
        made.map_err(|code| anyhow::anyhow!("InitProducerId: error {code}"))
    })
    .await;
    admin.succeed(&format!("kafka-acls.sh {at} --remove --force {rights}")).await?;
    Ok(())
}

/// The topics and groups that an admin sees.
async fn what_there_is(cluster: &Cluster, admin: &Shell) -> Result<BTreeSet<String>> {
    let at = format!("--bootstrap-server {}", cluster.address(1));
    let topics = admin.succeed(&format!("kafka-topics.sh {at} --list")).await?;
    let groups = admin.succeed(&format!("kafka-consumer-groups.sh {at} --list")).await?;
    let lines =
        |kind: &'static str, text: &str| -> Vec<String> { text.lines().map(|line| format!("{kind} {line}")).collect() };
    let there: BTreeSet<String> =
        lines("topic", &topics.printed).into_iter().chain(lines("group", &groups.printed)).collect();
    for wanted in ["topic __consumer_offsets", "topic __transaction_state", "topic orders", "group payments"] {
        ensure!(there.contains(wanted), "no {wanted}: {there:?}");
    }
    Ok(there)
}

impl Scene {
    async fn the_topic_is_shown(&self) -> Result<()> {
        let slug = "offsets-topic-missing";
        let hidden = self.watched.offered(slug, &["kafka-acls.sh", "--topic __consumer_offsets"]).await;
        let report = &self.watched.now().report;
        ensure!(report.offsets_topic.presence == TopicPresence::MaybeHidden, "{:?}", report.offsets_topic);
        ensure!(report.headline.status == Status::Unknown, "{:?}", report.headline);
        self.admin.carry_out(&hidden.remedy).await?;
        self.watched.until_closed(slug).await;
        let shown = self.watched.now().report.partitions.len();
        ensure!(i32::try_from(shown)? == PARTITIONS, "{shown} partitions");
        Ok(())
    }

    async fn coordinators_may_be_asked(&self) -> Result<()> {
        let slug = "canaries-denied";
        let denied = self.watched.offered(slug, &["kafka-acls.sh", "--group unstuck-canary"]).await;
        self.admin.carry_out(&denied.remedy).await?;
        self.watched.until_closed(slug).await;
        let serves = self.watched.now();
        let unknown = serves.report.partitions.iter().find(|one| one.status == Status::Unknown);
        ensure!(unknown.is_none(), "{unknown:?}");

        // Without the right it is as before, and with it once more.
        self.admin.undo(&denied.remedy, "--remove").await?;
        self.watched.until_open(slug).await;
        self.admin.carry_out(&denied.remedy).await?;
        self.watched.until_closed(slug).await;
        Ok(())
    }

    /// Every right that is named as missing, one after the other.
    async fn what_could_not_be_observed_is(&self) -> Result<()> {
        let named = |gap: &CouldNotObserve| {
            let (right, command) = gap.why.strip_prefix("needs ")?.split_once(": ")?;
            Some((right.to_owned(), command.to_owned()))
        };
        // This one is never named: a topic that is hidden looks as if it had not been made yet.
        let at = format!("--bootstrap-server {}", self.cluster.address(1));
        let right = format!("--allow-principal {ANONYMOUS} --operation Describe --topic __transaction_state");
        self.admin.succeed(&format!("kafka-acls.sh {at} --add {right}")).await?;
        for wanted in [
            "READ on TOPIC __consumer_offsets",
            "DESCRIBE_CONFIGS on CLUSTER",
            "DESCRIBE_CONFIGS on TOPIC __transaction_state",
            "DESCRIBE on TRANSACTIONAL_ID unstuck-canary*",
        ] {
            let command = self
                .watched
                .until(format!("{wanted} to be named as missing"), |now| {
                    let gaps = &now.report.could_not_observe;
                    let found = gaps.iter().filter_map(named).find(|(right, _)| right == wanted);
                    found.map(|(_, command)| command).ok_or_else(|| format!("{gaps:#?}"))
                })
                .await;
            self.admin.succeed(&command).await?;
            self.watched
                .until(format!("{wanted} to be no longer missed"), |now| {
                    let gaps = &now.report.could_not_observe;
                    let found = gaps.iter().filter_map(named).find(|(right, _)| right == wanted);
                    found.map_or(Ok(()), |found| Err(format!("{found:?}")))
                })
                .await;
        }
        Ok(())
    }

    async fn all_groups_are_listed(&self) -> Result<()> {
        let slug = "groups-not-listed";
        let filtered = self.watched.offered(slug, &["kafka-acls.sh", "--cluster"]).await;
        ensure!(self.watched.now().memory.groups.by_id.is_empty(), "a group is listed without the right to see it");
        self.admin.carry_out(&filtered.remedy).await?;
        self.watched.until_closed(slug).await;
        self.watched
            .until("the group to be listed, and nothing to be missed", |now| {
                let groups: Vec<_> = now.memory.groups.by_id.keys().map(|id| id.as_str().to_owned()).collect();
                let missed = &now.report.could_not_observe;
                let complete = groups == [GROUP] && missed.is_empty();
                if complete { Ok(()) } else { Err(format!("{groups:?} {missed:#?}")) }
            })
            .await;

        self.admin.undo(&filtered.remedy, "--remove").await?;
        self.watched.until_open(slug).await;
        Ok(())
    }
}
