use unstuck_diagnosis::lookup::SamePartitionGroups;
use unstuck_diagnosis::report::CouldNotObserve;
use unstuck_diagnosis::sample::Sample;

use super::*;

/// `my-group` lives on partition 12 of 50, which broker 1 leads.
const GROUP: &str = "my-group";

fn answer(sample: &Sample, ids: &[&str]) -> Lookup {
    let ids: Vec<GroupId> = ids.iter().copied().map(GroupId::from).collect();
    sample.published().lookup(&ids)
}

fn shown(sample: &Sample) -> String {
    lookup(&answer(sample, &[GROUP]), false)
}

#[test]
fn stuck() {
    insta::assert_snapshot!(shown(&Sample::kraft(3, 50, 1).gone(1).leaderless_after(1)));
}

#[test]
fn recovering() {
    insta::assert_snapshot!(shown(&Sample::kraft(3, 50, 3).gone(1)));
}

#[test]
fn working() {
    insta::assert_snapshot!(shown(&Sample::kraft(3, 50, 3).group_on(12, GROUP)));
}

#[test]
fn at_risk() {
    insta::assert_snapshot!(shown(&Sample::kraft(3, 50, 1).group_on(12, GROUP)));
}

#[test]
fn look_at_group() {
    insta::assert_snapshot!(shown(&Sample::kraft(3, 50, 3)));
}

#[test]
fn unknown() {
    insta::assert_snapshot!(shown(&Sample::empty()));
}

#[test]
fn brokers_that_disagree_stand_side_by_side() {
    let text = shown(&Sample::kraft(3, 50, 3).view(2, 12, Some(3), 7));
    assert!(text.contains("Brokers disagree:\n    broker 1 says: leader "), "{text}");
}

#[test]
fn several_groups_end_with_totals() {
    let text = lookup(&answer(&Sample::kraft(3, 50, 1).gone(1).leaderless_after(1), &[GROUP, "other", "third"]), false);
    assert!(text.ends_with("\n3 groups: 2 stuck · 1 at risk\n"), "{text}");
}

#[test]
fn weird_ids_break_nothing() {
    let ids = [
        "",
        "tail ",
        "\u{1F600}",
        "\u{202e}gnp",
        "<script>",
        "a\nb\u{1b}[31mred\u{7}",
        "is stuck",
        &"é".repeat(16_383),
    ];
    let text = lookup(&answer(&Sample::kraft(3, 50, 1).gone(1).leaderless_after(1), &ids), false);
    assert!(text.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{text}");
    let firsts: Vec<&str> = text.lines().filter(|line| !line.starts_with(' ') && !line.is_empty()).collect();
    assert_eq!(firsts.len(), ids.len() + 1, "a group begins a line, and nothing else does: {firsts:?}");
    insta::assert_snapshot!(firsts.join("\n"));
}

#[test]
fn what_a_server_says_cannot_move_the_cursor() {
    let mut lookup_ = answer(&Sample::kraft(3, 50, 3), &[GROUP]);
    let result = &mut lookup_.results[0];
    result.verdict.sentence = "my-group is fine\u{1b}[2J\nreally".to_owned();
    result.could_not_observe = vec![CouldNotObserve { what: "a\rb".to_owned(), why: "\u{202e}c".to_owned() }];
    let text = lookup(&lookup_, false);
    assert!(!text.contains(['\u{1b}', '\r', '\u{202e}']), "{text}");
    assert!(text.contains("Could not look: a\\u{d}b (\\u{202e}c)"), "{text}");
}

#[test]
fn colour_is_an_addition() {
    let answer = answer(&Sample::kraft(3, 50, 1).gone(1).leaderless_after(1), &[GROUP]);
    let (plain, coloured) = (lookup(&answer, false), lookup(&answer, true));
    assert!(coloured.contains("\u{1b}[1;31mSTUCK\u{1b}[0m"), "{coloured}");
    assert_eq!(coloured.replace("\u{1b}[1;31m", "").replace("\u{1b}[0m", ""), plain);
}

#[test]
fn long_lists_are_cut_and_say_so() {
    let mut lookup_ = answer(&Sample::kraft(3, 50, 3), &[GROUP]);
    let result = &mut lookup_.results[0];
    let gap = |n: usize| CouldNotObserve { what: format!("fact {n}"), why: "silence".to_owned() };
    result.could_not_observe = (0..12).map(gap).collect();
    result.same_partition_groups = SamePartitionGroups { count: 7_000, groups: Vec::new() };
    let text = lookup(&lookup_, false);
    assert!(text.contains("Could not look: 4 more; --json lists them"), "{text}");
    assert!(text.contains("Same partition: 7000 other groups"), "{text}");
}
