use super::*;

fn checked(text: &str) -> Outcome {
    let scenario = unstuck_drill::scenario::read(text, "test.toml").expect("a scenario");
    check("test", Arc::new(scenario))
}

#[test]
fn each_scenario_that_is_built_in_is_as_it_expects() {
    let scenarios: Vec<_> = shipped::everything()
        .into_iter()
        .map(|(name, scenario)| (name, Arc::new(scenario.expect("the drill crate reads each of them"))))
        .collect();
    assert!(scenarios.len() > 50, "all of them: {}", scenarios.len());
    let mut text = String::new();
    for (name, outcome) in check_all(&scenarios) {
        let tests = outcome.expectations > 0 || outcome.judged.is_some();
        assert!(tests, "{name} expects nothing, so it tests nothing");
        for difference in outcome.differences.iter().chain(&outcome.broken_promises) {
            let _ = writeln!(text, "{name}: {difference}");
        }
    }
    assert!(text.is_empty(), "\n{text}");
}

const SMALL: &str = r#"
title = "A broker dies"
story = "One of one."
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
"#;

#[test]
fn what_differs_is_told_with_its_step_and_time() {
    let outcome = checked(&format!(
        r#"{SMALL}
[[expect]]
after = "10s"
worst = "working"
findings = ["no-controller"]
[[step]]
name = "it dies"
say = "Look."
do = [{{ stop = 1 }}]
[[step.expect]]
after = "3s"
worst = "working"
group = {{ orders = "working" }}
partition = {{ "0-3" = "stuck", "1" = "working" }}
findings = ["leader-lost"]
no-findings = ["*"]
says = ["It coordinates all groups", "Start broker 1"]
never-says = ["Broker 1 is down"]
never = ["stuck", "unknown"]
"#
    ));
    assert_eq!(outcome.expectations, 2);
    insta::assert_snapshot!(outcome.differences.join("\n"), @r#"
    the beginning, after 10s: the worst verdict is at_risk, not working: Everything works, but the 1 known group is one broker away from standing still
    the beginning, after 10s: finding no-controller is not open; open: replication-factor-1, one-broker-holds-all, partition-count-config-differs
    step `it dies`, after 3s: the worst verdict is stuck, not working: Broker 1 is down: 1 group is stuck
    step `it dies`, after 3s: group orders is stuck, not working: orders is stuck: its coordinator, broker 1, is down.
    step `it dies`, after 3s: partition 1 is stuck, not working: its coordinator, broker 1, is down
    step `it dies`, after 3s: finding replication-factor-1, one-broker-holds-all, partition-count-config-differs, groups-not-listed is open
    step `it dies`, after 3s: nothing says "It coordinates all groups"
    step `it dies`, after 3s: it says "Broker 1 is down"
    step `it dies`, after 3s: partition 0 was stuck, 10s 30ms after the beginning
    "#);
}

/// What a step waits for, whoever plays alone brings about.
#[test]
fn the_documented_example_is_as_it_expects() {
    let text = include_str!("../../../../docs/scenarios.md");
    let example = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let outcome = checked(example);
    assert_eq!(outcome.differences, Vec::<String>::new());
    assert_eq!(outcome.expectations, 4);
}

#[test]
fn the_same_scenario_gives_the_same_outcome() {
    let text =
        format!("{SMALL}\n[[step]]\nname = \"it dies\"\nsay = \"Look.\"\nafter = \"20s\"\ndo = [{{ stop = 1 }}]\n");
    let first = checked(&text);
    assert_eq!(first, checked(&text));
    assert_eq!(first.played, Duration::from_secs(25), "five seconds are looked at where nothing is expected");
}

#[test]
fn an_expectation_that_comes_after_the_next_step_is_a_difference_of_the_file() {
    let text = format!(
        "{SMALL}\n[[expect]]\nafter = \"1m\"\nworst = \"at_risk\"\n\
         [[step]]\nname = \"it dies\"\nsay = \"Look.\"\nafter = \"20s\"\ndo = [{{ stop = 1 }}]\n"
    );
    let refused = unstuck_drill::scenario::read(&text, "test.toml").expect_err("comes too late");
    assert!(refused.to_string().contains("1m"), "{refused}");
}

/// Broker 3 is late with everything it says, so for half a second the brokers name different leaders.
#[test]
fn news_that_reach_one_broker_later_do_not_make_a_verdict_flap() {
    let outcome = checked(
        r#"
title = "News travel"
story = "The dead leader is taken off in one broker's metadata before the other's."
[cluster]
mode = "zookeeper"
release = "3.9.1"
brokers = [1, 2, 3]
session-timeout = "6s"
[topic.__consumer_offsets]
partitions = 6
replication-factor = 1
[[group]]
id = "orders"
members = 1
[[fault]]
brokers = [3]
apis = ["Metadata"]
do = "delay"
delay = "400ms"
[[step]]
name = "broker 2 dies"
say = "Partitions 1 and 4 were its."
after = "10s"
do = [{ stop = 2 }]
[[step.expect]]
after = "30s"
partition = { "1, 4" = "stuck" }
never = ["recovering"]
"#,
    );
    assert_eq!(outcome.differences, Vec::<String>::new());
}
