//! The reference part of `docs/scenarios.md`, written from the schema, so that it cannot fall behind the model.

use std::fmt::Write as _;

use serde_json::Value;

/// The parts in order: the name in the schema, and the heading. The empty name is the file itself.
const PARTS: [(&str, &str); 30] = [
    ("", "The file: keys at the top"),
    ("Cluster", "`[cluster]`"),
    ("Broker", "`[broker.ID]`"),
    ("Topic", "`[topic.NAME]`"),
    ("Partition", "`[[topic.NAME.partition]]`"),
    ("OpenTransaction", "`open-transaction` of a partition"),
    ("Group", "`[[group]]`"),
    ("Rebalances", "`rebalances` of a group"),
    ("Member", "Members of a group"),
    ("View", "`[[view]]`, and the action `view`"),
    ("SetPartitions", "Partitions in `view`; the actions `set` and `write-zookeeper`"),
    ("Fault", "`[[fault]]`, and the action `fault`"),
    ("FaultKind", "What a fault does: `do`"),
    ("Acl", "`[acl]`, and the action `acl`"),
    ("Step", "`[[step]]`"),
    ("Event", "Events: `on`"),
    ("Action", "Actions: `do`"),
    ("Elect", "The action `elect`"),
    ("Reassign", "The action `reassign`"),
    ("AddPartitions", "The action `add-partitions`"),
    ("CreateTopic", "The action `create-topic`"),
    ("Configure", "The action `configure`"),
    ("Coordinators", "The action `coordinators`"),
    ("LogDir", "The actions `fail-log-dir` and `repair-log-dir`"),
    ("Advertise", "The action `advertise`"),
    ("Expect", "`[[expect]]` and `[[step.expect]]`"),
    ("Truth", "`[truth]`"),
    ("Coordinator", "States of a coordinator"),
    ("BrokerState", "States of a broker"),
    ("GroupType", "Types of groups"),
];
const BEGIN: &str = "<!-- The reference begins. It is written from the doc comments of the model: edit those. -->\n";
const END: &str = "<!-- The reference ends. -->\n";

/// The document before the reference, the reference, and the document after it.
pub(super) fn between(document: &str) -> Option<(&str, &str, &str)> {
    let begin = document.find(BEGIN)? + BEGIN.len();
    let end = begin + document[begin..].find(END)?;
    Some((&document[..begin], &document[begin..end], &document[end..]))
}

/// The reference as Markdown.
pub(super) fn reference(schema: &Value) -> String {
    let mut out = String::new();
    for (name, heading) in PARTS {
        let part = if name.is_empty() { schema } else { &schema["$defs"][name] };
        let _ = write!(out, "\n### {heading}\n\n{}\n\n", words(part));
        if part.get("properties").is_some() {
            keys(&mut out, schema, part);
        } else {
            choices(&mut out, schema, part);
        }
    }
    out.push('\n');
    out
}

/// The keys of a table: those that must be there first.
fn keys(out: &mut String, schema: &Value, part: &Value) {
    out.push_str("| key | value | what |\n|---|---|---|\n");
    let required: Vec<&str> = part["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(properties) = part["properties"].as_object() else { return };
    let mut names: Vec<&String> = properties.keys().collect();
    names.sort_by_key(|name| (required.iter().position(|key| key == name).unwrap_or(usize::MAX), name.as_str()));
    for name in names {
        let must = if required.contains(&name.as_str()) { ", **required**" } else { "" };
        let value = &properties[name];
        let _ = writeln!(out, "| `{name}` | {}{must} | {} |", kind(schema, value), words(value));
    }
}

/// The words, or the tables with one key, that a value may be.
fn choices(out: &mut String, schema: &Value, part: &Value) {
    out.push_str("| written | what |\n|---|---|\n");
    for choice in part["oneOf"].as_array().into_iter().flatten() {
        if let Some(word) = choice["const"].as_str() {
            let _ = writeln!(out, "| `{word}` | {} |", words(choice));
        }
        for word in choice["enum"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let _ = writeln!(out, "| `{word}` | {} |", words(choice));
        }
        for (key, value) in choice["properties"].as_object().into_iter().flatten() {
            let _ = writeln!(out, "| `{key}` = {} | {} |", kind(schema, value), words(choice));
        }
    }
}

/// What kind of value it is, in a few words.
fn kind(schema: &Value, value: &Value) -> String {
    if let Some(name) = value["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return named(schema, name);
    }
    match value["type"].as_str().unwrap_or_default() {
        "string" => "text".to_owned(),
        "integer" => "number".to_owned(),
        "boolean" => "`true` or `false`".to_owned(),
        "array" => format!("list: {}", kind(schema, &value["items"])),
        "object" => format!("table: {}", kind(schema, &value["additionalProperties"])),
        other => other.to_owned(),
    }
}

fn named(schema: &Value, name: &str) -> String {
    if let Some((_, heading)) = PARTS.iter().find(|(part, _)| *part == name) {
        let anchor: String = heading
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                '-' | '_' => Some(c),
                c if c.is_alphanumeric() => Some(c),
                _ => None,
            })
            .collect();
        return format!("[{}](#{anchor})", name_in_words(name));
    }
    match name {
        "Time" => "time".to_owned(),
        "Size" => "size".to_owned(),
        "Partitions" => "partitions".to_owned(),
        "Setting" => "text, number, `true` or `false`".to_owned(),
        "Members" => "number, or list of [members](#members-of-a-group)".to_owned(),
        "Offsets" => "number, or list of numbers".to_owned(),
        _ => {
            let choices = schema["$defs"][name]["oneOf"].as_array().into_iter().flatten();
            let words = choices.flat_map(|choice| {
                let many = choice["enum"].as_array().into_iter().flatten();
                choice.get("const").into_iter().chain(many).filter_map(Value::as_str)
            });
            words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
    }
}

/// `set partitions` for `SetPartitions`.
fn name_in_words(name: &str) -> String {
    let mut words = String::new();
    for (nth, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && nth > 0 {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

/// The description, on one line.
fn words(part: &Value) -> String {
    let text = part["description"].as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types that are explained where they are used.
    const INLINE: [&str; 10] = [
        "Time",
        "Size",
        "Partitions",
        "Setting",
        "Members",
        "Offsets",
        "Mode",
        "Release",
        "ElectionType",
        "Implementation",
    ];

    #[test]
    fn no_part_of_the_schema_is_left_out() {
        let schema = crate::scenario::schema::schema();
        for name in schema["$defs"].as_object().expect("types").keys() {
            let there = PARTS.iter().any(|(part, _)| part == name) || INLINE.contains(&name.as_str());
            assert!(there, "{name} has no place in the reference");
        }
        for (part, _) in PARTS.iter().filter(|(part, _)| !part.is_empty()) {
            assert!(schema["$defs"].get(part).is_some(), "{part} is no longer in the schema");
        }
    }
}
