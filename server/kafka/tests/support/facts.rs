//! Snapshots as facts, so that two of them can be compared without what has to differ.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;
use unstuck_diagnosis::snapshot::Snapshot;

/// Facts by path.
pub(crate) type Facts = BTreeMap<String, String>;

/// A snapshot's facts, without times, latencies, and, in KRaft mode, the controller, which brokers draw by lot.
/// `addresses`: brokers by the address that they are reached at.
pub(crate) fn facts(snapshot: &Snapshot, addresses: &BTreeMap<String, i32>) -> Facts {
    let mut value = serde_json::to_value(snapshot).expect("a snapshot is JSON");
    for sight in value["brokers"].as_object_mut().expect("brokers").values_mut() {
        let kraft = sight["kraft"] == Value::Bool(true);
        if let Some(view) = sight["metadata"]["known"].as_object_mut().filter(|_| kraft) {
            let listed = view["brokers"].get(view["controller"].to_string()).is_some();
            view.insert("controller".to_owned(), if listed { "a listed broker" } else { "none listed" }.into());
        }
    }
    let mut facts = Facts::new();
    flatten(String::new(), &value, addresses, &mut facts);
    facts
}

fn flatten(path: String, value: &Value, addresses: &BTreeMap<String, i32>, facts: &mut Facts) {
    let plain = |text: &str| addresses.get(text).map_or_else(|| text.to_owned(), |id| format!("address of {id}"));
    let fact = match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                flatten(format!("{path}/{}", plain(name)), value, addresses, facts);
            }
            return;
        }
        Value::Array(items) if !items.is_empty() => {
            for (nth, item) in items.iter().enumerate() {
                flatten(format!("{path}/{nth}"), item, addresses, facts);
            }
            return;
        }
        Value::String(text) if text.parse::<Timestamp>().is_ok() => "a time".to_owned(),
        Value::String(text) => plain(text),
        // A throttled answer stretches the deadline for a while.
        Value::Number(_) if path.ends_with("/round_trip_ms") || path.ends_with("/deadline_ms") => "a number".to_owned(),
        other => other.to_string(),
    };
    facts.insert(path, fact);
}

/// The facts in which two snapshots differ, a line for each side; empty if they agree.
pub(crate) fn differences(one: &Facts, other: &Facts) -> String {
    let paths: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let mut lines = Vec::new();
    for path in paths {
        for (sign, here, there) in [('-', one, other), ('+', other, one)] {
            if let Some(fact) = here.get(path).filter(|fact| there.get(path) != Some(fact)) {
                lines.push(format!("{sign} {path} = {fact}"));
            }
        }
    }
    lines.join("\n")
}
