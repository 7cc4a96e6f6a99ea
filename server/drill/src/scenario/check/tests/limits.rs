//! What is too long, too much, or said elsewhere.

use super::{KRAFT, ZOOKEEPER, accepted, refused, wrong};

#[test]
fn epochs_and_times() {
    let at = "leader = 2\nelr = [3]";
    let epoch = "topic.__consumer_offsets.partition[0].epoch: it must be 0 to 1000000000";
    refused(at, &format!("epoch = 1000000001\n{at}"), epoch);
    refused(at, &format!("epoch = -1\n{at}"), epoch);
    accepted(at, &format!("epoch = 1000000000\n{at}"));
    let epoch = "step[0].do[0].set.epoch: it must be 0 to 1000000000";
    refused("{ stop = 100 }", "{ set = { epoch = 2147483647 } }", epoch);
    let long = "it must not be longer than 7d";
    refused("after = \"5s\"", "after = \"169h\"", &format!("step[0].after: {long}"));
    accepted("after = \"5s\"", "after = \"7d\"");
    refused("delay = \"2s\"", "delay = \"7d 1ms\"", &format!("fault[0].delay: {long}"));
    refused("session-timeout = \"9s\"", "session-timeout = \"8d\"", &format!("cluster.session-timeout: {long}"));
    let coordinators = "{ coordinators = { state = \"loading\", for = \"8d\" } }";
    refused("{ stop = 100 }", coordinators, &format!("step[0].do[0].coordinators.for: {long}"));
    let expect =
        "[[step]]\nname = \"third\"\nsay = \"c\"\n[[step.expect]]\nafter = \"8d\"\n[[step]]\nname = \"second\"";
    refused("[[step]]\nname = \"second\"", expect, &format!("step[1].expect[0].after: {long}"));
}

#[test]
fn session_timeouts_are_said_in_one_place() {
    let what = "say `session-timeout` in `[cluster]`: this setting follows from it";
    let setting = "configs.\"broker.session.timeout.ms\" = 100";
    refused(
        "elr = true",
        &format!("elr = true\n{setting}"),
        &format!("cluster.configs.\"broker.session.timeout.ms\": {what}"),
    );
    let of_broker = format!("[broker.1]\n{setting}");
    refused("[broker.1]", &of_broker, &format!("broker.1.configs.\"broker.session.timeout.ms\": {what}"));
    let configure = "{ configure = { set = { \"zookeeper.session.timeout.ms\" = 1 } } }";
    assert_eq!(
        wrong(ZOOKEEPER, "{ no-controller = true }", configure),
        [format!("step[0].do[1].configure.set.\"zookeeper.session.timeout.ms\": {what}")]
    );
}

#[test]
fn ids_of_groups() {
    let named = |id: &str| KRAFT.replace("id = \"billing\"", &format!("id = \"{id}\""));
    assert_eq!(wrong(&named(&"x".repeat(32_767)), "title = ", "title = "), [""; 0]);
    assert_eq!(
        wrong(&named(&"x".repeat(32_768)), "title = ", "title = "),
        ["group[1].id: 32768 bytes; an id has at most 32767"]
    );
    let many = KRAFT.replace("id = \"orders-{n}\"", &format!("id = \"{}{{n}}\"", "x".repeat(32_766)));
    assert_eq!(wrong(&many, "title = ", "title = "), ["group[0].id: 32768 bytes; an id has at most 32767"]);
    refused(
        "id = \"billing\"",
        "id = \"\"",
        "group[1].id: it is empty: Kafka allows that for `type = \"simple\"` only",
    );
    accepted("id = \"billing\"\ntype = \"consumer\"", "id = \"\"\ntype = \"simple\"");
}

#[test]
fn counts_of_partitions() {
    refused("[broker.1]", "[broker.1]\npartition-count = 100001", "broker.1.partition-count: it must be 1 to 100000");
    refused("broker = 3", "broker = 3\npartition-count = 100001", "view[0].partition-count: it must be 0 to 100000");
    refused(
        "{ stop = 100 }",
        "{ set = { replicas = [] } }",
        "step[0].do[0].set.replicas: a partition has at least one replica",
    );
}
