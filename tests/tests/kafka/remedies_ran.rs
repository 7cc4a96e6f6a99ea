//! Which remedies were carried out for real: each that any rule offers with a command stands here.
//!
//! What rules offer is read from the snapshots in their own tests: a line `-> title: why`, and the command below it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use unstuck_tests::jars::workspace_folder;

/// By beginnings of titles: the tests that carry them out with Kafka's own tools, as they stand in a report, and see that
/// what they were offered for is gone.
const RAN: &[(&str, &str)] = &[
    // Looking.
    ("Before you change anything: keep what", "kafka: incident_2, remedies"),
    ("Keep the committed offsets of all groups", "kafka: count_drift"),
    ("In a quiet hour: stop all consumers, and export", "kafka: count_drift"),
    // Elections.
    ("Elect the preferred leader", "kafka: incident_2"),
    ("Let the preferred leaders lead again", "kafka: remedies"),
    ("Then let the preferred leaders lead", "kafka: incidents_1_and_3; drill: offered"),
    ("Only if its disk is lost: elect a replica that was not in sync", "kafka: remedies"),
    ("If elections are refused: make ZooKeeper choose a new controller", "kafka: incident_2"),
    // Settings.
    ("Meanwhile: ask for fewer in-sync replicas", "kafka: remedies"),
    ("Let it compact again", "kafka: remedies"),
    ("Forbid unclean elections for this topic", "kafka: remedies"),
    ("Ask for", "kafka: remedies"),
    // Reassignments.
    ("Raise the replication factor to", "kafka: incidents_1_and_3, remedies"),
    ("Wait until it is done, then verify it", "kafka: remedies"),
    ("Start broker 2: It copies what is missing", "kafka: remedies"),
    ("Or cancel the move", "kafka: remedies"),
    ("Put the replicas into an order that spreads the leaders", "drill: offered"),
    ("Spread the replicas of", "drill: offered"),
    ("Move the leadership to another in-sync replica", "drill: offered"),
    // The topic itself.
    ("If groups have to work before", "kafka: fresh_cluster"),
    // Groups.
    ("Then restart all brokers promptly", "kafka: count_drift"),
    ("Set each group's position by time", "kafka: remedies"),
    ("Then set", "kafka: offset_remedies"),
    ("Set its offsets back to a time when it still worked", "kafka: offset_remedies"),
    ("As the last way out, skip the record", "kafka: offset_remedies"),
    // Transactions.
    ("Let Kafka's own tool confirm that it hangs", "kafka: offset_remedies"),
    ("Abort it on this partition", "kafka: offset_remedies"),
    // Rights.
    ("Let Unstuck", "kafka: rights"),
];

/// The command was carried out for another finding, word for word but for its values.
const SAME_COMMAND: &str = "the command is one of those that were carried out, offered for another finding";
/// It changes nothing, so nothing can be gone afterwards.
const LOOKS: &str = "it only looks, and the same tool is run with such arguments against drills (read.rs)";

/// By beginnings of titles: why they are not carried out so.
const NOT_RUN: &[(&str, &str)] = &[
    ("Elect a leader", SAME_COMMAND),
    ("Or create it now, before the first consumer comes", SAME_COMMAND),
    ("Or create it anew with the", SAME_COMMAND),
    ("Then create it anew with the", SAME_COMMAND),
    ("If that changes nothing: elect any live replica", SAME_COMMAND),
    ("Only if broker 2 will never come back", SAME_COMMAND),
    ("Make ZooKeeper choose a new controller", SAME_COMMAND),
    ("Forbid unclean elections for the topic", SAME_COMMAND),
    ("Before you lower anything: keep the committed offsets", LOOKS),
    ("Ask its coordinator for it", LOOKS),
    ("Ask with Kafka's own tool", LOOKS),
    ("Compare the id with the groups there are", LOOKS),
    ("Find out what happened to", LOOKS),
    ("Find out why", LOOKS),
    ("If it takes minutes: look at the size", LOOKS),
    ("List them all", LOOKS),
    ("Look at", LOOKS),
    ("Or start enough controllers for a majority", LOOKS),
    ("See", LOOKS),
    ("Start enough controllers for a majority", LOOKS),
    ("Start Unstuck with an address", "it starts Unstuck itself; `wrong_addresses` does so"),
    ("Only if its disk is lost: start it with an empty log directory", LOOKS),
    ("Bring the missing followers back", LOOKS),
    ("Raise its replication factor to", LOOKS),
    ("Start the brokers that hold its in-sync replicas", LOOKS),
    ("Use Kafka's tools of 4.0 or later for it", LOOKS),
];

#[test]
fn each_remedy_with_a_command_was_carried_out_or_says_why_not() -> Result<()> {
    let offered = offered(&workspace_folder().join("app/diagnosis/src"))?;
    ensure!(offered.len() > 10, "the snapshots look otherwise now: {offered:#?}");
    let known: Vec<&str> = RAN.iter().chain(NOT_RUN).map(|(title, _)| *title).collect();
    let missing: BTreeMap<_, _> =
        offered.iter().filter(|(line, _)| !known.iter().any(|title| line.starts_with(title))).collect();
    ensure!(missing.is_empty(), "neither carried out nor excused: {missing:#?}");
    Ok(())
}

/// What follows `-> ` in snapshots, and the command below it.
fn offered(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(offered(&path)?);
            continue;
        }
        if !path.extension().is_some_and(|extension| extension == "rs" || extension == "snap") {
            continue;
        }
        let mut title = None;
        for line in fs::read_to_string(&path)?.lines().map(str::trim_start) {
            if let Some(text) = line.strip_prefix("-> ") {
                title = Some(text.to_owned());
            } else if let (Some(command), Some(title)) = (line.strip_prefix("$ "), title.take()) {
                found.insert(title, command.to_owned());
            }
        }
    }
    Ok(found)
}
