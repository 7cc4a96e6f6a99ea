//! What the brokers' authorizers write about Unstuck while all is well: a line for each question that is denied.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use unstuck_tests::cluster::Cluster;
use unstuck_tests::jars::workspace_folder;
use unstuck_tests::secured::{ACCOUNTS, Account};

use super::add_to_matrix;

/// How many seconds to look at least, to see how many lines there are in an hour.
const SECONDS: &str = "UNSTUCK_AUTHORIZER_SECONDS";

/// How long to look.
pub(super) fn at_least(shortest: Duration) -> Duration {
    let told = std::env::var(SECONDS).ok().and_then(|told| told.parse().ok());
    told.map_or(shortest, |seconds| Duration::from_secs(seconds).max(shortest))
}

/// How often each question of each account was denied, by request, operation and resource.
type Counted = BTreeMap<(&'static str, String), u32>;

fn counted(cluster: &Cluster) -> Result<Counted> {
    let mut counted = Counted::new();
    for denied in cluster.denied()? {
        if let Some(account) = ACCOUNTS.iter().find(|one| denied.principal == format!("User:{}", one.name)) {
            let resource = denied.resource.replace("Cluster:LITERAL:kafka-cluster", "CLUSTER");
            let resource = resource.replace("Topic:LITERAL:", "TOPIC ");
            let question = format!("{}: {} on {resource}", denied.request, denied.operation);
            *counted.entry((account.name, question)).or_default() += 1;
        }
    }
    Ok(counted)
}

/// The lines since nobody looked yet, while nobody but some Unstucks looks.
pub(super) struct Log<'a> {
    cluster: &'a Cluster,
    began: Instant,
    /// How many look by each account.
    looking: u32,
    /// The lines of the first looks, and when those were over: for the measure.
    first: Option<(Instant, Counted)>,
}

impl<'a> Log<'a> {
    /// Before any of them looks.
    pub(super) fn begin(cluster: &'a Cluster, looking: usize) -> Result<Self> {
        ensure!(counted(cluster)?.is_empty(), "somebody looked already");
        Ok(Self { cluster, began: Instant::now(), looking: u32::try_from(looking)?, first: None })
    }

    /// All of them have looked.
    pub(super) fn all_have_looked(&mut self) -> Result<()> {
        self.first = Some((Instant::now(), counted(self.cluster)?));
        Ok(())
    }

    /// Each question is one that is documented for the account, and is not asked again and again. Adds to the table what
    /// there was.
    pub(super) fn holds_little(&self) -> Result<()> {
        let all = counted(self.cluster)?;
        let took = self.began.elapsed();
        self.write(&all, took)?;
        let documented = documented()?;
        let brokers = u32::try_from(self.cluster.broker_ids().len())?;
        // Asked again after 30 s, and then more and more rarely: a third of this would do, if no connection were made
        // anew meanwhile.
        let most = self.looking * brokers * (3 + u32::try_from(took.as_secs() / 10)?);
        for ((account, question), count) in &all {
            let known = documented.get(account).context("an account")?;
            ensure!(known.contains(question), "{account}: not documented: {question}\n{all:#?}");
            ensure!(*count <= most, "{account}: {count} times in {took:?}, at most {most}: {question}\n{all:#?}");
        }
        for account in ACCOUNTS {
            let seen: BTreeSet<&String> =
                all.keys().filter(|(name, _)| *name == account.name).map(|(_, q)| q).collect();
            let known: BTreeSet<&String> = documented[account.name].iter().collect();
            ensure!(seen == known, "{}: documented {known:#?}, seen {seen:#?}", account.name);
        }
        Ok(())
    }

    /// One Unstuck's lines, at all brokers, for the table; and all of them, for the measure.
    fn write(&self, all: &Counted, took: Duration) -> Result<()> {
        let (since, first) = self.first.as_ref().context("nobody has looked")?;
        let since = since.elapsed().as_secs_f64();
        let mut rows = String::new();
        let mut measured = format!("in the last {since:.0} s, by {} who look:\n", self.looking);
        for Account { name, .. } in ACCOUNTS {
            let of = |counted: &Counted| -> f64 {
                let mine = counted.iter().filter(|((account, _), _)| *account == name);
                mine.map(|(_, count)| f64::from(*count)).sum::<f64>() / f64::from(self.looking)
            };
            rows += &format!("4.1.1 | each way in | {name} | denied: {:.1} lines in {} s\n", of(all), took.as_secs());
            let hourly = (of(all) - of(first)) / since * 3_600.0;
            measured += &format!("{name}: {hourly:.0} lines an hour for each of them\n");
        }
        for ((account, question), count) in all {
            let new = count - first.get(&(*account, question.clone())).copied().unwrap_or(0);
            measured += &format!("{account}: {question}: {new}, and {} before\n", count - new);
        }
        println!("{measured}");
        add_to_matrix("authorizer", &rows)
    }
}

/// The questions that `docs/permissions.md` has for each account, in the section about the log.
fn documented() -> Result<BTreeMap<&'static str, BTreeSet<String>>> {
    let text = fs::read_to_string(workspace_folder().join("docs/permissions.md"))?;
    let section = text.split("## What the authorizer's log will say\n").nth(1).context("the section")?;
    let section = section.split("\n## ").next().unwrap_or(section);
    let mut documented: BTreeMap<_, BTreeSet<String>> =
        ACCOUNTS.iter().map(|account| (account.name, BTreeSet::new())).collect();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [request, right, nothing, prefixed, smallest, ..] = cells[..] else { continue };
        let question = format!("{}: {right}", request.trim_matches('`')).replace('`', "");
        let said = [nothing, prefixed, smallest];
        for (account, _) in ACCOUNTS.iter().zip(said).filter(|(_, said)| *said != "-") {
            documented.entry(account.name).or_default().insert(question.clone());
        }
    }
    Ok(documented)
}
