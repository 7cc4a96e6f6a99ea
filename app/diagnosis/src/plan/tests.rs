use super::{Plan, Refusal, Wish};
use crate::sample::Sample;
use crate::snapshot::Why;

/// A plan as people read it.
fn text(plan: &Result<Plan, Refusal>) -> String {
    let plan = match plan {
        Ok(plan) => plan,
        Err(refusal) => return format!("refused: {}\n  {}\n", refusal.why, refusal.advice),
    };
    let mut out = format!("{}\n", plan.remedy.title);
    for sentence in &plan.sentences {
        out += &format!("  {sentence}\n");
    }
    for remedy in [Some(&plan.remedy), plan.then.as_ref()].into_iter().flatten() {
        out += &format!("{}\n", remedy.command.clone().unwrap_or_default());
        out += &remedy.changes.iter().map(|changes| format!("  changes {changes}\n")).collect::<String>();
        out += &remedy.danger.iter().map(|danger| format!("  ! {danger}\n")).collect::<String>();
        for given in &remedy.preconditions {
            out += &format!("  [{}] {}\n", given.state.words(), given.text);
        }
        out += &remedy.verify.iter().map(|verify| format!("  verify: {verify}\n")).collect::<String>();
        out += &remedy.undo.iter().map(|undo| format!("  undo: {undo}\n")).collect::<String>();
        for file in &remedy.files {
            out += &format!("  {} ({}):\n{}", file.name, file.what, file.content);
        }
    }
    out
}

fn lists(plan: &Result<Plan, Refusal>) -> Vec<(i32, Vec<i32>)> {
    plan.as_ref()
        .map(|plan| plan.changes.iter().map(|change| (change.partition, change.to.clone())).collect())
        .unwrap_or_default()
}

#[test]
fn one_copy_becomes_three() {
    let sample = Sample::kraft(3, 3, 1);
    insta::assert_snapshot!(text(&sample.published().plan(Wish::Raise)), @r#"
    Raise the replication factor to 3 by a reassignment; leaders stay
      3 partitions get 3 replicas: 6 replicas are copied, 6 MB in all, nothing is moved away, and whoever leads now goes on leading.
      Partitions led as now: broker 1: 1, broker 2: 1, broker 3: 1.
      Throttled to 10 MB/s for each broker, copying takes about a second.
    kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --execute --throttle 10000000
      changes the lists of replicas of 3 partitions; 6 replicas are copied
      ! Copying costs network and disks, up to the throttle, and may slow clients down; no coordinator moves.
      [met] all brokers that hold or get replicas answer
      [met] there is a controller
      [met] no reassignment of __consumer_offsets is under way
      [met] the disks of the brokers that get replicas have room for them (broker 1 needs 2 MB, broker 2 needs 2 MB, broker 3 needs 2 MB)
      verify: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --verify` says "completed" for every partition, and takes the throttle away
      undo: while it runs: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --cancel`; afterwards: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file rollback.json --execute`, with the file saved now
      raise.json (the lists of replicas afterwards):
    {"version":1,"partitions":[
    {"topic":"__consumer_offsets","partition":0,"replicas":[1,2,3]},
    {"topic":"__consumer_offsets","partition":1,"replicas":[2,1,3]},
    {"topic":"__consumer_offsets","partition":2,"replicas":[3,1,2]}
    ]}
      rollback.json (the lists of replicas as they are now):
    {"version":1,"partitions":[
    {"topic":"__consumer_offsets","partition":0,"replicas":[1]},
    {"topic":"__consumer_offsets","partition":1,"replicas":[2]},
    {"topic":"__consumer_offsets","partition":2,"replicas":[3]}
    ]}
    "#);
}

#[test]
fn sizes_give_the_throttle() {
    let sized = |bytes| {
        let sample = (0..3)
            .fold(Sample::kraft(3, 3, 1), |sample, partition| sample.offsets_size(partition + 1, partition, bytes));
        sample.published().plan(Wish::Raise).expect("a plan")
    };
    let small = sized(3_000_000);
    assert_eq!((small.bytes, small.throttle), (Some(18_000_000), Some(10_000_000)));
    let large = sized(60_000_000_000);
    assert_eq!(large.throttle, Some(200_000_000), "twice 60 GB from each broker in ten minutes");
    let unknown = Sample::kraft(3, 3, 1).log_dirs_denied().published().plan(Wish::Raise).expect("a plan");
    assert_eq!((unknown.bytes, unknown.throttle), (None, Some(10_000_000)));
    insta::assert_snapshot!(
        format!("{}\n{}\n{}", small.sentences[2], large.sentences[2], unknown.sentences[2]), @"
    Throttled to 10 MB/s for each broker, copying takes about a second.
    Throttled to 200 MB/s for each broker, copying takes about 10 minutes.
    How large the partitions are is not known, so the throttle is a careful 10 MB/s for each broker; raise it if copying takes too long.
    ");
}

#[test]
fn all_on_one_broker_keeps_its_leaders_or_spreads_them() {
    let sample = (0..6).fold(Sample::kraft(3, 6, 1), |sample, partition| sample.placed(partition, &[1]));
    let keeps = sample.published().plan(Wish::Raise);
    assert!(lists(&keeps).iter().all(|(_, list)| list[0] == 1), "{keeps:?}");
    insta::assert_snapshot!(keeps.as_ref().map(|plan| plan.sentences.join("\n")).unwrap_or_default(), @"
    6 partitions get 3 replicas: 12 replicas are copied, 12 MB in all, nothing is moved away, and whoever leads now goes on leading.
    Partitions led as now: broker 1: 6, broker 2: 0, broker 3: 0.
    Broker 1 stays the coordinator of every group; the plan raise-balanced spreads them, at the price of a pause.
    Throttled to 10 MB/s for each broker, copying takes about 2 seconds.
    ");
    insta::assert_snapshot!(text(&sample.published().plan(Wish::RaiseBalanced)), @r#"
    Raise the replication factor to 3, and spread the leaders as well
      6 partitions get 3 replicas and an order that spreads the leaders: 12 replicas are copied, 12 MB in all, nothing is moved away.
      Partitions led afterwards: broker 1: 2 (now 6), broker 2: 2 (now 0), broker 3: 2 (now 0).
      Throttled to 10 MB/s for each broker, copying takes about 2 seconds.
    kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise-balanced.json --execute --throttle 10000000
      changes the lists of replicas of 6 partitions; 12 replicas are copied
      ! Copying costs network and disks, up to the throttle; groups on 4 partitions pause when their coordinator moves, at the next election of preferred leaders.
      [met] all brokers that hold or get replicas answer
      [met] there is a controller
      [met] no reassignment of __consumer_offsets is under way
      [met] the disks of the brokers that get replicas have room for them (broker 2 needs 6 MB, broker 3 needs 6 MB)
      verify: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise-balanced.json --verify` says "completed" for every partition, and takes the throttle away
      undo: while it runs: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise-balanced.json --cancel`; afterwards: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file rollback.json --execute`, with the file saved now
      raise-balanced.json (the lists of replicas afterwards):
    {"version":1,"partitions":[
    {"topic":"__consumer_offsets","partition":0,"replicas":[2,1,3]},
    {"topic":"__consumer_offsets","partition":1,"replicas":[3,1,2]},
    {"topic":"__consumer_offsets","partition":2,"replicas":[2,1,3]},
    {"topic":"__consumer_offsets","partition":3,"replicas":[3,1,2]},
    {"topic":"__consumer_offsets","partition":4,"replicas":[1,2,3]},
    {"topic":"__consumer_offsets","partition":5,"replicas":[1,3,2]}
    ]}
      rollback.json (the lists of replicas as they are now):
    {"version":1,"partitions":[
    {"topic":"__consumer_offsets","partition":0,"replicas":[1]},
    {"topic":"__consumer_offsets","partition":1,"replicas":[1]},
    {"topic":"__consumer_offsets","partition":2,"replicas":[1]},
    {"topic":"__consumer_offsets","partition":3,"replicas":[1]},
    {"topic":"__consumer_offsets","partition":4,"replicas":[1]},
    {"topic":"__consumer_offsets","partition":5,"replicas":[1]}
    ]}
    echo '{"partitions":[{"topic":"__consumer_offsets","partition":0},{"topic":"__consumer_offsets","partition":1},{"topic":"__consumer_offsets","partition":2},{"topic":"__consumer_offsets","partition":3}]}' > elect.json && kafka-leader-election.sh --bootstrap-server 127.0.0.1:9001 --election-type preferred --path-to-json-file elect.json
      changes the leader, and so the coordinator, of 4 partitions
      ! Groups on these partitions pause for a moment while their coordinator moves.
      [not known] the reassignment is complete
      verify: `kafka-topics.sh --bootstrap-server 127.0.0.1:9001 --describe --topic __consumer_offsets` shows each leader as the first of its replicas
      undo: none needed: whoever leads holds the same data
    "#);
}

#[test]
fn racks_come_first() {
    let sample = Sample::kraft(6, 6, 1);
    let sample = [(1, "a"), (2, "a"), (3, "b"), (4, "b"), (5, "c"), (6, "c")]
        .into_iter()
        .fold(sample, |sample, (broker, rack)| sample.rack(broker, rack));
    insta::assert_debug_snapshot!(lists(&sample.published().plan(Wish::Raise)), @"
    [
        (
            0,
            [
                1,
                3,
                5,
            ],
        ),
        (
            1,
            [
                2,
                4,
                6,
            ],
        ),
        (
            2,
            [
                3,
                1,
                5,
            ],
        ),
        (
            3,
            [
                4,
                2,
                6,
            ],
        ),
        (
            4,
            [
                5,
                1,
                3,
            ],
        ),
        (
            5,
            [
                6,
                2,
                4,
            ],
        ),
    ]
    ");
}

#[test]
fn without_a_leader_left_out_and_without_brokers_refused() {
    let one_down = Sample::kraft(3, 3, 1).gone(1).leaderless_after(1);
    insta::assert_snapshot!(text(&one_down.published().plan(Wish::Raise)), @"
    refused: Replication factor 3 needs 3 live brokers, and 2 are live; broker 1 is not live.
      Start the missing brokers first, or add one.
    ");
    let four = Sample::kraft(4, 4, 1).gone(1).leaderless_after(1).published().plan(Wish::Raise).expect("a plan");
    insta::assert_snapshot!(four.sentences.join("\n"), @"
    3 partitions get 3 replicas: 6 replicas are copied, 6 MB in all, nothing is moved away, and whoever leads now goes on leading.
    Partitions led as now: broker 2: 1, broker 3: 1, broker 4: 1.
    Throttled to 10 MB/s for each broker, copying takes about a second.
    Partition 0 is left out: it has no leader; a reassignment cannot rescue it.
    ");
    let nobody = Sample::kraft(1, 3, 1).gone(1);
    insta::assert_snapshot!(text(&nobody.published().plan(Wish::Raise)), @"
    refused: No broker answers, so it is not known where the replicas are now.
      Start a broker, or check the way to the cluster.
    ");
    insta::assert_snapshot!(text(&Sample::kraft(3, 3, 3).absent().published().plan(Wish::Raise)), @"
    refused: __consumer_offsets is not listed, so there is nothing to move.
      It is created when the first consumer group commits; or Unstuck may not see it (DESCRIBE on the topic).
    ");
}

#[test]
fn a_dead_replica_takes_the_throttle_away() {
    let sample = Sample::kraft(4, 4, 2).gone(2).leaderless_after(2);
    let plan = sample.published().plan(Wish::Raise).expect("a plan");
    assert_eq!(plan.throttle, None);
    insta::assert_snapshot!(text(&Ok(plan)), @r#"
    Raise the replication factor to 3 by a reassignment; leaders stay
      3 partitions get 3 replicas: 3 replicas are copied, 3 MB in all, nothing is moved away, and whoever leads now goes on leading.
      Partitions led as now: broker 1: 1, broker 2: 0, broker 3: 1, broker 4: 1.
      Broker 2 is down: the tool refuses --throttle while such a broker is among those that hold replicas. Better wait until it is back; without a throttle copying takes all the network it gets.
      Partition 1 is left out: it has no leader; a reassignment cannot rescue it.
    kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --execute
      changes the lists of replicas of 3 partitions; 3 replicas are copied
      ! Copying costs all the network and disks that it gets, as nothing throttles it, and may slow clients down; no coordinator moves.
      [not met] all brokers that hold or get replicas answer (broker 2 does not)
      [not known] there is a controller
      [met] no reassignment of __consumer_offsets is under way
      [met] the disks of the brokers that get replicas have room for them (broker 1 needs 1 MB, broker 3 needs 2 MB)
      verify: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --verify` says "completed" for every partition, and takes the throttle away
      undo: while it runs: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --cancel`; afterwards: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file rollback.json --execute`, with the file saved now
      raise.json (the lists of replicas afterwards):
    {"version":1,"partitions":[
    {"topic":"__consumer_offsets","partition":0,"replicas":[1,2,3]},
    {"topic":"__consumer_offsets","partition":2,"replicas":[3,4,1]},
    {"topic":"__consumer_offsets","partition":3,"replicas":[4,1,3]}
    ]}
      rollback.json (the lists of replicas as they are now):
    {"version":1,"partitions":[
    {"topic":"__consumer_offsets","partition":0,"replicas":[1,2]},
    {"topic":"__consumer_offsets","partition":2,"replicas":[3,4]},
    {"topic":"__consumer_offsets","partition":3,"replicas":[4,1]}
    ]}
    "#);
}

#[test]
fn enough_copies_are_nothing_to_do() {
    insta::assert_snapshot!(text(&Sample::kraft(3, 3, 3).published().plan(Wish::Raise)), @"
    refused: Every partition that can be reassigned has 3 replicas already.
      Nothing has to be done.
    ");
}

#[test]
fn a_broker_is_emptied() {
    let sample = Sample::kraft(4, 4, 2);
    insta::assert_snapshot!(text(&sample.published().plan(Wish::Evacuate(1))), @r#"
    Move the replicas of __consumer_offsets off broker 1
      2 partitions leave broker 1 and keep the number of replicas: 2 replicas are copied, 2 MB in all.
      Partitions led afterwards: broker 1: 0 (now 1), broker 2: 2 (now 1), broker 3: 1, broker 4: 1.
      Throttled to 10 MB/s for each broker, copying takes about a second.
    kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file evacuate-1.json --execute --throttle 10000000
      changes the lists of replicas of 2 partitions; 2 replicas are copied
      ! Copying costs network and disks, up to the throttle; groups on 1 partition pause for a moment when their coordinator moves, at the end of the copying.
      [met] all brokers that hold or get replicas answer
      [met] there is a controller
      [met] no reassignment of __consumer_offsets is under way
      [met] the disks of the brokers that get replicas have room for them (broker 2 needs 1 MB, broker 3 needs 1 MB)
      verify: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file evacuate-1.json --verify` says "completed" for every partition, and takes the throttle away
      undo: while it runs: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file evacuate-1.json --cancel`; afterwards: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file rollback.json --execute`, with the file saved now
      evacuate-1.json (the lists of replicas afterwards):
    {"version":1,"partitions":[
    {"topic":"__consumer_offsets","partition":0,"replicas":[2,3]},
    {"topic":"__consumer_offsets","partition":3,"replicas":[4,2]}
    ]}
      rollback.json (the lists of replicas as they are now):
    {"version":1,"partitions":[
    {"topic":"__consumer_offsets","partition":0,"replicas":[1,2]},
    {"topic":"__consumer_offsets","partition":3,"replicas":[4,1]}
    ]}
    "#);
}

#[test]
fn a_broker_that_is_needed_or_unknown_is_not_emptied() {
    insta::assert_snapshot!(text(&Sample::kraft(3, 3, 3).published().plan(Wish::Evacuate(1))), @"
    refused: Partitions on broker 1 have 3 replicas, and without it 2 live brokers remain: the replication factor cannot be kept.
      Add a broker first. To restart broker 1, nothing has to be moved as long as other replicas are in sync: its page says what stops.
    ");
    insta::assert_snapshot!(text(&Sample::kraft(3, 3, 3).published().plan(Wish::Evacuate(9))), @"
    refused: There is no broker 9.
      The brokers there are: 1, 2 and 3.
    ");
}

#[test]
fn two_of_four_brokers_are_spread_over_all() {
    let sample = (0..4).fold(Sample::kraft(4, 4, 2), |sample, partition| {
        let list = if partition % 2 == 0 { [1, 2] } else { [2, 1] };
        sample.placed(partition, &list)
    });
    let plan = sample.published().plan(Wish::Spread);
    insta::assert_debug_snapshot!(lists(&plan), @"
    [
        (
            0,
            [
                4,
                1,
            ],
        ),
        (
            1,
            [
                3,
                2,
            ],
        ),
        (
            2,
            [
                1,
                4,
            ],
        ),
        (
            3,
            [
                2,
                3,
            ],
        ),
    ]
    ");
    insta::assert_snapshot!(plan.map(|plan| plan.sentences.join("\n")).unwrap_or_default(), @"
    4 partitions get another list of replicas: 4 replicas are copied, 4 MB in all.
    Partitions led afterwards: broker 1: 1 (now 2), broker 2: 1 (now 2), broker 3: 1 (now 0), broker 4: 1 (now 0).
    Throttled to 10 MB/s for each broker, copying takes about a second.
    ");
}

#[test]
fn what_is_not_known_is_a_precondition_to_look_at() {
    let sample = Sample::kraft(3, 3, 1).no_reassignments(Why::Silent).quorum_denied().never_reached(3);
    let plan = sample.published().plan(Wish::Raise).expect("a plan");
    let given: Vec<_> =
        plan.remedy.preconditions.iter().map(|given| format!("[{}] {}", given.state.words(), given.text)).collect();
    insta::assert_snapshot!(given.join("\n"), @"
    [not known] all brokers that hold or get replicas answer (broker 3 could not be reached from here)
    [not known] there is a controller
    [not known] no reassignment of __consumer_offsets is under way
    [not known] the disks of the brokers that get replicas have room for them (broker 3 needs 2 MB)
    ");
}

#[test]
fn old_tools_ask_zookeeper_and_cannot_cancel() {
    let plan = Sample::zookeeper(3, 3, 1).release("2.3").published().plan(Wish::Raise).expect("a plan");
    insta::assert_snapshot!(
        format!("{}\n{}", plan.remedy.command.unwrap_or_default(), plan.remedy.undo.unwrap_or_default()), @"
    kafka-reassign-partitions.sh --zookeeper ZOOKEEPER:2181 --reassignment-json-file raise.json --execute --throttle 10000000
    once it is complete: `kafka-reassign-partitions.sh --zookeeper ZOOKEEPER:2181 --reassignment-json-file rollback.json --execute`, with the file saved now
    ");
}
