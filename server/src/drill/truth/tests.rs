//! How public cases are judged, and that the goal is reached.

use super::*;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/truth.md");
const BEGIN: &str =
    "<!-- The table begins. UPDATE_TRUTH_DOCS=1 cargo test -p unstuck-server truth writes it anew. -->\n";
const END: &str = "<!-- The table ends. -->\n";

/// The goal: how many of a hundred determined cases are right at least.
const AT_LEAST: usize = 95;

#[test]
fn each_public_case_is_judged_and_the_goal_is_reached() {
    let results = results(&cases().expect("all scenarios read"));
    let table = table::table(&results);
    if std::env::var_os("UPDATE_TRUTH_DOCS").is_some() {
        let document = std::fs::read_to_string(DOCUMENT).expect("the document");
        let (before, rest) = document.split_once(BEGIN).expect("where the table begins");
        let (_, after) = rest.split_once(END).expect("where it ends");
        std::fs::write(DOCUMENT, format!("{before}{BEGIN}{table}{END}{after}")).expect("it can be written");
    }
    let score = Score::of(&results);
    assert_eq!(results.len(), 64, "each case has a scenario");
    assert!(score.percent() >= AT_LEAST && score.wrong == 0, "\n{table}");
}

const SMALL: &str = r#"
title = "A broker dies"
story = "One of two."
[cluster]
mode = "kraft"
release = "4.1.1"
brokers = [1, 2]
controllers = [9]
[topic.__consumer_offsets]
partitions = 4
replicas = [1]
[[group]]
id = "orders"
members = 1
[[step]]
name = "it dies"
say = "Look."
after = "10s"
do = [{ stop = 1 }]
[truth]
case = "C99"
step = "it dies"
at = "20s"
group = "orders"
"#;

/// The judgement on the small cluster with this truth, with what lacks.
fn judged(truth: &str) -> String {
    let scenario = unstuck_drill::scenario::read(&format!("{SMALL}{truth}"), "test.toml").expect("a scenario");
    let results = results(&[("test".to_owned(), Arc::new(scenario))]);
    let judged = &results[0].judged;
    format!("{}: {}", judged.judgement.words(), judged.because.join("; "))
}

#[test]
fn right_is_verdict_cause_and_remedy() {
    let right = r#"
verdict = "stuck"
cause = ["no-leader-no-live-replica", "replication-factor-1"]
remedy = ["Start broker 1"]
says = ["It coordinates", "the only replica"]
must-not-say = ["orders does not exist"]
"#;
    assert_eq!(judged(&right.replace("\"It coordinates\", ", "")), "right: ");
    insta::assert_snapshot!(judged(right), @r#"partly: nothing says "It coordinates""#);
}

#[test]
fn partly_names_what_lacks() {
    let truth = "verdict = \"stuck\"\ncause = [\"coordinator-failed\", \"made-up\"]\nremedy = [\"Restart broker 2\"]\n";
    insta::assert_snapshot!(judged(truth), @r#"partly: coordinator-failed is not open; there is no finding made-up; no remedy says "Restart broker 2""#);
    let truth = "verdict = \"stuck\"\ncause = [\"replication-factor-1\"]\n";
    insta::assert_snapshot!(judged(truth), @"partly: no-leader-no-live-replica stands before replication-factor-1");
}

#[test]
fn wrong_is_another_verdict_or_what_must_not_be_said() {
    insta::assert_snapshot!(judged("verdict = \"working\""), @"wrong: it says: orders is stuck: its coordinator's partition has no leader, and broker 1 is down.");
    insta::assert_snapshot!(judged("verdict = \"stuck\"\nmust-not-say = [\"orders is stuck\"]"), @r#"wrong: it says "orders is stuck""#);
    insta::assert_snapshot!(judged("verdict = \"stuck\"\nothers = { billing = \"working\" }"), @"wrong: billing is stuck, not working");
    assert_eq!(judged("verdict = \"working\"\nor = [\"stuck\"]"), "right: ");
}

#[test]
fn not_to_know_is_honest_if_the_gap_is_named() {
    let hidden = "verdict = \"stuck\"\n[acl]\nhidden-topics = [\"__consumer_offsets\"]\n";
    assert_eq!(judged(hidden), "honestly unknown: ");
}

#[test]
fn a_moment_that_never_comes_is_wrong() {
    let scenario = SMALL.replace("after = \"10s\"\n", "on = \"election\"\n") + "verdict = \"stuck\"";
    let scenario = unstuck_drill::scenario::read(&scenario, "test.toml").expect("a scenario");
    let results = results(&[("test".to_owned(), Arc::new(scenario))]);
    assert_eq!(results[0].judged.judgement, Judgement::Right, "whoever plays alone brings the step about");
    assert_eq!(with_promises(Outcome::default()).judgement, Judgement::Wrong);
    let broken = Outcome {
        judged: Some(results[0].judged.clone()),
        broken_promises: vec!["it denies".to_owned()],
        ..Outcome::default()
    };
    assert_eq!(with_promises(broken).judgement, Judgement::Wrong);
}
