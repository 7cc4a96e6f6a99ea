//! The JSON schema of scenario files, by which editors complete and check them.

use serde_json::Value;

use super::Scenario;

/// The schema, made from the model and its doc comments. It is committed as `scenario.schema.json`.
#[must_use]
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    without_null(&mut schema);
    schema
}

/// TOML has no null: a key that may be left out is left out.
fn without_null(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        if object.get("default").is_some_and(Value::is_null) {
            object.remove("default");
        }
        if let Some(Value::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                object.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
            choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
            if let [Value::Object(only)] = choices.as_slice() {
                let only = only.clone();
                object.remove("anyOf");
                object.extend(only);
            }
        }
    }
    match schema {
        Value::Object(object) => object.values_mut().for_each(without_null),
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::schema;
    use crate::scenario::read;
    use crate::scenario::reference::{between, reference};

    const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenario.schema.json");
    const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenarios.md");
    const UPDATE: &str = "run `UPDATE_SCENARIO_DOCS=1 cargo test -p unstuck-drill schema`";

    fn text(path: &str) -> String {
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// Whether the committed files shall be written anew instead of compared.
    fn update() -> bool {
        std::env::var_os("UPDATE_SCENARIO_DOCS").is_some()
    }

    #[test]
    fn the_committed_schema_is_that_of_the_model() {
        let now = schema();
        if update() {
            let text = serde_json::to_string_pretty(&now).expect("JSON");
            std::fs::write(SCHEMA, format!("{text}\n")).expect("the schema can be written");
        }
        // Compared as values: the order of keys depends on features that other crates ask for.
        let committed: Value = serde_json::from_str(&text(SCHEMA)).unwrap_or_default();
        assert!(committed == now, "scenario.schema.json is not that of the model: {UPDATE}");
        assert!(!now.to_string().contains("\"null\""), "TOML has no null");
    }

    #[test]
    fn the_documented_reference_is_that_of_the_model() {
        let now = reference(&schema());
        let document = text(DOCUMENT);
        let (before, committed, after) = between(&document).expect("the marks around the reference");
        if update() {
            std::fs::write(DOCUMENT, format!("{before}{now}{after}")).expect("the document can be written");
        } else {
            assert!(committed == now, "the reference in docs/scenarios.md is not that of the model: {UPDATE}");
        }
    }

    #[test]
    fn each_key_and_word_is_documented() {
        fn names(schema: &Value, found: &mut Vec<String>) {
            if let Some(Value::Object(properties)) = schema.get("properties") {
                found.extend(properties.keys().cloned());
            }
            found.extend(schema.get("const").and_then(Value::as_str).map(str::to_owned));
            let words = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
            found.extend(words.filter_map(|word| Some(word.as_str()?.to_owned())));
            match schema {
                Value::Object(object) => object.values().for_each(|below| names(below, found)),
                Value::Array(items) => items.iter().for_each(|below| names(below, found)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        names(&schema(), &mut found);
        assert!(found.len() > 100, "{found:?}");
        if update() {
            return; // The document is being written.
        }
        let document = text(DOCUMENT);
        let missing: Vec<_> = found.iter().filter(|name| !document.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "not in docs/scenarios.md: {missing:?}");
    }

    #[test]
    fn the_examples_of_the_document_are_scenarios() {
        if update() {
            return;
        }
        let document = text(DOCUMENT);
        let examples: Vec<&str> = document
            .split("```toml\n")
            .skip(1)
            .filter_map(|rest| rest.split("\n```").next())
            .filter(|example| example.contains("\ntitle = "))
            .collect();
        assert!(!examples.is_empty(), "there is an example");
        for example in examples {
            let scenario = read(example, "docs/scenarios.md").unwrap_or_else(|errors| panic!("\n{errors}"));
            assert!(!scenario.step.is_empty() && !scenario.expect.is_empty(), "it shows steps and expectations");
        }
    }
}
