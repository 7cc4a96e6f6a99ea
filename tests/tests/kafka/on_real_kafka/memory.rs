//! Groups that vanished are named by an Unstuck that was not there when they did: what was seen outlives a restart.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use serde_json::Value;
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::report::Status;
use unstuck_store::postgres_server;
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::groups::ids_on_every_partition;
use unstuck_tests::server::UnstuckServer;
use unstuck_tests::wait::wait_for;

/// How many groups there are.
const GROUPS: usize = 1_000;
/// Partitions of the offsets topic.
const PARTITIONS: i32 = 12;
/// The broker that dies.
const VICTIM: i32 = 2;

#[tokio::test(flavor = "multi_thread")]
async fn vanished_groups_are_named_after_a_restart() -> Result<()> {
    let scene = Scene::new().await?;
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("unstuck.db").display().to_string();
    let first = scene.server(folder.path(), &place).await?;
    scene.outage(first, None, folder.path(), &place).await?;

    // The same on PostgreSQL, with two servers: the one that records is killed, and the other one goes on.
    let Some(postgres) = postgres_server::Server::start()? else { return Ok(()) };
    let place = postgres.url("postgres");
    let first = scene.server(folder.path(), &place).await?;
    scene.is_recorded(&first).await;
    let second = scene.server(folder.path(), &place).await?;
    scene.outage(first, Some(second), folder.path(), &place).await
}

struct Scene {
    cluster: Cluster,
    /// Groups on partitions of the broker that dies.
    hit: BTreeSet<GroupId>,
    all: Vec<GroupId>,
}

impl Scene {
    async fn new() -> Result<Self> {
        let options = Options { offsets_replication_factor: 1, offsets_partitions: PARTITIONS, ..Options::default() };
        let cluster = Cluster::kraft(options).await?;
        cluster.make_offsets_topic().await?;
        cluster.create_topic("orders", 1, 3).await?;
        let rounds = GROUPS.div_ceil(usize::try_from(PARTITIONS)?);
        let by_partition: Vec<_> = (0..rounds)
            .flat_map(|round| ids_on_every_partition(&format!("remembered-{round}"), PARTITIONS))
            .take(GROUPS)
            .collect();
        let all: Vec<GroupId> = by_partition.iter().map(|(_, id)| id.clone()).collect();
        cluster.commit_for(&all, "orders").await?;
        let topic = cluster.offsets_topic()?;
        let on_victim = |partition: &i32| topic[partition].replicas == [VICTIM];
        let hit = by_partition.iter().filter(|(partition, _)| on_victim(partition)).map(|(_, id)| id.clone()).collect();
        Ok(Self { cluster, hit, all })
    }

    async fn server(&self, folder: &Path, place: &str) -> Result<UnstuckServer> {
        let config = folder.join("unstuck.toml");
        let text = format!(
            "[store]\nplace = {place:?}\nincident_settles_after_s = 5\n\n[clusters.kafka]\nbootstrap_servers = [{}]\n",
            self.cluster.bootstrap().split(',').map(|one| format!("{one:?}")).collect::<Vec<_>>().join(", ")
        );
        std::fs::write(&config, text)?;
        UnstuckServer::start_with(&["--config", &config.display().to_string()]).await
    }

    /// Waits until all groups are listed and in the record.
    async fn is_recorded(&self, server: &UnstuckServer) {
        wait_for("all groups to be seen and recorded", async || {
            let seen = server.report().await.map_err(|error| format!("{error:#}"))?.groups.total;
            if seen != self.all.len() {
                return Err(format!("{seen} groups"));
            }
            // The count of partitions is told with the first look, and groups are written with it or before.
            let history = json(server, "/api/v1/clusters/kafka/history").await?;
            let events = history["events"].as_array().map_or(0, Vec::len);
            if events > 0 { Ok(()) } else { Err(format!("{history}")) }
        })
        .await;
    }

    /// A broker dies, the server that records is killed, and another one explains it.
    async fn outage(
        &self,
        first: UnstuckServer,
        second: Option<UnstuckServer>,
        folder: &Path,
        place: &str,
    ) -> Result<()> {
        self.is_recorded(&first).await;
        let before = Timestamp::now();
        self.cluster.kill(VICTIM)?;
        first
            .wait_for_report("the broker's groups to be stuck", |report| report.headline.status == Status::Stuck)
            .await;
        let incident = self.incident(&first).await;
        let after = Timestamp::now();
        first.signal("KILL")?;
        let server = match second {
            Some(second) => second,
            None => self.server(folder, place).await?,
        };

        // Nobody can list them now, and they are named all the same, with the right since.
        wait_for("exactly the vanished groups to be named", async || {
            let path = format!("/api/v1/clusters/kafka/groups?state=stuck&limit={GROUPS}");
            let listed = json(&server, &path).await?;
            let groups = listed["groups"].as_array().ok_or("no list of groups")?;
            let named: BTreeSet<GroupId> =
                groups.iter().filter_map(|one| one["group"].as_str()).map(GroupId::from).collect();
            if named == self.hit { Ok(()) } else { Err(format!("{} of {}", named.len(), self.hit.len())) }
        })
        .await;
        let group = self.hit.first().context("a group that is hit")?;
        let answer = server.lookup_one(group).await?;
        ensure!(answer.known.remembered, "{:#?}", answer.known);
        ensure!(
            answer.known.sentence.contains(&format!("by broker {VICTIM}; no broker lists it now")),
            "{:?}",
            answer.known
        );
        let since = answer.verdict.since.context("since when")?;
        ensure!(since >= before && since <= after, "{before} {since} {after}: {:#?}", answer.verdict);
        ensure!(answer.known.last_seen.is_some_and(|seen| seen <= since), "{:#?}", answer.known);

        // It is one incident, and its link shows then and now.
        ensure!(self.incident(&server).await == incident, "another incident was opened");
        let page = server.html(&format!("/i/{incident}")).await?;
        for expected in [group.as_str(), "Then", "Now"] {
            ensure!(page.contains(expected), "{expected:?} is not on the page of the incident:\n{page}");
        }

        self.cluster.restart_and_wait(VICTIM).await?;
        wait_for("the incident to be over", async || {
            let file = json(&server, &format!("/api/v1/incidents/{incident}")).await?;
            let (closed, moments) = (&file["incident"]["closed"], &file["moments"]);
            if closed.is_string() && moments.to_string().contains("closing") { Ok(()) } else { Err(file.to_string()) }
        })
        .await;
        let page = server.html(&format!("/i/{incident}")).await?;
        ensure!(page.contains(group.as_str()), "what was seen then is still shown:\n{page}");
        ensure!(server.is_running(), "the server ended:\n{}", server.log());
        Ok(())
    }

    /// The id of the only open incident.
    async fn incident(&self, server: &UnstuckServer) -> String {
        wait_for("one incident", async || {
            let list = json(server, "/api/v1/incidents?cluster=kafka").await?;
            let open = list["incidents"].as_array().into_iter().flatten().filter(|one| one["closed"].is_null());
            let open: Vec<&Value> = open.collect();
            match open[..] {
                [one] => one["id"].as_str().map(str::to_owned).ok_or_else(|| one.to_string()),
                _ => Err(format!("{} open: {list}", open.len())),
            }
        })
        .await
    }
}

async fn json(server: &UnstuckServer, path: &str) -> Result<Value, String> {
    server.json(path).await.map_err(|error| format!("{error:#}"))
}
