//! Which remedies were carried out for real: each that any rule offers with a command stands here.
//!
//! What rules offer is read from the snapshots in their own tests: a line `-> title: why`, and the command below it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use unstuck_tests::jars::workspace_folder;

/// By beginnings of titles: where they are carried out with Kafka's own tools, and what they were offered for is gone.
const RAN: &[(&str, &str)] = &[
    // Looking.
    ("Before you change anything: keep what", "incident_2, remedies"),
    ("Keep the committed offsets of all groups", "count_drift"),
    ("In a quiet hour: stop all consumers, and export", "count_drift"),
    // Elections.
    ("Elect the preferred leader", "incident_2"),
    ("Let the preferred leaders lead again", "remedies"),
    ("Then let the preferred leaders lead", "incidents_1_and_3"),
    ("Only if its disk is lost: elect a replica that was not in sync", "remedies"),
    ("If elections are refused: make ZooKeeper choose a new controller", "incident_2"),
    ("Make ZooKeeper choose a new controller", "incident_2"),
    // Settings.
    ("Meanwhile: ask for fewer in-sync replicas", "remedies"),
    ("Let it compact again", "remedies"),
    ("Forbid unclean elections", "remedies"),
    ("Ask for", "remedies"),
    // Reassignments.
    ("Raise the replication factor to", "incidents_1_and_3, remedies"),
    // Groups.
    ("Set each group's position by time", "remedies"),
    ("Then restart all brokers promptly", "count_drift"),
];

/// By beginnings of titles: why they are not.
const NOT_RUN: &[(&str, &str)] = &[];

#[test]
fn each_remedy_with_a_command_was_carried_out_or_says_why_not() -> Result<()> {
    let offered = offered(&workspace_folder().join("app/diagnosis/src"))?;
    ensure!(offered.len() > 10, "the snapshots look otherwise now: {offered:#?}");
    let known: Vec<&str> = RAN.iter().chain(NOT_RUN).map(|(title, _)| *title).collect();
    let missing: BTreeMap<_, _> =
        offered.iter().filter(|(line, _)| !known.iter().any(|title| line.starts_with(title))).collect();
    ensure!(missing.is_empty(), "neither carried out nor excused: {missing:#?}");
    let unused: Vec<_> = known.iter().filter(|title| !offered.keys().any(|line| line.starts_with(**title))).collect();
    ensure!(unused.is_empty(), "no rule offers these any more: {unused:#?}");
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
