//! The invariants of ARCHITECTURE.md that can be checked from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use unstuck_tests::jars::workspace_folder;

/// Each crate, and the crates of the workspace that it may depend on: `diagnosis` ← `app`, `kafka` ← `server` ← `tests`,
/// `wire` ← `security` ← `kafka`, `wire` ← `kafka`, `drill`, `diagnosis` ← `drill` ← `server`, and `diagnosis` ← `store` ← `server`.
const MAY_DEPEND_ON: [(&str, &[&str]); 11] = [
    ("unstuck-app", &["unstuck-diagnosis"]),
    ("unstuck-bundle", &[]),
    ("unstuck-diagnosis", &[]),
    ("unstuck-drill", &["unstuck-diagnosis", "unstuck-wire"]),
    ("unstuck-fuzzing", &[]),
    ("unstuck-kafka", &["unstuck-diagnosis", "unstuck-security", "unstuck-wire"]),
    ("unstuck-security", &["unstuck-wire"]),
    (
        "unstuck-server",
        &["unstuck-app", "unstuck-diagnosis", "unstuck-drill", "unstuck-kafka", "unstuck-security", "unstuck-store"],
    ),
    ("unstuck-store", &["unstuck-diagnosis"]),
    (
        "unstuck-tests",
        &["unstuck-diagnosis", "unstuck-drill", "unstuck-kafka", "unstuck-server", "unstuck-store", "unstuck-wire"],
    ),
    ("unstuck-wire", &[]),
];

/// Which crates the tests of a crate may use besides: the collector's look at drills, and fuzz tests share a crate.
const TESTS_MAY_USE: [(&str, &str); 4] = [
    ("unstuck-kafka", "unstuck-drill"),
    ("unstuck-drill", "unstuck-fuzzing"),
    ("unstuck-server", "unstuck-fuzzing"),
    ("unstuck-wire", "unstuck-fuzzing"),
];

/// The protocol codec, which one crate alone may name.
const CODEC: &str = concat!("kacrab", "-protocol");

fn packages() -> Result<Vec<Value>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(workspace_folder())
        .output()
        .context("starting cargo")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    Ok(metadata["packages"].as_array().context("packages")?.clone())
}

fn dependencies(package: &Value) -> Result<BTreeSet<String>> {
    let list = package["dependencies"].as_array().context("dependencies")?;
    let name = package["name"].as_str().context("a name")?;
    let for_tests = |one: &Value| {
        one["kind"] == "dev" && TESTS_MAY_USE.iter().any(|(user, used)| *user == name && one["name"] == *used)
    };
    Ok(list.iter().filter(|one| !for_tests(one)).filter_map(|one| one["name"].as_str().map(str::to_owned)).collect())
}

/// All files that belong to the repository, with their text; binary ones are left out.
fn files() -> Result<BTreeMap<String, String>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(workspace_folder())
        .output()
        .context("starting git")?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout)?;
    let texts = names.lines().filter_map(|name| {
        let text = fs::read_to_string(workspace_folder().join(name)).ok()?;
        Some((name.to_owned(), text))
    });
    let files: BTreeMap<String, String> = texts.collect();
    ensure!(files.contains_key("Cargo.toml"), "the files of the repository: {:?}", files.keys());
    Ok(files)
}

#[test]
fn dependencies_point_one_way() -> Result<()> {
    let packages = packages()?;
    let names: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let known: BTreeSet<&str> = MAY_DEPEND_ON.iter().map(|(name, _)| *name).collect();
    ensure!(names == known, "a crate came or went: {names:?}");
    for package in &packages {
        let name = package["name"].as_str().context("a name")?;
        let allowed = MAY_DEPEND_ON.iter().find(|(one, _)| *one == name).context("a known crate")?.1;
        for dependency in dependencies(package)? {
            ensure!(
                !names.contains(dependency.as_str()) || allowed.contains(&dependency.as_str()),
                "{name} depends on {dependency}"
            );
        }
    }
    Ok(())
}

#[test]
fn one_crate_alone_names_the_codec() -> Result<()> {
    for package in packages()? {
        let name = package["name"].as_str().context("a name")?;
        ensure!(name == "unstuck-wire" || !dependencies(&package)?.contains(CODEC), "{name} depends on {CODEC}");
    }
    let in_code = CODEC.replace('-', "_");
    for (file, text) in files()? {
        if file.ends_with(".rs") && !file.starts_with("server/kafka/wire/") {
            ensure!(!text.contains(&in_code), "{file} names {in_code}");
        }
    }
    Ok(())
}

#[test]
fn the_core_does_no_io_and_reads_no_clock() -> Result<()> {
    for package in packages()?.iter().filter(|package| package["name"] == "unstuck-diagnosis") {
        let allowed = BTreeSet::from(
            ["insta", "jiff", "proptest", "serde", "serde_json", "sha2", "unicode-normalization"].map(str::to_owned),
        );
        let more: Vec<_> = dependencies(package)?.difference(&allowed).cloned().collect();
        ensure!(more.is_empty(), "unstuck-diagnosis depends on {more:?}: does that do I/O?");
    }
    let sources = files()?;
    let core = |file: &str| file.starts_with("app/diagnosis/src/") && !file.ends_with("/tests.rs");
    for (file, text) in sources.iter().filter(|(file, _)| core(file)) {
        for what in ["std::fs", "std::net", "std::env", "std::process", "std::thread", "std::time::", "::now()"] {
            ensure!(!text.contains(what), "{file} names {what}");
        }
    }
    Ok(())
}

#[test]
fn every_crate_forbids_unsafe_code() -> Result<()> {
    let root = fs::read_to_string(workspace_folder().join("Cargo.toml"))?;
    ensure!(root.contains("unsafe_code = \"forbid\""), "the lints of the workspace forbid unsafe code");
    for package in packages()? {
        let manifest = PathBuf::from(package["manifest_path"].as_str().context("a manifest")?);
        let text = fs::read_to_string(&manifest)?;
        ensure!(
            text.contains("[lints]\nworkspace = true"),
            "{} does not take the workspace's lints",
            manifest.display()
        );
    }
    Ok(())
}

#[test]
fn no_source_file_is_long() -> Result<()> {
    const LINES: usize = 550;
    let long: Vec<String> = files()?
        .iter()
        .filter(|(file, _)| [".rs", ".css", ".ts", ".mjs", ".js", ".java"].iter().any(|ending| file.ends_with(ending)))
        .map(|(file, text)| (file, text.lines().count()))
        .filter(|(_, lines)| *lines > LINES)
        .map(|(file, lines)| format!("{file}: {lines} lines"))
        .collect();
    ensure!(long.is_empty(), "split these:\n{}", long.join("\n"));
    Ok(())
}

#[test]
fn nothing_depends_on_one_machine() -> Result<()> {
    // Written in two halves, or this file would find itself.
    let traces = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/tmp", "/target"),
        concat!("index.crates", ".io"),
        concat!("static.crates", ".io"),
        concat!("registry.npm", "js"),
        concat!("repo.maven", ".apache"),
        concat!("repo1", ".maven"),
    ];
    for (file, text) in files()? {
        for trace in traces {
            ensure!(!text.contains(trace), "{file} contains {trace}");
        }
    }
    Ok(())
}
