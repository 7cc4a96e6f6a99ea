//! Placement against a real JVM: natively, and in WebAssembly run by Node.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::placement::{PlacementSteps, partition_for};
use unstuck_tests::jars::workspace_folder;

/// An id with what Kafka makes of it.
struct Vector {
    group: String,
    partitions: i32,
    hash: i32,
    partition: i32,
}

/// Vectors from brokers' logs and Kafka's own tests.
fn collected_vectors() -> Vec<Vector> {
    let table = include_str!("../data/hash_vectors.tsv");
    let vectors = table.lines().skip(1).map(|line| {
        let mut fields = line.split('\t');
        let mut next = || fields.next().expect("a column of hash_vectors.tsv");
        let group = next().to_owned();
        let mut number = || next().parse().expect("a number in hash_vectors.tsv");
        let (partitions, partition, hash) = (number(), number(), number());
        Vector { group, partitions, hash, partition }
    });
    vectors.collect()
}

/// UTF-16 code units of all planes, surrogates without a partner among them.
fn random_ids(count: usize) -> Vec<Vec<u16>> {
    let character = prop_oneof![
        4 => prop::char::range(' ', '~').prop_map(utf16),
        2 => prop::char::range('\u{0}', '\u{ffff}').prop_map(utf16),
        3 => prop::char::range('\u{10000}', '\u{10ffff}').prop_map(utf16),
        1 => (0xd800_u16..=0xdfff).prop_map(|unit| vec![unit]),
    ];
    let id = prop::collection::vec(character, 0..40).prop_map(|units| units.concat());
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| id.new_tree(&mut runner).expect("a strategy without filters").current()).collect()
}

fn utf16(c: char) -> Vec<u16> {
    c.encode_utf16(&mut [0; 2]).to_vec()
}

/// What a JVM says of random ids, each in the two ways in which it can reach a broker.
fn jvm_vectors(count: usize) -> Result<Vec<Vector>> {
    let mut input = String::new();
    for units in random_ids(count) {
        input.extend(units.iter().map(|unit| format!("{unit:04x}")));
        input.push('\n');
    }
    let program = workspace_folder().join("tests/java/HashCodes.java");
    let output = pipe(Command::new("java").arg(program), input)?;
    let vectors = output.lines().map(|line| {
        let mut fields = line.split(' ');
        let mut next = || fields.next().context("a field of the JVM's answer");
        let group = String::from_utf8(unhex(next()?.trim_start_matches('x'))?).context("brokers answer in UTF-8")?;
        let (hash, partition) = (next()?.parse()?, next()?.parse()?);
        Ok(Vector { group, partitions: 50, hash, partition })
    });
    vectors.collect()
}

fn unhex(hex: &str) -> Result<Vec<u8>> {
    let digits: Vec<char> = hex.chars().collect();
    digits.chunks(2).map(|pair| Ok(u8::from_str_radix(&pair.iter().collect::<String>(), 16)?)).collect()
}

fn pipe(command: &mut Command, input: String) -> Result<String> {
    let what = format!("{command:?}");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {what}"))?;
    let mut stdin = child.stdin.take().context("standard input")?;
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "{what} failed: {}", String::from_utf8_lossy(&output.stderr));
    writer.join().expect("the writer does not panic")?;
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn natively_groups_are_placed_as_brokers_place_them() -> Result<()> {
    let random = jvm_vectors(12_000)?;
    assert_eq!(random.len(), 24_000);
    assert!(random.iter().any(|vector| vector.group.contains('\u{fffd}')), "lone surrogates are among them");
    for vector in collected_vectors().into_iter().chain(random) {
        let group = GroupId(vector.group);
        assert_eq!(group.java_hash(), vector.hash, "hash of {:?}", group.0);
        assert_eq!(partition_for(&group, vector.partitions), Some(vector.partition), "partition of {:?}", group.0);
        let steps = PlacementSteps::of(&group, vector.partitions).expect("a positive count");
        assert_eq!((steps.java_hash, steps.partition), (vector.hash, vector.partition));
    }
    Ok(())
}

#[test]
fn in_webassembly_groups_are_placed_as_brokers_place_them() -> Result<()> {
    let script = workspace_folder().join("target/node/unstuck.js");
    ensure!(script.is_file(), "`make node-bundle` builds the core for Node; `make test` does both");
    let mut input = String::new();
    let vectors: Vec<Vector> = collected_vectors().into_iter().chain(jvm_vectors(12_000)?).collect();
    for vector in &vectors {
        input += &serde_json::json!([vector.group, vector.partitions, vector.partition]).to_string();
        input.push('\n');
    }
    let output = pipe(Command::new("node").arg(workspace_folder().join("tests/node/place.mjs")).arg(script), input)?;
    ensure!(output.trim() == vectors.len().to_string(), "{output}");
    Ok(())
}
