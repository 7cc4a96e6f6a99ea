//! Each rule: what it refuses, in which words, and what it accepts.

mod by_hand;
mod damage;
mod limits;
mod rebalances;
mod truth;

use crate::scenario::read;

/// A scenario with one of everything, in which nothing is wrong.
const KRAFT: &str = r#"
title = "A title"
story = "A story"
[cluster]
mode = "kraft"
release = "4.1.1"
brokers = [1, 2, 3]
controllers = [100, 101, 102]
controller = 101
session-timeout = "9s"
elr = true
[broker.1]
advertised = "kafka-1:9092"
log-dirs = ["/data/a", "/data/b"]
[topic.__consumer_offsets]
partitions = 6
replication-factor = 3
[[topic.__consumer_offsets.partition]]
id = "0-1"
isr = [1, 2]
leader = 2
elr = [3]
offline-on = [3]
[topic.orders]
partitions = 2
replicas = [1, 2]
[[group]]
id = "orders-{n}"
count = 20
state = "Stable"
members = 2
offsets.orders = [5, -1]
[[group]]
id = "billing"
type = "consumer"
[[fault]]
name = "slow"
brokers = [1]
apis = ["DescribeGroups"]
do = "delay"
delay = "2s"
[[view]]
broker = 3
controller = -1
brokers = [3]
missing-topics = ["orders"]
[acl]
hidden-topics = ["orders"]
[[expect]]
after = "4s"
worst = "at_risk"
partition = { "0-1" = "at_risk", all = "working" }
findings = ["broker-down"]
no-findings = ["*"]
[[step]]
name = "first"
say = "Something happens."
after = "5s"
do = [{ stop = 100 }, { pause = 2 }, { set = { leader = 3 } }, { end-fault = "slow" }]
[[step]]
name = "second"
say = "Something else."
on = { leaders-back = "orders" }
do = [{ add-partitions = { topic = "orders", to = 4 } }, { elect = { topic = "orders", partitions = 3 } }]
"#;

const ZOOKEEPER: &str = r#"
title = "A title"
story = "A story"
[cluster]
mode = "zookeeper"
release = "1.0.2"
brokers = [1, 2, 3]
[topic.__consumer_offsets]
partitions = 3
[[group]]
id = "old"
state = "AwaitingSync"
members = 1
[[step]]
name = "first"
say = "Something happens."
do = [{ write-zookeeper = { leader = 2 } }, { no-controller = true }]
"#;

/// What is wrong with a scenario in which some text is replaced; without file name and lines.
fn wrong(base: &str, from: &str, to: &str) -> Vec<String> {
    assert_eq!(base.matches(from).count(), 1, "{from} must be there once");
    match read(&base.replace(from, to), "x") {
        Ok(_) => Vec::new(),
        Err(errors) => errors.problems.iter().map(|problem| format!("{}: {}", problem.path, problem.wrong)).collect(),
    }
}

#[track_caller]
fn refused(from: &str, to: &str, what: &str) {
    assert_eq!(wrong(KRAFT, from, to), [what]);
}

#[track_caller]
fn accepted(from: &str, to: &str) {
    assert_eq!(wrong(KRAFT, from, to), [""; 0]);
}

/// Refused as it is, and accepted of a scenario that means it.
#[track_caller]
fn contradicts(from: &str, to: &str, what: &str) {
    let meant = "(if that is what the scenario is about: `means-contradictions = true`)";
    refused(from, to, &format!("{what} {meant}"));
    let base = format!("means-contradictions = true\n{KRAFT}");
    assert_eq!(wrong(&base, from, to), [""; 0]);
}

#[test]
fn what_fits_together_is_accepted() {
    accepted("A title", "Another");
    assert_eq!(wrong(ZOOKEEPER, "A title", "Another"), [""; 0]);
}

#[test]
fn nodes() {
    refused("title = \"A title\"", "title = \" \"", "title: it is empty");
    let empty = "title = \"t\"\nstory = \"s\"\ncluster = { mode = \"kraft\", release = \"4.1.1\", brokers = [] }\n";
    assert_eq!(wrong(empty, "\"t\"", "\"u\""), ["cluster.brokers: a cluster has at least one broker"]);
    assert_eq!(wrong(empty, "[]", "[1, 2, 1]"), ["cluster.brokers: 1 is named twice"]);
    assert_eq!(wrong(empty, "[]", "[1, -4]"), ["cluster.brokers: -4 is no node id: they are 0 or more"]);
    refused("[100, 101, 102]", "[100, 101, 102, 1]", "cluster.controllers: 1 is named twice");
    refused(
        "controller = 101",
        "controller = 1",
        "cluster.controller: 1 cannot be the controller; allowed: 100, 101, 102",
    );
    refused("\"9s\"", "\"0s\"", "cluster.session-timeout: it must be longer than 0");
    refused("[broker.1]", "[broker.4]", "broker.4: 4 is not one of the brokers (1, 2, 3)");
    refused("[broker.1]", "[broker.one]", "broker.one: `one` is no broker id; brokers: 1, 2, 3");
    refused("[broker.1]", "[broker.01]", "broker.01: `01` is no broker id; brokers: 1, 2, 3");
    for address in ["kafka-1", "kafka-1:0", ":9092", "kafka 1:9092", "http://a:1", "::1:9092", "a:99999"] {
        let what = format!("broker.1.advertised: `{address}` is not `host:port`, such as `kafka-1.internal:9092`");
        refused("kafka-1:9092", address, &what);
    }
    accepted("kafka-1:9092", "[::1]:9092");
    refused("\"/data/b\"", "\"/data/a\"", "broker.1.log-dirs: /data/a is named twice");
    refused("log-dirs", "partition-count = 0\nlog-dirs", "broker.1.partition-count: it must be 1 to 100000");
}

#[test]
fn releases_and_modes() {
    let too_old =
        "cluster.release: this release has no KRaft that could be imitated; allowed with KRaft: 3.6.2, 3.9.1, 4.1.1";
    assert!(wrong(KRAFT, "4.1.1", "2.8.2").contains(&too_old.to_owned()));
    assert_eq!(
        wrong(ZOOKEEPER, "1.0.2\"", "4.1.1\""),
        [
            "cluster.release: Kafka 4 has no ZooKeeper mode; allowed with ZooKeeper: 1.0.2, 2.3.1, 2.8.2, 3.6.2, 3.9.1",
            "group[0].state: a group of this type has no state `AwaitingSync` (states: Empty, PreparingRebalance, \
             CompletingRebalance, Stable, Dead)",
        ]
    );
    refused("log-dirs", "release = \"2.3.1\"\nlog-dirs", &too_old.replace("cluster", "broker.1"));
    let no_elr = "there are eligible leader replicas only with KRaft and release 4.1.1";
    assert_eq!(
        wrong(KRAFT, "4.1.1", "3.9.1"),
        [format!("cluster.elr: {no_elr}"), format!("topic.__consumer_offsets.partition[0].elr: {no_elr}")]
    );
    assert_eq!(
        wrong(ZOOKEEPER, "brokers = [1, 2, 3]", "brokers = [1, 2, 3]\ncontrollers = [9]\ncontroller = 9"),
        ["cluster.controllers: with ZooKeeper the controller is one of the brokers; leave this out"]
    );
    refused(
        "{ stop = 100 }",
        "{ write-zookeeper = { leader = 1 } }",
        "step[0].do[0].write-zookeeper: with KRaft there is no ZooKeeper; `set` changes what is true",
    );
    refused(
        "{ stop = 100 }",
        "{ no-controller = true }",
        "step[0].do[0].no-controller: only with ZooKeeper; with KRaft stop the majority of the controllers instead",
    );
}

#[test]
fn replicas() {
    let partition = "topic.__consumer_offsets.partition[0]";
    contradicts("leader = 2", "leader = 7", &format!("{partition}.leader: 7 is not one of the brokers (1, 2, 3)"));
    contradicts("leader = 2", "leader = 3", &format!("{partition}.leader: 3 leads, but is not in the ISR (1, 2)"));
    accepted("leader = 2", "leader = -1");
    contradicts(
        "isr = [1, 2]\nleader = 2\nelr = [3]\noffline-on = [3]",
        "replicas = [1, 2]\nisr = [1, 3]",
        &format!("{partition}.isr: 3 is not one of the replicas (1, 2)"),
    );
    contradicts(
        "isr = [1, 2]\nleader = 2\nelr = [3]\noffline-on = [3]",
        "replicas = [1, 2]\nleader = 3",
        &format!("{partition}.leader: 3 is not one of the replicas (1, 2)"),
    );
    let elr = format!("{partition}.elr: 2 is in the ISR already (1, 2); a replica is in one of the two");
    contradicts("elr = [3]", "elr = [2, 3]", &elr);
    refused("isr = [1, 2]", "isr = [1, 2, 2]", &format!("{partition}.isr: 2 is named twice"));
    contradicts(
        "isr = [1, 2]",
        "replicas = [1, 2, 3, 9]\nisr = [1, 2]",
        &format!("{partition}.replicas: 9 is not one of the brokers (1, 2, 3)"),
    );
    contradicts(
        "elr = [3]\noffline-on = [3]",
        "replicas = [1, 2]\noffline-on = [3]",
        &format!("{partition}.offline-on: 3 is not one of the replicas (1, 2)"),
    );
    refused("replicas = [1, 2]", "replicas = [1, 1]", "topic.orders.replicas: 1 is named twice");
    contradicts(
        "replicas = [1, 2]",
        "replicas = [1, 4]",
        "topic.orders.replicas: 4 is not one of the brokers (1, 2, 3)",
    );
    refused(
        "replicas = [1, 2]",
        "replicas = [1, 2]\nreplication-factor = 2",
        "topic.orders.replication-factor: `replicas` says already where the replicas are; leave one of the two out",
    );
    refused(
        "replicas = [1, 2]",
        "replication-factor = 4",
        "topic.orders.replication-factor: 4 replicas need as many brokers; allowed: 1 to 3",
    );
    refused(
        "id = \"0-1\"",
        "id = \"0-6\"",
        &format!("{partition}.id: there is no partition 6: the topic has partitions 0-5"),
    );
    refused("id = \"0-1\"", "id = \"0-1\"\nepoch = -1", &format!("{partition}.epoch: it must be 0 to 1000000000"));
    for count in [0, 200_000] {
        let found = wrong(KRAFT, "[topic.orders]\npartitions = 2", &format!("[topic.orders]\npartitions = {count}"));
        assert_eq!(found[0], format!("topic.orders.partitions: {count} is not a number of partitions (1 to 100000)"));
    }
    refused(
        "[topic.orders]",
        "[topic.\"a b\"]\npartitions = 1\n[topic.orders]",
        "topic.\"a b\": Kafka allows no such topic name; allowed: 1 to 249 of letters, digits, `.`, `_` and `-`",
    );
}

#[test]
fn who_is_away_is_not_in_sync_unless_it_is_said() {
    let elr = "isr = [1, 2]\nleader = 2\nelr = [3]";
    contradicts(
        elr,
        "elr = [3]",
        "topic.__consumer_offsets.partition[0].elr: 3 is in the ISR already (1, 2, 3); a replica is in one of the two",
    );
    let away = KRAFT.replace("[broker.1]", "[broker.3]\nstate = \"stopped\"\n[broker.1]");
    assert!(wrong(&away, elr, "elr = [3]").iter().all(|what| !what.contains("elr")));
}

#[test]
fn what_only_the_offsets_topic_has() {
    refused(
        "replicas = [1, 2]\n",
        "replicas = [1, 2]\npartition = [{ id = 0, coordinator = \"loading\" }]\n",
        "topic.orders.partition[0].coordinator: only partitions of __consumer_offsets have a coordinator",
    );
    assert_eq!(
        wrong(ZOOKEEPER, "[topic.__consumer_offsets]", "[topic.orders]"),
        ["group: there can be no groups yet: the scenario has no `[topic.__consumer_offsets]`"]
    );
}

#[test]
fn replicas_that_are_spread_differ_by_partition() {
    // Partition 0 is on brokers 1 and 2, partition 1 on 2 and 3: what suits one does not suit the other.
    let two =
        KRAFT.replace("replication-factor = 3", "replication-factor = 2").replace("elr = [3]\noffline-on = [3]", "");
    let found = wrong(&two, "isr = [1, 2]", "isr = [1]").join("\n");
    assert!(found.contains("partition[0].leader: 2 leads, but is not in the ISR (1)"), "{found}");
    let found = wrong(&two, "isr = [1, 2]", "isr = [2, 1]").join("\n");
    assert!(found.contains("partition[0].isr: 1 is not one of the replicas (2, 3)"), "{found}");
    assert_eq!(wrong(&two, "isr = [1, 2]", "isr = [2]"), [""; 0]);
}

#[test]
fn groups() {
    let number = "group[0].id: with `count` the id must have `{n}` in it once, where the number goes";
    refused("orders-{n}", "orders", number);
    refused("orders-{n}", "{n}-{n}", number);
    refused("count = 20\n", "", "group[0].id: `{n}` stands for a number, but there is no `count`");
    refused("count = 20", "count = 0", "group[0].count: 0 is not a number of groups (1 to 1000000)");
    refused("id = \"billing\"", "id = \"orders-7\"", "group[1].id: there is a group `orders-7` already");
    accepted("id = \"billing\"", "id = \"orders-07\"");
    accepted("id = \"billing\"", "id = \"orders-21\"");
    refused("id = \"billing\"", "id = \"orders-1{n}\"\ncount = 3", "group[1].id: there is a group `orders-11` already");
    refused(
        "offsets.orders = [5, -1]",
        "offsets.order = 5",
        "group[0].offsets.order: the scenario has no topic `order`; did you mean `orders`? (topics: \
         __consumer_offsets, orders)",
    );
    refused("[5, -1]", "[1, 2, 3, 4, 5]", "group[0].offsets.orders: 5 offsets, but orders has partitions 0-3");
    accepted("[5, -1]", "[1, 2, 3, 4]");
    refused("[5, -1]", "-2", "group[0].offsets.orders: -2 is no offset: they are 0 or more, or -1 for none");
    assert_eq!(
        wrong(ZOOKEEPER, "id = \"old\"", "id = \"old\"\ntype = \"consumer\"")[0],
        "group[0].type: groups of type consumer exist with KRaft from 3.9.1 (as a preview) and 4.1.1 on"
    );
    assert_eq!(
        wrong(ZOOKEEPER, "state = \"AwaitingSync\"\nmembers = 1", "type = \"share\""),
        ["group[0].type: share and streams groups exist from 4.1.1 on"]
    );
    accepted("type = \"consumer\"", "type = \"share\"");
    refused(
        "type = \"consumer\"",
        "type = \"simple\"\nmembers = 1",
        "group[1].members: a simple group has no members, only committed offsets",
    );
    refused(
        "\"Stable\"",
        "\"stabel\"",
        "group[0].state: a group of this type has no state `stabel`; did you mean `Stable`? (states: Empty, \
         PreparingRebalance, CompletingRebalance, Stable, Dead)",
    );
    refused("members = 2", "members = 20000", "group[0].members: 20000 is not a number of members (0 to 10000)");
    contradicts("\"Stable\"", "\"Empty\"", "group[0].state: a group with members is not Empty");
    contradicts("members = 2\n", "", "group[0].state: a group without members is not Stable");
}

#[test]
fn faults_and_views() {
    refused("brokers = [1]", "brokers = [100]", "fault[0].brokers[0]: 100 is not one of the brokers (1, 2, 3)");
    refused(
        "\"DescribeGroups\"",
        "\"DescribeGroup\"",
        "fault[0].apis[0]: Kafka has no request `DescribeGroup`; did you mean `DescribeGroups`?",
    );
    refused("delay = \"2s\"\n", "", "fault[0].delay: `do = \"delay\"` must say for how long");
    refused(
        "do = \"delay\"",
        "do = \"hang\"",
        "fault[0].delay: it goes with `do = \"delay\"` and `do = \"error\"` only",
    );
    refused("do = \"delay\"", "do = \"error\"", "fault[0].code: `do = \"error\"` must say which code");
    refused("do = \"delay\"", "do = \"error\"\ncode = 0", "fault[0].code: 0 means that there is no error");
    accepted("do = \"delay\"", "do = \"error\"\ncode = 14\npartitions = \"0-5\"");
    refused("do = \"delay\"", "do = \"delay\"\ncode = 14", "fault[0].code: it goes with `do = \"error\"` only");
    refused(
        "do = \"delay\"",
        "do = \"delay\"\npartitions = 3",
        "fault[0].partitions: it goes with `do = \"error\"` only",
    );
    let refuse = "do = \"refuse\"";
    refused(
        "do = \"delay\"\ndelay = \"2s\"",
        refuse,
        "fault[0].apis: connections are refused or closed before any request is read; leave this out, or `do = \"reset\"`",
    );
    accepted("apis = [\"DescribeGroups\"]\ndo = \"delay\"\ndelay = \"2s\"", refuse);
    refused("broker = 3", "broker = 4", "view[0].broker: 4 is not one of the brokers (1, 2, 3)");
    refused(
        "controller = -1",
        "controller = 8",
        "view[0].controller: 8 is not one of the nodes (1, 2, 3, 100, 101, 102)",
    );
    contradicts("brokers = [3]", "brokers = [3, 4]", "view[0].brokers: 4 is not one of the brokers (1, 2, 3)");
    let partition = "brokers = [3]\npartition = [{ partitions = \"0-9\" }]";
    refused(
        "brokers = [3]",
        partition,
        "view[0].partition[0].partitions: there is no partition 9: __consumer_offsets has partitions 0-5",
    );
    let unknown = "the scenario has no topic `order`; did you mean `orders`? (topics: __consumer_offsets, orders)";
    refused(
        "missing-topics = [\"orders\"]",
        "missing-topics = [\"order\"]",
        &format!("view[0].missing-topics[0]: {unknown}"),
    );
    refused("hidden-topics = [\"orders\"]", "hidden-topics = [\"order\"]", &format!("acl.hidden-topics[0]: {unknown}"));
    refused(
        "[acl]",
        "[acl]\nvisible-groups = [\"a\"]",
        "acl.visible-groups: all groups are visible without `groups-hidden = true`, also a",
    );
    accepted("[acl]", "[acl]\ngroups-hidden = true\nvisible-groups = [\"a\"]");
}

#[test]
fn steps_and_what_they_do() {
    refused("\"second\"", "\"first\"", "step[1].name: there is a step `first` already");
    refused(
        "on = { leaders",
        "after = \"1s\"\non = { leaders",
        "step[1].on: a step waits for a time (`after`) or for an event (`on`), not for both",
    );
    refused(
        "after = \"4s\"\n",
        "",
        "expect[0].after: it is looked at 5s after this, but step `first` comes 5s after it already",
    );
    refused(
        "{ leaders-back = \"orders\" }",
        "{ broker-started = 9 }",
        "step[1].on.broker-started: 9 is not one of the nodes (1, 2, 3, 100, 101, 102)",
    );
    let stop = |action: &str, what: &str| refused("{ stop = 100 }", action, &format!("step[0].do[0].{what}"));
    stop("{ stop = 9 }", "stop: 9 is not one of the nodes (1, 2, 3, 100, 101, 102)");
    stop("{ pause = 100 }", "pause: 100 is not one of the brokers (1, 2, 3)");
    stop("{ move-controller = 1 }", "move-controller: 1 cannot be the controller; allowed: 100, 101, 102");
    stop("{ reassign = {} }", "reassign.replicas: a partition has at least one replica");
    stop("{ configure = {} }", "configure: it changes nothing: say `set` or `delete`");
    stop(
        "{ configure = { topic = \"orders\", broker = 1, delete = [\"a\"] } }",
        "configure.broker: a setting is a topic's or a broker's: leave one of the two out",
    );
    stop("{ coordinators = { state = \"failed\", for = \"1s\" } }", "coordinators.for: only `loading` ends by itself");
    stop(
        "{ end-fault = \"slwo\" }",
        "end-fault: until here there is no fault with the name `slwo`; did you mean `slow`? (named: slow)",
    );
    stop(
        "{ elect = { partitions = 6 } }",
        "elect.partitions: there is no partition 6: __consumer_offsets has partitions 0-5",
    );
    stop("{ fail-log-dir = { broker = 7 } }", "fail-log-dir.broker: 7 is not one of the brokers (1, 2, 3)");
    stop("{ repair-log-dir = { broker = 7 } }", "repair-log-dir.broker: 7 is not one of the brokers (1, 2, 3)");
    stop(
        "{ advertise = { broker = 1, address = \"a\" } }",
        "advertise.address: `a` is not `host:port`, such as `kafka-1.internal:9092`",
    );
    stop(
        "{ create-topic = { topic = \"t\", partitions = 0 } }",
        "create-topic.partitions: 0 is not a number of partitions (1 to 100000)",
    );
    stop(
        "{ add-partitions = { topic = \"orders\", to = 2 } }",
        "add-partitions.to: orders has 2 partitions; allowed: more, up to 100000",
    );
    contradicts(
        "{ stop = 100 }",
        "{ set = { replicas = [1, 2], leader = 3 } }",
        "step[0].do[0].set.leader: 3 is not one of the replicas (1, 2)",
    );
    // A broker that never is a replica, and one that a step makes one.
    let add = "{ add-partitions = { topic = \"orders\", to = 4 } }, { elect = { topic = \"orders\", partitions = 3 } }";
    let fixed = KRAFT.replace(add, "");
    let found = wrong(&fixed, "{ stop = 100 }", "{ set = { topic = \"orders\", isr = [3] } }").join("\n");
    assert!(found.starts_with("step[0].do[0].set.isr: 3 is not one of the replicas (1, 2)"), "{found}");
    let reassigned =
        "{ reassign = { topic = \"orders\", replicas = [2, 3] } }, { set = { topic = \"orders\", isr = [3] } }";
    assert_eq!(wrong(&fixed, "{ stop = 100 }", reassigned), [""; 0]);
}

#[test]
fn expectations() {
    let verdicts = "(verdicts: stuck, unknown, recovering, at_risk, look_at_group, working)";
    refused(
        "worst = \"at_risk\"",
        "worst = \"at-risk\"",
        &format!("expect[0].worst: `at-risk` is no verdict; did you mean `at_risk`? {verdicts}"),
    );
    refused("\"working\" }", "\"fine\" }", &format!("expect[0].partition.all: `fine` is no verdict {verdicts}"));
    refused(
        "\"0-1\" = \"at_risk\"",
        "\"0-x\" = \"at_risk\"",
        "expect[0].partition.0-x: `0-x` names no partitions: write `all`, `3`, or ranges such as `0-9, 12`",
    );
    refused(
        "\"0-1\" = \"at_risk\"",
        "9 = \"at_risk\"",
        "expect[0].partition.9: there is no partition 9: __consumer_offsets has partitions 0-5",
    );
    let unknown = wrong(KRAFT, "[\"broker-down\"]", "[\"broker-dwon\"]").join("\n");
    assert!(
        unknown.starts_with("expect[0].findings[0]: there is no finding `broker-dwon`; did you mean `broker-down`?")
    );
    refused(
        "[\"*\"]",
        "[\"broker-down\"]",
        "expect[0].no-findings[0]: `broker-down` cannot be open and not open: it is in `findings` too",
    );
    refused(
        "[\"*\"]",
        "[\"*\"]\nsays = [\"a\"]\nnever-says = [\"a\"]",
        "expect[0].never-says[0]: `a` is in `says` too",
    );
    let never = "never = [\"stuk\"]";
    refused(
        "no-findings = [\"*\"]",
        never,
        &format!("expect[0].never[0]: `stuk` is no verdict; did you mean `stuck`? {verdicts}"),
    );
}
