//! Whether a drill looks like the real cluster in the same situation: snapshots of both, fact by fact.

pub mod answers;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use serde_json::Value;
use unstuck_diagnosis::lookup::GroupDetail;
use unstuck_diagnosis::snapshot::{Observed, Snapshot};

use crate::cluster::{Cluster, common_settings};
use crate::drills::Watched;
use crate::eye::PartitionSeen;

/// A cluster that is looked at, with the addresses of its brokers.
#[derive(Debug)]
pub struct Side {
    /// The diagnosis that looks at it.
    pub watched: Watched,
    /// Where its brokers are, `host:port` by id.
    pub addresses: BTreeMap<i32, String>,
}

/// Waits until two clusters look alike, fact by fact, all facts fresh, while both are in the situation.
///
/// # Errors
/// If they still differ when the situation ends, or after 30 s; the text has the differences.
pub async fn alike(real: &Side, drill: &Side, situation: &str, holds: impl Fn(&Snapshot) -> bool) -> Result<()> {
    const PATIENCE: Duration = Duration::from_secs(30);
    let began = Instant::now();
    let mut last: Option<String> = None;
    loop {
        let (seen, imitated) = tokio::join!(fresh(real, situation, &holds), fresh(drill, situation, &holds));
        let differences = match (seen, imitated) {
            (Ok(seen), Ok(imitated)) => differences(&seen, &imitated),
            (Err(error), _) => format!("the real cluster: {error:#}"),
            (_, Err(error)) => format!("the drill: {error:#}"),
        };
        if differences.is_empty() {
            return Ok(());
        }
        let over = last.is_some() && (!holds(&real.watched.now().snapshot) || !holds(&drill.watched.now().snapshot));
        if began.elapsed() > PATIENCE || over {
            // Whatever was seen while the situation lasted tells more than its end.
            bail!("{situation}: the real cluster (-) and the drill (+) differ\n{}", last.unwrap_or(differences));
        }
        last = Some(differences);
    }
}

/// Facts by path, all of them asked after this call, in the situation.
async fn fresh(side: &Side, situation: &str, holds: impl Fn(&Snapshot) -> bool) -> Result<BTreeMap<String, String>> {
    let since = Timestamp::now();
    let began = Instant::now();
    let mut nudged = Instant::now();
    side.watched.look_now();
    loop {
        let now = side.watched.now();
        let stale = stale(&now.snapshot, since);
        if holds(&now.snapshot) && stale.is_none() {
            return facts(&now.snapshot, &side.addresses);
        }
        if began.elapsed() > Duration::from_secs(25) {
            bail!("not in the situation `{situation}`, or not looked at: {stale:?}\n{:#?}", now.report.headline);
        }
        if nudged.elapsed() > Duration::from_secs(1) {
            side.watched.look_now();
            nudged = Instant::now();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A fact that is older than `since`.
fn stale(snapshot: &Snapshot, since: Timestamp) -> Option<String> {
    let old = |at: Option<Timestamp>| at.is_some_and(|at| at < since);
    if old(snapshot.client.known().map(|view| view.at)) {
        return Some("the client's view".to_owned());
    }
    let bootstrap = snapshot.bootstrap.iter();
    let answers = bootstrap.filter_map(|(address, sight)| Some((address, sight.answer.known()?)));
    if let Some((address, _)) = answers.into_iter().find(|(_, answer)| answer.at < since) {
        return Some(format!("bootstrap {address}"));
    }
    for (id, sight) in snapshot.brokers.iter().filter(|(_, sight)| sight.contact.trouble.is_none()) {
        let times = [
            ("metadata", sight.metadata.known().map(|fact| fact.at)),
            ("coordinators", sight.coordinators.known().map(|fact| fact.at)),
            ("groups", sight.groups.known().map(|fact| fact.at)),
            ("configs", sight.configs.known().map(|fact| fact.at)),
            ("quorum", sight.quorum.known().map(|fact| fact.at)),
            ("canaries", sight.canaries.values().map(|canary| canary.at).min()),
            ("log directories", sight.log_dirs.known().map(|fact| fact.at)),
            ("open transactions", sight.open_transactions.known().map(|fact| fact.at)),
        ];
        if let Some((what, _)) = times.into_iter().find(|(_, at)| old(*at)) {
            return Some(format!("{what} of broker {id}"));
        }
        if matches!(sight.metadata, Observed::NotAsked) {
            return Some(format!("broker {id}"));
        }
    }
    None
}

/// A snapshot as facts by path, without what must differ from cluster to cluster: addresses, times, the cluster's id,
/// and in KRaft mode the controller, which brokers draw by lot.
fn facts(snapshot: &Snapshot, addresses: &BTreeMap<i32, String>) -> Result<BTreeMap<String, String>> {
    let mut json = serde_json::to_string(snapshot)?;
    for (id, address) in addresses {
        json = json.replace(&format!("\"{address}\""), &format!("\"address of {id}\""));
    }
    let mut value: Value = serde_json::from_str(&json)?;
    let brokers = value["brokers"].as_object_mut().context("brokers")?;
    for sight in brokers.values_mut().filter(|sight| !sight["contact"]["trouble"].is_null()) {
        // Which of these it was about to answer when it died is a matter of moments.
        const LAST: [&str; 13] = [
            "canaries_unanswered_since",
            "configs",
            "coordinators",
            "describe_cluster_permitted",
            "elr",
            "groups",
            "log_dirs",
            "open_transactions",
            "producers",
            "quorum",
            "reassignments",
            "state_topic_configs",
            "topic_configs",
        ];
        LAST.iter().for_each(|fact| sight[fact] = Value::Null);
    }
    for sight in brokers.values_mut().filter(|sight| sight["kraft"] == Value::Bool(true)) {
        let view = &mut sight["metadata"]["known"];
        let listed = view["brokers"].as_object().is_some_and(|all| all.contains_key(&view["controller"].to_string()));
        if listed && let Some(view) = view.as_object_mut() {
            view.insert("controller".to_owned(), "a listed broker".into());
        }
    }
    let mut facts = BTreeMap::new();
    flatten("", &value, &mut facts);
    Ok(facts)
}

/// A group's members and offsets as facts by path, without what must differ.
///
/// # Errors
/// Never: all of it can be written as JSON.
pub fn detail_facts(detail: &GroupDetail) -> Result<BTreeMap<String, String>> {
    let mut facts = BTreeMap::new();
    flatten("", &serde_json::to_value(detail)?, &mut facts);
    for (path, fact) in &mut facts {
        if path.ends_with("/member_id") {
            // The client's id, and a random one behind it.
            fact.truncate(fact.len().saturating_sub(37));
        }
    }
    Ok(facts)
}

fn flatten(path: &str, value: &Value, facts: &mut BTreeMap<String, String>) {
    let name = path.rsplit('/').next().unwrap_or_default();
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(&format!("{path}/{name}"), value, facts);
            }
            if fields.is_empty() {
                facts.insert(path.to_owned(), "{}".to_owned());
            }
        }
        // Times of a list's elements would hide in its text.
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (nth, item) in items.iter().enumerate() {
                flatten(&format!("{path}/{nth}"), item, facts);
            }
        }
        Value::Null => {
            facts.insert(path.to_owned(), "null".to_owned());
        }
        _ if ["round_trip_ms", "deadline_ms", "attempts"].contains(&name) => {
            facts.insert(path.to_owned(), "a number".to_owned());
        }
        // A drill's disks are as large as it likes; which replicas lie on them is compared.
        _ if ["bytes", "total_bytes", "usable_bytes"].contains(&name) => {
            facts.insert(path.to_owned(), "a size".to_owned());
        }
        Value::String(_) if name == "dir" || (name == "path" && path.contains("/log_dirs/")) => {
            facts.insert(path.to_owned(), "a path".to_owned());
        }
        Value::String(_) if name == "cluster_id" => {
            facts.insert(path.to_owned(), "an id".to_owned());
        }
        Value::String(text) if text.parse::<Timestamp>().is_ok() => {
            facts.insert(path.to_owned(), "a time".to_owned());
        }
        other => {
            facts.insert(path.to_owned(), other.to_string());
        }
    }
}

/// The facts in which two sides differ, a line for each side.
#[must_use]
pub fn differences(real: &BTreeMap<String, String>, drill: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    let paths: BTreeSet<&String> = real.keys().chain(drill.keys()).collect();
    for path in paths {
        let (seen, imitated) = (real.get(path), drill.get(path));
        if seen != imitated {
            for (sign, fact) in [('-', seen), ('+', imitated)] {
                if let Some(fact) = fact {
                    let _infallible = writeln!(text, "{sign} {path} = {fact}");
                }
            }
        }
    }
    text
}

impl Cluster {
    /// The settings of its brokers that do not depend on the broker, beside session timeouts.
    #[must_use]
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = common_settings(self.options());
        settings.extend(self.options().properties.clone());
        settings
    }
}

/// What a drill shall begin with.
#[derive(Debug)]
pub struct Start<'a> {
    /// `kraft` or `zookeeper`.
    pub mode: &'a str,
    /// The release.
    pub release: &'a str,
    /// Its brokers.
    pub brokers: &'a [i32],
    /// The controller, in ZooKeeper mode a broker.
    pub controller: i32,
    /// After how long a silent broker is taken off the list.
    pub session_timeout: Duration,
    /// Settings of the brokers.
    pub configs: &'a BTreeMap<String, String>,
    /// Topics with their partitions, all of them empty.
    pub topics: &'a BTreeMap<String, BTreeMap<i32, PartitionSeen>>,
    /// Leader epochs of `__consumer_offsets`.
    pub epochs: &'a BTreeMap<i32, i32>,
    /// Groups that have committed 1 in partition 0 of this topic and never had a member.
    pub simple_groups: (&'a [String], &'a str),
}

impl Start<'_> {
    /// The scenario that begins so, and in which nothing happens by itself.
    #[must_use]
    pub fn scenario(&self) -> String {
        let Self { mode, release, brokers, controller, .. } = self;
        let mut toml = format!(
            "title = \"As a real cluster\"\nstory = \"It begins as a real one stands.\"\n[cluster]\nmode = \"{mode}\"\n\
             release = \"{release}\"\nbrokers = {brokers:?}\nsession-timeout = \"{}ms\"\ncontroller = {controller}\n",
            self.session_timeout.as_millis()
        );
        if !brokers.contains(controller) {
            toml += &format!("controllers = [{controller}]\n");
        }
        toml += "[cluster.configs]\n";
        for (name, value) in self.configs {
            toml += &format!("{name:?} = {value:?}\n");
        }
        for (name, partitions) in self.topics {
            toml += &format!("[topic.{name}]\npartitions = {}\nend = 0\n", partitions.len());
            if name == unstuck_diagnosis::OFFSETS_TOPIC {
                // Each topic has its settings for itself; the broker's counted when it was made.
                let of_topic =
                    self.configs.iter().filter_map(|(name, value)| Some((name.strip_prefix("offsets.topic.")?, value)));
                for (name, value) in of_topic.filter(|(name, _)| *name == "segment.bytes") {
                    toml += &format!("configs = {{ {name:?} = {value} }}\n");
                }
            }
            for (number, seen) in partitions {
                toml += &format!(
                    "[[topic.{name}.partition]]\nid = {number}\nreplicas = {:?}\nisr = {:?}\nleader = {}\nepoch = {}\n",
                    seen.replicas,
                    seen.isr,
                    seen.leader.unwrap_or(-1),
                    self.epochs.get(number).filter(|_| name == unstuck_diagnosis::OFFSETS_TOPIC).unwrap_or(&0)
                );
            }
        }
        let (groups, topic) = self.simple_groups;
        let partitions = self.topics.get(topic).map_or(0, BTreeMap::len);
        let offsets: Vec<i64> = (0..partitions).map(|number| if number == 0 { 1 } else { -1 }).collect();
        for group in groups {
            toml += &format!("[[group]]\nid = {group:?}\ntype = \"simple\"\noffsets = {{ {topic} = {offsets:?} }}\n");
        }
        toml
    }
}
