use std::process::Command;

use super::*;

fn commands(release: Option<Release>, kraft: Option<bool>) -> Commands {
    Commands { bootstrap: "10.0.0.1:9092".to_owned(), release, kraft }
}

/// Every command whose syntax depends on release or mode.
fn all(commands: &Commands) -> String {
    let or_none = |command: Option<String>| command.unwrap_or_else(|| "-".to_owned());
    let topic = "__consumer_offsets";
    [
        commands.describe_topic(topic),
        commands.create_topic(topic, 50, 3, &["cleanup.policy=compact"]),
        or_none(commands.elect(Election::Preferred, topic, 3)),
        or_none(commands.elect(Election::Unclean, topic, 3)),
        or_none(commands.elect_each(Election::Preferred, topic, &[3, 4])),
        commands.set_topic(topic, "min.insync.replicas=1"),
        commands.unset_topic(topic, "min.insync.replicas"),
        commands.reassign("raise.json", Reassign::Execute { throttle: Some(50_000_000) }),
        commands.reassign("raise.json", Reassign::Verify),
        or_none(commands.cancel_reassignment("raise.json")),
        or_none(commands.list_reassignments()),
        commands.describe_members("orders"),
        or_none(commands.quorum_status()),
        or_none(commands.zookeeper("delete /controller")),
        or_none(commands.find_hanging(1, 900_000)),
        or_none(commands.abort_transaction("payments", 7, 1234)),
        commands.acl(&["Describe"], &[Resource::Cluster, Resource::Group("*")]),
    ]
    .join("\n")
}

#[test]
fn commands_of_1_0() {
    insta::assert_snapshot!(all(&commands(Some((1, 0)), Some(false))), @r#"
    kafka-topics.sh --zookeeper ZOOKEEPER:2181 --describe --topic __consumer_offsets
    kafka-topics.sh --zookeeper ZOOKEEPER:2181 --create --topic __consumer_offsets --partitions 50 --replication-factor 3 --config cleanup.policy=compact
    echo '{"partitions":[{"topic":"__consumer_offsets","partition":3}]}' > elect.json && kafka-preferred-replica-election.sh --zookeeper ZOOKEEPER:2181 --path-to-json-file elect.json
    -
    echo '{"partitions":[{"topic":"__consumer_offsets","partition":3},{"topic":"__consumer_offsets","partition":4}]}' > elect.json && kafka-preferred-replica-election.sh --zookeeper ZOOKEEPER:2181 --path-to-json-file elect.json
    kafka-configs.sh --zookeeper ZOOKEEPER:2181 --entity-type topics --entity-name __consumer_offsets --alter --add-config min.insync.replicas=1
    kafka-configs.sh --zookeeper ZOOKEEPER:2181 --entity-type topics --entity-name __consumer_offsets --alter --delete-config min.insync.replicas
    kafka-reassign-partitions.sh --zookeeper ZOOKEEPER:2181 --reassignment-json-file raise.json --execute --throttle 50000000
    kafka-reassign-partitions.sh --zookeeper ZOOKEEPER:2181 --reassignment-json-file raise.json --verify
    -
    zookeeper-shell.sh ZOOKEEPER:2181 get /admin/reassign_partitions
    kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --describe --group orders
    -
    zookeeper-shell.sh ZOOKEEPER:2181 delete /controller
    -
    -
    kafka-acls.sh --authorizer-properties zookeeper.connect=ZOOKEEPER:2181 --add --allow-principal User:UNSTUCK --operation Describe --cluster --group '*'
    "#);
}

#[test]
fn commands_of_2_3_in_between() {
    insta::assert_snapshot!(all(&commands(Some((2, 3)), Some(false))), @r#"
    kafka-topics.sh --bootstrap-server 10.0.0.1:9092 --describe --topic __consumer_offsets
    kafka-topics.sh --bootstrap-server 10.0.0.1:9092 --create --topic __consumer_offsets --partitions 50 --replication-factor 3 --config cleanup.policy=compact
    echo '{"partitions":[{"topic":"__consumer_offsets","partition":3}]}' > elect.json && kafka-preferred-replica-election.sh --bootstrap-server 10.0.0.1:9092 --path-to-json-file elect.json
    -
    echo '{"partitions":[{"topic":"__consumer_offsets","partition":3},{"topic":"__consumer_offsets","partition":4}]}' > elect.json && kafka-preferred-replica-election.sh --bootstrap-server 10.0.0.1:9092 --path-to-json-file elect.json
    kafka-configs.sh --zookeeper ZOOKEEPER:2181 --entity-type topics --entity-name __consumer_offsets --alter --add-config min.insync.replicas=1
    kafka-configs.sh --zookeeper ZOOKEEPER:2181 --entity-type topics --entity-name __consumer_offsets --alter --delete-config min.insync.replicas
    kafka-reassign-partitions.sh --zookeeper ZOOKEEPER:2181 --reassignment-json-file raise.json --execute --throttle 50000000
    kafka-reassign-partitions.sh --zookeeper ZOOKEEPER:2181 --reassignment-json-file raise.json --verify
    -
    zookeeper-shell.sh ZOOKEEPER:2181 get /admin/reassign_partitions
    kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --describe --group orders --members --verbose
    -
    zookeeper-shell.sh ZOOKEEPER:2181 delete /controller
    -
    -
    kafka-acls.sh --bootstrap-server 10.0.0.1:9092 --add --allow-principal User:UNSTUCK --operation Describe --cluster --group '*'
    "#);
}

#[test]
fn commands_of_3_9_with_zookeeper() {
    insta::assert_snapshot!(all(&commands(Some((3, 9)), Some(false))), @r#"
    kafka-topics.sh --bootstrap-server 10.0.0.1:9092 --describe --topic __consumer_offsets
    kafka-topics.sh --bootstrap-server 10.0.0.1:9092 --create --topic __consumer_offsets --partitions 50 --replication-factor 3 --config cleanup.policy=compact
    kafka-leader-election.sh --bootstrap-server 10.0.0.1:9092 --election-type preferred --topic __consumer_offsets --partition 3
    kafka-leader-election.sh --bootstrap-server 10.0.0.1:9092 --election-type unclean --topic __consumer_offsets --partition 3
    echo '{"partitions":[{"topic":"__consumer_offsets","partition":3},{"topic":"__consumer_offsets","partition":4}]}' > elect.json && kafka-leader-election.sh --bootstrap-server 10.0.0.1:9092 --election-type preferred --path-to-json-file elect.json
    kafka-configs.sh --bootstrap-server 10.0.0.1:9092 --entity-type topics --entity-name __consumer_offsets --alter --add-config min.insync.replicas=1
    kafka-configs.sh --bootstrap-server 10.0.0.1:9092 --entity-type topics --entity-name __consumer_offsets --alter --delete-config min.insync.replicas
    kafka-reassign-partitions.sh --bootstrap-server 10.0.0.1:9092 --reassignment-json-file raise.json --execute --throttle 50000000
    kafka-reassign-partitions.sh --bootstrap-server 10.0.0.1:9092 --reassignment-json-file raise.json --verify
    kafka-reassign-partitions.sh --bootstrap-server 10.0.0.1:9092 --reassignment-json-file raise.json --cancel
    kafka-reassign-partitions.sh --bootstrap-server 10.0.0.1:9092 --list
    kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --describe --group orders --members --verbose
    -
    zookeeper-shell.sh ZOOKEEPER:2181 delete /controller
    kafka-transactions.sh --bootstrap-server 10.0.0.1:9092 find-hanging --broker-id 1
    kafka-transactions.sh --bootstrap-server 10.0.0.1:9092 abort --topic payments --partition 7 --start-offset 1234
    kafka-acls.sh --bootstrap-server 10.0.0.1:9092 --add --allow-principal User:UNSTUCK --operation Describe --cluster --group '*'
    "#);
}

#[test]
fn commands_of_4_1() {
    insta::assert_snapshot!(all(&commands(Some((4, 1)), Some(true))), @r#"
    kafka-topics.sh --bootstrap-server 10.0.0.1:9092 --describe --topic __consumer_offsets
    kafka-topics.sh --bootstrap-server 10.0.0.1:9092 --create --topic __consumer_offsets --partitions 50 --replication-factor 3 --config cleanup.policy=compact
    kafka-leader-election.sh --bootstrap-server 10.0.0.1:9092 --election-type preferred --topic __consumer_offsets --partition 3
    kafka-leader-election.sh --bootstrap-server 10.0.0.1:9092 --election-type unclean --topic __consumer_offsets --partition 3
    echo '{"partitions":[{"topic":"__consumer_offsets","partition":3},{"topic":"__consumer_offsets","partition":4}]}' > elect.json && kafka-leader-election.sh --bootstrap-server 10.0.0.1:9092 --election-type preferred --path-to-json-file elect.json
    kafka-configs.sh --bootstrap-server 10.0.0.1:9092 --entity-type topics --entity-name __consumer_offsets --alter --add-config min.insync.replicas=1
    kafka-configs.sh --bootstrap-server 10.0.0.1:9092 --entity-type topics --entity-name __consumer_offsets --alter --delete-config min.insync.replicas
    kafka-reassign-partitions.sh --bootstrap-server 10.0.0.1:9092 --reassignment-json-file raise.json --execute --throttle 50000000
    kafka-reassign-partitions.sh --bootstrap-server 10.0.0.1:9092 --reassignment-json-file raise.json --verify
    kafka-reassign-partitions.sh --bootstrap-server 10.0.0.1:9092 --reassignment-json-file raise.json --cancel
    kafka-reassign-partitions.sh --bootstrap-server 10.0.0.1:9092 --list
    kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --describe --group orders --members --verbose
    kafka-metadata-quorum.sh --bootstrap-server 10.0.0.1:9092 describe --status
    -
    kafka-transactions.sh --bootstrap-server 10.0.0.1:9092 find-hanging --broker-id 1
    kafka-transactions.sh --bootstrap-server 10.0.0.1:9092 abort --topic payments --partition 7 --start-offset 1234
    kafka-acls.sh --bootstrap-server 10.0.0.1:9092 --add --allow-principal User:UNSTUCK --operation Describe --cluster --group '*'
    "#);
}

#[test]
fn each_tool_talks_to_brokers_from_its_own_release_on() {
    let shape = |release, kraft| {
        let commands = commands(Some(release), Some(kraft));
        let via = |command: String| {
            if command == "-" {
                "-"
            } else if command.contains(ZOOKEEPER) {
                "zookeeper"
            } else {
                "brokers"
            }
        };
        [
            via(commands.acl(&["Describe"], &[Resource::Cluster])),
            via(commands.describe_topic("t")),
            via(commands.elect(Election::Preferred, "t", 0).unwrap_or("-".to_owned())),
            via(commands.elect(Election::Unclean, "t", 0).unwrap_or("-".to_owned())),
            via(commands.set_topic("t", "a=b")),
            via(commands.reassign("f", Reassign::Verify)),
            via(commands.find_hanging(1, 900_000).unwrap_or("-".to_owned())),
            via(commands.quorum_status().unwrap_or("-".to_owned())),
            via(commands.zookeeper("ls /").unwrap_or("-".to_owned())),
        ]
        .join(" ")
    };
    let table = [
        ((1, 0), false),
        ((2, 0), false),
        ((2, 1), false),
        ((2, 3), false),
        ((2, 4), false),
        ((2, 8), false),
        ((3, 9), false),
        ((3, 9), true),
        ((4, 1), true),
    ];
    let rows: Vec<_> = table
        .into_iter()
        .map(|(release, kraft)| {
            format!("{}.{} {} {}", release.0, release.1, if kraft { "kraft" } else { "zk" }, shape(release, kraft))
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @"
    1.0 zk zookeeper zookeeper zookeeper - zookeeper zookeeper - - zookeeper
    2.0 zk zookeeper zookeeper zookeeper - zookeeper zookeeper - - zookeeper
    2.1 zk brokers zookeeper zookeeper - zookeeper zookeeper - - zookeeper
    2.3 zk brokers brokers brokers - zookeeper zookeeper - - zookeeper
    2.4 zk brokers brokers brokers brokers zookeeper zookeeper - - zookeeper
    2.8 zk brokers brokers brokers brokers brokers brokers - - zookeeper
    3.9 zk brokers brokers brokers brokers brokers brokers brokers - zookeeper
    3.9 kraft brokers brokers brokers brokers brokers brokers brokers brokers -
    4.1 kraft brokers brokers brokers brokers brokers brokers brokers brokers -
    ");
}

#[test]
fn commands_that_are_the_same_in_every_release() {
    let commands = commands(Some((4, 1)), Some(true));
    let or_none = |command: Option<String>| command.unwrap_or_else(|| "-".to_owned());
    let text = [
        commands.save_topic("t"),
        commands.describe_unavailable(),
        commands.describe_settings("t"),
        commands.list_groups(),
        commands.describe_group("two words"),
        commands.describe_state("g"),
        commands.save_offsets(["g"]),
        commands.save_all_offsets(),
        commands.export_all_offsets(),
        commands.import_all_offsets(),
        commands.export_offsets("g", "offsets.csv"),
        commands.reset_offsets("g", Some("t"), Reset::ToDatetime("2026-11-29T12:00:00.000")),
        or_none(commands.describe_producers("t", 3)),
        commands.log_dirs(&[1, 2], "t"),
        Commands::broker_answers("10.0.0.3:9092"),
        commands.acl(&["Describe", "DescribeConfigs"], &[Resource::GroupPrefix("unstuck-canary")]),
        commands.remove_acl(&["Describe"], &[Resource::Topic("t"), Resource::TransactionalId("*")]),
    ];
    insta::assert_snapshot!(text.join("\n"), @r#"
    kafka-topics.sh --bootstrap-server 10.0.0.1:9092 --describe --topic t > topic-before.txt
    kafka-topics.sh --bootstrap-server 10.0.0.1:9092 --describe --unavailable-partitions
    kafka-configs.sh --bootstrap-server 10.0.0.1:9092 --entity-type topics --entity-name t --describe
    kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --list
    kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --describe --group 'two words'
    kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --describe --group g --state
    kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --describe --group g > offsets-before.txt
    kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --list | while IFS= read -r group; do kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --describe --group "$group" </dev/null; done > offsets-before.txt
    kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --list | while IFS= read -r group; do kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --group "$group" --all-topics --reset-offsets --to-current --dry-run --export > "offsets-$group.csv" </dev/null; done
    for file in offsets-*.csv; do group=${file#offsets-}; kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --group "${group%.csv}" --reset-offsets --from-file "$file" --execute; done
    kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --group g --all-topics --reset-offsets --to-current --dry-run --export > offsets.csv
    kafka-consumer-groups.sh --bootstrap-server 10.0.0.1:9092 --group g --topic t --reset-offsets --to-datetime 2026-11-29T12:00:00.000 --execute
    kafka-transactions.sh --bootstrap-server 10.0.0.1:9092 describe-producers --topic t --partition 3
    kafka-log-dirs.sh --bootstrap-server 10.0.0.1:9092 --describe --broker-list 1,2 --topic-list t
    kafka-broker-api-versions.sh --bootstrap-server 10.0.0.3:9092
    kafka-acls.sh --bootstrap-server 10.0.0.1:9092 --add --allow-principal User:UNSTUCK --operation Describe --operation DescribeConfigs --group unstuck-canary --resource-pattern-type prefixed
    kafka-acls.sh --bootstrap-server 10.0.0.1:9092 --remove --force --allow-principal User:UNSTUCK --operation Describe --topic t --transactional-id '*'
    "#);
}

#[test]
fn an_unknown_release_gets_the_newest_syntax_and_says_so() {
    let commands = commands(None, None);
    let mut remedy =
        Remedy::new("Elect", "It helps.").looks(commands.elect(Election::Preferred, "t", 0).unwrap_or_default());
    commands.annotate(&mut remedy);
    commands.annotate(&mut remedy);
    let said: Vec<_> = remedy.preconditions.iter().map(|given| given.text.as_str()).collect();
    assert_eq!(said, ["the brokers run Kafka 2.4 or newer (none of them told its release)"]);
    assert_eq!(commands.quorum_status(), None, "whether there is a quorum is not known");
    assert_eq!(commands.zookeeper("ls /"), None, "nor whether there is a ZooKeeper");
}

#[test]
fn an_address_that_brokers_do_not_tell_is_said() {
    let commands = commands(Some((1, 0)), Some(false));
    let mut remedy = Remedy::new("Look", "It helps.").looks(commands.describe_topic("t"));
    commands.annotate(&mut remedy);
    assert!(remedy.preconditions[0].text.starts_with("ZOOKEEPER:2181 is replaced"), "{remedy:?}");
}

#[test]
fn a_shell_reads_back_every_value_that_was_quoted() {
    let values = [
        "",
        "orders",
        "two words",
        "it's",
        "'",
        "''",
        "\"double\"",
        "$HOME `id` $(id)",
        "back\\slash",
        "new\nline",
        "\u{1F600}-group",
        "*",
        "a;b|c&d>e",
        "~",
        "#no",
        "!x",
        "\u{200b}zero",
    ];
    for value in values {
        assert_eq!(shell(&format!("printf %s {}", quoted(value))), value, "{}", quoted(value));
    }
    assert_eq!(quoted("orders-1.eu_west"), "orders-1.eu_west", "harmless values stay readable");
    let command = commands(None, None).save_offsets(["a b", "it's"]);
    let echo = command.replace("kafka-consumer-groups.sh", "echo").replace(" > offsets-before.txt", "");
    insta::assert_snapshot!(shell(&echo), @"
    --bootstrap-server 10.0.0.1:9092 --describe --group a b
    --bootstrap-server 10.0.0.1:9092 --describe --group it's
    ");
}

fn shell(command: &str) -> String {
    let out = Command::new("sh").arg("-c").arg(command).output().expect("there is a shell");
    String::from_utf8(out.stdout).expect("it prints what it was given")
}

#[test]
fn the_tool_is_told_how_old_a_transaction_may_become() {
    let commands = commands(Some((4, 1)), Some(true));
    let told = [1_000, 60_000, 60_001, 900_000, 3_600_000].map(|ms| commands.find_hanging(1, ms).unwrap_or_default());
    insta::assert_snapshot!(told.join("\n"), @"
    kafka-transactions.sh --bootstrap-server 10.0.0.1:9092 find-hanging --broker-id 1 --max-transaction-timeout 1
    kafka-transactions.sh --bootstrap-server 10.0.0.1:9092 find-hanging --broker-id 1 --max-transaction-timeout 1
    kafka-transactions.sh --bootstrap-server 10.0.0.1:9092 find-hanging --broker-id 1 --max-transaction-timeout 2
    kafka-transactions.sh --bootstrap-server 10.0.0.1:9092 find-hanging --broker-id 1
    kafka-transactions.sh --bootstrap-server 10.0.0.1:9092 find-hanging --broker-id 1 --max-transaction-timeout 60
    ");
}
