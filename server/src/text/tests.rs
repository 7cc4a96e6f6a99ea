use unstuck_diagnosis::lookup::{Assigned, CommittedOffset, GroupDetail, GroupMember, SamePartitionGroups};
use unstuck_diagnosis::report::CouldNotObserve;
use unstuck_diagnosis::sample::Sample;
use unstuck_diagnosis::transactional::TransactionDetail;

use super::*;
use crate::lookup::Told;

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
    result.could_not_observe =
        vec![CouldNotObserve { what: "a\rb".to_owned(), why: "\u{202e}c".to_owned(), brokers: Vec::new() }];
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
    let gap = |n: usize| CouldNotObserve { what: format!("fact {n}"), why: "silence".to_owned(), brokers: Vec::new() };
    result.could_not_observe = (0..12).map(gap).collect();
    result.same_partition_groups = SamePartitionGroups { count: 7_000, groups: Vec::new() };
    let text = lookup(&lookup_, false);
    assert!(text.contains("Could not look: 4 more; --json lists them"), "{text}");
    assert!(text.contains("Same partition: 7000 other groups"), "{text}");
}

#[test]
fn a_whole_report_of_a_lost_broker() {
    insta::assert_snapshot!(report(&Sample::kraft(3, 6, 1).gone(1).report(), false), @"
    STUCK: Broker 1 is down: 2 of 6 coordinators are stuck
      2 of 6 coordinators stuck · 4 of 6 coordinators at risk · brokers 2 and 3 answer
      Since 2026-11-29 12:00:00 UTC
      outage: Broker 1 (127.0.0.1:9001) is down: it coordinates 2 of 6 partitions of __consumer_offsets.
        seen: Broker 1 (127.0.0.1:9001): connection refused, since 12:00:00 UTC.
        seen: The other brokers still list it as live; they notice after their session time-out.
        seen: No other in-sync replica lives.
      Next: Start broker 1.
        It has the data: the groups come back by themselves within seconds of its start, and nothing is lost.
        Only if its log directories are still there (not known)
        Check: Unstuck shows broker 1 as answering, and `kafka-broker-api-versions.sh --bootstrap-server 127.0.0.1:9001` answers.
      Do not restart the brokers that still work. The other coordinators work, and a restart stops theirs too.
      Do not delete __consumer_offsets. Some guides advise it. It deletes the committed offsets of all groups, those that work included, and brings nothing back sooner.
      Read on: unstuck explain leader-lost
      warning: __consumer_offsets has replication factor 1: each broker that stops takes its groups with it.
        seen: 6 of 6 partitions have fewer than 3 replicas; 3 brokers are registered.
        seen: Without broker 1: 2 partitions stand still; no known group lives there.
        seen: Without broker 2: 2 partitions stand still; no known group lives there.
        seen: Without broker 3: 2 partitions stand still; no known group lives there.
        seen: The replication factor of your data topics does not protect groups: coordinators live on this topic.
        Next: Raise it to 3 by a reassignment, as soon as that is possible
      info: The list of groups is not complete: a group that is not in it may still exist. (follows from leader-lost)
      If broker 2 stops now:
        The controller quorum loses its majority: until it is back nobody elects leaders or takes lost replicas out of an ISR, so commits stop wherever it is in sync.
        2 partitions of __consumer_offsets lose their leader until the quorum is back: no known group lives there.
      If broker 3 stops now:
        The controller quorum loses its majority: until it is back nobody elects leaders or takes lost replicas out of an ISR, so commits stop wherever it is in sync.
        2 partitions of __consumer_offsets lose their leader until the quorum is back: no known group lives there.
      Could not look: broker 1's own view (connection refused)
      Could not look: groups on broker 1 (connection refused)
    ");
}

#[test]
fn a_whole_report_of_a_healthy_cluster() {
    insta::assert_snapshot!(report(&Sample::kraft(3, 6, 3).report(), false), @"
    WORKING: All 6 coordinators work
      6 of 6 coordinators working · brokers 1, 2 and 3 answer
    ");
}

#[test]
fn a_way_out_in_full() {
    use unstuck_diagnosis::report::{Avoid, Remedy, Risk};
    let mut report_ = Sample::kraft(3, 6, 1).gone(1).report();
    let finding = &mut report_.findings[0];
    finding.remedies = vec![
        Remedy::new("Raise the factor", "More copies.")
            .danger(Risk::Pause, "Copying costs network and disk.")
            .given("all brokers answer", false)
            .given("the disks have room", None)
            .file("raise.json", "new replicas", "{\n  \"version\": 1\n}\n")
            .command("kafka-reassign-partitions.sh --execute", "replicas of 6 partitions")
            .verify("kafka-reassign-partitions.sh --verify")
            .undo("Run it with rollback.json."),
        Remedy::new("Elect", "Last.").danger(Risk::Loses, "Commits since 12:00 are gone.").looks("kafka-topics.sh"),
    ];
    finding.avoid = vec![Avoid { what: "Do not delete the topic.".to_owned(), why: "All offsets go.".to_owned() }];
    report_.findings[1].follows_from = Some("leader-lost".to_owned());
    let text = report(&report_, false);
    let wanted = "  Next: Raise the factor.
    More copies.
    Danger: Copying costs network and disk.
    Only if all brokers answer (not met)
    Only if the disks have room (not known)
    File raise.json: new replicas
    $ echo '{\"version\":1}' > raise.json
    Changes: replicas of 6 partitions
    $ kafka-reassign-partitions.sh --execute
    Check: kafka-reassign-partitions.sh --verify
    Undo: Run it with rollback.json.
  Or: Elect.
    Last.
    Danger, loses data: Commits since 12:00 are gone.
    $ kafka-topics.sh
  Do not delete the topic. All offsets go.
  Read on: unstuck explain leader-lost
";
    assert!(text.contains(wanted), "{text}");
    assert!(text.contains("each broker that stops takes its groups with it. (follows from leader-lost)\n"), "{text}");
}

#[test]
fn a_group_from_inside() {
    let group = GroupDetail {
        at: Sample::empty().now(),
        answered_by: 1,
        group_type: Some("classic".to_owned()),
        state: Some("Stable".to_owned()),
        member_count: 21,
        members: vec![GroupMember {
            client_id: "worker\u{1b}[2J".to_owned(),
            host: "/10.0.0.7".to_owned(),
            instance_id: Some("worker-1".to_owned()),
            assignment: Some(vec![Assigned { topic: "orders".to_owned(), partitions: vec![0, 1] }]),
            ..GroupMember::default()
        }],
        offsets: Ok(vec![
            CommittedOffset {
                topic: "orders".to_owned(),
                committed: 5,
                end: Some(9),
                lag: Some(4),
                ..Default::default()
            },
            CommittedOffset { topic: "orders".to_owned(), partition: 1, without_leader: true, ..Default::default() },
        ]),
        committed_count: 2,
        ..GroupDetail::default()
    };
    insta::assert_snapshot!(detail(&Told { id: GROUP.into(), told: Ok(group) }));
    let refused = Told { id: GROUP.into(), told: Err("broker 1: connection refused".to_owned()) };
    assert_eq!(detail(&refused), "\nmy-group from inside\n  Not known: broker 1: connection refused\n");
}

#[test]
fn a_transactional_id() {
    let sample = Sample::kraft(3, 50, 3).state_topic("__transaction_state", 50, 3);
    let told = Told { id: "my-app".into(), told: Ok(TransactionDetail::default()) };
    let lookup = sample.published().lookup_transactional(&["my-app".into()]);
    insta::assert_snapshot!(transactional(&lookup, false) + &transaction(&told));
}
