//! A drill looks like the real cluster in the same situation: both begin alike, the same is done to both, and what the
//! collector sees of them is compared fact by fact.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::snapshot::{MetadataView, Snapshot};
use unstuck_diagnosis::{GroupId, OFFSETS_TOPIC};
use unstuck_drill::scenario::action::Action;
use unstuck_drill::serve::Drill;
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::consumers::RustConsumer;
use unstuck_tests::drills::{Watched, drill};
use unstuck_tests::fidelity::answers::{Asking, answers};
use unstuck_tests::fidelity::{Side, Start, alike, detail_facts, differences};
use unstuck_tests::groups::{REQUEST_TIMEOUT, ids_on_every_partition};
use unstuck_tests::jars::Release;
use unstuck_tests::tools::{Tool, Tools};
use unstuck_tests::wait::wait_for;

/// Long enough to look at a cluster that has not noticed yet.
const SESSION_TIMEOUT: Duration = Duration::from_secs(8);
const PARTITIONS: i32 = 12;

#[tokio::test(flavor = "multi_thread")]
async fn of_4_1_with_kraft() -> Result<()> {
    in_all_situations(Release::V4_1_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_3_9_with_zookeeper() -> Result<()> {
    in_all_situations(Release::V3_9_1).await
}

async fn in_all_situations(release: Release) -> Result<()> {
    let options = Options {
        offsets_replication_factor: 2,
        offsets_partitions: PARTITIONS,
        session_timeout: SESSION_TIMEOUT,
        separate_controller: release == Release::V4_1_1,
        // A drill of 4.1 is one in which all group types are allowed.
        share_and_streams: release == Release::V4_1_1,
        ..Options::default()
    };
    // A drill creates no topics because somebody asks for them.
    let options = options.with("auto.leader.rebalance.enable", false).with("auto.create.topics.enable", false);
    let cluster = Cluster::start(release, options).await?;
    cluster.make_offsets_topic().await?;
    cluster.create_topic("orders", 3, 1).await?;
    cluster.create_topic("clicks", 2, 3).await?;
    let groups: Vec<GroupId> = ids_on_every_partition("simple", PARTITIONS).into_values().collect();
    cluster.commit_for(&groups, "clicks").await?;
    let both = Both::begin(&cluster, &groups).await?;
    let [first, second] = both.victims();

    both.alike("healthy", |_| true).await?;
    let consumers = both.consumers()?;
    both.alike("a consumer has joined", |view| state(view, &both.group).as_deref() == Some("Stable")).await?;
    both.details_alike(&[&both.group, groups[0].as_str()]).await?;

    both.kill(first)?;
    both.alike("a broker was killed a moment ago", |view| trouble(view, first) && listed_by_all(view, first)).await?;
    both.alike("a broker is gone", |view| trouble(view, first) && listed_by_none(view, first)).await?;

    both.kill(second)?;
    let both_gone = |view: &Snapshot| listed_by_none(view, first) && listed_by_none(view, second);
    both.alike("two are gone, and partitions without leader", |view| both_gone(view) && leaderless(view) > 0).await?;

    both.start(first).await?;
    let is_back = |view: &Snapshot, id| listed_by_all(view, id) && !trouble(view, id);
    both.alike("the one that was not the last in sync is back", |view| is_back(view, first) && leaderless(view) > 0)
        .await?;

    let unled = both.unled_partitions(first);
    ensure!(!unled.is_empty(), "partitions of brokers {first} and {second} have no leader");
    both.elect("unclean", &unled[..1]).await?;
    both.alike("an unclean election was run", |view| leaderless(view) + 1 == unled.len()).await?;

    both.start(second).await?;
    both.alike("both are back", |view| is_back(view, second) && leaderless(view) == 0).await?;

    both.elect("preferred", &[]).await?;
    both.alike("an election of preferred leaders was run", |view| leaderless(view) == 0).await?;
    both.details_alike(&[&both.group, groups[0].as_str()]).await?;
    drop(consumers);
    both.alike("the consumer has left", |view| state(view, &both.group).as_deref() == Some("Empty")).await
}

/// A real cluster and a drill to which the same is done.
struct Both<'a> {
    cluster: &'a Cluster,
    drill: Drill,
    real: Side,
    imitated: Side,
    /// A broker that stays: the controller in ZooKeeper mode, since who would be the next one is a matter of luck.
    survivor: i32,
    /// A group whose coordinator is that broker.
    group: String,
}

impl<'a> Both<'a> {
    /// The drill begins as the real cluster stands now.
    async fn begin(cluster: &'a Cluster, groups: &[GroupId]) -> Result<Self> {
        let ids = cluster.broker_ids();
        let addresses: BTreeMap<i32, String> = ids.iter().map(|id| (*id, cluster.address(*id))).collect();
        let real = Side { watched: Watched::start(addresses.values().cloned().collect()), addresses };
        let view = real
            .watched
            .until("the offsets topic to be seen", |now| {
                let sight = now.snapshot.brokers.get(&1).context("broker 1")?;
                let view = sight.metadata.known().context("its metadata")?;
                view.offsets_topic.is_some().then(|| view.clone()).context("the topic")
            })
            .await;
        let kraft = cluster.release() == Release::V4_1_1;
        let survivor = if kraft { 3 } else { view.controller.context("a controller")? };
        let eye = cluster.eye()?;
        let mut topics = BTreeMap::new();
        for name in [OFFSETS_TOPIC, "orders", "clicks"] {
            topics.insert(name.to_owned(), eye.partitions(name, REQUEST_TIMEOUT)?);
        }
        let partitions = &view.offsets_topic.as_ref().context("the topic")?.partitions;
        let epochs = partitions.iter().map(|(number, one)| (*number, one.leader_epoch.unwrap_or(0))).collect();
        let groups: Vec<String> = groups.iter().map(|group| group.to_string()).collect();
        let configs = cluster.settings();
        let start = Start {
            mode: if kraft { "kraft" } else { "zookeeper" },
            release: cluster.release().version(),
            brokers: &ids,
            controller: if kraft { 100 } else { survivor },
            session_timeout: SESSION_TIMEOUT,
            configs: &configs,
            topics: &topics,
            epochs: &epochs,
            simple_groups: (&groups, "clicks"),
        };
        let drill = drill("as-a-real-cluster", &start.scenario())?;
        let addresses = ids.into_iter().zip(drill.bootstrap()).collect();
        let imitated = Side { watched: Watched::start(drill.bootstrap()), addresses };
        let on_survivor = |id: &String| {
            let partition = partition_for(&GroupId::from(id.as_str()), PARTITIONS);
            partition.and_then(|number| partitions.get(&number)).is_some_and(|one| one.leader == Some(survivor))
        };
        let group = (0..).map(|n| format!("consumer-{n}")).find(on_survivor).context("a group")?;
        Ok(Self { cluster, drill, real, imitated, survivor, group })
    }

    fn victims(&self) -> [i32; 2] {
        let mut others = [1, 2, 3].into_iter().filter(|id| *id != self.survivor);
        [(); 2].map(|()| others.next().expect("three brokers"))
    }

    async fn alike(&self, situation: &str, holds: impl Fn(&Snapshot) -> bool) -> Result<()> {
        println!("{situation}");
        alike(&self.real, &self.imitated, situation, holds).await?;
        // A coordinator may be loading on one side only, for a moment.
        for _ in 0..4 {
            if self.answers_alike(situation).await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        self.answers_alike(situation).await
    }

    /// What is too coarse in snapshots: each answer in each version, of each broker that runs.
    async fn answers_alike(&self, situation: &str) -> Result<()> {
        let mut groups: Vec<String> =
            ids_on_every_partition("simple", PARTITIONS).into_values().map(|id| id.0).collect();
        groups.extend([self.group.clone(), "nobody".to_owned()]);
        let asking = Asking { groups, topic: "clicks".to_owned() };
        for (broker, address) in &self.real.addresses {
            if self.cluster.pid(*broker).is_none() {
                continue;
            }
            let sides = [address.clone(), self.imitated.addresses[broker].clone()];
            let (asking, broker) = (asking.clone(), *broker);
            let both = tokio::task::spawn_blocking(move || {
                let [real, imitated] = sides.map(|address| answers(&address, broker, &asking));
                anyhow::Ok((real.context("the real cluster")?, imitated.context("the drill")?))
            });
            let (real, imitated) = both.await??;
            ensure!(real.len() > 1000, "{situation}: only {} facts", real.len());
            let differences = differences(&real, &imitated);
            ensure!(
                differences.is_empty(),
                "{situation}: broker {broker} of the real cluster (-) and of the drill (+) answer otherwise\n{differences}"
            );
        }
        Ok(())
    }

    /// Members and offsets of these groups.
    async fn details_alike(&self, groups: &[&str]) -> Result<()> {
        for group in groups {
            wait_for(format!("the details of {group} to be alike"), async || {
                let id = GroupId::from(*group);
                let real = detail_facts(&self.real.watched.detail(&id, REQUEST_TIMEOUT).await?)?;
                let imitated = detail_facts(&self.imitated.watched.detail(&id, REQUEST_TIMEOUT).await?)?;
                let differences = differences(&real, &imitated);
                ensure!(differences.is_empty(), "the real cluster (-) and the drill (+) differ\n{differences}");
                Ok(())
            })
            .await;
        }
        Ok(())
    }

    /// The same consumer on both sides, whose coordinator is the broker that stays.
    fn consumers(&self) -> Result<[RustConsumer; 2]> {
        let start = |bootstrap: &str| RustConsumer::start_at(bootstrap, &self.group, "clicks", "classic");
        Ok([start(&self.cluster.bootstrap())?, start(&self.drill.bootstrap().join(","))?])
    }

    fn kill(&self, broker: i32) -> Result<()> {
        self.cluster.kill(broker)?;
        self.drill.act(&Action::Stop(broker)).map_err(anyhow::Error::msg)
    }

    async fn start(&self, broker: i32) -> Result<()> {
        self.cluster.restart_and_wait(broker).await?;
        self.drill.act(&Action::Start(broker)).map_err(anyhow::Error::msg)
    }

    /// Partitions of the offsets topic that have no leader, though this replica is alive.
    fn unled_partitions(&self, replica: i32) -> Vec<i32> {
        let now = self.real.watched.now();
        let unled = now.report.partitions.iter().filter(|one| one.leader.is_none());
        unled.filter(|one| one.replicas.contains(&replica)).map(|one| one.partition).collect()
    }

    /// Runs Kafka's tool on both; of all topics if no partitions are given.
    async fn elect(&self, kind: &str, partitions: &[i32]) -> Result<()> {
        let numbers: Vec<String> = partitions.iter().map(i32::to_string).collect();
        let mut args = vec!["--election-type", kind];
        match numbers.first() {
            Some(number) => args.extend(["--topic", OFFSETS_TOPIC, "--partition", number]),
            None => args.push("--all-topic-partitions"),
        }
        let tools = Tools::of(self.cluster.release());
        let mut printed = Vec::new();
        for side in [&self.real, &self.imitated] {
            let ran = tools.succeed(Tool::LeaderElection, &side.addresses[&self.survivor], &args).await?;
            // Partitions come in no particular order.
            let mut words: Vec<String> = ran.printed.split([' ', '\n', ',']).map(str::to_owned).collect();
            words.sort();
            printed.push(words);
        }
        ensure!(printed[0] == printed[1], "what the tool printed: {printed:#?}");
        Ok(())
    }
}

/// The views of the brokers that answer.
fn views(snapshot: &Snapshot) -> impl Iterator<Item = &MetadataView> {
    let answering = snapshot.brokers.values().filter(|sight| sight.contact.trouble.is_none());
    answering.filter_map(|sight| sight.metadata.known())
}

fn trouble(snapshot: &Snapshot, broker: i32) -> bool {
    snapshot.brokers.get(&broker).is_some_and(|sight| sight.contact.trouble.is_some())
}

fn listed_by_all(snapshot: &Snapshot, broker: i32) -> bool {
    views(snapshot).all(|view| view.brokers.contains_key(&broker))
}

fn listed_by_none(snapshot: &Snapshot, broker: i32) -> bool {
    !views(snapshot).any(|view| view.brokers.contains_key(&broker))
}

/// How many offsets partitions have no leader in the view that has the fewest leaders.
fn leaderless(snapshot: &Snapshot) -> usize {
    let topics = views(snapshot).filter_map(|view| view.offsets_topic.as_ref());
    topics.map(|topic| topic.partitions.values().filter(|one| one.leader.is_none()).count()).max().unwrap_or(0)
}

/// A group's state, as its coordinator lists it.
fn state(snapshot: &Snapshot, group: &str) -> Option<String> {
    let listings = snapshot.brokers.values().filter_map(|sight| sight.groups.known());
    listings.filter_map(|listing| listing.groups.get(&GroupId::from(group))).find_map(|group| group.state.clone())
}
