//! A real KDC and real brokers: what is seen with a ticket while all is well, while a broker is dead, and afterwards; and
//! what is said where there is no ticket. The binary has to be built with Kerberos, as these tests are.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Result, ensure};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::report::Status;
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::kerberos::{Kdc, REALM, REAUTHENTICATION_MS};
use unstuck_tests::server::{UnstuckServer, brief, unstuck_in};
use unstuck_tests::wait::wait_for;

use super::shared::{add_to_matrix, group_on, leaders_in, works};

const VICTIM: i32 = 2;
const ACCOUNT: &str = "unstuck";

/// Ways in for the same account, each a cluster of its own for Unstuck.
const WAYS: [&str; 2] = ["gssapi", "gssapi-by-java-properties"];

/// Clusters that cannot be entered, and what has to be said of each.
const WRONG: [(&str, &str); 4] = [
    ("of-nobody", "Client 'ghost@UNSTUCK.TEST' not found in Kerberos database"),
    ("old-key", "sasl.principal stale@UNSTUCK.TEST with sasl.keytab"),
    ("key-of-another", "Keytab contains no suitable keys for somebody@UNSTUCK.TEST"),
    ("other-service", "Server nobody/localhost@UNSTUCK.TEST not found in Kerberos database"),
];

struct Scene {
    kdc: Kdc,
    cluster: Cluster,
    bootstrap: String,
    /// Groups on partitions that the victim leads, and elsewhere.
    hit: GroupId,
    spared: GroupId,
}

impl Scene {
    async fn new() -> Result<Self> {
        let kdc = Kdc::start().await?;
        kdc.add(ACCOUNT)?;
        let kerberos = Some(kdc.acceptor()?);
        let options = Options { offsets_replication_factor: 1, offsets_partitions: 6, kerberos, ..Options::default() };
        let cluster = Cluster::kraft(options).await?;
        cluster.make_offsets_topic().await?;
        let bootstrap = cluster.kerberos_bootstrap();
        let leaders = leaders(&cluster)?;
        let hit = group_on(&leaders, |leader| leader == VICTIM)?;
        let spared = group_on(&leaders, |leader| leader != VICTIM)?;
        Ok(Self { kdc, cluster, bootstrap, hit, spared })
    }

    fn write(&self, name: &str, text: &str) -> Result<String> {
        let path = self.kdc.folder().join(name);
        fs::write(&path, text)?;
        Ok(path.display().to_string())
    }

    fn table(&self, name: &str, sasl: &str) -> String {
        format!(
            "[clusters.{name}]\nbootstrap_servers = \"{}\"\nsasl = {{ mechanism = \"GSSAPI\", {sasl} }}\n",
            self.bootstrap
        )
    }

    /// A table with a principal and a keytab.
    fn by_keytab(&self, name: &str, principal: &str, keytab: &str, more: &str) -> String {
        self.table(name, &format!("principal = \"{principal}\", keytab = \"{keytab}\"{more}"))
    }

    /// A file with a cache of its own, as a value of `KRB5CCNAME`.
    fn cache(&self, name: &str) -> String {
        format!("FILE:{}", self.kdc.folder().join(name).display())
    }
}

/// The leader of each partition of `__consumer_offsets`.
fn leaders(cluster: &Cluster) -> Result<BTreeMap<i32, i32>> {
    let told =
        cluster.run_class("org.apache.kafka.tools.TopicCommand", &["--describe", "--topic", "__consumer_offsets"])?;
    let found = leaders_in(&told);
    ensure!(found.len() == 6, "{told}");
    Ok(found)
}

/// Waits until the client's eye sees the cluster as well.
async fn both_eyes_see(server: &UnstuckServer, cluster: &str) {
    wait_for(format!("the client's eye to see {cluster}"), async || {
        let report = server.report_of(cluster).await?;
        let missing = report.could_not_observe.iter().find(|one| one.what == "partitions of other topics");
        ensure!(missing.is_none(), "{missing:?}");
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_open_the_way_in_for_both_eyes() -> Result<()> {
    let scene = Scene::new().await?;
    let keytab = scene.kdc.keytab(ACCOUNT)?.display().to_string();
    let jaas = format!(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\nsasl.kerberos.service.name=kafka\n\
         sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true \
         keyTab=\"{keytab}\" principal=\"{ACCOUNT}@{REALM}\";\n"
    );
    let properties = scene.write("client.properties", &jaas)?;
    let config = scene.by_keytab(WAYS[0], ACCOUNT, &keytab, "")
        + &format!(
            "[clusters.{}]\nbootstrap_servers = \"{}\"\ncommand_config = \"{properties}\"\n",
            WAYS[1], scene.bootstrap
        );
    let config = scene.write("unstuck.toml", &config)?;
    let cache = scene.cache("cache-of-the-server");
    let environment = scene.kdc.environment(&cache);
    let checked = unstuck_in(&environment, &["config", "check", "--config", &config], "").await?;
    ensure!(checked.code == Some(0), "{checked:?}");
    let server = UnstuckServer::start_in(&environment, &["--config", &config, "--log-level", "debug"]).await?;

    let mut rows = WAYS.map(|way| format!("4.1.1 | {way} | {ACCOUNT}"));
    let mut look = async |situation: &str, hit: fn(Status) -> bool| {
        for (way, row) in WAYS.iter().zip(&mut rows) {
            let hit = server.wait_for_group(way, &scene.hit, hit).await;
            let spared = server.wait_for_group(way, &scene.spared, works).await;
            *row += &format!(" | {situation}: {}, {}", hit.slug(), spared.slug());
        }
    };
    look("healthy", works).await;
    for way in WAYS {
        both_eyes_see(&server, way).await;
    }
    let owner = scene.kdc.owner(&cache)?;
    ensure!(owner == format!("{ACCOUNT}@{REALM}"), "{owner}");
    for way in WAYS {
        let doctor = unstuck_in(
            &scene.kdc.environment(&scene.cache("cache-of-doctor")),
            &["doctor", "--config", &config, "--cluster", way],
            "",
        )
        .await?;
        ensure!(doctor.code == Some(0), "{doctor:?}");
    }
    // Logins have to be renewed meanwhile, and nobody may notice.
    tokio::time::sleep(std::time::Duration::from_millis(u64::from(REAUTHENTICATION_MS))).await;
    look("healthy after logging in again", works).await;
    scene.cluster.kill(VICTIM)?;
    look("broker killed", |status| status == Status::Stuck).await;
    scene.cluster.restart_and_wait(VICTIM).await?;
    look("broker back", works).await;
    for way in WAYS {
        both_eyes_see(&server, way).await;
    }
    ensure!(server.is_running(), "{}", server.log());

    ticket_cache_and_other_owners(&scene, &keytab).await?;
    nobody_gets_in_without_a_ticket(&scene).await?;
    add_to_matrix("4.1.1-kerberos", &(rows.join("\n") + "\n"))
}

/// A ticket that somebody got is used as it is; one of somebody else is left alone.
async fn ticket_cache_and_other_owners(scene: &Scene, keytab: &str) -> Result<()> {
    let config = scene.write("cached.toml", &scene.table("cached", "service = \"kafka\""))?;
    let lookup =
        |config: &str| ["lookup", "--config", config, "--timeout", "20", scene.spared.as_str()].map(str::to_owned);
    let run = async |cache: &str, config: &str| {
        let arguments = lookup(config);
        unstuck_in(&scene.kdc.environment(cache), &arguments.each_ref().map(String::as_str), "").await
    };
    let cache = scene.cache("cache-of-a-person");
    let without = run(&cache, &config).await?;
    ensure!(without.code == Some(3) && without.stdout.contains("Run kinit, or set sasl.keytab"), "{without:?}");
    scene.kdc.ticket(ACCOUNT, keytab.as_ref(), &cache)?;
    let with = run(&cache, &config).await?;
    // At risk, because the offsets topic has one replica.
    ensure!(with.code == Some(1) && with.stdout.contains("its coordinator serves"), "{with:?}");

    scene.kdc.add("ada")?;
    let theirs = scene.kdc.keytab("ada")?;
    scene.kdc.ticket("ada", &theirs, &cache)?;
    let config = scene.write("by-keytab.toml", &scene.by_keytab("by-keytab", ACCOUNT, keytab, ""))?;
    let refused = run(&cache, &config).await?;
    let said = "has a ticket of ada@UNSTUCK.TEST";
    ensure!(refused.code == Some(3) && refused.stdout.contains(said), "{refused:?}");
    ensure!(scene.kdc.owner(&cache)? == format!("ada@{REALM}"), "the ticket of another was replaced");
    Ok(())
}

/// Each wrong way is unknown, and the report says what the Kerberos library said.
async fn nobody_gets_in_without_a_ticket(scene: &Scene) -> Result<()> {
    let kdc = &scene.kdc;
    for name in ["ghost", "stale", "somebody"] {
        kdc.add(name)?;
    }
    let [ghost, stale] = ["ghost", "stale"].map(|name| kdc.keytab(name).map(|path| path.display().to_string()));
    let (ghost, stale) = (ghost?, stale?);
    kdc.remove("ghost")?;
    kdc.change_key("stale")?;
    let own = kdc.keytab(ACCOUNT)?.display().to_string();
    let full = |name: &str| format!("{name}@{REALM}");
    let config = [
        scene.by_keytab("of-nobody", &full("ghost"), &ghost, ""),
        scene.by_keytab("old-key", &full("stale"), &stale, ""),
        scene.by_keytab("key-of-another", &full("somebody"), &own, ""),
        scene.by_keytab("other-service", ACCOUNT, &own, ", service = \"nobody\""),
    ];
    let config = scene.write("wrong.toml", &config.concat())?;
    // Several principals in one process need a cache that holds several.
    let caches = kdc.folder().join("caches");
    fs::create_dir(&caches)?;
    let environment = kdc.environment(&format!("DIR:{}", caches.display()));
    let server = UnstuckServer::start_in(&environment, &["--config", &config]).await?;
    for (name, expected) in WRONG {
        wait_for(format!("{expected:?} of {name}"), async || {
            let report = server.report_of(name).await?;
            ensure!(report.headline.status == Status::Unknown, "{}", brief(&report));
            ensure!(serde_json::to_string(&report)?.contains(expected), "{}", brief(&report));
            Ok(())
        })
        .await;
    }
    Ok(())
}
