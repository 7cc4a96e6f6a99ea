//! Real brokers with TLS, logins and rights: what each account sees by each way in, while all is well, while a broker is
//! dead, and afterwards. What came of it is written as a table, which `make test` prints.

mod authorizer_log;
mod wrong_ways;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::report::Status;
use unstuck_tests::cluster::{Cluster, Options};
use unstuck_tests::jars::workspace_folder;
use unstuck_tests::secured::{ACCOUNTS, Account, REAUTHENTICATION_MS, Way};
use unstuck_tests::server::{UnstuckServer, brief, unstuck};
use unstuck_tests::shell::Shell;

use super::shared::{add_to_matrix, group_on, leaders_in, works};

const VICTIM: i32 = 2;
const NOTHING: Account = ACCOUNTS[0];
const PREFIXED: Account = ACCOUNTS[1];
const SMALLEST: Account = ACCOUNTS[2];
/// What no account has.
const WRONG_PASSWORD: &str = "wrong-Xm4sLq9v";

/// One way in for one account, as a cluster of its own for Unstuck.
struct Case {
    way: Way,
    account: Account,
}

impl Case {
    fn name(&self) -> String {
        format!("{}_{}", self.way.name(), self.account.name)
    }

    /// Its table in Unstuck's configuration.
    fn configured(&self, cluster: &Cluster) -> Result<String> {
        let bootstrap = cluster.secured_bootstrap(self.way);
        let mut table = format!("[clusters.{}]\nbootstrap_servers = \"{bootstrap}\"\n", self.name());
        if self.account == PREFIXED {
            table.push_str("canary_prefix = \"orders-unstuck\"\n");
        }
        if self.way == Way::OAuthBearer {
            let (ca, token) = (cluster.authority(), cluster.token_file(self.account)?);
            writeln!(table, "tls = {{ ca = \"{}\" }}", ca.display())?;
            writeln!(table, "sasl = {{ mechanism = \"OAUTHBEARER\", token_file = \"{}\" }}", token.display())?;
        } else {
            let path = cluster.folder().join(format!("{}.properties", self.name()));
            fs::write(&path, cluster.client_properties(self.way, self.account))?;
            writeln!(table, "command_config = \"{}\"", path.display())?;
        }
        Ok(table)
    }
}

/// The rows of the table: what was seen of each case in each situation.
#[derive(Default)]
struct Matrix(BTreeMap<String, Vec<String>>);

impl Matrix {
    fn note(&mut self, release: &str, case: &Case, situation: &str, seen: &str) {
        let row = format!("{release} | {} | {}", case.way.name(), case.account.name);
        self.0.entry(row).or_default().push(format!("{situation}: {seen}"));
    }

    /// Adds the rows to those of other tests.
    fn write(&self, name: &str) -> Result<()> {
        let lines = self.0.iter().map(|(row, seen)| format!("{row} | {}\n", seen.join(" | ")));
        add_to_matrix(name, &lines.collect::<String>())
    }
}

/// A server that looks at all cases.
struct Scene {
    server: UnstuckServer,
    cases: Vec<Case>,
    /// Groups on partitions that the victim leads, and elsewhere; all begin with `orders-`.
    hit: GroupId,
    spared: GroupId,
}

impl Scene {
    async fn until(&self, case: &Case, group: &GroupId, wanted: impl Fn(Status) -> bool) -> Status {
        self.server.wait_for_group(&case.name(), group, wanted).await
    }

    /// Waits until each case sees what it has to, and notes it.
    async fn look(&self, matrix: &mut Matrix, release: &str, situation: &str, hit: fn(Status) -> bool) {
        for case in &self.cases {
            let (hit, spared) = if case.account == NOTHING && release == "4.1.1" {
                let unknown = |status| status == Status::Unknown;
                (self.until(case, &self.hit, unknown).await, self.until(case, &self.spared, unknown).await)
            } else {
                (self.until(case, &self.hit, hit).await, self.until(case, &self.spared, works).await)
            };
            matrix.note(release, case, situation, &format!("{}, {}", hit.slug(), spared.slug()));
        }
    }

    /// Everything that it has printed and served holds no secret.
    async fn no_secret_is_seen(&self, more: &str) -> Result<()> {
        let mut seen = vec![("its log".to_owned(), self.server.log()), ("commands".to_owned(), more.to_owned())];
        for case in &self.cases {
            let name = case.name();
            seen.push((format!("the page of {name}"), self.server.html(&format!("/c/{name}")).await?));
            let group = format!("/c/{name}/g?group={}", self.hit);
            seen.push((group.clone(), self.server.html(&group).await?));
            let report = self.server.json(&format!("/api/v1/clusters/{name}")).await?;
            seen.push((format!("the report of {name}"), report.to_string()));
        }
        let secrets = ACCOUNTS.iter().map(|one| one.password).chain([WRONG_PASSWORD]);
        for secret in secrets {
            for (what, text) in &seen {
                ensure!(!text.contains(secret), "{what} has the secret {secret}");
            }
        }
        Ok(())
    }
}

/// A file in which all cases are clusters, and its path as an option.
fn configuration(cluster: &Cluster, cases: &[Case], more: &str) -> Result<String> {
    let tables: Vec<String> = cases.iter().map(|case| case.configured(cluster)).collect::<Result<_>>()?;
    let path = cluster.folder().join("unstuck.toml");
    fs::write(&path, tables.join("\n") + more)?;
    Ok(path.display().to_string())
}

/// The leaders of `__consumer_offsets`, by partition, as an admin sees them.
async fn leaders(cluster: &Cluster, admin: &Shell) -> Result<BTreeMap<i32, i32>> {
    let at = format!("--bootstrap-server {}", cluster.address(1));
    let told = admin.succeed(&format!("kafka-topics.sh {at} --describe --topic __consumer_offsets")).await?;
    Ok(leaders_in(&told.printed))
}

/// The commands of a section of `docs/permissions.md`, for this account.
fn granted(heading: &str, account: Account) -> Result<Vec<String>> {
    let text = fs::read_to_string(workspace_folder().join("docs/permissions.md"))?;
    let section = text.split(&format!("## {heading}\n")).nth(1).context("the section")?;
    let section = section.split("\n## ").next().unwrap_or(section);
    let commands = section.lines().filter(|line| line.starts_with("kafka-acls.sh"));
    let commands: Vec<String> =
        commands.map(|line| line.replace("User:unstuck ", &format!("User:{} ", account.name))).collect();
    ensure!(!commands.is_empty(), "no command in {heading}");
    Ok(commands)
}

/// Topics and groups, as an admin sees them.
async fn what_there_is(cluster: &Cluster, admin: &Shell) -> Result<String> {
    let at = format!("--bootstrap-server {}", cluster.address(1));
    let topics = admin.succeed(&format!("kafka-topics.sh {at} --list")).await?.printed;
    let groups = admin.succeed(&format!("kafka-consumer-groups.sh {at} --list")).await?.printed;
    let mut lines: Vec<&str> = topics.lines().chain(groups.lines()).collect();
    lines.sort_unstable();
    Ok(lines.join("\n"))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_account_sees_what_it_may_by_each_way_in_on_4_1() -> Result<()> {
    let options = Options {
        offsets_replication_factor: 1,
        offsets_partitions: 6,
        authorizer: true,
        secured: true,
        ..Options::default()
    };
    let cluster = Cluster::kraft(options).await?;
    let admin = Shell::logged_in(cluster.release(), &cluster.admin_config()?)?
        .with("$B", format!("--bootstrap-server {}", cluster.admin_address(1)))
        .with(&cluster.address(1), cluster.admin_address(1));
    cluster.make_scram_accounts(&admin).await?;
    let at = format!("--bootstrap-server {}", cluster.address(1));
    admin
        .succeed(&format!("kafka-topics.sh {at} --create --topic orders --partitions 1 --replication-factor 3"))
        .await?;
    let commit = "--topic orders --reset-offsets --to-earliest --execute";
    admin.succeed(&format!("kafka-consumer-groups.sh {at} --group payments {commit}")).await?;
    for command in granted("The smallest set", SMALLEST)? {
        admin.succeed(&command).await?;
    }
    let principal = format!("--allow-principal User:{}", PREFIXED.name);
    for resource in ["--topic __consumer_offsets", "--group orders- --resource-pattern-type prefixed"] {
        admin.succeed(&format!("kafka-acls.sh {at} --add {principal} --operation Describe {resource}")).await?;
    }
    let leaders = leaders(&cluster, &admin).await?;
    let (hit, spared) =
        (group_on(&leaders, |leader| leader == VICTIM)?, group_on(&leaders, |leader| leader != VICTIM)?);
    for group in [&hit, &spared] {
        admin.succeed(&format!("kafka-consumer-groups.sh {at} --group {group} {commit}")).await?;
    }
    let before = what_there_is(&cluster, &admin).await?;

    let ways = [Way::Scram512, Way::Scram256, Way::PlainTls, Way::OAuthBearer, Way::MutualTls, Way::Plain];
    let cases: Vec<Case> = ways.into_iter().flat_map(|way| ACCOUNTS.map(|account| Case { way, account })).collect();
    let config = configuration(&cluster, &cases, &wrong_ways::tables(&cluster)?)?;
    let checked = unstuck(&["config", "check", "--config", &config], "").await?;
    ensure!(checked.code == Some(0), "{checked:?}");
    let mut log = authorizer_log::Log::begin(&cluster, ways.len())?;
    let server = UnstuckServer::start_with(&["--config", &config, "--log-level", "debug"]).await?;
    let scene = Scene { server, cases, hit, spared };

    let mut matrix = Matrix::default();
    scene.look(&mut matrix, "4.1.1", "healthy", works).await;
    wrong_ways::are_named(&scene).await;
    // Logins have to be renewed meanwhile, and nobody may notice.
    log.all_have_looked()?;
    tokio::time::sleep(authorizer_log::at_least(Duration::from_millis(u64::from(REAUTHENTICATION_MS)))).await;
    scene.look(&mut matrix, "4.1.1", "healthy after logging in again", works).await;
    log.holds_little()?;
    let told = doctor_is_right(&scene, &config).await.context("doctor")?;
    cluster.kill(VICTIM)?;
    scene.look(&mut matrix, "4.1.1", "broker killed", |status| status == Status::Stuck).await;
    cluster.restart_and_wait(VICTIM).await?;
    scene.look(&mut matrix, "4.1.1", "broker back", works).await;

    scene.no_secret_is_seen(&format!("{checked:?}{told}")).await?;
    let after = what_there_is(&cluster, &admin).await?;
    ensure!(before == after, "looking left something behind: before {before}\nafter {after}");
    ensure!(scene.server.is_running(), "{}", scene.server.log());
    matrix.write("4.1.1")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_without_tls_on_3_9() -> Result<()> {
    let options = Options { offsets_replication_factor: 1, offsets_partitions: 6, secured: true, ..Options::default() };
    let cluster = Cluster::zookeeper(options).await?;
    cluster.make_offsets_topic().await?;
    let shell = Shell::of(cluster.release())?;
    let leaders = leaders(&cluster, &shell).await?;
    let (hit, spared) =
        (group_on(&leaders, |leader| leader == VICTIM)?, group_on(&leaders, |leader| leader != VICTIM)?);
    let case = |way| Case { way, account: SMALLEST };
    let cases = vec![case(Way::Plain), case(Way::PlainTls), case(Way::OAuthBearer), case(Way::MutualTls)];
    let config = configuration(&cluster, &cases, "")?;
    let server = UnstuckServer::start_with(&["--config", &config, "--log-level", "debug"]).await?;
    let scene = Scene { server, cases, hit, spared };
    let mut matrix = Matrix::default();
    scene.look(&mut matrix, "3.9.1", "healthy", works).await;
    cluster.kill(VICTIM)?;
    scene.look(&mut matrix, "3.9.1", "broker killed", |status| status == Status::Stuck).await;
    cluster.restart_and_wait(VICTIM).await?;
    scene.look(&mut matrix, "3.9.1", "broker back", works).await;
    scene.no_secret_is_seen("").await?;
    matrix.write("3.9.1")
}

/// What `doctor` calls permitted is what works; gives all that it printed.
async fn doctor_is_right(scene: &Scene, config: &str) -> Result<String> {
    let mut printed = String::new();
    for (account, permitted, code) in [
        (NOTHING, &[][..], 1),
        (PREFIXED, &["offsets-topic", "coordinators"][..], 0),
        (SMALLEST, &["offsets-topic", "coordinators"][..], 0),
    ] {
        let name = Case { way: Way::Scram512, account }.name();
        let run = unstuck(&["doctor", "--config", config, "--cluster", &name, "--json"], "").await?;
        ensure!(run.code == Some(code), "{name}: {run:?}");
        let table: Value = serde_json::from_str(&run.stdout)?;
        let rows = table["permissions"].as_array().context("rows")?;
        let said: Vec<&str> =
            rows.iter().filter(|row| row["permit"] == "permitted").filter_map(|row| row["feature"].as_str()).collect();
        ensure!(said == permitted, "{name}: {said:?} {}", run.stdout);
        let missing = rows.iter().filter(|row| row["permit"] == "missing");
        for row in missing {
            ensure!(row["command"].as_str().is_some_and(|command| command.starts_with("kafka-acls.sh")), "{row}");
        }
        // And these work: leaders are known, and coordinators proven to serve.
        let report = scene.server.report_of(&name).await?;
        let served = report.partitions.iter().filter(|one| works(one.status)).count();
        let shown = (report.partitions.len(), served);
        ensure!(shown == if permitted.is_empty() { (0, 0) } else { (6, 6) }, "{name}: {shown:?}\n{}", brief(&report));
        printed += &run.stdout;
    }
    Ok(printed)
}

/// The table's folder is there to be printed.
#[test]
fn the_matrix_is_printed_by_the_makefile() {
    let makefile = fs::read_to_string(Path::new(&workspace_folder()).join("Makefile")).unwrap_or_default();
    assert!(makefile.contains("target/matrix"), "nobody would see the table");
}
